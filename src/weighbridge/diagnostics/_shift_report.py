"""Everything a diagnosis found, in one object that can be printed, shown and stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any, ClassVar, Literal

from weighbridge._findings import (
    NAMED,
    Brief,
    Card,
    Estimate,
    Finding,
    Record,
    interval_text,
    notebook_card,
    overlap_evidence,
    percent,
    shift_evidence,
    signed,
)
from weighbridge._support import Support
from weighbridge.diagnostics._attribution import FeatureAttribution
from weighbridge.diagnostics._balance import BalanceTable, finite_or_none
from weighbridge.diagnostics._samples import in_a_sentence
from weighbridge.diagnostics._weights import WeightSummary
from weighbridge.label_shift import ShiftKind
from weighbridge.ratios import OverlapJudgement

# AUC below which a shift is slight, moderate, strong; an interval that reaches the first number
# is no shift worth mentioning.
NO_SHIFT = 0.52
# An interval that reaches beyond this as well says nothing: the rows are too few.
TOO_FEW = 0.60
_WORDS = ((0.60, "slight"), (0.75, "moderate"), (0.95, "strong"))
# A feature that tells the samples apart no better than this by itself is not named.
_NAMED = 0.52


def shift_word(auc: Estimate) -> str:
    """Return "none" if the 95 % interval of the AUC reaches 0.52, else a word for the AUC."""
    if _usual_interval(auc).low <= NO_SHIFT:
        return "none"
    return next((word for limit, word in _WORDS if auc.value < limit), "almost complete")


def _usual_interval(auc: Estimate) -> Estimate:
    """Return the AUC with its 95 % interval: no word depends on a confidence."""
    return Estimate.normal(auc.value, auc.standard_error, 0.95, (0.0, 1.0))


@dataclass(frozen=True, repr=False)
class ShiftReport(Brief, Record):
    """Whether there is a shift, where, and whether weights can correct it: what `diagnose` found.

    Parameters
    ----------
    n_source, n_target : int
        Numbers of rows.
    weighting : str
        The weighting behind `weights`, ``balance`` and ``auc_after``.
    auc, auc_after : Estimate
        AUC of the domain classifier before and after weighting; 1/2 is no difference.
    attribution : tuple of FeatureAttribution
        Where the shift is, feature by feature.
    balance : BalanceTable
        Means and variances before and after weighting.
    support : Support
        Target rows outside the source sample.
    full, weights : WeightSummary
        Effective rows and tail of the full ratio, and of the weights that are used.
    mean_ratio : Estimate
        Mean of the full ratio over the source rows; 1 for the true ratio.
    label_shift : ShiftKind or None
        Whether class frequencies explain the shift, where labels were given; None also where more
        than a third of the target lies outside the source, which no class frequencies explain.
    overlap_judgement : OverlapJudgement
        Enough, thin or broken, and why.
    findings : tuple of Finding
        What to know, each with a remedy.

    Examples
    --------
    >>> from weighbridge import diagnose
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(1000, 1000, n_features=2, shift=1.0, random_state=0)
    >>> report = diagnose(data.X, data.X_target)
    >>> report.shift, report.overlap
    ('strong', 'enough')
    """

    _first: ClassVar[tuple[str, ...]] = (
        *("shift", "overlap", "auc", "attribution"),
        *("balance", "weights", "findings", "to_dict"),
    )
    n_source: int
    n_target: int
    weighting: str
    auc: Estimate
    auc_after: Estimate
    attribution: tuple[FeatureAttribution, ...]
    balance: BalanceTable
    support: Support
    full: WeightSummary
    weights: WeightSummary
    mean_ratio: Estimate
    label_shift: ShiftKind | None
    overlap_judgement: OverlapJudgement
    findings: tuple[Finding, ...]

    @property
    def shift(self) -> str:
        """One word for the size of the shift."""
        return shift_word(self.auc)

    @property
    def too_few(self) -> bool:
        """Whether the rows are too few to tell: the 95 % interval of the AUC is that wide."""
        return self.shift == "none" and _usual_interval(self.auc).high > TOO_FEW

    @property
    def overlap(self) -> Literal["enough", "thin", "broken"]:
        """One word for the overlap: enough, thin or broken."""
        return self.overlap_judgement.word

    @property
    def moved(self) -> list[str]:
        """Features that tell the samples apart by themselves, the most telling first."""
        telling = [each for each in self.attribution if each.alone > _NAMED]
        return [in_a_sentence(each.name) for each in sorted(telling, key=lambda each: -each.alone)]

    @property
    def sentence(self) -> str:
        """The answer in a few words."""
        if self.shift == "none":
            return "No shift found" + (", but the rows are too few to tell" * self.too_few)
        return f"Shift {self.shift}, overlap {self.overlap}"

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON.

        Returns
        -------
        dict
            Without NaN or infinity: None stands for what is not known.
        """
        return {
            "sentence": self.sentence,
            "shift": {
                "word": self.shift,
                "auc": self.auc.to_dict(),
                "auc_after": self.auc_after.to_dict(),
                "attribution": [each.to_dict() for each in self.attribution],
                "balance": self.balance.to_dict(),
                "label_shift": None if self.label_shift is None else self.label_shift.to_dict(),
            },
            "overlap": {
                "word": self.overlap,
                "reason": self.overlap_judgement.reason,
                "n_source": self.n_source,
                "n_target": self.n_target,
                "weighting": self.weighting,
                "outside": self.support.to_dict(),
                "full": self.full.to_dict(),
                "used": self.weights.to_dict(),
                "mean_ratio": {
                    name: finite_or_none(value) for name, value in self.mean_ratio.to_dict().items()
                },
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        parts = [self.sentence, "", *self._numbers(), "", str(self.balance), *self._notes()]
        return "\n".join(parts)

    def _numbers(self) -> list[str]:
        known = not math.isnan(self.full.pareto_k)
        tail = f"   tail index {self.full.pareto_k:.2f}" if known else ""
        lines = [
            f"  full ratio: {self.full.ess:,.0f} effective rows of {self.n_source:,}{tail}",
            f"  after weighting ({self.weighting}) AUC {interval_text(self.auc_after)}, "
            f"{self.weights.ess:,.0f} effective rows",
        ]
        if self.overlap == "broken":
            lines = ["  weights mean nothing here (WB302)"]
        return [
            f"  AUC {interval_text(self.auc)}",
            *lines,
            f"  {percent(self.support.share)} of the deployment rows lie outside the training data",
        ]

    def _notes(self) -> list[str]:
        notes = [
            fill(str(finding), 78, initial_indent="  ", subsequent_indent="    ")
            for finding in self.findings
        ]
        return ["", *notes] if notes else []

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(row.name)}</td><td>{signed(row.before)}</td>"
            f"<td>{'' if row.after is None else signed(row.after)}</td></tr>"
            for row in self.balance.largest(10)
        )
        evidence = overlap_evidence(self.overlap_judgement.reason, self.full.ess, self.n_source)
        cards = [
            Card("shift", self.shift, shift_evidence(self.auc, self.moved[:NAMED])),
            Card("overlap", self.overlap, evidence),
        ]
        table = (
            "<table><thead><tr><th>feature</th><th>difference before</th><th>after weighting</th>"
            f"</tr></thead><tbody>{rows}</tbody></table>"
        )
        return notebook_card(self.sentence, cards, table, self.findings)
