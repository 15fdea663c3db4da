"""What the job found, and how it is shown and stored."""

from __future__ import annotations

import json
import os
import platform
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from weighbridge import __version__
from weighbridge._estimators import ImportanceWeightedCV, WeightedEstimator
from weighbridge._files import RUN_FILES, SCHEMA, check_outputs, is_ours, write_whole
from weighbridge._findings import Brief, Finding, Option, argument
from weighbridge._tables import Pair, Table, TableWriter, write_weights
from weighbridge.adaptation._apply import add_column, table_weights
from weighbridge.adaptation._saved_model import (
    SavedModel,
    TableModel,
    model_bytes,
    values_seen,
)
from weighbridge.model_selection import default_scoring
from weighbridge.pictures import Pictures
from weighbridge.target_risk import NAMES
from weighbridge.verdict import Actual, Verdict

if TYPE_CHECKING:
    from weighbridge.adaptation._adapt import Settings

EPOCH = "SOURCE_DATE_EPOCH"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "skops")


def save(
    result: Adaptation, folder: Any, *, force: bool, table: str = "csv", option: Option = argument
) -> dict[str, str]:
    """Write the files of a run; all are made before the first is written."""
    from weighbridge.report import render

    if table not in ("csv", "parquet"):
        raise ValueError(f"Got table={table!r}, but expected one of csv, parquet.")
    names = RUN_FILES | {"weights": f"weights.{table}"}
    paths = {kind: Path(folder) / name for kind, name in names.items()}
    old, rows = None, result.label_these
    if rows is None:  # a file that has not been filled in is of an earlier run
        old = paths.pop("labels")
    check_outputs(paths.values(), force=force, option=option, place="folder")
    files = {kind: str(path) for kind, path in paths.items()}
    content = {**result.to_dict(), "files": files}
    saved = SavedModel(
        result.verdict.model,
        dict(result.kinds),
        result.settings.label,
        result.task,
        result.verdict.use,
        __version__,
        values_seen(result.pair.X, result.kinds),
    )
    page, model = render(content), model_bytes(saved)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    # none takes its name before all are on the disk: a folder never holds parts of two runs
    with ExitStack() as stack:
        whole = {kind: stack.enter_context(write_whole(path)) for kind, path in paths.items()}
        train = result.tables[0]
        numbers = train.positions + 1 if train.has_positions else None
        write_weights(whole["weights"], result.weights, result.log_ratio, rows=numbers)
        if rows is not None:
            with TableWriter(whole["labels"], [*rows]) as written:
                written.write([rows[name].to_numpy() for name in rows])
        whole["model"].write_bytes(model)
        # a byte of a file name that is not UTF-8 becomes an escape of JSON
        whole["result"].write_bytes(f"{text}\n".encode(errors="backslashreplace"))
        whole["report"].write_text(page, encoding="utf-8")
    if old is not None and is_ours(old):
        old.unlink()
    return files


@dataclass(frozen=True, repr=False, eq=False)
class Adaptation(Brief):
    """A verdict, the model to use, a weight for each training row, and all numbers behind them.

    Made by `weighbridge.adapt`.

    Parameters
    ----------
    verdict : Verdict
        The five answers and the comparison.
    others : dict of str to Verdict
        Verdicts of further models, by name.
    weights : ndarray of shape (n_train,)
        Weight of each training row that was learned from, mean 1; all 1 if the unweighted model is
        used. `weigh` computes those of any other rows. Row weights you give multiply them in the
        fit, and the mean is taken under those.
    log_ratio : ndarray of shape (n_train,)
        Log density ratio of each training row, scaled to a mean ratio of 1.
    log_scale : float
        The logarithm of that scale.
    actual : dict of str to Estimate, or None
        The actual error of each candidate, where the deployment has labels: on how many ``rows``,
        and its interval (Wilson's for a share of errors, else Student's).
    metrics : list of dict
        Every metric asked for, as in ``expect.metrics`` of the result: in training, expected with
        its interval, and actual, for the unweighted model and the one that is used.
    to_label : dict or None
        How many deployment rows to label to know the error how closely, where overlap is thin or
        broken and no label is known.
    label_these : data frame or None
        These rows: ``row``, counted from 1, ``stands_for``, their columns, an empty one to fill in.
    notes : tuple of Finding
        What was found while reading the tables.
    command : str
        Who asked.
    pictures : Pictures
        The numbers of the pictures; each display of `weighbridge.plotting` draws its own with
        ``from_numbers``.
    tables, pair, kinds, task, settings, metric, ratio, timing
        What the run was about; `to_dict` has all of it.
    pooled : dict or None
        With ``pool=True``: as how many training rows each labelled deployment row counts in the
        model, and by how much that changes its loss on labelled rows left out.

    Examples
    --------
    >>> from weighbridge import adapt
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(1000, 500, random_state=0)
    >>> result = adapt(data.X.assign(readmitted=data.y), data.X_target, label="readmitted")
    >>> result.to_dict()["verdict"]["use"]
    'tuned'
    """

    _first: ClassVar[tuple[str, ...]] = (
        *("verdict", "model", "pipeline", "weights"),
        *("findings", "report", "save", "to_dict"),
    )
    verdict: Verdict
    others: dict[str, Verdict]
    weights: np.ndarray
    log_ratio: np.ndarray
    log_scale: float
    actual: dict[str, Actual] | None
    metrics: list[dict[str, Any]]
    to_label: dict[str, Any] | None
    label_these: Any
    notes: tuple[Finding, ...]
    command: str
    tables: tuple[Table, Table]
    pair: Pair
    kinds: dict[str, str]
    task: str
    settings: Settings
    metric: str
    ratio: str
    pictures: Pictures
    timing: dict[str, float]
    pooled: dict[str, Any] | None = None

    @property
    def model(self) -> TableModel:
        """The fitted model to use; takes data frames with the columns of the training table."""
        seen = values_seen(self.pair.X, self.kinds)
        return TableModel(self.verdict.model, dict(self.kinds), seen)

    @property
    def pipeline(self) -> Any:
        """The fitted model with nothing of weighbridge in it, for tools that know scikit-learn.

        A pipeline that takes data frames as training was: numbers as floats, categories as text.
        """
        model = self.verdict.model
        return model.estimator_ if isinstance(model, WeightedEstimator) else model

    def weigh(self, table: Any, name: str = "weight") -> Any:
        """Return the same kind of table with the weight of every row.

        Parameters
        ----------
        table : data frame or table of an engine
            With the features, and the label if class prevalences changed.
        name : str, default="weight"
            Name of the new column.

        Returns
        -------
        table
            Of the same kind; see `weighbridge.engines.with_column` for tables of an engine. Weights
            are on the scale of `weights`, which have mean 1 over the rows learned from.

        Examples
        --------
        >>> from weighbridge import adapt
        >>> from weighbridge.datasets import make_clinic
        >>> data = make_clinic(1000, 500, random_state=0)
        >>> train = data.X.assign(readmitted=data.y)
        >>> result = adapt(train, data.X_target, label="readmitted")
        >>> weighted = result.weigh(train)
        >>> bool(abs(weighted["weight"] - result.weights).max() < 1e-9)
        True
        """
        return add_column(table, name, table_weights(self))

    def predict(self, table: Any, name: str = "prediction") -> Any:
        """Return the same kind of table with the prediction of the model to use for every row.

        Parameters
        ----------
        table : data frame or table of an engine
            With the features.
        name : str, default="prediction"
            Name of the new column.

        Returns
        -------
        table
            Of the same kind; see `weighbridge.engines.with_column` for tables of an engine.
        """
        return add_column(table, name, self.model.predict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know, each with a remedy."""
        return (*self.notes, *self.verdict.findings)

    def to_dict(self, *, full: bool = True) -> dict[str, Any]:
        """Return everything but the model and the rows, ready for JSON.

        Parameters
        ----------
        full : bool, default=True
            With the long arrays that the report draws.

        Returns
        -------
        dict
            As the JSON Schema ``weighbridge/1`` says. Without NaN or infinity: None stands for what
            is not known or withheld.
        """
        verdict, settings = self.verdict, self.settings
        found = verdict.to_dict()
        criterion, reason = _choice(verdict)
        metrics = settings.metric or (self.metric,)
        models = [
            each if isinstance(each, str) else type(each).__name__ for each in settings.models
        ]
        content = {
            **head(self.command),
            "inputs": inputs_dict(self.tables, self.pair, settings.label),
            "settings": {
                "seed": settings.seed,
                "model": models[0],
                "models": models,
                "metric": list(metrics) if len(metrics) > 1 else metrics[0],
                "criterion": criterion,
                "reason": reason,
                "ratio": self.ratio,
                **_other_settings(settings),
            },
            "verdict": found["verdict"],
            "answers": found["answers"],
            "shift": found["shift"],
            "overlap": overlap_dict(found["overlap"]),
            "expect": {
                **found["expect"],
                "actual": self.actual
                and {name: each.to_dict() for name, each in self.actual.items()},
                "relation": (told := verdict._judgement.relation) and told.to_dict(),
                "pooled": self.pooled,
                "metrics": self.metrics,
                "to_label": self.to_label,
                "models": [_other(name, each) for name, each in self.others.items()],
            },
            "findings": [each.to_dict() for each in self.findings],
            "files": {},
            # seconds differ from run to run, and would make results differ that are the same
            "timing": {} if EPOCH in os.environ else self.timing,
            "failure": None,
        }
        pictures = self.pictures.to_dict()
        content["shift"]["features"] = feature_differences(pictures, verdict.use)
        if full:
            content["pictures"] = pictures
        # whoever changes the answer must not change the result
        return deepcopy(content)

    def report(self, path: Any = "report.html") -> None:
        """Write the report, one HTML file that needs no network.

        Parameters
        ----------
        path : path, default="report.html"
            Where to; an existing file is replaced.
        """
        from weighbridge.report import write_report

        write_report(self.to_dict(), path)

    def save(self, folder: Any, *, force: bool = False, table: str = "csv") -> dict[str, str]:
        """Write report, model, weights and result into a folder, each whole or not at all.

        Parameters
        ----------
        folder : path
            Made if it does not exist.
        force : bool, default=False
            Overwrite files of these names that weighbridge did not write.
        table : {"csv", "parquet"}, default="csv"
            How the weights are written.

        Returns
        -------
        dict of str to str
            Paths of ``report``, ``model``, ``weights`` and ``result``, and where rows should be
            labelled ``labels``.
        """
        return save(self, folder, force=force, table=table)

    def __repr__(self) -> str:
        codes = ", ".join(each.code for each in self.findings)
        warned = any(each.level == "warning" for each in self.findings)
        more = [f"  See result.findings: {codes}"] if warned else []
        return "\n\n".join(str(self.verdict).split("\n\n")[:2] + more)

    def _repr_html_(self) -> str:
        from weighbridge.report import summary_html

        return summary_html(self.to_dict())


def _other(name: str, verdict: Verdict) -> dict[str, Any]:
    """Return what is expected of a further model."""
    found = verdict.to_dict()
    return {
        "name": name,
        "sentence": verdict.sentence,
        "use": verdict.use,
        "training": found["expect"]["training"],
        "candidates": found["expect"]["candidates"],
    }


def _choice(verdict: Verdict) -> tuple[str | None, str | None]:
    """Say what the weighting was chosen by, and what spoke for it."""
    tuned = next((each.model for each in verdict.candidates if each.name == "tuned"), None)
    if not isinstance(tuned, ImportanceWeightedCV):
        return None, None
    return f"importance-weighted {NAMES[default_scoring(tuned.estimator)]}", tuned.reason_


def _other_settings(settings: Settings) -> dict[str, Any]:
    """Return every setting that has no place of its own in a result."""
    placed = ("label", "task", "seed", "models", "metric", "ratio")
    found = {name: value for name, value in vars(settings).items() if name not in placed}
    if not isinstance(settings.labels, str | None):  # a frame is called by its argument
        found["labels"] = "labels"
    found["jobs"] = found.pop("n_jobs")
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}


def head(command: str) -> dict[str, Any]:
    """Return what every result begins with; SOURCE_DATE_EPOCH makes results equal to the byte."""
    epoch = os.environ.get(EPOCH)
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    versions = {"python": platform.python_version(), "weighbridge": __version__}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "date": moment.date().isoformat(),
        "versions": versions,
    }


def inputs_dict(tables: tuple[Table, Table], pair: Pair, label: str | None) -> dict[str, Any]:
    """Return the inputs: files, label, features, and the checksum of each file."""
    train, deploy = (
        {"file": each.name, "rows": each.rows, "sampled": each.sampled, "sha256": each.sha256}
        for each in tables
    )
    classes = None
    if pair.task == "classification":
        classes = [str(each) for each in np.unique(np.asarray(pair.y)).tolist()]
    return {
        "train": train,
        "deploy": deploy,
        "label": label,
        "task": pair.task,
        "classes": classes,
        "features": [
            {"name": here.name, "kind": here.kind, "missing": [here.missing, there.missing]}
            for here, there in pair.features
        ],
        "dropped": [each.to_dict() for each in pair.dropped],
    }


def overlap_dict(overlap: dict[str, Any]) -> dict[str, Any]:
    """Return the overlap with its main numbers at the top."""
    full, used = overlap["full"], overlap["used"]
    return {
        **overlap,
        "worth_full": full["ess"],
        "worth_used": used["ess"],
        "tail_index": full["pareto_k"],
        "outside": overlap["outside"]["share"],
        "outside_rows": overlap["outside"],
        "largest_share": used["largest_share"],
    }


def feature_differences(pictures: dict[str, Any], use: str) -> list[dict[str, Any]]:
    """Return each feature's difference before, and after the weighting in use."""
    return [
        {
            "name": row["name"],
            "before": row["before"],
            "after": row["after"].get(use, row["before"]),
        }
        for row in pictures["balance"]
    ]
