"""Problems of the inputs as they are shown, and the error that carries them."""

import pickle
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge._findings import Finding
from weighbridge._findings.finding import (
    Problem,
    argument,
    cli_option,
    escaped,
    listed,
    nearest,
    shown,
    shown_file,
)
from weighbridge.exceptions import InputError

PROBLEM = Problem("WB105", 'train.csv has no column "agee".', ("nearest: age",), "--label age")


def test_problem_is_shown_as_code_evidence_and_help():
    assert str(PROBLEM).splitlines() == [
        'error WB105: train.csv has no column "agee".',
        "  nearest: age",
        "  help: --label age",
    ]


def test_problem_is_a_finding_of_level_error():
    finding = PROBLEM.to_dict()
    assert Finding(**finding).to_dict() == finding
    assert (finding["code"], finding["level"], finding["help"]) == ("WB105", "error", "--label age")


def test_kind_is_usage_or_data():
    with pytest.raises(ValueError, match="Got kind='other', but expected one of usage, data"):
        Problem("WB105", "no.", (), "", "other")


@pytest.mark.parametrize(
    ("kinds", "exit_code"), [(["data"], 3), (["usage"], 2), (["data", "usage", "data"], 2)]
)
def test_exit_code_says_whether_the_call_or_the_data_are_wrong(kinds, exit_code):
    error = InputError([Problem("WB105", "no.", kind=kind) for kind in kinds])
    assert error.exit_code == exit_code
    assert isinstance(error, ValueError)


def test_ten_problems_are_shown_and_the_rest_is_counted():
    error = InputError([Problem("WB105", f"number {i}.") for i in range(13)])
    assert str(error).count("error WB105") == 10
    assert str(error).endswith("\n\nand 3 more")
    assert len(error.problems) == 13


def test_error_survives_a_pickle():
    """An error raised in a worker process is raised as itself in the one that waits."""
    error = pickle.loads(pickle.dumps(InputError([PROBLEM])))
    assert error.problems == (PROBLEM,)


@pytest.mark.parametrize(
    ("call", "typed"),
    [
        (cli_option("drop", "age"), "--drop age"),
        (cli_option("drop", "age", "site"), "--drop age,site"),
        (cli_option("drop", "blood pressure"), "--drop 'blood pressure'"),
        (cli_option("label", "-x"), "--label=-x"),
        (cli_option("force"), "--force"),
        (argument("drop", "age"), 'drop=["age"]'),
        (argument("keep", "age", "site"), 'keep=["age", "site"]'),
        (argument("label", "größe"), 'label="größe"'),
        (argument("label", "a\nb"), 'label="a\\nb"'),
        (argument("force"), "force=True"),
        (argument("jobs", "2"), "n_jobs=2"),
        (argument("lam", "0.8"), "lam=0.8"),
    ],
)
def test_settings_are_spelt_as_the_user_types_them(call, typed):
    assert call == typed


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_option_is_read_by_a_shell_as_the_name(name):
    """What can be printed is taken by a shell as one word, and that word is the name."""
    if name.isprintable():
        typed = shlex.split(cli_option("drop", name))
        assert typed in (["--drop", name], [f"--drop={name}"])


@given(st.text())
def test_shown_text_is_one_printable_line_of_at_most_60(text):
    """Lone surrogates, escapes of terminals and line breaks come out harmless."""
    for written in (shown(text)[1:-1], shown_file(text)):
        assert written.isprintable()
        assert len(written) <= 60
        written.encode()
    assert escaped(text).isprintable()


def test_of_long_file_names_the_end_is_shown():
    assert shown_file("folder/" * 20 + "train.csv").endswith("folder/train.csv")


def test_many_names_are_counted():
    assert listed("abc") == '"a", "b", "c"'
    assert listed("abcd", most=2) == '"a", "b" and 2 more'


def test_nearest_names_forgive_case_spaces_and_slips():
    names = ["Age", " site", "income"]
    assert nearest("age", names) == ["Age"]
    assert nearest("site", names) == [" site"]
    assert nearest("incme", names) == ["income"]
    assert nearest("zzz", names) == []
