"""Class frequencies of the target, by three methods, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

from weighbridge._findings import Record, number, percent, wilson
from weighbridge.label_shift._chances import PRIOR_ROWS, ClassChances
from weighbridge.tables import FloatArray

METHODS = ("em", "bbse", "rlls")
# Steps of Newton's method, and of expectation maximisation; one that moves no frequency by more
# than this is the last.
_NEWTON_STEPS, _STEPS, _STILL = 100, 5000, 1e-9
# Part of the weight of a bin that each of its neighbours gets between two steps.
_SMOOTHED = 0.05
# Rows of each class added before errors are computed: none is sure to be absent.
_ADDED_ROWS = 0.5
# Part of the misfit seen at source rows that is taken off, by the choosing half of the benchmark:
# with none of it errors are 4 % larger, with all of it the same. More than this is no correction.
_CORRECTED, _MOST_OFF = 0.5, 0.05


class Frequencies(NamedTuple):
    """Class frequencies of the target, and what rows of both samples add to their errors."""

    target: FloatArray
    of_source: FloatArray
    of_target: FloatArray
    misfit: FloatArray | float = 0.0

    @classmethod
    def estimated(cls, chances: ClassChances, method: str, *, ordered: bool = False) -> Frequencies:
        """Estimate them by one of the methods."""
        return _by_likelihood(chances, ordered) if method == "em" else _by_moments(chances, method)

    @property
    def variances(self) -> FloatArray:
        """Their variances, with the square of what the probabilities are seen to be off."""
        of_rows = np.sum(self.of_source**2, axis=0) + np.sum(self.of_target**2, axis=0)
        return np.asarray(of_rows + np.square(self.misfit))

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals: Wilson's, and no shorter than those of the normal law."""
        z, q = float(ndtri((1 + confidence) / 2)), self.target
        m, n_classes = len(self.of_target), q.size
        middle = (m * q + _ADDED_ROWS) / (m + _ADDED_ROWS * n_classes)
        # a plain sample of so many rows has the same variance
        n_alike = middle * (1 - middle) / np.maximum(self.variances, 1e-300)
        low, high = wilson(q, n_alike, confidence)
        reach = z * np.sqrt(self.variances)
        return np.clip(np.minimum(low, q - reach), 0, 1), np.clip(np.maximum(high, q + reach), 0, 1)


def most_likely(chances: FloatArray, priors: FloatArray, *, ordered: bool = False) -> FloatArray:
    """Return the frequencies that make the rows most likely."""
    if ordered:
        return _smoothly(chances, priors)
    # with the sum added to the loss, the minimum over all q >= 0 lies on the simplex
    ratios, found = chances / priors, priors.copy()
    for _ in range(_NEWTON_STEPS):
        scores = ratios / (ratios @ found)[:, None]
        slope, bend = 1 - scores.mean(axis=0), scores.T @ scores / len(scores)
        root = np.linalg.cholesky(bend + 1e-12 * np.trace(bend) * np.eye(priors.size))
        ahead, _ = nnls(root.T, np.linalg.solve(root, bend @ found - slope))
        # what is 0 once stays 0 in all that follows: a step goes most of the way there
        step = np.maximum(ahead, 0.01 * found) - found
        trials = [found + 0.5**k * step for k in range(10)]
        safe = found * (1 - slope)  # by expectation and maximisation, which never makes it worse
        value = _loss(ratios, safe)
        new = next((each for each in trials if _loss(ratios, each) < value), safe)
        moved, found = np.abs(new - found).max(), new
        if moved < _STILL:
            break
    return np.asarray(found / found.sum())


def _loss(ratios: FloatArray, frequencies: FloatArray) -> float:
    """Return the negative log likelihood of a mean row, with a price on the frequencies' sum."""
    likely = ratios @ frequencies
    return float(frequencies.sum() - np.log(likely).mean()) if likely.min() > 0 else np.inf


def _smoothly(chances: FloatArray, priors: FloatArray) -> FloatArray:
    """Maximise by expectation and a little smoothing in turn (Silverman et al. 1990).

    Features tell neighbouring bins apart too badly to find the weight of each by itself.
    """
    found, k = priors.copy(), priors.size
    smoother = np.eye(k) + _SMOOTHED * (np.eye(k, k=1) + np.eye(k, k=-1) - 2 * np.eye(k))
    smoother[0, 0] = smoother[-1, -1] = 1 - _SMOOTHED
    for _ in range(_STEPS):
        step = posterior(chances, found / priors).mean(axis=0)
        step = priors * (smoother @ (step / priors))
        step /= step.sum()
        if np.abs(step - found).max() < _STILL:
            return np.asarray(step)
        found = step
    return found


def posterior(chances: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the probabilities of the classes where these have such weights."""
    joint = chances * weights
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _by_likelihood(chances: ClassChances, ordered: bool) -> Frequencies:
    """Maximise the likelihood of the target rows; errors by the equations that it solves."""
    priors, codes = chances.priors, chances.codes
    (n, k), m = chances.source.shape, chances.targets.shape[1]
    # models of all folds have their say: their mean would be less sharp than any of them
    targets = chances.targets.reshape(-1, k)
    found = most_likely(targets, priors, ordered=ordered)
    safe = (m * found + _ADDED_ROWS) / (m + _ADDED_ROWS * k)
    weights, truth = safe / priors, np.eye(k)[codes]
    there = posterior(targets, weights)
    # what rows tell of frequencies that add up to 1; where they tell nothing, anything may be
    along = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    scores = there / safe @ along
    information = scores.T @ scores / len(scores) + 1e-9 * np.eye(k - 1)
    pull = along @ np.linalg.inv(information) @ along.T / safe
    # the mean posterior moves with the slope and the biases of the calibration
    by_calibration = _slopes(there, _logs(targets))
    of_source = _of_calibration(chances) @ by_calibration.T
    of_source -= (truth - priors) / priors @ by_calibration[:, 1:].T
    # were the probabilities right, these would have mean 0: what is left is their misfit
    off = weights[codes, None] * (posterior(chances.source, weights) - truth)
    misfit = pull @ off.mean(axis=0)
    part = 0.0 if ordered else np.clip(_CORRECTED * misfit, -_MOST_OFF, _MOST_OFF)
    corrected = np.maximum(found - part, 0)
    by_row = there.reshape(-1, m, k).mean(axis=0)
    of_target = (by_row - by_row.mean(axis=0)) @ pull.T / m
    return Frequencies(corrected / corrected.sum(), of_source @ pull.T / n, of_target, misfit)


def _logs(chances: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(chances, 1e-12)))


def _slopes(chances: FloatArray, logs: FloatArray) -> FloatArray:
    """Return the derivatives of mean probabilities by a slope of the logarithms, and by biases."""
    tilted = chances * logs
    by_slope = tilted.mean(axis=0) - chances.T @ tilted.sum(axis=1) / len(chances)
    by_bias = np.diag(chances.mean(axis=0)) - chances.T @ chances / len(chances)
    return np.column_stack([by_slope, by_bias])


def _of_calibration(chances: ClassChances) -> FloatArray:
    """Return by how much each source row moves the slope and the biases, times their number."""
    logs, (n, k) = _logs(chances.source), chances.source.shape
    off = np.eye(k)[chances.codes] - chances.source
    slopes = _slopes(chances.source, logs)
    tilted = chances.source * logs
    spread = np.sum(tilted * logs, axis=1) - tilted.sum(axis=1) ** 2
    information = np.block([[spread.mean(), slopes[:, 0]], [slopes[:, :1], slopes[:, 1:]]])
    scores = np.column_stack([np.sum(off * logs, axis=1), off])
    held = PRIOR_ROWS / n * np.eye(k + 1)  # near none where the classes never meet
    return np.asarray(scores @ np.linalg.inv(information + held))


def _by_moments(chances: ClassChances, method: str) -> Frequencies:
    """Solve for the weights of the classes that give the source the target's mean forecast."""
    priors, codes = chances.priors, chances.codes
    (n, k), m = chances.source.shape, len(chances.target)
    joint = chances.source.T @ np.eye(k)[codes] / n
    goal = chances.target.mean(axis=0)
    solve = np.linalg.pinv(joint)
    weights = plain = _scaled(solve @ goal, priors)
    if method == "rlls":  # shrunk towards 1 by as much as the means of the forecasts err
        noise = chances.target.var(axis=0).sum() / m + chances.source.var(axis=0).sum() / n
        solve = np.linalg.solve(joint.T @ joint + noise * np.eye(k), joint.T)
        weights = _scaled(1 + solve @ (goal - joint.sum(axis=1)), priors)
    # errors come from how forecasts scatter within a class, not from how many rows it has
    off = (chances.source - (joint / priors).T[codes]) * weights[codes, None]
    of_source = -off @ solve.T * priors / n
    of_target = (chances.target - goal) @ solve.T * priors / m
    # what shrinking has moved may be bias
    return Frequencies(priors * weights, of_source, of_target, priors * (weights - plain))


def _scaled(weights: FloatArray, priors: FloatArray) -> FloatArray:
    """Return weights that are at least 0 and have mean 1 over the source."""
    positive = np.maximum(weights, 0)
    return np.asarray(positive / (priors @ positive))


def _named(label: Any) -> str:
    return number(label) if isinstance(label, float) else str(label)


@dataclass(frozen=True, repr=False)
class ClassFrequencies(Record):
    """Class frequencies of source and target, as `class_frequencies` finds them.

    Parameters
    ----------
    classes : tuple
        The classes.
    source : tuple of float
        Their frequencies in the source.
    target : tuple of float
        Those in the target, if the classes look the same in both samples.
    low, high : tuple of float
        Ends of the intervals of the latter.
    confidence : float
        Of the intervals.
    method : str
        "em", "bbse" or "rlls".

    Examples
    --------
    >>> from weighbridge.label_shift import ClassFrequencies
    >>> print(ClassFrequencies(("no", "yes"), (0.5, 0.5), (0.2, 0.8), (0.1, 0.7), (0.3, 0.9)))
    no: 50 % -> 20 % [10 %, 30 %]
    yes: 50 % -> 80 % [70 %, 90 %]
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
        """The class that grew most, in words."""
        most = int(np.argmax(np.subtract(self.target, self.source)))
        old, new = (percent(part[most]) for part in (self.source, self.target))
        return f"{_named(self.classes[most])}: {old} to {new}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            All fields, classes as text.
        """
        return super().to_dict() | {"classes": [str(label) for label in self.classes]}

    def __str__(self) -> str:
        rows = zip(self.classes, self.source, self.target, self.low, self.high, strict=True)
        return "\n".join(
            f"{_named(label)}: {percent(old)} -> {percent(new)} [{percent(low)}, {percent(high)}]"
            for label, old, new, low, high in rows
        )
