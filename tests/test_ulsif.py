"""Least squares importance fitting against brute force, closed forms and other array libraries."""

import array_api_strict
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shift import mean_error
from weighbridge import fit_ratio
from weighbridge.geodesic import log_weight
from weighbridge.ratios import ULSIF
from weighbridge.ratios._kernel import Eigen, score
from weighbridge.ratios._ulsif import FLOOR, _leave_one_out_scores
from weighbridge.tables._row_keys import shuffled


def samples(n_source=400, n_target=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) * 0.8 + 0.4


def brute_force_score(source, target, ridge):
    """Leave out one source and one target row at a time, and solve anew each time."""
    n, m, b = len(source), len(target), source.shape[1]
    at_source, at_target = [], []
    for i in range(min(n, m)):
        rest_source, rest_target = np.delete(source, i, axis=0), np.delete(target, i, axis=0)
        H = rest_source.T @ rest_source / (n - 1)
        theta = np.linalg.solve(H + ridge * np.eye(b), rest_target.mean(axis=0))
        at_source.append(source[i] @ theta)
        at_target.append(target[i] @ theta)
    return np.mean(np.square(at_source)) / 2 - np.mean(at_target)


@given(
    n=st.integers(5, 40), m=st.integers(5, 40), b=st.integers(1, 6),
    ridge=st.floats(1e-3, 10), seed=st.integers(0, 10**6),
)  # fmt: skip
def test_leave_one_out_in_closed_form_equals_brute_force(n, m, b, ridge, seed):
    rng = np.random.default_rng(seed)
    source, target = rng.random((n, b)), rng.random((m, b))
    got = _leave_one_out_scores(source, target, np.array([ridge]))[1][0]
    expected = brute_force_score(source, target, ridge)
    assert got == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("relative", [0.0, 0.4])
@pytest.mark.parametrize("iterations", [1, 4])
def test_scores_of_folds_equal_brute_force(relative, iterations):
    X, X_target = samples(103, 57)
    ratio = fit_ratio(X, X_target, ULSIF(relative, n_centres=6, cv=3, iterations=iterations))
    rows = _as_seen(ratio, X, X_target)
    expected = np.zeros_like(ratio.scores_)
    for j, bandwidth in enumerate(ratio.bandwidths_):
        source, target = (_kernel(part, ratio.centres_, bandwidth) for part in rows)
        alone = [np.flatnonzero((rows[1] == centre).all(axis=1))[0] for centre in ratio.centres_]
        gram_of_target = target.copy()
        for k, row in enumerate(alone):  # a centre's own row says nothing about it
            target[row, k] = np.delete(target[:, k], row).mean()
        for k, ridge in enumerate(ratio.ridges_):
            for fold in range(3):
                out_s, out_t = (_fold(len(part), fold) for part in (source, target))
                theta = _solve(
                    _mix(source[~out_s], gram_of_target[~out_t], relative),
                    target[~out_t].mean(axis=0), ridge, iterations,
                )  # fmt: skip
                H = _mix(source[out_s], gram_of_target[out_t], relative)
                value = theta @ H @ theta / 2 - target[out_t].mean(axis=0) @ theta
                expected[j, k] += value / 3
    np.testing.assert_allclose(ratio.scores_, expected, rtol=1e-8, atol=1e-10)


def _as_seen(ratio, X, X_target):
    """The standardised rows, in the order in which the ratio dealt them into folds."""
    both, codes = np.vstack([X, X_target]), np.repeat([0, 1], [len(X), len(X_target)])
    places = shuffled(both, codes, np.random.RandomState(0))
    return [ratio.encoder_.numbers(both[rows]) for rows in places]


def _kernel(rows, centres, bandwidth):
    distances = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
    return np.exp(-distances / (2 * bandwidth**2))


def _fold(n, fold):
    edges = np.linspace(0, n, 4).astype(int)
    return (np.arange(n) >= edges[fold]) & (np.arange(n) < edges[fold + 1])


def _mix(source, target, relative):
    return (1 - relative) * source.T @ source / len(source) + relative * target.T @ target / len(
        target
    )


def _solve(H, h, ridge, iterations):
    theta = np.zeros_like(h)
    for _ in range(iterations):
        theta = np.linalg.solve(H + ridge * np.eye(len(h)), h + ridge * theta)
    return theta


def test_iterations_of_the_ridge_equal_the_recursion():
    rng = np.random.default_rng(0)
    A, h = rng.normal(size=(9, 4)), rng.normal(size=4)
    ridges = np.array([0.1, 2.0])
    got = Eigen(A.T @ A, h).coefficients(ridges, 5)
    for k, ridge in enumerate(ridges):
        np.testing.assert_allclose(got[:, k], _solve(A.T @ A, h, ridge, 5), rtol=1e-10)


def test_score_is_half_the_squared_error_up_to_a_constant():
    # sum of squares of (r - theta'phi) under the source, with E_s[r phi] = E_t[phi]
    rng = np.random.default_rng(0)
    phi, r = rng.random((50, 3)), rng.random(50)
    H, h = phi.T @ phi / 50, (r[:, None] * phi).mean(axis=0)
    thetas = rng.normal(size=(3, 2))
    expected = [np.mean((r - phi @ theta) ** 2) / 2 - np.mean(r**2) / 2 for theta in thetas.T]
    np.testing.assert_allclose(score(thetas, H, h), expected, rtol=1e-12)


@pytest.mark.parametrize("lam", [0.3, 0.7, 0.95])
def test_the_relative_ratio_is_the_weight_at_alpha_3(lam):
    # w^(lam, 3)(r) = r / ((1 - lam) r + lam): RuLSIF with relative = 1 - lam estimates it directly
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20_000, 1)), rng.normal(0.7, 0.8, size=(20_000, 1))
    true = stats.norm(0.7, 0.8).logpdf(X[:, 0]) - stats.norm(0, 1).logpdf(X[:, 0])
    expected = np.exp(log_weight(true, lam, 3.0))
    np.testing.assert_allclose(expected, np.exp(true) / ((1 - lam) * np.exp(true) + lam))
    got = np.exp(fit_ratio(X, X_target, ULSIF(relative=1 - lam)).score_samples(X))
    assert np.mean((got - expected) ** 2) / np.mean(expected**2) < 0.005
    assert got.max() <= 1 / (1 - lam)


def test_the_ratio_keeps_its_documented_bounds():
    X, X_target = samples()
    ratio = fit_ratio(X, X_target, ULSIF())
    far = np.random.default_rng(0).normal(size=(5000, 2)) * 10
    values = np.exp(ratio.score_samples(far))
    assert values.min() == pytest.approx(FLOOR)
    assert values.max() <= ratio.largest_ * (1 + 1e-12)
    # the bound does not touch the source rows of fit
    kernel = _kernel(ratio.encoder_.numbers(X), ratio.centres_, ratio.bandwidth_)
    np.testing.assert_allclose(
        np.exp(ratio.score_samples(X)), np.maximum(kernel @ ratio.coef_, FLOOR), rtol=1e-9
    )
    assert (ratio.coef_ < 0).any()


def test_centres_are_different_target_rows():
    X, X_target = samples()
    ratio = fit_ratio(X, np.repeat(X_target[:30], 10, axis=0), ULSIF(n_centres=50))
    assert ratio.centres_.shape == (30, 2)
    assert np.unique(ratio.centres_, axis=0).shape == (30, 2)


def test_own_candidates_are_used_and_reported():
    X, X_target = samples()
    ratio = fit_ratio(X, X_target, ULSIF(bandwidths=[0.3, 1.0], ridges=[0.1, 0.01, 1], cv=4))
    assert ratio.bandwidths_.tolist() == [1.0, 0.3]
    assert ratio.scores_.shape == (2, 3)
    best = np.unravel_index(ratio.scores_.argmin(), (2, 3))
    assert (ratio.bandwidth_, ratio.ridge_) == (ratio.bandwidths_[best[0]], ratio.ridges_[best[1]])


def test_kernels_by_squaring_equal_exponentials():
    X, X_target = samples()
    chained = fit_ratio(X, X_target, ULSIF(cv=5))
    jittered = chained.bandwidths_ * (1 + 1e-10)  # close enough for the result, not for the chain
    direct = fit_ratio(X, X_target, ULSIF(cv=5, bandwidths=jittered[::-1]))
    np.testing.assert_allclose(chained.scores_, direct.scores_, rtol=1e-6)


@pytest.mark.parametrize("memory", [1, 1000])
def test_blocks_do_not_change_the_fit(memory):
    X, X_target = samples(3000, 2500)
    expected = fit_ratio(X, X_target, ULSIF())
    with sklearn.config_context(working_memory=memory):
        got = fit_ratio(X, X_target, ULSIF())
    np.testing.assert_allclose(got.scores_, expected.scores_, rtol=1e-10)
    np.testing.assert_allclose(got.score_samples(X), expected.score_samples(X), atol=1e-8)


@pytest.mark.parametrize("n", [300, 1500])
def test_arrays_of_other_libraries_give_the_same_ratio(n):
    X, X_target = samples(n, n)
    expected = fit_ratio(X, X_target, ULSIF())
    foreign = [array_api_strict.asarray(part) for part in (X, X_target)]
    got = fit_ratio(*foreign, ULSIF())
    np.testing.assert_allclose(got.scores_, expected.scores_, rtol=1e-8)
    scores = got.score_samples(foreign[0])
    assert type(scores) is type(foreign[0])
    np.testing.assert_allclose(np.asarray(scores), expected.score_samples(X), atol=1e-7)
    with pytest.raises(ValueError, match="3 features"):
        got.score_samples(array_api_strict.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        fit_ratio(foreign[0] * float("inf"), foreign[1], ULSIF())


@pytest.mark.torch
@pytest.mark.parametrize("n", [300, 1500])
def test_torch_tensors_stay_tensors(n):
    import torch

    X, X_target = samples(n, n)
    expected = fit_ratio(X, X_target, ULSIF()).score_samples(X)
    tensors = [torch.asarray(part) for part in (X, X_target)]
    got = fit_ratio(*tensors, ULSIF()).score_samples(tensors[0])
    assert isinstance(got, torch.Tensor)
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"relative": 1.0}, r"relative=1.0.*\[0, 1\)"),
        ({"n_centres": 0}, "n_centres=0, but expected a whole number >= 1"),
        ({"iterations": 2.5}, "iterations=2.5"),
        ({"bandwidths": [1.0, -1.0]}, "bandwidths=.*positive numbers"),
        ({"ridges": []}, "ridges="),
        ({"cv": "loo", "relative": 0.5}, "cv='loo' with relative > 0"),
        ({"cv": "five"}, "cv='five', but expected a number of folds"),
        ({"cv": 1}, "cv=1"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*samples(), ULSIF(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(500, 0.36), (2000, 0.30), (10_000, 0.22), (50_000, 0.18)])
def test_error_of_the_weights_of_a_mean_shift(n, bar):
    # released packages reach 0.55 to 0.67
    assert mean_error(ULSIF(), n) <= bar
