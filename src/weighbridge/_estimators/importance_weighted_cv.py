"""An estimator fitted with importance weights that are chosen for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, column_or_1d

from weighbridge._estimators.base import (
    FittedRows,
    WeightedEstimator,
    refuse_text,
    share_beyond,
    tables_in_memory,
)
from weighbridge._estimators.choice import SharedFits, average_model, check_answer, form_answer
from weighbridge._estimators.guard import MIN_ROWS_PER_PARAMETER, Choice, warn_of_choice
from weighbridge._findings import SearchProgress, users_line
from weighbridge._pass_weights import count_parameters, weight_parameter
from weighbridge.domain import share_outside
from weighbridge.exceptions import SearchWarning
from weighbridge.label_shift import ratio_by_kind
from weighbridge.model_selection import (
    Bounds,
    DefaultCriterion,
    Evaluation,
    GridSearch,
    Objective,
    SearchResult,
    WeightingObjective,
    canonical,
    evaluate_points,
    few_points,
)
from weighbridge.ratios import (
    OverlapJudgement,
    effective_sample_size,
    judge_weights,
    source_log_ratio,
)
from weighbridge.tables import check_sample_weight, unmasked
from weighbridge.weighting import Geodesic, mean_one_log_ratio, source_weights

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for an estimator that knows no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method


_SURFACE = GridSearch(lam=21, alpha=5)


class ImportanceWeightedCV(CallbackSupportMixin, WeightedEstimator):
    """Any scikit-learn estimator, fitted for a target distribution with weights chosen for it.

    The tuned twin of `ImportanceWeighted`: (lam, alpha) is searched by a held-out loss that
    represents the target, and weights are used only where they are worth it. Where the gain over no
    weights is within noise, or the two samples hardly overlap, the answer is no weights.

    Parameters
    ----------
    estimator, ratio
        As in `ImportanceWeighted`.
    criterion : criterion, optional
        What a weighting is judged by; see `weighbridge.model_selection`. Default: the cheapest that
        is valid: `LeaveOneOut` for linear, ridge, binary logistic and Poisson regression (and
        pipelines of fixed transformers that end in one) up to 20,000 rows, else `CrossValidation`.
    search : search, optional
        Which weightings are tried; see `weighbridge.model_selection`. Default: a grid for the
        models above, else three: no weights, the full ratio and RIWERM(0.5). More gain next to
        nothing; see the guide.
    lam_bounds, alpha_bounds : (float, float)
        Where to search; default lam in [0, 1], alpha in [1, 3].
    answer : {"stack", "guard", "argmin"}, default="stack"
        How the answer is formed from the candidates. "stack": the average of a few models whose
        combined held-out predictions lose least. "guard": the single best one. Both fall back to no
        weights unless they gain more than half a standard error over none. Where a third of the
        target has a far larger ratio than nearly all source rows, it takes two standard errors, and
        two effective rows for each parameter; where a third lies outside the source, nothing is
        tried. "argmin": the single best one, without any guard. Criteria without held-out
        predictions for rows (information criteria, metrics on whole folds) use "guard" for "stack".
    n_jobs : int, optional
        Fits run in parallel, by joblib and its backends; the result does not depend on it.
    random_state : int, RandomState instance or None
        Seed for the folds, and for all parts of the estimator that have none.
    verbose : int, optional
        0 is silent, 1 shows progress. Default: progress on a terminal after two seconds of search.
    shift : {"covariate", "label", "auto"}, default="covariate"
        What changed: the features, met by a ratio in them; the mix of classes, met by weights by
        class (`weighbridge.label_shift.LabelRatio`); or whichever held-out rows point to, for
        classifiers without their own `ratio` (`weighbridge.label_shift.kind_of_shift`).

    Attributes
    ----------
    estimator_ : estimator
        The fitted inner estimator, or the average of several: for linear and ridge regressions one
        with averaged coefficients, for others an object with the fits in ``models`` and their
        ``shares``. ``answer="guard"`` always gives a single one.
    best_weighting_ : Geodesic
        The chosen weighting; in a stack, the one with the largest share.
    mixture_ : list of (Geodesic, float)
        All weightings that `estimator_` is made of, with their shares.
    reason_ : str
        Why, in one line: what the candidates gain over no weights, and whether it is enough.
    search_result_ : SearchResult
        The whole surface: every candidate with its loss and standard error, those that failed, and
        which cannot be told apart from the best.
    overlap_ : {"enough", "thin", "broken"}
        How far the source rows cover the target, judged for the inner estimator: the same word as
        in `weighbridge.diagnose` and `weighbridge.assess`. See the notes for a ratio that was
        already fitted.
    shift_ : ShiftKind or None
        The kind of shift that ``shift="auto"`` found.
    log_ratio_ : ndarray of shape (n_samples,)
        Log density ratio at the source rows, scaled to a mean ratio of 1.
    weights_ : ndarray of shape (n_samples,)
        Importance weight of each source row under `best_weighting_`, with mean 1.
    ess_ : float
        Effective sample size of these weights multiplied by ``sample_weight``.
    ratio_, n_features_in_, feature_names_in_
        As in `ImportanceWeighted`.

    See Also
    --------
    ImportanceWeighted : The same with a weighting that you choose.
    weighbridge.plotting.BridgeDisplay : A picture of the search.

    Notes
    -----
    The loss of the chosen weighting in `search_result_` is the smallest of many, and flatters it.
    A `weighbridge.exceptions.OverlapWarning` says when overlap is broken (WB302), and when it has
    changed the choice: a third of the target has a far larger ratio than nearly all source rows.
    Its code follows `overlap_`: WB301 where it is thin, WB302 where it is broken, else WB304.

    The rows outside the source are counted where ``fit`` gets ``X_target``. A ratio fitted
    before remembers how many target rows had a far larger ratio than nearly all source rows; a
    known one has no such count, so `weighbridge.diagnose` may see more.

    It holds rows out, so scikit-learn's ``check_estimator`` needs ``expected_failed_checks``; the
    guide to `weighbridge.ImportanceWeighted` lists them with the reasons.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> model = ImportanceWeightedCV(LinearRegression(), random_state=0)
    >>> model = model.fit(data.X, data.y, X_target=data.X_target)
    >>> plain = LinearRegression().fit(data.X, data.y)
    >>> data.problem.mse(model.estimator_) < 0.1 * data.problem.mse(plain)
    True
    >>> model.best_weighting_.lam > 0.5
    True

    The paper's procedure, with all its variance:

    >>> from weighbridge.model_selection import BayesianSearch, HoldOut
    >>> from weighbridge.weighting import IWERM
    >>> model = ImportanceWeightedCV(
    ...     LinearRegression(),
    ...     criterion=HoldOut(validation=IWERM()),
    ...     search=BayesianSearch(25, coordinates="plain", tol=0),
    ...     answer="argmin",
    ...     random_state=0,
    ... ).fit(data.X, data.y, X_target=data.X_target)
    >>> len(model.search_result_.evaluations)
    25
    """

    _single_output = True

    def __init__(
        self,
        estimator: Any,
        ratio: Any = None,
        *,
        criterion: Any = None,
        search: Any = None,
        lam_bounds: tuple[float, float] = (0.0, 1.0),
        alpha_bounds: tuple[float, float] = (1.0, 3.0),
        answer: str = "stack",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        shift: str = "covariate",
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.criterion = criterion
        self.search = search
        self.lam_bounds = lam_bounds
        self.alpha_bounds = alpha_bounds
        self.answer = answer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.shift = shift

    @with_callbacks
    @np.errstate(under="ignore")
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None
    ) -> ImportanceWeightedCV:
        """Estimate the ratio, choose the weighting, fit the inner estimator with it.

        Parameters
        ----------
        X, y, X_target
            As in `ImportanceWeighted.fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Your weights for the source rows. They multiply the weights in fitting and validation,
            and 0 leaves a row out; the ratio itself compares the two samples as they are.

        Returns
        -------
        ImportanceWeightedCV
            The fitted object.
        """
        X, X_target = tables_in_memory(X, X_target)
        y = _labels(unmasked(y, "y"), self)
        check_parts(self.criterion, self.search)
        bounds = Bounds(self.lam_bounds, self.alpha_bounds)
        check_answer(self.answer, bounds.lam)
        fold_seed, estimator_seed = _seeds(self.random_state)
        estimator = seeded(clone(self.estimator), estimator_seed)
        weight_parameter(estimator)  # Fails before the work if there is none.
        sample_weight = check_sample_weight(sample_weight, _num_samples(X))
        by_kind = ratio_by_kind(self, X, X_target, y)
        ratio = by_kind.ratio if by_kind else self._fitted_ratio(X, X_target, y)
        raw = source_log_ratio(ratio, X, sample_weight, y)
        log_ratio = mean_one_log_ratio(raw, sample_weight)
        by_label = hasattr(ratio, "score_labels")
        outside = _known_outside(X, X_target, sample_weight)
        choice = _choice(ratio, log_ratio, sample_weight, outside)
        # what the estimator refuses, whatever the weights, it refuses here in its own words
        shared = self._shared or SharedFits()
        unweighted = shared.model(estimator, X, y, sample_weight)
        refuse_text(unweighted, X, ratio)
        make = partial(self._objective, estimator, X, y, log_ratio, sample_weight, fold_seed)
        # the default criterion is the same for others of this kind
        kept = shared if self.criterion is None else SharedFits()
        objective = kept.objective(estimator, log_ratio, fold_seed, make)
        unweighted_only = choice is Choice.UNWEIGHTED or _is_constant(log_ratio, sample_weight)
        if unweighted_only and self.answer != "argmin":
            none = canonical((0.0, 1.0), bounds)
            result = SearchResult(tuple(objective.evaluate([none])), objective.unit_weights)
        else:
            has_folds = hasattr(objective, "splits")
            is_closed_form = isinstance(objective, WeightingObjective) and not has_folds
            result = self._searched(objective, bounds, by_label, is_closed_form)
        guarded = choice is not Choice.FREE and self.answer != "argmin"
        n_parameters = count_parameters(unweighted, _n_columns(X))
        usable = _with_rows(result, log_ratio, sample_weight, n_parameters) if guarded else result
        # weights of classes are right or wrong as a whole: a part of them is neither
        form = "guard" if self.answer == "stack" and by_label else self.answer
        answer = form_answer(form, objective, usable, guarded=guarded)
        weightings = [Geodesic(*usable.evaluations[index].point) for index in answer.indices]
        weights = [source_weights(each, log_ratio, sample_weight) for each in weightings]
        delivered = weights if sample_weight is None else [sample_weight * row for row in weights]
        weighted = [each.lam > 0 for each in weightings]
        # where there are none, it is the very fit without any
        used = [row if by else sample_weight for by, row in zip(weighted, delivered, strict=True)]
        models = [shared.model(estimator, X, y, row) for row in used]
        model = average_model(models, answer.shares)
        overlap = _overlap(ratio, outside, log_ratio, sample_weight, n_parameters)

        self.ratio_, self.log_ratio_, self.overlap_ = ratio, log_ratio, overlap.word
        self.shift_ = by_kind and by_kind.kind
        self.estimator_, self.search_result_ = model, result
        self.mixture_ = list(zip(weightings, answer.shares.tolist(), strict=True))
        self.reason_ = answer.reason
        self._fitted_rows = FittedRows(X, sample_weight)
        largest = int(np.argmax(answer.shares))
        self.best_weighting_, self.weights_ = weightings[largest], weights[largest]
        self.ess_ = effective_sample_size(delivered[largest])
        self._copy_features()
        warn_of_choice(overlap, choice, self.answer, weighted=any(weighted))
        return self

    def _objective(
        self, estimator: Any, X: Any, y: Any, log_ratio: Any, sample_weight: Any, seed: int
    ) -> Objective:
        """Return the criterion on these rows: the cheapest that is valid, if none is named."""
        criterion = DefaultCriterion() if self.criterion is None else self.criterion
        options = {"n_jobs": self.n_jobs, "random_state": seed}
        return criterion.objective(estimator, X, y, log_ratio, sample_weight, **options)

    def _searched(
        self, objective: Objective, bounds: Bounds, by_label: bool, is_closed_form: bool
    ) -> SearchResult:
        """Search, show progress, and warn of candidates that failed."""
        search = self.search
        if search is None and is_closed_form and not by_label:
            search = _SURFACE
        progress = SearchProgress(self.verbose, self)
        try:
            if search is None:
                points = few_points(bounds, 2 if by_label else 3)
                result = evaluate_points(objective, points, progress.listener)
            else:
                result = search(objective, bounds, progress=progress.listener)
        finally:
            progress.close()
        if result.failures:
            point, message = result.failures[0]
            warnings.warn(
                f"{len(result.failures)} of {len(result.evaluations)} candidates failed and were "
                f"left out, the first (lam={point.lam:g}, alpha={point.alpha:g}) with: {message}. "
                "search_result_.failures lists them all.",
                SearchWarning,
                stacklevel=users_line(),
            )
        return result


def check_parts(criterion: Any, search: Any) -> None:
    """Refuse what is no criterion or no search, before any work."""
    for name, part, usable, example in (
        ("criterion", criterion, hasattr(criterion, "objective"), "CrossValidation()"),
        ("search", search, callable(search), "BayesianSearch(15)"),
    ):
        if part is not None and (isinstance(part, type) or not usable):
            raise TypeError(
                f"Got {name}={part!r}, but expected an object such as "
                f"weighbridge.model_selection.{example}."
            )


def _labels(y: Any, model: Any) -> np.ndarray:
    """Return one label a row; say so where they came as a column."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: it holds "
            "the labels of the source rows."
        )
    labels = column_or_1d(y)
    if np.asarray(y).ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one label "
            "for each row. Pass y.ravel() to say so yourself.",
            DataConversionWarning,
            stacklevel=users_line(),
        )
    return labels


def _known_outside(X: Any, X_target: Any, sample_weight: np.ndarray | None) -> float | None:
    """Return the share of the target rows outside the source; None where it cannot be known."""
    if X_target is not None:
        with suppress(TypeError, ValueError):  # a table that only a pipeline of the ratio can read
            return share_outside(X, X_target, sample_weight)
    return None


def _choice(
    ratio: Any, log_ratio: np.ndarray, sample_weight: np.ndarray | None, outside: float | None
) -> Choice:
    """Return how freely to choose a weighting; an estimated ratio remembers what lies beyond."""
    counts = np.ones(log_ratio.size) if sample_weight is None else sample_weight[sample_weight > 0]
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    return Choice.of(outside, share_beyond(ratio), counts * np.exp(used - used.max()), counts)


def _with_rows(
    result: SearchResult,
    log_ratio: np.ndarray,
    sample_weight: np.ndarray | None,
    n_parameters: int,
) -> SearchResult:
    """Leave out weightings with too few effective rows for the parameters of the model."""

    def n_rows(each: Evaluation) -> float:
        weights = source_weights(Geodesic(*each.point), log_ratio, sample_weight)
        return effective_sample_size(weights if sample_weight is None else sample_weight * weights)

    fewest = MIN_ROWS_PER_PARAMETER * n_parameters
    kept = [each for each in result.evaluations if each.point.lam == 0 or n_rows(each) >= fewest]
    return replace(result, evaluations=tuple(kept))


def _overlap(
    ratio: Any,
    outside: float | None,
    log_ratio: np.ndarray,
    sample_weight: np.ndarray | None,
    n_parameters: int,
) -> OverlapJudgement:
    """Judge the overlap, by what `diagnose` and `assess` look at as well."""
    beyond = share_beyond(ratio)
    weights = source_weights(Geodesic(), log_ratio, sample_weight)
    if sample_weight is not None:
        used = sample_weight > 0
        sample_weight, weights = sample_weight[used], (sample_weight * weights)[used]
    outside = beyond if outside is None else outside
    return judge_weights(weights, outside, n_parameters, sample_weight, beyond=beyond)


def _n_columns(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return int(shape[1]) if len(shape) > 1 else 1


def _is_constant(log_ratio: np.ndarray, sample_weight: np.ndarray | None) -> bool:
    """True where no shift was found: all weightings are one."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    return bool(used.min() == used.max())


def _seeds(random_state: Any) -> list[int]:
    """Return seeds for the folds and for the estimator."""
    rng = check_random_state(random_state)
    # the second of three was a search's once; an estimator keeps its own
    return [int(rng.randint(2**31 - 1)) for _ in range(3)][::2]


def seeded(estimator: Any, seed: int) -> Any:
    """Give every part of an estimator that has no seed one: candidates differ by weights only."""
    rng = np.random.RandomState(seed)
    unset = {
        name: int(rng.randint(2**31 - 1))
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unset)
