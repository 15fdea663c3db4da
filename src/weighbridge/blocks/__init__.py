"""Rows in blocks: tables larger than memory, on one machine, on many, or on a device.

Every algorithm of the library that is a sum over rows runs on them: density ratios, the choice of
a weighting for ridge regression, diagnostics of weights.
"""

from weighbridge.blocks._arrow import parquet_batches, parquet_schema
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
from weighbridge.blocks._linear import BlockModel, predict_by_blocks
from weighbridge.blocks._local import (
    ArrayRows,
    LocalRows,
    as_numbers,
    from_array,
)
from weighbridge.blocks._rows import Block, Rows, check_columns, in_memory
from weighbridge.blocks._sources import (
    as_rows,
    from_batches,
    from_duckdb,
    from_ibis,
    from_parquet,
    from_polars,
    from_ray,
    is_blocks,
    parquet_files,
)
from weighbridge.blocks._spark import from_spark

# Public names; the others serve the packages above.
__all__ = [
    "Block",
    "Rows",
    "as_rows",
    "from_array",
    "from_batches",
    "from_dask",
    "from_duckdb",
    "from_ibis",
    "from_parquet",
    "from_polars",
    "from_ray",
    "from_spark",
    "is_blocks",
]
