"""Predictions for rows by models that did not see them: procedures, repeated on outer folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from weighbridge._estimators import WeightedEstimator
from weighbridge._pass_weights import fit_with_weights
from weighbridge.model_selection import closed_form, fixed_steps, table_rows
from weighbridge.target_risk._coded_texts import coded_texts

if TYPE_CHECKING:
    from weighbridge.target_risk._problem import RiskProblem


# Tables of all folds are kept up to this many numbers (80 MB); beyond, each is made anew.
_KEPT_NUMBERS = 10_000_000


class FoldRows(NamedTuple):
    """Rows to fit to, with what is known of them, and the tables to respond to."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None
    log_ratio: np.ndarray | None
    asked: tuple[Any, Any]


def _without(
    problem: RiskProblem, k: int, transformers: list[Any], tables: tuple[Any, ...]
) -> FoldRows:
    """Return the rows without fold k, after transformers that are fitted to them."""
    rows, (whole, X_target) = problem.rows, tables
    kept, held = np.flatnonzero(problem.fold != k), np.flatnonzero(problem.fold == k)
    X, X_held = table_rows(whole, kept), table_rows(whole, held)
    for transformer in transformers:
        fitted = clone(transformer)
        X = fitted.fit_transform(X)
        X_held, X_target = fitted.transform(X_held), fitted.transform(X_target)
    return FoldRows(
        X,
        rows.y[kept],
        None if rows.sample_weight is None else rows.sample_weight[kept],
        problem.log_ratio[kept] if isinstance(problem.ratio, FrozenEstimator) else None,
        (X_held, X_target),
    )


def _kept_without(
    problem: RiskProblem, k: int, transformers: list[Any], tables: tuple[Any, ...]
) -> FoldRows:
    """Return the same, made once where it is small."""
    key = (k, *map(id, transformers))
    if key in problem.fold_rows:
        return problem.fold_rows[key][0]
    part = _without(problem, k, transformers, tables)
    size = (problem.rows.y.size + problem.n_target) * getattr(part.X, "shape", (0, 1))[1]
    if problem.n_folds * size <= _KEPT_NUMBERS:
        problem.fold_rows[key] = part, transformers  # which stay alive, and so their ids
    return part


def share_transformers(estimators: list[Any], ratio: Any) -> tuple[list[Any], list[Any]]:
    """Take off the transformers that the estimators have in common; they are fitted once a fold."""
    weighted = [each for each in estimators if isinstance(each, WeightedEstimator)]
    known = isinstance(ratio, FrozenEstimator) and all(each.ratio is ratio for each in weighted)
    if weighted and not known:
        return [], estimators
    bases = [base_of(each) for each in estimators]
    fixed = all(getattr(each, "criterion", None) is None for each in estimators)
    same = all(base is bases[0] for base in bases)
    if not (fixed and same and closed_form(bases[0]) is not None):
        return [], estimators
    steps = fixed_steps(bases[0])
    if steps is None or len(steps) == 1:
        return [], estimators
    last = steps[-1]
    alone = [
        clone(each).set_params(estimator=last) if isinstance(each, WeightedEstimator) else last
        for each in estimators
    ]
    return steps[:-1], alone


def base_of(estimator: Any) -> Any:
    """Return the model that is weighted, or the estimator itself."""
    return estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator


Response = Callable[[Any, Any], np.ndarray]
Step = Callable[[], object]
# By response: at the rows held out, and at the target.
_Said = dict[str, tuple[np.ndarray, np.ndarray]]


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


def fit_finals(estimators: list[Any], problem: RiskProblem, step: Step | None) -> list[Any]:
    """Fit a copy of each estimator to all rows; a frozen one is taken as it is."""
    rows, finals = problem.rows, []
    for each in estimators:
        if isinstance(each, FrozenEstimator):
            finals.append(each)
            continue
        finals.append(_fitted(each, rows.X, rows.y, rows.sample_weight))
        if step is not None:
            step()
    return finals


def held_out(
    estimators: list[Any],
    finals: list[Any],
    problem: RiskProblem,
    responses: list[dict[str, Response]],
    step: Step | None,
) -> list[Procedure]:
    """Fit copies of the estimators without each fold; let them, and the final ones, respond."""
    fresh = [j for j, each in enumerate(estimators) if not isinstance(each, FrozenEstimator)]
    said: dict[int, list[_Said]] = {j: [] for j in fresh}
    tasks = _tasks([estimators[j] for j in fresh], [responses[j] for j in fresh], problem)
    jobs = Parallel(n_jobs=problem.question.n_jobs, return_as="generator")
    for found in jobs(tasks):
        for j, each in zip(fresh, found, strict=True):
            said[j].append(each)
            if step is not None:
                step()
    return [
        Procedure(_put_together(final, asked, said.get(j), problem), final)
        for j, (final, asked) in enumerate(zip(finals, responses, strict=True))
    ]


def _tasks(
    estimators: list[Any], responses: list[dict[str, Response]], problem: RiskProblem
) -> Iterator[Any]:
    """Yield the fits of one fold after the other: what they share is made once."""
    if not estimators:
        return
    transformers, estimators = share_transformers(estimators, problem.ratio)
    tables = coded_texts(transformers, problem.rows.X, problem.X_target)
    for k in range(problem.n_folds):
        part = _kept_without(problem, k, transformers, tables)
        yield delayed(_one_fold)(estimators, part, problem.ratio, responses)


def _one_fold(
    estimators: list[Any], part: FoldRows, ratio: Any, responses: list[dict[str, Response]]
) -> list[_Said]:
    """Return what models, fitted to the part, say about the rows held out and the target."""
    scored = None
    if part.log_ratio is not None:
        scored = ScoredRatio(ratio.estimator, part.X, part.log_ratio)
    X_held, X_target = part.asked
    said = []
    for estimator, asked in zip(estimators, responses, strict=True):
        # a ratio of the estimator's own has other values
        if isinstance(estimator, WeightedEstimator) and estimator.ratio is ratio and scored:
            estimator = clone(estimator).set_params(ratio=scored)
        model = _fitted(estimator, part.X, part.y, part.sample_weight)
        answers = {name: (ask(model, X_held), ask(model, X_target)) for name, ask in asked.items()}
        said.append(answers)
    return said


def _fitted(estimator: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit a copy of an estimator."""
    if not isinstance(estimator, WeightedEstimator):
        return fit_with_weights(clone(estimator), X, y, sample_weight)
    return clone(estimator).fit(X, y, sample_weight=sample_weight)


def _put_together(
    final: Any, responses: dict[str, Response], parts: list[_Said] | None, problem: RiskProblem
) -> dict[str, HeldOut]:
    """Return all that was said of the rows; a model that none was fitted to says it of each."""
    found = {}
    for name, ask in responses.items():
        of_final = ask(final, problem.X_target)
        if parts is None:
            found[name] = HeldOut(ask(final, problem.rows.X), [of_final], of_final)
            continue
        first = parts[0][name][0]
        at_source = np.empty((problem.fold.size, *first.shape[1:]), dtype=first.dtype)
        for k, part in enumerate(parts):
            at_source[problem.fold == k] = part[name][0]
        found[name] = HeldOut(at_source, [part[name][1] for part in parts], of_final)
    return found


class ScoredRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """A fitted ratio whose values at one table are known."""

    def __init__(self, estimator: Any, table: Any, log_ratio: np.ndarray):
        super().__init__(estimator)
        self.table = table
        self.log_ratio = log_ratio

    def score_samples(self, X: Any) -> Any:
        """Return the log ratio at the rows of `X`."""
        return self.log_ratio if X is self.table else self.estimator.score_samples(X)
