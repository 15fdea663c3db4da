"""The share of the target outside the source."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import norm

from weighbridge.domain import covered_rows, outside_support


def normal(seed, n, d, shift=0.0):
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


def log(seed, d=6, hours=6.0):
    """Two weeks of sensors, a row a minute: days, a slow part that remembers `hours`, noise."""
    rng = np.random.default_rng(seed)
    minutes, keep = np.arange(20_160), np.exp(-1 / (60 * hours))
    slow = lfilter([np.sqrt(1 - keep**2)], [1, -keep], rng.normal(size=(minutes.size, d)), axis=0)
    days = np.sin(minutes[:, None] / 1440 * 2 * np.pi + rng.uniform(0, 6, d))
    return days * rng.uniform(0, 1, d) + slow + 0.1 * rng.normal(size=slow.shape)


DRAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "integers": lambda rng, size: rng.integers(0, 4, size) + 0.0,
    "cauchy": lambda rng, size: rng.standard_cauchy(size),
    "wide": lambda rng, size: 3 * rng.normal(size=size) + 1,
}
KINDS = st.sampled_from(sorted(DRAWS))


@given(st.integers(0, 10**6), KINDS, KINDS, st.integers(1, 6), st.booleans())
def test_more_source_rows_never_increase_the_share(seed, kind, other, d, are_copies):
    rng = np.random.default_rng(seed)
    X, X_target = DRAWS[kind](rng, (30, d)), DRAWS["normal"](rng, (60, d)) + rng.integers(-3, 4)
    more = X[rng.integers(0, 30, 40)] if are_copies else DRAWS[other](rng, (40, d))
    before, after = (outside_support(source, X_target) for source in (X, np.r_[X, more]))
    assert after.share <= before.share


def test_more_source_rows_of_a_mixed_table_never_increase_the_share():
    rng = np.random.default_rng(0)
    X, more = frame(rng, 60, ["a", "b", "c"], 0.1), frame(rng, 90, ["a", "d", "e"], 0.1)
    X_target = frame(rng, 80, [*"abcdefg"], 0.2)
    sources = (X, pd.concat([X, more]), pd.concat([X] * 3))
    shares = [outside_support(source, X_target).share for source in sources]
    assert shares[1] <= shares[0] == shares[2]


def test_draw_of_target_rows_does_not_depend_on_the_source():
    X, X_target = normal(0, 100, 2), normal(1, 12_000, 2, 1.5)
    drawn = [covered_rows(X[:n], X_target) for n in (20, 60, 100)]
    assert all(np.array_equal(rows, drawn[0][0]) for rows, _ in drawn)
    shares = [is_covered.mean() for _, is_covered in drawn]
    assert drawn[0][0].size == 10_000
    assert shares == sorted(shares)


@pytest.mark.parametrize(("d", "shift"), [(1, 0.0), (1, 3.0), (5, 3.0), (5, 6.0)])
def test_half_of_the_rows_has_a_similar_share(d, shift):
    X, X_target = normal(0, 2000, d), normal(1, 1000, d, np.r_[shift, np.zeros(d - 1)])
    whole = outside_support(X, X_target).share
    # The largest of 2000 rows exceeds that of half of them by a fifth of a standard deviation.
    assert outside_support(X[::2], X_target).share == pytest.approx(whole, abs=0.1)
    assert outside_support(X, X_target[::2]).share == pytest.approx(whole, abs=0.05)


def test_units_and_order_of_columns_and_rows_do_not_matter():
    rng = np.random.default_rng(3)
    X, X_target = rng.normal(size=(200, 4)), 2 * rng.normal(size=(300, 4)) + 1
    X[:, 3], X_target[:, 3] = rng.standard_cauchy(200), rng.standard_cauchy(300)
    share = outside_support(X, X_target).share
    assert 0.05 < share < 0.95
    units, origin = np.array([1e-200, 1e150, -3.0, 0.01]), np.array([0.0, 0.0, 7.0, -2.0])
    assert outside_support(X * units + origin, X_target * units + origin).share == share
    columns = [2, 0, 3, 1]
    assert outside_support(X[::-1, columns], X_target[::-1, columns]).share == share


NORMAL_CASES = [(20, 1, 0.05), (20, 3, 0.1), (20, 10, 0.05), (20, 50, 0.05), (100, 1, 0.01)]
NORMAL_CASES += [(100, 5, 0.01), (100, 50, 0.01)] + [(1000, d, 0.002) for d in (1, 10, 50)]


@pytest.mark.parametrize(
    ("kind", "n", "m", "d", "most", "runs"),
    [("normal", n, 500, d, most, 6) for n, d, most in NORMAL_CASES]
    + [(kind, 1000, 1000, 10, 0.02, 3) for kind in ("cauchy", "exponential", "integers")],
)
def test_samples_of_one_distribution_are_inside(kind, n, m, d, most, runs):
    rngs = map(np.random.default_rng, range(runs))
    samples = [(DRAWS[kind](rng, (n, d)), DRAWS[kind](rng, (m, d))) for rng in rngs]
    assert np.mean([outside_support(*pair).share for pair in samples]) < most


@pytest.mark.parametrize(("d", "hours"), [(1, 5), (6, 5), (20, 5), (6, 20)])
def test_second_week_of_a_log_is_inside(d, hours):
    rows = log(0, d, hours)
    first, second = rows[:10_080], rows[10_080::20]
    assert outside_support(first, second).share < 0.03
    # With fewer rows there is less to be near to, but the minute is not what counts.
    assert outside_support(first[::60], second).share < 0.05


@pytest.mark.parametrize(
    ("d", "factor", "low", "high"),
    [
        *((d, factor, 0, 0) for d, factor in ((1, 0.01), (10, 0.01), (50, 0.3))),
        *((d, 50, 0.8, 1) for d in (3, 10, 50)),
    ],
)
def test_narrow_targets_are_inside_and_wide_ones_outside(d, factor, low, high):
    assert low <= outside_support(normal(0, 300, d), factor * normal(1, 300, d)).share <= high


def test_an_unusual_combination_of_usual_values_is_outside():
    X, X_target = normal(0, 500, 1), normal(1, 500, 1)
    support = outside_support(np.hstack([X, X]), np.hstack([X_target, -X_target]))
    # The nearest row is at 0, |x| away in either column.
    assert support.share > 0.8 * (np.abs(X_target[:, 0]) > 2**0.5).mean()


@pytest.mark.parametrize("d", [20, 200])
def test_one_column_ten_standard_deviations_apart_is_outside(d):
    shift = np.r_[10.0, np.zeros(d - 1)]
    # One row of 500 is three standard deviations nearer.
    assert outside_support(normal(0, 1000, d), normal(1, 500, d, shift)).share >= 0.998


def test_share_outside_of_a_shifted_normal():
    one, four = (outside_support(normal(0, 1000, 1), normal(1, 1000, 1, s)) for s in (1.0, 4.0))
    assert one.share < 0.01
    # A row is outside if it exceeds the largest of 1000 rows, 3.24, by half a spread.
    assert four.share == pytest.approx(norm.sf(3.24 + 0.5 - 4), abs=0.1)


def test_tables_of_few_values():
    rng = np.random.default_rng(2)
    assert outside_support(*rng.integers(0, 3, (2, 1000, 3))).share == 0
    assert outside_support(*rng.integers(0, 3, (2, 1000, 12))).share < 0.01
    integers, constant = rng.integers(0, 3, (200, 3)), np.ones((20, 2))
    assert outside_support(integers, integers + 10).share == 1
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


def test_unseen_level_is_outside_and_names_are_ignored():
    rng = np.random.default_rng(3)
    X = frame(rng, 400, ["a", "b"])
    assert outside_support(X, frame(rng, 400, ["a", "b"])).share < 0.02
    X_target = frame(rng, 400, ["a", "b", "c"])
    found = outside_support(X, X_target)
    assert found.unseen_levels == ("site=c",)
    assert found.unseen_share == (X_target["site"] == "c").mean()
    assert found.share == pytest.approx(found.unseen_share, abs=0.02)


def test_levels_of_single_rows_are_not_evidence():
    rng = np.random.default_rng(4)
    levels = [f"s{i}" for i in range(400)]
    samples = frame(rng, 500, levels), frame(rng, 500, levels)
    found = outside_support(*samples)
    assert 1 - covered_rows(*samples)[1].mean() > 0.15
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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_nearest_source_row_decides_in_sparse_and_dense_tables(kind):
    # Correlated columns: values are usual in each column, and only combinations are far away.
    rng = np.random.default_rng(8)
    X = np.repeat(rng.normal(size=(700, 1)), 2, axis=1)
    X_target = rng.normal(size=(40, 2))
    spread = np.ptp(np.sort(X, axis=0)[[4, -5]], axis=0) / 6
    scale = np.maximum(spread, X_target.std(axis=0))
    gaps = np.abs(X_target[:, None] - X[None]) / scale
    nearest = np.sqrt((gaps**2).sum(axis=2).min(axis=1))
    rows, is_covered = covered_rows(kind(X), kind(X_target))
    np.testing.assert_array_equal(rows, np.arange(40))
    # The limit is sqrt(2 d / (d + 3)) in root mean square; distances are logarithms far away only.
    limit = np.sqrt(2 * 2 / (2 + 3)) * np.sqrt(2)
    assert is_covered[nearest < 0.7 * limit].all()
    assert not is_covered[nearest > 1.4 * limit].any()
