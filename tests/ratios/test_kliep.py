"""Laws of KLIEP: constraints, optimality, monotone steps, unbiased cross-validation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from shift import gaussian_kernel, mean_error, standardised, two_normals
from weighbridge import fit_ratio
from weighbridge.ratios import KLIEP


def test_ratio_averages_one_over_the_source():
    X, X_target = two_normals()
    ratio = fit_ratio(X, X_target, KLIEP())
    assert np.exp(ratio.score_samples(X)).mean() == pytest.approx(1, abs=1e-12)
    assert (ratio.coef_ >= 0).all()


def best_mixture(kernels):
    """Maximise the mean log of mixtures of the columns by a general solver."""
    n_columns = kernels.shape[1]
    return minimize(
        lambda t: -np.log(kernels @ t).mean(),
        np.full(n_columns, 1 / n_columns),
        jac=lambda t: -(kernels / (kernels @ t)[:, None]).mean(axis=0),
        bounds=[(0, None)] * n_columns,
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    ).x


def mean_one_kernels(ratio, rows, bandwidth):
    source, target = (gaussian_kernel(part, ratio.centres_, bandwidth) for part in rows)
    return target / source.mean(axis=0)


def test_solution_is_that_of_a_general_solver():
    X, X_target = two_normals(150, 80)
    ratio = fit_ratio(X, X_target, KLIEP(n_centres=8, bandwidths=[0.9], tol=1e-10))
    rows = standardised(ratio, X, X_target)
    kernels = mean_one_kernels(ratio, rows, 0.9)
    mixture = best_mixture(kernels)
    value, expected = ratio.score_samples(X_target).mean(), np.log(kernels @ mixture).mean()
    assert value >= expected - 1e-9
    # The gap bounds what any other mixture can gain.
    assert value + ratio.gap_ >= expected - 1e-12
    means = gaussian_kernel(rows[0], ratio.centres_, 0.9).mean(axis=0)
    np.testing.assert_allclose(ratio.coef_ * means, mixture, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_step_raises_the_mean_log_ratio():
    X, X_target = two_normals()
    ratios = [
        fit_ratio(X, X_target, KLIEP(bandwidths=[0.4], max_iter=steps, tol=1e-12))
        for steps in (1, 2, 3, 4, 20)
    ]
    values = [ratio.score_samples(X_target).mean() for ratio in ratios]
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0]


def test_held_out_rows_are_never_centres():
    # At its own centre a narrow kernel is sharp for free, and the narrowest would always win.
    X, X_target = two_normals(150, 48)
    ratio = fit_ratio(X, X_target, KLIEP(n_centres=48, bandwidths=[1.5, 0.6, 0.1], cv=4))
    rows, expected = standardised(ratio, X, X_target), np.zeros(3)
    fold = np.arange(48) % 4
    for j, bandwidth in enumerate(ratio.bandwidths_):
        kernels = mean_one_kernels(ratio, rows, bandwidth)
        for k in range(4):
            mixture = best_mixture(kernels[fold != k][:, fold != k])
            held_out = kernels[fold == k][:, fold != k] @ mixture
            expected[j] += np.log(held_out).sum() / 48
    np.testing.assert_allclose(ratio.scores_[:2], expected[:2], atol=2e-3)
    assert ratio.scores_.argmax() == expected.argmax() == 1


def test_too_few_steps_warn():
    X, X_target = two_normals()
    with pytest.warns(ConvergenceWarning, match=r"KLIEP has not converged in 1 steps.*max_iter"):
        ratio = fit_ratio(X, X_target, KLIEP(max_iter=1, bandwidths=[0.3]))
    assert ratio.gap_ > ratio.tol


def test_far_rows_have_a_finite_log_ratio():
    X, X_target = two_normals()
    ratio = fit_ratio(X, X_target, KLIEP())
    assert np.isfinite(ratio.score_samples(X + 1e6)).all()


def test_bandwidths_without_a_usable_kernel():
    X, X_target = two_normals()
    with pytest.raises(ValueError, match=r"nothing in common.*wider bandwidths"):
        fit_ratio(X, X_target + 100, KLIEP(bandwidths=[1e-3]))
    one = fit_ratio(X, X_target, KLIEP(bandwidths=[1e-3, 1.0]))
    assert one.bandwidth_ == 1.0
    assert np.isnan(one.scores_[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv=1"),
        ({"tol": 0}, "tol=0, but expected a positive number"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"bandwidths": "auto"}, "bandwidths='auto'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*two_normals(), KLIEP(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(500, 0.65), (2000, 0.58), (10_000, 0.55)])
def test_error_of_the_weights_of_a_mean_shift(n, bar):
    assert mean_error(KLIEP(), n) <= bar
