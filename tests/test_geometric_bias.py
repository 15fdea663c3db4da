"""Geometric against statistical bias: the identities and bounds of the page, and its benchmark."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from benchmarks import geometric_bias
from benchmarks._bias_problems import fit, forty, name_half
from benchmarks.geometric_bias import (
    at_floor,
    candidates,
    distance,
    grid,
    leave_one_out,
    mean_one,
    measures,
    merged,
    penalty,
    population_bias,
    positive_root,
    regularised,
    spearman,
)
from weighbridge.datasets import make_quadratic
from weighbridge.geodesic import (
    alpha_divergence,
    alpha_geodesic,
    log_weight,
    remaining_length,
)

ALPHAS = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]


def _pair(seed, n=6):
    return np.random.default_rng(seed).dirichlet(np.full(n, 5.0), 2)


def _ratio(seed, n=12, spread=1.2):
    return mean_one(spread * np.random.default_rng(seed).standard_normal(n))


def _solve(objective, r, moment):
    """Minimise over weights of mean 1 with a floor of the effective size, by SLSQP."""
    found = minimize(
        objective,
        np.ones_like(r),
        method="SLSQP",
        bounds=[(1e-9, None)] * r.size,
        constraints=[
            {"type": "eq", "fun": lambda w: w.mean() - 1},
            {"type": "ineq", "fun": lambda w: moment - np.mean(w**2)},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_point_of_the_curve_minimises_the_mean_divergence_from_its_ends(alpha):
    source, target = _pair(0)
    for lam in (0.2, 0.7):

        def total(z, lam=lam):
            m = softmax(z)
            ends = (alpha_divergence(each, m, alpha) for each in (source, target))
            return (1 - lam) * next(ends) + lam * next(ends)

        best = softmax(minimize(total, np.zeros(source.size), tol=1e-12).x)
        np.testing.assert_allclose(best, alpha_geodesic(source, target, lam, alpha), atol=1e-5)


def test_the_divergence_of_another_alpha_has_another_minimiser():
    # in particular the ends must stand in the first place: turned round it is the curve of -alpha
    source, target = _pair(1)

    def turned(z):
        m = softmax(z)
        return sum(alpha_divergence(m, each, 3.0) for each in (source, target))

    best = softmax(minimize(turned, np.zeros(source.size), tol=1e-12).x)
    np.testing.assert_allclose(best, alpha_geodesic(source, target, 0.5, -3.0), atol=1e-5)
    assert np.abs(best - alpha_geodesic(source, target, 0.5, 3.0)).max() > 0.01


@pytest.mark.parametrize("alpha", ALPHAS)
def test_nothing_within_a_ball_round_the_source_is_nearer_to_the_target_than_the_curve(alpha):
    source, target = _pair(2)
    point = alpha_geodesic(source, target, 0.4, alpha)
    radius, reach = (alpha_divergence(each, point, alpha) for each in (source, target))
    rng = np.random.default_rng(0)
    others = point * np.exp(rng.standard_normal((20_000, 1)) * rng.standard_normal((20_000, 6)))
    others /= others.sum(axis=1, keepdims=True)
    inside = alpha_divergence(source, others, alpha) <= radius
    assert inside.sum() > 1000
    assert (alpha_divergence(target, others[inside], alpha) >= reach).all()
    # and the bound is met: points next to it come as near as one likes
    near = alpha_geodesic(source, target, 0.399, alpha)
    assert alpha_divergence(source, near, alpha) < radius
    assert alpha_divergence(target, near, alpha) < 1.05 * reach


@pytest.mark.parametrize("floor", [0.2, 0.6, 0.95])
def test_the_nearest_weights_under_a_floor_of_the_effective_size_are_the_mixture(floor):
    r = _ratio(3)
    found = _solve(lambda w: np.mean((w - r) ** 2), r, 1 + floor**2 * r.var())
    mixture = mean_one(log_weight(np.log(r), floor, -1.0))
    np.testing.assert_allclose(mixture, 1 + floor * (r - 1), atol=1e-12)
    np.testing.assert_allclose(found, mixture, atol=1e-5)


# scipy 1.13 tells of steps that it clips to the bounds
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_under_the_same_floor_the_chi_squared_distance_to_the_target_gives_riwerm():
    r = _ratio(4)
    riwerm = mean_one(log_weight(np.log(r), 0.6, 3.0))
    found = _solve(lambda w: np.mean((w - r) ** 2 / r), r, np.mean(riwerm**2))
    np.testing.assert_allclose(found, riwerm, atol=1e-5)
    # the floor is a ball of D_3 round the source
    p = np.full(r.size, 1 / r.size)
    assert np.mean(riwerm**2) == pytest.approx(1 + 2 * alpha_divergence(p, riwerm * p, 3.0))


def test_a_curvature_term_leaves_the_mixture_where_it_is():
    # no weights of its effective size are nearer to the ratio, and it has no curvature
    r = _ratio(5, n=200)
    s, floor = np.log(r), 0.5
    moment = 1 + floor**2 * r.var()
    lam, alpha = (each.ravel() for each in np.meshgrid(np.linspace(0, 1, 51), np.linspace(-3, 5)))
    w = mean_one(log_weight(s, lam[:, None], alpha[:, None]))
    allowed = np.mean(w**2, axis=1) <= moment
    squares = np.mean((w - r) ** 2, axis=1)
    mixture = np.mean((1 + floor * (r - 1) - r) ** 2)
    curvature = (1 - lam) * np.abs(1 - alpha**2)
    for gamma in (0.0, 0.1, 10.0):
        assert (squares + gamma * curvature)[allowed].min() >= mixture


def test_the_bias_of_a_bounded_loss_is_at_most_the_length_that_remains():
    rng = np.random.default_rng(6)
    for _ in range(12):
        s = np.log(mean_one(rng.uniform(0.2, 2) * rng.standard_normal(8)))
        losses = rng.random((30, 8)) ** rng.uniform(0.2, 5)
        lam, alpha = rng.random(), rng.uniform(-2, 4)
        r, w = np.exp(s), mean_one(log_weight(s, lam, alpha))
        risk = losses @ r / 8
        bias = risk[np.argmin(losses @ w)] - risk.min()
        variation = np.abs(w - r).mean() / 2
        d = distance(w, r, np.full(8, 1 / 8))
        assert bias <= 2 * variation + 1e-12
        assert variation <= np.sin(d / 2) + 1e-12
        assert d <= remaining_length(s, lam, alpha) + 1e-9


@pytest.mark.parametrize("share", [0.2, 0.8, 1.0])
def test_regularised_weights_are_those_of_a_general_solver(share):
    r = _ratio(7)
    for floor in (0.2, 0.6):
        w = regularised(r, floor, share)
        moment = 1 + floor**2 * r.var()
        assert w.mean() == pytest.approx(1)
        assert np.mean(w**2) == pytest.approx(moment)

        def objective(w):
            part = 4 * (1 - np.mean(np.sqrt(w * r)))
            return (1 - share) * np.mean((w - r) ** 2) / 2 + share * part

        np.testing.assert_allclose(w, _solve(objective, r, moment), atol=1e-5)


def test_regularised_weights_minimise_the_square_and_gamma_times_the_length():
    r, floor, share = _ratio(8), 0.4, 0.5
    w, mass = regularised(r, floor, share), np.full(12, 1 / 12)
    gamma = 4 * share / (1 - share) * np.sin(distance(w, r, mass) / 2)

    def objective(w):
        return np.mean((w - r) ** 2) + gamma * distance(w, r, mass)

    found = _solve(objective, r, 1 + floor**2 * r.var())
    np.testing.assert_allclose(w, found, atol=1e-4)


def test_regularised_weights_where_newton_needs_a_better_start(monkeypatch):
    starts = []
    better = geometric_bias._nested
    monkeypatch.setattr(
        geometric_bias, "_nested", lambda *a: starts.append(better(*a)) or starts[-1]
    )
    r = mean_one(4 * np.random.default_rng(9).standard_normal(200))
    for share in (0.5, 1.0):
        for floor in (0.1, 0.9):
            w = regularised(r, floor, share)
            assert w.mean() == pytest.approx(1)
            assert np.mean(w**2) == pytest.approx(1 + floor**2 * r.var())
    assert starts


def test_the_cubic_has_the_largest_of_its_roots():
    rng = np.random.default_rng(10)
    a, b, c = rng.uniform(0.1, 3, 200), 3 * rng.standard_normal(200), rng.uniform(0, 2, 200)
    for one, found in zip(zip(a, b, c, strict=True), positive_root(a, b, c), strict=True):
        roots = np.roots([one[0], 0, one[1], -one[2]])
        assert found == pytest.approx(roots[np.abs(roots.imag) < 1e-9].real.max(), abs=1e-6)


def test_forty_problems_two_kinds_and_two_halves():
    problems = forty()
    assert len(problems) == 40
    assert sum(each.classes for each in problems.values()) == 14
    assert sum(name_half(name) == "choose" for name in problems) == 18


def test_the_population_bias_of_the_toy_problem_has_a_closed_form():
    line = make_quadratic(2, 2).problem
    for lam, alpha in ((0.2, 1.0), (0.5, 3.0), (0.9, -1.0)):
        bias, _ = population_bias(
            forty()["toy, quadratic"], np.array([lam]), np.array([alpha], dtype=float)
        )
        assert bias[0] == pytest.approx(line.limit(lam, alpha) - line.limit(1.0), rel=1e-6)


def test_the_population_fit_is_the_limit_of_large_samples():
    problem = forty()["crossed, narrow"]
    X, y, s = problem.draw(200_000, np.random.default_rng(0))
    w = mean_one(log_weight(s, 0.5, 3.0))
    model = LogisticRegression(C=np.inf).fit(X[:, 1:], y, sample_weight=w)
    A, expected, log_ratio, mass = problem.nodes()
    weights = mass * mean_one(log_weight(log_ratio, 0.5, 3.0), mass)
    beta = fit(A, expected, weights[None], True)[0][0]
    # errors of coefficients of this size are about 2 / sqrt(200,000)
    np.testing.assert_allclose(model.coef_[0], np.append(beta[1:], np.zeros(3)), atol=0.03)


def test_length_ranks_the_bias_and_curvature_does_not():
    problem = forty()["quadratic, middle"]
    lam, alpha = grid()
    bias, _ = population_bias(problem, lam, alpha)
    geometric = measures(problem, lam, alpha, *merged(*problem.nodes()[2:]))
    assert spearman(geometric["remaining length"], bias) > 0.99
    assert spearman(geometric["distance"], bias) > 0.99
    assert spearman(geometric["curvature"], bias) < 0.5


def test_leaving_one_out_is_refitting_without_it():
    for name, tolerance in (("quadratic, strong", 1e-9), ("crossed, narrow", 0.02)):
        problem = forty()[name]
        A, y, s = problem.draw(60, np.random.default_rng(1))
        w = mean_one(log_weight(s, 0.5, 3.0))[None]
        _, losses = leave_one_out(A, y, w, problem.classes)
        for row in (0, 17, 42):
            kept = np.arange(60) != row
            ridge = penalty(problem.classes)
            beta = fit(A[kept], y[kept], w[:, kept], problem.classes, ridge)[0][0]
            eta = A[row] @ beta
            exact = np.logaddexp(0, eta) - y[row] * eta if problem.classes else (y[row] - eta) ** 2
            assert losses[0, row] == pytest.approx(exact, rel=tolerance, abs=tolerance)


def test_every_candidate_has_mean_one_and_keeps_its_floor():
    s = np.random.default_rng(2).standard_normal(100)
    weights, choices = candidates(s)
    np.testing.assert_allclose(weights.mean(axis=1), 1)
    assert (weights >= 0).all()
    r = mean_one(s)
    for alpha in (1, 3):
        assert np.mean(at_floor(s, 0.3, alpha) ** 2) == pytest.approx(1 + 0.09 * r.var())
    (relative,) = choices["RIWERM(.8)"]
    np.testing.assert_allclose(weights[relative], mean_one(log_weight(s, 0.8, 3.0)))
    assert max(max(each) for each in choices.values()) == len(weights) - 1
