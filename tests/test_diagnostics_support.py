"""The share of the target outside the source."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weighbridge.diagnostics import Support, outside_support
from weighbridge.ratios._support import _distances


def normal(seed, n, d, shift=0.0):
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


@pytest.mark.parametrize("d", [1, 5, 20, 100])
def test_without_shift_next_to_nothing_is_outside(d):
    found = [outside_support(normal(s, 1000, d), normal(s + 99, 1000, d)) for s in range(10)]
    assert np.mean([one.share for one in found]) < 0.01
    # the 99 % quantile leaves 1 % of 10,000 target rows, in ten samples whose thresholds vary
    assert 0.005 < np.mean([one.target_share for one in found]) < 0.02


@pytest.mark.parametrize("draw", ["standard_cauchy", "standard_exponential"])
def test_heavy_tails_alone_are_not_outside(draw):
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        found.append(outside_support(*(getattr(rng, draw)((1000, 10)) for _ in range(2))).share)
    assert np.mean(found) < 0.02


def test_ten_standard_deviations_apart_is_all_outside():
    assert outside_support(normal(0, 1000, 5), normal(1, 500, 5, 10.0)).share == 1


@pytest.mark.parametrize("d", [20, 200])
def test_one_column_ten_standard_deviations_apart_is_all_outside(d):
    shift = np.r_[10.0, np.zeros(d - 1)]
    assert outside_support(normal(0, 1000, d), normal(1, 500, d, shift)).share == 1


def test_a_mean_shift_of_one_leaves_a_few_percent_outside():
    found = [outside_support(normal(s, 1000, 1), normal(s + 99, 1000, 1, 1.0)) for s in range(10)]
    assert 0.01 < np.mean([one.share for one in found]) < 0.08


def test_identical_samples_are_inside():
    X = normal(0, 500, 4)
    found = outside_support(X, X.copy())
    assert found.share == found.target_share == 0


def test_copies_of_source_rows_change_nothing():
    X, X_target = normal(0, 300, 3), normal(1, 300, 3)
    once, thrice = (outside_support(part, X_target) for part in (X, np.repeat(X, 3, axis=0)))
    assert thrice.threshold == pytest.approx(once.threshold)
    assert thrice.target_share == once.target_share


def test_tables_of_few_values():
    rng = np.random.default_rng(2)
    assert outside_support(*rng.integers(0, 3, (2, 1000, 3))).share == 0
    assert outside_support(*rng.integers(0, 3, (2, 1000, 12))).share < 0.01
    whole = rng.integers(0, 3, (200, 3))
    assert outside_support(whole, whole + 10).share == 1
    constant = np.ones((20, 2))
    assert outside_support(constant, constant).share == 0
    assert outside_support(constant, np.r_[constant, 2 * constant]).share == 0.5


def frame(rng, n, levels, gaps=0.0):
    return pd.DataFrame(
        {
            "site": rng.choice(levels, n),
            "bmi": np.where(rng.random(n) < gaps, np.nan, rng.normal(size=n)),
            "name": [f"name {rng.integers(10**12)}" for _ in range(n)],
        }
    )


def test_a_level_never_seen_is_outside_and_names_tell_nothing():
    rng = np.random.default_rng(3)
    X = frame(rng, 400, ["a", "b"])
    assert outside_support(X, frame(rng, 400, ["a", "b"])).share < 0.02
    X_target = frame(rng, 400, ["a", "b", "c"])
    found = outside_support(X, X_target)
    assert found.unseen_levels == ("site=c",)
    assert found.unseen_share == (X_target["site"] == "c").mean()
    assert found.share == pytest.approx(found.unseen_share, abs=0.02)


def test_levels_that_many_source_rows_have_alone_are_not_evidence():
    rng = np.random.default_rng(4)
    levels = [f"s{i}" for i in range(400)]
    found = outside_support(frame(rng, 500, levels), frame(rng, 500, levels))
    assert found.target_share > 0.15
    # two shares of 500 rows
    assert found.share < 0.1
    assert found.unseen_levels == ("site=other",)  # none of them has ten rows


def test_missing_values_never_seen_are_outside():
    rng = np.random.default_rng(5)
    X, X_target = frame(rng, 300, ["a"]), frame(rng, 300, ["a"], gaps=0.3)
    X_target.loc[0, "site"] = None
    found = outside_support(X, X_target)
    assert found.unseen_levels == ("bmi missing", "site missing")
    assert found.share == pytest.approx(0.3, abs=0.1)
    assert outside_support(frame(rng, 300, ["a"], 0.1), X_target[1:]).unseen_levels == ()


def test_a_rare_level_of_a_large_source_is_seen_though_not_drawn():
    rng = np.random.default_rng(6)
    X = frame(rng, 2000, ["a"])
    X.loc[:4, "site"] = "b"
    found = outside_support(X, frame(rng, 100, ["a", "b"]), max_rows=50)
    assert found.unseen_levels == ()
    assert found.unseen_share == 0


def test_distances_against_brute_force():
    X, X_target = normal(0, 60, 3), normal(1, 40, 3)
    distance, own, group = _distances(X, X_target)
    every = np.linalg.norm(X_target[:, None] - X[None], axis=2)
    among = np.linalg.norm(X[:, None] - X[None], axis=2) + np.diag(np.full(60, np.inf))
    np.testing.assert_allclose(distance, every.min(axis=1))
    np.testing.assert_allclose(own[group], among.min(axis=1))


def test_sparse_tables():
    X = sp.random(600, 50, 0.2, "csr", random_state=7)
    assert outside_support(X[:300], X[300:]).share < 0.05
    assert outside_support(X[:300], 50 * X[300:]).share > 0.9


def test_text_and_dict():
    assert str(Support(0.004, 0, 0, 1, (), 0)) == "0.4 % of the target rows lie outside the source"
    many = Support(1.0, 1, 0, 1, tuple("abcde"), 1)
    assert "100 %" in str(many)
    assert str(many).endswith("(never seen there: a, b, c, 2 more)")
    assert many.to_dict()["unseen_levels"] == list("abcde")


def test_too_few_rows_to_draw_are_refused():
    with pytest.raises(ValueError, match="Got max_rows=3"):
        outside_support(normal(0, 20, 2), normal(1, 20, 2), max_rows=3)
