"""Class frequencies of the target, by three methods, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from weighbridge._data import FloatArray
from weighbridge._findings import Record, percent
from weighbridge.label_shift._chances import ClassChances, coded_classes
from weighbridge.ratios import check_confidence, stacked_table

METHODS = ("em", "bbse", "rlls")
# Steps of expectation maximisation; one that moves no frequency by more than this is the last.
_STEPS, _STILL = 5000, 1e-9
# Rows of each class added before errors are computed: none is sure to be absent.
_ADDED_ROWS = 0.5
# Part of the misfit seen at source rows that is taken off, by the choosing half of the benchmark:
# with none of it errors are 4 % larger, with all of it the same.
_CORRECTED = 0.5


class Frequencies(NamedTuple):
    """Class frequencies of the target, and what rows of both samples add to their errors."""

    target: FloatArray
    of_source: FloatArray
    of_target: FloatArray
    misfit: FloatArray | float = 0.0

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
        room = z * z * np.maximum(self.variances, 1e-300) / (middle * (1 - middle))
        half = np.sqrt(q * (1 - q) * room + room**2 / 4)
        low, high = ((q + room / 2 + sign * half) / (1 + room) for sign in (-1, 1))
        reach = z * np.sqrt(self.variances)
        return np.clip(np.minimum(low, q - reach), 0, 1), np.clip(np.maximum(high, q + reach), 0, 1)


def most_likely(chances: FloatArray, priors: FloatArray) -> FloatArray:
    """Return the frequencies that make the rows most likely, by expectation maximisation."""
    found = priors.copy()
    for _ in range(_STEPS):
        step = posterior(chances, found / priors).mean(axis=0)
        if np.abs(step - found).max() < _STILL:
            return np.asarray(step)
        found = step
    return found


def posterior(chances: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the probabilities of the classes where these have such weights."""
    joint = chances * weights
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def estimate_frequencies(chances: ClassChances, method: str) -> Frequencies:
    """Return the class frequencies of the target by one of the methods."""
    return _by_likelihood(chances) if method == "em" else _by_moments(chances, method)


def _by_likelihood(chances: ClassChances) -> Frequencies:
    """Maximise the likelihood of the target rows; errors by the equations that it solves."""
    priors, codes = chances.priors, chances.codes
    (n, k), m = chances.source.shape, chances.targets.shape[1]
    # models of all folds have their say: their mean would be less sharp than any of them
    targets = chances.targets.reshape(-1, k)
    found = most_likely(targets, priors)
    safe = (m * found + _ADDED_ROWS) / (m + _ADDED_ROWS * k)
    weights, truth = safe / priors, np.eye(k)[codes]
    there = posterior(targets, weights)
    spread = np.diag(there.mean(axis=0)) - there.T @ there / len(there)
    # derivative of the mean posterior by the frequencies, along frequencies that add up to 1
    along = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    pull = -along @ np.linalg.inv(((spread / safe - np.eye(k)) @ along)[:-1])
    # the calibration and the source's own frequencies move the mean posterior too
    by_calibration = np.column_stack([_by_slope(chances, targets, there), spread[:, 1:]])
    moved = chances.calibration.influence(chances.source, codes) @ by_calibration.T
    moved -= (truth - priors) @ (spread / priors).T
    # were the probabilities right, these would have mean 0: what is left is their misfit
    off = (weights[codes, None] * (posterior(chances.source, weights) - truth)).mean(axis=0)
    misfit = pull @ off[:-1]
    at_target = there.reshape(-1, m, k).mean(axis=0)
    of_target = (at_target - at_target.mean(axis=0))[:, :-1] @ pull.T / m
    corrected = np.maximum(found - _CORRECTED * misfit, 0)
    return Frequencies(corrected / corrected.sum(), moved[:, :-1] @ pull.T / n, of_target, misfit)


def _by_slope(chances: ClassChances, targets: FloatArray, there: FloatArray) -> FloatArray:
    """Return the derivative of the mean posterior at the target by the slope of the calibration."""
    logs = chances.calibration.logs(targets)
    return np.asarray((there * (logs - np.sum(there * logs, axis=1, keepdims=True))).mean(axis=0))


def _by_moments(chances: ClassChances, method: str) -> Frequencies:
    """Solve for the weights of the classes that give the source the target's mean forecast."""
    priors, codes = chances.priors, chances.codes
    (n, k), m = chances.source.shape, len(chances.target)
    joint = chances.source.T @ np.eye(k)[codes] / n
    goal = chances.target.mean(axis=0)
    if method == "bbse":
        solve = np.linalg.pinv(joint)
        weights = solve @ goal
    else:  # shrunk towards 1 by as much as the means of the forecasts err
        noise = chances.target.var(axis=0).sum() / m + chances.source.var(axis=0).sum() / n
        solve = np.linalg.solve(joint.T @ joint + noise * np.eye(k), joint.T)
        weights = 1 + solve @ (goal - joint.sum(axis=1))
    weights = np.maximum(weights, 0)
    scale = float(priors @ weights)
    weights /= scale
    off = chances.source * weights[codes, None]
    of_source = -(off - off.mean(axis=0)) @ solve.T * priors / n
    of_target = (chances.target - goal) @ solve.T * priors / m
    return Frequencies(priors * weights, of_source, of_target)


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
        return f"{self.classes[most]}: {percent(self.source[most])} to {percent(self.target[most])}"

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
            f"{label}: {percent(old)} -> {percent(new)} [{percent(low)}, {percent(high)}]"
            for label, old, new, low, high in rows
        )


def as_record(
    labels: np.ndarray, priors: FloatArray, found: Frequencies, confidence: float, method: str
) -> ClassFrequencies:
    """Return frequencies and their intervals for people to read."""
    rows = (priors, found.target, *found.interval(confidence))
    source, target, low, high = (tuple(map(float, part)) for part in rows)
    return ClassFrequencies(tuple(labels.tolist()), source, target, low, high, confidence, method)


def check_method(method: Any) -> None:
    """Refuse a method that does not exist."""
    if method not in METHODS:
        raise ValueError(f"Got method={method!r}, but expected one of {', '.join(METHODS)}.")


def class_frequencies(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    method: str = "em",
    classifier: Any = None,
    cv: int = 5,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> ClassFrequencies:
    """Estimate how frequent the classes are in a target without labels.

    It is right under label shift: rows of one class look the same in both samples, and only the
    frequencies of the classes differ.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    y : array-like of shape (n_source,)
        Their classes.
    X_target : same type as `X`, of shape (n_target, n_features)
        Target rows.
    method : {"em", "bbse", "rlls"}, default="em"
        "em" maximises the likelihood of the target rows (Saerens et al. 2002), by calibrated
        probabilities (bias-corrected temperature scaling, Alexandari et al. 2020). "bbse" matches
        mean forecasts (Lipton et al. 2018), "rlls" does so with less variance and some bias
        towards no change (Azizzadenesheli et al. 2019); its intervals do not count that bias.
    classifier : classifier with predict_proba, optional
        Default: logistic regression, linear and with squares and products, and histogram gradient
        boosting, mixed as suits the held-out rows best; for tables of any kind.
    cv : int, default=5
        Number of folds, stratified by class.
    confidence : float, default=0.95
        Of the intervals.
    random_state : int, RandomState instance or None, default=0
        Deals the folds, draws 10,000 rows to fit to from larger samples.

    Returns
    -------
    ClassFrequencies
        Frequencies in both samples, with intervals for the target's.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import class_frequencies
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.2
    >>> X, X_target = (rng.normal(2.0 * part)[:, None] for part in (y, y_target))
    >>> found = class_frequencies(X, y, X_target)
    >>> found.low[1] < 0.2 < found.high[1]
    True
    """
    check_method(method)
    check_confidence(confidence)
    n_source = int(np.sum(stacked_table(X, X_target)[1] == 0))
    labels, codes = coded_classes(y, n_source)
    chances = ClassChances(X, codes, X_target, classifier, cv, random_state)
    found = estimate_frequencies(chances, method)
    return as_record(labels, chances.priors, found, confidence, method)
