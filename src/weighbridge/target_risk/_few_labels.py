"""What a few labels of target rows add to the forecast of the source: an error, and a test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit, xlogy

from weighbridge._data import FloatArray
from weighbridge._findings import Estimate, Record, wilson
from weighbridge.target_risk._influence import Influence, Losses, calibrated

if TYPE_CHECKING:
    from weighbridge.criteria import RowLoss
    from weighbridge.target_risk._held_out import HeldOut
    from weighbridge.target_risk._problem import RiskProblem

# By how much the relation between features and label may move an error, in points or as a part of
# any other loss: the scale of Student's t with two degrees of freedom, whose tails leave room for
# far more. Chosen for coverage at 50, 100 and 200 labels on the choosing half of the benchmark;
# to forget the forecast where a test finds the relation changed gave longer intervals at no gain.
_MOVED_POINTS, _MOVED_PART, _FREEDOM = 0.02, 0.15, 2.0
# Trust in the forecast of single rows shrinks as if so many labels had spoken against it.
_SHRINKAGE = 5.0
# Forecasts spare at most this part of the labels' variance.
_LEAST_LEFT = 0.5
_GRID = 4001


class Sample(NamedTuple):
    """Which target rows are labelled, the share of the target each stands for, and its stratum."""

    rows: npt.NDArray[np.intp]
    shares: FloatArray
    stratum: npt.NDArray[np.intp]

    @classmethod
    def drawn(
        cls, rows: npt.NDArray[np.intp], stands_for: FloatArray, known: npt.NDArray[np.bool_]
    ) -> Sample:
        """Make a sample of rows with known labels; those that stand for as many are a stratum."""
        values, strata = np.unique(stands_for, return_inverse=True)
        stratum, weights = strata[known], stands_for[known]
        labelled = np.bincount(stratum, minlength=values.size)
        # those without a label are like the others of their stratum
        weights = weights * (np.bincount(strata) / np.maximum(labelled, 1))[stratum]
        if labelled.min() < 2:  # one label has no spread
            stratum = np.zeros_like(stratum)
        return cls(rows[known], weights / weights.sum(), stratum)

    @property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Labelled rows of each stratum."""
        return np.bincount(self.stratum)

    def covariance(self, *values: FloatArray) -> FloatArray:
        """Return the covariances of the means of several values of the labelled rows."""
        return np.asarray(self._parts(*values).sum(axis=0))

    def freedom(self, values: FloatArray) -> float:
        """Return the degrees of freedom of the variance of a mean, by Satterthwaite."""
        parts = self._parts(values)[:, 0, 0]
        total = parts.sum()
        known = float(((parts / (total or 1)) ** 2 / np.maximum(self.sizes - 1, 1)).sum())
        return 1 / (known or 1)

    def _parts(self, *values: FloatArray) -> FloatArray:
        """Return what each stratum adds to the covariances."""
        off = np.column_stack(values)
        off = self.shares[:, None] * (off - self.shares @ off)
        n = self.sizes
        found = []
        for k, size in enumerate(n):
            some = off[self.stratum == k]
            some = some - some.mean(axis=0)
            found.append(some.T @ some * size / max(size - 1, 1))
        return np.array(found)

    def effective(self, losses: FloatArray) -> float:
        """Return how large a plain sample is whose share of errors has the same variance."""
        # no stratum is taken to be pure
        chance = (np.bincount(self.stratum, losses) + 0.5) / (self.sizes + 1)
        middle = float(self.shares @ chance[self.stratum])
        spread = float(self.shares**2 @ (chance * (1 - chance))[self.stratum])
        return middle * (1 - middle) / spread


def by_labels(
    losses: FloatArray, sample: Sample, bounds: tuple[float, float], confidence: float
) -> Estimate:
    """Return a mean by labels alone: Wilson's interval for a share of errors, else Student's."""
    mean = min(float(sample.shares @ losses), bounds[1])
    if bounds[1] == 1:
        n = sample.effective(losses)
        low, high = map(float, wilson(mean, n, confidence))
        return Estimate(mean, math.sqrt(mean * (1 - mean) / n), low, high)
    error = math.sqrt(sample.covariance(losses)[0, 0])
    half = error * float(stdtrit(sample.freedom(losses), (1 + confidence) / 2)) if error else 0.0
    return Estimate(mean, error, max(bounds[0], mean - half), mean + half)


def with_forecast(
    losses: FloatArray,
    sample: Sample,
    forecast: Influence,
    bounds: tuple[float, float],
    confidence: float,
) -> Estimate:
    """Return a mean by labels, by forecasts at all target rows, and by the forecast of the mean.

    Labels are helped by forecasts of single rows as far as these follow them (prediction-powered
    inference); the forecast of the mean counts as a first guess whose error has heavy tails, and is
    forgotten where the labels speak against it.
    """
    value, left = _powered(losses, sample, forecast.rows)
    size, is_share = forecast.value, bounds[1] == 1
    variance = left * float(sample.covariance(losses)[0, 0])
    if not (is_share or (value > 0 and size > 0 and variance > 0)):  # amounts that tell nothing
        return by_labels(losses, sample, bounds, confidence)
    if is_share:
        n = sample.effective(losses) / left
        value = min(max(value, 0.5 / (losses.size + 1)), 1 - 0.5 / (losses.size + 1))
        points = (np.arange(_GRID) + 0.5) / _GRID
        likely = n * (xlogy(value, points) + xlogy(1 - value, 1 - points))
        off, moved = points - size, _MOVED_POINTS
        scale = math.sqrt(forecast.variance + moved**2)
    else:
        spread = math.sqrt(variance) / value
        scale = math.hypot(math.sqrt(forecast.variance) / size, _MOVED_PART)
        reach = 8 * (scale + spread) + abs(math.log(value / size))
        off = np.linspace(-reach, reach, _GRID)
        points = size * np.exp(off)
        likely = -0.5 * ((value / points - 1) / spread) ** 2  # the larger, the less certain
    first = -(_FREEDOM + 1) / 2 * np.log1p((off / scale) ** 2 / _FREEDOM)
    chance = np.cumsum(np.exp(likely + first - (likely + first).max()))
    ends = np.array([(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
    low, middle, high = points[np.searchsorted(chance, ends * chance[-1])]
    error = (high - low) / (2 * float(ndtri(ends[2])))
    return Estimate(float(middle), float(error), float(low), float(high))


def _powered(losses: FloatArray, sample: Sample, rows: FloatArray) -> tuple[float, float]:
    """Return a prediction-powered mean, and which part of the labels' variance is left to it."""
    there = rows[sample.rows]
    covariance = sample.covariance(losses, there)
    of_all = float(rows.var())
    doubt = _SHRINKAGE / losses.size * of_all * float(sample.shares @ sample.shares)
    total = covariance[1, 1] + of_all / rows.size
    slope = float(np.clip(covariance[0, 1] / (total + doubt or 1), 0, 1))
    mean = float(sample.shares @ losses)
    value = mean + slope * float(rows.mean() - sample.shares @ there)
    before = covariance[0, 0] or 1.0
    left = (before - 2 * slope * covariance[0, 1] + slope**2 * total) / before
    return max(value, 0.2 * mean), float(np.clip(left, _LEAST_LEFT, 1))


@dataclass(frozen=True, repr=False)
class Relation(Record):
    """Whether labels of target rows are what the source's relation forecasts of them.

    Parameters
    ----------
    labels : int
        Labelled rows.
    p_value : float
        How often labels disagree as much with the forecasts where the relation is the same.
    part : Estimate
        By how much another relation changes the loss.
    """

    labels: int
    p_value: float
    part: Estimate

    def rooted(self, before: float) -> Relation:
        """Return the same about the root of a mean, which was that large `before`."""
        part, error = self.part, self.part.standard_error / (2 * math.sqrt(before))
        low, value, high = (
            math.sqrt(max(before + each, 0)) - math.sqrt(before)
            for each in (part.low, part.value, part.high)
        )
        return replace(self, part=Estimate(value, error, low, high))

    def __str__(self) -> str:
        return f"{self.part} by another relation (p {self.p_value:.2g}, {self.labels} labels)"


def compare_relation(
    losses: FloatArray,
    values: FloatArray,
    sample: Sample,
    forecasts: tuple[Influence, Influence],
    confidence: float,
) -> Relation:
    """Compare losses and labels with what the source forecasts of either at the same rows."""
    off = [
        each - forecast.rows[sample.rows]
        for each, forecast in zip((losses, values), forecasts, strict=True)
    ]
    covariance = sample.covariance(*off)
    for k, forecast in enumerate(forecasts):
        covariance[k, k] += forecast.variance - forecast.of_target - forecast.of_labels
    means = np.array([sample.shares @ each for each in off])
    errors = np.sqrt(np.diag(covariance))
    mean, error = float(means[0]), float(errors[0])
    half = error * float(stdtrit(sample.freedom(off[0]), (1 + confidence) / 2))
    part = Estimate(mean, error, mean - half, mean + half)
    scores = means / np.where(errors > 0, errors, np.inf)
    between = covariance[0, 1] / (errors.prod() or np.inf)
    return Relation(losses.size, _p_value(scores, float(np.clip(between, -1, 1))), part)


def _p_value(scores: FloatArray, between: float) -> float:
    """Return the chance of larger max(loss, 0)^2 + label^2, for normal scores so correlated."""
    # a point of the plane is a direction times a length whose square is exponential
    angle = (np.arange(720) + 0.5) * (2 * math.pi / 720)
    label = between * np.cos(angle) + math.sqrt(1 - between**2) * np.sin(angle)
    stretch = np.maximum(np.cos(angle), 0) ** 2 + label**2
    found = max(scores[0], 0) ** 2 + scores[1] ** 2
    return float(np.exp(-found / (2 * np.maximum(stretch, 1e-12))).mean())


def forecast_losses(problem: RiskProblem, said: dict[str, HeldOut], loss: RowLoss) -> Influence:
    """Return what the source forecasts of the losses of a procedure that has said this."""
    part = problem.losses(loss, said[loss.response], said.get("predict_proba"))
    return calibrated(part, *problem.log_ratios, problem.ratio_influence)


def forecast_labels(problem: RiskProblem, said: dict[str, HeldOut]) -> Influence:
    """Return what the source forecasts of the labels, as `label_values` counts them."""
    labels, classes = problem.labels, problem.rows.classes
    place = 0 if classes is None else _most_frequent(problem)
    off = float(problem.rows.codes.mean()) if classes is None else 0.0
    at_source, at_target = labels.source[:, place] - off, labels.target[:, place] - off
    forecasts = [(at_source, at_target)]
    own = said.get("predict" if classes is None else "predict_proba")
    if own is not None:
        there = np.mean(own.at_target, axis=0)
        own_pair = (
            (own.at_source, there) if classes is None else (own.at_source.T[place], there.T[place])
        )
        forecasts.append((own_pair[0] - off, own_pair[1] - off))
    mean = float(at_target.mean())
    values = label_values(problem, problem.rows.codes)
    part = Losses(values, at_source, at_target, np.array([mean]), mean, tuple(forecasts))
    return calibrated(part, *problem.log_ratios, problem.ratio_influence)


def label_values(problem: RiskProblem, codes: npt.NDArray[np.generic]) -> FloatArray:
    """Return labels as numbers: from their mean on, or whether they are of the commonest class."""
    if problem.rows.classes is None:
        return np.asarray(codes - problem.rows.codes.mean(), dtype=np.float64)
    return np.asarray(codes == _most_frequent(problem), dtype=np.float64)


def _most_frequent(problem: RiskProblem) -> int:
    return int(np.bincount(problem.rows.codes).argmax())
