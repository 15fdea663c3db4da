"""Streams of Arrow batches: Parquet, datasets, readers, tables, DuckDB, Ibis and polars."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from weighbridge.engines._blocks import NewColumn, exact_sample, naming_failures, to_frame

BLOCK_ROWS = 2**16
READ: WeakSet[pa.RecordBatchReader] = WeakSet()
SCAN = {"batch_size": BLOCK_ROWS, "batch_readahead": 2, "fragment_readahead": 1}


def count_rows(table: Any) -> int:
    if hasattr(table, "collect_schema"):
        import polars as pl

        return table.select(pl.len()).collect(engine="streaming").item()
    if hasattr(table, "to_pyarrow_batches"):
        return table.count().execute()
    return table.count_rows() if isinstance(table, ds.Dataset) else len(table)


def with_value(table: Any, name: str) -> Any:
    """Return the rows that have a value in a column."""
    if hasattr(table, "collect_schema"):  # polars
        import polars as pl

        return table.filter(pl.col(name).is_not_null())
    if hasattr(table, "to_pyarrow_batches"):  # Ibis
        return table.filter(table[name].notnull())
    if isinstance(table, ds.Dataset | pa.Table):
        return table.filter(~ds.field(name).is_null(nan_is_null=True))
    quoted = name.replace('"', '""')
    return table.filter(f'"{quoted}" IS NOT NULL')  # DuckDB


def sample(table: Any, rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """Give each row a random key; return the rows with the smallest keys, and how many came."""
    if hasattr(table, "to_pyarrow_batches"):  # The backend of Ibis may be remote, so it draws.

        def draw(fraction: float, _: int) -> pd.DataFrame:
            return to_frame((table if fraction == 1 else table.sample(fraction)).to_pyarrow())

        n_rows = count_rows(table)
        return exact_sample(draw, n_rows, rows, rng), n_rows
    chosen, keys, bound, n_rows = [], np.empty(0), 1.0, 0
    for _, batch in _batches(table):
        n_rows += batch.num_rows
        new_keys = rng.random(batch.num_rows)
        candidates = np.flatnonzero(new_keys < bound)
        chosen.append(batch.take(pa.array(candidates)))
        keys = np.append(keys, new_keys[candidates])
        if keys.size > 2 * rows:
            smallest = np.sort(np.argpartition(keys, rows)[:rows])
            keys, bound = keys[smallest], keys[smallest].max()
            chosen = pa.Table.from_batches(chosen).take(smallest).combine_chunks().to_batches()
    smallest = np.sort(np.argsort(keys)[:rows])
    return to_frame(pa.Table.from_batches(chosen).take(smallest)), n_rows


def with_column(table: Any, column: NewColumn) -> pa.RecordBatchReader:
    batches = (column.append_to(batch, place) for place, batch in _batches(table))
    first = next(batches)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def open_parquet(path: Path) -> ds.Dataset:
    """Return a file or folder as a dataset, or raise BlockError unless its files are alike."""
    with naming_failures(f"{path.name} could not be opened as Parquet"):
        # A buffer would hold whole row groups.
        options = ds.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=options)
        hive = "hive" if path.is_dir() else None
        dataset = ds.dataset(str(path), format=parquet, partitioning=hive)
        if not dataset.files:
            raise FileNotFoundError("The folder has no .parquet files.")
        first, *others = dataset.get_fragments()
    schema, names = dataset.schema, first.physical_schema.names
    for file in others:
        with naming_failures(f"{_name(file)} and {_name(first)} must have the same columns"):
            if difference := set(file.physical_schema.names) ^ set(names):
                raise ValueError(f"Only one of them has {sorted(difference)}.")
            schema = pa.unify_schemas([schema, file.physical_schema], promote_options="permissive")
    return ds.FileSystemDataset([first, *others], schema, parquet, dataset.filesystem)


def _batches(table: Any) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the place and the rows of each batch; a table without rows is one empty batch."""
    files, options, row = [table], {}, 0
    with suppress(AttributeError, ValueError):  # Only a dataset without a filter has fragments.
        files, options = list(table.get_fragments()), {"schema": table.schema}
    for file in files:
        place = f" of {_name(file)}" if hasattr(file, "path") else ""
        with naming_failures(f"The rows{place} could not be read"), _open(file, options) as reader:
            schema = reader.schema
            for number, batch in enumerate(reader):
                if batch.num_rows:
                    yield f"batch {number}{place} (from row {row:,} of the table)", batch
                row += batch.num_rows
    if row == 0:
        yield "the first rows", pa.RecordBatch.from_pylist([], schema)


def _open(table: Any, options: dict[str, Any]) -> pa.RecordBatchReader:
    """Return a reader of a table, or of a file of a dataset."""
    if hasattr(table, "collect_schema"):  # polars
        schema = table.clear().collect().to_arrow().schema
        frames = table.collect_batches(chunk_size=BLOCK_ROWS, engine="streaming")
        batches = (batch for frame in frames for batch in frame.to_arrow().to_batches())
        return pa.RecordBatchReader.from_batches(schema, batches)
    if hasattr(table, "to_pyarrow_batches"):  # Ibis
        return table.to_pyarrow_batches(chunk_size=BLOCK_ROWS)
    if hasattr(table, "to_arrow_reader"):  # DuckDB since 1.4
        return table.to_arrow_reader(BLOCK_ROWS)
    if hasattr(table, "fetch_arrow_reader"):
        return table.fetch_arrow_reader(BLOCK_ROWS)
    if hasattr(table, "scanner"):
        return table.scanner(**SCAN, **options).to_reader()
    if isinstance(table, pa.Table):
        return table.to_reader(BLOCK_ROWS)
    if table in READ:
        raise ValueError("The reader has been read before, and can be read only once.")
    READ.add(table)
    return table


def _name(file: Any) -> str:
    return "/".join(Path(file.path).parts[-2:])
