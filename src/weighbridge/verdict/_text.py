"""A verdict at the terminal and in a notebook."""

from __future__ import annotations

from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from weighbridge.diagnostics import notebook_card

if TYPE_CHECKING:
    from weighbridge.verdict._verdict import Answer, Candidate, Verdict

_DASH = "–"
# The role of a word as an answer to its question; what is not here is neutral.
_ROLES = {
    ("matters", "no"): "good",
    ("matters", "yes"): "caution",
    ("matters", "unknown"): "stop",
    ("overlap", "enough"): "good",
    ("overlap", "thin"): "caution",
    ("overlap", "broken"): "stop",
    ("weighting", "helps"): "good",
    ("weighting", "no gain"): "caution",
    ("weighting", "unknown"): "stop",
    ("expect", "unknown"): "stop",
}


class AnswerParts(NamedTuple):
    """One answer in at most 80 columns, around the word that a screen may colour."""

    before: str
    word: str
    after: str
    role: str | None  # good, caution, stop


class VerdictParts(NamedTuple):
    """The text of a verdict in parts; the comparison is empty where nothing was compared."""

    sentence: str
    answers: list[AnswerParts]
    comparison: str


def verdict_parts(verdict: Verdict) -> VerdictParts:
    """Return the sentence, the five answers and the comparison."""
    width = max(len(each.word) for each in verdict.answers) + 2
    table = _table(verdict) if len(verdict.candidates) > 1 else []
    answers = [_answer_parts(each, width) for each in verdict.answers]
    return VerdictParts(verdict.sentence, answers, "\n".join(table))


def _answer_parts(answer: Answer, width: int) -> AnswerParts:
    evidence = fill(answer.evidence, 78 - 13 - width) if answer.evidence else ""
    after = " " * (width - len(answer.word)) + evidence.replace("\n", "\n" + " " * (13 + width))
    role = _ROLES.get((answer.question, answer.word))
    return AnswerParts(f"  {answer.question.capitalize():<11}", answer.word, after.rstrip(), role)


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict in at most 80 columns: sentence, answers, candidates, findings."""
    parts = verdict_parts(verdict)
    answers = "\n".join(f"{each.before}{each.word}{each.after}" for each in parts.answers)
    findings = [
        fill(str(finding), 78, initial_indent="  ", subsequent_indent="    ")
        for finding in verdict.findings
    ]
    blocks = [parts.sentence, answers, *([parts.comparison] if parts.comparison else []), *findings]
    return "\n\n".join(blocks)


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
    own = candidate.literature.partition("(")[0]
    lam = "mix" if mixed else own if candidate.lam is None else f"{candidate.lam:.2f}"
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
    body = f"<table>{cards}</table><pre>{escape(verdict_parts(verdict).comparison)}</pre>"
    return notebook_card(verdict.sentence, body, verdict.findings)
