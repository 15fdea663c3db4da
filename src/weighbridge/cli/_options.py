"""Commands whose help starts with an example, and the options that they share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

# The least working memory in MiB: blocks of some hundred rows, if there are many columns.
LEAST_MEMORY = 16
GROUPS = ("what", "how", "output")
LARGEST_SEED = 2**32 - 1
# so that one command line is understood in one way, and help fits a terminal of 80 columns
CONTEXT = {"max_content_width": 80, "help_option_names": ["-h", "--help"]}

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


class GroupedOption(click.Option):
    """An option that belongs to one of three groups of the help: what, how, output."""

    def __init__(self, *arguments: Any, group: str = "how", **options: Any):
        self.group = group
        super().__init__(*arguments, **options)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help, without the ranges that click adds to numbers."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        return record[0], re.sub(r"(; |  \[)[^][;]*[<>]=?[^];]*(?=\]|$)\]?$", _closed, record[1])


def _closed(found: re.Match[str]) -> str:
    """Return the bracket that stays open when a range behind a default is taken away."""
    return "]" if found.group(1) == "; " else ""


class Memory(click.ParamType):
    """An amount of memory, such as 512M or 2G; read as MiB."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> int:
        """Return whole MiB."""
        form = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?) ?(?:([KMGT])(?:i?B)?)?", str(value), re.I)
        if form is None:
            self.fail(f"{value!r} is no amount of memory such as 512M or 2G.", param, ctx)
        found = int(float(form[1]) * 1024.0 ** ("KMGT".index((form[2] or "M").upper()) - 1))
        if found < LEAST_MEMORY:
            self.fail(f"{value!r} is less than {LEAST_MEMORY}M, too little to work.", param, ctx)
        return found


class Address(click.ParamType):
    """Where a scheduler of dask listens."""

    name = "address"
    _FORM = re.compile(
        r"(?:(?:tcp|tls|ws|wss)://)?(?:\[[0-9a-f:.]+\]|[^\s/:@\[\]]+):([0-9]{1,5})/?", re.I
    )

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the address with its protocol."""
        form = self._FORM.fullmatch(str(value))
        if form is None or not 0 < int(form[1]) < 2**16:
            self.fail(f"{value!r} is no address such as tcp://10.0.0.5:8786.", param, ctx)
        return str(value) if "://" in value else f"tcp://{value}"


class ExampleCommand(click.Command):
    """A command whose help is an example, a sentence, and options in three groups."""

    def __init__(self, *arguments: Any, example: str = "", **options: Any):
        self.example = example
        options["context_settings"] = CONTEXT
        super().__init__(*arguments, **options)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example first."""
        formatter.write(f"Example:  {self.example}\n\n")
        super().format_help(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        by_group: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                by_group[getattr(parameter, "group", "output")].append(record)
        for group, records in by_group.items():
            if records:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a bare ``--json`` its value, lest it takes the file behind it for one."""
        end = args.index("--") if "--" in args else len(args)
        words = ["--json=short" if word == "--json" else word for word in args[:end]]
        return super().parse_args(ctx, [*words, *args[end:]])


def option(*names: str, group: str = "how", **settings: Any) -> Decorator[Any]:
    """Declare an option in a group of the help."""
    return click.option(*names, cls=GroupedOption, group=group, **settings)


def split_names(context: click.Context, parameter: Any, value: Any) -> tuple[str, ...]:
    """Read ``A,B``, given once or more often; a name with a comma is put in double quotes."""
    return tuple(
        name.strip()
        for text in value or ()
        for row in csv.reader([text], skipinitialspace=True)
        for name in row
        if name.strip()
    )


def _together(*decorators: Decorator[Any]) -> Decorator[Any]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def path_argument(name: str) -> Decorator[Any]:
    """Declare an argument that names a file; whether it is there is checked later, with advice."""
    return click.argument(name, type=click.Path(path_type=Path), metavar=name.upper())


pair_arguments = _together(path_argument("train"), path_argument("deploy"))
feature_options = _together(
    option(
        "--drop",
        metavar="A,B",
        multiple=True,
        callback=split_names,
        group="what",
        help="Features to leave out.",
    ),
    option(
        "--keep",
        metavar="A,B",
        multiple=True,
        callback=split_names,
        group="what",
        help="Features to use; all others are left out.  [default: all shared columns]",
    ),
)
ratio_option = option(
    "--ratio",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="How the ratio is estimated: auto, classifier, gaussian, ulsif, rulsif, kliep, kmm, "
    "nearest; or a column of both files that holds it.",
)
seed_option = option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    metavar="N",
    default=0,
    show_default=True,
    help="Same seed and files, same result.",
)
confidence_option = option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="P",
    default=0.95,
    show_default=True,
    help="Of every interval.",
)
jobs_option = option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Parallel fits; also caps the threads of the libraries underneath.",
)


def engine_options(dask: str, memory: str) -> Decorator[Any]:
    """Declare where the work is done, and in how much memory.

    Parameters
    ----------
    dask : str
        What the workers of dask do in this command.
    memory : str
        What the working memory decides.
    """
    return _together(
        option(
            "--engine",
            type=click.Choice(["local", "dask"]),
            metavar="NAME",
            help=f"local, or dask: {dask}; the result is the same.  [default: local]",
        ),
        option(
            "--scheduler",
            type=Address(),
            metavar="ADDRESS",
            help="Of a dask cluster, such as tcp://10.0.0.5:8786. Without it --engine dask starts "
            "workers on this computer: as many as --jobs says, or as it has cores.",
        ),
        option(
            "--working-memory",
            type=Memory(),
            metavar="SIZE",
            help=f"Such as 512M or 2G; a plain number is MiB. {memory}",
        ),
    )


force_option = option(
    "--force",
    is_flag=True,
    group="output",
    help="Overwrite files that weighbridge did not write.",
)
open_option = option(
    "--open", "open_report", is_flag=True, group="output", help="Open the report in the browser."
)
screen_options = _together(
    option(
        "--json",
        type=click.Choice(["short", "full"]),
        is_flag=False,
        flag_value="short",
        metavar="[=full]",
        group="output",
        help="The result on standard output as JSON; full: with the arrays behind the pictures.",
    ),
    option("--quiet", is_flag=True, group="output", help="No narration."),
    option("--plain", is_flag=True, group="output", help="No colour, no block characters."),
    option("--debug", is_flag=True, group="output", help="After a defect, the traceback."),
)
