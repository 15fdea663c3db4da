"""Means on the target, by three methods, and what every row and fold adds to their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, stdtrit

from weighbridge._findings import Estimate
from weighbridge.ratios import pareto_k
from weighbridge.tables import take_rows
from weighbridge.weighting import RIWERM, Geodesic

if TYPE_CHECKING:
    from weighbridge.target_risk._labels import Features


# Losses are estimated with rows weighted three quarters along the bridge, at most by 4: forecasts
# of the loss do the rest of the way, at far less variance than the full ratio.
BRIDGED = RIWERM(0.75)
# The ends of an interval of amounts are at most so many powers of e away.
_FACTOR = 10.0
# Means that differ by less, relative to their size, are equal but for the order of their sums.
_ROUNDING = 1e-12
# What of an estimate is in its units, beside its value.
_ERRORS = ("source", "target", "residuals", "folds", "unseen")


@dataclass(frozen=True)
class Influence:
    """An estimate with its sources of error."""

    value: float
    source: np.ndarray
    target: np.ndarray
    residuals: np.ndarray
    shares: np.ndarray
    folds: np.ndarray
    plain: bool = False
    # what the rows cannot tell, as standard deviations; in a difference equal signs cancel
    unseen: np.ndarray = field(default_factory=partial(np.zeros, 2))
    # what is forecast at each target row, by the calibrated method
    rows: np.ndarray = field(default_factory=partial(np.zeros, 0))

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
        rows = self.of_source + self.of_target + self.of_labels
        return rows + self.of_choice + float(self.unseen @ self.unseen)

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
        ends = np.array([self.value - half, self.value + half])
        if bounds == (0.0, np.inf) and self.value > 0:
            # amounts differ by factors: a mean of them is more often too small than too large
            ends = self.value * np.exp(np.clip((ends - self.value) / self.value, -_FACTOR, _FACTOR))
        low, value, high = np.clip([ends[0], self.value, ends[1]], *bounds)
        return Estimate(float(value), error, float(low), float(high))

    def minus(self, other: Influence) -> Influence:
        """Return the difference of two means on the same rows and folds; rounding is none."""
        value = self.value - other.value
        if abs(value) <= _ROUNDING * (abs(self.value) + abs(other.value)):
            value = 0.0
        errors = {name: getattr(self, name) - getattr(other, name) for name in _ERRORS}
        return replace(self, value=value, **errors)

    def root(self) -> Influence:
        """Return the square root of the mean, its errors by the delta method."""
        value = float(np.sqrt(max(self.value, 0.0)))
        size = max(self.value, float(np.sqrt(self.variance)))
        slope = 0.5 / float(np.sqrt(size)) if size > 0 else 0.0
        return replace(self, value=value, **{name: slope * getattr(self, name) for name in _ERRORS})


# The information of larger samples is that of so many rows.
_INFORMATION_ROWS = 20_000


class RatioInfluence:
    """How the estimate of the ratio moves with the rows it was made from."""

    def __init__(
        self,
        features: Features,
        X: Any,
        X_target: Any,
        log_ratio: np.ndarray,
        log_ratio_target: np.ndarray,
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

    def of(self, contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the ratio's own error adds to a weighted mean, row by row of both samples."""
        gradient = self.features.moments(self.X, contributions[:, None])
        coefficients = np.asarray(np.linalg.solve(self.information, gradient), dtype=np.float64)
        return (
            self.scores[0] * self.features.times(self.X, coefficients)[:, 0],
            self.scores[1] * self.features.times(self.X_target, coefficients)[:, 0],
        )

    def moved(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return by how much the log ratio at the source rows moves if rows count so much more."""
        total = self.features.moments(self.X, source * self.scores[0][:, None])
        total += self.features.moments(self.X_target, target * self.scores[1][:, None])
        moved = np.asarray(np.linalg.solve(self.information, total), dtype=np.float64)
        return self.features.times(self.X, moved)


class LabelInfluence:
    """How the weights of classes move with the rows that their frequencies were estimated from."""

    def __init__(self, ratio: Any, y: Any, kept: np.ndarray | None):
        estimate, self.parts = ratio.estimate_, ratio.class_shares(y)
        chances, used = ratio.probabilities_, slice(None) if kept is None else kept
        scale = ratio.class_weights_ * chances.priors
        # of the logarithm of each class's weight, the frequency here over that of the source
        counts = np.eye(scale.size)[chances.codes] / chances.priors - 1
        self.of_source = (estimate.of_source / scale - counts / chances.codes.size)[used]
        self.of_target = estimate.of_target / scale

    def of(self, contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the ratio's own error adds to a weighted mean, row by row of both samples."""
        by_class = self.parts.T @ contributions
        return self.of_source @ by_class, self.of_target @ by_class

    def moved(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return by how much the log ratio at the source rows moves if rows count so much more."""
        return self.parts @ (self.of_source.T @ source + self.of_target.T @ target)


class Losses(NamedTuple):
    """Losses of one procedure: held out, expected there, and expected at the target."""

    held_out: np.ndarray
    expected: np.ndarray
    expected_target: np.ndarray
    of_folds: np.ndarray
    of_final: float
    # other forecasts of the loss, at the source and at the target: a classifier's own, by its
    # probabilities; for regressors the losses themselves, smoothed
    forecasts: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def doubly_robust(
    part: Losses, shares: np.ndarray, ratio: RatioInfluence | LabelInfluence | None
) -> Influence:
    """Estimate the mean loss on the target: modelled losses, corrected by weighted residuals."""
    residuals = part.held_out - part.expected
    correction, centre = shares @ residuals, part.expected_target.mean()
    off = residuals - correction
    source, target = shares * off, (part.expected_target - centre) / part.expected_target.size
    if ratio is not None:
        moved_source, moved_target = ratio.of(source)
        source, target = source + moved_source, target + moved_target
    value = float(centre + correction + part.of_final - part.of_folds.mean())
    return Influence(value, source, target, off, shares, part.of_folds)


def weighted_mean(losses: np.ndarray, shares: np.ndarray, *, plain: bool) -> Influence:
    """Estimate a mean loss by weights of the rows alone; nothing comes from target or folds."""
    value = float(shares @ losses)
    off, nothing = losses - value, np.zeros(1)
    return Influence(value, shares * off, nothing, np.zeros_like(off), shares, nothing, plain)


# The rows by which trust in a forecast shrinks towards none.
_SHRINKAGE = 1.0
# What rows cannot tell, as standard deviations in shares of the loss, chosen for coverage on the
# choosing half of the benchmark: how far the part of the target that capped weights leave out may
# be misjudged, and what the distance to a doubly robust estimate with the same weights counts.
_MISJUDGED, _APART = 0.1, 0.25


def calibrated(
    part: Losses,
    log_ratio: np.ndarray,
    log_ratio_target: np.ndarray,
    ratio: RatioInfluence | LabelInfluence | None,
    bridge: Geodesic = BRIDGED,
) -> Influence:
    """Estimate the mean loss on the target from forecasts of it, calibrated on weighted rows."""
    weights = np.exp(bridge(log_ratio))
    shares = np.asarray(weights / weights.sum())
    expected, residuals, pull = _calibration(part.held_out, shares, part.forecasts)
    value, source = float(expected.mean()), shares * residuals * pull
    target = (expected - value) / expected.size
    if ratio is not None:
        # of the log ratio's error the log weight has this part: d log w / d log r
        passed = 1 - (1 - bridge.lam) * weights
        moved_source, moved_target = ratio.of(source * passed)
        source, target = source + moved_source, target + moved_target
    large = np.maximum(log_ratio_target, 0)
    left_out = 1 - np.exp(bridge(large) - large).mean()
    robust = part.expected_target.mean() + shares @ (part.held_out - part.expected)
    apart = np.clip(value - robust, -_APART * abs(value), _APART * abs(value))
    unseen = np.array([_MISJUDGED * left_out * value, apart])
    final = part.of_final - float(part.of_folds.mean())
    rows, value = expected + final, value + final
    return Influence(
        value, source, target, residuals, shares, part.of_folds, unseen=unseen, rows=rows
    )


def _calibration(
    losses: np.ndarray, shares: np.ndarray, forecasts: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regress losses on forecasts; return what is expected at the target, residuals, their pull."""
    columns = []
    for at_source, at_target in forecasts:
        # what is forecast beyond all source rows could not be calibrated
        within = np.clip(at_target, at_source.min(), at_source.max())
        centre = shares @ at_source
        spread = float(np.sqrt(shares @ (at_source - centre) ** 2))
        if spread <= _ROUNDING * np.abs(at_source).max():  # one and the same forecast tells nothing
            spread = np.inf
        columns.append(((at_source - centre) / spread, (within - centre) / spread))
    source, target = (np.column_stack(each) for each in zip(*columns, strict=True))
    gram = (source * shares[:, None]).T @ source + _SHRINKAGE / shares.size * np.eye(len(columns))
    mean = shares @ losses
    slopes = np.linalg.solve(gram, source.T @ (shares * (losses - mean)))
    # a residual moves the mean, and the slopes the more the further its row is out
    pull = 1 + source @ np.linalg.solve(gram, target.mean(axis=0))
    return mean + target @ slopes, losses - mean - source @ slopes, pull
