"""Simulators: their ratios, their limits, and what they refuse."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression

from weighbridge.datasets import (
    make_clinic,
    make_cubic,
    make_gaussian_shift,
    make_quadratic,
    split_by_projection,
)
from weighbridge.ratios import effective_sample_size

READINGS = {"variances": (5, 0.5, 5), "noise_sd": (5, 0.5, 25), "all_sd": (25, 0.25, 25)}


@pytest.mark.parametrize(("reading", "variances"), READINGS.items())
def test_quadratic_limits_in_closed_form(reading, variances):
    v_s, v_t, v_n = variances
    problem = make_quadratic(2, 2, reading=reading).problem
    m = -5
    erm = (m**2 + v_t - v_s) ** 2 + 4 * m**2 * v_t + 2 * v_t**2 + v_n
    assert problem.limit(0) == pytest.approx(erm, rel=1e-10)
    assert problem.limit(1) == pytest.approx(2 * v_t**2 + v_n, rel=1e-10)


@pytest.mark.parametrize(("reading", "variances"), READINGS.items())
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_quadratic_line_in_closed_form_at_alpha_one(reading, variances, lam):
    v_s, v_t, _ = variances
    precision = (1 - lam) / v_s + lam / v_t
    mean, variance = lam * -5 / v_t / precision, 1 / precision
    intercept, slope = make_quadratic(2, 2, reading=reading).problem.line(lam)
    assert slope == pytest.approx(2 * mean, rel=1e-10, abs=1e-10)
    assert intercept == pytest.approx(variance - mean**2, rel=1e-10)


def test_script_reading_in_closed_form():
    problem = make_quadratic(2, 2, reading="script").problem
    # on U(-6, -4) the best line leaves var(u^2), u ~ U(-1, 1), and the noise of U(-5, 5)
    assert problem.limit(1) == pytest.approx(1 / 5 - 1 / 9 + 25 / 3, rel=1e-10)
    # on U(-6, 5): slope 2 * mean, since the third central moment is 0
    assert problem.line(0)[1] == pytest.approx(2 * -0.5, rel=1e-10)
    # the mixture curve: 1 - lam of U(-6, 5) and lam of U(-6, -4)
    x = np.concatenate([np.linspace(-6, 5, 200_001)[:-1], np.linspace(-6, -4, 200_001)[:-1]])
    by_hand = np.polyfit(x, x**2, 1)
    intercept, slope = problem.line(0.5, alpha=-1)
    np.testing.assert_allclose([slope, intercept], by_hand, rtol=1e-4)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 2.0, 3.0])
def test_line_off_alpha_one_by_brute_force(alpha):
    problem = make_quadratic(2, 2).problem
    x = np.linspace(-30, 30, 400_001)
    p_s, p_t = problem.source.pdf(x), problem.target.pdf(x)
    k = (1 - alpha) / 2
    with np.errstate(divide="ignore", over="ignore"):
        mass = (0.6 * p_s**k + 0.4 * p_t**k) ** (1 / k)
    slope, intercept = np.polyfit(x, x**2, 1, w=np.sqrt(mass))
    assert problem.line(0.4, alpha) == pytest.approx((intercept, slope), rel=1e-6)


@pytest.mark.parametrize("data", [make_quadratic(5000, 20_000, random_state=0),
                                  make_cubic(5000, 20_000, random_state=0)])  # fmt: skip
def test_samples_follow_their_problem(data):
    # a large target sample has the mean squared error that the closed form says
    line = LinearRegression().fit(data.X, data.y)
    losses = (data.y_target - line.predict(data.X_target)) ** 2
    error = losses.std() / np.sqrt(losses.size)
    assert abs(losses.mean() - data.problem.mse(line)) < 4 * error
    assert data.problem.mse((line.intercept_, line.coef_[0])) == data.problem.mse(line)
    np.testing.assert_allclose(data.log_ratio, data.ratio.score_samples(data.X))


def test_sizes_and_seeds():
    assert make_quadratic(random_state=0).X.shape == (1000, 1)
    assert make_quadratic(reading="script", random_state=0).X_target.shape == (200, 1)
    np.testing.assert_array_equal(
        make_cubic(random_state=3).y, make_cubic(random_state=3).y, strict=True
    )
    with pytest.raises(ValueError, match="reading='literal'"):
        make_quadratic(reading="literal")


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 1.0), (0.0, 0.7), (0.5, 1.2)])
def test_gaussian_ratio_averages_to_one_and_moves_the_mean(shift, scale):
    data = make_gaussian_shift(200_000, 10, n_features=3, shift=shift, scale=scale, random_state=0)
    r = np.exp(data.log_ratio)
    assert abs(r.mean() - 1) < 5 * r.std() / np.sqrt(r.size)
    moved = r[:, None] * data.X
    error = moved.std(axis=0) / np.sqrt(r.size)
    assert (np.abs(moved.mean(axis=0) - shift / np.sqrt(3)) < 5 * error).all()
    with pytest.raises(ValueError, match="scale=0"):
        make_gaussian_shift(scale=0)


def test_split_ratio_is_right_constant_included():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3))
    data = split_by_projection(X, slope=1.5, random_state=0)
    r = np.exp(data.log_ratio)
    assert abs(r.mean() - 1) < 5 * r.std() / np.sqrt(r.size)
    # the weighted source has the mean of the target
    weighted = (r[:, None] * data.X).mean(axis=0)
    assert np.abs(weighted - data.X_target.mean(axis=0)).max() < 0.05
    assert np.abs(data.X.mean(axis=0) - data.X_target.mean(axis=0)).max() > 0.3
    np.testing.assert_allclose(data.ratio.score_samples(data.X_target), data.log_ratio_target)
    assert data.ess == pytest.approx(effective_sample_size(r))
    assert data.y is None
    np.testing.assert_array_equal(data.X, X[data.source])
    np.testing.assert_array_equal(data.X_target, X[data.target])


def test_split_does_not_depend_on_units_or_constant_columns():
    X = np.random.default_rng(0).normal(size=(300, 2))
    other = np.column_stack([X[:, 0] * 1e6 + 1e3, np.full(300, 7.0), X[:, 1] * 1e-6])
    plain = split_by_projection(X, direction=[1.0, -0.5], random_state=0)
    scaled = split_by_projection(other, direction=[1.0, 99.0, -0.5], random_state=0)
    np.testing.assert_array_equal(plain.source, scaled.source)
    np.testing.assert_allclose(plain.log_ratio, scaled.log_ratio, rtol=1e-6, atol=1e-6)


def test_slope_sixteen_leaves_a_handful_of_rows():
    X, y = load_breast_cancer(return_X_y=True)
    sizes = [split_by_projection(X, y, slope=16, random_state=seed).ess for seed in range(10)]
    assert np.median(sizes) < 15
    milder = [split_by_projection(X, y, slope=2, random_state=seed).ess for seed in range(10)]
    assert np.median(milder) > 30


def test_target_classes_that_the_source_lost_are_named():
    lost = [
        split_by_projection(*load_iris(return_X_y=True), slope=16, random_state=seed).classes_lost
        for seed in (3, 4, 7, 11, 13, 17)
    ]
    assert any(classes.size for classes in lost)
    regression = split_by_projection(*load_diabetes(return_X_y=True), slope=1, random_state=0)
    assert regression.classes_lost is None


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.arange(4.0)[:, None], None, {"slope": 0}, "without rows"),
        (np.arange(40.0)[:, None], np.arange(40) > 19, {"slope": 1e6}, "with one class only"),
        (np.ones((10, 2)), None, {}, "the same for every row"),
        (np.arange(10.0)[:, None], None, {"direction": "random"}, "direction='random'"),
        (np.arange(10.0)[:, None], None, {"direction": [1, 2]}, "one for each column"),
        (np.arange(10.0)[:, None], None, {"slope": np.nan}, "slope=nan"),
        (np.arange(10.0)[:, None], np.arange(9), {}, "inconsistent numbers"),
        (np.full((10, 1), np.nan), None, {}, "NaN"),
    ],
)
def test_splits_that_cannot_be_made(X, y, options, message):
    def try_many_seeds():
        for seed in range(200):
            split_by_projection(X, y, random_state=seed, **options)

    with pytest.raises(ValueError, match=message):
        try_many_seeds()


def test_clinic_ratio_is_the_true_one():
    """The log odds of deployment given the true log ratio have slope 1."""
    data = make_clinic(20_000, 20_000, random_state=0)
    log_ratio = np.r_[data.ratio.score_samples(data.X), data.ratio.score_samples(data.X_target)]
    domain = np.repeat([0, 1], 20_000)
    slope = LogisticRegression(C=1e8).fit(log_ratio[:, None], domain).coef_[0, 0]
    # standard error of the slope: 0.012
    assert abs(slope - 1) < 0.04


def test_clinic_labels_follow_one_rule_in_both_samples():
    """Covariate shift alone: given age, the share of readmissions is the same."""
    data = make_clinic(20_000, 20_000, random_state=1)
    for low, high in ((20, 30), (40, 50), (60, 70)):
        shares, errors = [], []
        for X, y in ((data.X, data.y), (data.X_target, data.y_target)):
            some = y[X["age"].between(low, high)]
            shares.append(some.mean())
            errors.append(some.var() / some.size)
        # the number of earlier visits, which differs between the two, adds a little
        assert abs(shares[0] - shares[1]) < 4 * np.sqrt(sum(errors)) + 0.05


def test_clinic_has_mixed_columns_gaps_and_a_seed():
    one, other = make_clinic(50, 30, random_state=7), make_clinic(50, 30, random_state=7)
    assert one.X.equals(other.X)
    np.testing.assert_array_equal(one.y_target, other.y_target)
    data = make_clinic(random_state=0)
    assert 0.01 < data.X["bmi"].isna().mean() < data.X_target["bmi"].isna().mean()
    assert data.X.drop(columns="bmi").notna().all(axis=None)
    assert set(data.X["site"]) == {"north", "south", "east", "west"}


def test_clinic_without_shift_is_one_population():
    data = make_clinic(4000, 4000, shift=0.0, random_state=0)
    np.testing.assert_array_equal(data.ratio.score_samples(data.X), 0)
    assert abs(data.X["age"].mean() - data.X_target["age"].mean()) < 4 * 14 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_source": "a"}, "Got n_source='a', but expected a whole number >= 1"),
        ({"n_target": 2.5}, "Got n_target=2.5, but expected a whole number >= 1"),
        ({"shift": float("nan")}, "Got shift=nan, but expected a finite number"),
        ({"shift": float("inf")}, "Got shift=inf, but expected a finite number"),
        ({"backend": "numpy"}, "Got backend='numpy', but expected a library of data frames"),
    ],
)
def test_clinic_refuses_what_it_cannot_draw(options, message):
    with pytest.raises(ValueError, match=message):
        make_clinic(**{"n_source": 10, "n_target": 10, **options})


def test_clinic_refuses_no_rows():
    with pytest.raises(ValueError, match="n_target=0"):
        make_clinic(10, 0)
