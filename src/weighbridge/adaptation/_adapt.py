"""The whole job: two tables in; a model, weights, a verdict and a report out."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from weighbridge._estimators import ImportanceWeighted, ImportanceWeightedCV
from weighbridge._findings import (
    USUAL,
    Option,
    Problem,
    Progress,
    Stages,
    argument,
    nearest,
    shown,
    shown_progress,
    told_progress,
)
from weighbridge._tables import TASKS
from weighbridge.adaptation._adaptation import Adaptation
from weighbridge.adaptation._inputs import (
    CLASSIFICATION,
    Inputs,
    make_model,
    read_inputs,
    refusals_told,
    refused,
    tried_models,
)
from weighbridge.adaptation._labels import (
    ROW,
    STANDS_FOR,
    Labels,
    knowing_labels,
    label_findings,
    metrics_dict,
    plan_labels,
    pool_labels,
    read_labels,
)
from weighbridge.exceptions import InputError
from weighbridge.label_shift import AUTO, COVARIATE, LABEL
from weighbridge.model_selection import GridSearch
from weighbridge.pictures import compute_pictures
from weighbridge.ratios import source_log_ratio
from weighbridge.tables import MAX_ROWS
from weighbridge.target_risk import Question, base_of
from weighbridge.verdict import Verdict, assess_models, weighting_of
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one_log_ratio,
    source_weights,
)

# name: scorer of scikit-learn
METRICS = {
    CLASSIFICATION: {
        "error": "accuracy",
        "log_loss": "neg_log_loss",
        "brier": "neg_brier_score",
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced_accuracy",
        "auc": "roc_auc",
        "f1": "f1",
    },
    "regression": {
        "rmse": "neg_root_mean_squared_error",
        "mse": "neg_mean_squared_error",
        "mae": "neg_mean_absolute_error",
        "r2": "r2",
    },
}
# What may have changed, in the words of the option.
_SHIFTS = (AUTO, COVARIATE, LABEL)
# For three and more classes: the mean over classes, each against the others.
_OF_CLASSES = {"roc_auc": "roc_auc_ovr", "f1": "f1_macro"}


@dataclass(frozen=True)
class Settings:
    """The arguments of `weighbridge.adapt`, whose documentation says what they mean."""

    label: str
    task: str = "auto"
    seed: int = 0
    models: tuple[Any, ...] = ("linear",)
    metric: tuple[Any, ...] = ()
    ratio: Any = "auto"
    confidence: float = 0.95
    n_jobs: int = 1
    lam: float | None = None
    alpha: float | None = None
    worthwhile: float | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    weight: str | None = None
    labels: Any = None
    shift: str = "auto"
    pool: bool = False
    max_rows: int | None = MAX_ROWS

    @property
    def n_parallel(self) -> int:
        """How many fits run at once: `n_jobs`, but never more than there are cores."""
        return min(self.n_jobs, cpu_count())

    def check(self, option: Option) -> None:
        """Refuse settings that make no sense, all of them together, before any work."""
        # None, for what is to be tuned, is as good as any number
        lam, alpha, share = self.lam or 0.0, self.alpha or 0.0, self.confidence
        gain = self.worthwhile or 0.0
        checks = (
            (self.task in TASKS, f"task {shown(self.task)}", ", ".join(TASKS), "task", "auto"),
            (0 <= lam <= 1, f"lam {lam:g}", "0 (no weights) to 1 (the full ratio)", "lam", "0.8"),
            (math.isfinite(alpha), f"alpha {alpha:g}", "a finite number", "alpha", "3"),
            (0 < share < 1, f"a confidence of {share:g}", "between 0 and 1", "confidence", "0.95"),
            (0 <= gain < math.inf, f"worthwhile {gain:g}", "0 or more", "worthwhile", "0.005"),
            (
                self.shift in _SHIFTS,
                f"shift {shown(self.shift)}",
                ", ".join(_SHIFTS),
                "shift",
                "auto",
            ),
            (self.n_jobs != 0, "0 jobs", "a number of cores, or -1 for all", "jobs", "1"),
        )
        problems = [
            Problem("WB705", f"got {got}.", (f"expected: {expected}",), option(*advice), "usage")
            for is_right, got, expected, *advice in checks
            if not is_right
        ]
        if problems:
            raise InputError(problems)


@np.errstate(under="ignore")  # kernels and weights far away are 0
def adapt(
    train: Any,
    deploy: Any,
    *,
    label: str,
    task: str = "auto",
    drop: Any = (),
    keep: Any = None,
    weight: str | None = None,
    model: Any = "linear",
    metric: Any = None,
    ratio: Any = "auto",
    shift: str = "auto",
    lam: float | None = None,
    alpha: float | None = None,
    worthwhile: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    n_jobs: int = 1,
    labels: Any = None,
    pool: bool = False,
    max_rows: int | None = MAX_ROWS,
    progress: Progress | bool | None = None,
) -> Adaptation:
    """Do the whole job: from two tables to a verdict, a model, weights and a report.

    Parameters
    ----------
    train : data frame, path, or table of an engine
        Rows with labels; a data frame, a CSV or Parquet file, a folder of Parquet files, or a
        table that `weighbridge.engines.sample` takes.
    deploy : same
        Rows from where the model will be used. Labels there, of all rows or of a random sample of
        them, are set aside, and used only for the actual error at the end.
    label : str
        The column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        By default text, booleans and whole numbers with at most 20 values are classes.
    drop, keep : sequence of str, optional
        Features to leave out, or to use; by default all columns that both tables have.
    weight : str, optional
        Column of `train` with row weights.
    model : {"linear", "boosting", "forest", "svm"}, "module:object", estimator, or a list of them
        What to fit. Of several the first is used, and the others are compared with it.
    metric : str or list of str, optional
        Metrics to expect: "error" (the default), "log_loss", "brier", "accuracy",
        "balanced_accuracy", "auc", "f1" for classes; "rmse" (the default), "mse", "mae", "r2" for
        numbers. The verdict is about the first that is a loss, or else the default; all are in
        ``result.metrics``. "auc" and "f1" of more than two classes are means over the classes;
        of two, "f1" is of class 1, or of the last one if none is 1.
    ratio : str or density ratio, default="auto"
        How the ratio is estimated ("classifier", "gaussian", "ulsif", "rulsif", "kliep", "kmm",
        "nearest"), or a column of both tables that holds it.
    shift : {"auto", "covariate", "label"}, default="auto"
        What changed, if you know: the features, or the mix of classes alone, for which weights are
        weights by class. By default held-out rows decide, where there are classes and no other
        `ratio` is named; where they cannot tell, weights are those for features, and the verdict
        says what the other kind would mean.
    lam, alpha : float, optional
        Fix either or both; by default they are tuned.
    worthwhile : float, optional
        The smallest gain worth having, in units of the metric; by default 2 % of the expected error
        without weights, one error in fifty.
    confidence : float, default=0.95
        Of every interval.
    seed : int, default=0
        Same seed and tables, same result.
    n_jobs : int, default=1
        Parallel fits, at most one per core; also caps the threads of the libraries underneath.
    labels : data frame or path, optional
        Labels of some deployment rows: ``label_these.csv`` of an earlier run with its last column
        filled in, in all rows or in some. Its columns ``row``, counted from 1, and ``stands_for``
        say which rows they are, and how many rows of the deployment each stands for.
    pool : bool, default=False
        Let labelled deployment rows join the training rows of the final model, each counting as 1,
        3, 10 or 30 of them, where that makes it clearly better on labelled rows left out. All
        other figures are of the model without them; ``result.pooled`` says what was done.
    max_rows : int or None, default=100_000
        A table with more rows is represented by that many of them, drawn at random; deployment rows
        with labels are kept beside them, up to 10,000. `Adaptation.weigh` covers the other rows.
        None takes all rows of files and data frames, and 100,000 rows of a table of an engine.
    progress : bool or function ``progress(stage, done, total)``, optional
        How far the work is, and about how long it still takes, is shown on a line: by default at a
        terminal, always with True, never with False. A function is told instead; stages are
        "read", "shift", "bridge" and "verify".

    Returns
    -------
    Adaptation
        Verdict, model, weights, findings; ``report(path)`` and ``save(folder)`` write them.

    See Also
    --------
    weighbridge.assess : The same for arrays and any estimator, without files.
    weighbridge.diagnose : Shift and overlap alone, without labels.

    Examples
    --------
    >>> from weighbridge import adapt
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(1000, 500, random_state=0)
    >>> train, deploy = data.X.assign(readmitted=data.y), data.X_target
    >>> result = adapt(train, deploy, label="readmitted")
    >>> result.verdict.shift, result.verdict.weighting
    ('strong', 'helps')
    >>> result.model.predict(deploy).shape, result.weights.shape
    ((500,), (1000,))
    """
    if not isinstance(label, str):
        raise TypeError(f"Got label={type(label).__name__}; name a column. For arrays: `assess`.")
    settings = Settings(
        label=label,
        task=task,
        drop=_names(drop),
        keep=None if keep is None else _names(keep),
        weight=weight,
        models=_several(model),
        metric=() if metric is None else _several(metric),
        ratio=ratio,
        shift=shift,
        lam=lam,
        alpha=alpha,
        worthwhile=worthwhile,
        confidence=confidence,
        seed=seed,
        n_jobs=n_jobs,
        labels=os.fspath(labels) if isinstance(labels, os.PathLike) else labels,
        pool=pool,
        max_rows=max_rows,
    )
    told = shown_progress(progress)
    try:
        return run(train, deploy, settings, progress=told)
    finally:
        if told is not progress and told is not None:
            told.close()


def run(
    train: Any,
    deploy: Any,
    settings: Settings,
    *,
    progress: Progress | None = None,
    option: Option = argument,
    command: str = "adapt",
) -> Adaptation:
    """Do the job; remedies are written by `option`, and who listens hears what was read."""
    stages = told_progress(progress)
    stages.plan = USUAL
    stages("read", 0, 1)
    asked = _read(train, deploy, settings, option)
    stages("read", 1, 1)
    inputs, pair = asked.inputs, asked.inputs.pair
    stages.heard("read", inputs)
    stages("shift", 0, 1)
    # those that were named as ``module:object``
    imported = {name: base_of(each) for name, each in asked.models.items() if ":" in name}
    # the ratio that was asked for, unless it is the default, which waits for the kind of shift
    by_kind = inputs.ratio_name == AUTO
    with (
        threadpool_limits(settings.n_parallel if settings.n_jobs > 0 else os.cpu_count()),
        refusals_told(option),
        tried_models(imported, inputs.X, pair, option),
    ):
        verdicts = assess_models(
            asked.models,
            inputs.X,
            pair.y,
            inputs.X_target,
            pair.weight,
            Question(
                ratio=None if by_kind else inputs.ratio,
                shift=settings.shift,
                scoring=asked.scoring,
                metrics=asked.metrics,
                worthwhile=settings.worthwhile,
                confidence=settings.confidence,
                n_jobs=settings.n_parallel,
                random_state=settings.seed,
                progress=stages,
            ),
        )
        return _adaptation(verdicts, asked, settings, command, stages)


class _Asked(NamedTuple):
    """What was read, and what is to be done with it."""

    inputs: Inputs
    kinds: dict[str, str]
    models: dict[str, Any]
    metric: str
    scoring: str
    metrics: dict[str, str]
    labels: Labels


def _read(train: Any, deploy: Any, settings: Settings, option: Option) -> _Asked:
    """Read both tables and refuse what cannot be done, before any work."""
    settings.check(option)
    names = ("label", "weight", "drop", "keep", "task", "seed", "ratio", "max_rows")
    roles = {name: getattr(settings, name) for name in names}
    inputs = read_inputs(train, deploy, option=option, **roles)
    task = str(inputs.pair.task)
    metric, metrics = _find_metrics(settings.metric, task, inputs.pair.y, option)
    features, columns = inputs.pair.features, inputs.X.columns
    kinds = {each.name: each.kind for each, _ in features if each.name in columns}
    models = dict(_model(each, task, kinds, settings, option) for each in settings.models)
    try:
        for each in models.values():
            Question(metrics=metrics).metrics_of(each)
    except ValueError as error:
        usual = next(iter(METRICS[task]))
        raise refused("WB703", str(error), option("metric", usual)) from error
    labels = read_labels(settings.labels, inputs.tables, inputs.pair, settings.label)
    if settings.pool and not labels.rows.size:
        why = "no deployment row has a label, so none can join the training rows."
        raise refused("WB705", why, option("labels", "label_these.csv"))
    inputs = replace(inputs, notes=(*inputs.notes, *label_findings(labels, inputs, settings.seed)))
    return _Asked(inputs, kinds, models, metric, METRICS[task][metric], metrics, labels)


def _adaptation(
    verdicts: dict[str, Verdict], asked: _Asked, settings: Settings, command: str, stages: Stages
) -> Adaptation:
    """Put together what was found."""
    verdict, inputs = next(iter(verdicts.values())), asked.inputs
    pair, diagnosis = inputs.pair, verdict._diagnosis
    weights, log_ratio, log_scale = _weights(verdict, diagnosis.ratio, inputs)
    rows = asked.labels.rows
    plan, frame = None, None
    taken = settings.label in (ROW, STANDS_FOR)  # the file could not tell them apart
    if not rows.size and verdict.overlap != "enough" and not taken:
        plan, frame = plan_labels(verdict, inputs.tables[1], settings.label, settings.seed)
    some = inputs.X_target.iloc[rows]
    found = Adaptation(
        verdict=verdict,
        others={name: each for name, each in verdicts.items() if each is not verdict},
        weights=weights,
        log_ratio=log_ratio,
        log_scale=log_scale,
        actual=None,
        metrics=metrics_dict(verdict, some, asked.labels, asked.metrics),
        to_label=plan,
        label_these=frame,
        notes=inputs.notes,
        command=command,
        tables=inputs.tables,
        pair=pair,
        kinds=asked.kinds,
        task=str(pair.task),
        settings=settings,
        metric=asked.metric,
        ratio=inputs.ratio_name,
        pictures=compute_pictures(verdict, diagnosis),
        timing={},
    )
    told = knowing_labels(found, some, asked.labels, asked.scoring)
    if settings.pool:
        told = pool_labels(told, inputs, asked.labels, asked.scoring)
    stages.end()
    return replace(told, timing=stages.timing())


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _names(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _model(
    model: Any, task: str, kinds: dict[str, str], settings: Settings, option: Option
) -> tuple[str, Any]:
    """Return name and estimator; one whose lam or alpha is fixed brings its own weighting."""
    name, estimator = make_model(model, task, kinds, seed=settings.seed, option=option)
    lam, alpha = settings.lam, settings.alpha
    if lam is None and alpha is None:
        return name, estimator
    if lam is not None and (alpha is not None or lam in (0, 1)):
        weighting = Geodesic(lam, 1.0 if alpha is None else alpha)
        return name, ImportanceWeighted(estimator, weighting=weighting)
    bounds: dict[str, Any] = {}
    if lam is not None:  # no weights are no choice then
        bounds |= {"lam_bounds": (lam, lam), "answer": "argmin"}
    if alpha is not None:
        bounds["alpha_bounds"] = (alpha, alpha)
    bounds |= {"n_jobs": settings.n_parallel, "random_state": settings.seed, "verbose": 0}
    return name, ImportanceWeightedCV(estimator, search=GridSearch(), **bounds)


def _find_metrics(
    names: tuple[Any, ...], task: str, y: Any, option: Option
) -> tuple[str, dict[str, str]]:
    """Return the loss that the verdict is about, and the scorer of every metric asked for."""
    known = METRICS[task]
    other = METRICS["regression" if task == CLASSIFICATION else CLASSIFICATION]
    for name in names:
        if isinstance(name, str) and name in known:
            continue
        why = f"there is no metric {shown(name)}."
        if isinstance(name, str) and name in other:
            why = f"{shown(name)} is not a metric of {task}."
        advice = option("metric", [*nearest(str(name), known), *known][0])
        raise refused("WB703", why, advice, f"metrics: {', '.join(known)}")
    usual = next(iter(known))
    loss = next((each for each in names if known[each].startswith(("neg_", "acc"))), usual)
    several = _OF_CLASSES if task == CLASSIFICATION and np.unique(np.asarray(y)).size > 2 else {}
    scorers = {each: several.get(known[each], known[each]) for each in names or (loss,)}
    return usual if loss == "accuracy" else loss, scorers


def _weights(verdict: Verdict, ratio: Any, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the weights of mean 1, the log ratios, and the logarithm of their scale."""
    sample_weight, y = inputs.pair.weight, inputs.pair.y
    raw = source_log_ratio(ratio, inputs.X, sample_weight, y)
    log_ratio = mean_one_log_ratio(raw, sample_weight)
    log_scale = float(log_mean(raw, sample_weight))
    weighting = weighting_of(verdict.candidate(verdict.use).model)
    return source_weights(weighting, log_ratio, sample_weight), log_ratio, log_scale
