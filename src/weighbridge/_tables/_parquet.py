"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weighbridge._problem import Problem, shown_file
from weighbridge._tables._bytes import hash_file
from weighbridge._tables._csv import header_problem
from weighbridge._tables._frames import typed_columns
from weighbridge.exceptions import InputError

STEP = 50_000
# The name under which pandas stores row labels that have none.
INDEX = "__index_level_"


class ParquetSource:
    """A Parquet file, read some rows at a time."""

    typed = True

    def __init__(self, path: str):
        self.path = path
        self.sha256 = hash_file(path)
        self.share_read = 0.0
        self._name = shown_file(path)
        file = self._open()
        self.names = ["" if n.startswith(INDEX) else n for n in file.schema_arrow.names]
        self.n_rows = file.metadata.num_rows
        file.close()
        problem = header_problem(self._name, self.names)
        if problem is not None:
            raise InputError([problem])

    def blocks(self) -> Iterator[list[np.ndarray]]:
        """Yield the columns of some rows at a time, as float64 or as text."""
        import narwhals as nw
        import pyarrow as pa

        done = 0
        with self._open() as file:
            batches = file.iter_batches(batch_size=STEP, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError):
                    raise InputError([self._damaged()]) from None
                if batch is None:
                    return
                frame = nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
                columns = typed_columns(frame, self._name)
                done += batch.num_rows
                self.share_read = done / max(self.n_rows, 1)
                if batch.num_rows:
                    yield columns

    def place(self, row: int) -> str:
        """Return where a row is; a file without lines has rows, counted from 0."""
        return f"row {row:,}"

    def _open(self) -> Any:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ModuleNotFoundError:
            raise InputError(
                [
                    Problem(
                        "WB124",
                        f"{self._name} is a Parquet file, and no reader for those is installed.",
                        (),
                        'pip install "weighbridge[parquet]", or save it as CSV',
                        "usage",
                    )
                ]
            ) from None
        try:
            return pq.ParquetFile(self.path)
        except (pa.ArrowException, OSError):
            raise InputError([self._damaged()]) from None

    def _damaged(self) -> Problem:
        return Problem(
            "WB123", f"{self._name} is a damaged Parquet file.", (), "write or copy it again"
        )
