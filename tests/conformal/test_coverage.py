"""The quantile, the coverage and the scores of weighted split conformal prediction."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, Ridge

from conformal_problems import NONE, SHIFT, classification, covered_share, first_column, regression
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import KnownRatio

few_rows = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")


def _quantile_by_definition(scores, weights, ratio, coverage):
    """Return the smallest score with enough weight at or below it, in fractions."""
    total = sum(weights) + ratio
    for score in sorted(scores):
        weight = sum((w for s, w in zip(scores, weights, strict=True) if s <= score), Fraction())
        if weight / total >= coverage:
            return float(score)
    return math.inf


def _log_of_first_column(X):
    with np.errstate(divide="ignore"):
        return np.log(X[:, 0])


integers = st.integers(0, 20)


@few_rows
@given(
    st.lists(st.tuples(integers, integers), min_size=1, max_size=12).filter(
        lambda rows: any(weight for _, weight in rows)
    ),
    st.lists(integers, min_size=1, max_size=5),
    st.integers(1, 99),
)
def test_limits_follow_their_definition(rows, ratios, percent):
    # Coverage is the decimal that was written, not its nearest double.
    scores, weights = (np.array(column, float) for column in zip(*rows, strict=True))
    X, X_new = weights[:, None], np.array(ratios, float)[:, None]
    model = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(X, scores))
    ratio = KnownRatio(_log_of_first_column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        conformal = ConformalRegressor(model, ratio, coverage=percent / 100).fit(X, scores)
    weights = [Fraction(w) for w in weights]
    limits = [
        _quantile_by_definition(scores, weights, Fraction(r), Fraction(percent, 100))
        for r in ratios
    ]
    assert conformal.predict_interval(X_new)[:, 1].tolist() == limits


@given(st.integers(1, 300), st.integers(1, 99))
def test_limit_without_shift_is_the_textbook_quantile(n, percent):
    # The ceil((n + 1) c)-th smallest score, infinite beyond the n-th.
    X, y = np.arange(float(n))[:, None], np.random.default_rng(n).permutation(n).astype(float)
    model = DummyRegressor(strategy="constant", constant=0.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        conformal = ConformalRegressor(FrozenEstimator(model), NONE, coverage=percent / 100)
        high = conformal.fit(X, y).predict_interval(X)[:, 1]
    rank = math.ceil(Fraction((n + 1) * percent, 100))
    assert set(high) == {float(rank - 1) if rank <= n else math.inf}


@given(st.floats(-500, 500))
def test_constant_factor_of_the_ratio_cancels(constant):
    X, y = regression(200, 0)
    plain = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    ratio = KnownRatio(lambda X: first_column(X) + constant)
    scaled = ConformalRegressor(Ridge(), ratio, random_state=0).fit(X, y)
    # At these rows, no limit lies within rounding of a jump.
    np.testing.assert_array_equal(scaled.predict_interval(X), plain.predict_interval(X))
    assert scaled.ess_ == pytest.approx(plain.ess_, rel=1e-10)


def test_interval_is_infinite_if_the_ratio_overflows():
    far = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(*regression(100, 0))
    assert far.predict_interval([[1e4]]).tolist() == [[-np.inf, np.inf]]


def test_interval_by_hand_with_weight_weights():
    # Weights u r / (sum u r + mean(u) r(x)); a row of weight 0 is left out.
    X, y = regression(60, 1)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    model = LinearRegression().fit(*regression(50, 2))
    conformal = ConformalRegressor(FrozenEstimator(model), SHIFT, coverage=0.8)
    interval = conformal.fit(X, y, sample_weight=weight).predict_interval(X[:20])
    used = weight > 0
    scores = np.abs(y - model.predict(X))[used]
    weights = weight[used] / weight[used].mean() * np.exp(X[used, 0])
    for row, (low, high) in zip(X[:20], interval, strict=True):
        limit = _quantile_by_definition(scores, list(weights), np.exp(row[0]), 0.8)
        centre = model.predict(row[None])[0]
        assert (low, high) == pytest.approx((centre - limit, centre + limit), rel=1e-12)
    assert conformal.n_calibration_ == used.sum()
    np.testing.assert_allclose(conformal.calibration_weights_, weights / weights.mean())
    assert conformal.ess_ == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    # The unit of the weights cancels.
    again = conformal.fit(X, y, sample_weight=1000 * weight).predict_interval(X[:20])
    np.testing.assert_array_equal(again, interval)


def test_sample_weight_reaches_the_inner_fit():
    X, y = regression(100, 0)
    weight = np.repeat([0.0, 1.0, 3.0, 2.0], 25)
    model = ConformalRegressor(Ridge(), SHIFT, calibration_size=30, random_state=0)
    weighted = model.fit(X, y, weight)
    subset = clone(model).fit(X[25:], y[25:], weight[25:])
    np.testing.assert_array_equal(weighted.estimator_.coef_, subset.estimator_.coef_)
    assert weighted.estimator_.coef_ != clone(model).fit(X[25:], y[25:]).estimator_.coef_


def _coverages(make, draw, repetitions, seed):
    """Return mean and standard error of the coverage, with 500 rows to calibrate on."""
    shares = []
    for repetition in range(repetitions):
        model = make(repetition).fit(*draw(1000, [seed, repetition]))
        shares.append(covered_share(model, *draw(1000, [seed + 1, repetition], mean=1.0)))
    return np.mean(shares), np.std(shares) / math.sqrt(repetitions)


@pytest.mark.parametrize(
    ("draw", "make", "unweighted"),
    [
        (regression, lambda r, s: ConformalRegressor(LinearRegression(), r, random_state=s), 0.75),
        (
            classification,
            lambda r, s: ConformalClassifier(LogisticRegression(), r, random_state=s),
            0.78,
        ),
        (
            classification,
            lambda r, s: ConformalClassifier(LogisticRegression(), r, method="aps", random_state=s),
            0.78,
        ),
    ],
    ids=["interval", "lac", "aps"],
)
def test_coverage_is_nominal_with_the_known_ratio(draw, make, unweighted):
    # At least 0.9 and little more, within 4 standard errors.
    mean, error = _coverages(lambda seed: make(SHIFT, seed), draw, 40, seed=10)
    assert 0.9 - 4 * error < mean < 0.925 + 4 * error
    plain, error = _coverages(lambda seed: make(NONE, seed), draw, 15, seed=10)
    assert abs(plain - unweighted) < 4 * error + 0.01  # The value is known to two digits.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "kind", "options"),
    [
        (regression, ConformalRegressor, {}),
        (regression, ConformalRegressor, {"scale": RandomForestRegressor(20, random_state=0)}),
        (classification, ConformalClassifier, {}),
        (classification, ConformalClassifier, {"method": "aps"}),
    ],
    ids=["interval", "scaled", "lac", "aps"],
)
def test_coverage_over_many_draws(draw, kind, options):
    inner = LinearRegression() if kind is ConformalRegressor else LogisticRegression()
    mean, error = _coverages(
        lambda seed: kind(inner, SHIFT, random_state=seed, **options), draw, 400, seed=20
    )
    assert error < 0.0025
    assert 0.89 < mean < 0.925


@pytest.mark.slow
def test_coverage_with_an_estimated_ratio():
    # The default has 0.916, the known ratio 0.913, and no weights 0.751 (standard error 0.004).
    shares = []
    for seed in range(100):
        X, y = regression(1000, [30, seed])
        X_target, y_target = regression(500, [31, seed], mean=1.0)
        model = ConformalRegressor(LinearRegression(), random_state=seed)
        known = ConformalRegressor(LinearRegression(), SHIFT, random_state=seed).fit(X, y)
        model.fit(X, y, X_target=X_target)
        shares.append([covered_share(fitted, X_target, y_target) for fitted in (model, known)])
    estimated, known = np.mean(shares, axis=0)
    assert estimated > 0.88
    assert abs(estimated - known) < 0.02


def test_class_scores_by_hand():
    X, y = classification(300, 0)
    inner = FrozenEstimator(LogisticRegression().fit(*classification(300, 1)))
    probabilities = inner.predict_proba(X)
    lac = ConformalClassifier(inner, SHIFT).fit(X, y)
    np.testing.assert_allclose(lac.scores_, 1 - probabilities[np.arange(300), y], rtol=1e-12)
    aps = ConformalClassifier(inner, SHIFT, method="aps").fit(X, y)
    label = probabilities[np.arange(300), y]
    above = [row[row > p].sum() for row, p in zip(probabilities, label, strict=True)]
    np.testing.assert_allclose(aps.scores_, above + label / 2, rtol=1e-12)


def test_sets_contain_the_likeliest_classes():
    # A class is in the set only if every likelier one is.
    X, y = classification(400, 0)
    for method in ("lac", "aps"):
        model = ConformalClassifier(LogisticRegression(), SHIFT, method=method, random_state=0)
        sets = model.fit(X, y).predict_set(X)
        assert sets.dtype == bool
        assert sets.shape == (400, 3)
        order = np.argsort(-model.predict_proba(X), axis=1)
        ranked = np.take_along_axis(sets, order, axis=1).astype(int)
        assert (np.diff(ranked, axis=1) <= 0).all()


def test_set_has_all_classes_if_the_limit_is_infinite():
    model = ConformalClassifier(LogisticRegression(), SHIFT, random_state=0)
    assert model.fit(*classification(100, 0)).predict_set([[50.0]]).all()


def test_scale_widens_intervals_where_errors_are_large():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 1))
    y = X[:, 0] * rng.normal(size=2000)
    scaled = ConformalRegressor(Ridge(), NONE, scale=GammaRegressor(alpha=0), random_state=0)
    low, high = scaled.fit(X, y).predict_interval([[0.1], [0.9]]).T
    assert (high - low)[1] > 3 * (high - low)[0]
    even = ConformalRegressor(Ridge(), NONE, random_state=0).fit(X, y)
    assert np.ptp(np.diff(even.predict_interval([[0.1], [0.9]]))) == pytest.approx(0, abs=1e-12)
    # By hand, from the fitted models.
    sizes = scaled.scale_.predict(X)
    half = np.diff(scaled.predict_interval(X))[:, 0] / 2
    np.testing.assert_allclose(half / sizes, half[0] / sizes[0], rtol=1e-12)
    assert scaled.report(X).mean_width == pytest.approx(2 * half.mean())


def test_frozen_scale_divides_the_errors_of_a_frozen_model():
    X, y = regression(200, 0)
    model, scale = Ridge().fit(*regression(100, 1)), GammaRegressor()
    X_fit, y_fit = regression(100, 2)
    scale.fit(X_fit, np.abs(y_fit - model.predict(X_fit)))
    conformal = ConformalRegressor(FrozenEstimator(model), SHIFT, scale=FrozenEstimator(scale))
    errors = np.abs(y - model.predict(X)) / scale.predict(X)
    np.testing.assert_allclose(conformal.fit(X, y).scores_, errors)
