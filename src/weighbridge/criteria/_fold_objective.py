"""Held-out folds: any estimator, any metric of scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing import parent_process
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import parallel_config
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import get_scorer
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from weighbridge._folds import one_blas_thread
from weighbridge._pass_weights import fit_with_weights
from weighbridge.criteria._criterion import CandidateObjective, Outcome
from weighbridge.criteria._linear_design import coded_texts, fixed_steps
from weighbridge.criteria._rows import RowLoss, SourceRows, respond, row_loss, table_rows
from weighbridge.search import Evaluation
from weighbridge.tables import FloatArray, is_frame

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


Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

# Tables of all folds are kept up to this many numbers; beyond, they are cut anew for each fit.
_KEPT_NUMBERS = 60_000_000


class Fold(NamedTuple):
    """One split, ready to fit: rows to fit on and rows to score."""

    X: Any
    y: np.ndarray
    sample_weight: FloatArray | None
    X_held: Any
    y_held: np.ndarray
    held_weights: FloatArray
    is_kernel: bool = False
    error: str | None = None

    def without(self, zero: npt.NDArray[np.bool_]) -> Fold:
        """Leave rows of a kernel out of the fit."""
        rest = np.flatnonzero(~zero)
        return self._replace(
            X=self.X[np.ix_(rest, rest)],
            y=self.y[rest],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rest],
            X_held=self.X_held[:, rest],
        )


class FoldResult(NamedTuple):
    """What one fit gave: held-out predictions, or a score, or an error."""

    prediction: Any = None
    score: float | None = None
    error: str | None = None
    seconds: float = 0.0


class FoldObjective(CandidateObjective):
    """Fits each candidate on the folds and scores it on the rows held out."""

    def __init__(
        self,
        estimator: Any,
        rows: SourceRows,
        splits: list[Split],
        scoring: Any,
        *,
        n_jobs: int | None,
    ) -> None:
        super().__init__(rows)
        self.splits = splits
        self.n_jobs = n_jobs
        self.loss = row_loss(scoring, estimator)
        self._scorer = None if self.loss is not None else get_scorer(scoring)
        self._shared = share_work(estimator, rows.X, rows.log_ratio)
        whole = self._shared.estimator
        # a metric of the user's may look at the pipeline, or at the columns as they came
        apart = self.loss is not None and not self._shared.is_kernel
        *self._transformers, self._last = (fixed_steps(whole) if apart else None) or [whole]
        if self._transformers:
            (coded,) = coded_texts(self._transformers, self._shared.X)
            self._shared = self._shared._replace(X=coded)
        held = np.concatenate([test for _, test in splits])
        # a row that is held out several times is one unit: its losses are averaged
        self._held, self._unit, self._times = np.unique(
            held, return_inverse=True, return_counts=True
        )
        self._kept: dict[int, Fold] = {}
        self._room = _KEPT_NUMBERS

    @property
    def held_rows(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that are held out, each once."""
        return np.asarray(self._held)

    @property
    def unit_weights(self) -> FloatArray:
        """Validation weights of held-out rows, or of whole folds where a metric is no row mean."""
        weights = self.rows.unit_weights
        if self.loss is not None:
            return weights[self.held_rows]
        return np.array([weights[test].sum() for _, test in self.splits])

    @property
    def row_loss(self) -> RowLoss | None:
        """What a held-out prediction costs, where the metric is a mean over rows."""
        return self.loss

    def check_metric(self, model: Any) -> None:
        """Refuse a metric that takes no weights, before the candidates are fitted."""
        if self._scorer is None:
            return
        rows = self.rows
        try:
            self._scorer(model, rows.X, rows.y, sample_weight=rows.unit_weights)
        except TypeError as error:
            raise TypeError(
                f"Got a metric that cannot be weighted ({error}). It needs a signature such as "
                "metric(y_true, y_pred, sample_weight=None), made a scorer by "
                "sklearn.metrics.make_scorer(metric, greater_is_better=False)."
            ) from error

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions, one row for each candidate; fitted again where they were lost."""
        lost = [each.point for each in evaluations if each.predictions is None]
        if self.loss is None or not lost:
            return super().predictions(evaluations)
        again = {each.point: each for each in self.evaluate(lost)}
        return super().predictions([again.get(each.point, each) for each in evaluations])

    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Fit every candidate on every fold, in parallel over both."""
        jobs = (
            delayed(fit_fold)(
                self._last,
                self._fold(number),
                row[self.splits[number][0]],
                self.loss if self.loss is not None else self._scorer,
                self.rows.classes,
            )
            for row in weights
            for number in range(len(self.splits))
        )
        # here for this process and its threads, in `fit_fold` for other processes
        with one_blas_thread():
            results = iter(Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs))
            for _ in weights:
                yield self._joined([next(results) for _ in self.splits])

    def _joined(self, parts: list[FoldResult]) -> Outcome:
        seconds = sum(part.seconds for part in parts)
        error = next((part.error for part in parts if part.error is not None), None)
        if error is not None:
            return Outcome(error=error, seconds=seconds)
        predictions = None
        if self.loss is None:
            losses = np.array([part.score for part in parts], dtype=float)
        else:
            every = np.concatenate([part.prediction for part in parts])
            codes = self.rows.codes[self._held[self._unit]]
            predictions = self._by_row(every)
            losses = self._by_row(self.loss.loss(codes, every))
        if not np.isfinite(losses).all():
            what = "rows" if self.loss is not None else "folds"
            bad = f"{int((~np.isfinite(losses)).sum())} of {losses.size} held-out {what}"
            return Outcome(error=f"ValueError: the loss of {bad} is not finite", seconds=seconds)
        return Outcome(losses, predictions, seconds=seconds)

    def _by_row(self, values: FloatArray) -> FloatArray:
        """Average what belongs to one row, in the order of the rows."""
        out = np.zeros((self._held.size, *values.shape[1:]))
        np.add.at(out, self._unit, values)
        return out / self._times.reshape(-1, *[1] * (values.ndim - 1))

    def _fold(self, number: int) -> Fold:
        if number in self._kept:
            return self._kept[number]
        train, test = self.splits[number]
        rows = self.rows
        X, X_held, error = _transformed(
            self._transformers, self._shared.part(train, train), self._shared.part(test, train)
        )
        fold = Fold(
            X,
            rows.y[train],
            None if rows.sample_weight is None else rows.sample_weight[train],
            X_held,
            rows.y[test],
            rows.unit_weights[test],
            self._shared.is_kernel,
            error,
        )
        size = _size(X) + _size(X_held)
        if size <= self._room:
            self._room -= size
            self._kept[number] = fold
        return fold


def _transformed(transformers: list[Any], X: Any, X_held: Any) -> tuple[Any, Any, str | None]:
    """Fit transformers to one table and apply them to both; or say why that fails."""
    try:
        for step in transformers:
            fitted = clone(step)
            X = fitted.fit_transform(X)
            X_held = fitted.transform(X_held)
    except Exception as error:  # noqa: BLE001 - any table may be one that they cannot take
        return None, None, f"{type(error).__name__}: {error}"
    return X, X_held, None


def _size(X: Any) -> int:
    """Count the numbers of a table; of one that does not say, none."""
    return int(X.nnz) if issparse(X) else int(np.prod(getattr(X, "shape", (0,))))


def fit_fold(
    estimator: Any, fold: Fold, weights: FloatArray, metric: Any, classes: np.ndarray | None
) -> FoldResult:
    """Fit on one fold with weights of mean 1, and predict or score the rows held out."""
    if fold.error is not None:
        return FoldResult(error=fold.error)
    begun = time.perf_counter()
    # The caller limits the threads of its own process.
    with _one_thread() if parent_process() is not None else nullcontext():
        try:
            prediction, score = _fit_fold(estimator, fold, weights, metric, classes)
        except Exception as error:  # noqa: BLE001 - any estimator may fail in any way
            message = f"{type(error).__name__}: {error}"
            return FoldResult(error=message, seconds=time.perf_counter() - begun)
    return FoldResult(prediction, score, seconds=time.perf_counter() - begun)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Work in one thread, whatever the estimator's own number of jobs is."""
    with one_blas_thread(), parallel_config(backend="sequential"):
        yield


def _fit_fold(
    estimator: Any, fold: Fold, weights: FloatArray, metric: Any, classes: np.ndarray | None
) -> tuple[Any, float | None]:
    if not weights.any():
        raise ValueError("every row that is left to fit on has weight 0")
    scaled = weights / np.average(weights, weights=fold.sample_weight)
    if fold.is_kernel and not scaled.all():
        # libsvm drops rows of weight 0 and then reads the wrong columns of a precomputed kernel
        fold, scaled = fold.without(scaled == 0), scaled[scaled > 0]
    model = clone(estimator)
    fit_with_weights(
        model, fold.X, fold.y, scaled if fold.sample_weight is None else scaled * fold.sample_weight
    )
    if isinstance(metric, RowLoss):
        return respond(model, fold.X_held, metric.response, classes), None
    return None, -float(metric(model, fold.X_held, fold.y_held, sample_weight=fold.held_weights))
