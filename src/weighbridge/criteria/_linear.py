"""All candidates of a linear model fitted together, for criteria in closed form."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.criteria._criterion import CandidateObjective, Outcome
from weighbridge.criteria._linear_design import LinearDesign, Normal, inverses, linear_model
from weighbridge.criteria._rows import SourceRows
from weighbridge.tables import FloatArray

# Products of pairs of columns are kept up to so many numbers (128 MB), beyond made anew for some
# of the rows at a time; candidates are solved together while their weights have no more than these.
_PRODUCTS = 16_000_000
_TOGETHER = 1_000_000
# Beyond so many columns their products are too many: candidates are solved one by one.
_WIDE = 128
# Candidates that are solved first; the others start from a mix of them.
_FIRST = 12
_TOLERANCE = 1e-9
_STEPS = 100


@dataclass(frozen=True)
class LinearFits:
    """Fits of the candidates: one row each, one column for each source row."""

    coef: FloatArray
    eta: FloatArray
    spread: FloatArray
    inverse: FloatArray


class CandidateSolver:
    """Fits one design under any weights."""

    def __init__(self, design: LinearDesign) -> None:
        self.design = design
        n, p = design.features.shape
        self._upper = np.triu_indices(p)
        self._chunk = max(1, _PRODUCTS // len(self._upper[0]))
        narrow = p <= _WIDE and n <= self._chunk
        self._kept = self._multiplied(slice(None)) if narrow else None
        self._start = np.zeros(p)
        if not isinstance(design.model.family, Normal):
            self._start = self._newton(np.ones((1, n)), np.zeros((1, p)))[0][0]

    @property
    def block(self) -> int:
        """Number of candidates to solve together."""
        n, p = self.design.features.shape
        return max(1, _TOGETHER // n) if p <= _WIDE else 1

    def fit(self, weights: FloatArray) -> LinearFits:
        """Fit the model once for each row of `weights`."""
        design, penalty = self.design, self.penalty(weights)
        if isinstance(design.model.family, Normal):  # one step from anywhere
            inverse = inverses(self._hessian(weights, penalty))
            moments = (weights * design.model.y) @ design.features
            coef = (inverse @ moments[:, :, None])[:, :, 0]
            return LinearFits(coef, coef @ design.features.T, self._spread(inverse), inverse)
        coef, inverse = self._solved(weights)
        return LinearFits(coef, coef @ design.features.T, self._spread(inverse), inverse)

    def _solved(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve a few candidates from the unweighted fit, and the others from a mix of these."""
        size = len(weights)
        coef = np.repeat(self._start[None], size, axis=0)
        if size <= 2 * _FIRST:
            return self._newton(weights, coef)
        first = np.linspace(0, size - 1, _FIRST).astype(int)
        rest = np.setdiff1d(np.arange(size), first)
        inverse = np.empty((size, coef.shape[1], coef.shape[1]))
        coef[first], inverse[first] = self._newton(weights[first], coef[first])
        # near weights have near fits
        gram = weights[first] @ weights.T
        own = gram[:, first] + 1e-9 * np.trace(gram[:, first]) * np.eye(_FIRST)
        start = np.linalg.solve(own, gram[:, rest]).T @ (coef[first] - self._start) + self._start
        coef[rest], inverse[rest] = self._newton(weights[rest], start)
        return coef, inverse

    def penalty(self, weights: FloatArray) -> FloatArray:
        """Diagonal of the penalty, one row for each candidate."""
        scale = weights.sum(axis=1) if self.design.model.per_weight else np.ones(len(weights))
        return scale[:, None] * self.design.penalty

    def _newton(self, weights: FloatArray, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the solutions, and the inverse Hessians next to them."""
        design, family = self.design, self.design.model.family
        penalty = self.penalty(weights)
        value = self._objective(weights, penalty, coef)
        inverse = np.empty((len(coef), coef.shape[1], coef.shape[1]))
        left = np.arange(len(coef))
        for _ in range(_STEPS):
            used, pull = weights[left], penalty[left]
            slope, curvature = family.derivatives(design.model.y, coef[left] @ design.features.T)
            gradient = (used * slope) @ design.features + pull * coef[left]
            inverse[left] = inverses(self._hessian(used * curvature, pull))
            step = (inverse[left] @ gradient[:, :, None])[:, :, 0]
            coef[left], value[left] = self._damped(used, pull, coef[left], step, value[left])
            decrement = (gradient * step).sum(axis=1)
            left = left[decrement > _TOLERANCE**2 * (1 + np.abs(value[left]))]
            if not left.size:
                break
        return coef, inverse

    def _damped(
        self,
        weights: FloatArray,
        penalty: FloatArray,
        coef: FloatArray,
        step: FloatArray,
        value: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Take the step, halved where it would not lower the objective."""
        size = np.ones(len(coef))
        room = 1e-14 * (1 + np.abs(value))  # differences below are rounding
        for _ in range(30):
            trial = coef - size[:, None] * step
            new = self._objective(weights, penalty, trial)
            worse = ~(new <= value + room)
            if not worse.any():
                return trial, new
            size[worse] /= 2
        return np.where(worse[:, None], coef, trial), np.where(worse, value, new)

    def _objective(self, weights: FloatArray, penalty: FloatArray, coef: FloatArray) -> FloatArray:
        loss = self.design.model.family.loss(self.design.model.y, coef @ self.design.features.T)
        total = np.einsum("kn,kn->k", weights, loss)
        return np.asarray(total + (penalty * coef**2).sum(axis=1) / 2)

    def _hessian(self, weights: FloatArray, penalty: FloatArray) -> FloatArray:
        features, p = self.design.features, self.design.features.shape[1]
        if p > _WIDE:
            hessian = np.stack([(features.T * row) @ features for row in weights])
            hessian[:, np.arange(p), np.arange(p)] += penalty
            return hessian
        packed = np.zeros((len(weights), len(self._upper[0])))
        for rows, products in self._products():
            packed += weights[:, rows] @ products
        hessian = np.empty((len(weights), p, p))
        hessian[:, self._upper[0], self._upper[1]] = packed
        hessian[:, self._upper[1], self._upper[0]] = packed
        hessian[:, np.arange(p), np.arange(p)] += penalty
        return hessian

    def _spread(self, inverse: FloatArray) -> FloatArray:
        features = self.design.features
        if features.shape[1] > _WIDE:
            return np.stack([((features @ part) * features).sum(axis=1) for part in inverse])
        packed = inverse[:, self._upper[0], self._upper[1]]
        packed[:, self._upper[0] != self._upper[1]] *= 2
        spread = np.empty((len(inverse), len(features)))
        for rows, products in self._products():
            spread[:, rows] = packed @ products.T
        return spread

    def _products(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows, and their products of all pairs of columns, of which Hessians are sums."""
        if self._kept is not None:
            yield slice(None), self._kept
            return
        for start in range(0, len(self.design.features), self._chunk):
            rows = slice(start, start + self._chunk)
            yield rows, self._multiplied(rows)

    def _multiplied(self, rows: slice) -> FloatArray:
        features = self.design.features[rows]
        products = np.empty((len(features), len(self._upper[0])))
        start = 0
        for column in range(features.shape[1]):
            end = start + features.shape[1] - column
            np.multiply(features[:, column, None], features[:, column:], out=products[:, start:end])
            start = end
        return products


class LinearObjective(CandidateObjective):
    """Fits all candidates of a linear model together and scores them by a formula."""

    def __init__(self, estimator: Any, rows: SourceRows, most_columns: float = math.inf) -> None:
        super().__init__(rows)
        self.design = linear_model(estimator, rows.X, rows.y).design()
        if self.design.features.shape[1] > most_columns:
            raise ValueError(f"Got more than {most_columns} columns.")
        self._solver = CandidateSolver(self.design)

    solved_together = True
    # why a loss may not exist
    no_loss: str

    @property
    def unit_weights(self) -> FloatArray:
        """Validation weights of the rows that are scored."""
        return self.rows.unit_weights[self.held_rows]

    @abstractmethod
    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Score fits under `weights`, one loss for each candidate and row."""

    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Fit and score candidates in blocks."""
        step = self._solver.block
        for start in range(0, len(weights), step):
            begun = time.perf_counter()
            block = weights[start : start + step]
            delivered = self.rows.delivered(block)
            losses = self.row_losses(delivered, self._solver.fit(delivered))
            finite = np.logical_and.reduce(np.isfinite(losses), axis=1)
            seconds = (time.perf_counter() - begun) / len(block)
            failed = Outcome(error=f"ValueError: {self.no_loss}", seconds=seconds)
            for row, good in zip(losses, finite, strict=True):
                yield Outcome(row, seconds=seconds) if good else failed
