"""What a run is given: two tables, matched, with their ratio; and models by name or as objects."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from weighbridge._estimators import FittedRows, WeightedEstimator
from weighbridge._findings import Finding, Option, Problem, escaped, nearest, shown, shown_file
from weighbridge._pass_weights import AnswerError, answer_of, fit_with_weights, weight_parameter
from weighbridge._tables import Pair, Table, read_pair
from weighbridge.diagnosis import SEPARATING_AUC, mostly_shared
from weighbridge.exceptions import InputError
from weighbridge.model_selection import AllFailedError
from weighbridge.ratios import RATIOS, KnownRatio, check_ratio
from weighbridge.tables import FEWEST_ROWS, MAX_ROWS, check_count, check_sample_weight

_LARGEST = 1e38  # trees keep numbers in single precision


@dataclass(frozen=True)
class Inputs:
    """Training and deployment as they were read, and the ratio between them."""

    tables: tuple[Table, Table]
    pair: Pair
    X: Any
    X_target: Any
    ratio_name: str
    ratio: Any
    notes: tuple[Finding, ...]


def read_inputs(
    train: Any,
    deploy: Any,
    *,
    ratio: Any,
    option: Option,
    max_rows: int | None = MAX_ROWS,
    **settings: Any,
) -> Inputs:
    """Read both tables, match their columns, find the ratio, and refuse keys and shared rows."""
    if max_rows is not None:
        check_count("max_rows", max_rows, FEWEST_ROWS)
    here, there, pair = read_pair(train, deploy, option=option, max_rows=max_rows, **settings)
    n, m = len(pair.X), len(pair.X_target)
    # rows are known by their number, in both tables together; a copy has like columns in one array
    X, X_target = pair.X.set_axis(range(n)).copy(), pair.X_target.set_axis(range(n, n + m)).copy()
    name, found, X, X_target = _find_ratio(ratio, X, X_target, option)
    if _is_same(X, X_target, (here, there), option):  # its labels are those of training
        pair = replace(pair, y_target=None)
    notes = (*pair.notes, *_sample_note(here, max_rows), *_sample_note(there, max_rows))
    return Inputs((here, there), pair, X, X_target, name, found, notes)


def _sample_note(table: Table, max_rows: int | None) -> Iterator[Finding]:
    """Yield a finding if only some rows of a table were read."""
    if table.sampled < table.rows:
        has_more = max_rows is not None and table.sampled > max_rows
        yield Finding(
            "WB139",
            "note",
            f"{table.sampled:,} of the {table.rows:,} rows of {shown_file(table.name)}, drawn at "
            f"random,{' with more of those that have a label,' * has_more} represent all of them.",
            "More would hardly change what is shown. result.weigh(table) or weighbridge weights "
            "computes the weights of all rows.",
        )


def _is_same(X: Any, X_target: Any, tables: tuple[Table, Table], option: Option) -> bool:
    """True for a table given twice; refuse keys, and other training rows in deployment."""
    problems = [
        Problem(code, f"{shown(name)} {why}.", (evidence,), option("drop", name))
        for code, name, why, evidence in _unusable(X, X_target)
    ]
    shared = mostly_shared(X, X_target)
    if shared and not (shared == len(X) and FittedRows(X).share(X_target) == 1):
        problems.append(
            Problem(
                "WB112",
                f"{tables[1].name} contains {shared:,} of the {len(X):,} rows of {tables[0].name}.",
                ("the training rows cannot also represent deployment",),
                "remove the shared rows from one of the files",
            )
        )
    if problems:
        raise InputError(problems)
    return bool(shared)


def _unusable(X: Any, X_target: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield columns that are no property of the cases, or too large, and what shows it."""
    key = "a running number or key does not describe the cases"
    for name in X.columns:
        source, target = X[name].to_numpy(), X_target[name].to_numpy()
        if source.dtype.kind != "f":
            continue
        values = np.concatenate([source, target])
        if np.nanmax(np.abs(values), initial=0) > _LARGEST:
            why = f"holds values beyond {_LARGEST:g}"
            yield "WB109", name, why, "models cannot hold them; or divide it by a constant"
        if not (values == np.rint(values)).all():  # NaN is not
            continue
        if _is_count(source) and _is_count(target):
            yield "WB111", name, "counts the rows of each file", key
        elif np.unique(values).size == values.size:
            auc = roc_auc_score(np.arange(values.size) < source.size, values)
            if max(auc, 1 - auc) > SEPARATING_AUC:
                yield "WB111", name, "is different in every row and tells the files apart", key


def _is_count(values: np.ndarray) -> bool:
    """True for consecutive whole numbers, each once, in any order."""
    return bool(np.ptp(values) == values.size - 1 and np.unique(values).size == values.size)


def _find_ratio(ratio: Any, X: Any, X_target: Any, option: Option) -> tuple[str, Any, Any, Any]:
    """Return the name of a ratio, the ratio, and both tables without the column that holds it."""
    if not isinstance(ratio, str):
        return type(ratio).__name__, ratio, X, X_target
    if ratio in RATIOS:
        return ratio, check_ratio(ratio), X, X_target
    if ratio not in X.columns:
        near = nearest(ratio, [*RATIOS, *X.columns])
        raise refused(
            "WB704",
            f"{shown(ratio)} is neither a ratio nor a column of both files.",
            option("ratio", near[0] if near else "auto"),
            f"ratios: {', '.join(RATIOS)}",
        )
    values = np.concatenate([X[ratio].to_numpy(), X_target[ratio].to_numpy()])
    numbers = values.dtype.kind == "f"
    if not numbers or not (np.isfinite(values) & (values >= 0)).all():
        raise refused(
            "WB704",
            f"{shown(ratio)} is not a density ratio: every row needs 0 or a positive number.",
            f"correct the column, or estimate the ratio: {option('ratio', 'auto')}",
            "a ratio is how much likelier a row is in deployment than in training",
        )
    with np.errstate(divide="ignore"):
        known = KnownRatio(RatioOfRows(np.log(values)))
    return ratio, known, X.drop(columns=ratio), X_target.drop(columns=ratio)


class RatioOfRows:
    """Log ratios that are known for each row; a row is known by its number in the index."""

    def __init__(self, log_ratio: np.ndarray) -> None:
        self.log_ratio = log_ratio

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratios of these rows."""
        return np.asarray(self.log_ratio[X.index.to_numpy()])


CLASSIFICATION = "classification"
# Levels with fewer rows share a column.
_RARE_LEVEL = 10
_LINEAR = ("linear", "svm")

# Rows that a model on trial predicts, and letters of a message that are shown.
_ASKED = 20
_LONGEST = 300

# name: (classifier, regressor), each made from a seed
MODELS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "linear": (lambda seed: LogisticRegression(max_iter=1000), lambda seed: Ridge()),
    "boosting": (
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
    ),
    "forest": (
        lambda seed: RandomForestClassifier(min_samples_leaf=5, random_state=seed),
        lambda seed: RandomForestRegressor(min_samples_leaf=5, random_state=seed),
    ),
    "svm": (lambda seed: SVC(random_state=seed), lambda seed: SVR()),
}


def make_model(
    model: Any, task: str, kinds: dict[str, str], *, seed: int, option: Option
) -> tuple[str, Any]:
    """Return the name of a model and the estimator, which takes the table as it is."""
    if isinstance(model, str) and model in MODELS:
        made = MODELS[model][task != CLASSIFICATION](seed)
        return model, Pipeline(
            [("prepare", preparation(kinds, linear=model in _LINEAR)), ("model", made)]
        )
    found = _imported(model, option) if isinstance(model, str) else model
    name = model if isinstance(model, str) else type(found).__name__
    _check_model(name, found, task, option)
    if isinstance(found, Pipeline):
        return name, found
    return name, make_pipeline(preparation(kinds, linear=True), found)


def preparation(kinds: dict[str, str], *, linear: bool) -> ColumnTransformer:
    """Return the transformer of the columns."""
    numbers = [name for name, kind in kinds.items() if kind == "numeric"]
    texts = [name for name, kind in kinds.items() if kind != "numeric"]
    as_numbers: Any = "passthrough"
    if linear:
        as_numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
    levels = OneHotEncoder(
        min_frequency=_RARE_LEVEL, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    parts = [("numbers", as_numbers, numbers), ("levels", levels, texts)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def _imported(name: str, option: Option) -> Any:
    """Return the object behind ``module:object``; a class or a function is called."""
    module, _, attribute = name.partition(":")
    if not attribute:
        near = nearest(name, MODELS)
        raise refused(
            "WB702",
            f"there is no model {shown(name)}.",
            option("model", near[0] if near else "linear"),
            f"models: {', '.join(MODELS)}, or module:object",
        )
    # as `python -m` does: a module in the present folder can be named
    sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        help = option("model", "module:object")
        help += ", a module that Python finds and an estimator in it"
        raise refused("WB702", f"{shown(name)} cannot be imported: {error}.", help) from error
    # code that is not ours can raise anything
    except (Exception, SystemExit) as error:
        raise _failure_of(name, "when it is imported", error, option) from error
    finally:
        sys.path.remove("")
    if isinstance(found, BaseEstimator) or not callable(found):
        return found
    return _call_own(name, "when it is made", found, option)


def _check_model(name: str, model: Any, task: str, option: Option) -> None:
    if not hasattr(model, "fit") or not hasattr(model, "predict"):
        message = f"{shown(name)} is a {type(model).__name__} without fit and predict."
        help = option("model", "linear") + ", or an estimator of scikit-learn"
        raise refused("WB702", message, help)
    if isinstance(model, WeightedEstimator):
        raise refused(
            "WB702",
            f"{type(model).__name__} weights its rows itself, as is done here for any model.",
            f"pass the estimator inside it, and {option('lam', '0.8')} or {option('alpha', '3')}; "
            "a weighting of your own goes into assess(model, X, y, X_target)",
        )
    kind, other, is_wrong = "classifier", CLASSIFICATION, is_classifier
    if task == CLASSIFICATION:
        kind, other, is_wrong = "regressor", "regression", is_regressor
    if is_wrong(model):
        message = f"{shown(name)} is a {kind}, and the task is {task}."
        raise refused("WB702", message, f"{option('task', other)}, or another model")
    try:
        weight_parameter(model)
    except (TypeError, ValueError):
        raise refused(
            "WB701",
            f"{type(model).__name__} cannot be fitted with row weights.",
            f"{option('model', 'linear')} or boosting, or a model whose fit takes sample_weight",
            "weights are never replaced by resampling behind your back",
        ) from None


def refused(code: str, message: str, help: str, *evidence: str) -> InputError:
    """Return the error of something that should have been asked for in another way."""
    return InputError([Problem(code, message, evidence, help, "usage")])


def _call_own(name: str, doing: str, call: Callable[[], Any], option: Option) -> Any:
    """Return what code of the user's own returns; whatever it raises is told as its own failure."""
    try:
        return call()
    except (InputError, MemoryError):
        raise
    # code that is not ours can raise anything
    except (Exception, SystemExit) as error:
        raise _failure_of(name, doing, error, option) from error


def _try_model(name: str, model: Any, X: Any, y: Any, weight: Any, option: Option) -> None:
    """Fit a model once and let it predict a few rows, before all the work that rests on it."""
    weights = check_sample_weight(weight, len(X))
    weights = np.ones(len(X)) if weights is None else weights
    tried = clone(model)
    _call_own(name, "when it is fitted", lambda: fit_with_weights(tried, X, y, weights), option)
    few = X.head(_ASKED)
    for method in ("predict", "predict_proba"):
        if hasattr(tried, method):
            numbers = method == "predict_proba" or not is_classifier(tried)
            ask = partial(answer_of, tried, method, few, numbers=numbers)
            _call_own(name, "when it predicts", ask, option)


@contextmanager
def tried_models(models: Mapping[str, Any], X: Any, pair: Pair, option: Option) -> Iterator[None]:
    """Try models before the work in the block, and tell a failure inside of one as its own."""
    try:
        for name, model in models.items():
            _try_model(name, model, X, pair.y, pair.weight, option)
        yield
    except (InputError, MemoryError):
        raise
    except (AnswerError, AllFailedError) as error:
        if not models:
            raise
        name = " or ".join(models)
        raise _failure_of(name, "in the middle of the work", error, option) from error
    # code that is not ours can raise anything
    except (Exception, SystemExit) as error:
        for name, model in models.items():
            if _went_through(error, name, model):
                raise _failure_of(name, "in the middle of the work", error, option) from error
        raise


@contextmanager
def refusals_told(option: Option) -> Iterator[None]:
    """Tell what the package itself refuses in the middle of the work as a problem of the tables."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        # a library that is called with something odd is a defect of ours
        last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if not last.is_relative_to(Path(__file__).parents[1]):
            raise
        help = f"correct the tables, leave a column out, or {option('ratio', 'auto')}"
        message = escaped(" ".join(str(error).split()))
        raise InputError([Problem("WB707", message, (), help)]) from error


def _failure_of(name: str, doing: str, error: BaseException, option: Option) -> InputError:
    """Return the failure of a model in words: which, when, and what it said."""
    said = escaped(" ".join(f"{type(error).__name__}: {error}".split())).rstrip(": .")
    said = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
    message = f"the model {shown(name)} fails {doing}: {said}."
    help = f"correct the model, or take another: {option('model', 'linear')}"
    return InputError([Problem("WB706", message, tuple(_place(error, name)), help)])


def _place(error: BaseException, name: str) -> Iterator[str]:
    """Yield the last line of the user's own module that was reached."""
    file = _file_of_module(name)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    if frames:
        yield f"in {shown_file(Path(file).name)} line {frames[-1].lineno}, {frames[-1].name}"


def _went_through(error: BaseException, name: str, model: Any) -> bool:
    """Return whether an error came up through the code of a model, here or in another process."""
    if isinstance(error, PicklingError):  # named models can be sent to other processes
        return True
    text = "".join(traceback.format_exception(error))
    return any(f'File "{file}"' in text for file in _files(name, model))


def _files(name: str, model: Any) -> set[str]:
    """Return the files of a model's code, without those that every model of scikit-learn has."""
    parts = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    kinds = [
        kind
        for part in parts
        for kind in type(part).__mro__
        if kind.__module__.partition(".")[0] not in ("sklearn", "builtins", "weighbridge")
    ]
    found = {_file_of_module(name)}
    for kind in kinds:
        try:
            found.add(inspect.getfile(kind))
        except (OSError, TypeError):  # compiled, or typed into a prompt
            continue
    return found - {""}


def _file_of_module(name: str) -> str:
    return getattr(sys.modules.get(name.partition(":")[0]), "__file__", None) or ""
