"""Reading a result back, from its own file or from a page that was drawn from it."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from weighbridge._files import SCHEMA
from weighbridge.report._embed import extracted


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
        block = extracted(text)
        if block is None:
            raise ValueError(
                f"Got path={str(path)!r}, but it is neither a result.json nor a report of "
                "weighbridge; give one of the files that weighbridge adapt wrote."
            )
        text = block
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
