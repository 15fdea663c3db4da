"""Effective rows of a set of weights, and its tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge import ratios
from weighbridge._findings import Record, percent
from weighbridge.diagnostics._moments import scale_to_one
from weighbridge.ratios import pareto_threshold
from weighbridge.tables import as_floats, refuse_all_zero, refuse_bad, to_numpy


def effective_sample_size(weights: Any) -> float:
    """Kish's effective sample size, ``sum(w)**2 / sum(w**2)``.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.

    Returns
    -------
    float
        Between 1 and the number of rows: a weighted mean is about as uncertain as a plain mean of
        that many rows.

    Examples
    --------
    >>> from weighbridge.diagnostics import effective_sample_size
    >>> effective_sample_size([1, 1, 1, 1])
    4.0
    >>> round(effective_sample_size([1, 1, 1000]), 3)
    1.004
    """
    return _effective(scale_to_one(check_weights(weights)))


def pareto_k(weights: Any) -> float:
    """Shape of the tail of the weights: Pareto k-hat.

    The shape of the generalised Pareto distribution that fits the largest ``min(n/5, 3 sqrt(n))``
    weights (Zhang & Stephens 2009), drawn towards 1/2 by ten pseudo-observations (Vehtari et al.
    2024). From 1/2 on the variance of a weighted mean is infinite; above
    ``min(1 - 1/log10(n), 0.7)`` its value is not to be relied on.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.

    Returns
    -------
    float
        The shape, negative for a bounded tail; NaN where fewer than five weights exceed the others
        (fewer than 25 rows, or even weights).

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import pareto_k
    >>> x = np.random.default_rng(0).exponential(size=20_000)
    >>> round(pareto_k(np.exp(0.3 * x)), 1)  # target Exp(0.7): the tail index is 0.3
    0.3
    """
    return ratios.pareto_k(scale_to_one(check_weights(weights)))


@dataclass(frozen=True, repr=False)
class WeightSummary(Record):
    """Effective rows and tail of weights, as `summarize_weights` finds them.

    Parameters
    ----------
    n_rows : int
        Number of weights.
    ess : float
        Effective sample size.
    largest_share : float
        Share of the largest weight in the total.
    rows_for_half, rows_for_ninety : int
        Smallest number of rows that carry 50 % and 90 % of the total.
    pareto_k : float
        Shape of the tail; NaN where there is none.
    pareto_limit : float
        The weights are reliable up to this shape.
    lam_cap : float
        Largest ``lam`` at ``alpha = 1`` that keeps the tail within the limit, if these are the
        weights of the full ratio: the shape of ``r**lam`` is ``lam`` times that of ``r``.

    Examples
    --------
    >>> from weighbridge.diagnostics import summarize_weights
    >>> print(summarize_weights([0, 1, 2, 3]))
    2.6 effective rows of 4
    largest share 50 %; 1 row carries half, 3 rows carry 90 %
    tail: too few large weights for a tail index
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
        lines = [
            f"{_count(self.ess)} effective rows of {self.n_rows:,}",
            f"largest share {percent(self.largest_share)}; {_rows(self.rows_for_half, 'half')}, "
            f"{_rows(self.rows_for_ninety, '90 %')}",
        ]
        if math.isnan(self.pareto_k):
            lines.append("tail: too few large weights for a tail index")
        else:
            lines.append(f"tail index {self.pareto_k:.2f} (reliable up to {self.pareto_limit:.2f})")
        if self.lam_cap < 1:
            lines[-1] += f"; at alpha = 1 use lam <= {self.lam_cap:.2f}"
        return "\n".join(lines)


def summarize_weights(weights: Any) -> WeightSummary:
    """Say how many effective rows a set of weights leaves, and how heavy its tail is.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        As in `pareto_k`.

    Returns
    -------
    WeightSummary
        Effective numbers of rows, how concentrated the weights are, and their tail.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import summarize_weights
    >>> x = np.random.default_rng(0).normal(size=5000)
    >>> summary = summarize_weights(np.exp(x - 0.5))  # from N(0, 1) to N(1, 1)
    >>> summary.rows_for_half, summary.rows_for_ninety
    (803, 3060)
    """
    weights = scale_to_one(check_weights(weights))
    carried = np.cumsum(np.sort(weights)[::-1])
    # by the last sum, which rounding may leave a little off the total
    half, ninety = (int(np.searchsorted(carried, s * carried[-1])) + 1 for s in (0.5, 0.9))
    k, limit = ratios.pareto_k(weights), pareto_threshold(weights.size)
    return WeightSummary(
        n_rows=weights.size,
        ess=_effective(weights),
        largest_share=float(weights.max() / weights.sum()),
        rows_for_half=half,
        rows_for_ninety=ninety,
        pareto_k=k,
        pareto_limit=limit,
        lam_cap=limit / k if k > limit else 1.0,
    )


def check_weights(weights: Any, n_rows: int | None = None, name: str = "weights") -> np.ndarray:
    """Return weights as a float array; raise if they are anything else."""
    array = as_floats(to_numpy(weights), name)
    if array.ndim != 1 or array.size == 0 or n_rows not in (None, array.size):
        wanted = "one number for each row" if n_rows is None else f"({n_rows},), one for each row"
        raise ValueError(f"Got {name} of shape {array.shape}, but expected {wanted}.")
    refuse_bad(array, name)
    refuse_all_zero(array.max(), name)
    return array


def _effective(weights: np.ndarray) -> float:
    """Return ``sum(w)**2 / sum(w**2)`` of weights that were scaled."""
    return float(weights.sum()) ** 2 / float(weights @ weights)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _rows(number: int, what: str) -> str:
    return f"{number:,} row{' carries' if number == 1 else 's carry'} {what}"
