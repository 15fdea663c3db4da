"""The Bayesian search, and the coordinates it works in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_search import Bowl, points_of
from weighbridge.datasets import make_cubic, make_quadratic
from weighbridge.geodesic import log_weight
from weighbridge.search import BayesianSearch, Bounds, Evaluation, groups, named_points
from weighbridge.search._bayesian import (
    candidate_pool,
    hellinger_coordinates,
    plain_coordinates,
)

rng = np.random.default_rng(0)


def hellinger(log_ratio, first, second):
    root = [np.exp(log_weight(log_ratio, *point) / 2) for point in (first, second)]
    first, second = (each / np.linalg.norm(each) for each in root)
    return np.linalg.norm(first - second)


def distances(places):
    return np.linalg.norm(places[:, None] - places, axis=2)


def test_coordinates_keep_hellinger_distances():
    # three components hold nearly all: distances are the true ones, up to one common factor
    points = candidate_pool(Bounds())[::17]
    log_ratio = rng.normal(size=300)
    found = distances(hellinger_coordinates(points, log_ratio))
    true = np.array([[hellinger(log_ratio, a, b) for b in points] for a in points])
    factor = found.max() / true.max()
    np.testing.assert_allclose(found / factor, true, atol=0.02 * true.max())


def test_groups_of_many_rows_give_the_coordinates_of_all_rows():
    points = candidate_pool(Bounds())[::7]
    log_ratio = np.append(3 * rng.standard_normal(50_000), [-1e6, 25.0, 26.0])
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
    assert np.isfinite(hellinger_coordinates(candidate_pool(Bounds()), log_ratio)).all()
    assert len(BayesianSearch(6)(Bowl(log_ratio=log_ratio)).points) == 6


def test_plain_coordinates_are_the_unit_square():
    places = plain_coordinates(candidate_pool(Bounds()), Bounds())
    assert (places.min(), places.max()) == (0, 1)
    fixed = Bounds(alpha=(2, 2))
    assert set(plain_coordinates(candidate_pool(fixed), fixed)[:, 1]) == {0}


def test_the_pool_has_no_model_twice():
    pool = candidate_pool(Bounds())
    assert pool[:4] == named_points()
    assert len(set(pool)) == len(pool)
    assert sum(point.lam in (0, 1) for point in pool) == 2


def test_named_points_are_one_call_and_the_others_one_by_one():
    objective = Bowl()
    BayesianSearch(7)(objective)
    assert [len(call) for call in objective.calls] == [4, 1, 1, 1]


@pytest.mark.parametrize("coordinates", ["hellinger", "plain"])
@pytest.mark.parametrize("constant", [0.0, -3.0])
def test_without_shift_there_is_one_model(coordinates, constant):
    # a constant ratio weights all rows alike, whatever lam and alpha are
    objective = Bowl(log_ratio=np.full(60, constant) + 1e-13 * rng.standard_normal(60))
    result = BayesianSearch(10, coordinates=coordinates)(objective)
    assert points_of(result) == [(0.0, 1.0)]
    assert points_of(BayesianSearch()(objective, Bounds(lam=(0.5, 1)))) == [(1.0, 1.0)]


def test_the_search_ends_when_the_pool_runs_out():
    bounds = Bounds(lam=(0.3, 0.3))
    result = BayesianSearch(n_evaluations=100)(Bowl(), bounds)
    assert len(result.points) == len(candidate_pool(bounds)) == 9


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


def test_unknown_coordinates():
    with pytest.raises(
        ValueError, match="coordinates='polar', but expected 'hellinger' or 'plain'"
    ):
        BayesianSearch(coordinates="polar")(Bowl())


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


@pytest.mark.parametrize("coordinates", ["hellinger", "plain"])
def test_a_flat_surface_is_no_trouble(coordinates):
    result = BayesianSearch(9, coordinates=coordinates)(Scaled(0.0, 1.0))
    assert len(result.points) == 9
    assert result.best.lam == 0  # a tie: no weights


def test_when_the_named_points_fail_the_search_goes_on_elsewhere():
    objective = Bowl(fail=lambda point: point in named_points())
    result = BayesianSearch(10)(objective)
    assert len(result.failures) == 4
    assert result.best not in named_points()


def test_a_seed_gives_the_same_points():
    first, second = (points_of(BayesianSearch(9, random_state=7)(Bowl())) for _ in range(2))
    assert first == second


# Regret: squared error of a weighted straight line, 5 folds, on the whole pool --------------------


class Line:
    fingerprint = "line"
    unit_weights = np.ones(1)

    def __init__(self, make, n, seed):
        data = make(n, 10, random_state=seed)
        self.log_ratio = data.log_ratio
        x, y = data.X[:, 0], data.y
        importance = np.exp(data.log_ratio - data.log_ratio.max())
        fold = np.arange(n) % 5
        self.values = {}
        for point in candidate_pool(Bounds()):
            s = log_weight(data.log_ratio, *point)
            weight = np.exp((s - s.max()) / 2)
            total = 0.0
            for number in range(5):
                keep = fold != number
                line = np.polyfit(x[keep], y[keep], 1, w=weight[keep])
                total += importance[~keep] @ (y[~keep] - np.polyval(line, x[~keep])) ** 2
            self.values[point] = total / importance.sum()

    def evaluate(self, points):
        for point in points:
            yield Evaluation(point, np.array([self.values[point]]))

    def regret(self, search):
        low, high = min(self.values.values()), max(self.values.values())
        return (search(self).best_so_far[-1] - low) / (high - low)


@pytest.mark.more
@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
def test_eight_evaluations_come_within_the_bar():
    # mean normalised regret of at most .006; benchmarks/search_regret.py has more problems
    lines = [Line(make, n, 5) for make in (make_quadratic, make_cubic) for n in (100, 300, 800)]
    assert np.mean([line.regret(BayesianSearch(8)) for line in lines]) <= 0.006
