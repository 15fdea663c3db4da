"""The ratio of two normal distributions against scipy's densities."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf

from weighbridge import fit_ratio
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios import GaussianRatio


def samples(n_source, n_target, d, seed=0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(size=(n_source, d)) @ mix, rng.normal(size=(n_target, d)) @ mix * 0.9 + 0.1


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
@pytest.mark.parametrize(("n_source", "n_target", "d"), [(200, 150, 4), (30, 40, 60)])
@pytest.mark.filterwarnings("ignore:WB107")
def test_two_shrunk_normal_densities(n_source, n_target, d):
    X, X_target = samples(n_source, n_target, d)
    ratio = fit_ratio(X, X_target, GaussianRatio())
    rows = [ratio.encoder_.numbers(part) for part in (X, X_target)]
    log_density = []
    for part in rows:
        fitted = LedoitWolf().fit(part)
        density = multivariate_normal(fitted.location_, fitted.covariance_)
        log_density.append(density.logpdf(rows[0]))
    np.testing.assert_allclose(
        ratio.score_samples(X), log_density[1] - log_density[0], rtol=1e-6, atol=1e-6
    )


def test_one_shared_covariance_gives_a_linear_log_ratio():
    X, X_target = samples(500, 200, 3)
    ratio = fit_ratio(X, X_target, GaussianRatio(shared=True))
    log_ratio = ratio.score_samples(X)
    design = np.column_stack([np.ones(500), X])
    fit = design @ np.linalg.lstsq(design, log_ratio, rcond=None)[0]
    np.testing.assert_allclose(log_ratio, fit, atol=1e-9)
    assert ratio.shrinkage_[0] == ratio.shrinkage_[1]


def test_known_slope_in_one_dimension():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(50_000, 1)), rng.normal(1, 1, size=(50_000, 1))
    got = fit_ratio(X, X_target, GaussianRatio(shared=True)).score_samples([[0.0], [1.0]])
    np.testing.assert_allclose(got, [-0.5, 0.5], atol=0.03)  # standard error 0.007


@pytest.mark.more
def test_a_thousand_columns():
    rng = np.random.default_rng(0)
    mu = np.full(1000, 1 / np.sqrt(1000))
    X, X_target = rng.normal(size=(3000, 1000)), rng.normal(size=(3000, 1000)) + mu
    new = rng.normal(size=(500, 1000))
    log_ratio = fit_ratio(X, X_target, GaussianRatio(shared=True)).score_samples(new)
    assert np.isfinite(log_ratio).all()
    assert np.corrcoef(log_ratio, new @ mu)[0, 1] > 0.6


def test_parameters_that_make_no_sense():
    with pytest.raises(ValueError, match="shared='yes', but expected True or False"):
        fit_ratio(*samples(50, 50, 2), GaussianRatio(shared="yes"))


@pytest.mark.parametrize("size", [30.0, 1e4])
@pytest.mark.parametrize("where", ["source", "target", "both"])
@pytest.mark.parametrize("shared", [False, True])
def test_an_outlier_is_left_out_and_told(size, where, shared):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    ratio = GaussianRatio(shared=shared)
    expected = fit_ratio(X, X_target, ratio).score_samples(X)
    source, target = X, X_target
    if where != "target":
        source = np.vstack([X, [size, -size]])
    if where != "source":
        target = np.vstack([X_target, [-size, size]])
    n_outliers = 1 + (where == "both")
    with pytest.warns(WeightWarning, match=rf"variance of a column \({n_outliers}\)"):
        fitted = fit_ratio(source, target, ratio)
    np.testing.assert_allclose(fitted.score_samples(X), expected, atol=1e-8)
    assert (fitted.score_samples([[size, -size], [-size, size]]) <= 0).all()


@pytest.mark.parametrize("size", [30.0, 1e6])
def test_an_outlier_in_one_column_leaves_the_others_as_they_are(size):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (200, 2)), rng.normal([0.8, 0], 1, (200, 2))
    expected = fit_ratio(X, X_target, GaussianRatio()).score_samples(X)
    with pytest.warns(WeightWarning, match="variance of a column"):
        fitted = fit_ratio(np.vstack([X, [size, 0]]), X_target, GaussianRatio())
    np.testing.assert_allclose(fitted.score_samples(X), expected, atol=1e-6)


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "lognormal"])
def test_long_tails_are_no_outliers(draw):
    rng = np.random.default_rng(0)
    X, X_target = (getattr(rng, draw)(size=(n, 2)) for n in (2000, 1000))
    fit_ratio(X, X_target, GaussianRatio())


def test_an_outlier_among_few_rows():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (30, 1)), rng.normal(0.5, 1, (30, 1))
    with pytest.warns(WeightWarning, match=r"variance of a column \(1\)"):
        fit_ratio(np.vstack([X, [[1000.0]]]), X_target, GaussianRatio())
