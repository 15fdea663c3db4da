"""A bound and its terms, in logarithms until the last moment; the checks of what goes in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from weighbridge._data import one_number, unmasked
from weighbridge.exceptions import WeightWarning
from weighbridge.weighting import log_mean

Weighting = Callable[[Any], Any]

# A mean ratio this far from 1, absolutely and in its own standard errors, is warned of.
_FAR = 0.1
_STANDARD_ERRORS = 5.0


@dataclass(frozen=True)
class LearningBound:
    """A bound on the gap between the target risk and the weighted empirical risk.

    Made by `learning_bound` and `bernstein_bound` for a known ratio; an estimated one voids it.

    Attributes
    ----------
    value : float
        The gap is at most this with probability ``1 - delta`` where `plug_in` is empty; otherwise
        it is ``bias + deviation``, an estimate.
    bias : float
        ``|mean((r - w) l)|``, an estimate of what weights other than the ratio cost; the largest
        one over all losses in [0, 1] where no losses were given.
    second_moment : float
        ``mean(w**2 l**2)``, or the limit of its expectation by ``d2`` if that is larger ("cortes");
        the sample variance of ``w l`` or a bound of it ("bernstein").
    complexity : float
        The factor of ``sqrt(second_moment)`` in the deviation.
    remainder : float
        The rest of the deviation, of order 1/n; 0 in the form "cortes".
    delta : float
        A guarantee may fail with this probability.
    n : int
        Number of source rows.
    form : str
        "cortes" (any weights, all hypotheses of a class) or "bernstein" (bounded weights, one
        hypothesis or finitely many).
    plug_in : tuple of str
        The parts of `value` that are estimates where the theorem has an expectation.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import AIWERM
    >>> from weighbridge.guarantees import learning_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(200) - 0.5
    >>> print(learning_bound(log_ratio, AIWERM(0.5), pseudo_dimension=10))
    gap <= 1.58, an estimate and no guarantee (vacuous: a loss in [0, 1] is never above 1); the
    bias and the second moment are estimated from the sample
    """

    value: float
    bias: float
    second_moment: float
    complexity: float
    remainder: float
    delta: float
    n: int
    form: str
    plug_in: tuple[str, ...] = ()

    @property
    def guaranteed(self) -> bool:
        """True where the gap is at most `value` with probability ``1 - delta``."""
        return not self.plug_in

    @property
    def deviation(self) -> float:
        """What the sample adds: ``sqrt(second_moment) * complexity + remainder``."""
        return math.sqrt(self.second_moment) * self.complexity + self.remainder

    @property
    def vacuous(self) -> bool:
        """True where the bound is 1 or more, and says nothing about any risk in [0, 1].

        A smaller one may still say nothing about the risk at hand: with a weighted risk ``R_w`` it
        leaves ``R_w - value`` to ``R_w + value``, which may hold all of [0, 1].
        """
        return not self.value < 1

    def __str__(self) -> str:
        how = "an estimate and no guarantee" if self.plug_in else f"probability {1 - self.delta:g}"
        text = f"gap <= {self.value:.3g}{', ' if self.plug_in else ' with '}{how}"
        if self.vacuous:
            text += " (vacuous: a loss in [0, 1] is never above 1)"
        if self.plug_in:
            verb = "is" if len(self.plug_in) == 1 else "are"
            text += f"; the {' and the '.join(self.plug_in)} {verb} estimated from the sample"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, and whether they are vacuous, as plain Python objects.

        Returns
        -------
        dict
            All attributes, `deviation`, `guaranteed` and `vacuous`.
        """
        return asdict(self) | {
            "plug_in": list(self.plug_in),
            "deviation": self.deviation,
            "guaranteed": self.guaranteed,
            "vacuous": self.vacuous,
        }


def check_log_ratio(log_ratio: Any) -> np.ndarray:
    """Return log ratios as a float array; -inf stands for a ratio of 0."""
    log_ratio = np.asarray(unmasked(log_ratio), dtype=np.float64)
    if log_ratio.ndim != 1 or log_ratio.size < 2:
        raise ValueError(
            f"Got log_ratio of shape {log_ratio.shape}, but expected one number for each of two or "
            "more source rows."
        )
    bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if bad:
        raise ValueError(
            f"Got log_ratio with NaN or +inf in {bad} of {log_ratio.size} rows; every row needs a "
            "finite ratio (-inf stands for 0)."
        )
    if not (log_ratio > -math.inf).any():
        raise ValueError(
            "Got a ratio of 0 in every row: no source row lies where the target is, and d2 is "
            "infinite. Check the ratio; if it is right, these rows say nothing about the target."
        )
    return log_ratio


def _warn_of_the_mean(log_ratio: np.ndarray) -> None:
    """Warn if the ratios cannot well have the mean 1 that every bound takes for granted."""
    log_scale = float(log_mean(log_ratio))
    spread = math.expm1(max(0.0, float(log_mean(2 * (log_ratio - log_scale)))))
    error = math.sqrt(spread / (log_ratio.size - 1))  # relative to the mean
    offset = min(700.0, max(-700.0, log_scale))
    if abs(math.expm1(offset)) > _FAR and abs(math.expm1(-offset)) > _STANDARD_ERRORS * error:
        warnings.warn(
            f"Got ratios with mean exp({log_scale:.3g}) over the source rows, more than 5 standard "
            "errors from 1: log_ratio is off by a constant (subtract "
            "weighbridge.weighting.log_mean(log_ratio)), or the rows miss the largest ratios (then "
            "no scaling helps: use more rows). The bound is not to be trusted.",
            WeightWarning,
            stacklevel=4,
        )


def source_rows(
    log_ratio: Any, weighting: Weighting, losses: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Check the arguments and return log ratios, log weights and log losses."""
    log_ratio = check_log_ratio(log_ratio)
    if not callable(weighting):
        raise TypeError(
            f"Got weighting of type {type(weighting).__name__}, but expected a callable from log "
            "ratios to log weights, e.g. RIWERM(0.5)."
        )
    _warn_of_the_mean(log_ratio)
    log_weight = np.asarray(weighting(log_ratio), dtype=np.float64)
    if log_weight.shape != log_ratio.shape or np.isnan(log_weight).any():
        raise ValueError(
            f"Got a weighting that turns log ratios of shape {log_ratio.shape} into log weights of "
            f"shape {log_weight.shape}, {int(np.isnan(log_weight).sum())} of them NaN; expected "
            "one number for each row."
        )
    return log_ratio, log_weight, _log_losses(losses, log_ratio.size)


def _log_losses(losses: Any, n: int) -> np.ndarray | None:
    if losses is None:
        return None
    losses = np.asarray(losses, dtype=np.float64)
    if losses.shape != (n,):
        raise ValueError(
            f"Got losses of shape {losses.shape}, but expected ({n},), one for each log ratio."
        )
    bad = ~((losses >= 0) & (losses <= 1))
    if bad.any():
        raise ValueError(
            f"Got losses with {losses[bad][0]} in {bad.sum()} of {n} rows, but a bound needs "
            "losses in [0, 1]; divide by the largest loss that can occur (not by the largest one "
            "that did)."
        )
    with np.errstate(divide="ignore"):
        return np.log(losses)


def check_delta(delta: float, n_hypotheses: float = 1) -> float:
    """Check both, and return the share of the probability that each hypothesis has."""
    if not 0 < one_number(delta, "delta") < 1:
        raise ValueError(
            f"Got delta={delta}, but it must lie between 0 and 1: the bound fails with this "
            "probability."
        )
    if not one_number(n_hypotheses, "n_hypotheses") >= 1 or n_hypotheses % 1 != 0:
        raise ValueError(
            f"Got n_hypotheses={n_hypotheses}, but it must be a whole number of at least 1."
        )
    return float(delta / n_hypotheses)


def moment(log_weight: np.ndarray, log_losses: np.ndarray | None) -> float:
    """Mean of w**2 l**2, with l = 1 where no losses are given; inf beyond the largest double."""
    values = log_weight if log_losses is None else log_weight + log_losses
    with np.errstate(over="ignore"):
        return float(np.exp(log_mean(2 * values)))


def bias_term(
    log_ratio: np.ndarray, log_weight: np.ndarray, log_losses: np.ndarray | None
) -> float:
    """``|mean((r - w) l)|``; without losses the largest one over all losses in [0, 1]."""
    top, low = np.maximum(log_ratio, log_weight), np.minimum(log_ratio, log_weight)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.exp(top if log_losses is None else top + log_losses) * -np.expm1(low - top)
        positive = float(np.where(log_ratio > log_weight, gap, 0).mean())
        negative = float(np.where(log_ratio < log_weight, gap, 0).mean())
    if log_losses is None:
        return max(positive, negative)
    return math.inf if math.inf in (positive, negative) else abs(positive - negative)
