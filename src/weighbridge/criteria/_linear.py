"""All candidates of a linear model fitted together, for criteria in closed form."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._data import FloatArray
from weighbridge.criteria._criterion import CandidateObjective, Outcome
from weighbridge.criteria._linear_design import LinearDesign, Normal, inverses, linear_model
from weighbridge.criteria._rows import SourceRows

# Products of pairs of columns are kept up to this many numbers (64 MB); beyond, candidates are
# solved one by one.
_PRODUCTS = 8_000_000
# Candidates are solved in blocks whose weights stay in the cache.
_BLOCK = 32_000
_TOLERANCE = 1e-10
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
        self._products: FloatArray | None = None
        if n * len(self._upper[0]) <= _PRODUCTS:
            left, right = (design.features[:, index] for index in self._upper)
            self._products = left * right
        self._start = np.zeros(p)
        if not isinstance(design.model.family, Normal):
            self._start = self._newton(np.ones((1, n)), np.zeros((1, p)))[0]

    @property
    def block(self) -> int:
        """Number of candidates to solve together."""
        n = self.design.features.shape[0]
        return max(1, _BLOCK // n) if self._products is not None else 1

    def fit(self, weights: FloatArray) -> LinearFits:
        """Fit the model once for each row of `weights`, all started from the unweighted fit."""
        design, penalty = self.design, self.penalty(weights)
        if isinstance(design.model.family, Normal):  # one step from anywhere
            inverse = inverses(self._hessian(weights, penalty))
            moments = (weights * design.model.y) @ design.features
            coef = (inverse @ moments[:, :, None])[:, :, 0]
            return LinearFits(coef, coef @ design.features.T, self._spread(inverse), inverse)
        coef = self._newton(weights, np.repeat(self._start[None], len(weights), axis=0))
        eta = coef @ design.features.T
        _, curvature = design.model.family.derivatives(design.model.y, eta)
        inverse = inverses(self._hessian(weights * curvature, penalty))
        return LinearFits(coef, eta, self._spread(inverse), inverse)

    def penalty(self, weights: FloatArray) -> FloatArray:
        """Diagonal of the penalty, one row for each candidate."""
        scale = weights.sum(axis=1) if self.design.model.per_weight else np.ones(len(weights))
        return scale[:, None] * self.design.penalty

    def _newton(self, weights: FloatArray, coef: FloatArray) -> FloatArray:
        design, family = self.design, self.design.model.family
        penalty = self.penalty(weights)
        value = self._objective(weights, penalty, coef)
        for _ in range(_STEPS):
            slope, curvature = family.derivatives(design.model.y, coef @ design.features.T)
            gradient = (weights * slope) @ design.features + penalty * coef
            hessian = self._hessian(weights * curvature, penalty)
            step = (inverses(hessian) @ gradient[:, :, None])[:, :, 0]
            coef, value = self._damped(weights, penalty, coef, step, value)
            decrement = (gradient * step).sum(axis=1)
            if (decrement <= _TOLERANCE**2 * (1 + np.abs(value))).all():
                break
        return coef

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
        if self._products is None:
            hessian = np.stack([(features.T * row) @ features for row in weights])
        else:
            hessian = np.empty((len(weights), p, p))
            packed = weights @ self._products
            hessian[:, self._upper[0], self._upper[1]] = packed
            hessian[:, self._upper[1], self._upper[0]] = packed
        hessian[:, np.arange(p), np.arange(p)] += penalty
        return hessian

    def _spread(self, inverse: FloatArray) -> FloatArray:
        features = self.design.features
        if self._products is None:
            return np.stack([((features @ part) * features).sum(axis=1) for part in inverse])
        packed = inverse[:, self._upper[0], self._upper[1]]
        packed[:, self._upper[0] != self._upper[1]] *= 2
        return packed @ self._products.T


class LinearObjective(CandidateObjective):
    """Fits all candidates of a linear model together and scores them by a formula."""

    def __init__(self, estimator: Any, rows: SourceRows, identity: list[Any]) -> None:
        super().__init__(rows, [estimator, *identity])
        self.design = linear_model(estimator, rows.X, rows.y).design()
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
