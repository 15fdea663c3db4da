"""Answers as cards, the same in a report and in a notebook: a word, its evidence, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from weighbridge._findings.numbers import Estimate

# Questions as people ask them, and the section that holds the evidence.
QUESTIONS = {
    "shift": ("Is there shift?", "shift"),
    "matters": ("Does it matter?", "expect"),
    "overlap": ("Is there overlap?", "overlap"),
    "weighting": ("Does weighting help?", "expect"),
    "expect": ("What to expect?", "expect"),
}
# Sign and spoken word of each state.
_SIGNS = {
    "neutral": ("i", "for your information"),
    "good": ("✓", "good"),
    "caution": ("!", "caution"),
    "stop": ("✕", "stop"),
}
# The role of a word as an answer to its question; what is not here is neutral.
ROLES = {
    ("matters", "no"): "good",
    ("matters", "yes"): "caution",
    ("overlap", "enough"): "good",
    ("overlap", "thin"): "caution",
    ("overlap", "broken"): "stop",
    ("weighting", "helps"): "good",
    ("weighting", "no gain"): "caution",
}
# What reads badly when it is broken over two lines: short intervals and shares.
_KEPT = re.compile(r"(\[[^\[\]]{1,24}\]|\([^()]{1,24} to [^()]{1,12}\)|\d[\d.,]* %)")


# Features named in an answer.
NAMED = 3


@dataclass(frozen=True)
class Card:
    """One answer as it is shown; the role that gives its colour follows from the word."""

    question: str
    word: str
    evidence: str
    advice: str = ""
    role: str = ""

    @property
    def state(self) -> str:
        """The role given, or that of the word as an answer to the question."""
        return self.role or ROLES.get((self.question, self.word), "neutral")

    def html(self, *, linked: bool = False) -> str:
        """Return the card, its question linked to the section that holds the evidence."""
        asked, section = QUESTIONS[self.question]
        sign, spoken = _SIGNS[self.state]
        shown = f'<a href="#{section}">{asked}</a>' if linked else asked
        advice = f'<dd class="wbr-advice">{escape(self.advice)}</dd>\n' if self.advice else ""
        return (
            f'<div class="wbr-card wbr-{self.state}">\n'
            f"<dt>{shown}</dt>\n"
            f'<dd class="wbr-word"><span class="wbr-sign" role="img" aria-label="{spoken}">{sign}'
            f'</span> <span class="wbr-said">{escape(self.word)}</span></dd>\n'
            f'<dd class="wbr-evidence">{unbroken(self.evidence)}</dd>\n{advice}</div>\n'
        )


def interval_text(estimate: Estimate) -> str:
    """Write an AUC or another share with two decimals and its interval."""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def shift_evidence(auc: Estimate, moved: Sequence[str]) -> str:
    """Return how well a classifier tells the files apart, and by which features."""
    told = f"AUC {interval_text(auc)}"
    return f"{told}; most in {', '.join(moved)}" if moved else told


def overlap_evidence(reason: str | None, effective: float, n_rows: int) -> str:
    """Return what is wrong with the overlap, or how many rows the full ratio leaves."""
    return reason or f"full ratio: {effective:,.0f} effective rows of {n_rows:,}"


def cards_html(cards: Iterable[Card], *, linked: bool = False) -> str:
    """Return the cards side by side."""
    inner = "".join(card.html(linked=linked) for card in cards)
    return f'<dl class="wbr-cards">\n{inner}</dl>\n'


def unbroken(words: str) -> str:
    """Return text as HTML that keeps intervals and shares on one line."""
    parts = (escape(part) for part in _KEPT.split(words))
    return "".join(
        f'<span class="wbr-keep">{part}</span>' if place % 2 else part
        for place, part in enumerate(parts)
    )


def notebook_card(
    sentence: str, cards: Iterable[Card], body: str, findings: Iterable[object]
) -> str:
    """Return HTML without script: sentence, cards, what belongs to them as markup, the findings."""
    lines = "".join(f"<li>{escape(str(each))}</li>" for each in findings)
    return (
        f'<div class="wb wb-summary"><style>\n{card_style("summary")}</style>\n'
        f'<p class="wbr-sentence">{escape(sentence)}</p>\n'
        f"{cards_html(cards)}{body}<ul>{lines}</ul></div>"
    )


@cache
def card_style(place: str) -> str:
    """Return the style of cards: on a page, or in the summary that a notebook shows."""
    names = ("cards.css", "summary.css") if place == "summary" else ("cards.css",)
    return "".join(
        files("weighbridge._findings").joinpath(name).read_text(encoding="utf-8") for name in names
    )
