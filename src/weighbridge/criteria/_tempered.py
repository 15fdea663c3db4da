"""Validation weights that are worth a given number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator

from weighbridge._findings import effective_sample_size


class Tempered(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The power of the ratio that is worth at least so many rows.

    ``r ** q`` with the largest ``q <= 1`` for which the effective sample size of the source rows
    reaches `ess`: the ratio itself where it is tame, no weights at all where even a small power
    would be worth too little.

    Parameters
    ----------
    ess : float, default=20.0
        Effective number of rows; half of all rows where there are fewer than twice as many.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.criteria import Tempered
    >>> log_ratio = np.linspace(-20, 20, 200)
    >>> weights = np.exp(Tempered(ess=20)(log_ratio))
    >>> float((weights.sum() ** 2 / (weights**2).sum()).round(6))
    20.0
    """

    def __init__(self, ess: float = 20.0) -> None:
        self.ess = ess

    def __call__(self, log_ratio: Any) -> np.ndarray:
        """Return the log weights at the log ratios of the whole source sample.

        Parameters
        ----------
        log_ratio : array of shape (n_samples,)
            Log density ratios.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``q * log_ratio``.
        """
        if not self.ess >= 1:
            raise ValueError(f"Got ess={self.ess!r}, but a number of rows is 1 or more.")
        log_ratio = np.asarray(log_ratio, dtype=float)
        wanted = min(float(self.ess), log_ratio.size / 2)
        top = log_ratio.max()
        low = np.maximum(log_ratio - top, -1e6)  # a ratio of 0 stays next to nothing

        def excess(power: float) -> float:
            return float(effective_sample_size(np.exp(power * low)) - wanted)

        if excess(1.0) >= 0:
            return np.asarray(log_ratio)
        power = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-14))
        return np.asarray(power * low)
