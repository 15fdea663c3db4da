"""Gaussian kernels between rows and a few centres, in blocks of rows, for any array library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._namespace import array_namespace, to_numpy
from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._row_scores import RowScores

# Ten bandwidths by default: twice the median distance, and down by steps of sqrt(2).
N_BANDWIDTHS = 10
WIDEST = 2.0


def distinct_rows(rows: Any, n: int) -> tuple[Any, np.ndarray]:
    """Return up to `n` different rows, the first of a sample in random order, and their places.

    The same centre twice would only make a system of equations singular.
    """
    xp = array_namespace(rows)
    first = rows[: min(4 * n, rows.shape[0]), :]
    if sp.issparse(first):
        kept = np.sort(np.unique(RowScores(first).group, return_index=True)[1])[:n]
        return first[kept].toarray(), kept
    kept = np.sort(np.unique(to_numpy(first), axis=0, return_index=True)[1])[:n]
    return (first[kept] if xp is np else xp.stack([first[int(k), :] for k in kept])), kept


def squared_distances(rows: Any, centres: Any) -> Any:
    """Return squared distances, shape (n_rows, n_centres)."""
    xp = array_namespace(rows, centres)
    if sp.issparse(rows):
        distances = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1, 1)
        distances = distances - 2 * (rows @ centres.T)
        distances += xp.sum(centres * centres, axis=1)[None, :]
        return np.maximum(distances, 0.0, out=distances)
    return -2 * exponents(rows, centres, 1.0)


def exponents(rows: Any, centres: Any, bandwidth: float, out: Any = None) -> Any:
    """Return -distance^2 / (2 bandwidth^2), shape (n_rows, n_centres), by one matrix product.

    Dense NumPy rows may have it written into an array.
    """
    if sp.issparse(rows):
        return squared_distances(rows, centres) * (-0.5 / bandwidth**2)
    xp = array_namespace(rows, centres)
    left, right = rows / bandwidth, centres / bandwidth
    halves = [-0.5 * xp.sum(part * part, axis=1)[:, None] for part in (left, right)]
    ones = [xp.ones_like(half) for half in halves]
    left = xp.concat([left, halves[0], ones[0]], axis=1)
    right = xp.concat([right, ones[1], halves[1]], axis=1).T
    # rounding may leave a row beside itself
    if xp is not np:
        return xp.clip(left @ right, None, 0.0)
    out = np.matmul(left, right, out=out)
    return np.minimum(out, 0.0, out=out)


def kernels(exponent: Any, bandwidths: Any) -> Iterator[Any]:
    """Yield exp(-distance^2 / (2 bandwidth^2)) for each bandwidth.

    `exponent` is that of the first bandwidth, and is overwritten, as what is yielded is by the
    next. A bandwidth smaller by sqrt(2) than the one before costs a squaring instead of an
    exponential.
    """
    xp = array_namespace(exponent)
    bandwidths = [float(bandwidth) for bandwidth in bandwidths]
    steps = [before / bandwidth for before, bandwidth in pairwise(bandwidths)]
    if xp is not np:
        kernel = xp.exp(exponent)
    elif all(map(_is_root_two, steps)):
        kernel = np.exp(exponent, out=exponent)
    else:
        kernel = np.exp(exponent)  # the exponent is still needed
    yield kernel
    for step, bandwidth in zip(steps, bandwidths[1:], strict=True):
        if _is_root_two(step):
            kernel *= kernel
        elif xp is np:
            np.multiply(exponent, (bandwidths[0] / bandwidth) ** 2, out=kernel)
            np.exp(kernel, out=kernel)
        else:
            kernel = xp.exp(exponent * (bandwidths[0] / bandwidth) ** 2)
        yield kernel


def _is_root_two(step: float) -> bool:
    return abs(step / 2**0.5 - 1) < 1e-12


def kernel_blocks(rows: Any, centres: Any, bandwidths: Any) -> Iterator[tuple[int, Any]]:
    """Yield number of the bandwidth and kernel for blocks of rows; the next overwrites it.

    One array serves all blocks: to hand out the pages of a new one takes as long as to fill it.
    """
    xp = array_namespace(rows, centres)
    work: Any = None
    for block in row_blocks(rows.shape[0], centres.shape[0], xp is np, xp is not np):
        out = None if work is None else work[: block.stop - block.start]
        exponent = exponents(rows[block, :], centres, float(bandwidths[0]), out)
        if work is None and isinstance(exponent, np.ndarray):
            work = exponent
        yield from enumerate(kernels(exponent, bandwidths))


def kernel_sums(rows: Any, centres: Any, bandwidths: Any) -> Any:
    """Return the column sums of the kernel, shape (n_bandwidths, n_centres).

    One pass over the rows; sums over blocks are added up in float64, where the rows are.
    """
    xp = array_namespace(rows, centres)
    return _summed(rows, centres, bandwidths, lambda kernel: xp.sum(kernel, axis=0))


def kernel_grams(rows: Any, centres: Any, bandwidths: Any) -> Any:
    """Return the Gram matrices of the kernel, shape (n_bandwidths, n_centres, n_centres)."""
    return _summed(rows, centres, bandwidths, lambda kernel: kernel.T @ kernel)


def _summed(rows: Any, centres: Any, bandwidths: Any, summary: Callable[[Any], Any]) -> Any:
    xp = array_namespace(rows, centres)
    sums: list[Any] = [None] * len(bandwidths)
    for j, kernel in kernel_blocks(rows, centres, bandwidths):
        part = summary(kernel)
        sums[j] = part if sums[j] is None else sums[j] + part
    if sums[0] is None:  # no rows
        nothing = summary(squared_distances(centres, centres)[:0, :])
        sums = [nothing] * len(bandwidths)
    return np.array(sums) if xp is np else xp.stack(sums)


def typical_distance(rows: Any, centres: Any) -> float:
    """Return the median distance between some rows and the centres (1 if all are equal)."""
    distances = to_numpy(squared_distances(rows[: min(500, rows.shape[0]), :], centres))
    positive = distances[distances > 1e-12 * max(distances.max(), 1e-300)]
    return float(np.sqrt(np.median(positive))) if positive.size else 1.0


def bandwidth_grid(own: Any, source: Any, target: Any, centres: Any) -> np.ndarray:
    """Return the bandwidths given, or a grid from the distances to the centres; widest first."""
    if own is not None:
        return np.sort(np.asarray(own, dtype=float))[::-1]
    median = (typical_distance(source, centres) + typical_distance(target, centres)) / 2
    return WIDEST * median * 2.0 ** (-np.arange(N_BANDWIDTHS) / 2)
