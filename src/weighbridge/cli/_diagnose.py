"""``diagnose`` and ``label``, before any model: is there shift, is there overlap, what to label."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import RUN_FILES, check_outputs, check_suffix, write_whole
from weighbridge._findings import ROLES, cli_option, percent
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there, library_warnings, limit_threads, size_text
from weighbridge.cli._screen import Screen, Session, finding_text, within_columns

if TYPE_CHECKING:
    from weighbridge.adaptation import Inputs
    from weighbridge.diagnosis import BalanceTable, Diagnosis

_DIAGNOSE = "weighbridge diagnose train.csv deploy.csv"
_LABEL = "weighbridge label train.csv deploy.csv --label readmitted --budget 100"
# Fewer labels tell next to nothing.
_FEWEST = 20
# Features that are shown before the rest is counted.
_SHOWN = 8


@click.command(cls=options.ExampleCommand, example=_DIAGNOSE)
@options.pair_arguments
@options.aside_option
@options.feature_options
@options.ratio_option
@options.confidence_option
@options.seed_option
@options.jobs_option
@options.option("--all", "show_all", is_flag=True, group="output", help="Show every feature.")
@options.option(
    "--report",
    type=options.out_path,
    metavar="FILE",
    group="output",
    help="Write the page, for example report.html.",
)
@options.force_option
@options.fail_option(options.OF_SHIFT)
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
    **settings: Any,
) -> int:
    """Say whether two files differ, in which features, and whether training covers deployment.

    Columns that are in TRAIN alone, such as a label, are left out.
    """
    check_there([train, deploy], _DIAGNOSE)
    if report is not None:
        check_outputs([report], force=force, inputs=[train, deploy], place="report")
    session.narration.say(f"weighbridge diagnose: {train} and {deploy}")
    with library_warnings(session):
        result, balance = _compute(session, train, deploy, settings)
    if report is not None:
        from weighbridge.report import write_report

        session.narration.detail("write", str(report))
        session.narration("write", 0, 1)
        result["files"] = {"report": str(report)}
        write_report(result, report)
    n_shown = len(balance) if show_all else _SHOWN
    table = balance.text(
        n_shown, weighted=False, width=session.out.width, more="weighbridge diagnose --all"
    )
    session.show(result, lambda found: _text(found, session.out, table))
    return options.exit_code(session, fail_if, result)


def _compute(
    session: Session, train: Path, deploy: Path, settings: dict[str, Any]
) -> tuple[dict[str, Any], BalanceTable]:
    from weighbridge.adaptation import refusals_told
    from weighbridge.cli._two_tables import fitted_ratio, read_two
    from weighbridge.diagnosis import Diagnosis, read_samples
    from weighbridge.domain import outside_support

    session.narration("read", 0, 1)
    two = read_two(train, deploy, settings)
    session.narration.detail("read", size_text(two.tables))
    session.narration.detail("shift", f"ratio ({two.ratio_name}), domain classifier, tests")
    session.narration("shift", 0, 1)
    with limit_threads(settings["jobs"]), refusals_told(cli_option):
        support = outside_support(two.X, two.X_target, random_state=settings["seed"])
        session.narration.say_outside(support.share)
        diagnosis = Diagnosis(
            fitted_ratio(two),
            read_samples(two.X, two.X_target),
            n_parameters=two.X.shape[1] + 1,
            confidence=settings["confidence"],
            random_state=settings["seed"],
            support=support,
        )
        return _result(session, two, diagnosis, settings)


def _result(
    session: Session, two: Inputs, diagnosis: Diagnosis, settings: dict[str, Any]
) -> tuple[dict[str, Any], BalanceTable]:
    """Return the result, which has the keys of `adapt` that need no label, and the balance."""
    from weighbridge.adaptation import feature_differences, head, inputs_dict, overlap_dict
    from weighbridge.cli._two_tables import settings_dict
    from weighbridge.pictures import compute_shift_pictures
    from weighbridge.weighting import Geodesic

    report = diagnosis.report(Geodesic())
    found = report.to_dict()
    pictures = compute_shift_pictures(diagnosis, {"full": Geodesic()}).to_dict()
    shift = {**found["shift"], "features": feature_differences(pictures, "full")}
    words = {"shift": report.shift, "overlap": report.overlap}
    result = session.result(
        **head("diagnose"),
        inputs=inputs_dict(two.tables, two.pair, settings["label"]),
        settings=settings_dict(two, settings, "confidence"),
        verdict={
            "sentence": found["sentence"],
            **dict.fromkeys(("use", "matters", "weighting")),
            **words,
        },
        shift=shift,
        overlap=overlap_dict(found["overlap"]),
        findings=[*(each.to_dict() for each in two.notes), *found["findings"]],
        pictures=pictures,
    )
    return result, report.balance


def _text(result: dict[str, Any], screen: Screen, balance: str) -> str:
    """Return the text of a diagnosis, from its result and the text of its balance table."""
    sentence = result["verdict"]["sentence"]
    role = ROLES.get(("overlap", result["overlap"]["word"])) if "overlap" in sentence else None
    blocks = [
        "\n" + screen.styled(sentence, role, bold=True),
        "\n".join(_numbers(result)),
        balance,
        *(finding_text(each) for each in result["findings"]),
    ]
    if "report" in result["files"]:
        blocks.append(f"  report   {result['files']['report']}")
    blocks.append("  Does it matter for your model? weighbridge adapt ... --label NAME")
    return "\n\n".join(blocks)


def _numbers(result: dict[str, Any]) -> list[str]:
    auc, overlap = result["shift"]["auc"], result["overlap"]
    shown = f"  AUC {auc['value']:.2f} [{auc['low']:.2f}, {auc['high']:.2f}]"
    outside = (
        f"  {percent(overlap['outside'])} of the deployment rows lie outside the training data"
    )
    if overlap["word"] == "broken":
        return [f"{shown}   weights mean nothing here (WB302)", outside]
    rows = f"{overlap['worth_full']:,.0f} effective rows of {overlap['n_source']:,}"
    tail = "" if overlap["tail_index"] is None else f"   tail index {overlap['tail_index']:.2f}"
    return [f"{shown}   full ratio: {rows}", outside + tail]


@click.command(cls=options.ExampleCommand, example=_LABEL)
@options.pair_arguments
@options.option(
    "--label", metavar="NAME", required=True, group="what", help="Column of TRAIN to predict."
)
@options.option(
    "--budget",
    type=click.IntRange(min=_FEWEST),
    metavar="N",
    default=100,
    group="what",
    help=f"How many rows can be labelled, {_FEWEST} or more.",
)
@options.feature_options
@options.seed_option
@options.out_option(RUN_FILES["labels"], "FILE", "The rows, .csv or .parquet.")
@options.force_option
@options.screen_options
@click.pass_obj
def label(
    session: Session, train: Path, deploy: Path, out: Path, force: bool, **settings: Any
) -> int:
    """Write the rows of DEPLOY whose labels tell most about the error there.

    They are drawn at random, more of them where training has hardly any rows; `stands_for` says how
    many rows of DEPLOY each stands for.
    """
    check_there([train, deploy], _LABEL)
    check_suffix(out)
    check_outputs([out], force=force, inputs=[train, deploy])
    from weighbridge._tables import TableWriter
    from weighbridge.adaptation import draw_rows, head, inputs_dict, read_inputs, refusals_told

    session.narration.say(f"weighbridge label: rows of {deploy}")
    session.narration("read", 0, 1)
    settings |= {"drop": list(settings["drop"]), "keep": list(settings["keep"]) or None}
    roles = {name: settings[name] for name in ("label", "drop", "keep", "seed")}
    with library_warnings(session), refusals_told(cli_option):
        inputs = read_inputs(train, deploy, ratio="auto", option=cli_option, **roles)
        session.narration.detail("read", size_text(inputs.tables))
        rows = draw_rows(inputs, settings["label"], settings["budget"], settings["seed"])
    with write_whole(out) as temporary, TableWriter(temporary, [*rows]) as written:
        written.write([rows[name].to_numpy() for name in rows])
    found = session.result(
        **head("label"),
        inputs=inputs_dict(inputs.tables, inputs.pair, settings["label"]),
        settings=settings,
        findings=[each.to_dict() for each in inputs.notes],
        files={"labels": str(out)},
        label={"rows": len(rows), "parts": int(rows["stands_for"].nunique())},
    )
    session.show(found, _label_text)
    return 0


def _label_text(result: dict[str, Any]) -> str:
    """Return what was written, and what to do next."""
    path, name = result["files"]["labels"], result["inputs"]["label"]
    files = [result["inputs"][each]["file"] for each in ("train", "deploy")]
    words = ["weighbridge", "adapt", *files, "--label", name, "--labels", path]
    said = (
        f"  Wrote {path}: {result['label']['rows']:,} rows of {files[1]}, drawn at random. Fill in "
        f"its last column, {name}, and change nothing else; rows may be left empty. Then:"
    )
    findings = [finding_text(each) for each in result["findings"]]
    return "\n" + "\n\n".join([*findings, within_columns(said), f"  {shlex.join(words)}"])
