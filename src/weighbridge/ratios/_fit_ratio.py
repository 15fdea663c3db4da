"""From two samples to a fitted ratio: the readable door, and the checks of what comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weighbridge.blocks import ArrayRows, as_numbers, as_rows, is_blocks
from weighbridge.ratios._auto import AutoRatio
from weighbridge.ratios._stack_samples import named_alike, stack_samples

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
