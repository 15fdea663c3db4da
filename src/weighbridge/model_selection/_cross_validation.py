"""Criteria that hold rows out: cross-validation and a single split."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import parent_process
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    BaseCrossValidator,
    KFold,
    StratifiedKFold,
    check_cv,
    train_test_split,
)
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from weighbridge._folds import one_blas_thread
from weighbridge._pass_weights import fit_with_weights
from weighbridge.model_selection._linear_models import fixed_steps
from weighbridge.model_selection._losses import RowLoss, default_scoring, respond, row_loss
from weighbridge.model_selection._objective import Criterion, Outcome, Seed, WeightingObjective
from weighbridge.model_selection._rows import SourceRows, table_rows

# Tables of all folds are kept up to this many numbers (480 MB); beyond, each is made anew.
MAX_KEPT_NUMBERS = 60_000_000

# Numbers of the training rows and of the held-out rows.
Split: TypeAlias = tuple[np.ndarray, ...]
Scorer: TypeAlias = Callable[..., float]


class Fold(NamedTuple):
    """Training and held-out rows of one split, after the fixed steps of a pipeline."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    X_held_out: Any
    y_held_out: np.ndarray  # as numbers, if there is a loss of each row
    held_out_weights: np.ndarray


class FoldObjective(WeightingObjective):
    """Fits each candidate on the folds and scores it on the held-out rows."""

    def __init__(
        self,
        estimator: BaseEstimator,
        rows: SourceRows,
        splits: list[Split],
        scoring: str | Scorer | None,
        n_jobs: int | None,
    ) -> None:
        scoring = default_scoring(estimator) if scoring is None else scoring
        loss = row_loss(scoring, estimator)
        self.splits, self.n_jobs = splits, n_jobs
        self._metric: RowLoss | Scorer = loss or get_scorer(scoring)
        self._is_kernel = bool(get_tags(estimator).input_tags.pairwise)
        # A metric of whole samples may look at the pipeline, or at the original columns.
        steps = fixed_steps(estimator) if loss is not None else None
        *self._transformers, self._last = steps or [estimator]
        self._transformed: dict[int, Fold] = {}
        held_out = [test for _, test in splits]
        if loss is None:
            unit_weights = np.array([rows.unit_weights[test].sum() for test in held_out])
            self._unit, self._counts = np.arange(len(splits)), np.ones(len(splits), dtype=np.intp)
        else:  # A row that is held out several times is one unit with the average loss.
            units, self._unit, self._counts = np.unique(
                np.concatenate(held_out), return_inverse=True, return_counts=True
            )
            unit_weights = rows.unit_weights[units]
        super().__init__(rows, unit_weights)

    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Fit every candidate on every fold, in parallel over both."""
        model = self._last, self._metric, self.rows.classes, self._is_kernel
        jobs = (
            delayed(score_fold)(self._fold(number), row[train], *model)
            for row in weights
            for number, (train, _) in enumerate(self.splits)
        )
        # The limit holds for this process and its threads. `score_fold` sets it in others.
        with one_blas_thread():
            results = iter(Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs))
            for losses in zip(*[results] * len(self.splits), strict=True):
                error = next((fold for fold in losses if isinstance(fold, str)), None)
                yield self._unit_losses(losses) if error is None else error

    def _unit_losses(self, losses: Sequence[np.ndarray]) -> Outcome:
        """Average the losses of each unit, in the order of the rows."""
        units = np.bincount(self._unit, np.concatenate(losses)) / self._counts
        n_bad = np.count_nonzero(~np.isfinite(units))
        if n_bad:
            return f"ValueError: {n_bad} of {units.size} held-out losses are NaN or infinite"
        return np.asarray(units)

    def _fold(self, number: int) -> Fold | str:
        """Return a fold after its transformers, which are fitted once; or their error."""
        if number in self._transformed:
            return self._transformed[number]
        rows, (train, test) = self.rows, self.splits[number]
        try:
            X, X_held_out = self._tables(train, test)
        except Exception as error:  # noqa: BLE001 - transformers raise any exception
            return f"{type(error).__name__}: {error}"
        counts = rows.fit_weights(np.ones(rows.y.size))[train]
        labels = rows.codes if isinstance(self._metric, RowLoss) else rows.y
        held_out = X_held_out, labels[test], rows.unit_weights[test]
        fold = Fold(X, rows.y[train], counts, *held_out)
        if self._transformers and np.prod(X.shape) * len(self.splits) <= MAX_KEPT_NUMBERS:
            self._transformed[number] = fold
        return fold

    def _tables(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        """Return the features of the rows to fit on, and of those that are held out."""
        X = self.rows.X
        if self._is_kernel:
            return X[np.ix_(train, train)], X[np.ix_(test, train)]
        X, X_held_out = table_rows(X, train), table_rows(X, test)
        for step in self._transformers:
            fitted = clone(step)
            X, X_held_out = fitted.fit_transform(X), fitted.transform(X_held_out)
        return X, X_held_out


def score_fold(
    fold: Fold | str,
    weights: np.ndarray,
    estimator: BaseEstimator,
    metric: RowLoss | Scorer,
    classes: np.ndarray | None,
    is_kernel: bool,
) -> np.ndarray | str:
    """Return the losses of the held-out rows, the loss of the fold, or an error."""
    if isinstance(fold, str):
        return fold
    with ExitStack() as stack:
        if parent_process() is not None:  # The caller limits the threads of its own process.
            stack.enter_context(one_blas_thread())
            stack.enter_context(parallel_config(backend="sequential"))
        try:
            model, X = _fit_fold(fold, weights, estimator, is_kernel)
            if isinstance(metric, RowLoss):
                return metric.loss(fold.y_held_out, respond(model, X, metric.response, classes))
            score = metric(model, X, fold.y_held_out, sample_weight=fold.held_out_weights)
            return np.array([-float(score)])
        except Exception as error:  # noqa: BLE001 - estimators raise any exception
            return f"{type(error).__name__}: {error}"


def _fit_fold(
    fold: Fold, weights: np.ndarray, estimator: BaseEstimator, is_kernel: bool
) -> tuple[BaseEstimator, Any]:
    """Fit with weights scaled to mean 1; return the model and the features to predict from."""
    if not weights.any():
        raise ValueError("every row that is left to fit on has weight 0")
    X, y, X_held_out = fold.X, fold.y, fold.X_held_out
    total = weights / np.average(weights, weights=fold.sample_weight) * fold.sample_weight
    if is_kernel and not total.all():
        # libsvm drops rows of weight 0 and then reads the wrong columns of a kernel matrix.
        used = np.flatnonzero(total)
        X, y, total = X[np.ix_(used, used)], y[used], total[used]
        X_held_out = X_held_out[:, used]
    return fit_with_weights(clone(estimator), X, y, total), X_held_out


class CrossValidation(Criterion):
    """Importance-weighted cross-validation (Sugiyama et al. 2007).

    The model of each fold is fitted with the candidate's weights on the other folds. Its losses on
    the held-out rows are averaged with validation weights, so that they represent the target.

    Parameters
    ----------
    cv : int or splitter, default=5
        Number of folds (shuffled, stratified for a classifier), or a scikit-learn splitter.
    scoring : str or scorer, optional
        As in scikit-learn; its metric must take ``sample_weight``. Default: squared error, of
        probabilities (the Brier score) or of margins for classifiers.
    validation : weighting, optional
        Weights of the losses: `RIWERM(0.9)` (the default, at most 10 for a row of weight 1),
        `Tempered()`, or `IWERM()` for the ratio itself, which is consistent and has a large
        variance.
    random_state : int, RandomState instance or None
        Seed for the folds.

    Notes
    -----
    Metrics that are means over rows (squared, absolute and Poisson errors, log loss, Brier score,
    accuracy) give one loss for each row; any other gives one for each fold.
    A row that is held out several times, by repeated folds, is one unit with the average loss.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.model_selection import CrossValidation
    >>> data = make_quadratic(random_state=0)
    >>> rows = LinearRegression(), data.X, data.y, data.log_ratio
    >>> plain, full = (CrossValidation(random_state=0)(*rows, lam * rows[-1]) for lam in (0, 1))
    >>> full.value < plain.value
    True
    """

    def __init__(
        self,
        cv: int | BaseCrossValidator = 5,
        *,
        scoring: str | Scorer | None = None,
        validation: BaseEstimator | None = None,
        random_state: Seed = None,
    ) -> None:
        self.cv = cv
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> FoldObjective:
        cv, has_classes = self.cv, is_classifier(estimator)
        if isinstance(cv, Integral):
            kind = StratifiedKFold if has_classes else KFold
            seed = seed if self.random_state is None else self.random_state
            cv = kind(int(cv), shuffle=True, random_state=seed)
        splitter = check_cv(cv, rows.y, classifier=has_classes)
        with warnings.catch_warnings():
            # Folds without a class of few rows give it probability 0.
            warnings.filterwarnings("ignore", message="The least populated class", module="sklearn")
            splits = [tuple(map(np.asarray, split)) for split in splitter.split(rows.X, rows.y)]
        if rows.numbers is not None and cv is not None and not hasattr(cv, "split"):
            # Given splits have the row numbers of the caller's table.
            splits = [
                tuple(np.flatnonzero(np.isin(rows.numbers, side)) for side in split)
                for split in splits
            ]
        return FoldObjective(estimator, rows, splits, self.scoring, n_jobs)


class HoldOut(Criterion):
    """Importance-weighted loss on held-out source rows: the paper's ``L(h; lam, alpha)``.

    Cheaper than `CrossValidation`, with a much larger variance: on 1,000 rows of the paper's toy
    problem it has three times the excess risk of five folds.

    Parameters
    ----------
    test_size : float or int, default=0.2
        Share or number of the rows to hold out.
    scoring, validation
        As in `CrossValidation`; the paper's validation is `IWERM()`, the ratio itself.
    random_state : int, RandomState instance or None
        Seed for the split.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import HoldOut
    >>> data = make_cubic(random_state=0)
    >>> HoldOut()(LinearRegression(), data.X, data.y, data.log_ratio, data.log_ratio).losses.shape
    (20,)
    """

    def __init__(
        self,
        test_size: float = 0.2,
        *,
        scoring: str | Scorer | None = None,
        validation: BaseEstimator | None = None,
        random_state: Seed = None,
    ) -> None:
        self.test_size = test_size
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> FoldObjective:
        _, counts = np.unique(rows.y, return_counts=True)
        train, test = train_test_split(
            np.arange(rows.y.size),
            test_size=self.test_size,
            random_state=seed if self.random_state is None else self.random_state,
            stratify=rows.y if is_classifier(estimator) and counts.min() > 1 else None,
        )
        return FoldObjective(estimator, rows, [(train, test)], self.scoring, n_jobs)
