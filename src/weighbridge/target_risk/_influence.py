"""Means on the target, by three methods, and what every row and fold adds to their errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, stdtrit
from sklearn.isotonic import IsotonicRegression

from weighbridge._data import FloatArray, take_rows
from weighbridge._findings import Estimate, pareto_k

if TYPE_CHECKING:
    from weighbridge.criteria import RowLoss
    from weighbridge.target_risk._held_out import HeldOut
    from weighbridge.target_risk._labels import Features


# Means that differ by less, relative to their size, are equal but for the order of their sums.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Influence:
    """An estimate with its sources of error."""

    value: float
    source: FloatArray
    target: FloatArray
    residuals: FloatArray
    shares: FloatArray
    folds: FloatArray
    plain: bool = False

    @cached_property
    def of_source(self) -> float:
        """Variance that comes from the source rows: losses, weights and ratio."""
        alike = np.sum(self.shares**2) * (self.shares @ self.residuals**2)
        return float(max(np.sum(self.source**2), 0.0 if self.plain else alike))

    @cached_property
    def of_target(self) -> float:
        """Variance that comes from the target rows."""
        return float(np.sum(self.target**2))

    @cached_property
    def of_labels(self) -> float:
        """Variance of the mean over the target rows that comes from their unknown labels."""
        return float(self.shares @ self.residuals**2 / self.target.size)

    @cached_property
    def of_choice(self) -> float:
        """Variance between the models of the folds: as much may divide them from the final one."""
        return float(np.var(self.folds, ddof=1)) if self.folds.size > 1 else 0.0

    @property
    def variance(self) -> float:
        """All of it."""
        return self.of_source + self.of_target + self.of_labels + self.of_choice

    @property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite's: few rows with large contributions make the variance itself a guess."""
        if self.plain:
            return np.inf
        # a sum of squares that rests on n effective rows has variance 1/n of its square
        known = float(np.sum(self.source**4) + np.sum(self.target**4))
        if self.of_choice > 0:
            known += self.of_choice**2 / (self.folds.size - 1)
        return self.variance**2 / known if known > 0 else np.inf

    @cached_property
    def tail_index(self) -> float:
        """Pareto k-hat of the contributions of the source rows; above 1/2 they have no variance."""
        return pareto_k(np.abs(self.source))

    def estimate(
        self, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> Estimate:
        """Return the estimate with its interval, by Student's t."""
        error = float(np.sqrt(self.variance))
        freedom = self.degrees_of_freedom
        half = error * float(stdtrit(min(freedom, 1e6), (1 + confidence) / 2)) if error else 0.0
        low, value, high = np.clip([self.value - half, self.value, self.value + half], *bounds)
        return Estimate(float(value), error, float(low), float(high))

    def minus(self, other: Influence) -> Influence:
        """Return the difference of two means on the same rows and folds; rounding is none."""
        value = self.value - other.value
        if abs(value) <= _ROUNDING * (abs(self.value) + abs(other.value)):
            value = 0.0
        return Influence(
            value,
            self.source - other.source,
            self.target - other.target,
            self.residuals - other.residuals,
            self.shares,
            self.folds - other.folds,
            self.plain,
        )

    def root(self) -> Influence:
        """Return the square root of the mean, its errors by the delta method."""
        value = float(np.sqrt(max(self.value, 0.0)))
        size = max(self.value, float(np.sqrt(self.variance)))
        slope = 0.5 / float(np.sqrt(size)) if size > 0 else 0.0
        return Influence(
            value,
            slope * self.source,
            slope * self.target,
            slope * self.residuals,
            self.shares,
            slope * self.folds,
            self.plain,
        )


# The information of larger samples is that of so many rows.
_INFORMATION_ROWS = 20_000


class RatioInfluence:
    """How the estimate of the ratio moves with the rows it was made from."""

    def __init__(
        self,
        features: Features,
        X: Any,
        X_target: Any,
        log_ratio: FloatArray,
        log_ratio_target: FloatArray,
    ):
        self.features, self.X, self.X_target = features, X, X_target
        odds = np.log(log_ratio_target.size / log_ratio.size)
        self.scores = -expit(log_ratio + odds), expit(-(log_ratio_target + odds))
        information = np.eye(features.width)
        for table, log_odds in ((X, log_ratio + odds), (X_target, log_ratio_target + odds)):
            # a mean over rows: of many, every k-th stands for k of them
            step = max(1, log_odds.size // _INFORMATION_ROWS)
            some = table if step == 1 else take_rows(table, np.arange(0, log_odds.size, step))
            spread = (expit(log_odds) * expit(-log_odds))[::step]
            spread *= log_odds.size / spread.size
            for block, phi in features.blocks(some, keep=step == 1):
                information += (phi * spread[block, None]).T @ phi
        self.information = information

    def of(self, contributions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the ratio's own error adds to weighted means, row by row of both samples."""
        gradient = self.features.moments(self.X, contributions)
        coefficients = np.asarray(np.linalg.solve(self.information, gradient), dtype=np.float64)
        return (
            self.scores[0][:, None] * self.features.times(self.X, coefficients),
            self.scores[1][:, None] * self.features.times(self.X_target, coefficients),
        )

    def moved(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """Return by how much the log ratio at the source rows moves if rows count so much more."""
        total = self.features.moments(self.X, source * self.scores[0][:, None])
        total += self.features.moments(self.X_target, target * self.scores[1][:, None])
        moved = np.asarray(np.linalg.solve(self.information, total), dtype=np.float64)
        return self.features.times(self.X, moved)


class Losses(NamedTuple):
    """Losses of one procedure: held out, expected there, and expected at the target."""

    held_out: FloatArray
    expected: FloatArray
    expected_target: FloatArray
    of_folds: FloatArray
    of_final: float


def doubly_robust(
    parts: list[Losses], shares: FloatArray, ratio: RatioInfluence | None
) -> list[Influence]:
    """Estimate mean losses on the target: modelled ones, corrected by weighted residuals."""
    residuals = np.column_stack([part.held_out - part.expected for part in parts])
    expected = np.column_stack([part.expected_target for part in parts])
    correction = shares @ residuals
    off = residuals - correction
    source = shares[:, None] * off
    centre = expected.mean(axis=0)
    target = (expected - centre) / len(expected)
    if ratio is not None:
        moved_source, moved_target = ratio.of(source)
        source, target = source + moved_source, target + moved_target
    return [
        Influence(
            float(centre[j] + correction[j] + part.of_final - part.of_folds.mean()),
            source[:, j],
            target[:, j],
            off[:, j],
            shares,
            part.of_folds,
        )
        for j, part in enumerate(parts)
    ]


def weighted_mean(
    losses: FloatArray, shares: FloatArray, n_target: int = 1, n_folds: int = 1, *, plain: bool
) -> Influence:
    """Estimate a mean loss by weights of the rows alone; nothing comes from target or folds."""
    value = float(shares @ losses)
    off = losses - value
    nothing = np.zeros_like(off), shares, np.zeros(n_folds)
    return Influence(value, shares * off, np.zeros(n_target), *nothing, plain)


def calibrated_confidence(
    loss: RowLoss,
    part: Losses,
    responses: HeldOut,
    chances: HeldOut,
    shares: FloatArray,
    ratio: RatioInfluence | None,
) -> Influence:
    """Estimate the mean loss on the target from the probabilities that a classifier gives there."""
    own = loss.expected(chances.at_source, responses.at_source)
    line = IsotonicRegression(out_of_bounds="clip")
    line.fit(own, part.held_out, sample_weight=shares * shares.size)
    residuals = part.held_out - line.predict(own)
    at_target = np.mean(
        [
            line.predict(loss.expected(chance, response))
            for chance, response in zip(chances.at_target, responses.at_target, strict=True)
        ],
        axis=0,
    )
    value = float(at_target.mean())
    source, target = shares * residuals, (at_target - value) / at_target.size
    if ratio is not None:
        moved_source, moved_target = ratio.of(source[:, None])
        source, target = source + moved_source[:, 0], target + moved_target[:, 0]
    return Influence(
        value,
        source,
        target,
        residuals,
        shares,
        part.of_folds,
    )
