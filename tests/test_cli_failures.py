"""How a run fails: one text on standard error, one exit code, one JSON object if asked for."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import click
import pytest

from cli_runs import write_clinic
from weighbridge._findings.finding import Problem
from weighbridge.cli._app import run_safely
from weighbridge.cli._screen import ReaderGone, Screen, Session
from weighbridge.exceptions import InputError


def ended(error, *words):
    """Return the exit code of a run that ends with an error."""

    def call():
        raise error

    return run_safely(call, Session(words), words)


needs_shell = pytest.mark.skipif(os.name != "posix", reason="needs the streams of a POSIX shell")
needs_full = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="there is no device without room here"
)
needs_sigint = pytest.mark.skipif(
    os.name != "posix", reason="Windows has no SIGINT for one process"
)
PROBLEM = Problem("WB102", "deploy.csv has a header and no rows.", ("line 1",), "check the export")
USAGE = Problem("WB101", 'there is no file "a.csv".', (), "b.csv", "usage")


@pytest.mark.parametrize(
    ("error", "exit_code", "text"),
    [
        (InputError([PROBLEM]), 3, "error WB102: deploy.csv has a header and no rows.\n  line 1\n"),
        (InputError([PROBLEM, USAGE]), 2, "\n\nerror WB101: there is no file"),
        (click.UsageError("wrong.\n  help: right"), 2, "error WB100: wrong.\n  help: right\n"),
        (OSError(errno.ENOSPC, "No space left on device", "out/a.csv"), 3, "out/a.csv: No space"),
        (MemoryError(), 3, "error WB142"),
        (ZeroDivisionError("by nothing"), 4, "error WB901: ZeroDivisionError: by nothing"),
        (SystemExit(0), 4, "error WB901: SystemExit: 0"),
        (GeneratorExit(), 4, "error WB901: GeneratorExit"),
    ],
)
def test_each_error_has_its_exit_code_a_code_and_help_on_standard_error(
    error, exit_code, text, capsys
):
    assert ended(error) == exit_code
    out, err = capsys.readouterr()
    assert out == ""
    assert text in err
    assert "  help: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("word", ["--json", "--json=full"])
@pytest.mark.parametrize("error", [InputError([PROBLEM]), ValueError("a defect"), MemoryError()])
def test_with_json_a_failure_is_one_object_on_standard_output(error, word, capsys):
    exit_code = ended(error, "adapt", word)
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["failure"]["exit_code"] == exit_code
    assert result["failure"]["findings"][0]["level"] == "error"
    assert result["verdict"] is None
    assert result["command"] == "adapt"
    assert err.startswith("error WB")


def test_a_defect_prints_an_issue_that_can_be_pasted_and_a_traceback_only_on_demand(capsys):
    ended(RuntimeError("broken\n  in two"), "adapt", "a b.csv")
    text = capsys.readouterr().err
    assert "error WB901: RuntimeError: broken in two" in text
    assert "command: weighbridge adapt 'a b.csv'" in text
    assert "stage: start" in text
    assert "Python 3" in text
    assert "Traceback" not in text
    ended(RuntimeError("broken"), "adapt", "--debug")
    assert "Traceback" in capsys.readouterr().err


@needs_shell
def test_the_pipe_behind_a_command_may_close_early(tmp_path):
    # the reader is gone before the command writes
    command = f"{sys.executable} -m weighbridge explain WB301 | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "141"
    assert done.stderr == ""


LOST = "error WB141: standard output: {}.\n  nothing was left half written\n  help: {}\n"
MORE_FULL = [pytest.mark.more, needs_full]
CLOSED = LOST.format("Bad file descriptor", "send it to a file: > answer.txt")
FULL = LOST.format("No space left on device", "make room there, or write elsewhere")


def bash(folder, words, **streams):
    """Run a command as a shell does that closes or redirects its streams."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    script = f"exec {sys.executable} -m weighbridge {words}"
    return subprocess.run(["bash", "-c", script], text=True, check=False, cwd=folder, **streams)


@needs_shell
@pytest.mark.parametrize(
    ("words", "exit_code", "out", "err"),
    [
        ("explain WB301 >&-", 3, "", CLOSED),
        pytest.param("--help > /dev/full", 3, "", FULL, marks=needs_full),
        ("explain WB301 2>&-", 0, "WB301", ""),
        ("explain WB000 <&- >&- 2>&-", 2, "", ""),
        pytest.param("-V >&-", 3, "", CLOSED, marks=pytest.mark.more),
        pytest.param("explain WB301 --json > /dev/full", 3, "", FULL, marks=MORE_FULL),
        pytest.param("explain WB000 2> /dev/full", 2, "", "", marks=MORE_FULL),
        pytest.param("explain WB000 --json >&-", 2, "", "error WB143", marks=pytest.mark.more),
    ],
)
def test_a_stream_that_is_closed_or_full_gives_an_exit_code_and_no_traceback(
    tmp_path, words, exit_code, out, err
):
    done = bash(tmp_path, words)
    assert done.returncode == exit_code
    assert out in done.stdout
    assert bool(out) is bool(done.stdout)
    assert done.stderr.startswith(err)
    assert bool(err) is bool(done.stderr)
    assert "ignored" not in done.stderr


@needs_shell
@pytest.mark.parametrize(
    ("words", "exit_code", "err"), [("--help", 141, ""), ("explain WB000 --json", 2, "error WB143")]
)
def test_a_reader_that_has_gone_gets_nothing_and_a_failure_keeps_its_exit_code(
    tmp_path, words, exit_code, err
):
    reader, writer = os.pipe()
    os.close(reader)
    done = bash(tmp_path, words, stdout=writer)
    os.close(writer)
    assert done.returncode == exit_code
    assert done.stderr.startswith(err)
    assert bool(err) is bool(done.stderr)


@needs_shell
@pytest.mark.more
@pytest.mark.parametrize("closed", ["2>&- <&-", ">&-"])
def test_without_a_stream_the_files_are_written_all_the_same(tmp_path, closed):
    write_clinic(tmp_path, 100, 100)
    words = "weights train.csv deploy.csv --label readmitted --ratio gaussian"
    done = bash(tmp_path, f"{words} {closed}")
    assert done.returncode == (3 if closed == ">&-" else 0)
    assert len((tmp_path / "weights.csv").read_text().splitlines()) == 101


def test_narration_that_nobody_reads_does_not_end_a_run():
    for name in ("", "standard output"):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as stream:
            screen = Screen(stream, name=name)
            with pytest.raises(ReaderGone) if name else nullcontext():
                screen.write("first")
            screen.write("second")


def test_only_the_command_writes_to_standard_output_and_others_to_standard_error(tmp_path):
    """Prints of Python, of other processes, and of compiled code that holds them back."""
    code = (
        "import ctypes, os, subprocess, sys\n"
        "from weighbridge.cli._screen import Session\n"
        "session = Session(['explain', '--json'])\n"
        "session.own_output()\n"
        "print('python')\n"
        "print('saved', file=sys.__stdout__)\n"
        "ctypes.pythonapi.printf(b'compiled\\n')\n"
        "os.write(1, b'number\\n')\n"
        "subprocess.run(['echo', 'process'], check=True)\n"
        "session.print_json({'name': 'größe'})\n"
        "import atexit\n"
        "atexit._run_exitfuncs()\n"
        "assert session.out.stream.closed"  # Python would warn of a file left open
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout) == {"name": "größe"}
    said = ["compiled", "number", "process", "python", "saved"]
    assert sorted(done.stderr.split()) == said


# A signal while something is imported: before the run, and in it.
IMPORTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

class Finder:
    def find_spec(self, name, *others):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv[1:] = {words!r}
from weighbridge.cli import main
main()
"""


@needs_sigint
@pytest.mark.parametrize(
    ("name", "err"),
    [
        ("weighbridge.cli._app", "interrupted\n"),
        ("click", "interrupted\n"),
        ("weighbridge.cli._weights", "interrupted\n"),
        ("numpy", "\ninterrupted\n  no file was left half written\n"),
    ],
)
def test_an_interrupt_while_something_is_imported_is_quiet(tmp_path, name, err):
    for file in ("train.csv", "deploy.csv"):
        (tmp_path / file).write_text("a,y\n1,0\n")
    words = ["adapt", "train.csv", "deploy.csv", "--label", "y", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING.format(name=name, words=words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", err)


@needs_sigint
@pytest.mark.more
@pytest.mark.parametrize("word", ["--plain", "--json"])
def test_ctrl_c_ends_the_run_at_once_and_leaves_no_part_of_a_file(tmp_path, word):
    code = (
        "import sys, time\n"
        "from weighbridge._files import write_whole\n"
        "from weighbridge.cli._app import run_safely\n"
        "from weighbridge.cli._screen import Session\n"
        "def call():\n"
        "  session.narration('bridge', 0, 1)\n"
        "  with write_whole('a.csv') as temporary:\n"
        "    temporary.write_text('half')\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        f"session = Session(['adapt', {word!r}])\n"
        "sys.exit(run_safely(call, session, ['adapt']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout.readline() == "ready\n"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - started < 5  # a busy machine ends processes slowly
    assert process.returncode == 130
    assert err == "interrupted during bridge\n  no file was left half written\n"
    assert list(tmp_path.iterdir()) == []
    if word == "--json":
        assert json.loads(out)["failure"]["findings"][0]["code"] == "WB902"
    else:
        assert out == ""
