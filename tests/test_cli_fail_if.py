"""Conditions that a pipeline can stop at."""

import click
import pytest

from weighbridge.cli._options import OF_ALL, OF_SHIFT, Condition, failed_conditions


def result(**changes):
    words = {"shift": "slight", "overlap": "enough", "weighting": "helps", "use": "tuned"}
    words |= {name: each for name, each in changes.items() if name in words}
    return {
        "verdict": words,
        "shift": {"word": words["shift"]},
        "overlap": {"word": words["overlap"]},
        "expect": {
            "training": 0.05,
            "candidates": [
                {"name": "none", "error": changes.get("none", {"value": 0.2})},
                {"name": "tuned", "error": changes.get("tuned", {"value": 0.1})},
            ],
        },
        "findings": [{"code": "WB501", "level": "note"}, *changes.get("findings", [])],
    }


@pytest.mark.parametrize(
    ("condition", "changes", "is_true"),
    [
        ("shift", {"shift": "none"}, False),
        ("shift", {"shift": "slight"}, False),
        ("shift", {"shift": "moderate"}, True),
        ("shift", {"shift": "strong"}, True),
        ("shift", {"shift": "almost complete"}, True),
        ("thin-overlap", {}, False),
        ("thin-overlap", {"overlap": "thin"}, True),
        ("thin-overlap", {"overlap": "broken"}, True),
        ("no-gain", {}, False),
        ("no-gain", {"weighting": "no gain"}, True),
        ("no-gain", {"weighting": "unknown"}, True),
        ("error>0.09", {}, True),
        ("error>0.1", {}, False),
        ("error>0.15", {"use": "none"}, True),
        ("error>0.15", {"use": "none", "none": None}, True),  # withheld: nobody knows
        ("error>0.15", {"use": "none", "shift": "none"}, False),  # then training is expected
        ("warnings", {}, False),
        ("warnings", {"findings": [{"code": "WB301", "level": "warning"}]}, True),
    ],
)
def test_a_condition_is_true_of_these_results_and_its_line_names_it(condition, changes, is_true):
    lines = failed_conditions((condition,), result(**changes))
    assert len(lines) == is_true
    assert all(line.startswith(f"--fail-if {condition}: ") for line in lines)


def test_every_condition_that_is_true_is_named():
    found = failed_conditions(("shift", "no-gain", "error>0"), result(shift="strong"))
    assert len(found) == 2


@pytest.mark.parametrize("text", ["error>0.12", "error > 0.12", "error>1e-3", "warnings"])
def test_conditions_are_read(text):
    assert Condition(OF_ALL).convert(text, None, None) == text.replace(" ", "")


@pytest.mark.parametrize("text", ["error", "error>", "error>x", "error>nan", "auc>0.5", "gain", ""])
def test_other_conditions_are_refused_with_those_there_are(text):
    with pytest.raises(click.BadParameter, match="shift, thin-overlap, no-gain, error>NUMBER"):
        Condition(OF_ALL).convert(text, None, None)


def test_without_labels_no_error_can_be_expected():
    with pytest.raises(click.BadParameter, match="is not one of shift"):
        Condition(OF_SHIFT).convert("error>0.1", None, None)
