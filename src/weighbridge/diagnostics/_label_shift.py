"""How far a change of class frequencies alone explains a shift."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from weighbridge._data import check_count, take_rows
from weighbridge._findings import Record
from weighbridge.blocks import one_thread
from weighbridge.criteria import answer_of
from weighbridge.diagnostics._domain import MAX_TREE_COLUMNS, small_trees
from weighbridge.diagnostics._samples import coded_classes
from weighbridge.ratios import QuadraticFeatures, TableEncoder, stacked_table
from weighbridge.weighting import log_mean

# Products of more columns than this are too many coefficients for the rows there usually are.
MAX_PRODUCTS = 20
# Trees need rows to split.
MIN_TREE_ROWS = 200
MIN_CLASS_ROWS = 20


# A model, and what it sees of a table.
_Viewed = tuple[Any, Callable[[Any], Any]]


def _cross_fit(
    models: list[_Viewed],
    stacked: Any,
    rows: np.ndarray,
    codes: np.ndarray,
    new: np.ndarray,
    cv: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return held-out probabilities at some rows, the mean of the fold models at others."""
    folds = min(cv, int(np.bincount(codes).min()))
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    split = list(splitter.split(np.zeros((rows.size, 1)), codes))
    n_classes = int(codes.max()) + 1
    held_out = np.empty((len(models), rows.size, n_classes))
    others = np.zeros((len(models), new.size, n_classes))
    for k, (model, view) in enumerate(models):
        seen, unseen = (view(take_rows(stacked, part)) for part in (rows, new))
        for train, test in split:
            fitted = clone(model).fit(take_rows(seen, train), codes[train])
            held_out[k, test] = answer_of(fitted, "predict_proba", take_rows(seen, test))
            if new.size:
                others[k] += answer_of(fitted, "predict_proba", unseen) / folds
    shares = _mixing_shares(held_out, codes)[:, None, None]
    return (shares * held_out).sum(axis=0), (shares * others).sum(axis=0)


def _models(
    classifier: Any,
    stacked: Any,
    domain: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    seed: int,
) -> list[_Viewed]:
    """Return the classifier given, or up to three for a table of any kind, as its rows allow."""
    if classifier is not None:
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(
                f"Got classifier of type {type(classifier).__name__}, which has no "
                "predict_proba; wrap it in CalibratedClassifierCV, or leave it out."
            )
        return [(classifier, lambda table: table)]
    encoder = TableEncoder().fit(stacked, domain)
    models: list[_Viewed] = [(LogisticRegression(max_iter=1000), encoder.numbers)]
    if sp.issparse(stacked):
        return models
    if encoder.width <= MAX_PRODUCTS:
        squares = QuadraticFeatures(encoder).fit(take_rows(stacked, rows))
        models.append((LogisticRegression(C=0.3, max_iter=1000), squares))
    enough = rows.size >= MIN_TREE_ROWS and np.bincount(codes).min() >= MIN_CLASS_ROWS
    if stacked.shape[1] <= MAX_TREE_COLUMNS and enough:
        trees = small_trees(
            encoder.categorical, seed, learning_rate=0.05, max_iter=200, patience=10
        )
        models.append((trees, encoder.for_trees))
    return models


def _mixing_shares(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the shares of the mixture that is most likely, by expectation maximisation."""
    rows = np.arange(codes.size)
    likelihood = np.column_stack([p[rows, codes] for p in probabilities])
    likelihood = np.maximum(likelihood, 1 / (2 * codes.size))
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(200):
        responsible = likelihood * shares
        shares = (responsible / responsible.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def drawn(codes: np.ndarray, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw the rows that represent a large sample; rare classes keep at least two."""
    if codes.size <= n_rows:
        return np.arange(codes.size)
    order = rng.permutation(codes.size)
    by_class = order[np.argsort(codes[order], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[by_class], prepend=-1))
    kept = np.concatenate([by_class[starts], by_class[starts + 1], order[:n_rows]])
    return np.unique(kept)


# Ratios are compared as r / (a r + 1 - a), which no single row can take beyond 1 / a.
RELATIVE = 0.1
# The share of the ratio from which on label shift is recognised.
EXPLAINED = 0.95
# Larger samples are represented by that many rows of each.
MAX_ROWS = 10_000


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
    >>> from weighbridge.diagnostics import LabelShift
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
        Deals the folds and draws from samples with more than 10,000 rows.

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
    >>> from weighbridge.diagnostics import label_shift
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)  # half and half here, 20 % and 80 % in the target
    >>> x = rng.normal(2 * y)
    >>> ratio = (0.2 + 0.8 * np.exp(2 * x - 2)) / (0.5 + 0.5 * np.exp(2 * x - 2))
    >>> shift = label_shift(x[:, None], y, np.log(ratio))
    >>> shift.r_squared > 0.95, np.round(shift.target_priors, 1)
    (True, array([0.2, 0.8]))
    """
    check_count("cv", cv, 2)
    if (X_target is None) != (log_ratio_target is None):
        raise ValueError(
            "Got one of X_target and log_ratio_target; pass both, the target rows and the log "
            "ratios there, or neither."
        )
    stacked, domain = stacked_table(X, X if X_target is None else X_target)
    n_source, n_target = np.bincount(domain)
    labels, codes = coded_classes(y, n_source)
    log_r = _checked_ratio(log_ratio, "log_ratio", n_source)
    log_r_target = np.empty(0)
    if X_target is not None:
        log_r_target = _checked_ratio(log_ratio_target, "log_ratio_target", n_target)
    rng = check_random_state(random_state)
    rows, target = drawn(codes, MAX_ROWS, rng), rng.permutation(log_r_target.size)[:MAX_ROWS]
    priors = np.bincount(codes) / n_source
    log_scale = float(log_mean(log_r[rows]))
    # constant, or 0 in all of the rows drawn
    if log_scale == -math.inf or np.ptp(log_r[rows]) < 1e-9:
        return _result(labels, priors, (np.full(labels.size, math.nan), math.nan, math.nan))
    ratio, ratio_target = (
        np.exp(np.minimum(part - log_scale, 700)) for part in (log_r[rows], log_r_target[target])
    )
    seed = int(rng.randint(2**31 - 1))
    with one_thread():
        models = _models(classifier, stacked, domain, rows, codes[rows], seed)
        parts = (rows, codes[rows], n_source + target)
        at_rows, at_target = _cross_fit(models, stacked, *parts, int(cv), seed)
    if X_target is None:
        return _result(labels, priors, _explained_at_source(at_rows, ratio))
    return _result(labels, priors, _explained_at_both(at_rows, at_target, ratio, ratio_target))


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
