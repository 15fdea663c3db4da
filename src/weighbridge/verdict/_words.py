"""What a verdict says: its words, the line at the top, five answers with advice, and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weighbridge._findings import BROKEN, THIN, Estimate, Finding, Numbers, Record

if TYPE_CHECKING:
    from weighbridge.diagnostics import ShiftReport
    from weighbridge.target_risk import RiskEstimate

HELPS, NO_GAIN, UNKNOWN = "helps", "no gain", "unknown"


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

    @property
    def _role(self) -> str | None:
        return ROLES.get((self.question, self.word))


# The role of a word as an answer to its question; what is not here is neutral.
ROLES = {
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
# Features named in the answer, and the finding that says why nothing is estimated.
_MOVED = 3
WITHHELD = "withheld (WB302)"


@dataclass(frozen=True)
class Judgement:
    """The words of a verdict."""

    shift: str
    overlap: str
    worse: Estimate | None
    change: Estimate | None
    weighted: str = "tuned"

    @property
    def matters(self) -> str:
        """Yes where the unweighted model will be worse by more than one standard error."""
        if self.worse is None:
            return UNKNOWN
        return "yes" if self.worse.value > self.worse.standard_error else "no"

    @property
    def weighting(self) -> str:
        """Helps where the paired change is better than zero by more than one standard error."""
        if self.overlap == BROKEN:
            return UNKNOWN
        if self.shift == "none" or self.change is None:
            return NO_GAIN
        return HELPS if self.change.value < -self.change.standard_error else NO_GAIN

    @property
    def is_sure(self) -> bool:
        """True where the whole interval of the change is better than zero."""
        return self.change is not None and self.change.high < 0

    @property
    def use(self) -> str:
        """The candidate to use."""
        return self.weighted if self.weighting == HELPS else "none"

    @property
    def is_thin(self) -> bool:
        """True where figures for the deployment are rough."""
        return self.overlap == THIN

    def sentence(self, numbers: Numbers, none: RiskEstimate, used: RiskEstimate) -> str:
        """Return the answer in one line."""
        if self.overlap == BROKEN:
            return "The files hardly overlap: no estimate for deployment"
        if self.shift == "none":
            named = "" if numbers.is_share else f" ({numbers.measure})"
            training = numbers.value(none.training.value)
            return f"No shift found: expect about the training error{named}, {training}"
        assert used.estimate is not None
        assert none.estimate is not None
        expected = numbers.value(used.estimate.value)
        if self.is_thin and self.change is None:
            return f"Keep the unweighted model: {numbers.noun} {expected}, a rough figure"
        if self.is_thin:
            shift = self.shift.capitalize()
            return f"{shift} shift, thin overlap: treat {expected} as a rough figure"
        if self.weighting != HELPS:
            interval = numbers.interval(used.estimate)
            return f"Keep the unweighted model: {numbers.noun} {expected} {interval}"
        moved = f"{numbers.noun} {numbers.value(none.estimate.value)} → {expected}"
        if self.is_sure:
            return f"Weighting helps: {moved}"
        assert self.change is not None
        change = numbers.change(self.change.value) + numbers.unit
        interval = numbers.change_interval(self.change)
        return f"Weighting probably helps: {moved}, change {change} {interval}"

    def answers(
        self,
        numbers: Numbers,
        report: ShiftReport,
        none: RiskEstimate,
        used: RiskEstimate,
    ) -> tuple[Answer, ...]:
        """Return the answers to the five questions."""
        return (
            _shift(self, report),
            _matters(self, numbers, none),
            _overlap(self, report),
            _weighting(self, numbers),
            _expect(self, numbers, used),
        )

    def findings(self, close: list[str], *, by_other_loss: bool) -> Iterator[Finding]:
        """Yield findings about the choice of the weighting, and what no one can see."""
        if close and self.weighting == HELPS:
            names = ", ".join(close[:-1]) + (" and " if len(close) > 1 else "") + close[-1]
            yield Finding(
                "WB501",
                "note",
                f"{self.use} cannot be told apart from {names} on these data.",
                "Any of them is defensible here.",
            )
        if by_other_loss and self.weighting == HELPS:
            yield Finding(
                "WB503",
                "note",
                "The weighting was chosen by the squared error of probabilities, not by the loss "
                "shown.",
                "Nothing needs to be done: it tells apart weightings that make the same errors, "
                "and the loss shown comes from rows that the choice never saw.",
            )
        if self.weighting == "no gain" and self.shift != "none":
            yield Finding(
                "WB504",
                "note",
                "Weighting does not make the model better in deployment, as far as these data can "
                "tell.",
                "Keep the unweighted model: a well-specified or flexible model needs no weights.",
            )
        if self.shift != "none" and self.weighting != UNKNOWN:
            yield Finding(
                "WB603",
                "note",
                "A change in how features relate to the label cannot be seen without deployment "
                "labels.",
                "Label a few deployment rows to check.",
            )


def _shift(judgement: Judgement, report: ShiftReport) -> Answer:
    moved = report.moved[:_MOVED]
    if judgement.shift == "none":
        advice = "Nothing needs to be done; look again when new rows come."
        if report.too_few:
            advice = "These are too few rows to tell; collect more of both before relying on it."
        return Answer("shift", "none", shift_evidence(report.auc, ()), advice)
    where = moved[0] if moved else "the features"
    advice = f"Look at {where} first: is its change expected?"
    return Answer("shift", judgement.shift, shift_evidence(report.auc, moved), advice)


def shift_evidence(auc: Estimate, moved: Sequence[str]) -> str:
    """Return how well a classifier tells the files apart, and by which features."""
    told = f"AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}]"
    return f"{told}; most in {', '.join(moved)}" if moved else told


def _matters(judgement: Judgement, numbers: Numbers, none: RiskEstimate) -> Answer:
    if none.estimate is None:
        return Answer("matters", UNKNOWN, WITHHELD, "Fix the overlap first.")
    evidence = (
        f"unweighted: {numbers.value(none.training.value)} in training, "
        f"{numbers.value(none.estimate.value)} in deployment"
    )
    advice = (
        "Do not trust the training error; plan with the one expected in deployment."
        if judgement.matters == "yes"
        else "The unweighted model does about as well in deployment as in training, or better."
    )
    return Answer("matters", judgement.matters, evidence, advice)


def _overlap(judgement: Judgement, report: ShiftReport) -> Answer:
    advice = {
        "enough": "The training rows represent deployment well enough.",
        "thin": "Treat all deployment figures as rough, and collect training rows like those in "
        "deployment.",
        "broken": "Find what tells the files apart, or label some deployment rows.",
    }
    evidence = overlap_evidence(report.overlap_judgement.reason, report.full.ess, report.n_source)
    return Answer("overlap", judgement.overlap, evidence, advice[judgement.overlap])


def overlap_evidence(reason: str | None, effective: float, n_rows: int) -> str:
    """Return what is wrong with the overlap, or how many rows the full ratio leaves."""
    return reason or f"full ratio: {effective:,.0f} effective rows of {n_rows:,}"


def _weighting(judgement: Judgement, numbers: Numbers) -> Answer:
    if judgement.weighting == UNKNOWN:
        return Answer("weighting", UNKNOWN, WITHHELD, "Use the unweighted model until then.")
    change = judgement.change
    if judgement.shift == "none" or change is None:
        few = judgement.is_thin and judgement.shift != "none"
        evidence = "too few effective rows to weight by" if few else "nothing to weight for"
        return Answer("weighting", judgement.weighting, evidence, "Keep the unweighted model.")
    evidence = f"{numbers.change(change.value)}{numbers.unit} {numbers.change_interval(change)}"
    if judgement.weighting != HELPS:
        return Answer("weighting", judgement.weighting, evidence, "Keep the unweighted model.")
    advice = f"Use the {judgement.weighted} weighting."
    if not judgement.is_sure:
        advice = f"Use the {judgement.weighted} weighting; that it helps is likely, not certain."
    return Answer("weighting", HELPS, evidence, advice)


def _expect(judgement: Judgement, numbers: Numbers, used: RiskEstimate) -> Answer:
    estimate = used.training if judgement.shift == "none" else used.estimate
    if used.estimate is None or estimate is None:
        return Answer("expect", UNKNOWN, WITHHELD, "No figure is better than a wrong one.")
    value, evidence = numbers.value(estimate.value), numbers.interval(estimate)
    if not numbers.is_share:
        evidence += f" {numbers.measure}"
    if used.state == "good" or judgement.shift == "none":
        return Answer("expect", value, evidence, "Plan with the interval, not with the number.")
    return Answer("expect", value, f"{evidence}, rough", "Treat it as a rough figure.")
