"""Metrics of the rows as a whole, such as AUC, F1 and R squared, on the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.isotonic import IsotonicRegression

from weighbridge._findings import Estimate
from weighbridge._pass_weights import answer_of
from weighbridge.model_selection import respond
from weighbridge.target_risk._question import CALIBRATED, WEIGHTED, Measure

if TYPE_CHECKING:
    from weighbridge.target_risk._held_out import HeldOut, Response
    from weighbridge.target_risk._problem import RiskProblem

Metric = Callable[[np.ndarray], float]
# Draws of the bootstrap, and how many share a pass over the rows.
_N_DRAWS = 200
_AT_ONCE = 20
# How much of the distance between the two estimates counts as a standard deviation, chosen for
# coverage on the choosing half of the benchmark.
_APART = 0.75
# Of all that models are asked for, probabilities of the classes serve every measure.
CHANCES = "predict_proba"
RAW = "raw "  # starts the names of answers that are taken as they are


class _Draw(NamedTuple):
    """Weights of the source rows, as they are and toward the target, and of the target rows."""

    number: int
    plain: np.ndarray
    toward_target: np.ndarray
    target: np.ndarray | None = None


def whole_estimates(
    measure: Measure, said: dict[str, HeldOut], problem: RiskProblem
) -> tuple[dict[str, Estimate], Estimate]:
    """Estimate a metric on the target, by every method that applies, and in training."""
    at_source = {name[4:]: said[name].at_source for name in said if name.startswith(RAW)}
    metric = metric_of(measure, at_source, problem.rows.codes, problem.rows.classes)
    metrics: dict[str, Callable[[_Draw], float]] = {
        "training": lambda draw: metric(draw.plain),
        WEIGHTED: lambda draw: metric(draw.toward_target),
    }
    if CHANCES in said:
        metrics[CALIBRATED] = _SoftLabels(measure, said, problem)
    draws = np.array([[each(draw) for each in metrics.values()] for draw in _draws(problem)])
    n, estimates = problem.rows.y.size, dict[str, Estimate]()
    still = [_Draw(k, np.ones(n), n * problem.shares) for k in range(problem.n_folds)]
    for (name, each), drawn in zip(metrics.items(), draws.T, strict=True):
        error, value = drawn.std(ddof=1), float(np.mean([each(draw) for draw in still]))
        if name == WEIGHTED:  # the target's labels are unknown; calibrated ones are drawn
            error *= np.sqrt(1 + problem.ess / problem.n_target)
        if name == CALIBRATED:  # a curve follows noise and looks sharp; one of draws does so twice
            value = float(np.clip(2 * value - drawn.mean(), *measure.bounds))
            error = np.hypot(error, _APART * (value - estimates[WEIGHTED].value))
        confidence = problem.question.confidence
        estimates[name] = Estimate.normal(value, error, confidence, measure.bounds)
    return estimates, estimates.pop("training")


def _draws(problem: RiskProblem) -> Iterator[_Draw]:
    """Weight the rows of both samples at random, in the same way for every model and metric."""
    of_both, of_plain, of_target = (np.random.default_rng(seed) for seed in (0, 0, 1))
    n, ratio = problem.rows.y.size, problem.ratio_influence
    for start in range(0, _N_DRAWS, _AT_ONCE):
        plain, source = (each.exponential(size=(n, _AT_ONCE)) for each in (of_plain, of_both))
        rng = of_target if ratio is None else of_both
        target = rng.exponential(size=(problem.n_target, _AT_ONCE))
        weights = problem.shares[:, None] * source
        if ratio is not None:
            moved = ratio.moved(source - 1, target - 1)
            weights *= np.exp(moved - moved.max(axis=0))
        plain, weights = plain / plain.mean(axis=0), weights / weights.mean(axis=0)
        for k, columns in enumerate(zip(plain.T, weights.T, target.T, strict=True)):
            yield _Draw(start + k, *columns)


class _SoftLabels:
    """A metric at the target rows, where every row is of each class with its calibrated chance."""

    def __init__(self, measure: Measure, said: dict[str, HeldOut], problem: RiskProblem):
        self.chances, self.codes = said[CHANCES], problem.rows.codes
        classes = problem.rows.classes
        assert classes is not None
        self.n_classes, self.rng = classes.size, np.random.default_rng(2)
        self.tilt = problem.rows.validation / np.maximum(problem.shares, np.finfo(float).tiny)
        codes = np.repeat(np.arange(classes.size), problem.n_target)
        self.metrics = []
        for k in range(len(self.chances.at_target)):
            parts = {name: [each.at_target[k]] * classes.size for name, each in said.items()}
            raw = {name[4:]: np.concatenate(parts[name]) for name in parts if name.startswith(RAW)}
            self.metrics.append(metric_of(measure, raw, codes, classes))

    def __call__(self, draw: _Draw) -> float:
        """Return the metric; models of the folds take turns, so that their spread is in it."""
        fold = draw.number % len(self.metrics)
        weights = self.calibrated(self.chances.at_target[fold], self.tilt * draw.toward_target)
        if draw.target is not None:
            # Rows drawn from such labels: weights of a row add up to its own, its classes compete.
            weights = self.rng.standard_gamma(weights)
            weights *= draw.target / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        return self.metrics[fold](weights.ravel())

    def calibrated(self, chances: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the chance of each class at target rows, by source rows of these weights."""
        found = np.empty(chances.T.shape)
        for code in range(self.n_classes == 2, self.n_classes):  # of two classes one is enough
            curve = IsotonicRegression(out_of_bounds="clip")
            curve.fit(self.chances.at_source[:, code], self.codes == code, sample_weight=shares)
            found[code] = np.maximum(curve.predict(chances[:, code]), np.finfo(float).tiny)
        if self.n_classes == 2:
            found[0] = 1 - found[1]
        return np.asarray(found / found.sum(axis=0))


def value_of(
    measure: Measure,
    model: Any,
    X: Any,
    codes: np.ndarray,
    classes: np.ndarray | None,
    weights: np.ndarray,
) -> float:
    """Return a measure on labelled rows; NaN where it has no value there."""
    loss = measure.row_loss
    if loss is None:
        said = {name[4:]: ask(model, X) for name, ask in raw_responses(model).items()}
        return metric_of(measure, said, codes, classes)(weights)
    losses = loss.loss(codes, respond(model, X, loss.response, classes))
    mean = float(np.average(losses, weights=weights))
    return float(np.sqrt(mean)) if measure.root else mean


def metric_of(
    measure: Measure, said: dict[str, np.ndarray], codes: np.ndarray, classes: np.ndarray | None
) -> Metric:
    """Return a metric of rows as a function of their weights, fast for those most asked for."""
    if classes is None:
        return _scored(measure, said, codes, None)
    name, chances = measure.name, said.get("predict_proba")
    if name == "roc_auc" and classes.size == 2:
        score = said["decision_function"] if chances is None else chances[:, 1]
        return _auc(said.get("decision_function", score), codes == 1)
    if name == "roc_auc_ovr" and chances is not None:
        parts = [_auc(chance, codes == code) for code, chance in enumerate(chances.T)]
        return lambda weights: float(np.mean([part(weights) for part in parts]))
    known = name in ("balanced_accuracy", "f1_macro") or (name == "f1" and classes.size == 2)
    if known and np.isin(said["predict"], classes).all():
        return _of_counts(name, codes, np.searchsorted(classes, said["predict"]), classes.tolist())
    return _scored(measure, said, classes[codes], classes)


def _auc(score: np.ndarray, is_class: np.ndarray) -> Metric:
    """Return the chance that a row of the class has the higher score; ties count half."""
    _, place = np.unique(score, return_inverse=True)

    @np.errstate(invalid="ignore")
    def metric(weights: np.ndarray) -> float:
        here, other = (np.bincount(place, weights * part) for part in (is_class, ~is_class))
        return float(here @ (np.cumsum(other) - other / 2) / (here.sum() * other.sum()))

    return metric


def _of_counts(name: str, codes: np.ndarray, predicted: np.ndarray, classes: list[Any]) -> Metric:
    """Return a metric of the confusion matrix; F1 is of class 1, or of the last if none is."""
    n, cell = len(classes), len(classes) * codes + predicted
    positive = classes.index(1) if 1 in classes else n - 1

    @np.errstate(invalid="ignore")
    def metric(weights: np.ndarray) -> float:
        table = np.bincount(cell, weights, minlength=n * n).reshape(n, n)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        sizes = rows if name == "balanced_accuracy" else (rows + columns) / 2
        shares = np.diag(table) / sizes  # NaN for a class without rows, which does not count
        return float(shares[positive] if name == "f1" else np.nanmean(shares))

    return metric


class _Replay(BaseEstimator):
    """Answers with predictions that were made before; its X are row numbers."""

    def __init__(self, said: dict[str, np.ndarray], classes: np.ndarray | None):
        self.classes_ = classes
        for name, answers in said.items():
            method: Any = partial(np.take, answers, axis=0)
            method.__name__ = name
            setattr(self, name, method)


def _scored(
    measure: Measure, said: dict[str, np.ndarray], y: np.ndarray, classes: np.ndarray | None
) -> Metric:
    """Return what a scorer of scikit-learn makes of answers given before."""
    kind = RegressorMixin if classes is None else ClassifierMixin
    replay = type("Replay", (kind, _Replay), {})(said, classes)
    rows = np.arange(y.size)

    def metric(weights: np.ndarray) -> float:
        try:
            return float(measure.scorer(replay, rows, y, sample_weight=weights))
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise TypeError(
                "Got a scoring whose metric takes no sample_weight; choose one that does "
                "(roc_auc, f1, r2, ...), or a loss=... of rows."
            ) from error

    return metric


def raw_responses(estimator: Any) -> dict[str, Response]:
    """Return everything an estimator can say, to be asked of its copies."""
    names = ("predict", "predict_proba", "decision_function")
    return {RAW + each: partial(_ask, method=each) for each in names if hasattr(estimator, each)}


def _ask(model: Any, X: Any, method: str) -> np.ndarray:
    if method == "decision_function":  # one number a row, a class or a pair of classes
        return np.asarray(model.decision_function(X))
    return answer_of(model, method, X, numbers=not (method == "predict" and is_classifier(model)))
