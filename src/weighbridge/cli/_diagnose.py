"""``weighbridge diagnose``: is there shift, and is there overlap? Needs no label and no model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._outputs import check_outputs
from weighbridge.cli import _options as options
from weighbridge.cli._engine import Asked, asked_for, started
from weighbridge.cli._fail_if import OF_SHIFT, Condition, failed_conditions
from weighbridge.cli._inputs import check_there
from weighbridge.cli._libraries import library_warnings
from weighbridge.cli._session import Session

if TYPE_CHECKING:
    from weighbridge.cli._two_tables import TwoTables
    from weighbridge.diagnostics._diagnosis import Diagnosis

EXAMPLE = "weighbridge diagnose train.csv deploy.csv"


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.pair_arguments
@options.option(
    "--label", metavar="NAME", group="what", help="Column of TRAIN to set aside, if it has labels."
)
@options.feature_options
@options.ratio_option
@options.confidence_option
@options.seed_option
@options.jobs_option
@options.engine_options(
    "the folds of the ratio and of the domain classifier are fitted by its workers",
    "For tables that scikit-learn makes in between.",
)
@options.option("--all", "show_all", is_flag=True, group="output", help="Show every feature.")
@options.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    group="output",
    help="Write the page, for example report.html.",
)
@options.force_option
@options.option(
    "--fail-if",
    type=Condition(OF_SHIFT),
    metavar="CONDITION",
    multiple=True,
    group="output",
    help="Exit with 1 when true: shift (moderate or more), thin-overlap, warnings. May be "
    "repeated.",
)
@options.screen_options
@click.pass_obj
def diagnose(
    session: Session,
    train: Path,
    deploy: Path,
    show_all: bool,
    report: Path | None,
    force: bool,
    fail_if: tuple[str, ...],
    json: str | None,
    quiet: bool,
    plain: bool,
    debug: bool,
    **settings: Any,
) -> int:
    """Say whether two files differ, in which features, and whether training covers deployment.

    Columns that are in TRAIN alone, such as a label, are left out.
    """
    asked = asked_for(settings)
    settings["jobs"] = asked.n_jobs
    check_there([train, deploy], EXAMPLE)
    if report is not None:
        check_outputs([report], force=force, inputs=[train, deploy], place="report")
    session.narration.say(f"weighbridge diagnose: {train} and {deploy}")
    with library_warnings(session):
        result = _compute(session, train, deploy, settings, asked)
    if report is not None:
        _write(session, result, report)
    session.narration.finish()
    result |= {"timing": session.timing()}
    if session.json is not None:
        session.print_json(result)
    else:
        from weighbridge.cli._diagnosis_screen import diagnosis_block

        session.out.write(diagnosis_block(result, session.out, show_all=show_all))
    found = failed_conditions(fail_if, result)
    for line in found:
        session.err.write(line)
    return 1 if found else 0


def _compute(
    session: Session, train: Path, deploy: Path, settings: dict[str, Any], asked: Asked
) -> dict[str, Any]:
    from weighbridge.cli._two_tables import read_two
    from weighbridge.diagnostics._diagnosis import Diagnosis

    session.narration("read", 0, 1)
    two = read_two(train, deploy, settings)
    session.narration.detail("read", two.size)
    session.narration.detail("shift", f"ratio ({two.ratio_name}), domain classifier, tests")
    session.narration("shift", 0, 1)
    with two.threads(settings["jobs"]), started(session, asked):
        diagnosis = Diagnosis(
            two.fitted_ratio(),
            two.X,
            two.X_target,
            y=None,
            sample_weight=None,
            n_parameters=two.X.shape[1] + 1,
            confidence=settings["confidence"],
            random_state=settings["seed"],
        )
        return _result(session, two, diagnosis, settings)


def _result(
    session: Session, two: TwoTables, diagnosis: Diagnosis, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the result; it has the keys of `adapt`, as far as they need no label."""
    from weighbridge.adaptation._result import feature_differences, head, overlap_dict
    from weighbridge.pictures import compute_shift_pictures
    from weighbridge.weighting import Geodesic

    report = diagnosis.report(Geodesic())
    found = report.to_dict()
    pictures = compute_shift_pictures(diagnosis, {"full": Geodesic()}).to_dict()
    shift = {**found["shift"], "features": feature_differences(pictures, "full")}
    words = {"shift": report.shift, "overlap": report.overlap}
    return session.result(
        **head("diagnose"),
        inputs=two.inputs(),
        settings={
            "seed": settings["seed"],
            "ratio": two.ratio_name,
            "confidence": settings["confidence"],
            "jobs": settings["jobs"],
            "drop": list(settings["drop"]),
            "keep": list(settings["keep"]) or None,
        },
        verdict={
            "sentence": found["sentence"],
            "use": None,
            "matters": None,
            "weighting": None,
            **words,
        },
        shift=shift,
        overlap=overlap_dict(found["overlap"]),
        findings=[*(each.to_dict() for each in two.notes), *found["findings"]],
        pictures=pictures,
    )


def _write(session: Session, result: dict[str, Any], path: Path) -> None:
    from weighbridge.report import write_report

    session.narration.detail("write", str(path))
    session.narration("write", 0, 1)
    result["files"] = {"report": str(path)}
    write_report(result, path)
