"""Labelled deployment rows that join the training rows: only if asked for, and clearly better."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from weighbridge._data import FloatArray
from weighbridge._findings import Estimate
from weighbridge._pass_weights import fit_with_weights
from weighbridge.adaptation._labels import class_codes
from weighbridge.criteria import RowLoss, respond
from weighbridge.target_risk import Sample, base_of, find_measure

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation
    from weighbridge.adaptation._inputs import Inputs
    from weighbridge.adaptation._labels import Labels

# As how many training rows a labelled deployment row may count.
_COUNTS = (1.0, 3.0, 10.0, 30.0)
_FOLDS = 5


class _Pool(NamedTuple):
    """Training rows and labelled deployment rows, with what a model is fitted and judged by."""

    estimator: Any
    X: Any
    y: np.ndarray
    weights: FloatArray
    loss: RowLoss
    classes: np.ndarray | None
    n_train: int

    def fitted(self, rows: np.ndarray, counts: float) -> Any:
        """Fit to training and to these labelled rows, each of which counts as so many."""
        chosen = np.r_[np.arange(self.n_train), self.n_train + rows]
        weights = self.weights * np.where(np.arange(self.weights.size) < self.n_train, 1, counts)
        X = self.X.iloc[chosen]
        return fit_with_weights(clone(self.estimator), X, self.y[chosen], weights[chosen])

    def losses(self, model: Any, rows: np.ndarray) -> FloatArray:
        """Return the losses of a model at labelled rows."""
        X, y = self.X.iloc[self.n_train + rows], self.y[self.n_train + rows]
        codes = y if self.classes is None else np.searchsorted(self.classes, y)
        return self.loss.loss(codes, respond(model, X, self.loss.response, self.classes))

    def left_out(self, counts: float, seed: int) -> FloatArray:
        """Return the losses at labelled rows by models that were fitted without them."""
        found = np.empty(self.weights.size - self.n_train)
        for kept, left in KFold(_FOLDS, shuffle=True, random_state=seed).split(found):
            found[left] = self.losses(self.fitted(kept, counts), left)
        return found


def pool_labels(found: Adaptation, inputs: Inputs, labels: Labels, scoring: str) -> Adaptation:
    """Refit the model with labelled deployment rows, where that is clearly better on such rows."""
    verdict, seed = found.verdict, found.settings.seed
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = class_codes(labels.values, classes)
    if measure.row_loss is None or known.sum() < 2 * _FOLDS:
        return replace(found, pooled={"counts": 0.0, "labels": int(known.sum()), "change": None})
    sample = Sample.drawn(labels.rows, labels.stands_for, known)
    pool = _pool(found, inputs, sample, codes[known], measure.row_loss, classes)
    before = pool.losses(verdict.model, np.arange(sample.rows.size))
    changes = {each: pool.left_out(each, seed) - before for each in _COUNTS}
    counts = min(changes, key=lambda each: float(sample.shares @ changes[each]))
    off = changes[counts]
    error = float(np.sqrt(sample.covariance(off)[0, 0]))
    change = Estimate.normal(float(sample.shares @ off), error, verdict.confidence)
    is_better = change.high < 0
    pooled = {"counts": counts * is_better, "labels": sample.rows.size, "change": change.to_dict()}
    if is_better:
        verdict = replace(verdict, model=pool.fitted(np.arange(sample.rows.size), counts))
    return replace(found, verdict=verdict, pooled=pooled)


def _pool(
    found: Adaptation,
    inputs: Inputs,
    sample: Sample,
    codes: np.ndarray,
    loss: RowLoss,
    classes: np.ndarray | None,
) -> _Pool:
    import pandas as pd

    own = inputs.pair.weight
    weights = found.weights if own is None else found.weights * own
    counted = sample.shares * sample.rows.size * weights.mean()  # rows of a design count as there
    return _Pool(
        base_of(found.verdict.model),
        pd.concat([inputs.X, inputs.X_target.iloc[sample.rows]]),
        np.concatenate([np.asarray(inputs.pair.y), codes if classes is None else classes[codes]]),
        np.concatenate([weights, counted]),
        loss,
        classes,
        len(inputs.X),
    )
