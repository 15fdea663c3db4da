"""The JSON Schema of results: what every command promises, and what it refuses."""

import copy
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from weighbridge import adapt
from weighbridge.datasets import make_clinic

SCHEMA = json.loads((files("weighbridge.adaptation") / "result.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def _problems(result):
    # through text, as other programs get it; NaN and infinity do not pass
    result = json.loads(json.dumps(result, allow_nan=False))
    return [
        f"{list(error.absolute_path)}: {error.message}" for error in VALIDATOR.iter_errors(result)
    ]


def _failed():
    finding = {"code": "WB105", "level": "error", "message": "no column.", "help": "--label y"}
    empty = ("inputs", "settings", "versions", "date", "verdict", "answers", "shift", "overlap")
    return {
        "schema": "weighbridge/1",
        "version": "0.1.0",
        "command": "adapt",
        **dict.fromkeys([*empty, "expect"]),
        "findings": [finding],
        "files": {},
        "timing": {"read": 0.1},
        "failure": {"exit_code": 2, "stage": "read", "findings": [finding]},
    }


@pytest.fixture(scope="module")
def clinic():
    data = make_clinic(300, 150, random_state=0)
    columns = ["age", "sys_bp", "bmi", "site"]
    return data.X[columns].assign(readmitted=data.y), data.X_target[columns], data


@pytest.fixture(scope="module")
def full(clinic):
    return adapt(*clinic[:2], label="readmitted").to_dict()


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_result_keeps_the_schema_with_and_without_its_long_arrays(full):
    assert _problems(full) == []
    assert _problems({key: part for key, part in full.items() if key != "pictures"}) == []


@pytest.mark.more
def test_labels_in_deployment_and_several_models_keep_the_schema(clinic):
    train, deploy, data = clinic
    labelled = deploy.assign(readmitted=data.y_target)
    result = adapt(train, labelled, label="readmitted", model=["linear", "svm"], lam=0.8, alpha=3.0)
    assert _problems(result.to_dict()) == []


@pytest.mark.more
def test_regression_keeps_the_schema(clinic):
    train, deploy, _ = clinic
    result = adapt(
        train.drop(columns="readmitted"), deploy.drop(columns="sys_bp"), label="sys_bp"
    ).to_dict()
    assert result["inputs"]["task"] == "regression"
    assert _problems(result) == []


@pytest.mark.more
def test_withheld_figures_are_null_and_keep_the_schema(clinic):
    train, deploy, _ = clinic
    result = adapt(train, deploy.assign(age=deploy["age"] + 200), label="readmitted").to_dict()
    assert _problems(result) == []
    assert result["expect"]["withheld"] == "WB302"
    assert all(each["error"] is None for each in result["expect"]["candidates"])


def test_a_failure_keeps_the_schema():
    assert _problems(_failed()) == []
    assert _problems({**_failed(), "command": None}) == []
    assert _problems({**_failed(), "command": "adpat"}) == []


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_no_key_may_be_missing(full, key):
    assert _problems({name: part for name, part in full.items() if name != key})
    assert _problems({name: part for name, part in _failed().items() if name != key})


def test_new_keys_may_appear(full):
    more = copy.deepcopy(full) | {"colour": "blue"}
    more["verdict"]["mood"] = more["expect"]["candidates"][0]["mood"] = "good"
    assert _problems(more) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "weighbridge/2"),
        (("command",), "dance"),
        (("verdict",), None),
        (("verdict", "shift"), "huge"),
        (("answers",), []),
        (("expect",), None),
        (("expect", "candidates", 0, "error"), {"value": 0.1}),
        (("expect", "candidates", 0, "worth"), "400"),
        (("expect", "candidates", 0, "state"), "fine"),
        (("expect", "withheld"), "because"),
        (("findings",), [{"code": "WB1", "level": "note", "message": "", "help": ""}]),
        (("inputs", "train", "sha256"), "abc"),
        (("settings", "seed"), ...),
        (("timing", "read"), -1),
        (("pictures", "bridge"), ...),
        (("failure",), {"exit_code": 2, "stage": None, "findings": []}),
    ],
)
def test_what_a_result_must_not_be(full, path, value):
    """A value of the wrong kind is refused, and so is a part that is missing (...)."""
    changed = copy.deepcopy(full)
    *way, last = path
    part = changed
    for step in way:
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    assert _problems(changed)


def test_a_failure_has_no_verdict(full):
    assert _problems({**_failed(), "verdict": full["verdict"]})


def test_no_number_is_nan(full):
    def numbers(part):
        if isinstance(part, dict | list):
            for each in part.values() if isinstance(part, dict) else part:
                yield from numbers(each)
        elif isinstance(part, float):
            yield part

    assert np.isfinite(list(numbers(full))).all()
