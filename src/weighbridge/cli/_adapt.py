"""``weighbridge adapt``: two tables in; a verdict, a model, weights and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weighbridge.cli import _options as options
from weighbridge.cli._engine import asked_for
from weighbridge.cli._fail_if import OF_ALL, Condition
from weighbridge.cli._job import Job
from weighbridge.cli._session import Session

EXAMPLE = "weighbridge adapt train.csv deploy.csv --label readmitted"


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
    show_default=True,
    group="what",
    help="auto, classification or regression; auto: text, booleans and whole numbers with at most "
    "20 values are classes.",
)
@options.feature_options
@options.option(
    "--weight", metavar="NAME", group="what", help="Column of TRAIN with own weights of its rows."
)
@options.option(
    "--model",
    "models",
    metavar="NAME",
    multiple=True,
    default=["linear"],
    show_default=True,
    help="linear, boosting, forest, svm or module:object; given more than once, the first is used "
    "and the others are compared with it.",
)
@options.option(
    "--metric",
    metavar="NAME",
    help="The number reported: error, log_loss, brier; rmse, mse, mae; or a scorer of "
    "scikit-learn that averages rows.  [default: error, rmse]",
)
@options.ratio_option
@options.option(
    "--lam", type=click.FloatRange(0, 1), metavar="X", help="Fix lam.  [default: tuned]"
)
@options.option("--alpha", type=float, metavar="X", help="Fix alpha.  [default: tuned]")
@options.confidence_option
@options.seed_option
@options.jobs_option
@options.engine_options(
    "fits, each with all its candidates, are done by its workers",
    "For tables that scikit-learn makes in between.",
)
@options.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("weighbridge-out"),
    show_default=True,
    group="output",
    help="Folder of the files.",
)
@options.force_option
@options.open_option
@options.option(
    "--fail-if",
    type=Condition(OF_ALL),
    metavar="CONDITION",
    multiple=True,
    group="output",
    help="Exit with 1 when true: shift (moderate or more), thin-overlap, no-gain, 'error>0.12' (in "
    "quotes), warnings. May be repeated.",
)
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
    json: str | None,
    quiet: bool,
    plain: bool,
    debug: bool,
    **settings: Any,
) -> int:
    """Answer all five questions: shift, does it matter, overlap, does weighting help, what error.

    TRAIN has rows with labels, DEPLOY rows from where the model is to be used: CSV (also .gz),
    Parquet or a folder of Parquet files. Writes report.html, model.skops, weights.csv and
    result.json.
    """
    asked = asked_for(settings)
    settings["keep"] = settings["keep"] or None
    settings.pop("jobs")
    settings["n_jobs"] = asked.n_jobs
    settings["models"] = tuple(settings["models"])
    job = Job(session, train, deploy, settings, out, force=force, engine=asked)
    job.check()
    session.narration.say(f"weighbridge adapt: {train} and {deploy}")
    job.compute()
    job.save()
    job.show(now=f"Now:  weighbridge predict {job.files['model']} DATA")
    if open_report:
        job.open_report()
    return job.fail_if(fail_if)
