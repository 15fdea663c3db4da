"""The command line as a whole: its front page, help, usage and imports."""

import re
import subprocess
import sys

import pytest

import weighbridge
from cli_runs import runner
from weighbridge.cli._app import app

COMMANDS = ["demo", "adapt", "diagnose", "weights", "label", "predict", "report", "explain"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: runner().invoke(app, words)


def test_wrong_usage(run):
    for words, message, help in [
        (("demo", "--toy"), "No such option '--toy'", "weighbridge demo --help"),
        (("adapt", "a", "b", "--engine", "dask"), "No such option '--engine'", "adapt --help"),
        (("demo", "--seed", "-1"), "-1 is not in the range", "weighbridge demo --help"),
        (("--json",), "No such option '--json'", "help: weighbridge --help"),
        (("--vresion",), "No such option '--vresion'", "help: --version"),
        (("dmeo",), "No such command 'dmeo'", "help: weighbridge demo"),
        (("adapt", "a", "b", "--lable", "y"), "No such option", "help: --label"),
        (("adapt", "a", "--label", "y"), "Missing argument 'DEPLOY'", "weighbridge adapt --help"),
        (("adapt", "a", "b"), "Missing option '--label'", "weighbridge adapt --help"),
        (("adapt", "a", "b", "--label", "y", "--fail-if", "x"), "'x' is not one of shift", "help"),
        (("adapt", "a", "b", "--label", "y", "--json=long"), "'long' is not one of", "help"),
        (("explain", "WB000"), 'there is no code "WB000"', "weighbridge explain WB301"),
    ]:
        result = run(*words)
        assert result.exit_code == 2
        text = " ".join(result.stderr.split())
        # click before 8.4 has other words
        text = re.sub(r"No such option: (\S+)\.", r"No such option '\1'.", text)
        assert message in text
        assert help in text
        assert result.stderr.startswith("error WB")
        assert "--json" in words[-1] or result.stdout == ""


def test_alone_it_prints_nine_lines_and_an_example(run):
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:9]] == COMMANDS
    assert lines[9] == ""
    assert lines[10].startswith("Example:  weighbridge adapt")
    assert len(lines) == 11
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_one_line(run, word):
    assert run(word).stdout == f"weighbridge {weighbridge.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_starts_with_an_example_that_is_understood_and_fits_80_columns(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    first, *lines = result.stdout.splitlines()
    assert first.startswith(f"Example:  weighbridge {command}")
    groups = [line for line in lines if line in ("What:", "How:", "Output:")]
    assert groups == sorted(groups, key=["What:", "How:", "Output:"].index)
    assert all(len(line) <= 80 for line in lines)
    # the example is wrong only in that its files are not there
    words = first.removeprefix("Example:  weighbridge ").split()
    if command != "demo":
        assert "WB100" not in run(*words).stderr


def test_a_missing_package_is_named(tmp_path):
    code = "import sys; sys.modules['click'] = None\nfrom weighbridge.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert 'pip install "weighbridge[cli,plot]"' in done.stderr
    assert "Traceback" not in done.stderr


# What takes longer to import than a person waits for help.
HEAVY = {"sklearn", "scipy", "numpy", "pandas", "skops", "jinja2", "matplotlib", "narwhals"}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["--version"],
        ["adapt", "--help"],
        ["predict", "--help"],
        ["adapt", "--lable", "y"],
        ["adapt", "missing.csv", "missing too.csv", "--label", "y"],
        ["weights", "missing.csv", "missing.csv"],
        ["predict", "model.skops", "missing.csv"],
        ["report", "missing.json"],
        ["explain", "WB301"],
    ],
)
def test_help_and_usage_errors_wait_for_no_library(words, tmp_path):
    code = (
        f"import sys; sys.argv[1:] = {words!r}\n"
        "from weighbridge.cli import main\n"
        "try: main()\n"
        "finally:\n"
        f"  print('HEAVY', *sorted({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode in (0, 2)
    assert done.stdout.splitlines()[-1] == "HEAVY"


def test_the_first_line_is_said_before_the_heavy_imports(tmp_path):
    # importing numpy fails, and the first line is there all the same
    for name in ("train.csv", "deploy.csv"):
        (tmp_path / name).write_text("a,y\n1,0\n")
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "sys.argv[1:] = ['adapt', 'train.csv', 'deploy.csv', '--label', 'y']\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    first, second, *_ = done.stderr.splitlines()
    assert first == "weighbridge adapt: train.csv and deploy.csv"
    assert second == "error WB146: the package 'numpy' is not installed."
    assert done.returncode == 2
