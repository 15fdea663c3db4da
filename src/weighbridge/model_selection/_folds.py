"""Fits on folds: any estimator, any metric of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import parent_process
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
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

# Tables of all folds are kept up to this many numbers (480 MB); beyond, each is made anew.
MAX_KEPT_NUMBERS = 60_000_000

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
Scorer: TypeAlias = Callable[..., float]


class Fold(NamedTuple):
    """One split after the fixed steps of a pipeline, with the last step and the metric."""

    estimator: BaseEstimator
    metric: RowLoss | Scorer
    classes: np.ndarray | None
    is_kernel: bool
    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    X_held_out: Any
    y_held_out: np.ndarray
    held_out_weights: np.ndarray

    def score(self, weights: np.ndarray) -> np.ndarray | float:
        """Fit with weights of mean 1; return held-out predictions, or the loss of the fold."""
        if not weights.any():
            raise ValueError("every row that is left to fit on has weight 0")
        X, y, X_test = self.X, self.y, self.X_held_out
        total = weights / np.average(weights, weights=self.sample_weight) * self.sample_weight
        if self.is_kernel and not total.all():
            # libsvm drops rows of weight 0 and then reads the wrong columns of a kernel matrix.
            used = np.flatnonzero(total)
            X, y, X_test, total = X[np.ix_(used, used)], y[used], X_test[:, used], total[used]
        model = fit_with_weights(clone(self.estimator), X, y, total)
        if isinstance(self.metric, RowLoss):
            return respond(model, X_test, self.metric.response, self.classes)
        loss = -self.metric(model, X_test, self.y_held_out, sample_weight=self.held_out_weights)
        return float(loss)


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
        self._metric: RowLoss | Scorer = self.row_loss or get_scorer(scoring)
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
    def held_out(self) -> NDArray[np.intp]:
        return np.asarray(self._held_out)

    @property
    def unit_weights(self) -> np.ndarray:
        weights = self.rows.unit_weights
        if self.row_loss is not None:
            return weights[self.held_out]
        return np.array([weights[test].sum() for _, test in self.splits])

    def check_metric(self, model: BaseEstimator) -> None:
        if isinstance(self._metric, RowLoss):
            return
        rows = self.rows
        try:
            self._metric(model, rows.X, rows.y, sample_weight=rows.unit_weights)
        except ValueError:
            return  # The rows that count may lack a class; candidates report their own failures.
        except TypeError as error:
            raise TypeError(
                f"Got a metric that cannot be weighted ({error}). It needs a signature such as "
                "metric(y_true, y_pred, sample_weight=None), made a scorer by "
                "sklearn.metrics.make_scorer(metric, greater_is_better=False)."
            ) from error

    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Fit every candidate on every fold, in parallel over both."""
        jobs = (
            delayed(score_fold)(self._fold(number), row[train])
            for row in weights
            for number, (train, _) in enumerate(self.splits)
        )
        # The limit holds for this process and its threads. `score_fold` sets it in others.
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

    def _row_means(self, values: np.ndarray) -> np.ndarray:
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
            for step in self._transformers:
                fitted = clone(step)
                X, X_test = fitted.fit_transform(X), fitted.transform(X_test)
        except Exception as error:  # noqa: BLE001 - transformers raise any exception
            fold = f"{type(error).__name__}: {error}"
        else:
            how = (self._last, self._metric, rows.classes, self._is_kernel)
            sample_weight = rows.fit_weights(np.ones(rows.y.size))[train]
            held_out = (X_test, rows.y[test], rows.unit_weights[test])
            fold = Fold(*how, X, rows.y[train], sample_weight, *held_out)
        size = int(np.prod(getattr(X, "shape", (0,)))) if not isinstance(fold, str) else 0
        if self._transformers and size * len(self.splits) <= MAX_KEPT_NUMBERS:
            self._transformed[number] = fold
        return fold


def score_fold(fold: Fold | str, weights: np.ndarray) -> np.ndarray | float | str:
    """Return the score of a fold, or its error."""
    if isinstance(fold, str):
        return fold
    # The caller limits the threads of its own process.
    with _one_thread() if parent_process() is not None else nullcontext():
        try:
            return fold.score(weights)
        except Exception as error:  # noqa: BLE001 - estimators raise any exception
            return f"{type(error).__name__}: {error}"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Work in one thread, even if the estimator has a number of jobs of its own."""
    with one_blas_thread(), parallel_config(backend="sequential"):
        yield
