"""Five questions, five cards: the answer in a word, its sign, and where to read more."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.report._facts import Facts

# Questions as people ask them, and the section that holds the evidence.
_QUESTIONS = {
    "shift": ("Is there shift?", "shift"),
    "matters": ("Does it matter?", "expect"),
    "overlap": ("Is there overlap?", "overlap"),
    "weighting": ("Does weighting help?", "expect"),
    "expect": ("What to expect?", "expect"),
}
_GOOD = {"matters": "no", "overlap": "enough", "weighting": "helps"}
_CAUTION = {"matters": "yes", "overlap": "thin", "weighting": "no gain"}
# Sign and spoken word of each state.
_SIGNS = {
    "neutral": ("i", "for your information"),
    "good": ("✓", "good"),
    "caution": ("!", "caution"),
    "stop": ("✕", "stop"),
}


@dataclass(frozen=True)
class Card:
    """One answer as it is shown."""

    question: str
    word: str
    evidence: str
    advice: str
    state: str
    href: str

    @property
    def sign(self) -> str:
        """The sign of the state, which never stands without the word."""
        return _SIGNS[self.state][0]

    @property
    def spoken(self) -> str:
        """What a screen reader says for the sign."""
        return _SIGNS[self.state][1]


def cards(facts: Facts) -> list[Card]:
    """Return the cards of the questions that were answered, in their order."""
    found = []
    answers = facts.answers or _without_label(facts)
    for question, (asked, section) in _QUESTIONS.items():
        answer = answers.get(question)
        if answer is not None:
            word, evidence, advice = (answer[part] or "" for part in ("word", "evidence", "advice"))
            state = _state(question, word, facts)
            found.append(Card(asked, word, evidence, advice, state, f"#{section}"))
    return found


def _without_label(facts: Facts) -> dict[str, dict[str, str]]:
    """Return the two answers of a diagnosis, which stores words and numbers only."""
    found, auc, overlap = {}, facts.shift.get("auc"), facts.overlap
    if auc is not None:
        evidence = f"AUC {auc['value']:.2f} [{auc['low']:.2f}, {auc['high']:.2f}]"
        moved = [each["name"] for each in facts.moved]
        if moved and facts.shift["word"] != "none":
            evidence += f"; most in {', '.join(moved)}"
        found["shift"] = {"word": facts.shift["word"], "evidence": evidence, "advice": ""}
    if overlap:
        worth = f"full ratio worth {overlap['worth_full']:,.0f} of {overlap['n_source']:,} rows"
        evidence = overlap.get("reason") or worth
        found["overlap"] = {"word": overlap["word"], "evidence": evidence, "advice": ""}
    return found


def _state(question: str, word: str, facts: Facts) -> str:
    if word in ("broken", "unknown"):
        return "stop"
    if question == "expect":
        used = facts.used or {}
        return "caution" if used.get("state") == "flagged" and not _no_shift(facts) else "neutral"
    if question == "weighting" and _no_shift(facts):
        return "neutral"  # there was nothing to gain, so that no gain is no disappointment
    if word == _GOOD.get(question):
        return "good"
    return "caution" if word == _CAUTION.get(question) else "neutral"


def _no_shift(facts: Facts) -> bool:
    return facts.shift.get("word") == "none"
