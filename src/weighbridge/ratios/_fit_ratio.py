"""The door to every ratio: two samples in, a fitted ratio out."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weighbridge._data import DAY, array_namespace, is_foreign, is_frame, unmasked
from weighbridge.blocks import ArrayRows, Rows, as_numbers, as_rows, is_blocks
from weighbridge.ratios._auto import AutoRatio

# Rows by which the columns of samples in blocks are compared.
HEAD = 1000


def fit_ratio(X: Any, X_target: Any, ratio: Any = None) -> Any:
    """Fit a density ratio to a source and a target sample.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Rows or dask collection of shape \
            (n_source, n_features)
        Source rows. Those of `weighbridge.blocks` and of dask need not fit into memory.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name, whatever their order.
    ratio : density ratio or pipeline that ends in one, optional
        Not yet fitted; it is cloned. Default: `AutoRatio()`.

    Returns
    -------
    fitted ratio
        Its ``score_samples(X)`` is ``log p_target(x) - log p_source(x)``.

    Notes
    -----
    Of rows in blocks `ULSIF`, `GaussianRatio` and the default `ClassifierRatio` learn from sums
    over all rows. Any other ratio is fitted to rows in memory: 100,000 of each sample
    (`NearestNeighbourRatio`: 20,000), drawn at random by what they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    >>> ratio = fit_ratio(X, X_target)
    >>> ratio.score_samples(X).shape
    (500,)
    """
    ratio = AutoRatio() if ratio is None else clone(check_ratio(ratio))
    if is_fitted(ratio):
        raise ValueError(
            f"Got ratio={type(ratio).__name__}, which is fitted already; use its score_samples "
            "directly, or pass a ratio that is not fitted."
        )
    if is_blocks(X) or is_blocks(X_target):
        return _fit_to_blocks(X, X_target, ratio)
    stacked, domain = stack_samples(X, X_target)
    return ratio.fit(stacked, domain)


def _fit_to_blocks(X: Any, X_target: Any, ratio: Any) -> Any:
    """Compare the columns of two samples in blocks, and fit a ratio to them."""
    if not hasattr(ratio, "_fit_blocks"):
        raise TypeError(
            f"Got rows in blocks for a {type(ratio).__name__}, which needs them in memory; pass a "
            "ratio of weighbridge.ratios alone (it standardises columns itself), or fit it to "
            "X.sample(n) and score by blocks: X.vector(ratio.score_samples)."
        )
    source, target = as_rows(X), as_rows(X_target)
    for name, rows in (("X", source), ("X_target", target)):
        if isinstance(rows, ArrayRows) and sp.issparse(rows.table):
            raise TypeError(
                f"Got {name} as a sparse matrix in blocks; pass the matrix itself: it is in "
                "memory, and is scored in blocks anyway."
            )
    if source.names is not None and target.names is not None:
        target = named_alike(source, target)
        if source.numeric != target.numeric:  # a data frame beside files of numbers
            source, target = as_numbers(source), as_numbers(target)
    # a few rows tell whether the columns are of the same kinds; all that can be wrong is said here
    stack_samples(*(rows.first(HEAD) for rows in (source, target)))
    return ratio._fit_blocks(source, target)


def named_alike(source: Rows, target: Rows) -> Rows:
    """Bring the columns of the target into the order of the source's; refuse other names."""
    names, others = list(source.names or ()), list(target.names or ())
    if names == others:
        return target
    _refuse_other_names(names, others)
    return target.select(names)


def check_ratio(ratio: Any) -> Any:
    """Refuse what is no density ratio, and say what was probably meant."""
    if isinstance(ratio, type):
        raise TypeError(
            f"Got the class {ratio.__name__}, but expected an object: write {ratio.__name__}()."
        )
    if hasattr(ratio, "score_samples") and hasattr(ratio, "get_params"):
        return ratio
    name = type(ratio).__name__
    if hasattr(ratio, "predict_proba"):
        remedy = f"A classifier becomes a ratio by ClassifierRatio({name}())."
    elif isinstance(ratio, np.ndarray | list):
        remedy = "A ratio is a function of x; weights that you have already go into sample_weight."
    elif isinstance(ratio, str):
        remedy = "Pass an object, e.g. weighbridge.ratios.ULSIF()."
    elif callable(ratio) and not hasattr(ratio, "get_params"):
        remedy = "A function of X that returns log ratios becomes a ratio by KnownRatio(function)."
    else:
        remedy = "A weighting belongs into weighting=..."
    raise TypeError(
        f"Got ratio of type {name}, but expected a density ratio: an object of weighbridge.ratios, "
        f"or a pipeline that ends in one. {remedy}"
    )


def is_fitted(ratio: Any) -> bool:
    """True for a ratio that needs no target sample any more (fitted and frozen, or known)."""
    if isinstance(ratio, Pipeline):  # scikit-learn looks at the last step only
        return all(is_fitted(step) for _, step in ratio.steps if hasattr(step, "fit"))
    try:
        check_is_fitted(ratio)
    except NotFittedError:
        return False
    return True


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
                "ratio needs at least 2 rows of each sample, and a useful one some dozens."
            )
    return _stack(parts), np.repeat([0, 1], sizes)


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
            "fit_ratio, score_samples, balance_table and the weights of diagnostics; this "
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


def _same_labels(X: Any, X_target: Any) -> Any:
    """Bring columns whose labels are not text into the order of `X`."""
    if not (hasattr(X, "columns") and hasattr(X_target, "columns")):
        return X_target
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
    if isinstance(part, np.ma.MaskedArray):
        return unmasked(part)
    array = np.asarray(part)
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
    for name in source.columns:
        left, right = source[name].dtype, target[name].dtype
        if left == right:
            continue
        empty = [int(part[name].null_count()) == len(part) for part in (source, target)]
        if any(empty):  # a column without a value has the type of the other
            source = source.with_columns(nw.col(name).cast(right)) if empty[0] else source
            target = target.with_columns(nw.col(name).cast(left)) if not empty[0] else target
            continue
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


def _stack(parts: list[Any]) -> Any:
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if is_foreign(parts[0]):
        return array_namespace(*parts).concat(parts)
    import narwhals as nw

    source, target = parts
    # sets of categories that differ would not stack, their text does
    categorical = [name for name, kind in source.schema.items() if kind == nw.Categorical]
    text = [nw.col(name).cast(nw.String) for name in categorical]
    stacked = nw.concat([source.with_columns(*text), target.with_columns(*text)], how="vertical")
    return stacked.with_columns(*(nw.col(n).cast(nw.Categorical) for n in categorical)).to_native()
