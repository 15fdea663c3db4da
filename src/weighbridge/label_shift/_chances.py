"""Probabilities of the classes at the rows of both samples, by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from weighbridge._folds import one_thread
from weighbridge._pass_weights import answer_of
from weighbridge.ratios import can_fit_trees, small_trees
from weighbridge.tables import (
    FloatArray,
    QuadraticFeatures,
    TableEncoder,
    as_labels,
    check_count,
    is_continuous,
    refuse_missing,
    stacked_table,
    take_rows,
    target_like_source,
)

# Products of more columns than this are too many coefficients for the rows there usually are.
MAX_PRODUCTS = 20
# Trees need rows to split.
MIN_TREE_ROWS = 200
MIN_CLASS_ROWS = 20
# Models are fitted to that many rows of larger samples.
MAX_ROWS = 10_000
# Rows by which the biases of a calibration are held near none: empty corners stay finite.
PRIOR_ROWS = 1.0

# A model, and what it sees of a table.
_Viewed = tuple[Any, Callable[[Any], Any]]


def coded_classes(y: Any, n_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the number of each row's; refuse anything else."""
    y = as_labels(y)
    if y.shape != (n_source,):
        raise ValueError(f"Got y of shape {y.shape}, but expected ({n_source},), one for each row.")
    refuse_missing(y)
    if is_continuous(y):
        raise ValueError(
            "Got y with continuous values, but label shift is checked for classes only; leave the "
            "check out for regression, or pass classes."
        )
    kinds = {"number" if isinstance(v, int | float) else type(v).__name__ for v in y.tolist()}
    if len(kinds) > 1:
        raise ValueError(
            f"Got y with labels of several types ({', '.join(sorted(kinds))}); convert all of them "
            "to text."
        )
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if labels.size < 2:
        raise ValueError(
            f"Got y with one class only ({y.tolist()[0]!r}); a check needs two or more."
        )
    if counts.min() < 2:
        rare = labels.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"Got y with class {rare!r} in 1 row only; each class needs 2 rows or more, to be held "
            "out once. Merge rare classes, or leave them out."
        )
    if 4 * labels.size > y.size:
        raise ValueError(
            f"Got y with {labels.size} classes in {y.size} rows; there should be 4 rows or more "
            "per class. Merge rare classes."
        )
    return labels, codes


class ClassChances:
    """Calibrated probabilities of the classes, cross-fitted at the source, and models for more.

    `source` are those of the source rows, by the one model that did not see them; `targets` those
    of the target rows, by the models of all folds one after another; `at` the mean of the latter.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, X_target: Any, classifier: Any, cv: int, random_state: Any
    ):
        check_count("cv", cv, 2)
        X = X.tocsr() if sp.issparse(X) else X
        stacked, domain = stacked_table(X, X_target)
        rng = check_random_state(random_state)
        rows = drawn(codes, MAX_ROWS, rng)
        seed = int(rng.randint(2**31 - 1))
        self.example, self.codes = take_rows(X, slice(0, 2)), codes
        self.n_classes = int(codes.max()) + 1
        with one_thread():
            self.models = _models(classifier, stacked, domain, rows, codes[rows], seed)
            held_out = self._cross_fit(stacked, rows, int(cv), seed)
            self.shares = _mixing_shares(held_out, codes[rows])
            source = np.empty((codes.size, self.n_classes))
            source[rows] = np.tensordot(self.shares, held_out, axes=1)
            rest = np.setdiff1d(np.arange(codes.size), rows)
            if rest.size:
                source[rest] = _dealt(self._by_fold(take_rows(stacked, rest)))
            target = self._by_fold(take_rows(stacked, np.flatnonzero(domain)))
        self.calibration = Calibration(source, codes)
        self.source, self.targets = map(self.calibration.apply, (source, target))
        self.priors = np.bincount(codes) / codes.size

    def _cross_fit(self, stacked: Any, rows: np.ndarray, cv: int, seed: int) -> FloatArray:
        """Fit every model without each fold; return what they say about the rows held out."""
        codes = self.codes[rows]
        folds = StratifiedKFold(
            min(cv, int(np.bincount(codes).min())), shuffle=True, random_state=seed
        )
        split = list(folds.split(np.zeros((rows.size, 1)), codes))
        held_out = np.empty((len(self.models), rows.size, self.n_classes))
        self.fitted: list[list[Any]] = []
        for k, (model, view) in enumerate(self.models):
            seen = view(take_rows(stacked, rows))
            self.fitted.append([])
            for train, test in split:
                fitted = clone(model).fit(take_rows(seen, train), codes[train])
                held_out[k, test] = answer_of(fitted, "predict_proba", take_rows(seen, test))
                self.fitted[-1].append(fitted)
        return held_out

    def _by_fold(self, table: Any) -> FloatArray:
        """Return what the models of each fold say of rows that none of them has seen."""
        found = np.zeros((len(self.fitted[0]), table.shape[0], self.n_classes))
        for share, fitted, (_, view) in zip(self.shares, self.fitted, self.models, strict=True):
            seen = view(table)
            for k, each in enumerate(fitted):
                found[k] += share * answer_of(each, "predict_proba", seen)
        return found

    @cached_property
    def target(self) -> FloatArray:
        """Probabilities at the target rows, each by one of the models, as at the source."""
        return _dealt(self.targets)

    def at(self, X: Any) -> FloatArray:
        """Return the probabilities at any rows."""
        table = target_like_source(self.example, X)
        table = np.asarray(table) if isinstance(table, list | tuple) else table
        return np.asarray(self.calibration.apply(self._by_fold(table)).mean(axis=0))


def _dealt(by_fold: FloatArray) -> FloatArray:
    """Return what one fold says of each row: a mean over folds would be less sharp than any."""
    rows = np.arange(by_fold.shape[1])
    return np.asarray(by_fold[rows % len(by_fold), rows])


class Calibration:
    """Bias-corrected temperature scaling: ``softmax(slope log p + bias)``, most likely."""

    def __init__(self, probabilities: FloatArray, codes: np.ndarray):
        self.floor = 1 / (2 * codes.size)
        log_p, truth = self._floored(probabilities), np.eye(probabilities.shape[1])[codes]

        def loss(at: FloatArray) -> tuple[float, FloatArray]:
            log_q = log_softmax(at[0] * log_p + np.append(0.0, at[1:]), axis=1)
            off = np.exp(log_q) - truth
            pull = np.append(0.0, at[1:]) * PRIOR_ROWS
            value = -np.sum(truth * log_q) + pull @ at / 2
            gradient = np.append(np.sum(off * log_p), off.sum(axis=0)[1:]) + pull
            return float(value / codes.size), gradient / codes.size

        start = np.append(1.0, np.zeros(probabilities.shape[1] - 1))
        self.slope, *bias = minimize(loss, start, jac=True, method="BFGS").x
        self.bias = np.append(0.0, bias)

    def _floored(self, probabilities: FloatArray) -> FloatArray:
        return np.log(np.maximum(probabilities, self.floor))

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        scores = self.slope * self._floored(probabilities) + self.bias
        return np.asarray(softmax(scores, axis=-1))


def _as_it_is(table: Any) -> Any:
    return table


def _models(
    classifier: Any,
    stacked: Any,
    domain: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    seed: int,
) -> list[_Viewed]:
    """Return the classifier given, or up to three for a table of any kind, as its rows allow."""
    if classifier is not None:
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(
                f"Got classifier of type {type(classifier).__name__}, which has no "
                "predict_proba; wrap it in CalibratedClassifierCV, or leave it out."
            )
        return [(classifier, _as_it_is)]
    encoder = TableEncoder().fit(stacked, domain)
    models: list[_Viewed] = [(LogisticRegression(max_iter=1000), encoder.numbers)]
    if sp.issparse(stacked):
        return models
    if encoder.width <= MAX_PRODUCTS:
        squares = QuadraticFeatures(encoder).fit(take_rows(stacked, rows))
        models.append((LogisticRegression(C=0.3, max_iter=1000), squares))
    if rows.size >= MIN_TREE_ROWS and can_fit_trees(stacked, codes, MIN_CLASS_ROWS):
        trees = small_trees(
            encoder.categorical, seed, learning_rate=0.05, max_iter=200, patience=10
        )
        models.append((trees, encoder.for_trees))
    return models


def _mixing_shares(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the shares of the mixture that is most likely, by expectation maximisation."""
    rows = np.arange(codes.size)
    likelihood = np.column_stack([p[rows, codes] for p in probabilities])
    likelihood = np.maximum(likelihood, 1 / (2 * codes.size))
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(200):
        responsible = likelihood * shares
        shares = (responsible / responsible.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def drawn(codes: np.ndarray, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw the rows that represent a large sample; rare classes keep at least two."""
    if codes.size <= n_rows:
        return np.arange(codes.size)
    order = rng.permutation(codes.size)
    by_class = order[np.argsort(codes[order], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[by_class], prepend=-1))
    kept = np.concatenate([by_class[starts], by_class[starts + 1], order[:n_rows]])
    return np.unique(kept)
