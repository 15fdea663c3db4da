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
    session.narration.say(f"weighbridge label: rows of {deploy}")
    with library_warnings(session):
        result = _drawn(session, train, deploy, out, settings)
    session.show(result, _text)
    return 0


def _drawn(
    session: Session, train: Path, deploy: Path, out: Path, settings: dict[str, Any]
) -> dict[str, Any]:
    from weighbridge._tables import TableWriter
    from weighbridge.adaptation import draw_rows, head, inputs_dict, read_inputs, refusals_told

    narration, seed = session.narration, settings["seed"]
    narration("read", 0, 1)
    names = {"label": settings["label"], "drop": settings["drop"], "keep": settings["keep"] or None}
    inputs = read_inputs(train, deploy, ratio="auto", option=cli_option, seed=seed, **names)
    narration.detail("read", size_text(inputs.tables))
    with refusals_told(cli_option):
        rows = draw_rows(inputs, settings["label"], settings["budget"], seed)
    with write_whole(out) as temporary, TableWriter(temporary, [*rows]) as written:
        written.write([rows[name].to_numpy() for name in rows])
    return session.result(
        **head("label"),
        inputs=inputs_dict(inputs.tables, inputs.pair, settings["label"]),
        settings={**settings, "drop": list(settings["drop"]), "keep": names["keep"]},
        findings=[each.to_dict() for each in inputs.notes],
        files={"labels": str(out)},
        label={"rows": len(rows), "parts": int(rows["stands_for"].nunique())},
    )


def _text(result: dict[str, Any]) -> str:
    """Return what was written, and what to do next."""
    path, name = result["files"]["labels"], result["inputs"]["label"]
    files = [result["inputs"][each]["file"] for each in ("train", "deploy")]
    words = ["weighbridge", "adapt", *files, "--label", name, "--labels", path]
    blocks = [
        *(finding_text(each) for each in result["findings"]),
        within_columns(
            f"  Wrote {path}: {result['label']['rows']:,} rows of {files[1]}, drawn at random. "
            f"Fill in its last column, {name}, and change nothing else; rows may be left empty. "
            "Then:"
        ),
        f"  {shlex.join(words)}",
    ]
    return "\n" + "\n\n".join(blocks)
