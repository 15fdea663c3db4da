"""Simulators: their ratios, their limits and their error messages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
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
    for lam in (0.1, 0.5, 0.9):  # with alpha = 1
        precision = (1 - lam) / v_s + lam / v_t
        mean, variance = lam * m / v_t / precision, 1 / precision
        assert problem.line(lam) == pytest.approx((variance - mean**2, 2 * mean), rel=1e-10)


def test_script_reading_in_closed_form():
    problem = make_quadratic(2, 2, reading="script").problem
    # On U(-6, -4) the best line leaves var(u^2), u ~ U(-1, 1), and the noise of U(-5, 5).
    assert problem.limit(1) == pytest.approx(1 / 5 - 1 / 9 + 25 / 3, rel=1e-10)
    # On U(-6, 5) the slope is twice the mean, since the third central moment is 0.
    assert problem.line(0)[1] == pytest.approx(2 * -0.5, rel=1e-10)
    # The mixture curve: 1 - lam of U(-6, 5) and lam of U(-6, -4).
    x = np.concatenate([np.linspace(-6, 5, 200_001)[:-1], np.linspace(-6, -4, 200_001)[:-1]])
    slope, intercept = np.polyfit(x, x**2, 1)
    assert problem.line(0.5, alpha=-1) == pytest.approx((intercept, slope), rel=1e-4)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 2.0, 3.0])
def test_line_for_other_alpha_by_brute_force(alpha):
    problem = make_quadratic(2, 2).problem
    x = np.linspace(-30, 30, 400_001)
    p_s, p_t = problem.source.pdf(x), problem.target.pdf(x)
    k = (1 - alpha) / 2
    with np.errstate(divide="ignore", over="ignore"):
        mass = (0.6 * p_s**k + 0.4 * p_t**k) ** (1 / k)
    slope, intercept = np.polyfit(x, x**2, 1, w=np.sqrt(mass))
    assert problem.line(0.4, alpha) == pytest.approx((intercept, slope), rel=1e-6)


@pytest.mark.parametrize("make", [make_quadratic, make_cubic])
def test_large_target_sample_has_the_mse_of_the_closed_form(make):
    data = make(5000, 20_000, random_state=0)
    line = LinearRegression().fit(data.X, data.y)
    losses = (data.y_target - line.predict(data.X_target)) ** 2
    error = losses.std() / np.sqrt(losses.size)
    assert abs(losses.mean() - data.problem.mse(line)) < 4 * error
    assert data.problem.mse((line.intercept_, line.coef_[0])) == data.problem.mse(line)
    np.testing.assert_allclose(data.log_ratio, data.ratio.score_samples(data.X))


def test_default_sizes_and_seeds():
    assert make_quadratic(reading="script", random_state=0).X_target.shape == (200, 1)
    for make in (make_cubic, make_gaussian_shift, make_clinic):
        first, second = (make(50, 30, random_state=3) for _ in range(2))
        assert pd.DataFrame(first.X).equals(pd.DataFrame(second.X))
        np.testing.assert_array_equal(first.y_target, second.y_target, strict=True)


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 1.0), (0.0, 0.7), (0.5, 1.2)])
def test_gaussian_ratio_averages_to_one_and_moves_the_mean(shift, scale):
    data = make_gaussian_shift(200_000, 10, n_features=3, shift=shift, scale=scale, random_state=0)
    ratio = np.exp(data.log_ratio)
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(ratio.size)
    weighted = ratio[:, None] * data.X
    error = weighted.std(axis=0) / np.sqrt(ratio.size)
    assert (np.abs(weighted.mean(axis=0) - shift / np.sqrt(3)) < 5 * error).all()


def test_split_ratio_is_right_constant_included():
    X = np.random.default_rng(0).normal(size=(200_000, 3))
    data = split_by_projection(X, slope=1.5, random_state=0)
    ratio = np.exp(data.log_ratio)
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(ratio.size)
    weighted = (ratio[:, None] * data.X).mean(axis=0)
    assert np.abs(weighted - data.X_target.mean(axis=0)).max() < 0.05
    assert np.abs(data.X.mean(axis=0) - data.X_target.mean(axis=0)).max() > 0.3
    np.testing.assert_allclose(data.ratio.score_samples(data.X_target), data.log_ratio_target)
    assert data.ess == pytest.approx(effective_sample_size(ratio))
    assert data.y is None
    np.testing.assert_array_equal(data.X, X[data.source])


def test_split_does_not_depend_on_units_or_constant_columns():
    X = np.random.default_rng(0).normal(size=(300, 2))
    other = np.column_stack([X[:, 0] * 1e6 + 1e3, np.full(300, 7.0), X[:, 1] * 1e-6])
    plain = split_by_projection(X, direction=[1.0, -0.5], random_state=0)
    scaled = split_by_projection(other, direction=[1.0, 99.0, -0.5], random_state=0)
    np.testing.assert_array_equal(plain.source, scaled.source)
    np.testing.assert_allclose(plain.log_ratio, scaled.log_ratio, rtol=1e-6, atol=1e-6)


def test_steep_split_leaves_few_effective_rows_and_lists_lost_classes():
    iris = load_iris(return_X_y=True)
    splits = [split_by_projection(*iris, slope=16, random_state=k) for k in (3, 4, 7, 11, 13, 17)]
    assert any(data.classes_lost.size for data in splits)
    assert np.median([data.ess for data in splits]) < 15
    regression = split_by_projection(*load_diabetes(return_X_y=True), slope=1, random_state=0)
    assert regression.classes_lost is None


def test_clinic_ratio_is_the_true_one():
    """The log odds of deployment given the true log ratio have slope 1."""
    data = make_clinic(20_000, 20_000, random_state=0)
    log_ratio = np.r_[data.ratio.score_samples(data.X), data.ratio.score_samples(data.X_target)]
    domain = np.repeat([0, 1], 20_000)
    slope = LogisticRegression(C=1e8).fit(log_ratio[:, None], domain).coef_[0, 0]
    assert abs(slope - 1) < 0.04  # The standard error of the slope is 0.012.


def test_clinic_labels_follow_one_rule_in_both_samples():
    """Given age, the share of readmissions is the same: there is covariate shift alone."""
    data = make_clinic(20_000, 20_000, random_state=1)
    for low, high in ((20, 30), (40, 50), (60, 70)):
        samples = (data.X, data.y), (data.X_target, data.y_target)
        labels = [y[X["age"].between(low, high)] for X, y in samples]
        error = np.sqrt(sum(y.var() / y.size for y in labels))
        # The number of earlier visits, which differs between the two, adds a little.
        assert abs(labels[0].mean() - labels[1].mean()) < 4 * error + 0.05


def test_clinic_without_shift_is_one_population_with_missing_values():
    data = make_clinic(4000, 4000, shift=0.0, random_state=0)
    np.testing.assert_array_equal(data.ratio.score_samples(data.X), 0)
    assert abs(data.X["age"].mean() - data.X_target["age"].mean()) < 4 * 14 / np.sqrt(2000)
    assert 0.01 < data.X["bmi"].isna().mean() < 0.12
    assert data.X.drop(columns="bmi").notna().all(axis=None)
    assert set(data.X["site"]) == {"north", "south", "east", "west"}


COLUMN = np.arange(10.0)[:, None]
BAD_ARGUMENTS = [
    (make_quadratic, {"reading": "literal"}, "Got reading='literal', but expected one of"),
    (make_gaussian_shift, {"scale": 0}, "Got scale=0, but it must be positive"),
    (make_clinic, {"n_target": 2.5}, "Got n_target=2.5, but expected a whole number >= 1"),
    (make_clinic, {"n_source": 0}, "Got n_source=0, but expected a whole number >= 1"),
    (make_clinic, {"shift": np.inf}, "Got shift=inf, but expected a finite number"),
    (
        make_clinic,
        {"backend": "numpy"},
        "Got backend='numpy', but expected one of pandas, polars, pyarrow",
    ),
    (split_by_projection, {"X": COLUMN[:4], "slope": 0}, "without rows"),
    (
        split_by_projection,
        {"X": COLUMN, "y": COLUMN[:, 0] > 4, "slope": 1e6},
        "with one class only",
    ),
    (split_by_projection, {"X": np.ones((10, 2))}, "the same for every row"),
    (split_by_projection, {"X": COLUMN, "direction": "random"}, "direction='random'"),
    (split_by_projection, {"X": COLUMN, "direction": [1, 2]}, "each of the 1 columns"),
    (split_by_projection, {"X": COLUMN, "slope": np.nan}, "slope=nan"),
    (split_by_projection, {"X": COLUMN, "y": np.arange(9)}, "inconsistent numbers"),
    (split_by_projection, {"X": COLUMN * np.nan}, "NaN"),
]


@pytest.mark.parametrize(("make", "arguments", "message"), BAD_ARGUMENTS)
def test_bad_argument_is_named(make, arguments, message):
    with pytest.raises(ValueError, match=message):  # noqa: PT012 (of some seeds, for a split)
        for seed in range(200 if make is split_by_projection else 1):
            make(**arguments, random_state=seed)
