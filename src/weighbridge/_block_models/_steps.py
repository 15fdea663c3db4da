"""Which estimators work on blocks, and their transformers fitted block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

from weighbridge._block_models._features import Columns, check_finite, used_part
from weighbridge.blocks import Block, Rows

FloatArray = npt.NDArray[np.float64]

ON_BLOCKS = (
    "LinearRegression and Ridge, alone or at the end of a pipeline after StandardScaler, "
    "MinMaxScaler, MaxAbsScaler, PolynomialFeatures or transformers that are fitted and frozen"
)
_REMEDY = (
    "an estimator with its own dask implementation (lightgbm.dask, xgboost.dask) goes into "
    "ImportanceWeighted with dask collections; fit any other in memory, on rows.sample(n) or on a "
    "sample, with weights from weighbridge.ratios"
)


def block_steps(estimator: Any) -> list[Any]:
    """Return transformers and model of an estimator that works on blocks; refuse any other."""
    if not isinstance(estimator, Pipeline):
        if type(estimator) not in (LinearRegression, Ridge):
            raise TypeError(
                f"Got {type(estimator).__name__} on rows in blocks, where {ON_BLOCKS} are fitted; "
                f"{_REMEDY}."
            )
        return [estimator]
    steps: list[Any] = []
    for _, step in estimator.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        if type(step) not in _FITTERS and not isinstance(step, FrozenEstimator):
            name = type(step).__name__
            raise TypeError(
                f"Got a pipeline with {name}, which cannot be fitted block by block; on blocks "
                f"there are {ON_BLOCKS}. Fit it on a part of the rows and freeze it: "
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


@dataclass(frozen=True)
class _Summarise:
    columns: Columns

    def __call__(self, block: Block) -> Summary | None:
        some = used_part(block, block.beside[0])
        if some is None:
            return None
        table = self.columns(some.table)
        check_finite(table, self.columns)
        mean = table.mean(axis=0)
        squares = np.square(table - mean).sum(axis=0)
        return Summary(len(table), mean, squares, table.min(axis=0), table.max(axis=0))


def _summary(rows: Rows, columns: Columns, used: npt.NDArray[np.bool_]) -> Summary:
    return reduce(_merged, filter(None, rows.map(_Summarise(columns), used)))


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
