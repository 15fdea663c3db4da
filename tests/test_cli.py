"""The command line as a whole: its front page, help, imports, and the paper's example."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import weighbridge
from weighbridge.cli._app import app
from weighbridge.cli._picture import MARK
from weighbridge.datasets import make_quadratic

COMMANDS = ["demo", "adapt", "diagnose", "weights", "predict", "report", "explain"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: CliRunner().invoke(app, words)


def test_demo_prints_every_weighting_with_its_limit(run):
    result = run("demo", "--toy", "--plain")
    assert result.exit_code == 0
    table = re.findall(
        r"^  (\w+) \((\w+)\) +(\d\.\d\d) +([\d.–-]+) +([\d.]+) +([\d.]+) +([\d,]+) rows$",
        result.stdout,
        re.MULTILINE,
    )
    assert [row[1] for row in table] == ["ERM", "IWERM", "AIWERM", "RIWERM", "IGIWERM"]
    problem = make_quadratic(2, 2).problem
    assert float(table[0][5]) == pytest.approx(problem.limit(0), abs=0.005)
    assert float(table[1][5]) == pytest.approx(problem.limit(1), abs=0.005)
    assert float(table[0][4]) > 50 * float(table[1][4])
    assert "Weighting helps" in result.stdout
    assert "(full)" in result.stdout.splitlines()[1]
    assert "WB301" in result.stdout
    assert "Use alpha > 1" in result.stdout  # a warning comes with its remedy
    assert all(len(line) <= 80 for line in result.output.splitlines())


def test_narration_goes_to_stderr_and_results_to_stdout(run):
    result = run("demo", "--toy", "--plain")
    assert "done in" in result.stderr
    assert "done in" not in result.stdout


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_demo_draws_a_picture_and_overwrites_only_its_own(run, tmp_path, suffix):
    path = tmp_path / "new folder" / f"lines{suffix}"
    assert run("demo", "--toy", "--plot", str(path)).exit_code == 0
    assert MARK.encode() in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert run("demo", "--toy", "--plot", str(path)).exit_code == 0
    path.write_text("mine")
    refused = run("demo", "--toy", "--plot", str(path))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert path.read_text() == "mine"
    assert run("demo", "--toy", "--plot", str(path), "--force").exit_code == 0
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("reading", ["noise_sd", "all_sd", "script"])
def test_demo_in_every_reading(run, reading, tmp_path):
    result = run("demo", "--toy", "--reading", reading)
    assert result.exit_code == 0
    assert (tmp_path / "weighbridge-demo" / "lines.png").exists()
    assert ("all weightings agree" in result.stdout) == (reading == "script")


def test_same_seed_same_words(run):
    first, second, other = (run("demo", "--toy", "--seed", seed).stdout for seed in "334")
    assert first == second != other


def test_wrong_usage(run, tmp_path):
    for words, message, help in [
        (("demo", "--toy", "--plot", "lines.pdf"), "must end in .png", "--plot lines.png"),
        (("demo", "--reading", "letter"), "'letter' is not one of", "weighbridge demo --help"),
        (("demo", "--reading", "script"), "belongs to the paper's example", "--toy --reading"),
        (("demo", "--plot", "a.png"), "belongs to the paper's example", "--toy --plot"),
        (("demo", "--toy", "--json"), "has no JSON", "weighbridge demo --json"),
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
        assert message in text
        assert help in text
        assert result.stderr.startswith("error WB")
        assert "--json" in words[-1] or result.stdout == ""
    (tmp_path / "file").write_text("")
    result = run("demo", "--toy", "--plot", "file/lines.png")
    assert result.exit_code == 2
    assert "cannot write into" in result.stderr
    assert result.stdout == ""


def test_alone_it_prints_eight_lines_and_an_example(run):
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:8]] == COMMANDS
    assert lines[8] == ""
    assert lines[9].startswith("Example:  weighbridge adapt")
    assert len(lines) == 10
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


@pytest.mark.parametrize(
    ("package", "words", "message"),
    [
        ("click", [], 'pip install "weighbridge[cli,plot]"'),
        ("matplotlib", ["demo", "--toy", "--plot", "a.png"], 'pip install "weighbridge[plot]"'),
    ],
)
def test_missing_extras_are_named(package, words, message, tmp_path):
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv[1:] = {words!r}\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_matplotlib_the_demo_still_answers(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.argv[1:] = ['demo', '--toy']\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Weighting helps" in done.stdout
    assert "no picture" in done.stderr


# What takes longer to import than a person waits for help.
HEAVY = {"sklearn", "scipy", "numpy", "pandas", "rich", "skops", "jinja2", "matplotlib", "narwhals"}


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


def test_ascii_terminals_get_ascii(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "weighbridge", "demo", "--toy"],
        cwd=tmp_path,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"->" in done.stdout
