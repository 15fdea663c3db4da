"""One pass over the rows: moments of a table at knots of the log ratio, for each fold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from weighbridge.blocks import Block, CentredTable, no_alarms, used_part
from weighbridge.search import Difference
from weighbridge.tables import FloatArray, array_namespace, is_foreign, to_numpy

if TYPE_CHECKING:
    from weighbridge.criteria._rows import SourceRows

IntArray = npt.NDArray[np.intp]

# Rows gathered at a time, in the cache.
_PIECE = 4_096
# Products of a few cells, or of rows on a device, are kept up to this many numbers.
_NUMBERS = 4_000_000
_ON_DEVICE = 64_000_000


@dataclass(frozen=True)
class KnotMoments:
    """Moments of a block: at the knots, and under validation weights, both for each fold."""

    table: CentredTable
    knots: FloatArray
    folds: int

    def __call__(self, block: Block) -> tuple[Any, Any]:
        """Return sums of products, on the device of the rows."""
        some = used_part(block, block.beside[2] >= 0)
        if some is None:
            return 0.0, 0.0
        features = self.table.columns(some.table)
        y, log_ratio, fold, validation, *rest = some.beside
        sample_weight = rest[0] if rest else None
        of_rows = self._on_device if is_foreign(features) else self._by_cells
        with no_alarms():
            moments, valued = of_rows(features, y, log_ratio, fold, validation, sample_weight)
        self.table.check(valued, features)
        return moments, valued

    def finish(self, moments: Any, validation: Any) -> tuple[FloatArray, FloatArray]:
        """Return the sums over all blocks in memory, as square matrices."""
        moments, size = to_numpy(moments), self.table.size
        if moments.ndim == 3:  # on a device only one half of a symmetric matrix is made
            whole = np.empty((*moments.shape[:2], size, size))
            left, right = np.triu_indices(size)
            whole[..., left, right] = moments
            whole[..., right, left] = moments
            moments = whole
        return moments, to_numpy(validation)

    def _by_cells(
        self,
        features: FloatArray,
        y: FloatArray,
        log_ratio: FloatArray,
        fold: npt.NDArray[np.int32],
        validation: FloatArray,
        sample_weight: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Visit rows in the order of fold and cell; a cell adds to the two knots at its ends."""
        size, knots = self.table.size, self.knots.size
        cell, above = place(log_ratio, self.knots)
        # small numbers are sorted fastest
        kind = np.uint16 if self.folds * knots < 2**16 else np.int64
        key = (fold * np.int64(knots - 1) + cell).astype(kind)
        order = np.argsort(key, kind="stable")
        group = key[order].astype(np.int64)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        present, ends = group[starts], np.append(starts, order.size)
        lower = present // (knots - 1) * knots + present % (knots - 1)
        moments = np.zeros((self.folds * knots, size, size))
        valued = np.zeros((self.folds, size, size))
        for first, last in _stretches(ends, _NUMBERS // (2 * size**2)):
            rows = order[ends[first] : ends[last]]
            both = np.empty((2 * size, rows.size))
            table = self.table.transposed(features, y, rows, out=both[:size])
            if sample_weight is not None:
                table = table.copy()
                both[:size] *= sample_weight[rows]
            np.multiply(both[:size], above[rows], out=both[size:])
            sums = _cell_products(both, table, ends[first : last + 1] - ends[first])
            top = sums[:, size:]
            moments[lower[first:last]] += sums[:, :size] - top
            moments[lower[first:last] + 1] += top
            _add_by_fold(valued, table, fold[rows], validation[rows])
        return moments.reshape(self.folds, knots, size, size), valued

    def _on_device(
        self,
        features: Any,
        y: FloatArray,
        log_ratio: FloatArray,
        fold: npt.NDArray[np.int32],
        validation: FloatArray,
        sample_weight: FloatArray | None,
    ) -> tuple[Any, Any]:
        """Multiply hat functions with products of columns: two large products of matrices."""
        xp, device = array_namespace(features), features.device
        table = self.table.whole(features, y)
        left, right = (_moved(xp, device, part) for part in np.triu_indices(self.table.size))
        counts = np.ones(fold.size) if sample_weight is None else sample_weight
        vectors = [_moved(xp, device, part) for part in (log_ratio, counts, validation)]
        knots = _moved(xp, device, self.knots)
        moments, valued = [], []
        most = max(1, _ON_DEVICE // (left.shape[0] + self.knots.size))
        for number in range(self.folds):
            at_knots = xp.zeros((self.knots.size, left.shape[0]), dtype=xp.float64, device=device)
            under = xp.zeros((self.table.size,) * 2, dtype=xp.float64, device=device)
            of_fold = np.flatnonzero(fold == number)
            for start in range(0, of_fold.size, most):
                rows = _moved(xp, device, of_fold[start : start + most])
                some = xp.take(table, rows, axis=0)
                s, weight, value = (xp.take(vector, rows, axis=0) for vector in vectors)
                hats = _hats(xp, knots, s) * weight[:, None]
                products = xp.take(some, left, axis=1) * xp.take(some, right, axis=1)
                at_knots = at_knots + xp.matrix_transpose(hats) @ products
                under = under + xp.matrix_transpose(some * value[:, None]) @ some
            moments.append(at_knots)
            valued.append(under)
        return xp.stack(moments), xp.stack(valued)


def _hats(xp: Any, knots: Any, log_ratio: Any) -> Any:
    """Return the share of each row that falls to each knot, on a device; see `place`."""
    last = knots.shape[0] - 2
    cell = xp.clip(xp.searchsorted(knots, log_ratio, side="right") - 1, 0, last)
    lower, upper = xp.take(knots, cell, axis=0), xp.take(knots, cell + 1, axis=0)
    # a ratio of 0 has a knot, and a cell, of its own
    inside = log_ratio > -math.inf
    above = xp.where(inside, (log_ratio - lower) / (upper - lower), xp.zeros_like(log_ratio))
    numbers = xp.arange(knots.shape[0], dtype=cell.dtype, device=knots.device)[None, :]
    top, nothing = above[:, None], xp.zeros_like(above[:, None])
    at_lower = xp.where(cell[:, None] == numbers, 1 - top, nothing)
    return at_lower + xp.where(cell[:, None] + 1 == numbers, top, nothing)


@dataclass(frozen=True)
class FoldMoments:
    """Moments of a block for each fold, under weights of the rows."""

    table: CentredTable
    folds: int

    def __call__(self, block: Block) -> Any:
        """Return sums of products, on the device of the rows."""
        some = used_part(block, block.beside[1] >= 0)
        if some is None:
            return 0.0
        features = self.table.columns(some.table)
        y, fold, weights = some.beside
        of_rows = self._on_device if is_foreign(features) else self._in_pieces
        with no_alarms():
            out = of_rows(features, y, fold, weights)
        self.table.check(out, features)
        return out

    def _in_pieces(self, features: Any, y: Any, fold: Any, weights: Any) -> FloatArray:
        out = np.zeros((self.folds, self.table.size, self.table.size))
        order = np.argsort(fold, kind="stable")
        for start in range(0, order.size, _PIECE):
            rows = order[start : start + _PIECE]
            table = self.table.transposed(features, y, rows)
            _add_by_fold(out, table, fold[rows], weights[rows])
        return out

    def _on_device(self, features: Any, y: Any, fold: Any, weights: Any) -> Any:
        xp, device = array_namespace(features), features.device
        table = self.table.whole(features, y)
        sums = []
        for number in range(self.folds):
            rows = np.flatnonzero(fold == number)
            some = xp.take(table, _moved(xp, device, rows), axis=0)
            counts = _moved(xp, device, weights[rows])[:, None]
            sums.append(xp.matrix_transpose(some * counts) @ some)
        return xp.stack(sums)


def _moved(xp: Any, device: Any, array: npt.NDArray[Any]) -> Any:
    return xp.asarray(np.ascontiguousarray(array), device=device)


def _cell_products(both: FloatArray, table: FloatArray, ends: IntArray) -> FloatArray:
    sums = np.empty((ends.size - 1, len(both), len(table)))
    for number, (start, stop) in enumerate(itertools.pairwise(ends.tolist())):
        np.matmul(both[:, start:stop], table[:, start:stop].T, out=sums[number])
    return sums


def _add_by_fold(
    out: FloatArray, table: FloatArray, fold: npt.NDArray[np.int32], weights: FloatArray
) -> None:
    """Add products of rows that come in the order of their folds."""
    ends = np.searchsorted(fold, np.arange(len(out) + 1)).tolist()
    scaled = table * weights
    for number, (start, stop) in enumerate(itertools.pairwise(ends)):
        if start < stop:
            out[number] += scaled[:, start:stop] @ table[:, start:stop].T


def _stretches(ends: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of whole cells, each of a piece of rows at most, or of one cell."""
    first = 0
    while first < ends.size - 1:
        fitting = int(np.searchsorted(ends, ends[first] + _PIECE, "right")) - 1
        last = max(first + 1, min(fitting, first + most))
        yield first, last
        first = last


def place(log_ratio: FloatArray, knots: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cell between knots that each row lies in, and how far up in it."""
    cell = np.clip(np.searchsorted(knots, log_ratio, side="right") - 1, 0, knots.size - 2)
    if knots[0] > -np.inf:
        return cell, (log_ratio - knots[cell]) / np.diff(knots)[cell]
    # a ratio of 0 has a knot, and a cell, of its own
    above = np.zeros(log_ratio.size)
    rows = log_ratio > -np.inf
    above[rows] = (log_ratio[rows] - knots[cell[rows]]) / np.diff(knots)[cell[rows]]
    return cell, above


@dataclass(frozen=True)
class HeldOutErrors:
    """Held-out errors of linear candidates: their products, and the gain of an average."""

    rows: SourceRows
    table: CentredTable
    fold: npt.NDArray[np.int32]
    errors: FloatArray
    validation: FloatArray

    @property
    def costs(self) -> FloatArray:
        """Weighted mean products of the errors of each pair of candidates."""
        products = self.errors @ self.validation @ self.errors.transpose(0, 2, 1)
        return np.asarray(products.sum(axis=0) / self.rows.unit_weights.sum())

    def gain(self, none: int, shares: FloatArray) -> tuple[float, Difference]:
        """Return the loss of one candidate, and what an average of all gains over it by row."""
        together = np.einsum("k,fks->fs", shares, self.errors)
        pair = np.stack([self.errors[:, none], together], axis=1)
        total = self.rows.unit_weights.sum()
        losses = np.einsum("fks,fst,fkt->k", pair, self.validation, pair) / total
        mean = float(losses[0] - losses[1])
        share = self.rows.unit_weights / total
        n = int((share > 0).sum())
        squares = self.rows.X.sum(
            _SquaredGains(self.table, pair, mean),
            self.rows.beside(self.rows.y.astype(float)),
            self.fold,
            self.rows.beside(share),
        )
        return float(losses[0]), Difference(mean, float(np.sqrt(n / (n - 1) * squares)))


@dataclass(frozen=True)
class _SquaredGains:
    """Sum over a block of the squared share of a row times its gain less the mean gain."""

    table: CentredTable
    pair: FloatArray
    mean: float

    def __call__(self, block: Block) -> float:
        some = used_part(block, block.beside[1] >= 0)
        if some is None:
            return 0.0
        y, fold, share = some.beside
        features = self.table.columns(some.table)
        xp, device = array_namespace(features), features.device
        table = self.table.whole(features, y)
        total = 0.0
        for number, pair in enumerate(self.pair):
            rows = np.flatnonzero(fold == number)
            of_fold = xp.take(table, _moved(xp, device, rows), axis=0)
            errors = of_fold @ xp.asarray(np.ascontiguousarray(pair.T), device=device)
            gain = errors[:, 0] ** 2 - errors[:, 1] ** 2 - self.mean
            total += float(xp.sum((gain * _moved(xp, device, share[rows])) ** 2))
        return total
