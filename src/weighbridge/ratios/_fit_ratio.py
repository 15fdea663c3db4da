"""From two samples to a fitted ratio: `fit_ratio`, and ratios by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from weighbridge._findings import nearest
from weighbridge.ratios._auto import AutoRatio
from weighbridge.tables import MAX_ROWS, draw_rows, stack_samples, to_numpy

# Ratios by the names that the command line and ``ratio=`` take.
RATIOS = {
    "auto": "AutoRatio",
    "classifier": "ClassifierRatio",
    "gaussian": "GaussianRatio",
    "ulsif": "ULSIF",
    "rulsif": "ULSIF",
    "kliep": "KLIEP",
    "kmm": "KMM",
    "nearest": "NearestNeighbourRatio",
}


def fit_ratio(
    X: Any,
    X_target: Any,
    ratio: Any = None,
    *,
    y: Any = None,
    max_rows: int | None = MAX_ROWS,
    random_state: Any = 0,
) -> Any:
    """Fit a density ratio to a source and a target sample.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or table of an engine, shape (n_source, n_features)
        Source rows. A table of an engine is one that `weighbridge.engines.sample` takes: of dask,
        Spark or DuckDB, a folder of Parquet files and so on.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name, whatever their order.
    ratio : str, density ratio or pipeline that ends in one, optional
        Not yet fitted; it is cloned. Default: "auto", which is `AutoRatio()`. Other names are
        "classifier", "gaussian", "ulsif", "rulsif", "kliep", "kmm" and "nearest".
    y : array-like of shape (n_source,), optional
        Labels of the source rows, for a ratio in the label (`weighbridge.label_shift.LabelRatio`).
    max_rows : int or None, default=100_000
        A sample with more rows is represented by that many of them, drawn at random without
        replacement. None takes all rows of tables in memory.
    random_state : int, numpy Generator or None, default=0
        Draws these rows.

    Returns
    -------
    fitted ratio
        Its ``score_samples(X)`` is ``log p_target(x) - log p_source(x)``. Its ``rows_used_`` has
        for "source" and "target" the number of rows that it was fitted to, and of how many.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    >>> ratio = fit_ratio(X, X_target)
    >>> ratio.score_samples(X).shape
    (500,)
    >>> fit_ratio(X, X_target, max_rows=400).rows_used_
    {'source': (400, 500), 'target': (300, 300)}
    """
    ratio = AutoRatio() if ratio is None else clone(check_ratio(ratio))
    if is_fitted(ratio):
        raise ValueError(
            f"Got ratio={type(ratio).__name__}, which is fitted already; use its score_samples "
            "directly, or pass a ratio that is not fitted."
        )
    by_label = hasattr(ratio, "score_labels")
    if by_label and y is None:
        raise ValueError(
            f"Got a {type(ratio).__name__} and no labels; a ratio in the label needs those of the "
            "source rows: y=..."
        )
    X, (y,), n_source = draw_rows(X, max_rows, random_state, "X", y if by_label else None)
    X_target, _, n_target = draw_rows(X_target, max_rows, random_state, "X_target")
    if by_label:
        ratio.fit(X, y, X_target)
    else:
        ratio.fit(*stack_samples(X, X_target))
    used = {"source": (_num_samples(X), n_source), "target": (_num_samples(X_target), n_target)}
    ratio.rows_used_ = used
    return ratio


def check_ratio(ratio: Any) -> Any:
    """Return a density ratio, also by its name; raise TypeError for anything else."""
    if isinstance(ratio, str):
        return _named_ratio(ratio)
    if isinstance(ratio, type):
        raise TypeError(
            f"Got the class {ratio.__name__}, but expected an object: write {ratio.__name__}()."
        )
    if hasattr(ratio, "score_samples") and hasattr(ratio, "get_params"):
        return ratio
    name = type(ratio).__name__
    if hasattr(ratio, "predict_proba"):
        remedy = f"A classifier becomes a ratio with ClassifierRatio({name}())."
    elif isinstance(ratio, np.ndarray | list):
        remedy = "A ratio is a function of x; weights that you already have go into sample_weight."
    elif callable(ratio) and not hasattr(ratio, "get_params"):
        remedy = "A function of X that returns log ratios becomes a ratio in KnownRatio(function)."
    else:
        remedy = "A weighting belongs in weighting=..."
    raise TypeError(
        f"Got ratio of type {name}, but expected a density ratio: an object of weighbridge.ratios, "
        f"or a pipeline that ends in one. {remedy}"
    )


def _named_ratio(name: str) -> Any:
    if name in RATIOS:
        ratio = getattr(import_module("weighbridge.ratios"), RATIOS[name])
        return ratio(relative=0.1) if name == "rulsif" else ratio()
    near = nearest(name, RATIOS)
    raise ValueError(
        f"Got ratio={name!r}, but expected one of {', '.join(RATIOS)}, or an object of "
        f"weighbridge.ratios.{f' Did you mean {near[0]!r}?' * bool(near)}"
    )


def is_default(ratio: Any) -> bool:
    """Return True if the ratio, and with it the kind of shift, is left to the package."""
    return ratio is None or (isinstance(ratio, str) and ratio == "auto")


def is_fitted(ratio: Any) -> bool:
    """Return True for a ratio that needs no target sample: a fitted, frozen or known one."""
    if ratio is None or isinstance(ratio, str):
        return False
    if isinstance(ratio, Pipeline):  # scikit-learn looks at the last step only.
        return all(is_fitted(step) for _, step in ratio.steps if hasattr(step, "fit"))
    try:
        check_is_fitted(ratio)
    except NotFittedError:
        return False
    return True


def source_log_ratio(
    ratio: Any, X: Any, sample_weight: np.ndarray | None, y: Any = None
) -> np.ndarray:
    """Return the log ratio at the rows of `X`; rows whose sample_weight is 0 may have any value."""
    if hasattr(ratio, "score_labels"):
        if y is None:
            raise ValueError(
                f"Got a {type(ratio).__name__}, a ratio in the label, which needs y. Pass the "
                "labels (y=...), or use a ratio in the features."
            )
        return np.asarray(ratio.score_labels(y))
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    missing = np.isnan(used).sum()
    if missing:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN at {missing} of {used.size} rows. "
            "Look for NaN in X or in the densities there."
        )
    return log_ratio
