"""Calibrated class probabilities of the rows of both samples, by models that did not see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from weighbridge._folds import one_thread
from weighbridge._pass_weights import answer_of
from weighbridge.ratios import can_fit_trees, small_trees
from weighbridge.tables import (
    QuadraticFeatures,
    TableEncoder,
    canonical_order,
    check_count,
    stacked_table,
    take_rows,
    target_like_source,
)

# Products of more columns than this are too many coefficients for a usual number of rows.
MAX_PRODUCTS = 20
# Trees need rows to split.
MIN_TREE_ROWS, MIN_CLASS_ROWS = 200, 20
# Models are fitted to this many rows of a larger sample.
MAX_ROWS = 10_000
# The penalty of calibration biases, in rows, which keeps them finite if classes never meet.
PRIOR_ROWS = 1.0

# A model, and the function that encodes a table for it.
_EncodedModel = tuple[BaseEstimator, Callable[[Any], Any]]


class ClassProbabilities:
    """Cross-fitted class probabilities of both samples.

    `source` has those of each source row by the model that did not see it. `targets` has those of
    the target rows by each of the fold models, and `target` by one of them for each row.
    """

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        X_target: Any,
        classifier: BaseEstimator | None,
        cv: int,
        random_state: int | np.random.RandomState | None,
    ):
        check_count("cv", cv, 2)
        stacked, domain = stacked_table(X, X_target)
        rng = check_random_state(random_state)
        rows = _drawn(stacked, codes, rng)
        seed = int(rng.randint(2**31 - 1))
        X = X.tocsr() if sp.issparse(X) else X
        self.example, self.codes = take_rows(X, slice(0, 2)), codes
        self.priors = np.bincount(codes) / codes.size
        # Each row of a large sample that was not drawn gets one fold, and each target row.
        rest = np.setdiff1d(np.arange(codes.size), rows)
        source = np.empty((codes.size, self.priors.size))
        with one_thread():
            self.models = _models(classifier, stacked, domain, rows, codes[rows], seed)
            source[rows] = self._cross_fit(stacked, rows, int(cv))
            if rest.size:
                table = take_rows(stacked, rest)
                source[rest] = _one_fold_each(self._by_fold(table), table)
            table = take_rows(stacked, np.flatnonzero(domain))
            targets = self._by_fold(table)
        self.calibration = Calibration(source, codes)
        self.source, self.targets = map(self.calibration.apply, (source, targets))
        self.target = _one_fold_each(self.targets, table)

    def _cross_fit(self, stacked: Any, rows: np.ndarray, cv: int) -> np.ndarray:
        """Fit every model without each fold, and return the held-out probabilities of a mixture."""
        codes = self.codes[rows]
        n_folds = min(cv, int(np.bincount(codes).min()))
        folds = list(StratifiedKFold(n_folds).split(codes, codes))  # The rows are shuffled.
        held_out = np.empty((len(self.models), rows.size, self.priors.size))
        self.fitted: list[list[BaseEstimator]] = []
        for k, (model, encode) in enumerate(self.models):
            table = encode(take_rows(stacked, rows))
            self.fitted.append([])
            for train, test in folds:
                fitted = clone(model).fit(_with_values(take_rows(table, train)), codes[train])
                held_out[k, test] = answer_of(fitted, "predict_proba", take_rows(table, test))
                self.fitted[-1].append(fitted)
        self.shares = _mixing_shares(held_out, codes)
        return np.asarray(np.tensordot(self.shares, held_out, axes=1))

    def _by_fold(self, table: Any) -> np.ndarray:
        """Return the probabilities by the models of each fold at rows that none of them saw."""
        result = np.zeros((len(self.fitted[0]), table.shape[0], self.priors.size))
        for share, fitted, (_, encode) in zip(self.shares, self.fitted, self.models, strict=True):
            encoded = encode(table)
            for k, model in enumerate(fitted):
                result[k] += share * answer_of(model, "predict_proba", encoded)
        return result

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the mean probabilities of the fold models at any rows."""
        table = target_like_source(self.example, X)
        table = np.asarray(table) if isinstance(table, list | tuple) else table
        return np.asarray(self.calibration.apply(self._by_fold(table)).mean(axis=0))


def _one_fold_each(by_fold: np.ndarray, table: Any) -> np.ndarray:
    """Return the probabilities of one fold for each row, because a mean would be less sharp."""
    rank = np.argsort(canonical_order(table))
    return np.asarray(by_fold[rank % len(by_fold), np.arange(rank.size)])


class Calibration:
    """Bias-corrected temperature scaling, ``softmax(slope log p + bias)``, by maximum likelihood.

    Alexandari, Kundaje and Shrikumar (2020).
    """

    def __init__(self, probabilities: np.ndarray, codes: np.ndarray):
        self.floor = 1 / (2 * codes.size)
        log_p = np.log(np.maximum(probabilities, self.floor))
        truth = np.eye(probabilities.shape[1])[codes]

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            biases = np.append(0.0, parameters[1:])
            log_q = log_softmax(parameters[0] * log_p + biases, axis=1)
            residuals, penalty = np.exp(log_q) - truth, biases * PRIOR_ROWS
            value = -np.sum(truth * log_q) + penalty @ parameters / 2
            slopes = np.append(np.sum(residuals * log_p), residuals.sum(axis=0)[1:])
            return float(value / codes.size), (slopes + penalty) / codes.size

        start = np.eye(probabilities.shape[1])[0]
        self.slope, *biases = minimize(loss, start, jac=True, method="BFGS").x
        self.bias = np.append(0.0, biases)

    def apply(self, probabilities: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities."""
        log_p = np.log(np.maximum(probabilities, self.floor))
        return np.asarray(softmax(self.slope * log_p + self.bias, axis=-1))


def _unchanged(table: Any) -> Any:
    return table


def _with_values(table: Any) -> Any:
    """Return the table with 0 in columns without any value, in which trees find no bins."""
    if not isinstance(table, np.ndarray) or table.dtype.kind != "f":
        return table
    return np.where(np.isnan(table).all(axis=0), 0.0, table)


def _models(
    classifier: BaseEstimator | None,
    stacked: Any,
    domain: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    seed: int,
) -> list[_EncodedModel]:
    """Return up to three models for a table of any kind, each with a function that encodes it."""
    if classifier is not None:
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(
                f"Got classifier of type {type(classifier).__name__}, which has no "
                "predict_proba; wrap it in CalibratedClassifierCV, or leave it out."
            )
        return [(classifier, _unchanged)]
    encoder = TableEncoder().fit(stacked, domain)
    models: list[_EncodedModel] = [(LogisticRegression(max_iter=1000), encoder.numbers)]
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
    """Return the shares of the most likely mixture of models, by expectation maximisation."""
    rows = np.arange(codes.size)
    likelihood = np.column_stack([p[rows, codes] for p in probabilities])
    likelihood = np.maximum(likelihood, 1 / (2 * codes.size))
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(200):
        responsibilities = likelihood * shares
        shares = (responsibilities / responsibilities.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def _drawn(stacked: Any, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Draw rows in random order, at least two of each class, whatever the order they come in."""
    by_class = np.argsort(codes, kind="stable")
    order = rng.permutation(by_class[canonical_order(take_rows(stacked, by_class))])
    drawn = codes[order]
    least = [np.flatnonzero(drawn == code)[:2] for code in np.unique(codes)]
    return np.asarray(order[np.union1d(np.arange(min(MAX_ROWS, order.size)), least)])
