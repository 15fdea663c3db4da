"""Nodes that resolve two members of a family and the curves between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, polygamma

# A density this many standard deviations from a normal centre is 1e-32 of its top.
REACH = 12.0
# exp(-75) is 1e-33; exponential tails are followed as far.
TAIL = 75.0
_LARGEST = 4_000_000

# points x and the logarithms of their weights
Nodes = tuple[np.ndarray, np.ndarray]


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
