"""Losses of one candidate, one for each row or fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weighbridge.search._result import weighted_mean

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """What a criterion says about one candidate; lower is better.

    Parameters
    ----------
    losses : ndarray of shape (n_units,)
        One loss for each row, or for each fold where the metric is no mean over rows.
    weights : ndarray of shape (n_units,)
        What each of them counts.
    predictions : ndarray, optional
        The held-out predictions behind the losses.

    Examples
    --------
    Two candidates are compared in pairs, unit by unit:

    >>> import numpy as np
    >>> from weighbridge.criteria import Scores
    >>> first = Scores(np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> second = Scores(np.array([1.1, 2.2, 3.3]), np.ones(3))
    >>> round(first.value, 6), round(first.standard_error, 6)
    (2.0, 0.57735)
    >>> difference = first - second
    >>> round(difference.value, 6), round(difference.standard_error, 6)
    (-0.2, 0.057735)
    """

    losses: FloatArray
    weights: FloatArray
    predictions: FloatArray | None = None

    @property
    def value(self) -> float:
        """Weighted mean of the losses."""
        return weighted_mean(self.losses, self.weights).value

    @property
    def standard_error(self) -> float:
        """Standard error of the weighted mean."""
        return weighted_mean(self.losses, self.weights).standard_error

    def __sub__(self, other: Scores) -> Scores:
        if not np.array_equal(self.weights, other.weights):
            raise ValueError(
                "Got scores of other units or other weights; only scores of one criterion on the "
                "same rows can be compared in pairs."
            )
        return Scores(self.losses - other.losses, self.weights)
