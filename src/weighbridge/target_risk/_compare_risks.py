"""The risks of two models on the target, compared row by row."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.target_risk._assessed import (
    DOUBLY_ROBUST,
    assess_procedures,
    check_options,
    paired_change,
)
from weighbridge.target_risk._measure import find_measure
from weighbridge.target_risk._problem import RiskProblem, check_arguments
from weighbridge.target_risk._risk_estimate import RiskComparison


def compare_risks(
    baseline: Any,
    other: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    scoring: Any = None,
    loss: Any = None,
    method: str = DOUBLY_ROBUST,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RiskComparison:
    """Compare what two models will lose on the target, row by row on the same folds.

    The change is paired, and much better known than either loss; it equals the difference of the
    two losses shown.

    Parameters
    ----------
    baseline, other : estimators
        Two models, e.g. one without and one with weights.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows.
    ratio : density ratio, optional
        Fitted or not; default that of one of the two, else `AutoRatio()`.
    scoring : str or scorer, optional
        As in `estimate_risk`; a loss that is a mean over rows, or the root of one.
    loss : function ``loss(y, prediction)``, optional
        A loss of your own, in place of `scoring`.
    method : {"doubly robust", "weighted", "confidence"}
        As in `estimate_risk`.
    confidence : float, default=0.95
        Of the intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Own weights of the source rows, for fitting; 0 leaves a row out. Losses are averaged over
        rows as they are: the ratio and the target know nothing of these weights.
    cv : int, default=5
        Number of outer folds.
    n_jobs : int, optional
        Fits in parallel, each in one thread.
    random_state : int, RandomState instance or None
        Deals the folds.

    Returns
    -------
    RiskComparison
        Both risks, and the change with its interval.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.target_risk import compare_risks
    >>> data = make_quadratic(random_state=0)
    >>> plain = LinearRegression()
    >>> tuned = ImportanceWeightedCV(plain, random_state=0)
    >>> both = compare_risks(plain, tuned, data.X, data.y, data.X_target, random_state=0)
    >>> abs(both.other.value - both.baseline.value - both.change.value) < 1e-9
    True
    """
    for each in (baseline, other):
        check_arguments(each, y)
    if is_classifier(baseline) != is_classifier(other):
        raise ValueError(
            f"Got {type(baseline).__name__} and {type(other).__name__}, a classifier and a "
            "regressor; two models of one kind can be compared."
        )
    measure = find_measure(scoring, loss, baseline)
    if measure.row_loss is None:
        raise ValueError(
            f"Got scoring={scoring!r}, a metric of the rows as a whole, which cannot be compared "
            "row by row; choose a loss that is a mean over rows, or estimate_risk for each model."
        )
    check_options(method, confidence, measure, [baseline, other])
    brings = [each for each in (other, baseline) if isinstance(each, WeightedEstimator)]
    problem = RiskProblem(
        brings[0] if brings else baseline,
        X,
        y,
        X_target,
        ratio=ratio,
        sample_weight=sample_weight,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    pair = assess_procedures(
        [baseline, other], problem, measure, method=method, confidence=confidence
    )
    return RiskComparison(pair[0].risk, pair[1].risk, paired_change(pair[1], pair[0], confidence))
