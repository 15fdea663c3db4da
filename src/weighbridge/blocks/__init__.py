"""Rows by blocks: tables larger than memory, on one machine, on many, or on a device.

Every algorithm of the library that is a sum over rows runs on them: density ratios, the surface of
a ridge regression, diagnostics of weights.
"""

from weighbridge.blocks._array import from_array
from weighbridge.blocks._as_rows import as_rows, is_blocks
from weighbridge.blocks._dask import from_dask
from weighbridge.blocks._parquet import from_parquet
from weighbridge.blocks._rows import Block, Rows

# isort: split
# for the packages above
from weighbridge.blocks._array import ArrayRows as ArrayRows
from weighbridge.blocks._array import as_numbers as as_numbers
from weighbridge.blocks._columns import ON_BLOCKS as ON_BLOCKS
from weighbridge.blocks._columns import CentredTable as CentredTable
from weighbridge.blocks._columns import Columns as Columns
from weighbridge.blocks._columns import block_columns as block_columns
from weighbridge.blocks._columns import block_steps as block_steps
from weighbridge.blocks._columns import column_scale as column_scale
from weighbridge.blocks._columns import no_alarms as no_alarms
from weighbridge.blocks._columns import typical as typical
from weighbridge.blocks._columns import used_part as used_part
from weighbridge.blocks._dask import DaskRows as DaskRows
from weighbridge.blocks._linear import BlockModel as BlockModel
from weighbridge.blocks._linear import in_memory as in_memory
from weighbridge.blocks._linear import predict_by_blocks as predict_by_blocks
from weighbridge.blocks._local import LocalRows as LocalRows
from weighbridge.blocks._parquet import parquet_batches as parquet_batches
from weighbridge.blocks._parquet import parquet_files as parquet_files
from weighbridge.blocks._parquet import parquet_schema as parquet_schema
from weighbridge.blocks._rows import check_columns as check_columns
from weighbridge.blocks._rows import joined_tables as joined_tables

__all__ = ["Block", "Rows", "as_rows", "from_array", "from_dask", "from_parquet", "is_blocks"]
