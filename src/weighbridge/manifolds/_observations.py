"""Observations of the families: checks of those given, random ones, and nodes to integrate over."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, polygamma

from weighbridge.geodesic import check_alpha, check_lam
from weighbridge.tables import one_number

# A density this many standard deviations from a normal centre is 1e-32 of its top.
REACH = 12.0
# exp(-75) is 1e-33; exponential tails are followed as far.
TAIL = 75.0
_LARGEST = 4_000_000

# points x and the logarithms of their weights
Nodes = tuple[np.ndarray, np.ndarray]


def real_line(x: Any) -> np.ndarray:
    """Observations of one real number each, as a float array of shape (n_samples,)."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(
            f"Got x of shape {x.shape}, but expected one finite number for each observation, an "
            "array of shape (n_samples,)."
        )
    return x


def one_alpha(alpha: Any) -> float:
    """One finite alpha."""
    number = one_number(alpha, "alpha")
    check_alpha(np.asarray(number))
    return number


def one_lam(lam: Any) -> float:
    """One lam in [0, 1]."""
    number = one_number(lam, "lam")
    check_lam(np.asarray(number))
    return number


def finite_number(value: Any, name: str, positive: bool = False) -> float:
    """One finite number, above 0 if asked."""
    number = one_number(value, name)
    if not np.isfinite(number) or (positive and number <= 0):
        kind = "a finite number above 0" if positive else "a finite number"
        raise ValueError(f"Got {name}={value!r}, but expected {kind}.")
    return number


def in_range(tensor: np.ndarray, name: str, family: Any, theta: Any) -> np.ndarray:
    """Moments that are doubles: none above the largest, no variance below the smallest."""
    lost = name == "metric" and not (np.diag(tensor) > 0).all()
    if lost or not np.isfinite(tensor).all():
        raise ArithmeticError(
            f"The {name} of {family!r} at theta={np.asarray(theta).tolist()} is beyond the range "
            "of floating point numbers. Scale x, or shift it where the family allows."
        )
    return tensor


def generator(random_state: Any) -> Any:
    """A source of random numbers: the one given, or a new one for an integer or None."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(random_state)


def positive_line(x: Any, family: Any, zero: bool = False) -> np.ndarray:
    """Observations above 0, or from 0 on with `zero`."""
    x = real_line(x)
    if not ((x >= 0) if zero else (x > 0)).all():
        kind = "0 or above" if zero else "above 0"
        raise ValueError(f"Got x down to {x.min()}, but {family!r} needs observations {kind}.")
    return x


def whole_number(value: Any, name: str, least: int) -> int:
    """A whole number, not below `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"Got {name}={value!r}, but expected a whole number.")
    if value < least:
        raise ValueError(f"Got {name}={value}, but expected {least} or more.")
    return int(value)


def log_line(ends: list[tuple[float, float]], level: int) -> Nodes:
    """Nodes for gamma densities of these shapes and rates, uniform in the logarithm of x."""
    shape, rate = np.array(ends).T
    centres, scales = digamma(shape) - np.log(rate), np.sqrt(polygamma(1, shape))
    # to the left log x has the tail exp(shape log x), to the right an edge of width 1
    low = max(-700.0, float(np.min(centres - TAIL / shape - REACH * scales)))
    edges = np.log((shape + REACH * np.sqrt(shape) + TAIL) / rate)
    high = min(700.0, float(np.max(edges)))
    u, log_weight = panels([*centres, *edges], [*scales, 1.0, 1.0], low, high, level)
    return np.exp(u), log_weight + u


def reach(centres: Any, scales: Any) -> tuple[float, float]:
    """Return the ends of a range that holds normal densities of these centres and scales."""
    centres, spread = np.asarray(centres), REACH * np.asarray(scales)
    return float(np.min(centres - spread)), float(np.max(centres + spread))


def panels(
    centres: Any, scales: Any, low: float, high: float, level: int, order: int = 16
) -> Nodes:
    """Gauss-Legendre panels that grow with the distance from each centre in its own scale."""
    cuts = [low, high]
    for centre, scale in zip(centres, scales, strict=True):
        offsets = np.array([0.75, 1.5])
        while offsets[-1] * scale < high - low:
            offsets = np.append(offsets, 1.6 * offsets[-1])
        cuts += [centre, *(centre + scale * offsets), *(centre - scale * offsets)]
    breaks = np.unique(np.clip(cuts, low, high))
    parts = np.linspace(0.0, 1.0, 2**level + 1)[:-1]
    lower = (breaks[:-1, None] + np.diff(breaks)[:, None] * parts).ravel()
    width = np.repeat(np.diff(breaks) / 2**level, 2**level)
    check_number(width.size * order)
    nodes, weights = np.polynomial.legendre.leggauss(order)
    x = lower[:, None] + width[:, None] * (nodes + 1) / 2
    inside = width > 0
    log_weight = np.log(width[inside])[:, None] + np.log(weights / 2)
    return x[inside].ravel(), log_weight.ravel()


def check_number(n: float) -> None:
    """Refuse more nodes than memory should hold."""
    if n > _LARGEST:
        raise ArithmeticError(
            f"The two densities need {n:.3g} nodes, more than {_LARGEST:.0e}: their scales or "
            "positions are too far apart. Use ends that are closer."
        )
