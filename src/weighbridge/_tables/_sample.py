"""A simple random sample of the rows of a table whose length is not known before its end."""

from __future__ import annotations

import numpy as np

Block = tuple[np.ndarray, np.ndarray, list[np.ndarray]]


class RowPool:
    """Rows of columns, collected block by block; with `max_rows`, a simple random sample of them.

    Every row draws a number, and the rows with the smallest `max_rows` numbers stay: each set of
    rows is equally likely, and which it is depends on the seed and not on the blocks.
    """

    def __init__(self, max_rows: int | None, seed: int):
        self.rows = 0
        self._max_rows = max_rows
        self._rng = np.random.default_rng(seed)
        self._bound = np.inf
        # positions, drawn numbers and columns of the rows that may stay
        self._blocks: list[Block] = []
        self._held = 0

    def add(self, columns: list[np.ndarray]) -> None:
        """Take the next rows of the table."""
        n = len(columns[0])
        positions = np.arange(self.rows, self.rows + n)
        self.rows += n
        if self._max_rows is None:
            self._blocks.append((positions, positions, columns))
            return
        drawn = self._rng.random(n)
        kept = drawn < self._bound
        self._blocks.append(_rows((positions, drawn, columns), kept))
        self._held += int(kept.sum())
        if self._held > 2 * self._max_rows + n:
            self._prune(self._max_rows)

    def finish(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the positions of the rows held, in order, and their columns."""
        if self._max_rows is not None:
            self._prune(self._max_rows)
        positions, _, columns = _joined(self._blocks)
        self._blocks = []
        return positions, columns

    def _prune(self, max_rows: int) -> None:
        block = _joined(self._blocks)
        drawn = block[1]
        if drawn.size > max_rows:
            self._bound = float(np.partition(drawn, max_rows)[max_rows])
            block = _rows(block, drawn < self._bound)
        self._blocks = [block]
        self._held = block[1].size


def _rows(block: Block, kept: np.ndarray) -> Block:
    positions, drawn, columns = block
    return positions[kept], drawn[kept], [column[kept] for column in columns]


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    positions, drawn, columns = zip(*blocks, strict=True)
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return np.concatenate(positions), np.concatenate(drawn), joined
