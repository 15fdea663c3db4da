"""Polynomials through Chebyshev points on [-1, 1]."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct

_NEWTON_STEPS = 50
# Coefficients of the logarithm of a speed that nodes follow.
_SMOOTH = 5


def nodes(degree: int) -> np.ndarray:
    """Return the degree + 1 Chebyshev points, from -1 to 1."""
    return np.sin(np.pi * (2 * np.arange(degree + 1) - degree) / (2 * degree))


def to_coefficients(values: np.ndarray) -> np.ndarray:
    """Return the Chebyshev coefficients of the polynomial with these values at the nodes."""
    degree = len(values) - 1
    coefficients = dct(values[::-1], type=1, axis=0) / degree
    coefficients[[0, -1]] /= 2
    return coefficients


def invert(coefficients: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return x in [-1, 1] where an increasing polynomial takes these values."""
    x = np.linspace(-1.0, 1.0, 16 * len(coefficients))
    table = np.maximum.accumulate(chebyshev.chebval(x, coefficients))
    place = np.clip(np.searchsorted(table, values), 1, x.size - 1)
    low, high = x[place - 1], x[place]
    guess = np.interp(values, table, x)
    slope = chebyshev.chebder(coefficients)
    for _ in range(_NEWTON_STEPS):
        gap = chebyshev.chebval(guess, coefficients) - values
        step = gap / np.maximum(chebyshev.chebval(guess, slope), 1e-300)
        moved = np.clip(guess - step, low, high)
        if np.max(np.abs(moved - guess), initial=0.0) <= 1e-15:
            break
        guess = moved
    return guess


def spread(speed: np.ndarray, degree: int) -> np.ndarray:
    """Return points x that cut a curve with this speed at its nodes as nodes of `degree` would.

    Only the smooth part of the logarithm of the speed counts: a rough change of variable would
    cost the polynomials in it their fast convergence.
    """
    top = float(np.max(speed))
    if not 0 < top < np.inf:
        return nodes(degree)
    log_speed = to_coefficients(np.log(np.maximum(speed / top, 1e-8)))
    smooth = log_speed[:_SMOOTH]
    fine = nodes(8 * len(speed))
    length = chebyshev.chebint(to_coefficients(np.exp(chebyshev.chebval(fine, smooth))))
    ends = chebyshev.chebval(np.array([-1.0, 1.0]), length)
    length *= 2 / (ends[1] - ends[0])
    length[0] -= chebyshev.chebval(-1.0, length) + 1
    return invert(length, nodes(degree))
