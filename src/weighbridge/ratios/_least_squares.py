"""Least squares importance fitting: solutions and selection scores from sums alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, to_numpy


class Eigen:
    """A Gram matrix H = V diag(d) V', to be solved with h at many ridges at once, where it is."""

    def __init__(self, H: Any, h: np.ndarray):
        xp = array_namespace(H)
        self.values, self.vectors = xp.linalg.eigh(H)
        # rounding makes the smallest ones negative
        self.values = xp.clip(self.values, 0.0, None)
        self.g = self.vectors.T @ beside(xp, h, H)

    def coefficients(self, ridges: np.ndarray, iterations: int) -> Any:
        """Return theta for each ridge (in columns).

        (H + ridge) theta_(j+1) = h + ridge theta_j, started at 0, has the sum of a geometric
        series as its solution in the coordinates of V.
        """
        at = beside(array_namespace(self.values), ridges, self.values)
        damped = at / (self.values[:, None] + at)
        series = sum(damped**j for j in range(iterations))
        return self.vectors @ (self.g[:, None] / (self.values[:, None] + at) * series)


def score(theta: Any, H: Any, h: np.ndarray) -> np.ndarray:
    """Return theta'H theta / 2 - h'theta for each column of theta, smaller is better.

    Up to a constant, half the mean squared error of the ratio on the rows of H and h.
    """
    xp = array_namespace(theta)
    return to_numpy(xp.sum(theta * (H @ theta), axis=0) / 2 - beside(xp, h, theta) @ theta)


def beside(xp: Any, values: np.ndarray, array: Any) -> Any:
    """Return NumPy values as an array of another library, beside `array`."""
    return values if xp is np else xp.asarray(values, dtype=array.dtype, device=array.device)


def leave_one_out_scores(
    kernel_source: np.ndarray, kernel_target: np.ndarray, ridges: np.ndarray
) -> np.ndarray:
    """Return the leave-one-out score of each ridge for one bandwidth, in closed form.

    Row i of the source and row i of the target are left out together, for the first
    ``min(n_source, n_target)`` rows of each; the rows must be in random order.
    """
    n, m = kernel_source.shape[0], kernel_target.shape[0]
    pairs = min(n, m)
    eigen = Eigen(kernel_source.T @ kernel_source / n, kernel_target.mean(axis=0))
    Q, P = kernel_source[:pairs] @ eigen.vectors, kernel_target[:pairs] @ eigen.vectors
    c = 1 / (eigen.values[:, None] + ridges * (n - 1) / n)
    gc = eigen.g[:, None] * c
    q, hy, hx = (Q * Q) @ c, Q @ gc, P @ gc
    xy, xx = (P * Q) @ c, (P * P) @ c
    left = n - q
    factor = (n - 1) / (n * (m - 1))
    at_source = factor * (m * (hy + q * hy / left) - (xy + q * xy / left))
    at_target = factor * (m * (hx + xy * hy / left) - (xx + xy**2 / left))
    return (at_source**2).mean(axis=0) / 2 - at_target.mean(axis=0)
