"""The laws of the weight family, each stated in a sentence above its assertion."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit, logit

from weighbridge.geodesic import (
    log_weight,
    log_weight_bounds,
    log_weight_d_alpha,
    log_weight_d_lam,
    log_weight_d_log_ratio,
)

EPS = 2.0**-52
log_ratios = st.floats(-1e4, 1e4)
lams = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-16, 0.5, 1 - 2.0**-53, 1.0]))
inner_lams = st.floats(1e-6, 1 - 1e-6)
alphas = st.one_of(st.floats(-50, 50), st.sampled_from([-1.0, 0.0, 1.0, 1 + 1e-15, 3.0, 1e6]))
mild_alphas = st.floats(-6, 6)


def slack(*values):
    """Rounding of a few operations on numbers of this size."""
    return 16 * EPS * (sum(abs(float(value)) for value in values) + 1e-300)


@given(log_ratios, alphas)
def test_lam_zero_is_erm_and_lam_one_is_the_ratio(s, alpha):
    # w^(0, alpha) = 1 and w^(1, alpha) = r, exactly
    assert log_weight(s, 0.0, alpha) == 0
    assert log_weight(s, 1.0, alpha) == s


@given(log_ratios, lams)
def test_named_curves(s, lam):
    # alpha = 1 is r^lam (AIWERM); alpha = 3 is r / (lam + (1 - lam) r) (RIWERM, Yamada's relative
    # ratio with his alpha = 1 - lam); alpha = -1 is the mixture 1 - lam + lam r
    assert log_weight(s, lam, 1.0) == lam * s
    if abs(s) < 600:
        r = np.exp(s)
        assert log_weight(s, lam, 3.0) == pytest.approx(
            np.log(r / (lam + (1 - lam) * r)), rel=1e-9, abs=1e-12
        )
        assert log_weight(s, lam, -1.0) == pytest.approx(
            np.log((1 - lam) + lam * r), rel=1e-9, abs=1e-12
        )


@given(log_ratios, lams, alphas)
def test_between_one_and_the_ratio(s, lam, alpha):
    # min(1, r) <= w <= max(1, r)
    value = log_weight(s, lam, alpha)
    assert min(0.0, s) - slack(s) <= value <= max(0.0, s) + slack(s)


@given(log_ratios, lams, lams, alphas)
def test_monotone_in_lam_with_the_sign_of_s(s, first, second, alpha):
    low, high = sorted((first, second))
    change = log_weight(s, high, alpha) - log_weight(s, low, alpha)
    assert change * np.sign(s) >= -slack(s)


@given(log_ratios, lams, alphas, alphas)
def test_never_increases_with_alpha(s, lam, first, second):
    low, high = sorted((first, second))
    assert log_weight(s, lam, high) <= log_weight(s, lam, low) + slack(s)


@given(log_ratios, log_ratios, lams, alphas)
def test_monotone_and_lipschitz_in_the_log_ratio(first, second, lam, alpha):
    # 0 <= d log w / d log r <= 1: an error in the ratio is never amplified
    low, high = sorted((first, second))
    change = log_weight(high, lam, alpha) - log_weight(low, lam, alpha)
    assert -slack(low, high) <= change <= high - low + slack(low, high)


@given(st.floats(-1e3, 1e3), lams, st.floats(-1e-9, 1e-9))
def test_continuous_at_alpha_one(s, lam, step):
    # |d log w / d alpha| <= lam (1 - lam) s^2 / 4 * (1 + o(1)) next to alpha = 1
    change = log_weight(s, lam, 1 + step) - log_weight(s, lam, 1.0)
    assert abs(change) <= 1.01 * abs((1 + step) - 1.0) * lam * (1 - lam) * s**2 / 4 + slack(s)


@given(log_ratios, lams, alphas)
def test_swap_of_source_and_target(s, lam, alpha):
    # w^(lam)(r) = r w^(1 - lam)(1/r); 1 - (1 - lam) = lam must hold in floating point as well
    assume(1 - (1 - lam) == lam)
    assert log_weight(s, lam, alpha) == pytest.approx(
        s + log_weight(-s, 1 - lam, alpha), rel=0, abs=slack(s)
    )


@given(log_ratios, lams, st.floats(-50, 50))
def test_reflection_of_alpha(s, lam, alpha):
    # w^(lam, 2 - alpha)(r) = 1 / w^(lam, alpha)(1/r)
    assume(2 - (2 - alpha) == alpha)
    assert log_weight(s, lam, 2 - alpha) == pytest.approx(
        -log_weight(-s, lam, alpha), rel=0, abs=slack(s)
    )


@given(st.floats(-500, 500), lams, lams, mild_alphas)
def test_semigroup(s, lam, mu, alpha):
    # w^(mu)(w^(lam)(r)) = w^(mu lam)(r) at equal alpha
    twice = log_weight(log_weight(s, lam, alpha), mu, alpha)
    assert twice == pytest.approx(log_weight(s, mu * lam, alpha), rel=1e-12, abs=slack(s))


@given(st.floats(-300, 300), st.floats(-5, 5), inner_lams, mild_alphas)
def test_a_constant_in_the_ratio_moves_lam(s, log_c, lam, alpha):
    # w^(lam)(c r) = const * w^(lam')(r), logit lam' = logit lam + k log c
    k = (1 - alpha) / 2
    moved = expit(logit(lam) + k * log_c)
    assume(1e-9 < moved < 1 - 1e-9)
    # lam' is a double: where 1 - lam' is 1e-9, it is known to 1e-7 of itself only
    constant = log_weight(log_c, lam, alpha)  # its value at r = 1, where w^(lam')(1) = 1
    assert log_weight(s + log_c, lam, alpha) == pytest.approx(
        constant + log_weight(s, moved, alpha), rel=1e-6, abs=1e-6
    )


@given(st.floats(-700, 700), inner_lams)
def test_limits_of_large_alpha(s, lam):
    # alpha -> +inf: min(1, r); alpha -> -inf: max(1, r); what is left is at most log(lam) / k
    rest = -np.log(min(lam, 1 - lam)) / 499_999_999.5 + slack(s)
    assert log_weight(s, lam, 1e9) == pytest.approx(min(0.0, s), abs=rest)
    assert log_weight(s, lam, -1e9) == pytest.approx(max(0.0, s), abs=rest)


@given(log_ratios, lams, alphas)
def test_bounds_hold_for_every_ratio(s, lam, alpha):
    low, high = log_weight_bounds(lam, alpha)
    value = log_weight(s, lam, alpha)
    assert low - slack(low if np.isfinite(low) else 0) <= value
    assert value <= high + slack(high if np.isfinite(high) else 0)


@given(log_ratios, lams, alphas)
def test_signs_of_the_derivatives(s, lam, alpha):
    assert 0 <= log_weight_d_log_ratio(s, lam, alpha) <= 1
    assert log_weight_d_lam(s, lam, alpha) * np.sign(s) >= 0
    assert log_weight_d_alpha(s, lam, alpha) <= 0


@given(st.floats(-30, 30), st.floats(0.01, 0.99), mild_alphas)
def test_derivatives_are_those_of_the_weight(s, lam, alpha):
    # central differences, an independent route to the same three numbers
    h = 1e-5
    for step, function in (
        (np.array([h, 0, 0]), log_weight_d_log_ratio),
        (np.array([0, h, 0]), log_weight_d_lam),
        (np.array([0, 0, h]), log_weight_d_alpha),
    ):
        above, below = (log_weight(*(np.array([s, lam, alpha]) + sign * step)) for sign in (1, -1))
        size = 1 + abs(s) + s**2
        assert function(s, lam, alpha) == pytest.approx(
            (above - below) / (2 * h), rel=1e-4, abs=1e-6 * size
        )
