"""Arrays of any library: NumPy, torch, cupy and others of the array-API standard."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_foreign(array: object) -> bool:
    """True for arrays of another library that computes on its own (torch, cupy, ...)."""
    if isinstance(array, np.ndarray | np.generic):
        return False
    library = type(array).__module__.partition(".")[0]
    return library in {"torch", "cupy"} or hasattr(array, "__array_namespace__")


def array_namespace(*arrays: object) -> Any:
    """Return the array-API namespace that all `arrays` share."""
    foreign = [array for array in arrays if is_foreign(array)]
    if not foreign:
        return np
    clash = [type(array).__name__ for array in arrays if isinstance(array, np.ndarray)]
    if clash:
        raise TypeError(
            f"Got a NumPy array together with a {type(foreign[0]).__name__}; arrays of two "
            "libraries cannot be mixed. Convert one of them, or pass plain numbers."
        )
    try:
        import array_api_compat
    except ImportError:
        namespace = getattr(foreign[0], "__array_namespace__", None)
        if namespace is not None:
            return namespace()
        raise ImportError(
            f"Arrays of type {type(foreign[0]).__name__} need the package array-api-compat: "
            "pip install array-api-compat"
        ) from None
    return array_api_compat.array_namespace(*foreign)


def device_of(xp: Any, *arrays: object) -> Any:
    """Return the device on which the first array of the namespace `xp` lives; None for NumPy."""
    if xp is np:
        return None
    array = next(array for array in arrays if is_foreign(array))
    return array.device  # type: ignore[attr-defined]


def to_numpy(array: Any) -> np.ndarray:
    """Return an array of any library, on any device, as a NumPy array."""
    if not is_foreign(array):
        return np.asarray(unmasked(array))
    for method in ("cpu", "get"):  # torch, cupy
        if hasattr(array, method):
            return np.asarray(getattr(array, method)())
    namespace = array.__array_namespace__()
    home = namespace.__array_namespace_info__().default_device()
    return np.asarray(array.to_device(home))


def unmasked(part: Any, whole: str = "") -> Any:
    """Return a masked array with its gaps as NaN or None; refuse gaps in what must be `whole`."""
    if not isinstance(part, np.ma.MaskedArray):
        return part
    if not np.ma.is_masked(part):
        return part.data
    if whole:
        raise ValueError(f"Got {whole} with masked values in it; leave these rows out.")
    numbers = part.dtype.kind in "biuf"
    filled: Any = part.astype(np.float64 if numbers else object)
    return filled.filled(np.nan if numbers else None)
