"""The classes that docs/extending.rst writes obey the laws of what they extend."""

import doctest
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import beta as beta_distribution
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import test_ratio_laws as laws
from weighbridge import ImportanceWeighted, ImportanceWeightedCV, fit_ratio
from weighbridge.datasets import make_gaussian_shift
from weighbridge.model_selection import CrossValidation, GridSearch

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.rst"


def _written_on_the_page():
    """Return the page's imports and classes as a module, so that they can be pickled."""
    module = types.ModuleType("docs_extending")
    sources = [each.source for each in doctest.DocTestParser().get_examples(PAGE.read_text())]
    sys.modules[module.__name__] = module
    for source in sources:
        if source.startswith(("import ", "from ", "class ")):
            exec(source, vars(module))
    return module, [source for source in sources if source.startswith("class ")]


page, CLASSES = _written_on_the_page()


def test_each_takes_fewer_than_twenty_lines():
    assert len(CLASSES) == 5  # the criterion has two
    lines = {source.split("\n")[0]: [x for x in source.split("\n") if x] for source in CLASSES}
    sizes = {name: len(rows) for name, rows in lines.items()}
    huber = sum(size for name, size in sizes.items() if "Huber" in name)
    assert max(huber, *sizes.values()) < 20, sizes


# --- the ratio -----------------------------------------------------------------------------------


def _tilt(ridge=0.01):
    return make_pipeline(StandardScaler(), page.ExponentialTilt(ridge))


def test_the_ratio_of_two_normal_samples_is_the_closed_form():
    data = make_gaussian_shift(20_000, 20_000, n_features=3, random_state=0)
    log_ratio = fit_ratio(data.X, data.X_target, _tilt()).score_samples(data.X)
    # slopes of 1/sqrt(3) with standard errors of about 0.01 each, shrunk by a hundredth
    np.testing.assert_allclose(log_ratio, data.log_ratio, atol=0.15)
    assert np.sqrt(np.mean(np.square(log_ratio - data.log_ratio))) < 0.04


def test_the_weighted_source_has_the_means_of_the_target():
    X, X_target = laws.samples()
    log_ratio = fit_ratio(X, X_target, _tilt(ridge=0.0)).score_samples(X)
    assert np.exp(log_ratio).mean() == pytest.approx(1, rel=1e-12)
    means = np.average(X, axis=0, weights=np.exp(log_ratio))
    np.testing.assert_allclose(means, X_target.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("same", ["rows", "distribution"])
def test_without_shift_the_log_ratio_averages_zero(same):
    laws.test_without_shift_the_log_ratio_averages_zero(_tilt(), same)


def test_order_of_rows_and_names_and_units_of_columns_do_not_matter():
    laws.test_the_order_of_rows_does_not_matter(_tilt())
    laws.test_the_order_of_named_columns_does_not_matter(_tilt(), laws.pd.DataFrame)
    laws.test_an_array_is_a_frame_without_names(_tilt())
    laws.test_units_do_not_matter(_tilt(), [1e8, 1e-8, 1.0], 0.0, 1e-5)


@parametrize_with_checks([page.ExponentialTilt()])
def test_scikit_learn_accepts_the_ratio(estimator, check):
    check(estimator)


# --- the weighting -------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [False, True])
def test_weights_are_the_formula_with_mean_one(counted):
    data = make_gaussian_shift(random_state=0)
    counts = np.random.default_rng(0).integers(0, 3, len(data.X)) if counted else None
    weighting = page.Truncated(cap=2.0)
    model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
    model.fit(data.X, data.y, counts)
    ratio = np.exp(data.log_ratio)
    expected = np.minimum(ratio / np.average(ratio, weights=counts), 2.0)
    if counted:
        expected = expected * (counts > 0)
    np.testing.assert_allclose(
        model.weights_, expected / np.average(expected, weights=counts), rtol=1e-12
    )
    assert np.average(model.weights_, weights=counts) == pytest.approx(1, rel=1e-12)


# --- the criterion -------------------------------------------------------------------------------


def _surfaces(counts=None):
    """Surfaces of the page's criterion, without a threshold, and of the same thing built in."""
    data = make_gaussian_shift(400, 400, random_state=0)
    own, built_in = page.HuberLoss(threshold=np.inf), CrossValidation(KFold(5))
    return [
        ImportanceWeightedCV(
            LinearRegression(), data.ratio, criterion=criterion, search=GridSearch(5, 3), **options
        ).fit(data.X, data.y, counts)
        for criterion, options in ((own, {}), (built_in, {"answer": "guard"}))
    ]


@pytest.mark.parametrize("counted", [False, True])
def test_half_a_squared_error_picks_what_the_squared_error_picks(counted):
    counts = np.random.default_rng(0).integers(1, 3, 400) if counted else None
    own, built_in = _surfaces(counts)
    np.testing.assert_allclose(2 * own.search_result_.values, built_in.search_result_.values)
    assert own.search_result_.best == built_in.search_result_.best
    assert own.best_weighting_.get_params() == built_in.best_weighting_.get_params()
    np.testing.assert_allclose(own.estimator_.coef_, built_in.estimator_.coef_)


# --- the family ----------------------------------------------------------------------------------


def _closed_form(theta):
    """Return metric, skewness and scalar curvature (alpha 0) of the beta family by polygammas."""
    a, b = theta
    total = a + b
    metric = np.diag(polygamma(1, [a, b])) - polygamma(1, total)
    skewness = np.full((2, 2, 2), -polygamma(2, total))
    skewness[0, 0, 0] += polygamma(2, a)
    skewness[1, 1, 1] += polygamma(2, b)
    inverse = np.linalg.inv(metric)
    trace = np.einsum("ij,ijk->k", inverse, skewness)
    square = np.einsum("ijk,il,jm,kn,lmn", skewness, inverse, inverse, inverse, skewness)
    return metric, skewness, (square - trace @ inverse @ trace) / 4


@pytest.mark.parametrize("theta", [(1.0, 1.0), (0.3, 2.0), (5.0, 40.0)])
def test_the_geometry_of_the_beta_family_is_the_closed_form(theta):
    metric, skewness, curvature = _closed_form(theta)
    family = page.Beta()
    np.testing.assert_allclose(family.metric(theta), metric, rtol=1e-8)
    np.testing.assert_allclose(family.skewness(theta), skewness, rtol=1e-7)
    assert family.scalar_curvature(theta, alpha=0) == pytest.approx(curvature, rel=1e-6)
    assert family.scalar_curvature(theta, alpha=1) == pytest.approx(0, abs=1e-12)


def test_the_density_of_the_beta_family_is_scipys():
    x = np.array([-0.5, 0.01, 0.4, 0.99, 1.5])
    expected = beta_distribution(2.5, 0.7).logpdf(x)
    np.testing.assert_allclose(page.Beta().log_density(x, [2.5, 0.7]), expected, rtol=1e-12)


def test_parameters_outside_of_the_domain_are_refused_in_its_words():
    with pytest.raises(ValueError, match="need two positive numbers"):
        page.Beta().metric([1.0, -1.0])
