"""Combine a few labels of target rows with the forecast: the error, and a test of P(y | x)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr, stdtrit, xlogy

from weighbridge._findings import Estimate, wilson
from weighbridge.target_risk._forecast import Influence, Losses, calibrated_mean
from weighbridge.target_risk._interval import score_of
from weighbridge.target_risk._procedures import HeldOut, loss_argument, record_predictions

if TYPE_CHECKING:
    from weighbridge.target_risk._problem import Measure, RiskProblem

# How far a change of P(y | x) may move the loss: the scale of a Cauchy distribution, in points of a
# share of errors, and as a part of any other loss. Chosen for coverage with 50, 100 and 200 labels
# on the development tasks.
_CHANGE_POINTS, _CHANGE_PART = 0.01, 0.1
# The slope of the forecasts of single rows is shrunk as if this many labels contradicted them.
_SHRINKAGE = 5.0
# Forecasts reduce the variance of the labels at most to this part.
_MIN_VARIANCE_LEFT = 0.5
_GRID_SIZE = 4001


class Sample(NamedTuple):
    """Labelled target rows, the share of the target that each represents, and its stratum."""

    rows: npt.NDArray[np.intp]
    shares: np.ndarray
    stratum: npt.NDArray[np.intp]

    @classmethod
    def drawn(
        cls, rows: npt.NDArray[np.intp], stands_for: np.ndarray, known: npt.NDArray[np.bool_]
    ) -> Sample:
        """Return the rows with known labels. Rows that stand for the same number are a stratum."""
        values, strata = np.unique(stands_for, return_inverse=True)
        stratum, weights = strata[known], stands_for[known]
        n_labelled = np.bincount(stratum, minlength=values.size)
        # The labelled rows also represent the rows of their stratum without a label.
        weights = weights * (np.bincount(strata) / np.maximum(n_labelled, 1))[stratum]
        if n_labelled.min() < 2:  # One label has no variance.
            stratum = np.zeros_like(stratum)
        return cls(rows[known], weights / weights.sum(), stratum)

    def covariance(self, *values: np.ndarray) -> tuple[np.ndarray, float]:
        """Return covariances of means of values, and the degrees of freedom of the first."""
        means = self.shares @ np.array(values).T
        deviations = self.shares[:, None] * (np.column_stack(values) - means)
        sizes = np.bincount(self.stratum)
        strata = [deviations[self.stratum == k].T for k in range(sizes.size)]
        by_stratum = sizes[:, None, None] * np.array([np.atleast_2d(np.cov(d)) for d in strata])
        total = by_stratum.sum(axis=0)
        parts = by_stratum[:, 0, 0] / (total[0, 0] or 1)
        return total, 1 / float(parts**2 @ (1 / (sizes - 1)) or 1)

    def effective_size(self, losses: np.ndarray) -> float:
        """Return the size of the simple random sample with the same variance of a share."""
        # No stratum is assumed to be pure.
        shares = (np.bincount(self.stratum, losses) + 0.5) / (np.bincount(self.stratum) + 1)
        mean = float(self.shares @ shares[self.stratum])
        return mean * (1 - mean) / float(self.shares**2 @ (shares * (1 - shares))[self.stratum])


def value_of(
    measure: Measure,
    model: Any,
    X: Any,
    codes: np.ndarray,
    classes: np.ndarray | None,
    weights: np.ndarray,
) -> float:
    """Return a measure on labelled rows; NaN if it is undefined there."""
    predictions, loss = record_predictions(model, X, classes), measure.row_loss
    if loss is None:
        return score_of(measure, predictions, codes, classes)(weights)
    losses = loss.loss(codes, loss_argument(predictions, loss.response, classes))
    mean = float(np.average(losses, weights=weights))
    return float(np.sqrt(mean)) if measure.root else mean


def by_labels(losses: np.ndarray, sample: Sample, measure: Measure, confidence: float) -> Estimate:
    """Return a mean by labels alone: Wilson's interval for a share of errors, else Student's."""
    mean = min(float(sample.shares @ losses), measure.bounds[1])
    if measure.bounds[1] == 1:
        n = sample.effective_size(losses)
        low, high = map(float, wilson(mean, n, confidence))
        return Estimate(mean, math.sqrt(mean * (1 - mean) / n), low, high)
    covariance, freedom = sample.covariance(losses)
    error = math.sqrt(covariance[0, 0])
    half = error * float(stdtrit(freedom, (1 + confidence) / 2)) if error else 0.0
    estimate = Estimate(mean, error, max(measure.bounds[0], mean - half), mean + half)
    return _root(estimate) if measure.root else estimate


def _root(estimate: Estimate) -> Estimate:
    low, value, high = map(math.sqrt, (estimate.low, estimate.value, estimate.high))
    return Estimate(value, estimate.standard_error / (2 * value) if value else 0.0, low, high)


def with_forecast(
    losses: np.ndarray, sample: Sample, forecast: Influence, measure: Measure, confidence: float
) -> Estimate:
    """Return the posterior median and interval of a mean, given labels and forecasts.

    The prior is a Cauchy distribution around the forecast of the mean. Its heavy tails let labels
    that contradict the forecast overrule it.
    """
    value, variance_left, variance = _prediction_powered(losses, sample, forecast.rows)
    centre, is_share = forecast.value, measure.bounds[1] == 1
    if not (is_share or (value > 0 and centre > 0 and variance > 0)):
        return by_labels(losses, sample, measure, confidence)
    if is_share:
        least = 0.5 / (losses.size + 1)
        value = min(max(value, least), 1 - least)
        points = (np.arange(_GRID_SIZE) + 0.5) / _GRID_SIZE
        log_posterior = xlogy(value, points) + xlogy(1 - value, 1 - points)
        log_posterior *= sample.effective_size(losses) / variance_left
        deviations = points - centre
        scale = math.hypot(math.sqrt(forecast.variance), _CHANGE_POINTS)
    else:
        spread = math.sqrt(variance) / value
        scale = math.hypot(math.sqrt(forecast.variance) / centre, _CHANGE_PART)
        reach = 8 * (scale + spread) + abs(math.log(value / centre))
        deviations = np.linspace(-reach, reach, _GRID_SIZE)
        points = centre * np.exp(deviations)
        log_posterior = -0.5 * ((value / points - 1) / spread) ** 2
    log_posterior -= np.log1p((deviations / scale) ** 2)
    cumulative = np.cumsum(np.exp(log_posterior - log_posterior.max()))
    ends = np.array([(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
    low, median, high = points[np.searchsorted(cumulative, ends * cumulative[-1])].tolist()
    estimate = Estimate(median, (high - low) / (2 * float(ndtri(ends[2]))), low, high)
    return _root(estimate) if measure.root else estimate


def _prediction_powered(
    losses: np.ndarray, sample: Sample, forecasts: np.ndarray
) -> tuple[float, float, float]:
    """Return a prediction-powered mean, its variance over that of the labels, and its variance.

    The mean is mean(l) + b (mean of all f - mean of labelled f), with the slope b of l on the
    forecast f (Angelopoulos, Duchi and Zrnic, 2023, "PPI++").
    """
    labelled = forecasts[sample.rows]
    covariance, _ = sample.covariance(losses, labelled)
    spread = float(forecasts.var())
    shrinkage = _SHRINKAGE / losses.size * spread * float(sample.shares @ sample.shares)
    total = covariance[1, 1] + spread / forecasts.size
    slope = float(np.clip(covariance[0, 1] / (total + shrinkage or 1), 0, 1))
    mean = float(sample.shares @ losses)
    value = mean + slope * float(forecasts.mean() - sample.shares @ labelled)
    plain = float(covariance[0, 0])
    left = (plain - 2 * slope * covariance[0, 1] + slope**2 * total) / (plain or 1.0)
    left = float(np.clip(left, _MIN_VARIANCE_LEFT, 1))
    return max(value, 0.2 * mean), left, left * plain


class Relation(NamedTuple):
    """Test of whether P(y | x) has changed, and the parts of the change of the loss."""

    labels: int
    p_value: float
    is_changed: bool
    part: Estimate
    rows: Estimate | None = None  # the part that is due to other rows

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        parts = {"rows": self.rows and self.rows.to_dict(), "relation": self.part.to_dict()}
        test = {"labels": self.labels, "p_value": self.p_value, "changed": self.is_changed}
        return {**test, **parts}

    def rooted(self, before: float) -> Relation:
        """Return the same for the root of a mean that was `before`."""
        part, root = self.part, math.sqrt(max(before, 1e-300))
        changes = (part.low, part.value, part.high)
        low, value, high = (math.sqrt(max(before + change, 0)) - root for change in changes)
        return self._replace(part=Estimate(value, part.standard_error / (2 * root), low, high))


def compare_relation(
    losses: np.ndarray,
    values: np.ndarray,
    sample: Sample,
    forecasts: tuple[Influence, Influence],
    confidence: float,
) -> Relation:
    """Compare losses and labels with the forecasts from the source for the same rows."""
    of_losses, of_labels = (forecast.rows[sample.rows] for forecast in forecasts)
    excess = [losses - of_losses, values - of_labels]
    covariance, freedom = sample.covariance(*excess)
    # The target rows and their labels are the ones that were observed.
    unobserved = [forecast.variance - sum(forecast.variances[1:3]) for forecast in forecasts]
    covariance += np.diag(unobserved)
    means, errors = np.array(excess) @ sample.shares, np.sqrt(np.diag(covariance))
    mean, error = float(means[0]), float(errors[0])
    half = error * float(stdtrit(freedom, (1 + confidence) / 2))
    part = Estimate(mean, error, mean - half, mean + half)
    # Scores of Student's distribution are turned into normal ones, because few labels leave their
    # variance uncertain.
    scores = ndtri(stdtr(freedom, means / np.where(errors > 0, errors, np.inf)))
    correlation = float(np.clip(covariance[0, 1] / (errors.prod() or np.inf), -1, 1))
    p_value = _p_value(scores, correlation)
    return Relation(losses.size, p_value, p_value < 1 - confidence, part)


def _p_value(scores: np.ndarray, correlation: float) -> float:
    """Return P(max(Z1, 0)^2 + Z2^2 > max(z1, 0)^2 + z2^2) for correlated normal Z1 and Z2."""
    # In polar coordinates, the square of the radius is exponential.
    angle = (np.arange(720) + 0.5) * (2 * math.pi / 720)
    second = correlation * np.cos(angle) + math.sqrt(1 - correlation**2) * np.sin(angle)
    per_radius = np.maximum(np.cos(angle), 0) ** 2 + second**2
    statistic = max(scores[0], 0) ** 2 + scores[1] ** 2
    return float(np.exp(-statistic / (2 * np.maximum(per_radius, 1e-12))).mean())


def forecast_labels(problem: RiskProblem, held_out: HeldOut) -> Influence:
    """Return the forecast of the labels, as the numbers that `label_values` returns."""
    is_number, codes = problem.rows.classes is None, problem.rows.codes
    column = 0 if is_number else int(np.bincount(codes).argmax())
    forecasts = [(problem.labels.source[:, column], problem.labels.target[:, column])]
    method = "predict" if is_number else "predict_proba"
    if method in held_out.source:
        source, *targets = (
            predictions[method] if is_number else predictions[method][:, column]
            for predictions in (held_out.source, *held_out.target)
        )
        forecasts.append((source, np.mean(targets, axis=0)))
    centre = float(codes.mean()) if is_number else 0.0
    forecasts = [(at_source - centre, at_target - centre) for at_source, at_target in forecasts]
    mean = float(forecasts[0][1].mean())
    values = label_values(problem, codes)
    losses = Losses(values, *forecasts[0], np.array([mean]), mean, tuple(forecasts))
    return calibrated_mean(losses, problem)


def label_values(problem: RiskProblem, codes: npt.NDArray[Any]) -> np.ndarray:
    """Return labels as deviations from their mean, or whether they are of the commonest class."""
    source_codes = problem.rows.codes
    if problem.rows.classes is None:
        return np.asarray(codes - source_codes.mean())
    return (codes == np.bincount(source_codes).argmax()).astype(float)
