"""The weight w^(lam, alpha) as a function of one number, the log ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from weighbridge._arrays import array_namespace, device_of, to_numpy

# Rows per block: the temporaries of one block stay in a core's cache.
BLOCK = 32_768
# Arrays of a block's size that a kernel may overwrite under NumPy; the first is its result.
WORK = 7

NAMES = ("log_ratio", "lam", "alpha")

Kernel = Callable[[Any, Any, Any, Any], Any]


def as_float64(value: Any, name: str) -> np.ndarray:
    """Return numbers, or an array of any library, as a NumPy array of float64."""
    try:
        array = to_numpy(value)
        if array.dtype.kind == "c" or value is None:
            raise TypeError("neither float nor integer")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Got {name} of type {type(value).__name__} that is not real numbers ({error}); "
            f"pass numbers or an array of them."
        ) from None


def check_lam(lam: np.ndarray) -> None:
    """Raise ValueError unless every lam lies in [0, 1]."""
    bad = ~((lam >= 0) & (lam <= 1))
    if bad.any():
        raise ValueError(
            f"Got lam={lam[bad].flat[0]}, but lam must lie in [0, 1]: "
            "0 ignores the ratio (ERM), 1 uses it in full (IWERM)."
        )


def check_alpha(alpha: np.ndarray) -> None:
    """Raise ValueError unless every alpha is finite."""
    bad = ~np.isfinite(alpha)
    if bad.any():
        raise ValueError(
            f"Got alpha={alpha[bad].flat[0]}, but alpha must be a finite number, e.g. 1 (AIWERM) "
            "or 3 (RIWERM); a large finite alpha comes as close as you like to the limit min(1, r)."
        )


def _check_log_ratio(s: np.ndarray, lam: np.ndarray, alpha: np.ndarray) -> None:
    if np.isfinite(s).all():
        return
    count = int(np.isnan(s).sum())
    if count:
        raise ValueError(
            f"Got log_ratio with NaN in {count} of {s.size} places; every row needs a "
            "number (-inf stands for a ratio of 0). Look at the ratio that produced it."
        )
    unbounded = (s == np.inf) & ((alpha <= 1) | (lam == 1))
    if unbounded.any():
        raise ValueError(
            "Got log_ratio = +inf where the weight has no upper bound (alpha <= 1 or lam = 1): a "
            "source row lies where the source density is 0. Correct the densities, drop the row, "
            "or use alpha > 1 with lam < 1, which bounds every weight."
        )


def elementwise(kernel: Kernel, log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Apply ``kernel(s, lam, alpha, work)`` of NumPy with broadcasting, in float64, by blocks."""
    arrays = [value for value in (log_ratio, lam, alpha) if _is_array(value)]
    s, lam, alpha = map(as_float64, (log_ratio, lam, alpha), NAMES)
    check_lam(lam)
    check_alpha(alpha)
    with np.errstate(all="ignore"):  # branches are evaluated outside their domain, then replaced
        return _in_blocks(kernel, s, lam, alpha, _result_dtype(np, map(to_numpy, arrays)))


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "ndim")


def _result_dtype(xp: Any, arrays: Iterable[Any]) -> Any:
    """Return float32 if there are arrays and all of them are float32, else float64."""
    is_narrow = [array.dtype == xp.float32 for array in arrays]
    return xp.float32 if is_narrow and all(is_narrow) else xp.float64


def _in_blocks(kernel: Kernel, s: Any, lam: Any, alpha: Any, dtype: Any) -> Any:
    out = np.empty(np.broadcast_shapes(s.shape, lam.shape, alpha.shape), dtype=dtype)
    iterator = np.nditer(
        [s, lam, alpha, out],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly"], ["readonly"], ["readonly"], ["writeonly"]],
        op_dtypes=[np.float64] * 4,
        casting="same_kind",
        order="C",
        buffersize=BLOCK,
    )
    checked = False
    work = np.empty((WORK - 1, min(BLOCK, out.size)))
    with iterator:
        for block, block_lam, block_alpha, result in iterator:
            # A stride of 0 is one value for the whole block: much cheaper than an array of them.
            one_lam = block_lam[0] if block_lam.strides == (0,) else block_lam
            one_alpha = block_alpha[0] if block_alpha.strides == (0,) else block_alpha
            if not checked and not np.isfinite(block).all():
                _check_log_ratio(s, lam, alpha)
                checked = True
            value = kernel(block, one_lam, one_alpha, [result, *work[:, : block.size]])
            if value is not result:
                result[...] = value
    return out if out.ndim else out[()]


def into(out: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(*args)``, written into the scratch array `out` where there is one."""
    return function(*args) if out is None else function(*args, out=out)


def overwrite(out: Any, mask: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Replace `out`, of NumPy, by ``function(*args)`` where `mask` holds."""
    if np.ndim(mask) == 0:
        return function(*args) if mask else out
    rows = np.flatnonzero(mask)
    if rows.size:
        out[rows] = function(*(arg.take(rows) if np.ndim(arg) else arg for arg in args))
    return out


def _overwrite(xp: Any, out: Any, mask: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Replace `out`, of any library, by ``function(xp, *args)`` where `mask` holds."""
    if xp is np:
        return overwrite(out, mask, partial(function, np), *args)
    return xp.where(mask, function(xp, *args), out)


# Below NEAR the two-term series in t is exact to rounding; above FAR exp(t) is near overflow.
NEAR = 1e-9
FAR = 700.0
# Products smaller than this are computed scaled up: they or their factors may be subnormal.
TINY = 2.0**-960
SCALE = 2.0**200
# Dekker's constant splits a double in two halves; beyond LARGE the splitting would overflow.
SPLITTER = 2.0**27 + 1
LARGE = 1e150
# For t > 0 the rounding of t reaches log w magnified by p*s/log w, which exceeds 3/2 for lam < 1/4
# only (and never 1 for t < 0): there the rounding errors of t and k are computed and taken out.
COMPENSATE = 0.25


def log_weight(log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Log of the importance weight ``w^(lam, alpha)`` at given log density ratios.

    With ``r = exp(log_ratio)`` and ``k = (1 - alpha) / 2`` the weight is
    ``(1 - lam + lam * r**k) ** (1 / k)``, and ``r ** lam`` at ``alpha = 1`` (the density ratio
    form of Kimura & Hino, Theorem 4.1). ``lam = 0`` is ERM, ``lam = 1`` IWERM, ``alpha = 1``
    AIWERM and ``alpha = 3`` RIWERM.

    Parameters
    ----------
    log_ratio : array-like or array of torch, cupy, ...
        ``log p_target(x) - log p_source(x)``. ``-inf`` stands for a ratio of 0; ``+inf`` is
        accepted only where the weight stays bounded (``alpha > 1`` and ``lam < 1``).
    lam : float or array
        Position on the curve, in [0, 1]. Broadcasts.
    alpha : float or array
        Which curve; any finite number. Broadcasts.

    Returns
    -------
    array
        ``log w``, of the broadcast shape, in the array library of the input.

    Notes
    -----
    The error is at most ``4 eps (|log w| + |p log_ratio|)``, ``p`` being the derivative of
    ``log w`` in ``log_ratio``, for every lam in [0, 1], every finite alpha and
    ``|log_ratio| <= 1e300``; where the result is subnormal, one unit in the last place more.
    A ratio that is known only up to a constant factor changes the meaning of lam (except at
    alpha = 1): scale it to mean 1 on the source sample first, as `ImportanceWeighted` does.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import log_weight
    >>> np.exp(log_weight(np.log(4), lam=0.5, alpha=[-1, 1, 3]))  # three ways to go half way to 4
    array([2.5, 2. , 1.6])
    >>> log_weight([-2000.0, 0.0, 2000.0], lam=0.5, alpha=3)  # bounded by log 2 at the top
    array([-1.99930685e+03,  0.00000000e+00,  6.93147181e-01])
    """
    xp = array_namespace(log_ratio, lam, alpha)
    if xp is np:
        return elementwise(partial(_log_weight, np), log_ratio, lam, alpha)
    return _of_other_arrays(xp, (log_ratio, lam, alpha))


def _of_other_arrays(xp: Any, inputs: tuple[Any, Any, Any]) -> Any:
    """Return the log weight of arrays of another library, in this library and on their device."""
    device = device_of(xp, *inputs)
    s, lam, alpha = (_moved(xp, device, *pair) for pair in zip(inputs, NAMES, strict=True))
    check_lam(to_numpy(lam))
    check_alpha(to_numpy(alpha))
    s, lam, alpha = xp.broadcast_arrays(s, lam, alpha)
    if not bool(xp.all(xp.isfinite(s))):
        _check_log_ratio(to_numpy(s), to_numpy(lam), to_numpy(alpha))
    with np.errstate(all="ignore"):  # as in `elementwise`
        result = _log_weight(xp, s, lam, alpha, [None] * WORK)
    return xp.astype(result, _result_dtype(xp, filter(_is_array, inputs)))


def _moved(xp: Any, device: Any, value: Any, name: str) -> Any:
    """Return `value` as a float64 array of the namespace `xp`."""
    if not hasattr(value, "dtype"):
        # a plain number must not pass through the library's default type, often float32
        return xp.asarray(as_float64(value, name).tolist(), dtype=xp.float64, device=device)
    try:
        return xp.astype(xp.asarray(value, device=device), xp.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Got {name} that is not real numbers ({error}).") from None


def log_weight_bounds(lam: Any, alpha: Any) -> tuple[Any, Any]:
    """Log of the smallest and the largest weight that any density ratio can get.

    ``alpha > 1`` caps the weight at ``(1 - lam) ** (-2 / (alpha - 1))``, ``alpha < 1`` raises its
    floor to ``(1 - lam) ** (2 / (1 - alpha))``, and ``alpha = 1`` does neither.

    Parameters
    ----------
    lam, alpha : float or array
        The weighting; they broadcast.

    Returns
    -------
    low, high : array
        Infimum and supremum of ``log w`` over all ratios in (0, inf).

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import log_weight_bounds
    >>> low, high = log_weight_bounds(lam=0.5, alpha=[1.0, 2.0, 3.0])
    >>> np.exp(low), np.exp(high)
    (array([0., 0., 0.]), array([inf,  4.,  2.]))
    """
    lam, alpha = as_float64(lam, "lam"), as_float64(alpha, "alpha")
    check_lam(lam)
    check_alpha(alpha)
    with np.errstate(all="ignore"):
        edge = np.log1p(-lam) / ((1 - alpha) / 2)
    low = np.where(alpha < 1, edge, -np.inf)
    high = np.where(alpha > 1, edge, np.inf)
    # lam = 0 is the constant weight 1, lam = 1 the unbounded ratio itself
    return np.where(lam == 0, 0.0, low), np.where(lam == 0, 0.0, high)


def half_gap(alpha: Any) -> tuple[Any, Any]:
    """Return ``k = (1 - alpha) / 2`` and its rounding error (Knuth's two-sum)."""
    gap = 1 - alpha
    part = gap - 1
    error = (1 - (gap - part)) - (alpha + part)
    return gap / 2, error / 2


def exponent(xp: Any, k: Any, s: Any, out: Any = None) -> Any:
    """Return ``t = k * s``, 0 where ``k`` is 0 even if ``s`` is infinite."""
    t = into(out, xp.multiply, k, s)
    return _overwrite(xp, t, k == 0, lambda xp, t: xp.zeros_like(t), t)


def _exponent_error(xp: Any, k: Any, k_error: Any, s: Any, work: Any) -> Any:
    """Return the rounding error of ``k * s`` (Dekker's two-product), the error of k included."""
    k = xp.clip(k, -LARGE, LARGE)
    s = into(work[0], xp.clip, s, -LARGE, LARGE)
    k_high = k * SPLITTER
    k_high = k_high - (k_high - k)
    s_high = into(work[1], xp.multiply, s, SPLITTER)
    s_high -= into(work[2], xp.subtract, s_high, s)
    error = into(work[2], xp.multiply, k_high, s_high)
    s_low = into(work[1], xp.subtract, s, s_high)
    s_low *= k_high
    error -= into(work[3], xp.multiply, k, s)
    error += s_low
    error += into(work[1], xp.multiply, (k - k_high) + k_error, s)
    return error


def _log_weight(xp: Any, s: Any, lam: Any, alpha: Any, work: Any) -> Any:
    one_lam = xp is np and np.ndim(lam) == 0
    if one_lam and lam in (0.0, 1.0):
        return s if lam else 0.0
    if one_lam and np.ndim(alpha) == 0 and alpha == 1.0:
        return into(work[0], np.multiply, lam, s)
    k, k_error = half_gap(alpha)
    t = exponent(xp, k, s, out=work[2])
    v = into(work[1], xp.expm1, t)
    v *= lam
    out = into(work[0], xp.log1p, v)
    if not one_lam or lam < COMPENSATE:
        error = _exponent_error(xp, k, k_error, s, work[3:])
        p = into(work[3], xp.add, v, lam)
        p /= into(work[4], xp.add, v, 1.0)
        p *= error
        if np.ndim(k_error) or k_error != 0:
            p -= into(work[4], xp.multiply, out, k_error / k)
        out += p
    out /= k
    out = _replace_branches(xp, out, s, t, v, lam, k, work[3])
    if one_lam:
        return out
    out = _overwrite(xp, out, lam == 0, lambda xp, s: xp.zeros_like(s), s)
    return _overwrite(xp, out, lam == 1, lambda xp, s: s, s)


def _replace_branches(
    xp: Any, out: Any, s: Any, t: Any, v: Any, lam: Any, k: Any, spare: Any
) -> Any:
    """Overwrite the rows where ``log1p(v) / k`` is not accurate."""
    if xp is not np or np.min(lam) < TINY:
        out = _overwrite(xp, out, xp.abs(v) < TINY, _subnormal, t, lam, k)
    if xp is not np or np.max(lam) >= 0.5:
        out = _overwrite(xp, out, v <= -0.5, _deep, t, lam, k)
    out = _overwrite(xp, out, t > FAR, _far, s, t, lam, k)
    return _overwrite(xp, out, into(spare, xp.abs, t) < NEAR, _near, s, t, lam)


def _subnormal(xp: Any, t: Any, lam: Any, k: Any) -> Any:
    # log1p(v) = v here, and the quotient may be a normal number though v is not
    return (lam * SCALE) * xp.expm1(t) / k / SCALE


def _deep(xp: Any, t: Any, lam: Any, k: Any) -> Any:
    # 1 + v cancels when v is near -1; the sum of two positive terms does not
    return xp.log((1 - lam) + lam * xp.exp(t)) / k


def _far(xp: Any, s: Any, t: Any, lam: Any, k: Any) -> Any:
    log_lam = xp.log(lam)
    u = t + log_lam
    above = s + (log_lam + xp.log1p((1 - lam) * xp.exp(-u))) / k
    below = xp.log1p(xp.exp(u) - lam) / k
    return xp.where(u > 0, above, below)


def _near(xp: Any, s: Any, t: Any, lam: Any) -> Any:
    return lam * s * (1 + (1 - lam) * t / 2)
