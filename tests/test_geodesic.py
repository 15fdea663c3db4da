"""The weight kernel and its geometry against exact arithmetic and closed forms."""

import math

import array_api_strict
import mpmath
import numpy as np
import pytest
from scipy.special import rel_entr

import exact
from weighbridge.geodesic import (
    alpha_divergence,
    alpha_geodesic,
    alpha_representation,
    fisher_speed,
    from_alpha_representation,
    log_f_mean,
    log_weight,
    log_weight_bounds,
    log_weight_d_alpha,
    log_weight_d_lam,
    log_weight_d_log_ratio,
    path_length,
)
from weighbridge.tables import to_numpy

EPS = 2.0**-52
SMALLEST = 5e-324


NAMESPACES = [
    pytest.param(np.asarray, np.asarray, id="numpy"),
    pytest.param(array_api_strict.asarray, np.asarray, id="array_api_strict"),
]


def _excess_over_promise(s, lam, alpha, got):
    """Error in units of the promise 4 eps (|log w| + |p s|)."""
    true = exact.log_weight(s, lam, alpha)
    slope = exact.d_log_ratio(s, lam, alpha)
    with mpmath.workprec(1200):
        bound = 4 * EPS * (abs(true) + abs(slope * mpmath.mpf(float(s))))
        # a subnormal result can only be given to half a unit of its last place
        return float(abs(mpmath.mpf(float(got)) - true) / (bound + SMALLEST))


@pytest.mark.parametrize(("into", "back"), NAMESPACES)
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.more)])
def test_accuracy_on_the_hard_grid(every, into, back):
    s, lam, alpha = (axis[::every] for axis in exact.hard_grid())
    assert s.size >= 5000 // every
    got = back(log_weight(into(s), into(lam), into(alpha)))
    assert np.isfinite(got).all()
    worst = max(map(_excess_over_promise, s, lam, alpha, got))
    assert worst <= 1


@pytest.mark.more
def test_accuracy_with_one_lam_and_alpha_for_all_rows():
    # scalars take shortcuts that arrays do not
    s = np.array(exact.HARD_LOG_RATIO)
    for lam in exact.HARD_LAM:
        for alpha in exact.HARD_ALPHA:
            got = log_weight(s, lam, alpha)
            assert np.isfinite(got).all()
            assert (
                max(_excess_over_promise(x, lam, alpha, g) for x, g in zip(s, got, strict=True))
                <= 1
            )


def test_four_units_in_the_last_place_on_ordinary_input():
    rng = np.random.default_rng(0)
    n = 4000
    s = rng.choice([-1, 1], n) * 10 ** rng.uniform(-6, 4, n)
    lam = np.where(rng.random(n) < 0.5, 2.0 ** rng.uniform(-53, 0, n), rng.random(n))
    alpha = np.where(rng.random(n) < 0.5, 1 + rng.normal(size=n), rng.uniform(-1e6, 1e6, n))
    got = log_weight(s, lam, alpha)
    for row in zip(s, lam, alpha, got, strict=True):
        true = exact.log_weight(*row[:3])
        with mpmath.workprec(1200):
            error = abs(mpmath.mpf(row[3]) - true)
            assert error <= 4 * math.ulp(float(true)), row


DERIVATIVES = [
    (log_weight_d_log_ratio, exact.d_log_ratio),
    (log_weight_d_lam, exact.d_lam),
    (log_weight_d_alpha, exact.d_alpha),
]


@pytest.mark.parametrize(("function", "oracle"), DERIVATIVES)
@pytest.mark.parametrize("every", [30, pytest.param(3, marks=pytest.mark.more)])
def test_derivatives_on_the_hard_grid(every, function, oracle):
    # The exponent t = k*s is rounded, so the promise is mixed: a few eps of the derivative, and
    # what a change of s by a few eps does to it.
    s, lam, alpha = (axis[::every] for axis in exact.hard_grid())
    got = function(s, lam, alpha)
    assert not np.isnan(got).any()
    nudge = 8 * mpmath.mpf(EPS)
    for row in zip(s, lam, alpha, got, strict=True):
        true = oracle(*row[:3])
        with mpmath.workprec(1200):
            size = mpmath.mpf(row[0])
            beside = [oracle(size * (1 + nudge), *row[1:3]), oracle(size * (1 - nudge), *row[1:3])]
            bound = 16 * EPS * abs(true) + abs(beside[0] - beside[1]) + 4 * SMALLEST
            if function is log_weight_d_alpha:  # p may be subnormal, and enters times s^2
                bound += 4 * SMALLEST * size**2
            if abs(true) + bound > mpmath.mpf(1.79e308):
                assert abs(row[3]) > 1.7e308
            else:
                assert abs(mpmath.mpf(row[3]) - true) <= bound, (*row, float(true))


@pytest.mark.parametrize(("into", "back"), NAMESPACES)
def test_values_of_the_family(into, back):
    alpha = into(np.array([-3.0, -1, 0, 1, 3, 5]))
    up = back(log_weight(into(np.log(np.array(4.0))), 0.5, alpha))
    down = back(log_weight(into(np.log(np.array(0.25))), 0.5, alpha))
    expected_up = [2.915476, 2.5, 2.25, 2, 1.6, 1.371989]
    expected_down = [0.728869, 0.625, 0.5625, 0.5, 0.4, 0.342997]
    np.testing.assert_allclose(np.exp(up), expected_up, atol=5e-7)
    np.testing.assert_allclose(np.exp(down), expected_down, atol=5e-7)


@pytest.mark.parametrize("alpha", [-3.0, 0.0, 0.999, 1.0, 1.5, 3.0])
def test_ratio_zero(alpha):
    expected = math.log(0.7) / ((1 - alpha) / 2) if alpha < 1 else -np.inf
    assert log_weight(-np.inf, 0.3, alpha) == pytest.approx(expected, rel=1e-15)
    assert log_weight(-np.inf, 0.0, alpha) == 0
    assert log_weight(-np.inf, 1.0, alpha) == -np.inf
    assert log_weight(np.array([-np.inf]), np.array([0.3]), alpha) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0, 50.0])
def test_ratio_infinite_is_bounded_above_alpha_one(alpha):
    expected = math.log(0.7) / ((1 - alpha) / 2)
    assert log_weight(np.inf, 0.3, alpha) == pytest.approx(expected, rel=1e-15)
    assert log_weight(np.inf, 0.0, alpha) == 0


def test_bounds_are_the_supremum_and_infimum():
    lam = np.linspace(0, 1, 11)[:, None]
    alpha = np.array([-5.0, -1, 0.5, 1, 2, 3, 7])
    low, high = log_weight_bounds(lam, alpha)
    assert low.shape == high.shape == (11, 7)
    for s in (-1e6, 1e6):
        value = log_weight(s, lam, alpha)
        assert (low <= value).all()
        assert (value <= high).all()
    bounded = (alpha > 1) & (lam < 1) & (lam > 0)
    np.testing.assert_allclose(high[bounded], log_weight(1e6, lam, alpha)[bounded], rtol=1e-12)
    assert np.isinf(high[~bounded & (lam > 0)]).all()
    assert math.exp(log_weight_bounds(0.5, 3)[1]) == pytest.approx(2)
    assert math.exp(log_weight_bounds(0.5, 2)[1]) == pytest.approx(4)
    assert math.exp(log_weight_bounds(0.5, 0)[0]) == pytest.approx(0.25)


def test_lam_and_alpha_broadcast_to_a_grid():
    s = np.linspace(-3, 3, 7)
    lam, alpha = np.linspace(0, 1, 5)[:, None, None], np.array([-1.0, 1, 3])[:, None]
    grid = log_weight(s, lam, alpha)
    assert grid.shape == (5, 3, 7)
    for i in range(5):
        for j in range(3):
            np.testing.assert_array_equal(
                grid[i, j], log_weight(s, lam[i, 0, 0], alpha[j, 0]), strict=True
            )


def test_many_blocks_equal_one_row_at_a_time():
    s = np.random.default_rng(1).normal(size=70_001)
    whole = log_weight(s, 0.8, 2.3)
    some = np.arange(0, s.size, 997)
    np.testing.assert_array_equal(whole[some], [log_weight(s[i], 0.8, 2.3) for i in some])


def test_types_in_and_out():
    s = np.linspace(-2, 2, 5)
    assert log_weight(s.astype(np.float32), 0.5, 3).dtype == np.float32
    assert log_weight([0, 1], 0.5, 3).dtype == np.float64
    assert log_weight(1, 0.5, 3).shape == ()
    assert isinstance(log_weight(1.0, 0.5, 3), np.float64)
    assert log_weight(np.empty((0, 3)), 0.5, 3).shape == (0, 3)
    np.testing.assert_array_equal(log_weight(s[::-1], 0.5, 3), log_weight(s, 0.5, 3)[::-1])


def test_input_is_not_changed():
    s = np.linspace(-2, 2, 5)
    before = s.copy()
    result = log_weight(s, 1.0, 3)
    result += 1
    np.testing.assert_array_equal(s, before)


@pytest.mark.parametrize("lam", [-1e-300, 1.0000001, np.nan, np.inf, [0.5, 2.0]])
def test_lam_outside_is_refused(lam):
    with pytest.raises(ValueError, match=r"Got lam=.*must lie in \[0, 1\]"):
        log_weight([0.0], lam, 1.0)


@pytest.mark.parametrize("alpha", [np.nan, np.inf, -np.inf, [1.0, np.nan]])
def test_alpha_must_be_finite(alpha):
    with pytest.raises(ValueError, match=r"Got alpha=.*finite"):
        log_weight([0.0], 0.5, alpha)


def test_nan_log_ratio_is_refused():
    with pytest.raises(ValueError, match="NaN in 1 of 3 places"):
        log_weight([0.0, np.nan, 1.0], 0.5, 1.0)


@pytest.mark.parametrize(("lam", "alpha"), [(0.5, 1.0), (0.5, -1.0), (1.0, 3.0)])
def test_infinite_log_ratio_is_refused_where_the_weight_would_be(lam, alpha):
    with pytest.raises(ValueError, match="source density is 0"):
        log_weight([0.0, np.inf], lam, alpha)


@pytest.mark.parametrize("value", ["a", 1j, None, [object()]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="not real numbers"):
        log_weight(value, 0.5, 1.0)


def test_arrays_of_two_libraries_are_not_mixed():
    with pytest.raises(TypeError, match="two libraries"):
        log_weight(array_api_strict.asarray([1.0]), np.array([0.5]), 1.0)


# --- means and divergences ---------------------------------------------------------------------


def _simplex(*shape, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def test_f_mean_is_the_weight_times_its_first_argument():
    rng = np.random.default_rng(0)
    a, b, lam, alpha = rng.normal(size=(4, 200))
    lam = rng.random(200)
    expected = np.log(
        ((1 - lam) * np.exp(a) ** ((1 - alpha) / 2) + lam * np.exp(b) ** ((1 - alpha) / 2))
        ** (2 / (1 - alpha))
    )
    np.testing.assert_allclose(log_f_mean(a, b, lam, alpha), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("alpha", [-3.0, -1.0, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("lam", [0.0, 1e-20, 0.25, 1.0])
def test_f_mean_with_an_end_at_zero(lam, alpha):
    k = (1 - alpha) / 2
    with np.errstate(divide="ignore"):
        log_share = {"a": np.log(lam), "b": np.log1p(-lam)}
    lost = -np.inf
    from_a = 2.0 if lam == 1 else (2.0 + log_share["a"] / k if k > 0 else lost)
    from_b = 2.0 if lam == 0 else (2.0 + log_share["b"] / k if k > 0 else lost)
    assert log_f_mean(-np.inf, 2.0, lam, alpha) == pytest.approx(from_a)
    assert log_f_mean(2.0, -np.inf, lam, alpha) == pytest.approx(from_b)
    assert log_f_mean(-np.inf, -np.inf, lam, alpha) == -np.inf


def test_f_mean_refuses_infinite_ends():
    with pytest.raises(ValueError, match="log_b with NaN or"):
        log_f_mean(0.0, np.inf, 0.5, 3.0)


@pytest.mark.parametrize("alpha", [-3.0, -1.0, 0.0, 1.0, 2.5, 3.0])
def test_f_mean_is_the_mean_of_alpha_representations(alpha):
    # Definition 4.1 of the paper, to the letter
    log_a, log_b, lam = math.log(0.3), math.log(5.0), 0.4
    f_a, f_b = alpha_representation([log_a, log_b], alpha)
    mean = from_alpha_representation((1 - lam) * f_a + lam * f_b, alpha)
    assert mean == pytest.approx(log_f_mean(log_a, log_b, lam, alpha), rel=1e-13)
    assert f_b == pytest.approx(math.log(5) if alpha == 1 else 5 ** ((1 - alpha) / 2), rel=1e-14)


def test_alpha_representation_of_zero_and_back():
    for alpha, at_zero in ((-1.0, 0.0), (1.0, -math.inf), (3.0, math.inf)):
        assert alpha_representation(-math.inf, alpha) == at_zero
        assert from_alpha_representation(at_zero, alpha) == -math.inf
    log_m, alpha = np.linspace(-50, 50, 7), np.array([[-3.0], [0.5], [1.0], [4.0]])
    back = from_alpha_representation(alpha_representation(log_m, alpha), alpha)
    np.testing.assert_allclose(back, np.broadcast_to(log_m, back.shape), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("alpha", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_representations_of_opposite_alpha_are_dual_coordinates(alpha):
    # psi = (1 - alpha)/2 sum m as a function of theta has the gradient eta, and theta . eta - psi
    # is its Legendre dual (1 + alpha)/2 sum m
    m = np.array([0.2, 0.7, 1.5])
    theta, eta = alpha_representation(np.log(m), alpha), alpha_representation(np.log(m), -alpha)

    def psi(theta):
        return (1 - alpha) / 2 * np.exp(from_alpha_representation(theta, alpha)).sum()

    steps = 1e-5 * np.diag(theta)
    slope = [(psi(theta + h) - psi(theta - h)) / (2 * h.max()) for h in steps]
    np.testing.assert_allclose(slope, eta, rtol=1e-8)
    assert theta @ eta - psi(theta) == pytest.approx((1 + alpha) / 2 * m.sum(), rel=1e-13)


def test_alpha_representations_that_are_refused():
    with pytest.raises(ValueError, match="log_m with NaN or"):
        alpha_representation(math.inf, 3.0)
    with pytest.raises(ValueError, match="leaves the range of double precision; add a constant"):
        alpha_representation([0.0, 800.0], -1.0)
    with pytest.raises(ValueError, match="leaves the range of double precision"):
        alpha_representation(-800.0, -1.0)
    for value, alpha in (
        (-1.0, 0.0),
        (math.inf, 0.0),
        (0.0, 3.0),
        (math.inf, 1.0),
        (math.nan, 1.0),
    ):
        with pytest.raises(ValueError, match="represents no finite number m >= 0"):
            from_alpha_representation([1.0, value], alpha)


def test_geodesic_ends_and_stays_on_the_simplex():
    p, q = _simplex(4, 6), _simplex(4, 6, seed=1)
    for alpha in (-3.0, 0.0, 1.0, 3.0):
        np.testing.assert_allclose(alpha_geodesic(p, q, 0.0, alpha), p, rtol=1e-14)
        np.testing.assert_allclose(alpha_geodesic(p, q, 1.0, alpha), q, rtol=1e-14)
        np.testing.assert_allclose(alpha_geodesic(p, q, 0.3, alpha).sum(-1), 1, rtol=1e-14)
    np.testing.assert_allclose(alpha_geodesic(p, q, 0.3, -1.0), 0.7 * p + 0.3 * q, rtol=1e-13)


@pytest.mark.parametrize("alpha", [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
def test_normalised_curve_is_a_pregeodesic_of_the_alpha_connection(alpha):
    # In coordinates x of positive measures the alpha-connection is flat in x**k; on the simplex
    # (as the paper defines it) the normalised curve solves x'' + Gamma(x', x') = c(t) x' + d(t) x,
    # checked here by differences: the residual lies in the span of x' and x.
    p, q = _simplex(5), _simplex(5, seed=3)
    h = 1e-4
    x0, x1, x2 = (alpha_geodesic(p, q, 0.4 + step, alpha) for step in (-h, 0.0, h))
    velocity, acceleration = (x2 - x0) / (2 * h), (x2 - 2 * x1 + x0) / h**2
    force = acceleration - (1 + alpha) / 2 * velocity**2 / x1
    span = np.column_stack([velocity, x1])
    residual = force - span @ np.linalg.lstsq(span, force, rcond=None)[0]
    assert np.abs(residual).max() < 1e-5 * np.abs(acceleration).max() + 1e-6


def test_geodesic_between_disjoint_vectors():
    p, q = [1.0, 0.0], [0.0, 1.0]
    np.testing.assert_allclose(alpha_geodesic(p, q, 0.5, -1), [0.5, 0.5])
    with pytest.raises(ValueError, match="no cell in common"):
        alpha_geodesic(p, q, 0.5, 3)


@pytest.mark.parametrize("alpha", [-1e3, -3.0, -1.0 - 1e-9, -0.5, 0.0, 0.5, 1 - 1e-12, 3.0, 5.0])
def test_alpha_divergence_against_its_definition(alpha):
    p, q = _simplex(6), 0.2 * _simplex(6) + 0.8 * _simplex(6, seed=1)
    for scale in (1.0, 1e-3, 1e-7):
        near = (1 - scale) * p + scale * q
        near = near / near.sum()
        p = p / p.sum()
        with mpmath.workdps(80):
            a = mpmath.mpf(alpha)
            big_p = [mpmath.mpf(x) for x in p]
            big_q = [mpmath.mpf(x) for x in near]
            # normalised in exact arithmetic: the definition assumes it, rounding breaks it
            k = (1 - a) / 2
            true = sum(
                k * x + (1 - k) * y - x**k * y ** (1 - k) for x, y in zip(big_p, big_q, strict=True)
            ) / (k * (1 - k))
        assert alpha_divergence(p, near, alpha) == pytest.approx(float(true), rel=1e-11)


def test_alpha_divergence_limits_are_kullback_leibler():
    p, q = _simplex(3, 6), _simplex(3, 6, seed=1)
    kl, reverse = rel_entr(p, q).sum(-1), rel_entr(q, p).sum(-1)
    np.testing.assert_allclose(alpha_divergence(p, q, -1), kl, rtol=1e-13)
    np.testing.assert_allclose(alpha_divergence(p, q, 1), reverse, rtol=1e-13)
    np.testing.assert_allclose(alpha_divergence(p, q, -1 + 1e-13), kl, rtol=1e-11)
    np.testing.assert_allclose(alpha_divergence(p, q, 1 - 1e-13), reverse, rtol=1e-11)
    half = 4 * (1 - np.sqrt(p * q).sum(-1))
    np.testing.assert_allclose(alpha_divergence(p, q, 0), half, rtol=1e-12)
    np.testing.assert_allclose(
        alpha_divergence(p, q, 3), ((p - q) ** 2 / p).sum(-1) / 2, rtol=1e-12
    )


def test_alpha_divergence_with_empty_cells():
    p, q = [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]
    assert alpha_divergence(p, q, 0) == pytest.approx(4 * (1 - 0.5))
    assert alpha_divergence(p, q, 1) == np.inf
    assert alpha_divergence(p, q, -1) == np.inf
    assert alpha_divergence(p, p, 1) == 0


@pytest.mark.parametrize("bad", [[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], 1.0])
def test_what_is_no_probability_vector_is_refused(bad):
    with pytest.raises(ValueError, match="Got p that"):
        alpha_divergence(bad, [0.5, 0.5], 0)


# --- speed and length --------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [-2.0, 0.0, 1.0, 3.0])
def test_lengths_of_far_samples(alpha):
    # two rows with ratios e^-250 and 1: the path crosses a quarter of a great circle of radius 2
    ends = np.array([[0.5, 0.5], [0.0, 1.0]])
    shortest = 2 * math.acos(np.sqrt(ends[0] * ends[1]).sum())
    assert path_length([-250.0, 0.0], alpha) == pytest.approx(shortest, rel=1e-6)


@pytest.mark.parametrize("alpha", [-2.0, 0.0, 1.0, 3.0])
def test_lengths_add_up(alpha):
    s = np.random.default_rng(0).normal(size=50) * 2
    parts = path_length(s, alpha, 0, 0.3) + path_length(s, alpha, 0.3, 1)
    assert parts == pytest.approx(path_length(s, alpha), rel=1e-8)
    assert path_length(s, alpha, 0.3, 0.3) == 0


def test_speed_is_the_rate_of_the_kullback_leibler_divergence():
    # KL(w_lam : w_(lam + h)) = I(lam) h^2 / 2 + O(h^3)
    s = np.random.default_rng(0).normal(size=40)
    h = 1e-4
    for alpha in (-1.0, 1.0, 3.0):
        p, q = (np.exp(log_weight(s, lam, alpha)) for lam in (0.4, 0.4 + h))
        divergence = rel_entr(p / p.sum(), q / q.sum()).sum()
        speed = fisher_speed(s, 0.4, alpha)
        assert math.sqrt(2 * divergence) / h == pytest.approx(speed, rel=1e-3)


def test_speed_broadcasts_and_length_is_its_integral():
    s = np.random.default_rng(0).normal(size=40)
    lam, alpha = np.linspace(0, 1, 2001), np.array([-1.0, 1.0, 3.0])[:, None]
    speed = fisher_speed(s, lam, alpha)
    assert speed.shape == (3, 2001)
    np.testing.assert_allclose(np.trapezoid(speed, lam), path_length(s, alpha[:, 0]), rtol=1e-6)


def test_length_refuses_what_has_none():
    with pytest.raises(ValueError, match="finite log ratios"):
        path_length([0.0, -np.inf], 1.0)
    with pytest.raises(ValueError, match="an alpha nearer to 1"):
        path_length([0.0, 1e4], 3.0)
    with pytest.raises(ValueError, match="swap them"):
        path_length([0.0, 1.0], 1.0, start=0.7, stop=0.3)
    for function in (path_length, lambda s, alpha: fisher_speed(s, 0.5, alpha)):
        for sample in ([], [[0.0, 1.0]]):
            with pytest.raises(ValueError, match="one number for each"):
                function(sample, 1.0)
    with pytest.raises(ValueError, match="empty alpha"):
        path_length([0.0, 1.0], [])
    for weights in ([1.0], [0.0, 0.0], [-1.0, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="one number >= 0 for each row"):
            path_length([0.0, 1.0], 1.0, sample_weight=weights)
    with pytest.raises(ValueError, match="finite log ratios"):
        fisher_speed([0.0, -np.inf], 0.5, 1.0)


def test_log_weight_keeps_the_device_of_another_array_library():
    # array_api_strict has nothing but the standard, and refuses NumPy's scalars
    s, lam, alpha = [-1.0, 0.0, 2.0, 400.0], 0.5, -1.3
    device = array_api_strict.Device("device1")
    elsewhere = array_api_strict.asarray(s, device=device)
    got = log_weight(elsewhere, lam, alpha)
    assert got.device == device
    np.testing.assert_allclose(to_numpy(got), log_weight(s, lam, alpha), rtol=1e-13)
    with pytest.raises(ValueError, match="Got lam=-1"):
        log_weight(0.0, elsewhere, alpha)
    # the other functions return NumPy arrays
    np.testing.assert_array_equal(
        log_weight_d_lam(elsewhere, lam, alpha), log_weight_d_lam(s, lam, alpha)
    )
    assert path_length(elsewhere, alpha) == path_length(s, alpha)


@pytest.mark.parametrize("step", [1e-14, 1e-12, 1e-9, 1e-4])
@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 3.0])
def test_alpha_divergence_of_nearly_equal_vectors(step, alpha):
    p = np.array([0.3, 0.7])
    q = np.array([0.3 * (1 + step), 1 - 0.3 * (1 + step)])
    with mpmath.workdps(60):
        # second order, exact enough: (p - q)^2 / (2 q) for every alpha
        expected = sum(
            (mpmath.mpf(a) - mpmath.mpf(b)) ** 2 / (2 * mpmath.mpf(b))
            for a, b in zip(p, q, strict=True)
        )
    assert alpha_divergence(p, q, alpha) == pytest.approx(float(expected), rel=1e-13 + 2 * step)


@pytest.mark.torch
def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    s, lam, alpha = (torch.asarray(axis) for axis in exact.hard_grid())
    got = log_weight(s, lam, alpha)
    assert isinstance(got, torch.Tensor)
    expected = log_weight(*exact.hard_grid())
    # the two libraries' exp and log differ in the last bit
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-13, atol=1e-300)
    assert log_weight(s.to(torch.float32)[:10], 0.5, 3).dtype == torch.float32
    # plain numbers must not pass through torch's default type, float32
    few = [0.1, -1.0, 2.0]
    sample = torch.asarray(few, dtype=torch.float64)
    np.testing.assert_allclose(log_weight(sample, 0.3, 2.3), log_weight(few, 0.3, 2.3), rtol=1e-14)


@pytest.mark.slow
def test_accuracy_on_random_points_of_every_size():
    # 60,000 points, exponents drawn evenly
    rng = np.random.default_rng(0)
    n = 60_000
    s = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-320, 300, n)
    lam = np.where(rng.random(n) < 0.5, rng.random(n), 10.0 ** rng.uniform(-320, 0, n))
    lam = np.where(rng.random(n) < 0.3, 1 - 2.0 ** rng.uniform(-53, 0, n), lam)
    near = 1 + rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-16, 1, n)
    alpha = np.where(rng.random(n) < 0.5, near, rng.choice([-1, 1], n) * 10 ** rng.uniform(0, 6, n))
    # most of the branches meet where t = k*s is of order 1 to 1000
    t = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-12, 3, n)
    with np.errstate(divide="ignore"):
        s = np.where((rng.random(n) < 0.7) & (alpha != 1), t / ((1 - alpha) / 2), s)
    got = log_weight(s, lam, alpha)
    assert np.isfinite(got).all()
    assert max(map(_excess_over_promise, s, lam, alpha, got)) <= 1
