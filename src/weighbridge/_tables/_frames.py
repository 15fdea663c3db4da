"""Data frames of any library as tables, and their typed columns."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from weighbridge._findings import Problem, shown
from weighbridge._tables._csv import check_header
from weighbridge._tables._table import Cells, as_objects, as_word
from weighbridge.exceptions import InputError
from weighbridge.tables import is_frame, read_columns

CONTAINERS = (list, dict, tuple, set, np.ndarray)


class FrameSource:
    """A data frame, read as one block."""

    typed = True
    share_read = 1.0

    def __init__(self, data: Any, name: str):
        self.frame = _named_frame(data, name)
        self._name = name
        self.names = list(self.frame.columns)

    @cached_property
    def _columns(self) -> list[np.ndarray]:
        return typed_columns(self.frame, self._name)

    @cached_property
    def sha256(self) -> str:
        """Of the content: the same for the same values, wherever they come from."""
        return _digest(self.names, self._columns)

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns, as float64 or as text, whichever they are."""
        del text
        yield [self._columns[column] for column in columns]

    def place(self, row: int) -> str:
        """Return where a row is; rows of a frame are counted from 0."""
        return f"row {row:,}"


def typed_columns(frame: Any, name: str) -> list[np.ndarray]:
    """Return the columns of a narwhals frame as float64 with NaN or text (object) with None."""
    import narwhals as nw

    nested = [n for n, dtype in frame.schema.items() if dtype.is_nested() or dtype == nw.Binary]
    if nested:
        raise InputError([_nested(name, nested[0], str(frame.schema[nested[0]]))])
    try:
        columns = read_columns(frame.to_native())
    except TypeError as error:
        raise InputError([Problem("WB130", f"{name}: {error}", (), "leave them out")]) from None
    for i, series in enumerate(frame.iter_columns()):
        values = _objects(series)
        are_booleans = bool(values) and all(isinstance(v, bool | np.bool_) for v in values)
        if series.dtype == nw.Boolean or are_booleans:
            truths = (None if v != v else str(bool(v)) for v in columns[i].tolist())
            columns[i] = as_objects(truths, columns[i].size)
        elif series.dtype in (nw.Categorical, nw.Enum):
            # with a missing value among them, pandas writes the level 1 as 1.0
            columns[i] = as_objects(map(as_word, series.to_list()), len(series))
        elif columns[i].dtype == object and any(isinstance(v, CONTAINERS) for v in values):
            raise InputError([_nested(name, series.name, "lists or records")])
    return columns


def _named_frame(data: Any, name: str) -> Any:
    """Return a narwhals frame whose names are text and tell the columns apart."""
    import narwhals as nw

    # pandas allows any name; as text they can be looked for and written
    if nw.dependencies.is_pandas_dataframe(data):
        data = data.set_axis([str(column) for column in data.columns], axis=1)
        check_header(name, list(data.columns))
    if not is_frame(data):
        raise TypeError(
            f"Got {name} of type {type(data).__name__}, but expected a data frame or the path of a "
            "file; arrays have no names to match columns by."
        )
    frame = nw.from_native(data, eager_only=True)
    if not frame.columns:
        raise InputError([Problem("WB119", f"{name} has no columns.", (), "check how it is made")])
    return frame


def _objects(series: Any) -> list[Any]:
    """Return the values that are there of a column that holds objects."""
    import narwhals as nw

    if series.dtype != nw.Object:
        return []
    values = series.to_list()
    return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]


def _nested(name: str, column: str, what: str) -> Problem:
    return Problem(
        "WB130",
        f"{shown(column)} in {name} holds more than one value in a cell ({what}).",
        (),
        "spread it over several columns, or leave it out of the file",
    )


def _digest(names: list[str], columns: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(names).encode())
    for column in columns:
        # an empty column has no type of its own
        if column.dtype == object and any(value is not None for value in column):
            digest.update(json.dumps(column.tolist()).encode())
        else:
            # numbers in one byte order, with one bit pattern for NaN
            values = column.astype("<f8")
            values[np.isnan(values)] = np.nan
            digest.update(values.tobytes())
    return digest.hexdigest()
