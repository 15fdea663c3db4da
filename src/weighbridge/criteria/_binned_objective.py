"""Cross-validation of linear and ridge regression in one pass over the rows.

A weight is a function of the log ratio s alone. With hat functions on knots of s, every weighted
Gram matrix is a combination of one matrix for each knot, and a candidate costs no pass over rows.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from weighbridge.criteria._candidate_weights import candidate_weights
from weighbridge.criteria._families import Normal
from weighbridge.criteria._linear_design import (
    LinearModel,
    closed_form_family,
    column_scale,
    linear_model,
)
from weighbridge.criteria._linear_fits import inverses
from weighbridge.criteria._objective import CandidateObjective, Outcome
from weighbridge.criteria._row_loss import ROW_LOSSES, RowLoss
from weighbridge.criteria._rows import SourceRows
from weighbridge.search import Evaluation, Point

FloatArray = npt.NDArray[np.float64]
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

# With fewer rows exact fits are as cheap.
MANY_ROWS = 20_000
# At most so many knots.
KNOTS = 256
# Rows gathered at a time, in the cache.
_BLOCK = 4_096
# Evenly spaced knots reach so far below the largest log ratio.
_REACH = 40.0
_SAMPLE = 10_000
# Moments of all folds and knots are kept up to this many numbers (240 MB).
_MOMENTS = 30_000_000
# Candidates are solved together as long as their matrices are at most so many numbers.
_TOGETHER = 8_000_000


def binnable_model(
    estimator: Any, rows: SourceRows, splits: Sequence[Split], scoring: Any
) -> LinearModel | None:
    """Read off a model that `BinnedObjective` takes, None where there is none.

    It takes the squared error of linear and ridge regression with not too many columns, on many
    rows in a partition.
    """
    n = rows.y.size
    if n < MANY_ROWS or scoring != "neg_mean_squared_error":
        return None
    if not isinstance(closed_form_family(estimator), Normal):
        return None
    held = np.bincount(np.concatenate([test for _, test in splits]), minlength=n)
    partition = (held == 1).all() and all(a.size + b.size == n for a, b in splits)
    if not (partition and np.isfinite(rows.log_ratio).all()):
        return None
    room = int((_MOMENTS / (len(splits) * KNOTS)) ** 0.5) - 2
    if issparse(rows.X) and rows.X.shape[1] > room:  # before a table is made of it
        return None
    model = linear_model(estimator, rows.X, rows.y)
    return model if model.features.shape[1] <= room else None


class BinnedObjective(CandidateObjective):
    """Squared error of held-out folds from moments at knots of the log ratio.

    Parameters
    ----------
    model : LinearModel
        Linear or ridge regression, see `binnable_model`.
    rows : SourceRows
        The source rows.
    splits : list of (train, test) row numbers
        A partition into folds.
    identity : list
        What else the values depend on.
    """

    def __init__(
        self, model: LinearModel, rows: SourceRows, splits: Sequence[Split], *, identity: list[Any]
    ) -> None:
        super().__init__(rows, [splits, *identity])
        self.splits = splits
        self._model = model
        self._fold = np.empty(rows.y.size, dtype=np.intp)
        for number, (_, test) in enumerate(splits):
            self._fold[test] = number
        self._centre, self._scale, self._level = _typical(self._model)
        self._knots = _knots(rows.log_ratio)
        self._moments, self._validation = self._one_pass()

    solved_together = True

    @property
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
        for row in weights:
            begun = time.perf_counter()
            own = row if self.rows.own is None else row * self.rows.own
            tables = ((self._table(test), own[test, None]) for _, test in self.splits)
            moments = np.stack([table.T @ (table * part) for table, part in tables])
            losses = self._fold_losses(moments[:, None])[0]
            yield Outcome(losses, seconds=time.perf_counter() - begun)

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of a few candidates, in the order of the rows."""
        points = [evaluation.point for evaluation in evaluations]
        coef = self._coefficients(self._binned(candidate_weights(self._knots, points)))
        out = np.empty((len(points), self._fold.size))
        for number, (_, test) in enumerate(self.splits):
            table = self._table(test)[:, : coef.shape[2]]
            out[:, test] = coef[number] @ table.T + self._level
        return out

    def _table(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Features, ones and labels of some rows, centred and scaled."""
        p = self._centre.size
        table = np.empty((rows.size, p + 2))
        np.subtract(self._model.features[rows], self._centre, out=table[:, :p])
        table[:, :p] *= self._scale
        table[:, p] = 1.0
        table[:, p + 1] = self._model.y[rows] - self._level
        return table

    def _one_pass(self) -> tuple[FloatArray, FloatArray]:
        """Moments of the table: for each fold and knot, and under the validation weights.

        Rows are visited in the order of fold and cell between knots; a cell adds to the two knots
        at its ends.
        """
        cells, folds, size = self._knots.size - 1, len(self.splits), self._centre.size + 2
        cell, above = _place(self.rows.log_ratio, self._knots)
        key = self._fold * cells + cell
        order = np.argsort(key, kind="stable")
        starts = np.searchsorted(key[order], np.arange(folds * cells + 1))
        moments = np.zeros((folds, cells + 1, size, size))
        validation = np.zeros((folds, size, size))
        first = 0
        while first < folds * cells:
            # whole cells, up to a block of rows
            fitting = int(np.searchsorted(starts, starts[first] + _BLOCK, "right")) - 1
            last = max(first + 1, fitting)
            rows = order[starts[first] : starts[last]]
            self._add(moments, validation, rows, above[rows], starts[first : last + 1], first)
            first = last
        return moments, validation

    def _add(
        self,
        moments: FloatArray,
        validation: FloatArray,
        rows: npt.NDArray[np.intp],
        above: FloatArray,
        starts: npt.NDArray[np.intp],
        first: int,
    ) -> None:
        """Add the rows of some cells, from number `first` on."""
        table, own = self._table(rows), self.rows.own
        plain = table if own is None else table * own[rows, None]
        upper = plain * above[:, None]
        valued = table * self.rows.unit_weights[rows, None]
        begin = starts[0]
        for number, (start, stop) in enumerate(itertools.pairwise(starts - begin), first):
            if start == stop:
                continue
            fold, place = divmod(number, self._knots.size - 1)
            part = table[start:stop]
            top = upper[start:stop].T @ part
            moments[fold, place] += plain[start:stop].T @ part - top
            moments[fold, place + 1] += top
            validation[fold] += valued[start:stop].T @ part

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
        penalty[:one] = self._model.strength * self._scale**2
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

    def _fold_losses(self, moments: FloatArray) -> FloatArray:
        coef = self._coefficients(moments)
        folds, candidates, p = coef.shape
        error = np.zeros((folds, candidates, self._validation.shape[1]))
        error[:, :, :p], error[:, :, -1] = coef, -1.0
        total = ((error @ self._validation) * error).sum(axis=2)
        return np.asarray(total.T / self.unit_weights)


def _place(log_ratio: FloatArray, knots: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return the cell between knots that each row lies in, and how far up in it."""
    cell = np.clip(np.searchsorted(knots, log_ratio, side="right") - 1, 0, knots.size - 2)
    return cell, (log_ratio - knots[cell]) / np.diff(knots)[cell]


def _typical(model: LinearModel) -> tuple[FloatArray, FloatArray, float]:
    """Rough centre and inverse scale of the columns and level of the labels, from some rows.

    Any numbers give the same model; these make it well conditioned.
    """
    step = max(1, len(model.features) // _SAMPLE)
    some = model.features[::step]
    scale = 1 / column_scale(some, model.fit_intercept)
    if not model.fit_intercept:
        return np.zeros(some.shape[1]), scale, 0.0
    return some.mean(axis=0), scale, float(model.y[::step].mean())


def _knots(log_ratio: FloatArray) -> FloatArray:
    """Place knots evenly, where the rows are, and densely at the top, where the weight is."""
    n, part = log_ratio.size, KNOTS // 8
    high = log_ratio.max()
    # far below the largest ratio a row has next to no weight, or one that hardly changes
    even = np.linspace(max(log_ratio.min(), high - _REACH), high, 3 * part)
    levels = [np.linspace(0, 1, 3 * part), 1 - np.geomspace(1 / part, 1 / n, part)]
    dense = np.quantile(log_ratio, np.concatenate(levels))
    top = np.partition(log_ratio, n - part)[n - part :]
    knots = np.unique(np.concatenate([even, dense, top]))
    if knots.size == 1:  # no shift: any second knot will do
        knots = np.append(knots, knots[0] + 1.0)
    return knots
