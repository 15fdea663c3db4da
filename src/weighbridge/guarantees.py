"""How far a weighted empirical risk can be from the target risk: learning guarantees.

The bound for all hypotheses of a class is often above 1, where it says nothing; those for a
hypothesis fixed in advance are of use from a few hundred rows on. The ratio must be known.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from weighbridge.exceptions import WeightWarning
from weighbridge.geodesic import log_weight_bounds
from weighbridge.tables import one_number, unmasked
from weighbridge.weighting import IWERM, Geodesic, log_mean

__all__ = [
    "LearningBound",
    "bernstein_bound",
    "d2_from_ratios",
    "learning_bound",
    "risk_interval",
    "second_moment_bound",
]

Weighting = Callable[[Any], Any]

# A mean ratio this far from 1, absolutely and in its own standard errors, is warned of.
_FAR = 0.1
_STANDARD_ERRORS = 5.0


@dataclass(frozen=True)
class LearningBound:
    """A bound on the gap between the target risk and the weighted empirical risk.

    Made by `learning_bound` and `bernstein_bound` for a known ratio; an estimated ratio voids it.

    Attributes
    ----------
    value : float
        The gap is at most this with probability ``1 - delta`` where `plug_in` is empty; otherwise
        it is ``bias + deviation``, an estimate.
    bias : float
        ``|mean((r - w) l)|``, an estimate of what weights other than the ratio cost; its largest
        value over all losses in [0, 1] where no losses were given.
    second_moment : float
        ``mean(w**2 l**2)``, or the limit on its mean from ``d2`` if that is larger ("cortes");
        the sample variance of ``w l`` or a bound on it ("bernstein").
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
    gap <= 1.58, an estimate, not a guarantee (vacuous: a loss in [0, 1] is never above 1); the
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
        leaves ``R_w - value`` to ``R_w + value``, which may cover all of [0, 1].
        """
        return not self.value < 1

    def __str__(self) -> str:
        how = "an estimate, not a guarantee" if self.plug_in else f"probability {1 - self.delta:g}"
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


def second_moment_bound(weighting: Weighting, d2: float) -> float:
    """Largest second moment ``E[w**2]`` that a weight can have at a given ``d2 = E[r**2]``.

    ``1 + lam**2 (d2 - 1)`` for a `Geodesic` with ``alpha >= -1``. For ``alpha < -1`` weights are
    larger than those of the mixture, and no such bound holds.

    Parameters
    ----------
    weighting : Geodesic
        The weighting.
    d2 : float
        Second moment of the ratio under the source, at least 1.

    Returns
    -------
    float
        The bound; it is attained at ``alpha = -1``.

    Examples
    --------
    >>> from weighbridge import Geodesic
    >>> from weighbridge.guarantees import second_moment_bound
    >>> second_moment_bound(Geodesic(lam=0.5, alpha=3), d2=5.0)
    2.0
    """
    if not isinstance(weighting, Geodesic):
        raise TypeError(
            f"Got weighting of type {type(weighting).__name__} with d2, which bounds the second "
            "moment of a Geodesic only; leave d2 out."
        )
    if weighting.alpha < -1:
        raise ValueError(
            f"Got alpha={weighting.alpha} with d2, which bounds the second moment for alpha >= -1 "
            "only; use such an alpha, or leave d2 out."
        )
    if not 1 <= one_number(d2, "d2") < math.inf:
        raise ValueError(
            f"Got d2={d2}, but the second moment of a density ratio is a finite number of at "
            "least 1."
        )
    return float(1 + weighting.lam**2 * (d2 - 1))


def d2_from_ratios(log_ratio: Any) -> float:
    """Estimate ``d2 = E[r**2]`` under the source from log ratios at source rows.

    The ratios are scaled to mean 1 first. A small sample misses the largest ratios, so the estimate
    is usually too low where d2 is large; it is never above the number of rows.

    Parameters
    ----------
    log_ratio : array-like of shape (n,)
        Log density ratios at the source rows; an added constant does not matter.

    Returns
    -------
    float
        The mean square of the ratios, ``n / ESS``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.guarantees import d2_from_ratios
    >>> round(d2_from_ratios(np.log([0.5, 1.5])), 6)
    1.25
    """
    log_ratio = check_log_ratio(log_ratio)
    return float(np.exp(log_mean(2 * (log_ratio - log_mean(log_ratio)))))


def learning_bound(
    log_ratio: Any,
    weighting: Weighting,
    *,
    pseudo_dimension: float,
    losses: Any = None,
    delta: float = 0.05,
    d2: float | None = None,
) -> LearningBound:
    """Bound the gap between target risk and weighted risk for all hypotheses of a class at once.

    For a loss ``l`` in [0, 1], with probability ``1 - delta`` (Cortes, Mansour & Mohri 2010;
    Appendix C of Kimura & Hino, with the loss inside the expectation),

    ``|R - R_w| <= |E[(r - w) l]| + 2**(5/4) * sqrt(max(E[w**2 l**2], mean(w**2 l**2)))
    * ((p log(2 n e / p) + log(4 / delta)) / n) ** (3/8)``.

    The result has these terms, with means in place of expectations. Its `value` is a guarantee for
    a `Geodesic`: with `d2`, the bias in the sample plus the deviation of the full ratio; otherwise,
    if the weights are bounded, limits on the worst bias of all losses and on the second moment,
    each with a third of delta. It is often vacuous: look at it, do not act on it.

    Parameters
    ----------
    log_ratio : array-like of shape (n,)
        Log density ratios at the source rows, of a ratio with mean 1 under the source. A sample
        mean far from 1 (by 10 % and 5 standard errors) gives a `WeightWarning`.
    weighting : callable
        From log ratios to log weights, e.g. a `Geodesic`.
    pseudo_dimension : float
        ``p`` of the functions ``x -> w(x) l(h(x), y(x))``, between 1 and ``2 n``. For a linear
        classifier with 0-1 loss, the number of coefficients, the intercept included.
    losses : array-like of shape (n,), optional
        Loss of the hypothesis in question at the source rows, in [0, 1]. Default: the worst case
        over all losses in [0, 1].
    delta : float, default=0.05
        The bound may fail with this probability.
    d2 : float, optional
        ``E[r**2]`` under the source, where it is known; for a `Geodesic` with ``alpha >= -1``.

    Returns
    -------
    LearningBound
        The bound and its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import IWERM
    >>> from weighbridge.guarantees import learning_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(100_000) - 0.5
    >>> print(learning_bound(log_ratio, IWERM(), pseudo_dimension=3, d2=np.e))
    gap <= 0.212 with probability 0.95
    """
    log_ratio, log_weight, log_losses = source_rows(log_ratio, weighting, losses)
    check_delta(delta)
    n = log_ratio.size
    if not 1 <= one_number(pseudo_dimension, "pseudo_dimension") <= 2 * n:
        raise ValueError(
            f"Got pseudo_dimension={pseudo_dimension}, but it must lie in [1, 2 n] = [1, {2 * n}]: "
            "with fewer rows the theorem says nothing. Use more rows or a smaller class."
        )
    bias = bias_term(log_ratio, log_weight, log_losses)
    second_moment = moment(log_weight, log_losses)
    largest = _known_bound(weighting)
    plug_in: tuple[str, ...] = ()

    def deviation(square: float, delta: float) -> float:
        size = pseudo_dimension * math.log(2 * n * math.e / pseudo_dimension) + math.log(4 / delta)
        return math.sqrt(square) * 2**1.25 * (size / n) ** 0.375

    if d2 is not None:
        second_moment = max(second_moment, second_moment_bound(weighting, d2))
        value = bias + deviation(max(d2, moment(log_ratio, log_losses)), delta)
    elif largest < math.inf:
        rest = 1 - np.exp(log_weight - math.log(largest)) ** 2
        square = max(second_moment, largest**2 * (1 - _lowest_mean(rest, delta / 3)))
        value = _worst_bias(log_ratio, log_weight, delta / 3) + deviation(square, delta / 3)
    else:
        value = bias + deviation(second_moment, delta)
        plug_in = ("bias", "second moment")[getattr(weighting, "lam", 0) == 1 :]  # no bias if w = r
    return LearningBound(
        value=value,
        bias=bias,
        second_moment=second_moment,
        complexity=deviation(1.0, delta),
        remainder=0.0,
        delta=float(delta),
        n=n,
        form="cortes",
        plug_in=plug_in,
    )


def risk_interval(
    log_ratio: Any,
    losses: Any,
    *,
    delta: float = 0.05,
    n_hypotheses: int = 1,
    ratio_bound: float | None = None,
) -> tuple[float, float]:
    """Interval that holds the target risk with probability ``1 - delta``, for a known ratio.

    ``R = E[r l] = 1 - E[r (1 - l)]``, and numbers ``Y >= 0`` give a lower limit on their mean ``m``
    whatever their moments (betting, Waudby-Smith & Ramdas 2024): ``mean_k prod_i (1 + t_k (Y_i / m
    - 1))``, ``t_k`` = 1/2, 1/4, ..., is above ``2 / delta`` with probability ``delta / 2`` at most.

    Parameters
    ----------
    log_ratio, losses, delta, n_hypotheses
        As in `bernstein_bound`, but losses are required.
    ratio_bound : float, optional
        A number that no ratio exceeds, seen or not; it narrows the interval for large samples.

    Returns
    -------
    low, high : float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.guarantees import risk_interval
    >>> x = np.random.default_rng(0).standard_normal(2000)
    >>> low, high = risk_interval(x - 0.5, x > 1.5)  # N(0, 1) to N(1, 1): the risk is 0.309
    >>> print(f"{low:.3f} to {high:.3f}")
    0.199 to 0.360
    """
    log_ratio, _, log_losses = source_rows(log_ratio, IWERM(), np.asarray(losses, dtype=float))
    if ratio_bound is not None:
        _check_bound("ratio", one_number(ratio_bound, "ratio_bound"), np.append(log_ratio, 0))
    return _interval(log_ratio, log_losses, check_delta(delta, n_hypotheses), ratio_bound)


def bernstein_bound(
    log_ratio: Any,
    weighting: Weighting,
    *,
    losses: Any = None,
    delta: float = 0.05,
    n_hypotheses: int = 1,
    weight_bound: float | None = None,
) -> LearningBound:
    """Bound the gap between target risk and weighted risk where the weights are bounded.

    For a hypothesis fixed before the sample was seen and a loss ``l`` in [0, 1], the gap is at most
    `value` with probability ``1 - delta``: with losses, the distance of the weighted risk from the
    far end of the `risk_interval`; without, the worst bias of all losses plus the deviation, each
    with half of delta. For the deviation, with probability ``1 - delta`` (Maurer & Pontil 2009),

    ``|E[w l] - R_w| <= deviation = sqrt(2 V L / n) + 7 M L / (3 (n - 1))``, ``L = log(4 / delta)``,

    ``V`` being the sample variance of ``w l`` and ``M`` the largest weight that any ratio can get,
    ``(1 - lam) ** (-2 / (alpha - 1))``.

    Parameters
    ----------
    weighting : callable
        From log ratios to log weights, e.g. a `Geodesic` with ``alpha > 1`` and ``lam < 1``.
    log_ratio, losses, delta
        As in `learning_bound`.
    n_hypotheses : int, default=1
        How many hypotheses this one was chosen from with this sample;
        ``L = log(4 n_hypotheses / delta)``; without losses it is ``log(8 n_hypotheses / delta)``.
    weight_bound : float, optional
        ``M`` of a weighting that is not a `Geodesic`; for a `Geodesic` it must not be below the
        largest weight that any ratio can get.

    Returns
    -------
    LearningBound
        The bound and its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import RIWERM
    >>> from weighbridge.guarantees import bernstein_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(10_000) - 0.5
    >>> print(bernstein_bound(log_ratio, RIWERM(0.5)))
    gap <= 0.337 with probability 0.95
    """
    log_ratio, log_weight, log_losses = source_rows(log_ratio, weighting, losses)
    share = check_delta(delta, n_hypotheses)
    largest = _largest_weight(weighting, weight_bound, log_weight)
    n = log_ratio.size
    level = math.log((4 if log_losses is not None else 8) / share)
    complexity, remainder = math.sqrt(2 * level / n), 7 * largest * level / (3 * (n - 1))
    if log_losses is None:  # the variance of w l is at most its second moment, and that at most w's
        variance = moment(log_weight, None) * n / (n - 1)
        cap = 0.0 if isinstance(weighting, Geodesic) else largest
        value = _worst_bias(log_ratio, log_weight, delta / 2, cap)
        value += math.sqrt(variance) * complexity + remainder
    else:
        weighted = np.exp(log_weight + log_losses)
        variance = float(weighted.var(ddof=1))
        low, high = _interval(log_ratio, log_losses, share)
        value = float(max(high - weighted.mean(), weighted.mean() - low))
    return LearningBound(
        value=value,
        bias=bias_term(log_ratio, log_weight, log_losses),
        second_moment=variance,
        complexity=complexity,
        remainder=remainder,
        delta=float(delta),
        n=n,
        form="bernstein",
    )


def _interval(log_ratio: Any, log_losses: Any, delta: float, cap: Any = None) -> Any:
    """Two limits of E[r l], in order even if they contradict each other."""
    with np.errstate(over="ignore", divide="ignore"):
        sums = log_ratio + log_losses, log_ratio + np.log(-np.expm1(log_losses))
        low, rest = (_lowest_mean(np.exp(s), delta / 2, np.exp(log_ratio), cap) for s in sums)
    return min(low, 1 - rest), max(low, 1 - rest)


def _worst_bias(log_ratio: Any, log_weight: Any, delta: float, cap: float = 0.0) -> float:
    """Limit of |E[(r - w) l]| for all losses, where E[w] <= 1 or ``w - r`` is below a cap."""
    both = np.exp(np.minimum(log_ratio, log_weight))
    if not cap:  # as for a Geodesic with alpha >= -1: E[w - min(r, w)] <= E[r - min(r, w)]
        return 1 - _lowest_mean(both, delta)
    over = cap * (1 - _lowest_mean(1 - (np.exp(log_weight) - both) / cap, delta / 2))
    return max(1 - _lowest_mean(both, delta / 2), over)


def _lowest_mean(values: Any, delta: float, ratio: Any = 0.0, cap: Any = None) -> float:
    """Lower limit of a mean in [0, 1] of numbers >= 0, wrong with probability `delta` at most."""
    step = 1e-7  # the limit is found to this, on the safe side
    bets = [(values, 0.0)]
    if cap is not None:  # values <= ratio <= cap, so these are not negative either
        bets += [(values + b * (cap - ratio), b * (cap - 1)) for b in (0.25, 0.5, 0.75, 1.0)]
    stakes = 0.5 ** np.arange(1, max(2, math.log2(values.size)))
    at = np.arange(0, values.size, 32)

    def excess(mean: float) -> float:
        # Y cut off has no larger mean; 32 factors below 1e9 have a finite product; 9: for brentq
        gains = [np.minimum(y / (mean + more), 1e9) - 1 for y, more in bets]
        grown = [np.log(np.multiply.reduceat(1 + t * g, at)).sum() for g in gains for t in stakes]
        return min(float(np.logaddexp.reduce(grown)) - math.log(len(grown) / delta), 9)

    with np.errstate(over="ignore"):
        if excess(step) <= 0:
            return 0.0
        return float(brentq(excess, step, 1, xtol=step)) - step if excess(1) < 0 else 1.0


def _largest_weight(
    weighting: Weighting, weight_bound: float | None, log_weight: np.ndarray
) -> float:
    """Largest weight that any ratio can get, not the largest in the sample."""
    known = _known_bound(weighting)
    if weight_bound is None and not isinstance(weighting, Geodesic):
        raise TypeError(
            f"Got weighting of type {type(weighting).__name__}, whose largest weight is not known; "
            "pass it as weight_bound."
        )
    if weight_bound is None and known == math.inf:
        raise ValueError(
            f"Got weighting={weighting!r}, whose weights have no upper bound; use alpha > 1 with "
            "lam < 1, e.g. RIWERM(0.8), or risk_interval, which needs no weights."
        )
    if weight_bound is None:
        return known
    weight_bound = one_number(weight_bound, "weight_bound")
    if isinstance(weighting, Geodesic) and weight_bound < known * (1 - 1e-12):
        raise ValueError(
            f"Got weight_bound={weight_bound:g}, but weights of {weighting!r} go up to {known:g}, "
            "and the largest one in the sample is not a bound. With alpha > 1 and lam < 1, "
            "leave weight_bound out; if the ratio itself is known to be bounded, pass a function, "
            "lambda log_ratio: weighting(log_ratio), and its bound."
        )
    _check_bound("weight", weight_bound, log_weight)
    return weight_bound


def _known_bound(weighting: Weighting) -> float:
    if not isinstance(weighting, Geodesic):
        return math.inf
    return float(np.exp(log_weight_bounds(weighting.lam, weighting.alpha)[1]))


def _check_bound(what: str, bound: float, log_values: np.ndarray) -> None:
    """Refuse what is no bound even of the sample, but for rounding."""
    largest = float(np.exp(log_values.max()))
    if not largest <= bound * (1 + 1e-12) < math.inf:
        raise ValueError(
            f"Got {what}_bound={bound}, but the largest {what} here is {largest:g}, and the bound "
            f"must be a finite number not below any {what} that can occur."
        )
