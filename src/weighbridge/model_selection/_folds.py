"""Fits on folds: any estimator, any metric of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import parent_process
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from weighbridge._folds import one_blas_thread
from weighbridge._pass_weights import fit_with_weights
from weighbridge.model_selection._criterion import Outcome, Validator
from weighbridge.model_selection._linear_models import fixed_steps
from weighbridge.model_selection._losses import RowLoss, respond, row_loss
from weighbridge.model_selection._rows import SourceRows, table_rows
from weighbridge.tables import FloatArray

Split: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
Scorer: TypeAlias = Callable[..., float]


class Fold(NamedTuple):
    """Training rows and held-out rows of one split, after the fixed steps of a pipeline."""

    X: Any
    y: np.ndarray
    sample_weight: FloatArray
    X_held_out: Any
    y_held_out: np.ndarray
    held_out_weights: FloatArray
    is_kernel: bool


class FoldValidator(Validator):
    """Fits each candidate on the folds and scores it on the held-out rows."""

    def __init__(
        self,
        estimator: BaseEstimator,
        rows: SourceRows,
        splits: list[Split],
        scoring: str | Scorer,
        n_jobs: int | None,
    ) -> None:
        super().__init__(rows)
        self.splits, self.n_jobs = splits, n_jobs
        self.row_loss = row_loss(scoring, estimator)
        self._scorer: Scorer | None = None if self.row_loss is not None else get_scorer(scoring)
        self._is_kernel = bool(get_tags(estimator).input_tags.pairwise)
        # A metric of whole samples may look at the pipeline, or at the original columns.
        steps = fixed_steps(estimator) if self.row_loss is not None else None
        *self._transformers, self._last = steps or [estimator]
        # A row that is held out several times is one unit with the average loss.
        self._held_out, self._unit, self._times = np.unique(
            np.concatenate([test for _, test in splits]), return_inverse=True, return_counts=True
        )
        self._transformed: dict[int, Fold | str] = {}

    @property
    def held_out(self) -> npt.NDArray[np.intp]:
        return np.asarray(self._held_out)

    @property
    def unit_weights(self) -> FloatArray:
        weights = self.rows.unit_weights
        if self.row_loss is not None:
            return weights[self.held_out]
        return np.array([weights[test].sum() for _, test in self.splits])

    def check_metric(self, model: BaseEstimator) -> None:
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

    def outcomes(self, weights: Iterable[FloatArray]) -> Iterator[Outcome]:
        """Fit every candidate on every fold, in parallel over both."""
        metric = self._scorer if self.row_loss is None else self.row_loss
        jobs = (
            delayed(fit_fold)(self._last, self._fold(number), row[train], metric, self.rows.classes)
            for row in weights
            for number, (train, _) in enumerate(self.splits)
        )
        # This limit holds for this process and its threads. `fit_fold` sets it in other processes.
        with one_blas_thread():
            results = iter(Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs))
            while (first := next(results, None)) is not None:
                yield self._combine([first, *(next(results) for _ in self.splits[1:])])

    def _combine(self, folds: list[Any]) -> Outcome:
        """Return the losses of all folds, or the first error."""
        error = next((fold for fold in folds if isinstance(fold, str)), None)
        if error is not None:
            return error
        if self.row_loss is None:
            losses, predictions = np.array(folds, dtype=float), None
        else:
            stacked = np.concatenate(folds)
            codes = self.rows.codes[self._held_out[self._unit]]
            predictions = self._row_means(stacked)
            losses = self._row_means(self.row_loss.loss(codes, stacked))
        if np.isfinite(losses).all():
            return losses, predictions
        units = "rows" if self.row_loss is not None else "folds"
        n_bad = int((~np.isfinite(losses)).sum())
        return f"ValueError: the loss of {n_bad} of {losses.size} held-out {units} is not finite"

    def _row_means(self, values: FloatArray) -> FloatArray:
        """Average the values of each row, in the order of the rows."""
        out = np.zeros((self._held_out.size, *values.shape[1:]))
        np.add.at(out, self._unit, values)
        return out / self._times.reshape(-1, *[1] * (values.ndim - 1))

    def _fold(self, number: int) -> Fold | str:
        """Return a fold after its transformers, which are fitted once; or their error."""
        if number in self._transformed:
            return self._transformed[number]
        rows, (train, test) = self.rows, self.splits[number]
        fold: Fold | str
        try:
            if self._is_kernel:
                X, X_test = rows.X[np.ix_(train, train)], rows.X[np.ix_(test, train)]
            else:
                X, X_test = table_rows(rows.X, train), table_rows(rows.X, test)
            X, X_test = _transform(self._transformers, X, X_test)
        except Exception as error:  # noqa: BLE001 - transformers raise any exception
            fold = f"{type(error).__name__}: {error}"
        else:
            weight = rows.fit_weights(np.ones(rows.y.size))[train]
            held_out = (X_test, rows.y[test], rows.unit_weights[test])
            fold = Fold(X, rows.y[train], weight, *held_out, self._is_kernel)
        if self._transformers:
            self._transformed[number] = fold
        return fold


def _transform(transformers: list[BaseEstimator], X: Any, X_test: Any) -> tuple[Any, Any]:
    """Fit transformers to one table and apply them to both."""
    for step in transformers:
        fitted = clone(step)
        X = fitted.fit_transform(X)
        X_test = fitted.transform(X_test)
    return X, X_test


def fit_fold(
    estimator: BaseEstimator,
    fold: Fold | str,
    weights: FloatArray,
    metric: RowLoss | Scorer,
    classes: np.ndarray | None,
) -> np.ndarray | float | str:
    """Fit on one fold with weights of mean 1; return predictions, a loss, or an error."""
    if isinstance(fold, str):
        return fold
    # The caller limits the threads of its own process.
    with _one_thread() if parent_process() is not None else nullcontext():
        try:
            return _fit_fold(estimator, fold, weights, metric, classes)
        except Exception as error:  # noqa: BLE001 - estimators raise any exception
            return f"{type(error).__name__}: {error}"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Work in one thread, even if the estimator has a number of jobs of its own."""
    with one_blas_thread(), parallel_config(backend="sequential"):
        yield


def _fit_fold(
    estimator: BaseEstimator,
    fold: Fold,
    weights: FloatArray,
    metric: RowLoss | Scorer,
    classes: np.ndarray | None,
) -> np.ndarray | float:
    if not weights.any():
        raise ValueError("every row that is left to fit on has weight 0")
    X, y, X_test = fold.X, fold.y, fold.X_held_out
    total = weights / np.average(weights, weights=fold.sample_weight) * fold.sample_weight
    if fold.is_kernel and not total.all():
        # libsvm drops rows of weight 0 and then reads the wrong columns of a precomputed kernel.
        used = np.flatnonzero(total)
        X, y, X_test, total = X[np.ix_(used, used)], y[used], X_test[:, used], total[used]
    model = fit_with_weights(clone(estimator), X, y, total)
    if isinstance(metric, RowLoss):
        return respond(model, X_test, metric.response, classes)
    return -float(metric(model, X_test, fold.y_held_out, sample_weight=fold.held_out_weights))
