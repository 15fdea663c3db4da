"""From two samples to a fitted ratio, and from that to log weights of the source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weighbridge.blocks import ArrayRows, as_numbers, as_rows, in_memory, is_blocks
from weighbridge.ratios._auto import AutoRatio
from weighbridge.ratios._stack_samples import named_alike, stack_samples
from weighbridge.weighting import Geodesic, log_mean

# Rows by which the columns of samples in blocks are compared.
HEAD = 1000


def fit_ratio(X: Any, X_target: Any, ratio: Any = None) -> Any:
    """Fit a density ratio to a source and a target sample.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Rows or dask collection of shape \
            (n_source, n_features)
        Source rows. Those of `weighbridge.blocks` and of dask need not fit into memory.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name, whatever their order.
    ratio : density ratio or pipeline that ends in one, optional
        Not yet fitted; it is cloned. Default: `AutoRatio()`.

    Returns
    -------
    fitted ratio
        Its ``score_samples(X)`` is ``log p_target(x) - log p_source(x)``.

    Notes
    -----
    Of rows in blocks `ULSIF`, `GaussianRatio` and the default `ClassifierRatio` learn from sums
    over all rows. Any other ratio is fitted to rows in memory: 100,000 of each sample
    (`NearestNeighbourRatio`: 20,000), drawn at random by what they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    >>> ratio = fit_ratio(X, X_target)
    >>> ratio.score_samples(X).shape
    (500,)
    """
    ratio = AutoRatio() if ratio is None else clone(check_ratio(ratio))
    if is_fitted(ratio):
        raise ValueError(
            f"Got ratio={type(ratio).__name__}, which is fitted already; use its score_samples "
            "directly, or pass a ratio that is not fitted."
        )
    if is_blocks(X) or is_blocks(X_target):
        return _fit_to_blocks(X, X_target, ratio)
    stacked, domain = stack_samples(X, X_target)
    return ratio.fit(stacked, domain)


def _fit_to_blocks(X: Any, X_target: Any, ratio: Any) -> Any:
    """Compare the columns of two samples in blocks, and fit a ratio to them."""
    if not hasattr(ratio, "_fit_blocks"):
        raise TypeError(
            f"Got rows in blocks for a {type(ratio).__name__}, which needs them in memory; pass a "
            "ratio of weighbridge.ratios alone (it standardises columns itself), or fit it to "
            "X.sample(n) and score by blocks: X.vector(ratio.score_samples)."
        )
    source, target = as_rows(X), as_rows(X_target)
    for name, rows in (("X", source), ("X_target", target)):
        if isinstance(rows, ArrayRows) and sp.issparse(rows.table):
            raise TypeError(
                f"Got {name} as a sparse matrix in blocks; pass the matrix itself: it is in "
                "memory, and is scored in blocks anyway."
            )
    if source.names is not None and target.names is not None:
        target = named_alike(source, target)
        if source.numeric != target.numeric:  # a data frame and files of numbers
            source, target = as_numbers(source), as_numbers(target)
    # a few rows tell whether the columns are of the same kinds; all that can be wrong is said here
    stack_samples(*(rows.first(HEAD) for rows in (source, target)))
    return ratio._fit_blocks(source, target)


def check_ratio(ratio: Any) -> Any:
    """Refuse anything but a density ratio, and say what was probably meant."""
    if isinstance(ratio, type):
        raise TypeError(
            f"Got the class {ratio.__name__}, but expected an object: write {ratio.__name__}()."
        )
    if hasattr(ratio, "score_samples") and hasattr(ratio, "get_params"):
        return ratio
    name = type(ratio).__name__
    if hasattr(ratio, "predict_proba"):
        remedy = f"A classifier becomes a ratio by ClassifierRatio({name}())."
    elif isinstance(ratio, np.ndarray | list):
        remedy = "A ratio is a function of x; weights that you have already go into sample_weight."
    elif isinstance(ratio, str):
        remedy = "Pass an object, e.g. weighbridge.ratios.ULSIF()."
    elif callable(ratio) and not hasattr(ratio, "get_params"):
        remedy = "A function of X that returns log ratios becomes a ratio by KnownRatio(function)."
    else:
        remedy = "A weighting belongs in weighting=..."
    raise TypeError(
        f"Got ratio of type {name}, but expected a density ratio: an object of weighbridge.ratios, "
        f"or a pipeline that ends in one. {remedy}"
    )


def is_fitted(ratio: Any) -> bool:
    """True for a ratio that needs no target sample any more (fitted and frozen, or known)."""
    if isinstance(ratio, Pipeline):  # scikit-learn looks at the last step only
        return all(is_fitted(step) for _, step in ratio.steps if hasattr(step, "fit"))
    try:
        check_is_fitted(ratio)
    except NotFittedError:
        return False
    return True


def source_log_ratio(ratio: Any, X: Any, sample_weight: np.ndarray | None) -> np.ndarray:
    """Return the log ratio at the rows of `X`; rows whose sample_weight is 0 may have any value."""
    # one that was not made for blocks scores them one by one
    alone = is_blocks(X) and not hasattr(ratio, "_fit_blocks")
    scores = as_rows(X).vector(ratio.score_samples) if alone else ratio.score_samples(X)
    log_ratio = np.asarray(in_memory(scores)).astype(float)
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    missing = np.isnan(used).sum()
    if missing:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN at {missing} of {used.size} source "
            "rows; look for NaN in X or in the densities there."
        )
    return log_ratio


class ScoredRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """A fitted ratio that knows its values at one table, and is asked for those of any other."""

    def __init__(self, estimator: Any, table: Any, log_ratio: np.ndarray):
        super().__init__(estimator)
        self.table = table
        self.log_ratio = log_ratio

    def score_samples(self, X: Any) -> Any:
        """Return the log ratio at the rows of `X`."""
        return self.log_ratio if X is self.table else self.estimator.score_samples(X)


def mean_one_log_ratio(log_ratio: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Scale the ratio to mean 1 on the source sample, which is what lam and alpha are about."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    infinite = np.isposinf(used).sum()
    if infinite:
        raise ValueError(
            f"Got a ratio that is infinite at {infinite} source rows: they lie where the source "
            "density is 0, and no scale gives such a ratio a mean of 1. Correct the densities, "
            "leave the rows out (sample_weight 0), or use normalize=False with alpha > 1, which "
            "bounds every weight."
        )
    log_scale = log_mean(log_ratio, sample_weight)
    if log_scale == -np.inf:
        raise ValueError(
            "Got a ratio that is 0 at every source row: no source row lies where the target is. "
            "These samples cannot be adapted to each other."
        )
    return log_ratio - log_scale


def source_log_weight(
    weighting: Any, log_ratio: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return the log weights of the rows that count; rows whose sample_weight is 0 get weight 0."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    found = np.asarray(weighting(used), dtype=float)
    if found.shape != used.shape:
        raise ValueError(
            f"Got log weights of shape {found.shape} for {used.size} log ratios from the weighting "
            f"{type(weighting).__name__}; it must return one number for each row."
        )
    if sample_weight is None:
        return found
    log_weight = np.full(log_ratio.size, -np.inf)
    log_weight[sample_weight > 0] = found
    return log_weight


def weighting_or_default(weighting: Any) -> Any:
    """Return a copy of a weighting, the full ratio for None; refuse anything else."""
    if weighting is None:
        return Geodesic()
    usable = callable(weighting) and hasattr(weighting, "get_params")
    if isinstance(weighting, type) or not usable:
        raise TypeError(
            f"Got weighting={weighting!r}, but expected a Geodesic or one of its names, e.g. "
            "weighbridge.weighting.RIWERM(0.8), or your own object with get_params (a "
            "sklearn.base.BaseEstimator) that turns log ratios into log weights when called."
        )
    if isinstance(weighting, Geodesic) and np.ndim(weighting.lam) + np.ndim(weighting.alpha):
        raise TypeError(
            f"Got weighting={weighting!r}, but expected one number each for lam and alpha."
        )
    weighting = clone(weighting)
    if not isinstance(weighting, Geodesic):
        source_log_weight(weighting, np.linspace(-1.0, 1.0, 5), None)  # fail before the work
    return weighting
