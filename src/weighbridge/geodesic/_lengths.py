"""What a curve costs beyond the shortest one, and what is left of it after stopping at lam."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import quad_vec
from scipy.special import expit, logit

from weighbridge.geodesic._derivatives import log_weight_d_lam
from weighbridge.geodesic._log_weight import (
    as_float64,
    check_alpha,
    check_lam,
    log_weight,
)

# Beyond this many units of logit(lam) past the last row's own scale the curve has come to rest.
_MARGIN = 40.0
# Up to here lam = sigmoid(-(_MARGIN + t)) and its reciprocal are doubles.
_LARGEST = 600.0


def fisher_speed(log_ratio: Any, lam: Any, alpha: Any, sample_weight: Any = None) -> Any:
    """Fisher speed of the weighted sample as lam moves along a curve of constant alpha.

    The square root of ``I(lam) = Var[d log w / d lam]``, the variance being taken under the
    normalised weights: how fast the weighted distribution changes, in the Fisher-Rao metric.

    Parameters
    ----------
    log_ratio : array of shape (n_samples,)
        Log density ratios at a sample of the source.
    lam, alpha : float or array
        Position and curve; they broadcast against each other.
    sample_weight : array of shape (n_samples,), optional
        Weights of the source sample itself.

    Returns
    -------
    array
        The speed, of the broadcast shape of `lam` and `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import fisher_speed
    >>> float(fisher_speed(np.log([0.5, 1.5]), lam=0.0, alpha=-1))  # sd of the ratio
    0.5
    """
    lam, alpha = as_float64(lam, "lam")[..., None], as_float64(alpha, "alpha")[..., None]
    s = _checked_sample(log_ratio)
    log_base = _log_base(s, sample_weight)
    return _speed(log_base + log_weight(s, lam, alpha), log_weight_d_lam(s, lam, alpha))


def path_length(
    log_ratio: Any, alpha: Any, start: float = 0.0, stop: float = 1.0, sample_weight: Any = None
) -> Any:
    """Fisher-Rao length of a curve of constant alpha, from lam = `start` to lam = `stop`.

    ``path_length(s, alpha, lam, 1)`` is what remains to be done after stopping at lam. The curve
    ``alpha = 0`` is the shortest, ``2 arccos`` of the Bhattacharyya coefficient of the two ends.

    Parameters
    ----------
    log_ratio, sample_weight
        As in `fisher_speed`.
    alpha : float or array
        Which curve or curves.
    start, stop : float
        The two ends, ``0 <= start <= stop <= 1``.

    Returns
    -------
    float or ndarray
        The length, of the shape of `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import path_length
    >>> s = np.log([0.2, 0.8, 1.0, 2.0])
    >>> path_length(s, alpha=np.array([-1.0, 0.0, 1.0, 3.0])).round(4)
    array([0.7066, 0.7024, 0.7073, 0.7413])
    """
    alpha = as_float64(alpha, "alpha")
    if alpha.size == 0:
        raise ValueError("Got an empty alpha; lengths need at least one curve.")
    check_alpha(alpha)
    check_lam(np.asarray([start, stop], dtype=float))
    if start > stop:
        raise ValueError(f"Got start={start} above stop={stop}; swap them.")
    s = _checked_sample(log_ratio)
    log_base = _log_base(s, sample_weight)
    curves = alpha[..., None]
    largest = float(np.max(np.abs((1 - alpha) / 2))) * float(np.abs(s).max())
    if largest > _LARGEST:
        raise ValueError(
            f"Got log ratios and alpha with |log_ratio * (1 - alpha) / 2| up to {largest:.3g}; "
            f"lengths are computed up to {_LARGEST:g}. Such rows tell the samples apart at once; "
            "leave them out, or use an alpha nearer to 1."
        )
    reach = _MARGIN + largest
    low, high = np.clip(logit([start, stop]), -reach, reach)

    def speed(tau: float) -> Any:
        # For lam > 1/2 go by 1 - lam from the other end: w^(lam)(r) = r w^(1 - lam)(1/r).
        turn = tau > 0
        lam, ends = float(expit(-abs(tau))), (-s, log_base + s) if turn else (s, log_base)
        # d/dtau = lam (1 - lam) d/dlam, taken before the square: d/dlam alone may be 1e260
        rate = log_weight_d_lam(ends[0], lam, curves) * lam * float(expit(abs(tau)))
        return _speed(ends[1] + log_weight(ends[0], lam, curves), rate)

    points = [0.0] if low < 0 < high else None
    length, error = quad_vec(
        speed, low, high, epsabs=1e-12, epsrel=1e-10, limit=2000, points=points
    )
    if not error <= 1e-7 * (1 + np.max(length)):
        raise ArithmeticError(
            f"The length did not converge: {length} with an error of about {error:.1g}. Leave out "
            "rows with extreme log ratios, or use an alpha nearer to 1."
        )
    return length if alpha.ndim else float(length)


def _checked_sample(log_ratio: Any) -> np.ndarray:
    """Return the log ratios of one or more rows; raise ValueError unless all are finite."""
    s = as_float64(log_ratio, "log_ratio")
    if s.ndim != 1 or s.size == 0:
        raise ValueError(
            f"Got log_ratio of shape {s.shape}, but expected one number for each of one or "
            "more rows."
        )
    if not np.isfinite(s).all():
        raise ValueError(
            "Got log_ratio with NaN or infinite values; speeds and lengths need finite log ratios. "
            "Leave out the rows whose ratio is 0."
        )
    return s


def _log_base(log_ratio: np.ndarray, sample_weight: Any) -> Any:
    if sample_weight is None:
        return 0.0
    weight = as_float64(sample_weight, "sample_weight")
    is_usable = weight.shape == log_ratio.shape and ((weight >= 0) & np.isfinite(weight)).all()
    if not is_usable or not weight.any():
        raise ValueError(
            f"Got sample_weight of shape {weight.shape} for log_ratio of shape "
            f"{log_ratio.shape}; it must hold one number >= 0 for each row, not all 0."
        )
    with np.errstate(divide="ignore"):
        return np.log(weight)


def _speed(log_density: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    mass = np.exp(log_density - np.max(log_density, axis=-1, keepdims=True))
    mass = mass / np.sum(mass, axis=-1, keepdims=True)
    mean = np.sum(mass * derivative, axis=-1, keepdims=True)
    return np.asarray(np.sqrt(np.sum(mass * (derivative - mean) ** 2, axis=-1)))[()]


def excess_length(log_ratio: Any, alpha: Any, sample_weight: Any = None) -> Any:
    """Length of a curve of constant alpha beyond that of the shortest one.

    ``path_length(log_ratio, alpha)`` less ``2 arccos BC``, the great circle between the sample as
    it is and the sample weighted by the full ratio (BC is their Bhattacharyya coefficient).

    Parameters
    ----------
    log_ratio, alpha, sample_weight
        As in `path_length`.

    Returns
    -------
    float or ndarray
        The excess, of the shape of `alpha`; 0 where rounding would leave less. It is the difference
        of two lengths, each good to about ten digits.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import excess_length
    >>> s = np.log([0.2, 0.8, 1.0, 2.0])
    >>> excess_length(s, alpha=np.array([-1.0, 0.0, 1.0, 3.0])).round(4)
    array([0.0042, 0.    , 0.0049, 0.039 ])
    """
    length = path_length(log_ratio, alpha, sample_weight=sample_weight)
    excess = np.maximum(length - _great_circle(log_ratio, sample_weight), 0.0)
    return excess if np.ndim(excess) else float(excess)


def remaining_length(log_ratio: Any, lam: Any, alpha: Any, sample_weight: Any = None) -> Any:
    """Length of what is left of a curve of constant alpha after stopping at lam.

    The Fisher-Rao length from the sample weighted by ``w^(lam, alpha)`` to the sample weighted by
    the full ratio: the whole curve at ``lam = 0``, nothing at ``lam = 1``.

    Parameters
    ----------
    log_ratio, lam, alpha, sample_weight
        As in `fisher_speed`.

    Returns
    -------
    float or ndarray
        The length, of the broadcast shape of `lam` and `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import remaining_length
    >>> s = np.log([0.2, 0.8, 1.0, 2.0])
    >>> remaining_length(s, lam=[0.0, 0.5, 1.0], alpha=1.0).round(4)
    array([0.7073, 0.3198, 0.    ])
    """
    lam, alpha = as_float64(lam, "lam"), as_float64(alpha, "alpha")
    check_lam(lam)
    check_alpha(alpha)
    shape = np.broadcast_shapes(lam.shape, alpha.shape)
    if 0 in shape:
        raise ValueError("Got an empty lam or alpha; lengths need at least one of each.")
    starts, row = np.unique(lam, return_inverse=True)
    curves, column = np.unique(alpha, return_inverse=True)
    # pieces between neighbouring stops, summed from the far end: no part is integrated twice
    stops = np.append(starts[1:], 1.0)
    pieces = [
        path_length(log_ratio, curves, start, stop, sample_weight)
        for start, stop in zip(starts, stops, strict=True)
    ]
    left = np.cumsum(np.asarray(pieces)[::-1], axis=0)[::-1]
    length = left[row.reshape(lam.shape), column.reshape(alpha.shape)]
    return length if length.ndim else float(length)


def _great_circle(log_ratio: Any, sample_weight: Any) -> float:
    """Return ``2 arccos BC``, by the chord: the arc cosine loses half the digits of a short arc."""
    s = as_float64(log_ratio, "log_ratio")
    weight = 1.0 if sample_weight is None else as_float64(sample_weight, "sample_weight")
    source = weight * np.ones_like(s)
    # a row of weight 0 counts for nothing, however large its ratio
    top = np.max(np.where(source > 0, s, -np.inf))
    target = source * np.exp(np.where(source > 0, s - top, -np.inf))
    source, target = source / np.sum(source), target / np.sum(target)
    chord = np.sqrt(np.sum((np.sqrt(source) - np.sqrt(target)) ** 2))
    return 4 * float(np.arcsin(float(chord) / 2))
