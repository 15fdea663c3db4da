"""Tables of any kind: arrays of every library, sparse matrices, data frames; columns and rows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d, indexable

from weighbridge._arrays import array_namespace, is_foreign, to_numpy, unmasked
from weighbridge.tables._checks import check_sample_weight

# Microseconds of a day: dates and durations are counted in days.
DAY = 86_400e6


def is_frame(X: Any) -> bool:
    """True for a data frame with named columns, of any library that narwhals knows."""
    if isinstance(X, np.ndarray | list | tuple):
        return False
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("Got a polars LazyFrame, whose rows are not computed yet; call .collect().")
    if not nw.dependencies.is_into_dataframe(X):
        return False
    try:
        names = nw.from_native(X, eager_only=True).columns
    except nw.exceptions.DuplicateError:
        raise ValueError(
            f"Got a data frame with repeated column names: {sorted(map(str, X.columns))}; rename "
            "them, so that columns can be matched by name."
        ) from None
    return all(isinstance(name, str) for name in names)


def read_columns(X: Any, is_text: list[bool] | None = None) -> list[np.ndarray]:
    """Return the columns of a table: float64 with NaN, or text (dtype object) with None."""
    if is_frame(X):
        columns = _frame_columns(X, is_text)
    else:
        array = to_numpy(X)
        known = [False] * array.shape[1] if is_text is None else is_text
        columns = [_typed(c, text) for c, text in zip(array.T, known, strict=True)]
        if is_text is None:  # an array has no types of columns: text that is a number is one
            return [column if column.dtype != object else _parsed(column) for column in columns]
    if is_text is None:
        return columns
    return [
        _as_text(column) if text else _as_numbers(column, label)
        for column, text, label in zip(columns, is_text, column_labels(X), strict=True)
    ]


def numbers_as_text(X: Any) -> dict[str, np.ndarray]:
    """Return the columns of text in which every value is a number, as numbers, by their labels."""
    if sp.issparse(X) or is_numeric_array(X):
        return {}
    columns = _frame_columns(X, None) if is_frame(X) else list(map(_typed, to_numpy(X).T))
    labelled = zip(column_labels(X), columns, strict=True)
    texts = {label: _parsed(column) for label, column in labelled if column.dtype == object}
    return {label: parsed for label, parsed in texts.items() if parsed.dtype != object}


def column_labels(X: Any) -> list[str]:
    """Return what identifies each column: its name as text, or its position in an array."""
    if is_frame(X):
        import narwhals as nw

        return list(nw.from_native(X, eager_only=True).columns)
    # a frame whose names are numbers is read as an array, and yet its columns have these names
    names = getattr(X, "columns", range(X.shape[1]))
    return [str(name) for name in names]


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table (a slice or positions), in its own container."""
    if is_foreign(X):
        if isinstance(rows, slice):
            return X[slice(*rows.indices(X.shape[0])), :]
        xp = array_namespace(X)
        return xp.take(X, xp.asarray(rows, device=X.device), axis=0)
    if not is_frame(X):
        return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    return (frame[rows] if isinstance(rows, slice) else frame[rows, :]).to_native()


def joined_tables(parts: list[Any]) -> Any:
    """Put tables on top of each other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if is_foreign(parts[0]):
        return array_namespace(*parts).concat(parts)
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    import narwhals as nw

    return nw.concat([nw.from_native(part) for part in parts]).to_native()


def is_numeric_array(X: Any) -> bool:
    """True for a dense array of numbers, which needs no look at single columns."""
    return not sp.issparse(X) and not is_frame(X) and np.asarray(X).dtype.kind in "biuf"


def distinct_values(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values of a text column, and for each row the place of its own."""
    values = column.tolist()
    place = {value: number for number, value in enumerate(dict.fromkeys(values))}
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return distinct, np.fromiter(map(place.__getitem__, values), np.intp, len(values))


def _frame_columns(X: Any, is_text: list[bool] | None) -> list[np.ndarray]:
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(X) and all(
        isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in X.dtypes
    ):
        return list(X.to_numpy(dtype=np.float64).T)  # hundreds of columns at the price of one
    columns = []
    for place, series in enumerate(nw.from_native(X, eager_only=True).iter_columns()):
        text = _plain_text(series.to_native()) if _holds_objects(series) else None
        if text is not None:  # most columns of objects, at a tenth of the price
            columns.append(text)
        elif series.dtype.is_numeric() or series.dtype == nw.Boolean:
            columns.append(_floats(series.cast(nw.Float64)))
        elif series.dtype in (nw.Datetime, nw.Date):
            columns.append(_floats(series.dt.timestamp("us").cast(nw.Float64)) / DAY)
        elif series.dtype == nw.Duration:
            columns.append(_floats(series.dt.total_microseconds().cast(nw.Float64)) / DAY)
        elif series.dtype in (nw.Object, nw.Unknown):
            columns.append(_typed(series.to_numpy(), is_text is not None and is_text[place]))
        elif series.dtype == nw.String and not _holds_objects(series):
            columns.append(_as_text(series.to_numpy()))
        else:
            # some versions of pandas turn a missing value into the text "None"
            text = _as_text(series.cast(nw.String).to_numpy())
            text[series.is_null().to_numpy()] = None
            columns.append(text)
    return columns


def _holds_objects(series: Any) -> bool:
    """True for a column of Python objects, of which narwhals looks at the first few alone."""
    kind = getattr(series.to_native(), "dtype", None)
    return isinstance(kind, np.dtype) and kind.kind == "O"


def _plain_text(column: Any) -> np.ndarray | None:
    """Return a column of objects that are text or None, and some text; else None."""
    objects = column.to_numpy()
    kinds = set(map(type, objects.tolist()))
    return objects.copy() if str in kinds <= {str, type(None)} else None


def _floats(series: Any) -> np.ndarray:
    """Return a float column with NaN where a value is missing."""
    values = series.to_numpy()
    if values.dtype == object:  # a library's own sign for a missing value
        missing = series.is_null().to_numpy()
        values = np.where(missing, np.nan, values)
    return values.astype(np.float64)


def _typed(column: np.ndarray, is_text: bool = False) -> np.ndarray:
    """Return Python objects as numbers, or as text where they are known to be text."""
    if is_text and column.dtype.kind == "O":
        return _as_text(column)
    if column.dtype.kind == "c":
        raise TypeError(
            "Got complex numbers; pass real and imaginary parts, or size and angle, as two columns."
        )
    if column.dtype.kind in "biuf":
        return column.astype(np.float64, copy=False)
    if column.dtype.kind in "mM":
        return _from_dates(column)
    numbers = Real | Decimal | np.bool_
    if column.dtype.kind == "O" and all(isinstance(v, numbers) or _is_missing(v) for v in column):
        return np.array([np.nan if _is_missing(value) else float(value) for value in column])
    if column.dtype.kind == "O" and all(isinstance(v, date) or _is_missing(v) for v in column):
        dates = [None if _is_missing(value) else value for value in column]
        return _from_dates(np.array(dates, dtype="datetime64[us]"))
    return _as_text(column)


def _from_dates(column: np.ndarray) -> np.ndarray:
    """Return dates or durations as days, whatever their unit."""
    column = column.astype(f"{column.dtype.kind}8[us]")
    days = column.astype(np.int64).astype(np.float64) / DAY
    return np.where(np.isnat(column), np.nan, days)


def _as_text(column: np.ndarray) -> np.ndarray:
    """Return text with None for a missing value."""
    text = np.empty(column.size, dtype=object)
    text[:] = [
        # nearly every value, told apart without a call
        value if type(value) is str else None if _is_missing(value) else _written(value)
        for value in column.tolist()
    ]
    return text


def _written(value: Any) -> str:
    """Return a value as text; a whole number has no decimals, whatever its type."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_missing(value: Any) -> bool:
    """True for None, NaN, and the signs of other libraries (which compare with nothing)."""
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def as_labels(y: Any) -> np.ndarray:
    """Return labels as an array; a list of numbers and text is not turned into text."""
    array = to_numpy(y)
    if array.dtype.kind in "US" and not hasattr(y, "dtype"):
        array = np.asarray(y, dtype=object)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array


def is_continuous(labels: np.ndarray) -> bool:
    """True for numbers with decimals."""
    return labels.dtype.kind == "f" and bool(np.any(labels != np.rint(labels)))


def refuse_missing(y: Any) -> None:
    """Refuse labels that are not there."""
    values = to_numpy(y).ravel().tolist()
    missing = sum(map(_is_missing, values))
    if missing:
        raise ValueError(
            f"Got y with missing values in {missing} of {len(values)} rows; leave these rows out."
        )


def check_labelled(
    X: Any, y: ArrayLike, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return rows, labels and weights; raise ValueError unless each row has one label."""
    X = unmasked(np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0])
    labels = column_or_1d(unmasked(y, "y"), warn=True)
    check_consistent_length(X, labels)
    refuse_missing(labels)
    assert_all_finite(labels, input_name="y")
    return X, labels, check_sample_weight(sample_weight, labels.size)


def _as_numbers(column: np.ndarray, label: str) -> np.ndarray:
    column = _parsed(column) if column.dtype == object else column
    if column.dtype.kind != "O":
        return column
    missing = np.array([value is None for value in column])
    if missing.all():
        return np.full(column.size, np.nan)
    raise ValueError(
        f"Got text ({next(v for v in column if v is not None)!r}) in column {label!r}, which held "
        "numbers in fit; convert it."
    )


def _parsed(column: np.ndarray) -> np.ndarray:
    """Return text as numbers where every value that is there is one, anything else as it is."""
    try:
        numbers = [np.nan if value is None else float(value) for value in column]
    except ValueError:
        return column
    return column if np.isnan(numbers).all() else np.array(numbers)


def gap_name(label: str, labels: list[str]) -> str:
    """Return what the missing values of a column are called, unless a column is called so."""
    name = f"{label} missing"
    return f"{label} is missing" if name in labels else name
