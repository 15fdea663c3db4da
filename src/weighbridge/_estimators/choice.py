"""From evaluated candidates to the one, or the few, that the final model is made of."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from weighbridge._pass_weights import fit_with_weights, naming_text
from weighbridge.model_selection import (
    ROW_LOSSES,
    Objective,
    Scores,
    SearchResult,
    default_scoring,
    fixed_steps,
    respond,
)

ANSWERS = ("stack", "guard", "argmin")
# Standard errors by which weights must beat no weights: where the choice is free, and where few
# rows decide. By the choosing half of the natural suite and the selection benchmark: 0 harms on
# real sets, and 1 gives gains away.
_GUARD = 0.5
_GUARD_THIN = 2.0
# Weight of the constraint that shares add up to 1, against errors of size 1.
_SUM_TO_ONE = 1e4
# Smaller shares are noise, and would each cost a fit.
_SMALLEST_SHARE = 0.01
# Candidates to stack, besides the best.
_MANY = 12


class Answer(NamedTuple):
    """Which candidates the final model is made of, with what shares, and in short why."""

    indices: list[int]
    shares: np.ndarray
    reason: str


class _Proposal(NamedTuple):
    """Candidates and shares, the loss without weights, and the paired gain over it."""

    indices: list[int]
    shares: np.ndarray
    loss_without: float
    gain: Scores

    def __str__(self) -> str:
        value, error = self.gain.value, self.gain.standard_error
        return f"gain {value:.3g} of {self.loss_without:.3g}, standard error {error:.2g}"


def form_answer(kind: str, objective: Objective, result: SearchResult, *, guarded: bool) -> Answer:
    """Turn a search result into candidates and shares."""
    if kind == "argmin":
        return Answer([result.best_index], np.ones(1), "the smallest loss, whatever it gains")
    none = result.index_of((0.0, 1.0))
    if result.evaluations[none].failed:
        return _without(none, "no weights could not be scored, so nothing was compared with them")
    if len(result.evaluations) == 1:
        return _without(none, "there was nothing to choose from")
    if result.best_index == none:
        return _without(none, "no weighting has a smaller loss")
    gain = result.difference(none, result.best_index)
    proposal = _Proposal([result.best_index], np.ones(1), float(result.values[none]), gain)
    obstacle = _obstacle(proposal, guarded)
    if obstacle:
        return _without(none, f"{proposal}: {obstacle}")
    return Answer(proposal.indices, proposal.shares, f"{proposal}: enough")


def _without(none: int, reason: str) -> Answer:
    return Answer([none], np.ones(1), reason)


def _obstacle(proposal: _Proposal, guarded: bool) -> str:
    """Say what speaks against the weights; nothing if they are worth it."""
    value, error = proposal.gain.value, proposal.gain.standard_error
    if np.isnan(error):
        raise ValueError(
            "Got a criterion with a single number for each candidate (a metric on one held-out "
            "part as a whole), whose gain over no weights has no standard error. Use "
            "CrossValidation(...) or a metric that is a mean over rows, or answer='argmin'."
        )
    if guarded and not value > _GUARD_THIN * error:
        return "less than two standard errors, where few rows decide"
    return "" if value > _GUARD * error else "less than half a standard error"


def _without_small(shares: np.ndarray) -> np.ndarray:
    """Drop small shares, and scale the others up."""
    kept = shares >= _SMALLEST_SHARE
    return np.where(kept, shares, 0.0) / shares[kept].sum()


def stack_shares(predictions: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Shares, at least 0 and adding up to 1, of the average with the least squared error."""
    error = predictions - truth if predictions.ndim == 2 else predictions.copy()
    if predictions.ndim == 3:
        error[:, np.arange(truth.size), truth] -= 1
        error = error.transpose(0, 2, 1)
    flat = (error * np.sqrt(weights / weights.sum())).reshape(len(error), -1)
    return simplex_minimum(flat @ flat.T)


def simplex_minimum(costs: np.ndarray) -> np.ndarray:
    """Minimise ``shares' costs shares`` over shares that are at least 0 and add up to 1."""
    size = len(costs)
    scale = np.trace(costs) / size
    if not scale > 0:  # all predictions are perfect
        return np.eye(size)[0]
    root = np.linalg.cholesky(costs / scale + _SUM_TO_ONE + 1e-9 * np.eye(size))
    shares, _ = nnls(root.T, np.linalg.solve(root, np.full(size, _SUM_TO_ONE)))
    return np.asarray(shares / shares.sum())


def finalists(result: SearchResult, none: int) -> list[int]:
    """Pick candidates that span the family: no weights, other named ones, the best, and others."""
    good = [index for index, value in enumerate(result.values) if np.isfinite(value)]
    chosen = list(dict.fromkeys([none, *good[:4], result.best_index]))  # named ones come first
    rest = [index for index in good if index not in chosen]
    step = max(1, -(-len(rest) // max(1, _MANY - len(chosen))))
    return sorted({*chosen, *rest[::step]})


def check_answer(kind: Any, lam_bounds: tuple[float, float]) -> None:
    """Refuse an answer that does not exist, or that cannot be formed within the bounds."""
    if kind not in ANSWERS:
        raise ValueError(f"Got answer={kind!r}, but expected one of {', '.join(ANSWERS)}.")
    if kind != "argmin" and lam_bounds[0] > 0:
        raise ValueError(
            f"Got lam_bounds={lam_bounds}, which exclude lam = 0, with answer={kind!r}, which "
            "compares with no weights; start the bounds at 0, or use answer='argmin'."
        )


def _all_have(attribute: str) -> Any:
    def check(self: Any) -> bool:
        getattr(self.models[0], attribute)
        return True

    return check


class AverageModel:
    """The average of fitted models of one kind, under given shares."""

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
        """Average the decision functions, which decide where models have no probabilities."""
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
        models, X = self._after_shared_steps(X)
        return sum(
            share * respond(model, X, response, self.classes_)
            for model, share in zip(models, self.shares, strict=True)
        )

    def _average(self, method: str, X: Any) -> np.ndarray:
        models, X = self._after_shared_steps(X)
        return sum(
            share * np.asarray(getattr(model, method)(X))
            for model, share in zip(models, self.shares, strict=True)
        )

    def _after_shared_steps(self, X: Any) -> tuple[list[Any], Any]:
        """Return the models and the rows, both after transformers that are one and the same."""
        if not all(type(each) is Pipeline for each in self.models):
            return self.models, X
        ahead = {tuple(id(step) for _, step in each.steps[:-1]) for each in self.models}
        if len(ahead) > 1 or () in ahead:
            return self.models, X
        return [each[-1] for each in self.models], self.models[0][:-1].transform(X)


class SharedFits:
    """Fits of one estimator to the same rows, and criteria for it, each made once."""

    def __init__(self) -> None:
        self._models: dict[Any, Any] = {}
        self._prepared: dict[Any, tuple[Any, Any]] = {}
        self._objectives: dict[Any, Any] = {}

    def model(self, estimator: Any, X: Any, y: Any, weights: np.ndarray | None) -> Any:
        """Return a copy that is fitted with these weights, or without any."""
        key = (_seeds(estimator), None if weights is None else _digest(weights))
        if key not in self._models:
            # a member of another class may do more in its fit than its steps
            plain = type(estimator) is Pipeline and len(estimator.steps) > 1
            if plain and fixed_steps(estimator) is not None:
                self._models[key] = self._fit_last(estimator, X, y, weights)
            else:
                self._models[key] = fit_with_weights(clone(estimator), X, y, weights)
        return self._models[key]

    def _fit_last(self, pipeline: Pipeline, X: Any, y: Any, weights: np.ndarray | None) -> Pipeline:
        """Fit the last step after transformers that know nothing of weights, fitted once."""
        key = _seeds(pipeline)
        if key not in self._prepared:
            transformers = clone(pipeline[:-1])
            with naming_text(pipeline, X):
                self._prepared[key] = transformers, transformers.fit_transform(X, y)
        transformers, features = self._prepared[key]
        last = fit_with_weights(clone(pipeline[-1]), features, y, weights)
        model = clone(pipeline)
        model.steps = [*transformers.steps, (pipeline.steps[-1][0], last)]
        return model

    def objective(
        self,
        estimator: Any,
        log_ratio: np.ndarray,
        seed: int,
        make: Callable[[], Objective],
    ) -> Objective:
        """Return a criterion with all that it has evaluated."""
        key = (_seeds(estimator), _digest(log_ratio), seed)
        if key not in self._objectives:
            self._objectives[key] = make()
        return self._objectives[key]


def _digest(numbers: np.ndarray) -> bytes:
    return blake2b(numbers.tobytes()).digest()


def _seeds(estimator: Any) -> tuple[tuple[str, str], ...]:
    """Return what copies of one estimator may differ by."""
    parameters = estimator.get_params(deep=True).items()
    return tuple((name, repr(each)) for name, each in parameters if name.endswith("random_state"))


def average_model(models: list[Any], shares: np.ndarray) -> Any:
    """Average fitted models; of linear and ridge regressions the average is one again."""
    if len(models) == 1:
        return models[0]
    last = [_last_step(model) for model in models]
    # with metadata routing transformers may have got the weights too, and then differ; and a
    # pipeline of another class may do more in its predict than its steps
    routed = get_config()["enable_metadata_routing"]
    alike = not isinstance(models[0], Pipeline) or (type(models[0]) is Pipeline and not routed)
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
