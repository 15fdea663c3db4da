"""The information criterion against J and H by numerical derivatives."""

from functools import partial

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import information
from weighbridge import Geodesic
from weighbridge.exceptions import WeightWarning
from weighbridge.model_selection import InformationCriterion, Point, information_criterion
from weighbridge.weighting import mean_one

POINTS = [Point(0.0, 1.0), Point(0.5, 3.0), Point(1.0, 1.0)]
TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}
MODELS = {
    "linear": LinearRegression(),
    "ridge": Ridge(5.0, solver="cholesky"),
    "logistic": LogisticRegression(C=0.5, **TIGHT),
    "logistic_origin": LogisticRegression(C=0.5, **TIGHT).set_params(fit_intercept=False),
    "poisson": PoissonRegressor(alpha=0.1, **TIGHT),
    "poisson_free": PoissonRegressor(alpha=0.0, fit_intercept=False, **TIGHT),
}
all_models = pytest.mark.parametrize("estimator", MODELS.values(), ids=MODELS)
# formulas hold with few effective rows too
WITH_FEW_ROWS = pytest.mark.filterwarnings(
    "ignore:The ratio times:weighbridge.exceptions.WeightWarning"
)


def _row_losses(estimator, Z, y, theta):
    """Losses of the rows, as the field writes them, of complex parameters."""
    if isinstance(estimator, LinearRegression | Ridge):  # the variance comes last
        v = theta[-1]
        return ((Z @ theta[:-1] - y) ** 2 / v + np.log(2 * np.pi * v)) / 2
    eta = Z @ theta
    if isinstance(estimator, LogisticRegression):
        return np.log(1 + np.exp(eta)) - y * eta
    return np.exp(eta) - y * eta + gammaln(y + 1)


def _derivatives(losses, theta):
    """Losses of the rows, and two derivatives: complex steps, and central differences of these."""
    unit = np.eye(theta.size)

    def gradients(at):
        return np.column_stack([losses(at + 1e-30j * e).imag / 1e-30 for e in unit])

    steps = 2e-3 * np.maximum(np.abs(theta), 0.1)
    stencil = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # of order six
    second = [
        sum(c * (gradients(theta + k * h * e) - gradients(theta - k * h * e)) for k, c in stencil)
        / h
        for e, h in zip(unit, steps, strict=True)
    ]
    return losses(theta + 0j).real, gradients(theta), np.stack(second, axis=1)


def _explicit(estimator, X, y, r, w):
    """Losses and derivatives of the rows, J, H and P at scikit-learn's fit."""
    model = clone(estimator).fit(X, y, sample_weight=w)
    Z = np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X
    theta = np.append(model.coef_, model.intercept_) if model.fit_intercept else model.coef_.ravel()
    strength = 1 / model.C if hasattr(model, "C") else getattr(model, "alpha", 0.0)
    strength *= w.sum() if isinstance(estimator, PoissonRegressor) else 1.0
    P = np.diag(strength * (np.arange(theta.size) < X.shape[1]))
    if isinstance(estimator, LinearRegression | Ridge):
        theta = np.append(theta, np.average((y - Z @ theta) ** 2, weights=w))
        P = np.pad(P / theta[-1], (0, 1))
    rows = _derivatives(partial(_row_losses, estimator, Z, y), theta)
    return rows, (rows[1].T * (r * w)) @ rows[1], np.tensordot(w, rows[2], 1) + P, P


def _explicit_value(estimator, X, y, r, w):
    rows, J, H, _ = _explicit(estimator, X, y, r, w)
    return (r @ rows[0] + np.trace(J @ np.linalg.inv(H))) / r.sum()


def _problem(estimator, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2)) * [1.0, 3.0] + [0.0, 1.0]
    eta = X @ [0.5, -0.2] + 0.2 * X[:, 0] ** 2
    s = 0.8 * X[:, 0]
    if isinstance(estimator, LogisticRegression):
        return X, (eta + rng.logistic(size=n) > 0).astype(float), s
    if isinstance(estimator, PoissonRegressor):
        return X, rng.poisson(np.exp(eta)).astype(float), s
    return X, eta + rng.standard_t(3, size=n), s


def _scaled(s, point, own=None):
    r = mean_one(s, own)
    return r, mean_one(Geodesic(*point)(np.log(r)), own)


def _value(estimator, X, y, s, point, own=None):
    objective = InformationCriterion().objective(estimator, X, y, s, own)
    losses = next(objective.evaluate([point])).losses
    return np.average(losses, weights=objective.unit_weights)


# --- formulas ----------------------------------------------------------------------------------


@WITH_FEW_ROWS
@pytest.mark.parametrize("point", POINTS)
@all_models
def test_value_is_that_of_explicit_matrices(estimator, point):
    X, y, s = _problem(estimator)
    r, w = _scaled(s, point)
    expected = _explicit_value(estimator, X, y, r, w)
    assert _value(estimator, X, y, s, point) == pytest.approx(expected, rel=1e-10)


@WITH_FEW_ROWS
@pytest.mark.parametrize("point", POINTS)
def test_printed_formula_of_the_normal_linear_model(point):
    # IC = sum r {e^2/s2 + log(2 pi s2)} + 2 sum r {(e^2/s2) h + w/(2c) (e^2/s2 - 1)^2}
    X, y, s = _problem(LinearRegression())
    r, w = _scaled(s, point)
    Z = np.column_stack([X, np.ones(len(X))])
    e, c = y - LinearRegression().fit(X, y, sample_weight=w).predict(X), w.sum()
    s2 = w @ e**2 / c
    h = w * np.einsum("ij,jk,ik->i", Z, np.linalg.inv((Z.T * w) @ Z), Z)
    ratio = e**2 / s2
    ic = r @ (ratio + np.log(2 * np.pi * s2))
    ic += 2 * r @ (ratio * h + w / (2 * c) * (ratio - 1) ** 2)
    value = _value(LinearRegression(), X, y, s, point)
    assert value == pytest.approx(ic / (2 * y.size), rel=1e-10)


@WITH_FEW_ROWS
@all_models
def test_own_weights_multiply_both_weights(estimator):
    X, y, s = _problem(estimator)
    own = np.random.default_rng(1).uniform(0.5, 2, size=y.size)
    r, w = _scaled(s, POINTS[1], own)
    expected = _explicit_value(estimator, X, y, own * r, own * w)
    assert _value(estimator, X, y, s, POINTS[1], own) == pytest.approx(expected, rel=1e-10)


@all_models
def test_general_function_takes_matrices_of_rows_or_a_function_for_their_sum(estimator):
    X, y, s = _problem(estimator)
    r, w = _scaled(s, POINTS[1])
    rows, J, H, P = _explicit(estimator, X, y, r, w)
    terms = (rows[0], rows[1])
    found = information_criterion(*terms, rows[2], s, np.log(w), penalty=P)
    assert found.value == pytest.approx(_value(estimator, X, y, s, POINTS[1]), rel=1e-10)
    trace = np.trace(J @ np.linalg.inv(H))
    assert found.effective_parameters == pytest.approx(trace, rel=1e-10)
    assert found.penalty == pytest.approx(trace / y.size, rel=1e-10)
    assert found.value - found.penalty == pytest.approx(r @ rows[0] / y.size, rel=1e-12)
    summed = information_criterion(
        *terms, lambda w: np.tensordot(w, rows[2], 1), s, np.log(w), penalty=np.diag(P)
    )
    np.testing.assert_allclose(summed.losses, found.losses, rtol=1e-13)
    # neither scale counts, and ratios are averaged with themselves
    other = information_criterion(*terms, rows[2], s + 3, np.log(w) - 5, penalty=P)
    np.testing.assert_allclose(other.losses, found.losses, rtol=1e-10)
    np.testing.assert_allclose(found.weights, r, rtol=1e-12)


def test_units_of_parameters_and_columns_do_not_matter():
    estimator = MODELS["poisson_free"]
    X, y, s = _problem(estimator)
    r, w = _scaled(s, POINTS[1])
    rows, _, _, _ = _explicit(estimator, X, y, r, w)
    units = np.array([1e-9, 1e7])
    first, second = rows[1] * units, rows[2] * np.outer(units, units)
    small = information_criterion(rows[0], first, second, s, np.log(w))
    found = information_criterion(*rows, s, np.log(w))
    np.testing.assert_allclose(small.losses, found.losses, rtol=1e-11)
    value = _value(estimator, X, y, s, POINTS[1])
    assert _value(estimator, X * [1e-6, 1e5], y, s, POINTS[1]) == pytest.approx(value, rel=1e-10)


@WITH_FEW_ROWS
def test_transformers_come_first_and_repeated_columns_do_no_harm():
    poisson = MODELS["poisson"]
    X, y, s = _problem(poisson)
    pipeline = make_pipeline(StandardScaler(), poisson)
    scaled = _value(poisson, StandardScaler().fit_transform(X), y, s, POINTS[1])
    assert _value(pipeline, X, y, s, POINTS[1]) == pytest.approx(scaled, rel=1e-12)
    twice, free = np.column_stack([X, X[:, 0]]), MODELS["poisson_free"]
    value = _value(free, X, y, s, POINTS[1])
    assert _value(free, twice, y, s, POINTS[1]) == pytest.approx(value, rel=1e-8)


# --- what it estimates -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "draw", "parameters"),
    [
        (LinearRegression(), lambda eta, rng: eta + rng.normal(size=eta.size), 4),
        (LogisticRegression(C=np.inf), lambda eta, rng: eta + rng.logistic(size=eta.size) > 0, 3),
        (PoissonRegressor(alpha=0), lambda eta, rng: rng.poisson(np.exp(eta)), 3),
    ],
)
def test_without_shift_and_with_a_true_model_it_is_akaike(estimator, draw, parameters):
    # The penalty is the number of parameters, divided by n.
    n, found = 2000, []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        y = draw(X @ [0.4, -0.3], rng)
        objective = InformationCriterion().objective(estimator, X, y, np.zeros(n))
        found.append(objective.scores(np.ones(n)).effective_parameters)
    assert abs(np.mean(found) - parameters) < 3 * np.std(found, ddof=1) / 5


@pytest.mark.slow
@pytest.mark.parametrize("name", list(information.MODELS))
def test_expected_value_is_the_expected_loss_on_the_target(name):
    found = information.Problem(name, 2, 600, 0.5, 1.0, 0.1).figures(400, first=10_000)
    for bias, error in zip(found["bias"], found["standard_error"], strict=True):
        assert abs(bias) < 3 * error


# --- messages ----------------------------------------------------------------------------------


def _terms(n=20):
    """Losses, gradients and Hessians of a mean under squared error, at the fit."""
    y = np.random.default_rng(0).normal(size=n)
    e = y.mean() - y
    return e**2 / 2, e[:, None], np.ones((n, 1, 1)), np.zeros(n), np.zeros(n)


@pytest.mark.parametrize(
    ("place", "wrong", "words"),
    [
        (0, np.ones((20, 2)), r"Got losses of shape \(20, 2\)"),
        (
            0,
            np.full(20, np.nan),
            r"Got losses of shape \(20,\), or with values that are not",
        ),
        (1, np.ones(20), r"Got gradients of shape \(20,\)"),
        (1, np.full((20, 1), np.inf), r"values that are not finite"),
        (2, np.ones((20, 2, 2)), r"need finite hessians of shape \(20, 1, 1\)"),
        (2, lambda w: np.ones(2), r"Got hessians of shape \(2,\), .* of shape \(1, 1\)"),
        (2, lambda w: np.full((1, 1), np.nan), r"Got hessians of shape \(1, 1\), or with values"),
        (3, np.zeros(19), r"need finite log_ratio of shape \(20,\)"),
        (4, np.full(20, np.nan), r"Got log_weight of shape \(20,\), or with values"),
    ],
)
def test_shapes_and_numbers_are_checked(place, wrong, words):
    terms = list(_terms())
    terms[place] = wrong
    with pytest.raises(ValueError, match=words):
        information_criterion(*terms)
    with pytest.raises(ValueError, match=r"Got penalty of shape \(2, 2\).* of shape \(1, 1\)"):
        information_criterion(*_terms(), penalty=np.ones(2))


def test_parameters_off_the_weighted_fit_are_refused_unless_a_penalty_may_hold_them():
    losses, gradients, *rest = _terms()
    with pytest.raises(ValueError, match=r"weighted sum is not 0: .* off the weighted fit by 0\.2"):
        information_criterion(losses, gradients + 0.05, *rest)
    information_criterion(losses, gradients + 0.0005, *rest)
    assert information_criterion(losses, gradients + 0.05, *rest, penalty=[1.0]).penalty > 0


def test_parameters_without_a_single_minimum_raise():
    losses, gradients, hessians, *rest = _terms()
    with pytest.raises(ValueError, match="with 1 negative eigenvalues"):
        information_criterion(losses, gradients, -hessians, *rest)
    both = np.column_stack([gradients, np.tile([0.3, -0.3], 10)])
    flat = np.zeros((20, 2, 2))
    flat[:, 0, 0] = hessians[:, 0, 0]
    with pytest.raises(ValueError, match="1 of 0 for directions in which losses change"):
        information_criterion(losses, both, flat, *rest)
    # A parameter on which no loss depends does no harm.
    both[:, 1] = 0.0
    found = information_criterion(losses, both, flat, *rest)
    assert found.value == pytest.approx(information_criterion(*_terms()).value)


def test_other_estimators_and_several_classes_raise():
    X, y, s = _problem(Ridge())
    selected = make_pipeline(SelectKBest(f_regression, k=1), Ridge())
    for estimator in (RandomForestRegressor(), GammaRegressor(), selected):
        words = r"Got [\s\S]*but this criterion takes LinearRegression.*Use CrossValidation\(\)"
        with pytest.raises(TypeError, match=words):
            InformationCriterion().objective(estimator, X, y, s)
    with pytest.raises(ValueError, match=r"Got 3 classes, but .* takes Logistic.* two"):
        InformationCriterion().objective(LogisticRegression(), X, np.arange(150) % 3, s)


def test_weightings_without_residuals_are_recorded():
    line, X = LinearRegression(fit_intercept=False), np.arange(60.0)[:, None]
    objective = InformationCriterion().objective(line, X, np.zeros(60), np.zeros(60))
    assert "the fit leaves no residuals" in next(objective.evaluate(POINTS)).error


# --- the warning -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parameters"), [("poisson", 3), ("linear", 4)])
def test_few_effective_rows_warn_at_the_users_line(name, parameters):
    X, y, s = _problem(MODELS[name])
    words = (
        r"The ratio times the gradients of the unweighted fit has \d+\.\d effective rows for "
        rf"{parameters} parameters, and one row has \d+\.\d% of the ratio; with fewer than 10 for "
        r"each, or more than 5%, .* Use LeaveOneOut"
    )
    with pytest.warns(WeightWarning, match=words) as caught:
        InformationCriterion().objective(MODELS[name], X, y, 4 * s)
    assert caught[0].filename == __file__


def test_effective_rows_are_those_of_ratio_times_gradients():
    # by hand for an intercept alone: |g| is the size of the residual
    rng = np.random.default_rng(3)
    y, s = rng.poisson(2.0, size=60), 1.5 * rng.normal(size=60)
    t = mean_one(s) * np.abs(y - y.mean())
    ess = t.sum() ** 2 / (t**2).sum()
    with pytest.warns(WeightWarning, match=rf"has {ess:.1f} effective rows for 2 parameters"):
        InformationCriterion().objective(PoissonRegressor(alpha=0), np.zeros((60, 1)), y, s)


def test_one_row_with_much_of_the_ratio_is_warned_of():
    logistic = MODELS["logistic"]
    X, y, s = _problem(logistic, n=2000)
    InformationCriterion().objective(logistic, X, y, 0.3 * s)
    s = 0.3 * s
    s[5] = np.log(np.exp(s).sum() * 0.06)
    with pytest.warns(WeightWarning, match=r"one row has 5\.\d% of the ratio"):
        InformationCriterion().objective(logistic, X, y, s)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", [("linear", 2, 250, 1.4, 1.0, 0.6), ("Poisson", 3, 600, 1.75, 1.0, 0.4)]
)
def test_it_warns_in_time(problem):
    found = information.Problem(*problem).figures(200, first=20_000)
    assert found["worst"] < -0.05
    assert found["warned"] > 0.9
