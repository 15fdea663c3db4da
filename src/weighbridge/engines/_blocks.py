"""The values of a new column, block by block, and samples of an exact size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from weighbridge.exceptions import BlockError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Rows from which dask, Ray and Spark derive the type of a new column.
HEAD_ROWS = 100
NO_ROWS = "The table has no rows. Check its query, or whether it was read before."


@dataclass
class NewColumn:
    """A column that a function computes; its first values determine its type."""

    name: str
    function: Callable[[pd.DataFrame], ArrayLike]
    type: pa.DataType | None = None

    def append_to(self, block: pa.Table | pa.RecordBatch, place: str) -> pa.Table | pa.RecordBatch:
        """Return an Arrow table or record batch with the column."""
        return block.append_column(self.name, self.values(to_frame(block), place))

    def values(self, frame: pd.DataFrame, place: str) -> pa.Array:
        """Return one value for each row, or raise BlockError with the place and the cause."""
        import pyarrow as pa

        if self.name in frame:
            raise ValueError(f"Got name={self.name!r}, which is a column already. Choose another.")
        if len(frame) == 0:
            if self.type is None:
                raise ValueError(NO_ROWS)
            return pa.array([], self.type)
        with naming_failures(f"In {place}, the function failed"):
            values = np.asarray(self.function(frame))
            array = pa.array(values, self.type, from_pandas=values.dtype == object)
            if len(array) != len(frame):
                raise ValueError(
                    f"Got {len(array):,} values for {len(frame):,} rows: return one for each."
                )
            self.type = array.type
            return array


def to_frame(block: pa.Table | pa.RecordBatch) -> pd.DataFrame:
    """Return an Arrow table or record batch as a data frame with new row labels."""
    # pandas stores row labels as columns, and its metadata would turn them into labels again.
    names = [name for name in block.schema.names if not name.startswith("__index_level_")]
    return block.select(names).to_pandas(ignore_metadata=True)


def combine(blocks: Iterable[pa.Table]) -> pd.DataFrame:
    """Return the rows of all blocks, or raise BlockError with the block whose types differ."""
    import pyarrow as pa

    rows = pa.table({})
    for number, block in enumerate(blocks):
        with naming_failures(f"Block {number} has other types than the blocks before it"):
            rows = pa.concat_tables([rows, block], promote_options="permissive")
    return to_frame(rows)


@contextmanager
def naming_failures(place: str) -> Iterator[None]:
    """Turn any exception into a BlockError with the place and the cause."""
    try:
        yield
    except BlockError:
        raise
    except Exception as error:  # Engines and functions of users have exceptions of their own.
        raise BlockError(f"{place}: {type(error).__name__}: {str(error).strip()}") from error


def exact_sample(
    draw: Callable[[float, int], pd.DataFrame], n_rows: int, rows: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, int]:
    """Return min(rows, n_rows) rows of a Bernoulli sample, ``draw(fraction, seed)``, and n_rows.

    Given its size, a Bernoulli sample is uniform, and so is a uniform subset of it. Its expected
    size exceeds `rows` by at least six standard deviations.
    """
    size = min(rows, n_rows)
    fraction = (rows + 6 * rows**0.5 + 20) / max(n_rows, 1)
    frame = draw(min(fraction, 1.0), int(rng.integers(2**31)))
    if len(frame) < size:
        raise BlockError(f"{n_rows:,} rows became fewer when read again. Cache the table.")
    return frame.sample(size, random_state=rng).sort_index(ignore_index=True), n_rows
