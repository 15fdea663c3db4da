"""KLIEP: constraints, optimality, monotone steps, and honest cross-validation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from shift import mean_error
from weighbridge import fit_ratio
from weighbridge.ratios import KLIEP
from weighbridge.ratios import _kliep as kliep


def samples(n_source=300, n_target=200, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) * 0.8 + 0.4


def test_the_ratio_averages_one_over_the_source():
    X, X_target = samples()
    ratio = fit_ratio(X, X_target, KLIEP())
    assert np.exp(ratio.score_samples(X)).mean() == pytest.approx(1, abs=1e-12)
    assert (ratio.coef_ >= 0).all()


def test_the_solution_is_that_of_a_general_solver():
    X, X_target = samples(150, 80)
    ratio = fit_ratio(X, X_target, KLIEP(n_centres=8, bandwidths=[0.9], tol=1e-10))
    rows = [ratio.encoder_.numbers(part) for part in (X, X_target)]
    source, target = (
        np.exp(-((part[:, None] - ratio.centres_) ** 2).sum(axis=2) / (2 * 0.9**2)) for part in rows
    )
    means = source.mean(axis=0)
    found = minimize(
        lambda t: -np.log(target @ (t / means)).mean(),
        np.full(8, 1 / 8),
        jac=lambda t: -(target / means / (target @ (t / means))[:, None]).mean(axis=0),
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    mean_log_ratio = ratio.score_samples(X_target).mean()
    assert mean_log_ratio >= -found.fun - 1e-9
    # the gap bounds what any other mixture can gain
    assert mean_log_ratio + ratio.gap_ >= -found.fun - 1e-12
    np.testing.assert_allclose(ratio.coef_ * means, found.x, atol=1e-4)


def test_every_step_raises_the_mean_log_ratio():
    X, X_target = samples()
    values = [
        kliep_value(X, X_target, steps) for steps in (1, 2, 3, 4, 20)
    ]  # the same problem, stopped after so many steps
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0]


def kliep_value(X, X_target, steps):
    rng = np.random.RandomState(0)
    centres = X_target[rng.permutation(len(X_target))[:40]]
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    means = np.exp(-distances / 2 / 0.4**2).mean(axis=0)
    likelihood = kliep._Likelihood(X_target, centres, 0.4, means)
    mixture, _, _ = kliep._maximise(likelihood, 1e-12, steps)
    return likelihood.log_ratio(mixture).mean()


def test_held_out_rows_are_never_centres(monkeypatch):
    # at its own centre a narrow kernel is sharp for free: with that, the narrowest would always win
    X, X_target = samples(400, 100)
    seen = []
    original = kliep._Likelihood.part

    def spy(self, rows, centres):
        part = original(self, rows, centres)
        seen.append((part.rows, part.centres))
        return part

    monkeypatch.setattr(kliep._Likelihood, "part", spy)
    ratio = fit_ratio(X, X_target, KLIEP(n_centres=100))
    held_out = seen[1::2]
    assert len(held_out) == 50
    for rows, centres in held_out:
        distances = ((rows[:, None] - centres) ** 2).sum(axis=2)
        assert distances.min() > 0
    assert ratio.bandwidth_ > ratio.bandwidths_[-1]


def test_too_few_steps_are_announced():
    X, X_target = samples()
    with pytest.warns(ConvergenceWarning, match=r"KLIEP has not converged in 1 steps.*max_iter"):
        ratio = fit_ratio(X, X_target, KLIEP(max_iter=1, bandwidths=[0.3]))
    assert ratio.gap_ > ratio.tol


def test_nothing_is_kept_when_memory_is_short():
    import sklearn

    X, X_target = samples(500, 3000)
    expected = fit_ratio(X, X_target, KLIEP(bandwidths=[0.5, 1.0]))
    with sklearn.config_context(working_memory=1):
        got = fit_ratio(X, X_target, KLIEP(bandwidths=[0.5, 1.0]))
    np.testing.assert_allclose(got.score_samples(X), expected.score_samples(X), atol=1e-6)


def test_far_rows_keep_a_finite_logarithm():
    X, X_target = samples()
    ratio = fit_ratio(X, X_target, KLIEP())
    assert np.isfinite(ratio.score_samples(X + 1e6)).all()


def test_samples_too_far_apart_for_the_bandwidths():
    X, X_target = samples()
    with pytest.raises(ValueError, match=r"nothing in common.*wider bandwidths"):
        fit_ratio(X, X_target + 100, KLIEP(bandwidths=[1e-3]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv=1"),
        ({"tol": 0}, "tol=0, but expected a positive number"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"bandwidths": "auto"}, "bandwidths='auto'"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(*samples(), KLIEP(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(500, 0.65), (2000, 0.58), (10_000, 0.55)])
def test_error_of_the_weights_of_a_mean_shift(n, bar):
    assert mean_error(KLIEP(), n) <= bar
