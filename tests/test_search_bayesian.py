"""The Bayesian search, and the coordinates it works in."""

from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from test_search import Bowl, points_of
from weighbridge.geodesic import log_weight
from weighbridge.search import (
    BayesianSearch,
    Bounds,
    Evaluation,
    expected_improvement,
    groups,
    lower_confidence_bound,
    named_points,
    probability_of_improvement,
)
from weighbridge.search._bayesian import LENGTHS, NOISES, _Chart, _kriging

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
    chart = _Chart(bounds, log_ratio)
    points = list(chart.pool)[::17]
    found = distances(chart.places(points))
    true = np.array([[hellinger(log_ratio, a, b) for b in points] for a in points])
    np.testing.assert_allclose(found * true.max(), true * found.max(), rtol=1e-9, atol=1e-9)
    assert 0.9 < found.max() < 2


def test_groups_of_many_rows_give_the_coordinates_of_all_rows():
    log_ratio = np.append(3 * rng.standard_normal(50_000), [-1e6, 25.0, 26.0])
    points = list(_Chart(Bounds(), log_ratio).pool)[::60]
    centre, count = groups(log_ratio)
    assert centre.size <= 1024
    assert count.sum() == log_ratio.size
    chord = np.array([[hellinger(log_ratio, a, b) for b in points[:12]] for a in points[:12]])
    grouped = [
        np.sqrt(count * np.exp(log_weight(centre, *point) - centre.max())) for point in points[:12]
    ]
    grouped = np.array([each / np.linalg.norm(each) for each in grouped])
    np.testing.assert_allclose(distances(grouped), chord, atol=1e-4)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=60), st.integers(0, 40))
def test_groups_keep_rows_and_sum(values, copies):
    log_ratio = np.array(values * (1 + copies))
    centre, count = groups(log_ratio)
    assert count.sum() == log_ratio.size
    assert (count * centre).sum() == pytest.approx(log_ratio.sum(), rel=1e-9, abs=1e-6)
    assert (np.diff(centre) >= -1e-9).all()


def test_rows_of_ratio_zero_are_a_group():
    log_ratio = np.append(np.full(500, -np.inf), rng.normal(size=2000))
    centre, count = groups(log_ratio)
    assert (centre[0], count[0]) == (-np.inf, 500)
    chart = _Chart(WIDE, log_ratio)
    assert np.isfinite(chart.places(list(chart.pool))).all()
    assert len(BayesianSearch(6, tol=0)(Bowl(log_ratio=log_ratio)).points) == 6


def test_plain_coordinates_are_the_unit_square():
    chart = _Chart(Bounds(), None)
    places = chart.places(list(chart.pool))
    assert (places.min(), places.max()) == (0, 1)
    # its pool is a grid of equal steps
    inner = np.array([point for point in chart.pool if 0 < point.lam < 1])
    np.testing.assert_allclose(np.diff(np.unique(inner[:, 0])), 1 / 40, atol=2e-6)
    np.testing.assert_allclose(np.diff(np.unique(inner[:, 1])), 2 / 16, atol=2e-6)
    fixed = _Chart(Bounds(alpha=(2, 2)), None)
    assert set(fixed.places(list(fixed.pool))[:, 1]) == {0}


@pytest.mark.parametrize("bounds", [Bounds(), WIDE, Bounds(lam=(0.1, 1 / 3))], ids=str)
@pytest.mark.parametrize("ratios", [None, 3 * rng.standard_normal(200)], ids=["plain", "hellinger"])
def test_the_pool_has_no_model_twice_and_lies_within_its_boxes(bounds, ratios):
    pool = _Chart(bounds, ratios).pool
    named = named_points(bounds)
    assert list(pool)[: len(named)] == named
    assert all(point in bounds for point in pool)
    assert sum(point.lam in (0, 1) for point in pool) <= 2
    for point, (low, high) in pool.items():
        assert low[0] <= point.lam <= high[0]
        if point.lam not in (0, 1):  # there alpha is but a name
            assert low[1] <= point.alpha <= high[1]


@pytest.mark.parametrize("bounds", [Bounds(), WIDE], ids=str)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_no_model_is_far_from_the_pool(bounds, scale):
    # a pool of 41 x 9 equal steps leaves gaps several times as large
    log_ratio = scale * rng.standard_normal(200)
    chart = _Chart(bounds, log_ratio)
    lam, alpha = rng.uniform(size=500), rng.uniform(*bounds.alpha, size=500)
    others = chart.places(np.column_stack([lam, alpha]))
    even = [(a, b) for a in np.linspace(0, 1, 41) for b in np.linspace(*bounds.alpha, 9)]
    gap = cdist(others, chart.places(list(chart.pool))).min(axis=1).max()
    assert gap < 0.06
    if bounds is WIDE and scale == 3:
        assert gap < 0.5 * cdist(others, chart.places(even)).min(axis=1).max()


def test_kriging_is_the_average_over_length_scales_and_noises():
    # each pair by brute force with 30 digits: the posterior given a flat prior of the mean, and the
    # likelihood integrated over the variance by quadrature, with the prior 1 / variance
    at, values, new = rng.uniform(size=(5, 2)), rng.uniform(size=5), rng.uniform(size=(3, 2))
    values -= values.min()
    mean, sd = _kriging(at, values)(new)
    weight, first, second = [], [], []
    for length, noise in zip(LENGTHS.ravel(), NOISES.ravel(), strict=True):
        gaps = [np.sqrt(5) * cdist(each, at) / length for each in (at, new)]
        within, near = ((1 + d + d**2 / 3) * np.exp(-d) for d in gaps)
        with mpmath.workdps(30):
            K = mpmath.matrix((within + noise * np.eye(5)).tolist())
            inverse, one, y = K**-1, mpmath.matrix([1] * 5), mpmath.matrix(values.tolist())
            total = (one.T * inverse * one)[0]
            level = (one.T * inverse * y)[0] / total
            rest = y - level * one
            square = (rest.T * inverse * rest)[0]
            scale = float(mpmath.sqrt(mpmath.det(K) * total))
            rows = [mpmath.matrix(row) for row in near.tolist()]
            m = [float(level + (k.T * inverse * rest)[0]) for k in rows]
            left = [
                float(1 - (k.T * inverse * k)[0] + (1 - (one.T * inverse * k)[0]) ** 2 / total)
                for k in rows
            ]
        # variance exp(t): 4 degrees of freedom, one of 5 being the mean's
        q = float(square)
        integral, _ = quad(
            lambda t, q=q: np.exp(-q / 2 * np.exp(-t) - 2 * t), np.log(q) - 8, np.log(q) + 16
        )
        weight.append(integral / scale)
        first.append(m)
        second.append(np.square(m) + q / 2 * np.array(left))
    share = np.array(weight) / np.sum(weight)
    np.testing.assert_allclose(mean, share @ np.array(first), rtol=1e-6)
    np.testing.assert_allclose(sd**2, share @ np.array(second) - mean**2, rtol=1e-5)


def test_named_points_are_one_call_and_the_others_one_by_one():
    objective = Bowl()
    BayesianSearch(7, tol=0)(objective)
    assert [len(call) for call in objective.calls] == [4, 1, 1, 1]


@COORDINATES
@pytest.mark.parametrize("constant", [0.0, -3.0])
def test_without_shift_there_is_one_model(coordinates, constant):
    # a constant ratio weights all rows alike, whatever lam and alpha are
    objective = Bowl(log_ratio=np.full(60, constant) + 1e-13 * rng.standard_normal(60))
    result = BayesianSearch(10, coordinates=coordinates, initial=6)(objective)
    assert points_of(result) == [(0.0, 1.0)]
    assert points_of(BayesianSearch()(objective, Bounds(lam=(0.5, 1)))) == [(1.0, 1.0)]


@COORDINATES
def test_nearly_no_shift_is_no_trouble(coordinates):
    objective = Bowl(log_ratio=1e-9 * rng.standard_normal(60))
    assert len(BayesianSearch(8, coordinates=coordinates, tol=0)(objective, WIDE).points) == 8


def test_one_parameter_may_be_fixed():
    result = BayesianSearch(12)(Bowl(), Bounds(lam=(0.3, 0.3)))
    assert set(result.points[:, 0]) == {0.3}
    assert abs(result.best.alpha - 2) < 0.05
    both = Bounds(lam=(0.3, 0.3), alpha=(2, 2))
    assert points_of(BayesianSearch(12)(Bowl(), both)) == [(0.3, 2.0)]


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
    assert objective.asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coordinates": "polar"}, "coordinates='polar', but expected 'hellinger' or 'plain'"),
        ({"acquisition": "greed"}, "acquisition='greed', but expected expected_improvement, lower"),
        ({"acquisition": ["greed"]}, r"acquisition=\['greed'\], but expected"),
        ({"acquisition": lambda mean, sd, best: 1.0}, r"acquisition values array\(1.\), but"),
        ({"acquisition": lambda mean, sd, best: mean * np.nan}, "but expected [0-9]* numbers"),
        ({"tol": -0.1}, "tol=-0.1, but expected a number of at least 0"),
        ({"tol": "low"}, "tol='low', but expected a number"),
        ({"tol": np.nan}, "tol=nan, but expected a number"),
        ({"initial": 0}, "initial=0, but expected how many points"),
        ({"initial": True}, "initial=True, but expected how many points"),
        ({"initial": 16}, "initial=16, but expected .* from 1 to 15, the number of evaluations"),
        ({"initial": []}, r"initial=\[\], but expected"),
        ({"initial": [0.5, 1.0]}, r"initial=\[0.5, 1.0\], but expected"),
        ({"initial": [(0.5, 4.0)]}, r"initial=\[\(0.5, 4.0\)\], but .* in Bounds"),
        ({"initial": [(np.nan, 1.0)]}, "initial=.*nan.*, but expected"),
        ({"initial": [(0.1, 1.0)] * 16}, "from 1 to 15"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        BayesianSearch(**arguments)(Bowl())


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


# Failures -----------------------------------------------------------------------------------------


def test_when_the_named_points_fail_the_search_goes_on_elsewhere():
    objective = Bowl(fail=lambda point: point in named_points())
    result = BayesianSearch(10)(objective)
    assert len(result.failures) == 4
    assert result.best not in named_points()


@COORDINATES
def test_regions_that_fail_are_left(coordinates):
    # half of the square fails: the search does not spend its evaluations there
    result = BayesianSearch(15, coordinates=coordinates, tol=0)(Bowl(fail=lambda p: p.lam > 0.5))
    assert len(result.failures) <= 6
    assert abs(result.best.lam - 0.4) < 0.1


def test_if_all_fails_points_lie_apart():
    objective = Bowl(fail=lambda point: len(objective.asked) < 12)
    result = BayesianSearch(12)(objective)
    assert len(result.failures) == 11
    places = _Chart(Bounds(), objective.log_ratio).places(points_of(result))
    # as far apart as 12 of the farthest-first order are
    design = BayesianSearch(12, initial=12, tol=0)(Bowl())
    other = _Chart(Bounds(), objective.log_ratio).places(points_of(design))
    least = [np.min(distances(each)[np.triu_indices(12, 1)]) for each in (places, other)]
    assert least[0] > 0.5 * least[1] > 0


# Acquisitions and initial designs -----------------------------------------------------------------


FUNCTIONS = [expected_improvement, lower_confidence_bound, probability_of_improvement]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_named_acquisition_is_its_function(function):
    # in the unit of the losses or in that of their range: the same arg max
    named = points_of(BayesianSearch(7, acquisition=function.__name__, tol=0)(Bowl()))
    assert points_of(BayesianSearch(7, acquisition=function, tol=0)(Bowl())) == named


@COORDINATES
@pytest.mark.parametrize(
    "acquisition", [*FUNCTIONS[:2], partial(lower_confidence_bound, kappa=0.5)], ids=["a", "b", "c"]
)
def test_the_bottom_of_a_bowl_is_found(coordinates, acquisition):
    search = BayesianSearch(15, coordinates=coordinates, acquisition=acquisition, tol=0)
    assert search(Bowl()).values.min() - true_lowest(Bowl()) < 0.01


def true_lowest(bowl):
    """The smallest value of a bowl, whose noise moves its bottom."""
    noise = np.average(bowl.noise, axis=1, weights=bowl.unit_weights)
    lam, _ = bowl.lowest
    found = minimize_scalar(lambda x: (x - lam) ** 2 + x * noise[0], bounds=(0, 1))
    return found.fun + noise[1]


def test_a_function_is_given_losses():
    seen = []

    def acquisition(mean, sd, best):
        seen.append((mean.min(), mean.max(), best))
        return expected_improvement(mean, sd, best)

    result = BayesianSearch(6, acquisition=acquisition, tol=0)(Scaled(1000.0, 5e4))
    assert seen[0][2] == result.values[:4].min()
    assert seen[-1][2] == result.values[:5].min()
    assert all(4e4 < low < high < 6e4 for low, high, _ in seen)


@COORDINATES
@pytest.mark.parametrize("number", [1, 3, 4, 5, 9])
def test_an_initial_design_of_so_many_points(coordinates, number):
    # the named points, then each the farthest from all before it, in one call
    objective = Bowl()
    BayesianSearch(10, coordinates=coordinates, initial=number)(objective)
    first = objective.calls[0]
    assert len(first) == number
    assert first[:4] == named_points()[:number]
    chart = _Chart(Bounds(), None if coordinates == "plain" else objective.log_ratio)
    every = chart.places(list(chart.pool))
    for index in range(4, number):
        apart = cdist(every, chart.places(first[:index])).min(axis=1)
        own = cdist(chart.places([first[index]]), chart.places(first[:index])).min()
        assert own == pytest.approx(apart.max())


def test_algorithm_1_as_printed():
    # given points first, all evaluations, the smallest of them: every next point is the arg max of
    # expected improvement over a fine grid, up to the resolution of the search
    design = [(0.1, 1.5), (0.9, 2.5), (0.5, 3), (1, 2)]
    objective = Bowl()
    search = BayesianSearch(12, coordinates="plain", initial=design, tol=0)
    result = search(objective)
    assert objective.calls[0] == [(0.1, 1.5), (0.9, 2.5), (0.5, 3), (1, 1)]
    assert len(result.points) == 12
    assert not result.converged
    assert result.best_index == int(np.argmin(result.values))
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 161), np.linspace(0, 1, 81)), -1).reshape(-1, 2)
    unit = (result.points - [0, 1]) / [1, 2]
    for n in (4, 11):
        values = result.values[:n]
        predict = _kriging(unit[:n], (values - values.min()) / np.ptp(values))
        worth = expected_improvement(*predict(unit[n : n + 1]), 0.0)
        assert worth >= 0.97 * expected_improvement(*predict(grid), 0.0).max()


# Ending by itself ---------------------------------------------------------------------------------


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


def test_fewer_than_four_values_end_nothing():
    flat = Scaled(0.0, 1.0)
    assert len(BayesianSearch(9, initial=2)(flat).points) == 4


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


def test_a_smaller_tolerance_takes_longer():
    rough, fine = (BayesianSearch(60, tol=tol)(Bowl()) for tol in (0.2, 1e-4))
    assert len(rough.points) < len(fine.points)
    assert points_of(rough) == points_of(fine)[: len(rough.points)]


# Between the candidates of the pool ---------------------------------------------------------------


@COORDINATES
@pytest.mark.parametrize("bounds", [Bounds(), WIDE], ids=str)
def test_a_valley_off_the_pool_is_found_below_it(coordinates, bounds):
    # narrow, smooth, its bottom between candidates: better than the best of the whole pool
    objective = Bowl(lowest=(0.4137, 1.8071))
    objective.noise = np.zeros((2, 30))
    ratios = None if coordinates == "plain" else objective.log_ratio
    pool = np.array(list(_Chart(bounds, ratios).pool))
    least = ((pool[:, 0] - 0.4137) ** 2 + 0.1 * (pool[:, 1] - 1.8071) ** 2).min()
    result = BayesianSearch(30, coordinates=coordinates, tol=0)(objective, bounds)
    assert result.values.min() < 0.3 * least
    assert result.best not in _Chart(bounds, ratios).pool
