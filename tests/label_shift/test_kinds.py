"""Which kind of shift it is, and the weights and expected errors that follow from it."""

import json
import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from test_prevalence import draw

from weighbridge import ImportanceWeighted, ImportanceWeightedCV, assess, diagnose
from weighbridge.label_shift import LabelRatio, kind_of_shift
from weighbridge.label_shift._kinds import _kind
from weighbridge.label_shift._prevalence import estimate_prevalence
from weighbridge.target_risk import estimate_risk
from weighbridge.target_risk._problem import LabelRatioInfluence

FAST = LabelRatio(classifier=LogisticRegression())


def problem(kind, seed=0, n=500):
    """Return X, y, X_target of a clear problem of a kind."""
    if kind == "unclear":  # a slight change of overlapping classes
        X, y = draw(600, [0.5, 0.5], seed + 3, distance=1)
        return X, y, draw(600, [0.35, 0.65], seed + 4, distance=1)[0]
    X, y = draw(n, [0.5, 0.3, 0.2], [seed, 1])
    if kind == "label":
        return X, y, draw(n, [0.1, 0.3, 0.6], [seed, 2])[0]
    X_target, _ = draw(n, [0.5, 0.3, 0.2], [seed, 2])
    return X, y, X_target + (0.7 if kind == "covariate" else 0)


WORDS = {
    "label": "The mix of classes changed (2: ",
    "covariate": "The features changed",
    "none": "No shift",
    "unclear": "The rows do not show whether",
}


@pytest.mark.parametrize(("kind", "seed"), [*product(list(WORDS)[:3], (0, 1)), ("unclear", 0)])
def test_problems_are_distinguished(kind, seed):
    result = kind_of_shift(*problem(kind, seed))
    assert result.kind == kind
    assert str(result).startswith(WORDS[kind])
    if kind == "label":
        mix = result.frequencies
        half = np.subtract(mix.high, mix.low) / 2
        assert (np.abs(np.subtract(mix.target, [0.1, 0.3, 0.6])) < 2 * half).all()
        assert result.against < 0 < 3 < result.gain
    assert json.loads(json.dumps(result.to_dict()))["kind"] == kind
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("gain", "against", "added", "best_gain", "share", "kind"),
    [
        (9, -1, 0, 9, 1.1, "label"),
        (9, -1, 3, 9, 1.1, "unclear"),  # An alternative adds something.
        (9, 0.4, 0, 9, 1.0, "label"),  # A tie.
        (9, 0.6, 0, 9, 1.0, "unclear"),
        (9, 2, 4, 9, 0.5, "covariate"),
        (9, 2, 4, 9, 0.98, "unclear"),  # Beaten, but by next to nothing.
        (0, 2, 2, 1.9, 0.1, "unclear"),
        (2, -1, 0, 0, 1.0, "unclear"),
        (0.5, -1, 0, 0.5, 1.0, "none"),
        (-3, 2, 0, -1, 1.0, "none"),
    ],
)
def test_kind_follows_the_rule(gain, against, added, best_gain, share, kind):
    assert _kind(gain, against, added, best_gain, share) == kind


def test_order_of_rows_and_names_of_classes_do_not_matter():
    X, y, X_target = problem("label")
    first = kind_of_shift(X, y, X_target)
    rows, rows_target = (np.random.default_rng(seed).permutation(len(y)) for seed in (5, 6))
    names = np.array(["z", "y", "x"])[y[rows]]
    other = kind_of_shift(X[rows], names, X_target[rows_target])
    assert other.kind == first.kind == "label"
    assert other.frequencies.classes == ("x", "y", "z")
    assert other.frequencies.target[::-1] == pytest.approx(first.frequencies.target, abs=1e-4)
    assert (other.gain, other.against) == pytest.approx((first.gain, first.against), rel=1e-2)


@pytest.mark.parametrize("kind", ["label", "covariate"])
def test_estimators_and_verdicts_follow_the_kind(kind):
    X, y, X_target = problem(kind)
    auto = ImportanceWeightedCV(LogisticRegression(), shift="auto", random_state=0)
    auto.fit(X, y, X_target=X_target)
    assert auto.shift_.kind == kind
    assert hasattr(auto.ratio_, "score_labels") == (kind == "label")
    given = clone(auto).set_params(shift=kind).fit(X, y, X_target=X_target)
    assert given.shift_ is None
    np.testing.assert_allclose(auto.weights_, given.weights_)
    np.testing.assert_allclose(auto.predict_proba(X_target), given.predict_proba(X_target))
    verdict = assess(LogisticRegression(), X, y, X_target, random_state=0)
    assert verdict.sentence.startswith("The mix of classes changed") == (kind == "label")
    if kind == "label":
        assert len(np.unique(auto.log_ratio_.round(9))) == 3


def test_class_weights_times_sample_weights_reach_the_fit():
    X, y, X_target = problem("label", n=300)
    names = np.array(["low", "mid", "top"])[y]
    sample_weight = np.where(np.arange(300) < 100, 0.0, 2.0)
    model = ImportanceWeighted(LogisticRegression(), FAST)
    model.fit(X, names, sample_weight, X_target=X_target)
    ratio = clone(FAST).fit(X, names, X_target)
    weights = np.exp(ratio.score_labels(names))
    np.testing.assert_allclose(weights, np.array(ratio.frequencies_.weights)[y])
    by_hand = LogisticRegression().fit(
        X[100:], names[100:], (2 * weights / np.average(weights, weights=sample_weight))[100:]
    )
    np.testing.assert_allclose(model.estimator_.coef_, by_hand.coef_, atol=1e-3)
    tuned = ImportanceWeightedCV(LogisticRegression(), shift="label", random_state=0)
    tuned.fit(X, names, sample_weight, X_target=X_target)
    few = assess(
        LogisticRegression(), X, names, X_target, sample_weight=sample_weight, shift="label"
    )
    assert few.sentence.startswith("The mix of classes changed")
    assert tuned.best_weighting_.lam == 1


def test_label_ratio_is_cloned_pickled_and_reads_any_table():
    X, y, X_target = problem("label", n=300)
    ratio = clone(LabelRatio("bbse", classifier=GaussianNB(), cv=3)).fit(X, y, X_target)
    assert ratio.get_params()["cv"] == 3
    copy = pickle.loads(pickle.dumps(ratio))
    np.testing.assert_array_equal(copy.score_samples(X_target), ratio.score_samples(X_target))
    np.testing.assert_array_equal(copy.score_labels(y), ratio.score_labels(y))
    assert not hasattr(clone(copy), "frequencies_")
    assert clone(FrozenEstimator(ratio)).frequencies_ == ratio.frequencies_
    # the ratio of features is the mean weight of a row's classes
    assert np.exp(ratio.score_samples(X)).mean() == pytest.approx(1, abs=0.05)
    frames = [pd.DataFrame(part, columns=list("abc")) for part in (X, X_target)]
    text = [frame.assign(a=np.where(frame.a > 1, "high", "low")) for frame in frames]
    by_text = LabelRatio().fit(text[0], y, text[1])
    assert by_text.score_samples(text[1][["c", "b", "a"]]) == pytest.approx(
        by_text.score_samples(text[1])
    )
    matrix = LabelRatio().fit(sp.csr_matrix(X), y, sp.csr_matrix(X_target))
    assert matrix.frequencies_.target == pytest.approx([0.1, 0.3, 0.6], abs=0.12)


def test_numbers_are_weighted_to_a_known_mean():
    rng = np.random.default_rng(6)
    y, y_target = rng.normal(0, 1, 2000), rng.normal(0.5, 1, 2000)
    X, X_target = (part[:, None] + rng.normal(size=(2000, 1)) for part in (y, y_target))
    fast = LabelRatio(bins=10, classifier=LogisticRegression())
    model = ImportanceWeighted(LinearRegression(), fast).fit(X, y, X_target=X_target)
    assert np.average(y, weights=model.weights_) == pytest.approx(0.5, abs=0.1)
    # free weights of bins that the features hardly tell apart would be worse than none
    truth = np.exp(0.5 * y - 0.125)
    assert np.mean((model.weights_ - truth) ** 2) < 0.5 * np.mean((1 - truth) ** 2)
    middles = np.array(model.ratio_.frequencies_.classes)
    log_weights = model.ratio_.score_labels(middles)
    assert np.all(np.diff(log_weights) > 0)  # as those of the truth


@pytest.mark.parametrize("used", [None, np.arange(0, 90, 2)])
def test_influence_of_class_weights_equals_leaving_rows_out(used):
    rng = np.random.default_rng(8)
    codes, codes_target = rng.integers(0, 3, 90), rng.choice(3, 80, p=[0.2, 0.3, 0.5])
    source, target = (
        softmax(2 * np.eye(3)[each] + rng.normal(size=(each.size, 3)), axis=1)
        for each in (codes, codes_target)
    )

    def fitted(source, target, codes):
        made = SimpleNamespace(source=source, target=target, codes=codes)
        made.priors = np.bincount(codes) / codes.size
        estimate = estimate_prevalence(made, "bbse")
        return SimpleNamespace(
            estimate_=estimate,
            class_weights_=estimate.target / made.priors,
            probabilities_=made,
            class_shares=lambda y: np.eye(3)[y],
        )

    whole = fitted(source, target, codes)
    y = codes if used is None else codes[used]
    influence = LabelRatioInfluence(whole, y, used)
    contributions = rng.normal(size=y.size)
    of_source, of_target = influence.of_mean(contributions)

    def total(ratio):
        return contributions @ np.log(ratio.class_weights_)[y]

    left = np.array(
        [total(fitted(np.delete(source, i, 0), target, np.delete(codes, i))) for i in range(90)]
    )
    moved = (89 / 90 * (total(whole) - left))[slice(None) if used is None else used]
    assert np.corrcoef(moved, of_source)[0, 1] > 0.999
    np.testing.assert_allclose(of_source, moved, atol=0.1 * np.abs(moved).max())
    left = np.array([total(fitted(source, np.delete(target, i, 0), codes)) for i in range(80)])
    moved = 79 / 80 * (total(whole) - left)
    np.testing.assert_allclose(of_target, moved, atol=0.1 * np.abs(moved).max())
    everything = influence.log_ratio_change(np.ones((y.size, 1)), np.ones((80, 1)))
    np.testing.assert_allclose(
        contributions @ everything, of_source.sum() + of_target.sum(), atol=1e-9
    )


def test_expected_error_under_label_shift_covers_the_truth():
    n_covered = 0
    for seed in range(15):
        X, y = draw(500, [0.8, 0.2], [9, seed], distance=1.2)
        X_target, _ = draw(500, [0.2, 0.8], [10, seed], distance=1.2)
        X_new, y_new = draw(20_000, [0.2, 0.8], [11, seed], distance=1.2)
        risk = estimate_risk(LogisticRegression(), X, y, X_target, ratio=FAST, random_state=0)
        truth = np.mean(LogisticRegression().fit(X, y).predict(X_new) != y_new)
        n_covered += risk.estimate.low <= truth <= risk.estimate.high
    assert n_covered >= 12  # of 15 at 95 %: fewer in 5 of 10,000 tries


def test_rows_of_weight_0_and_ratios_of_other_rows_are_accepted():
    X, y = draw(400, [0.5, 0.5], 21)
    X_target = draw(300, [0.8, 0.2], 22)[0]
    sample_weight = np.repeat([0.0, 1.0], [40, 360])
    model = LogisticRegression()
    verdict = assess(model, X, y, X_target, sample_weight=sample_weight, random_state=0)
    assert verdict.expect is not None
    # a ratio fitted to other target rows: its sample_weight error is not known row by row
    ratio = LabelRatio(classifier=GaussianNB()).fit(X, y, X_target)
    other = estimate_risk(model, X, y, X_target[:200], ratio=ratio, random_state=0)
    same = estimate_risk(model, X, y, X_target, ratio=ratio, random_state=0)
    assert other.estimate.standard_error > 0
    assert other.estimate.value == pytest.approx(same.estimate.value, abs=0.05)


def test_model_decides_between_numbers_and_many_classes():
    rng = np.random.default_rng(23)
    y = np.repeat(np.arange(60), 10)
    X = np.column_stack([y % 8, y // 8]) + 0.3 * rng.normal(size=(600, 2))
    fast = LabelRatio(classifier=GaussianNB(), cv=2)
    ratio = ImportanceWeighted(GaussianNB(), fast).fit(X, y, X_target=X[:300]).ratio_
    assert ratio.frequencies_.classes == tuple(range(60))
    z = rng.poisson(200, 300)  # counts of many values, for a regressor
    Z = z[:, None] + rng.normal(size=(300, 2))
    numbers = assess(LinearRegression(), Z, z, Z[z > 200], shift="label", random_state=0)
    assert "classes" not in numbers.sentence
    # A model with a given shift keeps it.
    X, y = draw(300, [0.5, 0.5], 24)
    model = ImportanceWeightedCV(LogisticRegression(), shift="label", random_state=0)
    classes = assess(model, X, y, draw(300, [0.6, 0.4], 25)[0], random_state=0)
    assert numbers._problem.by_label
    assert classes._problem.by_label


def test_a_column_without_values_in_the_source_does_no_harm_beside_labels():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 3)), rng.normal(size=(260, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 2] = np.nan
    assert np.isfinite(LabelRatio().fit(X, y, X_target).frequencies_.target).all()
    assert "WB114" in {finding.code for finding in diagnose(X, X_target, y=y).findings}
