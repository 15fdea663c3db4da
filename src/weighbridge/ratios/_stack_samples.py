"""Two samples in one table: columns matched by name, types made alike, all else refused."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.blocks import Rows, is_blocks
from weighbridge.tables import (
    DAY,
    array_namespace,
    is_foreign,
    is_frame,
    joined_tables,
    to_numpy,
    unmasked,
)


def stack_samples(X: Any, X_target: Any) -> tuple[Any, np.ndarray]:
    """Put the two samples on top of each other; the labels are 0 for source, 1 for target."""
    for name, part in (("X", X), ("X_target", X_target)):
        refuse_no_table(name, part)
    if is_frame(X) != is_frame(X_target):
        raise TypeError(
            f"Got X of type {type(X).__name__} and X_target of type {type(X_target).__name__}; "
            "columns cannot be matched. Pass both as data frames, or both as arrays."
        )
    if is_foreign(X) and is_foreign(X_target):
        parts = _aligned_foreign(X, X_target)
    elif is_frame(X):
        parts = _aligned_frames(X, X_target)
    else:
        parts = _aligned_arrays(X, _same_labels(X, X_target))
    if parts[0].shape[1] == 0:
        raise ValueError("Got X without columns; a density ratio needs at least one feature.")
    sizes = [part.shape[0] for part in parts]
    for name, size in zip(("X", "X_target"), sizes, strict=True):
        if size < 2:
            raise ValueError(
                f"Got {name} with {size} sample{'' if size == 1 else 's'} (rows), but a density "
                "ratio needs at least 2 rows of each sample, and a useful one a few dozen."
            )
    return _stack(parts), np.repeat([0, 1], sizes)


def stacked_table(X: Any, X_target: Any) -> tuple[Any, np.ndarray]:
    """Return both samples in one table that NumPy can read, and 0 for source, 1 for target."""
    for name, part in (("X", X), ("X_target", X_target)):
        if part is not None:
            refuse_no_table(name, part)
        check_rows(name, part)
    if hasattr(X, "columns") and hasattr(X_target, "columns"):
        X, X_target = _with_text_names(X), _with_text_names(X_target)
    stacked, codes = stack_samples(X, X_target)
    return (to_numpy(stacked) if is_foreign(stacked) else stacked), codes


def check_rows(name: str, part: Any) -> None:
    """Refuse tables with too few rows or columns to compare."""
    if part is None:
        raise TypeError(f"Got {name}=None; rows of both samples are needed to compare them.")
    nested = isinstance(part, list | tuple)
    shape: tuple[int, ...] = np.shape(part) if nested else getattr(part, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        raise ValueError(
            f"Got {name} with {shape[0]} row{'' if shape[0] == 1 else 's'}; comparing samples "
            "takes at least 2 rows of each."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Got {name} without columns; there is nothing to compare.")


def _with_text_names(X: Any) -> Any:
    """Return a data frame with its names as text; these are matched, and shown."""
    kinds = {type(name) for name in X.columns}
    if kinds <= {str} or not hasattr(X, "set_axis"):
        return X
    if str in kinds:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"Got a data frame whose column names are of several types ({names}); make all of them "
            "text, e.g. X.columns = X.columns.astype(str)."
        )
    return X.set_axis([str(name) for name in X.columns], axis=1)


def refuse_no_table(name: str, part: Any) -> None:
    """Refuse what is no table in memory, and say what to do with it."""
    if part is None:
        raise TypeError(f"Got {name}=None; a density ratio needs rows of both samples.")
    if isinstance(part, str | PathLike):
        raise TypeError(
            f"Got {name}={part!r}, a path; read the table first, or block by block: "
            "weighbridge.blocks.from_parquet(path)."
        )
    if is_blocks(part):
        raise TypeError(
            f"Got {name} as rows in blocks ({type(part).__name__}), which are taken by "
            "fit_ratio, score_samples, balance_table and the diagnostics of weights; this "
            "needs a table in memory: draw some rows, as_rows(X).sample(100_000)."
        )


def target_like_source(X: Any, X_target: Any) -> Any:
    """Return the target rows with their columns in the order of the source's."""
    if not (is_frame(X) and is_frame(X_target)):
        return _same_labels(X, X_target)
    import narwhals as nw

    source, target = (nw.from_native(part, eager_only=True) for part in (X, X_target))
    if source.columns == target.columns:
        return X_target
    return _in_order(source, target).to_native()


def named_alike(source: Rows, target: Rows) -> Rows:
    """Bring the columns of the target into the order of the source's; refuse other names."""
    names, others = list(source.names or ()), list(target.names or ())
    if names == others:
        return target
    _refuse_other_names(names, others)
    return target.select(names)


def _same_labels(X: Any, X_target: Any) -> Any:
    """Bring columns whose labels are not text into the order of `X`."""
    if not (hasattr(X, "columns") and hasattr(X_target, "columns")):
        return unmasked(X_target)
    labels, target_labels = list(X.columns), list(X_target.columns)
    if labels == target_labels:
        return X_target
    if set(labels) != set(target_labels):
        raise ValueError(
            f"Got X with columns {labels} and X_target with columns {target_labels}; both samples "
            "must have the same features."
        )
    return X_target[labels]


def _aligned_foreign(X: Any, X_target: Any) -> list[Any]:
    """Return arrays of another library as they are: they are stacked where they live."""
    array_namespace(X, X_target)  # of one library
    if X.ndim != 2 or X_target.ndim != 2 or X.shape[1] != X_target.shape[1]:
        raise ValueError(
            f"Got X of shape {tuple(X.shape)} and X_target of shape {tuple(X_target.shape)}; both "
            "must have two dimensions, rows and columns, and the same columns."
        )
    return [X, X_target]


def _aligned_arrays(X: Any, X_target: Any) -> list[Any]:
    parts = [_as_array(part) for part in (X, X_target)]
    for name, part in zip(("X", "X_target"), parts, strict=True):
        if part.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {part.ndim}D array instead for {name}: rows are samples, "
                "columns are features. Reshape one feature with array.reshape(-1, 1)."
            )
    if parts[0].shape[1] != parts[1].shape[1]:
        raise ValueError(
            f"Got X with {parts[0].shape[1]} columns and X_target with {parts[1].shape[1]}; both "
            "samples must have the same features in the same order."
        )
    kinds = ["text" if part.dtype.kind in "US" else "numbers" for part in parts]
    if kinds[0] != kinds[1]:
        raise TypeError(
            f"Got X with {kinds[0]} (dtype {parts[0].dtype}) and X_target with {kinds[1]} (dtype "
            f"{parts[1].dtype}); convert them to the same type."
        )
    return parts


def _as_array(part: Any) -> Any:
    if sp.issparse(part):
        return part
    array = to_numpy(part)
    # NumPy would turn the numbers of a list of lists into text beside text
    if array.dtype.kind in "US" and not isinstance(part, np.ndarray):
        array = np.asarray(part, dtype=object)
    return array


def _aligned_frames(X: Any, X_target: Any) -> list[Any]:
    import narwhals as nw

    source, target = (nw.from_native(part, eager_only=True) for part in (X, X_target))
    if source.implementation != target.implementation:
        raise TypeError(
            f"Got X as a {source.implementation} and X_target as a {target.implementation} data "
            "frame; convert one of them."
        )
    target = _in_order(source, target)
    casts: dict[str, Any] = {}
    for (name, left), right in zip(source.schema.items(), target.schema.values(), strict=True):
        if left == right:
            continue
        empty = [int(part[name].null_count()) == len(part) for part in (source, target)]
        if any(empty):  # a column without a value has the type of the other
            blank = nw.col(name).cast(right if empty[0] else left)
            if _kind(right if empty[0] else left) == "numbers":
                # Integers and booleans of pandas hold no missing values.
                blank = nw.lit(None, nw.Float64).alias(name)
                casts[name] = _common(nw.col(name), "numbers")
            source = source.with_columns(blank) if empty[0] else source
            target = target.with_columns(blank) if not empty[0] else target
            continue
        if all(_is_boolean(part[name]) for part in (source, target)):
            continue  # pandas keeps booleans with missing values as objects, which can be stacked
        kinds = [_kind(dtype) for dtype in (left, right)]
        if kinds[0] != kinds[1]:
            raise TypeError(
                f"Got column {name!r} as {left} in X and as {right} in X_target; it must be "
                "numbers in both, dates in both or text in both. Convert one (dates in text: "
                "pandas.to_datetime or polars' str.to_datetime)."
            )
        casts[name] = _common(nw.col(name), kinds[0])
    if casts:
        source = source.with_columns(*casts.values())
        target = target.with_columns(*casts.values())
    return [source, target]


def _in_order(source: Any, target: Any) -> Any:
    """Bring named columns into the order of the source's; refuse other names."""
    if source.columns == target.columns:
        return target
    _refuse_other_names(source.columns, target.columns)
    return target.select(source.columns)


def _refuse_other_names(names: list[str], others: list[str]) -> None:
    missing = [name for name in names if name not in others]
    extra = [name for name in others if name not in names]
    if missing or extra:
        found = [f"missing {missing}"] * bool(missing) + [f"unexpected {extra}"] * bool(extra)
        raise ValueError(
            f"Got X_target with other columns than X: {', '.join(found)}. Both samples must have "
            "the same features; rename, add or drop columns."
        )


def _common(column: Any, kind: str) -> Any:
    """Bring a column to one type, unit and time zone."""
    import narwhals as nw

    if kind == "dates":
        return column.dt.timestamp("us").cast(nw.Float64) / DAY
    if kind == "durations":
        return column.dt.total_microseconds().cast(nw.Float64) / DAY
    return column.cast(nw.Float64 if kind == "numbers" else nw.String)


def _kind(dtype: Any) -> str:
    import narwhals as nw

    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numbers"
    if dtype == nw.Duration:
        return "durations"
    return "dates" if dtype in (nw.Datetime, nw.Date) else "text"


def _is_boolean(column: Any) -> bool:
    """Return True if the values that are not missing are booleans."""
    import narwhals as nw

    if column.dtype != nw.Object:
        return bool(column.dtype == nw.Boolean)
    return all(isinstance(value, bool | np.bool_) for value in column.drop_nulls().to_list())


def _stack(parts: list[Any]) -> Any:
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    if isinstance(parts[0], np.ndarray) or is_foreign(parts[0]):
        return joined_tables(parts)
    import narwhals as nw

    source, target = parts
    # sets of categories that differ would not stack, their text does
    categorical = [name for name, kind in source.schema.items() if kind == nw.Categorical]
    if not categorical:
        return nw.concat([source, target], how="vertical").to_native()
    text = [nw.col(name).cast(nw.String) for name in categorical]
    stacked = nw.concat([source.with_columns(*text), target.with_columns(*text)], how="vertical")
    return stacked.with_columns(*(nw.col(n).cast(nw.Categorical) for n in categorical)).to_native()
