"""Learning from positive and unlabelled rows, for a target distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from weighbridge._data import (
    FEWEST_ROWS,
    FloatArray,
    RowScores,
    check_positive,
    check_sample_weight,
    one_number,
    refuse_missing,
    shuffled,
    take_rows,
    unmasked,
)
from weighbridge._estimators import WeightedEstimator, form_answer
from weighbridge._findings import Estimate, effective_sample_size, warn_if_untrustworthy
from weighbridge.ratios import (
    CrossFittedDomain,
    DomainRows,
    deal,
    source_log_ratio,
    source_log_weight,
    weighting_or_default,
)
from weighbridge.search import Evaluation, Point, Search
from weighbridge.weighting import RIWERM, Geodesic, log_mean

__all__ = ["PositiveUnlabeled"]

FOLDS, N_COMPONENTS, GAMMA = 5, 100, "scale"
# Solvers of a logistic regression that follow the gradient of any weighted sum of losses.
SMOOTH = ("lbfgs", "newton-cg", "newton-cholesky")
# Of the bound of best bin estimation, that fails in a tenth; and the part looked at once more.
SLACK, STRICTER = np.sqrt(np.log(4 / 0.1) / 2), 1 / 3


class PositiveUnlabeled(ClassifierMixin, WeightedEstimator):  # type: ignore[misc, unused-ignore]
    """A classifier from positive and unlabelled rows, fitted for a target distribution.

    With the ratio ``r`` of the target to the unlabelled rows, and the share ``prior`` of positives
    among the latter, the target risk of a score g is ``prior E_P[r (l(g) - l(-g))] + E_U[r l(-g)]``
    (Sakai & Shimizu 2019); ``w^(lam, alpha)`` takes the place of r.

    Parameters
    ----------
    estimator : LogisticRegression, or a pipeline that ends in one, optional
        Default: squared loss of `features`, minimised in closed form. The risk has weights below 0,
        which other learners refuse, drop or misread; they are refused.
    ratio : density ratio, optional
        As in `ImportanceWeighted`, fitted to the unlabelled rows. Without it and without
        ``X_target`` nothing is weighted.
    weighting : Geodesic, callable with ``get_params`` or search, optional
        Default ``RIWERM(0.5)``. A search (`weighbridge.search`) takes the smallest cross-validated
        `risk`, and weights only if they gain half a standard error.
    prior : float, optional
        Share of positives among the unlabelled rows. Default: estimated (see Notes).
    features : {"fourier", "linear"} or transformer, default="fourier"
        100 random Fourier features of standardised columns, these columns, or what a transformer
        makes of the rows; fitted to the unlabelled ones.
    ridge : float, default=0.01
        Penalty of the squared coefficients, beside the mean loss.
    non_negative : bool, default=True
        Keep the risk of the negatives from falling below 0 (Kiryo et al. 2017), as it does in
        flexible models. The minimum is that of ``R_P + (1 - t) R_N`` with ``R_N = 0``.
    random_state : int, RandomState instance or None, default=0
        Draws Fourier features, deals folds.

    Attributes
    ----------
    estimator_ : Pipeline
        Features and learner.
    prior_, target_prior_ : float
        Share of positives among the unlabelled rows, and in the target (by the ratio).
    prior_interval_ : (float, float) or None
        Of an estimated prior, 95 %.
    ratio_, log_ratio_, weights_, ess_
        As in `ImportanceWeighted`, of all rows; ratio and weights have mean 1 on the unlabelled
        ones, which the effective number is of. The ratio is None where there is none.
    weighting_, search_result_ : Geodesic or callable, SearchResult or None
        The weighting, and those it was chosen from.
    classes_ : ndarray of shape (2,)
        Labels of unlabelled rows, in predictions of negatives, and of positives.

    Notes
    -----
    ``prior <= P_U(s > c) / P_P(s > c)`` for any score, with equality where no negative scores as
    high: the prior is bounded above, and known if some positives look like no negative. The c of
    the best bound (Garg et al. 2021) comes from one half of the rows, and the other half counts. A
    third of these positives, those with the highest scores, is looked at again: the estimate is
    the mean of both quotients, the interval reaches from the lower end of one to the upper end of
    the other.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.positive_unlabeled import PositiveUnlabeled
    >>> rng = np.random.default_rng(0)
    >>> A, U, X_target = (rng.normal(c, 1, (2000, 1)) for c in (0, 0, 1.5))
    >>> positive, truth = (np.abs(Z[:, 0] - 1) < 1 for Z in (A, X_target))
    >>> X, y = np.vstack([A[positive], U]), np.repeat([1, 0], [positive.sum(), 2000])
    >>> plain = PositiveUnlabeled(prior=0.48, features="linear").fit(X, y)
    >>> model = PositiveUnlabeled(prior=0.48, features="linear").fit(X, y, X_target=X_target)
    >>> model.score(X_target, truth) > plain.score(X_target, truth)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        ratio: Any = None,
        *,
        weighting: Any = None,
        prior: float | None = None,
        features: Any = "fourier",
        ridge: float = 0.01,
        non_negative: bool = True,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.weighting = weighting
        self.prior = prior
        self.features = features
        self.ridge = ridge
        self.non_negative = non_negative
        self.random_state = random_state

    @np.errstate(under="ignore")
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None
    ) -> PositiveUnlabeled:
        """Estimate ratio and prior, form the weights, minimise the risk.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Positive rows, and unlabelled rows of both classes.
        y : array-like of shape (n_samples,)
            1 for positive, 0 for unlabelled rows; of two other labels the larger is for positives.
        sample_weight : array-like of shape (n_samples,), optional
            Your weights of the rows, each within its own sample; 0 leaves a row out.
        X_target : same type as `X`, of shape (n_target, n_features), optional
            Target rows.

        Returns
        -------
        PositiveUnlabeled
            The fitted object.
        """
        self._check_parameters()
        search = RIWERM(0.5) if self.weighting is None else self.weighting
        weighting = None if isinstance(search, Search) else weighting_or_default(search)
        X, codes, labels, weight = _marked_rows(X, y, sample_weight)
        free, ratio, log_ratio = codes == 0, None, np.zeros(codes.size)
        if self.ratio is not None or X_target is not None:
            ratio = self._fitted_ratio(take_rows(X, np.flatnonzero(free)), X_target)
            log_ratio = source_log_ratio(ratio, X, weight)
            log_ratio = log_ratio - log_mean(log_ratio[free], weight[free])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        prior, interval = self.prior, None
        if prior is None:
            prior, *interval = _class_prior(X, codes, weight, seed)
        task = _Task(self, X, codes, labels, weight, log_ratio, float(prior), seed)
        result = search(task) if weighting is None else None
        if result is not None:
            best = form_answer("guard", task, result, guarded=False).indices[0]
            weighting = Geodesic(*result.evaluations[best].point)
        model, weights = task.fitted(weighting), task.weights(weighting)

        self.estimator_, self.ratio_, self.log_ratio_ = model, ratio, log_ratio
        self.prior_, self.prior_interval_ = float(prior), interval and tuple(interval)
        self.target_prior_ = float(task.unit_weights[~free].sum())
        self.weighting_, self.search_result_, self.weights_ = weighting, result, weights
        self.ess_ = effective_sample_size((weight * weights)[free])
        self._remember_rows(X, weight)
        self._copy_features()
        warn_if_untrustworthy((weight * weights)[free], weight[free], np.inf)
        return self

    def _check_parameters(self) -> None:
        check_positive("ridge", self.ridge)
        if self.prior is not None and not 0 < one_number(self.prior, "prior") < 1:
            raise ValueError(
                f"Got prior={self.prior!r}, but expected a share between 0 and 1, or None."
            )
        if not (hasattr(self.features, "transform") or self.features in ("fourier", "linear")):
            raise ValueError(
                f"Got features={self.features!r}, but expected 'fourier', 'linear', a transformer."
            )
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        smooth = isinstance(last, LogisticRegression) and last.solver in SMOOTH
        if last is not None and not (smooth and last.class_weight is None):
            raise TypeError(
                f"Got estimator={last!r}, but the risk has weights below 0, which few learners "
                "take. Use LogisticRegression without class_weight and with one of the solvers "
                f"{', '.join(SMOOTH)}, alone or last in a pipeline; or None, for squared loss."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of positives where the score is above 0, else the other."""
        return self._delegate("predict", X)

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores; by squared loss they estimate ``2 P(y = 1 | x) - 1``."""
        return self._delegate("decision_function", X)

    def risk(self, X: Any, y: Any, sample_weight: Any = None) -> Estimate:
        """Estimate the share of errors on the target, by positive and unlabelled rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, rows that it has not seen. The full ratio weights them.

        Returns
        -------
        Estimate
            With its standard error, as if ratio and prior were known.
        """
        check_is_fitted(self)
        X, codes, labels, weight = _marked_rows(X, y, sample_weight)
        ratio = None if self.ratio_ is None else source_log_ratio(self.ratio_, X, weight)
        log_ratio = np.zeros(codes.size) if ratio is None else ratio
        mass = _Task(self, X, codes, labels, weight, log_ratio, self.prior_, 0).unit_weights
        losses = _errors(self.decision_function(X), codes)
        means = np.array([np.average(losses[codes == k], weights=mass[codes == k]) for k in (0, 1)])
        error = np.linalg.norm(mass * (losses - means[codes]))
        return Estimate.normal(float(mass @ losses), float(error))

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(LogisticRegression())
        tags.classifier_tags.multi_class = tags.input_tags.sparse = False
        return tags


def _marked_rows(
    X: Any, y: Any, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray, FloatArray]:
    """Return rows, 1 for positive and 0 for unlabelled ones, the two labels, and weights."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: 1 marks positives.")
    X, y = unmasked(X), column_or_1d(unmasked(y, "y"), warn=True)
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    refuse_missing(y)
    check_classification_targets(y)
    weight = check_sample_weight(sample_weight, _num_samples(X))
    weight = np.ones(_num_samples(X)) if weight is None else weight
    labels, codes = np.unique(y, return_inverse=True)
    if y.size != weight.size or not labels.size == np.unique(y[weight > 0]).size == 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}. Got {y.size} labels of {labels.size} class(es) for {weight.size} "
            "rows, but each row needs a 1 (positive) or a 0 (unlabelled), and rows of both kinds "
            "are needed, with weight."
        )
    return X, codes, labels, weight


def _class_prior(
    X: Any, codes: np.ndarray, weight: FloatArray, seed: int
) -> tuple[float, float, float]:
    """Return the share of positives among the unlabelled rows, and the ends of its interval."""
    samples = [np.flatnonzero((codes == code) & (weight > 0)) for code in (0, 1)]
    if min(map(len, samples)) < FEWEST_ROWS:
        raise ValueError(
            f"Got {len(samples[1])} positive and {len(samples[0])} unlabelled rows, but the prior "
            f"is estimated from at least {FEWEST_ROWS} of each; give prior=..."
        )
    rows = DomainRows(*(take_rows(X, part) for part in samples), random_state=seed)
    scores, mass = CrossFittedDomain(rows).log_odds, weight[np.concatenate(samples)[rows.places]]
    half = np.arange(scores.size) % 2
    parts = [[(half == k) & (rows.codes == code) for code in (1, 0)] for k in (0, 1)]
    found = []
    for chosen, counted in (parts, parts[::-1]):
        limits = np.sort(scores[chosen[0]])[::-1]
        p, u = (_above(scores[part], mass[part], limits) for part in chosen)
        n_p, n_u = (2 * effective_sample_size(mass[part]) for part in chosen)
        best = int(np.argmin((u + SLACK * (n_p**-0.5 + n_u**-0.5)) / p))
        limits = limits[[best, max(int((best + 1) * STRICTER) - 1, min(9, best))]]
        n_p, n_u = (effective_sample_size(mass[part]) for part in counted)
        p, u = (_above(scores[part], mass[part], limits) for part in counted)
        p = np.maximum(p, 0.5 / n_p)
        # half a row more: nothing seen is not the same as never
        spread_p, spread_u = (
            (q * n + 0.5) / (n + 1) * (1 - (q * n + 0.5) / (n + 1)) / n
            for q, n in ((p, n_p), (u, n_u))
        )
        found.append((u / p, (spread_u + (u / p) ** 2 * spread_p) / p**2))
    share, variance = np.mean(found, axis=0)
    reach = 1.96 * np.sqrt(variance / 2)
    value = float(share.mean())
    if not 0 < value < 1:
        raise ValueError(
            f"Got an estimated prior of {value:.3g}: {'no' if value <= 0 else 'every'} unlabelled "
            "row looks like the positive ones. Check y (1 positive, 0 unlabelled), or give prior=..."
        )
    return value, max(float((share - reach).min()), 0.0), min(float((share + reach)[0]), 1.0)


def _above(scores: FloatArray, mass: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the share of the rows with a score of at least each limit."""
    order = np.argsort(scores)
    below = np.append(0.0, np.cumsum(mass[order]))
    return 1 - below[np.searchsorted(scores[order], limits)] / below[-1]


def _errors(score: FloatArray, codes: np.ndarray) -> FloatArray:
    """Return what rows add to the share of errors: l(-g), of positives l(g) - l(-g)."""
    return np.where(codes == 1, -np.where(score > 0, 1.0, -1.0), score > 0)


class _SquaredLoss(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Mean squared loss of labels -1 and 1 plus a penalty, under weights of any sign."""

    def __init__(self, ridge: float):
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: Any) -> _SquaredLoss:
        """Solve the normal equations; the intercept has no penalty."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        Z = np.column_stack([check_array(X), np.ones(codes.size)])
        weighted = Z.T * sample_weight / codes.size
        penalty = np.diag(np.append(np.full(Z.shape[1] - 1, self.ridge), 0.0))
        self.coef_ = solve(weighted @ Z + penalty, weighted @ (2.0 * codes - 1), assume_a="pos")
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores."""
        return np.asarray(check_array(X) @ self.coef_[:-1] + self.coef_[-1])

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@dataclass(frozen=True, eq=False)
class _Task:
    """Positive (1) and unlabelled (0) rows; as an objective, the cross-validated target risk."""

    model: PositiveUnlabeled
    X: Any
    codes: np.ndarray
    labels: np.ndarray
    weight: FloatArray
    log_ratio: FloatArray
    prior: float
    seed: int
    row_loss, fingerprint = None, "positive and unlabelled rows"

    def weights(self, weighting: Any) -> FloatArray:
        """Return weights of mean 1 on the unlabelled rows."""
        found, free = source_log_weight(weighting, self.log_ratio, self.weight), self.codes == 0
        return np.exp(found - log_mean(found[free], self.weight[free]))

    def masses(self, weighting: Any) -> FloatArray:
        """Return what each row counts in the risk, 1 for all unlabelled ones together."""
        mass = self.weight * self.weights(weighting)
        for code, share in enumerate((1.0, self.prior)):
            mass[self.codes == code] *= share / self.weight[self.codes == code].sum()
        positive = float(mass[self.codes == 1].sum())
        if not 0 < positive < 1:
            raise ValueError(
                f"Got weights that make positives {positive:.3g} of all rows (the prior, "
                f"{self.prior:.3g}, times the mean weight of the positive rows), which is no share "
                "between 0 and 1. Give a smaller prior, a weighting with a smaller lam, or check "
                "the ratio."
            )
        return mass

    @property
    def unit_weights(self) -> FloatArray:
        """Return what rows count in the target risk."""
        return self.masses(Geodesic())

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score every weighting at rows that its models have not seen."""
        order = np.concatenate(shuffled(self.X, self.codes, np.random.RandomState(self.seed)))
        folds = deal(RowScores(take_rows(self.X, order)).group, self.codes[order], FOLDS)
        for point in points:
            losses = np.empty(order.size)
            for train, test in ((order[a], order[b]) for a, b in folds):
                some = {k: getattr(self, k)[train] for k in ("codes", "weight", "log_ratio")}
                model = replace(self, X=take_rows(self.X, train), **some).fitted(Geodesic(*point))
                scores = model.decision_function(take_rows(self.X, test))
                losses[test] = _errors(scores, self.codes[test])
            yield Evaluation(point, losses)

    def fitted(self, weighting: Any) -> Pipeline:
        """Minimise the risk; where that of negatives would be below 0, under the bound of 0."""
        mass, (*steps, learner) = self.masses(weighting), self._steps()
        free, positive = (np.flatnonzero(self.codes == code) for code in (0, 1))
        Z, some = self.X, take_rows(self.X, free)
        for step in steps:
            own = {"sample_weight": self.weight[free]} if isinstance(step, StandardScaler) else {}
            some = step.fit(some, **own).transform(some)
            Z = step.transform(Z)
        places = np.concatenate([positive, free, positive])
        codes = np.repeat([1, 0, 0], [positive.size, free.size, positive.size])
        signed = mass[places] * places.size
        signed[-positive.size :] *= -1

        def solved(t: float) -> Any:
            weights = signed * np.where(codes == 1, 1.0, 1 - t)
            return clone(learner).fit(
                take_rows(Z, places), self.labels[codes], sample_weight=weights
            )

        def negatives(t: float) -> float:
            score = solved(t).decision_function(Z)
            squared = isinstance(learner, _SquaredLoss)
            losses = (score + 1) ** 2 if squared else np.logaddexp(0, score)
            return float((mass * losses) @ (1 - 2 * self.codes))

        bounded = self.model.non_negative and negatives(0.0) < 0
        t = brentq(negatives, 0.0, 1 - 1e-6, xtol=1e-6) if bounded else 0.0
        return make_pipeline(*steps, solved(t))

    def _steps(self) -> list[Any]:
        """Return transformers and, last, the learner, none of them fitted."""
        inner, features = self.model.estimator, self.model.features
        if inner is not None:
            steps = inner.steps if isinstance(inner, Pipeline) else [("", inner)]
            return [clone(step) for _, step in steps]
        front = [clone(features)] if hasattr(features, "transform") else [StandardScaler()]
        if features == "fourier":
            front.append(RBFSampler(gamma=GAMMA, n_components=N_COMPONENTS, random_state=self.seed))
        return [*front, _SquaredLoss(self.model.ridge)]
