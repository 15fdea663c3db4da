"""Class prevalence in the target: each method against another way, its errors by resampling."""

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

from weighbridge.label_shift import LabelRatio, _prevalence, kind_of_shift
from weighbridge.label_shift._prevalence import estimate_prevalence, most_likely_prevalence
from weighbridge.label_shift._probabilities import Calibration

METHODS = ["em", "bbse", "rlls"]


def draw(n, shares, seed, distance=2.0):
    """Normal classes at the corners of a simplex, with the given prevalence."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(shares), n, p=shares)
    return distance * np.eye(len(shares))[codes] + rng.normal(size=(n, len(shares))), codes


def samples(source, target, codes):
    """Class probabilities of two samples, as `ClassProbabilities` holds them."""
    priors = np.bincount(codes) / codes.size
    return SimpleNamespace(
        source=source, target=target, targets=target[None], codes=codes, priors=priors
    )


def forecasts(n, m, k, seed):
    """Probabilities of both samples as a model gives them, and the classes of the source."""
    rng = np.random.default_rng(seed)
    codes, codes_target = rng.integers(0, k, n), rng.choice(k, m, p=rng.dirichlet(np.full(k, 5)))
    source, target = (
        softmax(1.5 * np.eye(k)[y] + rng.normal(size=(y.size, k)), axis=1)
        for y in (codes, codes_target)
    )
    return samples(source, target, codes)


def calibrated(source, target, codes):
    apply = Calibration(source, codes).apply
    return samples(apply(source), apply(target), codes)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_em_finds_the_largest_likelihood(k):
    made = forecasts(200, 150, k, k)
    q = most_likely_prevalence(made.target, made.priors)

    def loss(q):
        return -np.log(made.target @ (np.asarray(q) / made.priors)).sum()

    whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
    best = minimize(loss, made.priors, bounds=[(0, 1)] * k, constraints=whole, tol=1e-12)
    np.testing.assert_allclose(q, best.x, atol=1e-4)
    assert loss(q) <= best.fun + 1e-6


@pytest.mark.parametrize("k", [2, 4])
def test_bbse_solves_the_confusion_system(k):
    made = forecasts(400, 300, k, 10 + k)
    confusion = np.array([made.source[made.codes == c].mean(axis=0) for c in range(k)]).T
    expected = np.maximum(np.linalg.solve(confusion, made.target.mean(axis=0)), 0)
    estimate = estimate_prevalence(made, "bbse")
    np.testing.assert_allclose(estimate.target, expected / expected.sum())


def test_rlls_lies_between_no_change_and_bbse():
    few, many = (forecasts(n, n, 3, 20) for n in (60, 60_000))
    for made, share in ((few, 0.99), (many, 1.0)):
        changes = [
            np.linalg.norm(estimate_prevalence(made, method).target / made.priors - 1)
            for method in ("rlls", "bbse")
        ]
        assert 0 < changes[0] < share * changes[1]
    assert changes[0] == pytest.approx(changes[1], rel=0.01)


@pytest.mark.parametrize(("method", "made"), [("em", calibrated), ("bbse", samples)])
@pytest.mark.parametrize("k", [2, 3])
def test_influences_equal_leaving_rows_out(method, made, k, monkeypatch):
    # The correction has an error that is smaller, which its square stands for.
    monkeypatch.setattr(_prevalence, "MISFIT_SHARE", 0.0)
    # EM with probabilities that are calibrated again: the errors of both are one.
    raw = forecasts(150, 120, k, 30 + k)
    estimate = estimate_prevalence(made(raw.source, raw.target, raw.codes), method)
    one_less = {
        "source": lambda i: (np.delete(raw.source, i, 0), raw.target, np.delete(raw.codes, i)),
        "target": lambda i: (raw.source, np.delete(raw.target, i, 0), raw.codes),
    }
    for sample, influence in (("source", estimate.of_source), ("target", estimate.of_target)):
        n = len(influence)
        left = [estimate_prevalence(made(*one_less[sample](i)), method).target for i in range(n)]
        moved = (n - 1) / n * (np.mean(left, axis=0) - left)
        ratio = np.sqrt(np.sum(influence**2, axis=0) / np.sum(moved**2, axis=0))
        np.testing.assert_allclose(ratio, 1, atol=0.12)
        for c in range(k):
            assert np.corrcoef(moved[:, c], influence[:, c])[0, 1] > 0.99
    np.testing.assert_allclose(estimate.of_source.sum(axis=1), 0, atol=1e-12)


@given(st.permutations(range(4)), st.sampled_from(METHODS), st.integers(0, 5))
def test_permuted_classes_and_rows_permute_the_estimate(order, method, seed):
    made = forecasts(120, 80, 4, seed)
    order, rank = np.array(order), np.argsort(order)
    rng = np.random.default_rng(seed)
    rows, rows_target = rng.permutation(120), rng.permutation(80)
    source, target = made.source[rows][:, order], made.target[rows_target][:, order]
    other = samples(source, target, rank[made.codes[rows]])
    one, two = (estimate_prevalence(each, method) for each in (made, other))
    np.testing.assert_allclose(one.target[order], two.target, atol=1e-6)
    np.testing.assert_allclose(one.variances[order], two.variances, rtol=1e-4)
    for ends, others in zip(one.interval(0.9), two.interval(0.9), strict=True):
        np.testing.assert_allclose(ends[order], others, atol=1e-5)


@pytest.mark.more
@pytest.mark.parametrize(
    ("distance", "source", "target"), [(2, 0.5, 0.5), (1, 0.5, 0.8), (2, 0.3, 0.8)]
)
@pytest.mark.parametrize("method", ["em", "bbse"])
def test_intervals_have_at_least_nominal_coverage(method, distance, source, target):
    rows = []
    for seed in range(200):
        X, y = draw(500, [1 - source, source], [40, seed], distance)
        X_target, _ = draw(500, [1 - target, target], [41, seed], distance)
        ratio = LabelRatio(method, classifier=LogisticRegression()).fit(X, y, X_target)
        found = ratio.frequencies_
        covers = found.low[1] <= target <= found.high[1]
        rows.append([found.target[1], math.sqrt(ratio.estimate_.variances[1]), covers])
    value, error, covers = np.transpose(rows)
    assert abs(value.mean() - target) < 4 * value.std() / math.sqrt(200)
    assert error.mean() == pytest.approx(value.std(), rel=0.15)
    # 200 draws: the standard error of 95 % is 0.0154.
    assert covers.mean() > 0.95 - 3 * 0.0154


def test_calibration_finds_the_slope_and_the_biases():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    y = np.array([rng.choice(3, p=row) for row in softmax(logits, axis=1)])
    distorted = softmax(3 * logits + [1, 0, -1], axis=1)
    calibration = Calibration(distorted, y)

    def loss(at):
        log_p = np.log(np.maximum(distorted, 1 / 8000))
        q = softmax(at[0] * log_p + np.array([0, at[1], at[2]]), axis=1)
        return -np.log(q[np.arange(4000), y]).sum() + np.sum(np.square(at[1:])) / 2

    best = minimize(loss, [0.5, 0, 0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
    np.testing.assert_allclose([calibration.slope, *calibration.bias[1:]], best.x, atol=1e-3)
    assert calibration.slope == pytest.approx(1 / 3, abs=0.02)
    means = calibration.apply(distorted).mean(axis=0)
    np.testing.assert_allclose(means, np.bincount(y) / 4000, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_class_without_target_rows(method):
    X, y = draw(600, [0.4, 0.3, 0.3], 50)
    X_target, y_target = draw(600, [0.6, 0.4, 0.0], 51)
    names = np.array(["a", "b", "c"])[y]
    ratio = LabelRatio(method, classifier=GaussianNB()).fit(X, names, X_target)
    found = ratio.frequencies_
    assert found.target == pytest.approx(np.bincount(y_target, minlength=3) / 600, abs=0.06)
    assert found.low[2] < 0.02  # Moments may find a little of it by chance.
    assert 0 < found.high[2] < 0.1
    assert sum(found.target) == pytest.approx(1)
    assert np.less_equal(found.low, found.target).all()
    assert np.less_equal(found.target, found.high).all()
    assert np.isfinite(ratio.score_labels(names)).all()
    assert found.weights == tuple(np.divide(found.target, found.source))
    assert json.loads(json.dumps(found.to_dict()))["classes"] == ["a", "b", "c"]
    assert str(found).startswith("a: 4")


def test_tables_of_any_kind_give_the_same_prevalence():
    def prevalence(*samples, **options):
        return LabelRatio(**options).fit(*samples).frequencies_

    (X, y), (X_target, _) = draw(400, [0.5, 0.5], 60), draw(400, [0.2, 0.8], 61)
    first = prevalence(X, y, X_target)
    assert first.low[1] < 0.8 < first.high[1]
    frame, target = (pd.DataFrame(table, columns=["a", "b"]) for table in (X, X_target))
    for labels, other in ((y, target[["b", "a"]]), (y == 1, target)):
        found = prevalence(frame, labels, other)
        assert (*found.target, *found.high) == pytest.approx((*first.target, *first.high))
    text = [each.assign(a=np.where(each.a > 1, "high", "low")) for each in (frame, target)]
    sparse = prevalence(sp.csr_matrix(X), y, sp.csr_matrix(X_target))
    for found in (sparse, prevalence(text[0], y, text[1])):
        assert found.target[1] == pytest.approx(0.8, abs=0.1)
    other = prevalence(X, y, X_target, random_state=1, confidence=0.5)
    assert other.target[1] == pytest.approx(first.target[1], abs=0.02)
    assert first.low[0] < other.low[0] < other.high[0] < first.high[0]


def test_bad_input_raises():
    X, y = draw(60, [0.5, 0.5], 70)
    for labels, message in (
        (np.zeros(60), "Got y with 1 class in 60 rows"),
        (y[:50], "expected \\(60,\\), one for each row"),
        (["a", 1] * 30, "labels of several types"),
        (np.where(y == 1, "b", None), "missing|None"),
        (np.where(y == 1, 1.0, np.nan), "NaN|missing"),
        (np.arange(60) // 2, "30 classes in 60 rows.*4 on average"),
        (np.append(y[:-1], 7), r"the rarest \(7\) in 1, .*Merge rare classes"),
    ):
        with pytest.raises(ValueError, match=message):
            LabelRatio().fit(X, labels, X)
    with pytest.raises(ValueError, match="continuous values"):
        kind_of_shift(X, X[:, 0], X)
    for options, message in (
        ({"method": "EM"}, "Got method='EM', but expected one of em, bbse, rlls"),
        ({"confidence": 1}, "confidence"),
        ({"cv": 1}, "cv"),
        ({"bins": 1}, "bins"),
    ):
        with pytest.raises(ValueError, match=message):
            LabelRatio(**options).fit(X, y, X)
    with pytest.raises(TypeError, match="has no predict_proba"):
        LabelRatio(classifier=LinearSVC()).fit(X, y, X)
    ratio = LabelRatio(classifier=GaussianNB()).fit(X, y, X)
    for labels, name in (([0, 1, 2], "2"), (["yes"], "'yes'"), ([0, np.nan], "nan")):
        with pytest.raises(ValueError, match=f"Got label {name}, which no training row had"):
            ratio.score_labels(labels)
