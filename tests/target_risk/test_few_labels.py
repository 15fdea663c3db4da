"""A few labels of the target: the error by labels and forecast, and a test of the relation."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from weighbridge.ratios import GaussianRatio
from weighbridge.target_risk import (
    Question,
    RiskProblem,
    Sample,
    assess_procedures,
    by_labels,
    compare_relation,
    find_measure,
    forecast_labels,
    forecast_losses,
    label_values,
    with_forecast,
)
from weighbridge.target_risk._few_labels import _p_value, _prediction_powered
from weighbridge.target_risk._procedures import loss_argument

SHARE = SimpleNamespace(bounds=(0.0, 1.0), root=False)
AMOUNT = SimpleNamespace(bounds=(0.0, math.inf), root=False)


def sample(n, of=None):
    rows = np.arange(n) if of is None else np.random.default_rng(of[1]).permutation(of[0])[:n]
    return Sample.drawn(rows, np.ones(n), np.ones(n, dtype=bool))


def forecast(rows, variance=0.0):
    """What a source that knows its error says."""
    variances = variance, 0.0, 0.0, 0.0, 0.0
    value = float(rows.mean())
    return SimpleNamespace(rows=rows, variance=variance, variances=variances, value=value)


def test_the_covariance_of_two_means_of_strata_by_hand():
    """Two strata of 2 and 3 rows that stand for 4 and 15 of 19: sums of (share * sd)^2 / n."""
    stands_for = np.array([2.0, 2, 5, 5, 5])
    drawn = Sample.drawn(np.arange(5), stands_for, np.ones(5, dtype=bool))
    a, b = np.array([1.0, 3, 10, 20, 60]), np.array([2.0, 1, 0, 4, 5])
    parts = [(4 / 19, slice(0, 2)), (15 / 19, slice(2, 5))]
    by_hand = sum(s**2 * np.cov(a[k], b[k]) / a[k].size for s, k in parts)
    np.testing.assert_allclose(drawn.covariance(a, b)[0], by_hand, rtol=1e-12)
    assert sample(5).covariance(b)[1] == pytest.approx(4)  # degrees of freedom


def test_forecasts_that_follow_the_losses_leave_less_variance():
    """By Monte Carlo: the mean is right, and its variance is the part that is said to be left."""
    rng = np.random.default_rng(0)
    rows = rng.exponential(size=4000)
    losses = rows + 0.5 * rng.exponential(size=4000)
    found, plain, left = [], [], []
    for seed in range(600):
        drawn = sample(100, (4000, seed))
        value, part, _ = _prediction_powered(losses[drawn.rows], drawn, rows)
        found.append(value)
        left.append(part)
        plain.append(losses[drawn.rows].mean())
    error = np.std(found) / math.sqrt(600)
    assert np.mean(found) == pytest.approx(losses.mean(), abs=3 * error)
    # no forecast is trusted to spare more than half of the variance
    assert np.var(found) < 0.5 * np.var(plain)
    assert np.mean(left) == pytest.approx(0.5)


@pytest.mark.parametrize("measure", [SHARE, AMOUNT])
def test_labels_and_forecast_are_put_together_by_bayes_rule(measure):
    """The ends by numerical integration of binomial or normal times a law of Cauchy."""
    rng = np.random.default_rng(1)
    losses = (rng.random(80) < 0.3).astype(float)
    if measure is AMOUNT:
        losses = rng.exponential(size=80)
    guess, variance = (0.2, 0.02**2) if measure is SHARE else (0.8, 0.1**2)
    drawn = sample(80)
    # one forecast for all rows follows nothing
    found = with_forecast(losses, drawn, forecast(np.full(500, guess), variance), measure, 0.9)
    mean, moved = losses.mean(), 0.01 if measure is SHARE else 0.1
    spread = losses.std(ddof=1) / math.sqrt(80) / mean

    def chance(theta):
        if measure is SHARE:
            n = drawn.effective_size(losses)
            likely = n * (
                mean * np.log(theta / mean) + (1 - mean) * np.log((1 - theta) / (1 - mean))
            )
            off, scale = theta - guess, math.hypot(math.sqrt(variance), moved)
            return math.exp(likely) / (1 + (off / scale) ** 2)
        off, scale = math.log(theta / guess), math.hypot(math.sqrt(variance) / guess, moved)
        likely = -0.5 * ((mean / theta - 1) / spread) ** 2
        return math.exp(likely) / (1 + (off / scale) ** 2) / theta

    most = 1.0 if measure is SHARE else 40.0
    points = [0.1, 0.2, 0.3, 0.5, 1.0] if measure is SHARE else [0.5, 0.7, 0.9, 1.2, 2.0, 5.0]
    total = quad(chance, 1e-9, most - 1e-9, points=points, limit=400)[0]
    for end, share in ((found.low, 0.05), (found.value, 0.5), (found.high, 0.95)):
        part = quad(chance, 1e-9, end, points=[p for p in points if p < end], limit=400)[0]
        assert part / total == pytest.approx(share, abs=0.004)


@pytest.mark.parametrize(
    ("n", "off", "least", "most"),
    [(50, 0.0, 0.3, 0.65), (200, 0.02, 0.4, 0.85), (1000, 0.15, 0.9, 1.05)],
)
def test_intervals_hold_where_the_forecast_is_right_and_where_labels_overrule_it(
    n, off, least, most
):
    """And are shorter than those of labels alone only where it is right."""
    rng = np.random.default_rng(2)
    chance = rng.beta(2, 6, size=20_000)
    losses = (rng.random(20_000) < chance).astype(float)
    truth, held, ratio = losses.mean(), [], []
    for seed in range(400):
        drawn = sample(n, (20_000, seed))
        guess = chance + off + 0.01 * rng.normal()
        known = losses[drawn.rows]
        found = with_forecast(known, drawn, forecast(guess, 0.01**2), SHARE, 0.95)
        plain = by_labels(known, drawn, SHARE, 0.95)
        held.append(found.low <= truth <= found.high)
        ratio.append((found.high - found.low) / (plain.high - plain.low))
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 400)
    assert least < np.mean(ratio) < most


def test_nothing_but_zero_losses_is_an_interval_of_labels_alone():
    drawn, none = sample(30), np.zeros(30)
    found = with_forecast(none, drawn, forecast(np.ones(90), 0.1), AMOUNT, 0.95)
    assert (found.low, found.value, found.high) == (0, 0, 0)
    found = with_forecast(none, drawn, forecast(np.full(90, 0.1), 0.01), SHARE, 0.95)
    assert (
        0 <= found.low < found.value < found.high < by_labels(none, drawn, SHARE, 0.95).high + 0.1
    )


@pytest.mark.parametrize("between", [-1.0, -0.6, 0.0, 0.9])
def test_the_p_value_is_the_chance_of_more(between):
    """Against 200,000 draws of two scores that are so correlated."""
    rng = np.random.default_rng(3)
    one = rng.normal(size=200_000)
    other = between * one + math.sqrt(1 - between**2) * rng.normal(size=200_000)
    drawn = np.maximum(one, 0) ** 2 + other**2
    for scores in ((0.5, 0.3), (1.9, -0.4), (-2.5, 1.5), (2.0, 2.5)):
        found = max(scores[0], 0) ** 2 + scores[1] ** 2
        share = np.mean(drawn > found)
        noise = 4 * math.sqrt(share / 200_000) + 1e-5
        assert _p_value(np.array(scores), between) == pytest.approx(share, abs=noise)


def draw(kind, changed, seed, n=700):
    """A source and a target with other rows, and there, if `changed`, another relation."""
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 2)), rng.normal([0.5, 0], 1, size=(n, 2))
    signal, there = X[:, 0] + X[:, 1], X_target[:, 0] + (1 - 2 * changed) * X_target[:, 1]
    if kind == "regression":
        return X, signal + rng.normal(size=n), X_target, there + rng.normal(size=n)
    y, y_target = (np.where(rng.logistic(size=n) < each, "b", "a") for each in (signal, there))
    return X, y, X_target, y_target


def told(kind, changed, seed, n_labels=150):
    X, y, X_target, y_target = draw(kind, changed, seed)
    model = LinearRegression() if kind == "regression" else LogisticRegression()
    scoring = "neg_mean_squared_error" if kind == "regression" else "accuracy"
    frozen = FrozenEstimator(model.fit(X[:200], y[:200]))
    question = Question(ratio=GaussianRatio(), scoring=scoring, random_state=0)
    problem = RiskProblem(frozen, X[200:], y[200:], X_target, None, question)
    measure = find_measure(scoring, None, frozen)
    (assessed,) = assess_procedures([frozen], problem, measure)
    loss, classes = measure.row_loss, problem.rows.classes
    codes = y_target if classes is None else np.searchsorted(classes, y_target)
    held_out = assessed.held_out
    losses = loss.loss(codes, loss_argument(held_out.final, loss.response, classes))
    both = forecast_losses(problem, loss, held_out)[0], forecast_labels(problem, held_out)
    drawn = sample(n_labels, (losses.size, seed))
    values = label_values(problem, codes)
    some = losses[drawn.rows], values[drawn.rows]
    return compare_relation(*some, drawn, both, 0.95), losses, both


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_another_relation_is_found_and_its_part_is_right(kind):
    relation, losses, both = told(kind, True, 0)
    assert (relation.p_value < 0.01, relation.labels) == (True, 150)
    part = losses.mean() - both[0].value
    assert relation.part.low < part < relation.part.high
    assert relation.part.low > 0


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_same_relation_is_hardly_ever_said_to_be_another(kind):
    """In 20 draws at most 3 at 5 %: more have a chance below 2 %."""
    found = [told(kind, False, seed)[0].p_value for seed in range(20)]
    assert sum(each < 0.05 for each in found) <= 3
    assert max(found) > 0.5


def test_the_part_of_a_root_is_the_change_of_the_root():
    relation = told("regression", True, 0)[0]
    rooted = relation.rooted(1.2)
    assert rooted.part.value == pytest.approx(math.sqrt(1.2 + relation.part.value) - math.sqrt(1.2))
    assert rooted.part.low == pytest.approx(math.sqrt(1.2 + relation.part.low) - math.sqrt(1.2))
    assert rooted.p_value == relation.p_value


def test_labels_count_by_the_commonest_class_or_from_their_mean_on():
    X, y, X_target, _ = draw("classification", False, 0, n=100)
    problem = RiskProblem(
        LogisticRegression(), X, y, X_target, None, Question(ratio=GaussianRatio())
    )
    common = np.bincount(problem.rows.codes).argmax()
    np.testing.assert_array_equal(label_values(problem, np.array([0, 1])), np.arange(2) == common)
    X, y, X_target, _ = draw("regression", False, 0, n=100)
    problem = RiskProblem(LinearRegression(), X, y, X_target, None, Question(ratio=GaussianRatio()))
    assert label_values(problem, y).mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [20, 50])
def test_few_labels_find_nothing_by_chance(n):
    """2,000 draws in which the forecast is right: at 5 % no more than 5 % and noise."""
    rng = np.random.default_rng(4)
    chance = rng.beta(2, 4, size=3000)
    both = forecast(chance, 0.01**2), forecast(1 - chance, 0.01**2)
    found = []
    for _ in range(2000):
        drawn = Sample.drawn(rng.choice(3000, n), np.ones(n), np.ones(n, dtype=bool))
        losses = (rng.random(n) < chance[drawn.rows]).astype(float)
        found.append(compare_relation(losses, 1 - losses, drawn, both, 0.95).p_value)
    assert np.mean(np.array(found) < 0.05) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
