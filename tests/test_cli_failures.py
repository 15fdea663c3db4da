"""How a run fails: one text on standard error, one exit code, one JSON object if asked for."""

import errno
import json
import signal
import subprocess
import sys
import time

import click
import pytest

from weighbridge._findings.finding import Problem
from weighbridge.cli._app import PATIENCE, run_safely
from weighbridge.cli._screen import Session
from weighbridge.exceptions import InputError


def ended(error, *words):
    """Return the exit code of a run that ends with an error."""

    def call():
        raise error

    return run_safely(call, Session(words), words)


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


def test_ten_problems_are_shown_and_the_rest_is_counted(capsys):
    ended(InputError([PROBLEM] * 12))
    text = capsys.readouterr().err
    assert text.count("error WB102") == 10
    assert "and 2 more" in text


def test_the_pipe_behind_a_command_may_close_early(tmp_path):
    # the reader is gone before the command writes
    command = f"{sys.executable} -m weighbridge explain WB301 | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "141"
    assert done.stderr == ""


# Compiled code that gives Python no chance to run a handler until it is over.
DEAF = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2_000_000_000)"
LISTENING = "import time; time.sleep(60)"
SEARCHING = (
    "import time\n"
    "    try: time.sleep(60)\n"
    "    except KeyboardInterrupt: pass\n"
    "    time.sleep(60)"  # a search that takes KeyboardInterrupt for a wish goes on with the next
)


@pytest.mark.more
@pytest.mark.parametrize("word", ["--plain", "--json"])
@pytest.mark.parametrize("work", [DEAF, LISTENING, SEARCHING])
def test_an_interrupt_ends_the_run_within_a_second_and_leaves_no_part_of_a_file(
    tmp_path, work, word
):
    code = (
        "import sys\n"
        "from weighbridge._files import write_whole\n"
        "from weighbridge.cli._app import run_safely\n"
        "from weighbridge.cli._screen import Session\n"
        "def call():\n"
        "  session.narration('bridge', 0, 1)\n"
        "  session.on_interrupt = lambda: ['the same command goes on from there']\n"
        "  with write_whole('a.csv') as temporary:\n"
        "    temporary.write_text('half')\n"
        "    print('ready', flush=True)\n"
        f"    {work}\n"
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
    # the promise is one second; the rest is for starting and ending processes on a busy machine
    assert time.monotonic() - started < PATIENCE + 5
    assert process.returncode == 130
    assert err == "interrupted during bridge\n  the same command goes on from there\n"
    assert list(tmp_path.iterdir()) == []
    if word == "--json":
        assert json.loads(out)["failure"]["findings"][0]["code"] == "WB902"
    else:
        assert out == ""
