"""Gaussian kernels between rows and a few centres, in blocks of rows, for any array library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def exponents(rows: Any, centres: Any, bandwidth: float) -> Any:
    """Return -distance^2 / (2 bandwidth^2), shape (n_rows, n_centres), by one matrix product."""
    if sp.issparse(rows):
        return squared_distances(rows, centres) * (-0.5 / bandwidth**2)
    xp = array_namespace(rows, centres)
    left, right = rows / bandwidth, centres / bandwidth
    halves = [-0.5 * xp.sum(part * part, axis=1)[:, None] for part in (left, right)]
    ones = [xp.ones_like(half) for half in halves]
    found = xp.concat([left, halves[0], ones[0]], axis=1) @ (
        xp.concat([right, ones[1], halves[1]], axis=1).T
    )
    # rounding may leave a row beside itself
    return np.minimum(found, 0.0, out=found) if xp is np else xp.clip(found, None, 0.0)


def kernels(exponent: Any, bandwidths: Any) -> Iterator[Any]:
    """Yield exp(-distance^2 / (2 bandwidth^2)) for each bandwidth.

    `exponent` is that of the first bandwidth. A bandwidth smaller by sqrt(2) than the one before
    costs a squaring instead of an exponential. What is yielded is overwritten by the next.
    """
    xp = array_namespace(exponent)
    widest = before = float(bandwidths[0])
    kernel: Any = None
    for bandwidth in map(float, bandwidths):
        if kernel is not None and abs(before / bandwidth / 2**0.5 - 1) < 1e-12:
            kernel *= kernel
        elif xp is np:
            kernel = np.multiply(exponent, (widest / bandwidth) ** 2, out=kernel)
            np.exp(kernel, out=kernel)
        else:
            wide = bandwidth == widest
            kernel = xp.exp(exponent if wide else exponent * (widest / bandwidth) ** 2)
        before = bandwidth
        yield kernel


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
    for block in row_blocks(rows.shape[0], centres.shape[0], xp is np, xp is not np):
        exponent = exponents(rows[block, :], centres, float(bandwidths[0]))
        for j, kernel in enumerate(kernels(exponent, bandwidths)):
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
