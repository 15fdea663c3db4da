"""``weighbridge predict``: use a model that ``adapt`` wrote, on any number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import check_outputs, check_suffix, write_whole
from weighbridge._findings import Finding
from weighbridge._problem import cli_option, listed, shown_file
from weighbridge.cli import _options as options
from weighbridge.cli._engine import Asked, asked_for, started
from weighbridge.cli._inputs import check_there
from weighbridge.cli._libraries import library_warnings, modules_here
from weighbridge.cli._screen import within_columns
from weighbridge.cli._session import Session

if TYPE_CHECKING:
    from weighbridge.adaptation import SavedModel

# Columns of the table that are named on the screen.
_SHOWN = 6
EXAMPLE = "weighbridge predict weighbridge-out/model.skops new.csv"


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.path_argument("model")
@options.path_argument("data")
@options.option(
    "--trust",
    metavar="TYPE",
    multiple=True,
    help="A type beyond those of scikit-learn and weighbridge that MODEL may be made of.",
)
@options.jobs_option
@options.engine_options(
    "blocks of rows are predicted by its workers",
    "For blocks of rows that are predicted at once, and for tables that scikit-learn makes in "
    "between.",
)
@options.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    default=Path("predictions.csv"),
    show_default=True,
    group="output",
    help="The table, .csv or .parquet.",
)
@options.force_option
@options.screen_options
@click.pass_obj
def predict(
    session: Session,
    model: Path,
    data: Path,
    trust: tuple[str, ...],
    out: Path,
    force: bool,
    **settings: Any,
) -> int:
    """Predict every row of DATA: one line each, with a probability for each class.

    Columns are matched by name; those that the model does not know are left alone. Loading a model
    runs nothing that is in the file.
    """
    asked = asked_for(settings)
    check_there([model], EXAMPLE, (".skops",))
    check_there([data], EXAMPLE)
    check_suffix(out)
    check_outputs([out], force=force, inputs=[model, data])
    session.narration.say(f"weighbridge predict: {model} on {data}")
    with library_warnings(session):
        result = _write(session, model, data, out, trust, asked)
    session.narration.finish()
    result["timing"] = session.timing()
    if session.json is not None:
        session.print_json(result)
    else:
        session.out.write(_text(result))
    return 0


def _write(
    session: Session, model: Path, data: Path, out: Path, trust: tuple[str, ...], asked: Asked
) -> dict[str, Any]:
    """Write the predictions block by block; return the result."""
    import numpy as np
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

    from weighbridge._tables import TableWriter, read_blocks
    from weighbridge.adaptation import load_model
    from weighbridge.adaptation._result import head
    from weighbridge.cli._worker_side import predicted

    session.narration.count("write", "%")
    session.narration("read", 0, 1)
    with modules_here(wanted=bool(trust)):
        saved = load_model(model, trust=trust, option=cli_option)
    session.narration.detail("read", f"model of {len(saved.features)} features")
    names, done = _names(saved), 0
    with (
        modules_here(wanted=bool(trust)),
        threadpool_limits(asked.n_jobs),
        started(session, asked) as engine,
        write_whole(out) as temporary,
        TableWriter(temporary, names) as table,
    ):
        rows = engine.block_rows(len(saved.features))
        blocks = read_blocks(data, saved.features, option=cli_option, rows=rows)
        for columns in engine.map(partial(predicted, saved), blocks):
            last = done + len(columns[0])
            table.write([np.arange(done + 1, last + 1), *columns])
            done = last
            session.narration.detail("write", f"{done:,} rows into {out}")
            session.narration("write", round(100 * blocks.share_read), 100)
    return session.result(
        **head("predict"),
        findings=[each.to_dict() for each in _unknown(saved, data)],
        files={"predictions": str(out)},
        predictions={"n": done, "label": saved.label, "weighting": saved.use, "columns": names},
    )


def _text(result: dict[str, Any]) -> str:
    from weighbridge.cli._diagnosis_screen import cut, finding_text

    found = result["predictions"]
    shown = [cut(name) for name in found["columns"][:_SHOWN]]
    shown += [f"{len(found['columns']) - _SHOWN} more"] if len(found["columns"]) > _SHOWN else []
    lines = [
        f"{found['n']:,} predictions of {cut(found['label'])} ({found['weighting']} weighting)",
        f"  wrote {result['files']['predictions']} (columns {', '.join(shown)})",
        *(finding_text(each) for each in result["findings"]),
    ]
    return within_columns("\n".join(lines))


def _unknown(saved: SavedModel, data: Path) -> Iterator[Finding]:
    """Note columns that the model does not know; its label is expected now and then."""
    from weighbridge._tables import open_source

    known = {*saved.features, saved.label}
    extra = [name for name in open_source(str(data)).names if name not in known]
    if extra:
        yield Finding(
            "WB138",
            "note",
            f"{shown_file(str(data))} also has {listed(extra)}, which the model does not know; "
            f"{'it is' if len(extra) == 1 else 'they are'} ignored.",
            "Nothing to do, unless a name is misspelt.",
        )


def _names(saved: SavedModel) -> list[str]:
    from weighbridge.cli._worker_side import has_chances

    names = ["row", "prediction"]
    if has_chances(saved):
        names += [f"probability_{each}" for each in saved.model.classes_.tolist()]
    return names
