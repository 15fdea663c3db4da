"""The one judgement of overlap: its limits, its numbers, and the warnings about it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from weighbridge._findings import Record, percent, users_line
from weighbridge.exceptions import OverlapWarning
from weighbridge.tables import check_weights

# If overlap is enough, rows outside may still change the choice of a weighting.
CODES = {"enough": "WB304", "thin": "WB301", "broken": "WB302"}

# Share of the target rows outside the source from which on overlap is broken, and thin: nothing is
# known about the losses of those outside. A third is outside after a shift of about 3.2 standard
# deviations in the only column, of 3.8 in one of five, of 4.6 in one of twenty.
OUTSIDE = 1 / 3
MANY_OUTSIDE = 0.1
# A smaller effective sample size supports nothing; the toy problem of the paper, which weighting
# improves every time, has 15 to 45. Samples may be distinguished and yet be covered, as a week of
# a log by the week before: up to this share outside, only weights are useless.
BROKEN_ROWS = 10
SOME_OUTSIDE = 0.05
# With a smaller effective sample size of the full ratio, overlap is thin: so many rows for each
# coefficient of the model (its parameters without the intercept), but never more than the second
# number. On the development tasks of the natural suite, 7 to 10 for each parameter, 10 for each
# coefficient and 40 to 75 in all give the same losses within noise, and no harm where overlap is
# thin. With 5, or 20 in all, some weightings do harm. The paper's toy problem has 2 parameters,
# and is weighted in more draws if the intercept does not count.
ROWS_PER_COEFFICIENT, ENOUGH_ROWS = 10, 50
# Largest tail index at which a weighted mean is meaningful; with fewer rows it is close to 1/2.
MAX_TAIL_INDEX = 0.7
MIN_ROWS_FOR_TAIL = 100
# If so many target rows have an extreme ratio, weights of mean 1 look even because the ratio is
# close to 0 at every source row.
NEARLY_ALL = 0.98
# Weights with a smaller effective sample size let a few rows decide the fit.
FEW_ROWS = 20
# An estimated ratio averages 1 over the source sample; a smaller mean shows separate samples.
MIN_MEAN_RATIO = 0.1


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
    weights = check_weights(weights)
    scaled = weights / weights.max()
    return float(scaled.sum() ** 2 / (scaled**2).sum())


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
    weights = np.sort(check_weights(weights, can_be_zero=True))
    tail = min(math.ceil(min(weights.size / 5, 3 * math.sqrt(weights.size))), weights.size - 1)
    if tail < 5:
        return math.nan
    excess = weights[-tail:] - weights[-tail - 1]
    excess = excess[excess > 0]
    if excess.size < 5:
        return math.nan
    n, excess = excess.size, excess / excess[-1]
    m = 30 + int(math.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    grid = 1 + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    shape = np.log1p(-grid[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-grid / shape) - shape - 1)
    posterior = np.exp(profile - profile.max())
    theta = (posterior * grid).sum() / posterior.sum()
    k = float(np.log1p(-theta * excess).mean())
    return (n * k + 10 * 0.5) / (n + 10)


def pareto_threshold(n: int) -> float:
    """Largest k-hat at which n weights are still reliable: ``min(1 - 1/log10(n), 0.7)``."""
    return min(1 - 1 / math.log10(n), 0.7) if n > 10 else 0.0


def extreme_share(at_source: np.ndarray, at_target: np.ndarray, log_factor: float) -> float:
    """Return the share of target rows whose log ratio exceeds the source's fifth largest."""
    # A few source rows on the wrong side do not make an overlap.
    rank = min(5, max(1, at_source.size // 20))
    largest = np.partition(at_source, -rank)[-rank]
    return float((at_target > largest + log_factor).mean())


@dataclass(frozen=True, repr=False)
class OverlapJudgement(Record):
    """The judgement in a word, and what it rests on.

    Parameters
    ----------
    word : {"enough", "thin", "broken"}
        The judgement.
    reason : str
        Why, in a few words; empty if overlap is enough.
    goes_beyond : bool, default=False
        Whether so many target rows lie outside the source that predicted losses may be off.

    Examples
    --------
    >>> from weighbridge.ratios import judge_overlap
    >>> judge_overlap(n_rows=4000, worth=712, outside=0.02, n_parameters=12).word
    'enough'
    """

    word: Literal["enough", "thin", "broken"]
    reason: str = ""
    goes_beyond: bool = field(default=False, repr=False)

    @property
    def can_weight(self) -> bool:
        """Whether weights are worth trying."""
        return self.word == "enough"

    @property
    def code(self) -> str:
        """The code of a warning about this overlap."""
        return CODES[self.word]

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def judge_overlap(
    *, n_rows: int, worth: float, outside: float, n_parameters: int = 1
) -> OverlapJudgement:
    """Judge the overlap by the effective sample size of the full ratio and the rows outside.

    Broken: more than a third of the target rows lie outside, or more than 5 % if the full ratio has
    an effective sample size below 10. Thin: an effective sample size below 10, or below 10 for each
    parameter besides the intercept (50 are always enough, and so is half of the rows), or more than
    a tenth of the target rows outside. Otherwise enough.
    """
    if not worth >= 0:
        raise ValueError(f"Got worth={worth!r}, but expected a number of rows, 0 or more.")
    if not 0 <= outside <= 1:
        raise ValueError(f"Got outside={outside!r}, but expected a share between 0 and 1.")
    rows_outside = f"{percent(outside)} of the deployment rows lie outside the training data"
    if outside > OUTSIDE:
        return OverlapJudgement("broken", rows_outside)
    half = n_rows / 2
    if worth < min(BROKEN_ROWS, half):
        rows = f"{worth:.0f} effective row{'s' * (round(worth) != 1)}"
        word: Literal["thin", "broken"] = "broken" if outside > SOME_OUTSIDE else "thin"
        return OverlapJudgement(word, f"the full ratio has {rows} of {n_rows:,}")
    if worth < min(ROWS_PER_COEFFICIENT * (n_parameters - 1), ENOUGH_ROWS, half):
        reason = f"the full ratio has {worth:.0f} effective rows for {n_parameters} parameters"
        return OverlapJudgement("thin", reason)
    if outside > MANY_OUTSIDE:
        return OverlapJudgement("thin", rows_outside)
    return OverlapJudgement("enough", goes_beyond=outside > SOME_OUTSIDE)


def has_few_effective_rows(weights: np.ndarray, sample_weight: np.ndarray | None) -> bool:
    """Return True if weights leave so few effective rows that these decide a fit."""
    unweighted = weights.size if sample_weight is None else effective_sample_size(sample_weight)
    return effective_sample_size(weights) < min(FEW_ROWS, unweighted / 2)


def judge_weights(
    weights: np.ndarray,
    outside: float | None,
    n_parameters: int = 1,
    sample_weight: np.ndarray | None = None,
    beyond: float | None = None,
) -> OverlapJudgement:
    """Judge by the weights of the full ratio; `beyond` is the share with an extreme ratio."""
    # The user's weights may be uneven without any lack of overlap.
    n_rows = weights.size if sample_weight is None else round(effective_sample_size(sample_weight))
    # Scaling by a power of 2 is exact, and squares neither over- nor underflow.
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    judgement = judge_overlap(
        n_rows=n_rows,
        worth=effective_sample_size(weights),
        # If the share is unknown, few effective rows are not excused, and nothing else changes.
        outside=MANY_OUTSIDE if outside is None else outside,
        n_parameters=n_parameters,
    )
    if beyond is not None and beyond > NEARLY_ALL and judgement.can_weight:
        rows = f"{percent(beyond)} of the deployment rows have a far larger ratio than nearly all"
        judgement = OverlapJudgement("thin", f"{rows} training rows")
    return replace(judgement, goes_beyond=judgement.goes_beyond and outside is not None)


def _warn(code: str, message: str) -> None:
    warnings.warn(f"{code} {message}", OverlapWarning, stacklevel=users_line())


def warn_if_apart(log_mean_ratio: float) -> bool:
    """Warn if an estimated ratio is almost 0 on the whole source sample; return True if so."""
    # Scaling it to mean 1 afterwards would hide that the samples have nothing in common.
    is_apart = log_mean_ratio < math.log(MIN_MEAN_RATIO)
    if is_apart:
        _warn(
            CODES["broken"],
            f"the estimated ratio averages {math.exp(log_mean_ratio):.1e} on the source "
            "rows, where a density ratio averages 1: almost no source row lies where the target "
            "is. Check that X and X_target have the same columns in the same units (an "
            "ImportanceWeighted model goes outside a pipeline), and whether one feature (an id, a "
            "date) tells them apart.",
        )
    return is_apart


def warn_if_outside(share: float) -> None:
    """Warn if many target rows have a far larger ratio than all but a few source rows."""
    if share > OUTSIDE:
        _warn(
            CODES["broken"],
            f"{percent(share)} of the target rows have a far larger ratio than all but a few "
            "source rows: hardly any source row lies where they are, and no weighting can "
            "represent them. Check that X and X_target have the same columns in the same units, "
            "and whether one feature (an id, a date) tells them apart.",
        )


def warn_if_untrustworthy(
    weights: np.ndarray, sample_weight: np.ndarray | None, log_cap: float
) -> None:
    """Warn if few rows decide the fit, or if weights without a useful cap have a heavy tail."""
    ess = effective_sample_size(weights)
    unweighted = weights.size if sample_weight is None else effective_sample_size(sample_weight)
    if has_few_effective_rows(weights, sample_weight):
        _warn(
            "WB303",
            f"the weights have {ess:.1f} effective rows of {weights.size:,}, and the largest "
            f"carries {percent(weights.max() / weights.sum())} of the total: a few rows decide the "
            "fit. Move towards the unweighted model (a smaller lam, or alpha > 1, which caps every "
            "weight: RIWERM(0.8) caps them at 5, before they are scaled to mean 1), or check "
            "whether one feature alone tells the samples apart, and that the ratio is on the log "
            "scale.",
        )
        return
    # A cap below n/20 guarantees an effective sample size of 20; the tail of weights that are
    # nearly even does not matter.
    is_capped = log_cap <= math.log(weights.size / FEW_ROWS)
    if is_capped or ess > 0.7 * unweighted:
        return
    k = pareto_k(weights)
    if weights.size >= MIN_ROWS_FOR_TAIL and k > MAX_TAIL_INDEX:
        _warn(
            "WB303",
            f"the weights have a heavy tail (Pareto k-hat {k:.2f}, reliable below "
            f"{MAX_TAIL_INDEX:.2f}; {ess:.1f} effective rows of {weights.size:,}): another "
            "sample would give a very different fit. Use alpha > 1, which caps every weight, a "
            "smaller lam, or more source rows where the target lies.",
        )
