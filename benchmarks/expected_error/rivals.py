"""Other ways to guess the error on unlabelled rows, short versions written from their papers.

Each takes the reference's losses or scores, and what the model says there and at the target rows.
CBPE (NannyML): the mean of calibrated confidences. PAPE (Bialek et al. 2024): the same, calibrated
on reference rows weighted by a boosted ratio. DoC (Guillory et al. 2021): the reference error plus
the change of the mean confidence. ATC (Garg et al. 2022): the share of target rows less confident
than a threshold that as many reference rows miss as were wrong. DLE (NannyML): a boosted model of
the loss, by features and prediction. `weighted` is the mean loss under the boosted ratio.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.natural.decompose import target_share


def boosted_ratio(X, X_target):
    """Return the ratio at the rows of X, by a boosted and cross-fitted classifier of the sample."""
    share = target_share(X, X_target, 0)[: len(X)]
    return share / (1 - share)


def calibrated(scores, hits, scores_target, weights=None):
    """Return isotonic frequencies of hits at the target's scores."""
    line = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    return line.fit(scores, hits, sample_weight=weights).predict(scores_target)


def errors(draw, said, weights):
    """Return guesses of the share of errors, by method."""
    y, (at_source, at_target) = draw.reference[1], said
    wrong = (at_source.argmax(axis=1) != y).astype(float)
    doubt, doubt_target = 1 - at_source.max(axis=1), 1 - at_target.max(axis=1)
    threshold = np.quantile(doubt, 1 - wrong.mean())
    return {
        "reference": wrong.mean(),
        "weighted": np.average(wrong, weights=weights),
        "DoC": wrong.mean() + doubt_target.mean() - doubt.mean(),
        "ATC": np.mean(doubt_target > threshold),
        "CBPE": calibrated(doubt, wrong, doubt_target).mean(),
        "PAPE": calibrated(doubt, wrong, doubt_target, weights).mean(),
        "DLE": loss_model(draw, said, wrong).mean(),
    }


def brier(draw, said, weights):
    """Return guesses of the Brier score of two classes."""
    y, (at_source, at_target) = draw.reference[1], said
    losses = (y - at_source[:, 1]) ** 2
    out = {"reference": losses.mean(), "weighted": np.average(losses, weights=weights)}
    for name, each in (("CBPE", None), ("PAPE", weights)):
        chance = calibrated(at_source[:, 1], y, at_target[:, 1], each)
        out[name] = np.mean(
            chance * (1 - at_target[:, 1]) ** 2 + (1 - chance) * at_target[:, 1] ** 2
        )
    return out | {"DLE": loss_model(draw, said, losses).mean()}


def metrics(draw, said, weights):
    """Return guesses of AUC and F1 of two classes: labels are replaced by calibrated chances."""
    y, (at_source, at_target) = draw.reference[1], said
    found = {"AUC": {}, "F1": {}}
    for name, each in (("reference", None), ("weighted", weights)):
        _both(found, name, y, at_source[:, 1], each)
    for name, each in (("CBPE", None), ("PAPE", weights)):
        chance = calibrated(at_source[:, 1], y, at_target[:, 1], each)
        labels = np.repeat([1, 0], len(chance))
        _both(found, name, labels, np.tile(at_target[:, 1], 2), np.append(chance, 1 - chance))
    return found


def _both(found, name, y, score, weights):
    found["AUC"][name] = roc_auc_score(y, score, sample_weight=weights)
    found["F1"][name] = f1_score(y, score > 0.5, sample_weight=weights)


def squares(draw, said, weights):
    """Return guesses of the root mean squared error."""
    losses = (draw.reference[1] - said[0]) ** 2
    means = {
        "reference": losses.mean(),
        "weighted": np.average(losses, weights=weights),
        "DLE": loss_model(draw, said, losses).mean(),
    }
    return {name: np.sqrt(max(each, 0)) for name, each in means.items()}


def loss_model(draw, said, losses):
    """Return the loss at the target rows that a boosted model of it expects."""
    tables = [
        np.column_stack([X, each])
        for X, each in zip((draw.reference[0], draw.target[0]), said, strict=True)
    ]
    model = HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.08, max_leaf_nodes=8, random_state=0
    )
    return model.fit(tables[0], losses).predict(tables[1])
