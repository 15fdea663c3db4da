"""Gaussian kernels between rows and a few centres."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from weighbridge._folds import row_blocks
from weighbridge.tables import array_namespace, exact_keys, take_rows

Array = np.ndarray[Any, Any]
# The default bandwidths start at twice the median distance and fall by steps of sqrt(2).
N_BANDWIDTHS = 10
WIDEST = 2.0


def distinct_rows(rows: Any, n: int) -> tuple[Any, np.ndarray]:
    """Return the first `n` distinct rows, as a dense array, and their indices."""
    leading = take_rows(rows, slice(4 * n))
    is_sparse = sp.issparse(leading)
    keys = exact_keys(leading, None if is_sparse else list(leading.T))
    indices = np.sort(np.unique(keys, return_index=True)[1])[:n]
    distinct = take_rows(leading, indices)
    return (distinct.toarray() if is_sparse else distinct), indices


def exponents(rows: Any, centres: Any, bandwidth: float, out: Any = None) -> Any:
    """Return -|x - c|^2 / (2 bandwidth^2) for rows x and centres c, arrays of any library."""
    if sp.issparse(rows):
        return euclidean_distances(rows, centres, squared=True) * (-0.5 / bandwidth**2)
    xp = array_namespace(rows, centres)
    left, right = rows / bandwidth, centres / bandwidth
    halves = [-0.5 * xp.sum(array * array, axis=1)[:, None] for array in (left, right)]
    ones = [xp.ones_like(half) for half in halves]
    left = xp.concat([left, halves[0], ones[0]], axis=1)
    right = xp.concat([right, ones[1], halves[1]], axis=1).T
    # Rounding may give a row a positive exponent at itself.
    if xp is not np:
        return xp.clip(left @ right, None, 0.0)
    out = np.matmul(left, right, out=out)
    return np.minimum(out, 0.0, out=out)


def kernels(exponent: np.ndarray, bandwidths: Any) -> Iterator[np.ndarray]:
    """Yield the kernel at each bandwidth, given its exponents at the first.

    A kernel at bandwidth / 2^(k/2) is the kernel at the bandwidth, squared k times. Each kernel
    overwrites the one before it, and may overwrite the exponents.
    """
    bandwidths = np.asarray(bandwidths, dtype=float)
    octaves = 2 * np.log2(bandwidths[:-1] / bandwidths[1:])
    if np.any(np.abs(octaves - np.rint(octaves)) > 1e-12):
        ratios = bandwidths[0] / bandwidths
        yield from (np.exp(exponent * float(ratio) ** 2) for ratio in ratios)
        return
    kernel = np.exp(exponent, out=exponent)
    yield kernel
    for octave in octaves:
        for _ in range(round(octave)):
            kernel *= kernel
        yield kernel


def kernel_blocks(rows: Any, centres: Array, bandwidths: Any) -> Iterator[tuple[int, Array]]:
    """Yield the index of a bandwidth and its kernel, for one block of rows after the other."""
    work: Any = None
    for block in row_blocks(rows.shape[0], len(centres), cached=True):
        out = None if work is None else work[: block.stop - block.start]
        exponent = exponents(rows[block, :], centres, float(bandwidths[0]), out)
        work = exponent if work is None else work
        yield from enumerate(kernels(exponent, bandwidths))


def kernel_sums(rows: Any, centres: Array, bandwidths: Any, *, grams: bool = False) -> Array:
    """Return the column sums of the kernel K at each bandwidth, or the matrices K'K."""
    sums = [np.zeros(())] * len(bandwidths)
    for j, kernel in kernel_blocks(rows, centres, bandwidths):
        sums[j] = sums[j] + (kernel.T @ kernel if grams else kernel.sum(axis=0))
    return np.array(sums)


def gaussian_kernel(rows: Any, centres: Any, bandwidth: float) -> np.ndarray:
    """Return exp(-|x - c|^2 / (2 bandwidth^2)) for rows x and centres c."""
    return np.exp(exponents(rows, centres, bandwidth))


def typical_distance(rows: Any, centres: Any) -> float:
    """Return the median positive distance of 500 rows to the centres (1 if there is none)."""
    squares = -2 * exponents(take_rows(rows, slice(500)), centres, 1.0)
    positive = squares[squares > 1e-12 * max(squares.max(), 1e-300)]
    return float(np.sqrt(np.median(positive))) if positive.size else 1.0


def bandwidth_grid(bandwidths: Any, source: Any, target: Any, centres: Any) -> np.ndarray:
    """Return the bandwidths, by default a grid from the distances to the centres; widest first."""
    if bandwidths is not None:
        return np.sort(np.asarray(bandwidths, dtype=float))[::-1]
    median = (typical_distance(source, centres) + typical_distance(target, centres)) / 2
    return WIDEST * median * 2.0 ** (-np.arange(N_BANDWIDTHS) / 2)
