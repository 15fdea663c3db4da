"""Class probabilities at rows that the classifier did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

from weighbridge.diagnostics._boosting import small_trees
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._table import TableEncoder
from weighbridge.ratios._views import NumbersView, QuadraticView, TreesView, View

# Products of more columns than this are too many coefficients for the rows there usually are.
MAX_PRODUCTS = 20
# Trees look at every column at every split, and need rows to split.
MAX_TREE_COLUMNS = 1000
MIN_TREE_ROWS = 200
MIN_CLASS_ROWS = 20


class ClassPosterior:
    """Class probabilities of a table of any kind, by one classifier or by a mixture of three."""

    def __init__(self, stacked: Any, domain: np.ndarray, classifier: Any, cv: int, seed: int):
        self.stacked, self.domain = stacked, domain
        self.classifier, self.cv, self.seed = classifier, cv, seed

    def cross_fit(
        self, rows: np.ndarray, codes: np.ndarray, new: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return held-out probabilities at some rows, and the mean of the fold models' at others.

        Those of several models are mixed; the shares maximise the likelihood of the held-out rows.
        """
        folds = min(self.cv, int(np.bincount(codes).min()))
        splitter = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
        split = list(splitter.split(np.zeros((rows.size, 1)), codes))
        # small fits: on a busy machine threads would wait for each other
        with ThreadpoolController().limit(limits=1):
            fitted = [
                self._fit_folds(model, view, rows, codes, new, split)
                for model, view in self._models(rows, codes)
            ]
        shares = _mixing_shares([at_rows for at_rows, _ in fitted], codes)
        held_out = sum(share * at_rows for share, (at_rows, _) in zip(shares, fitted, strict=True))
        others = sum(share * at_new for share, (_, at_new) in zip(shares, fitted, strict=True))
        return np.asarray(held_out), np.asarray(others)

    def _fit_folds(
        self,
        model: Any,
        view: Callable[[Any], Any],
        rows: np.ndarray,
        codes: np.ndarray,
        new: np.ndarray,
        split: list[tuple[np.ndarray, np.ndarray]],
    ) -> tuple[np.ndarray, np.ndarray]:
        seen, unseen = (view(take_rows(self.stacked, part)) for part in (rows, new))
        n_classes = int(codes.max()) + 1
        held_out, others = np.empty((rows.size, n_classes)), np.zeros((new.size, n_classes))
        for train, test in split:
            fitted = clone(model).fit(take_rows(seen, train), codes[train])
            held_out[test] = fitted.predict_proba(take_rows(seen, test))
            if new.size:
                others += np.asarray(fitted.predict_proba(unseen)) / len(split)
        return held_out, others

    def _models(self, rows: np.ndarray, codes: np.ndarray) -> list[tuple[Any, View]]:
        if self.classifier is not None:
            if not hasattr(self.classifier, "predict_proba"):
                raise TypeError(
                    f"Got classifier of type {type(self.classifier).__name__}, which has no "
                    "predict_proba; wrap it in CalibratedClassifierCV, or leave it out."
                )
            return [(self.classifier, View())]
        encoder = TableEncoder().fit(self.stacked, self.domain)
        models: list[tuple[Any, View]] = [(LogisticRegression(max_iter=1000), NumbersView(encoder))]
        if sp.issparse(self.stacked):
            return models
        if encoder.width <= MAX_PRODUCTS:
            squares = QuadraticView(encoder).fit(take_rows(self.stacked, rows))
            models.append((LogisticRegression(C=0.3, max_iter=1000), squares))
        enough = rows.size >= MIN_TREE_ROWS and np.bincount(codes).min() >= MIN_CLASS_ROWS
        if self.stacked.shape[1] <= MAX_TREE_COLUMNS and enough:
            trees = small_trees(
                encoder.categorical, self.seed, learning_rate=0.05, max_iter=200, patience=10
            )
            models.append((trees, TreesView(encoder)))
        return models


def _mixing_shares(probabilities: list[np.ndarray], codes: np.ndarray) -> np.ndarray:
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
    """Draw the rows that stand for a large sample; rare classes keep at least two."""
    if codes.size <= n_rows:
        return np.arange(codes.size)
    order = rng.permutation(codes.size)
    by_class = order[np.argsort(codes[order], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[by_class], prepend=-1))
    kept = np.concatenate([by_class[starts], by_class[starts + 1], order[:n_rows]])
    return np.unique(kept)
