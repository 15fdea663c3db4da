"""One door for all functions of (log_ratio, lam, alpha) that act row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, device_of, to_numpy

# Rows per block: the temporaries of one block stay in a core's cache.
BLOCK = 32_768
# Arrays of a block's size that a kernel may overwrite under NumPy; the first is its result.
WORK = 7

Kernel = Callable[[Any, Any, Any, Any, Any], Any]


def as_float64(xp: Any, value: Any, device: Any, name: str) -> Any:
    """Return `value` as a float64 array of the namespace `xp`."""
    try:
        if xp is np:
            array = np.asarray(value)
            if array.dtype.kind == "c" or value is None:
                raise TypeError("neither float nor integer")
            return np.asarray(array, dtype=np.float64)
        if hasattr(value, "dtype"):
            return xp.astype(xp.asarray(value, device=device), xp.float64)
        # a plain number must not pass through the library's default type, often float32
        return xp.asarray(value, dtype=xp.float64, device=device)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Got {name} of type {type(value).__name__} that is not real numbers ({error}); "
            f"pass numbers or an array of them."
        ) from None


def check_lam(xp: Any, lam: Any) -> None:
    """Refuse a lam outside [0, 1]."""
    bad = ~((lam >= 0) & (lam <= 1))
    if bool(xp.any(bad)):
        raise ValueError(
            f"Got lam={_first(lam, bad)}, but lam must lie in [0, 1]: "
            "0 ignores the ratio (ERM), 1 uses it in full (IWERM)."
        )


def check_alpha(xp: Any, alpha: Any) -> None:
    """Refuse an alpha that is NaN or infinite."""
    bad = ~xp.isfinite(alpha)
    if bool(xp.any(bad)):
        raise ValueError(
            f"Got alpha={_first(alpha, bad)}, but alpha must be a finite number, e.g. 1 (AIWERM) "
            "or 3 (RIWERM); a large finite alpha comes as close as you like to the limit min(1, r)."
        )


def _check_log_ratio(xp: Any, s: Any, lam: Any, alpha: Any) -> None:
    if bool(xp.all(xp.isfinite(s))):
        return
    count = int(xp.count_nonzero(xp.isnan(s)))
    if count:
        raise ValueError(
            f"Got log_ratio with NaN in {count} of {math.prod(s.shape)} places; every row needs a "
            "number (-inf stands for a ratio of 0). Look at the ratio that produced it."
        )
    unbounded = (s == xp.inf) & ((alpha <= 1) | (lam == 1))
    if bool(xp.any(unbounded)):
        raise ValueError(
            "Got log_ratio = +inf where the weight has no upper bound (alpha <= 1 or lam = 1): a "
            "source row lies where the source density is 0. Correct the densities, drop the row, "
            "or use alpha > 1 with lam < 1, which bounds every weight."
        )


def _first(values: Any, mask: Any) -> float:
    return float(to_numpy(values[mask] if values.ndim else values).ravel()[0])


def elementwise(kernel: Kernel, log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Apply `kernel(xp, s, lam, alpha)` with broadcasting, in float64, block by block.

    The result is float32 where every array among the inputs is, else float64; the arithmetic in
    between is always float64.
    """
    inputs = (log_ratio, lam, alpha)
    xp = array_namespace(*inputs)
    device = device_of(xp, *inputs)
    names = ("log_ratio", "lam", "alpha")
    s, lam, alpha = (
        as_float64(xp, value, device, name) for value, name in zip(inputs, names, strict=True)
    )
    check_lam(xp, lam)
    check_alpha(xp, alpha)
    dtype = _result_dtype(xp, inputs)
    with np.errstate(all="ignore"):  # branches are evaluated outside their domain, then replaced
        if xp is np:
            return _in_blocks(kernel, s, lam, alpha, dtype)
        s, lam, alpha = xp.broadcast_arrays(s, lam, alpha)
        _check_log_ratio(xp, s, lam, alpha)
        return xp.astype(kernel(xp, s, lam, alpha, [None] * WORK), dtype)


def _result_dtype(xp: Any, inputs: tuple[Any, ...]) -> Any:
    """float32 when every array among the inputs is float32, else float64."""
    dtypes = [value.dtype for value in inputs if hasattr(value, "dtype") and hasattr(value, "ndim")]
    narrow = dtypes and all(dtype == xp.float32 for dtype in dtypes)
    return xp.float32 if narrow else xp.float64


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
                _check_log_ratio(np, s, lam, alpha)
                checked = True
            value = kernel(np, block, one_lam, one_alpha, [result, *work[:, : block.size]])
            if value is not result:
                result[...] = value
    return out if out.ndim else out[()]


def into(out: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(*args)``, written into the scratch array `out` where there is one.

    A fresh array per operation costs NumPy more than the operation: its pages are handed out
    and taken back by the system each time.
    """
    return function(*args) if out is None else function(*args, out=out)


def overwrite(xp: Any, out: Any, mask: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Replace `out` by `function(xp, *args)` where `mask` holds.

    NumPy evaluates only the rows concerned, usually none; other libraries evaluate all rows and
    select, which is what their devices do best.
    """
    if xp is not np:
        return xp.where(mask, function(xp, *args), out)
    if np.ndim(mask) == 0:
        return function(np, *args) if mask else out
    rows = np.flatnonzero(mask)
    if rows.size:
        out[rows] = function(np, *(arg.take(rows) if np.ndim(arg) else arg for arg in args))
    return out
