"""The information criterion against its matrix form, Akaike's, and Monte Carlo."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import Geodesic
from weighbridge.criteria import InformationCriterion
from weighbridge.datasets import make_quadratic
from weighbridge.search import Point
from weighbridge.weighting import mean_one

# formulas hold with few effective rows too
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ratio times:weighbridge.exceptions.WeightWarning"
)

POINTS = [Point(0.0, 1.0), Point(1.0, 1.0), Point(0.5, 1.0), Point(0.5, 3.0), Point(0.3, -2.0)]
TIGHT = {"tol": 1e-13, "max_iter": 10_000, "solver": "newton-cholesky"}
NORMAL = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(5.0, solver="cholesky"),
    Ridge(50.0, solver="cholesky", fit_intercept=False),
]
OTHERS = [
    LogisticRegression(C=0.5, **TIGHT),
    LogisticRegression(C=np.inf, fit_intercept=False, **TIGHT),
    PoissonRegressor(alpha=0.1, **TIGHT),
    PoissonRegressor(alpha=0.0, fit_intercept=False, **TIGHT),
]


def _problem(estimator, n=250, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = X @ [0.5, -0.5, 0.3] + 0.3 * X[:, 0] ** 2
    if isinstance(estimator, LogisticRegression):
        y = (eta + rng.logistic(size=n) > 0).astype(float)
    elif isinstance(estimator, PoissonRegressor):
        y = rng.poisson(np.exp(eta)).astype(float)
    else:
        y = eta + rng.normal(size=n)
    return X, y, 0.6 * X[:, 0]


def _scaled(s, point, own=None):
    r = mean_one(s, own)
    return r, mean_one(Geodesic(*point)(np.log(r)), own)


def _fit(estimator, X, y, w):
    """Coefficients, the intercept last, and the design they belong to."""
    model = clone(estimator).fit(X, y, sample_weight=w)
    if not model.fit_intercept:
        return np.ravel(model.coef_), X
    return np.append(np.ravel(model.coef_), model.intercept_), np.column_stack([X, np.ones(len(X))])


def _matrix_form(r, w, losses, gradients, curvatures, penalty):
    """(1/n) [sum r l + tr(J H^-1)], J = sum r w g g', H = sum w K + P, row by row."""
    J = sum(a * b * np.outer(g, g) for a, b, g in zip(r, w, gradients, strict=True))
    H = sum(b * K for b, K in zip(w, curvatures, strict=True)) + penalty
    return (r @ losses + np.trace(J @ np.linalg.inv(H))) / len(r)


def _normal_value(estimator, X, y, r, w):
    """The normal model with parameters (beta, variance)."""
    beta, Z = _fit(estimator, X, y, w)
    p = beta.size
    e = y - Z @ beta
    v = w @ e**2 / w.sum()
    losses = e**2 / (2 * v) + np.log(2 * np.pi * v) / 2
    gradients = [np.append(-a * z / v, (1 - a**2 / v) / (2 * v)) for a, z in zip(e, Z, strict=True)]
    curvatures = []
    for a, z in zip(e, Z, strict=True):
        K = np.zeros((p + 1, p + 1))
        K[:p, :p] = np.outer(z, z) / v
        K[:p, p] = K[p, :p] = a * z / v**2
        K[p, p] = a**2 / v**3 - 1 / (2 * v**2)
        curvatures.append(K)
    penalty = np.zeros((p + 1, p + 1))
    columns = range(X.shape[1])
    penalty[columns, columns] = getattr(estimator, "alpha", 0.0) / v
    return _matrix_form(r, w, losses, gradients, curvatures, penalty)


def _other_value(estimator, X, y, r, w):
    """Logistic and Poisson regression with their canonical links."""
    beta, Z = _fit(estimator, X, y, w)
    eta = Z @ beta
    if isinstance(estimator, LogisticRegression):
        mean = 1 / (1 + np.exp(-eta))
        losses, spread = -np.log(np.where(y == 1, mean, 1 - mean)), mean * (1 - mean)
        strength = 1 / estimator.C
    else:
        mean = spread = np.exp(eta)
        log_factorial = np.array([np.log(np.arange(1, count + 1)).sum() for count in y.astype(int)])
        losses = mean - y * eta + log_factorial
        strength = estimator.alpha * w.sum()
    penalty = np.zeros((beta.size, beta.size))
    penalty[range(X.shape[1]), range(X.shape[1])] = strength
    curvatures = spread[:, None, None] * (Z[:, :, None] * Z[:, None, :])
    return _matrix_form(r, w, losses, (mean - y)[:, None] * Z, curvatures, penalty)


def _value(estimator, X, y, s, point, own=None):
    objective = InformationCriterion().objective(estimator, X, y, s, own)
    losses = next(objective.evaluate([point])).losses
    return np.average(losses, weights=objective.unit_weights)


# --- formulas ----------------------------------------------------------------------------------


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("estimator", [*NORMAL, *OTHERS])
def test_value_is_the_matrix_form(estimator, point):
    X, y, s = _problem(estimator)
    r, w = _scaled(s, point)
    form = _normal_value if isinstance(estimator, LinearRegression | Ridge) else _other_value
    # gradients of iterated fits vanish to 1e-13 only
    assert _value(estimator, X, y, s, point) == pytest.approx(
        form(estimator, X, y, r, w), rel=1e-10
    )


@pytest.mark.parametrize("estimator", [NORMAL[0], NORMAL[2], OTHERS[0], OTHERS[2]])
def test_own_weights_multiply_both_weights(estimator):
    X, y, s = _problem(estimator)
    own = np.random.default_rng(1).uniform(0.5, 2, size=y.size)
    r, w = _scaled(s, POINTS[3], own)
    form = _normal_value if isinstance(estimator, LinearRegression | Ridge) else _other_value
    # the mean is taken under the own weights: over their sum instead of n
    expected = form(estimator, X, y, own * r, own * w) * y.size / own.sum()
    assert _value(estimator, X, y, s, POINTS[3], own) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("point", POINTS)
def test_printed_formula_of_the_normal_linear_model(point):
    # IC = sum r {e^2/s2 + log(2 pi s2)} + 2 sum r {(e^2/s2) h + w/(2c) (e^2/s2 - 1)^2}
    X, y, s = _problem(LinearRegression())
    r, w = _scaled(s, point)
    beta, Z = _fit(LinearRegression(), X, y, w)
    e, c = y - Z @ beta, w.sum()
    s2 = w @ e**2 / c
    h = w * np.einsum("ij,jk,ik->i", Z, np.linalg.inv((Z.T * w) @ Z), Z)
    ratio = e**2 / s2
    ic = r @ (ratio + np.log(2 * np.pi * s2))
    ic += 2 * r @ (ratio * h + w / (2 * c) * (ratio - 1) ** 2)
    value = _value(LinearRegression(), X, y, s, point)
    assert value == pytest.approx(ic / (2 * y.size), rel=1e-10)


@pytest.mark.parametrize("estimator", [NORMAL[0], OTHERS[1], OTHERS[3]])
def test_scales_of_weights_and_ratio_do_not_matter(estimator):
    # invariant to the scale of w, and the ratio is scaled to mean 1 before it counts; a penalty on
    # coefficients would be relative to weights of mean 1
    X, y, s = _problem(estimator)
    log_weight = Geodesic(0.5, 3)(s)
    values = [
        InformationCriterion()(estimator, X, y, s + a, log_weight + b).value
        for a, b in ((0.0, 0.0), (5.0, 0.0), (0.0, -7.0))
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)
    # and the sum, before it is divided by that of r, is proportional to r
    r, w = _scaled(s, POINTS[3])
    form = _normal_value if isinstance(estimator, LinearRegression) else _other_value
    assert form(estimator, X, y, 3 * r, w) == pytest.approx(3 * form(estimator, X, y, r, 9 * w))


def test_transformers_come_first():
    X, y, s = _problem(Ridge())
    scaled = _value(Ridge(5.0), StandardScaler().fit_transform(X), y, s, POINTS[3])
    pipeline = make_pipeline(StandardScaler(), Ridge(5.0))
    assert _value(pipeline, X, y, s, POINTS[3]) == pytest.approx(scaled, rel=1e-12)


# --- what it estimates -------------------------------------------------------------------------


def test_without_shift_and_with_a_true_model_it_is_akaike():
    # the penalty of IC/2n is 2 (p + 1) / 2n: p coefficients and the variance
    penalties = []
    n, p = 4000, 4
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p - 1))
        y = X.sum(axis=1) + rng.normal(size=n)
        value = _value(LinearRegression(), X, y, np.zeros(n), Point(0.0, 1.0))
        s2 = np.mean((y - LinearRegression().fit(X, y).predict(X)) ** 2)
        penalties.append(value - (1 + np.log(2 * np.pi * s2)) / 2)
    error = np.std(penalties, ddof=1) / 10
    assert abs(np.mean(penalties) - (p + 1) / n) < 3 * error


@pytest.mark.slow
def test_expected_value_is_the_expected_loss_on_the_target():
    # the Monte Carlo of the design: E loss 3.072, E IC/2n 3.076, without the penalty 3.029
    loss, value, bare = [], [], []
    trials = 2000
    for seed in range(trials):
        data = make_quadratic(1000, 1, reading="noise_sd", random_state=seed)
        r, w = _scaled(data.log_ratio, (0.5, 3))
        model = LinearRegression().fit(data.X, data.y, sample_weight=w)
        e2 = (data.y - model.predict(data.X)) ** 2
        v = np.average(e2, weights=w)
        constant = np.log(2 * np.pi * v) / 2
        loss.append(data.problem.mse(model) / (2 * v) + constant)
        bare.append(np.mean(r * (e2 / (2 * v) + constant)))
        value.append(_value(LinearRegression(), data.X, data.y, data.log_ratio, Point(0.5, 3.0)))
    loss, value, bare = np.array(loss), np.array(value), np.array(bare)
    error = (value - loss).std(ddof=1) / np.sqrt(trials)
    assert abs(np.mean(value - loss)) < 3 * error
    assert np.mean(loss - bare) > 3 * error  # the penalty is needed
    # the recorded means are of 2000 other trials, the last with a ratio that is not scaled to mean
    # 1 and has a standard error of 0.012
    assert abs(np.mean(loss) - 3.072) < 3 * np.sqrt(2) * loss.std() / np.sqrt(trials) + 0.0005
    assert abs(np.mean(bare) - 3.029) < 3 * np.hypot(bare.std() / np.sqrt(trials), 0.012)


# --- messages ----------------------------------------------------------------------------------


def test_a_perfect_fit_has_no_likelihood():
    X = np.arange(60.0)[:, None]
    objective = InformationCriterion().objective(
        LinearRegression(fit_intercept=False), X, np.zeros(60), np.zeros(60)
    )
    evaluation = next(objective.evaluate(POINTS[:1]))
    assert "the fit leaves no residuals" in evaluation.error
    with pytest.raises(ValueError, match="Got a candidate without held-out predictions"):
        objective.predictions([evaluation])
