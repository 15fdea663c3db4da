"""Work that all candidates share: one kernel matrix, one binning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.utils import get_tags

from weighbridge._data import is_frame
from weighbridge.criteria._linear_design import fixed_steps
from weighbridge.criteria._rows import table_rows

# One kernel matrix of so many rows takes 200 MB.
_KERNEL_ROWS = 5_000
_KERNELS = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}


class Shared(NamedTuple):
    """An estimator and rows that give (nearly) the same fits for less work."""

    estimator: Any
    X: Any
    is_kernel: bool = False

    def part(self, rows: np.ndarray, fitted_on: np.ndarray) -> Any:
        """Return the rows, as an estimator fitted on `fitted_on` takes them."""
        if self.is_kernel:
            return self.X[np.ix_(rows, fitted_on)]
        return table_rows(self.X, rows)


def share_work(estimator: Any, X: Any, log_ratio: np.ndarray) -> Shared:
    """Do once what every fit would repeat."""
    if get_tags(estimator).input_tags.pairwise:
        return Shared(estimator, X, is_kernel=True)
    kernel = _with_kernel(estimator, X)
    if kernel is not None:
        return kernel
    if isinstance(estimator, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        binned = _binned(estimator, X, log_ratio)
        if binned is not None:
            return Shared(estimator, binned)
    return Shared(estimator, X)


def _with_kernel(estimator: Any, X: Any) -> Shared | None:
    steps = fixed_steps(estimator)
    if steps is None or not isinstance(steps[-1], SVC | SVR | NuSVC | NuSVR | KernelRidge):
        return None
    *transformers, machine = steps
    if not isinstance(machine.kernel, str) or machine.kernel not in _KERNELS:
        return None
    for step in transformers:
        X = clone(step).fit_transform(X)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[0] > _KERNEL_ROWS:
        return None
    X = X.astype(float)
    if not np.isfinite(X).all():
        return None  # the estimator's own words are better
    parameters = {name: getattr(machine, name) for name in _KERNELS[machine.kernel]}
    if "gamma" in parameters:
        parameters["gamma"] = _gamma(parameters["gamma"], X)
    matrix = pairwise_kernels(X, metric=machine.kernel, **parameters)
    return Shared(clone(machine).set_params(kernel="precomputed"), matrix, is_kernel=True)


def _gamma(gamma: Any, X: np.ndarray) -> Any:
    """Return the number that "scale" and "auto" stand for; None is kernel ridge's own default."""
    if gamma == "scale":
        variance = X.var()
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return 1.0 / X.shape[1] if gamma == "auto" else gamma


def _binned(estimator: Any, X: Any, log_ratio: np.ndarray) -> Any:
    """Replace the values of each column by the largest of their bin."""
    if log_ratio.size <= estimator.max_bins:
        return None
    if estimator.categorical_features not in (None, "from_dtype"):
        return None
    weights = np.exp(log_ratio - log_ratio.max())
    if is_frame(X):
        return _binned_frame(estimator, X, weights)
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        return None
    binned: np.ndarray = np.empty(X.shape, dtype=X.dtype)
    for index in range(X.shape[1]):
        binned[:, index] = _bin_column(X[:, index], weights, estimator.max_bins)
    return binned


def _binned_frame(estimator: Any, X: Any, weights: np.ndarray) -> Any:
    """Bin the columns of a data frame that hold floating-point numbers."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    floats = [name for name, kind in frame.schema.items() if kind in (nw.Float32, nw.Float64)]
    columns = [
        nw.new_series(
            name,
            _bin_column(frame[name].to_numpy().astype(float), weights, estimator.max_bins),
            frame.schema[name],
            backend=frame.implementation,
        )
        for name in floats
    ]
    return frame.with_columns(*columns).to_native() if columns else X


def _bin_column(column: np.ndarray, weights: np.ndarray, max_bins: int) -> np.ndarray:
    order = np.argsort(column)  # NaN last
    known = column[order][: column.size - int(np.isnan(column).sum())]
    if known.size == 0 or np.unique(known).size <= max_bins:
        return column
    levels = np.linspace(0, 1, max_bins // 2 + 1)[1:-1]
    places = [
        np.searchsorted(np.cumsum(share), levels * share.sum())
        for share in (np.ones(known.size), weights[order][: known.size])
    ]
    edges = np.unique(known[np.minimum(np.concatenate(places), known.size - 1)])
    # the last bin stands for the largest value of all
    highest = np.append(edges, known[-1])
    place = np.searchsorted(edges, column)
    return np.where(np.isnan(column), np.nan, highest[place])
