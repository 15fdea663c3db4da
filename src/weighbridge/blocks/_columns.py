"""The table that a linear model sees, made of each block of rows by fitted transformers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

from weighbridge.blocks._rows import Block, Rows, is_number
from weighbridge.tables import array_namespace, is_foreign, take_rows, to_numpy

FloatArray = npt.NDArray[np.float64]

# Rows that centre and scale of the columns are taken from.
_SAMPLE = 10_000
ON_BLOCKS = (
    "LinearRegression and Ridge, alone or at the end of a pipeline after StandardScaler, "
    "MinMaxScaler, MaxAbsScaler, PolynomialFeatures or transformers that are fitted and frozen"
)
_REMEDY = (
    "an estimator with its own dask implementation (lightgbm.dask, xgboost.dask) goes into "
    "ImportanceWeighted with dask collections; fit any other in memory, on rows.sample(n) or on a "
    "sample, with weights from weighbridge.ratios"
)


@dataclass(frozen=True)
class Columns:
    """Numbers of a block after fitted transformers, on the device where they are."""

    width: int
    names: tuple[str, ...] | None = None
    steps: tuple[Any, ...] = ()

    def __call__(self, table: Any) -> Any:
        """Return a table of float64."""
        if self.steps and is_foreign(table):
            raise TypeError(
                "Got transformers before the model, which work on NumPy arrays, and rows on a "
                f"device ({type(table).__name__}); transform the columns there, or pass NumPy rows."
            )
        # a transformer that was fitted before knows what to do with any column
        frozen = bool(self.steps) and isinstance(self.steps[0], FrozenEstimator)
        numbers = table if frozen else _as_floats(table)
        for step in self.steps:
            named = not isinstance(numbers, np.ndarray)
            numbers = _as_floats((step if named else without_names(step)).transform(numbers))
        return numbers

    def label(self, column: int) -> str:
        """Name a column of the table that comes out, by its number where it has no name."""
        if not self.steps and self.names is not None:
            return repr(self.names[column])
        return str(column)


def _as_floats(table: Any) -> Any:
    """Return a table as float64, or say which columns are none."""
    if is_foreign(table):
        xp = array_namespace(table)
        return xp.astype(table, xp.float64, copy=False)
    try:
        return np.asarray(table.toarray() if issparse(table) else table, dtype=np.float64)
    except (TypeError, ValueError):
        kinds = getattr(table, "dtypes", None)
        text = [] if kinds is None else [n for n, k in kinds.items() if not is_number(k)]
        which = f"columns {text} that are" if text else f"a table of type {type(table).__name__}"
        raise TypeError(
            f"Got {which} not numbers; on blocks leave them out (rows.select), or encode them "
            "with a transformer that is already fitted: FrozenEstimator(encoder) as the first step."
        ) from None


class Typical(NamedTuple):
    """Rough centre and inverse scale of the columns, and level of the labels, for conditioning."""

    centre: FloatArray
    scale: FloatArray
    level: float


def typical(
    rows: Rows, columns: Columns, y: FloatArray, used: npt.NDArray[np.intp] | None, centred: bool
) -> Typical:
    """Look at evenly spaced rows among those `used` (None for all), wherever the blocks end."""
    numbers = np.arange(rows.n_rows) if used is None else used
    some = numbers[:: max(1, numbers.size // _SAMPLE)]
    chosen = np.zeros(rows.n_rows, dtype=bool)
    chosen[some] = True
    parts = [part for part in rows.map(_Chosen(columns), chosen) if part is not None]
    features = np.concatenate(parts)
    scale = 1 / column_scale(features, centred)
    if not centred:
        return Typical(np.zeros(features.shape[1]), scale, 0.0)
    return Typical(features.mean(axis=0), scale, float(y[some].mean()))


@dataclass(frozen=True)
class _Chosen:
    """Some rows of a block, in memory; None where it has none of them."""

    columns: Columns

    def __call__(self, block: Block) -> FloatArray | None:
        some = used_part(block, block.beside[0])
        if some is None:
            return None
        table = to_numpy(self.columns(some.table))
        check_finite(table, self.columns)
        return table


def used_part(block: Block, used: npt.NDArray[np.bool_]) -> Block | None:
    """Return the rows of a block that are used, None if there are none; others are never read."""
    if used.all():
        return block if used.size else None
    rows = np.flatnonzero(used)
    if not rows.size:
        return None
    return Block(
        take_rows(block.table, rows), block.start, tuple(part[rows] for part in block.beside)
    )


def column_scale(features: FloatArray, centred: bool) -> FloatArray:
    """Return standard deviations of the columns, or root mean squares; 1 for those without any."""
    size = np.sqrt(np.square(features).mean(axis=0))
    scale = np.asarray(features.std(axis=0) if centred else size)
    # a constant column has a standard deviation of its rounding
    scale[~(scale > 1e-14 * size)] = 1.0
    return scale


def check_finite(features: FloatArray, columns: Columns) -> None:
    """Refuse missing and infinite numbers, by the name of their column."""
    bad = ~np.isfinite(features)
    if not bad.any():
        return
    column = int(bad.any(axis=0).argmax())
    raise ValueError(
        f"Got missing or infinite values in {int(bad.any(axis=1).sum())} rows, first in column "
        f"{columns.label(column)}; a linear model needs numbers: fill them in, or leave the rows "
        "out."
    )


@dataclass(frozen=True)
class CentredTable:
    """Features, ones and labels of rows, centred and scaled."""

    columns: Columns
    typical: Typical

    @property
    def size(self) -> int:
        """Number of columns with the ones and the labels."""
        return self.typical.centre.size + 2

    def transposed(
        self, features: FloatArray, y: FloatArray, rows: Any, out: FloatArray | None = None
    ) -> FloatArray:
        """Return some rows of NumPy features as the columns of a table: products are faster so."""
        centre, scale, level = self.typical
        p, labels = centre.size, y[rows]
        table = np.empty((p + 2, labels.size)) if out is None else out
        # numbers of rows are within bounds, and looked up three times as fast unchecked
        whole = isinstance(rows, slice)
        some = features[rows] if whole else features.take(rows, axis=0, mode="clip")
        np.subtract(some.T, centre[:, None], out=table[:p])
        table[:p] *= scale[:, None]
        table[p] = 1.0
        np.subtract(labels, level, out=table[p + 1])
        return table

    def whole(self, features: Any, y: FloatArray) -> Any:
        """Return the table on the device of the features, one row for each row."""
        xp, device = array_namespace(features), features.device
        centre, scale = (xp.asarray(part, device=device) for part in self.typical[:2])
        labels = xp.asarray(np.ascontiguousarray(y - self.typical.level), device=device)[:, None]
        ones = xp.ones_like(labels)
        return xp.concat([(features - centre) * scale, ones, labels], axis=1)

    def check(self, moments: Any, features: Any) -> None:
        """Refuse a block whose sums are no numbers, and say why."""
        xp = array_namespace(moments)
        if bool(xp.all(xp.isfinite(moments))):
            return
        check_finite(to_numpy(features), self.columns)
        raise ValueError("Got numbers too large to be squared; scale the columns down.")


def no_alarms() -> Any:
    """Sums of what is missing or too large are looked at afterwards (`CentredTable.check`)."""
    return np.errstate(over="ignore", invalid="ignore")


def without_names(model: Any) -> Any:
    """Return a copy that takes columns by their place; else it would warn of every block."""
    if isinstance(model, Pipeline):
        twin = copy(model)
        twin.steps = [(name, without_names(step)) for name, step in model.steps]
        return twin
    if isinstance(model, FrozenEstimator):
        return FrozenEstimator(without_names(model.estimator))
    if not hasattr(model, "feature_names_in_"):
        return model
    twin = copy(model)
    if hasattr(model, "models"):  # an average
        twin.models = [without_names(one) for one in model.models]
    else:
        del twin.feature_names_in_
    return twin


def block_steps(estimator: Any) -> list[Any]:
    """Return transformers and model of an estimator that works on blocks; refuse any other."""
    if not isinstance(estimator, Pipeline):
        if type(estimator) not in (LinearRegression, Ridge):
            raise TypeError(
                f"Got {type(estimator).__name__} on rows in blocks, which only {ON_BLOCKS} can be "
                f"fitted to; {_REMEDY}."
            )
        return [estimator]
    steps: list[Any] = []
    for _, step in estimator.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        if type(step) not in _FITTERS and not isinstance(step, FrozenEstimator):
            name = type(step).__name__
            raise TypeError(
                f"Got a pipeline with {name}, which cannot be fitted block by block; blocks "
                f"take {ON_BLOCKS}. Fit it on a part of the rows and freeze it: "
                f"FrozenEstimator({name}(...).fit(rows.sample(100_000)))."
            )
        steps.append(step)
    return steps + block_steps(estimator.steps[-1][1])


def block_columns(
    steps: list[Any], rows: Rows, used: npt.NDArray[np.bool_] | None = None
) -> Columns:
    """Fit transformers one after another to the rows `used`, each by a pass over them."""
    columns = Columns(rows.n_columns, None if rows.names is None else tuple(rows.names))
    if not (rows.numeric or (steps and isinstance(steps[0], FrozenEstimator))):
        columns(rows.first(1))  # text is refused before any work
    counted = np.ones(rows.n_rows, dtype=bool) if used is None else used
    for step in steps:
        if isinstance(step, FrozenEstimator):
            fitted = replace(columns, steps=(*columns.steps, step))
            columns = replace(fitted, width=fitted(rows.first(1)).shape[1])
            continue
        step = _FITTERS[type(step)](clone(step), rows, columns, counted)
        width = getattr(step, "n_output_features_", columns.width)
        columns = replace(columns, width=width, steps=(*columns.steps, step))
    return columns


class Summary(NamedTuple):
    """Number of rows, mean, sum of squared deviations, smallest and largest of each column."""

    n: int
    mean: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray


def _summary(rows: Rows, columns: Columns, used: npt.NDArray[np.bool_]) -> Summary:
    return reduce(_merged, filter(None, rows.map(partial(_summary_of, columns), used)))


def _summary_of(columns: Columns, block: Block) -> Summary | None:
    table = _Chosen(columns)(block)
    if table is None:
        return None
    mean = table.mean(axis=0)
    squares = np.square(table - mean).sum(axis=0)
    return Summary(len(table), mean, squares, table.min(axis=0), table.max(axis=0))


def _merged(one: Summary, two: Summary) -> Summary:
    """Merge two stretches of rows as Chan, Golub and LeVeque do, so that no digits are lost."""
    n = one.n + two.n
    gap = two.mean - one.mean
    return Summary(
        n,
        one.mean + gap * (two.n / n),
        one.squares + two.squares + np.square(gap) * (one.n * two.n / n),
        np.minimum(one.low, two.low),
        np.maximum(one.high, two.high),
    )


def _fit_standard(scaler: Any, rows: Rows, columns: Columns, used: npt.NDArray[np.bool_]) -> Any:
    n, mean, squares, _, _ = _summary(rows, columns, used)
    variance = squares / n
    eps = np.finfo(float).eps
    # a column that is constant but for rounding is not scaled up, as in scikit-learn
    constant = variance <= n * eps * variance + np.square(n * mean * eps)
    scaler.n_features_in_, scaler.n_samples_seen_ = mean.size, n
    scaler.mean_ = mean if scaler.with_mean or scaler.with_std else None
    scaler.var_ = variance if scaler.with_std else None
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance)) if scaler.with_std else None
    return scaler


def _fit_range(scaler: Any, rows: Rows, columns: Columns, used: npt.NDArray[np.bool_]) -> Any:
    """Fit to the smallest and the largest values: there is no more in these scalers."""
    n, _, _, low, high = _summary(rows, columns, used)
    scaler.fit(np.stack([low, high]))
    scaler.n_samples_seen_ = n
    return scaler


def _fit_shape(features: Any, rows: Rows, columns: Columns, used: npt.NDArray[np.bool_]) -> Any:
    """Fit to the number of columns; no row is read."""
    del rows, used
    return features.fit(np.zeros((1, columns.width)))


_Fitter = Callable[[Any, Rows, Columns, npt.NDArray[np.bool_]], Any]
_FITTERS: dict[type, _Fitter] = {
    StandardScaler: _fit_standard,
    MinMaxScaler: _fit_range,
    MaxAbsScaler: _fit_range,
    PolynomialFeatures: _fit_shape,
}
