"""``weighbridge report`` and ``explain``: a page drawn again, and what a code means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weighbridge._files import check_outputs
from weighbridge._findings import Problem, shown, shown_file
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there
from weighbridge.cli._screen import Session
from weighbridge.exceptions import InputError

EXAMPLE = "weighbridge report weighbridge-out/result.json"
_EXPLAIN = "weighbridge explain WB301"


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.path_argument("result")
@options.out_option(None, "FILE", "The page.  [default: report.html next to RESULT]")
@options.force_option
@options.open_option
@options.screen_options
@click.pass_obj
def report(session: Session, result: Path, out: Path | None, force: bool, open_report: bool) -> int:
    """Draw the page again, from result.json or from the copy inside an older report.html."""
    check_there([result], EXAMPLE, (".json", ".html"))
    path = out or result.with_name("report.html")
    # a page may be drawn again in its own place: it is read whole before it is written
    check_outputs([path], force=force)
    session.narration.say(f"weighbridge report: {result}")
    from weighbridge.report import facts_of, read_result, write_report

    session.narration("read", 0, 1)
    session.narration.detail("read", str(result))
    try:
        content = read_result(result)
    except (ValueError, IsADirectoryError) as error:
        raise InputError([_refused(result, error)]) from None
    try:
        facts_of(content)
    except ValueError:
        raise InputError([_without_page(result, content)]) from None
    session.narration.detail("write", str(path))
    session.narration("write", 0, 1)
    write_report(content, path)
    session.narration.finish()
    if session.json is not None:
        session.print_json(session.result(files={"report": str(path)}))
    else:
        session.out.write(f"wrote {path}")
    if open_report:
        click.launch(str(path.absolute()))
    return 0


def _refused(path: Path, error: Exception) -> Problem:
    message = f"{shown_file(str(path))} is not a result of weighbridge."
    return Problem("WB144", message, (str(error).partition("; ")[0],), EXAMPLE)


def _without_page(path: Path, content: dict[str, Any]) -> Problem:
    """Say why a result that is whole cannot be drawn."""
    name, command = shown_file(str(path)), content.get("command")
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
    if session.json is not None:
        session.print_json(session.result(page=text))
    else:
        session.out.write(text)
    return 0
