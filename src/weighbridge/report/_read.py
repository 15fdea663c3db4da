"""Reading a result: from its file or from a page drawn from it, and what is in it by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from weighbridge._files import SCHEMA
from weighbridge.pictures import FeatureDifference, Forest, Pictures, read_forest
from weighbridge.verdict import StoredResult

_BLOCK = re.compile(r'<script type="application/json" id="result">(.*?)</script>', re.DOTALL)
# A larger file is no result: those with a thousand features have a few MB.
_MOST_BYTES = 16 << 20
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
    wrong = f"Got path={str(path)!r}, but"
    remedy = "give a result.json or report.html as weighbridge adapt wrote it."
    if Path(path).stat().st_size > _MOST_BYTES:
        raise ValueError(f"{wrong} it is larger than any result ({_MOST_BYTES >> 20} MB); {remedy}")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        if not text.lstrip().startswith("{"):
            text = "".join(_BLOCK.findall(text)[:1])
        if not text:
            raise ValueError(f"{wrong} it is neither a result.json nor a report; {remedy}")
        result = json.loads(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{wrong} it is not UTF-8 text (byte {error.start}); {remedy}") from error
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno}, column {error.colno}"
        raise ValueError(f"{wrong} its JSON breaks off or is damaged {where}; {remedy}") from error
    except RecursionError as error:
        raise ValueError(f"{wrong} its JSON is nested too deeply; {remedy}") from error
    schema = result.get("schema") if isinstance(result, dict) else None
    if not isinstance(result, dict) or schema != SCHEMA:
        raise ValueError(
            f"{wrong} its schema is {schema!r} and this version reads {SCHEMA!r}; use the version "
            "of weighbridge that wrote it, or run adapt again."
        )
    return result


class Facts(StoredResult):
    """A result by name, with the numbers of its pictures."""

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

    @cached_property
    def shown(self) -> str | None:
        """The weighting whose weights are drawn: the one used, else what could have been."""
        drawn = self.drawn
        if self.use in drawn:
            return self.use
        return next((name for name in drawn if not self.is_none(name)), next(iter(drawn), None))

    @property
    def drawn(self) -> list[str]:
        """The weightings that the pictures know, those that were tuned or given first."""
        return sorted(self.pictures.weights, key=lambda name: name not in ("tuned", "given"))


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
            "Got a result without a verdict, but a page needs one; the run failed, so fix what it "
            "said and run the command again."
        )
    return Facts(result)
