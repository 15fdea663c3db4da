"""The Bayesian search, and the coordinates it works in."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from test_search import Bowl, points_of

from weighbridge.geodesic import log_weight
from weighbridge.model_selection import (
    BayesianSearch,
    Bounds,
    Evaluation,
    expected_improvement,
    group_rows,
    named_points,
)
from weighbridge.model_selection._bayesian import Chart

rng = np.random.default_rng(0)
WIDE = Bounds(alpha=(-5, 5))
COORDINATES = pytest.mark.parametrize("coordinates", ["hellinger", "plain"])


def hellinger(log_ratio, first, second):
    root = [np.exp(log_weight(log_ratio, *point) / 2) for point in (first, second)]
    first, second = (each / np.linalg.norm(each) for each in root)
    return np.linalg.norm(first - second)


def distances(places):
    return np.linalg.norm(places[:, None] - places, axis=2)


@pytest.mark.parametrize("bounds", [Bounds(), WIDE], ids=str)
def test_coordinates_keep_hellinger_distances(bounds):
    # exactly, up to one common factor; the largest from ERM is about 1
    log_ratio = rng.normal(size=300)
    chart = Chart(bounds, log_ratio)
    points = chart.pool[::17]
    found = distances(chart.coordinates(points))
    true = np.array([[hellinger(log_ratio, a, b) for b in points] for a in points])
    np.testing.assert_allclose(found * true.max(), true * found.max(), rtol=1e-9, atol=1e-9)
    assert 0.9 < found.max() < 2


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=60), st.integers(0, 40))
def test_groups_keep_rows_and_sum(values, copies):
    log_ratio = np.array(values * (1 + copies))
    centre, count = group_rows(log_ratio)
    assert count.sum() == log_ratio.size
    assert (count * centre).sum() == pytest.approx(log_ratio.sum(), rel=1e-9, abs=1e-6)
    assert (np.diff(centre) >= -1e-9).all()


def test_rows_of_ratio_zero_are_a_group():
    log_ratio = np.append(np.full(500, -np.inf), rng.normal(size=2000))
    centre, count = group_rows(log_ratio)
    assert (centre[0], count[0]) == (-np.inf, 500)
    chart = Chart(WIDE, log_ratio)
    assert np.isfinite(chart.coordinates(chart.pool)).all()
    assert len(BayesianSearch(6, tol=0)(Bowl(log_ratio=log_ratio)).points) == 6


def test_plain_coordinates_are_the_unit_square():
    chart = Chart(Bounds(), None)
    places = chart.coordinates(chart.pool)
    assert (places.min(), places.max()) == (0, 1)
    # its pool is a grid of equal steps
    inner = np.array([point for point in chart.pool if 0 < point.lam < 1])
    np.testing.assert_allclose(np.diff(np.unique(inner[:, 0])), 1 / 40, atol=2e-6)
    np.testing.assert_allclose(np.diff(np.unique(inner[:, 1])), 2 / 16, atol=2e-6)
    fixed = Chart(Bounds(alpha=(2, 2)), None)
    assert set(fixed.coordinates(fixed.pool)[:, 1]) == {0}


@pytest.mark.parametrize("bounds", [Bounds(), WIDE], ids=str)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_no_model_is_far_from_the_pool(bounds, scale):
    # a pool of 41 x 9 equal steps leaves gaps several times as large
    log_ratio = scale * rng.standard_normal(200)
    chart = Chart(bounds, log_ratio)
    lam, alpha = rng.uniform(size=500), rng.uniform(*bounds.alpha, size=500)
    others = chart.coordinates(np.column_stack([lam, alpha]))
    even = [(a, b) for a in np.linspace(0, 1, 41) for b in np.linspace(*bounds.alpha, 9)]
    gap = cdist(others, chart.coordinates(chart.pool)).min(axis=1).max()
    assert gap < 0.06
    if bounds is WIDE and scale == 3:
        assert gap < 0.5 * cdist(others, chart.coordinates(even)).min(axis=1).max()


@COORDINATES
@pytest.mark.parametrize("constant", [0.0, -3.0])
def test_without_shift_there_is_one_model(coordinates, constant):
    # a constant ratio weights all rows alike, whatever lam and alpha are
    objective = Bowl(log_ratio=np.full(60, constant) + 1e-13 * rng.standard_normal(60))
    result = BayesianSearch(10, coordinates=coordinates)(objective)
    assert points_of(result) == [(0.0, 1.0)]
    assert points_of(BayesianSearch()(objective, Bounds(lam=(0.5, 1)))) == [(1.0, 1.0)]


@pytest.mark.parametrize(
    ("log_ratio", "message"),
    [
        (np.array([0.0, np.nan]), "none NaN"),
        (np.array([0.0, np.inf]), r"below \+inf"),
        (np.full(3, -np.inf), "not all of them -inf"),
        (np.zeros((3, 1)), r"shape \(3, 1\)"),
        (np.array([]), r"shape \(0,\)"),
    ],
)
def test_log_ratios_are_checked(log_ratio, message):
    objective = Bowl(log_ratio=log_ratio)
    with pytest.raises(ValueError, match=message):
        BayesianSearch()(objective)
    assert objective.evaluated == []


class Scaled(Bowl):
    def __init__(self, scale, shift):
        super().__init__()
        self.scale, self.shift = scale, shift

    def evaluation(self, point):
        found = super().evaluation(point)
        return Evaluation(point, self.scale * found.losses + self.shift)


@pytest.mark.parametrize(("scale", "shift"), [(2.0**-40, 0.0), (2.0**900, 0.0), (4.0, 8.0)])
def test_the_unit_of_the_losses_does_not_matter(scale, shift):
    expected = points_of(BayesianSearch(9)(Bowl()))
    assert points_of(BayesianSearch(9)(Scaled(scale, shift))) == expected


@COORDINATES
def test_regions_that_fail_are_left(coordinates):
    # half of the square fails: the search does not spend its evaluations there
    result = BayesianSearch(15, coordinates=coordinates, tol=0)(Bowl(fail=lambda p: p.lam > 0.5))
    assert len(result.failures) <= 6
    assert abs(result.best.lam - 0.4) < 0.1


def true_lowest(bowl):
    """The smallest value of a bowl, whose noise moves its bottom."""
    noise = np.average(bowl.noise, axis=1, weights=bowl.unit_weights)
    lam, _ = bowl.lowest
    found = minimize_scalar(lambda x: (x - lam) ** 2 + x * noise[0], bounds=(0, 1))
    return found.fun + noise[1]


@COORDINATES
def test_a_flat_surface_ends_after_the_initial_points(coordinates):
    flat = Scaled(0.0, 1.0)
    result = BayesianSearch(9, coordinates=coordinates)(flat)
    assert points_of(result) == named_points()
    assert result.converged
    assert result.best.lam == 0  # a tie: no weights
    whole = BayesianSearch(9, coordinates=coordinates, tol=0)(flat)
    assert len(whole.points) == 9
    assert not whole.converged


@COORDINATES
def test_a_search_ends_when_no_more_is_expected(coordinates):
    result = BayesianSearch(60, coordinates=coordinates)(Bowl())
    assert result.converged
    assert len(result.points) < 25
    assert result.values.min() - true_lowest(Bowl()) < 0.005 * np.ptp(result.values)


class Noisy(Bowl):
    """The same surface, and units that differ from point to point by much more than it does."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def evaluation(self, point):
        found = super().evaluation(point)
        own = np.random.default_rng(abs(hash(point))).standard_normal(30)
        own -= np.average(own, weights=self.unit_weights)  # the value stays as it is
        return Evaluation(point, found.losses + self.size * own)


def test_the_noisier_the_units_the_sooner_it_ends():
    # the values are the same: only what is known of their differences changes
    exact, some, much = (BayesianSearch(60)(Noisy(size)) for size in (0.0, 2.0, 20.0))
    assert len(much.points) < len(some.points) <= len(exact.points)
    assert points_of(much) == points_of(exact)[: len(much.points)]


@pytest.mark.parametrize("z", [-37, -30, -12.5, -5, -1, -1e-3, 0, 0.3, 2, 9, 40])
@pytest.mark.parametrize(("best", "sd"), [(0.0, 1.0), (3.0, 1e-3), (-7.0, 250.0)])
def test_expected_improvement_has_ten_digits(z, best, sd):
    # (best - m) Phi(z) + sd phi(z) with 400 digits, at the very numbers the function is given.
    mean = best - z * sd
    with mpmath.workdps(400):
        m, s, top = (mpmath.mpf(float(value)) for value in (mean, sd, best))
        edge = (top - m) / s
        truth = float(s * (edge * mpmath.ncdf(edge) + mpmath.npdf(edge)))
    assert expected_improvement(mean, sd, best) == pytest.approx(truth, rel=1e-10, abs=0)


def test_expected_improvement_of_a_known_value():
    assert expected_improvement([1.0, 3.0, 2.0], 0.0, 2.0).tolist() == [1.0, 0.0, 0.0]
    assert expected_improvement(1.0, 5e-324, 2.0) == 1.0
    assert expected_improvement(2.0, 5e-324, 1.0) == 0.0
    with pytest.raises(ValueError, match=r"sd=-1.0, but a standard deviation"):
        expected_improvement(0.0, -1.0, 0.0)


@pytest.mark.parametrize("number", [2, 3, 4, 5, 7])
def test_the_budget_is_spent_and_kept(number):
    objective = Bowl()
    result = BayesianSearch(number, tol=0)(objective)
    # The named points are one call, and the others one by one.
    assert [len(call) for call in objective.calls] == [min(number, 4), *[1] * (number - 4)]
    assert points_of(result)[:4] == named_points()[:number]
    assert len(result.points) == number
    assert not result.converged


@pytest.mark.parametrize("bounds", [Bounds(), WIDE, Bounds(lam=(0.1, 1 / 3))], ids=str)
@pytest.mark.parametrize("ratios", [None, 3 * rng.standard_normal(200)], ids=["plain", "hellinger"])
def test_the_pool_has_no_weights_twice_and_begins_with_the_named_points(bounds, ratios):
    pool = Chart(bounds, ratios).pool
    named = named_points(bounds)
    assert pool[: len(named)] == named
    assert all(point in bounds for point in pool)
    assert len(set(pool)) == len(pool)
    assert sum(point.lam in (0, 1) for point in pool) <= 2


@COORDINATES
def test_the_next_point_maximises_expected_improvement_over_the_pool(coordinates):
    # the paper's Algorithm 1: every evaluation, in the posterior without noise, as it is written
    # in Rasmussen and Williams (2006), eq. 2.25 and 2.26, at the parameters of largest likelihood
    objective = Bowl()
    result = BayesianSearch(12, coordinates=coordinates, tol=0)(objective)
    assert len(result.points) == 12
    assert not result.converged
    assert result.best_index == int(np.argmin(result.values))
    chart = Chart(Bounds(), None if coordinates == "plain" else objective.log_ratio)
    for n in (4, 8, 11):
        places, new = (chart.coordinates(each) for each in (points_of(result)[:n], chart.pool))
        y = result.values[:n]
        y = (y - y.mean()) / y.std()
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(0.5, (0.05, 5), nu=2.5)
        process = GaussianProcessRegressor(kernel + WhiteKernel(1e-4, (1e-8, 1e-3)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound
            process.fit(places, y)
        signal, noise = process.kernel_.k1, process.kernel_.k2.noise_level
        inverse = np.linalg.inv(signal(places) + noise * np.eye(n))
        near = signal(new, places)
        mean = near @ inverse @ y
        variance = signal.diag(new) - ((near @ inverse) * near).sum(axis=1)
        sd = np.sqrt(np.maximum(variance, 1e-300) * n / (n - 3))  # three parameters are fitted
        z = (y.min() - mean) / sd
        worth = sd * (z * norm.cdf(z) + norm.pdf(z))
        chosen = worth[chart.pool.index(points_of(result)[n])]
        untried = [point not in points_of(result)[:n] for point in chart.pool]
        assert chosen >= 0.99 * worth[untried].max()


def test_if_all_fails_points_lie_apart():
    objective = Bowl(fail=lambda point: len(objective.evaluated) < 12)
    result = BayesianSearch(12)(objective)
    assert len(result.failures) == 11
    places = Chart(Bounds(), objective.log_ratio).coordinates(points_of(result))
    assert np.min(distances(places)[np.triu_indices(12, 1)]) > 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_evaluations": 1}, "n_evaluations=1, but expected a whole number >= 2"),
        ({"n_evaluations": 2.5}, "n_evaluations=2.5, but expected a whole number"),
        ({"coordinates": "polar"}, "coordinates='polar', but expected 'hellinger' or 'plain'"),
        ({"tol": -0.1}, "tol=-0.1, but expected a number of at least 0"),
        ({"tol": "low"}, "tol='low', but expected one number"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        BayesianSearch(**arguments)(Bowl())
