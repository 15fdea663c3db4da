"""Learning from positive and unlabelled rows, for a target distribution."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.optimize import brentq
from sklearn.base import ClassifierMixin, clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _num_samples, assert_all_finite, column_or_1d

from weighbridge import ratios, tables
from weighbridge._estimators import FittedRows, WeightedEstimator, choose
from weighbridge._findings import Estimate
from weighbridge.domain import CrossFittedDomain, DomainRows
from weighbridge.model_selection import Evaluation, Search
from weighbridge.ratios import effective_sample_size, warn_if_untrustworthy
from weighbridge.weighting import (
    RIWERM,
    Geodesic,
    log_mean,
    mean_one_log_ratio,
    source_log_weight,
    weighting_or_default,
)

__all__ = ["PositiveUnlabeled"]

SMOOTH = ("lbfgs", "newton-cg", "newton-cholesky")  # solvers that take any sum of losses
# Of the bound of best bin estimation that fails in a tenth, for twice the rows; shares tried.
SLACK, LEVELS = np.sqrt(np.log(4 / 0.1)) / 2, np.arange(1, 101) / 100


class PositiveUnlabeled(ClassifierMixin, WeightedEstimator):  # type: ignore[misc, unused-ignore]
    """A classifier from positive and unlabelled rows, fitted for a target distribution.

    With the ratio ``r`` of the target to the unlabelled rows, and the share ``prior`` of positives
    among the latter, the target risk of a score g is ``prior E_P[r (l(g) - l(-g))] + E_U[r l(-g)]``
    (Sakai & Shimizu 2019); ``w^(lam, alpha)`` takes the place of r.

    Parameters
    ----------
    estimator : LogisticRegression, or a pipeline that ends in one, optional
        Default: squared loss, in closed form. Others are refused: the risk has weights below 0.
    ratio : str or density ratio, optional
        As in `ImportanceWeighted`, of the target to the unlabelled rows.
    weighting : Geodesic, callable with ``get_params`` or search, optional
        Default ``RIWERM(0.5)``. A search takes the one of smallest cross-validated `risk`, and
        weights only if they gain half a standard error.
    prior : float, optional
        Default: estimated, from positives that look like no negative (see the guide).
    features : {"linear", "fourier"} or transformer, default="linear"
        For squared loss: standardised columns, 100 random Fourier features of them, or your own.
    ridge : float, default=0.01
        Penalty on the squared coefficients, added to the mean squared loss.
    non_negative : bool, default=True
        Keep the estimated risk of negatives at 0 or above, as the true one is (Kiryo et al. 2017).
    random_state : int, RandomState instance or None, default=0
        Draws Fourier features and deals folds.

    Attributes
    ----------
    prior_, prior_interval_, target_prior_ : float, (float, float) or None, float
        Share of positives in unlabelled rows, its 95 % interval if estimated; share in the target.
    estimator_, classes_, ratio_, log_ratio_, weights_, ess_, weighting_, search_result_
        As in `ImportanceWeightedCV`, for unlabelled rows where it matters; None if there is none.

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
        estimator: Any = None,
        ratio: Any = None,
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None) -> Any:
        """Estimate ratio and prior, form the weights, minimise the risk; return the object.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
            Rows; 1 for positive, 0 for unlabelled (of two other labels, the larger is positive).
        sample_weight, X_target
            As in `ImportanceWeighted.fit`; with no target rows and no ratio, nothing is weighted.
        """
        self._check_parameters()
        weighting = search = RIWERM(0.5) if self.weighting is None else self.weighting
        if not isinstance(search, Search):
            weighting, search = weighting_or_default(weighting), None
        rows, result = _Rows(self, X, y, sample_weight), None
        if self.ratio is not None or X_target is not None:
            unlabelled = tables.take_rows(rows.X, np.flatnonzero(rows.free))
            rows.use(self._fitted_ratio(unlabelled, X_target))
        rows.prior, *interval = rows.class_prior() if self.prior is None else [float(self.prior)]
        if search:
            result = search(rows)
            weighting, _ = choose(result, "guard")
        model, weights = rows.fitted(weighting), rows.weights(weighting)
        self.estimator_, self.ratio_, self.log_ratio_ = model, rows.ratio, rows.log_ratio
        self.prior_, self.prior_interval_ = rows.prior, tuple(interval) or None
        self.target_prior_ = float(rows.unit_weights[~rows.free].sum())
        self.weighting_, self.search_result_, self.weights_ = weighting, result, weights
        self.ess_ = effective_sample_size(used := (rows.weight * weights)[rows.free])
        self._fitted_rows = FittedRows(rows.X, rows.weight)
        self._copy_features()
        warn_if_untrustworthy(used, rows.weight[rows.free], np.inf)
        return self

    def _check_parameters(self) -> None:
        tables.check_positive("ridge", self.ridge)
        if self.prior is not None and not 0 < tables.one_number(self.prior, "prior") < 1:
            raise ValueError(f"Got prior={self.prior!r}, but expected a share between 0 and 1.")
        if not hasattr(self.features, "transform") and self.features not in ("fourier", "linear"):
            raise ValueError(
                f"Got features={self.features!r}; use 'linear', 'fourier' or a transformer."
            )
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        smooth = isinstance(last, LogisticRegression) and last.solver in SMOOTH
        if last is not None and not (smooth and last.class_weight is None):
            wanted = f"None or LogisticRegression with {', '.join(SMOOTH)}, without class_weight"
            raise TypeError(f"Got estimator={last!r}; the risk has weights below 0. Use {wanted}.")

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of positives where the score is above 0, else the other."""
        return self._delegate("predict", X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores; by squared loss they estimate ``2 P(y = 1 | x) - 1``."""
        return self._delegate("decision_function", X)

    def risk(self, X: Any, y: Any, sample_weight: Any = None) -> Estimate:
        """Estimate the share of target errors from rows such as `fit` takes, but has not seen."""
        score, rows = self.decision_function(X), _Rows(self, X, y, sample_weight)
        rows.prior = self.prior_
        if self.ratio_ is not None:
            rows.use(self.ratio_)
        mass, codes, losses = rows.unit_weights, rows.codes, _errors(score, rows.codes)
        off = losses - (np.bincount(codes, mass * losses) / np.bincount(codes, mass))[codes]
        return Estimate.normal(float(mass @ losses), float(np.linalg.norm(mass * off)))

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(LogisticRegression())
        tags.classifier_tags.multi_class = tags.input_tags.sparse = False
        tags.classifier_tags.poor_score = True  # y marks rows, and is not what is predicted
        return tags


def _errors(score: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return what rows add to the share of errors: l(-g), and l(g) - l(-g) of positives."""
    return np.where(codes == 1, np.where(score > 0, -1.0, 1.0), score > 0)


def _above(sample: tuple[np.ndarray, np.ndarray], limits: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the share of rows with a score of at least each limit, and their effective number."""
    shares = np.average(sample[0][:, None] >= limits, axis=0, weights=sample[1])
    return shares, effective_sample_size(sample[1])


class _SquaredLoss(RidgeClassifier):  # type: ignore[misc, unused-ignore]
    """Squared loss of labels -1 and 1 plus a penalty, under weights of any sign."""

    def fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        super().fit(X, y)  # keeps labels and columns
        Z = np.column_stack([X, np.ones(len(X))])
        weighted, signs = Z.T * sample_weight, np.where(y == self.classes_[1], 1.0, -1.0)
        penalty = np.diag(np.append(np.full(Z.shape[1] - 1, self.alpha), 0.0))
        found = solve(weighted @ Z + penalty, weighted @ signs, assume_a="pos")
        self.coef_, self.intercept_ = found[None, :-1], found[-1:]
        return self


class _Rows:
    """Positive (1) and unlabelled (0) rows; to a search, the cross-validated target risk."""

    prior, ratio = 0.5, None

    def __init__(self, model: PositiveUnlabeled, X: Any, y: Any, sample_weight: Any):
        self.model, X, y = (
            model,
            tables.unmasked(X),
            column_or_1d(tables.unmasked(y, "y"), warn=True),
        )
        own = model.estimator is not None or not isinstance(model.features, str)
        self.X = X if tables.is_frame(X) or (own and isinstance(X, np.ndarray)) else check_array(X)
        tables.refuse_missing(y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        weight = tables.check_sample_weight(sample_weight, n := _num_samples(X))
        self.weight, self.log_ratio = np.ones(n) if weight is None else weight, np.zeros(n)
        self.labels, self.codes = np.unique(y, return_inverse=True)
        if y.size != n or not self.labels.size == np.unique(y[self.weight > 0]).size == 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. Got {y.size} labels of {self.labels.size} class(es) for {n} "
                "rows, but each row needs a 1 (positive) or a 0 (unlabelled), and both need weight."
            )
        seed = check_random_state(model.random_state).randint(2**31 - 1)
        self.free, self.seed = self.codes == 0, int(seed)

    def use(self, ratio: Any) -> None:
        """Take a ratio, scaled to mean 1 on the unlabelled rows."""
        found, self.ratio = ratios.source_log_ratio(ratio, self.X, self.weight), ratio
        self.log_ratio = mean_one_log_ratio(found, self.weight * self.free)

    def weights(self, weighting: Any) -> np.ndarray:
        found = source_log_weight(weighting, self.log_ratio, self.weight)
        return np.exp(found - log_mean(found[self.free], self.weight[self.free]))

    def masses(self, weighting: Any) -> np.ndarray:
        """Return what rows count in the risk: 1 all unlabelled ones, the prior all positives."""
        part = np.array([1.0, self.prior]) / np.bincount(self.codes, self.weight)
        return self.weight * self.weights(weighting) * part[self.codes]

    unit_weights = property(lambda self: self.masses(Geodesic()))  # in the target risk

    def class_prior(self) -> tuple[float, float, float]:
        """Return the share of positives among the unlabelled rows, and the ends of its interval."""
        used = [np.flatnonzero((self.codes == code) & (self.weight > 0)) for code in (0, 1)]
        rows = DomainRows(*(tables.take_rows(self.X, p) for p in used), random_state=self.seed)
        score, mass = CrossFittedDomain(rows).log_odds, self.weight[np.concatenate(used)]
        found, half = [], np.arange(score.size) % 2
        for k in (0, 1):
            parts = [[(half == h) & (rows.codes == c) for c in (1, 0)] for h in (k, 1 - k)]
            seen, kept = ([(score[i], mass[rows.indices][i]) for i in pair] for pair in parts)
            limits = np.quantile(seen[0][0], 1 - LEVELS)
            (p, n_p), (u, n_u) = (_above(each, limits) for each in seen)
            best = LEVELS[np.argmin((u + SLACK * (n_p**-0.5 + n_u**-0.5)) / p)]
            limits = np.quantile(seen[0][0], 1 - np.array([best, best / 3]))
            (p, n_p), (u, n_u) = (_above(each, limits) for each in kept)
            p = np.maximum(p, 0.5 / n_p)  # none seen is not the same as never, here and below
            spread = np.maximum(u * (1 - u), 1 / n_u) / n_u + (u / p) ** 2 * p * (1 - p) / n_p
            found.append((u / p, spread / p**2))
        share, variance = np.mean(found, axis=0)
        ends = share + np.outer([-1.96, 1.96], np.sqrt(variance / 2))
        low, high = max(float(ends[0].min()), 0.0), min(float(ends[1, 0]), 1.0)
        if share[0] <= 0 or low >= 1:
            raise ValueError(
                f"Got an estimated prior of {share[0]:.3g}: {'every' if low >= 1 else 'no'} "
                "unlabelled row looks positive. Check y (1 positive, 0 unlabelled), or give prior."
            )
        return (low + high) / 2, low, high

    def evaluate(self, points: Any) -> Any:
        """Score weightings at rows that their models have not seen, for a search."""
        folds = StratifiedKFold(5, shuffle=True, random_state=self.seed)
        for point in points:
            losses, some, fault = np.empty(self.codes.size), copy(self), None
            try:
                for _, test in folds.split(self.codes, self.codes):
                    some.weight = self.weight.copy()
                    some.weight[test] = 0.0
                    score = some.fitted(Geodesic(*point)).decision_function(self.X)
                    losses[test] = _errors(score, self.codes)[test]
            except ValueError as error:  # positives outweigh all rows
                fault = str(error)
            yield Evaluation(point, losses, error=fault)

    def fitted(self, weighting: Any) -> Pipeline:
        """Minimise the risk, or R_P + (1 - t) R_N with the t that keeps R_N from below 0."""
        mass, (*steps, learner) = self.masses(weighting), self._steps()
        if not 0 < (share := mass[~self.free].sum()) < 1:
            raise ValueError(
                f"Got weights by which positives (prior {self.prior:.3g}) are {share:.3g} of all "
                "rows, not a share between 0 and 1. Check the ratio; use a smaller prior or lam."
            )
        free, positive = np.flatnonzero(self.free), np.flatnonzero(~self.free)
        Z, some = self.X, tables.take_rows(self.X, free)
        for step in steps:
            own = {"sample_weight": self.weight[free]} if isinstance(step, StandardScaler) else {}
            some = step.fit(some, **own).transform(some)
            Z = step.transform(Z)
        # positives once as such, and once as negatives that unlabelled rows have too many of
        table = tables.take_rows(Z, np.concatenate([positive, free, positive]))
        labels = self.labels[np.repeat([1, 0], [positive.size, mass.size])]
        squared = isinstance(learner, _SquaredLoss)
        scale = 1.0 if squared else self.weight.sum()

        def solved(t: float) -> Any:
            parts = mass[positive], (1 - t) * mass[free], (t - 1) * mass[positive]
            return clone(learner).fit(table, labels, sample_weight=scale * np.concatenate(parts))

        def negatives(t: float) -> float:
            score = solved(t).decision_function(Z)
            losses = (score + 1) ** 2 if squared else np.logaddexp(0, score)
            return float((mass * losses) @ (1 - 2 * self.codes))

        bounded = self.model.non_negative and negatives(0.0) < 0
        t = brentq(negatives, 0.0, 1 - 1e-6, xtol=1e-6) if bounded else 0.0
        return make_pipeline(*steps, solved(t))

    def _steps(self) -> list[Any]:
        inner, features = self.model.estimator, self.model.features
        if inner is None:
            kernel = RBFSampler(gamma=1 / np.shape(self.X)[1], random_state=self.seed)
            scaled = [StandardScaler(), *[kernel] * (features == "fourier")]
            front = scaled if isinstance(features, str) else [features]
            inner = make_pipeline(*front, _SquaredLoss(self.model.ridge))
        return [clone(step) for step in (inner if isinstance(inner, Pipeline) else [inner])]
