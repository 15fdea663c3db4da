"""What a page needs to know of a result, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weighbridge._findings import Estimate, Numbers

# AUC of a feature that tells the files apart by itself, and how many such are named.
_TELLING = 0.52
_NAMED = 3
# Commands whose results have a page.
_DRAWN = ("adapt", "demo", "diagnose")


@dataclass(frozen=True)
class Facts:
    """A result, with names for what is asked of it more than once."""

    result: dict[str, Any]

    @property
    def verdict(self) -> dict[str, Any]:
        """The sentence and the words."""
        return dict(self.result["verdict"])

    @cached_property
    def answers(self) -> dict[str, dict[str, Any]]:
        """The answers by their question."""
        return {each["question"]: each for each in self.result.get("answers") or []}

    @property
    def inputs(self) -> dict[str, Any]:
        """What was read."""
        return self.result.get("inputs") or {}

    @property
    def settings(self) -> dict[str, Any]:
        """What was asked for."""
        return self.result.get("settings") or {}

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What to know."""
        return self.result.get("findings") or []

    @property
    def shift(self) -> dict[str, Any]:
        """How and where the files differ."""
        return self.result.get("shift") or {}

    @property
    def overlap(self) -> dict[str, Any]:
        """What the training rows are worth."""
        return self.result.get("overlap") or {}

    @property
    def expect(self) -> dict[str, Any]:
        """Expected errors; empty where there was no label."""
        return self.result.get("expect") or {}

    @property
    def pictures(self) -> dict[str, Any]:
        """The long arrays; empty in a short result."""
        return self.result.get("pictures") or {}

    @property
    def use(self) -> str | None:
        """The weighting of the model that was kept."""
        return self.verdict.get("use")

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The weightings that were compared."""
        return self.expect.get("candidates") or []

    @property
    def used(self) -> dict[str, Any] | None:
        """The candidate of the model that was kept."""
        return self.candidate(self.use)

    @cached_property
    def shown(self) -> str | None:
        """The weighting whose weights are drawn: the one used, else what could have been."""
        drawn = self.drawn
        if self.use in drawn:
            return self.use
        return next((name for name in drawn if not self.is_none(name)), next(iter(drawn), None))

    @property
    def drawn(self) -> list[str]:
        """The weightings that the pictures know, those of the reader's own choice first."""
        names = list(self.pictures.get("weights") or {})
        return sorted(names, key=lambda name: name not in ("tuned", "given"))

    def is_none(self, name: str) -> bool:
        """Whether a weighting turned out to be none at all."""
        candidate = self.candidate(name) or {}
        return candidate.get("lam") == 0 and len(candidate.get("mixture") or []) < 2

    @property
    def is_withheld(self) -> bool:
        """Whether no figure is given because the files hardly overlap."""
        return bool(self.expect.get("withheld"))

    @cached_property
    def numbers(self) -> Numbers:
        """How errors and changes are written; only where something was expected."""
        none = self.candidate("none") or {}
        error = none.get("error")
        typical = self.expect.get("training") if error is None else error["value"]
        return Numbers(self.expect["measure"], 0.0 if typical is None else typical)

    @property
    def confidence(self) -> str:
        """The confidence of the intervals."""
        value = self.expect.get("confidence", self.settings.get("confidence", 0.95))
        return f"{100 * value:g} %"

    @property
    def moved(self) -> list[dict[str, Any]]:
        """The features that tell the files apart by themselves, the most telling first."""
        telling = [each for each in self.shift.get("attribution") or [] if each["alone"] > _TELLING]
        return sorted(telling, key=lambda each: -each["alone"])[:_NAMED]

    def candidate(self, name: str | None) -> dict[str, Any] | None:
        """Return a candidate by name."""
        return next((each for each in self.candidates if each["name"] == name), None)

    @property
    def mixture(self) -> list[list[float]]:
        """What the tuned model is an average of: lam, alpha and share of each part."""
        return (self.candidate("tuned") or {}).get("mixture") or []

    def finding(self, code: str) -> dict[str, Any] | None:
        """Return the first finding of a code."""
        return next((each for each in self.findings if each["code"] == code), None)


def facts_of(result: dict[str, Any]) -> Facts:
    """Check that a result has a page, and name what is in it."""
    command, failed = result.get("command"), result.get("failure")
    if command not in _DRAWN:
        raise ValueError(
            f"Got a result of command={command!r}, but only {', '.join(_DRAWN)} have a page; run "
            "weighbridge adapt or diagnose on the two files."
        )
    if failed or not result.get("verdict"):
        raise ValueError(
            "Got a result without a verdict, but a page needs one; the run failed, so mend what it "
            "said and run the command again."
        )
    return Facts(result)


def estimate(numbers: dict[str, float]) -> Estimate:
    """Return a number with its interval as it was before it became JSON."""
    return Estimate(numbers["value"], math.nan, numbers["low"], numbers["high"])
