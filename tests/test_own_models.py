"""A model of one's own that answers nonsense is blamed by name, wherever it is asked."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from weighbridge import ImportanceWeightedCV, assess
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.label_shift import kind_of_shift
from weighbridge.ratios import GaussianRatio
from weighbridge.target_risk import estimate_risk

RNG = np.random.default_rng(0)
X, X_TARGET = RNG.normal(0, 1, (60, 2)), RNG.normal(0.6, 1, (40, 2))
CLASSES = np.where(X[:, 0] + RNG.normal(size=60) > 0, "up", "down")
SPOILED = {
    "is NaN or infinite in": lambda p: np.where(np.arange(len(p))[:, None] == 0, np.nan, p),
    "has shape": lambda p: p[:, :1],
    "not numbers between 0 and 1": lambda p: 0.7 * p,
    "with a sum of 1": lambda p: p * [-1, 3],
    "is of type complex128": lambda p: p + 0j,
}


class Chances(ClassifierMixin, BaseEstimator):
    def __init__(self, wrong="has shape"):
        self.wrong = wrong

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        k = len(self.classes_)
        return SPOILED[self.wrong](np.full((len(X), k), 1 / k))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Number(RegressorMixin, BaseEstimator):
    def __init__(self, answer=np.inf):
        self.answer = answer

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("wrong", SPOILED)
def test_probabilities_that_are_none(wrong):
    model, blamed = Chances(wrong), f"Got Chances, whose predict_proba .*{wrong}"
    with pytest.raises(ValueError, match=blamed):
        assess(model, X, CLASSES, X_TARGET, ratio=GaussianRatio())
    with pytest.raises(ValueError, match=blamed):
        estimate_risk(model, X, CLASSES, X_TARGET, ratio=GaussianRatio(), scoring="roc_auc")
    with pytest.raises(RuntimeError, match=f"candidates failed.*{blamed}"):
        ImportanceWeightedCV(model, GaussianRatio()).fit(X, CLASSES, X_target=X_TARGET)
    with pytest.raises(ValueError, match=blamed):
        ConformalClassifier(model, GaussianRatio()).fit(X, CLASSES, X_target=X_TARGET)
    with pytest.raises(ValueError, match=blamed):
        kind_of_shift(X, CLASSES, X_TARGET, classifier=model)


@pytest.mark.parametrize("answer", [np.nan, np.inf, 1j, "much"])
def test_predictions_that_are_no_numbers(answer):
    model = Number(answer)
    blamed = "Got Number, whose predict is (NaN or infinite in|of type (complex128|<U4), not)"
    with pytest.raises(ValueError, match=blamed):
        assess(model, X, X[:, 0], X_TARGET, ratio=GaussianRatio())
    with pytest.raises(RuntimeError, match=f"candidates failed.*{blamed}"):
        ImportanceWeightedCV(model, GaussianRatio()).fit(X, X[:, 0], X_target=X_TARGET)
    with pytest.raises(ValueError, match=blamed):
        ConformalRegressor(model, GaussianRatio()).fit(X, X[:, 0], X_target=X_TARGET)
