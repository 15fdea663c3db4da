"""A linear model fitted under many weightings at once: Newton's method as a few matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weighbridge.criteria._families import Normal
from weighbridge.criteria._linear_design import LinearDesign

FloatArray = npt.NDArray[np.float64]

# Products of pairs of columns are kept up to this many numbers (64 MB); beyond, candidates are
# solved one by one.
_PRODUCTS = 8_000_000
# Candidates are solved in blocks whose weights stay in the cache.
_BLOCK = 32_000
_TOLERANCE = 1e-10
_STEPS = 100


@dataclass(frozen=True)
class LinearFits:
    """Fits of the candidates: one row each, one column for each source row.

    `spread` is ``x' H^-1 x`` with ``H = sum w loss'' x x' + penalty``: times the weight and the
    curvature it is the weighted leverage. `inverse` is ``H^-1``.
    """

    coef: FloatArray
    eta: FloatArray
    spread: FloatArray
    inverse: FloatArray


class CandidateSolver:
    """Fits one design under any weights.

    For small designs the products of all pairs of columns are formed once: then the Hessians of
    all candidates are one matrix product of their weights with it, and their spreads another.
    """

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


def inverses(matrices: FloatArray) -> FloatArray:
    """Invert symmetric matrices; the pseudo-inverse where one is singular to working precision."""
    try:
        inverse: FloatArray = np.asarray(np.linalg.inv(matrices), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrices, rcond=1e-12, hermitian=True), dtype=float)
    error = np.abs(matrices @ inverse - np.eye(matrices.shape[-1])).max(axis=(1, 2))
    singular = ~(error < 1e-6)
    if singular.any():
        inverse[singular] = np.linalg.pinv(matrices[singular], rcond=1e-12, hermitian=True)
    return inverse
