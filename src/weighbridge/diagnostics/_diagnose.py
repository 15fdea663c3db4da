"""The door: two samples and a ratio, or a model with its weights, in; a report out."""

from __future__ import annotations

import warnings
from typing import Any

from weighbridge._findings import count_parameters
from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.diagnostics._diagnosis import Diagnosis
from weighbridge.diagnostics._domain import check_confidence
from weighbridge.diagnostics._features import refuse_infinite
from weighbridge.diagnostics._samples import Samples, read_samples
from weighbridge.diagnostics._shift_report import ShiftReport
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import fit_ratio
from weighbridge.ratios._fit_ratio import check_ratio, is_fitted
from weighbridge.weighting import Geodesic


def diagnose(
    model_or_ratio: Any,
    X: Any,
    X_target: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> ShiftReport:
    """Say whether two samples differ, where, and whether weights can make up for it.

    Written ``diagnose(model_or_ratio, X, X_target)``, or ``diagnose(X, X_target)``, which estimates
    the ratio itself.

    Parameters
    ----------
    model_or_ratio : fitted ImportanceWeighted or ImportanceWeightedCV, or density ratio
        A model is diagnosed with its own weights, a ratio (fitted here if it is not yet) with the
        full ratio.
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows, 20 or more, as of the target.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    y : array-like of shape (n_source,), optional
        Classes of the source rows: then it is also checked whether class frequencies explain the
        shift. Labels that cannot be compared are a finding; missing ones are refused.
    sample_weight : array-like of shape (n_source,), optional
        Own weights of the source rows; they multiply the importance weights. Rows of weight 0 are
        left out first; see the notes.
    confidence : float, default=0.95
        Of the intervals; the words go by 95 % always.
    random_state : int, RandomState instance or None, default=0
        Draws rows of large samples, deals folds, shuffles.

    Returns
    -------
    ShiftReport
        Numbers, findings with remedies; print it.

    Notes
    -----
    Large samples are represented by 20,000 random rows each in the domain classifier and its
    attribution, by 10,000 in the two-sample test and in the search for nearest rows. Weights,
    balance and tests of single features take all rows.

    Own weights count in what the weights are worth, because a fit gets both together. Everything
    else looks at the rows as they are, as the ratio does.

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
    if X_target is None:
        _refuse_model(model_or_ratio)
        model_or_ratio, X, X_target = None, model_or_ratio, X
    _check_model_or_ratio(model_or_ratio)
    samples = read_samples(X, X_target, y, sample_weight)
    refuse_infinite(samples.table, samples.codes)
    ratio, weighting, n_parameters = _parts(model_or_ratio, samples)
    diagnosis = Diagnosis(
        ratio,
        samples.X,
        samples.X_target,
        y=samples.y,
        sample_weight=samples.sample_weight,
        n_parameters=n_parameters,
        confidence=confidence,
        random_state=random_state,
    )
    return diagnosis.report(weighting)


def _refuse_model(X: Any) -> None:
    """Refuse a model or ratio that came without a second sample."""
    if hasattr(X, "get_params"):
        raise TypeError(
            f"Got a {type(X).__name__} and one sample only; write diagnose(model_or_ratio, X, "
            "X_target), or diagnose(X, X_target) without a model."
        )


def _check_model_or_ratio(model_or_ratio: Any) -> None:
    """Refuse rows or labels in the wrong place, and models that have no weights."""
    if isinstance(model_or_ratio, list | tuple) or hasattr(model_or_ratio, "shape"):
        raise TypeError(
            f"Got a {type(model_or_ratio).__name__} where a model or ratio is expected. The order "
            "is diagnose(model_or_ratio, X, X_target), or diagnose(X, X_target); labels go in by "
            "name: y=..."
        )
    is_model = hasattr(model_or_ratio, "fit") and hasattr(model_or_ratio, "predict")
    if is_model and not (
        isinstance(model_or_ratio, WeightedEstimator | type)
        or hasattr(model_or_ratio, "score_samples")
    ):
        raise TypeError(
            f"Got a {type(model_or_ratio).__name__}, which has no weights to look at, but expected "
            "a density ratio or a fitted ImportanceWeighted. Wrap it: ImportanceWeighted(model)"
            ".fit(X, y, X_target=X_target), or leave it out: diagnose(X, X_target)."
        )


def _parts(model_or_ratio: Any, samples: Samples) -> tuple[Any, Any, int]:
    """Return a fitted ratio, the weighting to show, and the number of parameters of the model."""
    n_columns = samples.table.shape[1]
    if isinstance(model_or_ratio, WeightedEstimator):
        model = model_or_ratio
        if not hasattr(model, "ratio_"):
            raise ValueError(
                f"Got {type(model).__name__} that is not fitted; fit it first, or diagnose the "
                "samples alone: diagnose(X, X_target)."
            )
        weighting = getattr(model, "best_weighting_", None) or model.weighting or Geodesic()
        return model.ratio_, weighting, count_parameters(model.estimator_, n_columns)
    ratio = None if model_or_ratio is None else check_ratio(model_or_ratio)
    if ratio is None or not is_fitted(ratio):
        with warnings.catch_warnings():
            # what the ratio says about overlap is among the findings
            warnings.simplefilter("ignore", OverlapWarning)
            ratio = fit_ratio(samples.X, samples.X_target, ratio)
    return ratio, Geodesic(), n_columns + 1
