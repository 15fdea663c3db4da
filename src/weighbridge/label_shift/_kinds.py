"""Which kind of shift it is: held-out rows decide between two explanations of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import _num_samples

from weighbridge._findings import Record
from weighbridge.domain import CrossFittedDomain, DomainRows, Support
from weighbridge.label_shift._chances import coded_classes
from weighbridge.label_shift._frequencies import ClassFrequencies, most_likely
from weighbridge.label_shift._ratio import BINS, LabelRatio
from weighbridge.ratios import (
    OUTSIDE,
    fit_ratio,
    is_default,
    is_fitted,
    log_prior_odds,
    row_log_losses,
)
from weighbridge.tables import FloatArray

NONE, LABEL, COVARIATE, UNCLEAR = "none", "label", "covariate", "unclear"
AUTO = "auto"
# Standard errors by which class frequencies must tell the samples apart to be what changed; by
# which they are beaten where it is something else; by which anything must tell them apart then;
# and by which it does so where there may be something. By simulated problems and by tasks of the
# choosing half of the natural suite.
_FOUND, _BEATEN, _SEEN, _HINT = 3.0, 1.5, 2.0, 1.0
# How surely a rival may still add to class frequencies where these are what changed, and the part
# of the best explanation that they may not have where it is something else.
_LEFT, _MOST = 2.5, 0.95
# A free ratio may be as good: by less than this it is no better.
_TIED = 0.5
# Inverse penalty of the rival that is tilted along the scores of the classes.
_TILT = 10.0


@dataclass(frozen=True, repr=False)
class ShiftKind(Record):
    """Which kind of shift it is, as `kind_of_shift` finds it.

    Parameters
    ----------
    kind : str
        "label" (the mix of classes changed, not how the rows of a class look), "covariate" (the
        features changed in another way), "unclear" (the rows do not tell which), or "none".
    frequencies : ClassFrequencies
        Of the classes, if it is label shift.
    gain : float
        How much better class frequencies tell held-out rows of the two samples apart than a coin
        toss, in standard errors of the log loss.
    against : float
        How much better the best other explanation does than class frequencies, in the same unit;
        negative where these do better.
    rival : str
        That other explanation: "ratio", "linear", "trees", "both" (their mean), or "score" (the
        features changed along the very scores that tell the classes apart).

    Examples
    --------
    >>> from weighbridge.label_shift import ClassFrequencies, ShiftKind
    >>> mix = ClassFrequencies(("no", "yes"), (0.61, 0.39), (0.39, 0.61), (0.3, 0.5), (0.5, 0.7))
    >>> print(ShiftKind("label", mix, 7.1, -2.3, "score"))
    The mix of classes changed (yes: 39 % to 61 %), not how the rows of a class look.
    """

    kind: str
    frequencies: ClassFrequencies
    gain: float
    against: float
    rival: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            All fields; None for NaN.
        """
        return super().to_dict() | {"frequencies": self.frequencies.to_dict()}

    def __str__(self) -> str:
        if self.kind == LABEL:
            mix = f"The mix of classes changed ({self.frequencies.change})"
            return f"{mix}, not how the rows of a class look."
        return {
            COVARIATE: "The features changed, and not by the mix of classes alone.",
            UNCLEAR: "The rows do not show whether the mix of classes changed or the features did.",
            NONE: "No shift found.",
        }[self.kind]


def kind_of_shift(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    classifier: Any = None,
    cv: int = 5,
    random_state: Any = 0,
) -> ShiftKind:
    """Tell label shift from covariate shift, as far as features alone can.

    Parameters
    ----------
    X, y, X_target, classifier, cv, random_state
        As in `class_frequencies`.
    ratio : fitted AutoRatio, optional
        Default: fitted here.

    Returns
    -------
    ShiftKind
        The kind, the frequencies of the classes, and the evidence.

    Notes
    -----
    Under label shift the ratio is ``r(x) = sum_c (q_c / p_c) P(c | x)``: one number per class. On
    held-out rows it is compared with ratios that are free to be anything (by the log loss of
    telling the samples apart, paired by row): the estimated ratio, a linear and a tree model, and,
    the hardest rival, a tilt along the scores of the classes themselves. Label shift is what
    remains if no rival does better and class frequencies beat a coin toss by three standard errors.
    Only target labels can tell whether the relation between features and label has changed.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import kind_of_shift
    >>> rng = np.random.default_rng(0)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.1
    >>> X, X_target = (rng.normal(2.0 * part)[:, None] for part in (y, y_target))
    >>> kind_of_shift(X, y, X_target).kind
    'label'
    >>> other = X[rng.choice(1000, 1000, p=np.exp(-X[:, 0]) / np.exp(-X[:, 0]).sum())]
    >>> kind_of_shift(X, y, other).kind
    'covariate'
    """
    coded_classes(y, _num_samples(X))  # numbers are no classes
    label_ratio = LabelRatio(classifier=classifier, cv=cv, random_state=random_state)
    label_ratio.fit(X, y, X_target)
    if ratio is None or not is_fitted(ratio):
        ratio = fit_ratio(X, X_target, ratio)
    domain = CrossFittedDomain(DomainRows(X, X_target, random_state=random_state))
    return judge_kind(label_ratio, ratio, X, X_target, domain)


def check_shift(shift: Any) -> None:
    """Refuse a kind of shift that does not exist."""
    if shift not in (COVARIATE, LABEL, AUTO):
        raise ValueError(f"Got shift={shift!r}, but expected {COVARIATE!r}, {LABEL!r} or {AUTO!r}.")


class Seen(NamedTuple):
    """What two samples were looked at by already: others need not do it again."""

    support: Support | None = None
    domain: CrossFittedDomain | None = None


class ByKind(NamedTuple):
    """The ratio for the kind of shift, what was found of it, the other ratio, and what was seen."""

    ratio: Any
    kind: ShiftKind | None = None
    other: Any = None
    seen: Seen = Seen()


def fit_by_kind(
    shift: str,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    numbers: bool = False,
    seen: Seen = Seen(),  # noqa: B008
    step: Callable[[], object] | None = None,
) -> ByKind:
    """Fit the ratio for the kind of shift that was asked for, or that held-out rows tell."""
    if shift == LABEL:
        ratio = LabelRatio(bins=BINS if numbers else None).fit(X, y, X_target)
        return ByKind(ratio, seen=seen)
    ratio = fit_ratio(X, X_target)
    if step is not None:
        step()
    # another mix of classes puts no row where none was: nothing needs to be fitted to tell
    if seen.support is not None and seen.support.share > OUTSIDE:
        return ByKind(ratio, seen=seen)
    try:
        coded_classes(y, _num_samples(X))
    except ValueError:  # too few rows of a class to hold out: nothing can be told
        return ByKind(ratio, seen=seen)
    label_ratio = LabelRatio().fit(X, y, X_target)
    domain = CrossFittedDomain(DomainRows(X, X_target, random_state=0))
    found = judge_kind(label_ratio, ratio, X, X_target, domain)
    if found.kind == LABEL:
        return ByKind(label_ratio, found, ratio, seen._replace(domain=domain))
    return ByKind(ratio, found, label_ratio, seen._replace(domain=domain))


def ratio_by_kind(model: Any, X: Any, X_target: Any, y: Any) -> ByKind | None:
    """Fit the ratio of a model for the kind of shift it is told or finds; None if by features."""
    check_shift(model.shift)
    free = is_default(model.ratio) and X_target is not None
    if model.shift == LABEL and not free:
        raise ValueError(
            "Got shift='label', which needs X_target and no other ratio; for another ratio in the "
            "label pass ratio=LabelRatio(...) and leave shift out."
        )
    if free and (model.shift == LABEL or (model.shift == AUTO and is_classifier(model.estimator))):
        numbers = not is_classifier(model.estimator)
        return fit_by_kind(model.shift, X, y, X_target, numbers=numbers)
    return None


def judge_kind(
    label_ratio: LabelRatio, ratio: Any, X: Any, X_target: Any, domain: CrossFittedDomain
) -> ShiftKind:
    """Return the kind of shift, by the held-out rows of a domain classifier's folds."""
    rows, codes = domain.rows, domain.rows.codes
    chances = np.vstack([label_ratio._chances.source, label_ratio._chances.target])[rows.indices]
    implied, tilted = _along_classes(chances, codes, rows.folds, label_ratio._chances.priors)
    rivals = {"linear": domain.linear, "trees": domain.trees, "both": domain.log_odds}
    rivals["score"] = tilted
    if hasattr(ratio, "held_out_scores"):
        at = [ratio.held_out_scores(part) for part in (X, X_target)]
        rivals["ratio"] = np.concatenate(at)[rows.indices]
    losses = {name: _log_losses(each, codes) for name, each in rivals.items()}
    rival = min(losses, key=lambda name: float(losses[name].mean()))
    own, none = _log_losses(implied, codes), _log_losses(np.zeros(codes.size), codes)
    gain, against = _in_errors(none - own), _in_errors(own - losses[rival])
    left = max(_adds(each, implied, codes) for each in rivals.values())
    by_rival = none - losses[rival]
    share = float((none - own).sum() / max(by_rival.sum(), 1e-300))
    kind = _kind(gain, against, left, _in_errors(by_rival), share)
    return ShiftKind(kind, label_ratio.frequencies_, gain, against, rival)


def _kind(gain: float, against: float, left: float, rivals_gain: float, share: float) -> str:
    if against > _BEATEN and rivals_gain > _SEEN and share < _MOST:
        return COVARIATE
    if gain > _FOUND and against < _TIED and left < _LEFT:
        return LABEL
    return UNCLEAR if max(gain, rivals_gain) > _HINT else NONE


def _along_classes(
    chances: FloatArray,
    codes: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    priors: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return two log ratios, held out: by frequencies of classes, and a tilt along their scores."""
    scores = np.log(chances[:, 1:] / chances[:, :1])
    scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-12)
    implied, tilted = np.empty(codes.size), np.empty(codes.size)
    odds = log_prior_odds(codes)
    for train, test in folds:
        found = most_likely(chances[train][codes[train] == 1], priors)
        implied[test] = np.log(chances[test] @ (found / priors))
        line = LogisticRegression(C=_TILT).fit(scores[train], codes[train])
        tilted[test] = line.decision_function(scores[test]) - odds
    return implied, tilted


def _log_losses(log_ratio: FloatArray, codes: np.ndarray) -> FloatArray:
    """Return the log loss of telling the samples apart, row by row."""
    return row_log_losses(log_ratio + log_prior_odds(codes), codes)


def _adds(other: FloatArray, implied: FloatArray, codes: np.ndarray) -> float:
    """Return how surely another log ratio adds to the implied one, by the score of its share."""
    chance = expit(implied + log_prior_odds(codes))
    apart = other - implied
    apart = apart - np.average(apart, weights=chance * (1 - chance))
    scores = (codes - chance) * apart
    size = float(np.sqrt(scores @ scores))
    return float(scores.sum()) / size if size else 0.0


def _in_errors(differences: FloatArray) -> float:
    """Return the mean of differences in its standard errors."""
    spread = float(differences.std())
    return float(differences.mean()) / spread * math.sqrt(differences.size) if spread else 0.0
