"""The numbers and findings of a diagnosis, as one object that can be printed and stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

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
from weighbridge.diagnosis._attribution import FeatureAttribution
from weighbridge.diagnosis._balance import BalanceTable
from weighbridge.diagnosis._findings import in_a_sentence
from weighbridge.domain import Support
from weighbridge.label_shift import ShiftKind
from weighbridge.ratios import OverlapJudgement, effective_sample_size, pareto_k
from weighbridge.tables import check_weights

# There is no shift if the interval of the AUC reaches down to this.
NO_SHIFT_AUC = 0.52
# If it also reaches up to this, the rows are too few to say so.
TOO_FEW_AUC = 0.60
# The word for an AUC below each limit.
_WORDS = ((0.60, "slight"), (0.75, "moderate"), (0.95, "strong"), (math.inf, "almost complete"))


def shift_size(auc: Estimate) -> str:
    """Return "none" if the 95 % interval reaches down to 0.52, else the word for the AUC."""
    # No word depends on the confidence that was asked for.
    if Estimate.normal(auc.value, auc.standard_error).low <= NO_SHIFT_AUC:
        return "none"
    return next(word for limit, word in _WORDS if auc.value < limit)


@dataclass(frozen=True, repr=False)
class WeightSummary(Record):
    """Effective sample size `ess` of `n_rows` weights, their concentration, and their tail.

    `rows_for_half` is the smallest number of rows that carry half of the total, and `largest_share`
    is the share of one row.
    """

    n_rows: int
    ess: float
    largest_share: float
    rows_for_half: int
    pareto_k: float

    def __str__(self) -> str:
        ess = f"{self.ess:,.0f}" if self.ess >= 100 else f"{self.ess:.1f}"
        tail = "" if math.isnan(self.pareto_k) else f"; tail index {self.pareto_k:.2f}"
        return (
            f"{ess} effective rows of {self.n_rows:,}, half of the weight on "
            f"{self.rows_for_half:,}, at most {percent(self.largest_share)} on one{tail}"
        )


def summarize_weights(weights: ArrayLike) -> WeightSummary:
    """Return the effective sample size of weights on any scale, with their tail."""
    scaled = check_weights(weights)
    carried = np.cumsum(np.sort(scaled)[::-1])
    return WeightSummary(
        n_rows=scaled.size,
        ess=effective_sample_size(scaled),
        largest_share=float(scaled.max() / scaled.sum()),
        # Rounding may leave the last sum a little off the total.
        rows_for_half=int(np.searchsorted(carried, carried[-1] / 2)) + 1,
        pareto_k=pareto_k(scaled),
    )


@dataclass(frozen=True, repr=False)
class ShiftReport(Brief, Record):
    """What `diagnose` returns: whether there is shift, where, and whether weights can correct it.

    Parameters
    ----------
    n_source, n_target : int
        Numbers of rows.
    weighting : str
        The weighting that ``weights``, ``balance`` and ``auc_after`` belong to.
    auc, auc_after : Estimate
        AUC of the domain classifier before and after weighting; 1/2 means no difference.
    attribution, balance : tuple of FeatureAttribution, and BalanceTable
        The shift by feature; see the guide and `balance_table`.
    support : Support
        Target rows outside the support of the source: ``share``, ``unseen_levels``.
    full, weights : WeightSummary
        Effective sample size ``ess``, concentration and tail of the full ratio and of the weights.
    mean_ratio : Estimate
        Mean of the full ratio over the source rows, which is 1 for the true ratio.
    label_shift : ShiftKind or None
        Whether class prevalence explains the shift. None without classes, and if more than a third
        of the target lies outside the source, which no class prevalence explains.
    overlap_judgement : OverlapJudgement
        ``word`` (enough, thin or broken) and ``reason``.
    findings : tuple of Finding
        ``code``, ``level``, ``message`` and ``help`` of what you should know.

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
        """The size of the shift: none, slight, moderate, strong or almost complete."""
        return shift_size(self.auc)

    @property
    def too_few(self) -> bool:
        """True if no shift was found because the interval of the AUC is too wide."""
        interval = Estimate.normal(self.auc.value, self.auc.standard_error)
        return self.shift == "none" and interval.high > TOO_FEW_AUC

    @property
    def overlap(self) -> str:
        """The overlap: enough, thin or broken."""
        return self.overlap_judgement.word

    @property
    def moved(self) -> list[str]:
        """Features that distinguish the samples by themselves, those with the largest AUC first."""
        moved = [feature for feature in self.attribution if feature.alone > NO_SHIFT_AUC]
        return [in_a_sentence(f.name) for f in sorted(moved, key=lambda f: -f.alone)]

    @property
    def sentence(self) -> str:
        """The answer in a few words."""
        if self.shift == "none":
            return "No shift found" + (", but the rows are too few to tell" * self.too_few)
        return f"Shift {self.shift}, overlap {self.overlap}"

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers for JSON, with None instead of NaN and infinity."""
        fields = super().to_dict()
        findings, judgement = fields.pop("findings"), fields.pop("overlap_judgement")
        names = ("auc", "auc_after", "attribution", "balance", "label_shift")
        shift = {"word": self.shift} | {name: fields.pop(name) for name in names}
        fields["outside"], fields["used"] = fields.pop("support"), fields.pop("weights")
        overlap = {"word": self.overlap, "reason": judgement["reason"]} | fields
        return {"sentence": self.sentence, "shift": shift, "overlap": overlap, "findings": findings}

    def __str__(self) -> str:
        k, share = self.full.pareto_k, percent(self.support.share)
        tail = "" if math.isnan(k) else f"   tail index {k:.2f}"
        lines = [
            f"  full ratio: {self.full.ess:,.0f} effective rows of {self.n_source:,}{tail}",
            f"  after weighting ({self.weighting}) AUC {interval_text(self.auc_after)}, "
            f"{self.weights.ess:,.0f} effective rows",
        ]
        if self.overlap == "broken":
            lines = ["  weights mean nothing here (WB302)"]
        lines += [f"  {share} of the deployment rows lie outside the training data", ""]
        lines += [str(self.balance), *([""] if self.findings else [])]
        lines += [fill(f"  {finding}", 78, subsequent_indent="    ") for finding in self.findings]
        return "\n".join([self.sentence, "", f"  AUC {interval_text(self.auc)}", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(row.name)}</td><td>{signed(row.before)}</td>"
            f"<td>{signed(row.after)}</td></tr>"
            for row in self.balance.largest(10)
        )
        evidence = overlap_evidence(self.overlap_judgement.reason, self.full.ess, self.n_source)
        cards = [
            Card("shift", self.shift, shift_evidence(self.auc, self.moved[:NAMED])),
            Card("overlap", self.overlap, evidence),
        ]
        heads = "<th>feature</th><th>difference before</th><th>after weighting</th>"
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return notebook_card(self.sentence, cards, table, self.findings)
