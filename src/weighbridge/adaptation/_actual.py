"""What the models truly lose in deployment, where the labels turn out to be known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from weighbridge._finding import Finding
from weighbridge.verdict import Verdict


def actual_errors(
    verdict: Verdict, X_target: Any, y_target: Any, scoring: str
) -> dict[str, float] | None:
    """Return the loss of every candidate on the deployment rows whose label is known.

    Parameters
    ----------
    verdict : Verdict
        With fitted candidates; it was made without these labels.
    X_target, y_target : data frame and array, or None
        Deployment rows and labels; None, or an empty one, is a row without.
    scoring : str
        The loss, by its scorer.

    Returns
    -------
    dict of str to float, or None
        By candidate; None without labels.
    """
    if y_target is None:
        return None
    known = np.array([each is not None and each == each for each in y_target.tolist()])
    if not known.any():
        return None
    scorer = get_scorer(scoring)
    rows, labels = X_target[known], y_target[known]
    # the share of right answers is at most 1, minus a loss at most 0
    best = 1.0 if scoring == "accuracy" else 0.0
    return {
        each.name: best - float(scorer(each.model, rows, labels)) for each in verdict.candidates
    }


def actual_findings(verdict: Verdict, actual: dict[str, float] | None) -> list[Finding]:
    """Say where the truth lies outside of what was expected of the model in use."""
    if actual is None:
        return []
    used = verdict.candidate(verdict.use)
    estimate, truth = used.risk.estimate, actual[used.name]
    if estimate is None or estimate.low <= truth <= estimate.high:
        return []
    numbers = verdict.numbers
    return [
        Finding(
            "WB604",
            "warning",
            f"The actual error, {numbers.value(truth)}, is outside the interval "
            f"{numbers.interval(estimate)}.",
            "Look for a change in how features relate to the label, which no weights see; or it is "
            f"one of the {100 - 100 * verdict.confidence:g} % of intervals that miss.",
        )
    ]
