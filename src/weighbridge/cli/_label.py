"""``weighbridge label``: which deployment rows to label, before any model is fitted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from weighbridge._files import RUN_FILES, check_outputs, check_suffix, write_whole
from weighbridge._findings import cli_option
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there, library_warnings, size_text
from weighbridge.cli._screen import Session, finding_text, within_columns

EXAMPLE = "weighbridge label train.csv deploy.csv --label readmitted --budget 100"
# Fewer labels tell next to nothing.
_FEWEST = 20


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
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
    check_there([train, deploy], EXAMPLE)
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
    session.show(found, _text)
    return 0


def _text(result: dict[str, Any]) -> str:
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
