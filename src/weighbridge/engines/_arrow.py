"""Streams of Arrow batches: datasets, readers, tables, DuckDB, polars and Ibis."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from weighbridge.engines._blocks import NO_ROWS, NewColumn, exact_sample, naming_failures, to_frame

BLOCK_ROWS = 2**16
# More batches ahead of the one in use would take more memory.
SCAN = {"batch_size": BLOCK_ROWS, "batch_readahead": 2, "fragment_readahead": 1}


def sample(table: Any, rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """Give each row a random key; return the rows with the smallest keys, and how many came."""
    if hasattr(table, "to_pyarrow_batches"):  # The backend of Ibis may be remote, so it draws.
        n_rows = table.count().to_pyarrow().as_py()
        return exact_sample(lambda p, _: to_frame(table.sample(p).to_pyarrow()), n_rows, rows, rng)
    chosen, keys, bound, n_rows = [], np.empty(0), 1.0, 0
    for _, batch in _batches(table):
        n_rows += batch.num_rows
        new_keys = rng.random(batch.num_rows)
        chosen.append(batch.filter(pa.array(new_keys < bound)))
        keys = np.append(keys, new_keys[new_keys < bound])
        if keys.size > 2 * rows:
            smallest = np.sort(np.argpartition(keys, rows)[:rows])
            keys, bound = keys[smallest], keys[smallest].max()
            chosen = pa.Table.from_batches(chosen).take(smallest).to_batches()
    if n_rows == 0:
        return pd.DataFrame(), 0
    smallest = np.sort(np.argsort(keys)[:rows])
    return to_frame(pa.Table.from_batches(chosen).take(smallest)), n_rows


def with_column(table: Any, column: NewColumn) -> pa.RecordBatchReader:
    batches = ((place, batch) for place, batch in _batches(table) if batch.num_rows)
    blocks = (column.append_to(batch, place) for place, batch in batches)
    if (first := next(blocks, None)) is None:
        raise ValueError(NO_ROWS)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], blocks))


def _batches(table: Any) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the place and the rows of each batch."""
    files, options, row = [table], {}, 0
    with suppress(AttributeError, ValueError):  # Only a dataset without a filter has fragments.
        files, options = list(table.get_fragments()), {"schema": table.schema}
    for file in files:
        place = f" of {file.path}" if hasattr(file, "path") else ""
        with naming_failures(f"The rows{place} could not be read"):
            for batch in _open(file, options):
                yield f"the batch{place} that starts at row {row:,} of the table", batch
                row += batch.num_rows


def _open(table: Any, options: dict[str, Any]) -> Iterable[pa.RecordBatch]:
    if hasattr(table, "collect_schema") and not hasattr(table, "collect_batches"):
        return table.collect().to_arrow().to_batches(BLOCK_ROWS)  # polars before 1.34
    if hasattr(table, "collect_schema"):  # polars
        frames = table.collect_batches(chunk_size=BLOCK_ROWS, engine="streaming")
        return (batch for frame in frames for batch in frame.to_arrow().to_batches())
    if hasattr(table, "to_pyarrow_batches"):  # Ibis
        return table.to_pyarrow_batches(chunk_size=BLOCK_ROWS)
    if hasattr(table, "to_arrow_reader"):  # DuckDB
        return table.to_arrow_reader(BLOCK_ROWS)
    if isinstance(table, pa.Table):
        return table.to_batches(BLOCK_ROWS)
    return table.to_batches(**SCAN, **options) if hasattr(table, "to_batches") else table
