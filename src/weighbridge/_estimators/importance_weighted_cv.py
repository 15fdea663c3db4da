"""An estimator fitted with importance weights that are chosen for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, column_or_1d

from weighbridge._estimators.base import WeightedEstimator, refuse_text, tables_in_memory
from weighbridge._estimators.fitted_rows import FittedRows
from weighbridge._estimators.guard import (
    check_answer,
    check_units,
    choose,
    judge_samples,
    warn_of_overlap,
)
from weighbridge._findings import SearchProgress, users_line
from weighbridge._pass_weights import count_parameters, fit_with_weights, weight_parameter
from weighbridge.exceptions import SearchWarning
from weighbridge.label_shift import ratio_by_kind
from weighbridge.model_selection import (
    Bounds,
    DefaultCriterion,
    SearchResult,
    evaluate_points,
    few_points,
)
from weighbridge.ratios import effective_sample_size, source_log_ratio
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


class ImportanceWeightedCV(CallbackSupportMixin, WeightedEstimator):
    """Any scikit-learn estimator, fitted for a target distribution with weights chosen for it.

    The tuned twin of `ImportanceWeighted`: a few weightings, or as many as `search` proposes, are
    compared by a held-out loss that represents the target. Weights are used only if they are worth
    it: no weights are the answer if the gain is within noise or the two samples hardly overlap.

    Parameters
    ----------
    estimator, ratio
        As in `ImportanceWeighted`.
    criterion : criterion, optional
        What a weighting is judged by; see `weighbridge.model_selection`. Default: the cheapest that
        is valid: `LeaveOneOut` for linear, ridge, binary logistic and Poisson regression (and
        pipelines of fixed transformers that end in one) up to 20,000 rows, else `CrossValidation`.
    search : search, optional
        Which weightings are tried; see `weighbridge.model_selection`. Default: no weights, the full
        ratio, half the power (``Geodesic(0.5, 1)``) and half the relative ratio (``RIWERM(0.5)``).
        Under label shift, no weights and the full ratio. More gain next to nothing; see the guide.
    lam_bounds, alpha_bounds : (float, float)
        Where to search; default lam in [0, 1], alpha in [1, 3].
    answer : {"guard", "argmin"}, default="guard"
        "guard": the candidate with the smallest held-out loss if it gains more than half a standard
        error over no weights, else no weights. Nothing is tried if overlap is thin or broken
        (except under label shift), or if the samples hardly differ. "argmin": the smallest loss,
        without any guard.
    n_jobs : int, optional
        Fits run in parallel, by joblib and its backends; the result does not depend on it.
    random_state : int, RandomState instance or None
        Seed for the folds, and for all parts of the estimator that have none.
    verbose : int, optional
        0 is silent, 1 shows progress. Default: progress on a terminal after two seconds of search.
    shift : {"auto", "covariate", "label"}, default="auto"
        What changed: the features, corrected by a ratio in them; the class prevalences, corrected
        by weights for each class (`weighbridge.label_shift.LabelRatio`); or whichever held-out rows
        point to, for classifiers without their own `ratio`
        (`weighbridge.label_shift.kind_of_shift`).

    Attributes
    ----------
    estimator_ : estimator
        The fitted inner estimator.
    best_weighting_ : Geodesic
        The chosen weighting.
    reason_ : str
        Why, in a sentence.
    search_result_ : SearchResult or None
        Every candidate with its loss and standard error, those that failed, and which are not
        significantly worse than the best. None if nothing was tried.
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
    The loss of the chosen weighting in `search_result_` is the smallest of many and too optimistic.
    A `weighbridge.exceptions.OverlapWarning` names thin (WB301) and broken (WB302) overlap.

    The rows outside the source are counted if ``fit`` gets ``X_target``. With a ratio that was
    fitted before, only the effective sample size is judged, so `weighbridge.diagnose` may see more.

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
        answer: str = "guard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        shift: str = "auto",
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
        sample_weight = check_sample_weight(sample_weight, _num_samples(X))
        estimator, bounds, seed = self._checked()
        ratio, kind = self._ratio_for_shift(X, X_target, y)
        log_ratio = mean_one_log_ratio(source_log_ratio(ratio, X, sample_weight, y), sample_weight)
        # What the estimator refuses whatever the weights, it refuses here in its own words.
        model = fit_with_weights(clone(estimator), X, y, sample_weight)
        refuse_text(model, X, ratio)
        n_parameters = count_parameters(model, _n_columns(X))
        overlap, reason = judge_samples(ratio, X, X_target, log_ratio, sample_weight, n_parameters)
        weighting, result = Geodesic(lam=0.0), None
        if not reason or self.answer == "argmin":
            criterion = self.criterion or DefaultCriterion()
            options = {"n_jobs": self.n_jobs, "random_state": seed}
            objective = criterion.objective(estimator, X, y, log_ratio, sample_weight, **options)
            result = self._search(objective, bounds, by_label=hasattr(ratio, "score_labels"))
            weighting, reason = choose(result, self.answer)
        weights = source_weights(weighting, log_ratio, sample_weight)
        delivered = weights if sample_weight is None else sample_weight * weights
        if weighting.lam > 0:
            model = fit_with_weights(clone(estimator), X, y, delivered)
        fitted_rows, ess = FittedRows(X, sample_weight), effective_sample_size(delivered)
        self.estimator_, self.ratio_, self.shift_ = model, ratio, kind
        self.best_weighting_, self.reason_, self.search_result_ = weighting, reason, result
        self.overlap_, self.log_ratio_, self.weights_ = overlap.word, log_ratio, weights
        self.ess_, self._fitted_rows = ess, fitted_rows
        self._copy_features()
        warn_of_overlap(overlap, is_searched=result is not None)
        return self

    def _checked(self) -> tuple[Any, Bounds, int]:
        """Check the parameters; return the seeded estimator, the bounds and a seed for folds."""
        is_criterion = hasattr(self.criterion, "objective")
        for name, part, is_usable, example in (
            ("criterion", self.criterion, is_criterion, "CrossValidation()"),
            ("search", self.search, callable(self.search), "BayesianSearch(15)"),
        ):
            if part is not None and (isinstance(part, type) or not is_usable):
                raise TypeError(
                    f"Got {name}={part!r}, but expected an object such as "
                    f"weighbridge.model_selection.{example}."
                )
        bounds = Bounds(self.lam_bounds, self.alpha_bounds)
        check_answer(self.answer, bounds.lam)
        rng = check_random_state(self.random_state)
        fold_seed, estimator_seed = (int(rng.randint(2**31 - 1)) for _ in range(2))
        estimator = seeded(clone(self.estimator), estimator_seed)
        weight_parameter(estimator)  # Fails before the work if there is none.
        return estimator, bounds, fold_seed

    def _ratio_for_shift(self, X: Any, X_target: Any, y: np.ndarray) -> tuple[Any, Any]:
        """Return the fitted ratio for the kind of shift, and the kind if it was judged."""
        by_kind = ratio_by_kind(self, X, X_target, y)
        if by_kind is None:
            return self._fitted_ratio(X, X_target, y), None
        return by_kind.ratio, by_kind.kind

    def _search(self, objective: Any, bounds: Bounds, *, by_label: bool) -> SearchResult:
        """Search, show progress, and warn of candidates that failed."""
        if self.answer == "guard":
            check_units(objective.unit_weights)
        progress = SearchProgress(self.verbose, self)
        try:
            if self.search is None:
                points = few_points(bounds, by_label=by_label)
                result = evaluate_points(objective, points, progress.listener)
            else:
                result = self.search(objective, bounds, progress=progress.listener)
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


def _n_columns(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return int(shape[1]) if len(shape) > 1 else 1


def seeded(estimator: Any, seed: int) -> Any:
    """Give every part of an estimator that has no seed one: candidates differ by weights only."""
    rng = np.random.RandomState(seed)
    unset = {
        name: int(rng.randint(2**31 - 1))
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unset)
