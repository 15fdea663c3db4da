"""The values of a new column, block by block, and samples of an exact size."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from weighbridge.exceptions import BlockError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    Block = pa.Table | pa.RecordBatch

# Rows from which dask, Ray and Spark derive the type of a new column.
HEAD_ROWS = 100


@dataclass
class NewColumn:
    """A column that a function computes; its first values determine its type."""

    name: str
    function: Callable[[pd.DataFrame], ArrayLike]
    type: pa.DataType | None = None

    def append_to(self, block: Block, place: str) -> Block:
        """Return an Arrow table or record batch with the column."""
        return block.append_column(self.name, self.values(to_frame(block), place))

    def values(self, frame: pd.DataFrame, place: str) -> pa.Array:
        """Return one value for each row, or raise BlockError with the place and the cause."""
        import pyarrow as pa

        if self.name in frame:
            raise ValueError(f"Got name={self.name!r}, which is a column already. Choose another.")
        if len(frame) == 0:
            return pa.array([], self.type or pa.float64())
        with naming_failures(f"In {place}, the function failed"):
            values = np.asarray(self.function(frame))
            array = pa.array(values, from_pandas=values.dtype == object)
            self.type = self.type or array.type
            if len(array) != len(frame):
                raise ValueError(
                    f"Got {len(array):,} values for {len(frame):,} rows: return one for each."
                )
            if pa.types.is_string(array.type) != pa.types.is_string(self.type):
                raise TypeError(
                    f"Got {array.type}, but {self.type} for the first rows: return one type."
                )
            return array.cast(self.type)


def to_frame(block: Block) -> pd.DataFrame:
    """Return an Arrow table or record batch as a data frame with new row labels."""
    # pandas stores row labels as columns, and its metadata would turn them into labels again.
    names = [name for name in block.schema.names if not name.startswith("__index_level_")]
    return block.select(names).to_pandas(ignore_metadata=True)


@contextmanager
def naming_failures(place: str) -> Iterator[None]:
    """Turn any exception into a BlockError with the place and the cause."""
    try:
        yield
    except BlockError:
        raise
    except Exception as error:  # Engines and functions of users have exceptions of their own.
        if "No module named 'weighbridge" in "".join(traceback.format_exception(error)):
            raise BlockError(f"{place}. Install weighbridge on all workers.") from error
        # Ray and Spark quote the traceback of a worker, in which the cause comes first.
        causes = re.findall(r"^[\w.]+(?:Error|Exception): .+", str(error), re.MULTILINE)
        first_line = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
        raise BlockError(f"{place}: {causes[0] if causes else first_line}") from error


def exact_sample(
    draw: Callable[[float, int], pd.DataFrame], n: int, rows: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return min(rows, n) of n rows from a Bernoulli sample, ``draw(fraction, seed)``.

    Given its size, a Bernoulli sample is uniform, and so is a uniform subset of it. Its expected
    size exceeds `rows` by at least six standard deviations, so that a second draw is rare.
    """
    fraction = (rows + 6 * rows**0.5 + 20) / max(n, 1)
    while len(frame := draw(min(fraction, 1.0), int(rng.integers(2**31)))) < min(rows, n):
        if fraction >= 1:
            raise BlockError(f"Got {len(frame):,} of {n:,} rows. Cache or persist the table.")
        fraction *= 2
    positions = np.sort(rng.choice(len(frame), min(rows, n), replace=False))
    return frame.take(positions).reset_index(drop=True)
