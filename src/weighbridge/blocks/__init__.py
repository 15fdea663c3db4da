"""Rows by blocks: tables larger than memory, on one machine, on many, or on a device.

Every algorithm of the library that is a sum over rows runs on them: density ratios, the surface of
a ridge regression, diagnostics of weights.
"""

from weighbridge.blocks._array import from_array
from weighbridge.blocks._as_rows import as_rows, is_blocks
from weighbridge.blocks._dask import from_dask
from weighbridge.blocks._parquet import from_parquet
from weighbridge.blocks._rows import Block, Rows

__all__ = ["Block", "Rows", "as_rows", "from_array", "from_dask", "from_parquet", "is_blocks"]
