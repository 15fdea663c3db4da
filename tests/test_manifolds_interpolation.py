"""Normalised f-interpolation of densities, and its projection on a family."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from weighbridge.geodesic import alpha_geodesic, log_f_mean
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
    interpolate_densities,
    kullback_leibler,
    project,
    projected_curve,
)

NORMAL, PLANE = Normal(), MultivariateNormal(2)
SOURCE, TARGET = NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=2, sd=0.5)
# N(0, 1) -> N(2, .25) at lam = .5: mean, sd, Z
MOMENTS = {
    -1.0: (1.0, 1.274755, 1.0),
    0.0: (1.172007, 1.160791, 0.700946),
    1.0: (1.6, 0.632456, 0.401892),
    3.0: (1.516456, 0.522223, 0.258458),
}
PAIRS = [
    (NORMAL, SOURCE, TARGET),
    (Gamma(), Gamma().theta(shape=1.5, rate=1), Gamma().theta(shape=5, rate=3)),
    (Exponential(), Exponential().theta(rate=1), Exponential().theta(rate=6)),
    (
        VonMises(),
        VonMises().theta(mean=0, concentration=1),
        VonMises().theta(mean=2.5, concentration=5),
    ),
    (Poisson(), Poisson().theta(rate=1), Poisson().theta(rate=9)),
    (
        Categorical(3),
        Categorical(3).theta(probabilities=[0.2, 0.3, 0.5]),
        Categorical(3).theta(probabilities=[0.6, 0.3, 0.1]),
    ),
    (
        PLANE,
        PLANE.theta(mean=[0, 0], covariance=[[1, 0.3], [0.3, 2]]),
        PLANE.theta(mean=[2, -1], covariance=[[0.25, -0.2], [-0.2, 1]]),
    ),
]
IDS = [repr(pair[0]) for pair in PAIRS]
every_family = pytest.mark.parametrize("pair", PAIRS, ids=IDS)
LINES = {
    Normal: (-14, 10, [0, 1, 2, 3]),
    Gamma: (0, 80, [0.1, 1, 2, 5]),
    Exponential: (0, 80, [0.1, 0.5, 1, 3]),
    VonMises: (-np.pi, np.pi, [0, 1, 2]),
}


@pytest.mark.parametrize("alpha", MOMENTS)
def test_moment_table_from_densities(alpha):
    curve = projected_curve(NORMAL, SOURCE, TARGET, 0.5, alpha)
    usual = NORMAL.usual(curve.theta)
    got = usual["mean"], usual["sd"], math.exp(curve.log_normaliser)
    # the printed digits
    np.testing.assert_allclose(got, MOMENTS[alpha], atol=1e-6)


@pytest.mark.parametrize("alpha", [-2.0, 0.0, 3.0])
@pytest.mark.parametrize("pair", PAIRS[:4], ids=IDS[:4])
def test_projection_matches_integrals_of_the_curve(pair, alpha):
    family, start, stop = pair
    low, high, points = LINES[type(family)]

    def density(x):
        ends = (family.log_density(np.array([x]), theta)[0] for theta in (start, stop))
        return math.exp(log_f_mean(*ends, 0.3, alpha))

    def integral(function):
        # quadrature is asked for 1e-11
        done = quad(function, low, high, points=points, limit=500, epsabs=1e-13, epsrel=1e-11)
        return done[0]

    z = integral(density)
    eta = [
        integral(lambda x, i=i: density(x) * family.sufficient_statistics(np.array([x]))[0, i]) / z
        for i in range(family.dim)
    ]
    curve = projected_curve(*pair, 0.3, alpha)
    assert math.exp(curve.log_normaliser) == pytest.approx(z, rel=1e-8)
    np.testing.assert_allclose(family.expectation(curve.theta), eta, rtol=1e-8, atol=1e-10)


@every_family
def test_ends_and_the_exponential_curve_stay_in_the_family(pair):
    family, start, stop = pair
    lam = np.array([0.0, 0.2, 0.7, 1.0])
    line = start + lam[:, None] * (stop - start)
    curve = projected_curve(*pair, lam, 1)
    np.testing.assert_allclose(curve.theta, line, rtol=1e-8, atol=1e-8)
    psi = [float(family.log_partition(theta)) for theta in (start, stop)]
    log_z = [
        family.log_partition(theta) - (1 - x) * psi[0] - x * psi[1]
        for theta, x in zip(line, lam, strict=True)
    ]
    np.testing.assert_allclose(curve.log_normaliser, log_z, atol=1e-10)
    for alpha in (-3.0, 0.0, 3.0):
        ends = projected_curve(*pair, [0.0, 1.0], alpha)
        np.testing.assert_allclose(ends.theta, [start, stop], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(ends.log_normaliser, 0, atol=1e-10)


@every_family
def test_the_mixture_has_mixed_expectations(pair):
    family, start, stop = pair
    curve = projected_curve(*pair, [0.3, 0.6], -1)
    ends = family.expectation(start), family.expectation(stop)
    for lam, theta, log_z in zip([0.3, 0.6], *curve, strict=True):
        np.testing.assert_allclose(
            family.expectation(theta), (1 - lam) * ends[0] + lam * ends[1], rtol=1e-8
        )
        assert log_z == pytest.approx(0, abs=1e-10)


@every_family
def test_mass_of_the_geometric_and_the_power_mean(pair):
    # Z = BC at (1/2, 1), and (1 + BC)/2 at (1/2, 0)
    overlap = bhattacharyya(*pair)
    for alpha, z in ((1, overlap), (0, (1 + overlap) / 2)):
        log_z = projected_curve(*pair, 0.5, alpha).log_normaliser
        assert math.exp(log_z) == pytest.approx(z, rel=1e-9)


def test_curve_on_the_simplex_is_its_own_projection():
    family, start, stop = PAIRS[5]
    p, q = (family.usual(theta)["probabilities"] for theta in (start, stop))
    for alpha in (-2.0, 0.0, 3.0):
        theta = projected_curve(family, start, stop, 0.4, alpha).theta
        want = alpha_geodesic(p, q, 0.4, alpha)
        np.testing.assert_allclose(family.usual(theta)["probabilities"], want, rtol=1e-12)


@pytest.mark.more
def test_curve_in_the_plane():
    family, start, stop = PAIRS[6]

    def density(y, x):
        ends = (family.log_density(np.array([[x, y]]), theta)[0] for theta in (start, stop))
        return math.exp(log_f_mean(*ends, 0.5, 3.0))

    # a harmonic mean is at most twice the narrower density: 6 sd around the target are enough
    z = dblquad(density, -1, 5, -7, 5, epsabs=1e-7, epsrel=1e-7)[0]
    got = projected_curve(family, start, stop, 0.5, 3.0)
    assert math.exp(got.log_normaliser) == pytest.approx(z, rel=1e-6)


def test_one_dimension_of_many_is_the_normal():
    line = MultivariateNormal(1)
    ends = line.theta(mean=[0], covariance=[[1]]), line.theta(mean=[2], covariance=[[0.25]])
    curve = projected_curve(line, *ends, 0.5, 3.0)
    want = projected_curve(NORMAL, SOURCE, TARGET, 0.5, 3.0)
    np.testing.assert_allclose(line.usual(curve.theta)["mean"], [MOMENTS[3.0][0]], atol=1e-6)
    assert curve.log_normaliser == pytest.approx(float(want.log_normaliser), abs=1e-9)


@pytest.mark.parametrize(
    ("start", "stop"), [((0, 1), (0, 1e-4)), ((0, 1), (15, 1)), ((0, 1e3), (5, 0.1))]
)
def test_far_and_narrow_normals(start, stop):
    # the exponential curve is known in closed form
    ends = NORMAL.theta(*start), NORMAL.theta(*stop)
    for lam in (0.01, 0.5):
        curve = projected_curve(NORMAL, *ends, lam, 1)
        want = NORMAL.usual((1 - lam) * ends[0] + lam * ends[1])
        got = NORMAL.usual(curve.theta)
        assert got["sd"] == pytest.approx(want["sd"], rel=1e-8)
        assert abs(got["mean"] - want["mean"]) <= 1e-8 * want["sd"]


def test_small_shapes_and_large_rates():
    # exponential curves again: shapes and rates mix linearly, and the long left tail is followed
    family = Gamma()
    ends = family.theta(shape=0.2, rate=1), family.theta(shape=60, rate=1e4)
    curve = projected_curve(family, *ends, 0.3, 1)
    np.testing.assert_allclose(curve.theta, 0.7 * ends[0] + 0.3 * ends[1], rtol=1e-8)


# --- interpolation and projection on their own -------------------------------------------------


def test_interpolated_density_integrates_to_one():
    x = np.linspace(-12, 12, 4001)
    weights = np.full(x.size, x[1] - x[0])
    ends = NORMAL.log_density(x, SOURCE), NORMAL.log_density(x, TARGET)
    lam = np.array([[0.1, 0.5], [0.9, 1.0]])
    for alpha, row in MOMENTS.items():
        got = interpolate_densities(*ends, lam, alpha, weights)
        assert got.log_density.shape == (2, 2, 4001)
        assert got.log_normaliser.shape == (2, 2)
        np.testing.assert_allclose(np.exp(got.log_density) @ weights, 1, rtol=1e-12)
        assert math.exp(got.log_normaliser[0, 1]) == pytest.approx(row[2], abs=1e-6)
        theta = project(NORMAL, x, got.log_density[0, 1])
        assert NORMAL.usual(theta)["mean"] == pytest.approx(row[0], abs=1e-6)


def test_projection_is_the_nearest_member():
    # KL(points : member) = const + KL(projection : member) for every member
    x = np.array([-1.0, 0.0, 0.5, 3.0])
    mass = np.array([0.1, 0.4, 0.3, 0.2])
    best = project(NORMAL, x, np.log(mass))
    loss = -mass @ NORMAL.log_density(x, best)
    for other in (SOURCE, TARGET, best + np.array([0.1, -0.05])):
        gap = -mass @ NORMAL.log_density(x, other) - loss
        assert gap == pytest.approx(kullback_leibler(NORMAL, best, other), rel=1e-10)


def test_projection_does_not_see_the_scale_of_the_mass():
    x = np.array([-1.0, 0.0, 0.5, 3.0])
    log_mass = np.log([[0.1, 0.4, 0.3, 0.2], [1.0, 1.0, 1.0, 1.0]])
    one, two = project(NORMAL, x, log_mass), project(NORMAL, x, log_mass - 900)
    np.testing.assert_allclose(one, two, rtol=1e-10)
    assert one.shape == (2, 2)
    assert NORMAL.usual(one[1])["mean"] == pytest.approx(x.mean())


def test_interpolation_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="one number for each node"):
        interpolate_densities([0.0, 0.0], [0.0], 0.5, 1, [1.0, 1.0])
    for weights in ([-1.0, 1.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="numbers >= 0"):
            interpolate_densities([0.0, 0.0], [0.0, 0.0], 0.5, 1, weights)
    with pytest.raises(ValueError, match="no node in common"):
        interpolate_densities([0.0, -np.inf], [-np.inf, 0.0], 0.5, 1, [1.0, 1.0])


def test_projection_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="one number for each point"):
        project(NORMAL, [0.0, 1.0], [0.0])
    for log_mass in ([-np.inf, -np.inf], [np.nan, 0.0], [np.inf, 0.0]):
        with pytest.raises(ValueError, match="at least one point must have mass"):
            project(NORMAL, [0.0, 1.0], log_mass)


def test_projected_curve_refuses_what_it_cannot_do():
    class OnlyPsi(ExponentialFamily):
        dim = 1

        def log_partition(self, theta):
            return theta[0] ** 2 / 2

    with pytest.raises(TypeError, match="no quadrature is known"):
        projected_curve(OnlyPsi(), [0.0], [1.0], 0.5, 0)
    space = MultivariateNormal(3)
    theta = space.theta(mean=np.zeros(3), covariance=np.eye(3))
    with pytest.raises(ValueError, match="two dimensions at most"):
        projected_curve(space, theta, theta, 0.5, 0)
    counts = Poisson().theta(rate=1), Poisson().theta(rate=1e8)
    with pytest.raises(ArithmeticError, match=r"need 1e\+08 nodes"):
        projected_curve(Poisson(), *counts, 0.5, 0)
    # all the mass of the harmonic mean is in a kink of width 1/20 between the two
    far = NORMAL.theta(mean=40, sd=1)
    with pytest.raises(ArithmeticError, match="did not settle"):
        projected_curve(NORMAL, SOURCE, far, 0.5, 3)


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.02])
def test_a_density_that_the_nodes_miss_is_refused(shape):
    # Half of Gamma(.001, 1) lies below 1e-304. Without the check the mixture had Z = .75, not 1.
    ends = Gamma().theta(shape=shape, rate=1), Gamma().theta(shape=1, rate=1)
    for pair in (ends, ends[::-1]):
        for alpha in (-1, 0, 3):
            with pytest.raises(ArithmeticError, match=r"masses .* must be 1.*shape above 0\.04"):
                projected_curve(Gamma(), *pair, 0.5, alpha)


def test_the_smallest_shape_that_the_message_promises():
    ends = Gamma().theta(shape=0.04, rate=1), Gamma().theta(shape=1, rate=1)
    curve = projected_curve(Gamma(), *ends, 0.5, -1)
    # the mixture has mass 1 and mixed expectations
    assert curve.log_normaliser == pytest.approx(0, abs=1e-9)
    want = (Gamma().expectation(ends[0]) + Gamma().expectation(ends[1])) / 2
    np.testing.assert_allclose(Gamma().expectation(curve.theta), want, rtol=1e-8)


def test_counts_whose_log_density_lost_its_digits_are_refused():
    # x log(rate) and log x! are 1e11 each, and cancel
    family = Poisson()
    ends = family.theta(rate=1e10), family.theta(rate=1e10 + 1e5)
    with pytest.raises(ArithmeticError, match="its logarithm lost its digits"):
        projected_curve(family, *ends, 0.5, -1)


def test_no_nodes():
    with pytest.raises(ValueError, match="Got no nodes"):
        interpolate_densities([], [], 0.5, 1, [])


def test_points_that_no_member_fits():
    # one point has no variance; at 1e8 a variance of 1 drowns in the mean of x^2
    with pytest.raises(ValueError, match=r"no member of Normal\(\) has them: too few points"):
        project(NORMAL, [1.0, 2.0], [0.0, -np.inf])
    far = NORMAL.theta(mean=1e8, sd=1), NORMAL.theta(mean=1e8 + 1, sd=1)
    with pytest.raises(ValueError, match="shift and scale x"):
        projected_curve(NORMAL, *far, 0.5, 0)
