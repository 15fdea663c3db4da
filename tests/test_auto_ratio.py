"""AutoRatio: which candidate it chooses, what it says, and what it refuses."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from shift import mean_error, mean_shift, weight_error
from weighbridge import ImportanceWeighted, fit_ratio
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import AutoRatio, KnownRatio
from weighbridge.ratios._auto import _Result


def steps(n, d=4, seed=0):
    """The ratio is 1.8 or 0.2 by an exclusive or of two columns: products cannot follow it."""
    rng = np.random.default_rng(seed)

    def ratio(X):
        return np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3), 1.8, 0.2)

    X, pool = rng.random((n, d)), rng.random((5 * n, d))
    return X, pool[rng.random(5 * n) * 1.8 < ratio(pool)][:n], lambda X: np.log(ratio(X))


def two_bumps(n, seed=0):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 1)) * 1.5, rng.normal(size=(n, 1)) * 0.4
    X_target += rng.choice([-1.2, 1.2], size=(n, 1))

    def log_ratio(X):
        bumps = [-0.5 * ((X[:, 0] - c) / 0.4) ** 2 for c in (-1.2, 1.2)]
        return np.logaddexp(*bumps) + 0.5 * (X[:, 0] / 1.5) ** 2

    return X, X_target, log_ratio


@pytest.mark.more
@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (mean_shift(1000), {"linear"}),
        (steps(1500), {"boosting"}),
        (two_bumps(1500), {"ulsif", "boosting"}),
    ],
    ids=["mean shift", "steps", "two bumps"],
)
def test_the_candidate_that_can_follow_the_ratio_is_chosen(problem, expected):
    X, X_target, true = problem
    ratio = fit_ratio(X, X_target)
    assert ratio.chosen_ in expected
    assert weight_error(ratio.score_samples(X), true(X)) < 0.15


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_sharper_is_not_better_on_nearly_separable_samples():
    # boosting knows the samples apart; its weights rest on a handful of rows
    X, X_target, true = mean_shift(2000, d=5, norm=3.0)
    ratio = fit_ratio(X, X_target)
    assert ratio.chosen_ in {"linear", "quadratic"}
    losses = {}
    for name, used in [("auto", FrozenEstimator(ratio)), ("true", KnownRatio(true))]:
        fitted = ImportanceWeighted(LinearRegression(), used).fit(X, X[:, 0] ** 2)
        losses[name] = np.mean((fitted.predict(X_target) - X_target[:, 0] ** 2) ** 2)
    assert losses["auto"] < 1.3 * losses["true"]


@pytest.mark.parametrize(("n", "d"), [(100, 3), pytest.param(500, 1, marks=pytest.mark.more)])
def test_no_shift_is_said_when_there_is_none(n, d):
    # in one column folds that were not dealt independently would share their chance deviations
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ratio = fit_ratio(rng.normal(size=(n, d)), rng.normal(size=(n, d)))
        found.append(ratio.shift_found_)
        if not ratio.shift_found_:
            assert ratio.chosen_ == "constant"
            np.testing.assert_array_equal(ratio.score_samples(rng.normal(size=(5, d))), 0.0)
    assert sum(found) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 5])
def test_no_shift_in_at_least_ninety_of_a_hundred_seeds(d):
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        found += fit_ratio(rng.normal(size=(500, d)), rng.normal(size=(500, d))).shift_found_
    assert found <= 10


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(500, 0.06), (2000, 0.03), (10_000, 0.015), (50_000, 0.01)])
def test_error_of_the_weights_of_a_mean_shift(n, bar):
    assert mean_error(AutoRatio(), n) <= bar


def test_the_table_says_it_all():
    X, X_target, _ = mean_shift(400)
    table = pd.DataFrame(fit_ratio(X, X_target).table_).set_index("name")
    assert list(table.index) == ["constant", "linear", "quadratic", "ulsif", "boosting"]
    assert table["difference"].min() == table["difference"][table["score"].idxmin()] == 0
    assert table["auc"]["constant"] == 0.5
    assert table["effective_sample_size"]["constant"] == pytest.approx(400)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.more)])
def test_jobs_and_the_order_of_rows_change_no_bit(n_jobs):
    X, X_target, _ = steps(400)
    ratio, other = fit_ratio(X, X_target), fit_ratio(X[::-1], X_target, AutoRatio(n_jobs=n_jobs))
    for row, other_row in zip(ratio.table_, other.table_, strict=True):
        assert {**row, "seconds": 0} == {**other_row, "seconds": 0}
    np.testing.assert_array_equal(other.score_samples(X), ratio.score_samples(X))


def test_the_score_prefers_the_true_ratio():
    # the score is a proper one: the truth beats sharper, flatter and shifted versions of itself
    X, X_target, true = mean_shift(20_000, d=1)
    codes = np.repeat([0, 1], 20_000)
    log_ratio = true(np.vstack([X, X_target])) - 0.5
    scores = {}
    for name, values in [
        ("true", log_ratio), ("sharper", 1.4 * log_ratio), ("flatter", 0.6 * log_ratio),
        ("upside down", -log_ratio), ("flat", 0 * log_ratio),
    ]:  # fmt: skip
        fitted = SimpleNamespace(held_out=values)
        scores[name] = _Result(None, fitted, codes).score
    assert min(scores, key=scores.get) == "true"
    assert max(scores, key=scores.get) == "upside down"


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
@pytest.mark.filterwarnings("ignore:WB107")
def test_wide_tables_leave_some_candidates_out():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(80, 1200)), rng.normal(size=(70, 1200)) + 0.15
    ratio = fit_ratio(X, X_target)
    assert [row["name"] for row in ratio.table_] == ["constant", "linear", "ulsif"]
    assert ratio.shift_found_


def test_a_fitted_ratio_can_be_pickled():
    X, X_target, _ = steps(800)
    ratio = fit_ratio(X, X_target)
    copy = pickle.loads(pickle.dumps(ratio))
    np.testing.assert_array_equal(copy.score_samples(X), ratio.score_samples(X))


def test_it_is_the_default_of_the_wrapper_and_settable_from_there():
    X, X_target, _ = mean_shift(200, d=2)
    model = ImportanceWeighted(LinearRegression()).set_params(ratio__cv=3)
    assert isinstance(model.ratio, AutoRatio)
    model.fit(X, X[:, 0], X_target=X_target)
    assert model.ratio_.rows_used_["target"] == (len(X_target), len(X_target))


def test_categories_that_only_the_target_has():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "city": rng.choice(["oslo", "lima"], 300)})
    X_target = pd.DataFrame({"x": rng.normal(size=300), "city": rng.choice(["oslo", "rome"], 300)})
    with pytest.warns(OverlapWarning, match="WB302 [45]"):  # half of the target is in rome
        ratio = fit_ratio(X, X_target)
    log_ratio = ratio.score_samples(X)
    assert log_ratio[X["city"] == "oslo"].mean() > log_ratio[X["city"] == "lima"].mean() + 1


@pytest.mark.more
def test_large_samples_are_compared_by_some_rows_and_fitted_to_all():
    """The choice sees 20,000 rows of each sample, the ratio that is kept all of them."""
    X, X_target, true = mean_shift(24_000, d=2, norm=1.0)
    ratio = fit_ratio(X, X_target)
    assert ratio.chosen_ == "linear"
    assert ratio.rows_used_ == {"source": (24_000, 24_000), "target": (24_000, 24_000)}
    assert weight_error(ratio.score_samples(X), true(X)) < 0.001
    by_all = (
        LogisticRegression(C=1e4)
        .fit(np.vstack([X, X_target]), np.repeat([0, 1], 24_000))
        .decision_function(X)
    )
    np.testing.assert_allclose(ratio.score_samples(X), by_all, atol=0.02)


def test_no_shift_between_large_samples_gives_the_ratio_one():
    """More rows than the choice sees, of unequal numbers, and the constant ratio chosen."""
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(21_000, 2)), rng.normal(size=(20_500, 2))
    ratio = fit_ratio(X, X_target)
    assert ratio.chosen_ == "constant"
    for scores in (ratio.score_samples(X), ratio.held_out_scores(X_target)):
        np.testing.assert_array_equal(scores, 0.0)
