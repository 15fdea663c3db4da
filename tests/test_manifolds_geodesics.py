"""Alpha-geodesics, Fisher-Rao distances and the geometric bias of a weighting."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from weighbridge.geodesic import alpha_geodesic
from weighbridge.manifolds import (
    Categorical,
    Exponential,
    ExponentialFamily,
    Gamma,
    MultivariateNormal,
    Normal,
    Poisson,
    VonMises,
    fisher_rao_distance,
    geodesic,
    geodesic_velocity,
    geometric_bias,
)
from weighbridge.manifolds._collocation import AlphaGeodesic
from weighbridge.manifolds._geodesics import length_of_shortest

NORMAL, SIMPLEX, PLANE = Normal(), Categorical(4), MultivariateNormal(2)
LAM = np.linspace(0, 1, 7)
PAIRS = [
    (NORMAL, NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=2, sd=0.5)),
    (
        PLANE,
        PLANE.theta(mean=[0, 0], covariance=[[1, 0.3], [0.3, 2]]),
        PLANE.theta(mean=[1, -1], covariance=[[0.5, -0.2], [-0.2, 1]]),
    ),
    (Gamma(), Gamma().theta(shape=1, rate=1), Gamma().theta(shape=5, rate=3)),
    (
        SIMPLEX,
        SIMPLEX.theta(probabilities=[0.1, 0.2, 0.3, 0.4]),
        SIMPLEX.theta(probabilities=[0.6, 0.2, 0.15, 0.05]),
    ),
    (
        VonMises(),
        VonMises().theta(mean=0, concentration=1),
        VonMises().theta(mean=2, concentration=4),
    ),
    (Poisson(), Poisson().theta(rate=1), Poisson().theta(rate=7)),
    (Exponential(), Exponential().theta(rate=1), Exponential().theta(rate=5)),
]
IDS = [repr(pair[0]) for pair in PAIRS]
every_family = pytest.mark.parametrize("pair", PAIRS, ids=IDS)


class InverseGaussian(ExponentialFamily):
    """A family that gives its log-partition and nothing else."""

    dim = 2

    def log_partition(self, theta):
        return -2 * np.sqrt(theta[0] * theta[1]) - np.log(-2 * theta[1]) / 2


def _integrated(family, start, velocity, alpha, lam, with_velocity=False):
    """The geodesic equation as an initial-value problem, straight from the connection."""

    def rate(_, state):
        theta, v = np.split(state, 2)
        gamma = family.connection(theta, alpha, raised=True)
        return np.concatenate([v, -np.einsum("ijk,i,j->k", gamma, v, v)])

    state = np.concatenate([start, velocity])
    done = solve_ivp(rate, (0, 1), state, "DOP853", t_eval=lam, rtol=1e-12, atol=1e-13)
    points, velocities = np.split(done.y.T, 2, axis=1)
    return (points, velocities) if with_velocity else points


# --- the curve ---------------------------------------------------------------------------------


@every_family
def test_alpha_one_is_straight_in_theta(pair):
    _, start, stop = pair
    line = start + LAM[:, None] * (stop - start)
    np.testing.assert_allclose(geodesic(*pair, 1, LAM), line, rtol=1e-14, atol=1e-15)


@every_family
def test_alpha_minus_one_is_straight_in_eta(pair):
    family, start, stop = pair
    eta = np.array([family.expectation(theta) for theta in geodesic(*pair, -1, LAM)])
    ends = family.expectation(start), family.expectation(stop)
    np.testing.assert_allclose(eta, ends[0] + LAM[:, None] * (ends[1] - ends[0]), rtol=1e-10)


@every_family
@pytest.mark.parametrize("alpha", [-1.0, -0.6, 0.0, 0.4, 1.0])
def test_curve_solves_the_geodesic_equation(pair, alpha):
    # integrated from the start with the curve's own first velocity, it passes the same points
    family, start, _ = pair
    velocity = geodesic_velocity(*pair, alpha, 0.0)
    integrated = _integrated(family, start, velocity, alpha, LAM)
    np.testing.assert_allclose(geodesic(*pair, alpha, LAM), integrated, rtol=1e-8, atol=1e-8)


@every_family
@pytest.mark.parametrize("alpha", [-1.0, -0.5, 0.0, 1.0])
def test_ends_and_way_back(pair, alpha):
    family, start, stop = pair
    forth = geodesic(*pair, alpha, LAM)
    assert np.array_equal(forth[[0, -1]], [start, stop])
    back = geodesic(family, stop, start, alpha, 1 - LAM)
    np.testing.assert_allclose(forth, back, rtol=1e-9, atol=1e-9)
    assert np.array_equal(geodesic(family, start, start, alpha, LAM), np.tile(start, (7, 1)))


@every_family
@pytest.mark.parametrize("alpha", [-1.0, 0.3, 1.0])
def test_velocity_is_the_derivative(pair, alpha):
    # a central difference with step 1e-4 is good to about 1e-8 of the third derivative
    step = 1e-4
    ahead, behind = (geodesic(*pair, alpha, 0.4 + sign * step) for sign in (1, -1))
    velocity = geodesic_velocity(*pair, alpha, 0.4)
    np.testing.assert_allclose((ahead - behind) / (2 * step), velocity, rtol=1e-5, atol=1e-5)


def test_shapes_follow_lam():
    family, start, stop = PAIRS[1]
    for alpha in (-1, 0, 1):
        for function in (geodesic, geodesic_velocity):
            assert function(family, start, stop, alpha, 0.5).shape == (5,)
            assert function(family, start, stop, alpha, np.full((2, 3), 0.5)).shape == (2, 3, 5)


@pytest.mark.parametrize("alpha", [-2.0, -0.5, 0.0, 0.7, 2.0, 3.0])
def test_geodesics_of_the_simplex_are_the_weighted_densities(alpha):
    # Up to the pace. Both the solver and the geodesic equation, integrated on its own from the
    # first direction of the weighted curve, stay on the normalised f-interpolation.
    family, start, stop = PAIRS[3]
    p, q = (family.usual(theta)["probabilities"] for theta in (start, stop))
    k = (1 - alpha) / 2
    # d log m / d lam at lam = 0; theta are differences to the last cell
    slope = ((q / p) ** k - 1) / k
    direction = slope[:-1] - slope[-1]

    def on_the_curve(theta):
        """Distance of theta to the curve at the place with the same first coordinate."""
        wanted = family.usual(theta)["probabilities"]

        def gap(lam):
            return alpha_geodesic(p, q, lam, alpha)[0] - wanted[0]

        lam = brentq(gap, 0, 1, xtol=1e-15, rtol=1e-14)
        return np.abs(alpha_geodesic(p, q, lam, alpha) - wanted).max()

    for theta in geodesic(*PAIRS[3], alpha, LAM[1:-1]):
        assert on_the_curve(theta) < 1e-8
    for theta in _integrated(family, start, 0.3 * direction, alpha, LAM)[1:]:
        assert on_the_curve(theta) < 1e-8
    velocity = geodesic_velocity(*PAIRS[3], alpha, 0.0)
    np.testing.assert_allclose(
        velocity / np.linalg.norm(velocity), direction / np.linalg.norm(direction), atol=1e-8
    )


def test_a_family_given_by_its_log_partition_alone_has_geodesics():
    family, start, stop = InverseGaussian(), np.array([-0.5, -0.5]), np.array([-1.0, -2.0])
    velocity = geodesic_velocity(family, start, stop, 0, 0.0)
    # derivatives by Cauchy's integral are good to about ten digits
    integrated = _integrated(family, start, velocity, 0, np.array([0.0, 1.0]))
    np.testing.assert_allclose(integrated[-1], stop, rtol=1e-7)


# --- normals, in closed form -------------------------------------------------------------------


class PlainNormal(ExponentialFamily):
    """The normals without what is known in closed form: the solver has to find their curves."""

    dim = 2
    in_domain, log_partition = Normal.in_domain, Normal.log_partition
    expectation, metric, skewness = Normal.expectation, Normal.metric, Normal.skewness
    natural, _moments = Normal.natural, Normal._moments
    _frame, _frame_skewness = Normal._frame, Normal._frame_skewness


def _off_the_parabola(one, two, alpha, lam, theta, speed):
    """Fisher distances of theta to the parabola and to its place there, in many digits."""
    with mpmath.workdps(22):
        m1, s1, m2, s2, a = (mpmath.mpf(x) for x in (*one.values(), *two.values(), alpha))
        d = m2 - m1

        def variance(t):
            return s1**2 * (1 - t) + s2**2 * t + (1 - a) / 2 * d**2 * t * (1 - t)

        grid = [mpmath.mpf(i) / 8 for i in range(9)]
        top = max(-(1 + a) * mpmath.log(variance(t)) for t in grid)

        def pace(t):
            return mpmath.exp(-(1 + a) * mpmath.log(variance(t)) - top)

        got = -1 / (2 * mpmath.mpf(theta[1]))
        t = (mpmath.mpf(theta[0]) * got - m1) / d
        before = mpmath.quad(pace, [t * g for g in grid])
        after = mpmath.quad(pace, [t + (1 - t) * g for g in grid])
        place = abs(before / (before + after) - mpmath.mpf(lam)) * speed
        return float(abs(got / variance(t) - 1)), float(place)


@pytest.mark.parametrize(
    "pair",
    [
        (0, 1, 1, 0.5, 3.0),
        (0, 1, 1, 0.5, -4.0),
        (0.3, 2.0, -1.2, 0.4, 0.5),
        (0, 1, 2, 0.5, 2.1),  # all but the largest alpha there is
        (0, 1, 1e-9, 1, 4.0),
        (0, 1, 1000, 1, -2.5),
        (0, 1e3, 1, 1e-3, -3.0),
        (-1, 0.2, 1, 3, 1 + 1e-9),
    ],
)
def test_closed_form_between_normals_in_many_digits(pair):
    one, two = (NORMAL.usual(NORMAL.theta(*end)) for end in (pair[:2], pair[2:4]))
    ends = NORMAL.theta(**one), NORMAL.theta(**two)
    for lam in (1e-9, 0.7):
        theta = geodesic(NORMAL, *ends, pair[4], lam)
        velocity = geodesic_velocity(NORMAL, *ends, pair[4], lam)
        speed = math.sqrt(velocity @ NORMAL.metric(theta) @ velocity)
        off = _off_the_parabola(one, two, pair[4], lam, theta, speed)
        assert max(off) < 1e-12


@pytest.mark.parametrize("alpha", [-4.0, -0.5, 0.0, 3.0, 40.0])
def test_equal_means_are_joined_by_powers_of_the_variance(alpha):
    # mean' = 0 leaves s'' = (1 + alpha) s'^2 / s: s^-alpha is linear in lam, log s at alpha = 0
    points = geodesic(NORMAL, NORMAL.theta(2, 3.0), NORMAL.theta(2, 0.5), alpha, LAM)
    mean, sd = np.array([list(NORMAL.usual(theta).values()) for theta in points]).T
    np.testing.assert_allclose(mean, 2, rtol=1e-13)
    first, last = (x ** (-2 * alpha) if alpha else math.log(x) for x in (3.0, 0.5))
    want = first + LAM * (last - first)
    got = sd ** (-2 * alpha) if alpha else np.log(sd)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_no_geodesic_between_normals_is_proven_with_its_numbers():
    # the variance of the one parabola through both ends is not positive everywhere
    with pytest.raises(ArithmeticError) as caught:
        geodesic(*PAIRS[0], 3, 0.5)
    for part in ("No alpha-geodesic exists", "= 8 is not below", "= 4.5", "alpha below 2.125"):
        assert part in str(caught.value)
    assert np.isfinite(geodesic(*PAIRS[0], 2.1249, LAM)).all()
    with pytest.raises(ArithmeticError, match="exists"):
        geodesic(*PAIRS[0], 2.125, 0.5)


@given(st.floats(-3, 3), st.floats(0.2, 3), st.floats(-3, 3), st.floats(0.2, 3), st.floats(-5, 20))
def test_a_geodesic_between_normals_exists_where_the_parabola_stays_positive(m1, s1, m2, s2, alpha):
    t = np.linspace(0, 1, 1001)
    variance = s1**2 * (1 - t) + s2**2 * t + (1 - alpha) / 2 * (m1 - m2) ** 2 * t * (1 - t)
    assume(abs(variance.min()) > 1e-5)
    try:
        points = geodesic(NORMAL, NORMAL.theta(m1, s1), NORMAL.theta(m2, s2), alpha, LAM)
    except ArithmeticError:
        assert variance.min() < 0
    else:
        assert variance.min() > 0
        assert (points[:, 1] < 0).all()


@pytest.mark.parametrize("alpha", [-3.0, 0.0, 2.0])
def test_geodesics_of_normals_far_from_the_origin(alpha):
    # N(1e8, 1): theta itself holds the mean to 1e-8, and no more is lost on the way
    near = NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=1, sd=1)
    plain, far = geodesic(NORMAL, *near, alpha, 0.3), geodesic(*FAR, alpha, 0.3)
    want, got = NORMAL.usual(plain), NORMAL.usual(far)
    assert got["sd"] == pytest.approx(want["sd"], rel=1e-12)
    assert got["mean"] - 1e8 == pytest.approx(want["mean"], abs=6e-8)


def test_a_speed_beyond_double_precision_is_said_so():
    ends = NORMAL.theta(0, 1), NORMAL.theta(0, 1e-3)
    assert np.isfinite(geodesic(NORMAL, *ends, -60.0, LAM)).all()
    with pytest.raises(ArithmeticError, match=r"does not resolve the speed.*nearer to 0"):
        geodesic_velocity(NORMAL, *ends, -60.0, 1.0)
    with pytest.raises(ArithmeticError, match="does not resolve the speed"):
        geodesic(NORMAL, *ends, -1e17, 0.5)


# --- what the solver finds ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "alpha"),
    [
        ((0, 1), (1, 0.5), 3.0),
        ((0, 1), (1.6, 0.6), 2.9),  # all but the largest alpha, 3
        ((0, 1), (4, 1), -3.0),
        ((0, 0.3), (0.5, 3), 4.0),
        ((0, 1), (0.2, 0.05), -2.5),
    ],
)
def test_the_solver_finds_the_curves_between_normals(one, two, alpha):
    ends = NORMAL.theta(*one), NORMAL.theta(*two)
    want = geodesic(NORMAL, *ends, alpha, LAM)
    gap = geodesic(PlainNormal(), *ends, alpha, LAM) - want
    for theta, off in zip(want, gap, strict=True):
        assert math.sqrt(off @ NORMAL.metric(theta) @ off) < 1e-8


@pytest.mark.more
@pytest.mark.parametrize("alpha", [2.2])
def test_the_solver_finds_no_curve_where_there_is_none(alpha):
    with pytest.raises(ArithmeticError, match=r"was found.*There may be none"):
        geodesic(PlainNormal(), *PAIRS[0][1:], alpha, 0.5)


def _drawn(name, rng):
    """Two members of a family at random, a few Fisher units apart."""
    if name == "Gamma":
        family = Gamma()
        return family, *(family.theta(*np.exp(rng.normal(size=2))) for _ in "12")
    if name == "VonMises":
        family = VonMises()
        return family, *(family.theta(rng.uniform(-3, 3), np.exp(rng.normal())) for _ in "12")
    turn = [
        np.linalg.qr(rng.normal(size=(2, 2)))[0] * np.exp(0.3 * rng.normal(size=2)) for _ in "12"
    ]
    return PLANE, *(PLANE.theta(0.8 * rng.normal(size=2), root @ root.T) for root in turn)


@pytest.mark.more
@pytest.mark.parametrize(("name", "least"), [("Gamma", 6), ("VonMises", 7), ("Plane", 6)])
def test_every_curve_that_is_found_solves_its_equation(name, least):
    # alpha from -4 to 5; every piece of a curve is integrated from its own velocity
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(8):
        family, start, stop = _drawn(name, rng)
        alpha = rng.uniform(-4, 5)
        try:
            curve = AlphaGeodesic(family, start, stop, alpha)
        except ArithmeticError:
            continue
        found += 1
        assert _largest_defect(family, alpha, curve) < 1e-8
    assert found >= least


def _largest_defect(family, alpha, curve):
    # the solver's own panels are about equally long in the Fisher metric
    passed = np.cumsum(curve._curve._mass)
    ends = np.concatenate([[0], passed[3::4] / passed[-1]])
    points, velocities = curve.points(ends), curve.velocities(ends)
    worst = 0.0
    for i, step in enumerate(np.diff(ends)):
        velocity = step * velocities[i]
        gap = _integrated(family, points[i], velocity, alpha, [1.0])[-1] - points[i + 1]
        worst = max(worst, math.sqrt(gap @ family.metric(points[i + 1]) @ gap))
    return worst


def test_geodesics_refuse_what_they_cannot_do():
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\]"):
        geodesic(*PAIRS[0], 0, 1.5)
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        geodesic(*PAIRS[0], math.inf, 0.5)
    with pytest.raises(ValueError, match=r"need theta\[1\] < 0"):
        geodesic(NORMAL, [0.0, 1.0], PAIRS[0][2], 0, 0.5)


# --- distance ----------------------------------------------------------------------------------


def test_closed_forms_of_the_distance():
    assert fisher_rao_distance(*PAIRS[0]) == pytest.approx(2.6124005, abs=5e-8)
    square = 2**2 + 2 * 0.5**2
    arc = math.sqrt(2) * math.acosh(1 + square / (4 * 1 * 0.5))
    assert fisher_rao_distance(*PAIRS[0]) == pytest.approx(arc, rel=1e-12)
    assert fisher_rao_distance(*PAIRS[5]) == pytest.approx(2 * (math.sqrt(7) - 1), rel=1e-12)
    assert fisher_rao_distance(*PAIRS[6]) == pytest.approx(math.log(5), rel=1e-12)
    p, q = (SIMPLEX.usual(theta)["probabilities"] for theta in PAIRS[3][1:])
    arc = 2 * math.acos(np.sqrt(p * q).sum())
    assert fisher_rao_distance(*PAIRS[3]) == pytest.approx(arc, rel=1e-12)


@every_family
def test_generic_route_agrees_with_closed_forms(pair):
    assert length_of_shortest(*pair) == pytest.approx(fisher_rao_distance(*pair), rel=1e-8)


@pytest.mark.parametrize("stop", [(0, 0.01), (0, 100), (1, 0.1), (100, 100)])
def test_generic_route_over_long_distances(stop):
    # 4 to 7 units; the curve is found from one of its ends where the first guess is too far off
    ends = NORMAL.theta(0, 1), NORMAL.theta(*stop)
    want = fisher_rao_distance(NORMAL, *ends)
    assert length_of_shortest(NORMAL, *ends) == pytest.approx(want, rel=1e-8)


@every_family
def test_distance_is_symmetric_and_local(pair):
    family, start, stop = pair
    assert fisher_rao_distance(*pair) == pytest.approx(
        fisher_rao_distance(family, stop, start), rel=1e-9
    )
    assert fisher_rao_distance(family, start, start) == 0
    step = 1e-5 * (stop - start)
    # the metric changes by a few 1e-5 on the way
    assert fisher_rao_distance(family, start, start + step) == pytest.approx(
        math.sqrt(step @ family.metric(start) @ step), rel=1e-4
    )


@every_family
def test_parts_of_the_shortest_curve_add_up(pair):
    family, start, stop = pair
    middle = geodesic(*pair, 0, 0.3)
    whole = fisher_rao_distance(*pair)
    assert fisher_rao_distance(family, start, middle) == pytest.approx(0.3 * whole, rel=1e-8)
    assert fisher_rao_distance(family, middle, stop) == pytest.approx(0.7 * whole, rel=1e-8)


def test_distance_between_covariances():
    # equal means: sqrt of half the sum of squared log eigenvalues
    one, two = np.array([[1, 0.3], [0.3, 2]]), np.array([[0.5, -0.2], [-0.2, 3]])
    thetas = [PLANE.theta(mean=[1, 2], covariance=cov) for cov in (one, two)]
    eigenvalues = np.linalg.eigvals(np.linalg.solve(one, two)).real
    want = math.sqrt((np.log(eigenvalues) ** 2).sum() / 2)
    assert fisher_rao_distance(PLANE, *thetas) == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("shift", [1e-6, 0.5, 3.0])
def test_equal_covariances_have_a_closed_form(shift):
    # sqrt(2) arccosh(1 + m^2/4), m the Mahalanobis distance; by the solver too
    covariance = np.array([[1, 0.3], [0.3, 2]])
    mean, step = np.array([1.0, 2.0]), shift * np.array([1.0, -1.0])
    ends = [PLANE.theta(mean=m, covariance=covariance) for m in (mean, mean + step)]
    m = math.sqrt(step @ np.linalg.solve(covariance, step))
    want = 2 * math.sqrt(2) * math.asinh(m / math.sqrt(8))
    # the step has been rounded into theta
    assert fisher_rao_distance(PLANE, *ends) == pytest.approx(want, rel=1e-12 + 1e-14 / shift)
    assert length_of_shortest(PLANE, *ends) == pytest.approx(want, rel=1e-8)


def test_distances_between_vectors_that_the_solver_cannot_do():
    far = PLANE.theta(mean=[0, 0], covariance=np.eye(2)), PLANE.theta([20, 0], np.eye(2))
    want = math.sqrt(2) * math.acosh(1 + 20**2 / 4)
    assert fisher_rao_distance(PLANE, *far) == pytest.approx(want, rel=1e-13)
    line = MultivariateNormal(1)
    for mean, sd in ((2, 0.5), (0, 1e-5), (1e6, 3)):
        ends = line.theta([0], [[1]]), line.theta([mean], [[sd**2]])
        want = fisher_rao_distance(NORMAL, NORMAL.theta(0, 1), NORMAL.theta(mean, sd))
        assert fisher_rao_distance(line, *ends) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("tilt", [0.0, 1e-11, 1e-8, 1e-4])
def test_the_closed_form_and_the_solver_meet(tilt):
    # a covariance nearly aligned with the shift: both routes, on either side of the switch
    covariance = [[0.5, tilt], [tilt, 2.0]]
    ends = PLANE.theta([0, 0], np.eye(2)), PLANE.theta([1, 0], covariance)
    want = length_of_shortest(PLANE, *ends)
    assert fisher_rao_distance(PLANE, *ends) == pytest.approx(want, rel=1e-8)


@pytest.mark.more
def test_a_hopeless_distance_is_given_up_after_a_bounded_amount_of_work():
    class Counting(MultivariateNormal):
        calls = 0

        def expectation(self, theta):
            Counting.calls += 1
            return super().expectation(theta)

    space = Counting(2)
    ends = space.theta([0, 0], np.eye(2)), space.theta([20, 3], [[2, 0.5], [0.5, 0.3]])
    with pytest.raises(ArithmeticError, match="too far apart for the solver") as caught:
        fisher_rao_distance(space, *ends)
    assert "alpha" not in str(caught.value)
    # 16,000 residuals, besides the first guesses
    assert Counting.calls < 17_000


@pytest.mark.parametrize("step", [1e-4, 1e-8, 1e-12])
def test_short_distances_keep_their_digits(step):
    # relative to the metric; the step itself is exact
    assert fisher_rao_distance(
        NORMAL, NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=step, sd=1)
    ) == pytest.approx(step, rel=1e-8)
    near = np.array([step, 0.0, 0.0])
    length = step * math.sqrt(SIMPLEX.metric(np.zeros(3))[0, 0])
    # the metric changes by the step on the way, and probabilities are rounded to 1e-16
    assert fisher_rao_distance(SIMPLEX, np.zeros(3), near) == pytest.approx(
        length, rel=step + 1e-15 / step
    )


@pytest.mark.more
def test_a_distance_too_long_for_the_solver_is_said_so():
    ends = NORMAL.theta(mean=0, sd=1), NORMAL.theta(mean=0, sd=1e-5)
    with pytest.raises(ArithmeticError, match="ends that are closer"):
        fisher_rao_distance(PlainNormal(), *ends)


def test_a_metric_that_is_not_the_derivative_of_the_expectation_is_found():
    class Wrong(ExponentialFamily):
        dim = 2

        def log_partition(self, theta):
            return np.exp(theta).sum()

        def expectation(self, theta):
            return np.asarray(theta, dtype=float)

        def natural(self, eta, start=None):
            return np.asarray(eta, dtype=float)

    with pytest.raises(ArithmeticError, match="the derivative of its expectation"):
        fisher_rao_distance(Wrong(), [0.0, 0.0], [1.0, 2.0])


# --- bias --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_curvature_bias_vanishes_on_flat_curves(lam):
    for pair in PAIRS:
        for alpha in (1, -1):
            bias = geometric_bias(*pair, lam, alpha)
            assert bias.geodesic == 1 - lam
            assert bias.curvature == 0
            np.testing.assert_allclose(bias.vector, (1 - lam) * bias.e_1)


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.5, 1.0])
def test_curvature_bias_of_relative_weights_between_normals(lam):
    # scalar curvature -(1 - 3^2) = 8; rounding alone is left
    for stop in (NORMAL.theta(mean=0.3, sd=0.8), NORMAL.theta(mean=0.5, sd=1.0)):
        bias = geometric_bias(NORMAL, PAIRS[0][1], stop, lam, 3)
        assert bias.curvature == pytest.approx(8 * (1 - lam), rel=1e-14)
        assert bias.geodesic == 1 - lam


@every_family
@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.5, 1.0])
def test_directions_of_the_bias_are_orthonormal(pair, alpha):
    family, _, target = pair
    bias = geometric_bias(*pair, 0.25, alpha)
    g = family.metric(target)
    velocity = geodesic_velocity(*pair, alpha, 1.0)
    assert bias.e_1 @ g @ bias.e_1 == pytest.approx(1, rel=1e-12)
    along = velocity / math.sqrt(velocity @ g @ velocity)
    np.testing.assert_allclose(bias.e_1, along, rtol=1e-10, atol=1e-12)
    assert bias.curvature == pytest.approx(0.75 * family.scalar_curvature(target, alpha))
    if family.dim == 1:
        assert bias.e_2 is None
        np.testing.assert_allclose(bias.vector, 0.75 * bias.e_1)
        return
    assert bias.e_2 @ g @ bias.e_2 == pytest.approx(1, rel=1e-10)
    assert abs(bias.e_1 @ g @ bias.e_2) < 1e-10
    np.testing.assert_allclose(bias.vector, 0.75 * bias.e_1 + bias.curvature * bias.e_2)
    # the two parts are orthogonal, so their squares add
    length = bias.vector @ g @ bias.vector
    assert length == pytest.approx(0.75**2 + bias.curvature**2, rel=1e-10)


def test_numbers_stand_where_there_is_no_direction():
    family, source, target = PAIRS[0]
    for stop, why in ((source, "are equal"), (target, "No alpha-geodesic exists for alpha=3")):
        bias = geometric_bias(family, source, stop, 0.5, 3)
        assert bias.e_1 is None
        assert bias.e_2 is None
        assert bias.vector is None
        assert why in bias.reason
        assert bias.curvature == pytest.approx(4, rel=1e-14)
    assert geometric_bias(family, source, target, 0.5, 1).reason == ""


def test_bias_of_relative_weights_has_a_vector():
    # at the end of the parabola from N(0, 1) to N(1, .25) d variance / d mean is 1/4: theta_1 =
    # mean / variance stands still there and theta_2 rises, in steps of Fisher length sqrt(9/8)
    bias = geometric_bias(NORMAL, NORMAL.theta(0, 1), NORMAL.theta(1, 0.5), 0.5, 3)
    np.testing.assert_allclose(bias.e_1, [0, math.sqrt(8) / 3], atol=1e-12)
    np.testing.assert_allclose(abs(bias.e_2[0]), 6, rtol=1e-12)
    np.testing.assert_allclose(bias.vector, bias.e_1 / 2 + 4 * bias.e_2, rtol=1e-12)


FAR = NORMAL, NORMAL.theta(mean=1e8, sd=1), NORMAL.theta(mean=1e8 + 1, sd=1)


def test_a_mean_that_drowns_the_spread_is_said_so():
    # the mean of x^2 is 1e16, known to 2: no variance of 1 is left in expectations
    with pytest.raises(ArithmeticError, match=r"to values that no member.*Shift and scale x"):
        geodesic(*FAR, -1, 0.5)
    with pytest.raises(ArithmeticError, match=r"no digits are left.*shift and scale x"):
        geodesic(PlainNormal(), *FAR[1:], 0, 0.5)


@pytest.mark.parametrize("bad", [[0.5, 1.0], None, "1"])
def test_one_weighting_at_a_time(bad):
    with pytest.raises(ValueError, match=r"Got lam=.*but expected one number"):
        geometric_bias(*PAIRS[0], bad, 1)
    for call in (
        lambda: geometric_bias(*PAIRS[0], 0.5, bad),
        lambda: geodesic(*PAIRS[0], bad, 0.5),
        lambda: NORMAL.scalar_curvature(PAIRS[0][1], bad),
    ):
        with pytest.raises(ValueError, match=r"Got alpha=.*but expected one number"):
            call()
