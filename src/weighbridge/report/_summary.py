"""The top of a page for notebooks: the sentence, five answers and the two charts of errors."""

from __future__ import annotations

import hashlib
from typing import Any

from weighbridge._svg._chart import style_sheet
from weighbridge.report._cards import cards
from weighbridge.report._embed import embedded
from weighbridge.report._facts import facts_of
from weighbridge.report._figures import expect_figures
from weighbridge.report._render import cleaned, environment, packaged
from weighbridge.report._words import expect_words


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
    piece = (
        environment()
        .get_template("summary.html.j2")
        .render(
            style=_style(),
            sentence=facts.verdict["sentence"],
            cards=cards(facts),
            words=" ".join(expect_words(facts)) if facts.expect else "",
            figures=expect_figures(facts, start=f"{start}-"),
        )
    )
    return cleaned(piece)


def _style() -> str:
    """Return the rules that the forest charts and the cards need."""
    return style_sheet() + packaged("cards.css") + packaged("summary.css")
