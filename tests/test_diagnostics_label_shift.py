"""Label shift is recognised, covariate shift is not, by simulation with known ratios."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from weighbridge import fit_ratio
from weighbridge.datasets import make_gaussian_shift
from weighbridge.diagnostics import label_shift
from weighbridge.label_shift._explained import _captured, _explained_at_both

BINARY = ([[0.0, 0], [2, 0]], [0.5, 0.5], [0.2, 0.8])
THREE = ([[0.0, 0, 0], [2.5, 0, 0], [0, 2.5, 0]], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5])


def class_change(problem, n, seed):
    """Normal classes with other frequencies in the target, and the true log ratio."""
    means, p, q = (np.array(part) for part in problem)
    rng = np.random.default_rng(seed)
    y, y_target = (rng.choice(len(p), n, p=prior) for prior in (p, q))
    X, X_target = (means[c] + rng.normal(size=(n, means.shape[1])) for c in (y, y_target))

    def log_ratio(rows):
        density = np.exp(-((rows[:, None, :] - means) ** 2).sum(axis=2) / 2)
        return np.log(density @ q) - np.log(density @ p)

    return X, y, X_target, log_ratio


def covariate_change(n, seed, *, shift=1.0, angle=0.0, slope=3.0):
    """A normal mean shift at an angle to the direction that rules the classes."""
    rng = np.random.default_rng(seed)
    mean = shift * np.array([math.cos(angle), math.sin(angle)])
    X, X_target = rng.normal(size=(n, 2)), rng.normal(mean, size=(n, 2))
    y = (rng.uniform(size=n) < expit(slope * X[:, 0])).astype(int)
    return X, y, X_target, lambda rows: rows @ mean - shift**2 / 2


@pytest.mark.parametrize("problem", [BINARY, THREE])
def test_label_shift_is_recognised_by_the_true_ratio(problem):
    X, y, X_target, log_ratio = class_change(problem, 1000, 0)
    found = label_shift(X, y, log_ratio(X))
    assert found.r_squared > 0.95
    assert found.recognised
    assert found.target_priors == pytest.approx(problem[2], abs=0.05)
    assert found.source_priors == pytest.approx(np.bincount(y) / 1000)
    both = label_shift(X, y, log_ratio(X), X_target=X_target, log_ratio_target=log_ratio(X_target))
    assert both.r_squared > 0.95
    assert both.target_priors == pytest.approx(problem[2], abs=0.05)


def test_label_shift_is_recognised_by_an_estimated_ratio():
    X, y, X_target, _ = class_change(BINARY, 1500, 0)
    ratio = fit_ratio(X, X_target)
    known = {"X_target": X_target, "log_ratio_target": ratio.score_samples(X_target)}
    found = label_shift(X, y, ratio.score_samples(X), **known)
    assert found.r_squared > 0.95
    assert found.recognised
    # without the target rows the errors of the ratio count against label shift
    assert label_shift(X, y, ratio.score_samples(X)).r_squared < found.r_squared


@pytest.mark.slow
@pytest.mark.parametrize("problem", [BINARY, THREE])
def test_label_shift_is_recognised_in_nearly_all_samples(problem):
    found = []
    for seed in range(50):
        X, y, X_target, _ = class_change(problem, 2000, 1000 + seed)
        ratio = fit_ratio(X, X_target)
        known = {"X_target": X_target, "log_ratio_target": ratio.score_samples(X_target)}
        found.append(label_shift(X, y, ratio.score_samples(X), **known))
    assert np.mean([shift.recognised for shift in found]) >= 0.95
    assert np.median([shift.r_squared for shift in found]) > 0.98


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ({"angle": math.pi / 2}, 0.05),  # across the direction of the classes
        ({"slope": 3.0}, 0.8),  # along it
        pytest.param({"angle": math.pi / 4}, 0.6, marks=pytest.mark.more),
        pytest.param({"slope": 1.0}, 0.8, marks=pytest.mark.more),
        # the classes are all but a threshold
        pytest.param({"slope": 50.0}, 0.8, marks=pytest.mark.more),
    ],
)
def test_covariate_shift_is_not_taken_for_label_shift(kind, most):
    X, y, X_target, log_ratio = covariate_change(1000, 0, **kind)
    assert label_shift(X, y, log_ratio(X)).r_squared < most
    ratio = fit_ratio(X, X_target)
    known = {"X_target": X_target, "log_ratio_target": ratio.score_samples(X_target)}
    found = label_shift(X, y, ratio.score_samples(X), **known)
    assert found.r_squared < most
    assert not found.recognised


def test_covariate_shift_of_a_simulator_with_a_threshold_for_a_label():
    data = make_gaussian_shift(1000, 1000, n_features=3, shift=1.0, random_state=0)
    y = data.y > np.median(data.y)
    assert label_shift(data.X, y, data.log_ratio).r_squared < 0.8


def test_a_small_shift_along_the_score_of_the_classes_is_explained_by_both():
    # a small shift is linear in the score, and so is a smooth class probability: see the notes
    X, y, _, log_ratio = covariate_change(2000, 0, shift=0.2, slope=1.0)
    assert label_shift(X, y, log_ratio(X)).r_squared > 0.9


def test_a_table_of_any_kind():
    rng = np.random.default_rng(0)

    def draw(share, n):
        y = np.where(rng.uniform(size=n) < share, "ill", "well").astype(object)
        ill = y == "ill"
        age = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(40 + 20 * ill, 10))
        site = np.where(rng.uniform(size=n) < 0.3 + 0.4 * ill, "north", "south")
        return pd.DataFrame({"age": age, "site": site}), y

    (X, y), (X_target, _) = draw(0.3, 1500), draw(0.7, 1200)
    ratio = fit_ratio(X, X_target)
    known = {"X_target": X_target, "log_ratio_target": ratio.score_samples(X_target)}
    found = label_shift(X, y, ratio.score_samples(X), **known)
    assert found.classes == ("ill", "well")
    assert found.recognised
    assert found.target_priors == pytest.approx((0.7, 0.3), abs=0.08)


def test_sparse_tables():
    X, y, X_target, log_ratio = class_change(BINARY, 1000, 0)
    known = {"X_target": sp.csr_array(X_target), "log_ratio_target": log_ratio(X_target)}
    assert label_shift(sp.csr_array(X), y, log_ratio(X), **known).r_squared > 0.95


def test_large_samples_are_represented_and_keep_their_rare_classes():
    X, y, _, log_ratio = class_change(BINARY, 30_000, 0)
    y[:2] = 2
    found = label_shift(X, y, log_ratio(X), classifier=LogisticRegression())
    assert found.classes == (0, 1, 2)
    assert found.r_squared > 0.95


def test_a_constant_of_the_log_ratio_does_not_matter():
    X, y, X_target, log_ratio = class_change(BINARY, 500, 0)
    plain, shifted = (
        label_shift(
            X, y, log_ratio(X) + c, X_target=X_target, log_ratio_target=log_ratio(X_target) + c
        )
        for c in (0.0, 900.0)
    )
    assert shifted.r_squared == pytest.approx(plain.r_squared, rel=1e-9)


def test_the_same_seed_gives_the_same_answer():
    X, y, _, log_ratio = class_change(BINARY, 500, 0)
    assert label_shift(X, y, log_ratio(X)) == label_shift(X, y, log_ratio(X))


def test_a_constant_ratio_leaves_nothing_to_explain():
    X, y, _, _ = class_change(BINARY, 100, 0)
    found = label_shift(X, y, np.zeros(100))
    assert math.isnan(found.r_squared)
    assert not found.recognised
    assert "no shift" in str(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["r_squared"] is None


def test_what_a_ratio_captures_is_the_variance_of_the_relative_ratio():
    # N(0, 1) -> N(1, 1): E_m[r_a**2] - 1 under the mixture m = 0.1 target + 0.9 source
    def integrand(x):
        source, target = norm.pdf(x), norm.pdf(x, 1)
        return target**2 / (0.1 * target + 0.9 * source)

    truth = quad(integrand, -10, 12)[0] - 1
    values, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, t = rng.normal(size=1000), rng.normal(1, size=800)
        captured, at_source, at_target = _captured(np.exp(x - 0.5), np.exp(t - 0.5))
        values.append(captured)
        errors.append(math.sqrt(at_source.var() / 1000 + at_target.var() / 800))
    # four standard errors, and the bias of order 1/n of a ratio of means
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / math.sqrt(300) + 2 / 800
    assert np.mean(errors) == pytest.approx(np.std(values), rel=4 / math.sqrt(600))


def test_a_ratio_that_captures_nothing_leaves_nothing_to_explain():
    # classes without any information, and a ratio that points the wrong way
    x, t = np.linspace(-2, 2, 100), np.linspace(-1, 3, 80)
    half = np.full((100, 2), 0.5)
    _, r_squared, error = _explained_at_both(half, half[:80], np.exp(-x), np.exp(-t))
    assert math.isnan(r_squared)
    assert math.isnan(error)


def test_a_ratio_that_is_zero_in_all_rows_but_one():
    X, y, _, _ = class_change(BINARY, 30_000, 0)
    log_ratio = np.full(30_000, -math.inf)
    log_ratio[0] = 0.0
    assert label_shift(X, y, log_ratio, random_state=0).r_squared < 0.01


X, Y, LOG_RATIO = np.arange(20.0)[:, None], np.arange(20) % 2, np.linspace(-1, 1, 20)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, 20), "continuous values, but label shift is checked for classes only"),
        (np.arange(19), r"y of shape \(19,\), but expected \(20,\)"),
        (np.r_[np.nan, np.arange(19) % 2], "missing values in 1 of 20 rows"),
        (np.ones(20), r"one class only \(1.0\)"),
        (["a", *["b"] * 19], "class 'a' in 1 row only"),
        (np.array(["a", *["b"] * 19], dtype=object), "class 'a' in 1 row only"),
    ],
)
def test_what_are_no_classes_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        label_shift(X, y, LOG_RATIO)


def test_errors():
    with pytest.raises(ValueError, match="one of X_target and log_ratio_target; pass both"):
        label_shift(X, Y, LOG_RATIO, X_target=X)
    with pytest.raises(ValueError, match=r"log_ratio of shape \(3,\), but expected \(20,\)"):
        label_shift(X, Y, LOG_RATIO[:3])
    with pytest.raises(ValueError, match=r"log_ratio_target with NaN or \+inf in 1 of 20 rows"):
        label_shift(X, Y, LOG_RATIO, X_target=X, log_ratio_target=np.r_[np.nan, LOG_RATIO[1:]])
    with pytest.raises(ValueError, match="ratio of 0 in all"):
        label_shift(X, Y, np.full(20, -np.inf))
    with pytest.raises(TypeError, match="LinearSVC, which has no predict_proba"):
        label_shift(X, Y, LOG_RATIO, classifier=LinearSVC())
    with pytest.raises(ValueError, match="cv=1, but expected a whole number >= 2"):
        label_shift(X, Y, LOG_RATIO, cv=1)
