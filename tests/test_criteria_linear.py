"""Leave-one-out without refitting equals refitting; batched fits equal scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from weighbridge import Geodesic
from weighbridge.criteria import LeaveOneOut, _linear
from weighbridge.criteria._criterion import candidate_weights
from weighbridge.criteria._linear import CandidateSolver
from weighbridge.criteria._linear_design import inverses, linear_model
from weighbridge.search import Point
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


def _mean_one(weighting, log_ratio, own=None):
    own = np.ones(log_ratio.size) if own is None else own
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
def test_own_weights_multiply_and_zero_leaves_a_row_out(estimator):
    X, y, s = _regression()
    own = np.random.default_rng(1).integers(0, 4, size=y.size).astype(float)
    counted = own > 0
    # whatever the labels and ratios of rows that do not count
    y, s = np.where(counted, y, np.nan), np.where(counted, s, np.inf)
    objective = LeaveOneOut().objective(estimator, X, y, s, own)
    part = X[counted], y[counted], s[counted], own[counted]
    for evaluation in objective.evaluate(POINTS):
        weights = _mean_one(Geodesic(*evaluation.point), part[2], part[3])
        features, last = _last_step(estimator, part[0])
        held_out = _without_each_row(last, features, part[1], weights)
        np.testing.assert_allclose(evaluation.losses, (part[1] - held_out) ** 2, rtol=1e-9)
    validation = _mean_one(RIWERM(0.9), part[2], part[3])
    np.testing.assert_allclose(objective.unit_weights, validation, rtol=1e-12)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), LogisticRegression()])
@pytest.mark.parametrize("limit", [("_PRODUCTS", 0), ("_WIDE", 3)])
def test_products_row_by_row_and_candidates_one_by_one_give_the_same_result(
    estimator, limit, monkeypatch
):
    X, y, s = _regression(60, 6)
    y = y > np.median(y) if isinstance(estimator, LogisticRegression) else y
    before = LeaveOneOut().objective(estimator, X, y, s)
    together = [each.losses for each in before.evaluate(POINTS)]
    monkeypatch.setattr(_linear, *limit)
    objective = LeaveOneOut().objective(estimator, X, y, s)
    single = [each.losses for each in objective.evaluate(POINTS)]
    # other orders of the same sums; a loss near 0 is a difference of larger numbers
    np.testing.assert_allclose(single, together, rtol=1e-9, atol=1e-11 * np.max(together))
    evaluations = list(objective.evaluate(POINTS))
    np.testing.assert_allclose(
        objective.predictions(evaluations), before.predictions(evaluations), rtol=1e-9
    )


def test_predictions_are_those_behind_the_losses():
    X, y, s = _regression()
    objective = LeaveOneOut(scoring="neg_mean_absolute_error").objective(Ridge(), X, y, s)
    evaluations = list(objective.evaluate(POINTS))
    predictions = objective.predictions(evaluations)
    for evaluation, prediction in zip(evaluations, predictions, strict=True):
        np.testing.assert_allclose(np.abs(y - prediction), evaluation.losses, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("constant", [0.1, 1e8])
def test_constant_and_repeated_columns_change_no_prediction(intercept, constant):
    X, y, s = _regression()
    extra = np.column_stack([X, X[:, 0], np.full(y.size, constant)])
    losses = [
        next(LeaveOneOut().objective(model, table, y, s).evaluate([Point(0.5, 3.0)])).losses
        for model, table in (
            (LinearRegression(fit_intercept=intercept), extra),
            (LinearRegression(fit_intercept=True), X),  # a constant column is an intercept
        )
    ]
    # the pseudo-inverse drops singular values below 1e-12 of the largest
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6, atol=1e-8 * losses[1].max())


def test_a_row_that_alone_determines_its_prediction_is_not_scored():
    # all other rows are, as if that row and its column were not there
    X, y, s = _regression()
    X[:, 2] = np.arange(y.size) == 5  # a column that is 0 but for one row
    objective = LeaveOneOut().objective(LinearRegression(), X, y, s)
    rest = np.delete(np.arange(y.size), 5)
    np.testing.assert_array_equal(objective.held_rows, rest)
    scores = LeaveOneOut()(LinearRegression(), X, y, s, s / 2)
    without = LeaveOneOut()(LinearRegression(), X[rest, :2], y[rest], s[rest], s[rest] / 2)
    np.testing.assert_allclose(scores.losses, without.losses, rtol=1e-9)
    evaluation = next(objective.evaluate(POINTS[:1]))
    assert objective.predictions([evaluation]).shape == (1, y.size - 1)
    assert LeaveOneOut().objective(Ridge(), X, y, s).held_rows.size == y.size


def test_weights_that_leave_too_few_rows_are_a_failure():
    X, y, s = _regression()
    log_weight = np.where(np.arange(y.size) < 3, 0.0, -np.inf)  # three rows for four parameters
    with pytest.raises(ValueError, match=r"cannot be scored\. ValueError: a single row determines"):
        LeaveOneOut()(LinearRegression(), X, y, s, log_weight)


def test_as_many_columns_as_rows():
    _, y, s = _regression()
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


@pytest.mark.parametrize("scale", [0.8, 4.0])
@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (LogisticRegression(C=1), "logistic"),
        (LogisticRegression(C=np.inf), "logistic"),
        (LogisticRegression(C=1, fit_intercept=False), "logistic"),
        (LogisticRegression(C=1e4), "separable"),
        (PoissonRegressor(alpha=0), "poisson"),
        (PoissonRegressor(alpha=1, fit_intercept=False), "poisson"),
    ],
)
def test_batched_newton_fits_are_those_of_scikit_learn(estimator, kind, scale):
    X, y, s = _generalised(kind)
    y = X[:, 0] + 0.1 * X[:, 1] > 0 if kind == "separable" else y
    weights = np.stack([_mean_one(Geodesic(*point), scale * s) for point in POINTS])
    fits = CandidateSolver(linear_model(estimator, X, y).design()).fit(weights)
    tight = clone(estimator).set_params(tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    for eta, row in zip(fits.eta, weights, strict=True):
        expected = tight.fit(X, y, sample_weight=row)
        predictor = X @ np.ravel(expected.coef_) + expected.intercept_
        np.testing.assert_allclose(eta, predictor, rtol=1e-6, atol=1e-6)


def test_newton_survives_separable_classes_without_a_penalty():
    # the likelihood has no maximum; what is found separates the classes, and nothing is raised
    X, _, s = _generalised("logistic", 60)
    y = X[:, 0] > 0
    evaluation = next(
        LeaveOneOut(scoring="accuracy")
        .objective(LogisticRegression(C=np.inf), X, y, s)
        .evaluate([Point(0.5, 3.0)])
    )
    assert evaluation.losses.mean() < 0.2


def test_inverses_of_singular_matrices_are_pseudo_inverses():
    good, bad = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])
    np.testing.assert_allclose(inverses(np.stack([good]))[0], np.diag([1, 0.5]))
    np.testing.assert_allclose(
        inverses(np.stack([good, bad])), [np.diag([1, 0.5]), np.diag([1.0, 0])], atol=1e-12
    )


@pytest.mark.parametrize("estimator", [LogisticRegression(C=0.5), PoissonRegressor(alpha=0.01)])
def test_candidates_that_start_from_a_mix_of_others_end_where_they_do_alone(estimator):
    X, y, s = _regression(200, 3)
    is_class = isinstance(estimator, LogisticRegression)
    y = y > np.median(y) if is_class else np.rint(np.abs(y) / 50)
    points = [Point(lam, alpha) for lam in np.linspace(0, 1, 11) for alpha in (-1.0, 1.0, 3.0)]
    objective = LeaveOneOut().objective(estimator, X / 10, y, s)
    weights = candidate_weights(objective.log_ratio, points)
    solver = CandidateSolver(objective.design)
    together = solver.fit(weights)
    for row, (coef, eta, spread) in enumerate(
        zip(together.coef, together.eta, together.spread, strict=True)
    ):
        alone = solver.fit(weights[row : row + 1])
        np.testing.assert_allclose(coef, alone.coef[0], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(eta, alone.eta[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(spread, alone.spread[0], rtol=1e-6)


def test_a_table_that_is_too_wide_is_refused_before_anything_is_solved(monkeypatch):
    criterion = LeaveOneOut()
    criterion._most_columns = 2
    monkeypatch.setattr(_linear, "CandidateSolver", None)
    X, y, s = _regression()
    with pytest.raises(ValueError, match="more than 2 columns"):
        criterion.objective(Ridge(), X, y, s)
