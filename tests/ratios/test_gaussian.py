"""Laws of the ratio of two normal distributions: scipy's densities, scikit-learn's shrinkage."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf, ledoit_wolf_shrinkage

from weighbridge import fit_ratio
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios import GaussianRatio

# In some of these tables, columns are many for the number of rows.
quiet = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")


def samples(n_source, n_target, d, seed=0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(size=(n_source, d)) @ mix, rng.normal(size=(n_target, d)) @ mix * 0.9 + 0.1


@quiet
@pytest.mark.parametrize(("n_source", "n_target", "d"), [(200, 150, 4), (30, 40, 60)])
def test_ratio_is_that_of_two_shrunk_normal_densities(n_source, n_target, d):
    X, X_target = samples(n_source, n_target, d)
    ratio = fit_ratio(X, X_target, GaussianRatio())
    rows = [ratio.encoder_.numbers(part) for part in (X, X_target)]
    source, target = (
        multivariate_normal(fitted.location_, fitted.covariance_).logpdf(rows[0])
        for fitted in map(LedoitWolf().fit, rows)
    )
    np.testing.assert_allclose(ratio.score_samples(X), target - source, rtol=1e-6, atol=1e-6)


@quiet
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("n_source", "n_target", "d"), [(200, 150, 1), (200, 150, 4), (50, 30, 60), (30, 40, 200)]
)
def test_shrinkage_is_that_of_ledoit_and_wolf(n_source, n_target, d, shared):
    tables = samples(n_source, n_target, d)
    ratio = fit_ratio(*tables, GaussianRatio(shared=shared))
    rows = [ratio.encoder_.numbers(table) for table in tables]
    centred = [part - part.mean(axis=0) for part in rows]
    if shared:  # Both samples have the same weight.
        n = n_source + n_target
        both = [part * np.sqrt(n / (2 * len(part))) for part in centred]
        centred = [np.concatenate(both)] * 2
    expected = [ledoit_wolf_shrinkage(part, assume_centered=True) for part in centred]
    np.testing.assert_allclose(ratio.shrinkage_, expected, rtol=1e-12, atol=1e-15)


def test_shared_covariance_gives_a_linear_log_ratio():
    X, X_target = samples(500, 200, 3)
    log_ratio = fit_ratio(X, X_target, GaussianRatio(shared=True)).score_samples(X)
    design = np.column_stack([np.ones(500), X])
    line = design @ np.linalg.lstsq(design, log_ratio, rcond=None)[0]
    np.testing.assert_allclose(log_ratio, line, atol=1e-9)


def test_weights_of_a_known_change_of_mean_and_variance():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(50_000, 8)), rng.normal(0.2, 0.9, size=(50_000, 8))
    new = rng.normal(size=(5000, 8))
    true = np.exp((0.5 * new**2 - 0.5 * ((new - 0.2) / 0.9) ** 2 - np.log(0.9)).sum(axis=1))
    weights = np.exp(fit_ratio(X, X_target, GaussianRatio()).score_samples(new))
    assert np.mean((weights - true) ** 2) / np.var(true) < 0.02


@pytest.mark.parametrize("size", [30.0, 1e4])
@pytest.mark.parametrize("where", ["source", "target", "both"])
@pytest.mark.parametrize("shared", [False, True])
def test_outliers_are_left_out_with_a_warning(size, where, shared):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    ratio = GaussianRatio(shared=shared)
    expected = fit_ratio(X, X_target, ratio).score_samples(X)
    source = X if where == "target" else np.vstack([X, [size, -size]])
    target = X_target if where == "source" else np.vstack([X_target, [-size, size]])
    n_outliers = 1 + (where == "both")
    with pytest.warns(WeightWarning, match=rf"variance of a column \({n_outliers}\)"):
        fitted = fit_ratio(source, target, ratio)
    np.testing.assert_allclose(fitted.score_samples(X), expected, atol=1e-8)
    assert (fitted.score_samples([[size, -size], [-size, size]]) <= 0).all()


@pytest.mark.parametrize("size", [30.0, 1e6])
def test_outlier_in_one_column_leaves_the_others_unchanged(size):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (200, 2)), rng.normal([0.8, 0], 1, (200, 2))
    expected = fit_ratio(X, X_target, GaussianRatio()).score_samples(X)
    with pytest.warns(WeightWarning, match="variance of a column"):
        fitted = fit_ratio(np.vstack([X, [size, 0]]), X_target, GaussianRatio())
    np.testing.assert_allclose(fitted.score_samples(X), expected, atol=1e-6)


def test_one_outlier_among_few_rows_is_left_out():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (30, 1)), rng.normal(0.5, 1, (30, 1))
    with pytest.warns(WeightWarning, match=r"variance of a column \(1\)"):
        fit_ratio(np.vstack([X, [[1000.0]]]), X_target, GaussianRatio())


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "lognormal"])
def test_long_tails_are_no_outliers(draw):
    rng = np.random.default_rng(0)
    X, X_target = (getattr(rng, draw)(size=(n, 2)) for n in (2000, 1000))
    fit_ratio(X, X_target, GaussianRatio())


def test_bad_parameters():
    with pytest.raises(ValueError, match="shared='yes', but expected True or False"):
        fit_ratio(*samples(50, 50, 2), GaussianRatio(shared="yes"))
