"""Learning from positive and unlabelled rows, for a target distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from weighbridge import tables
from weighbridge._estimators import FittedRows, WeightedEstimator, choose
from weighbridge._findings import Estimate
from weighbridge.domain import CrossFittedDomain, DomainRows
from weighbridge.model_selection import Evaluation, Point, Search
from weighbridge.ratios import effective_sample_size, source_log_ratio, warn_if_untrustworthy
from weighbridge.weighting import (
    RIWERM,
    Geodesic,
    log_mean,
    mean_one_log_ratio,
    source_log_weight,
    weighting_or_default,
)

__all__ = ["PositiveUnlabeled"]

# Solvers that accept weights of any sign.
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
# Best bin estimation: the half-width of a share at confidence 0.9, for twice the rows, and the
# shares of positives above the threshold that are tried.
MARGIN, LEVELS = np.sqrt(np.log(4 / 0.1)) / 2, np.arange(1, 101) / 100


class PositiveUnlabeled(ClassifierMixin, WeightedEstimator):  # type: ignore[misc, unused-ignore]
    """A classifier from positive and unlabelled rows, fitted for a target distribution.

    With the ratio ``r`` of the target to the unlabelled rows, and the share ``prior`` of positives
    among the latter, the target risk of a score g is ``prior E_P[r (l(g) - l(-g))] + E_U[r l(-g)]``
    (Sakai & Shimizu 2019). In fitting, ``w^(lam, alpha)`` replaces r.

    Parameters
    ----------
    estimator : LogisticRegression, or a pipeline that ends in one, optional
        Default: squared loss, in closed form. Others cannot handle weights below 0.
    ratio : str or density ratio, optional
        As in `ImportanceWeighted`, of the target to the unlabelled rows.
    weighting : Geodesic, callable with ``get_params`` or search, optional
        Default ``RIWERM(0.5)``. A search takes the one of smallest cross-validated `risk`, and
        weights only if they gain half a standard error.
    prior : float, optional
        Default: estimated from positives that look like no negative (see the guide).
    features : {"linear", "fourier"} or transformer, default="linear"
        For squared loss: standardised columns, 100 random Fourier features of them, or your own.
    ridge : float, default=0.01
        Penalty on the squared coefficients, added to the mean squared loss.
    non_negative : bool, default=True
        Keep the estimated risk of negatives at 0 or above, as the true one is (Kiryo et al. 2017).
    random_state : int, RandomState instance or None, default=0
        Seed for Fourier features and folds.

    Attributes
    ----------
    prior_, prior_interval_, target_prior_ : float, (float, float) or None, float
        Share of positives in unlabelled rows, its 95% interval if estimated; share in the target.
    estimator_, classes_, ratio_, log_ratio_, weights_, ess_, weighting_, search_result_
        As in `ImportanceWeightedCV`, but the effective sample size is that of the unlabelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.positive_unlabeled import PositiveUnlabeled
    >>> rng = np.random.default_rng(0)
    >>> A, U, X_target = (rng.normal(c, 1, (2000, 2)) for c in (0, 0, [1, 0]))
    >>> positive, truth = (Z[:, 1] > Z[:, 0] ** 2 - 1 for Z in (A, X_target))
    >>> X, y = np.vstack([A[positive], U]), np.repeat([1, 0], [positive.sum(), 2000])
    >>> model = PositiveUnlabeled(prior=positive.mean())
    >>> plain = model.fit(X, y).score(X_target, truth)
    >>> model.fit(X, y, X_target=X_target).score(X_target, truth) > plain + 0.05
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        ratio: BaseEstimator | str | None = None,
        *,
        weighting: Any = None,
        prior: float | None = None,
        features: Any = "linear",
        ridge: float = 0.01,
        non_negative: bool = True,
        random_state: Any = 0,
    ):
        self.estimator, self.ratio, self.weighting = estimator, ratio, weighting
        self.prior, self.features, self.ridge = prior, features, ridge
        self.non_negative, self.random_state = non_negative, random_state

    @np.errstate(under="ignore")
    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, X_target: Any = None) -> Self:
        """Estimate ratio and prior, form the weights, minimise the risk; return the object.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
            Rows; 1 for positive, 0 for unlabelled (of two other labels, the larger is positive).
        sample_weight, X_target
            As in `ImportanceWeighted.fit`. Without target rows and ratio, nothing is weighted.
        """
        self._check_parameters()
        weighting = RIWERM(0.5) if self.weighting is None else self.weighting
        search = weighting if isinstance(weighting, Search) else None
        weighting = None if search else weighting_or_default(weighting)
        rows, result, interval = _Rows(self, X, y, sample_weight), None, None
        if self.ratio is not None or X_target is not None:
            unlabelled = tables.take_rows(rows.X, np.flatnonzero(rows.is_unlabelled))
            rows.set_ratio(self._fitted_ratio(unlabelled, X_target))
        if self.prior is None:
            interval = rows.prior_interval()
            rows.prior = sum(interval) / 2
        else:
            rows.prior = float(self.prior)
        if search:
            result = search(rows)
            weighting, _ = choose(result, "guard")
        self.estimator_ = rows.fit_model(weighting, rows.weight)
        self.ratio_, self.log_ratio_ = rows.ratio, rows.log_ratio
        self.prior_, self.prior_interval_ = rows.prior, interval
        self.target_prior_ = float(rows.unit_weights[~rows.is_unlabelled].sum())
        self.weighting_, self.search_result_ = weighting, result
        self.weights_ = rows.importance_weights(weighting, rows.weight)
        weight = rows.weight[rows.is_unlabelled]
        used = weight * self.weights_[rows.is_unlabelled]
        self.ess_ = effective_sample_size(used)
        self._fitted_rows = FittedRows(rows.X, rows.weight)
        self._copy_features()
        warn_if_untrustworthy(used, weight, np.inf)
        return self

    def _check_parameters(self) -> None:
        tables.check_positive("ridge", self.ridge)
        if self.prior is not None:
            tables.check_confidence(self.prior, "prior")
        if not hasattr(self.features, "transform") and self.features not in ("fourier", "linear"):
            expected = "'linear', 'fourier' or a transformer"
            raise ValueError(f"Got features={self.features!r}, but expected {expected}.")
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        is_smooth = isinstance(last, LogisticRegression) and last.solver in SOLVERS
        if last is not None and not (is_smooth and last.class_weight is None):
            expected = f"None or LogisticRegression with {', '.join(SOLVERS)}, without class_weight"
            raise TypeError(f"Got estimator={last!r}, but weights below 0 need {expected}.")

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the label of positives if the score is above 0, else the other."""
        return self._delegate("predict", X)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return scores; with squared loss they estimate ``2 P(y = 1 | x) - 1``."""
        return self._delegate("decision_function", X)

    def risk(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Estimate:
        """Estimate the share of target errors from held-out rows like those of `fit`."""
        score, rows = self.decision_function(X), _Rows(self, X, y, sample_weight)
        rows.prior = self.prior_
        if self.ratio_ is not None:
            rows.set_ratio(self.ratio_)
        weights, codes, losses = rows.unit_weights, rows.codes, _losses(score, rows.codes)
        means = np.bincount(codes, weights * losses) / np.bincount(codes, weights)
        error = np.linalg.norm(weights * (losses - means[codes]))
        return Estimate.normal(float(weights @ losses), float(error))

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(LogisticRegression())
        tags.classifier_tags.multi_class = tags.input_tags.sparse = False
        tags.classifier_tags.poor_score = True  # y marks rows, and is not what is predicted.
        return tags


def _losses(score: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the 0-1 loss l(-g) of unlabelled rows, and l(g) - l(-g) of positive rows."""
    return np.where(codes == 1, np.where(score > 0, -1.0, 1.0), score > 0)


class _SquaredLoss(RidgeClassifier):  # type: ignore[misc, unused-ignore]
    """Squared loss of labels -1 and 1 plus a penalty, under weights of any sign."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: np.ndarray) -> Self:
        super().fit(X, y)  # Sets the attributes of labels and columns.
        Z = np.column_stack([X, np.ones(np.shape(X)[0])])
        weighted, signs = Z.T * sample_weight, np.where(y == self.classes_[1], 1.0, -1.0)
        penalty = np.diag(np.append(np.full(Z.shape[1] - 1, self.alpha), 0.0))
        coefficients = solve(weighted @ Z + penalty, weighted @ signs, assume_a="pos")
        self.coef_, self.intercept_ = coefficients[None, :-1], coefficients[-1:]
        return self


class _Rows:
    """Positive (1) and unlabelled (0) rows, and the objective of a search: the target risk."""

    prior: float = 0.5
    ratio: Any = None

    def __init__(self, model: PositiveUnlabeled, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        X, labels, weight = tables.check_labelled(X, y, sample_weight)
        check_classification_targets(labels)
        has_own_steps = model.estimator is not None or not isinstance(model.features, str)
        is_table = tables.is_frame(X) or (has_own_steps and isinstance(X, np.ndarray))
        self.model, self.X = model, X if is_table else check_array(X)
        self.weight = np.ones(labels.size) if weight is None else weight
        self.log_ratio = np.zeros(labels.size)
        self.labels, self.codes = np.unique(labels, return_inverse=True)
        if not self.labels.size == np.unique(labels[self.weight > 0]).size == 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}. Got {self.labels.size} class(es), but expected 1 "
                "(positive) and 0 (unlabelled), both in rows with positive weight."
            )
        self.is_unlabelled = self.codes == 0
        self.seed = int(check_random_state(model.random_state).randint(2**31 - 1))

    def set_ratio(self, ratio: Any) -> None:
        """Set a ratio, scaled to mean 1 on the unlabelled rows."""
        log_ratio, self.ratio = source_log_ratio(ratio, self.X, self.weight), ratio
        self.log_ratio = mean_one_log_ratio(log_ratio, self.weight * self.is_unlabelled)

    def importance_weights(self, weighting: Any, weight: np.ndarray) -> np.ndarray:
        """Return importance weights with mean 1 on the unlabelled rows."""
        log_weight, used = source_log_weight(weighting, self.log_ratio, weight), self.is_unlabelled
        return np.asarray(np.exp(log_weight - log_mean(log_weight[used], weight[used])))

    def risk_weights(self, weighting: Any, weight: np.ndarray) -> np.ndarray:
        """Return weights in the risk, with sum 1 over unlabelled and `prior` over positive rows."""
        scale = np.array([1.0, self.prior]) / np.bincount(self.codes, weight)
        return weight * self.importance_weights(weighting, weight) * scale[self.codes]

    @property
    def unit_weights(self) -> np.ndarray:
        """Weights in the target risk, by the full ratio."""
        return self.risk_weights(Geodesic(), self.weight)

    def prior_interval(self) -> tuple[float, float]:
        """Return the interval of the prior, by best bin estimation (Garg et al. 2021).

        ``P_U(s >= c) / P_P(s >= c)`` bounds the prior from above, for any threshold c of a score s.
        """
        used = [np.flatnonzero((self.codes == code) & (self.weight > 0)) for code in (0, 1)]
        rows = DomainRows(*(tables.take_rows(self.X, i) for i in used), random_state=self.seed)
        score, weight = CrossFittedDomain(rows).log_odds, self.weight[np.concatenate(used)]
        weight, is_even, estimates = weight[rows.indices], np.arange(score.size) % 2 == 0, []

        def shares(code: int, half: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, float]:
            in_half = half & (rows.codes == code)
            is_above, in_weight = score[in_half][:, None] >= limits, weight[in_half]
            return np.average(is_above, axis=0, weights=in_weight), effective_sample_size(in_weight)

        for half in (is_even, ~is_even):
            positive = score[half & (rows.codes == 1)]
            limits = np.quantile(positive, 1 - LEVELS)
            (u, n_u), (p, n_p) = (shares(k, half, limits) for k in (0, 1))
            best = LEVELS[np.argmin((u + MARGIN * (n_p**-0.5 + n_u**-0.5)) / p)]
            # The third of these positives with the largest scores has fewer negatives beside it.
            limits = np.quantile(positive, 1 - np.array([best, best / 3]))
            (u, n_u), (p, n_p) = (shares(k, ~half, limits) for k in (0, 1))
            p = np.maximum(p, 0.5 / n_p)  # A share of 0 does not mean a probability of 0.
            variance = np.maximum(u * (1 - u), 1 / n_u) / n_u + (u / p) ** 2 * p * (1 - p) / n_p
            estimates.append((u / p, variance / p**2))
        share, variance = np.mean(estimates, axis=0)
        ends = share + np.outer([-1.96, 1.96], np.sqrt(variance / 2))
        low, high = max(float(ends[0].min()), 0.0), min(float(ends[1, 0]), 1.0)
        if share[0] <= 0 or low >= 1:
            raise ValueError(
                f"Got an estimated prior of {share[0]:.3g}: {'every' if low >= 1 else 'no'} "
                "unlabelled row looks positive. Check y (1 positive, 0 unlabelled), or pass prior."
            )
        return low, high

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Yield the held-out losses of weightings, for a search."""
        folds = StratifiedKFold(5, shuffle=True, random_state=self.seed)
        for point in points:
            losses, error = np.empty(self.codes.size), None
            try:
                for _, test in folds.split(self.codes, self.codes):
                    weight = self.weight.copy()
                    weight[test] = 0.0
                    model = self.fit_model(Geodesic(*point), weight)
                    losses[test] = _losses(model.decision_function(self.X), self.codes)[test]
            except ValueError as failure:  # Positives outweigh all rows.
                error = str(failure)
            yield Evaluation(point, losses, error=error)

    def fit_model(self, weighting: Any, weight: np.ndarray) -> Pipeline:
        """Minimise R_P + max(0, R_N) as R_P + (1 - t) R_N, with the t that keeps R_N >= 0."""
        mass, (*steps, learner) = self.risk_weights(weighting, weight), self._steps()
        positive, unlabelled = np.flatnonzero(self.codes), np.flatnonzero(self.is_unlabelled)
        share = mass[positive].sum()
        if not 0 < share < 1:
            raise ValueError(
                f"Got weights by which positives (prior {self.prior:.3g}) are {share:.3g} of all "
                "rows, not a share between 0 and 1. Check the ratio, or use a smaller prior or lam."
            )
        Z, sample = self.X, tables.take_rows(self.X, unlabelled)
        for step in steps:
            options = {}
            if isinstance(step, StandardScaler):
                options = {"sample_weight": weight[unlabelled]}
            sample = step.fit(sample, **options).transform(sample)
            Z = step.transform(Z)
        # Positive rows count once as such, and once as negatives with weights below 0.
        table = tables.take_rows(Z, np.concatenate([positive, unlabelled, positive]))
        labels = self.labels[np.repeat([1, 0], [positive.size, mass.size])]
        is_squared = isinstance(learner, _SquaredLoss)
        scale = 1.0 if is_squared else weight.sum()

        def minimiser(t: float) -> Any:
            row_mass = mass[positive], (1 - t) * mass[unlabelled], (t - 1) * mass[positive]
            return clone(learner).fit(table, labels, sample_weight=scale * np.concatenate(row_mass))

        def negative_risk(t: float) -> float:
            score = minimiser(t).decision_function(Z)
            losses = (score + 1) ** 2 if is_squared else np.logaddexp(0, score)
            return float((mass * losses) @ (1 - 2 * self.codes))

        is_bounded = self.model.non_negative and negative_risk(0.0) < 0
        t = brentq(negative_risk, 0.0, 1 - 1e-6, xtol=1e-6) if is_bounded else 0.0
        return make_pipeline(*steps, minimiser(t))

    def _steps(self) -> list[Any]:
        inner, features = self.model.estimator, self.model.features
        if inner is None:
            kernel = RBFSampler(gamma=1 / np.shape(self.X)[1], random_state=self.seed)
            scaled = [StandardScaler(), *[kernel] * (features == "fourier")]
            front = scaled if isinstance(features, str) else [features]
            inner = make_pipeline(*front, _SquaredLoss(self.model.ridge))
        return [clone(step) for step in (inner if isinstance(inner, Pipeline) else [inner])]
