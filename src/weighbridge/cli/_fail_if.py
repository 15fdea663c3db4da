"""Conditions that a pipeline can stop at."""

from __future__ import annotations

import math
from typing import Any

import click

# Conditions, and what they need: labels, or the two files alone.
OF_SHIFT = ("shift", "thin-overlap", "warnings")
OF_ALL = ("shift", "thin-overlap", "no-gain", "error>NUMBER", "warnings")
_MODERATE_OR_MORE = ("moderate", "strong", "almost complete")


class Condition(click.ParamType):
    """One condition of ``--fail-if``.

    Parameters
    ----------
    known : tuple of str
        The conditions that the command can check.
    """

    name = "condition"

    def __init__(self, known: tuple[str, ...]):
        self.known = known

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the condition, or say which there are."""
        text = str(value).replace(" ", "")
        name, sign, number = text.partition(">")
        form = f"{name}>NUMBER" if sign and _is_number(number) else name + sign
        if form not in self.known:
            self.fail(f"{value!r} is not one of {', '.join(self.known)}.", param, ctx)
        return text


def failed_conditions(conditions: tuple[str, ...], result: dict[str, Any]) -> list[str]:
    """Return the conditions that are true of a result, each with the evidence.

    Parameters
    ----------
    conditions : tuple of str
        As `Condition` returns them.
    result : dict
        The result, as its JSON is.

    Returns
    -------
    list of str
        One line each. What is withheld counts as true: nobody knows that it is well.
    """
    lines = []
    for condition in conditions:
        evidence = _evidence(condition, result)
        if evidence is not None:
            lines.append(f"--fail-if {condition}: {evidence}")
    return lines


def _evidence(condition: str, result: dict[str, Any]) -> str | None:
    """Return why a condition is true, or None where it is not."""
    if condition == "shift":
        word = result["shift"]["word"]
        return f"shift is {word}" if word in _MODERATE_OR_MORE else None
    if condition == "thin-overlap":
        word = result["overlap"]["word"]
        return f"overlap is {word}" if word != "enough" else None
    if condition == "no-gain":
        word = result["verdict"]["weighting"]
        return f"weighting: {word}" if word != "helps" else None
    if condition == "warnings":
        codes = [each["code"] for each in result["findings"] if each["level"] != "note"]
        return ", ".join(codes) or None
    return _too_large(float(condition.partition(">")[2]), result)


def _too_large(limit: float, result: dict[str, Any]) -> str | None:
    verdict = result["verdict"]
    if verdict["shift"] == "none":  # what is expected then is the error in training
        value = result["expect"]["training"]
        return f"expected {value:.4g}" if value > limit else None
    candidates = {each["name"]: each for each in result["expect"]["candidates"]}
    error = candidates[verdict["use"]]["error"]
    if error is None:
        return "the expected error is withheld"
    return f"expected {error['value']:.4g}" if error["value"] > limit else None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
