"""Held-out folds, many candidates: in order, when asked for, and whatever fails."""

import itertools
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from weighbridge.criteria import CrossValidation
from weighbridge.search import Point

POINTS = [Point(0.0, 1.0), Point(1.0, 1.0), Point(0.5, 3.0), Point(0.3, -2.0)]


def _data_for(estimator, n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] ** 2 + X @ [1.0, -1.0, 0.5] + rng.normal(size=n)
    return X, y > 0.5 if is_classifier(estimator) else y, 0.5 * X[:, 0]


class Counting(RegressorMixin, BaseEstimator):
    """The mean, which notes every fit and fails where the first row's weight is too large."""

    fits = 0

    def __init__(self, limit=np.inf):
        self.limit = limit

    def fit(self, X, y, sample_weight):
        type(self).fits += 1
        if sample_weight.max() > self.limit:
            raise RuntimeError("a weight is too large")
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_candidates_are_fitted_when_they_are_asked_for_in_order():
    X, y, s = _data_for(Ridge())
    objective = CrossValidation(3, random_state=0).objective(Counting(), X, y, s)
    Counting.fits = 0
    evaluations = objective.evaluate(POINTS)
    assert Counting.fits == 0
    for number, evaluation in enumerate(itertools.islice(evaluations, 3), 1):
        assert evaluation.point == POINTS[number - 1]
        assert Counting.fits == 3 * number
    assert list(objective.evaluate([])) == []


def test_lost_predictions_are_fitted_again():
    X, y, s = _data_for(Ridge())
    objective = CrossValidation(3, random_state=0).objective(Ridge(), X, y, s)
    evaluations = list(objective.evaluate(POINTS[:2]))
    lost = [replace(evaluations[0], predictions=None), evaluations[1]]
    np.testing.assert_array_equal(objective.predictions(lost), objective.predictions(evaluations))


def test_a_failing_estimator_is_recorded_not_raised():
    X, y, s = _data_for(Ridge())
    objective = CrossValidation(3, random_state=0).objective(Counting(limit=2.0), X, y, s)
    evaluations = list(objective.evaluate(POINTS[:2]))
    assert [each.failed for each in evaluations] == [False, True]
    assert evaluations[1].error == "RuntimeError: a weight is too large"
    assert evaluations[1].losses is None


def test_a_fold_without_weight_is_recorded():
    X, y, _ = _data_for(Ridge())
    s = np.where(np.arange(120) < 30, 0.0, -np.inf)
    objective = CrossValidation(KFold(4)).objective(Ridge(), X, y, s)
    evaluations = list(objective.evaluate(POINTS[:2]))
    assert not evaluations[0].failed
    assert evaluations[1].error == "ValueError: every row that is left to fit on has weight 0"
