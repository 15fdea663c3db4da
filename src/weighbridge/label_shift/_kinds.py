"""Distinguish label shift from covariate shift by held-out rows, and fit the ratio for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import _num_samples

from weighbridge._findings import Record
from weighbridge.domain import CrossFittedDomain, DomainRows, Support
from weighbridge.label_shift._prevalence import ClassFrequencies, most_likely_prevalence
from weighbridge.label_shift._ratio import BINS, LabelRatio, coded_classes
from weighbridge.ratios import (
    OUTSIDE,
    fit_ratio,
    is_default,
    is_fitted,
    log_prior_odds,
    row_log_losses,
)

NONE, LABEL, COVARIATE, UNCLEAR = "none", "label", "covariate", "unclear"
AUTO = "auto"
# Limits in standard errors of the log loss, chosen by simulated problems and by development tasks
# of the natural suite. Label shift: the smallest gain of class frequencies over chance, their
# largest loss to the best alternative, and the most that an alternative may add to them.
MIN_LABEL_GAIN, MAX_TIE, MAX_ADDED = 3.0, 0.5, 2.5
# Covariate shift: the smallest gains of the alternative over class frequencies and over chance,
# and the largest share of the latter that class frequencies have.
MIN_LOSS, MIN_ALTERNATIVE_GAIN, MAX_GAIN_SHARE = 1.5, 2.0, 0.95
# Any larger gain is unclear, and no shift otherwise.
MIN_GAIN = 1.0
# Inverse penalty of the alternative that is tilted along the scores of the classes.
TILT_C = 10.0


@dataclass(frozen=True, repr=False)
class ShiftKind(Record):
    """Which kind of shift it is, from `kind_of_shift`.

    Parameters
    ----------
    kind : str
        "label" (the class frequencies changed, and the rows of a class look as before), "covariate"
        (the features changed in another way), "unclear" (the rows do not show which), or "none".
    frequencies : ClassFrequencies
        Class frequencies of both samples, if it is label shift; see `LabelRatio`.
    gain : float
        How much better class frequencies distinguish held-out rows of the two samples than chance,
        in standard errors of the log loss.
    against : float
        How much better the best alternative is than class frequencies, in the same unit.
    rival : str
        That alternative: "ratio", "linear", "trees", "both" (their mean), or "score" (the features
        changed along the scores that distinguish the classes).

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import kind_of_shift
    >>> y = np.repeat([0, 1], 600)
    >>> X = np.random.default_rng(0).normal(size=(1200, 2)) + 2 * y[:, None]
    >>> print(kind_of_shift(X[::2], y[::2], X[401::2]))
    The mix of classes changed (1: 50 % to 75 %), not how the rows of a class look.
    """

    kind: str
    frequencies: ClassFrequencies
    gain: float
    against: float
    rival: str

    def __str__(self) -> str:
        return {
            LABEL: f"The mix of classes changed ({self.frequencies.change}), not how the rows of a "
            "class look.",
            COVARIATE: "The features changed, and not by the mix of classes alone.",
            UNCLEAR: "The rows do not show whether the mix of classes changed or the features did.",
            NONE: "No shift found.",
        }[self.kind]


def kind_of_shift(
    X: ArrayLike,
    y: ArrayLike,
    X_target: ArrayLike,
    *,
    ratio: BaseEstimator | None = None,
    classifier: BaseEstimator | None = None,
    cv: int = 5,
    random_state: int | np.random.RandomState | None = 0,
) -> ShiftKind:
    """Distinguish label shift from covariate shift, as far as features alone can.

    Parameters
    ----------
    X, y, X_target
        Source rows, their classes, and target rows, as in `LabelRatio.fit`.
    ratio : fitted AutoRatio, optional
        Default: fitted here.
    classifier, cv, random_state
        As in `LabelRatio`.

    Returns
    -------
    ShiftKind
        The kind, the class frequencies, and the evidence.

    Notes
    -----
    Under label shift, the ratio is ``r(x) = sum_c (q_c / p_c) P(c | x)``: one number per class. On
    held-out rows, it is compared with ratios of any form (by the log loss of distinguishing the
    samples, paired by row): the estimated ratio, a linear and a tree model, and a tilt along the
    scores of the classes. It is label shift if no alternative is better, and class frequencies beat
    chance by three standard errors. Only target labels show whether P(y | x) has changed otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import kind_of_shift
    >>> rng = np.random.default_rng(0)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.1
    >>> X, X_target = (rng.normal(2.0 * labels)[:, None] for labels in (y, y_target))
    >>> kind_of_shift(X, y, X_target).kind, kind_of_shift(X, y, X[X[:, 0] > 0.5]).kind
    ('label', 'covariate')
    """
    coded_classes(y, _num_samples(X))  # LabelRatio would accept numbers.
    label_ratio = LabelRatio(classifier=classifier, cv=cv, random_state=random_state)
    label_ratio.fit(X, y, X_target)
    if ratio is None or not is_fitted(ratio):
        ratio = fit_ratio(X, X_target, ratio)
    domain = CrossFittedDomain(DomainRows(X, X_target, random_state=random_state))
    return judge_kind(label_ratio, ratio, X, X_target, domain)


def check_shift(shift: str) -> None:
    """Raise ValueError unless `shift` is a kind of shift, or "auto"."""
    if shift not in (COVARIATE, LABEL, AUTO):
        raise ValueError(f"Got shift={shift!r}, but expected {COVARIATE!r}, {LABEL!r} or {AUTO!r}.")


class ByKind(NamedTuple):
    """The ratio for a kind of shift and, if it was judged, the kind, the other ratio, the folds."""

    ratio: BaseEstimator
    kind: ShiftKind | None = None
    other: BaseEstimator | None = None
    domain: CrossFittedDomain | None = None


def fit_by_kind(
    shift: str,
    X: ArrayLike,
    y: ArrayLike,
    X_target: ArrayLike,
    *,
    numbers: bool = False,
    support: Support | None = None,
    step: Callable[[], object] | None = None,
) -> ByKind:
    """Fit the ratio for a kind of shift, or for the kind that held-out rows show."""
    if shift == LABEL:
        return ByKind(LabelRatio(bins=BINS if numbers else None).fit(X, y, X_target))
    ratio = fit_ratio(X, X_target)
    if step is not None:
        step()
    # Label shift keeps the support.
    if support is not None and support.share > OUTSIDE:
        return ByKind(ratio)
    try:
        coded_classes(y, _num_samples(X))
    except ValueError:  # The labels are not classes, or a class has too few rows to hold out.
        return ByKind(ratio)
    label_ratio = LabelRatio().fit(X, y, X_target)
    domain = CrossFittedDomain(DomainRows(X, X_target, random_state=0))
    kind = judge_kind(label_ratio, ratio, X, X_target, domain)
    if kind.kind == LABEL:
        return ByKind(label_ratio, kind, ratio, domain)
    return ByKind(ratio, kind, label_ratio, domain)


def ratio_by_kind(model: Any, X: ArrayLike, X_target: Any, y: ArrayLike) -> ByKind | None:
    """Fit the ratio of a model for its `shift`; return None if it is a ratio of the features."""
    check_shift(model.shift)
    is_free = is_default(model.ratio) and X_target is not None
    has_classes = is_classifier(model.estimator)
    if is_free and (model.shift == LABEL or (model.shift == AUTO and has_classes)):
        return fit_by_kind(model.shift, X, y, X_target, numbers=not has_classes)
    if model.shift == LABEL:
        raise ValueError(
            "Got shift='label', which needs X_target and no other ratio; for another ratio in the "
            "label pass ratio=LabelRatio(...) and leave shift out."
        )
    return None


def judge_kind(
    label_ratio: LabelRatio,
    ratio: BaseEstimator,
    X: ArrayLike,
    X_target: ArrayLike,
    domain: CrossFittedDomain,
) -> ShiftKind:
    """Return the kind of shift, by the held-out rows of a domain classifier's folds."""
    rows, codes = domain.rows, domain.rows.codes
    implied, tilted = _class_log_ratios(label_ratio, rows)
    alternatives = {"linear": domain.linear, "trees": domain.trees, "both": domain.log_odds}
    alternatives["score"] = tilted
    if hasattr(ratio, "held_out_scores"):
        scores = [ratio.held_out_scores(sample) for sample in (X, X_target)]
        alternatives["ratio"] = np.concatenate(scores)[rows.indices]
    offset = log_prior_odds(codes)
    losses = {name: row_log_losses(s + offset, codes) for name, s in alternatives.items()}
    best = min(losses, key=lambda name: float(losses[name].mean()))
    chance = row_log_losses(np.full(codes.size, offset), codes)
    gains = chance - row_log_losses(implied + offset, codes)
    best_gains = chance - losses[best]
    gain, against = _in_errors(gains), _in_errors(best_gains - gains)
    added = max(_score_test(scores, implied, codes) for scores in alternatives.values())
    share = float(gains.sum() / max(best_gains.sum(), 1e-300))
    kind = _kind(gain, against, added, _in_errors(best_gains), share)
    return ShiftKind(kind, label_ratio.frequencies_, gain, against, best)


def _kind(gain: float, against: float, added: float, best_gain: float, share: float) -> str:
    if against > MIN_LOSS and best_gain > MIN_ALTERNATIVE_GAIN and share < MAX_GAIN_SHARE:
        return COVARIATE
    if gain > MIN_LABEL_GAIN and against < MAX_TIE and added < MAX_ADDED:
        return LABEL
    return UNCLEAR if max(gain, best_gain) > MIN_GAIN else NONE


def _class_log_ratios(ratio: LabelRatio, rows: DomainRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out log ratios by class frequencies, and by a tilt along class scores."""
    fitted, codes = ratio.probabilities_, rows.codes
    probabilities = np.vstack([fitted.source, fitted.target])[rows.indices]
    scores = np.log(probabilities[:, 1:] / probabilities[:, :1])
    scores = StandardScaler().fit_transform(scores)
    implied, tilted = np.empty(codes.size), np.empty(codes.size)
    for train, test in rows.folds:
        q = most_likely_prevalence(probabilities[train][codes[train] == 1], fitted.priors)
        implied[test] = np.log(probabilities[test] @ (q / fitted.priors))
        tilt = LogisticRegression(C=TILT_C).fit(scores[train], codes[train])
        tilted[test] = tilt.decision_function(scores[test]) - log_prior_odds(codes)
    return implied, tilted


def _score_test(other: np.ndarray, implied: np.ndarray, codes: np.ndarray) -> float:
    """Return the score statistic of a mixture of the implied log ratio with another one."""
    probability = expit(implied + log_prior_odds(codes))
    difference = other - implied
    difference -= np.average(difference, weights=probability * (1 - probability))
    scores = (codes - probability) * difference
    size = float(np.linalg.norm(scores))
    return float(scores.sum()) / size if size else 0.0


def _in_errors(differences: np.ndarray) -> float:
    """Return the mean of differences in standard errors."""
    error = float(differences.std()) / math.sqrt(differences.size)
    return float(differences.mean()) / error if error else 0.0
