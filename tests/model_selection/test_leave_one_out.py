"""Leave-one-out without refitting equals refitting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from weighbridge import Geodesic
from weighbridge.model_selection import LeaveOneOut, Point, has_closed_form
from weighbridge.weighting import AIWERM, ERM, IWERM, RIWERM

WEIGHTINGS = [ERM(), IWERM(), AIWERM(0.5), RIWERM(0.5), Geodesic(0.3, -2)]
POINTS = [Point(0.0, 1.0), Point(1.0, 1.0), Point(0.5, 1.0), Point(0.5, 3.0), Point(0.3, -2.0)]
REGRESSIONS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(3.0),
    Ridge(0.1, fit_intercept=False),
    make_pipeline(StandardScaler(), Ridge(2.0)),
    make_pipeline(StandardScaler(), "passthrough", PolynomialFeatures(2), Ridge(0.5)),
    make_pipeline(make_column_transformer((StandardScaler(), [0]), remainder="drop"), Ridge()),
]
# one Newton step is within this share of the mean loss of refitting
CLOSE = 0.005


def _regression(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 3 ** np.arange(d) + 2
    y = X[:, 0] ** 2 + X.sum(axis=1) + rng.normal(size=n)
    return X, y, 0.7 * (X[:, 0] - 2)


def _last_step(estimator, X):
    """Features that all refits share, and the model to refit."""
    if not hasattr(estimator, "steps"):
        return X, estimator
    return clone(estimator[:-1]).fit_transform(X), estimator[-1]


def _without_each_row(estimator, X, y, weights, method="predict"):
    """Predict each row that has weight by a fit to the others."""
    features, model = _last_step(estimator, X)
    counted = np.flatnonzero(weights)
    out = []
    for row in counted:
        rest = counted[counted != row]
        fit = clone(model).fit(features[rest], y[rest], sample_weight=weights[rest])
        out.append(getattr(fit, method)(features[[row]])[0])
    return np.array(out)


def _mean_one(weighting, log_ratio, counts=1.0):
    own = counts * np.ones(log_ratio.size)
    r = np.exp(log_ratio)
    w = np.exp(weighting(np.log(r / np.average(r, weights=own))))
    return own * w / np.average(w, weights=own)


# --- exact: squared error ----------------------------------------------------------------------


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("estimator", REGRESSIONS)
def test_leave_one_out_is_refitting(estimator, weighting):
    X, y, s = _regression()
    scores = LeaveOneOut()(estimator, X, y, s, weighting(s - np.log(np.exp(s).mean())))
    expected = (y - _without_each_row(estimator, X, y, _mean_one(weighting, s))) ** 2
    np.testing.assert_allclose(scores.losses, expected, rtol=1e-9)
    # the default validation weights are those of RIWERM(0.9), and the value their weighted mean
    validation = _mean_one(RIWERM(0.9), s)
    np.testing.assert_allclose(scores.weights, validation, rtol=1e-12)
    assert scores.value == pytest.approx(np.average(expected, weights=validation), rel=1e-9)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(5, 30),
    st.sampled_from([0.0, 1e-3, 1.0, 100.0]),
    st.booleans(),
    st.floats(0, 1),
    st.floats(-3, 5),
)
def test_leave_one_out_is_refitting_on_random_designs(seed, d, more, strength, b, lam, alpha):
    X, y, s = _regression(3 * d + more, d, seed)
    estimator = Ridge(strength, fit_intercept=b, solver="svd")
    objective = LeaveOneOut().objective(estimator, X, y, s)
    losses = next(objective.evaluate([Point(lam, alpha)])).losses
    expected = (y - _without_each_row(estimator, X, y, _mean_one(Geodesic(lam, alpha), s))) ** 2
    # a loss near 0 is the square of a difference of numbers of the size of y
    np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-11 * np.square(y).max())


@pytest.mark.parametrize("estimator", REGRESSIONS[:5])
def test_sample_weights_multiply_and_zero_leaves_a_row_out(estimator):
    X, y, s = _regression()
    counts = np.random.default_rng(1).integers(0, 4, size=y.size).astype(float)
    used = counts > 0
    # The labels and ratios of rows that do not count may be anything.
    y, s = np.where(used, y, np.nan), np.where(used, s, np.inf)
    objective = LeaveOneOut().objective(estimator, X, y, s, counts)
    X, y, s, counts = X[used], y[used], s[used], counts[used]
    features, last = _last_step(estimator, X)
    for evaluation in objective.evaluate(POINTS):
        weights = _mean_one(Geodesic(*evaluation.point), s, counts)
        expected = (y - _without_each_row(last, features, y, weights)) ** 2
        np.testing.assert_allclose(evaluation.losses, expected, rtol=1e-9)
    validation = _mean_one(RIWERM(0.9), s, counts)
    np.testing.assert_allclose(objective.unit_weights, validation, rtol=1e-12)


@pytest.mark.parametrize("constant", [0.1, 1e8])
def test_constant_and_repeated_columns_change_no_prediction(constant):
    X, y, s = _regression()
    extra = np.column_stack([X, X[:, 0], np.full(y.size, constant)])
    expected = LeaveOneOut()(LinearRegression(), X, y, s, s).losses
    for intercept in (True, False):  # A constant column is an intercept.
        losses = LeaveOneOut()(LinearRegression(fit_intercept=intercept), extra, y, s, s).losses
        # The pseudo-inverse drops singular values below 1e-12 of the largest.
        np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-8 * expected.max())


def test_a_row_that_alone_determines_its_prediction_is_not_scored():
    # all other rows are, as if that row and its column were not there
    X, y, s = _regression()
    X[:, 2] = np.arange(y.size) == 5  # a column that is 0 but for one row
    objective = LeaveOneOut().objective(LinearRegression(), X, y, s)
    rest = np.delete(np.arange(y.size), 5)
    assert objective.unit_weights.shape == rest.shape
    scores = LeaveOneOut()(LinearRegression(), X, y, s, s / 2)
    without = LeaveOneOut()(LinearRegression(), X[rest, :2], y[rest], s[rest], s[rest] / 2)
    np.testing.assert_allclose(scores.losses, without.losses, rtol=1e-9)
    assert LeaveOneOut().objective(Ridge(), X, y, s).unit_weights.shape == y.shape


def test_too_few_rows_fail_or_raise():
    X, y, s = _regression()
    log_weight = np.where(np.arange(y.size) < 3, 0.0, -np.inf)  # three rows for four parameters
    with pytest.raises(ValueError, match=r"cannot be scored\. ValueError: a single row determines"):
        LeaveOneOut()(LinearRegression(), X, y, s, log_weight)
    wide = np.random.default_rng(0).normal(size=(y.size, y.size + 1))
    with pytest.raises(ValueError, match="every row determines its own prediction"):
        LeaveOneOut().objective(LinearRegression(), wide, y, s)


# --- approximate: logistic and Poisson ---------------------------------------------------------


def _generalised(kind, n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = 0.8 * X[:, 0] - 0.5 * X[:, 1] + 0.4 * X[:, 2] ** 2 - 0.4
    y = rng.poisson(np.exp(eta / 2)) if kind == "poisson" else eta + rng.logistic(size=n) > 0
    return X, y, 0.8 * X[:, 0]


GENERALISED = [
    (LogisticRegression(C=1, tol=1e-10, solver="newton-cholesky"), "neg_log_loss"),
    (LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky"), "neg_log_loss"),
    (PoissonRegressor(alpha=0, tol=1e-10, solver="newton-cholesky"), "neg_mean_poisson_deviance"),
    (PoissonRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky"), "neg_mean_squared_error"),
]


@pytest.mark.more
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(("estimator", "scoring"), GENERALISED)
def test_one_newton_step_is_close_to_refitting(estimator, scoring, point):
    # eta - i = eta + q w l' / (1 - q w l''), against 300 refits
    logistic = isinstance(estimator, LogisticRegression)
    X, y, s = _generalised("logistic" if logistic else "poisson")
    objective = LeaveOneOut(scoring=scoring).objective(estimator, X, y, s)
    losses = next(objective.evaluate([point])).losses
    weights = _mean_one(Geodesic(*point), s)
    method = "predict_proba" if logistic else "predict"
    held_out = _without_each_row(estimator, X, y, weights, method)
    if logistic:
        expected = -np.log(np.where(y, held_out[:, 1], held_out[:, 0]))
    elif scoring == "neg_mean_squared_error":
        expected = (y - held_out) ** 2
    else:
        expected = 2 * (np.where(y > 0, y * np.log(np.maximum(y, 1) / held_out), 0) - y + held_out)
    approximate, exact = (np.average(v, weights=objective.unit_weights) for v in (losses, expected))
    assert approximate == pytest.approx(exact, rel=CLOSE)


def test_newton_survives_separable_classes_without_a_penalty():
    # The likelihood has no maximum; what is found separates the classes, and nothing is raised.
    X, _, s = _generalised("logistic", 60)
    criterion = LeaveOneOut(scoring="accuracy")
    assert criterion(LogisticRegression(C=np.inf), X, X[:, 0] > 0, s, s / 2).losses.mean() < 0.2


# --- who gets it -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            DecisionTreeRegressor(),
            r"Got DecisionTreeRegressor.*takes LinearRegression, Ridge.*Use Cross",
        ),
        (LinearRegression(positive=True), r"Got LinearRegression\(positive=True\)"),
        (LogisticRegression(class_weight="balanced"), "Got LogisticRegression"),
        (LogisticRegression(solver="liblinear"), "Got LogisticRegression"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), "Got LogisticRegression"),
        (make_pipeline(LinearSVR(), Ridge()), r"Got Pipeline[\s\S]*but this criterion takes"),
        (type("Mine", (Ridge,), {})(), "Got Mine"),
    ],
)
def test_other_estimators_are_refused_by_name(estimator, message):
    X, y, s = _regression()
    y = y > 0 if isinstance(estimator, LogisticRegression) else y
    with pytest.raises(TypeError, match=message):
        LeaveOneOut().objective(estimator, X, y, s)
    assert not has_closed_form(estimator, y)


def test_tables_and_labels_that_a_model_cannot_take_raise():
    X, y, s = _regression()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="missing or infinite values"):
        LeaveOneOut().objective(Ridge(), broken, y, s)
    with pytest.raises(ValueError, match=r"Got a negative label \(-1\)"):
        LeaveOneOut().objective(PoissonRegressor(), X, np.r_[-1, np.ones(y.size - 1)], s)
    one_hot = make_pipeline(OneHotEncoder(), Ridge())  # sparse
    rounded = X[:, :1].round()
    dense = make_pipeline(OneHotEncoder(sparse_output=False), Ridge())
    losses = [LeaveOneOut()(each, rounded, y, s, s).losses for each in (one_hot, dense)]
    np.testing.assert_allclose(*losses, rtol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "scoring", "known"),
    [
        (Ridge(), "r2", "neg_mean_absolute_error"),
        (LogisticRegression(), len, "neg_log_loss"),
        (LogisticRegression(), "neg_squared_margin", "accuracy"),
    ],
)
def test_metrics_that_are_no_means_over_rows_are_refused(estimator, scoring, known):
    X, y, s = _regression()
    with pytest.raises(ValueError, match=rf"not a mean over rows .*one of \[.*'{known}'.*\]\. Use"):
        LeaveOneOut(scoring=scoring).objective(estimator, X, y > 0, s)
