"""Two tables that fit together, and every way in which they do not."""

import numpy as np
import pandas as pd
import pytest

from weighbridge._findings.finding import argument, cli_option
from weighbridge._tables import check_pair, read_pair, read_table
from weighbridge.exceptions import InputError

N = 40


def columns(**changes):
    """Columns of a table with a number, a category and a label, some of them changed."""
    base = {
        "age": [str(20 + i) for i in range(N)],
        "site": ["north", "west"] * (N // 2),
        "ill": ["0", "1"] * (N // 2),
    }
    base.update({name: list(map(str, values)) for name, values in changes.items() if values})
    return {name: cells for name, cells in base.items() if changes.get(name, 1) is not None}


def deployment(**changes):
    return columns(**{"ill": None, "age": [str(30 + i) for i in range(N)], **changes})


def write(path, cells):
    pd.DataFrame(cells, dtype=object).to_csv(path, index=False)


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Write both tables and match them, as the command does in the folder of the files."""
    monkeypatch.chdir(tmp_path)

    def matched(train=None, deploy=None, **settings):
        write("train.csv", train or columns())
        write("deploy.csv", deploy or deployment())
        settings = {"label": "ill", "option": cli_option, **settings}
        return read_pair("train.csv", "deploy.csv", **settings)[2]

    return matched


def edit(cells, **at):
    """Replace single cells: ``edit(column, at_3="x")`` is row 3."""
    cells = list(cells)
    for key, value in at.items():
        cells[int(key.removeprefix("at_"))] = value
    return cells


AGE, SITE, ILL = columns()["age"], columns()["site"], columns()["ill"]
MANY = [f"{i}.5" for i in range(N)]

# changes of training and deployment, settings, the codes, the exit code, and words of the message
BAD_PAIRS = [
    ({}, {"age": None}, {}, ["WB103"], 3, ['deploy.csv has no column "age"', "--drop age"]),
    ({}, {"age": None, "Age": AGE}, {}, ["WB103"], 3, ['nearest in deploy.csv: "Age"']),
    (
        {f"x{i}": AGE for i in range(9)},
        {},
        {},
        ["WB103"],
        3,
        ['"x5" and 3 more', "--keep age,site"],
    ),
    (
        {},
        {"age": None, "site": None, "a": AGE, "b": AGE},
        {},
        ["WB133"],
        3,
        ["no feature in common", 'train.csv: "age", "site"', 'deploy.csv: "a", "b"'],
    ),
    (
        {},
        {"age": edit(AGE, at_12="fifty")},
        {},
        ["WB104"],
        3,
        ['deploy.csv line 14: "fifty"   (1 of 40 values is not a number)', "correct that value"],
    ),
    (
        {"age": edit(AGE, at_0="x", at_5="y")},
        {},
        {},
        ["WB104"],
        3,
        ['train.csv line 2: "x"   (2 of 40 values are not numbers)', "is a number in deploy.csv"],
    ),
    (
        {"age": edit(AGE, at_0="x")},
        {"age": edit(AGE, at_3="y")},
        {},
        ["WB104"],
        3,
        ["is a number in most rows of train.csv, but not in all"],
    ),
    ({}, {"age": SITE}, {}, ["WB104"], 3, ["(40 of 40 values are not numbers)", "--drop age"]),
    (
        {},
        {},
        {"label": "Il"},
        ["WB105"],
        2,
        ['train.csv has no column "Il"', "nearest: ill", "--label ill"],
    ),
    ({}, {}, {"label": "ILL"}, ["WB105"], 2, ["nearest: ill"]),
    ({}, {}, {"drop": ["agee"]}, ["WB105"], 2, ["neither train.csv nor deploy.csv", "--drop age"]),
    ({}, {}, {"keep": ["agee"]}, ["WB105"], 2, ['train.csv has no column "agee"', "--keep age"]),
    ({}, {}, {"weight": "zz"}, ["WB105"], 2, ['no column "zz"', 'there are "age", "site", "ill"']),
    ({}, {}, {"drop": ["ill"]}, ["WB134"], 2, ["both the label and among the columns to leave"]),
    ({}, {}, {"weight": "ill"}, ["WB134"], 2, ["both the label and the row weights"]),
    ({}, {}, {"keep": ["age"], "drop": ["age"]}, ["WB134", "WB133"], 2, ["to use and those to"]),
    ({}, {}, {"drop": ["age", "site"]}, ["WB133"], 3, ["no features are left"]),
    ({}, {"age": [""] * N, "site": [""] * N}, {}, ["WB133"], 3, ['cannot be used: "age", "site"']),
    (
        {"ill": edit(ILL, at_16="", at_20="NA")},
        {},
        {},
        ["WB106"],
        3,
        ["2 of 40 labels are missing (first at train.csv line 18)"],
    ),
    ({"ill": [""] * N}, {}, {}, ["WB106"], 3, ["40 of 40 labels"]),
    ({"ill": ["0"] * N}, {}, {}, ["WB108"], 3, ['every label in train.csv is "0"']),
    ({"ill": ["2.5"] * N}, {}, {}, ["WB108"], 3, ['every label in train.csv is "2.5"']),
    (
        {"ill": edit(["a", "b"] * 20, at_0="c", at_7="c", at_9="c")},
        {},
        {},
        ["WB108"],
        3,
        ['class "c" of "ill" has 3 rows', "at least 5"],
    ),
    (
        {"ill": [i // 3 for i in range(N)]},
        {},
        {},
        ["WB108"],
        3,
        ["14 of 14 classes", "--task regression"],
    ),
    ({"ill": ["a", "b"] * 20}, {}, {"task": "regression"}, ["WB136"], 2, ["is text; regression"]),
    ({"ill": edit(MANY, at_2="inf")}, {}, {}, ["WB109"], 3, ['"ill" has 1 infinite value in tr']),
    ({"ill": edit(MANY, at_2="1e999")}, {}, {}, ["WB132"], 3, ["too large for a double"]),
    ({"ill": edit(MANY, at_2="x")}, {}, {}, ["WB104"], 3, ["line 4", "most rows of train.csv"]),
    ({"ill": [f"{i},5" for i in range(N)]}, {}, {}, ["WB131"], 3, ["decimal comma"]),
    (
        {},
        {"age": edit(AGE, at_5="inf", at_6="-Infinity")},
        {},
        ["WB109"],
        3,
        ['"age" has 2 infinite values in deploy.csv (first at line 7)'],
    ),
    ({"age": edit(AGE, at_5="1" + "0" * 309)}, {}, {}, ["WB132"], 3, ['line 7: "1000', "1 number"]),
    (
        {"age": edit(AGE, at_5="3,14")},
        {},
        {},
        ["WB131"],
        3,
        ["decimal comma", 'line 7: "3,14"   (1 of 40 values like it)', "1234.5"],
    ),
    ({}, {"age": [f"{i + 1},234" for i in range(N)]}, {}, ["WB131"], 3, ["between thousands"]),
    ({}, {"age": [f"{i},234" for i in range(N)]}, {}, ["WB131"], 3, ["a decimal comma"]),
    ({"age": [f"1.{100 + i},5" for i in range(N)]}, {}, {}, ["WB131"], 3, ["decimal comma"]),
    ({"age": [f"{i + 1} 000" for i in range(N)]}, {}, {}, ["WB131"], 3, ["between thousands"]),
    ({"w": [-1] * N}, {}, {"weight": "w"}, ["WB135"], 3, ["are negative", "(first at line 2)"]),
    ({"w": edit([1] * N, at_3="")}, {}, {"weight": "w"}, ["WB135"], 3, ["missing", "line 5"]),
    ({"w": edit([1] * N, at_3="x")}, {}, {"weight": "w"}, ["WB135"], 3, ["not all numbers"]),
    ({"w": edit([1] * N, at_3="inf")}, {}, {"weight": "w"}, ["WB135"], 3, ["infinite", "line 5"]),
    ({"w": [0] * N}, {}, {"weight": "w"}, ["WB135"], 3, ["zero in every row"]),
]


@pytest.mark.parametrize(("train", "deploy", "settings", "codes", "exit_code", "words"), BAD_PAIRS)
def test_tables_that_do_not_fit_are_named(train, deploy, settings, codes, exit_code, words, pair):
    with pytest.raises(InputError) as caught:
        pair(columns(**train), deployment(**deploy), **settings)
    error = caught.value
    assert [problem.code for problem in error.problems] == codes
    assert error.exit_code == exit_code
    assert all(word in str(error) for word in words), str(error)
    assert all(problem.help and len(str(problem).splitlines()) <= 6 for problem in error.problems)


def test_classes_beyond_what_a_double_tells_apart(pair):
    ill = [str(2**53 + row % 2) for row in range(len(columns()["ill"]))]
    with pytest.raises(InputError, match=r"WB132: .* beyond 2\^53"):
        pair({**columns(), "ill": ill}, task="classification")


def test_too_few_rows_in_either_table(pair):
    short = {name: cells[:7] for name, cells in deployment().items()}
    with pytest.raises(InputError, match=r"WB107: deploy.csv has 7 rows; at least 20 are needed"):
        pair(columns(), short)
    short = {name: cells[:19] for name, cells in columns().items()}
    with pytest.raises(InputError, match=r"WB107: train.csv has 19 rows"):
        pair(short, deployment())


def test_same_file_twice_is_no_error_here(pair):
    """There is no shift between them, and that is what a verdict will say."""
    found = pair(columns(), columns())
    assert len(found.X) == len(found.X_target)


def test_all_problems_come_together(pair):
    with pytest.raises(InputError) as caught:
        pair(
            columns(age=edit(AGE, at_1="inf"), ill=edit(ILL, at_4="")),
            deployment(site=None),
            drop=["nothing"],
        )
    found = [problem.code for problem in caught.value.problems]
    assert found == ["WB105", "WB106", "WB103", "WB109"]


def test_problems_of_both_files_come_together_with_the_label(tmp_path, monkeypatch):
    """One run is enough to learn that a file is missing and that the label is misspelt."""
    monkeypatch.chdir(tmp_path)
    write("train.csv", columns())
    with pytest.raises(InputError) as caught:
        read_pair("train.csv", "depoly.csv", label="il", option=cli_option)
    assert [problem.code for problem in caught.value.problems] == ["WB101", "WB105"]
    with pytest.raises(InputError) as caught:
        read_pair("trian.csv", "depoly.csv", label="il", option=cli_option)
    assert [problem.code for problem in caught.value.problems] == ["WB101", "WB101"]


def test_same_problem_of_many_columns_is_told_once(pair):
    wrong = [f"{i},5" for i in range(N)]
    names = [f"x{i}" for i in range(5)]
    with pytest.raises(InputError) as caught:
        pair(columns(**dict.fromkeys(names, wrong)), deployment(**dict.fromkeys(names, wrong)))
    (problem,) = caught.value.problems
    assert 'the same in 4 further columns: "x1", "x2", "x3", "x4"' in str(problem)


def test_hostile_names_and_values_are_shown_escaped(pair):
    name = "<b>\n\x1b[2J=1+1"
    with pytest.raises(InputError) as caught:
        pair(columns(**{name: AGE}), deployment(**{name: edit(AGE, at_0="\x1b\r\n,x")}))
    text = str(caught.value)
    assert '"<b>\\n\\x1b[2J=1+1" is a number in train.csv' in text
    assert '"\\x1b\\r\\n,x"' in text
    assert "\x1b" not in text


def test_messages_speak_of_arguments_in_python():
    train = pd.DataFrame({"age": range(N), "ill": [0, 1] * 20, "more": range(N)})
    deploy = pd.DataFrame({"age": range(5, N + 5)})
    with pytest.raises(InputError) as caught:
        read_pair(train, deploy, label="ill", option=argument)
    assert 'deploy has no column "more", which train has' in str(caught.value)
    assert 'drop=["more"]' in str(caught.value)


def test_rows_of_a_frame_are_counted_from_0():
    train = pd.DataFrame({"age": [1.0] * 30 + [np.inf] * 2, "ill": [0, 1] * 16})
    with pytest.raises(InputError, match=r"infinite values in train \(first at row 30\)"):
        read_pair(train, train[["age"]][:30], label="ill", option=argument)


def test_task_that_is_none_is_refused():
    table = read_table(pd.DataFrame({"x": range(N)}), "train")
    with pytest.raises(ValueError, match="Got task='guess', but expected one of auto,"):
        check_pair(table, table, task="guess", option=argument)


# ---------------------------------------------------------------- what fits


def test_pair_has_the_features_in_training_order(pair):
    shuffled = {name: deployment()[name] for name in ("site", "age")}
    found = pair(columns(w=[2] * N), shuffled, weight="w")
    assert list(found.X.columns) == list(found.X_target.columns) == ["age", "site"]
    assert found.X["age"].tolist() == list(map(float, AGE))
    assert found.X_target["site"].tolist() == SITE
    assert found.y.tolist() == [0, 1] * 20
    assert found.y.dtype == np.int64
    assert found.weight.tolist() == [2.0] * N
    assert (found.task, found.y_target, found.notes, found.dropped) == (
        "classification",
        None,
        (),
        (),
    )
    assert [(a.name, a.kind, b.kind) for a, b in found.features] == [
        ("age", "numeric", "numeric"),
        ("site", "category", "category"),
    ]


def test_what_is_dropped_or_not_kept_may_be_missing_in_deployment(pair):
    assert list(pair(deploy=deployment(age=None), drop=["age"]).X.columns) == ["site"]
    assert list(pair(deploy=deployment(age=None), keep=["site", "ill"]).X.columns) == ["site"]


@pytest.mark.parametrize(
    ("ill", "task", "first", "kind"),
    [
        (["yes", "no"] * 20, "classification", "yes", "U"),
        (["True", "False"] * 20, "classification", "True", "U"),
        (["1.0", "2"] * 20, "classification", 1, "i"),
        (MANY, "regression", 0.5, "f"),
        (range(N), "regression", 0.0, "f"),
    ],
)
def test_labels_have_the_type_of_their_task(ill, task, first, kind, pair):
    found = pair(columns(ill=ill))
    assert (found.task, found.y[0], found.y.dtype.kind) == (task, first, kind)


def test_task_that_is_asked_for_decides(pair):
    assert pair(task="regression").y.dtype == np.float64
    found = pair(columns(ill=["0.5", "1.0"] * 20), deployment(ill=["1"] * N), task="classification")
    assert found.y[:2].tolist() == ["0.5", "1.0"]
    assert found.y_target.tolist() == [1.0] * N


def test_without_a_label_what_only_training_has_is_ignored_and_named(pair):
    found = pair(label=None)
    assert (found.y, found.task) == (None, None)
    assert list(found.X.columns) == ["age", "site"]
    assert [(d.name, d.code) for d in found.dropped] == [("ill", "WB138")]
    assert 'train.csv also has "ill", which deploy.csv does not have' in found.notes[0].message


def test_label_in_deployment_is_set_aside(pair):
    found = pair(deploy=deployment(ill=ILL))
    assert found.y_target.tolist() == [0, 1] * 20
    assert "ill" not in found.X_target
    assert [note.code for note in found.notes] == ["WB116"]


def test_label_of_some_deployment_rows_is_a_sample(pair):
    found = pair(deploy=deployment(ill=edit(ILL, at_0="")))
    assert np.isnan(found.y_target[0])
    assert found.y_target[1:].tolist() == ([0, 1] * 20)[1:]
    assert f"on the {N - 1} of {N} rows that have one" in found.notes[0].message
    assert "random sample" in found.notes[0].help


@pytest.mark.parametrize("cells", [[""] * N, SITE, edit(ILL, at_0="inf")])
def test_label_in_deployment_that_cannot_be_compared_is_not_used(cells, pair):
    found = pair(deploy=deployment(ill=cells))
    assert found.y_target is None
    assert "not used" in found.notes[0].message


def test_column_that_is_empty_in_one_file_is_left_out_of_both(pair):
    found = pair(deploy=deployment(site=[""] * N))
    assert list(found.X.columns) == list(found.X_target.columns) == ["age"]
    assert found.notes[0].code == "WB114"
    assert found.notes[0].message == '"site" is empty in deploy.csv; it is left out of both.'
    assert found.dropped[0].to_dict() == {
        "name": "site",
        "code": "WB114",
        "reason": found.notes[0].message,
    }


def test_text_that_is_different_in_every_row_is_left_out(pair):
    notes = [f"patient number {i}" for i in range(N)]
    found = pair(columns(remark=notes), deployment(remark=notes))
    assert list(found.X.columns) == ["age", "site"]
    assert "text with 40 different values in 40 rows" in found.notes[0].message


def test_dates_are_left_out_and_called_dates(pair):
    dates = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(N)]
    found = pair(columns(day=dates), deployment(day=dates[::-1]))
    assert list(found.X.columns) == ["age", "site"]
    assert found.notes[0].message.startswith('"day" holds dates written as text')


def test_extra_columns_of_deployment_are_ignored_and_named(pair):
    found = pair(deploy=deployment(more=AGE, again=AGE))
    assert list(found.X_target.columns) == ["age", "site"]
    assert 'deploy.csv also has "more", "again"' in found.notes[0].message
    assert [(d.name, d.code) for d in found.dropped] == [("more", "WB138"), ("again", "WB138")]


def test_constant_features_stay(pair):
    assert "flat" in pair(columns(flat=[1] * N), deployment(flat=[1] * N)).X


def test_codes_of_few_levels_may_mix_numbers_and_letters(pair):
    """Levels 1, 2, 3 and 3a are a category in both files, although most look like numbers."""
    codes = ["1", "2", "3", "3a"] * 10
    found = pair(columns(code=codes), deployment(code=codes[::-1]))
    assert found.features[2][0].kind == "category"


def test_text_of_a_frame_is_a_category_although_it_looks_like_numbers():
    text = [str(1000 + i % 25) for i in range(100)]
    train = pd.DataFrame({"zip": text, "ill": [0, 1] * 50})
    found = read_pair(train, train[["zip"]][:60], label="ill", option=argument)[2]
    assert found.features[0][0].kind == "category"


def test_samples_of_both_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("train.csv", columns())
    write("deploy.csv", deployment())
    train, deploy, found = read_pair(
        "train.csv", "deploy.csv", label="ill", option=cli_option, max_rows=25, seed=2
    )
    assert (train.sampled, deploy.sampled, deploy.rows) == (25, 25, 40)
    assert len(found.X_target) == 25
