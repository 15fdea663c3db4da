"""Exponential families: densities, expectations, metric and skewness, each by several routes."""

import math
from dataclasses import FrozenInstanceError

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from scipy import stats
from scipy.special import loggamma

from own_families import InverseGaussian
from weighbridge.manifolds import (
    Categorical,
    Exponential,
    ExponentialFamily,
    Gamma,
    MultivariateNormal,
    Normal,
    Poisson,
    VonMises,
)

COVARIANCE = [[1.0, 0.6], [0.6, 2.0]]
CASES = [
    (Normal(), {"mean": 0.0, "sd": 1.0}),
    (Normal(), {"mean": 2.0, "sd": 0.5}),
    (Normal(), {"mean": -30.0, "sd": 4.0}),
    (MultivariateNormal(1), {"mean": [1.0], "covariance": [[4.0]]}),
    (MultivariateNormal(2), {"mean": [1.0, -2.0], "covariance": COVARIANCE}),
    (MultivariateNormal(3), {"mean": [0.5, -2.0, 1.0], "covariance": np.diag([1.0, 2.0, 0.5])}),
    (Categorical(2), {"probabilities": [0.3, 0.7]}),
    (Categorical(4), {"probabilities": [0.5, 0.05, 0.25, 0.2]}),
    (Gamma(), {"shape": 0.7, "rate": 3.0}),
    (Gamma(), {"shape": 20.0, "rate": 0.1}),
    (Poisson(), {"rate": 0.3}),
    (Poisson(), {"rate": 12.0}),
    (Exponential(), {"rate": 2.5}),
    (VonMises(), {"mean": 0.0, "concentration": 0.0}),
    (VonMises(), {"mean": -2.0, "concentration": 1.0}),
    (VonMises(), {"mean": 0.4, "concentration": 40.0}),
]
NAMES = [f"{type(family).__name__}-{index}" for index, (family, _) in enumerate(CASES)]
each = pytest.mark.parametrize(("family", "usual"), CASES, ids=NAMES)


class FromLogPartition(ExponentialFamily):
    """Another family with nothing left but its log-partition and its domain."""

    def __init__(self, family):
        self.family = family

    @property
    def dim(self):
        return self.family.dim

    def log_partition(self, theta):
        return self.family.log_partition(theta)

    def in_domain(self, theta):
        return self.family.in_domain(theta)


class Binomial(ExponentialFamily):
    dim = 1
    size = 7

    def log_partition(self, theta):
        return self.size * np.log1p(np.exp(theta[0]))


class Dirichlet(ExponentialFamily):
    dim = 3

    def log_partition(self, theta):
        return loggamma(theta).sum() - loggamma(theta.sum())

    def in_domain(self, theta):
        return bool(np.all(theta > 0))


def scaled(metric, tensor):
    """A tensor in units of the standard deviations of F, in which its entries are of order 1."""
    unit = 1 / np.sqrt(np.diag(metric))
    for axis in range(tensor.ndim):
        tensor = tensor * np.expand_dims(unit, [a for a in range(tensor.ndim) if a != axis])
    return tensor


def nodes(family, theta):
    """Points and weights that integrate over the support, 1e-12 of the mass left out at most."""
    if isinstance(family, Categorical):
        return np.arange(family.k), np.ones(family.k)
    if isinstance(family, Poisson):
        return np.arange(120), np.ones(120)
    if isinstance(family, MultivariateNormal):
        return gauss_hermite(family, theta)
    t, w = leggauss(600)
    usual = family.usual(theta)
    if isinstance(family, Gamma):
        # in y = log x, from where x^shape is 1e-16
        low, high = -40 / usual["shape"], np.log(60 + 10 * usual["shape"])
        y = (low + high) / 2 + (high - low) / 2 * t - np.log(usual["rate"])
        return np.exp(y), w * (high - low) / 2 * np.exp(y)
    low, high = {
        Normal: lambda: (usual["mean"] - 12 * usual["sd"], usual["mean"] + 12 * usual["sd"]),
        Exponential: lambda: (0.0, 60 / usual["rate"]),
        VonMises: lambda: (-np.pi, np.pi),
    }[type(family)]()
    return (low + high) / 2 + (high - low) / 2 * t, w * (high - low) / 2


def gauss_hermite(family, theta):
    usual = family.usual(theta)
    t, w = hermegauss(12)
    grid = np.stack(np.meshgrid(*[t] * family.d, indexing="ij"), axis=-1).reshape(-1, family.d)
    mass = np.prod(np.meshgrid(*[w] * family.d, indexing="ij"), axis=0).ravel()
    root = np.linalg.cholesky(usual["covariance"])
    # weights of exp(-t^2 / 2) dt turned into weights of dx
    return usual["mean"] + grid @ root.T, mass * np.exp((grid**2).sum(1) / 2) * np.linalg.det(root)


@each
def test_metric_and_skewness_are_the_moments_of_the_statistics(family, usual):
    # E[F] = eta, E[(F - eta)(F - eta)] = g, E[(F - eta)^3] = T by quadrature or by sums
    theta = family.theta(**usual)
    x, weight = nodes(family, theta)
    mass = weight * np.exp(family.log_density(x, theta))
    assert mass.sum() == pytest.approx(1, abs=1e-11)
    statistics = family.sufficient_statistics(x)
    metric = family.metric(theta)
    unit = np.sqrt(np.diag(metric))
    gap = (statistics - family.expectation(theta)) / unit
    np.testing.assert_allclose(mass @ gap, 0, atol=1e-9)
    second = np.einsum("n,ni,nj->ij", mass, gap, gap)
    np.testing.assert_allclose(second, scaled(metric, metric), atol=1e-9)
    skewness = np.einsum("n,ni,nj,nk->ijk", mass, gap, gap, gap)
    np.testing.assert_allclose(scaled(metric, family.skewness(theta)), skewness, atol=1e-8)


@each
def test_closed_forms_are_the_derivatives_of_the_log_partition(family, usual):
    theta = family.theta(**usual)
    bare = FromLogPartition(family)
    metric = family.metric(theta)
    unit = np.sqrt(np.diag(metric))
    np.testing.assert_allclose(
        bare.expectation(theta) / unit, family.expectation(theta) / unit, rtol=1e-10, atol=1e-10
    )
    for name in ("metric", "skewness"):
        ours, theirs = (scaled(metric, getattr(f, name)(theta)) for f in (bare, family))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@each
def test_samples_have_the_moments_of_the_family(family, usual):
    # each sample moment within 5 of its own standard errors, estimated from the same draws
    theta = family.theta(**usual)
    x = family.sample(theta, 100_000, random_state=0)
    gap = family.sufficient_statistics(x) - family.expectation(theta)
    terms = {
        1: (gap, np.zeros(family.dim)),
        2: (np.einsum("ni,nj->nij", gap, gap), family.metric(theta)),
        3: (np.einsum("ni,nj,nk->nijk", gap, gap, gap), family.skewness(theta)),
    }
    for values, expected in terms.values():
        error = values.std(axis=0) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


@each
def test_natural_inverts_expectation(family, usual):
    theta = family.theta(**usual)
    eta = family.expectation(theta)
    # theta is as uncertain as rounding of eta makes it: a few eps of eta over the metric
    noise = np.abs(np.linalg.inv(family.metric(theta))) @ np.abs(eta)
    bound = 1e-14 * noise + 1e-13 * np.abs(theta) + 1e-13
    assert (np.abs(family.natural(eta) - theta) <= bound).all()
    # Newton's method on the log-partition alone
    assert (np.abs(FromLogPartition(family).natural(eta) - theta) <= 100 * bound).all()


@each
def test_the_dual_potential_is_the_legendre_transform_of_the_log_partition(family, usual):
    theta = family.theta(**usual)
    eta = family.expectation(theta)
    psi, phi = family.log_partition(theta), family.dual_potential(eta)
    size = 1 + np.abs(theta * eta).sum() + abs(psi)
    assert psi + phi == pytest.approx(theta @ eta, abs=1e-12 * size)
    for other in (0.9 * theta, 1.1 * theta, np.where(theta == 0, 0.1, 1.05) * theta):
        assert other @ eta - family.log_partition(other) <= phi + 1e-12 * size
    # its gradient is theta: along the curve of expectations d phi = theta . d eta
    step = 1e-4 * np.abs(theta)
    ends = family.expectation(theta + step), family.expectation(theta - step)
    rise = family.dual_potential(ends[0]) - family.dual_potential(ends[1])
    assert rise == pytest.approx(theta @ (ends[0] - ends[1]), rel=1e-6, abs=1e-9 * size)


@each
def test_usual_parameters_come_back(family, usual):
    back = family.usual(family.theta(**usual))
    assert back.keys() == usual.keys()
    for name, value in usual.items():
        np.testing.assert_allclose(back[name], value, rtol=1e-12, atol=1e-14)


@each
def test_the_log_partition_of_real_parameters_is_real(family, usual):
    value = family.log_partition(family.theta(**usual))
    assert np.isrealobj(value)
    assert np.ndim(value) == 0


@pytest.mark.parametrize(
    ("family", "usual", "x", "expected"),
    [
        (Normal(), {"mean": 1.0, "sd": 2.0}, [-3.0, 0.5], stats.norm(1, 2).logpdf),
        (
            MultivariateNormal(2),
            {"mean": [1.0, -2.0], "covariance": COVARIANCE},
            [[0.0, 0.0], [1.0, 3.0]],
            stats.multivariate_normal([1.0, -2.0], COVARIANCE).logpdf,
        ),
        (
            Gamma(),
            {"shape": 2.5, "rate": 4.0},
            [-1.0, 0.0, 0.3, 2.0],
            stats.gamma(2.5, scale=0.25).logpdf,
        ),
        (Poisson(), {"rate": 3.0}, [-1, 0, 0.5, 4], stats.poisson(3.0).logpmf),
        (Exponential(), {"rate": 2.0}, [-0.1, 0.0, 1.5], stats.expon(scale=0.5).logpdf),
        (
            VonMises(),
            {"mean": 1.0, "concentration": 3.0},
            [-3.0, 1.0],
            stats.vonmises(3.0, 1.0).logpdf,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_densities_are_those_of_scipy(family, usual, x, expected):
    log_density = family.log_density(x, family.theta(**usual))
    np.testing.assert_allclose(log_density, expected(np.asarray(x)), rtol=1e-12, atol=1e-12)


def test_categorical_density_is_the_probability_of_the_cell():
    family = Categorical(3)
    log_density = family.log_density([0, 1, 2, 3, 0.5, -1], family.theta([0.5, 0.3, 0.2]))
    np.testing.assert_allclose(np.exp(log_density), [0.5, 0.3, 0.2, 0, 0, 0], atol=1e-15)


def test_categorical_log_partition_keeps_small_and_large_numbers():
    # log(1 + e^-50) is e^-50, and log(1 + e^900) is 900
    family = Categorical(2)
    assert family.log_partition([-50.0]) == pytest.approx(np.exp(-50), rel=1e-14, abs=0)
    assert family.log_partition([900.0]) == 900


@given(st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_normal_round_trip(mean, sd):
    family = Normal()
    back = family.usual(family.natural(family.expectation(family.theta(mean, sd))))
    # the variance is a difference of eta_2 and eta_1^2
    rounding = 1e-15 * (1 + (mean / sd) ** 2)
    assert back["mean"] == pytest.approx(mean, rel=1e-13, abs=1e-300)
    assert back["sd"] == pytest.approx(sd, rel=1e-14 + rounding)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_gamma_round_trip(shape, rate):
    family = Gamma()
    theta = family.theta(shape, rate)
    # eta_1 - log(eta_2) is 1 / (2 shape), known up to eps times its two terms
    rounding = 1e-15 * (1 + shape) * (10 + abs(np.log(rate)))
    np.testing.assert_allclose(family.natural(family.expectation(theta)), theta, rtol=10 * rounding)


@given(st.one_of(st.just(0.0), st.floats(1e-8, 1e4)), st.floats(-3, 3))
def test_von_mises_round_trip(concentration, mean):
    family = VonMises()
    theta = family.theta(mean, concentration)
    # 1 - |eta| is 1 / (2 kappa), known up to eps; Bessel functions lose some eps at small kappa
    rounding = 1e-14 * (4 + concentration)
    back = family.natural(family.expectation(theta))
    np.testing.assert_allclose(back, theta, rtol=0, atol=concentration * rounding)


@pytest.mark.parametrize("kappa", [1e-8, 1e-3, 0.5, 3.0, 24.9, 25.1, 60.0, 1e3, 1e6])
def test_von_mises_keeps_its_digits_at_every_concentration(kappa):
    # derivatives of log I_0 in 60 digits; ours are good to 1e-11 on both sides of the switch
    with mpmath.workdps(60):
        k = mpmath.mpf(kappa)
        a = mpmath.besseli(1, k) / mpmath.besseli(0, k)
        second = 1 - a / k - a**2
        third = -second / k + a / k**2 - 2 * a * second
        slope = second / k - a / k**2
        metric, corner, mixed = (float(v) for v in (second, third, slope))
        across = float(a / k)
    family = VonMises()
    theta = family.theta(0.0, kappa)
    np.testing.assert_allclose(family.metric(theta), np.diag([metric, across]), rtol=1e-11)
    skewness = family.skewness(theta)
    assert skewness[0, 0, 0] == pytest.approx(corner, rel=1e-11, abs=0)
    assert skewness[0, 1, 1] == pytest.approx(mixed, rel=1e-11, abs=0)
    assert family.expectation(theta)[0] == pytest.approx(float(a), rel=1e-14, abs=0)


def test_one_dimensional_multivariate_normal_is_the_normal():
    one, line = MultivariateNormal(1), Normal()
    theta = one.theta([1.5], [[0.25]])
    np.testing.assert_allclose(theta, line.theta(1.5, 0.5))
    np.testing.assert_allclose(one.skewness(theta), line.skewness(theta), rtol=1e-13)


# A family of the user: the log-partition is all there is.


def test_inverse_gaussian_from_its_log_partition():
    # F = (x, 1/x), theta = (-shape / (2 mean^2), -shape / 2): known mean, variance and skewness
    mean, shape = 1.7, 2.3
    family, theta = InverseGaussian(), np.array([-shape / (2 * mean**2), -shape / 2])
    reciprocal = 1 / mean + 1 / shape
    np.testing.assert_allclose(family.expectation(theta), [mean, reciprocal], rtol=1e-11)
    assert family.metric(theta)[0, 0] == pytest.approx(mean**3 / shape, rel=1e-10)
    assert family.skewness(theta)[0, 0, 0] == pytest.approx(3 * mean**5 / shape**2, rel=1e-10)
    np.testing.assert_allclose(family.natural([mean, reciprocal]), theta, rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.floats(-8, 8), st.floats(-8, 8))
def test_cauchy_route_at_every_scale(log_first, log_second):
    # rates and shapes from 1e-8 to 1e8: the circles find their own size
    family = Gamma()
    theta = np.array([math.exp(log_first), -(10**log_second)])
    metric = family.metric(theta)
    bare = FromLogPartition(family)
    for name in ("metric", "skewness"):
        ours, theirs = (scaled(metric, getattr(f, name)(theta)) for f in (bare, family))
        np.testing.assert_allclose(ours, theirs, atol=1e-9, rtol=1e-9)


def test_a_high_power_does_not_pass_for_a_low_one():
    # on 64 points theta^66 looks like theta^2; the second radius tells them apart
    class HighPower(ExponentialFamily):
        dim = 1

        def log_partition(self, theta):
            return theta[0] ** 2 / 2 + theta[0] ** 66

    assert HighPower().metric([0.0]).item() == pytest.approx(1, rel=1e-12)


def test_small_derivatives_do_not_drown_in_a_large_constant():
    class Shifted(ExponentialFamily):
        dim = 1

        def log_partition(self, theta):
            return 1e6 + 1e-6 * theta[0] ** 2

    assert Shifted().metric([0.0]).item() == pytest.approx(2e-6, rel=1e-9, abs=0)


def test_flat_directions_get_large_circles():
    # at sd = 0.001 psi moves by 5e-7 theta_1^2 on top of -6; a circle of radius 1 has ten digits
    family = Normal()
    theta = family.theta(mean=0.0, sd=1e-3)
    metric = FromLogPartition(family).metric(theta)
    assert metric[0, 0] == pytest.approx(1e-6, rel=1e-12, abs=0)


@pytest.mark.parametrize("start", [-9.0, 5.0, 30.0])
def test_newton_is_damped(start):
    # from 5 the full step of the logistic problem goes to -69, and the next one out of sight
    assert Binomial().natural(3.5, start=[start]) == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("family", "theta", "turn"),
    [
        (VonMises(), [30.0, 0.0], [9.0, 0.0]),
        (MultivariateNormal(4), MultivariateNormal(4).theta(np.zeros(4), np.eye(4)), None),
    ],
)
def test_the_complex_log_partition_does_not_jump(family, theta, turn):
    # along an imaginary direction inside of the domain; a cut would show as a step of pi or more
    theta = np.asarray(theta)
    turn = 3 * theta if turn is None else np.asarray(turn)
    values = [family.log_partition(theta + 1j * t * turn) for t in np.linspace(0, 1, 200)]
    assert np.abs(np.diff(values)).max() < 0.2
    assert abs(values[-1].imag) > 2 * np.pi or family.dim > 2


# What is refused, and how.


class Piecewise(ExponentialFamily):
    dim = 1

    def log_partition(self, theta):
        return abs(theta[0]) ** 3


class RealOnly(ExponentialFamily):
    dim = 1

    def log_partition(self, theta):
        return math.log(1 + math.exp(theta[0]))


class Nowhere(ExponentialFamily):
    dim = 2

    def log_partition(self, theta):
        return np.log(theta[0] - 5) - theta[1]


def test_a_log_partition_that_is_not_analytic():
    with pytest.raises(ArithmeticError, match=r"did not settle.*without abs"):
        Piecewise().expectation([0.3])


def test_a_log_partition_without_complex_numbers():
    with pytest.raises(TypeError, match="does not take complex numbers"):
        RealOnly().metric([0.3])


def test_no_point_to_start_from():
    with pytest.raises(ValueError, match=r"natural\(eta, start=theta\)"):
        Nowhere().natural([1.0, 1.0])


@pytest.mark.parametrize(
    ("family", "eta"),
    [
        (Normal(), [2.0, 4.0]),
        (MultivariateNormal(2), [1.0, 0.0, 1.0, 0.0, 1.0]),
        (Categorical(3), [0.5, 0.5]),
        (Categorical(3), [0.0, 0.5]),
        (Gamma(), [0.0, 1.0]),
        (Gamma(), [0.0, -1.0]),
        (Poisson(), [0.0]),
        (Exponential(), [-1.0]),
        (VonMises(), [0.6, 0.8]),
        (InverseGaussian(), [1.0, 0.5]),
        (Binomial(), [7.5]),
        (FromLogPartition(Exponential()), [-1.0]),
        (FromLogPartition(Categorical(3)), [0.7, 0.4]),
    ],
)
def test_expectations_that_no_member_has(family, eta):
    with pytest.raises(ValueError, match=r"Got (eta|mean)="):
        family.natural(eta)


@pytest.mark.parametrize(
    ("family", "theta"),
    [
        (Normal(), [0.0, 0.0]),
        (Normal(), [0.0, 1.0]),
        (MultivariateNormal(2), [0.0, 0.0, -1.0, 3.0, -1.0]),
        (Gamma(), [0.0, -1.0]),
        (Gamma(), [1.0, 1.0]),
        (Poisson(), [800.0]),
        (Exponential(), [0.0]),
        (InverseGaussian(), [1.0, -1.0]),
        (Dirichlet(), [1.0, 1.0, -1.0]),
    ],
)
def test_parameters_outside_of_the_domain(family, theta):
    assert not family.in_domain(np.asarray(theta))
    for method in (family.check, family.expectation, family.metric, family.skewness):
        with pytest.raises(ValueError, match=r"Got theta=.*natural parameters of .* need"):
            method(theta)


@pytest.mark.parametrize("theta", [[0.0], [0.0, -1.0, 2.0], [[0.0, -1.0]], [np.nan, -1.0], -1.0])
def test_parameters_of_the_wrong_shape(theta):
    with pytest.raises(ValueError, match=r"Got theta=.*Normal\(\) needs 2 finite"):
        Normal().metric(theta)


def test_a_plain_number_is_one_parameter():
    assert Exponential().expectation(-2.0) == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("family", "usual", "message"),
    [
        (Normal(), {"mean": 0.0, "sd": 0.0}, "Got sd=0.0"),
        (Normal(), {"mean": np.inf, "sd": 1.0}, "Got mean=inf"),
        (Normal(), {"mean": 1.0, "sd": 1e-200}, "needs 2 finite"),
        (Normal(), {"mean": 1.0, "sd": 1e200}, "natural parameters of Normal"),
        (Gamma(), {"shape": -1.0, "rate": 1.0}, "Got shape=-1.0"),
        (Gamma(), {"shape": 1.0, "rate": 0.0}, "Got rate=0.0"),
        (Poisson(), {"rate": 0.0}, "Got rate=0.0"),
        (Exponential(), {"rate": -1.0}, "Got rate=-1.0"),
        (VonMises(), {"mean": 0.0, "concentration": -1.0}, "Got concentration=-1.0"),
        (Categorical(2), {"probabilities": [0.5, 0.6]}, "Divide by the sum"),
        (Categorical(2), {"probabilities": [1.0, 0.0]}, "leave out cells"),
        (Categorical(2), {"probabilities": [1.0]}, "needs 2 numbers"),
        (MultivariateNormal(2), {"mean": [0.0], "covariance": np.eye(2)}, "Got a mean of shape"),
        (
            MultivariateNormal(2),
            {"mean": [0.0, 0.0], "covariance": [[1.0, 0.5], [0.4, 1.0]]},
            "symmetric",
        ),
        (
            MultivariateNormal(2),
            {"mean": [0.0, 0.0], "covariance": [[1.0, 2.0], [2.0, 1.0]]},
            "positive definite",
        ),
    ],
)
def test_usual_parameters_that_are_refused(family, usual, message):
    with pytest.raises(ValueError, match=message):
        family.theta(**usual)


@pytest.mark.parametrize(
    ("family", "x", "message"),
    [
        (Normal(), [[0.0]], r"Got x of shape \(1, 1\)"),
        (Normal(), [np.nan], "one finite number"),
        (MultivariateNormal(2), [0.0, 1.0], r"\(n_samples, 2\)"),
        (Categorical(3), [3], "number of a cell"),
        (Gamma(), [0.0], "above 0"),
        (Exponential(), [-1.0], "0 or above"),
        (Poisson(), [0.5], "not counts"),
    ],
)
def test_observations_that_are_refused(family, x, message):
    with pytest.raises(ValueError, match=message):
        family.sufficient_statistics(x)


@pytest.mark.parametrize("method", ["sufficient_statistics", "log_base_measure"])
def test_a_bare_family_says_what_is_missing(method):
    with pytest.raises(NotImplementedError, match=f"Binomial does not say what {method} is"):
        getattr(Binomial(), method)([1.0])
    with pytest.raises(NotImplementedError, match="sample"):
        Binomial().sample([0.0], 3)


def test_sizes_are_whole_numbers():
    with pytest.raises(ValueError, match="Got k=1, but expected 2 or more"):
        Categorical(1)
    with pytest.raises(TypeError, match=r"Got d=2\.0, but expected a whole number"):
        MultivariateNormal(2.0)


def test_families_are_values():
    # equal when their sizes are, printed as they are made, and never changed
    assert Normal() == Normal()
    assert Categorical(3) == Categorical(3) != Categorical(4)
    assert repr(MultivariateNormal(3)) == "MultivariateNormal(d=3)"
    assert repr(Normal()) == "Normal()"
    assert repr(Binomial()) == "Binomial()"
    with pytest.raises(FrozenInstanceError):
        Categorical(3).k = 4


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_samples_repeat_with_the_seed(make):
    family = Gamma()
    theta = family.theta(2.0, 1.0)
    first, second = (family.sample(theta, 5, random_state=make(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (5,)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1e4, 0.01), (-1e6, 1e-3), (1e-8, 1e-9)])
def test_densities_of_large_means_keep_their_digits(mean, sd):
    # theta[0] is mean / sd^2 to 1e-16, and passes |mean| / sd of that on to (x - mean) / sd
    x = mean + sd * np.linspace(-4, 4, 9)
    rounding = 1e-14 + 2e-15 * abs(mean) / sd
    want = stats.norm(mean, sd).logpdf(x)
    got = Normal().log_density(x, Normal().theta(mean, sd))
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=4 * rounding)
    family = MultivariateNormal(2)
    covariance = sd**2 * np.array(COVARIANCE)
    points = np.column_stack([x, x[::-1]])
    got = family.log_density(points, family.theta([mean, mean], covariance))
    want = stats.multivariate_normal([mean, mean], covariance).logpdf(points)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=40 * rounding)


@pytest.mark.parametrize(
    ("family", "theta"),
    [
        (Normal(), Normal().theta(1e200, 1.0)),
        (Normal(), [0.0, -1e-320]),
        (Gamma(), Gamma().theta(1.0, 1e200)),
        (Gamma(), Gamma().theta(1.0, 1e-200)),
        (Exponential(), Exponential().theta(1e200)),
        (Exponential(), Exponential().theta(1e-200)),
        (MultivariateNormal(2), MultivariateNormal(2).theta([1e200, 0.0], np.eye(2))),
    ],
)
def test_moments_beyond_floating_point(family, theta):
    with pytest.raises(ArithmeticError, match=r"beyond the range of floating point.*Scale x"):
        family.metric(theta)


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e308, np.finfo(float).max])
def test_every_positive_double_is_a_rate(rate):
    # the logarithm is rounded, by 1e-13 at most, and the rate by as much
    family = Poisson()
    assert family.usual(family.theta(rate))["rate"] == pytest.approx(rate, rel=3e-13)


@pytest.mark.parametrize("bad", [[1.0, 2.0], "1", None, 1j])
def test_usual_parameters_are_numbers(bad):
    for make in (lambda: Poisson().theta(bad), lambda: Normal().theta(0.0, sd=bad)):
        with pytest.raises(ValueError, match=r"Got (rate|sd)=.*but expected one number"):
            make()


def test_rounding_is_named_where_derivatives_do_not_settle():
    class Drowned(ExponentialFamily):
        """Analytic, but a constant leaves no digit of what varies."""

        dim = 1

        def in_domain(self, theta):
            return bool(abs(theta[0]) < 1)

        def log_partition(self, theta):
            return 1e12 - np.log(1 - theta[0] ** 2)

    with pytest.raises(ArithmeticError, match=r"If it is analytic, rounding is the cause"):
        Drowned().metric([0.0])
