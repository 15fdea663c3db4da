"""The risk of one model on the target."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from weighbridge._estimators import WeightedEstimator
from weighbridge.target_risk._assessed import assess_procedures, paired_change
from weighbridge.target_risk._problem import RiskProblem
from weighbridge.target_risk._question import CALIBRATED, Question, check_arguments
from weighbridge.target_risk._risk_estimate import RiskComparison, RiskEstimate


def estimate_risk(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    shift: str = "auto",
    scoring: Any = None,
    loss: Any = None,
    method: str = CALIBRATED,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RiskEstimate:
    """Estimate what a model will lose on the target, from labelled source rows.

    The whole procedure that `estimator` stands for, choice of a weighting included, is repeated
    without each of `cv` outer folds, and its held-out losses are carried over to the target.

    Parameters
    ----------
    estimator : estimator
        Regressor or classifier; a copy is fitted for each fold, whatever it was fitted to before.
        ``sklearn.frozen.FrozenEstimator(model)`` is taken as it is: all rows of `X` must then be
        new to it. `ImportanceWeighted` and `ImportanceWeightedCV` use `ratio`.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows.
    ratio : str or density ratio, optional
        Fitted or not; default that of the estimator, else the one for the kind of shift.
    shift : {"auto", "covariate", "label"}, default="auto"
        What changed: the features, the mix of classes alone, or what held-out rows point to; see
        `weighbridge.label_shift.kind_of_shift`. A `ratio` that is given decides it.
    scoring : str or scorer, optional
        As in scikit-learn. Losses are shown as losses ("accuracy" as the share of errors,
        "neg_mean_squared_error" as that error), other metrics as they are. Default: the share of
        errors, or the root mean squared error.
    loss : function ``loss(y, prediction)``, optional
        Your own loss, one number for each row, in place of `scoring`. For a classifier, y holds
        positions in ``classes_`` and predictions are probabilities.
    method : {"calibrated", "doubly robust", "weighted"}
        "calibrated": forecasts of the loss (a classifier's own, by its probabilities, and those of
        a cross-fitted model of the labels; for regressors the losses, smoothed over the features),
        calibrated by regression on rows weighted by w^(.75, 3) and averaged over the target rows.
        "doubly robust": losses that the model of the labels expects at the target rows, corrected
        by residuals weighted by the full ratio. "weighted": weighted losses alone, with the plain
        interval of the literature. All are in ``by_method``. Metrics of the rows as a whole have
        "weighted" and, for classifiers, "calibrated" (labels at the target are replaced by
        calibrated probabilities), with bootstrap intervals.
    confidence : float, default=0.95
        Confidence level of the intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Your weights for the source rows, in fitting; 0 leaves a row out. Losses are averaged over
        rows as they are: the ratio and the target know nothing of these weights.
    cv : int, default=5
        Number of outer folds.
    n_jobs : int, optional
        Fits in parallel, each in one thread.
    random_state : int, RandomState instance or None
        Deals the folds.

    Returns
    -------
    RiskEstimate
        The expected loss, its interval, and whether it can be trusted.

    See Also
    --------
    compare_risks : Two models on the same rows.

    Notes
    -----
    The interval is about the mean loss over these target rows, or over as many others like them. It
    carries the noise of the held-out losses and of the target's unknown labels, the error of an
    estimated ratio (by its influence function, nothing is fitted again), and the spread between the
    models of the outer folds, each with its own choice. Not in it: a change in the relation between
    features and label, which cannot be seen without target labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.target_risk import estimate_risk
    >>> data = make_gaussian_shift(2000, 1000, random_state=0)
    >>> risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> line = LinearRegression().fit(data.X, data.y)
    >>> actual = np.sqrt(np.mean((data.y_target - line.predict(data.X_target)) ** 2))
    >>> bool(risk.interval[0] < actual < risk.interval[1])
    True
    """
    question = Question(
        ratio=ratio,
        shift=shift,
        scoring=scoring,
        loss=loss,
        method=method,
        confidence=confidence,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    check_arguments(estimator, y)
    measure = question.measure_of(estimator)
    problem = RiskProblem(estimator, X, y, X_target, sample_weight, question)
    (assessed,) = assess_procedures([estimator], problem, measure)
    return assessed.risk


def compare_risks(
    baseline: Any,
    other: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    shift: str = "auto",
    scoring: Any = None,
    loss: Any = None,
    method: str = CALIBRATED,
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
    ratio : str or density ratio, optional
        Fitted or not; default that of one of the two, else the one for the kind of shift.
    scoring : str or scorer, optional
        As in `estimate_risk`; a loss that is a mean over rows, or the root of one.
    X, y, X_target, shift, loss, method, confidence, sample_weight, cv, n_jobs, random_state
        As in `estimate_risk`.

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
    question = Question(
        ratio=ratio,
        shift=shift,
        scoring=scoring,
        loss=loss,
        method=method,
        confidence=confidence,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    for each in (baseline, other):
        check_arguments(each, y)
    if is_classifier(baseline) != is_classifier(other):
        raise ValueError(
            f"Got {type(baseline).__name__} and {type(other).__name__}, a classifier and a "
            "regressor; only models of one kind can be compared."
        )
    measure, _ = (question.measure_of(each) for each in (baseline, other))
    if measure.row_loss is None:
        raise ValueError(
            f"Got scoring={scoring!r}, a metric of the rows as a whole, which cannot be compared "
            "row by row; choose a loss that is a mean over rows, or estimate_risk for each model."
        )
    brings = [each for each in (other, baseline) if isinstance(each, WeightedEstimator)]
    problem = RiskProblem(
        brings[0] if brings else baseline, X, y, X_target, sample_weight, question
    )
    pair = assess_procedures([baseline, other], problem, measure)
    return RiskComparison(pair[0].risk, pair[1].risk, paired_change(pair[1], pair[0]))
