"""Several fitted models as one: the average of their predictions."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from weighbridge.criteria._row_loss import ROW_LOSSES, default_scoring, respond


def _all_have(attribute: str) -> Any:
    def check(self: Any) -> bool:
        getattr(self.models[0], attribute)
        return True

    return check


class AverageModel:
    """The average of fitted models of one kind, under given shares.

    Regressors average their predictions; classifiers their probabilities, or what the selection
    took for chances where they have none: margins of two classes, votes of more.

    Parameters
    ----------
    models : list of fitted estimators
        All fitted on the same columns, classifiers with the same classes.
    shares : ndarray
        Positive numbers that add up to 1.
    """

    def __init__(self, models: list[Any], shares: np.ndarray) -> None:
        self.models = models
        self.shares = shares

    def __getattr__(self, name: str) -> Any:
        # what all have in common (columns, names, classes) is asked of the first
        if name in ("n_features_in_", "feature_names_in_", "classes_"):
            return getattr(self.models[0], name)
        # copying and pickling ask before there is anything to tell
        if name.startswith("__") or name == "models":
            raise AttributeError(name)
        raise AttributeError(
            f"An average of {len(self.models)} models has no {name!r}: they are in .models, with "
            "their .shares. ImportanceWeightedCV(answer='guard') fits a single one."
        )

    def __repr__(self) -> str:
        parts = ", ".join(f"{share:.2f}" for share in self.shares)
        return f"<average of {len(self.models)} fits of {self.models[0]!r}, shares {parts}>"

    def __sklearn_tags__(self) -> Any:
        return self.models[0].__sklearn_tags__()

    def predict(self, X: Any) -> np.ndarray:
        """Predict numbers, or the class with the largest average probability."""
        if not is_classifier(self.models[0]):
            return self._average("predict", X)
        return self.classes_[self._chances(X).argmax(axis=1)]

    @available_if(_all_have("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Average the class probabilities."""
        return self._average("predict_proba", X)

    @available_if(_all_have("predict_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the averaged probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_all_have("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Average the decision functions; for machines without probabilities what decides.

        That is the average of margins cut off at -1 and 1, or of votes for more than two classes.
        """
        if hasattr(self.models[0], "predict_proba"):
            return self._average("decision_function", X)
        chances = self._chances(X)
        return chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances

    @available_if(_all_have("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, R squared or, for counts, the share of the deviance explained."""
        if is_classifier(self.models[0]):
            metric = accuracy_score
        elif isinstance(_last_step(self.models[0]), PoissonRegressor):
            metric = partial(d2_tweedie_score, power=1)
        else:
            metric = r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def _chances(self, X: Any) -> np.ndarray:
        response = ROW_LOSSES[default_scoring(self.models[0])].response
        return sum(
            share * respond(model, X, response, self.classes_)
            for model, share in zip(self.models, self.shares, strict=True)
        )

    def _average(self, method: str, X: Any) -> np.ndarray:
        return sum(
            share * np.asarray(getattr(model, method)(X))
            for model, share in zip(self.models, self.shares, strict=True)
        )


def average_model(models: list[Any], shares: np.ndarray) -> Any:
    """Average fitted models; of linear and ridge regressions the average is one again."""
    if len(models) == 1:
        return models[0]
    last = [_last_step(model) for model in models]
    # with metadata routing transformers may have got the weights too, and then differ
    alike = not isinstance(models[0], Pipeline) or not get_config()["enable_metadata_routing"]
    if type(last[0]) not in (LinearRegression, Ridge) or not alike:
        return AverageModel(models, shares)
    average = deepcopy(models[0])
    line = _last_step(average)
    for name in ("coef_", "intercept_"):
        parts = [share * getattr(part, name) for part, share in zip(last, shares, strict=True)]
        setattr(line, name, sum(parts))
    return average


def _last_step(model: Any) -> Any:
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model
