"""The effective sample size of weights, and the heaviness of their tail."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weighbridge import ratios
from weighbridge._findings import Record, percent
from weighbridge.tables import check_weights


def effective_sample_size(weights: ArrayLike) -> float:
    """Kish's effective sample size, ``sum(w)**2 / sum(w**2)``.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.

    Returns
    -------
    float
        The number of equally weighted rows whose mean is about as precise as the weighted mean,
        between 1 and the number of rows.

    Examples
    --------
    >>> from weighbridge.diagnosis import effective_sample_size
    >>> effective_sample_size([1, 1, 1, 1])
    4.0
    >>> round(effective_sample_size([1, 1, 1000]), 3)
    1.004
    """
    return ratios.effective_sample_size(check_weights(weights))


def pareto_k(weights: ArrayLike) -> float:
    """Shape of the tail of the weights: Pareto k-hat.

    The shape of the generalised Pareto distribution that fits the largest ``min(n/5, 3 sqrt(n))``
    weights (Zhang & Stephens 2009), drawn towards 1/2 by ten pseudo-observations (Vehtari et al.
    2024). From 1/2 on, the variance of a weighted mean is infinite. Above
    ``min(1 - 1/log10(n), 0.7)``, a weighted mean is not reliable.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.

    Returns
    -------
    float
        The shape, which is negative for a bounded tail. NaN if fewer than five weights exceed the
        others (fewer than 25 rows, or even weights).

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnosis import pareto_k
    >>> x = np.random.default_rng(0).exponential(size=20_000)
    >>> round(pareto_k(np.exp(0.3 * x)), 1)  # target Exp(0.7): the tail index is 0.3
    0.3
    """
    return ratios.pareto_k(check_weights(weights))


@dataclass(frozen=True, repr=False)
class WeightSummary(Record):
    """Effective sample size `ess` of `n_rows` weights, their concentration, and their tail.

    `rows_for_half` is the smallest number of rows that carry half of the total, and `largest_share`
    is the share of one row.
    """

    n_rows: int
    ess: float
    largest_share: float
    rows_for_half: int
    pareto_k: float

    def __str__(self) -> str:
        ess = f"{self.ess:,.0f}" if self.ess >= 100 else f"{self.ess:.1f}"
        tail = "" if math.isnan(self.pareto_k) else f"; tail index {self.pareto_k:.2f}"
        return (
            f"{ess} effective rows of {self.n_rows:,}, half of the weight on "
            f"{self.rows_for_half:,}, at most {percent(self.largest_share)} on one{tail}"
        )


def summarize_weights(weights: ArrayLike) -> WeightSummary:
    """Return the effective sample size of weights on any scale, with their tail."""
    scaled = check_weights(weights)
    carried = np.cumsum(np.sort(scaled)[::-1])
    return WeightSummary(
        n_rows=scaled.size,
        ess=ratios.effective_sample_size(scaled),
        largest_share=float(scaled.max() / scaled.sum()),
        # Rounding may leave the last sum a little off the total.
        rows_for_half=int(np.searchsorted(carried, carried[-1] / 2)) + 1,
        pareto_k=ratios.pareto_k(scaled),
    )
