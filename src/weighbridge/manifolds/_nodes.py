"""Quadrature nodes that resolve two members of a family and the curves between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import digamma, polygamma

from weighbridge.manifolds._categorical import Categorical
from weighbridge.manifolds._exponential import Exponential
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._gamma import Gamma
from weighbridge.manifolds._multivariate_normal import MultivariateNormal
from weighbridge.manifolds._normal import Normal
from weighbridge.manifolds._poisson import Poisson
from weighbridge.manifolds._von_mises import VonMises

# A density this many standard deviations from a normal centre is 1e-32 of its top.
_REACH = 12.0
# exp(-75) is 1e-33; exponential tails are followed as far.
_TAIL = 75.0
_LARGEST = 4_000_000

Nodes = tuple[np.ndarray, np.ndarray]


def quadrature(family: ExponentialFamily, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    """Return points x and the logarithms of their weights; each level doubles their number."""
    for kind, nodes in _NODES.items():
        if isinstance(family, kind):
            return nodes(family, start, stop, level)
    raise TypeError(
        f"Got {family!r}, but no quadrature is known for it. Choose nodes, take "
        "interpolate_densities of the two log densities there, and give the result to project."
    )


def _normal(family: Normal, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    ends = [family.usual(theta) for theta in (start, stop)]
    means, sds = ([end[name] for end in ends] for name in ("mean", "sd"))
    return _panels(means, sds, *_range(means, sds), level)


def _gamma(family: Gamma, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    ends = [family.usual(theta) for theta in (start, stop)]
    return _log_line([(end["shape"], end["rate"]) for end in ends], level)


def _exponential(family: Exponential, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    return _log_line([(1.0, family.usual(theta)["rate"]) for theta in (start, stop)], level)


def _log_line(ends: list[tuple[float, float]], level: int) -> Nodes:
    """Nodes for gamma densities of these shapes and rates, uniform in the logarithm of x."""
    shape, rate = np.array(ends).T
    centres, scales = digamma(shape) - np.log(rate), np.sqrt(polygamma(1, shape))
    # to the left log x has the tail exp(shape log x), to the right an edge of width 1
    low = max(-700.0, float(np.min(centres - _TAIL / shape - _REACH * scales)))
    edges = np.log((shape + _REACH * np.sqrt(shape) + _TAIL) / rate)
    high = min(700.0, float(np.max(edges)))
    u, log_weight = _panels([*centres, *edges], [*scales, 1.0, 1.0], low, high, level)
    return np.exp(u), log_weight + u


def _von_mises(family: VonMises, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    # the trapezoidal rule on a circle converges faster than any power
    sharpest = max(family.usual(theta)["concentration"] for theta in (start, stop))
    n = 64 * 2**level * int(np.ceil(1 + np.sqrt(sharpest)))
    _check_number(n)
    return 2 * np.pi * np.arange(n) / n - np.pi, np.full(n, np.log(2 * np.pi / n))


def _poisson(family: Poisson, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    rates = np.array([family.usual(theta)["rate"] for theta in (start, stop)])
    spread = _REACH * np.sqrt(rates) + _TAIL
    low, high = max(0.0, np.floor(np.min(rates - spread))), np.ceil(np.max(rates + spread))
    _check_number(high - low)
    x = np.arange(low, high + 1)
    return x, np.zeros(x.size)


def _categorical(family: Categorical, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
    x = np.arange(family.dim + 1)
    return x, np.zeros(x.size)


def _multivariate_normal(
    family: MultivariateNormal, start: np.ndarray, stop: np.ndarray, level: int
) -> Nodes:
    if family.d > 2:
        raise ValueError(
            f"Got {family!r}, but a grid serves two dimensions at most. Draw a sample of the "
            "source and give project the log_weight of its log ratios."
        )
    one, two = family.usual(start), family.usual(stop)
    # coordinates in which the start is standard and the covariance of the stop is diagonal
    variances, axes = eigh(two["covariance"], one["covariance"])
    shift = axes.T @ (two["mean"] - one["mean"])
    lines = []
    for centre, sd in zip(shift, np.sqrt(variances), strict=True):
        centres, sds = [0.0, centre], [1.0, sd]
        lines.append(_panels(centres, sds, *_range(centres, sds), level, order=10))
    _check_number(math.prod(line[0].size for line in lines))
    grid = np.meshgrid(*(line[0] for line in lines), indexing="ij")
    z = np.column_stack([axis.ravel() for axis in grid])
    log_weights = np.meshgrid(*(line[1] for line in lines), indexing="ij")
    log_weight = np.sum(log_weights, axis=0).ravel()
    back = np.linalg.inv(axes.T)
    return one["mean"] + z @ back.T, log_weight + np.linalg.slogdet(back)[1]


def _range(centres: Any, scales: Any) -> tuple[float, float]:
    centres, spread = np.asarray(centres), _REACH * np.asarray(scales)
    return float(np.min(centres - spread)), float(np.max(centres + spread))


def _panels(
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
    _check_number(width.size * order)
    nodes, weights = np.polynomial.legendre.leggauss(order)
    x = lower[:, None] + width[:, None] * (nodes + 1) / 2
    inside = width > 0
    log_weight = np.log(width[inside])[:, None] + np.log(weights / 2)
    return x[inside].ravel(), log_weight.ravel()


def _check_number(n: float) -> None:
    if n > _LARGEST:
        raise ArithmeticError(
            f"The two densities need {n:.3g} nodes, more than {_LARGEST:.0e}: their scales or "
            "positions are too far apart. Use ends that are closer."
        )


_NODES: dict[type[ExponentialFamily], Callable[..., Nodes]] = {
    Normal: _normal,
    Gamma: _gamma,
    Exponential: _exponential,
    VonMises: _von_mises,
    Poisson: _poisson,
    Categorical: _categorical,
    MultivariateNormal: _multivariate_normal,
}
