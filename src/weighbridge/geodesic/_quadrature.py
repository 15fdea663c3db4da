"""Gauss-Legendre quadrature on the unit interval."""

from __future__ import annotations

import numpy as np


def unit_legendre(n: int) -> list[tuple[float, float]]:
    """Return n pairs (node, weight) that integrate polynomials of degree 2n - 1 over [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return [(float(0.5 * (x + 1)), float(0.5 * w)) for x, w in zip(nodes, weights, strict=True)]
