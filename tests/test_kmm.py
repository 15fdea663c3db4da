"""Kernel mean matching: constraints, two solvers, new rows, bounded memory."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

from weighbridge import fit_ratio
from weighbridge.ratios import KMM
from weighbridge.ratios._kmm import Box


def samples(n_source=300, n_target=200, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) * 0.8 + 0.4


@pytest.mark.parametrize("solver", ["piqp", "gradient"])
@pytest.mark.parametrize(("bound", "tolerance"), [(1000.0, 0.01), (2.0, 0.01), (1000.0, 1e-6)])
def test_box_and_mean_are_kept(solver, bound, tolerance):
    X, X_target = samples()
    ratio = KMM(solver=solver, bound=bound, mean_tolerance=tolerance)
    weights = np.exp(fit_ratio(X, X_target, ratio).score_samples(X))
    assert weights.min() >= 1e-3 * (1 - 1e-9)
    assert weights.max() <= bound * (1 + 1e-9)
    assert abs(weights.mean() - 1) <= tolerance + 1e-9


@pytest.mark.parametrize("bound", [2.0, 1000.0])
def test_both_solvers_give_the_same_weights(bound):
    X, X_target = samples()
    by_piqp, by_gradient = (
        np.exp(fit_ratio(X, X_target, KMM(solver=s, bound=bound, tol=1e-5)).score_samples(X))
        for s in ("piqp", "gradient")
    )
    np.testing.assert_allclose(by_gradient, by_piqp, atol=2e-3)


def test_the_mean_embedding_is_matched():
    X, X_target = samples(500, 400)
    weights = np.exp(fit_ratio(X, X_target, KMM()).score_samples(X))

    def squared_discrepancy(w):
        def mean_kernel(a, wa, b, wb):
            distances = ((a[:, None] - b) ** 2).sum(axis=2)
            return wa @ np.exp(-distances / 2) @ wb / wa.sum() / wb.sum()

        ones = np.ones(len(X_target))
        return (
            mean_kernel(X, w, X, w)
            - 2 * mean_kernel(X, w, X_target, ones)
            + mean_kernel(X_target, ones, X_target, ones)
        )

    assert squared_discrepancy(weights) < 0.05 * squared_discrepancy(np.ones(len(X)))


def test_rows_seen_and_new_rows_follow_one_function():
    X, X_target = samples()
    ratio = fit_ratio(X, X_target, KMM(solver="piqp"))
    nudged = ratio.score_samples(X + 1e-7)
    np.testing.assert_allclose(np.exp(nudged), np.exp(ratio.score_samples(X)), atol=1e-3)


@pytest.mark.more
def test_memory_is_bounded_and_no_row_is_left_out():
    X, X_target = samples(4000, 3000)
    kept = fit_ratio(X, X_target, KMM(solver="gradient"))
    with sklearn.config_context(working_memory=4):
        made_anew = fit_ratio(X, X_target, KMM(solver="gradient", max_iter=100_000))
    weights = np.exp(kept.score_samples(X))
    np.testing.assert_allclose(np.exp(made_anew.score_samples(X)), weights, atol=2e-3)
    assert np.unique(weights.round(6)).size > 3000


def test_projection_onto_the_box_is_the_nearest_point():
    piqp = pytest.importorskip("piqp")
    rng = np.random.default_rng(0)
    box = Box(0.001, 3.0, 0.05)
    for scale in (0.1, 1.0, 10.0):
        values = rng.normal(size=40) * scale
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        solver.setup(
            P=np.eye(40), c=-values, G=np.full((1, 40), 1 / 40), h_l=np.array([0.95]),
            h_u=np.array([1.05]), x_l=np.full(40, 0.001), x_u=np.full(40, 3.0),
        )  # fmt: skip
        solver.solve()
        np.testing.assert_allclose(box.project(values), solver.result.x, atol=1e-7)


def test_too_few_steps_are_announced():
    with pytest.warns(ConvergenceWarning, match=r"KMM has not converged in 3 steps.*max_iter"):
        fit_ratio(*samples(), KMM(solver="gradient", max_iter=3))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bound": 0.5}, "bound=0.5.*at least 1"),
        ({"ridge": 0.0}, "ridge=0.0, but expected a positive number"),
        ({"bandwidth": -1}, "bandwidth=-1"),
        ({"n_features": 1}, "n_features=1"),
        ({"solver": "cvxopt"}, "solver='cvxopt'"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*samples(), KMM(**parameters))


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr("weighbridge.ratios._kmm.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"weighbridge\[qp\]"):
        fit_ratio(*samples(), KMM(solver="piqp"))
    assert fit_ratio(*samples(), KMM()).n_iter_ > 50  # without it the gradient takes over
