"""What all criteria share: weights of candidates, scores, checks of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from weighbridge import Geodesic
from weighbridge.model_selection import (
    Criterion,
    CrossValidation,
    GridSearch,
    HoldOut,
    InformationCriterion,
    LeaveOneOut,
    Point,
    Scores,
    Tempered,
)
from weighbridge.weighting import IWERM, RIWERM, mean_one

EPS = 2.0**-52
CRITERIA = [
    CrossValidation(3, random_state=0),
    HoldOut(random_state=0),
    LeaveOneOut(),
    InformationCriterion(),
]
every = pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
# of the information criterion, which has few effective rows here
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ratio times:weighbridge.exceptions.WeightWarning"
)


def _problem(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] ** 2 + X[:, 1] + rng.normal(size=n), 0.4 * X[:, 0]


def _ess(weights):
    return weights.sum() ** 2 / (weights**2).sum()


# --- tempered validation weights ---------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(10, 300), st.floats(1, 60), st.floats(0.1, 100))
def test_tempered_weights_reach_the_effective_sample_size(seed, n, ess, scale):
    log_ratio = scale * np.random.default_rng(seed).normal(size=n)
    tempered = Tempered(ess)(log_ratio)
    wanted = min(ess, n / 2)
    if _ess(np.exp(log_ratio - log_ratio.max())) >= wanted:
        # the ratio itself where it is tame
        np.testing.assert_array_equal(tempered, log_ratio)
    else:
        # else the power that is worth just as many rows
        assert _ess(np.exp(tempered - tempered.max())) == pytest.approx(wanted, rel=1e-6)
        top = log_ratio.argmax()
        power = np.delete(tempered - tempered[top], top) / np.delete(
            log_ratio - log_ratio[top], top
        )
        np.testing.assert_allclose(power, power[0], rtol=1e-9)


def test_tempered_weights_of_rows_without_any_ratio():
    log_ratio = np.r_[np.zeros(30), np.full(70, -np.inf)]
    np.testing.assert_array_equal(Tempered(20)(log_ratio), log_ratio)
    few = np.exp(Tempered(50)(log_ratio))  # 30 rows are not enough: the others must count as well
    assert _ess(few) == pytest.approx(50, rel=1e-6)


@pytest.mark.parametrize("ess", [0, 0.5, -3, np.nan])
def test_tempered_refuses_less_than_one_row(ess):
    with pytest.raises(ValueError, match="but expected at least 1 row"):
        Tempered(ess)(np.zeros(5))


def test_validation_weights_are_chosen_by_name():
    X, y, s = _problem()
    for validation, expected in (
        (None, RIWERM(0.9)(np.log(mean_one(s)))),
        (IWERM(), s),
        (Tempered(80), Tempered(80)(s)),
    ):
        objective = LeaveOneOut(validation=validation).objective(Ridge(), X, y, s)
        np.testing.assert_allclose(objective.unit_weights, mean_one(expected), rtol=1e-10)
    with pytest.raises(TypeError, match="Got weighting='ratio'"):
        LeaveOneOut(validation="ratio").objective(Ridge(), X, y, s)


# --- scores ------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 50))
def test_value_and_standard_error_by_hand(seed, n):
    rng = np.random.default_rng(seed)
    losses, other, weights = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.1, 1, size=n)
    scores = Scores(losses, weights)
    mean = sum(losses * weights) / sum(weights)
    variance = n / (n - 1) * sum(weights**2 * (losses - mean) ** 2) / sum(weights) ** 2
    assert scores.value == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert scores.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)
    # a difference is that of the pairs
    gain = scores - Scores(other, weights)
    assert gain.value == pytest.approx(scores.value - Scores(other, weights).value, abs=1e-12)
    assert gain.standard_error == Scores(losses - other, weights).standard_error
    # units without weight do not count
    more = Scores(np.append(losses, 1e9), np.append(weights, 0.0))
    assert (more.value, more.standard_error) == (scores.value, scores.standard_error)
    # scale of the weights does not matter
    assert Scores(losses, 1e300 * weights).value == pytest.approx(mean, rel=1e-9, abs=1e-12)


def test_scores_of_other_weights_are_not_compared():
    for other in (np.arange(3.0), np.ones(2)):
        with pytest.raises(ValueError, match="Only scores of one criterion on the same rows"):
            Scores(np.ones(3), np.ones(3)) - Scores(np.ones(other.size), other)


# --- a criterion is called for one weighting, its objective for many ----------------------------


@every
def test_the_call_agrees_with_the_objective(criterion):
    X, y, s = _problem()
    objective = criterion.objective(Ridge(), X, y, s)
    for evaluation in objective.evaluate([Point(0.0, 1.0), Point(0.5, 3.0)]):
        log_weight = Geodesic(*evaluation.point)(objective.log_ratio)
        scores = criterion(Ridge(), X, y, s, log_weight + 5)  # their scale does not matter
        np.testing.assert_allclose(scores.losses, evaluation.losses, rtol=1e-9)
        np.testing.assert_array_equal(scores.weights, objective.unit_weights)
    assert objective.log_ratio == pytest.approx(np.log(mean_one(s)))


@every
def test_a_search_takes_the_objective_and_inputs_stay_as_they_are(criterion):
    X, y, s = _problem()
    before, estimator = (X.copy(), y.copy(), s.copy()), Ridge()
    result = GridSearch(5, 2)(criterion.objective(estimator, X, y, s))
    assert result.values.min() == result.values[result.best_index]
    for now, then in zip((X, y, s), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert not hasattr(estimator, "coef_")
    assert repr(clone(criterion)) == repr(criterion)
    assert isinstance(criterion, Criterion)


def test_the_seed_of_the_criterion_comes_first():
    X, y, s = _problem()
    for kind in (CrossValidation, HoldOut):
        own = kind(random_state=1).objective(Ridge(), X, y, s, random_state=2)
        given_seed = kind().objective(Ridge(), X, y, s, random_state=1)
        np.testing.assert_array_equal(own.splits[0][1], given_seed.splits[0][1])


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("y", np.zeros(89), "inconsistent numbers of samples"),
        ("log_ratio", np.zeros(89), "inconsistent numbers of samples"),
        ("y", np.zeros((90, 2)), r"y should be a 1d array, got an array of shape \(90, 2\)"),
        ("y", np.full(90, np.nan), "Got y with NaN or infinite values in 90 of 90"),
        ("y", np.full(90, "a"), "could not convert string to float"),
        ("log_ratio", np.full(90, np.nan), "Got NaN among the logarithms"),
        ("log_ratio", np.full(90, np.inf), "infinite at 90 source rows"),
        ("log_ratio", np.full(90, -np.inf), "0 at every source row"),
        ("sample_weight", np.zeros(90), "sample_weight of zero for every row"),
        ("sample_weight", np.ones(3), r"sample_weight of shape \(3,\)"),
    ],
)
def test_bad_rows_raise(name, value, message):
    X, y, s = _problem()
    rows = {"y": y, "log_ratio": s} | {name: value}
    with pytest.raises(ValueError, match=message):
        LeaveOneOut().objective(Ridge(), X, **rows)


def test_bad_weights_and_single_rows_raise():
    X, y, s = _problem()
    with pytest.raises(ValueError, match=r"Got log_weight of shape \(89,\) for 90 log ratios"):
        LeaveOneOut()(Ridge(), X, y, s, np.zeros(89))
    with pytest.raises(ValueError, match="Got n_samples=1 source rows"):
        LeaveOneOut().objective(Ridge(), X[:1], y[:1], s[:1])


def test_a_column_of_labels_is_read_as_labels():
    X, y, s = _problem()
    losses = [LeaveOneOut()(Ridge(), X, each, s, s).losses for each in (y, y[:, None])]
    np.testing.assert_array_equal(*losses)


def test_classes_are_needed_and_more_than_one():
    X, y, s = _problem()
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        CrossValidation().objective(LogisticRegression(), X, y, s)
    # Rows of the other class may all have weight 0.
    label = np.where(np.arange(90) < 10, "a", "b")
    with pytest.raises(ValueError, match=r"Got only one class .* in all 80 source rows that count"):
        CrossValidation().objective(GaussianNB(), X, label, s, (label == "b").astype(float))


@pytest.mark.parametrize(("cv", "message"), [(1, "n_splits=1"), (91, "n_splits=91 greater")])
def test_bad_numbers_of_folds_raise(cv, message):
    X, y, s = _problem()
    with pytest.raises(ValueError, match=message):
        CrossValidation(cv).objective(Ridge(), X, y, s)
