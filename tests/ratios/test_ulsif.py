"""Laws of least squares importance fitting: brute force, closed forms, other array libraries."""

import array_api_strict
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shift import gaussian_kernel, mean_error, standardised, two_normals
from weighbridge import fit_ratio
from weighbridge.geodesic import log_weight
from weighbridge.ratios import ULSIF


def solve(H, h, ridge):
    return np.linalg.solve(H + ridge * np.eye(len(h)), h)


def kernels_without_own_row(ratio, rows, bandwidth):
    """Return the kernels of both samples; at its own row, a centre has its mean at the others."""
    source, target = (gaussian_kernel(part, ratio.centres_, bandwidth) for part in rows)
    for k, centre in enumerate(ratio.centres_):
        row = np.flatnonzero((rows[1] == centre).all(axis=1))[0]
        target[row, k] = np.delete(target[:, k], row).mean()
    return source, target


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")
@given(
    n=st.integers(5, 40), m=st.integers(5, 40), n_centres=st.integers(1, 6),
    ridge=st.floats(1e-3, 10), seed=st.integers(0, 10**6),
)  # fmt: skip
def test_leave_one_out_scores_equal_brute_force(n, m, n_centres, ridge, seed):
    X, X_target = two_normals(n, m, seed=seed)
    ratio = ULSIF(n_centres=n_centres, bandwidths=[0.9], ridges=[ridge, 20.0], cv="loo")
    ratio = fit_ratio(X, X_target, ratio)
    source, target = kernels_without_own_row(ratio, standardised(ratio, X, X_target), 0.9)
    at_source, at_target = [], []
    for i in range(min(n, m)):
        rest = np.delete(source, i, axis=0)
        theta = solve(rest.T @ rest / (n - 1), np.delete(target, i, axis=0).mean(axis=0), ridge)
        at_source.append(source[i] @ theta)
        at_target.append(target[i] @ theta)
    expected = np.mean(np.square(at_source)) / 2 - np.mean(at_target)
    assert ratio.scores_[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("relative", [0.0, 0.4])
def test_scores_of_folds_equal_brute_force(relative):
    X, X_target = two_normals(103, 57)
    ratio = fit_ratio(X, X_target, ULSIF(relative, n_centres=6, cv=3))
    rows = standardised(ratio, X, X_target)
    expected = np.zeros_like(ratio.scores_)
    for j, bandwidth in enumerate(ratio.bandwidths_):
        gram_of_target = gaussian_kernel(rows[1], ratio.centres_, bandwidth)
        source, target = kernels_without_own_row(ratio, rows, bandwidth)
        for k, ridge in enumerate(ratio.ridges_):
            for fold in range(3):
                out_s, out_t = (in_fold(len(part), fold) for part in (source, target))
                rest = mixed_gram(source[~out_s], gram_of_target[~out_t], relative)
                theta = solve(rest, target[~out_t].mean(axis=0), ridge)
                H = mixed_gram(source[out_s], gram_of_target[out_t], relative)
                value = theta @ H @ theta / 2 - target[out_t].mean(axis=0) @ theta
                expected[j, k] += value / 3
    np.testing.assert_allclose(ratio.scores_, expected, rtol=1e-8, atol=1e-10)


def in_fold(n, fold):
    edges = np.arange(4) * n // 3
    return (np.arange(n) >= edges[fold]) & (np.arange(n) < edges[fold + 1])


def mixed_gram(source, target, relative):
    source, target = (kernel.T @ kernel / len(kernel) for kernel in (source, target))
    return (1 - relative) * source + relative * target


def test_more_folds_than_rows_leave_one_row_out():
    X, X_target = two_normals(60, 30)
    few, many = (fit_ratio(X, X_target, ULSIF(cv=cv)) for cv in (30, 500))
    np.testing.assert_array_equal(few.scores_, many.scores_)


@pytest.mark.parametrize("lam", [0.3, 0.7, 0.95])
def test_relative_ratio_is_the_weight_at_alpha_3(lam):
    # w^(lam, 3)(r) = r / ((1 - lam) r + lam): RuLSIF with relative = 1 - lam estimates it directly
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20_000, 1)), rng.normal(0.7, 0.8, size=(20_000, 1))
    true = stats.norm(0.7, 0.8).logpdf(X[:, 0]) - stats.norm(0, 1).logpdf(X[:, 0])
    expected = np.exp(log_weight(true, lam, 3.0))
    np.testing.assert_allclose(expected, np.exp(true) / ((1 - lam) * np.exp(true) + lam))
    ratio = fit_ratio(X, X_target, ULSIF(relative=1 - lam))
    q = np.exp(ratio.score_samples(X))
    assert np.mean((q - expected) ** 2) / np.mean(expected**2) < 0.005
    assert q.max() <= 1 / (1 - lam)
    # The odds are those of the plain ratio.
    plain = lam * q / np.maximum(1 - (1 - lam) * q, 1e-3)
    odds = np.exp(ratio.decision_function(X) - ratio.log_prior_odds_)
    np.testing.assert_allclose(odds, plain, rtol=1e-9)


def test_ratio_keeps_its_documented_bounds():
    X, X_target = two_normals(400, 300)
    ratio = fit_ratio(X, X_target, ULSIF())
    far = np.random.default_rng(0).normal(size=(5000, 2)) * 10
    values = np.exp(ratio.score_samples(far))
    assert values.min() == pytest.approx(0.001)
    assert values.max() <= ratio.largest_ * (1 + 1e-12)
    # The bound does not change the source rows of fit.
    kernel = gaussian_kernel(ratio.encoder_.numbers(X), ratio.centres_, ratio.bandwidth_)
    np.testing.assert_allclose(
        np.exp(ratio.score_samples(X)), np.maximum(kernel @ ratio.coef_, 0.001), rtol=1e-9
    )
    assert (ratio.coef_ < 0).any()


def test_centres_are_distinct_target_rows():
    X, X_target = two_normals(400, 300)
    ratio = fit_ratio(X, np.repeat(X_target[:30], 10, axis=0), ULSIF(n_centres=50))
    assert ratio.centres_.shape == (30, 2)
    assert np.unique(ratio.centres_, axis=0).shape == (30, 2)


def test_given_candidates_are_used_and_reported():
    X, X_target = two_normals(400, 300)
    ratio = fit_ratio(X, X_target, ULSIF(bandwidths=[0.3, 1.0], ridges=[0.1, 0.01, 1], cv=4))
    assert ratio.bandwidths_.tolist() == [1.0, 0.3]
    assert ratio.scores_.shape == (2, 3)
    best = np.unravel_index(ratio.scores_.argmin(), (2, 3))
    assert (ratio.bandwidth_, ratio.ridge_) == (ratio.bandwidths_[best[0]], ratio.ridges_[best[1]])


@pytest.mark.parametrize("step", [1, 2, 3])
def test_kernels_by_squaring_equal_exponentials(step):
    X, X_target = two_normals(400, 300)
    bandwidths = 2.0 ** (-np.arange(0, 9, step) / 2)
    chained = fit_ratio(X, X_target, ULSIF(cv=5, bandwidths=bandwidths))
    # Close enough for the same result, but too far for squaring.
    jittered = bandwidths * (1 + 1e-10 * np.arange(bandwidths.size))
    direct = fit_ratio(X, X_target, ULSIF(cv=5, bandwidths=jittered))
    np.testing.assert_allclose(chained.scores_, direct.scores_, rtol=1e-6)


@pytest.mark.parametrize("memory", [1, 1000])
def test_working_memory_does_not_change_the_fit(memory):
    X, X_target = two_normals(3000, 2500)
    expected = fit_ratio(X, X_target, ULSIF())
    with sklearn.config_context(working_memory=memory):
        got = fit_ratio(X, X_target, ULSIF())
        scores = got.score_samples(X)
    np.testing.assert_allclose(got.scores_, expected.scores_, rtol=1e-10)
    np.testing.assert_allclose(scores, expected.score_samples(X), atol=1e-8)


VARIANTS = [ULSIF(), ULSIF(cv=5), ULSIF(0.3), ULSIF(bandwidths=[1.0, 0.7])]


def check_other_library(convert, ratio):
    """Check that arrays of another library give the ratio of NumPy, and arrays of their own."""
    X, X_target = two_normals(400, 300)
    X, X_target = (np.column_stack([part, np.full(len(part), 7.0)]) for part in (X, X_target))
    expected = fit_ratio(X, X_target, ratio)
    foreign = [convert(part) for part in (X, X_target)]
    got = fit_ratio(*foreign, ratio)
    np.testing.assert_allclose(got.scores_, expected.scores_, rtol=1e-8)
    scores = got.score_samples(foreign[0])
    assert type(scores) is type(foreign[0])
    np.testing.assert_allclose(np.asarray(scores), expected.score_samples(X), atol=1e-7)
    np.testing.assert_allclose(got.predict_proba(foreign[0]), expected.predict_proba(X), atol=1e-7)
    # The ratio is the same wherever it was fitted, and the scores belong to the rows.
    np.testing.assert_allclose(np.asarray(expected.score_samples(foreign[0])), np.asarray(scores))
    assert type(got.score_samples(X)) is np.ndarray


@pytest.mark.parametrize("ratio", VARIANTS, ids=str)
def test_arrays_of_other_libraries_give_the_same_ratio(ratio):
    check_other_library(array_api_strict.asarray, ratio)


@pytest.mark.torch
@pytest.mark.parametrize("ratio", VARIANTS, ids=str)
def test_tensors_give_the_same_ratio(ratio):
    torch = pytest.importorskip("torch")
    check_other_library(torch.asarray, ratio)


def test_arrays_of_other_libraries_are_checked_like_numpy_arrays():
    X, X_target = two_normals(400, 300)
    X[::7, 1] = np.nan
    foreign = [array_api_strict.asarray(part) for part in (X, X_target)]
    got, expected = fit_ratio(*foreign, ULSIF()), fit_ratio(X, X_target, ULSIF())
    scores = np.asarray(got.score_samples(foreign[0]))
    np.testing.assert_allclose(scores, expected.score_samples(X), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="X has 3 features, but ULSIF is expecting 2 features"):
        got.score_samples(array_api_strict.ones((4, 3)))
    with pytest.raises(ValueError, match="infinity"):
        got.score_samples(foreign[1] ** 2 * float("inf"))
    with pytest.raises(ValueError, match="infinity"):
        fit_ratio(foreign[1] ** 2 * float("inf"), foreign[1], ULSIF())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"relative": 1.0}, r"relative=1.0.*\[0, 1\)"),
        ({"n_centres": 0}, "n_centres=0, but expected a whole number >= 1"),
        ({"bandwidths": [1.0, -1.0]}, "bandwidths=.*positive numbers"),
        ({"ridges": []}, "ridges="),
        ({"cv": "loo", "relative": 0.5}, "cv='loo' with relative > 0"),
        ({"cv": "five"}, "cv='five', but expected a whole number >= 2"),
        ({"cv": 1}, "cv=1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*two_normals(), ULSIF(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(500, 0.36), (2000, 0.30), (10_000, 0.22), (50_000, 0.18)])
def test_error_of_the_weights_of_a_mean_shift(n, bar):
    # Released packages reach 0.55 to 0.67.
    assert mean_error(ULSIF(), n) <= bar
