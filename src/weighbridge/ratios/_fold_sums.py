"""The equations of least squares importance fitting, fold by fold, from sums over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, to_numpy
from weighbridge.ratios._kernel import kernel_grams, kernel_sums
from weighbridge.ratios._least_squares import Eigen, score
from weighbridge.ratios._sample import Sample


@dataclass(frozen=True)
class FoldSums:
    """How kernels are summed up: centres, folds, and the share of the target in the denominator.

    `places` are those of the centres among the first rows of the target: the kernel of a centre at
    its own row is 1, which says nothing.
    """

    centres: Any
    n_folds: int
    relative: float
    places: np.ndarray

    def equations(self, source: Sample, target: Sample, bandwidths: np.ndarray) -> list[Equations]:
        """Return for each bandwidth the equations of all folds, after one pass over the rows."""
        source_sizes, H = source.sum(_ByFold(kernel_grams, self, bandwidths))
        target_sizes, h = target.sum(_ByFold(kernel_sums, self, bandwidths))
        G: Any = None
        if self.relative > 0:
            _, G = target.sum(_ByFold(kernel_grams, self, bandwidths))
        h = to_numpy(h)
        # which fold a centre's row is in is another question for the first rows alone than for all
        own = np.flatnonzero(self.places < target.first.shape[0])
        fold = (target.first_keys[self.places[own]] * self.n_folds).astype(int)
        correction = without_itself(h.sum(axis=0), target.n)
        h[fold, :, own] += correction.T[own]
        sizes = source_sizes, target_sizes
        return [
            Equations(H[:, j, ...], h[:, j], _at(G, j), sizes, self.relative)
            for j in range(len(bandwidths))
        ]


def _at(sums: Any, place: int) -> Any:
    return None if sums is None else sums[:, place, ...]


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


@dataclass(frozen=True)
class _ByFold:
    """Sizes of the folds of a block, and sums of each."""

    summed: Any
    sums: FoldSums
    bandwidths: np.ndarray

    def __call__(self, numbers: Any, keys: np.ndarray) -> tuple[np.ndarray, Any]:
        xp, n_folds = array_namespace(numbers), self.sums.n_folds
        sizes, rows = _in_order_of_folds(xp, numbers, keys, n_folds)
        ends = np.cumsum(sizes)
        parts = [
            self.summed(rows[end - size : end, :], self.sums.centres, self.bandwidths)
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
    """Return what to add where a centre meets its own row, whose kernel is 1 and says nothing.

    In its place comes the mean over the other rows. With the 1 left in, ever narrower kernels look
    ever better, as long as they know their own rows.
    """
    return (sums - 1) / (n_target - 1) - 1
