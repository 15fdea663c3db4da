"""The page: one file that needs nothing else, drawn from a result."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from weighbridge._files import write_whole
from weighbridge._svg._chart import style_sheet
from weighbridge.report._embed import embedded
from weighbridge.report._facts import facts_of
from weighbridge.report._page import page_content

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# What a page cannot hold: control characters and halves of surrogate pairs.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

# What reads badly when it is broken over two lines: short intervals and shares.
_KEPT = re.compile(r"(\[[^\[\]]{1,24}\]|\([^()]{1,24} to [^()]{1,12}\)|\d[\d.,]* %)")


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
    content = page_content(facts_of(result))
    script = packaged("page.js")
    page = (
        environment()
        .get_template("page.html.j2")
        .render(
            **content,
            style=style_sheet() + packaged("cards.css") + packaged("page.css"),
            script=script,
            policy=_policy(script),
            embedded=embedded(result),
        )
    )
    return cleaned(page)


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


@cache
def environment() -> Environment:
    """Return the templates of this package, with everything from the data escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
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
    found.filters["unbroken"] = _unbroken
    return found


def _unbroken(words: str) -> Markup:
    """Keep intervals and shares on one line, and escape everything."""
    from markupsafe import Markup, escape

    parts = _KEPT.split(words)
    kept = Markup('<span class="wbr-keep">{}</span>')
    return Markup("").join(
        kept.format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def cleaned(page: str) -> str:
    """Replace characters that no page can hold."""
    return _FORBIDDEN.sub("\ufffd", page)


@cache
def packaged(name: str) -> str:
    """Return a text file of this package."""
    return files("weighbridge.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Return the security policy: nothing is loaded, and no script runs but our own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
