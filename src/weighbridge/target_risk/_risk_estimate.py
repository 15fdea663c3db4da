"""An expected loss with its interval, and how far both can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from weighbridge._estimators import is_estimated
from weighbridge._findings import ENOUGH, Estimate, Finding, OverlapJudgement, pareto_threshold
from weighbridge.target_risk._influence import Influence
from weighbridge.target_risk._problem import RiskProblem

GOOD, FLAGGED, WITHHELD = "good", "flagged", "withheld"


@dataclass(frozen=True, repr=False)
class RiskEstimate:
    """What a model is expected to lose on the target, estimated without target labels.

    Parameters
    ----------
    measure : str
        What is measured, e.g. "error" or "RMSE".
    method : str
        The method behind `value`.
    state : {"good", "flagged", "withheld"}
        Flagged: the weights hardly carry the interval. Withheld: there is no estimate, because the
        samples hardly overlap.
    estimate : Estimate or None
        The number with its interval; None where it is withheld.
    training : Estimate
        The same measure on held-out source rows, unweighted.
    by_method : dict of str to Estimate
        All methods that apply: their spread shows how much depends on the method.
    state_by_method : dict of str to str
        "good" or "flagged" for each of them.
    confidence : float
        Of the intervals.
    worth, n_rows : float, int
        Effective number and number of source rows.
    findings : tuple of Finding
        What to know about it.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.target_risk import estimate_risk
    >>> data = make_gaussian_shift(2000, 1000, random_state=0)
    >>> risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> risk.state, risk.value > risk.training.value  # worse where the data goes
    ('good', True)
    """

    measure: str
    method: str
    state: str
    estimate: Estimate | None
    training: Estimate
    by_method: dict[str, Estimate]
    state_by_method: dict[str, str]
    confidence: float
    worth: float
    n_rows: int
    findings: tuple[Finding, ...]

    @property
    def value(self) -> float:
        """The expected loss; NaN where it is withheld."""
        return float("nan") if self.estimate is None else self.estimate.value

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval; NaN where it is withheld."""
        if self.estimate is None:
            return float("nan"), float("nan")
        return self.estimate.low, self.estimate.high

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON.

        Returns
        -------
        dict
            Without NaN: what is withheld is None.
        """
        return {
            "measure": self.measure,
            "method": self.method,
            "state": self.state,
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "training": self.training.to_dict(),
            "by_method": {name: each.to_dict() for name, each in self.by_method.items()},
            "state_by_method": dict(self.state_by_method),
            "confidence": self.confidence,
            "worth": self.worth,
            "n_rows": self.n_rows,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        head = f"expected {self.measure} on the target"
        if self.estimate is None:
            lines = [f"{head}: withheld"]
        else:
            mark = "" if self.state == GOOD else f"  ({self.state})"
            lines = [f"{head}: {self.estimate}{mark}"]
        lines.append(f"  on training rows, held out: {self.training}")
        for name, each in self.by_method.items():
            mark = "" if self.state_by_method[name] == GOOD else "  (flagged)"
            lines.append(f"  {name:<14} {each}{mark}")
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class RiskComparison:
    """Two models on the same rows, and the change from one to the other.

    Parameters
    ----------
    baseline, other : RiskEstimate
        The two models.
    change : Estimate or None
        ``other - baseline``, paired: negative losses are gains. None where it is withheld.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.target_risk import compare_risks
    >>> data = make_quadratic(random_state=0)
    >>> plain = LinearRegression()
    >>> tuned = ImportanceWeightedCV(plain, random_state=0)
    >>> both = compare_risks(plain, tuned, data.X, data.y, data.X_target, random_state=0)
    >>> both.change.high < 0  # weighting helps, beyond its interval
    True
    """

    baseline: RiskEstimate
    other: RiskEstimate
    change: Estimate | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON.

        Returns
        -------
        dict
            Without NaN: what is withheld is None.
        """
        return {
            "baseline": self.baseline.to_dict(),
            "other": self.other.to_dict(),
            "change": None if self.change is None else self.change.to_dict(),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        change = "withheld" if self.change is None else str(self.change)
        return f"{self.baseline}\n{self.other}\nchange: {change}"


# Fewer rows of a sample, or effective ones, make every interval rough.
_FEW_ROWS, _FEW_EFFECTIVE = 50, 30
# Share of the variance that must come from the weighted rows for their tail to matter.
_CARRIED = 0.5
# Share of the rows that the ratio may cost before the model of the labels has to bend.
_SLIGHT = 0.7


def why_rough(
    influence: Influence, problem: RiskProblem, overlap: OverlapJudgement, lowest: float
) -> str:
    """Return in a few words why an interval is a rough figure; nothing where it is good."""
    return (
        why_few(problem, overlap)
        or _of_method(influence, problem)
        or _of_rows(influence, problem, lowest)
    )


def why_few(problem: RiskProblem, overlap: OverlapJudgement) -> str:
    """Return why there are too few rows for any method; nothing where there are enough."""
    if overlap.word != ENOUGH:
        return overlap.reason
    fewest = min(problem.rows.y.size, problem.n_target)
    if fewest < _FEW_ROWS:
        return f"one of the samples has {fewest} rows only"
    if problem.ess < _FEW_EFFECTIVE:
        return f"the full ratio is worth {problem.ess:.0f} rows only"
    return ""


def _of_method(influence: Influence, problem: RiskProblem) -> str:
    if influence.plain:
        return "it takes the ratio for known" if is_estimated(problem.ratio) else ""
    if problem.features.quadratic is None and problem.ess < _SLIGHT * problem.rows.y.size:
        return "there are too few rows for a model of the labels that bends"
    return ""


def _of_rows(influence: Influence, problem: RiskProblem, lowest: float) -> str:
    if influence.value <= lowest:
        return "the estimate cannot be told from the smallest value there is"
    if influence.of_source < _CARRIED * influence.variance or influence.variance == 0:
        return ""
    limit, tail = pareto_threshold(problem.rows.y.size), influence.tail_index
    if math.isnan(tail) or tail <= limit:
        return ""
    worth = f"worth {problem.ess:.0f} of {problem.rows.y.size:,} rows"
    return f"a few rows decide it (tail index {tail:.2f}, {worth})"
