"""Reliability of the domain classifier: predicted against observed shares."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.isotonic import isotonic_regression

from pictures import faults
from weighbridge.domain import CrossFittedDomain, DomainRows
from weighbridge.plotting import ReliabilityCurve, ReliabilityDisplay, compute_reliability


def _calibrated(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(size=n)
    return chance, rng.uniform(size=n) < chance


@given(st.integers(2, 200), st.integers(2, 200), st.integers(0, 1000))
def test_laws_of_the_curve(n_source, n_target, seed):
    # shares rise with the chance and stay in their intervals
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.5, 0.5, size=n_source + n_target)
    is_target = np.arange(n_source + n_target) < n_target
    curve = compute_reliability(chance, is_target)
    assert (np.diff(curve.observed) > 0).all()
    assert (np.diff(curve.predicted) > 0).all()
    assert (curve.low <= curve.observed).all()
    assert (curve.observed <= curve.high).all()
    assert (curve.low >= 0).all()
    assert (curve.high <= 1).all()
    assert curve.largest_gap == np.abs(curve.observed - curve.predicted).max()


def test_steps_are_those_of_isotonic_regression():
    # of the shares in bins, with the weight of each bin
    chance, is_target = _calibrated(500)
    curve = compute_reliability(chance, is_target)
    weight = np.where(is_target, 1 / is_target.sum(), 1 / (~is_target).sum())
    edges = np.quantile(chance, np.arange(1, 20) / 20)
    place = np.searchsorted(edges, chance)
    total = np.bincount(place, weight)
    share = np.bincount(place, weight * is_target) / total
    fitted = isotonic_regression(share, sample_weight=total)
    np.testing.assert_allclose(curve.observed, np.unique(fitted.round(12)), atol=1e-9)


def test_intervals_are_wilsons():
    # one bin of equal samples: the interval of a share of 24 rows
    is_target = np.arange(24) < 12
    curve = compute_reliability(np.full(24, 0.4), is_target, confidence=0.9)
    exact = binomtest(12, 24).proportion_ci(0.9, method="wilson")
    np.testing.assert_allclose([curve.low[0], curve.high[0]], [exact.low, exact.high])
    assert curve.predicted[0] == pytest.approx(0.4)
    # twice as many source rows do not move the share
    more = compute_reliability(np.full(24, 0.4), np.arange(24) < 8)
    assert more.observed[0] == pytest.approx(0.5)
    exact = binomtest(8, 24).proportion_ci(0.95, method="wilson")
    odds = 2 * exact.low / (1 - exact.low)
    assert more.low[0] == pytest.approx(odds / (1 + odds))


def test_true_chances_lie_in_most_intervals():
    # 95 % of the steps of 200 calibrated samples; joined bins were chosen by the data, and steps
    # of one sample depend on each other: at least 90 %
    inside = []
    for seed in range(200):
        curve = compute_reliability(*_calibrated(1000, seed))
        inside += [(curve.low <= curve.predicted) & (curve.predicted <= curve.high)]
    assert np.concatenate(inside).mean() > 0.9


def test_chances_that_say_too_much_leave_the_diagonal():
    chance, is_target = _calibrated()
    assert compute_reliability(chance, is_target).largest_gap < 0.1
    odds = (chance / (1 - chance)) ** 3
    bold = compute_reliability(odds / (1 + odds), is_target)
    # at the ends the shares are nearer to one half than the chances
    assert bold.observed[0] > bold.predicted[0]
    assert bold.observed[-1] < bold.predicted[-1]
    assert bold.largest_gap > 0.1


def test_a_classifier_knows_its_rows():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(600, 2)), rng.normal([1, 0], size=(300, 2))
    domain = CrossFittedDomain(DomainRows(X, X_target))
    chance = 1 / (1 + np.exp(-domain.log_odds))
    one, two = compute_reliability(domain), compute_reliability(chance, domain.rows.codes)
    np.testing.assert_array_equal(one.observed, two.observed)
    display = ReliabilityDisplay.from_samples(X, X_target)
    np.testing.assert_array_equal(display.table()["predicted"], one.predicted)


def test_picture():
    display = ReliabilityDisplay(compute_reliability(*_calibrated()))
    assert display.plot() is display
    np.testing.assert_array_equal(display.line_.get_xdata(), display.reliability.predicted)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.reliability.observed)
    assert not faults(display)
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax
    plt.close(ax.figure)


def test_errors():
    with pytest.raises(TypeError, match="Got chances without is_target"):
        compute_reliability([0.5, 0.5])
    with pytest.raises(ValueError, match=r"Got chance of shape \(2,\) and is_target of shape"):
        compute_reliability([0.5, 0.5], [0, 1, 1])
    with pytest.raises(ValueError, match=r"Got chances outside \[0, 1\] or NaN"):
        compute_reliability([0.5, 1.5], [0, 1])
    with pytest.raises(ValueError, match="Got is_target with values other than 0 and 1"):
        compute_reliability([0.5, 0.5], [1, 1])
    with pytest.raises(TypeError, match="Got reliability of type list, but expected"):
        ReliabilityDisplay([])
    assert ReliabilityCurve.__doc__
