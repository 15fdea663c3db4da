"""All commands, and how a run of any of them ends; importing this takes no library but click."""

from __future__ import annotations

import errno
import io
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import redirect_stdout, suppress
from typing import Any, NoReturn

import click

import weighbridge
from weighbridge._files import remove_unfinished
from weighbridge._findings import Problem, nearest, shown_file
from weighbridge.cli._adapt import adapt
from weighbridge.cli._after import explain, predict, report
from weighbridge.cli._demo import demo
from weighbridge.cli._diagnose import diagnose, label
from weighbridge.cli._options import CONTEXT
from weighbridge.cli._screen import ReaderGone, Session, within_columns
from weighbridge.cli._weights import weights
from weighbridge.exceptions import InputError

_TABLE = (
    ("demo", "what does this tool do? (needs no data)"),
    ("adapt TRAIN DEPLOY --label Y", "shift? does it matter? does weighting help?"),
    ("diagnose TRAIN DEPLOY", "shift? overlap? (needs no label)"),
    ("weights TRAIN DEPLOY", "a weight for each training row"),
    ("label TRAIN DEPLOY --label Y", "which deployment rows to label"),
    ("predict MODEL DATA", "use a model that adapt wrote"),
    ("report RESULT", "draw the page again"),
    ("explain CODE", "what does WB301 mean?"),
)
EXAMPLE = "weighbridge adapt train.csv deploy.csv --label y"
USAGE, DATA, DEFECT, INTERRUPTED = 2, 3, 4, 130
# What a shell reports of a program whose reader has gone.
READER_GONE = 141


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
            with redirect_stdout(io.StringIO()) as said:  # help, which click prints by itself
                try:
                    found = super(App, self).main(words, "weighbridge", *arguments, **options)
                except click.Abort as abort:  # click's own for KeyboardInterrupt and EOFError
                    raise abort.__cause__ or KeyboardInterrupt from None
            session.out.write(said.getvalue(), end="")
            return found if isinstance(found, int) else 0

        exit_code = run_safely(call, session, words)
        sys.stdout = session.out.stream
        sys.exit(exit_code)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the front page: one line for each command, and one example."""
        formatter.write("weighbridge: will a model work elsewhere, and would weights help?\n")
        width = max(len(form) for form, _ in _TABLE)
        for form, question in _TABLE:
            formatter.write(f"  {form:<{width}}  {question}\n")
        formatter.write(f"\nExample:  {EXAMPLE}\n")


@click.group(cls=App, invoke_without_command=True, context_settings=CONTEXT)
@click.version_option(None, "-V", "--version", message="%(package)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Learning under covariate shift: importance weights you can trust."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (demo, adapt, diagnose, weights, label, predict, report, explain):
    app.add_command(command)


def run_safely(call: Callable[[], int | None], session: Session, words: Sequence[str]) -> int:
    """Run a command; return its exit code, and tell whatever ended it."""
    try:
        return call() or 0
    except KeyboardInterrupt:
        return _interrupted(session)
    except ReaderGone:
        return READER_GONE
    except click.ClickException as error:
        return _told(session, USAGE, _of_usage(error))
    except InputError as error:
        return _told(session, error.exit_code, *error.problems, error=error.__cause__)
    except OSError as error:
        return _told(session, DATA, _of_storage(error))
    except ModuleNotFoundError as error:
        message = f"the package {error.name!r} is not installed."
        problem = Problem("WB146", message, (), 'pip install "weighbridge[cli]"', "usage")
        return _told(session, USAGE, problem, error=error)
    except (MemoryError, BrokenExecutor) as error:
        message = "there is not enough memory for this run."
        if isinstance(error, BrokenExecutor):
            message = "a parallel job was killed, most likely for want of memory."
        problem = Problem("WB142", message, (), "fewer rows, fewer columns, or --jobs 1")
        return _told(session, DATA, problem, error=error)
    # the one place where a mistake of ours ends, whatever it is
    except BaseException as error:  # noqa: BLE001
        return _told(session, *_of_defect(error, session, words), error=error)


def _told(
    session: Session, exit_code: int, *problems: Problem, error: BaseException | None = None
) -> int:
    session.narration.stop()
    session.err.write(within_columns(str(InputError(problems))))
    if error is not None and session.debug:
        session.err.write("".join(traceback.format_exception(error)).rstrip())
    _print_failure(session, exit_code, *problems)
    return exit_code


def _interrupted(session: Session) -> int:
    """Report Ctrl-C, and return its exit code."""
    remove_unfinished()
    session.narration.stop()
    stage = session.narration.stage
    during = f" during {stage}" if stage else ""
    session.err.write(f"interrupted{during}\n  no file was left half written")
    problem = Problem("WB902", f"the run was interrupted{during}.", (), "start it again")
    _print_failure(session, INTERRUPTED, problem)
    return INTERRUPTED


def _print_failure(session: Session, exit_code: int, *problems: Problem) -> None:
    """Print what failed as JSON, if asked for; where nobody can read it, the exit code stays."""
    if session.json is None:
        return
    findings = [problem.to_dict() for problem in problems]
    stage = session.narration.stage
    parts = {"exit_code": exit_code, "stage": stage, "findings": findings}
    with suppress(ReaderGone, OSError):
        session.print_json(session.result(failure=parts, findings=findings))


def _of_usage(error: click.ClickException) -> Problem:
    """Return what click refused, with something to type."""
    message, _, rest = error.format_message().partition("\n")
    for advice in (" Did you mean", " (Did you mean", " (Possible options"):
        message = message.partition(advice)[0]
    context = getattr(error, "ctx", None)
    path = "weighbridge" if context is None else context.command_path
    help = rest.strip().removeprefix("help: ") or f"{path} --help"
    if isinstance(error, click.NoSuchOption):
        # dashes are alike in all of them, and say nothing about what was meant
        names = {each.strip("-"): each for each in error.possibilities or ()}
        near = nearest(error.option_name.strip("-"), names)
        help = names[near[0]] if near else help
    elif message.startswith("No such command") and context is not None:
        near = nearest(message.split("'")[1], getattr(context.command, "commands", ()))
        help = f"weighbridge {near[0]}" if near else "weighbridge"
    return Problem("WB100", message if message.endswith(".") else f"{message}.", (), help, "usage")


def _of_storage(error: OSError) -> Problem:
    """Return what the operating system refused, with the file that it is about."""
    name = shown_file(str(error.filename)) if error.filename else "a file"
    reason = error.strerror or str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    help = "make room there, or write elsewhere" if full else "check the path and its permissions"
    help = "send it to a file: > answer.txt" if error.errno == errno.EBADF else help
    return Problem("WB141", f"{name}: {reason}.", ("nothing was left half written",), help)


def _of_defect(error: BaseException, session: Session, words: Sequence[str]) -> tuple[int, Problem]:
    """Return the exit code, and a text that can be pasted into an issue as it is."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, UnicodeEncodeError) and "loky" in frame.filename:
        message = "parallel jobs need a folder for temporary files with a name in ASCII."
        help = "--jobs 1, or name such a folder in the environment variable JOBLIB_TEMP_FOLDER"
        return USAGE, Problem("WB140", message, (), help, "usage")
    # without the folders of this computer, which are nobody's business
    place = frame.filename.replace("\\", "/").split("/src/")[-1].split("site-packages/")[-1]
    lines = (
        "this is a defect in weighbridge; please report it with these lines:",
        f"weighbridge {weighbridge.__version__}, Python {sys.version.split()[0]}, {sys.platform}",
        f"command: weighbridge {shlex.join(words)}",
        f"stage: {session.narration.stage or 'start'}",
        f"where: {place}:{frame.lineno} in {frame.name}",
    )
    message = " ".join(f"{type(error).__name__}: {error}".split())
    help = "the same command with --debug shows all of it"
    return DEFECT, Problem("WB901", message, lines, "" if session.debug else help)
