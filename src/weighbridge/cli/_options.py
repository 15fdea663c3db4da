"""Commands whose help starts with an example, and the options that they share."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from weighbridge.cli._screen import Session

GROUPS = ("what", "how", "output")
LARGEST_SEED = 2**32 - 1
# so that one command line is understood in one way, and help fits a terminal of 80 columns
CONTEXT = {"max_content_width": 80, "help_option_names": ["-h", "--help"]}

# Conditions, and what they need: labels, or the two files alone.
OF_SHIFT = ("shift", "thin-overlap", "warnings")
OF_ALL = ("shift", "thin-overlap", "no-gain", "error>NUMBER", "warnings")
_MODERATE_OR_MORE = ("moderate", "strong", "almost complete")

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
        # a range behind a default takes the closing bracket with it
        a_range = r"(; |  \[)[^][;]*[<>]=?[^];]*(?=\]|$)\]?$"
        return record[0], re.sub(a_range, lambda found: "]" * (found[1] == "; "), record[1])


def out_path(text: str) -> Path:
    """Return a path to write to; an empty text would name the present folder."""
    if not text:
        raise click.BadParameter("it is empty; name a file or folder, or . for this folder.")
    return Path(text)


class Condition(click.ParamType):
    """One condition of ``--fail-if``, out of those that the command can check."""

    name = "condition"

    def __init__(self, known: tuple[str, ...]):
        self.known = known

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the condition, or say which there are."""
        text = str(value).replace(" ", "")
        name, sign, number = text.partition(">")
        form = f"{name}>NUMBER" if sign and _is_number(number) else name + sign
        if form not in self.known:
            self.fail(f"{value!r} is not one of {', '.join(self.known)}.", param, ctx)
        return text


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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it prints goes through its session."""
        ctx.obj.own_output()
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a bare ``--json`` its value, lest it takes the file behind it for one."""
        end = args.index("--") if "--" in args else len(args)
        words = ["--json=short" if word == "--json" else word for word in args[:end]]
        return super().parse_args(ctx, [*words, *args[end:]])


def option(*names: str, **settings: Any) -> Decorator[Any]:
    """Declare an option in a group of the help, which shows its default."""
    is_set = settings.get("default") is not None
    return click.option(*names, cls=GroupedOption, show_default=is_set, **settings)


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
    *(
        option(name, metavar="A,B", multiple=True, callback=split_names, group="what", help=help)
        for name, help in (
            ("--drop", "Features to leave out."),
            ("--keep", "Features to use; all others are left out.  [default: all shared columns]"),
        )
    )
)
ratio_option = option(
    "--ratio",
    metavar="NAME",
    default="auto",
    help="How the ratio is estimated: auto, classifier, gaussian, ulsif, rulsif, kliep, kmm, "
    "nearest; or a column of both files that holds it.",
)
seed_option = option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    metavar="N",
    default=0,
    help="Same seed and files, same result.",
)
confidence_option = option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="P",
    default=0.95,
    help="Of every interval.",
)
jobs_option = option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    help="Parallel fits, at most one per core; also caps the threads of the libraries underneath.",
)


aside_option = option(
    "--label", metavar="NAME", group="what", help="Column of TRAIN to set aside, if it has labels."
)


def out_option(default: str | None, metavar: str, help: str) -> Decorator[Any]:
    """Declare where the output goes."""
    return option(
        "--out", type=out_path, metavar=metavar, default=default, group="output", help=help
    )


def fail_option(known: tuple[str, ...], error: str = "") -> Decorator[Any]:
    """Declare the conditions of a pipeline, out of those that the command can check."""
    return option(
        "--fail-if",
        type=Condition(known),
        metavar="CONDITION",
        multiple=True,
        group="output",
        help=f"Exit with 1 when true: shift (moderate or more), thin-overlap, {error}warnings. May "
        "be repeated.",
    )


force_option = option(
    "--force", is_flag=True, group="output", help="Overwrite files that weighbridge did not write."
)
open_option = option(
    "--open", "open_report", is_flag=True, group="output", help="Open the report in the browser."
)
# these are read from the words of the command line, before it is understood
screen_options = _together(
    option(
        "--json",
        type=click.Choice(["short", "full"]),
        is_flag=False,
        flag_value="short",
        expose_value=False,
        metavar="[=full]",
        group="output",
        help="The result on standard output as JSON; full: with the arrays behind the pictures.",
    ),
    *(
        option(name, is_flag=True, expose_value=False, group="output", help=help)
        for name, help in (
            ("--quiet", "No narration."),
            ("--plain", "No colour, no block characters."),
            ("--debug", "After a defect, the traceback."),
        )
    ),
)


def failed_conditions(conditions: tuple[str, ...], result: dict[str, Any]) -> list[str]:
    """Return the conditions that are true of a result, a line of evidence each."""
    found = {condition: _evidence(condition, result) for condition in conditions}
    return [f"--fail-if {name}: {why}" for name, why in found.items() if why is not None]


def exit_code(session: Session, conditions: tuple[str, ...], result: dict[str, Any]) -> int:
    """Return 1 where a condition is true of the result, and name it; else 0."""
    found = failed_conditions(conditions, result)
    for line in found:
        session.err.write(line)
    return 1 if found else 0


def _evidence(condition: str, result: dict[str, Any]) -> str | None:
    """Return why a condition is true, or None where it is not."""
    if condition == "shift":
        word = result["shift"]["word"]
        return f"shift is {word}" if word in _MODERATE_OR_MORE else None
    if condition == "thin-overlap":
        word = result["overlap"]["word"]
        return f"overlap is {word}" if word != "enough" else None
    if condition == "no-gain":
        word = result["verdict"]["weighting"]
        return f"weighting: {word}" if "helps" not in word else None
    if condition == "warnings":
        codes = [each["code"] for each in result["findings"] if each["level"] != "note"]
        return ", ".join(codes) or None
    return _too_large(float(condition.partition(">")[2]), result)


def _too_large(limit: float, result: dict[str, Any]) -> str | None:
    verdict = result["verdict"]
    if verdict["shift"] == "none":  # what is expected then is the error in training
        value = result["expect"]["training"]
        return f"expected {value:.4g}" if value > limit else None
    candidates = {each["name"]: each for each in result["expect"]["candidates"]}
    error = candidates[verdict["use"]]["error"]
    if error is None:  # nobody knows that it is well
        return "the expected error is withheld"
    return f"expected {error['value']:.4g}" if error["value"] > limit else None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
