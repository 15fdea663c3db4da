"""Tables from data frames in memory, of any library."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weighbridge._problem import Problem, shown
from weighbridge._tables._cells import as_word
from weighbridge._tables._csv import header_problem
from weighbridge._validation import is_frame
from weighbridge.exceptions import InputError


class FrameSource:
    """A data frame, read as one block."""

    typed = True
    share_read = 1.0

    def __init__(self, data: Any, name: str):
        self._frame = named_frame(data, name)
        self._name = name
        self.names = list(self._frame.columns)
        self.sha256 = ""

    def blocks(self) -> Iterator[list[np.ndarray]]:
        """Yield the columns, as float64 or as text."""
        columns = typed_columns(self._frame, self._name)
        self.sha256 = _digest(self.names, columns)
        if len(columns[0]):
            yield columns

    def place(self, row: int) -> str:
        """Return where a row is; rows of a frame are counted from 0."""
        return f"row {row:,}"


def typed_columns(frame: Any, name: str) -> list[np.ndarray]:
    """Return the columns of a narwhals frame as float64 with NaN or text (object) with None."""
    import narwhals as nw

    # the package of ratios brings in scikit-learn, for which a wrong file name should not wait
    from weighbridge.ratios._columns import read_columns

    nested = [n for n, dtype in frame.schema.items() if dtype.is_nested() or dtype == nw.Binary]
    if nested:
        raise InputError([_nested(name, nested[0], str(frame.schema[nested[0]]))])
    try:
        columns = read_columns(frame.to_native())
    except TypeError as error:
        raise InputError([Problem("WB130", f"{name}: {error}", (), "leave them out")]) from None
    for i, series in enumerate(frame.iter_columns()):
        if series.dtype == nw.Boolean or _holds_booleans(series):
            columns[i] = _texts(None if v != v else str(bool(v)) for v in columns[i].tolist())
        elif series.dtype in (nw.Categorical, nw.Enum):
            # with a missing value among them, pandas writes the level 1 as 1.0
            columns[i] = _texts(as_word(value) for value in series.to_list())
        elif columns[i].dtype == object and _holds_containers(series):
            raise InputError([_nested(name, series.name, "lists or records")])
    return columns


def named_frame(data: Any, name: str) -> Any:
    """Return a narwhals frame whose names are text and tell the columns apart."""
    import narwhals as nw

    # pandas allows any name; as text they can be looked for and written
    if nw.dependencies.is_pandas_dataframe(data):
        data = data.set_axis([str(column) for column in data.columns], axis=1)
        problem = header_problem(name, list(data.columns))
        if problem is not None:
            raise InputError([problem])
    if not is_frame(data):
        raise TypeError(
            f"Got {name} of type {type(data).__name__}, but expected a data frame or the path of a "
            "file; arrays have no names to match columns by."
        )
    frame = nw.from_native(data, eager_only=True)
    if not frame.columns:
        raise InputError([Problem("WB119", f"{name} has no columns.", (), "check how it is made")])
    return frame


def _holds_booleans(series: Any) -> bool:
    import narwhals as nw

    if series.dtype != nw.Object:
        return False
    present = [value for value in series.to_list() if value is not None and value == value]
    return bool(present) and all(isinstance(value, bool | np.bool_) for value in present)


def _holds_containers(series: Any) -> bool:
    import narwhals as nw

    if series.dtype != nw.Object:
        return False
    return any(isinstance(v, list | dict | tuple | set | np.ndarray) for v in series.to_list())


def _texts(words: Iterable[str | None]) -> np.ndarray:
    listed = list(words)
    texts = np.empty(len(listed), dtype=object)
    texts[:] = listed
    return texts


def _nested(name: str, column: str, what: str) -> Problem:
    return Problem(
        "WB130",
        f"{shown(column)} in {name} holds more than one value in a cell ({what}).",
        (),
        "spread it over several columns, or leave it out of the file",
    )


def _digest(names: list[str], columns: list[np.ndarray]) -> str:
    """Return the sha256 of a content: the same for the same values, wherever they come from."""
    digest = hashlib.sha256(json.dumps(names).encode())
    for column in columns:
        # an empty column has no type of its own
        if column.dtype == object and any(value is not None for value in column):
            digest.update(json.dumps(column.tolist()).encode())
        else:
            digest.update(_numbers(column).tobytes())
    return digest.hexdigest()


def _numbers(column: np.ndarray) -> np.ndarray:
    """Return numbers in one byte order, with one bit pattern for NaN."""
    values = column.astype("<f8")
    values[np.isnan(values)] = np.nan
    return values
