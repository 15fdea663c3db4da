"""Which estimators have a closed form, and what is said of the others."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from weighbridge.criteria import LeaveOneOut
from weighbridge.criteria._linear_design import closed_form_family, linear_model


def _regression(n=40, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] ** 2 + X.sum(axis=1) + rng.normal(size=n), 0.5 * X[:, 0]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (DecisionTreeRegressor(), r"Got DecisionTreeRegressor.*takes LinearRegression, Ridge"),
        (LinearRegression(positive=True), r"Got LinearRegression\(positive=True\)"),
        (LogisticRegression(class_weight="balanced"), "Got LogisticRegression"),
        (LogisticRegression(solver="liblinear"), "Got LogisticRegression"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), "Got LogisticRegression"),
        (make_pipeline(LinearSVR(), Ridge()), "pipeline with LinearSVR, whose output may depend"),
    ],
)
def test_other_estimators_are_refused_by_name(estimator, message):
    X, y, s = _regression()
    y = y > 0 if isinstance(estimator, LogisticRegression) else y
    with pytest.raises(TypeError, match=message):
        LeaveOneOut().objective(estimator, X, y, s)
    assert closed_form_family(estimator) is None


def test_tables_that_are_no_numbers_other_classes_and_counts():
    X, y, s = _regression()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="missing or infinite values"):
        LeaveOneOut().objective(Ridge(), broken, y, s)
    with pytest.raises(ValueError, match="Got 3 classes; the closed form"):
        LeaveOneOut().objective(LogisticRegression(), X, np.arange(y.size) % 3, s)
    with pytest.raises(ValueError, match=r"Got a negative label \(-1\)"):
        LeaveOneOut().objective(PoissonRegressor(), X, np.r_[-1, np.ones(y.size - 1)], s)
    one_hot = make_pipeline(OneHotEncoder(), Ridge())  # sparse
    assert linear_model(one_hot, X[:, :1].round(), y).features.ndim == 2


@pytest.mark.parametrize(
    ("estimator", "scoring", "known"),
    [
        (Ridge(), "r2", "neg_mean_absolute_error"),
        (Ridge(), "accuracy", "neg_mean_squared_error"),
        (LogisticRegression(), "neg_mean_squared_error", "neg_brier_score"),
        (LogisticRegression(), len, "neg_log_loss"),
        (LogisticRegression(), "neg_squared_margin", "accuracy"),
    ],
)
def test_metrics_that_are_no_means_over_rows_are_refused(estimator, scoring, known):
    X, y, s = _regression()
    with pytest.raises(ValueError, match=rf"not a mean over rows .*one of \[.*'{known}'.*\]\. Use"):
        LeaveOneOut(scoring=scoring).objective(estimator, X, y > 0, s)
