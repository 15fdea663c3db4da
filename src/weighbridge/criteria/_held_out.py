"""What a stack of candidates needs to know of their held-out errors, from sums alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weighbridge._namespace import array_namespace
from weighbridge.blocks import Block, CentredTable, used_part
from weighbridge.criteria._rows import SourceRows
from weighbridge.search import Difference

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutErrors:
    """Held-out errors of linear candidates: their products, and the gain of an average.

    No prediction is kept: products come from the validation moments, and the standard error of a
    gain from one pass over the rows.

    Parameters
    ----------
    rows : SourceRows
        The source rows, in blocks.
    table : CentredTable
        Features, ones and labels.
    fold : ndarray
        Number of the fold of each row of the table; negative for rows that do not count.
    errors : ndarray of shape (folds, candidates, size)
        Coefficients of the prediction minus the label.
    validation : ndarray of shape (folds, size, size)
        Moments of the rows of each fold under their validation weights.
    """

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


def _moved(xp: Any, device: Any, array: npt.NDArray[Any]) -> Any:
    return xp.asarray(np.ascontiguousarray(array), device=device)
