"""Closed forms for linear models: leave-one-out and the information criterion."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weighbridge.criteria._candidate_weights import candidate_weights
from weighbridge.criteria._criterion import CandidateObjective, Outcome
from weighbridge.criteria._linear_design import LinearDesign, Normal, linear_model
from weighbridge.criteria._row_loss import RowLoss
from weighbridge.criteria._rows import SourceRows
from weighbridge.search import Evaluation

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


# A row with a weighted leverage this close to 1 is all there is to determine its own prediction.
_OWN_ROW = 1e-9


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
            delivered = (
                block if self.rows.sample_weight is None else block * self.rows.sample_weight
            )
            losses = self.row_losses(delivered, self._solver.fit(delivered))
            finite = np.logical_and.reduce(np.isfinite(losses), axis=1)
            seconds = (time.perf_counter() - begun) / len(block)
            for row, good in zip(losses, finite, strict=True):
                yield Outcome(row, seconds=seconds) if good else self._undetermined(seconds)

    def _undetermined(self, seconds: float) -> Outcome:
        return Outcome(error=f"ValueError: {self.no_loss}", seconds=seconds)


class LeaveOneOutObjective(LinearObjective):
    """Leave-one-out: exact for squared error, one Newton step for other families."""

    no_loss = (
        "a single row determines its own prediction under these weights, so that its held-out loss "
        "does not exist"
    )

    def __init__(
        self, estimator: Any, rows: SourceRows, loss: RowLoss, identity: list[Any]
    ) -> None:
        super().__init__(estimator, rows, identity)
        self.loss = loss
        self._held = self._determined()

    def _determined(self) -> npt.NDArray[np.intp]:
        """Rows whose prediction does not hang on them alone, as that of a single category does."""
        weights = (
            np.ones((1, self.rows.y.size))
            if self.rows.sample_weight is None
            else self.rows.sample_weight[None]
        )
        held = self._held_out(weights, self._solver.fit(weights))[0]
        if np.isnan(held).all():
            raise ValueError(
                f"Got {held.size} source rows for {self.design.features.shape[1]} columns: every "
                "row determines its own prediction, and leaving one out says nothing. Use "
                "CrossValidation(), fewer columns, or a penalty."
            )
        return np.flatnonzero(~np.isnan(held))

    @property
    def held_rows(self) -> npt.NDArray[np.intp]:
        """Rows that are scored; one that determines its own prediction is not."""
        return self._held

    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Score the predictions of each row by the fit without it."""
        held_out = self._held_out(weights, fits)
        y, codes, family = self.design.model.y, self.rows.codes, self.design.model.family
        if self._held.size < y.size:
            held_out, y, codes = held_out[:, self._held], y[self._held], codes[self._held]
        if self.loss.scoring == family.scoring == "neg_mean_squared_error":
            held_out -= y
            return np.square(held_out, out=held_out)
        if self.loss.scoring == family.scoring == "neg_log_loss":
            return family.loss(y, held_out)
        return np.stack([self.loss.loss(codes, one) for one in family.response(held_out)])

    @property
    def row_loss(self) -> RowLoss:
        """What a held-out prediction costs."""
        return self.loss

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of a few candidates; they are not kept, but computed again."""
        points = [evaluation.point for evaluation in evaluations]
        weights = candidate_weights(self.log_ratio, points, self.rows.sample_weight)
        delivered = (
            weights if self.rows.sample_weight is None else weights * self.rows.sample_weight
        )
        held_out = self._held_out(delivered, self._solver.fit(delivered))[:, self._held]
        return self.design.model.family.response(held_out)

    def _held_out(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """``eta + q w l' / (1 - q w l'')``: the linear predictor of each row without that row."""
        slope, curvature = self.design.model.family.derivatives(self.design.model.y, fits.eta)
        pull = fits.spread * weights
        rest = 1 - pull * curvature
        if rest.min() < _OWN_ROW:
            rest[rest < _OWN_ROW] = np.nan
        pull *= slope
        pull /= rest
        pull += fits.eta
        return pull


class InformationObjective(LinearObjective):
    """The information criterion IC_GW, divided by twice the number of rows."""

    no_loss = "the fit leaves no residuals under these weights, and a variance of 0 no likelihood"

    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Negative log likelihood of each row, plus its share of the penalty."""
        if isinstance(self.design.model.family, Normal):
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._normal(weights, fits)
        family, y = self.design.model.family, self.design.model.y
        slope, _ = family.derivatives(y, fits.eta)
        return family.loss(y, fits.eta) + weights * slope**2 * fits.spread

    def _normal(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """The variance is a parameter too: ``g' H^-1 g`` with one more row and column in H."""
        residual = self.design.model.y - fits.eta
        total = weights.sum(axis=1)
        s2 = np.einsum("kn,kn->k", weights, residual**2) / total
        ratio = residual**2 / s2[:, None]
        loss = (ratio + np.log(2 * np.pi * s2)[:, None]) / 2
        # in units of s2: g = (-e x / s2, (1 - ratio) / (2 s2))
        cross = fits.coef * self._solver.penalty(weights) / s2[:, None] ** 2
        towards = np.einsum("kij,kj->ki", fits.inverse, cross)  # A^-1 d
        corner = total / (2 * s2**2) - s2 * np.einsum("ki,ki->k", cross, towards)
        gradient = -residual / s2[:, None]
        left = (1 - ratio) / (2 * s2[:, None])
        left = left - s2[:, None] * gradient * (towards @ self.design.features.T)
        penalty = weights * (gradient**2 * s2[:, None] * fits.spread + left**2 / corner[:, None])
        return np.asarray(loss + penalty)
