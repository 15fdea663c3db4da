"""Divergences of exponential families against quadrature, exact arithmetic and the simplex."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from weighbridge.geodesic import alpha_divergence
from weighbridge.manifolds import (
    Categorical,
    Exponential,
    ExponentialFamily,
    Gamma,
    MultivariateNormal,
    Normal,
    Poisson,
    VonMises,
    bhattacharyya,
    d2,
    divergence,
    kullback_leibler,
    renyi_divergence,
)

NORMAL = Normal()
SOURCE, TARGET = NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=2, sd=0.5)
ALPHAS = [-3.0, -1.0, -0.4, 0.0, 1 - 1e-9, 1.0, 1.7, 3.0]
MVN = MultivariateNormal(2)
PAIRS = [
    (NORMAL, SOURCE, TARGET),
    (Gamma(), Gamma().theta(shape=2, rate=1), Gamma().theta(shape=3.5, rate=1.4)),
    (Exponential(), Exponential().theta(rate=1), Exponential().theta(rate=1.5)),
    (Poisson(), Poisson().theta(rate=2), Poisson().theta(rate=5)),
    (
        VonMises(),
        VonMises().theta(mean=0, concentration=1),
        VonMises().theta(mean=2, concentration=3),
    ),
    (
        Categorical(3),
        Categorical(3).theta(probabilities=[0.2, 0.3, 0.5]),
        Categorical(3).theta(probabilities=[0.6, 0.3, 0.1]),
    ),
    (
        MVN,
        MVN.theta(mean=[0, 0], covariance=[[1, 0.3], [0.3, 2]]),
        MVN.theta(mean=[1, -0.5], covariance=[[0.8, -0.2], [-0.2, 1.5]]),
    ),
]
SUPPORT = {Normal: (-20, 20), Gamma: (0, 300), Exponential: (0, 300), VonMises: (-np.pi, np.pi)}


def _by_quadrature(family, theta1, theta2, alpha):
    """D_alpha as an integral of a function >= 0, from the densities."""
    w = (1 + alpha) / 2

    def integrand(x):
        log_p, log_q = (family.log_density(np.array([x]), t)[0] for t in (theta1, theta2))
        p, q = math.exp(log_p), math.exp(log_q)
        if w == 0:
            return p * (log_p - log_q) - p + q
        if w == 1:
            return q * (log_q - log_p) - q + p
        return ((1 - w) * p + w * q - math.exp((1 - w) * log_p + w * log_q)) / (w * (1 - w))

    return quad(integrand, *SUPPORT[type(family)], epsabs=1e-13, epsrel=1e-11, limit=500)[0]


def test_printed_values_between_two_normals():
    assert kullback_leibler(NORMAL, TARGET, SOURCE) == pytest.approx(2.3181472, abs=5e-8)
    assert bhattacharyya(NORMAL, SOURCE, TARGET) == pytest.approx(0.4018920, abs=5e-8)
    assert d2(NORMAL, TARGET, SOURCE) == pytest.approx(14.8656558, abs=5e-8)
    assert d2(NORMAL, SOURCE, TARGET) == math.inf


@pytest.mark.parametrize("alpha", [-1.0, -0.4, 0.0, 1.0, 1.7])
@pytest.mark.parametrize(
    "pair", [pair for pair in PAIRS if type(pair[0]) in SUPPORT], ids=lambda pair: repr(pair[0])
)
def test_divergence_is_the_integral_of_the_densities(pair, alpha):
    # quadrature is asked for 1e-11
    assert divergence(*pair, alpha) == pytest.approx(_by_quadrature(*pair, alpha), rel=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_divergence_of_categories_is_that_of_the_simplex(alpha):
    family, theta1, theta2 = PAIRS[5]
    p, q = (family.usual(theta)["probabilities"] for theta in (theta1, theta2))
    assert divergence(family, theta1, theta2, alpha) == pytest.approx(
        alpha_divergence(p, q, alpha), rel=1e-12
    )


@pytest.mark.parametrize("alpha", ALPHAS)
def test_divergence_of_counts_is_the_sum_over_them(alpha):
    family, theta1, theta2 = PAIRS[3]
    x = np.arange(120)  # beyond, densities below 1e-160 would underflow
    p, q = (np.exp(family.log_density(x, theta)) for theta in (theta1, theta2))
    # the sum to 1 is good to 1e-14, and is divided by 1 - alpha^2
    assert divergence(family, theta1, theta2, alpha) == pytest.approx(
        alpha_divergence(p / p.sum(), q / q.sum(), alpha), rel=1e-12
    )


def test_kullback_leibler_of_vectors():
    mean = [np.array([0.0, 0.0]), np.array([1.0, -0.5])]
    cov = [np.array([[1, 0.3], [0.3, 2]]), np.array([[0.8, -0.2], [-0.2, 1.5]])]
    step, inverse = mean[1] - mean[0], np.linalg.inv(cov[1])
    log_dets = np.log(np.linalg.det(cov[1]) / np.linalg.det(cov[0]))
    want = (np.trace(inverse @ cov[0]) + step @ inverse @ step - 2 + log_dets) / 2
    assert kullback_leibler(*PAIRS[6]) == pytest.approx(want, rel=1e-12)


def _exact(pair, alpha):
    """D_alpha between N(m1, v1) and N(m2, v2) from their theta, with 60 digits."""
    with mpmath.workdps(60):
        t1, t2 = ([mpmath.mpf(float(x)) for x in theta] for theta in pair)
        w = (1 + mpmath.mpf(alpha)) / 2

        def psi(t):
            return -(t[0] ** 2) / (4 * t[1]) + mpmath.log(-mpmath.pi / t[1]) / 2

        def bregman(a, b):
            variance = -1 / (2 * b[1])
            eta = [b[0] * variance, (b[0] * variance) ** 2 + variance]
            return psi(a) - psi(b) - sum(e * (x - y) for e, x, y in zip(eta, a, b, strict=True))

        if w == 0:
            return bregman(t2, t1)
        if w == 1:
            return bregman(t1, t2)
        middle = [(1 - w) * x + w * y for x, y in zip(t1, t2, strict=True)]
        gap = (1 - w) * psi(t1) + w * psi(t2) - psi(middle)
        return -mpmath.expm1(-gap) / (w * (1 - w))


@pytest.mark.parametrize("step", [1.0, 1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("alpha", [-1.0, -1 + 1e-12, -1 + 1e-6, 0.0, 0.3, 1 - 1e-9, 1.0, 1.2, 2.9])
def test_divergence_keeps_twelve_digits(step, alpha):
    pair = SOURCE, SOURCE + step * np.array([0.7, -0.4])
    got, want = divergence(NORMAL, *pair, alpha), _exact(pair, alpha)
    assert abs(got / want - 1) <= 1e-12


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair[0]))
@pytest.mark.parametrize("alpha", [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
def test_divergence_turned_round(pair, alpha):
    family, theta1, theta2 = pair
    forth, back = divergence(*pair, alpha), divergence(family, theta2, theta1, -alpha)
    assert forth == pytest.approx(back, rel=1e-12)
    assert forth > 0
    assert divergence(family, theta1, theta1, alpha) == 0


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair[0]))
def test_divergence_is_half_the_squared_length_of_a_short_step(pair):
    # D_alpha = step' g step / 2 + O(step^3) for every alpha
    family, theta1, theta2 = pair
    step = 1e-6 * (theta2 - theta1)
    half = step @ family.metric(theta1) @ step / 2
    for alpha in (-1.0, 0.0, 1.0, 3.0):
        assert divergence(family, theta1, theta1 + step, alpha) == pytest.approx(half, rel=1e-4)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair[0]))
def test_relations_between_the_divergences(pair):
    family, p, q = pair
    assert kullback_leibler(*pair) == divergence(*pair, -1)
    assert divergence(*pair, 0) == pytest.approx(4 * (1 - bhattacharyya(*pair)), rel=1e-12)
    # d_2(q || p) = 1 + chi^2(q || p) = 1 + 2 D_3[p : q]
    assert d2(family, q, p) == pytest.approx(1 + 2 * divergence(*pair, 3), rel=1e-12)
    assert renyi_divergence(*pair, 1) == kullback_leibler(*pair)
    assert renyi_divergence(*pair, 0) == 0
    half = -2 * math.log(bhattacharyya(*pair))
    assert renyi_divergence(*pair, 0.5) == pytest.approx(half, rel=1e-12)
    assert d2(family, q, p) == pytest.approx(math.exp(renyi_divergence(family, q, p, 2)), rel=1e-12)


def test_d2_is_the_mean_square_of_the_ratio():
    family, p, q = PAIRS[1]

    def integrand(x):
        log_p, log_q = (family.log_density(np.array([x]), theta)[0] for theta in (p, q))
        return math.exp(2 * log_q - log_p)

    assert d2(family, q, p) == pytest.approx(quad(integrand, 0, 300, limit=500)[0], rel=1e-7)


@given(st.floats(0.01, 10), st.floats(0, 5), st.floats(0.2, 5), st.floats(-2, 2))
@settings(max_examples=100)
def test_renyi_divergence_grows_with_its_order(order, further, sd, mean):
    p, q = SOURCE, NORMAL.theta(mean=mean, sd=sd)
    low, high = (renyi_divergence(NORMAL, p, q, x) for x in (order, order + further))
    assert 0 <= low <= high * (1 + 1e-11)


@pytest.mark.parametrize("alpha", [-1.0, -0.5, 0.0, 1 - 1e-8, 1.0, 2.0])
def test_divergence_of_a_family_given_by_its_log_partition_alone(alpha):
    class OnlyPsi(ExponentialFamily):
        dim = 2

        def log_partition(self, theta):
            return Normal().log_partition(theta)

    near = SOURCE + np.array([1e-3, 2e-3])
    for other in (TARGET, near):
        want = divergence(NORMAL, SOURCE, other, alpha)
        # derivatives by Cauchy's integral are good to ten digits
        assert divergence(OnlyPsi(), SOURCE, other, alpha) == pytest.approx(want, rel=1e-9)


def test_large_divergences():
    far = NORMAL.theta(mean=25, sd=1)
    # chi^2 = exp(mean^2) - 1
    assert divergence(NORMAL, SOURCE, far, 3.0) == pytest.approx(math.exp(625) / 2, rel=1e-11)
    top = NORMAL.theta(mean=26.63, sd=1)  # exp(709.2) is a double, the mean square of the ratio
    assert math.isfinite(d2(NORMAL, NORMAL.theta(mean=26.6, sd=1), SOURCE))
    assert divergence(NORMAL, SOURCE, top, 3.0) == pytest.approx(
        math.exp(26.63**2 - math.log(2)), rel=1e-10
    )
    farther = NORMAL.theta(mean=40, sd=1)
    assert d2(NORMAL, farther, SOURCE) == math.inf
    assert divergence(NORMAL, SOURCE, farther, 3.0) == math.inf
    assert divergence(NORMAL, SOURCE, farther, 0.0) == pytest.approx(4.0, rel=1e-15)


def test_divergences_refuse_what_they_cannot_do():
    for order in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite order >= 0"):
            renyi_divergence(NORMAL, SOURCE, TARGET, order)
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        divergence(NORMAL, SOURCE, TARGET, math.nan)
    with pytest.raises(ValueError, match=r"need theta\[1\] < 0"):
        divergence(NORMAL, SOURCE, [0.0, 1.0], 0.0)


def test_divergence_says_when_its_integral_does_not_converge():
    class Rough(ExponentialFamily):
        """A metric that no quadrature resolves, where the difference cancels."""

        dim = 1

        def log_partition(self, theta):
            return 1e12 + theta[0] ** 2 / 2

        def expectation(self, theta):
            return np.asarray(theta)

        def metric(self, theta):
            return np.array([[1 + math.sin(1e7 * theta[0])]])

    with pytest.raises(ArithmeticError, match="did not converge"):
        divergence(Rough(), [0.0], [1.0], 0.0)


def test_order_zero_checks_its_arguments():
    with pytest.raises(ValueError, match=r"need theta\[1\] < 0"):
        renyi_divergence(NORMAL, SOURCE, [0.0, 1.0], 0)
    with pytest.raises(ValueError, match="needs 2 finite"):
        renyi_divergence(NORMAL, [0.0], TARGET, 0)
