"""The effective sample size of weights, and the heaviness of their tail."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weighbridge import ratios
from weighbridge._findings import Record, percent
from weighbridge.ratios import pareto_threshold
from weighbridge.tables import as_floats, refuse_all_zero, refuse_bad, to_numpy


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
    return _effective_sample_size(scaled_weights(weights))


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
    return ratios.pareto_k(scaled_weights(weights))


@dataclass(frozen=True, repr=False)
class WeightSummary(Record):
    """Effective sample size `ess` of `n_rows` weights, their concentration, and their tail.

    `rows_for_half` and `rows_for_ninety` are the fewest rows that carry 50 % and 90 % of the total,
    and `largest_share` is the share of one row. `lam_cap` is the largest ``lam`` at ``alpha = 1``
    that keeps the tail of a full ratio within `pareto_limit`: ``r**lam`` has ``lam`` times its
    shape.
    """

    n_rows: int
    ess: float
    largest_share: float
    rows_for_half: int
    rows_for_ninety: int
    pareto_k: float
    pareto_limit: float
    lam_cap: float

    def __str__(self) -> str:
        ess = f"{self.ess:,.0f}" if self.ess >= 100 else f"{self.ess:.1f}"
        tail = "" if math.isnan(self.pareto_k) else f"; tail index {self.pareto_k:.2f}"
        return (
            f"{ess} effective rows of {self.n_rows:,}, half of the weight on "
            f"{self.rows_for_half:,}, at most {percent(self.largest_share)} on one{tail}"
        )


def summarize_weights(weights: ArrayLike) -> WeightSummary:
    """Return the effective sample size of weights on any scale, with their tail."""
    scaled = scaled_weights(weights)
    carried = np.cumsum(np.sort(scaled)[::-1])
    # Rounding may leave the last sum a little off the total.
    half, ninety = (int(np.searchsorted(carried, s * carried[-1])) + 1 for s in (0.5, 0.9))
    k, limit = ratios.pareto_k(scaled), pareto_threshold(scaled.size)
    return WeightSummary(
        n_rows=scaled.size,
        ess=_effective_sample_size(scaled),
        largest_share=float(scaled.max() / scaled.sum()),
        rows_for_half=half,
        rows_for_ninety=ninety,
        pareto_k=k,
        pareto_limit=limit,
        lam_cap=limit / k if k > limit else 1.0,
    )


def check_weights(
    weights: ArrayLike, n_rows: int | None = None, name: str = "weights"
) -> np.ndarray:
    """Return weights as floats; raise ValueError unless there is one >= 0 for each row."""
    array = as_floats(to_numpy(weights), name)
    if array.ndim != 1 or array.size == 0 or n_rows not in (None, array.size):
        expected = "one number for each row" if n_rows is None else f"({n_rows},), one for each row"
        raise ValueError(f"Got {name} of shape {array.shape}, but expected {expected}.")
    refuse_bad(array, name)
    refuse_all_zero(array.max(), name)
    return array


def scaled_weights(
    weights: ArrayLike, n_rows: int | None = None, name: str = "weights"
) -> np.ndarray:
    """Return checked weights over a power of 2, so that squares neither over- nor underflow."""
    array = check_weights(weights, n_rows, name)
    return np.ldexp(array, -math.frexp(float(array.max()))[1])


def _effective_sample_size(scaled: np.ndarray) -> float:
    return float(scaled.sum()) ** 2 / float(scaled @ scaled)
