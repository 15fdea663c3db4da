"""A number in [0, 1) for each row, as good as random and made from what the row holds.

Whoever deals rows into folds, or draws some of them, by such numbers gets the same answer for a
table in another row order, in other units or in other blocks, and need not have it in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace

# Values of a column count as equal within this share of its range.
_RESOLUTION = 2.0**-30
_BITS = 53
# Rows that lie outside of the range count as no further away than so many steps.
_FAR = 2.0**40
_STEP, _FIRST, _SECOND = (
    constant - 2**64 for constant in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class RowKeys:
    """Keys of rows from their content.

    Parameters
    ----------
    low, high : ndarray of shape (n_columns,)
        Smallest and largest value of each column, in all rows of both samples.
    seed : int
        Another seed gives other keys.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, seed: int):
        width = high / 2 - low / 2  # no overflow
        varies = width > 0
        self.low = np.where(varies, np.nan_to_num(low), 0.0)
        # a constant column says nothing, whatever its value
        self.width = np.where(varies, width, np.inf)
        self.seed = seed

    def __call__(self, numbers: Any, *codes: np.ndarray) -> Any:
        """Return the keys of rows of numbers (NaN where missing) and of codes of texts."""
        xp = array_namespace(numbers)
        low, width = self.low, self.width
        if xp is not np:
            low, width = (xp.asarray(part, device=numbers.device) for part in (low, width))
        steps = (numbers / 2 - low / 2) / width / _RESOLUTION
        if xp is np:
            steps[np.isnan(steps)] = 2 / _RESOLUTION
            np.clip(steps, -_FAR, _FAR, out=steps)
            np.rint(steps, out=steps)
        else:
            steps = xp.round(xp.clip(steps, -_FAR, _FAR))
        total = xp.sum(_curved(xp.astype(steps, xp.int64)), axis=1)
        for code in codes:
            total = total + _curved(np.nan_to_num(code, nan=-1.0).astype(np.int64))
        return unit(total + _wrapped(self.seed * _STEP))


def position_keys(positions: np.ndarray, seed: int) -> np.ndarray:
    """Return keys that come from the numbers of the rows, where many rows are the same."""
    return np.asarray(unit(positions.astype(np.int64) + _wrapped(seed * _STEP)))


def unit(numbers: Any) -> Any:
    """Turn whole numbers of 64 bits into numbers in [0, 1) that look like random ones."""
    xp = array_namespace(numbers)
    return xp.astype(_shifted(_mixed(numbers), 64 - _BITS), xp.float64) * 2.0**-_BITS


def _mixed(numbers: Any) -> Any:
    """Scramble 64 bits (splitmix64); products wrap around."""
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Any, bits: int) -> Any:
    """Shift to the right; zeros come in, as for numbers without a sign."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)


def _curved(places: Any) -> Any:
    """Return a polynomial of whole numbers, modulo 2^64.

    Sums of it tell rows apart, and do not depend on the order of the columns, which named columns
    need not share with others.
    """
    return places * (places * _FIRST + _SECOND)


def _wrapped(number: int) -> int:
    """Return a whole number as the signed one of 64 bits that is equal to it modulo 2^64."""
    return (number + 2**63) % 2**64 - 2**63
