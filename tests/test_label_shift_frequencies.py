"""Class frequencies of the target: each method by an independent way, its errors by resampling."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from weighbridge.label_shift import (
    ClassFrequencies,
    LabelRatio,
    _frequencies,
    class_frequencies,
)
from weighbridge.label_shift._chances import Calibration, ClassChances
from weighbridge.label_shift._frequencies import Frequencies, most_likely

METHODS = ["em", "bbse", "rlls"]


def draw(n, shares, seed, apart=2.0):
    """Normal classes at the corners of a simplex, with the given frequencies."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(shares), n, p=shares)
    return apart * np.eye(len(shares))[codes] + rng.normal(size=(n, len(shares))), codes


def forecasts(n, m, k, seed):
    """Probabilities of both samples as a model gives them, and the classes of the source."""
    rng = np.random.default_rng(seed)
    codes, codes_target = rng.integers(0, k, n), rng.choice(k, m, p=rng.dirichlet(np.full(k, 5)))
    source, target = (
        softmax(1.5 * np.eye(k)[each] + rng.normal(size=(each.size, k)), axis=1)
        for each in (codes, codes_target)
    )
    priors = np.bincount(codes) / n
    return SimpleNamespace(
        source=source, target=target, targets=target[None], codes=codes, priors=priors
    )


@pytest.mark.parametrize("k", [2, 3, 5])
def test_expectation_maximisation_finds_the_largest_likelihood(k):
    made = forecasts(200, 150, k, k)
    found = most_likely(made.target, made.priors)

    def loss(q):
        return -np.log(made.target @ (np.asarray(q) / made.priors)).sum()

    whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
    best = minimize(loss, made.priors, bounds=[(0, 1)] * k, constraints=whole, tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert loss(found) <= best.fun + 1e-6


@pytest.mark.parametrize("k", [2, 4])
def test_black_box_estimation_solves_the_confusion_system(k):
    made = forecasts(400, 300, k, 10 + k)
    confusion = np.array([made.source[made.codes == c].mean(axis=0) for c in range(k)]).T
    by_hand = np.linalg.solve(confusion, made.target.mean(axis=0))
    by_hand = np.maximum(by_hand, 0) / np.maximum(by_hand, 0).sum()
    np.testing.assert_allclose(Frequencies.estimated(made, "bbse").target, by_hand)


def test_the_regularised_form_lies_between_no_change_and_the_plain_one():
    few, many = (forecasts(n, n, 3, 20) for n in (60, 60_000))
    for made, share in ((few, 0.99), (many, 1.0)):
        away = [
            np.linalg.norm(Frequencies.estimated(made, method).target / made.priors - 1)
            for method in ("rlls", "bbse")
        ]
        assert 0 < away[0] < share * away[1]
    assert away[0] == pytest.approx(away[1], rel=0.01)


def _calibrated(source, target, codes):
    calibration = Calibration(source, codes)
    return SimpleNamespace(
        source=calibration.apply(source),
        target=calibration.apply(target),
        targets=calibration.apply(target)[None],
        codes=codes,
        priors=np.bincount(codes) / codes.size,
    )


def _as_they_are(source, target, codes):
    return SimpleNamespace(
        source=source,
        target=target,
        targets=target[None],
        codes=codes,
        priors=np.bincount(codes) / codes.size,
    )


@pytest.mark.parametrize(("method", "made"), [("em", _calibrated), ("bbse", _as_they_are)])
@pytest.mark.parametrize("k", [2, 3])
def test_errors_by_leaving_rows_out(method, made, k, monkeypatch):
    # what is taken off for a misfit has its own, smaller error, which its square stands for
    monkeypatch.setattr(_frequencies, "_CORRECTED", 0.0)
    # for the likelihood with probabilities that are calibrated again: the errors of both are one
    raw = forecasts(150, 120, k, 30 + k)
    found = Frequencies.estimated(made(raw.source, raw.target, raw.codes), method)
    one_less = {
        "source": lambda i: (np.delete(raw.source, i, 0), raw.target, np.delete(raw.codes, i)),
        "target": lambda i: (raw.source, np.delete(raw.target, i, 0), raw.codes),
    }
    for sample, influence in (("source", found.of_source), ("target", found.of_target)):
        n = len(influence)
        left = [Frequencies.estimated(made(*one_less[sample](i)), method).target for i in range(n)]
        moved = (n - 1) / n * (np.mean(left, axis=0) - left)
        ratio = np.sqrt(np.sum(influence**2, axis=0) / np.sum(moved**2, axis=0))
        np.testing.assert_allclose(ratio, 1, atol=0.12)
        for c in range(k):
            assert np.corrcoef(moved[:, c], influence[:, c])[0, 1] > 0.99
    np.testing.assert_allclose(found.of_source.sum(axis=1), 0, atol=1e-12)


@given(st.permutations(range(4)), st.sampled_from(METHODS), st.integers(0, 5))
def test_permuted_classes_and_rows_permute_the_answer(order, method, seed):
    made = forecasts(120, 80, 4, seed)
    order, place = np.array(order), np.argsort(order)
    rng = np.random.default_rng(seed)
    rows, rows_target = rng.permutation(120), rng.permutation(80)
    other = _as_they_are(
        made.source[rows][:, order], made.target[rows_target][:, order], place[made.codes[rows]]
    )
    one, two = (Frequencies.estimated(each, method) for each in (made, other))
    np.testing.assert_allclose(one.target[order], two.target, atol=1e-6)
    np.testing.assert_allclose(one.variances[order], two.variances, rtol=1e-4)
    for ends, others in zip(one.interval(0.9), two.interval(0.9), strict=True):
        np.testing.assert_allclose(ends[order], others, atol=1e-5)


@pytest.mark.more
@pytest.mark.parametrize(
    ("apart", "source", "target"), [(2, 0.5, 0.5), (1, 0.5, 0.8), (2, 0.3, 0.8)]
)
def test_intervals_hold_at_least_as_often_as_they_say(apart, source, target):
    # 200 draws, binomial standard error of 95 %: .0154
    found = {method: [] for method in METHODS[:2]}
    for seed in range(200):
        X, y = draw(500, [1 - source, source], [40, seed], apart)
        X_target, _ = draw(500, [1 - target, target], [41, seed], apart)
        chances = ClassChances(X, y, X_target, LogisticRegression(), 5, 0)
        for method, rows in found.items():
            each = Frequencies.estimated(chances, method)
            low, high = each.interval(0.95)
            held = low[1] <= target <= high[1]
            rows.append([each.target[1], math.sqrt(each.variances[1]), held])
    for rows in found.values():
        value, error, held = np.transpose(rows)
        assert abs(value.mean() - target) < 4 * value.std() / math.sqrt(200)
        assert error.mean() == pytest.approx(value.std(), rel=0.15)
        # Wilson's and the normal law's together: on the safe side where classes overlap
        assert held.mean() > 0.95 - 3 * 0.0154


def test_calibration_finds_the_slope_and_the_biases():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    y = np.array([rng.choice(3, p=row) for row in softmax(logits, axis=1)])
    distorted = softmax(3 * logits + [1, 0, -1], axis=1)
    found = Calibration(distorted, y)

    def loss(at):
        log_p = np.log(np.maximum(distorted, 1 / 8000))
        q = softmax(at[0] * log_p + np.array([0, at[1], at[2]]), axis=1)
        return -np.log(q[np.arange(4000), y]).sum() + np.sum(np.square(at[1:])) / 2

    best = minimize(loss, [0.5, 0, 0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
    np.testing.assert_allclose([found.slope, *found.bias[1:]], best.x, atol=1e-3)
    assert found.slope == pytest.approx(1 / 3, abs=0.02)
    np.testing.assert_allclose(
        found.apply(distorted).mean(axis=0), np.bincount(y) / 4000, atol=1e-3
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_is_not_in_the_target(method):
    X, y = draw(600, [0.4, 0.3, 0.3], 50)
    X_target, y_target = draw(600, [0.6, 0.4, 0.0], 51)
    names = np.array(["a", "b", "c"])[y]
    found = class_frequencies(X, names, X_target, method=method, classifier=GaussianNB())
    assert found.classes == ("a", "b", "c")
    assert found.target == pytest.approx(np.bincount(y_target, minlength=3) / 600, abs=0.06)
    assert found.low[2] < 0.02  # moments may find a little of it by chance
    assert 0 < found.high[2] < 0.1
    assert sum(found.target) == pytest.approx(1)
    assert np.prod([found.low[c] <= found.target[c] <= found.high[c] for c in range(3)])
    ratio = LabelRatio(method, classifier=GaussianNB()).fit(X, names, X_target)
    assert np.isfinite(ratio.score_labels(names)).all()
    assert json.loads(json.dumps(found.to_dict()))["classes"] == ["a", "b", "c"]
    assert str(found).startswith("a: 4")


def test_tables_of_any_kind_give_the_same_frequencies():
    X, y = draw(400, [0.5, 0.5], 60)
    X_target, _ = draw(400, [0.2, 0.8], 61)
    first = class_frequencies(X, y, X_target)
    assert first.low[1] < 0.8 < first.high[1]
    frames = [pd.DataFrame(part, columns=["a", "b"]) for part in (X, X_target)]
    for labels, other in ((y, frames[1][["b", "a"]]), (y == 1, frames[1])):
        found = class_frequencies(frames[0], labels, other)
        assert (*found.target, *found.high) == pytest.approx((*first.target, *first.high))
    matrices = [sp.csr_matrix(part) for part in (X, X_target)]
    assert class_frequencies(matrices[0], y, matrices[1]).target[1] == pytest.approx(0.8, abs=0.08)
    text = [frame.assign(a=np.where(frame.a > 1, "high", "low")) for frame in frames]
    assert class_frequencies(text[0], y, text[1]).target[1] == pytest.approx(0.8, abs=0.1)
    other = class_frequencies(X, y, X_target, random_state=1)
    assert other.target[1] == pytest.approx(first.target[1], abs=0.02)
    narrow = class_frequencies(X, y, X_target, confidence=0.5)
    assert first.low[0] < narrow.low[0] < narrow.high[0] < first.high[0]
    assert ClassFrequencies(**first.__dict__).weights == tuple(
        np.divide(first.target, first.source)
    )


def test_bad_input_is_refused_in_words():
    X, y = draw(60, [0.5, 0.5], 70)
    for labels, message in (
        (np.zeros(60), "one class only"),
        (y[:50], "expected \\(60,\\), one for each row"),
        (["a", 1] * 30, "labels of several types"),
        (np.where(y == 1, "b", None), "missing|None"),
        (np.where(y == 1, 1.0, np.nan), "NaN|missing"),
        (X[:, 0], "continuous values"),
        (np.arange(60) // 2, "4 rows or more per class"),
        (np.append(y[:-1], 7), "class 7 in 1 row only"),
    ):
        with pytest.raises(ValueError, match=message):
            class_frequencies(X, labels, X)
    for options, message in (
        ({"method": "EM"}, "Got method='EM', but expected one of em, bbse, rlls"),
        ({"confidence": 1}, "confidence"),
        ({"cv": 1}, "cv"),
    ):
        with pytest.raises(ValueError, match=message):
            class_frequencies(X, y, X, **options)
    with pytest.raises(TypeError, match="has no predict_proba"):
        class_frequencies(X, y, X, classifier=LinearSVC())
    ratio = LabelRatio(classifier=GaussianNB()).fit(X, y, X)
    with pytest.raises(ValueError, match="Got label 2, which no training row had"):
        ratio.score_labels([0, 1, 2])
    with pytest.raises(ValueError, match="Got label 'yes'"):
        ratio.score_labels(["yes"])
    with pytest.raises(ValueError, match="Got label nan"):
        ratio.score_labels([0, np.nan])
