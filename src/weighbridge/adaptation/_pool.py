"""Labelled deployment rows that join the training rows: only if asked for, and clearly better."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from weighbridge._findings import Estimate
from weighbridge._pass_weights import fit_with_weights
from weighbridge.adaptation._labels import class_codes
from weighbridge.criteria import respond
from weighbridge.target_risk import Sample, base_of, find_measure

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation
    from weighbridge.adaptation._inputs import Inputs
    from weighbridge.adaptation._labels import Labels

# As how many training rows a labelled deployment row may count.
_COUNTS = (1.0, 3.0, 10.0, 30.0)
_FOLDS = 5


def pool_labels(found: Adaptation, inputs: Inputs, labels: Labels, scoring: str) -> Adaptation:
    """Refit the model with labelled deployment rows, where that is clearly better on such rows."""
    verdict, pair = found.verdict, inputs.pair
    loss = find_measure(scoring, None, verdict.model).row_loss
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = class_codes(labels.values, classes)
    codes, n = codes[known], int(known.sum())
    if loss is None or n < 2 * _FOLDS:
        return replace(found, pooled={"counts": 0.0, "labels": n, "change": None})
    sample = Sample.drawn(labels.rows, labels.stands_for, known)
    weights = found.weights if pair.weight is None else found.weights * pair.weight
    X, y = inputs.X_target.iloc[sample.rows], codes if classes is None else classes[codes]

    def fitted(rows: np.ndarray, counts: float) -> Any:
        return fit_with_weights(
            clone(base_of(verdict.model)),
            pd.concat([inputs.X, X.iloc[rows]]),
            np.concatenate([np.asarray(pair.y), y[rows]]),
            np.concatenate([weights, counts * weights.mean() * n * sample.shares[rows]]),
        )

    def losses(model: Any, rows: np.ndarray) -> np.ndarray:
        return loss.loss(codes[rows], respond(model, X.iloc[rows], loss.response, classes))

    def left_out(counts: float) -> np.ndarray:
        off = np.empty(n)
        for kept, left in KFold(_FOLDS, shuffle=True, random_state=found.settings.seed).split(off):
            off[left] = losses(fitted(kept, counts), left)
        return off

    before = losses(verdict.model, np.arange(n))
    changes = {counts: left_out(counts) - before for counts in _COUNTS}
    counts = min(changes, key=lambda each: float(sample.shares @ changes[each]))
    error = float(np.sqrt(sample.covariance(changes[counts])[0][0, 0]))
    value = float(sample.shares @ changes[counts])
    # the best of several counts looks better than it is
    confidence = 1 - (1 - verdict.confidence) / len(_COUNTS)
    change = Estimate.normal(value, error, confidence)
    pooled = {"counts": counts * (change.high < 0), "labels": n, "change": change.to_dict()}
    if pooled["counts"]:
        verdict = replace(verdict, model=fitted(np.arange(n), counts))
    return replace(found, verdict=verdict, pooled=pooled)
