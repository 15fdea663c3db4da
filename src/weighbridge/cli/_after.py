"""``predict``, ``report`` and ``explain``: a model used, a page drawn again, what a code means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import check_outputs, check_suffix, write_whole
from weighbridge._findings import Finding, Problem, cli_option, listed, one_line, shown, shown_file
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there, library_warnings, limit_threads, modules_here
from weighbridge.cli._screen import Session, finding_text, within_columns
from weighbridge.exceptions import InputError

if TYPE_CHECKING:
    from weighbridge.adaptation import SavedModel

# Columns of the table that are named on the screen.
_SHOWN = 6
_PREDICT = "weighbridge predict weighbridge-out/model.skops new.csv"
_REPORT = "weighbridge report weighbridge-out/result.json"
_EXPLAIN = "weighbridge explain WB301"


@click.command(cls=options.ExampleCommand, example=_PREDICT)
@options.path_argument("model")
@options.path_argument("data")
@options.option(
    "--trust",
    metavar="TYPE",
    multiple=True,
    help="A type beyond those of scikit-learn and weighbridge that MODEL may contain.",
)
@options.jobs_option
@options.out_option("predictions.csv", "FILE", "The table, .csv or .parquet.")
@options.force_option
@options.screen_options
@click.pass_obj
def predict(
    session: Session, model: Path, data: Path, out: Path, force: bool, **settings: Any
) -> int:
    """Predict every row of DATA: one line each, with a probability for each class.

    Columns are matched by name; those that the model does not know are left alone. Loading a model
    runs nothing that is in the file.
    """
    check_there([model], _PREDICT, (".skops",))
    check_there([data], _PREDICT)
    check_suffix(out)
    check_outputs([out], force=force, inputs=[model, data])
    session.narration.say(f"weighbridge predict: {model} on {data}")
    with library_warnings(session), modules_here(wanted=bool(settings["trust"])):
        result = _write(session, model, data, out, settings)
    session.show(result, _text)
    return 0


def _write(
    session: Session, model: Path, data: Path, out: Path, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write the predictions block by block; return the result."""
    import numpy as np

    from weighbridge._tables import TableWriter, read_blocks
    from weighbridge.adaptation import Unseen, head, load_model

    narration, trust = session.narration, settings["trust"]
    narration.count("write", "%")
    narration("read", 0, 1)
    saved = load_model(model, trust=trust, option=cli_option)
    narration.detail("read", f"model of {len(saved.features)} features")
    names, done, unseen = _names(saved), 0, Unseen(saved.seen)
    with (
        limit_threads(settings["jobs"]),
        write_whole(out) as temporary,
        TableWriter(temporary, names) as table,
    ):
        blocks = read_blocks(data, saved.features)
        for block in blocks:
            first, done = done + 1, done + len(block)
            predicted = _predicted(saved, unseen.look(block), trust)
            table.write([np.arange(first, done + 1), *predicted])
            narration.detail("write", f"{done:,} rows into {out}")
            narration("write", round(100 * blocks.share_read), 100)
    return session.result(
        **head("predict"),
        findings=[
            each.to_dict() for each in (*unseen.findings(), *_unknown(saved, data, blocks.names))
        ],
        files={"predictions": str(out)},
        predictions={"n": done, "label": saved.label, "weighting": saved.use, "columns": names},
    )


def _text(result: dict[str, Any]) -> str:
    found = result["predictions"]
    shown = [one_line(name) for name in found["columns"][:_SHOWN]]
    shown += [f"{len(found['columns']) - _SHOWN} more"] if len(found["columns"]) > _SHOWN else []
    said = f"{found['weighting']} weighting".replace("none weighting", "no weights")
    lines = [
        f"{found['n']:,} predictions of {one_line(found['label'])} ({said})",
        f"  wrote {result['files']['predictions']} (columns {', '.join(shown)})",
        *(finding_text(each) for each in result["findings"]),
    ]
    return within_columns("\n".join(lines))


def _unknown(saved: SavedModel, data: Path, names: list[str]) -> Iterator[Finding]:
    """Note columns that the model does not know; its label is expected now and then."""
    known = {*saved.features, saved.label}
    extra = [name for name in names if name not in known]
    if extra:
        yield Finding(
            "WB138",
            "note",
            f"{shown_file(str(data))} also has {listed(extra)}, which the model does not know; "
            f"{'it is' if len(extra) == 1 else 'they are'} ignored.",
            "Nothing to do, unless a name is misspelt.",
        )


def _names(saved: SavedModel) -> list[str]:
    names = ["row", "prediction"]
    if _has_chances(saved):
        names += [f"probability_{each}" for each in saved.model.classes_.tolist()]
    return names


def _predicted(saved: SavedModel, block: Any, trust: tuple[str, ...]) -> list[Any]:
    """Return the predictions of a block, and for classes their probabilities."""
    import numpy as np

    model = saved.model.estimator  # blocks have the columns already
    try:
        predictions = np.asarray(model.predict(block))
        if not _has_chances(saved):
            return [predictions]
        return [predictions, *np.asarray(model.predict_proba(block)).T]
    except (Exception, SystemExit) as error:
        if not trust:
            raise
        said = one_line(f"{type(error).__name__}: {error}", 300)
        message = f"the model fails when it predicts: {said}."
        problem = Problem("WB706", message, (), f"correct {listed(trust)}, or train another model")
        raise InputError([problem]) from error


def _has_chances(saved: SavedModel) -> bool:
    return saved.task == "classification" and hasattr(saved.model, "predict_proba")


@click.command(cls=options.ExampleCommand, example=_REPORT)
@options.path_argument("result")
@options.out_option(None, "FILE", "The page.  [default: report.html next to RESULT]")
@options.force_option
@options.open_option
@options.screen_options
@click.pass_obj
def report(session: Session, result: Path, out: Path | None, force: bool, open_report: bool) -> int:
    """Draw the page again, from result.json or from the copy inside an older report.html."""
    check_there([result], _REPORT, (".json", ".html"))
    path = out or result.with_name("report.html")
    # a page may be drawn again in its own place: it is read whole before it is written
    check_outputs([path], force=force)
    session.narration.say(f"weighbridge report: {result}")
    from weighbridge.report import read_result, write_report

    session.narration("read", 0, 1)
    session.narration.detail("read", str(result))
    try:
        content = read_result(result)
    except (ValueError, OSError) as error:
        # Windows calls it a lack of permission
        if isinstance(error, OSError) and not result.is_dir():
            raise
        raise InputError([_refused(result, str(error).partition("; ")[0])]) from None
    session.narration.detail("write", str(path))
    session.narration("write", 0, 1)
    try:
        write_report(content, path)
    except OSError:
        raise
    # what is missing or of another kind in it can raise anything
    except Exception as error:
        if str(error).startswith("Got a result"):
            raise InputError([_without_page(result, content)]) from None
        why = one_line(f"it cannot be drawn: {type(error).__name__}: {error}", 150)
        raise InputError([_refused(result, why)]) from error
    session.show(session.result(files={"report": str(path)}), lambda _: f"wrote {path}")
    if open_report:
        click.launch(str(path.absolute()))
    return 0


def _refused(path: Path, why: str) -> Problem:
    message = f"{shown_file(str(path))} is not a result of weighbridge."
    return Problem("WB144", message, (why,), _REPORT)


def _without_page(path: Path, content: dict[str, Any]) -> Problem:
    """Say why a result that is whole cannot be drawn."""
    name, command = shown_file(str(path)), one_line(str(content.get("command")))
    message = f"{name} is the result of `weighbridge {command}`, which has no page."
    if content.get("failure"):
        message = f"{name} is the result of a run that failed; it has no page."
    help = "weighbridge adapt train.csv deploy.csv --label y"
    return Problem("WB147", message, (), help)


@click.command(cls=options.ExampleCommand, example=_EXPLAIN)
@click.argument("code")
@options.screen_options
@click.pass_obj
def explain(session: Session, code: str) -> int:
    """Say what was seen, why it matters, what to do, and how to silence it."""
    from weighbridge._findings import page

    try:
        text = page(code)
    except ValueError as error:
        near = str(error).partition("; ")[2]
        problem = Problem("WB143", f"there is no code {shown(code)}.", (near,), _EXPLAIN, "usage")
        raise InputError([problem]) from None
    session.show(session.result(page=text), lambda _: text)
    return 0
