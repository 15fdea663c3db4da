"""``weighbridge explain``: what a code means."""

from __future__ import annotations

from typing import Any

import click

from weighbridge._problem import Problem, shown
from weighbridge.cli import _options as options
from weighbridge.cli._session import Session
from weighbridge.exceptions import InputError

EXAMPLE = "weighbridge explain WB301"


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@click.argument("code")
@options.screen_options
@click.pass_obj
def explain(session: Session, code: str, **_: Any) -> int:
    """Say what was seen, why it matters, what to do, and how to silence it."""
    from weighbridge._findings import page

    try:
        text = page(code)
    except ValueError as error:
        near = str(error).partition("; ")[2]
        problem = Problem("WB143", f"there is no code {shown(code)}.", (near,), EXAMPLE, "usage")
        raise InputError([problem]) from None
    if session.json is not None:
        session.print_json(session.result(page=text))
    else:
        session.out.write(text)
    return 0
