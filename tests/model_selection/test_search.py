"""Points, results and the loop that all searches share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from weighbridge.geodesic import log_weight
from weighbridge.model_selection import (
    AllFailedError,
    BayesianSearch,
    Bounds,
    Evaluation,
    GridSearch,
    Point,
    SearchResult,
    few_points,
    named_points,
)
from weighbridge.model_selection._points import canonical

SEARCHES = [
    GridSearch(lam=4, alpha=2),
    BayesianSearch(n_evaluations=6),
    BayesianSearch(n_evaluations=6, coordinates="plain"),
]
IDS = ["grid", "hellinger", "plain"]
all_searches = pytest.mark.parametrize("search", SEARCHES, ids=IDS)


class Bowl:
    """Losses of 30 units around a bowl, with a record of the points."""

    def __init__(self, *, fail=(), lowest=(0.4, 2.0), log_ratio=None):
        rng = np.random.default_rng(0)
        self.log_ratio = rng.normal(size=60) if log_ratio is None else log_ratio
        self.unit_weights = rng.uniform(size=30)
        self.unit_weights[:3] = 0
        self.noise = rng.normal(size=(2, 30)) / 20
        self.lowest, self.fail = lowest, fail
        self.calls, self.evaluated = [], []

    def evaluate(self, points):
        self.calls.append(list(points))
        for point in points:
            self.evaluated.append(point)
            yield self.evaluation(point)

    def evaluation(self, point):
        if callable(self.fail) and self.fail(point):
            return Evaluation(point, None, error=f"no fit at lam {point.lam:g}")
        lam, alpha = self.lowest
        loss = (point.lam - lam) ** 2 + 0.1 * (point.alpha - alpha) ** 2
        return Evaluation(point, loss + point.lam * self.noise[0] + self.noise[1])


def points_of(result):
    return [evaluation.point for evaluation in result.evaluations]


bounds_pairs = st.tuples(st.floats(-20, 20), st.floats(-20, 20)).map(lambda pair: (*sorted(pair),))
lam_pairs = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: (*sorted(pair),))
all_bounds = st.builds(Bounds, lam=st.one_of(st.just((0.0, 1.0)), lam_pairs), alpha=bounds_pairs)


@given(all_bounds, st.floats(0, 1), st.floats(0, 1))
def test_a_canonical_point_has_the_same_weights_within_the_bounds(bounds, across, up):
    lam = min(bounds.lam[0] + across * (bounds.lam[1] - bounds.lam[0]), bounds.lam[1])
    alpha = min(bounds.alpha[0] + up * (bounds.alpha[1] - bounds.alpha[0]), bounds.alpha[1])
    point = canonical((lam, alpha), bounds)
    s = np.array([-2.0, 0.1, 3.0])
    assert canonical(point, bounds) == point
    assert point in bounds
    np.testing.assert_array_equal(log_weight(s, *point), log_weight(s, lam, alpha))


@given(all_bounds)
def test_named_points_are_within_the_bounds_and_no_model_twice(bounds):
    points = named_points(bounds)
    assert all(point in bounds for point in points)
    assert len(set(points)) == len(points)
    for lam in (0.0, 1.0):
        assert (lam in [point.lam for point in points]) == (bounds.lam[0] <= lam <= bounds.lam[1])


def test_named_points():
    assert named_points() == [(0, 1), (1, 1), (0.8, 3), (0.5, 1)]
    # ERM and IWERM are the same models at every alpha; the others exist at their own alpha only
    assert named_points(Bounds(alpha=(2, 4))) == [(0, 2), (1, 2), (0.8, 3)]
    assert named_points(Bounds(alpha=(-1, 0))) == [(0, 0), (1, 0)]
    assert named_points(Bounds(alpha=(-1, 3))) == named_points()
    assert named_points(Bounds(lam=(0.1, 0.9))) == [(0.8, 3), (0.5, 1)]
    assert named_points(Bounds(lam=(0.3, 0.3), alpha=(1, 1))) == []


def test_few_points_move_into_the_bounds():
    assert few_points() == [(0, 1), (1, 1), (0.5, 1), (0.5, 3)]
    assert few_points(by_label=True) == [(0, 1), (1, 1)]
    assert few_points(Bounds(lam=(0, 0.8), alpha=(2, 4))) == [(0, 2), (0.8, 2), (0.5, 2), (0.5, 3)]
    assert few_points(Bounds(lam=(0.3, 0.3), alpha=(1, 1))) == [(0.3, 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": (1, 0)}, r"lam=\(1, 0\) as bounds, but expected two finite numbers, the smallest"),
        ({"lam": (-0.1, 1)}, r"lam=\(-0.1, 1.0\).*within \[0, 1\]"),
        ({"alpha": (1, np.inf)}, "alpha=.*expected two finite numbers"),
        ({"alpha": (np.nan, 1)}, "alpha=.*expected two finite numbers"),
        ({"alpha": 3}, "alpha=3 as bounds, but expected two finite numbers"),
        ({"lam": (0, 0.5, 1)}, "expected two finite numbers"),
    ],
)
def test_bounds_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        Bounds(**arguments)


# Results ----------------------------------------------------------------------------------------


def small_result(**changes):
    evaluations = (
        Evaluation(Point(0.0, 1.0), np.array([3.0, 1.0, 2.0, 50.0])),
        Evaluation(Point(1.0, 1.0), None, error="singular"),
        Evaluation(Point(0.8, 3.0), np.array([2.0, 1.0, 1.5, 0.0])),
        Evaluation(Point(0.5, 1.0), np.array([1.5, 1.0, 2.0, 0.0])),
    )
    return SearchResult(evaluations, np.array([1.0, 1.0, 1.0, 0.0]), **changes)


def test_a_result_with_a_failure_and_a_tie():
    result = small_result()
    np.testing.assert_allclose(result.values, [2.0, np.nan, 1.5, 1.5])
    assert result.best == (0.5, 1.0)  # of equal values the smaller lam, nearer to no weights
    assert result.best_index == 3
    assert result.failures == [((1.0, 1.0), "singular")]
    assert result.points.tolist() == [[0.0, 1.0], [1.0, 1.0], [0.8, 3.0], [0.5, 1.0]]
    # the difference of ERM to the best is .5, with a standard error of .5
    assert result.not_worse(z=1.01).tolist() == [True, False, True, True]
    assert result.not_worse(z=0.99).tolist() == [False, False, True, True]


def test_candidates_that_are_missing_or_failed_raise():
    result = small_result()
    assert result.index_of((0.8, 3.0)) == 2
    assert result.index_of(Point(1.0, 2.5)) == 1  # lam = 1 is one model
    with pytest.raises(ValueError, match=r"lam=0.8, alpha=1.0, which is not among the 4"):
        result.index_of((0.8, 1.0))
    with pytest.raises(ValueError, match=r"candidate 1, .*failed \(singular\)"):
        result.difference(0, 1)
    only = SearchResult((result.evaluations[1],), np.ones(1))
    with pytest.raises(ValueError, match="no candidate with a value among 1"):
        only.best_index  # noqa: B018
    assert "failed" in str(only)


def test_the_table_shows_the_best_and_both_ends():
    lines = str(small_result()).splitlines()
    assert lines[0].split() == ["lam", "alpha", "value", "std.", "error"]
    table = {tuple(line.split()[:2]): line for line in lines[1:-1]}
    assert table["0.5", "1"].endswith("best")
    assert table["0", "1"].endswith("ERM")
    assert table["1", "1"].endswith("IWERM, failed")
    assert lines[-1] == "4 evaluations, 1 failed"
    assert str(small_result(converged=True)).endswith("1 failed, no more expected")


def test_one_unit_has_no_standard_error():
    result = SearchResult(tuple(Evaluation(Point(i, 1), np.array([i])) for i in (0, 1)), np.ones(1))
    assert np.isnan(result.standard_errors).all()
    assert result.not_worse().tolist() == [True, False]


@all_searches
def test_named_points_come_first_and_no_model_is_evaluated_twice(search):
    objective = Bowl()
    result = search(objective)
    assert points_of(result)[:4] == named_points()
    assert points_of(result) == objective.evaluated
    assert len(set(objective.evaluated)) == len(objective.evaluated)
    assert sum(point.lam in (0, 1) for point in objective.evaluated) == 2


@all_searches
def test_the_same_objective_gives_the_same_points(search):
    first, second = search(Bowl()), clone(search)(Bowl())
    assert points_of(first) == points_of(second)
    np.testing.assert_array_equal(first.values, second.values)


@all_searches
def test_bounds_are_kept(search):
    bounds = Bounds(lam=(0.2, 0.7), alpha=(-1, 2))
    points = points_of(search(Bowl(lowest=(0.9, 5)), bounds))
    assert all(point in bounds for point in points)
    assert points[0] == (0.5, 1.0)
    fixed = search(Bowl(), Bounds(alpha=(3, 3)))
    assert set(fixed.points[:, 1]) == {3.0}
    assert points_of(search(Bowl(), Bounds(lam=(0.3, 0.3), alpha=(2, 2)))) == [(0.3, 2.0)]


@all_searches
def test_candidates_that_fail_are_recorded_and_passed_over(search):
    objective = Bowl(fail=lambda point: point.lam > 0.6)
    result = search(objective)
    assert ((1.0, 1.0), "no fit at lam 1") in result.failures
    assert result.best.lam <= 0.6
    assert np.isnan(result.values).sum() == len(result.failures)
    assert len(set(objective.evaluated)) == len(objective.evaluated)


@all_searches
def test_if_all_fail_the_error_shows_the_first(search):
    with pytest.raises(AllFailedError, match=r"All \d+ candidates failed.*no fit at lam 0.*itself"):
        search(Bowl(fail=lambda point: True))


@all_searches
def test_losses_that_are_not_finite_are_failures(search):
    class Broken(Bowl):
        def evaluation(self, point):
            fine = super().evaluation(point)
            fine.losses[0] = np.nan  # a unit of weight 0 does not matter
            if point.lam == 1:
                fine.losses[5] = np.inf
            return fine

    result = search(Broken())
    assert result.failures == [((1.0, 1.0), "1 of 30 losses are NaN or infinite")]
    assert np.isfinite(result.standard_errors).sum() == len(result.points) - 1


@all_searches
def test_progress_is_told_of_every_evaluation(search):
    told = []
    result = search(
        Bowl(fail=lambda point: point.lam == 0), progress=lambda *report: told.append(report)
    )
    evaluations, done, planned, best = zip(*told, strict=True)
    assert evaluations == result.evaluations
    assert list(done) == list(range(1, len(done) + 1))
    assert set(planned) == {len(done)}
    np.testing.assert_array_equal(best, np.fmin.accumulate(result.values))


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (np.zeros(30), "not all of them 0"),
        (np.full(30, -1.0), "at least 0"),
        (np.full(30, np.nan), "finite"),
        (np.ones((30, 1)), r"shape \(30, 1\)"),
    ],
)
def test_unit_weights_are_checked(units, message):
    objective = Bowl()
    objective.unit_weights = units
    with pytest.raises(ValueError, match=message):
        GridSearch()(objective)
    assert objective.evaluated == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda point: iter([]), "returned None where an evaluation of Point"),
        (lambda point: iter([Bowl().evaluation(Point(0.1, 1.1))]), "for each point in their order"),
        (lambda point: iter([Evaluation(point, np.ones(3))]), r"shape \(3,\).*30 unit weights"),
    ],
)
def test_an_objective_that_breaks_its_contract_raises(answer, message):
    objective = Bowl()
    objective.evaluate = lambda points: answer(points[0])
    with pytest.raises(RuntimeError, match=message):
        GridSearch()(objective)


# The grid ---------------------------------------------------------------------------------------


def test_the_grid_is_one_call():
    objective = Bowl()
    GridSearch()(objective)
    assert len(objective.calls) == 1
    # 9 inner lam by 3 alpha, ERM, IWERM; both other named points lie on the grid.
    assert len(objective.evaluated) == 9 * 3 + 2


def test_a_grid_of_given_values():
    points = GridSearch(lam=[0.25, 0], alpha=np.array([2.0]))(Bowl()).points.tolist()
    assert points == [[0, 1], [1, 1], [0.8, 3], [0.5, 1], [0.25, 2]]
    single = GridSearch(lam=1, alpha=1).points(Bounds(lam=(0.1, 0.2), alpha=(2, 2.5)))
    assert single == [(0.1, 2.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": 0}, "lam=0, but expected a whole number >= 1"),
        ({"alpha": -2}, "alpha=-2, but expected a whole number"),
        ({"lam": []}, r"lam=\[\], but expected a number of values"),
        ({"alpha": "many"}, "alpha='many', but expected a number of values"),
        ({"alpha": 2.5}, "alpha=2.5, but expected a number of values"),
        ({"lam": True}, "lam=True, but expected"),
        ({"lam": [0.1, 1.1]}, r"lam=\[0.1, 1.1\], but .* or values within \(0.0, 1.0\)"),
        ({"alpha": [np.nan]}, "or values within"),
    ],
)
def test_a_grid_that_makes_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        GridSearch(**arguments)(Bowl())
