"""Reading a result: from its own file or from a page drawn from it, and what is in it by name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from weighbridge._files import SCHEMA
from weighbridge._findings import Estimate, Numbers
from weighbridge.pictures import FeatureDifference, Forest, Pictures, read_forest

_BLOCK = re.compile(r'<script type="application/json" id="result">(.*?)</script>', re.DOTALL)
# AUC of a feature that tells the files apart by itself, and how many such are named.
_TELLING = 0.52
_NAMED = 3
# Commands whose results have a page.
_DRAWN = ("adapt", "demo", "diagnose")


def read_result(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a result from ``result.json``, or from a ``report.html`` that holds it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        The result. One that comes from a page has no timing: pages do not keep it.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from weighbridge.report import read_result
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "result.json"
    ...     _ = file.write_text(json.dumps({"schema": "weighbridge/1", "command": "diagnose"}))
    ...     read_result(file)["command"]
    'diagnose'
    """
    text = _text(path)
    if not text.lstrip().startswith("{"):
        block = _BLOCK.search(text)
        if block is None:
            raise ValueError(
                f"Got path={str(path)!r}, but it is neither a result.json nor a report of "
                "weighbridge; give one of the files that weighbridge adapt wrote."
            )
        text = block[1]
    return _checked(_parsed(text, path), path)


def _text(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Got path={str(path)!r}, but it is not UTF-8 text (byte {error.start}); give a "
            "result.json or report.html as weighbridge adapt wrote it."
        ) from error


def _parsed(text: str, path: str | PathLike[str]) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"Got path={str(path)!r}, but its JSON breaks off or is damaged at line "
            f"{error.lineno}, column {error.colno}; run weighbridge adapt again to write it anew."
        ) from error


def _checked(result: Any, path: str | PathLike[str]) -> dict[str, Any]:
    schema = result.get("schema") if isinstance(result, dict) else None
    if schema != SCHEMA:
        raise ValueError(
            f"Got path={str(path)!r}, but its schema is {schema!r} and this version reads "
            f"{SCHEMA!r}; use the version of weighbridge that wrote it, or run adapt again."
        )
    assert isinstance(result, dict)
    return result


class Facts:
    """A result, with names for what is asked of it more than once; what is not there is empty."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result
        self.verdict: dict[str, Any] = result["verdict"]
        self.use: str | None = self.verdict.get("use")
        self.answers = {each["question"]: each for each in result.get("answers") or []}
        self.findings: list[dict[str, Any]] = result.get("findings") or []
        self.inputs: dict[str, Any] = result.get("inputs") or {}
        self.settings: dict[str, Any] = result.get("settings") or {}
        self.shift: dict[str, Any] = result.get("shift") or {}
        self.overlap: dict[str, Any] = result.get("overlap") or {}
        self.expect: dict[str, Any] = result.get("expect") or {}
        self.candidates: list[dict[str, Any]] = self.expect.get("candidates") or []

    @cached_property
    def pictures(self) -> Pictures:
        """The numbers of the pictures, without any in a short result."""
        return Pictures.from_dict(self.result.get("pictures") or {})

    @cached_property
    def forest(self) -> Forest:
        """Expected errors of the weightings; only where something was expected."""
        return read_forest(self.expect, self.use)

    @cached_property
    def balance(self) -> Sequence[FeatureDifference]:
        """The differences of means, the largest first; those of the report without pictures."""
        if self.pictures.balance:
            return self.pictures.balance
        used = self.use if self.use not in (None, "none") else "full"
        plain = (self.shift.get("balance") or {}).get("rows") or []
        rows = sorted(plain, key=lambda row: -abs(row["before"] or 0.0))
        return [
            FeatureDifference.from_dict({**row, "after": {used: row.get("after")}}) for row in rows
        ]

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
        return sorted(self.pictures.weights, key=lambda name: name not in ("tuned", "given"))

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
        losses, changes = (
            [None if each[part] is None else estimate(each[part]) for each in self.candidates]
            for part in ("error", "change")
        )
        return Numbers(self.expect["measure"], typical or 0.0, losses, changes)

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
