"""Five questions, five answers: the verdict and everything it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from weighbridge._findings import Brief, Card, Estimate, Finding, Numbers, Record, notebook_card
from weighbridge.verdict._page_words import candidate_cells, numbers_of, stored_estimate
from weighbridge.verdict._words import PROCEDURE, assumption, otherwise_words

if TYPE_CHECKING:
    from weighbridge.diagnosis import ShiftReport
    from weighbridge.target_risk import RiskEstimate
    from weighbridge.verdict._words import Answer


class AnswerParts(NamedTuple):
    """One answer in at most 80 columns, around the word that a screen may colour."""

    before: str
    word: str
    after: str
    role: str  # neutral, good, caution, stop


class VerdictParts(NamedTuple):
    """The text of a verdict in parts; the comparison is empty where nothing was compared."""

    sentence: str
    answers: list[AnswerParts]
    comparison: str


def verdict_parts(verdict: Verdict) -> VerdictParts:
    """Return the sentence, the five answers with what they rest on, and the comparison."""
    width = max(len(each.word) for each in verdict.answers) + 2
    table = _table(verdict) if len(verdict.candidates) > 1 else []
    answers = [_answer_parts(each, width) for each in verdict.answers]
    is_checked = bool(verdict._judgement.actual) and verdict.overlap != "broken"
    assumed = assumption(
        verdict.answer("expect").role, by_class=bool(verdict._judgement.mix), is_checked=is_checked
    )
    assumed = fill(assumed, 78 - 11).replace("\n", "\n" + " " * 13)
    answers.append(AnswerParts(f"  {'Assumed':<11}", "", assumed, "neutral"))
    return VerdictParts(verdict.sentence, answers, "\n".join(table))


def _answer_parts(answer: Answer, width: int) -> AnswerParts:
    evidence = fill(answer.evidence, 78 - 13 - width) if answer.evidence else ""
    after = " " * (width - len(answer.word)) + evidence.replace("\n", "\n" + " " * (13 + width))
    return AnswerParts(
        f"  {answer.question.capitalize():<11}", answer.word, after.rstrip(), answer.role
    )


def _table(verdict: Verdict) -> list[str]:
    numbers, mark, share = verdict.numbers, {verdict.use: " *"}, f"{100 * verdict.confidence:g} %"
    heads = ("weighting", "lam", "alpha", verdict.measure, share, "change", share, "eff. rows")
    rows: list[tuple[str, ...]] = [
        (each.name + mark.get(each.name, ""), *candidate_cells(each.to_dict(), numbers))
        for each in verdict.candidates
        if each.same_as is None
    ]
    if verdict.constant is not None:  # what is far larger than all others would widen the table
        guess = ("constant", *candidate_cells(verdict.constant.to_dict(), numbers))
        is_wide = max(map(len, text_table([heads, *rows, guess]))) > 80
        rows.append((*guess[:4], "–", "–", "–", guess[7]) if is_wide else guess)
    lines = [*text_table([heads, *rows]), f"  {PROCEDURE}"]
    for each in verdict.candidates:
        same = [other.name for other in verdict.candidates if other.same_as == each.name]
        lines += [f"  same weights, one row: {' = '.join([each.name, *same])}"] * bool(same)
    if verdict.constant is not None:
        lines.append(f"  constant: always predicts the {verdict.constant.literature} of training")
    if verdict.otherwise is not None:
        said = otherwise_words(verdict.otherwise, numbers)
        lines.append(fill(said, 78, initial_indent="  ", subsequent_indent="    "))
    return lines


def text_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, the first with its heads."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = "  " if sum(widths) + 2 * len(widths) <= 80 else " "
    lines = []
    for row in rows:
        first, *rest = row
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  " + gap.join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return lines


def metric_table(expect: dict[str, Any], used: dict[str, str]) -> list[list[str]]:
    """Return heads and rows of the metrics; none where the verdict has said it all."""
    metrics = expect.get("metrics") or []
    if all(each["measure"] == expect["measure"] for each in metrics):
        return []
    found = [(metric, each) for metric in metrics for each in metric["candidates"]]
    heads = ["metric", "weighting", "training", "expected", f"{100 * expect['confidence']:g} %"]
    known = any(each["actual"] is not None for _, each in found)
    rows = [[*heads, "actual"] if known else heads]
    for metric, each in found:
        losses = [c["expected"] and stored_estimate(c["expected"]) for c in metric["candidates"]]
        numbers = Numbers(metric["measure"], metric["candidates"][0]["training"], losses)
        name = each["name"] + used.get(each["name"], "")
        row = [metric["measure"], name, numbers.value(each["training"]), "withheld", ""]
        if each["expected"] is not None:
            expected = stored_estimate(each["expected"])
            rough = ", rough" if each["state"] == "flagged" else ""
            row[3:] = [numbers.value(expected.value), numbers.span(expected) + rough]
        shown = "" if each["actual"] is None else numbers.value(each["actual"])
        rows.append([*row, shown] if known else row)
    return rows


def _covered(risk: RiskEstimate) -> dict[str, Any] | None:
    """Return what is known of the target rows in the source's support, where that is all."""
    share, part = risk.covered_share, risk.covered or risk
    error = None if part.estimate is None else part.estimate.to_dict()
    return None if share is None else {"share": share, "error": error, "state": part.state}


@dataclass(frozen=True)
class Candidate:
    """One weighting in the comparison.

    Parameters
    ----------
    name : {"none", "full", "power", "relative", "tuned"}
        What it is shown as.
    literature : str
        What the literature calls it; your own weighting by its class and parameters.
    lam, alpha : float or None
        The weighting on all rows; alpha is None where it makes no difference, and both are None
        for your own weighting.
    risk : RiskEstimate
        Expected loss on the target, by outer folds that repeat the choice.
    change : Estimate or None
        Paired change against none; None for none itself, and where it is withheld.
    worth : float
        Effective number of rows under its weights.
    same_as : str or None
        Name of the candidate with the same weights that stands for this one in the comparison. Both
        fit the same model, and yet their risks differ: those are of the whole procedure.
    model : fitted estimator
        The candidate, fitted on all source rows.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> [candidate.name for candidate in verdict.candidates]
    ['none', 'full', 'power', 'relative', 'tuned']
    """

    name: str
    literature: str
    lam: float | None
    alpha: float | None
    risk: RiskEstimate
    change: Estimate | None
    worth: float
    same_as: str | None = None
    model: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON.

        Returns
        -------
        dict
            Without NaN: what is withheld is None.
        """
        estimate = self.risk.estimate
        return {
            "name": self.name,
            "literature": self.literature,
            "lam": self.lam,
            "alpha": self.alpha,
            "error": None if estimate is None else estimate.to_dict(),
            "change": None if self.change is None else self.change.to_dict(),
            "state": self.risk.state,
            "worth": self.worth,
            "same_as": self.same_as,
        }


@dataclass(frozen=True, repr=False)
class Verdict(Brief, Record):
    """Whether weighting is worth it, in a sentence, five answers and the numbers behind them.

    Parameters
    ----------
    sentence : str
        The answer in one line.
    use : str
        Name of the candidate to use: "tuned", or "none", which is just as good an answer.
    answers : tuple of Answer
        Shift, matters, overlap, weighting, expect.
    candidates : tuple of Candidate
        The weightings that were compared.
    measure : str
        What is measured.
    confidence : float
        Of the intervals.
    report : ShiftReport
        The diagnosis of the two samples.
    findings : tuple of Finding
        What to know, each with a remedy.
    model : fitted estimator
        The candidate to use, fitted on all source rows.
    constant : Candidate or None
        A guess that looks at no feature (the most frequent class, or the mean), assessed on the
        same rows and folds; None where nothing is estimated.
    worthwhile : float
        The smallest gain worth having, in units of the loss.
    otherwise : dict or None
        Where it may be the other kind of shift: that kind, and the loss to expect then, without
        weights ("none") and with those for that kind ("full").

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> verdict.weighting, verdict.use
    ('helps', 'tuned')
    """

    _first: ClassVar[tuple[str, ...]] = (
        *("use", "model", "expect", "answers"),
        *("candidates", "report", "findings", "to_dict"),
    )
    sentence: str
    use: str
    answers: tuple[Answer, ...]
    candidates: tuple[Candidate, ...]
    measure: str
    confidence: float
    report: ShiftReport
    findings: tuple[Finding, ...]
    model: Any
    constant: Candidate | None = None
    worthwhile: float = 0.0
    otherwise: dict[str, Any] | None = None
    # its words before they are sentences
    _judgement: Any = field(default=None, repr=False, compare=False)
    # what pictures are drawn from: the samples with their ratio and folds, and the diagnosis
    _problem: Any = field(default=None, repr=False, compare=False)
    _diagnosis: Any = field(default=None, repr=False, compare=False)
    # returns every metric asked for of some candidates
    _metrics: Any = field(default=None, repr=False, compare=False)
    # The held-out predictions of each candidate and of the constant, by name.
    _held_out: Any = field(default=None, repr=False, compare=False)

    def answer(self, question: str) -> Answer:
        """Return the answer to one question.

        Parameters
        ----------
        question : {"shift", "matters", "overlap", "weighting", "expect"}
            Which.

        Returns
        -------
        Answer
            The answer.
        """
        return next(each for each in self.answers if each.question == question)

    @property
    def shift(self) -> str:
        """Is there shift? none, slight, moderate, strong or almost complete."""
        return self.answer("shift").word

    @property
    def matters(self) -> str:
        """Will the unweighted model be worse in deployment? yes, no, cannot tell or unknown."""
        return self.answer("matters").word

    @property
    def overlap(self) -> str:
        """Do the training rows cover the deployment rows? enough, thin or broken."""
        return self.answer("overlap").word

    @property
    def weighting(self) -> str:
        """Does weighting help? helps, probably helps, no gain or unknown."""
        return self.answer("weighting").word

    @property
    def expect(self) -> Estimate | None:
        """Expected loss of the candidate to use (without shift that in training), or None."""
        risk = self.candidate(self.use).risk
        return risk.training if self.shift == "none" else risk.estimate

    @property
    def numbers(self) -> Numbers:
        """How losses and changes are written."""
        return numbers_of(self._expect())

    def candidate(self, name: str) -> Candidate:
        """Return one of the candidates.

        Parameters
        ----------
        name : str
            What it is shown as.

        Returns
        -------
        Candidate
            The candidate.
        """
        return next(each for each in self.candidates if each.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model, ready for JSON.

        Returns
        -------
        dict
            Without NaN or infinity: None stands for what is not known or withheld.
        """
        report = self.report.to_dict()
        return {
            "verdict": {
                "sentence": self.sentence,
                "use": self.use,
                "by_class": bool(self._judgement and self._judgement.mix),
                **{each.question: each.word for each in self.answers if each.question != "expect"},
            },
            "answers": [each.to_dict() for each in self.answers],
            "shift": report["shift"],
            "overlap": report["overlap"],
            "expect": {
                **self._expect(),
                "confidence": self.confidence,
                "constant": None if self.constant is None else self.constant.to_dict(),
                "worthwhile": self.worthwhile,
                "otherwise": self.otherwise,
                "withheld": "WB302" if self.overlap == "broken" else None,
                "covered": _covered(self.candidate("none").risk),
            },
            "findings": [each.to_dict() for each in self.findings],
        }

    def _expect(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "training": self.candidate("none").risk.training.value,
            "candidates": [each.to_dict() for each in self.candidates],
        }

    def __str__(self) -> str:
        parts = verdict_parts(self)
        answers = "\n".join(f"{each.before}{each.word}{each.after}" for each in parts.answers)
        findings = [
            fill(str(finding), 78, initial_indent="  ", subsequent_indent="    ")
            for finding in self.findings
        ]
        comparison = [parts.comparison] if parts.comparison else []
        return "\n\n".join([fill(self.sentence, 80), answers, *comparison, *findings])

    def _repr_html_(self) -> str:
        cards = [Card(*vars(each).values()) for each in self.answers]
        parts = verdict_parts(self)
        assumed = f"<p>Assumed: {escape(parts.answers[-1].after)}.</p>"
        body = f"{assumed}<pre>{escape(parts.comparison)}</pre>"
        return notebook_card(self.sentence, cards, body, self.findings)
