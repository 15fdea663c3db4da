"""Weighted split conformal prediction: the quantile, the coverage, and what is refused."""

import json
import math
import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_classification
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_checks import GentleLogRatio, check_with_held_out_rows
from weighbridge import ImportanceWeighted, ImportanceWeightedCV, fit_ratio
from weighbridge._estimators.base import FittedRows
from weighbridge.conformal import ConformalClassifier, ConformalRegressor, ConformalReport
from weighbridge.conformal._calibrated import infinite_share_expected, thresholds
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import ULSIF, ClassifierRatio, KnownRatio


def _first(X):
    return np.asarray(X)[:, 0]


def _nothing(X):
    return np.zeros(len(X))


SHIFT = KnownRatio(_first)  # N(0, 1) -> N(1, 1), up to a constant
NONE = KnownRatio(_nothing)


def _parabola(x, rng):
    return x**2 + 0.5 * rng.normal(size=x.size)


def _regression(n, seed, mean=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(mean, 1, size=(n, 1))
    return X, _parabola(X[:, 0], rng)


def _classification(n, seed, mean=0.0):
    """Three classes, with labels at random more often where the target is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(mean, 1, size=(n, 1))
    x = X[:, 0]
    odd = rng.uniform(size=n) < 0.5 / (1 + np.exp(-3 * (x - 1)))
    y = (x > 0).astype(int) + (x > 1)
    return X, np.where(odd, rng.integers(0, 3, size=n), y)


def _held(model, X, y):
    """Share of labels inside their intervals or sets."""
    if is_regressor(model):
        low, high = model.predict_interval(X).T
        return np.mean((low <= y) & (y <= high))
    return model.predict_set(X)[np.arange(y.size), np.searchsorted(model.classes_, y)].mean()


# --- the quantile ------------------------------------------------------------------------------


def _by_hand(scores, weights, ratio, coverage):
    """The definition, in fractions: the smallest score whose mass below or at it is enough."""
    total = sum(weights) + ratio
    for candidate in sorted(scores):
        mass = sum((w for s, w in zip(scores, weights, strict=True) if s <= candidate), Fraction())
        if mass / total >= coverage:
            return float(candidate)
    return math.inf


whole = st.integers(0, 20)


@given(
    st.lists(st.tuples(whole, whole), min_size=1, max_size=12).filter(
        lambda rows: any(weight for _, weight in rows)
    ),
    st.lists(whole, min_size=1, max_size=5),
    st.integers(1, 99),
)
def test_thresholds_by_their_definition(rows, ratios, percent):
    # whole numbers are exact; the coverage is the decimal that was written, not its nearest double
    scores, weights = map(list, zip(*rows, strict=True))
    found = thresholds(
        np.array(scores, float), np.array(weights, float), np.array(ratios, float), percent / 100
    )
    exact = [
        _by_hand(scores, [Fraction(w) for w in weights], Fraction(r), Fraction(percent, 100))
        for r in ratios
    ]
    assert found.tolist() == exact


@given(st.integers(1, 300), st.integers(1, 99))
def test_without_shift_it_is_the_textbook_quantile(n, percent):
    # r = 1: the ceil((n + 1) c)-th smallest score, infinite beyond the n-th
    X, y = np.arange(float(n))[:, None], np.random.default_rng(n).permutation(n).astype(float)
    model = DummyRegressor(strategy="constant", constant=0.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # few rows, and infinite intervals
        conformal = ConformalRegressor(FrozenEstimator(model), NONE, coverage=percent / 100)
        high = conformal.fit(X, y).predict_interval(X)[:, 1]
    rank = math.ceil(Fraction((n + 1) * percent, 100))
    assert set(high) == {float(rank - 1) if rank <= n else math.inf}


@given(st.floats(-500, 500))
def test_the_constant_of_the_ratio_cancels(constant):
    X, y = _regression(200, 0)
    plain = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    ratio = KnownRatio(lambda X: _first(X) + constant)
    scaled = ConformalRegressor(Ridge(), ratio, random_state=0).fit(X, y)
    # at these rows no threshold lies within rounding of a jump
    np.testing.assert_array_equal(scaled.predict_interval(X), plain.predict_interval(X))
    assert scaled.ess_ == pytest.approx(plain.ess_, rel=1e-10)


def test_the_threshold_grows_with_the_ratio_and_with_the_coverage():
    rng = np.random.default_rng(0)
    scores, weights = rng.exponential(size=100), rng.exponential(size=100)
    ratio = np.linspace(0, 30, 200)
    low, high = (thresholds(scores, weights, ratio, coverage) for coverage in (0.8, 0.9))
    assert (low[1:] >= low[:-1]).all()
    assert (low <= high).all()
    # infinite exactly where the mass at infinity exceeds 1 - coverage
    np.testing.assert_array_equal(np.isinf(low), ratio / (weights.sum() + ratio) > 0.2)


def test_a_ratio_of_zero_or_infinity():
    scores, weights = np.array([3.0, 1.0, 2.0]), np.ones(3)
    found = thresholds(scores, weights, np.array([0.0, np.inf]), 0.9)
    assert found.tolist() == [3, np.inf]
    X, y = _regression(100, 0)
    far = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    assert far.predict_interval([[1e4]]).tolist() == [[-np.inf, np.inf]]  # exp(1e4) overflows


def test_interval_by_hand_with_own_weights():
    # masses u r / (sum u r + mean(u) r(x)), a row of weight 0 is not there
    X, y = _regression(60, 1)
    own = np.random.default_rng(0).integers(0, 4, size=60)
    model = LinearRegression().fit(*_regression(50, 2))
    conformal = ConformalRegressor(FrozenEstimator(model), SHIFT, coverage=0.8)
    interval = conformal.fit(X, y, sample_weight=own).predict_interval(X[:20])
    used = own > 0
    scores = np.abs(y - model.predict(X))[used]
    weights = own[used] / own[used].mean() * np.exp(X[used, 0])
    for row, (low, high) in zip(X[:20], interval, strict=True):
        limit = _by_hand(scores, list(weights), np.exp(row[0]), 0.8)
        centre = model.predict(row[None])[0]
        assert (low, high) == pytest.approx((centre - limit, centre + limit), rel=1e-12)
    assert conformal.n_calibration_ == used.sum()
    np.testing.assert_allclose(conformal.calibration_weights_, weights / weights.mean())
    assert conformal.ess_ == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    # the unit of own weights cancels
    again = conformal.fit(X, y, sample_weight=1000 * own).predict_interval(X[:20])
    np.testing.assert_array_equal(again, interval)


def test_own_weights_reach_the_inner_fit():
    X, y = _regression(100, 0)
    own = np.repeat([0.0, 1.0, 3.0, 2.0], 25)
    model = ConformalRegressor(Ridge(), SHIFT, calibration_size=30, random_state=0)
    weighted = model.fit(X, y, own)
    kept = clone(model).fit(X[25:], y[25:], own[25:])  # 0 leaves a row out
    np.testing.assert_array_equal(weighted.estimator_.coef_, kept.estimator_.coef_)
    assert weighted.estimator_.coef_ != clone(model).fit(X[25:], y[25:]).estimator_.coef_


# --- coverage ----------------------------------------------------------------------------------


def _coverages(make, draw, repetitions, seed):
    """Coverage of fresh target rows, 500 rows fitted to and 500 calibrated on."""
    found = []
    for repetition in range(repetitions):
        model = make(repetition).fit(*draw(1000, [seed, repetition]))
        found.append(_held(model, *draw(1000, [seed + 1, repetition], mean=1.0)))
    return np.mean(found), np.std(found) / math.sqrt(repetitions)


@pytest.mark.parametrize(
    ("draw", "make", "unweighted"),
    [
        (_regression, lambda r, s: ConformalRegressor(LinearRegression(), r, random_state=s), 0.75),
        (
            _classification,
            lambda r, s: ConformalClassifier(LogisticRegression(), r, random_state=s),
            0.78,
        ),
        (
            _classification,
            lambda r, s: ConformalClassifier(LogisticRegression(), r, method="aps", random_state=s),
            0.78,
        ),
    ],
    ids=["interval", "lac", "aps"],
)
def test_coverage_quick(draw, make, unweighted):
    # N(0,1) -> N(1,1), known ratio: at least 0.9 and little more; 4 standard errors of 40 draws
    mean, error = _coverages(lambda seed: make(SHIFT, seed), draw, 40, seed=10)
    assert 0.9 - 4 * error < mean < 0.925 + 4 * error
    plain, error = _coverages(lambda seed: make(NONE, seed), draw, 15, seed=10)
    assert abs(plain - unweighted) < 4 * error + 0.01  # the value is known to two digits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "kind", "options"),
    [
        (_regression, ConformalRegressor, {}),
        (_regression, ConformalRegressor, {"scale": RandomForestRegressor(20, random_state=0)}),
        (_classification, ConformalClassifier, {}),
        (_classification, ConformalClassifier, {"method": "aps"}),
    ],
    ids=["interval", "scaled", "lac", "aps"],
)
def test_coverage_bar(draw, kind, options):
    inner = LinearRegression() if kind is ConformalRegressor else LogisticRegression()
    mean, error = _coverages(
        lambda seed: kind(inner, SHIFT, random_state=seed, **options), draw, 400, seed=20
    )
    assert error < 0.0025
    assert 0.89 < mean < 0.925


@pytest.mark.slow
def test_coverage_with_an_estimated_ratio():
    # 100 draws, se .004: .916 where the known ratio has .913 on fresh rows, and no weights .751
    found = []
    for seed in range(100):
        X, y = _regression(1000, [30, seed])
        X_target, y_target = _regression(500, [31, seed], mean=1.0)
        model = ConformalRegressor(LinearRegression(), random_state=seed)
        known = ConformalRegressor(LinearRegression(), SHIFT, random_state=seed).fit(X, y)
        model.fit(X, y, X_target=X_target)
        found.append([_held(each, X_target, y_target) for each in (model, known)])
    estimated, known = np.mean(found, axis=0)
    assert estimated > 0.88
    assert abs(estimated - known) < 0.02  # two points, of the fifteen that weights are worth


def test_coverage_without_shift_is_exact():
    # scores without ties: P(covered) = ceil((n + 1) c) / (n + 1), n = 49; Monte Carlo, 4 se
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 50))
    limit = [thresholds(row[:49], np.ones(49), np.ones(1), 0.9)[0] for row in draws]
    covered = draws[:, 49] <= limit
    assert abs(covered.mean() - 45 / 50) < 4 * covered.std() / math.sqrt(4000)


# --- scores ------------------------------------------------------------------------------------


def test_class_scores_by_hand():
    X, y = _classification(300, 0)
    inner = FrozenEstimator(LogisticRegression().fit(*_classification(300, 1)))
    chances = inner.predict_proba(X)
    lac = ConformalClassifier(inner, SHIFT).fit(X, y)
    np.testing.assert_allclose(lac.scores_, 1 - chances[np.arange(300), y], rtol=1e-12)
    aps = ConformalClassifier(inner, SHIFT, method="aps").fit(X, y)
    own = chances[np.arange(300), y]
    above = [row[row > p].sum() for row, p in zip(chances, own, strict=True)]
    np.testing.assert_allclose(aps.scores_, above + own / 2, rtol=1e-12)


def test_sets_hold_the_likeliest_classes():
    # a class is in the set only if every likelier one is
    X, y = _classification(400, 0)
    for method in ("lac", "aps"):
        model = ConformalClassifier(LogisticRegression(), SHIFT, method=method, random_state=0)
        sets = model.fit(X, y).predict_set(X)
        assert sets.dtype == bool
        assert sets.shape == (400, 3)
        order = np.argsort(-model.predict_proba(X), axis=1)
        ranked = np.take_along_axis(sets, order, axis=1).astype(int)
        assert (np.diff(ranked, axis=1) <= 0).all()


def test_where_rows_cannot_tell_all_classes_are_possible():
    X, y = _classification(100, 0)
    model = ConformalClassifier(LogisticRegression(), SHIFT, random_state=0).fit(X, y)
    assert model.predict_set([[50.0]]).all()


def test_scale_makes_intervals_wide_where_errors_are():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 1))
    y = X[:, 0] * rng.normal(size=2000)
    scaled = ConformalRegressor(Ridge(), NONE, scale=GammaRegressor(alpha=0), random_state=0)
    low, high = scaled.fit(X, y).predict_interval([[0.1], [0.9]]).T
    assert (high - low)[1] > 3 * (high - low)[0]
    even = ConformalRegressor(Ridge(), NONE, random_state=0).fit(X, y)
    assert np.ptp(np.diff(even.predict_interval([[0.1], [0.9]]))) == pytest.approx(0, abs=1e-12)
    # by hand from the fitted parts
    sizes = scaled.scale_.predict(X)
    half = np.diff(scaled.predict_interval(X))[:, 0] / 2
    np.testing.assert_allclose(half / sizes, half[0] / sizes[0], rtol=1e-12)
    assert scaled.report(X).mean_width == pytest.approx(2 * half.mean())


def test_scale_of_a_frozen_model_comes_frozen():
    X, y = _regression(200, 0)
    model = FrozenEstimator(Ridge().fit(*_regression(100, 1)))
    with pytest.raises(ValueError, match=r"Got scale=GammaRegressor.*not frozen.*calibration rows"):
        ConformalRegressor(model, SHIFT, scale=GammaRegressor()).fit(X, y)
    X_fit, y_fit = _regression(100, 2)
    scale = GammaRegressor().fit(X_fit, np.abs(y_fit - model.predict(X_fit)))
    fitted = ConformalRegressor(model, SHIFT, scale=FrozenEstimator(scale)).fit(X, y)
    errors = np.abs(y - model.predict(X))
    np.testing.assert_allclose(fitted.scores_, errors / scale.predict(X))


def test_a_scale_that_is_not_positive_is_refused():
    X, y = _regression(200, 0)
    for constant in (0.0, -1.0):
        scale = DummyRegressor(strategy="constant", constant=constant).fit(X, y)
        model = ConformalRegressor(Ridge(), SHIFT, scale=FrozenEstimator(scale))
        with pytest.raises(ValueError, match=r"not a positive number at 100 of 100.*GammaReg"):
            model.fit(X, y)


# --- the split ---------------------------------------------------------------------------------


class Remembers(LinearRegression):
    """Keeps the rows it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].copy()
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("size", "expected"), [(0.5, 50), (0.25, 25), (40, 40), (0.999, 99)])
def test_no_row_is_fitted_to_and_calibrated_on(size, expected):
    X, y = _regression(100, 0)
    model = ConformalRegressor(Remembers(), SHIFT, calibration_size=size, random_state=0)
    model.fit(X, y)
    held = ~np.isin(X[:, 0], model.estimator_.rows_)
    assert held.sum() == model.n_calibration_ == expected
    errors = np.abs(y - model.estimator_.predict(X))[held]
    np.testing.assert_allclose(np.sort(model.scores_), np.sort(errors))


def test_every_class_is_in_both_parts():
    X, y = _classification(200, 0)
    y[:6] = [3, 3, 4, 5, 5, 5]  # one class has a single row: it is fitted to
    model = ConformalClassifier(LogisticRegression(), SHIFT, calibration_size=0.7)
    for seed in range(5):
        fitted = clone(model).set_params(random_state=seed).fit(X, y)
        assert fitted.classes_.tolist() == [0, 1, 2, 3, 4, 5]
        assert fitted.n_calibration_ == 140


@pytest.mark.parametrize("size", [0, 1.0, -0.5, 100, 0.0, True, "half", None])
def test_calibration_size_is_checked(size):
    X, y = _regression(100, 0)
    with pytest.raises(ValueError, match=r"Got calibration_size=.*from 1 to 99"):
        ConformalRegressor(Ridge(), SHIFT, calibration_size=size).fit(X, y)


def test_too_few_rows_for_the_classes():
    X, y = _classification(4, 0)
    with pytest.raises(ValueError, match=r"Got 4 rows of 3 classes, 2 of them.*smaller"):
        ConformalClassifier(LogisticRegression(), SHIFT).fit(X, [0, 1, 2, 2])
    with pytest.raises(ValueError, match=r"Got n_samples=1 rows"):
        ConformalRegressor(Ridge(), SHIFT).fit(X[:1], y[:1])


# --- rows that were fitted to -------------------------------------------------------------------


def _fitted_models():
    X, y = _regression(200, 0)
    X_target = _regression(100, 1, mean=0.5)[0]
    weighted = ImportanceWeighted(Ridge(), ClassifierRatio()).fit(X, y, X_target=X_target)
    scaled = make_pipeline(StandardScaler(), KNeighborsRegressor())
    search = GridSearchCV(ImportanceWeighted(Ridge(), SHIFT), {"estimator__alpha": [0.1, 1.0]})
    return (
        X,
        y,
        {
            "ImportanceWeighted": weighted,
            "ImportanceWeightedCV": ImportanceWeightedCV(Ridge(), SHIFT).fit(X, y),
            "neighbours": KNeighborsRegressor().fit(X, y),
            "process": GaussianProcessRegressor(alpha=0.1).fit(X, y),
            "machine": SVR().fit(X, y),
            "pipeline": scaled.fit(X, y),
            "search": search.fit(X, y),
        },
    )


def test_models_that_know_their_rows_are_not_calibrated_on_them():
    X, y, models = _fitted_models()
    X_new, y_new = _regression(200, 2)
    for name, model in models.items():
        conformal = ConformalRegressor(FrozenEstimator(model), SHIFT)
        with pytest.raises(ValueError, match=r"Got \d+ of 200 calibration rows that the model was"):
            conformal.fit(X, y)
        assert conformal.fit(X_new, y_new).n_calibration_ == 200, name
        # a tenth of the rows is enough
        mixed, labels = np.r_[X[:20], X_new[20:]], np.r_[y[:20], y_new[20:]]
        if name != "machine":  # it keeps some of its rows only
            with pytest.raises(ValueError, match="Got 20 of 200 calibration rows"):
                conformal.fit(mixed, labels)


def test_rows_of_any_other_model_are_named():
    X, y = _regression(200, 0)
    X_new, y_new = _regression(200, 1)
    conformal = ConformalRegressor(FrozenEstimator(Ridge().fit(X, y)), SHIFT)
    with pytest.raises(ValueError, match=r"Got 200 of 200 calibration rows.*has not seen"):
        conformal.fit(X, y, X_fit=X)
    assert not hasattr(conformal, "scores_")
    assert conformal.fit(X_new, y_new, X_fit=X).n_calibration_ == 200
    with pytest.raises(ValueError, match=r"Got X_fit with 2 columns and X with 1"):
        conformal.fit(X_new, y_new, X_fit=np.hstack([X, X]))
    with pytest.raises(ValueError, match=r"Got X_fit with an estimator that is not fitted"):
        ConformalRegressor(Ridge(), SHIFT).fit(X, y, X_fit=X)


def test_rows_of_weight_zero_were_not_fitted_to():
    X, y = _regression(200, 0)
    half = np.repeat([1.0, 0.0], 100)
    model = FrozenEstimator(ImportanceWeighted(Ridge(), SHIFT).fit(X, y, half))
    conformal = ConformalRegressor(model, SHIFT)
    assert conformal.fit(X, y, sample_weight=1 - half).n_calibration_ == 100
    with pytest.raises(ValueError, match="Got 100 of 200"):
        conformal.fit(X, y)


def test_share_of_fitted_rows_in_any_container():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 1:] *= X[:, 1:] > 0
    rows = FittedRows(X)
    half = np.vstack([X[:50], X[:50] + 0.001])
    frame = pd.DataFrame(half, columns=["a", "b", "c"])
    for container in (half, sp.csr_array(half), frame, pl.from_pandas(frame), half.tolist()):
        assert rows.share(container) == 0.5
    assert FittedRows(X, np.r_[np.ones(20), np.zeros(80)]).share(X) == 0.2
    text = pd.DataFrame({"site": ["north", "south", None], "age": [1.0, np.nan, 3.0]})
    assert FittedRows(text).share(text[::-1]) == 1
    assert FittedRows(text[:1]).holds(text).tolist() == [True, False, False]
    assert FittedRows(np.empty((0, 0))).share(X) == 0


def test_equal_rows_by_chance_are_no_reason_to_refuse():
    # independent rows of a table with so many different ones are never refused in 1,500 tables;
    # the same rows again are found, unless most rows are alike anyway
    for n, n_new in ((50, 50), (500, 100), (200, 1000)):
        for values in (3, 30, 300, 3000, 10**9):
            refused, found = 0, 0
            for seed in range(100):
                rng = np.random.default_rng([seed, values, n])
                table = np.floor(values * rng.beta(1, 3, size=(n + n_new, 1)))
                rows = FittedRows(table[:n])
                refused += rows.known_beyond_chance(table[n:]) > 0
                found += rows.known_beyond_chance(table[:n]) == n
            assert refused == 0
            assert found == 100 or values <= 300


def _named(n, seed, mean=0.0):
    values = np.random.default_rng(seed).normal(mean, 1, size=(n, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_seen_rows_are_known_by_the_names_of_their_columns():
    # in another order, and with names that are no text
    X, new = _named(200, 0), _named(200, 1)
    y = X["a"].to_numpy()
    conformal = ConformalRegressor(FrozenEstimator(LinearRegression().fit(X, y)), SHIFT)
    numbered = X.set_axis([3, 1, 2], axis=1)
    for X_fit in (X[["c", "b", "a"]], pl.from_pandas(X[["b", "a", "c"]]), X.to_numpy()):
        with pytest.raises(ValueError, match="Got 200 of 200 calibration rows"):
            conformal.fit(X, y, X_fit=X_fit)
        assert conformal.fit(new, y, X_fit=X_fit).rows_checked_
    assert FittedRows(numbered).share(numbered[[1, 2, 3]]) == 1
    assert FittedRows(X).share(numbered) == 1  # other names: by position
    with pytest.raises(ValueError, match=r"Got X_fit with columns \['a', 'b', 'd'\] and X with"):
        conformal.fit(X, y, X_fit=X.rename(columns={"c": "d"}))


@pytest.mark.parametrize("change", [np.asarray, sp.csr_array, pd.DataFrame])
def test_seen_rows_are_known_after_a_trip_through_float32(change):
    X, new = _named(200, 0).to_numpy(), _named(200, 1).to_numpy()
    fine, short = change(X), change(X.astype(np.float32))
    for rows, again in ((fine, short), (short, fine), (fine, fine), (short, short)):
        assert FittedRows(rows).known_beyond_chance(again) == 200
        assert FittedRows(rows).known_beyond_chance(change(new)) == 0
    assert FittedRows(fine).share(short) == 0  # exactly
    model = FrozenEstimator(ImportanceWeighted(Ridge(), SHIFT).fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="Got 200 of 200 calibration rows"):
        ConformalRegressor(model, SHIFT).fit(X.astype(np.float32), X[:, 0])


def test_what_is_alike_in_float32_is_no_reason_to_refuse():
    # counters beyond 2**24, large numbers and small differences: many rows are one in float32
    for start, step in ((10**9, 1), (10**40, 10**36), (1.0, 1e-9)):
        table = (start + step * np.arange(1000.0))[:, None]
        fitted, new = np.split(np.random.default_rng(0).permutation(table), 2)
        assert FittedRows(fitted).known_beyond_chance(new) == 0
        assert FittedRows(fitted).known_beyond_chance(fitted) == 500


def test_what_could_not_be_checked_is_said():
    X, y = _regression(200, 0)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    unknown = ConformalRegressor(FrozenEstimator(forest), SHIFT).fit(X, y)
    assert unknown.rows_checked_ is False
    assert "not checked whether the model was fitted to these" in str(unknown.report(X))
    assert unknown.report(X).to_dict()["rows_checked"] is False
    named = clone(unknown).fit(*_regression(200, 1), X_fit=X)
    neighbours = KNeighborsRegressor().fit(X, y)
    told = ConformalRegressor(FrozenEstimator(neighbours), SHIFT).fit(*_regression(200, 1))
    for model in (named, told, ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)):
        assert model.rows_checked_ is True
        assert "not checked" not in str(model.report(X))


def test_the_fitted_rows_survive_pickling_and_not_cloning():
    X, y = _regression(100, 0)
    for model in (ImportanceWeighted(Ridge(), SHIFT), ImportanceWeightedCV(Ridge(), SHIFT)):
        pickled = pickle.loads(pickle.dumps(model.fit(X, y)))
        assert pickled._fitted_rows.share(X) == 1
        assert not hasattr(clone(pickled), "_fitted_rows")


# --- models and ratios -------------------------------------------------------------------------


def test_a_fitted_model_must_be_frozen():
    X, y = _regression(100, 0)
    with pytest.raises(ValueError, match=r"fitted but not frozen.*FrozenEstimator\(estimator\)"):
        ConformalRegressor(Ridge().fit(X, y), SHIFT).fit(X, y)
    with pytest.raises(TypeError, match=r"Got the class Ridge.*write Ridge\(\)"):
        ConformalRegressor(Ridge, SHIFT).fit(X, y)


def test_a_frozen_model_is_left_as_it_is():
    inner = Ridge().fit(*_regression(100, 0))
    X, y = _regression(150, 1)
    model = ConformalRegressor(FrozenEstimator(inner), SHIFT).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), inner.predict(X))
    np.testing.assert_allclose(model.scores_, np.abs(y - inner.predict(X)))
    assert model.score(X, y) == inner.score(X, y)
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("ratio", [None, ULSIF(), ClassifierRatio()])
def test_a_ratio_is_fitted_to_all_rows_and_the_target(ratio):
    X, y = _regression(200, 0)
    X_target = _regression(100, 1, mean=0.5)[0]
    model = ConformalRegressor(Ridge(), ratio, random_state=0).fit(X, y, X_target=X_target)
    expected = fit_ratio(X, X_target, ratio)
    np.testing.assert_allclose(model.ratio_.score_samples(X), expected.score_samples(X))
    frozen = ConformalRegressor(Ridge(), FrozenEstimator(expected), random_state=0).fit(X, y)
    np.testing.assert_allclose(frozen.predict_interval(X), model.predict_interval(X))


def test_an_inner_weighted_model_shares_the_ratio_or_has_its_own():
    X, y = _regression(400, 0)
    X_target = _regression(200, 1, mean=0.5)[0]
    shared = ConformalRegressor(ImportanceWeighted(Ridge()), ClassifierRatio(), random_state=0)
    shared.fit(X, y, X_target=X_target)
    assert shared.estimator_.ratio_.estimator is shared.ratio_
    known = ConformalRegressor(ImportanceWeightedCV(Ridge(), random_state=0), SHIFT, random_state=0)
    assert known.fit(X, y).estimator_.log_ratio_.size == 200
    inner = ImportanceWeighted(Ridge(), ClassifierRatio())
    own = ConformalRegressor(inner, ULSIF(), random_state=0)
    own.fit(X, y, np.ones(400), X_target=X_target)
    assert isinstance(own.estimator_.ratio_, ClassifierRatio)
    # the rows it was calibrated on are not among those it was fitted to
    assert own.estimator_._fitted_rows.share(X) == 0.5


def test_bad_ratios_are_refused():
    X, y = _regression(100, 0)
    ratio = KnownRatio(lambda X: np.full(len(X), np.inf))
    with pytest.raises(ValueError, match=r"infinite at 50 calibration rows.*sample_weight 0"):
        ConformalRegressor(Ridge(), ratio).fit(X, y)
    model = ConformalRegressor(Ridge(), KnownRatio(lambda X: np.where(X[:, 0] > 9, np.nan, 0)))
    with pytest.raises(ValueError, match="NaN at 1 of 2 rows"):
        model.fit(X, y).predict_interval([[10.0], [1.0]])


def test_wrong_kinds_of_models_and_labels():
    X, y = _regression(100, 0)
    X_class, classes = _classification(100, 0)
    with pytest.raises(TypeError, match=r"Got the classifier LogisticRegression.*Classifier"):
        ConformalRegressor(LogisticRegression(), SHIFT).fit(X, classes)
    for inner in (SVC(), Ridge()):
        with pytest.raises(TypeError, match=r"no predict_proba.*Regressor"):
            ConformalClassifier(inner, SHIFT).fit(X_class, classes)
    with pytest.raises(ValueError, match="Got method='raps', but expected 'lac' or 'aps'"):
        ConformalClassifier(LogisticRegression(), SHIFT, method="raps").fit(X_class, classes)
    with pytest.raises(ValueError, match=r"Got y of shape \(100, 2\).*each output"):
        ConformalRegressor(Ridge(), SHIFT).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="Got X with 100 rows and y with 99"):
        ConformalRegressor(Ridge(), SHIFT).fit(X, y[1:])
    with pytest.raises(ValueError, match="y is None"):
        ConformalRegressor(Ridge(), SHIFT).fit(X, None)
    frozen = FrozenEstimator(LogisticRegression().fit(X_class, classes))
    with pytest.raises(ValueError, match=r"Got labels \[7\] that the model does not know"):
        ConformalClassifier(frozen, SHIFT).fit(X[:50], np.r_[np.full(25, 7), classes[:25]])
    two = FrozenEstimator(Ridge().fit(X, np.c_[y, y]))
    with pytest.raises(ValueError, match=r"predict has shape \(50, 2\), not"):
        ConformalRegressor(two, SHIFT).fit(X[:50], y[:50])
    column = FrozenEstimator(Ridge().fit(X, y[:, None]))
    assert ConformalRegressor(column, SHIFT).fit(X, y).predict_interval(X).shape == (100, 2)


@pytest.mark.parametrize("estimator", [None, "linear", 3])
def test_what_is_no_model(estimator):
    with pytest.raises(TypeError, match=r"Got estimator=.*Regressor\(LinearRegression\(\)\)"):
        ConformalRegressor(estimator, SHIFT).fit(*_regression(100, 0))
    with pytest.raises(TypeError, match=r"Got estimator=.*Classifier\(LogisticRegression\(\)\)"):
        ConformalClassifier(estimator, SHIFT).fit(*_classification(100, 0))


def test_labels_that_no_model_can_learn():
    X, y = _regression(100, 0)
    numbers, sets = ConformalRegressor(Ridge(), SHIFT), ConformalClassifier(LogisticRegression())
    sets.set_params(ratio=SHIFT)
    text = np.where(y > 1, "up", "down")
    for labels in (text, text.astype(object), y.astype(str), np.array([*y[1:], "x"], dtype=object)):
        with pytest.raises(ValueError, match=r"Got y with labels that are not numbers.*Classifier"):
            numbers.fit(X, labels)
    for gap in (None, np.nan, pd.NA):
        missing = np.array([gap, *text[1:]], dtype=object)
        with pytest.raises(ValueError, match="missing values in 1 of 100 rows"):
            sets.fit(X, missing)
    with pytest.raises(ValueError, match="missing values in 1 of 100 rows"):
        numbers.fit(X, np.array([None, *y[1:]], dtype=object))
    assert numbers.fit(X, y.astype(object)).n_calibration_ == 50
    with pytest.raises(ValueError, match="Got y with text and numbers in it"):
        sets.fit(X, np.array([1, *text[1:]], dtype=object))
    with pytest.raises(ValueError, match=r"Got y with only one class \('up'\)"):
        sets.fit(X, np.full(100, "up"))
    # a model that is fitted may be calibrated on one class
    frozen = FrozenEstimator(LogisticRegression().fit(X, text))
    assert ConformalClassifier(frozen, SHIFT).fit(X[:50], np.full(50, "up")).n_calibration_ == 50


def test_no_rows_to_report_on():
    X, y = _regression(100, 0)
    model = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    for table in (X[:0], []):
        for method in (model.report, model.predict_interval):
            with pytest.raises(ValueError, match=r"Got X with 0 samples \(rows\)"):
                method(table)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, np.nan])
def test_coverage_is_checked(coverage):
    with pytest.raises(ValueError, match=r"Got coverage=.*between 0 and 1"):
        ConformalRegressor(Ridge(), SHIFT, coverage=coverage).fit(*_regression(100, 0))


def test_coverage_may_change_after_fit_and_method_takes_a_new_one():
    X, y = _regression(300, 0)
    model = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    wide = np.diff(model.predict_interval(X))
    narrow = np.diff(model.set_params(coverage=0.5).predict_interval(X))
    assert (narrow < wide).all()
    X, y = _classification(300, 0)
    sets = ConformalClassifier(LogisticRegression(), SHIFT, random_state=0).fit(X, y)
    before = sets.predict_set(X)
    np.testing.assert_array_equal(sets.set_params(method="aps").predict_set(X), before)


def test_before_fit():
    for model in (ConformalRegressor(Ridge(), SHIFT), ConformalClassifier(SVC(), SHIFT)):
        for method in ("report", "predict_interval", "predict_set"):
            if hasattr(model, method):
                with pytest.raises(NotFittedError):
                    getattr(model, method)([[0.0]])


# --- the report --------------------------------------------------------------------------------


def test_report_of_intervals():
    X, y = _regression(400, 0)
    model = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    rows = np.r_[X, [[1e3]] * 100]
    report = model.report(rows)
    width = np.diff(model.predict_interval(rows))[:, 0]
    assert report == ConformalReport(
        coverage=0.9,
        n_calibration=200,
        ess=model.ess_,
        n_rows=500,
        infinite_share=np.isinf(width).mean(),
        mean_width=report.mean_width,
    )
    assert report.mean_width == pytest.approx(width[np.isfinite(width)].mean(), rel=1e-12)
    assert json.loads(json.dumps(report.to_dict()))["n_calibration"] == 200
    assert str(report).startswith("target coverage 0.9; 200 calibration rows, ")
    assert "20.0% of 500 intervals are infinite; the others are " in str(report)
    assert model.report([[1e3]]).mean_width is None


def test_report_of_sets():
    X, y = make_classification(400, n_informative=3, n_redundant=0, random_state=0)
    model = ConformalClassifier(LogisticRegression(), NONE, coverage=0.5, random_state=0).fit(X, y)
    sizes, report = model.predict_set(X).sum(axis=1), model.report(X)
    assert report.mean_size == sizes.mean()
    assert report.empty_share == (sizes == 0).mean() > 0
    assert report.infinite_share == 0
    assert "0.0% of 400 sets are infinite, " in str(report)
    assert str(report).endswith(" classes on average")


def test_mostly_infinite_sets_are_announced():
    X, y = _regression(400, 0)
    ratio = KnownRatio(lambda X: 8 * X[:, 0])
    model = ConformalRegressor(Ridge(), ratio, random_state=0)
    with pytest.warns(OverlapWarning, match=r"WB307 \d+ % of the prediction sets"):
        model.fit(X, y)
    finding = model.report(X + 8).findings[0]
    assert (finding.code, finding.level) == ("WB307", "warning")
    assert "100 % of the prediction sets on the target are infinite" in finding.message
    assert re.search(
        r"200 calibration rows have \d\.\d effective rows, and 0.9 coverage takes at least 9",
        finding.message,
    )
    assert str(finding) in str(model.report(X + 8))
    assert json.loads(json.dumps(model.report(X + 8).to_dict()))["findings"][0]["code"] == "WB307"
    assert not model.report(X - 8).findings
    # eight rows cannot give intervals of 90 %, nine can
    for n in (8, 9):
        few = ConformalRegressor(FrozenEstimator(Ridge().fit(X, y)), NONE)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            few.fit(*_regression(n, 1))
        assert len(caught) == (n == 8)


def test_a_target_sample_is_asked_where_there_is_one():
    # the ratio is even on the source rows: only the target sample shows that it is not there
    X, y = _regression(400, 0)
    # two hundred rows of equal weights are enough for others like them: the text must not say no
    words = r"WB307 100 %.* 200\.0 effective rows, enough for 0\.9 .* a far larger ratio"
    with pytest.warns(OverlapWarning, match=words):
        ConformalRegressor(Ridge(), Capped(), random_state=0).fit(X, y, X_target=X + 20)


class Capped(ClassifierRatio):
    """Knows that the target is elsewhere."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score_samples(self, X):
        return np.where(np.asarray(X)[:, 0] > 10, 20.0, 0.0)


def test_a_frozen_ratio_of_samples_apart_is_announced():
    X, y = _regression(200, 0)
    with pytest.warns(OverlapWarning, match="WB302"):
        ratio = FrozenEstimator(fit_ratio(X, X + 20, ClassifierRatio()))
    with pytest.warns(OverlapWarning, match="WB302"):
        ConformalRegressor(Ridge(), ratio, random_state=0).fit(X, y)


def test_expected_share_of_infinite_sets():
    # one row of weight 30 beside 70 of weight 1: a new row like it has 30 / 130 of the mass
    weights = np.r_[30.0, np.ones(70)]
    assert infinite_share_expected(weights, 0.9) == pytest.approx(0.3)
    assert infinite_share_expected(weights, 0.7) == 0
    # N(0,1) -> N(mu,1): the same as found on fresh target rows
    X, y = _regression(400, 0)
    model = ConformalRegressor(Ridge(), KnownRatio(lambda X: 3 * X[:, 0]), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        model.fit(X, y)
    found = model.report(np.random.default_rng(1).normal(3, 1, size=(1000, 1))).infinite_share
    expected = infinite_share_expected(model.calibration_weights_, 0.9)
    assert (found > 0.5) == (expected > 0.5)


# --- as a scikit-learn estimator ----------------------------------------------------------------


GENTLE = KnownRatio(GentleLogRatio())


few_rows = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")


@few_rows
@parametrize_with_checks(
    [
        ConformalRegressor(Ridge(), GENTLE, random_state=0),
        ConformalClassifier(LogisticRegression(), GENTLE, random_state=0),
    ]
)
def test_common_checks(estimator, check):
    check_with_held_out_rows(estimator, check)


@few_rows
@pytest.mark.more
@parametrize_with_checks(
    [
        ConformalRegressor(make_pipeline(StandardScaler(), Ridge()), GENTLE, random_state=0),
        ConformalClassifier(
            RandomForestClassifier(10, random_state=0), GENTLE, method="aps", random_state=0
        ),
    ]
)
def test_common_checks_of_other_models(estimator, check):
    check_with_held_out_rows(estimator, check)


def test_kind_and_nested_parameters():
    regressor = ConformalRegressor(Ridge())
    assert is_regressor(regressor)
    assert is_classifier(ConformalClassifier(LogisticRegression()))
    assert is_regressor(ConformalRegressor(FrozenEstimator(Ridge())))
    nested = clone(regressor).set_params(estimator__alpha=2.0, ratio__n_jobs=1, coverage=0.8)
    assert nested.estimator.alpha == 2


@pytest.mark.parametrize("routing", [False, True])
def test_inside_cross_validation(routing):
    X, y = _regression(200, 0)
    with config_context(enable_metadata_routing=routing):
        model = ConformalRegressor(Ridge(), SHIFT, random_state=0)
        assert cross_val_score(model, X, y).shape == (5,)
        weighted = ConformalRegressor(ImportanceWeighted(Ridge()), SHIFT, random_state=0)
        assert weighted.fit(X, y, sample_weight=np.ones(200)).n_calibration_ == 100


def test_data_frames_and_a_failed_fit():
    X, y = _regression(200, 0)
    for frame in (pd.DataFrame({"x": X[:, 0]}), pl.DataFrame({"x": X[:, 0]})):
        model = ConformalRegressor(LinearRegression(), SHIFT, random_state=0).fit(frame, y)
        assert model.feature_names_in_.tolist() == ["x"]
        expected = ConformalRegressor(LinearRegression(), SHIFT, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_interval(frame), expected.predict_interval(X))
    before = vars(model).copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(frame, np.full(200, np.nan))
    assert vars(model) == before


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas])
def test_columns_of_the_target_are_matched_by_name(convert):
    X, X_target = _named(300, 0), _named(200, 1, mean=0.3)
    y, turned = X["a"].to_numpy() ** 2, X_target[["c", "a", "b"]]
    for inner in (LinearRegression(), ImportanceWeighted(LinearRegression(), ULSIF())):
        model = ConformalRegressor(inner, ClassifierRatio(), random_state=0)
        expected = model.fit(convert(X), y, X_target=convert(X_target)).predict_interval(convert(X))
        model.fit(convert(X), y, X_target=convert(turned))
        np.testing.assert_array_equal(model.predict_interval(convert(X)), expected)
    with pytest.raises(ValueError, match=r"other columns than X: missing \['c'\]"):
        model.fit(convert(X), y, X_target=convert(turned.drop(columns="c")))
