"""Gaussian kernels between rows and a few centres, in blocks of rows, for any array library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from weighbridge._folds import row_blocks
from weighbridge.tables import RowScores, array_namespace, to_numpy

if TYPE_CHECKING:
    from weighbridge.ratios._sample import Sample

# Ten bandwidths by default: twice the median distance, and down by steps of sqrt(2).
N_BANDWIDTHS = 10
WIDEST = 2.0


def distinct_rows(rows: Any, n: int) -> tuple[Any, np.ndarray]:
    """Return up to `n` different rows, the first of a sample in random order, and their places."""
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
    """Return -distance^2 / (2 bandwidth^2), shape (n_rows, n_centres), by one matrix product."""
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
    """Yield exp(-distance^2 / (2 bandwidth^2)) for each bandwidth."""
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
    """Yield number of the bandwidth and kernel for blocks of rows; the next overwrites it."""
    xp = array_namespace(rows, centres)
    work: Any = None
    for block in row_blocks(rows.shape[0], centres.shape[0], xp is np, xp is not np):
        out = None if work is None else work[: block.stop - block.start]
        exponent = exponents(rows[block, :], centres, float(bandwidths[0]), out)
        if work is None and isinstance(exponent, np.ndarray):
            work = exponent
        yield from enumerate(kernels(exponent, bandwidths))


def kernel_sums(rows: Any, centres: Any, bandwidths: Any) -> Any:
    """Return the column sums of the kernel, shape (n_bandwidths, n_centres)."""
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


def bandwidth_grid(given: Any, source: Any, target: Any, centres: Any) -> np.ndarray:
    """Return the bandwidths given, or a grid from the distances to the centres; widest first."""
    if given is not None:
        return np.sort(np.asarray(given, dtype=float))[::-1]
    median = (typical_distance(source, centres) + typical_distance(target, centres)) / 2
    return WIDEST * median * 2.0 ** (-np.arange(N_BANDWIDTHS) / 2)


class Eigen:
    """A Gram matrix H = V diag(d) V', to be solved with h at many ridges at once, where it is."""

    def __init__(self, H: Any, h: np.ndarray):
        xp = array_namespace(H)
        self.values, self.vectors = xp.linalg.eigh(H)
        # rounding makes the smallest ones negative
        self.values = xp.clip(self.values, 0.0, None)
        self.g = self.vectors.T @ beside(xp, h, H)

    def coefficients(self, ridges: np.ndarray, iterations: int) -> Any:
        """Return theta for each ridge (in columns)."""
        at = beside(array_namespace(self.values), ridges, self.values)
        damped = at / (self.values[:, None] + at)
        series = sum(damped**j for j in range(iterations))
        return self.vectors @ (self.g[:, None] / (self.values[:, None] + at) * series)


def score(theta: Any, H: Any, h: np.ndarray) -> np.ndarray:
    """Return theta'H theta / 2 - h'theta for each column of theta, smaller is better."""
    xp = array_namespace(theta)
    return to_numpy(xp.sum(theta * (H @ theta), axis=0) / 2 - beside(xp, h, theta) @ theta)


def beside(xp: Any, values: np.ndarray, array: Any) -> Any:
    """Return NumPy values as an array of another library, beside `array`."""
    return values if xp is np else xp.asarray(values, dtype=array.dtype, device=array.device)


@dataclass(frozen=True)
class FoldSums:
    """How kernels are summed up: centres, folds, and the share of the target in the denominator."""

    centres: Any
    n_folds: int
    relative: float
    places: np.ndarray

    def equations(self, source: Sample, target: Sample, bandwidths: np.ndarray) -> list[Equations]:
        """Return for each bandwidth the equations of all folds, after one pass over the rows."""
        grams, sums = (
            partial(_by_fold, summed, self, bandwidths) for summed in (kernel_grams, kernel_sums)
        )
        source_sizes, H = source.sum(grams)
        target_sizes, h = target.sum(sums)
        G = target.sum(grams)[1] if self.relative > 0 else None
        h = to_numpy(h)
        # which fold a centre's row is in is another question for the first rows alone than for all
        own = np.flatnonzero(self.places < target.first.shape[0])
        fold = (target.first_keys[self.places[own]] * self.n_folds).astype(int)
        correction = without_itself(h.sum(axis=0), target.n)
        h[fold, :, own] += correction.T[own]
        sizes = source_sizes, target_sizes
        return [
            Equations(H[:, j, ...], h[:, j], G if G is None else G[:, j, ...], sizes, self.relative)
            for j in range(len(bandwidths))
        ]


@dataclass(frozen=True)
class Equations:
    """Sums of all folds at one bandwidth: what they say of each fold and of all rows."""

    H: Any
    h: np.ndarray
    G: Any
    sizes: tuple[np.ndarray, np.ndarray]
    relative: float

    def scores(self, ridges: np.ndarray, iterations: int) -> np.ndarray:
        """Return the held-out score of each ridge, averaged over the folds."""
        n, m = self.sizes
        scores = np.zeros(ridges.size)
        whole, h = self._sum(self.H), self.h.sum(axis=0)
        more = None if self.G is None else self._sum(self.G)
        for fold in range(n.size):
            G, rest_G = None, None
            if self.G is not None:
                own = self.G[fold, ...]
                G, rest_G = own / int(m[fold]), (more - own) / int(m.sum() - m[fold])
            H = self.H[fold, ...]
            within = self._mixed(H / int(n[fold]), G)
            rest = self._mixed((whole - H) / int(n.sum() - n[fold]), rest_G)
            h_rest = (h - self.h[fold]) / (m.sum() - m[fold])
            h_within = self.h[fold] / m[fold]
            theta = Eigen(rest, h_rest).coefficients(ridges, iterations)
            scores += score(theta, within, h_within)
        return scores / n.size

    def whole(self) -> Eigen:
        """Return the equations of all rows together."""
        n, m = (int(sizes.sum()) for sizes in self.sizes)
        G = None if self.G is None else self._sum(self.G) / m
        return Eigen(self._mixed(self._sum(self.H) / n, G), self.h.sum(axis=0) / m)

    def _mixed(self, H: Any, G: Any) -> Any:
        return H if G is None else (1 - self.relative) * H + self.relative * G

    def _sum(self, parts: Any) -> Any:
        return array_namespace(parts).sum(parts, axis=0)


def _by_fold(
    summed: Any, fits: FoldSums, bandwidths: np.ndarray, numbers: Any, keys: np.ndarray
) -> tuple[np.ndarray, Any]:
    """Return the sizes of the folds of a block, and sums of each."""
    xp = array_namespace(numbers)
    sizes, rows = _in_order_of_folds(xp, numbers, keys, fits.n_folds)
    ends = np.cumsum(sizes)
    parts = [
        summed(rows[end - size : end, :], fits.centres, bandwidths)
        for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
    ]
    return sizes, (np.array(parts) if xp is np else xp.stack(parts))


def _in_order_of_folds(xp: Any, numbers: Any, keys: Any, n_folds: int) -> tuple[np.ndarray, Any]:
    """Return the sizes of the folds, and the rows of each together, where they are."""
    if xp is np:
        fold = (keys * n_folds).astype(np.uint8 if n_folds < 256 else np.intp)
        # rows of a complete sample lie in the order of their folds; bytes are sorted in one pass
        order = None if (fold[1:] >= fold[:-1]).all() else np.argsort(fold, kind="stable")
        return np.bincount(fold, minlength=n_folds), numbers if order is None else numbers[order]
    fold = xp.astype(xp.asarray(keys, device=numbers.device) * n_folds, xp.int64)
    sizes = np.array([int(xp.count_nonzero(fold == number)) for number in range(n_folds)])
    return sizes, xp.take(numbers, xp.argsort(fold, stable=True), axis=0)


def without_itself(sums: np.ndarray, n_target: int) -> np.ndarray:
    """Return what to add where a centre meets its own row, whose kernel is 1 and says nothing."""
    return (sums - 1) / (n_target - 1) - 1
