"""An expected loss with its interval, and how far both can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge._findings import Estimate, Finding, Record, percent

GOOD, FLAGGED, WITHHELD = "good", "flagged", "withheld"


@dataclass(frozen=True, repr=False)
class RiskEstimate(Record):
    """What a model is expected to lose on the target, estimated without target labels.

    Parameters
    ----------
    measure : str
        What is measured, e.g. "error" or "RMSE".
    method : str
        The method behind `value`.
    state : {"good", "flagged", "withheld"}
        Flagged: the weights hardly support the interval. Withheld: there is no estimate, since
        the samples hardly overlap.
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
    covered, covered_share : RiskEstimate or None, float or None
        Where it is withheld: the same for the target rows in the source's support, and their
        share; `covered` is None if they are fewer than 50, under a tenth, or overlap too little.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.target_risk import estimate_risk
    >>> data = make_gaussian_shift(2000, 1000, random_state=0)
    >>> risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> risk.state, risk.value > risk.training.value  # worse on the target
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
    covered: RiskEstimate | None = None
    covered_share: float | None = None

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

    def __str__(self) -> str:
        head = f"expected {self.measure} on the target"
        if self.estimate is None:
            lines = [f"{head}: withheld"]
            if self.covered is not None and self.covered.estimate is not None:
                share = percent(self.covered_share)
                lines.append(f"  on the {share} that the source covers: {self.covered.estimate}")
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
class RiskComparison(Record):
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
    >>> both.change.high < 0  # weighting helps: 0 is not in the interval
    True
    """

    baseline: RiskEstimate
    other: RiskEstimate
    change: Estimate | None

    def __str__(self) -> str:
        change = "withheld" if self.change is None else str(self.change)
        return f"{self.baseline}\n{self.other}\nchange: {change}"
