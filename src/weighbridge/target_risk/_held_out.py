"""Predictions for rows by models that did not see them: procedures, repeated on outer folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from weighbridge._data import FloatArray
from weighbridge._estimators import ImportanceWeightedCV, WeightedEstimator
from weighbridge._pass_weights import fit_with_weights
from weighbridge.criteria import closed_form_family, fixed_steps, table_rows
from weighbridge.ratios import ScoredRatio


class FoldRows(NamedTuple):
    """Rows to fit to, with what is known of them, and the tables to respond to."""

    X: Any
    y: np.ndarray
    sample_weight: FloatArray | None
    log_ratio: FloatArray | None
    asked: tuple[Any, Any]


@dataclass(frozen=True)
class OuterRows:
    """Labelled rows, target rows and the fold that each labelled row is held out in."""

    X: Any
    y: np.ndarray
    X_target: Any
    sample_weight: FloatArray | None
    fold: npt.NDArray[np.intp]
    ratio: Any
    log_ratio: FloatArray

    @property
    def n_folds(self) -> int:
        """Number of outer folds."""
        return int(self.fold.max()) + 1

    def without(self, k: int, transformers: list[Any]) -> FoldRows:
        """Return the rows without fold k, after transformers that are fitted to them."""
        kept, held = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
        X, X_held, X_target = table_rows(self.X, kept), table_rows(self.X, held), self.X_target
        for transformer in transformers:
            fitted = clone(transformer)
            X = fitted.fit_transform(X)
            X_held, X_target = fitted.transform(X_held), fitted.transform(X_target)
        return FoldRows(
            X,
            self.y[kept],
            None if self.sample_weight is None else self.sample_weight[kept],
            self.log_ratio[kept] if isinstance(self.ratio, FrozenEstimator) else None,
            (X_held, X_target),
        )


def share_transformers(estimators: list[Any], ratio: Any) -> tuple[list[Any], list[Any]]:
    """Take off the transformers that the estimators have in common; they are fitted once a fold."""
    weighted = [each for each in estimators if isinstance(each, WeightedEstimator)]
    known = isinstance(ratio, FrozenEstimator) and all(each.ratio is ratio for each in weighted)
    if weighted and not known:
        return [], estimators
    bases = [base_of(each) for each in estimators]
    fixed = all(getattr(each, "criterion", None) is None for each in estimators)
    same = all(base is bases[0] for base in bases)
    if not (fixed and same and closed_form_family(bases[0]) is not None):
        return [], estimators
    steps = fixed_steps(bases[0])
    if steps is None or len(steps) == 1:
        return [], estimators
    last = steps[-1]
    alone = [
        clone(each).set_params(estimator=clone(last))
        if isinstance(each, WeightedEstimator)
        else last
        for each in estimators
    ]
    return steps[:-1], alone


def base_of(estimator: Any) -> Any:
    """Return the model that is weighted, or the estimator itself."""
    return estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator


def with_own_journal(estimator: Any, k: int) -> Any:
    """Return a tuned estimator with a journal of its own for fold k, beside that of all rows."""
    if not isinstance(estimator, ImportanceWeightedCV) or estimator.journal is None:
        return estimator
    whole = Path(estimator.journal)
    path = whole.with_name(f"{whole.stem}-fold{k + 1}{whole.suffix}")
    return clone(estimator).set_params(journal=path)


Response = Callable[[Any, Any], np.ndarray]
Step = Callable[[], object]


@dataclass(frozen=True)
class HeldOut:
    """One kind of response of one procedure: each source row's by the model that did not see it."""

    at_source: np.ndarray
    at_target: list[np.ndarray]
    of_final: np.ndarray


class Procedure(NamedTuple):
    """A procedure after its folds: what its models said, and the model fitted to all rows."""

    said: dict[str, HeldOut]
    final: Any


def fit_finals(
    estimators: list[Any], rows: OuterRows, *, n_jobs: int | None, step: Step
) -> list[Any]:
    """Fit a copy of each estimator to all rows; a frozen one is taken as it is."""
    fresh = [j for j, each in enumerate(estimators) if not isinstance(each, FrozenEstimator)]
    tasks = (delayed(_fitted)(estimators[j], rows.X, rows.y, rows.sample_weight) for j in fresh)
    finals = list(estimators)
    for j, model in zip(fresh, Parallel(n_jobs=n_jobs, return_as="generator")(tasks), strict=True):
        finals[j] = model
        step()
    return finals


def held_out(
    estimators: list[Any],
    finals: list[Any],
    rows: OuterRows,
    *,
    responses: list[dict[str, Response]],
    n_jobs: int | None,
    step: Step,
) -> list[Procedure]:
    """Fit copies of the estimators without each fold; let them, and the final ones, respond."""
    fresh = [j for j, each in enumerate(estimators) if not isinstance(each, FrozenEstimator)]
    asked = [responses[j] for j in fresh]
    said: list[list[dict[str, tuple[np.ndarray, np.ndarray]]]] = [[] for _ in fresh]
    tasks = _tasks([estimators[j] for j in fresh], asked, rows)
    for number, found in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(tasks)):
        said[number % len(fresh)].append(found)
        step()
    procedures = []
    for j, final in enumerate(finals):
        if j not in fresh:
            procedures.append(Procedure(_as_it_is(final, responses[j], rows), final))
            continue
        parts = said[fresh.index(j)]
        found = {
            name: _put_together([part[name] for part in parts], rows, ask(final, rows.X_target))
            for name, ask in responses[j].items()
        }
        procedures.append(Procedure(found, final))
    return procedures


def _tasks(
    estimators: list[Any], responses: list[dict[str, Response]], rows: OuterRows
) -> Iterator[Any]:
    """Yield one fit after the other, fold by fold: what a fold's fits share is made once."""
    if not estimators:
        return
    transformers, estimators = share_transformers(estimators, rows.ratio)
    for k in range(rows.n_folds):
        part = rows.without(k, transformers)
        for estimator, asked in zip(estimators, responses, strict=True):
            yield delayed(_one_fold)(with_own_journal(estimator, k), part, rows.ratio, asked)


def _one_fold(
    estimator: Any, part: FoldRows, ratio: Any, responses: dict[str, Response]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return what a model, fitted to the part, says about the rows held out and the target."""
    # a ratio of the estimator's own has other values
    shared = isinstance(estimator, WeightedEstimator) and estimator.ratio is ratio
    if shared and part.log_ratio is not None:
        scored = ScoredRatio(ratio.estimator, part.X, part.log_ratio)
        estimator = clone(estimator).set_params(ratio=scored)
    model = _fitted(estimator, part.X, part.y, part.sample_weight)
    X_held, X_target = part.asked
    return {name: (ask(model, X_held), ask(model, X_target)) for name, ask in responses.items()}


def _fitted(estimator: Any, X: Any, y: np.ndarray, sample_weight: FloatArray | None) -> Any:
    """Fit a copy of an estimator; a search that was interrupted is no result here."""
    model = clone(estimator)
    if isinstance(model, ImportanceWeightedCV):
        model.on_interrupt = "raise"
    if sample_weight is None:
        model.fit(X, y)
    elif isinstance(model, WeightedEstimator):
        model.fit(X, y, sample_weight=sample_weight)
    else:
        fit_with_weights(model, X, y, sample_weight)
    return model


def _put_together(
    parts: list[tuple[np.ndarray, np.ndarray]], rows: OuterRows, of_final: np.ndarray
) -> HeldOut:
    first = parts[0][0]
    at_source = np.empty((rows.y.size, *first.shape[1:]), dtype=first.dtype)
    for k, (held, _) in enumerate(parts):
        at_source[rows.fold == k] = held
    return HeldOut(at_source, [target for _, target in parts], of_final)


def _as_it_is(model: Any, responses: dict[str, Response], rows: OuterRows) -> dict[str, HeldOut]:
    """Let a model that no row was fitted to respond to all of them."""
    found = {}
    for name, ask in responses.items():
        at_target = ask(model, rows.X_target)
        found[name] = HeldOut(ask(model, rows.X), [at_target], at_target)
    return found
