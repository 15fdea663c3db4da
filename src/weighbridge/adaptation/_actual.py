"""What the models truly lose in deployment, where the labels turn out to be known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from weighbridge._findings import Finding
from weighbridge._tables import as_word
from weighbridge.criteria._row_loss import respond
from weighbridge.target_risk._measure import find_measure
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
        Deployment rows and labels; a row without one, or with a class that no training row has,
        does not count.
    scoring : str
        The loss, by its scorer.

    Returns
    -------
    dict of str to float, or None
        By candidate; None without labels.
    """
    if y_target is None:
        return None
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    labels, known = _codes(y_target, classes)
    loss = measure.row_loss
    if loss is None or not known.any():
        return None
    rows, labels = X_target[known], labels[known]
    found = {}
    for each in verdict.candidates:
        mean = float(loss.loss(labels, respond(each.model, rows, loss.response, classes)).mean())
        found[each.name] = math.sqrt(mean) if measure.root else mean
    return found


def _codes(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers of their class, and which of them the model can know at all.

    A class is known by how it is written, since a column with a single odd value is read as text.
    """
    if classes is None:
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers, np.isfinite(numbers)
    numbers_of = {as_word(each): code for code, each in enumerate(classes.tolist())}
    codes = np.array([numbers_of.get(as_word(each), -1) for each in labels.tolist()])
    return codes, codes >= 0


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
