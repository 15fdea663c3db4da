"""Rows by blocks: tables larger than memory, on one machine, on many, or on a device.

Every algorithm of the library that is a sum over rows runs on them: density ratios, the surface of
a ridge regression, diagnostics of weights.
"""

from weighbridge.blocks._columns import (
    ON_BLOCKS,
    CentredTable,
    Columns,
    block_columns,
    block_steps,
    column_scale,
    no_alarms,
    typical,
    used_part,
)
from weighbridge.blocks._dask import DaskRows, from_dask
from weighbridge.blocks._linear import BlockModel, in_memory, predict_by_blocks
from weighbridge.blocks._local import (
    ArrayRows,
    LocalRows,
    as_numbers,
    from_array,
    one_blas_thread,
    one_thread,
    row_blocks,
)
from weighbridge.blocks._rows import Block, Rows, check_columns, joined_tables
from weighbridge.blocks._sources import (
    as_rows,
    from_parquet,
    is_blocks,
    parquet_batches,
    parquet_files,
    parquet_schema,
)

# Public names; the others serve the packages above.
__all__ = ["Block", "Rows", "as_rows", "from_array", "from_dask", "from_parquet", "is_blocks"]
