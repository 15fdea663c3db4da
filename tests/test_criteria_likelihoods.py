"""The information criterion of eight likelihoods, against J and H by automatic differentiation."""

import warnings

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import Geodesic, ImportanceWeightedCV
from weighbridge.criteria import (
    InformationCriterion,
    LeaveOneOut,
    closed_form_family,
    has_closed_form,
    information_criterion,
)
from weighbridge.search import GridSearch, Point
from weighbridge.weighting import mean_one

POINTS = [Point(0.0, 1.0), Point(0.5, 3.0), Point(1.0, 1.0)]
TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}
NORMAL = [LinearRegression(), Ridge(5.0, solver="cholesky")]
OTHERS = [
    LogisticRegression(C=0.5, **TIGHT),
    LogisticRegression(C=0.5, **TIGHT).set_params(fit_intercept=False),
    PoissonRegressor(alpha=0.1, **TIGHT),
    GammaRegressor(alpha=0.1, **TIGHT),
    GammaRegressor(alpha=0.0, fit_intercept=False, **TIGHT),
    TweedieRegressor(power=0, alpha=0.1, **TIGHT),
    TweedieRegressor(power=0, link="log", alpha=0.1, **TIGHT),
    TweedieRegressor(power=1, alpha=0.1, **TIGHT),
    TweedieRegressor(power=1.5, alpha=0.1, **TIGHT),
    TweedieRegressor(power=1.2, alpha=0.0, fit_intercept=False, **TIGHT),
    TweedieRegressor(power=2, alpha=0.0, **TIGHT),
    TweedieRegressor(power=3, alpha=0.1, **TIGHT),
    TweedieRegressor(power=1.5, link="identity", alpha=0.1),
    HuberRegressor(alpha=0.5),
    HuberRegressor(alpha=0.0, epsilon=1.1, fit_intercept=False),
]
SEVERAL = [LogisticRegression(C=C, **TIGHT) for C in (0.5, np.inf)]


class Jet:
    """Numbers for the rows that carry their first and second derivatives in the parameters."""

    __array_ufunc__ = None  # arrays leave products to it

    def __init__(self, value, first, second):
        self.value, self.first, self.second = value, first, second

    def apply(self, f, slope, curvature):
        """Return a function of it, given that and its derivatives at the values."""
        outer = self.first[:, :, None] * self.first[:, None, :]
        second = slope[:, None, None] * self.second + curvature[:, None, None] * outer
        return Jet(f, slope[:, None] * self.first, second)

    def __add__(self, other):
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.first, self.second)
        return Jet(
            self.value + other.value, self.first + other.first, self.second + other.second
        )

    def __mul__(self, other):
        if not isinstance(other, Jet):
            each = other * np.ones_like(self.value)
            return Jet(
                each * self.value, each[:, None] * self.first, each[:, None, None] * self.second
            )
        mixed = self.first[:, :, None] * other.first[:, None, :]
        second = mixed + mixed.transpose(0, 2, 1) + self.second * other.value[:, None, None]
        second = second + other.second * self.value[:, None, None]
        first = self.first * other.value[:, None] + other.first * self.value[:, None]
        return Jet(self.value * other.value, first, second)

    __radd__, __rmul__ = __add__, __mul__

    def power(self, p):
        v = self.value
        return self.apply(v**p, p * v ** (p - 1), p * (p - 1) * v ** (p - 2))

    def log(self):
        return self.apply(np.log(self.value), 1 / self.value, -1 / self.value**2)

    def exp(self):
        return self.apply(*[np.exp(self.value)] * 3)


def _where(inside, one, other):
    parts = ("value", "first", "second")
    return Jet(
        *(
            np.where(inside.reshape(-1, *[1] * k), getattr(one, part), getattr(other, part))
            for k, part in enumerate(parts)
        )
    )


def _parameters(theta, n):
    first = np.repeat(np.eye(theta.size)[None], n, axis=0)
    second = np.zeros((n, theta.size, theta.size))
    return [Jet(np.full(n, t), first[:, j], second) for j, t in enumerate(theta)]


def _dot(parameters, Z):
    return sum(parameter * column for parameter, column in zip(parameters, Z.T, strict=True))


def _rows_of(estimator, Z, y, theta):
    """Losses of the rows, written down as densities and deviances are, as jets."""
    parameters, q = _parameters(theta, y.size), Z.shape[1]
    if isinstance(estimator, LinearRegression | Ridge):  # the variance comes last
        *coef, v = parameters
        e2 = (_dot(coef, Z) + -y).power(2)
        return 0.5 * (e2 * v.power(-1)) + 0.5 * (v * (2 * np.pi)).log()
    if isinstance(estimator, HuberRegressor):
        *coef, sigma = parameters
        z = (_dot(coef, Z) + -y) * sigma.power(-1)
        size, most = z * np.sign(z.value), estimator.epsilon
        inside = size.value <= most
        return sigma + sigma * _where(inside, z * z, 2 * most * size + -(most**2))
    if isinstance(estimator, LogisticRegression) and y.max() > 1:  # symmetric, as in scikit-learn
        eta = [_dot(parameters[k * q : (k + 1) * q], Z) for k in range(int(y.max()) + 1)]
        own = sum(each * (y == k) for k, each in enumerate(eta))
        return sum(each.exp() for each in eta).log() + -1.0 * own
    eta = _dot(parameters, Z)
    if isinstance(estimator, LogisticRegression):
        return (eta.exp() + 1.0).log() + -y * eta
    if isinstance(estimator, PoissonRegressor):
        return eta.exp() + -y * eta + gammaln(y + 1)
    p = getattr(estimator, "power", 2)
    link = getattr(estimator, "link", "log")
    mean = eta if link == "identity" or (link == "auto" and p == 0) else eta.exp()
    if p == 0:
        return 0.5 * (mean + -y).power(2)
    if p == 1:
        return mean + -y * mean.log() + (np.where(y > 0, y * np.log(np.maximum(y, 1e-300)), 0) - y)
    if p == 2:
        return y * mean.power(-1) + mean.log() + (-np.log(y) - 1)
    own = y ** (2 - p) / ((1 - p) * (2 - p))
    return mean.power(2 - p) * (1 / (2 - p)) + -y / (1 - p) * mean.power(1 - p) + own


def _strength(estimator, w):
    """Second derivative of the penalty in a coefficient, as scikit-learn's documentation has it."""
    if isinstance(estimator, LogisticRegression):
        return 0.0 if np.isinf(estimator.C) else 1 / estimator.C
    if isinstance(estimator, HuberRegressor):
        return 2 * estimator.alpha
    return getattr(estimator, "alpha", 0.0) * (1.0 if isinstance(estimator, Ridge) else w.sum())


def _explicit(estimator, X, y, r, w):
    """Losses, J and H at the fit, which Newton steps with the same jets make exact."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(estimator).fit(X, y, sample_weight=w)
    Z = np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X
    coef = np.atleast_2d(model.coef_)
    if model.fit_intercept:
        coef = np.column_stack([coef, np.atleast_1d(model.intercept_)])
    theta, strength = coef.ravel(), _strength(estimator, w)
    penalised = np.zeros(coef.shape, dtype=bool)
    penalised[:, : X.shape[1]] = True
    P = np.diag(strength * penalised.ravel())
    if isinstance(estimator, LinearRegression | Ridge):
        v = np.average((y - Z @ theta) ** 2, weights=w)
        theta, P = np.append(theta, v), np.pad(P / v, (0, 1))
        rows = _rows_of(estimator, Z, y, theta)
    else:
        if isinstance(estimator, HuberRegressor):
            theta, P = np.append(theta, model.scale_), np.pad(P, (0, 1))
        for _ in range(50):
            rows = _rows_of(estimator, Z, y, theta)
            H = np.tensordot(w, rows.second, 1) + P
            step = np.linalg.pinv(H, hermitian=True, rcond=1e-11) @ (w @ rows.first + P @ theta)
            theta = theta - step
            if np.abs(step).max() < 1e-13 * (1 + np.abs(theta).max()):
                break
        rows = _rows_of(estimator, Z, y, theta)
    p = theta.size
    J, H = np.zeros((p, p)), P.copy()
    for a, b, g, K in zip(r, w, rows.first, rows.second, strict=True):
        J += a * b * np.outer(g, g)
        H += b * K
    return rows, J, H, P


def _explicit_value(estimator, X, y, r, w):
    rows, J, H, _ = _explicit(estimator, X, y, r, w)
    return (r @ rows.value + np.trace(J @ np.linalg.pinv(H, hermitian=True, rcond=1e-11))) / r.sum()


def _problem(estimator, classes=2, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2)) * [1.0, 3.0] + [0.0, 1.0]
    eta = X @ [0.5, -0.2] + 0.2 * X[:, 0] ** 2
    s = 0.8 * X[:, 0]
    if isinstance(estimator, LogisticRegression):
        scores = np.column_stack([0 * eta, eta, X @ [-0.3, 0.2]])[:, :classes]
        return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(float), s
    mean = np.exp(eta)
    if getattr(estimator, "link", "") == "identity":
        return X, rng.gamma(2.0, (6 + X[:, 0]) / 2), s
    if isinstance(estimator, PoissonRegressor):
        return X, rng.poisson(mean).astype(float), s
    if isinstance(estimator, TweedieRegressor) and 1 <= estimator.power < 2:
        counts = rng.poisson(mean)
        return X, rng.gamma(2.0 * np.maximum(counts, 1), 0.5) * (counts > 0), s
    if isinstance(estimator, GammaRegressor | TweedieRegressor):
        return X, rng.gamma(3.0, mean / 3), s
    return X, eta + rng.standard_t(3, size=n), s


def _scaled(s, point, own=None):
    r = mean_one(s, own)
    return r, mean_one(Geodesic(*point)(np.log(r)), own)


def _value(estimator, X, y, s, point, own=None):
    objective = InformationCriterion().objective(estimator, X, y, s, own)
    losses = next(objective.evaluate([point])).losses
    return np.average(losses, weights=objective.unit_weights)


CASES = [(each, 2) for each in [*NORMAL, *OTHERS]] + [(each, 3) for each in SEVERAL]


# --- formulas ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(("estimator", "classes"), CASES)
def test_value_is_that_of_explicit_matrices(estimator, classes, point):
    X, y, s = _problem(estimator, classes)
    r, w = _scaled(s, point)
    expected = _explicit_value(estimator, X, y, r, w)
    assert _value(estimator, X, y, s, point) == pytest.approx(expected, rel=1e-10)
