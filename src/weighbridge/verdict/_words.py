"""What a verdict says: its words, the line at the top, five answers with advice, and findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from weighbridge._findings import BROKEN, THIN, Estimate, Finding, Numbers, Record, number

if TYPE_CHECKING:
    from weighbridge.diagnostics import ShiftReport
    from weighbridge.target_risk import RiskEstimate

HELPS, PROBABLY, NO_GAIN, UNKNOWN = "helps", "probably helps", "no gain", "unknown"
CANNOT_TELL = "cannot tell"
# Share of the unweighted loss that is worth having: one error in fifty. Less could be confirmed
# only by thousands of labelled rows, and does not pay for weights that have to be kept up to date.
WORTHWHILE = 0.02
# What everything rests on, and what stands below a comparison.
ASSUMED = "the relation between features and label is the same in both tables"
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
# Features named in the answer, and what refers to the answer that says why nothing is estimated.
_MOVED = 3
WITHHELD = "withheld: see the overlap (WB302)"
_KEEP = "Keep the unweighted model."
_CONSTANT = "No better than a constant guess"


@dataclass(frozen=True)
class Actual(Estimate):
    """An actual error, the interval that its labelled rows leave, and how many these are."""

    rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON; None stands for an end that one row cannot give."""
        found = super().to_dict()
        ends = {name: each if isfinite(each) else None for name, each in found.items()}
        return {**ends, "rows": self.rows}


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
    below = hypot(one.value - one.low, other.high - other.value)
    above = hypot(one.high - one.value, other.value - other.low)
    error = hypot(one.standard_error, other.standard_error)
    return Estimate(value, error, value - below, value + above)


def agreement(apart: Iterable[str], n_judged: int) -> str:
    """Say whether actual errors agree with the expected ones, given those that do not."""
    missed = list(apart)
    if not n_judged:
        return "no error was expected, so there is nothing to compare it with"
    if not missed:
        return f"{'each' if n_judged > 1 else 'it'} agrees with the expected one"
    others = "; the others agree" * (len(missed) < n_judged)
    return f"far from the expected one: {', '.join(missed)}{others}"


def assumption(role: str, *, is_known: bool) -> str:
    """Return what is assumed, and what known labels say about it."""
    said = "contradict it" if role == "stop" else "agree"
    return f"{ASSUMED}; deployment labels {said}" if is_known else ASSUMED


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
    actual: Mapping[str, Actual] | None = None

    @property
    def matters(self) -> str:
        """Yes or no where the rise is clearly more or less than what is worth a thought."""
        if self.worse is None:
            return UNKNOWN
        if self.worse.low > self.worthwhile:
            return "yes"
        is_less = self.worse.high < self.worthwhile
        return "no" if is_less or (self.shift == "none" and not self.actual) else CANNOT_TELL

    @property
    def weighting(self) -> str:
        """Helps where the whole interval of the paired change is better than zero."""
        if self.overlap == BROKEN:
            return UNKNOWN
        return NO_GAIN if self.shift == "none" else gain_word(self.change, self.worthwhile)

    @property
    def is_small(self) -> bool:
        """True where there is a gain, but none worth having."""
        is_gain = self.shift != "none" and gain_word(self.change) != NO_GAIN
        return is_gain and self.weighting == NO_GAIN

    @property
    def use(self) -> str:
        """The candidate to use."""
        return self.weighted if self.weighting in (HELPS, PROBABLY) else "none"

    @property
    def beats_constant(self) -> bool:
        """False where the model to use is no better than a constant guess."""
        if self.actual:
            constant = self.actual.get("constant")
            return constant is None or self.actual[self.use].value < constant.value
        return self.over_constant is None or gain_word(self.over_constant) != NO_GAIN

    @property
    def is_thin(self) -> bool:
        """True where figures for the deployment are rough."""
        return self.overlap == THIN

    def expected(self, risk: RiskEstimate) -> Estimate | None:
        """Return what is expected of a model: without shift what it has in training."""
        return risk.training if self.shift == "none" else risk.estimate

    def is_refuted(self, risks: Risks) -> bool:
        """True where labels are known, and the actual error is far from the expected one."""
        expected = self.expected(risks.used)
        if expected is None or not self.actual:
            return False
        return are_apart(self.actual[self.use], expected)

    def sentence(self, numbers: Numbers, risks: Risks) -> str:
        """Return the answer in one line."""
        if self.actual:
            return self._sentence_of_truth(numbers, risks)
        if self.overlap == BROKEN:
            return "The files hardly overlap: no estimate for deployment"
        expected, before = self.expected(risks.used), self.expected(risks.none)
        assert expected is not None
        assert before is not None
        value = numbers.value(expected.value)
        found = f"{numbers.noun} {value}"
        if self.is_thin and self.shift != "none":
            keep = "Keep the unweighted model and label" if self.use == "none" else "Label"
            rough = f"the {numbers.noun} of {value} is a rough figure"
            return f"{keep} some deployment rows: with thin overlap {rough}"
        if not self.beats_constant:
            return f"{_CONSTANT}: {found}, {_constant(self, numbers, risks)}"
        if self.shift == "none":
            named = "" if numbers.is_share else f" ({numbers.measure})"
            return f"No shift found: expect about the training error{named}, {value}"
        if self.use == "none":
            start = "No gain worth having: k" if self.is_small else "K"
            joint = ", " if self.is_small else ": "
            return f"{start}eep the unweighted model{joint}{found} {numbers.interval(expected)}"
        moved = f"{numbers.noun} {numbers.value(before.value)} → {value}"
        change = "" if self.weighting == HELPS else f", change {_change(self, numbers)}"
        return f"Weighting {self.weighting}: {moved}{change}"

    def _sentence_of_truth(self, numbers: Numbers, risks: Risks) -> str:
        """Return the answer in one line, where labels say what the error is."""
        assert self.actual is not None
        truth, before = self.actual[self.use], self.actual["none"]
        expected, value = self.expected(risks.used), numbers.value(truth.value)
        found = f"{value} {numbers.interval(truth)}"
        beside = "" if expected is None else f", expected {numbers.value(expected.value)}"
        if self.is_refuted(risks):
            is_rough = _is_rough(self, risks)
            start = "The rough figure was off" if is_rough else "The relation has changed"
        elif not self.beats_constant:
            start, beside = _CONSTANT, f", {_constant(self, numbers, risks)}"
        elif self.overlap == BROKEN:
            start, beside = "The files hardly overlap", ", and none was expected"
        elif self.use == "none":
            start = "No shift found" if self.shift == "none" else _KEEP[:-1]
        else:
            helped = truth.value < before.value
            start = f"Weighting {self.weighting if helped else 'did not help'}"
            found = f"{numbers.value(before.value)} → {found}"
        return f"{start}: actual {numbers.loss} {found}{beside}"

    def answers(self, numbers: Numbers, report: ShiftReport, risks: Risks) -> tuple[Answer, ...]:
        """Return the answers to the five questions."""
        return (
            _shift(self, report),
            _matters(self, numbers, risks.none),
            _overlap(self, report),
            _weighting(self, numbers),
            _expect(self, numbers, risks),
        )

    def findings(
        self, numbers: Numbers, risks: Risks, close: Sequence[str], *, by_other_loss: bool
    ) -> Iterator[Finding]:
        """Yield findings about the choice of the weighting, and what no one can see."""
        if close and self.use != "none":
            names = ", ".join(close[:-1]) + (" and " if len(close) > 1 else "") + close[-1]
            yield Finding(
                "WB501",
                "note",
                f"{self.use} cannot be told apart from {names} on these data.",
                "Any of them is defensible here.",
            )
        if by_other_loss and self.use != "none":
            yield Finding(
                "WB503",
                "note",
                "The weighting was chosen by the squared error of probabilities, not by the loss "
                "shown.",
                "Nothing needs to be done: it tells apart weightings that make the same errors, "
                "and the loss shown comes from rows that the choice never saw.",
            )
        if self.weighting == NO_GAIN and self.shift != "none":
            yield Finding(
                "WB504",
                "note",
                f"Weighting gains less than is worth having ({_worth(self, numbers)})."
                if self.is_small
                else "Weighting does not make the model better in deployment, as far as these data "
                "can tell.",
                "Keep the unweighted model: a well-specified or flexible model needs no weights.",
            )
        yield from self.findings_of_truth(numbers, risks)
        if self.shift != "none" and self.weighting != UNKNOWN and not self.actual:
            yield Finding(
                "WB603",
                "note",
                "A change in how features relate to the label cannot be seen without deployment "
                "labels.",
                "Label a few deployment rows to check.",
            )

    def findings_of_truth(self, numbers: Numbers, risks: Risks) -> Iterator[Finding]:
        """Yield findings about the model to use that known labels settle."""
        if not self.beats_constant:
            yield Finding(
                "WB505",
                "warning",
                f"{_CONSTANT}: {_constant(self, numbers, risks)}.",
                "Look for features that say more about the label, or take another model. Where one "
                "class is rare, judge the probabilities, by log loss or Brier score.",
            )
        if self.is_refuted(risks):
            assert self.actual is not None
            truth, expected = self.actual[self.use], self.expected(risks.used)
            assert expected is not None
            yield Finding(
                "WB604",
                "warning",
                f"The actual error, {numbers.value(truth.value)} {numbers.interval(truth)}, is far "
                f"from the expected one, {numbers.value(expected.value)} "
                f"{numbers.interval(expected)}.",
                "Look for a change in how features relate to the label, which no weights see, and "
                "train with labelled deployment rows.",
            )


def _constant(judgement: Judgement, numbers: Numbers, risks: Risks) -> str:
    """Return the error of a constant guess, measured like the one it stands beside."""
    assert risks.constant is not None
    found = (judgement.actual or {}).get("constant") or judgement.expected(risks.constant)
    assert found is not None
    return f"constant {numbers.value(found.value)}"


def _change(judgement: Judgement, numbers: Numbers) -> str:
    change = judgement.change
    assert change is not None
    return f"{numbers.change(change.value)}{numbers.unit} {numbers.change_interval(change)}"


def _worth(judgement: Judgement, numbers: Numbers) -> str:
    least = number(judgement.worthwhile * (100 if numbers.is_share else 1), 2)
    return f"from {least}{numbers.unit} on"


def _answer(question: str, word: str, evidence: str, advice: str, role: str = "") -> Answer:
    return Answer(question, word, evidence, advice, role or ROLES.get((question, word), "neutral"))


def _shift(judgement: Judgement, report: ShiftReport) -> Answer:
    moved = report.moved[:_MOVED]
    if judgement.shift == "none":
        advice = "Nothing needs to be done; look again when new rows come."
        if report.too_few:
            advice = "These are too few rows to tell; collect more of both before relying on it."
        return _answer("shift", "none", shift_evidence(report.auc, ()), advice)
    where = moved[0] if moved else "the features"
    advice = f"Look at {where} first: is its change expected?"
    return _answer("shift", judgement.shift, shift_evidence(report.auc, moved), advice)


def shift_evidence(auc: Estimate, moved: Sequence[str]) -> str:
    """Return how well a classifier tells the files apart, and by which features."""
    told = f"AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}]"
    return f"{told}; most in {', '.join(moved)}" if moved else told


def _matters(judgement: Judgement, numbers: Numbers, none: RiskEstimate) -> Answer:
    worse, truth = judgement.worse, (judgement.actual or {}).get("none")
    there = truth or none.estimate
    if worse is None or there is None:
        return _answer("matters", UNKNOWN, WITHHELD, "Fix the overlap first.")
    evidence = f"unweighted: {numbers.value(none.training.value)} in training"
    if judgement.shift == "none" and truth is None:
        evidence += ", and no shift was found"
    else:
        rise = f"{numbers.change(worse.value)} {numbers.change_interval(worse)}"
        evidence += f", {numbers.value(there.value)} in deployment ({rise})"
    advice = {
        "yes": "Do not trust the training error; plan with the one in deployment.",
        "no": "The unweighted model does about as well in deployment as in training, or better.",
        CANNOT_TELL: "It may do worse in deployment than in training: plan with the interval.",
    }
    return _answer("matters", judgement.matters, evidence, advice[judgement.matters])


def _overlap(judgement: Judgement, report: ShiftReport) -> Answer:
    advice = {
        "enough": "The training rows represent deployment well enough.",
        "thin": "Treat all deployment figures as rough, and collect training rows like those in "
        "deployment.",
        "broken": "Find what tells the files apart, or label some deployment rows.",
    }
    evidence = overlap_evidence(report.overlap_judgement.reason, report.full.ess, report.n_source)
    return _answer("overlap", judgement.overlap, evidence, advice[judgement.overlap])


def overlap_evidence(reason: str | None, effective: float, n_rows: int) -> str:
    """Return what is wrong with the overlap, or how many rows the full ratio leaves."""
    return reason or f"full ratio: {effective:,.0f} effective rows of {n_rows:,}"


def _weighting(judgement: Judgement, numbers: Numbers) -> Answer:
    word, actual = judgement.weighting, judgement.actual
    if word == UNKNOWN:
        return _answer("weighting", UNKNOWN, WITHHELD, "Use the unweighted model until then.")
    if judgement.shift == "none":  # there was nothing to gain, so no gain is no disappointment
        return _answer("weighting", word, "nothing to weight for", _KEEP, "neutral")
    if judgement.change is None:
        few = "too few effective rows to weight by" if judgement.is_thin else "no weights chosen"
        return _answer("weighting", word, few, _KEEP)
    evidence = _change(judgement, numbers)
    if judgement.is_small:
        evidence += f"; worth having {_worth(judgement, numbers)}"
    if word == NO_GAIN:
        return _answer("weighting", word, evidence, _KEEP)
    advice, role = f"Use the {judgement.weighted} weighting", ""
    if word == PROBABLY:
        advice += "; that it helps is likely, not certain"
    if actual:
        moved = actual[judgement.use].value - actual["none"].value
        evidence += f"; actual {numbers.change(moved)}"
        role = "caution" if moved >= 0 else ""
    return _answer(
        "weighting", word, evidence, f"{advice}.", role if judgement.beats_constant else "caution"
    )


def _expect(judgement: Judgement, numbers: Numbers, risks: Risks) -> Answer:
    expected, actual = judgement.expected(risks.used), judgement.actual
    named = "" if numbers.is_share else f" {numbers.measure}"
    if actual:
        truth = actual[judgement.use]
        evidence = f"{numbers.interval(truth)}{named} actual, {truth.rows:,} labelled rows"
        advice = "The labels agree with what was expected."
        if expected is None:
            advice = "Measured: nothing could be expected where the files hardly overlap."
        else:
            evidence += f"; expected {numbers.value(expected.value)} {numbers.interval(expected)}"
        if judgement.is_refuted(risks):
            advice = "The relation between features and label has changed, which no weights see."
            if _is_rough(judgement, risks):
                advice = f"{advice[:-21]}, or the rough figure was off."
        role = "stop" if judgement.is_refuted(risks) else "neutral"
        return _answer("expect", numbers.value(truth.value), evidence, advice, role)
    if risks.used.estimate is None or expected is None:
        return _answer("expect", UNKNOWN, WITHHELD, "No figure is better than a wrong one.")
    value, evidence = numbers.value(expected.value), numbers.interval(expected) + named
    if _is_rough(judgement, risks):
        advice = "Treat it as a rough figure."
        return _answer("expect", value, f"{evidence}, rough", advice, "caution")
    return _answer("expect", value, evidence, "Plan with the interval, not with the number.")


def _is_rough(judgement: Judgement, risks: Risks) -> bool:
    return risks.used.state != "good" and judgement.shift != "none"
