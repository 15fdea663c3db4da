"""Weightings and their normalisation."""

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from weighbridge.geodesic import log_weight
from weighbridge.weighting import AIWERM, ERM, IWERM, RIWERM, Geodesic, log_mean, mean_one

log_ratios = arrays(float, st.integers(1, 20), elements=st.floats(-600, 600))


def test_named_points_are_ways_to_spell_a_geodesic():
    assert ERM().get_params() == {"lam": 0.0, "alpha": 1.0}
    assert IWERM().get_params() == {"lam": 1.0, "alpha": 1.0}
    assert AIWERM(0.3).get_params() == {"lam": 0.3, "alpha": 1.0}
    assert RIWERM(0.3).get_params() == {"lam": 0.3, "alpha": 3.0}


@given(log_ratios, st.floats(0, 1), st.floats(-5, 5))
def test_calling_is_log_weight(log_ratio, lam, alpha):
    np.testing.assert_array_equal(
        Geodesic(lam, alpha)(log_ratio), log_weight(log_ratio, lam, alpha)
    )


@given(log_ratios, st.floats(0, 1), st.floats(-5, 5))
def test_mean_is_one(log_ratio, lam, alpha):
    weights = Geodesic(lam, alpha).weights(log_ratio)
    assert weights.mean() == pytest.approx(1)
    assert (weights >= 0).all()


@given(log_ratios, st.data())
def test_mean_is_one_under_own_weights(log_ratio, data):
    own = data.draw(arrays(float, log_ratio.size, elements=st.integers(0, 5)))
    own[0] += 1
    weights = IWERM().weights(log_ratio, own)
    assert np.average(weights, weights=own) == pytest.approx(1)


def test_integer_own_weights_are_repeated_rows():
    log_ratio, own = np.array([-1.0, 0.0, 2.0]), np.array([3, 1, 2])
    repeated = mean_one(np.repeat(log_ratio, own))
    np.testing.assert_allclose(np.repeat(mean_one(log_ratio, own), own), repeated, rtol=1e-15)


def test_raw_weights_on_request():
    raw = RIWERM(0.8).weights(np.log([1.0, 4.0]), normalize=False)
    np.testing.assert_allclose(raw, [1.0, 2.5])


def test_no_overflow_far_out():
    np.testing.assert_allclose(IWERM().weights([5000.0, 5000.0 + np.log(3)]), [0.5, 1.5])
    assert log_mean(np.array([-5000.0, -np.inf])) == pytest.approx(-5000 - np.log(2))


def test_a_row_that_counts_nothing_has_no_say():
    np.testing.assert_allclose(mean_one([0.0, 0.0, 800.0], [1, 1, 0]), [1, 1, 0])
    np.testing.assert_allclose(mean_one([0.0, np.log(3), np.inf], [1, 1, 0]), [0.5, 1.5, 0])
    assert log_mean([0.0, 1000.0], [1, 0]) == 0


def test_what_is_no_sample():
    for values in ([], 1.0, np.zeros((2, 2))):
        with pytest.raises(ValueError, match="one number for each"):
            mean_one(values)
    with pytest.raises(TypeError, match="not numbers"):
        mean_one([0.0], [1j])


def test_nan_and_infinite_logarithms_are_refused():
    with pytest.raises(ValueError, match="NaN among"):
        mean_one([np.nan, 0.0])
    with pytest.raises(ValueError, match=r"weight of \+inf"):
        mean_one([np.inf, 0.0])


def test_arrays_of_other_libraries_become_numpy_arrays():
    device = strict.Device("device1")
    values = strict.asarray([0, 1, 2], dtype=strict.float32, device=device)
    own = strict.asarray([1, 1, 0], dtype=strict.float32, device=device)
    np.testing.assert_array_equal(mean_one(values, own), mean_one([0.0, 1.0, 2.0], [1, 1, 0]))


def test_all_zero_weights_are_refused():
    with pytest.raises(ValueError, match="0 in every row"):
        IWERM().weights([-np.inf, -np.inf])
    with pytest.raises(ValueError, match="0 in every row"):
        IWERM().weights([-np.inf, 0.0], sample_weight=[1.0, 0.0])


def test_bad_parameters_fail_when_used_not_when_made():
    weighting = clone(Geodesic(lam=2.0))
    with pytest.raises(ValueError, match=r"Got lam=2\.0"):
        weighting([0.0])
