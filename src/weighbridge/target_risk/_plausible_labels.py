"""What labels are plausible at a row, and what a prediction may be expected to cost there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weighbridge.criteria._row_loss import RowLoss
from weighbridge.target_risk._features import Features, FloatArray
from weighbridge.target_risk._smoother import smooth

# Residuals are represented by so many of their quantiles.
_QUANTILES = 21


class PlausibleLabels:
    """A model of the labels, cross-fitted: chances of classes, or a mean, a scale and residuals.

    Parameters
    ----------
    features : Features
        What the labels are smoothed by.
    X, X_target : tables
        The two samples.
    codes : ndarray of shape (n_source,)
        Labels, places among the classes for a classifier.
    n_classes : int or None
        Number of classes; None for numbers.
    weights : ndarray of shape (n_source,)
        Weights of the source rows.
    fold : ndarray of shape (n_source,)
        Number of the fold that each row is held out in.
    """

    def __init__(
        self,
        features: Features,
        X: Any,
        X_target: Any,
        codes: npt.NDArray[Any],
        n_classes: int | None,
        weights: FloatArray,
        fold: npt.NDArray[np.intp],
    ):
        self.n_classes = n_classes
        if n_classes is not None:
            indicators = np.eye(n_classes)[codes]
            chances = smooth(features, X, X_target, indicators, weights, fold)
            self.source = _chances(chances.at_source)
            self.target = _chances(chances.at_target)
            return
        # near 1 in size, so that squares neither over- nor underflow
        unit = float(np.abs(codes - codes.mean()).max()) or 1.0
        y = (codes - codes.mean()) / unit
        mean = smooth(features, X, X_target, y[:, None], weights, fold)
        squares = (y[:, None] - mean.at_source) ** 2
        typical = float(np.average(squares[:, 0], weights=weights))
        variance = smooth(features, X, X_target, squares, weights, fold)
        floor = max(0.05 * typical, np.finfo(float).tiny)
        scale, scale_target = (
            np.sqrt(np.maximum(part, floor)) for part in (variance.at_source, variance.at_target)
        )
        residuals = (y - mean.at_source[:, 0]) / scale[:, 0]
        self.residuals = _weighted_quantiles(residuals, weights, _QUANTILES)
        # counts and other amounts stay what they are
        self.lowest = 0.0 if codes.min() >= 0 else -np.inf
        centre = codes.mean()
        self.source = np.hstack([centre + unit * mean.at_source, unit * scale])
        self.target = np.hstack([centre + unit * mean.at_target, unit * scale_target])

    def expected_loss(self, loss: RowLoss, model: FloatArray, response: FloatArray) -> FloatArray:
        """Return the loss of predictions, averaged over the labels that are plausible at each row.

        `model` is `source` or `target`.
        """
        if self.n_classes is None:
            mean, scale = model.T
            labels = (np.maximum(mean + scale * each, self.lowest) for each in self.residuals)
            return np.asarray(np.mean([loss.loss(each, response) for each in labels], axis=0))
        return loss_by_chances(loss, model, response)


def loss_by_chances(loss: RowLoss, chances: FloatArray, response: FloatArray) -> FloatArray:
    """Return the loss of predictions, averaged over the classes with their chances."""
    total = np.zeros(len(chances))
    for code, chance in enumerate(chances.T):
        total += chance * loss.loss(np.full(len(chances), code), response)
    return total


def _chances(smoothed: FloatArray) -> FloatArray:
    """Bring smoothed indicators of classes back to probabilities."""
    positive = np.clip(smoothed, 1e-3, None)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _weighted_quantiles(values: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """Return equally likely values with the mean and the spread of the whole."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    middles = (np.arange(n) + 0.5) / n
    found = values[order][np.minimum(np.searchsorted(share, middles), values.size - 1)]
    mean = np.average(values, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, weights=weights))
    return np.asarray((found - found.mean()) / (found.std() or 1.0) * spread + mean)
