"""The labelled source rows on which weightings are judged, and validation weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import (
    _safe_indexing,
    check_consistent_length,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.multiclass import check_classification_targets

from weighbridge.ratios import effective_sample_size
from weighbridge.tables import check_sample_weight, is_frame, take_rows, unmasked
from weighbridge.weighting import (
    RIWERM,
    mean_one_log_ratio,
    source_weights,
    weighting_or_default,
)


@dataclass(frozen=True)
class SourceRows:
    """Labelled source rows with positive weight, their log ratios and validation weights."""

    X: Any  # a table of any library
    y: np.ndarray
    log_ratio: np.ndarray
    sample_weight: np.ndarray | None
    validation: np.ndarray
    classes: np.ndarray | None
    # Row numbers in the caller's table; None if every row has positive weight.
    numbers: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def codes(self) -> np.ndarray:
        """Labels as numbers."""
        if self.classes is None:
            return self.y.astype(float)
        return np.searchsorted(self.classes, self.y)

    @property
    def unit_weights(self) -> np.ndarray:
        """Weight of each row in the mean of the losses."""
        return self.fit_weights(self.validation)

    def fit_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return importance weights times the sample weights of the rows."""
        return weights if self.sample_weight is None else weights * self.sample_weight


def source_rows(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike,
    log_ratio: ArrayLike,
    sample_weight: ArrayLike | None,
    validation: Any,
) -> SourceRows:
    """Check the rows and leave out those whose sample weight is 0."""
    X = unmasked(np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0])
    labels = column_or_1d(unmasked(y, "y"))
    log_ratio = np.asarray(unmasked(log_ratio, "log_ratio"), dtype=float)
    check_consistent_length(X, labels, log_ratio)
    if labels.size < 2:
        raise ValueError(
            f"Got n_samples={labels.size} source rows. Choosing a weighting holds rows out and "
            "takes at least 2, and a few dozen to be of use."
        )
    sample_weight, numbers = check_sample_weight(sample_weight, labels.size), None
    if sample_weight is not None and not sample_weight.all():
        numbers = np.flatnonzero(sample_weight > 0)
        X, labels = table_rows(X, numbers), labels[numbers]
        if get_tags(estimator).input_tags.pairwise:
            X = X[:, numbers]
        log_ratio, sample_weight = log_ratio[numbers], sample_weight[numbers]
    log_ratio = mean_one_log_ratio(log_ratio, sample_weight)
    weighting = weighting_or_default(RIWERM(0.9) if validation is None else validation)
    weights = source_weights(weighting, log_ratio, sample_weight)
    classes = _classes(labels) if is_classifier(estimator) else None
    n_bad = int((~np.isfinite(labels.astype(float))).sum()) if classes is None else 0
    if n_bad:
        raise ValueError(
            f"Got y with NaN or infinite values in {n_bad} of {labels.size} source rows that "
            "count. Leave these rows out."
        )
    return SourceRows(X, labels, log_ratio, sample_weight, weights, classes, numbers)


def table_rows(X: Any, numbers: np.ndarray) -> Any:
    """Return rows of any table, in its own container."""
    return take_rows(X, numbers) if is_frame(X) else _safe_indexing(X, numbers)


def _classes(y: np.ndarray) -> np.ndarray:
    check_classification_targets(y)
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            f"Got only one class ({classes[0]!r}) in all {y.size} source rows that count. A "
            "classifier needs rows of at least two classes."
        )
    return np.asarray(classes)


class Tempered(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The power of the ratio with at least a given effective sample size.

    ``r ** q`` with the largest ``q <= 1`` for which the effective sample size of the source rows
    is at least `ess`. This is the ratio itself if its effective sample size is large enough, and
    no weights if any power has too small a one.

    Parameters
    ----------
    ess : float, default=20.0
        Effective sample size; half of all rows if there are fewer than twice as many.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.model_selection import Tempered
    >>> log_ratio = np.linspace(-20, 20, 200)
    >>> weights = np.exp(Tempered(ess=20)(log_ratio))
    >>> float((weights.sum() ** 2 / (weights**2).sum()).round(6))
    20.0
    """

    def __init__(self, ess: float = 20.0) -> None:
        self.ess = ess

    def __call__(self, log_ratio: ArrayLike) -> np.ndarray:
        """Return the log weights at the log ratios of the whole source sample."""
        if not self.ess >= 1:
            raise ValueError(f"Got ess={self.ess!r}, but expected at least 1 row.")
        log_ratio = np.asarray(log_ratio, dtype=float)
        target = min(float(self.ess), log_ratio.size / 2)
        relative = np.maximum(log_ratio - log_ratio.max(), -1e6)  # 0 times -inf would be NaN

        def excess(power: float) -> float:
            return float(effective_sample_size(np.exp(power * relative)) - target)

        if excess(1.0) >= 0:
            return log_ratio
        power = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-14))
        return np.asarray(power * relative)
