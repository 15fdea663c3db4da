"""Estimate the class prevalence in the target by EM, BBSE or RLLS, with intervals.

Let p be the prevalence in the source, q that in the target, and P(c | x) calibrated probabilities.
Under label shift the density ratio is ``r(x) = sum_c (q_c / p_c) P(c | x)``. EM maximises the mean
of ``log r`` over the target (Saerens, Latinne and Decaestecker 2002). BBSE solves ``C w = mu`` for
the weights ``w = q / p``, with the confusion matrix ``C`` of the source and the mean forecast
``mu`` of the target (Lipton, Wang and Smola 2018). RLLS shrinks these weights towards 1
(Azizzadenesheli, Liu, Yang and Anandkumar 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

from weighbridge._findings import Record, number, percent, wilson
from weighbridge.label_shift._probabilities import PRIOR_ROWS, ClassProbabilities

METHODS = ("em", "bbse", "rlls")
# Largest numbers of steps, and the largest change of a prevalence in the last one.
MAX_NEWTON_STEPS, MAX_EM_STEPS, TOLERANCE = 100, 5000, 1e-9
# Share of the weight of a bin that moves to each neighbour between two steps.
SMOOTHING = 0.05
# Rows added to each class before errors are computed, so that none is certain to be absent.
ADDED_ROWS = 0.5
# Share of the misfit at source rows that is subtracted, and the most that is. On the development
# draws of the benchmark, errors are 4 % larger without it, and the same with a share of 1.
MISFIT_SHARE, MAX_CORRECTION = 0.5, 0.05
MIN_PROBABILITY = 1e-12


@dataclass(frozen=True)
class PrevalenceEstimate:
    """Prevalence in the target, the influence of each row of both samples, and the misfit."""

    target: np.ndarray
    of_source: np.ndarray
    of_target: np.ndarray
    misfit: np.ndarray | float = 0.0

    @property
    def variances(self) -> np.ndarray:
        """Sum of the squared influences and of the squared misfit."""
        of_rows = np.sum(self.of_source**2, axis=0) + np.sum(self.of_target**2, axis=0)
        return np.asarray(of_rows + np.square(self.misfit))

    def interval(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the union of Wilson's interval and the normal one."""
        z, q = float(ndtri((1 + confidence) / 2)), self.target
        m, n_classes = len(self.of_target), q.size
        centre = (m * q + ADDED_ROWS) / (m + ADDED_ROWS * n_classes)
        # A simple random sample of this many rows has the same variance.
        n_effective = centre * (1 - centre) / np.maximum(self.variances, 1e-300)
        low, high = wilson(q, n_effective, confidence)
        half = z * np.sqrt(self.variances)
        return np.clip(np.minimum(low, q - half), 0, 1), np.clip(np.maximum(high, q + half), 0, 1)


def estimate_prevalence(
    probabilities: ClassProbabilities, method: str, *, ordered: bool = False
) -> PrevalenceEstimate:
    """Estimate the prevalence in the target; `ordered` smooths neighbouring classes in EM."""
    if method == "em":
        return _by_likelihood(probabilities, ordered)
    return _by_moments(probabilities, method)


def most_likely_prevalence(probabilities: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return the q that maximises ``mean log sum_c (q_c / p_c) P(c | x)``."""
    # With the sum of q added to the loss, its minimum over q >= 0 lies on the simplex.
    ratios, q = probabilities / priors, priors.copy()
    for _ in range(MAX_NEWTON_STEPS):
        scores = ratios / (ratios @ q)[:, None]
        gradient, hessian = 1 - scores.mean(axis=0), scores.T @ scores / len(scores)
        root = np.linalg.cholesky(hessian + 1e-12 * np.trace(hessian) * np.eye(priors.size))
        newton, _ = nnls(root.T, np.linalg.solve(root, hessian @ q - gradient))
        # A class of prevalence 0 would stay there, so a step goes most of the way.
        step = np.maximum(newton, 0.01 * q) - q
        em_step = q * (1 - gradient)  # It never increases the loss.
        loss = _loss(ratios, em_step)
        trials = (q + 0.5**k * step for k in range(10))
        new = next((trial for trial in trials if _loss(ratios, trial) < loss), em_step)
        change, q = np.abs(new - q).max(), new
        if change < TOLERANCE:
            break
    return np.asarray(q / q.sum())


def _loss(ratios: np.ndarray, q: np.ndarray) -> float:
    """Return the mean negative log likelihood plus the sum of q."""
    likelihood = ratios @ q
    return float(q.sum() - np.log(likelihood).mean()) if likelihood.min() > 0 else np.inf


def _smoothed_em(probabilities: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Maximise the likelihood by EM with a smoothing step (Silverman et al. 1990).

    Features distinguish neighbouring bins too badly to estimate the weight of each alone.
    """
    q, k = priors.copy(), priors.size
    smoother = np.eye(k) + SMOOTHING * (np.eye(k, k=1) + np.eye(k, k=-1) - 2 * np.eye(k))
    smoother[0, 0] = smoother[-1, -1] = 1 - SMOOTHING
    for _ in range(MAX_EM_STEPS):
        new = reweighted_posterior(probabilities, q / priors).mean(axis=0)
        new = priors * (smoother @ (new / priors))
        new /= new.sum()
        if np.abs(new - q).max() < TOLERANCE:
            return np.asarray(new)
        q = new
    return q


def reweighted_posterior(probabilities: np.ndarray, class_weights: np.ndarray) -> np.ndarray:
    """Return ``w_c P(c | x) / sum_k w_k P(k | x)``, the class probabilities under weights w."""
    joint = probabilities * class_weights
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _by_likelihood(probabilities: ClassProbabilities, ordered: bool) -> PrevalenceEstimate:
    """Maximise the likelihood, with errors by the estimating equations of q and calibration."""
    priors, codes = probabilities.priors, probabilities.codes
    (n, k), m = probabilities.source.shape, probabilities.targets.shape[1]
    # Stack the predictions of all fold models. Averaging them would make them less sharp.
    targets = probabilities.targets.reshape(-1, k)
    q = (_smoothed_em if ordered else most_likely_prevalence)(targets, priors)
    inner = (m * q + ADDED_ROWS) / (m + ADDED_ROWS * k)
    weights, truth = inner / priors, np.eye(k)[codes]
    posterior = reweighted_posterior(targets, weights)
    # The information about prevalences that sum to 1; without any, they may take all values.
    basis = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    scores = posterior / inner @ basis
    information = scores.T @ scores / len(scores) + 1e-9 * np.eye(k - 1)
    influence = basis @ np.linalg.inv(information) @ basis.T / inner
    # The mean posterior moves with the slope and the biases of the calibration.
    by_calibration = _mean_slopes(posterior, np.log(np.maximum(targets, MIN_PROBABILITY)))
    of_source = _calibration_influence(probabilities) @ by_calibration.T
    of_source -= (truth - priors) / priors @ by_calibration[:, 1:].T
    # With correct probabilities, these residuals would have mean 0. The rest is misfit.
    residuals = reweighted_posterior(probabilities.source, weights) - truth
    misfit = influence @ (weights[codes, None] * residuals).mean(axis=0)
    correction = 0.0 if ordered else np.clip(MISFIT_SHARE * misfit, -MAX_CORRECTION, MAX_CORRECTION)
    q = np.maximum(q - correction, 0)
    by_row = posterior.reshape(-1, m, k).mean(axis=0)
    of_target = (by_row - by_row.mean(axis=0)) @ influence.T / m
    return PrevalenceEstimate(q / q.sum(), of_source @ influence.T / n, of_target, misfit)


def _mean_slopes(probabilities: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the derivatives of mean probabilities by the slope of `logs`, and by the biases."""
    tilted = probabilities * logs
    by_slope = tilted.mean(axis=0) - probabilities.T @ tilted.sum(axis=1) / len(logs)
    by_bias = np.diag(probabilities.mean(axis=0)) - probabilities.T @ probabilities / len(logs)
    return np.column_stack([by_slope, by_bias])


def _calibration_influence(probabilities: ClassProbabilities) -> np.ndarray:
    """Return n times the influence of each source row on the slope and the biases."""
    source = probabilities.source
    logs, (n, k) = np.log(np.maximum(source, MIN_PROBABILITY)), source.shape
    residuals = np.eye(k)[probabilities.codes] - source
    slopes = _mean_slopes(source, logs)
    tilted = source * logs
    spread = np.sum(tilted * logs, axis=1) - tilted.sum(axis=1) ** 2
    information = np.block([[spread.mean(), slopes[:, 0]], [slopes[:, :1], slopes[:, 1:]]])
    scores = np.column_stack([np.sum(residuals * logs, axis=1), residuals])
    penalty = PRIOR_ROWS / n * np.eye(k + 1)
    return np.asarray(scores @ np.linalg.inv(information + penalty))


def _by_moments(probabilities: ClassProbabilities, method: str) -> PrevalenceEstimate:
    """Solve for class weights that give the source the target's mean forecast."""
    source, target = probabilities.source, probabilities.target
    priors, codes = probabilities.priors, probabilities.codes
    (n, k), m = source.shape, len(target)
    confusion = source.T @ np.eye(k)[codes] / n
    mean = target.mean(axis=0)
    solve = np.linalg.pinv(confusion)
    weights = plain = _normalised(solve @ mean, priors)
    if method == "rlls":  # Shrink towards 1 by the variances of the mean forecasts.
        noise = target.var(axis=0).sum() / m + source.var(axis=0).sum() / n
        solve = np.linalg.solve(confusion.T @ confusion + noise * np.eye(k), confusion.T)
        weights = _normalised(1 + solve @ (mean - confusion.sum(axis=1)), priors)
    # Errors follow from the spread of forecasts within a class, not from its number of rows.
    residuals = (source - (confusion / priors).T[codes]) * weights[codes, None]
    of_source = -residuals @ solve.T * priors / n
    of_target = (target - mean) @ solve.T * priors / m
    # What shrinkage has moved may be bias.
    return PrevalenceEstimate(priors * weights, of_source, of_target, priors * (weights - plain))


def _normalised(weights: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return weights of at least 0 with mean 1 over the source."""
    positive = np.maximum(weights, 0)
    return np.asarray(positive / (priors @ positive))


@dataclass(frozen=True, repr=False)
class ClassFrequencies(Record):
    """Frequencies of the `classes` in the `source` and, under label shift, in the `target`.

    `low` and `high` are the ends of the intervals of the latter, of level `confidence`.
    """

    classes: tuple[Any, ...]
    source: tuple[float, ...]
    target: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    confidence: float = 0.95
    method: str = "em"

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the classes: frequency in the target over that in the source."""
        return tuple(new / old for new, old in zip(self.target, self.source, strict=True))

    @property
    def change(self) -> str:
        """The class that grew most, with both frequencies."""
        most = int(np.argmax(np.subtract(self.target, self.source)))
        name = _class_name(self.classes[most])
        return f"{name}: {percent(self.source[most])} to {percent(self.target[most])}"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields for JSON, with classes as text."""
        return super().to_dict() | {"classes": [str(label) for label in self.classes]}

    def __str__(self) -> str:
        rows = zip(self.classes, self.source, self.target, self.low, self.high, strict=True)
        return "\n".join(
            f"{_class_name(label)}: {percent(old)} -> {percent(new)} "
            f"[{percent(low)}, {percent(high)}]"
            for label, old, new, low, high in rows
        )


def _class_name(label: Any) -> str:
    return number(label) if isinstance(label, float) else str(label)
