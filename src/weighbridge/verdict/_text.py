"""A verdict at the terminal and in a notebook."""

from __future__ import annotations

from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from weighbridge.diagnostics import notebook_card

if TYPE_CHECKING:
    from weighbridge.verdict._verdict import Candidate, Verdict

_DASH = "–"


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict in at most 80 columns: sentence, answers, candidates, findings."""
    lines = [verdict.sentence, ""]
    width = max(len(each.word) for each in verdict.answers) + 2
    for each in verdict.answers:
        evidence = fill(each.evidence, 78 - 13 - width).split("\n") if each.evidence else [""]
        lines.append(
            f"  {each.question.capitalize():<11}{each.word:<{width}}{evidence[0]}".rstrip()
        )
        lines += [" " * (13 + width) + line for line in evidence[1:]]
    if len(verdict.candidates) > 1:
        lines += ["", *_table(verdict)]
    for finding in verdict.findings:
        lines += ["", fill(str(finding), 78, initial_indent="  ", subsequent_indent="    ")]
    return "\n".join(lines)


def _table(verdict: Verdict) -> list[str]:
    rows = [_cells(each, verdict) for each in verdict.candidates]
    heads = (
        "weighting",
        "lam",
        "alpha",
        verdict.measure,
        f"{100 * verdict.confidence:g} %",
        "change",
        f"{100 * verdict.confidence:g} %",
        "worth",
    )
    widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        first, *rest = row
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  " + "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return lines


def _cells(candidate: Candidate, verdict: Verdict) -> tuple[str, ...]:
    risk, change, numbers = candidate.risk.estimate, candidate.change, verdict.numbers
    mark = " *" if candidate.name == verdict.use else ""
    mixed = len(candidate.mixture) > 1
    lam = "mix" if mixed else f"{candidate.lam:.2f}"
    alpha = _DASH if mixed or candidate.alpha is None else f"{candidate.alpha:.2f}"
    shown = ("withheld", "") if risk is None else (numbers.value(risk.value), numbers.span(risk))
    paired = (_DASH, "")
    if change is not None:
        paired = (numbers.change(change.value), numbers.change_span(change))
    return (candidate.name + mark, lam, alpha, *shown, *paired, f"{candidate.worth:,.0f}")


def verdict_html(verdict: Verdict) -> str:
    """Return a small piece of HTML without script: the sentence, five answers, the comparison."""
    cards = "".join(
        f"<tr><th style='text-align:left'>{escape(each.question.capitalize())}</th>"
        f"<td><b>{escape(each.word)}</b></td><td style='text-align:left'>{escape(each.evidence)}"
        f"<br><i>{escape(each.advice)}</i></td></tr>"
        for each in verdict.answers
    )
    table = escape("\n".join(_table(verdict))) if len(verdict.candidates) > 1 else ""
    body = f"<table>{cards}</table><pre>{table}</pre>"
    return notebook_card(verdict.sentence, body, verdict.findings)
