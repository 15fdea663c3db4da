"""What a verdict says: its words, the line at the top, five answers with advice, and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from weighbridge._findings import (
    NAMED,
    ROLES,
    Estimate,
    Finding,
    Numbers,
    Record,
    number,
    overlap_evidence,
    shift_evidence,
)

if TYPE_CHECKING:
    from weighbridge.diagnosis import ShiftReport
    from weighbridge.target_risk import Relation, RiskEstimate

HELPS, PROBABLY, NO_GAIN, UNKNOWN = "helps", "probably helps", "no gain", "unknown"
CANNOT_TELL = "cannot tell"
# Share of the unweighted loss that is worth having: one error in fifty. Less could be confirmed
# only by thousands of labelled rows, and does not pay for weights that have to be kept up to date.
WORTHWHILE = 0.02
# What everything rests on, and what stands below a comparison.
ASSUMED = "the relation between features and label is the same in both tables"
ASSUMED_OF_CLASSES = "the rows of a class look the same in both tables"
PROCEDURE = "error: of the whole procedure, choice included; lam, alpha: of the final model"


@dataclass(frozen=True)
class Answer(Record):
    """The answer to one question.

    Parameters
    ----------
    question : {"shift", "matters", "overlap", "weighting", "expect"}
        Which of the five.
    word : str
        The answer in a word; for "expect" the number.
    evidence : str
        The numbers behind it.
    advice : str
        One sentence on what to do.
    role : {"neutral", "good", "caution", "stop"}
        How it is coloured.

    Examples
    --------
    >>> from weighbridge.verdict import Answer
    >>> answer = Answer("overlap", "enough", "full ratio: 712 effective rows of 4,000", "Go on.")
    >>> answer.word
    'enough'
    """

    question: str
    word: str
    evidence: str
    advice: str
    role: str = "neutral"


# What refers to the answer that says why nothing is estimated.
WITHHELD = "withheld: see the overlap (WB302)"
_KEEP = "Keep the unweighted model."
_CONSTANT = "No better than a constant guess"


@dataclass(frozen=True)
class Actual(Estimate):
    """An actual error, the interval that its labelled rows leave, and how many these are.

    Where only some rows are labelled the forecast has helped, and `alone` is without its help.
    """

    rows: int
    alone: Estimate | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        alone = self.alone and self.alone.to_dict()
        return {**super().to_dict(), "rows": self.rows, "alone": alone}

    def said(self, numbers: Numbers) -> tuple[str, str]:
        """Return what it is called, and its value with its interval."""
        value = f"{numbers.value(self.value)} {numbers.interval(self)}"
        if self.alone is None:
            return f"actual {numbers.loss}", value
        return numbers.loss, f"{value} by {self.rows:,} labels"


class Risks(NamedTuple):
    """What is expected of the unweighted model, of the one to use, and of a constant guess."""

    none: RiskEstimate
    used: RiskEstimate
    constant: RiskEstimate | None = None


def gain_word(change: Estimate | None, worthwhile: float = 0.0) -> str:
    """Judge a paired change: by its interval, its standard error and what is worth having."""
    if change is None or not change.value < -max(change.standard_error, worthwhile):
        return NO_GAIN
    return HELPS if change.high < 0 else PROBABLY


def are_apart(actual: Estimate, expected: Estimate) -> bool:
    """Return whether two intervals do not meet: more than the noise of both tells them apart."""
    return actual.low > expected.high or actual.high < expected.low


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two independent numbers, with Newcombe's interval."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value, math.nan, value - below, value + above)


def assumption(role: str, *, by_class: bool, is_checked: bool) -> str:
    """Return what is assumed, and what known labels say about it."""
    assumed = ASSUMED_OF_CLASSES if by_class else ASSUMED
    said = "do not bear it out" if role == "stop" else "do not contradict it"
    return f"{assumed}; deployment labels {said}" if is_checked else assumed


@dataclass(frozen=True)
class Judgement:
    """The words of a verdict; `over_constant` is the change from a constant guess to the model."""

    shift: str
    overlap: str
    worse: Estimate | None
    change: Estimate | None
    weighted: str = "tuned"
    worthwhile: float = 0.0
    over_constant: Estimate | None = None
    close: tuple[str, ...] = ()
    by_other_loss: bool = False
    actual: Mapping[str, Actual] | None = None
    # how the mix of classes changed, where that is what weights are for
    mix: str = ""
    relation: Relation | None = None

    @property
    def matters(self) -> str:
        """Yes or no where the rise is clearly more or less than what is worth having."""
        if self.worse is None:
            return UNKNOWN
        if self.worse.low > self.worthwhile:
            return "yes"
        is_less = self.worse.high < self.worthwhile
        return "no" if is_less or (self.shift == "none" and not self.actual) else CANNOT_TELL

    @property
    def weighting(self) -> str:
        """Helps where the whole interval of the paired change is better than zero."""
        if self.overlap == "broken":
            return UNKNOWN
        return NO_GAIN if self.shift == "none" else gain_word(self.change, self.worthwhile)

    @property
    def is_small(self) -> bool:
        """True where there is a gain, but none worth having."""
        return self.weighting == NO_GAIN != gain_word(self.change) and self.shift != "none"

    @property
    def use(self) -> str:
        """The candidate to use."""
        return self.weighted if self.weighting in (HELPS, PROBABLY) else "none"

    @property
    def beats_constant(self) -> bool:
        """False where the model to use is no better than a constant guess."""
        if self.actual and "constant" in self.actual:
            return self.actual[self.use].value < self.actual["constant"].value
        return self.over_constant is None or gain_word(self.over_constant) != NO_GAIN

    def expected(self, risk: RiskEstimate) -> Estimate:
        """Return what is expected of a model: what it has in training, if nothing else is known."""
        known = None if self.shift == "none" else risk.estimate
        return known or risk.training

    def is_refuted(self, risks: Risks) -> bool:
        """True where labels are known, and the actual error is far from the expected one."""
        if self.actual is None or self.overlap == "broken":
            return False
        if self.actual[self.use].alone is not None:  # a few labels: their test decides, if any
            return self.relation is not None and self.relation.is_changed
        return are_apart(self.actual[self.use], self.expected(risks.used))

    def is_rough(self, risks: Risks) -> bool:
        """True where the figure for the deployment is a rough one."""
        return risks.used.state != "good" and self.shift != "none"

    def sentence(self, numbers: Numbers, risks: Risks) -> str:
        """Return the answer, led by the kind of shift where it is one of classes."""
        led = f"The mix of classes changed ({self.mix}). " if self.mix else ""
        return led + self._verdict(numbers, risks)

    def _verdict(self, numbers: Numbers, risks: Risks) -> str:
        """Return the answer in one line; where labels are known, by what they say."""
        expected, before = self.expected(risks.used), self.expected(risks.none).value
        value, loss, beside = numbers.value(expected.value), numbers.noun, ""
        if self.actual:
            truth, before = self.actual[self.use], self.actual["none"].value
            beside = f", expected {value}"
            loss, value = truth.said(numbers)
        found = f"{loss} {value}{beside}"
        if self.overlap == "broken":
            known = f"{loss} {value} in" if self.actual else "no estimate for"
            return f"The files hardly overlap: {known} deployment"
        if self.is_refuted(risks):
            rough = self.is_rough(risks)
            changed = "A class looks different now" if self.mix else "The relation has changed"
            return f"{'The rough figure was off' if rough else changed}: {found}"
        if self.overlap == "thin" and self.shift != "none" and not self.actual:
            keep = "Keep the unweighted model and label" if self.use == "none" else "Label"
            rough_words = f"the {numbers.noun} of {value} is a rough figure"
            return f"{keep} some deployment rows: with thin overlap {rough_words}"
        if not self.beats_constant:
            start = "No shift found, but n" if self.shift == "none" else "N"
            return f"{start}{_CONSTANT[1:]}: {found}, {_constant(self, numbers, risks)}"
        if self.use != "none":
            word, change = self.weighting, ""
            if self.actual and self.actual[self.use].value >= before:
                word = "did not help"
            elif not self.actual and word == PROBABLY:
                change = f", change {_change(self.change, numbers)}"
            return f"Weighting {word}: {loss} {numbers.value(before)} → {value}{beside}{change}"
        if self.shift == "none":
            named = "" if numbers.is_share else f" ({numbers.measure})"
            training = f"expect about the training error{named}, {value}"
            return f"No shift found: {found if self.actual else training}"
        start = f"No gain worth having: k{_KEEP[1:-1]}," if self.is_small else f"{_KEEP[:-1]}:"
        return f"{start} {found}" + ("" if self.actual else f" {numbers.interval(expected)}")

    def answers(self, numbers: Numbers, report: ShiftReport, risks: Risks) -> tuple[Answer, ...]:
        """Return the answers to the five questions."""
        return (
            _shift(self, report),
            _matters(self, numbers, risks.none),
            _overlap(self, report),
            _weighting(self, numbers),
            _expect(self, numbers, risks),
        )

    def findings(self, numbers: Numbers, risks: Risks) -> Iterator[Finding]:
        """Yield findings about the choice of the weighting, and what no one can see."""
        if self.use != "none" and self.close:
            names = " and ".join(filter(None, (", ".join(self.close[:-1]), self.close[-1])))
            said = f"{self.use} cannot be told apart from {names} on these data."
            yield Finding("WB501", "note", said, "Any of them is defensible here.")
        if self.use != "none" and self.by_other_loss:
            yield Finding("WB503", "note", *_OTHER_LOSS)
        if self.weighting == NO_GAIN and self.shift != "none":
            said = _NO_BETTER
            if self.is_small:
                said = f"Weighting gains less than is worth having ({_worth(self, numbers)})."
            yield Finding("WB504", "note", said, _NEEDS_NONE)
        if not self.beats_constant:
            said = f"{_CONSTANT}: {_constant(self, numbers, risks)}."
            yield Finding("WB505", "warning", said, _SAY_MORE)
        if self.is_refuted(risks) and self.actual:
            truth, expected = self.actual[self.use], self.expected(risks.used)
            said = (
                f"The actual error, {numbers.value(truth.value)} {numbers.interval(truth)}, is far "
                f"from the expected {numbers.value(expected.value)} {numbers.interval(expected)}."
            )
            if truth.alone is not None and self.relation is not None:
                p_value, part = self.relation.p_value, self.relation.part
                shown = "< 0.001" if p_value < 0.001 else number(p_value, 2)
                said = (
                    f"The {truth.rows:,} labels are not what the relation in training leads to "
                    f"expect (p {shown}); it moves the error by {_change(part, numbers)}."
                )
            yield Finding("WB604", "warning", said, _RELATION)
        if self.shift != "none" and self.weighting != UNKNOWN and not self.actual:
            yield Finding("WB603", "note", *(_UNSEEN_OF_CLASSES if self.mix else _UNSEEN))


# The codes of these findings, and what they say whatever the numbers are.
CODES = ("WB501", "WB503", "WB504", "WB505", "WB603", "WB604")
_OTHER_LOSS = (
    "The weighting was chosen by the squared error of probabilities, not by the loss shown.",
    "Nothing needs to be done: it tells apart weightings that make the same errors, and the loss "
    "shown comes from rows that the choice never saw.",
)
_NO_BETTER = (
    "Weighting does not make the model better in deployment, as far as these data can tell."
)
_NEEDS_NONE = "Keep the unweighted model."
_SAY_MORE = (
    "Look for features that say more about the label, or take another model. Where one class is "
    "rare, judge the probabilities, by log loss or Brier score."
)
_RELATION = (
    "Look for a change in how features relate to the label, which weights cannot see, and train "
    "with labelled deployment rows."
)
_UNSEEN = (
    "A change in how features relate to the label cannot be seen without deployment labels.",
    "Label a few deployment rows to check.",
)


_UNSEEN_OF_CLASSES = (
    "Whether the rows of a class still look the same cannot be seen without deployment labels.",
    _UNSEEN[1],
)
_BY_CLASS = (
    "Every row of a class gets the same weight. If rows were selected by their features instead, "
    "the kind of shift is covariate; if a class itself looks different now, label some rows."
)


def otherwise_words(otherwise: dict[str, Any], numbers: Numbers) -> str:
    """Return what is expected if it is the other kind of shift."""
    said = {"covariate": "the features changed, and not the mix of classes"}
    why = said.get(otherwise["kind"], f"only the mix of classes changed ({otherwise['mix']})")
    none, full = (otherwise[name] for name in ("none", "full"))
    if none is None or full is None:
        return f"If {why}: no estimate, the files hardly overlap."
    weights = "weights by features" if otherwise["kind"] == "covariate" else "weights by class"
    values = f"{numbers.value(none['value'])} without weights, {numbers.value(full['value'])} with"
    return f"If {why}: {numbers.noun} {values} {weights}."


def _constant(judgement: Judgement, numbers: Numbers, risks: Risks) -> str:
    """Return the error of a constant guess, measured like the one it stands beside."""
    assert risks.constant is not None
    found = (judgement.actual or {}).get("constant") or judgement.expected(risks.constant)
    return f"constant {numbers.value(found.value)}"


def _change(change: Estimate | None, numbers: Numbers) -> str:
    assert change is not None
    return f"{numbers.change(change.value)}{numbers.unit} {numbers.change_interval(change)}"


def _worth(judgement: Judgement, numbers: Numbers) -> str:
    factor = 100 if numbers.is_share else 1
    return f"from {number(factor * judgement.worthwhile, 2)}{numbers.unit} on"


def _answer(question: str, word: str, evidence: str, advice: str, role: str = "") -> Answer:
    return Answer(question, word, evidence, advice, role or ROLES.get((question, word), "neutral"))


def _shift(judgement: Judgement, report: ShiftReport) -> Answer:
    moved = report.moved[:NAMED]
    if judgement.shift == "none":
        advice = "Nothing needs to be done; look again when new rows arrive."
        if report.too_few:
            advice = "These are too few rows to tell; collect more of both before relying on it."
        return _answer("shift", "none", shift_evidence(report.auc, ()), advice)
    if judgement.mix:
        evidence = f"{shift_evidence(report.auc, ())}; the mix of classes, not how a class looks"
        return _answer("shift", judgement.shift, evidence, _BY_CLASS)
    advice = f"Look at {moved[0] if moved else 'the features'} first: is its change expected?"
    return _answer("shift", judgement.shift, shift_evidence(report.auc, moved), advice)


def _matters(judgement: Judgement, numbers: Numbers, none: RiskEstimate) -> Answer:
    worse, truth = judgement.worse, (judgement.actual or {}).get("none")
    there = truth or none.estimate
    if worse is None or there is None:
        return _answer("matters", UNKNOWN, WITHHELD, "Label deployment rows to find out.")
    evidence = f"unweighted: {numbers.value(none.training.value)} in training"
    if judgement.shift == "none" and truth is None:
        evidence += ", and no shift was found"
    else:
        rise = f"{numbers.change(worse.value)} {numbers.change_interval(worse)}"
        evidence += f", {numbers.value(there.value)} in deployment ({rise})"
    if judgement.relation is not None and truth is not None and truth.alone is not None:
        evidence += f"; by labels alone {split_text(judgement.relation.to_dict(), numbers)}"
    advice = {
        "yes": "Do not trust the training error; plan with the one in deployment.",
        "no": "The unweighted model does about as well in deployment as in training, or better.",
        CANNOT_TELL: "It may do worse in deployment than in training: plan with the interval.",
    }
    return _answer("matters", judgement.matters, evidence, advice[judgement.matters])


def split_text(
    split: dict[str, Any],
    numbers: Numbers,
    rows: str = " because the rows differ",
    relation: str = " because the relation does",
) -> str:
    """Return which part of a change labels alone find in other rows, and in another relation."""
    parts = [
        f"{numbers.change(each['value'])}{numbers.unit} "
        f"[{numbers.change(each['low'])}, {numbers.change(each['high'])}]"
        for each in (split["rows"], split["relation"])
    ]
    return f"{parts[0]}{rows}, {parts[1]}{relation}"


def _overlap(judgement: Judgement, report: ShiftReport) -> Answer:
    advice = {
        "enough": "The training rows represent deployment well enough.",
        "thin": "Treat all deployment figures as rough, and collect training rows like those in "
        "deployment.",
        "broken": "Find what tells the files apart, or label some deployment rows.",
    }
    evidence = overlap_evidence(report.overlap_judgement.reason, report.full.ess, report.n_source)
    return _answer("overlap", judgement.overlap, evidence, advice[judgement.overlap])


def _weighting(judgement: Judgement, numbers: Numbers) -> Answer:
    word, actual = judgement.weighting, judgement.actual
    if word == UNKNOWN:
        return _answer("weighting", UNKNOWN, WITHHELD, "Use the unweighted model.")
    if judgement.shift == "none":  # there was nothing to gain, so no gain is no disappointment
        return _answer("weighting", word, "nothing to weight for", _KEEP, "neutral")
    if judgement.change is None:
        few, chosen = "too little overlap to weight by", "the choice was lam 0, no weights"
        return _answer("weighting", word, few if judgement.weighted == "none" else chosen, _KEEP)
    evidence, role = _change(judgement.change, numbers), ""
    if word == NO_GAIN:
        small = f"; worth having {_worth(judgement, numbers)}" if judgement.is_small else ""
        return _answer("weighting", word, evidence + small, _KEEP)
    advice = f"Use the {judgement.use} weighting"
    advice += "." if word == HELPS else "; that it helps is likely, not certain."
    if actual:
        moved = actual[judgement.use].value - actual["none"].value
        evidence += f"; actual {numbers.change(moved)}"
        if moved >= 0:
            role, advice = "caution", f"On the labelled rows the {judgement.use} weighting does not"
            advice += " help; label more, or fit with lam 0."
    role = role if judgement.beats_constant else "caution"
    return _answer("weighting", word, evidence, advice, role)


def _expect(judgement: Judgement, numbers: Numbers, risks: Risks) -> Answer:
    expected = judgement.expected(risks.used)
    value, evidence = numbers.value(expected.value), numbers.interval(expected)
    named = "" if numbers.is_share else f" {numbers.measure}"
    if judgement.actual:
        truth = judgement.actual[judgement.use]
        told = f"{numbers.interval(truth)}{named} actual, {truth.rows:,} labelled rows"
        if truth.alone is not None:
            told = f"{numbers.interval(truth)}{named} by {truth.rows:,} labels and the forecast"
        if judgement.overlap != "broken":
            told += f"; expected {value} {evidence}"
        return _answer("expect", numbers.value(truth.value), told, *_held(judgement, risks))
    if judgement.overlap == "broken":
        return _answer("expect", UNKNOWN, WITHHELD, "Label deployment rows to measure it.")
    if judgement.is_rough(risks):
        rough = f"{evidence}{named}, rough"
        return _answer("expect", value, rough, "Treat it as a rough figure.", "caution")
    advice = "Plan with the interval, not with the number."
    return _answer("expect", value, evidence + named, advice)


def _held(judgement: Judgement, risks: Risks) -> tuple[str, str]:
    """Return what known labels say about the expected error, and the role of the answer."""
    if judgement.overlap == "broken":
        return "Measured; with so little overlap nothing was forecast.", "neutral"
    if not judgement.is_refuted(risks):
        return "The labels do not contradict what was expected.", "neutral"
    or_rough = ", or the rough figure was off" if judgement.is_rough(risks) else ""
    return f"The relation between features and label has changed{or_rough}.", "stop"
