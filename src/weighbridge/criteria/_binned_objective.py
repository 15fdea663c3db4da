"""Cross-validation of linear and ridge regression in one pass over the rows.

A weight is a function of the log ratio s alone. With hat functions on knots of s, every weighted
Gram matrix is a combination of one matrix for each knot, and a candidate costs no pass over rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from weighbridge.blocks import (
    Block,
    CentredTable,
    Columns,
    Rows,
    block_columns,
    block_steps,
    from_array,
    typical,
)
from weighbridge.criteria._binned_moments import FoldMoments, HeldOutErrors, KnotMoments
from weighbridge.criteria._criterion import CandidateObjective, Outcome, candidate_weights
from weighbridge.criteria._linear_design import (
    Normal,
    closed_form_family,
    inverses,
    linear_model,
    read_regression,
)
from weighbridge.criteria._rows import ROW_LOSSES, RowLoss, SourceRows
from weighbridge.search import Evaluation, Point
from weighbridge.tables import FloatArray, to_numpy

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

# With fewer rows in memory exact fits are as cheap.
MANY_ROWS = 20_000
# At most so many knots.
KNOTS = 256
# Moments of all folds and knots are kept up to this many numbers (240 MB).
_MOMENTS = 30_000_000
# Candidates are solved together as long as their matrices are at most so many numbers.
_TOGETHER = 8_000_000
# Of a table in memory blocks are as large as sums of them are worth: they cost no copy.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 80_000, 1_000_000
# Evenly spaced knots reach so far below the largest log ratio.
_REACH = 40.0


@dataclass(frozen=True)
class BinnedModel:
    """A linear model with squared error on rows that come in blocks."""

    rows: Rows
    columns: Columns
    strength: float
    fit_intercept: bool

    @classmethod
    def of_table(
        cls, estimator: Any, rows: SourceRows, fold: npt.NDArray[np.int32] | None, scoring: Any
    ) -> BinnedModel | None:
        """Read off a model of a table in memory; None where `BinnedObjective` takes none."""
        n = rows.y.size
        if n < MANY_ROWS or fold is None or scoring != "neg_mean_squared_error":
            return None
        if not isinstance(closed_form_family(estimator), Normal):
            return None
        if not np.isfinite(rows.log_ratio).all():
            return None
        room = most_columns(int(fold.max()) + 1)
        if issparse(rows.X) and rows.X.shape[1] > room:  # before a table is made of it
            return None
        model = linear_model(estimator, rows.X, rows.y)
        if model.features.shape[1] > room:
            return None
        parts = max(1, min(4, n // _SMALLEST_BLOCK))
        blocks = from_array(model.features, min(-(-n // parts), _LARGEST_BLOCK))
        return cls(blocks, Columns(blocks.n_columns), model.strength, model.fit_intercept)

    @classmethod
    def of_blocks(cls, estimator: Any, rows: SourceRows, folds: int) -> BinnedModel:
        """Read off a model of rows in blocks, its transformers fitted, or say what is needed."""
        used = None if rows.kept is None else rows.beside(np.ones(rows.y.size, dtype=bool))
        *steps, last = block_steps(estimator)
        _, strength, _ = read_regression(last)
        columns = block_columns(steps, rows.X, used)
        room = most_columns(folds)
        if columns.width > room:
            raise ValueError(
                f"Got {columns.width} columns in blocks; moments of {folds} folds are kept for at "
                f"most {room} columns. Select fewer columns, or use fewer folds."
            )
        return cls(rows.X, columns, strength, bool(last.fit_intercept))


def most_columns(folds: int) -> int:
    """Return how many columns there is room for."""
    return int((_MOMENTS / (folds * KNOTS)) ** 0.5) - 2


def fold_numbers(splits: Sequence[Split], n: int) -> npt.NDArray[np.int32] | None:
    """Return the number of the fold that holds each row out; None if folds are no partition."""
    fold = np.full(n, -1, dtype=np.int32)
    for number, (_, test) in enumerate(splits):
        fold[test] = number
    whole = all(train.size + test.size == n for train, test in splits)
    once = sum(test.size for _, test in splits) == n and fold.min() >= 0
    return fold if whole and once else None


class BinnedObjective(CandidateObjective):
    """Squared error of held-out folds from moments at knots of the log ratio."""

    def __init__(
        self,
        model: BinnedModel,
        rows: SourceRows,
        fold: npt.NDArray[np.int32],
        *,
        identity: list[Any],
    ) -> None:
        super().__init__(rows, identity)
        self._model, self._fold = model, fold
        self._folds = int(fold.max()) + 1
        self._y, self._fold_beside = rows.beside(rows.y.astype(float)), rows.beside(fold, -1)
        used = rows.kept if rows.on_blocks else None
        where = typical(model.rows, model.columns, self._y, used, model.fit_intercept)
        self._table = CentredTable(model.columns, where)
        self._knots = _knots_of(rows.log_ratio, KNOTS)
        self._moments, self._validation = self._one_pass()

    solved_together = True

    @cached_property
    def splits(self) -> list[Split]:
        """Numbers of the rows to fit on and to score, for each fold."""
        held = [self._fold == number for number in range(self._folds)]
        return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in held]

    @cached_property
    def unit_weights(self) -> FloatArray:
        """Validation weights of whole folds."""
        return np.bincount(self._fold, self.rows.unit_weights).astype(float)

    @property
    def row_loss(self) -> RowLoss:
        """Squared error."""
        return ROW_LOSSES["neg_mean_squared_error"]

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score candidates by their weights at the knots, in blocks."""
        folds, _, size, _ = self._moments.shape
        step = max(1, _TOGETHER // (folds * size**2))
        for start in range(0, len(points), step):
            block = points[start : start + step]
            begun = time.perf_counter()
            losses = self._fold_losses(self._binned(candidate_weights(self._knots, block)))
            seconds = (time.perf_counter() - begun) / len(block)
            for point, row in zip(block, losses, strict=True):
                yield Evaluation(point, row, seconds=seconds)

    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Score weights given at the rows, by a pass over these for each."""
        of_block = FoldMoments(self._table, self._folds)
        for row in weights:
            begun = time.perf_counter()
            delivered = self.rows.beside(self.rows.delivered(row))
            moments = to_numpy(
                self._model.rows.sum(of_block, self._y, self._fold_beside, delivered)
            )
            losses = self._fold_losses(moments[:, None])[0]
            yield Outcome(losses, seconds=time.perf_counter() - begun)

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of a few candidates, in the order of the rows."""
        if self.rows.on_blocks:
            raise TypeError(
                f"Got rows in blocks, for which predictions of {len(evaluations)} candidates are "
                "not kept; fit a weighting (ImportanceWeighted) and predict with it."
            )
        coef = self._errors(evaluations)[:, :, :-1]
        of_block = _Predictions(self._table, coef)
        parts = self._model.rows.map(of_block, self._y, self._fold_beside)
        return np.concatenate(list(parts), axis=1)

    def held_out(self, evaluations: Sequence[Evaluation]) -> HeldOutErrors | None:
        """Held-out errors of a few candidates; None in memory, where there are predictions."""
        if not self.rows.on_blocks:
            return None
        errors = self._errors(evaluations)
        return HeldOutErrors(self.rows, self._table, self._fold_beside, errors, self._validation)

    def _one_pass(self) -> tuple[FloatArray, FloatArray]:
        """Moments of the table: for each fold and knot, and under the validation weights."""
        rows, of_block = self.rows, KnotMoments(self._table, self._knots, self._folds)
        beside = [rows.beside(rows.log_ratio), self._fold_beside, rows.beside(rows.unit_weights)]
        if rows.sample_weight is not None:
            beside.append(rows.beside(rows.sample_weight))
        return of_block.finish(*self._model.rows.sum(of_block, self._y, *beside))

    def _binned(self, weights: FloatArray) -> FloatArray:
        """Weighted moments of each fold's own rows, for candidates' weights at the knots."""
        folds, knots, size, _ = self._moments.shape
        moments = np.matmul(weights, self._moments.reshape(folds, knots, -1))
        return np.asarray(moments.reshape(folds, -1, size, size))

    def _coefficients(self, moments: FloatArray) -> FloatArray:
        """Solve every candidate on every fold's training rows; of shape (folds, candidates, p)."""
        folds, candidates, size, _ = moments.shape
        one = size - 2
        p = one + self._model.fit_intercept
        penalty = np.zeros(p)
        penalty[:one] = self._model.strength * self._table.typical.scale**2
        everything = moments.sum(axis=0)
        count = self._moments[:, :, one, one].sum(axis=1)
        coef = np.empty((folds, candidates, p))
        for fold in range(folds):
            gram = everything - moments[fold]
            # weights of mean 1 on the training rows
            gram *= ((count.sum() - count[fold]) / gram[:, one, one])[:, None, None]
            gram[:, range(p), range(p)] += penalty
            coef[fold] = (inverses(gram[:, :p, :p]) @ gram[:, :p, -1:])[:, :, 0]
        return coef

    def _errors(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Coefficients of prediction minus label, of shape (folds, candidates, size)."""
        points = [evaluation.point for evaluation in evaluations]
        moments = self._binned(candidate_weights(self._knots, points))
        return self._with_label(self._coefficients(moments))

    def _with_label(self, coef: FloatArray) -> FloatArray:
        folds, candidates, p = coef.shape
        error = np.zeros((folds, candidates, self._table.size))
        error[:, :, :p], error[:, :, -1] = coef, -1.0
        return error

    def _fold_losses(self, moments: FloatArray) -> FloatArray:
        error = self._with_label(self._coefficients(moments))
        total = ((error @ self._validation) * error).sum(axis=2)
        return np.asarray(total.T / self.unit_weights)


def _knots_of(log_ratio: FloatArray, count: int) -> FloatArray:
    """Place knots evenly, where the rows are, and densely at the top, where the weight is."""
    finite = log_ratio[log_ratio > -np.inf]
    n, part = finite.size, count // 8
    levels = [np.linspace(0, 1, 3 * part), 1 - np.geomspace(1 / part, 1 / n, part)]
    at = np.concatenate(levels) * (n - 1)
    lower = np.floor(at).astype(np.intp)
    upper = np.minimum(lower + 1, n - 1)
    most = max(0, n - part)
    # put into place what quantiles and the largest need, and no more
    ordered = np.partition(finite, np.unique([*lower, *upper, 0, most]))
    dense = ordered[lower] + (at - lower) * (ordered[upper] - ordered[lower])
    top = ordered[most:]
    # far below the largest ratio a row has next to no weight, or one that hardly changes
    even = np.linspace(max(ordered[0], top.max() - _REACH), top.max(), 3 * part)
    knots = np.unique(np.concatenate([even, dense, top]))
    if knots.size == 1:  # no shift: any second knot will do
        knots = np.append(knots, knots[0] + 1.0)
    return knots if n == log_ratio.size else np.append(-np.inf, knots)


@dataclass(frozen=True)
class _Predictions:
    """Held-out predictions of a block, one row for each candidate."""

    table: CentredTable
    coef: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        y, fold = block.beside
        features = self.table.columns(block.table)
        out = np.empty((self.coef.shape[1], y.size))
        for number, coef in enumerate(self.coef):
            rows = np.flatnonzero(fold == number)
            out[:, rows] = coef @ self.table.transposed(features, y, rows)[:-1]
        return out + self.table.typical.level
