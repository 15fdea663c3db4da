"""Forecast the mean loss on the target, with its influence function; the package derives both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from weighbridge._folds import row_blocks
from weighbridge.model_selection import RowLoss
from weighbridge.tables import Quadratic, QuadraticRows, TableEncoder, stack_samples
from weighbridge.target_risk._procedures import HeldOut, loss_argument
from weighbridge.weighting import RIWERM

if TYPE_CHECKING:
    from weighbridge.target_risk._problem import RiskProblem

# The losses are regressed on their forecasts under these relative weights, which are at most 4. The
# forecasts account for the rest of the shift, with far less variance than the full ratio.
BRIDGE = RIWERM(0.75)
# The regression is shrunk as if this many rows showed that the forecasts are useless.
_SHRINKAGE = 1.0
# Standard deviations for what the rows cannot show, as shares of the loss: the error of the part of
# the target that the capped weights leave out, and the most that the distance to the doubly robust
# estimate counts. Chosen for coverage on the development tasks of benchmarks/expected_error.
_LEFT_OUT_ERROR, _MAX_APART = 0.1, 0.25
# The variance of larger losses is beyond a double.
_MAX_LOSS = 1e70
# Means that differ by less than this, relative to their size, differ only by rounding.
_ROUNDING = 1e-12
# Squares and products need this many rows each. Wider tables are projected to this many columns.
_ROWS_PER_FEATURE, _MAX_COLUMNS = 5, 300
# Scales of features are learned from about this many rows.
_SCALE_ROWS = 10_000
# Numbers beyond this many standard deviations would dominate a regression on their squares.
_MAX_DEVIATIONS = 8.0
# Penalties in rows. The one with the smallest held-out squared error is used.
PENALTIES = (1e-3, 1e-1, 1.0, 10.0, 100.0, 1000.0)
# Number of quantiles that represent the residuals of numeric labels.
_QUANTILES = 21


class CrossFittedRidge:
    """Ridge regression of source rows on features phi(x), fitted without each fold.

    The features are a constant, standardised numbers, and as many of their squares and products as
    the rows allow.
    """

    def __init__(
        self, X: Any, X_target: Any, weights: np.ndarray, fold: npt.NDArray[np.intp]
    ) -> None:
        stacked, codes = stack_samples(X, X_target)
        encoder = TableEncoder().fit(stacked, codes)
        self.source, self.target = (_numbers(encoder, table) for table in (X, X_target))
        d, max_features = self.source.shape[1], int(np.bincount(codes).min()) / _ROWS_PER_FEATURE
        self.quadratic = None
        if encoder.width <= _MAX_COLUMNS and 2 * d <= max_features:
            numbers = np.vstack([self.source, self.target])[:: max(1, codes.size // _SCALE_ROWS)]
            self.quadratic = Quadratic(products=d * (d + 3) / 2 <= max_features).fit(numbers)
        self.width = 1 + (d if self.quadratic is None else self.quadratic.scale.size)
        self.weights = weights
        self.folds = [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)]
        self.grams = np.array([self.gram(self.source[rows], weights[rows]) for rows in self.folds])

    def gram(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return sum_i w_i phi_i phi_i' over the rows."""
        total = np.zeros((self.width, self.width))
        for rows in row_blocks(len(numbers), 4 * self.width):
            block, quadratic = numbers[rows], self.quadratic
            phi = np.ones((len(block), self.width))
            phi[:, 1:] = block if quadratic is None else quadratic.transform(block)
            total += (phi * weights[rows, None]).T @ phi
        return total

    def times(self, numbers: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return phi_i' b for each row i and each column b of coefficients."""
        if self.quadratic is None:
            return np.asarray(coefficients[0] + numbers @ coefficients[1:])
        return coefficients[0] + QuadraticRows(numbers, self.quadratic) @ coefficients[1:]

    def moments(self, numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return sum_i phi_i v_i for each column v of values of the rows."""
        if self.quadratic is None:
            return np.vstack([values.sum(axis=0), numbers.T @ values])
        rows = QuadraticRows(numbers, self.quadratic)
        return np.vstack([values.sum(axis=0), rows.moments(values)])

    def smooth(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return held-out predictions of columns of values, and their mean at the target rows."""
        weighted = values * self.weights[:, None]
        moments = np.array([self.moments(self.source[rows], weighted[rows]) for rows in self.folds])
        grams, moments = self.grams.sum(axis=0) - self.grams, moments.sum(axis=0) - moments
        scale = self.weights.mean()
        solved = np.array([_solve_ridge(grams, moments, scale * size) for size in PENALTIES])
        held_out = np.empty((len(PENALTIES), *values.shape))
        for k, rows in enumerate(self.folds):
            predictions = self.times(self.source[rows], np.concatenate(solved[:, k], axis=1))
            held_out[:, rows] = np.array(np.split(predictions, len(PENALTIES), axis=1))
        best = int(np.argmin(np.einsum("pij,i->p", (held_out - values) ** 2, self.weights)))
        return held_out[best], self.times(self.target, solved[best].mean(axis=0))


def _numbers(encoder: TableEncoder, X: Any) -> np.ndarray:
    """Return the columns of a table as numbers, or a random projection of very many."""
    numbers = encoder.numbers(X)
    if encoder.width > _MAX_COLUMNS:
        normal = np.random.RandomState(0).standard_normal((encoder.width, _MAX_COLUMNS))
        numbers = numbers @ (normal / np.sqrt(_MAX_COLUMNS))
    dense = numbers.toarray() if sp.issparse(numbers) else numbers
    return np.clip(np.asarray(dense, dtype=np.float64), -_MAX_DEVIATIONS, _MAX_DEVIATIONS)


def _solve_ridge(grams: np.ndarray, moments: np.ndarray, penalty: float) -> np.ndarray:
    """Solve the normal equations of each fold. The constant is not penalised."""
    penalties = np.full(grams.shape[-1], penalty)
    penalties[0] = 1e-12 * penalty
    return np.asarray(np.linalg.solve(grams + np.diag(penalties), moments))


class LabelModel:
    """Model of the labels: class probabilities, or mean, scale and residuals of numbers."""

    def __init__(self, ridge: CrossFittedRidge, y: npt.NDArray[Any], n_classes: int | None):
        self.n_classes = n_classes
        if n_classes is not None:
            positive = (
                np.clip(values, 1e-3, None) for values in ridge.smooth(np.eye(n_classes)[y])
            )
            self.source, self.target = (p / p.sum(axis=1, keepdims=True) for p in positive)
            return
        centre = y.mean()
        # Labels of size 1 have squares that neither overflow nor underflow.
        unit = float(np.abs(y - centre).max()) or 1.0
        means = ridge.smooth((y - centre)[:, None] / unit)
        errors = (y - centre)[:, None] / unit - means[0]
        floor = max(0.05 * float(ridge.weights @ errors[:, 0] ** 2 / ridge.weights.sum()), 1e-300)
        scales = [np.sqrt(np.maximum(variance, floor)) for variance in ridge.smooth(errors**2)]
        self.residuals = _equally_likely(errors[:, 0] / scales[0][:, 0], ridge.weights)
        self.lowest = 0.0 if y.min() >= 0 else -np.inf  # Counts and amounts stay non-negative.
        self.source, self.target = (
            np.hstack([centre + unit * mean, unit * scale])
            for mean, scale in zip(means, scales, strict=True)
        )

    def expected_loss(self, loss: RowLoss, model: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the loss of predictions, averaged over the modelled labels of each row."""
        if self.n_classes is not None:
            return loss.expected(model, response)
        mean, scale = model.T
        labels = (np.maximum(mean + scale * q, self.lowest) for q in self.residuals)
        return np.asarray(np.mean([loss.loss(y, response) for y in labels], axis=0))


def _equally_likely(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return quantiles of weighted values, with the mean and standard deviation of the values."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    quantiles = values[order][np.minimum(np.searchsorted(share, levels), values.size - 1)]
    mean = np.average(values, weights=weights)
    deviation = np.sqrt(np.average((values - mean) ** 2, weights=weights))
    standardised = (quantiles - quantiles.mean()) / (quantiles.std() or 1.0)
    return np.asarray(standardised * deviation + mean)


class Losses(NamedTuple):
    """Losses of a procedure: held out, expected by the label model, and forecasts of them."""

    held_out: np.ndarray
    expected: np.ndarray
    expected_target: np.ndarray
    of_folds: np.ndarray  # mean expected loss on the target of each fold's model
    of_final: float  # the same for the model that is fitted to all rows
    forecasts: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # at source rows, at target rows


def forecast_losses(
    problem: RiskProblem, loss: RowLoss, held_out: HeldOut
) -> tuple[Influence, Influence]:
    """Return the mean loss of a procedure on the target, and that of its held-out losses."""
    losses = _held_out_losses(problem, loss, held_out)
    return calibrated_mean(losses, problem), plain_mean(losses.held_out)


def _held_out_losses(problem: RiskProblem, loss: RowLoss, held_out: HeldOut) -> Losses:
    """Return the held-out losses of a procedure with their forecasts."""
    rows, labels = problem.rows, problem.labels
    source, final, *targets = (
        loss_argument(predictions, loss.response, rows.classes)
        for predictions in (held_out.source, held_out.final, *held_out.target)
    )
    losses = np.asarray(loss.loss(rows.codes, source))
    expected = labels.expected_loss(loss, labels.source, source)
    by_fold = [labels.expected_loss(loss, labels.target, target) for target in targets]
    expected_target = np.asarray(np.mean(by_fold, axis=0))
    n_bad = np.count_nonzero(~(np.abs(np.r_[losses, expected, expected_target]) <= _MAX_LOSS))
    if n_bad:
        raise ValueError(
            f"Got {n_bad} losses ({loss.scoring}) that are infinite, NaN or beyond {_MAX_LOSS:g}, "
            "but expected a finite variance. Look at the model's predictions, or divide the labels "
            "by a constant."
        )
    forecasts = [(expected, expected_target)]
    if rows.classes is None:
        smoothed = problem.ridge.smooth(losses[:, None])
        forecasts = [(smoothed[0][:, 0], smoothed[1][:, 0])]
    elif "predict_proba" in held_out.source:
        # The loss that a classifier itself expects, by its probabilities.
        own_target = [
            loss.expected(predictions["predict_proba"], target)
            for predictions, target in zip(held_out.target, targets, strict=True)
        ]
        own = loss.expected(held_out.source["predict_proba"], source)
        forecasts.append((own, np.asarray(np.mean(own_target, axis=0))))
    of_folds = np.array([target.mean() for target in by_fold])
    of_final = float(labels.expected_loss(loss, labels.target, final).mean())
    return Losses(losses, expected, expected_target, of_folds, of_final, tuple(forecasts))


# The fields of an influence that are in the unit of the estimate, beside its value.
_CONTRIBUTIONS = ("source", "target", "residuals", "folds", "unseen")


@dataclass(frozen=True)
class Influence:
    """An estimate and the contribution of every row and fold to its error."""

    value: float
    source: np.ndarray
    target: np.ndarray
    residuals: np.ndarray
    shares: np.ndarray
    folds: np.ndarray
    # Standard deviations of what the rows cannot show. In a difference, equal signs cancel.
    unseen: np.ndarray = field(default_factory=partial(np.zeros, 2))
    # The forecast for each target row.
    rows: np.ndarray = field(default_factory=partial(np.zeros, 0))

    @cached_property
    def variances(self) -> tuple[float, float, float, float, float]:
        """Variance from source rows, target rows, their labels, folds, and what is unseen."""
        # Rows of large weight may have small residuals by chance.
        homoscedastic = np.sum(self.shares**2) * (self.shares @ self.residuals**2)
        return (
            float(max(np.sum(self.source**2), homoscedastic)),
            float(np.sum(self.target**2)),
            float(self.shares @ self.residuals**2 / self.target.size),
            float(np.var(self.folds, ddof=1)) if self.folds.size > 1 else 0.0,
            float(self.unseen @ self.unseen),
        )

    @property
    def variance(self) -> float:
        """Square of the standard error."""
        return sum(self.variances)

    def minus(self, other: Influence) -> Influence:
        """Return the difference of two means on the same rows and folds."""
        value = self.value - other.value
        if abs(value) <= _ROUNDING * (abs(self.value) + abs(other.value)):
            value = 0.0
        changes = {name: getattr(self, name) - getattr(other, name) for name in _CONTRIBUTIONS}
        return replace(self, value=value, **changes)

    def root(self) -> Influence:
        """Return the square root of the mean, with its errors by the delta method."""
        value = float(np.sqrt(max(self.value, 0.0)))
        size = max(self.value, float(np.sqrt(self.variance)))
        slope = 0.5 / float(np.sqrt(size)) if size > 0 else 0.0
        scaled = {name: slope * getattr(self, name) for name in _CONTRIBUTIONS}
        return replace(self, value=value, **scaled)


def plain_mean(losses: np.ndarray) -> Influence:
    """Return the mean loss over the source rows, which has no error from target or folds."""
    shares, none = np.full(losses.size, 1 / losses.size), np.zeros(1)
    value = float(shares @ losses)
    return Influence(value, shares * (losses - value), none, np.zeros(losses.size), shares, none)


def calibrated_mean(losses: Losses, problem: RiskProblem) -> Influence:
    """Return the mean over the target of forecasts, calibrated on weighted source rows."""
    bridge, (log_ratio, log_ratio_target) = problem.bridge, problem.log_ratios
    weights = np.exp(bridge(log_ratio))
    shares = np.asarray(weights / weights.sum())
    expected, residuals, leverage = _calibrate(losses.held_out, shares, losses.forecasts)
    value, source = float(expected.mean()), shares * residuals * leverage
    target = (expected - value) / expected.size
    if problem.ratio_influence is not None:
        # d log w / d log r of the relative weights
        slope = 1 - (1 - bridge.lam) * weights
        from_ratio = problem.ratio_influence.of_mean(source * slope)
        source, target = source + from_ratio[0], target + from_ratio[1]
    large = np.maximum(log_ratio_target, 0)
    left_out = 1 - np.exp(bridge(large) - large).mean()
    doubly_robust = losses.expected_target.mean() + shares @ (losses.held_out - losses.expected)
    apart = np.clip(value - doubly_robust, -_MAX_APART * abs(value), _MAX_APART * abs(value))
    unseen = np.array([_LEFT_OUT_ERROR * left_out * value, apart])
    final = losses.of_final - float(losses.of_folds.mean())
    value, rows, folds = value + final, expected + final, losses.of_folds
    return Influence(value, source, target, residuals, shares, folds, unseen, rows)


def _calibrate(
    losses: np.ndarray, shares: np.ndarray, forecasts: tuple[tuple[np.ndarray, np.ndarray], ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regress losses on forecasts; return predictions at the target, residuals and leverages."""
    columns = []
    for at_source, at_target in forecasts:
        # The calibration does not reach beyond the forecasts of the source rows.
        within = np.clip(at_target, at_source.min(), at_source.max())
        centre = shares @ at_source
        spread = float(np.sqrt(shares @ (at_source - centre) ** 2))
        if spread <= _ROUNDING * np.abs(at_source).max():  # A constant forecast is left out.
            spread = np.inf
        columns.append(((at_source - centre) / spread, (within - centre) / spread))
    source, target = (np.column_stack(samples) for samples in zip(*columns, strict=True))
    gram = (source * shares[:, None]).T @ source + _SHRINKAGE / shares.size * np.eye(len(columns))
    mean = shares @ losses
    slopes = np.linalg.solve(gram, source.T @ (shares * (losses - mean)))
    leverage = 1 + source @ np.linalg.solve(gram, target.mean(axis=0))
    return mean + target @ slopes, losses - mean - source @ slopes, leverage
