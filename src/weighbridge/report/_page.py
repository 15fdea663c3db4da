"""The page: one file that needs nothing else, drawn from a result; and its top for notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from weighbridge._files import write_whole
from weighbridge._findings import card_style, cards_html, unbroken
from weighbridge._svg import style_sheet
from weighbridge.report._details import MOST_ROWS, details
from weighbridge.report._figures import expect_figures, page_figures
from weighbridge.report._read import Facts, facts_of
from weighbridge.verdict import PROCEDURE, actual_words, assumption_words, cards, expect_words

if TYPE_CHECKING:
    from jinja2 import Environment

# What a page cannot hold: control characters and halves of surrogate pairs.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

# "<" could end the script or start a comment, the two separators end a line for old scripts, and
# half a surrogate pair cannot be written as UTF-8.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")

# Columns left out that are named at the top; the rest are counted, and listed in the details.
_NAMED = 6
_LEVELS = {"error": 0, "warning": 1, "note": 2}


def render(result: dict[str, Any]) -> str:
    """Draw the page of a result.

    Parameters
    ----------
    result : dict
        What ``weighbridge adapt`` or ``diagnose`` found, as in ``result.json``.

    Returns
    -------
    str
        HTML, the same for the same result; it refers to nothing outside itself.

    Examples
    --------
    >>> from weighbridge.report import render
    >>> result = {
    ...     "schema": "weighbridge/1",
    ...     "command": "diagnose",
    ...     "verdict": {"sentence": "No shift found"},
    ... }
    >>> "<title>No shift found</title>" in render(result)
    True
    """
    script = _packaged("page.js")
    return _drawn(
        "page",
        **_content(facts_of(result)),
        script=script,
        policy=_policy(script),
        embedded=embedded(result),
    )


def write_report(result: dict[str, Any], path: str | PathLike[str]) -> None:
    """Draw the page of a result into a file.

    Parameters
    ----------
    result : dict
        What ``weighbridge adapt`` or ``diagnose`` found, as in ``result.json``.
    path : str or path-like
        The file; it is replaced only when the page is complete.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from weighbridge.report import read_result, write_report
    >>> result = {
    ...     "schema": "weighbridge/1",
    ...     "command": "diagnose",
    ...     "verdict": {"sentence": "No shift found"},
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, pathlib.Path(folder) / "report.html")
    ...     read_result(pathlib.Path(folder) / "report.html")["verdict"]["sentence"]
    'No shift found'
    """
    page = render(result).encode()
    with write_whole(path) as temporary:
        temporary.write_bytes(page)


def summary_html(result: dict[str, Any]) -> str:
    """Draw the top of a result's page, as a piece of HTML for a notebook.

    Parameters
    ----------
    result : dict
        What ``weighbridge adapt`` or ``diagnose`` found, as in ``result.json``.

    Returns
    -------
    str
        HTML without script, below 20 kB, in the colours of the notebook.

    Examples
    --------
    >>> from weighbridge.report import summary_html
    >>> result = {
    ...     "schema": "weighbridge/1",
    ...     "command": "diagnose",
    ...     "verdict": {"sentence": "No shift found"},
    ... }
    >>> "No shift found" in summary_html(result)
    True
    """
    facts = facts_of(result)
    # ids of drawings must differ between the cells of a notebook
    start = f"wb{hashlib.sha256(embedded(result).encode()).hexdigest()[:8]}"
    return _drawn(
        "summary",
        sentence=facts.verdict["sentence"],
        cards=cards_html(cards(facts)),
        assumption=assumption_words(facts) if facts.expect else "",
        words=" ".join(expect_words(facts)) if facts.expect else "",
        figures=expect_figures(facts, start=f"{start}-"),
    )


def embedded(result: dict[str, Any]) -> str:
    """Return a result as JSON that may stand inside a script element, without long tails."""
    kept = dict(result)
    if "timing" in kept:  # the same inputs give the same bytes
        kept["timing"] = {}
    if kept.get("shift"):
        kept["shift"] = _shortened(kept["shift"])
    text = json.dumps(kept, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _shortened(shift: dict[str, Any]) -> dict[str, Any]:
    found = dict(shift)
    for name in ("attribution", "features"):  # sorted already
        if found.get(name):
            found[name] = found[name][:MOST_ROWS]
    rows = (found.get("balance") or {}).get("rows") or []
    if len(rows) > MOST_ROWS:
        largest = sorted(rows, key=lambda row: -abs(row["before"] or 0.0))
        found["balance"] = {**found["balance"], "rows": largest[:MOST_ROWS]}
    return found


@cache
def environment() -> Environment:
    """Return the templates of this package, with everything from the data escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "Got no jinja2, but reports are drawn with it; "
            'install it with pip install "weighbridge[cli]".'
        ) from error
    found = Environment(
        loader=PackageLoader("weighbridge.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["unbroken"] = lambda words: Markup(unbroken(words))
    return found


def _drawn(name: str, **content: Any) -> str:
    """Fill in a template, and replace characters that no page can hold."""
    own = "" if name == "summary" else _packaged(f"{name}.css")
    style = style_sheet() + card_style(name) + own
    page = environment().get_template(f"{name}.html.j2").render(**content, style=style)
    return _FORBIDDEN.sub("\ufffd", page)


@cache
def _packaged(name: str) -> str:
    """Return a text file of this package."""
    return files("weighbridge.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Return the security policy: nothing is loaded, and no script runs but our own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _content(facts: Facts) -> dict[str, Any]:
    """Return everything the template needs."""
    return {
        "sentence": facts.verdict["sentence"],
        "version": facts.result.get("version", ""),
        "date": (facts.result.get("date") or "")[:10],
        "head": _head(facts),
        "cards": cards_html(cards(facts), linked=True),
        "dropped": _dropped(facts),
        "n_more_dropped": max(0, len(facts.inputs.get("dropped") or []) - _NAMED),
        "assumption": assumption_words(facts) if facts.expect else "",
        **page_figures(facts),
        "n_findings": len(facts.findings),
        "findings": _findings(facts),
        "procedure": f"{PROCEDURE[0].upper()}{PROCEDURE[1:]}.",
        "actual": actual_words(facts) if facts.actual else "",
        **details(facts),
    }


def _head(facts: Facts) -> dict[str, Any]:
    def side(name: str) -> dict[str, str]:
        found = facts.inputs.get(name) or {}
        rows, used = found.get("rows"), found.get("sampled")
        counted = "" if rows is None else f"{rows:,}"
        if used is not None and used != rows:
            counted = f"{used:,} of {rows:,}"
        return {"file": str(found.get("file") or name), "rows": counted}

    return {"train": side("train"), "deploy": side("deploy"), "label": facts.inputs.get("label")}


def _dropped(facts: Facts) -> list[dict[str, Any]]:
    """Return the columns left out that are named, by the finding that says why."""
    by_code: dict[str, list[str]] = {}
    for each in (facts.inputs.get("dropped") or [])[:_NAMED]:
        by_code.setdefault(each["code"], []).append(each["name"])
    return [
        {"code": code, "names": names, "is_explained": facts.finding(code) is not None}
        for code, names in by_code.items()
    ]


def _findings(facts: Facts) -> list[dict[str, Any]]:
    """Return the findings, the gravest first, each with a unique id."""
    seen: dict[str, int] = {}
    found = []
    for each in sorted(facts.findings, key=lambda finding: _LEVELS.get(finding["level"], 3)):
        code = each["code"]
        seen[code] = seen.get(code, 0) + 1
        found.append({**each, "id": code if seen[code] == 1 else f"{code}-{seen[code]}"})
    return found
