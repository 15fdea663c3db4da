"""Excess and remaining length against closed forms, quadrature and samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.geodesic import path_length
from weighbridge.geodesic._lengths import excess_length, remaining_length

SHORTEST = 2 * math.acos(math.exp(-1 / 8))  # N(0, 1) -> N(1, 1): BC = exp(-1/8)
LENGTHS = {-1.0: 0.994983, 0.0: SHORTEST, 1.0: 1.0, 2.0: 1.05813, 3.0: 1.134454}


def _densities():
    """N(0, 1) as mass on a fine grid, and log r to N(1, 1) there."""
    x = np.linspace(-14, 14, 2801)
    return x - 0.5, np.exp(-(x**2) / 2)


@pytest.mark.parametrize("alpha", LENGTHS)
def test_lengths_between_two_normals_from_densities(alpha):
    # the printed lengths have 5 to 6 digits; the half unit of the last one is the tolerance
    s, weight = _densities()
    tolerance = 5e-6 if alpha == 2 else 1e-6
    length = remaining_length(s, 0.0, alpha, sample_weight=weight)
    assert length == pytest.approx(LENGTHS[alpha], abs=tolerance)
    excess = excess_length(s, alpha, sample_weight=weight)
    assert excess == pytest.approx(LENGTHS[alpha] - SHORTEST, abs=tolerance)


def test_length_at_alpha_one_is_known_for_every_lam():
    # along alpha = 1 the weighted law is N(lam, 1): unit speed
    s, weight = _densities()
    lam = np.array([0.0, 0.25, 0.9, 1.0])
    np.testing.assert_allclose(remaining_length(s, lam, 1.0, weight), 1 - lam, atol=1e-9)


@pytest.mark.more
@settings(max_examples=40)
@given(st.lists(st.floats(-8, 8), min_size=2, max_size=20), st.floats(-4, 6))
def test_no_curve_is_shorter_than_the_great_circle(s, alpha):
    s = np.array(s)
    assert excess_length(s, alpha) >= 0
    # the two lengths agree to ten digits where the curve is the great circle
    assert excess_length(s, 0.0) <= 1e-9


def test_great_circle_by_the_arc_cosine():
    rng = np.random.default_rng(1)
    s, weight = rng.normal(size=30), rng.uniform(size=30)
    p, q = weight / weight.sum(), weight * np.exp(s) / (weight * np.exp(s)).sum()
    shortest = 2 * math.acos(np.sqrt(p * q).sum())
    difference = path_length(s, 3.0, sample_weight=weight) - shortest
    assert excess_length(s, 3.0, weight) == pytest.approx(difference, abs=1e-9)


def test_a_row_of_weight_zero_counts_for_nothing():
    few = excess_length([0.3, -1.0, 0.5], 3.0, [1.0, 2.0, 1.0])
    more = excess_length([0.3, -1.0, 0.5, 60.0], 3.0, [1.0, 2.0, 1.0, 0.0])
    assert more == pytest.approx(few, abs=1e-9)


def test_excess_of_nearly_equal_samples_keeps_its_digits():
    # excess = O(s^3); the arc cosine would leave an error of 1e-8
    assert excess_length(1e-4 * np.array([1.0, -1.0, 0.3]), 3.0) <= 1e-11


def test_remaining_length_broadcasts():
    s = np.random.default_rng(0).normal(size=40)
    lam, alpha = np.array([0.8, 0.0, 0.8, 1.0]), np.array([[3.0], [-1.0], [3.0]])
    got = remaining_length(s, lam, alpha)
    assert got.shape == (3, 4)
    for i, a in enumerate(alpha.ravel()):
        one_by_one = [path_length(s, a, start=x) for x in lam]
        np.testing.assert_allclose(got[i], one_by_one, rtol=1e-9, atol=1e-12)
    assert isinstance(remaining_length(s, 0.5, 1.0), float)
    assert isinstance(excess_length(s, 1.0), float)
    assert excess_length(s, alpha).shape == (3, 1)


def test_lengths_refuse_what_has_none():
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\]"):
        remaining_length([0.0, 1.0], 1.5, 1.0)
    with pytest.raises(ValueError, match="empty lam or alpha"):
        remaining_length([0.0, 1.0], [], 1.0)
