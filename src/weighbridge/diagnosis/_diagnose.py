"""The entry point, `diagnose`: two samples in, a report out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from weighbridge._estimators import WeightedEstimator
from weighbridge._findings import Finding
from weighbridge._pass_weights import count_parameters
from weighbridge.diagnosis._diagnosis import Diagnosis
from weighbridge.diagnosis._findings import listed
from weighbridge.diagnosis._report import ShiftReport
from weighbridge.diagnosis._samples import Samples, read_samples
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import check_ratio, fit_ratio, is_fitted
from weighbridge.tables import MAX_ROWS, check_confidence, draw_rows, is_frame
from weighbridge.weighting import Geodesic


@np.errstate(under="ignore")  # Kernels and weights far away are 0.
def diagnose(
    model_or_ratio: BaseEstimator | ArrayLike,
    X: ArrayLike,
    X_target: ArrayLike | None = None,
    *,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    max_rows: int | None = MAX_ROWS,
    random_state: int | np.random.RandomState | None = 0,
) -> ShiftReport:
    """Report whether two samples differ, where, and whether weights can correct it.

    Written ``diagnose(model_or_ratio, X, X_target)``, or ``diagnose(X, X_target)``, which estimates
    the ratio itself and leaves out columns that only one of two data frames has, such as a label.

    Parameters
    ----------
    model_or_ratio : fitted ImportanceWeighted or ImportanceWeightedCV, or density ratio
        A model is diagnosed with its weights, a ratio (fitted here unless it is fitted) in full.
    X : array-like, sparse matrix, data frame or table of an engine, (n_source, n_features)
        Source rows. Each sample needs 20 or more. `weighbridge.engines.sample` lists the engines.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name.
    y : array-like of shape (n_source,), optional
        Classes of the source rows. With them, it is also checked whether class frequencies explain
        the shift. Labels that cannot be compared are a finding; missing ones raise ValueError.
    sample_weight : array-like of shape (n_source,), optional
        Your weights of the source rows, which multiply the importance weights. Rows of weight 0 are
        dropped first; see the notes.
    confidence : float, default=0.95
        Level of the intervals. The words always use 95 %.
    max_rows : int or None, default=100_000
        A larger sample is represented by this many random rows, which is a finding. None uses all
        rows of tables in memory.
    random_state : int, RandomState instance or None, default=0
        Draws rows of large samples, assigns folds, and shuffles.

    Returns
    -------
    ShiftReport
        Numbers, and findings with remedies. Print it.

    Notes
    -----
    The domain classifier and its attribution use 20,000 random rows of a larger sample, and the
    search for nearest source rows 10,000 target rows. Weights and balance use all rows.

    `sample_weight` counts in the effective sample size, because a fit gets both weights together.
    Everything else ignores it, as the ratio does.

    Examples
    --------
    >>> from weighbridge import diagnose
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(1000, 1000, n_features=2, shift=1.0, random_state=0)
    >>> print(diagnose(data.ratio, data.X, data.X_target).sentence)
    Shift strong, overlap enough
    >>> half, other = data.X[:500], data.X[500:]
    >>> print(diagnose(half, other).sentence)
    No shift found
    """
    check_confidence(confidence)
    model = model_or_ratio if X_target is not None else None
    if X_target is None:
        X, X_target = model_or_ratio, X
    _check_order(model, X)
    X, (y, sample_weight), n_source = draw_rows(X, max_rows, random_state, "X", y, sample_weight)
    X_target, _, n_target = draw_rows(X_target, max_rows, random_state, "X_target")
    findings: list[Finding] = []
    if model is None:
        X, X_target, findings = _shared_columns(X, X_target)
    for name, drawn, n_rows in (("X", X, n_source), ("X_target", X_target, n_target)):
        if max_rows is not None and n_rows > max_rows:
            rows = f"{_num_samples(drawn):,} of the {n_rows:,} rows of {name}"
            remedy = "More would hardly change what is shown."
            message = f"{rows}, drawn at random, represent all."
            findings.append(Finding("WB139", "note", message, remedy))
    samples = read_samples(X, X_target, y, sample_weight)
    ratio, weighting, n_parameters = _fitted_ratio(model, samples)
    diagnosis = Diagnosis(
        ratio, samples, n_parameters=n_parameters, confidence=confidence, random_state=random_state
    )
    report = diagnosis.report(weighting)
    return replace(report, findings=(*findings, *report.findings))


def _check_order(model: Any, X: Any) -> None:
    """Raise TypeError for a model, rows or labels in the wrong place, and for other models."""
    order = "write diagnose(model_or_ratio, X, X_target), or diagnose(X, X_target)"
    name = type(model).__name__
    if model is None and hasattr(X, "get_params"):
        raise TypeError(f"Got a {type(X).__name__} and one sample only; {order}.")
    if isinstance(model, list | tuple) or hasattr(model, "shape"):
        raise TypeError(
            f"Got a {name}, but expected a model or a ratio; {order}. Labels go in by name: y=..."
        )
    has_weights = isinstance(model, WeightedEstimator | type) or hasattr(model, "score_samples")
    if hasattr(model, "fit") and hasattr(model, "predict") and not has_weights:
        raise TypeError(
            f"Got a {name}, which has no weights to look at, but expected a density ratio or a "
            "fitted ImportanceWeighted. Wrap it in one, or leave it out: diagnose(X, X_target)."
        )


def _shared_columns(X: Any, X_target: Any) -> tuple[Any, Any, list[Finding]]:
    """Leave out columns that only one data frame has, and return a finding that names them."""
    if not (is_frame(X) and is_frame(X_target)):
        return X, X_target, []
    import narwhals as nw

    source, target = (nw.from_native(table, eager_only=True) for table in (X, X_target))
    shared = [name for name in source.columns if name in set(target.columns)]
    others = {"X": {*source.columns} - {*shared}, "X_target": {*target.columns} - {*shared}}
    if not shared or not any(others.values()):  # Reading the samples needs a shared name.
        return X, X_target, []
    left_out = [f"only {table} has {listed(sorted(n), 6)}" for table, n in others.items() if n]
    remedy = "Nothing to do for a label; otherwise check the names."
    finding = Finding("WB138", "note", f"Left out: {', '.join(left_out)}.", remedy)
    return source.select(shared).to_native(), target.select(shared).to_native(), [finding]


def _fitted_ratio(model: Any, samples: Samples) -> tuple[BaseEstimator, BaseEstimator, int]:
    """Return a fitted ratio, the weighting in use, and the number of parameters of the model."""
    n_columns = np.shape(samples.X)[1]
    if isinstance(model, WeightedEstimator):
        if not hasattr(model, "ratio_"):
            remedy = "fit it first, or diagnose the samples alone: diagnose(X, X_target)"
            raise ValueError(f"Got {type(model).__name__} that is not fitted; {remedy}.")
        weighting = getattr(model, "best_weighting_", None) or model.weighting or Geodesic()
        return model.ratio_, weighting, count_parameters(model.estimator_, n_columns)
    ratio = None if model is None else check_ratio(model)
    if not is_fitted(ratio):
        with warnings.catch_warnings():
            # The findings contain the warnings about overlap.
            warnings.simplefilter("ignore", OverlapWarning)
            ratio = fit_ratio(samples.X, samples.X_target, ratio)
    return ratio, Geodesic(), n_columns + 1
