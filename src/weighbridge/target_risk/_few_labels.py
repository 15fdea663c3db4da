"""What a few labels of target rows add to the forecast of the source: an error, and a test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr, stdtrit, xlogy

from weighbridge._findings import Estimate, wilson
from weighbridge.target_risk._influence import Influence, Losses, calibrated

if TYPE_CHECKING:
    from weighbridge.model_selection import RowLoss
    from weighbridge.target_risk._held_out import HeldOut
    from weighbridge.target_risk._problem import RiskProblem
    from weighbridge.target_risk._question import Measure

# By how much the relation between features and label may move an error, in points or as a part of
# any other loss: the scale of a law of Cauchy, whose tails leave room for far more. Chosen for
# coverage at 50, 100 and 200 labels on the choosing half of the benchmark; a mixture of two normal
# laws, and to forget the forecast where a test finds it off, gave no shorter intervals that hold.
_MOVED_POINTS, _MOVED_PART = 0.01, 0.1
# Trust in the forecast of single rows shrinks as if so many labels had spoken against it.
_SHRINKAGE = 5.0
# Forecasts spare at most this part of the labels' variance.
_LEAST_LEFT = 0.5
_GRID = 4001


class Sample(NamedTuple):
    """Which target rows are labelled, the share of the target each stands for, and its stratum."""

    rows: npt.NDArray[np.intp]
    shares: np.ndarray
    stratum: npt.NDArray[np.intp]

    @classmethod
    def drawn(
        cls, rows: npt.NDArray[np.intp], stands_for: np.ndarray, known: npt.NDArray[np.bool_]
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

    def covariance(self, *values: np.ndarray) -> tuple[np.ndarray, float]:
        """Return covariances of means of values, and the degrees of freedom of the first."""
        off = self.shares[:, None] * (np.column_stack(values) - self.shares @ np.array(values).T)
        sizes = np.bincount(self.stratum)
        parts = np.array(
            [size * np.atleast_2d(np.cov(off[self.stratum == k].T)) for k, size in enumerate(sizes)]
        )
        total = parts.sum(axis=0)
        part = parts[:, 0, 0] / (total[0, 0] or 1)
        return total, 1 / float(part**2 @ (1 / (sizes - 1)) or 1)

    def effective(self, losses: np.ndarray) -> float:
        """Return how large a plain sample is whose share of errors has the same variance."""
        # no stratum is taken to be pure
        chance = (np.bincount(self.stratum, losses) + 0.5) / (np.bincount(self.stratum) + 1)
        middle = float(self.shares @ chance[self.stratum])
        spread = float(self.shares**2 @ (chance * (1 - chance))[self.stratum])
        return middle * (1 - middle) / spread


def by_labels(losses: np.ndarray, sample: Sample, measure: Measure, confidence: float) -> Estimate:
    """Return a mean by labels alone: Wilson's interval for a share of errors, else Student's."""
    mean = min(float(sample.shares @ losses), measure.bounds[1])
    if measure.bounds[1] == 1:
        n = sample.effective(losses)
        low, high = map(float, wilson(mean, n, confidence))
        return Estimate(mean, math.sqrt(mean * (1 - mean) / n), low, high)
    covariance, freedom = sample.covariance(losses)
    error = math.sqrt(covariance[0, 0])
    half = error * float(stdtrit(freedom, (1 + confidence) / 2)) if error else 0.0
    found = Estimate(mean, error, max(measure.bounds[0], mean - half), mean + half)
    return _rooted(found) if measure.root else found


def _rooted(found: Estimate) -> Estimate:
    low, value, high = (math.sqrt(each) for each in (found.low, found.value, found.high))
    return Estimate(value, found.standard_error / (2 * value) if value else 0.0, low, high)


def with_forecast(
    losses: np.ndarray, sample: Sample, forecast: Influence, measure: Measure, confidence: float
) -> Estimate:
    """Return a mean by labels, by forecasts at all target rows, and by the forecast of the mean."""
    # the latter is a first guess with heavy tails: labels overrule it the sooner the further off
    value, left, variance = _powered(losses, sample, forecast.rows)
    size, doubt, is_share = forecast.value, math.sqrt(forecast.variance), measure.bounds[1] == 1
    if not (is_share or (value > 0 and size > 0 and variance > 0)):  # amounts that tell nothing
        return by_labels(losses, sample, measure, confidence)
    if is_share:
        value = min(max(value, 0.5 / (losses.size + 1)), 1 - 0.5 / (losses.size + 1))
        points = (np.arange(_GRID) + 0.5) / _GRID
        likely = xlogy(value, points) + xlogy(1 - value, 1 - points)
        likely *= sample.effective(losses) / left
        off, scale = points - size, math.hypot(doubt, _MOVED_POINTS)
    else:
        spread, scale = math.sqrt(variance) / value, math.hypot(doubt / size, _MOVED_PART)
        reach = 8 * (scale + spread) + abs(math.log(value / size))
        off = np.linspace(-reach, reach, _GRID)
        points = size * np.exp(off)
        likely = -0.5 * ((value / points - 1) / spread) ** 2  # the larger, the less certain
    likely -= np.log1p((off / scale) ** 2)
    chance = np.cumsum(np.exp(likely - likely.max()))
    ends = np.array([(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
    low, middle, high = points[np.searchsorted(chance, ends * chance[-1])].tolist()
    found = Estimate(middle, (high - low) / (2 * float(ndtri(ends[2]))), low, high)
    return _rooted(found) if measure.root else found


def _powered(losses: np.ndarray, sample: Sample, rows: np.ndarray) -> tuple[float, float, float]:
    """Return a prediction-powered mean, the part of the labels' variance left to it, and that."""
    there = rows[sample.rows]
    covariance, _ = sample.covariance(losses, there)
    of_all = float(rows.var())
    doubt = _SHRINKAGE / losses.size * of_all * float(sample.shares @ sample.shares)
    total = covariance[1, 1] + of_all / rows.size
    slope = float(np.clip(covariance[0, 1] / (total + doubt or 1), 0, 1))
    mean = float(sample.shares @ losses)
    value = mean + slope * float(rows.mean() - sample.shares @ there)
    before = float(covariance[0, 0])
    left = (before - 2 * slope * covariance[0, 1] + slope**2 * total) / (before or 1.0)
    left = float(np.clip(left, _LEAST_LEFT, 1))
    return max(value, 0.2 * mean), left, left * before


class Relation(NamedTuple):
    """Labels compared with forecasts: a p-value, and the parts of the change of the loss."""

    labels: int
    p_value: float
    is_changed: bool
    part: Estimate
    rows: Estimate | None = None  # the part of other rows

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        parts = {"rows": self.rows and self.rows.to_dict(), "relation": self.part.to_dict()}
        found = {"labels": self.labels, "p_value": self.p_value, "changed": self.is_changed}
        return {**found, **parts}

    def rooted(self, before: float) -> Relation:
        """Return the same about the root of a mean, which was that large `before`."""
        part, root = self.part, math.sqrt(max(before, 1e-300))
        low, value, high = (
            math.sqrt(max(before + each, 0)) - root for each in (part.low, part.value, part.high)
        )
        return self._replace(part=Estimate(value, part.standard_error / (2 * root), low, high))


def compare_relation(
    losses: np.ndarray,
    values: np.ndarray,
    sample: Sample,
    forecasts: tuple[Influence, Influence],
    confidence: float,
) -> Relation:
    """Compare losses and labels with what the source forecasts of either at the same rows."""
    off = [losses - forecasts[0].rows[sample.rows], values - forecasts[1].rows[sample.rows]]
    covariance, freedom = sample.covariance(*off)
    covariance += np.diag([each.variance - each.of_target - each.of_labels for each in forecasts])
    means, errors = np.array(off) @ sample.shares, np.sqrt(np.diag(covariance))
    mean, error = float(means[0]), float(errors[0])
    half = error * float(stdtrit(freedom, (1 + confidence) / 2))
    part = Estimate(mean, error, mean - half, mean + half)
    # with few labels their spread is a guess: a score of Student's counts as that of a normal law
    scores = ndtri(stdtr(freedom, means / np.where(errors > 0, errors, np.inf)))
    between = covariance[0, 1] / (errors.prod() or np.inf)
    p_value = _p_value(scores, float(np.clip(between, -1, 1)))
    return Relation(losses.size, p_value, p_value < 1 - confidence, part)


def _p_value(scores: np.ndarray, between: float) -> float:
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
    return calibrated(part, *problem.log_ratios, problem.ratio_influence, problem.bridge)


def forecast_labels(problem: RiskProblem, said: dict[str, HeldOut]) -> Influence:
    """Return what the source forecasts of the labels, as `label_values` counts them."""
    is_number, codes = problem.rows.classes is None, problem.rows.codes
    place = 0 if is_number else _most_frequent(codes)
    forecasts = [(problem.labels.source[:, place], problem.labels.target[:, place])]
    own = said.get("predict" if is_number else "predict_proba")
    if own is not None:
        both = own.at_source, np.mean(own.at_target, axis=0)
        forecasts.append(both if is_number else (both[0][:, place], both[1][:, place]))
    off = float(codes.mean()) if is_number else 0.0
    forecasts = [(here - off, there - off) for here, there in forecasts]
    at_source, at_target = forecasts[0]
    mean = float(at_target.mean())
    values = label_values(problem, codes)
    part = Losses(values, at_source, at_target, np.array([mean]), mean, tuple(forecasts))
    return calibrated(part, *problem.log_ratios, problem.ratio_influence, problem.bridge)


def label_values(problem: RiskProblem, codes: npt.NDArray[Any]) -> np.ndarray:
    """Return labels as numbers: from their mean on, or whether they are of the commonest class."""
    known = problem.rows.codes
    of_class = problem.rows.classes is not None
    return (codes == _most_frequent(known)).astype(float) if of_class else codes - known.mean()


def _most_frequent(codes: npt.NDArray[Any]) -> int:
    return int(np.bincount(codes).argmax())
