"""The command line: what it prints, what it writes, how it fails."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from weighbridge.cli._app import app
from weighbridge.cli._picture import MARK
from weighbridge.datasets import make_quadratic


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: CliRunner().invoke(app, words)


def test_demo_prints_every_weighting_with_its_limit(run):
    result = run("demo", "--plain")
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
    result = run("demo", "--plain")
    assert "done in" in result.stderr
    assert "done in" not in result.stdout


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_demo_draws_a_picture_and_overwrites_only_its_own(run, tmp_path, suffix):
    path = tmp_path / "new folder" / f"lines{suffix}"
    assert run("demo", "--plot", str(path)).exit_code == 0
    assert MARK.encode() in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert run("demo", "--plot", str(path)).exit_code == 0
    path.write_text("mine")
    refused = run("demo", "--plot", str(path))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert path.read_text() == "mine"
    assert run("demo", "--plot", str(path), "--force").exit_code == 0
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("reading", ["noise_sd", "all_sd", "script"])
def test_demo_in_every_reading(run, reading, tmp_path):
    result = run("demo", "--reading", reading)
    assert result.exit_code == 0
    assert (tmp_path / "weighbridge-demo" / "lines.png").exists()
    assert ("all weightings agree" in result.stdout) == (reading == "script")


def test_same_seed_same_words(run):
    first, second, other = (run("demo", "--seed", seed).stdout for seed in "334")
    assert first == second != other


def test_wrong_usage(run, tmp_path):
    for words, message in [
        (("demo", "--plot", "lines.pdf"), "--plot lines.png"),
        (("demo", "--reading", "letter"), "'letter' is not one of"),
        (("demo", "--seed", "-1"), "-1 is not in the range"),
        (("dmeo",), "No such command"),
    ]:
        result = run(*words)
        assert result.exit_code == 2
        assert message in result.stderr
    (tmp_path / "file").write_text("")
    result = run("demo", "--plot", "file/lines.png")
    assert result.exit_code == 2
    assert "cannot write into" in result.stderr
    assert result.stdout == ""


def test_alone_it_prints_help(run):
    assert "demo" in run().stdout
    assert run("--version").stdout.startswith("weighbridge ")


@pytest.mark.parametrize(
    ("package", "words", "message"),
    [
        ("click", [], 'pip install "weighbridge[cli,plot]"'),
        ("matplotlib", ["demo", "--plot", "a.png"], 'pip install "weighbridge[plot]"'),
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
        "import sys; sys.modules['matplotlib'] = None; sys.argv[1:] = ['demo']\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Weighting helps" in done.stdout
    assert "no picture" in done.stderr


def test_help_does_not_wait_for_scikit_learn():
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from weighbridge.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'sklearn', 'scipy', 'numpy'} & set(sys.modules), 'heavy imports'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_ascii_terminals_get_ascii(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "weighbridge", "demo"],
        cwd=tmp_path,
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        check=True,
    )
    assert b"->" in done.stdout
