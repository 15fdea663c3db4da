"""Laws of kernel mean matching: constraints, optimality, one function for all rows."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from shift import gaussian_kernel, two_normals
from weighbridge import fit_ratio
from weighbridge.ratios import KMM


@pytest.mark.parametrize(("bound", "tolerance"), [(1000.0, 0.01), (2.0, 0.01), (1000.0, 1e-6)])
def test_weights_and_their_mean_keep_their_bounds(bound, tolerance):
    X, X_target = two_normals()
    ratio = fit_ratio(X, X_target, KMM(bound=bound, mean_tolerance=tolerance))
    weights = np.exp(ratio.score_samples(X))
    assert weights.min() >= 1e-3 * (1 - 1e-9)
    assert weights.max() <= bound * (1 + 1e-9)
    assert abs(weights.mean() - 1) <= tolerance + 1e-9


@pytest.mark.parametrize("bound", [1.5, 1000.0])
def test_weights_solve_the_quadratic_programme(bound):
    # |mean of w phi(x) over the source - mean of phi over the target|^2 / 2 + ridge |w|^2 / (2 n)
    X, X_target = two_normals(60, 50)
    ratio = KMM(bandwidth=1.0, bound=bound, ridge=0.01, mean_tolerance=0.02, tol=1e-7)
    ratio = fit_ratio(X, X_target, ratio)
    source, target = (ratio.encoder_.numbers(part) for part in (X, X_target))
    P = gaussian_kernel(source, source, 1.0) / 60**2 + 0.01 / 60 * np.eye(60)
    q = gaussian_kernel(source, target, 1.0).mean(axis=1) / 60
    expected = minimize(
        lambda w: w @ P @ w / 2 - q @ w,
        np.ones(60),
        jac=lambda w: P @ w - q,
        bounds=[(0.001, bound)] * 60,
        constraints=[
            {"type": "ineq", "fun": lambda w: w.mean() - 0.98, "jac": lambda w: np.ones(60) / 60},
            {"type": "ineq", "fun": lambda w: 1.02 - w.mean(), "jac": lambda w: -np.ones(60) / 60},
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x
    weights = np.exp(ratio.score_samples(X))
    np.testing.assert_allclose(weights, expected, atol=1e-4)
    assert (weights < 0.0011).any()
    assert bound > 2 or (weights > 1.499).any()


def test_source_rows_and_new_rows_follow_one_function():
    X, X_target = two_normals()
    ratio = fit_ratio(X, X_target, KMM())
    nudged = ratio.score_samples(X + 1e-7)
    np.testing.assert_allclose(np.exp(nudged), np.exp(ratio.score_samples(X)), atol=1e-3)


def test_every_row_has_its_weight_if_features_are_fewer():
    X, X_target = two_normals(1000, 800)
    few, many = (
        np.exp(fit_ratio(X, X_target, KMM(n_features=n)).score_samples(X)) for n in (60, 300)
    )
    assert np.unique(few.round(6)).size > 700
    assert np.corrcoef(few, many)[0, 1] > 0.99


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match=r"KMM has not converged in 3 steps.*max_iter"):
        fit_ratio(*two_normals(), KMM(max_iter=3))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bound": 0.5}, "bound=0.5.*at least 1"),
        ({"ridge": 0.0}, "ridge=0.0, but expected a positive number"),
        ({"bandwidth": -1}, "bandwidth=-1"),
        ({"n_features": 1}, "n_features=1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*two_normals(), KMM(**parameters))
