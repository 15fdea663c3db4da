"""The identities of a density ratio, against Gaussian closed forms."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.diagnostics import calibration

MEANS = ["mean_source", "mean_target", "d2_source", "d2_target"]


def gaussian(n, seed=0, mean=1.0):
    """Log ratios of N(mean, 1) to N(0, 1) at rows of both."""
    rng = np.random.default_rng(seed)
    return [mean * x - mean**2 / 2 for x in (rng.normal(size=n), rng.normal(mean, size=n))]


def test_the_second_moment_of_a_shifted_normal_is_e_both_ways():
    # E_s[r**2] = exp(mean**2)
    found = calibration(*gaussian(100_000))
    assert found.d2_source.value == pytest.approx(math.e, rel=0.05)
    assert found.d2_target.value == pytest.approx(math.e, rel=0.05)


def test_the_true_ratio_keeps_both_identities():
    found = calibration(*gaussian(100_000, mean=0.5))
    for name, truth in zip(MEANS, (1, 1, math.exp(0.25), math.exp(0.25)), strict=True):
        mean = getattr(found, name)
        assert abs(mean.value - truth) < 4 * mean.standard_error, name
    assert not found.self_normalised


def test_intervals_hold_the_truth_as_often_as_they_say():
    # 400 draws at 95 %: within four standard errors of a share, and the skewness of the means
    truths = dict(zip(MEANS, (1, 1, math.exp(0.09), math.exp(0.09)), strict=True))
    hits = dict.fromkeys(MEANS, 0)
    for seed in range(400):
        found = calibration(*gaussian(1000, seed, mean=0.3))
        for name, truth in truths.items():
            hits[name] += getattr(found, name).low <= truth <= getattr(found, name).high
    for name, count in hits.items():
        assert abs(count / 400 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400) + 0.01, name


@given(
    st.lists(st.floats(-20, 20), min_size=2, max_size=30),
    st.lists(st.floats(-20, 20), min_size=2, max_size=30),
)
def test_means_and_standard_errors_are_the_plain_ones(source, target):
    found = calibration(source, target)
    source, target = np.array(source), np.array(target)
    for name, log_values in zip(MEANS, (source, -target, 2 * source, target), strict=True):
        values, mean = np.exp(log_values), getattr(found, name)
        assert mean.value == pytest.approx(values.mean(), rel=1e-12)
        error = values.std(ddof=1) / math.sqrt(values.size)
        # of numbers that are all but equal the deviation is rounding
        assert mean.standard_error == pytest.approx(error, rel=1e-9, abs=1e-12 * mean.value)
        assert 0 <= mean.low <= mean.value <= mean.high


def test_the_intervals_have_the_confidence_asked_for():
    source, target = gaussian(500)
    narrow, wide = (calibration(source, target, confidence=c).mean_target for c in (0.5, 0.95))
    widths = [(each.high - each.value) / each.standard_error for each in (narrow, wide)]
    assert widths == pytest.approx([0.6744898, 1.9599640])  # quantiles of the normal distribution
    with pytest.raises(ValueError, match=r"Got confidence=95\.0"):
        calibration(source, target, confidence=95)


def test_a_ratio_off_by_a_constant_is_seen():
    source, target = gaussian(5000)
    found = calibration(source + math.log(3), target + math.log(3))
    assert found.mean_source.low > 1
    assert found.mean_target.high < 1


def test_a_self_normalised_ratio_voids_its_mean():
    source, target = gaussian(2000)
    scale = math.log(np.exp(source).mean())
    found = calibration(source - scale, target - scale)
    assert found.self_normalised
    assert "by construction" in str(found)
    assert "says nothing" in str(found)
    # and the second moment is n over the effective sample size
    ratio = np.exp(source)
    assert found.d2_source.value == pytest.approx(2000 * (ratio**2).sum() / ratio.sum() ** 2)


def test_numbers_beyond_doubles_are_infinite_without_a_warning():
    found = calibration([400.0, 0.0, 1.0], [1.0, 2.0])
    assert found.d2_source.value == math.inf
    assert found.mean_source.value == pytest.approx(math.exp(400) / 3)
    assert "inf" in str(found)
    fields = found.to_dict()
    assert fields["d2_source"]["value"] is None
    json.dumps(fields, allow_nan=False)


def test_a_ratio_of_zero():
    found = calibration([-math.inf, math.log(2)], [0.0, -math.inf])
    assert found.mean_source.value == pytest.approx(1)
    assert found.d2_source.value == pytest.approx(2)
    assert found.mean_target.value == math.inf
    assert found.d2_target.value == pytest.approx(0.5)


def test_a_ratio_that_is_zero_on_all_source_rows():
    found = calibration([-math.inf, -math.inf], [0.0, 1.0])
    assert found.mean_source.value == found.mean_source.standard_error == 0


def test_the_text_fits_a_terminal():
    found = calibration(*(values - 3.21 for values in gaussian(500)))
    assert max(map(len, str(found).splitlines())) <= 80


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([1.0], [1.0, 2.0], r"log_ratio of shape \(1,\).*two or more source rows"),
        ([1.0, 2.0], [[1.0, 2.0]], r"log_ratio_target of shape \(1, 2\).*target rows"),
        ([1.0, np.nan], [1.0, 2.0], r"log_ratio with NaN or \+inf in 1 of 2 rows"),
        ([1.0, 2.0], [1.0, np.inf], "log_ratio_target with NaN"),
    ],
)
def test_what_are_no_log_ratios_is_refused(source, target, message):
    with pytest.raises(ValueError, match=message):
        calibration(source, target)
