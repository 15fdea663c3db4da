"""Losses and changes of a forest in numbers, sentences and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weighbridge._findings import UNKNOWN, Numbers, number
from weighbridge._svg._chart import Table


@dataclass(frozen=True)
class Row:
    """One weighting of a forest: an estimate with its interval, or words instead of it."""

    name: str
    estimate: Mapping[str, float] | None
    instead: str
    rough: bool
    used: bool
    actual: float | None = None


class Writer(Numbers):
    """Writes losses and changes as the verdict does, shorter where they are huge or tiny."""

    def __init__(self, expect: Mapping[str, Any]):
        known = [each["error"]["value"] for each in expect["candidates"] if each["error"]]
        typical = known[0] if known else expect.get("training") or 0.0
        super().__init__(expect["measure"], typical)
        # so many zeros would leave no room for the picture
        largest = max((abs(value) for value in known), default=typical)
        self.is_extreme = not (largest < 1e8 and (largest >= 1e-5 or largest == 0))

    def plain(self, value: float) -> str:
        """Write a loss without its unit."""
        return number(self.factor * value) if self.is_extreme else super().plain(value)

    def change(self, value: float) -> str:
        """Write a change with its sign."""
        if self.is_extreme:
            return ("+" if value > 0 else "") + number(self.factor * value)
        return super().change(value)

    def said(self, value: float) -> str:
        """Write a loss in a sentence."""
        return f"{self.plain(value)} percent" if self.is_share else self.plain(value)


def describe_errors(rows: Sequence[Row], writer: Writer, code: str | None) -> str:
    """Say what the weighting to use is expected to lose, and what none does."""
    main = _main(rows)
    if main is None:
        return f"The expected {writer.loss} is withheld{f' ({code})' if code else ''}."
    name, estimate = main
    said = f"{_capital(name)} {writer.said(estimate['value'])}"
    for row in rows:
        if row.name == "none" != name and row.estimate:
            return f"{said}, none {writer.said(row.estimate['value'])}."
    low, high = (writer.plain(estimate[end]) for end in ("low", "high"))
    return f"{said}, interval {low} to {high}."


def describe_changes(rows: Sequence[Row], writer: Writer, instead: str) -> str:
    """Say how the weighting to use changes the loss."""
    main = _main(rows)
    if main is None:
        return f"Change against none: {instead}."
    name, estimate = main
    value, low, high = (writer.change(estimate[end]) for end in ("value", "low", "high"))
    return f"{_capital(name)} {value}{writer.unit}, interval {low} to {high}."


def _main(rows: Sequence[Row]) -> tuple[str, Mapping[str, float]] | None:
    """Return the weighting to speak of: the one to use, or the last with a number."""
    known = [(row.used, row.name, row.estimate) for row in rows if row.estimate]
    if not known:
        return None
    _, name, estimate = next((each for each in known if each[0]), known[-1])
    return name, estimate


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def error_table(expect: Mapping[str, Any], writer: Writer, confidence: str) -> Table:
    """Return both panels in numbers."""
    heads = ("weighting", writer.loss, confidence, "change", confidence)
    rows = []
    for each in expect["candidates"]:
        error, change = each["error"], each.get("change")
        written = [each["name"], UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
        if error:
            written[1] = writer.value(error["value"])
            written[2] = f"{writer.plain(error['low'])} to {writer.plain(error['high'])}"
        if change:
            written[3] = writer.change(change["value"])
            written[4] = f"{writer.change(change['low'])} to {writer.change(change['high'])}"
        rows.append(tuple(written))
    return heads, tuple(rows)
