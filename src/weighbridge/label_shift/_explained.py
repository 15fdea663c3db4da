"""How far a change of class frequencies alone explains a shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from weighbridge._findings import Record
from weighbridge.label_shift._chances import ClassChances, coded_classes
from weighbridge.ratios import stacked_table
from weighbridge.weighting import log_mean

# Ratios are compared as r / (a r + 1 - a), which no single row can take beyond 1 / a.
RELATIVE = 0.1
# The share of the ratio from which on label shift is recognised.
EXPLAINED = 0.95


# Coefficients of the class probabilities, the share explained, and its standard error.
_Explained = tuple[np.ndarray, float, float]


@dataclass(frozen=True, repr=False)
class LabelShift(Record):
    """How far class frequencies explain a density ratio, as `label_shift` finds it.

    Parameters
    ----------
    r_squared : float
        Share of the ratio that a change of class frequencies explains: 1 under label shift. NaN
        where there is nothing to explain: the ratio is constant, or no better than a constant.
    standard_error : float
        Of `r_squared`; NaN where no target rows were given.
    source_priors : tuple of float
        Class frequencies of the source.
    target_priors : tuple of float
        Those of the target, if it is label shift.
    classes : tuple
        The classes, in the order of the priors.

    Examples
    --------
    >>> from weighbridge.label_shift import LabelShift
    >>> print(LabelShift(0.98, 0.01, (0.5, 0.5), (0.2, 0.8), ("no", "yes")))
    class frequencies explain 98 % of the ratio
    no: 50 % -> 20 %, yes: 50 % -> 80 %
    """

    r_squared: float
    standard_error: float
    source_priors: tuple[float, ...]
    target_priors: tuple[float, ...]
    classes: tuple[Any, ...]

    @property
    def recognised(self) -> bool:
        """Whether label shift explains the ratio: all but 5 % of it, within a standard error."""
        error = 0.0 if math.isnan(self.standard_error) else self.standard_error
        return self.r_squared + error > EXPLAINED

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            All fields; None for NaN, and classes as text.
        """
        return super().to_dict() | {"classes": [str(label) for label in self.classes]}

    def __str__(self) -> str:
        if math.isnan(self.r_squared):
            return "the ratio is no better than a constant: there is no shift to explain"
        priors = ", ".join(
            f"{label}: {100 * p:.0f} % -> {100 * q:.0f} %"
            for label, p, q in zip(
                self.classes, self.source_priors, self.target_priors, strict=True
            )
        )
        return f"class frequencies explain {100 * self.r_squared:.0f} % of the ratio\n{priors}"


def label_shift(
    X: Any,
    y: Any,
    log_ratio: Any,
    *,
    X_target: Any = None,
    log_ratio_target: Any = None,
    classifier: Any = None,
    cv: int = 5,
    random_state: Any = 0,
) -> LabelShift:
    """Check whether a change of class frequencies alone explains a density ratio.

    Under label shift the classes look the same in both samples and only their frequencies change,
    from ``p`` to ``q``. The ratio is then ``r(x) = sum_c (q_c / p_c) P(c | x)``, a combination of
    the source's class probabilities with coefficients >= 0. The probabilities are cross-fitted,
    the coefficients found by non-negative least squares, and the check says how much of the ratio
    they explain. Where it is nearly all, label shift is the simpler explanation, and a method made
    for it the better remedy.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    y : array-like of shape (n_source,)
        Their classes.
    log_ratio : array-like of shape (n_source,)
        Log density ratios at the source rows; a constant does not matter.
    X_target : same type as `X`, of shape (n_target, n_features), optional
        Target rows. An estimated ratio needs them: see the notes.
    log_ratio_target : array-like of shape (n_target,), optional
        Log density ratios at the target rows, with the same constant.
    classifier : classifier with predict_proba, optional
        Default: logistic regression, linear and with squares and products, and histogram gradient
        boosting, mixed as suits the held-out rows best; for tables of any kind.
    cv : int, default=5
        Number of folds, stratified by class.
    random_state : int, RandomState instance or None, default=0
        Deals the folds, draws 10,000 rows to fit to from larger samples.

    Returns
    -------
    LabelShift
        The share explained, and the class frequencies it implies.

    Notes
    -----
    Without target rows the share is R squared of the regression of the ratio itself, and an
    estimated ratio keeps it well below 1 by its own errors. With target rows these matter little:
    for any function f, ``2 mean_t f - mean_s f**2 - 1`` is what f captures of the variance of the
    true ratio, less its squared error. The coefficients are found by maximising it, and the share
    is what the combination captures over what the better of the combination and the given ratio
    does. For this comparison they are made relative, ``r / (0.1 r + 0.9)``, so that no single row
    decides. Log ratios by a model that saw the rows make the given ratio look better than it is,
    and the share too small; those of held-out rows do not.

    Covariate shift along a score that also rules the classes can be explained in this way as well,
    the better the smaller it is: a small shift is a straight line in any such score. No check of
    ratios can tell the two apart then.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import label_shift
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)  # half and half here, 20 % and 80 % in the target
    >>> x = rng.normal(2 * y)
    >>> ratio = (0.2 + 0.8 * np.exp(2 * x - 2)) / (0.5 + 0.5 * np.exp(2 * x - 2))
    >>> shift = label_shift(x[:, None], y, np.log(ratio))
    >>> shift.r_squared > 0.95, np.round(shift.target_priors, 1)
    (True, array([0.2, 0.8]))
    """
    if (X_target is None) != (log_ratio_target is None):
        raise ValueError(
            "Got one of X_target and log_ratio_target; pass both, the target rows and the log "
            "ratios there, or neither."
        )
    others = X if X_target is None else X_target
    n_source, n_target = np.bincount(stacked_table(X, others)[1])
    labels, codes = coded_classes(y, n_source)
    log_r = _checked_ratio(log_ratio, "log_ratio", n_source)
    log_r_target = np.empty(0)
    if X_target is not None:
        log_r_target = _checked_ratio(log_ratio_target, "log_ratio_target", n_target)
    if np.ptp(log_r) < 1e-9:
        nothing = np.full(labels.size, math.nan), math.nan, math.nan
        return _result(labels, np.bincount(codes) / n_source, nothing)
    chances = ClassChances(X, codes, others, classifier, cv, random_state)
    log_scale = float(log_mean(log_r))
    ratio, ratio_target = (
        np.exp(np.minimum(part - log_scale, 700)) for part in (log_r, log_r_target)
    )
    found = (
        _explained_at_source(chances.source, ratio)
        if X_target is None
        else _explained_at_both(chances.source, chances.target, ratio, ratio_target)
    )
    return _result(labels, chances.priors, found)


def _result(labels: np.ndarray, priors: np.ndarray, found: _Explained) -> LabelShift:
    coefficients, r_squared, standard_error = found
    implied = coefficients * priors
    return LabelShift(
        r_squared,
        standard_error,
        tuple(map(float, priors)),
        tuple(map(float, implied / implied.sum())),
        tuple(labels.tolist()),
    )


def _relative(ratio: np.ndarray) -> np.ndarray:
    return ratio / (RELATIVE * ratio + 1 - RELATIVE)


def _explained_at_source(posterior: np.ndarray, ratio: np.ndarray) -> _Explained:
    """Return the coefficients, R squared, and no standard error."""
    coefficients, residual = nnls(posterior, ratio)
    unexplained = residual**2 / np.sum((ratio - ratio.mean()) ** 2)
    return coefficients, float(max(0.0, 1 - unexplained)), math.nan


def _explained_at_both(
    posterior: np.ndarray, at_target: np.ndarray, ratio: np.ndarray, ratio_target: np.ndarray
) -> _Explained:
    """Return the coefficients, the share captured, and its standard error."""
    # maximise 2 h'w - w'Hw over w >= 0, as least squares with the root of H
    triangle: Any = np.linalg.qr(posterior, mode="r")
    # the rows below it settle the coefficients of classes that no probability tells apart
    root = np.vstack([triangle / math.sqrt(len(posterior)), 1e-6 * np.eye(len(triangle))])
    goal, *_ = np.linalg.lstsq(root.T, at_target.mean(axis=0), rcond=None)
    coefficients, _ = nnls(root, goal)
    implied, *at_rows = _captured(posterior @ coefficients, at_target @ coefficients)
    given, *given_at_rows = _captured(ratio, ratio_target)
    best = max(implied, given)
    if best < 1e-9:  # neither is any better than the constant ratio
        return coefficients, math.nan, math.nan
    share = max(0.0, implied / best)
    if implied >= given:
        given_at_rows = at_rows
    variance = sum(
        np.var(a - share * b, ddof=1) / a.size for a, b in zip(at_rows, given_at_rows, strict=True)
    )
    return coefficients, float(share), float(math.sqrt(variance) / best)


def _captured(source: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return what a ratio captures of the variance of the true relative one, on its best scale."""
    source, target = _relative(source), _relative(target)
    first = float(target.mean())
    second = float((1 - RELATIVE) * np.mean(source**2) + RELATIVE * np.mean(target**2))
    scale = first / second
    at_source = -(scale**2) * (1 - RELATIVE) * source**2
    return first * scale - 1, at_source, 2 * scale * target - scale**2 * RELATIVE * target**2


def _checked_ratio(values: Any, name: str, n_rows: int) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(
            f"Got {name} of shape {array.shape}, but expected ({n_rows},), one for each row."
        )
    bad = np.isnan(array) | (array == math.inf)
    if bad.any() or not np.isfinite(array).any():
        raise ValueError(
            f"Got {name} with NaN or +inf in {int(bad.sum())} of {n_rows} rows, or a ratio of 0 in "
            "all; every row needs a finite ratio (-inf stands for 0)."
        )
    return array
