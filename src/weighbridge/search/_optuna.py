"""A search whose trials live in an optuna study, for many processes and its dashboard."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from weighbridge.search._journal import decode_array, encode_array
from weighbridge.search._point import Bounds, Evaluation, Objective, Point, canonical, named_points
from weighbridge.search._result import weighted_mean
from weighbridge.search._run import Proposals, Search, check_budget

# Names of what is kept in the study and its trials.
OBJECTIVE = "weighbridge:objective"
EVALUATION = "weighbridge:evaluation"
NAMED = "weighbridge:named"


class OptunaSearch(Search):
    """Let optuna propose the points, and keep them in its storage.

    The named points (ERM, IWERM, ...) are the first trials. With a storage and a study name
    a finished trial is never repeated, and several processes may share the study: each adds trials
    until `n_evaluations` are finished. The losses of every unit are kept with the trial, so that
    each process has all comparisons (`SearchResult.difference`); predictions are not.

    Parameters
    ----------
    n_evaluations : int, default=15
        How many trials the study is to have, at least 2. Processes that share it may end with a few
        more: each finishes the trial it has begun.
    storage : str or optuna storage, optional
        Where the study is kept, for example ``"sqlite:///search.db"``; by default in memory.
    study_name : str, optional
        Name of the study, needed with a storage.
    sampler : optuna sampler, optional
        Proposes the points; by default optuna's TPE. One that stops the study by itself, as
        optuna's GridSampler does, cannot be used: see `GridSearch`.
    random_state : int, RandomState instance or None, default=None
        Seed for the default sampler. Each trial's own seed follows from it and from the trial's
        number: a resumed study continues as if it had not stopped, and processes that share a
        study propose different points.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, OptunaSearch
    >>> class Valley:
    ...     log_ratio = np.linspace(-2, 2, 50)
    ...     unit_weights = np.ones(1)
    ...     fingerprint = "valley"
    ...
    ...     def evaluate(self, points):
    ...         for point in points:
    ...             yield Evaluation(point, np.array([(point.lam - 0.5) ** 2]))
    >>> result = OptunaSearch(n_evaluations=6, random_state=0)(Valley())
    >>> result.best, len(result.points)
    (Point(lam=0.5, alpha=1.0), 6)
    """

    def __init__(
        self,
        n_evaluations: int = 15,
        *,
        storage: Any = None,
        study_name: str | None = None,
        sampler: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_evaluations = n_evaluations
        self.storage = storage
        self.study_name = study_name
        self.sampler = sampler
        self.random_state = random_state

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        budget = check_budget(self.n_evaluations)
        if self.storage is not None and self.study_name is None:
            raise ValueError(
                "Got a storage without study_name; name the study, so that it can be found when "
                "the search is resumed or shared."
            )
        optuna = _import_optuna()
        study = optuna.create_study(
            storage=self.storage,
            study_name=self.study_name,
            sampler=self.sampler,
            direction="minimize",
            load_if_exists=True,
        )
        _claim(study, objective.fingerprint, bounds)
        seed = None
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        own_sampler = None if self.sampler is not None else optuna.samplers.TPESampler
        trials = _Trials(optuna, study, bounds, objective, own_sampler, seed)
        return _proposals(trials, budget), budget

    def _surroundings(self) -> AbstractContextManager[object]:
        check_budget(self.n_evaluations)  # before optuna is missed
        return _quiet(_import_optuna())


class _Trials:
    """A study as points and evaluations."""

    def __init__(
        self,
        optuna: ModuleType,
        study: Any,
        bounds: Bounds,
        objective: Objective,
        own_sampler: Any,
        seed: int | None,
    ) -> None:
        self.states = optuna.trial.TrialState
        self.study = study
        self.bounds = bounds
        self.unit_weights = np.asarray(objective.unit_weights, dtype=float)
        self.own_sampler = own_sampler
        self.seed = seed

    def enqueue(self, point: Point) -> None:
        """Let a named point be tried next."""
        self.study.enqueue_trial(point._asdict(), user_attrs={NAMED: list(point)})

    def begun(self) -> list[Point]:
        """Named points that wait, run or are finished, in whatever process."""
        given_up = self.states.FAIL
        return [
            Point(*trial.user_attrs[NAMED])
            for trial in self.study.get_trials(deepcopy=False)
            if NAMED in trial.user_attrs
            and (trial.state != given_up or EVALUATION in trial.user_attrs)
        ]

    def finished(self) -> list[Evaluation]:
        """Evaluations of all processes, in the order in which their trials began."""
        trials = self.study.get_trials(deepcopy=False)
        ended = (self.states.COMPLETE, self.states.FAIL)
        # a trial that was given up (an interrupt, a lost process) has no evaluation
        return [
            self._evaluation(trial)
            for trial in trials
            if trial.state in ended and EVALUATION in trial.user_attrs
        ]

    def ask(self) -> tuple[Any, Point]:
        """Begin a trial."""
        trial = self.study.ask()
        if self.own_sampler is not None and self.seed is not None:
            state = np.random.SeedSequence([self.seed, trial.number]).generate_state(1)
            self.study.sampler = self.own_sampler(seed=int(state[0]))
        lam = trial.suggest_float("lam", *self.bounds.lam)
        alpha = trial.suggest_float("alpha", *self.bounds.alpha)
        return trial, canonical((lam, alpha), self.bounds)

    def tell(self, trial: Any, evaluation: Evaluation) -> None:
        """End a trial with its evaluation."""
        content = {
            "losses": encode_array(evaluation.losses),
            "error": evaluation.error,
            "seconds": evaluation.seconds,
        }
        trial.set_user_attr(EVALUATION, content)
        if evaluation.losses is None:
            self.study.tell(trial, state=self.states.FAIL)
        else:
            self.study.tell(trial, weighted_mean(evaluation.losses, self.unit_weights).value)

    def give_up(self, trial: Any) -> None:
        """End a trial without an evaluation."""
        self.study.tell(trial, state=self.states.FAIL, skip_if_finished=True)

    def _evaluation(self, trial: Any) -> Evaluation:
        content = trial.user_attrs[EVALUATION]
        return Evaluation(
            canonical((trial.params["lam"], trial.params["alpha"]), self.bounds),
            decode_array(content["losses"]),
            error=content["error"],
            seconds=content["seconds"],
        )


def _proposals(trials: _Trials, budget: int) -> Proposals:
    named = named_points(trials.bounds)[:budget]
    for point in named:
        if point not in trials.begun():
            trials.enqueue(point)
    yield trials.finished()
    while len(trials.finished()) < budget:
        yield from _one_trial(trials)
    # a process that was killed has left its named point begun and never finished
    for point in named:
        if point not in {each.point for each in trials.finished()}:
            trials.enqueue(point)
            yield from _one_trial(trials)
    yield trials.finished()
    return False


def _one_trial(trials: _Trials) -> Generator[list[Point | Evaluation], list[Evaluation], None]:
    known = {each.point: each for each in trials.finished()}
    trial, point = trials.ask()
    told = False
    try:
        done = yield [known.get(point, point)]
        trials.tell(trial, next(each for each in done if each.point == point))
        told = True
    finally:
        if not told:
            trials.give_up(trial)


def _claim(study: Any, fingerprint: str, bounds: Bounds) -> None:
    """Mark a new study as that of this objective, and refuse the study of another one."""
    mine = {"fingerprint": fingerprint, "lam": list(bounds.lam), "alpha": list(bounds.alpha)}
    found = study.user_attrs.get(OBJECTIVE)
    if found is None and study.direction.name == "MINIMIZE" and not study.get_trials():
        study.set_user_attr(OBJECTIVE, mine)
    elif found is None:
        raise ValueError(
            f"Got the study {study.study_name!r}, which has trials of something else; give another "
            "study_name."
        )
    elif found != mine:
        differ = [name for name in mine if found[name] != mine[name]]
        raise ValueError(
            f"Got the study {study.study_name!r} of other data, estimator, criterion or bounds: "
            f"it has {', '.join(f'{name} {found[name]!r}' for name in differ)}, but this search "
            f"{', '.join(f'{name} {mine[name]!r}' for name in differ)}. Give another study_name; "
            "the study was left as it is."
        )


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            "OptunaSearch needs optuna, which is not installed; install it with "
            '`pip install "weighbridge[optuna]"`, or use BayesianSearch, which needs nothing more.'
        ) from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep optuna from reporting every trial, and set its verbosity back afterwards."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
