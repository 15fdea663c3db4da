"""Conformal prediction under label shift: a limit for each class, and coverage."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from conformal_problems import NONE, covered_share
from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import ClassFrequencies, LabelRatio
from weighbridge.ratios import KnownRatio

NAMES = np.array(["early", "late", "never"])
SOURCE, TARGET = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])
CENTRES, SPREAD = np.array([0.0, 1.5, 3.0]), np.array([0.5, 1.0, 1.5])


def _draw(n, shares, seed):
    """Three classes on a line, the later the less certain, with the given frequencies."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, n, p=shares)
    return rng.normal(CENTRES[codes], SPREAD[codes])[:, None], NAMES[codes]


def _known(labels, source, target):
    """A ratio in the label whose frequencies are given, not estimated."""
    ratio = LabelRatio()
    ratio.classes_, ratio.bin_medians_ = np.asarray(labels), None
    ratio.class_weights_ = np.divide(target, source)
    ratio.frequencies_ = ClassFrequencies(tuple(labels), source, target, target, target)
    return FrozenEstimator(ratio)


TRUE = _known(NAMES, SOURCE, TARGET)


def _limit_by_hand(scores, weights, own, coverage):
    """The smallest score below which lies the coverage of all masses, the new row's included."""
    for score in np.sort(scores):
        if weights[scores <= score].sum() >= coverage * (weights.sum() + own) * (1 - 1e-12):
            return score
    return math.inf


@pytest.mark.parametrize("method", ["lac", "aps"])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_limit_of_a_class_follows_its_weight(method, coverage):
    X, y = _draw(120, SOURCE, 0)
    model = LogisticRegression().fit(*_draw(300, SOURCE, 1))
    sets = ConformalClassifier(FrozenEstimator(model), TRUE, coverage=coverage, method=method)
    X_new = np.linspace(-2, 6, 50)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        sets.fit(X, y)
    found, p = sets.predict_set(X_new), model.predict_proba(X_new)
    is_likelier = p[:, None, :] > p[:, :, None]
    scores = 1 - p if method == "lac" else (p[:, None, :] * is_likelier).sum(axis=2) + p / 2
    w = dict(zip(NAMES, TARGET / SOURCE, strict=True))
    weights = np.array([w[label] for label in y])
    np.testing.assert_allclose(sets.calibration_weights_, weights / weights.mean())
    for k, label in enumerate(NAMES):
        limit = _limit_by_hand(sets.scores_, weights, w[label], coverage)
        np.testing.assert_array_equal(found[:, k], scores[:, k] <= limit)


def test_equal_weights_give_ordinary_split_conformal_sets_and_intervals():
    X, y = _draw(400, SOURCE, 2)
    same = _known(NAMES, SOURCE, SOURCE)
    X_new = np.linspace(-2, 6, 50)[:, None]
    by_label, plain = (
        ConformalClassifier(LogisticRegression(), ratio, random_state=0).fit(X, y)
        for ratio in (same, NONE)
    )
    np.testing.assert_array_equal(by_label.predict_set(X_new), plain.predict_set(X_new))
    assert by_label.report(X_new).to_dict() == plain.report(X_new).to_dict()
    numbers = np.searchsorted(NAMES, y)
    same = _known([0, 1, 2], SOURCE, SOURCE)
    by_label, plain = (
        ConformalRegressor(LinearRegression(), ratio, random_state=0).fit(X, numbers)
        for ratio in (same, NONE)
    )
    np.testing.assert_allclose(by_label.predict_interval(X_new), plain.predict_interval(X_new))
    assert by_label.report(X_new).n_rows == 50


def _coverages(make, draws, n=400):
    found = []
    for seed in range(draws):
        X_target, y_target = _draw(600, TARGET, [7, seed])
        model = make(seed, *_draw(n, SOURCE, [8, seed]), X_target)
        found.append(covered_share(model, X_target, y_target))
    return np.mean(found), np.std(found) / math.sqrt(draws)


@pytest.mark.parametrize("method", ["lac", "aps"])
def test_coverage_with_the_true_weights_of_classes(method):
    def make(ratio):
        def fit(seed, X, y, X_target):
            model = ConformalClassifier(LogisticRegression(), ratio, method=method)
            return model.set_params(random_state=seed).fit(X, y)

        return fit

    mean, error = _coverages(make(TRUE), 150)
    # the new row's mass at infinity is at most 6 of about 200
    assert 0.9 - 3 * error < mean < 0.93 + 3 * error
    plain, error = _coverages(make(NONE), 40)
    assert plain < 0.9 - 10 * error


def _of_features(X):
    """The true log ratio of the features alone."""
    density = np.exp(-(((X - CENTRES) / SPREAD) ** 2) / 2) / SPREAD
    return np.log(density @ TARGET) - np.log(density @ SOURCE)


def test_coverage_with_estimated_weights_and_with_a_ratio_in_the_features():
    def make(ratio, **given):
        def fit(seed, X, y, X_target):
            model = ConformalClassifier(LogisticRegression(), ratio, random_state=seed)
            return model.fit(X, y, **({"X_target": X_target} if given else {}))

        return fit

    fast = LabelRatio(classifier=LogisticRegression())
    mean, error = _coverages(make(fast, X_target=True), 40, n=1000)
    assert 0.9 - 3 * error < mean < 0.93 + 3 * error
    of_features, error = _coverages(make(KnownRatio(_of_features)), 40, n=1000)
    assert of_features < 0.9 - 10 * error


def test_coverage_of_intervals_under_label_shift():
    # y ~ N(0, 1) here and N(1, 1) there, x = y + noise: a line through the source rows is biased
    held, plain = [], []
    fast = LabelRatio(classifier=LogisticRegression())
    for seed in range(20):
        rng = np.random.default_rng([9, seed])
        y, y_target = rng.normal(0, 1, 1000), rng.normal(1, 1, 1000)
        X, X_target = (part[:, None] + rng.normal(size=(1000, 1)) for part in (y, y_target))
        by_label = ConformalRegressor(LinearRegression(), fast, random_state=0)
        alike = ConformalRegressor(LinearRegression(), NONE, random_state=0)
        models = by_label.fit(X, y, X_target=X_target), alike.fit(X, y)
        for model, found in zip(models, (held, plain), strict=True):
            low, high = model.predict_interval(X_target).T
            found.append(np.mean((low <= y_target) & (y_target <= high)))
    error = np.std(held) / math.sqrt(20)
    assert 0.9 - 3 * error < np.mean(held) < 0.95  # all candidates have the largest weight
    assert np.mean(plain) < 0.85
    # one limit for all: that of the label with the largest weight
    of_labels = models[0].ratio_.score_labels(models[0].ratio_.frequencies_.classes)
    assert of_labels.max() >= models[0].ratio_.score_labels(y).max()
    masses = np.exp(models[0].ratio_.score_labels(y))
    weights = models[0].calibration_weights_ * masses.max() / models[0].calibration_weights_.max()
    limit = _limit_by_hand(models[0].scores_, weights, np.exp(of_labels.max()), 0.9)
    assert np.isin(weights.round(9), masses.round(9)).all()
    low, high = models[0].predict_interval(X_target).T
    np.testing.assert_allclose(high - low, 2 * limit)


def test_shift_auto_equals_the_kind_it_finds():
    X, y = _draw(600, SOURCE, 3)
    X_target, _ = _draw(600, TARGET, 4)
    auto = ConformalClassifier(LogisticRegression(), shift="auto", random_state=0)
    auto.fit(X, y, X_target=X_target)
    given = clone(auto).set_params(shift="label").fit(X, y, X_target=X_target)
    assert auto.shift_.kind == "label"
    assert given.shift_ is None
    assert isinstance(auto.ratio_, LabelRatio)
    np.testing.assert_array_equal(auto.predict_set(X_target), given.predict_set(X_target))
    copy = pickle.loads(pickle.dumps(auto))
    np.testing.assert_array_equal(auto.predict_set(X_target), copy.predict_set(X_target))
    assert clone(copy).get_params()["shift"] == "auto"
    moved = clone(auto).fit(X, y, X_target=X - 0.7)
    assert moved.shift_.kind == "covariate"
    assert not hasattr(moved.ratio_, "score_labels")
    numbers = ConformalRegressor(LinearRegression(), shift="auto", random_state=0)
    numbers.fit(X, X[:, 0] ** 2, X_target=X_target)
    assert numbers.shift_ is None
    assert not hasattr(numbers.ratio_, "score_labels")


def test_inner_model_uses_the_class_weights_by_default():
    X, y = _draw(300, SOURCE, 5)
    X_target, _ = _draw(300, TARGET, 6)
    fast = LabelRatio(classifier=LogisticRegression())
    inner = ImportanceWeighted(LogisticRegression())
    sets = ConformalClassifier(inner, fast, random_state=0).fit(X, y, X_target=X_target)
    of_classes = np.exp(sets.ratio_.score_labels(NAMES))
    found = np.unique(sets.estimator_.weights_)
    np.testing.assert_allclose(found / found[0], np.sort(of_classes) / of_classes.min())
    own = ImportanceWeightedCV(LogisticRegression(), shift="label", random_state=0)
    sets = ConformalClassifier(own, NONE, random_state=0)
    with pytest.raises(ValueError, match="needs X_target"):
        sets.fit(X, y)
    sets = ConformalClassifier(own, fast, random_state=0).fit(X, y, X_target=X_target)
    assert sets.estimator_.ratio_ is not sets.ratio_
    assert hasattr(sets.estimator_.ratio_, "score_labels")


def test_a_class_without_labelled_rows_is_in_every_set():
    X, y = _draw(300, SOURCE, 10)
    model = LogisticRegression().fit(*_draw(600, SOURCE, 11))
    few = y != "never"
    X_target, _ = _draw(300, [0.2, 0.8, 0], 12)
    sets = ConformalClassifier(FrozenEstimator(model), LabelRatio()).fit(
        X[few], y[few], X_target=X_target
    )
    found = sets.predict_set(X_target)
    assert found[:, 2].all()
    assert not found[:, 0].all()
    assert sets.report(X_target).infinite_share == 0


def test_fit_warns_if_most_of_the_target_has_infinite_limits():
    X, y = _draw(20, SOURCE, 13)
    model = FrozenEstimator(LogisticRegression().fit(*_draw(300, SOURCE, 14)))
    with pytest.warns(OverlapWarning, match=r"WB307 \d+ % of the target has classes"):
        sets = ConformalClassifier(model, TRUE, coverage=0.99).fit(X, y)
    report = sets.report(X)
    assert sets.predict_set(X).all(axis=0).tolist() == [False, True, True]
    assert (report.infinite_share, report.n_rows) == (0, 20)
    assert [finding.code for finding in report.findings] == ["WB307"]


def test_bad_inputs_under_label_shift():
    X, y = _draw(100, SOURCE, 15)
    with pytest.raises(ValueError, match="Got shift='both', but expected 'covariate', 'label' or"):
        ConformalClassifier(LogisticRegression(), shift="both").fit(X, y, X_target=X)
    for options in ({"shift": "label"}, {"shift": "label", "ratio": NONE}):
        with pytest.raises(ValueError, match="Got shift='label', which needs X_target"):
            ConformalClassifier(LogisticRegression(), **options).fit(X, y)
    with pytest.raises(ValueError, match="Got no target sample"):
        ConformalClassifier(LogisticRegression(), LabelRatio()).fit(X, y)
    two = _known(["early", "late"], [0.5, 0.5], [0.2, 0.8])
    with pytest.raises(ValueError, match="Got label 'never', which no training row had"):
        ConformalClassifier(LogisticRegression(), two, random_state=0).fit(X, y)
    mixed = np.array(["a", 1] * 50, dtype=object)
    with pytest.raises(ValueError, match="text and numbers"):
        ConformalClassifier(LogisticRegression(), LabelRatio()).fit(X, mixed, X_target=X)


def test_tables_with_text_and_rows_of_weight_0():
    X, y = _draw(400, SOURCE, 16)
    X_target, _ = _draw(300, TARGET, 17)
    weight = np.where(np.arange(400) < 40, 0.0, 1.0)
    fast = LabelRatio(classifier=LogisticRegression())
    sets = ConformalClassifier(LogisticRegression(), fast, random_state=0)
    sets.fit(X, y, weight, X_target=X_target)
    assert sets.n_calibration_ == 180
    doubled = clone(sets).fit(X, y, 2 * weight, X_target=X_target)
    np.testing.assert_allclose(sets.calibration_weights_, doubled.calibration_weights_)
    tables = [
        pd.DataFrame({"x": part[:, 0], "end": np.where(part[:, 0] > 1, "a", "b")})
        for part in (X, X_target)
    ]
    inner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["end"]), remainder="passthrough"),
        LogisticRegression(),
    )
    sets = ConformalClassifier(inner, shift="label", random_state=0)
    sets.fit(tables[0], y, X_target=tables[1])
    assert sets.predict_set(tables[1]).shape == (300, 3)
