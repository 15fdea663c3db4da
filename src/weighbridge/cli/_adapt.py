"""``weighbridge adapt``: two tables in; a verdict, a model, weights and a report out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import RUN_FILES, check_outputs, sole_writer
from weighbridge._findings import cli_option, one_line
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there, library_warnings, modules_here, size_text
from weighbridge.cli._screen import Screen, Session, finding_text, within_columns

if TYPE_CHECKING:
    from weighbridge._tables import Pair
    from weighbridge.adaptation import Adaptation
    from weighbridge.verdict import StoredResult

EXAMPLE = "weighbridge adapt train.csv deploy.csv --label readmitted"
_USAGE = "weighbridge adapt train.csv deploy.csv --label y"
_LABELS_KNOWN = "  Deployment labels are known (set aside until now):"
# Models by what they are: a classifier, a regressor.
_MODELS = {
    "linear": ("logistic regression", "ridge regression"),
    "boosting": ("gradient boosting", "gradient boosting"),
    "forest": ("random forest", "random forest"),
    "svm": ("support vector machine", "support vector machine"),
}
# What each file is for, in the order shown.
_FILES = {
    "report": "read this",
    "model": "{use} weighting",
    "weights": "one weight per row",
    "result": "all numbers",
    "labels": "label these rows",
}


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.pair_arguments
@options.option(
    "--label", metavar="NAME", required=True, group="what", help="Column of TRAIN to predict."
)
@options.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    metavar="TASK",
    default="auto",
    group="what",
    help="auto, classification or regression; auto: text, booleans and whole numbers with at most "
    "20 values are classes.",
)
@options.feature_options
@options.option("--weight", metavar="NAME", group="what", help="Column of TRAIN with row weights.")
@options.option(
    "--labels",
    metavar="FILE",
    group="what",
    help="Labels of some rows of DEPLOY: the label_these.csv of an earlier run, filled in.",
)
@options.option(
    "--pool",
    is_flag=True,
    group="how",
    help="Let labelled rows of DEPLOY join the training rows, where that is clearly better.",
)
@options.option(
    "--model",
    "models",
    metavar="NAME",
    multiple=True,
    default=["linear"],
    help="linear, boosting, forest, svm or module:object; given more than once, the first is used "
    "and the others are compared with it.",
)
@options.option(
    "--metric",
    metavar="A,B",
    multiple=True,
    callback=options.split_names,
    help="Metrics to expect: error, log_loss, brier, accuracy, balanced_accuracy, auc, f1 for "
    "classes, rmse, mse, mae, r2 for numbers; the verdict is about the first loss among them.  "
    "[default: error or rmse]",
)
@options.ratio_option
@options.option(
    "--shift",
    metavar="KIND",
    default="auto",
    help="What changed: covariate (the features), label (the mix of classes alone), or auto.",
)
@options.option(
    "--lam", type=click.FloatRange(0, 1), metavar="X", help="Fix lam.  [default: tuned]"
)
@options.option("--alpha", type=float, metavar="X", help="Fix alpha.  [default: tuned]")
@options.option(
    "--worthwhile",
    type=click.FloatRange(0, max_open=True),
    metavar="X",
    help="Smallest gain worth having, in units of the metric.  [default: 2 % of the error]",
)
@options.confidence_option
@options.seed_option
@options.jobs_option
@options.out_option("weighbridge-out", "DIR", "Folder for the files.")
@options.force_option
@options.open_option
@options.fail_option(options.OF_ALL, "no-gain, 'error>0.12' (in quotes), ")
@options.screen_options
@click.pass_obj
def adapt(
    session: Session,
    train: Path,
    deploy: Path,
    out: Path,
    force: bool,
    open_report: bool,
    fail_if: tuple[str, ...],
    **settings: Any,
) -> int:
    """Answer all five questions: shift, does it matter, overlap, does weighting help, what error.

    TRAIN has rows with labels, DEPLOY rows like those the model will be used on: CSV (also .gz),
    Parquet or a folder of Parquet files. Writes report.html, model.skops, weights.csv and
    result.json, and where they overlap little label_these.csv, rows of DEPLOY to label.
    """
    job = Job(session, train, deploy, out, force=force, **settings)
    job.check()
    with sole_writer(out):
        session.narration.say(f"weighbridge adapt: {train} and {deploy}")
        job.compute()
        job.save()
    model = shlex.quote(job.result["files"]["model"])
    job.show(f"Now:  weighbridge predict {model} DATA", open_report=open_report)
    return options.exit_code(session, fail_if, job.result)


class Job:
    """One run from two files to four, shared by ``adapt`` and ``demo``."""

    def __init__(
        self,
        session: Session,
        train: Path,
        deploy: Path,
        out: Path,
        *,
        force: bool,
        jobs: int,
        **settings: Any,
    ):
        self.session = session
        self.train, self.deploy, self.out, self.force = train, deploy, out, force
        # what may be given more than once, and was not, has its default
        given = {name: value for name, value in settings.items() if value != ()}
        self.settings = {**given, "n_jobs": jobs}
        self.result: dict[str, Any] = {}
        self.adaptation: Adaptation

    def check(self) -> None:
        """Refuse missing files, and outputs that cannot be written, before any heavy import."""
        labels = self.settings.get("labels")
        inputs = [self.train, self.deploy, *([Path(labels)] if labels else [])]
        check_there(inputs, _USAGE)
        # where there are labels, none are asked for, and these may lie among the outputs
        names = [name for kind, name in RUN_FILES.items() if kind != "labels" or not labels]
        check_outputs([self.out / name for name in names], force=self.force, inputs=inputs)

    def compute(self) -> None:
        """Do the work; nothing is written."""
        session = self.session
        session.narration.on_news = {
            "read": self._say_read,
            "outside": session.narration.say_outside,
        }
        from weighbridge.adaptation import Settings, run

        with (
            library_warnings(session),
            modules_here(wanted=any(":" in name for name in self.settings["models"])),
        ):
            self.adaptation = run(
                str(self.train),
                str(self.deploy),
                Settings(**self.settings),
                progress=session.narration,
                option=cli_option,
                command=session.command or "adapt",
            )

    def _say_read(self, asked: Any) -> None:
        """Say what was read and what it was taken for, before the work begins."""
        narration = self.session.narration
        narration.detail("read", size_text(asked.tables))
        narration("shift", 0, 1)
        narration.say(f"  label    {_label_text(self.settings, asked.pair)}")

    def save(self) -> None:
        """Write the files."""
        from weighbridge.adaptation import save

        narration = self.session.narration
        narration.detail("write", os.path.join(self.out, ""))
        narration("write", 0, 1)
        files = save(self.adaptation, self.out, force=self.force, option=cli_option)
        narration.finish()
        self.result = {**self.adaptation.to_dict(), "files": files}

    def show(self, now: str, known: str = _LABELS_KNOWN, *, open_report: bool) -> None:
        """Print the result: JSON, or the block for people with what to type `now`."""
        self.session.show(self.result, lambda _: self._text(now, known))
        if open_report:
            click.launch(str(Path(self.result["files"]["report"]).absolute()))

    def _text(self, now: str, known: str) -> str:
        from weighbridge.verdict import StoredResult, label_words

        facts, verdict = StoredResult(self.result), self.adaptation.verdict
        parts = [
            _verdict_block(self.adaptation, self.session.out),
            *[within_columns(f"  {each}") for each in label_words(facts)],
            *([f"{known}\n{_actual_block(facts)}"] if facts.actual else []),
            _files_block(self.result["files"], verdict.use),
            f"  {now}",
        ]
        return "\n" + "\n\n".join(parts)


def _label_text(settings: dict[str, Any], pair: Pair) -> str:
    """Say what was taken for the task, since it was guessed unless it was given."""
    import numpy as np

    name, is_number = one_line(settings["label"]), pair.task != "classification"
    models = [
        _MODELS[each][is_number] if each in _MODELS else one_line(each)
        for each in settings["models"]
    ]
    model = f"model{'s' * (len(models) > 1)} {', '.join(models)}"
    if is_number:
        return f"{name} (numbers), {model}"
    classes, counts = np.unique(np.asarray(pair.y), return_counts=True)
    last = f"{100 * counts[-1] / counts.sum():.0f} % are {one_line(str(classes[-1]), 12)}"
    return f"{name} ({classes.size} classes, {last}), {model}"


def _verdict_block(adaptation: Adaptation, screen: Screen) -> str:
    """Return the verdict as it is printed, in colour where there is colour."""
    from weighbridge.verdict import metric_table, text_table, verdict_parts

    parts = verdict_parts(adaptation.verdict)
    answers = [
        each.before + screen.styled(each.word, each.role, bold=True) + each.after
        for each in parts.answers
    ]
    shown = [screen.styled(within_columns(parts.sentence), bold=True), "\n".join(answers)]
    if parts.comparison:
        is_pooled = adaptation.pooled and adaptation.pooled["counts"]
        also = ", refitted with the labelled rows" if is_pooled else ""
        shown.append(f"{parts.comparison}\n  * the one in model.skops{also}")
    expect = adaptation.to_dict(full=False)["expect"]
    if table := metric_table(expect, {adaptation.verdict.use: " *"}):
        shown.append("\n".join(text_table(table)))
    for name, other in adaptation.others.items():
        shown.append(within_columns(f"  model {name}: {other.sentence}"))
    return "\n\n".join([*shown, *(finding_text(each.to_dict()) for each in adaptation.findings)])


def _files_block(files: Mapping[str, str], use: str) -> str:
    """Return the files, what each is for, and how large it is."""
    from weighbridge.verdict import text_table

    said = {kind: what.format(use=use) for kind, what in _FILES.items()}
    if use == "none":
        said["model"] = "the unweighted model"
    width = max(map(len, files.values()))
    rows = [
        (f"{files[kind]:<{width}}  {what}", _bytes_text(Path(files[kind]).stat().st_size))
        for kind, what in said.items()
        if kind in files
    ]
    return "\n".join(text_table(rows))


def _actual_block(facts: StoredResult) -> str:
    """Return the actual errors, and whether they are as expected."""
    from weighbridge.verdict import agreement, labels_tell

    # what belongs together stays on one line
    listed = [f"{name} {facts.numbers.value(each.value)}" for name, each in facts.actual.items()]
    told = "  ".join(each.replace(" ", "\xa0") for each in listed)
    lines = fill(told, 80, initial_indent="    actual error   ", subsequent_indent=" " * 19)
    said = fill(agreement(facts), 80, initial_indent=" " * 19, subsequent_indent=" " * 19)
    block = f"{lines}\n{said}".replace("\xa0", " ")
    is_few = facts.expect["actual"]["none"].get("alone") or facts.expect.get("pooled")
    return f"{block}\n\n{within_columns(f'  {labels_tell(facts)}')}" if is_few else block


def _bytes_text(size: int) -> str:
    """Return the size of a file as people read it."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:,.0f} kB" if size < 999_500 else f"{size / 1e6:,.1f} MB"
