"""Two samples in one table: columns matched by name, types made alike."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._arrays import array_namespace, is_foreign, to_numpy, unmasked
from weighbridge.engines import is_engine_table
from weighbridge.tables._columns import DAY, is_frame, joined_tables


def stack_samples(X: Any, X_target: Any) -> tuple[Any, np.ndarray]:
    """Return both samples in one table, and 0 for source rows, 1 for target rows."""
    for name, sample in (("X", X), ("X_target", X_target)):
        check_in_memory(name, sample)
    if is_frame(X) != is_frame(X_target):
        raise TypeError(
            f"Got X of type {type(X).__name__} and X_target of type {type(X_target).__name__}; "
            "columns cannot be matched. A step of a pipeline gets X transformed and X_target as it "
            "is: put the pipeline inside, ImportanceWeighted(make_pipeline(...)). Otherwise pass "
            "both as data frames, or both as arrays."
        )
    if is_foreign(X) and is_foreign(X_target):
        samples = _aligned_foreign(X, X_target)
    elif is_frame(X):
        samples = _aligned_frames(X, X_target)
    else:
        samples = _aligned_arrays(X, _same_labels(X, X_target))
    if samples[0].shape[1] == 0:
        raise ValueError("Got X without columns; a density ratio needs at least one feature.")
    sizes = [sample.shape[0] for sample in samples]
    for name, size in zip(("X", "X_target"), sizes, strict=True):
        if size < 2:
            raise ValueError(
                f"Got {name} with {size} sample{'' if size == 1 else 's'} (rows), but a density "
                "ratio needs at least 2 rows of each sample, and a useful one a few dozen."
            )
    return _stack(samples), np.repeat([0, 1], sizes)


def stacked_table(X: Any, X_target: Any) -> tuple[Any, np.ndarray]:
    """Return both samples in one table that NumPy can read, and 0 for source, 1 for target."""
    for name, sample in (("X", X), ("X_target", X_target)):
        check_rows(name, sample)
    if hasattr(X, "columns") and hasattr(X_target, "columns"):
        X, X_target = _with_text_names(X), _with_text_names(X_target)
    stacked, codes = stack_samples(X, X_target)
    return (to_numpy(stacked) if is_foreign(stacked) else stacked), codes


def check_rows(name: str, sample: Any) -> None:
    """Raise an error if a sample has too few rows or columns to be compared."""
    if sample is None:
        raise TypeError(f"Got {name}=None; rows of both samples are needed to compare them.")
    check_in_memory(name, sample)
    nested = isinstance(sample, list | tuple)
    shape: tuple[int, ...] = np.shape(sample) if nested else getattr(sample, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        raise ValueError(
            f"Got {name} with {shape[0]} row{'' if shape[0] == 1 else 's'}; comparing samples "
            "takes at least 2 rows of each."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Got {name} without columns; there is nothing to compare.")


def check_in_memory(name: str, sample: Any) -> None:
    """Raise TypeError unless a sample is a table in memory."""
    if sample is None:
        raise TypeError(f"Got {name}=None; a density ratio needs rows of both samples.")
    if is_engine_table(sample):
        raise TypeError(
            f"Got {name} of type {type(sample).__name__}, a table of an engine, but expected rows "
            "in memory; draw some: weighbridge.engines.sample(table, 100_000)."
        )
    if isinstance(sample, str | PathLike):
        raise TypeError(f"Got {name}={sample!r}, a path; read the table first.")


def _with_text_names(X: Any) -> Any:
    """Return a data frame whose names are text; they are matched, and shown."""
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


def target_like_source(X: Any, X_target: Any) -> Any:
    """Return the target rows with their columns in the order of the source's."""
    if not (is_frame(X) and is_frame(X_target)):
        return _same_labels(X, X_target)
    import narwhals as nw

    source, target = (nw.from_native(sample, eager_only=True) for sample in (X, X_target))
    return X_target if source.columns == target.columns else _in_order(source, target).to_native()


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
    """Return arrays of another library as they are; they are stacked where they live."""
    array_namespace(X, X_target)  # Raises an error unless both are of one library.
    if X.ndim != 2 or X_target.ndim != 2 or X.shape[1] != X_target.shape[1]:
        raise ValueError(
            f"Got X of shape {tuple(X.shape)} and X_target of shape {tuple(X_target.shape)}; both "
            "must have two dimensions, rows and columns, and the same columns."
        )
    return [X, X_target]


def _aligned_arrays(X: Any, X_target: Any) -> list[Any]:
    samples = [_as_array(sample) for sample in (X, X_target)]
    for name, sample in zip(("X", "X_target"), samples, strict=True):
        if sample.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {sample.ndim}D array instead for {name}: rows are "
                "samples, columns are features. Reshape one feature with array.reshape(-1, 1)."
            )
    if samples[0].shape[1] != samples[1].shape[1]:
        raise ValueError(
            f"Got X with {samples[0].shape[1]} columns and X_target with {samples[1].shape[1]}; "
            "both samples must have the same features in the same order."
        )
    kinds = ["text" if sample.dtype.kind in "US" else "numbers" for sample in samples]
    if kinds[0] != kinds[1]:
        raise TypeError(
            f"Got X with {kinds[0]} (dtype {samples[0].dtype}) and X_target with {kinds[1]} (dtype "
            f"{samples[1].dtype}); convert them to the same type."
        )
    return samples


def _as_array(sample: Any) -> Any:
    if sp.issparse(sample):
        return sample
    array = to_numpy(sample)
    # NumPy would turn the numbers of a list of lists into text beside text.
    if array.dtype.kind in "US" and not isinstance(sample, np.ndarray):
        array = np.asarray(sample, dtype=object)
    return array


def _aligned_frames(X: Any, X_target: Any) -> list[Any]:
    import narwhals as nw

    source, target = (nw.from_native(sample, eager_only=True) for sample in (X, X_target))
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
        empty = [int(sample[name].null_count()) == len(sample) for sample in (source, target)]
        if any(empty):  # A column without a value takes the type of the other.
            dtype = right if empty[0] else left
            if dtype == nw.Object:  # Python objects stand beside missing values of any type.
                continue
            blank = nw.col(name).cast(dtype)
            if _kind(dtype) == "numbers":
                # Integers and booleans of pandas hold no missing values.
                blank = nw.lit(None, nw.Float64).alias(name)
                casts[name] = _common(nw.col(name), "numbers")
            source = source.with_columns(blank) if empty[0] else source
            target = target.with_columns(blank) if not empty[0] else target
            continue
        if all(_is_boolean(sample[name]) for sample in (source, target)):
            continue  # pandas keeps booleans with missing values as objects, which can be stacked.
        kinds = [_kind(dtype) for dtype in (left, right)]
        if kinds[0] != kinds[1]:
            raise TypeError(
                f"Got column {name!r} as {left} in X and as {right} in X_target; it must be "
                "numbers in both, dates in both or text in both. Convert one (dates in text: "
                "pandas.to_datetime or polars' str.to_datetime)."
            )
        casts[name] = _common(nw.col(name), kinds[0])
    return [sample.with_columns(*casts.values()) for sample in (source, target)]


def _in_order(source: Any, target: Any) -> Any:
    """Bring named columns into the order of the source's; raise ValueError on other names."""
    if source.columns == target.columns:
        return target
    missing = [name for name in source.columns if name not in target.columns]
    extra = [name for name in target.columns if name not in source.columns]
    if missing or extra:
        faults = [f"missing {missing}"] * bool(missing) + [f"unexpected {extra}"] * bool(extra)
        raise ValueError(
            f"Got X_target with other columns than X: {', '.join(faults)}. Both samples must have "
            "the same features; rename, add or drop columns."
        )
    return target.select(source.columns)


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


def _stack(samples: list[Any]) -> Any:
    if any(sp.issparse(sample) for sample in samples):
        return sp.vstack([sp.csr_array(sample) for sample in samples], format="csr")
    if isinstance(samples[0], np.ndarray) or is_foreign(samples[0]):
        return joined_tables(samples)
    import narwhals as nw

    # Sets of categories that differ would not stack; their text does.
    categorical = [name for name, kind in samples[0].schema.items() if kind == nw.Categorical]
    # Older versions of pandas would turn missing values into the text "nan".
    text = [
        nw.when(~nw.col(name).is_null()).then(nw.col(name).cast(nw.String)).alias(name)
        for name in categorical
    ]
    stacked = nw.concat([sample.with_columns(*text) for sample in samples], how="vertical")
    return stacked.with_columns(*(nw.col(n).cast(nw.Categorical) for n in categorical)).to_native()
