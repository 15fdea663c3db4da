"""The commands in one place; importing this takes no library but click."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from weighbridge import __version__
from weighbridge.cli._adapt import adapt
from weighbridge.cli._demo import demo
from weighbridge.cli._diagnose import diagnose
from weighbridge.cli._failures import run_safely
from weighbridge.cli._options import CONTEXT
from weighbridge.cli._predict import predict
from weighbridge.cli._report import explain, report
from weighbridge.cli._screen import Session
from weighbridge.cli._weights import weights

_TABLE = (
    ("demo", "what does this tool do? (needs no data)"),
    ("adapt TRAIN DEPLOY --label Y", "shift? does it matter? does weighting help?"),
    ("diagnose TRAIN DEPLOY", "shift? overlap? (needs no label)"),
    ("weights TRAIN DEPLOY", "a weight for each training row"),
    ("predict MODEL DATA", "use a model that adapt wrote"),
    ("report RESULT", "draw the page again"),
    ("explain CODE", "what does WB301 mean?"),
)
EXAMPLE = "weighbridge adapt train.csv deploy.csv --label y"


class App(click.Group):
    """The command; every way in which it ends goes through one door."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *arguments: Any,
        **options: Any,
    ) -> NoReturn:
        """Run the command line and leave with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        session = Session(words)
        options |= {"standalone_mode": False, "obj": session}

        def call() -> int | None:
            found = super(App, self).main(words, "weighbridge", *arguments, **options)
            return found if isinstance(found, int) else 0

        sys.exit(run_safely(call, session, words))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the front page: one line for each command, and one example."""
        formatter.write("weighbridge: will a model work elsewhere, and would weights help?\n")
        width = max(len(form) for form, _ in _TABLE)
        for form, question in _TABLE:
            formatter.write(f"  {form:<{width}}  {question}\n")
        formatter.write(f"\nExample:  {EXAMPLE}\n")


@click.group(cls=App, invoke_without_command=True, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", message="weighbridge %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Learning under covariate shift: importance weights you can trust."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (demo, adapt, diagnose, weights, predict, report, explain):
    app.add_command(command)
