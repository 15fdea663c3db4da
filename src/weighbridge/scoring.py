"""Scores on source rows that stand for the target."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils.validation import _num_samples

from weighbridge._estimators import ImportanceWeighted
from weighbridge.ratios import check_ratio, fit_ratio, is_fitted, source_log_ratio
from weighbridge.tables import check_sample_weight, unmasked
from weighbridge.weighting import (
    mean_one_log_ratio,
    source_weights,
    weighting_or_default,
)

__all__ = ["ImportanceWeightedScorer", "for_target", "iw_scorer"]


def for_target(
    estimator: Any,
    X: Any,
    X_target: Any,
    *,
    scoring: Any = None,
    ratio: Any = None,
    weighting: Any = None,
) -> dict[str, Any]:
    """Prepare an estimator and its score for the target, for any search of scikit-learn.

    The density ratio is fitted once; the estimator is weighted by it in every fit, and every
    held-out score is weighted toward the target.

    Parameters
    ----------
    estimator : estimator
        As in `ImportanceWeighted`.
    X, X_target
        Source and target rows; no labels are needed yet.
    scoring : str, scorer or None
        As in `iw_scorer`; None is the estimator's own ``score``.
    ratio : str or density ratio, optional
        As in `fit_ratio`; one that is fitted or known is taken as it is.
    weighting : Geodesic, optional
        As in `ImportanceWeighted`. A grid names its parameters ``weighting__lam`` and
        ``weighting__alpha``, and those of the estimator ``estimator__...``.

    Returns
    -------
    dict
        ``estimator`` and ``scoring``, which ``GridSearchCV``, ``RandomizedSearchCV``,
        ``cross_validate`` and others take; then only ``fit(X, y)`` is left.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from weighbridge import for_target
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> search = GridSearchCV(
    ...     **for_target(Ridge(), data.X, data.X_target, scoring="neg_mean_squared_error"),
    ...     param_grid={"weighting__lam": [0, 0.25, 0.5], "estimator__alpha": [0.01, 1]},
    ... )
    >>> search.fit(data.X, data.y).best_params_["weighting__lam"]
    0.5
    """
    fitted = FrozenEstimator(ratio if is_fitted(ratio) else fit_ratio(X, X_target, ratio))
    model = ImportanceWeighted(estimator, fitted, weighting=weighting_or_default(weighting))
    return {"estimator": model, "scoring": iw_scorer(scoring, fitted)}


def iw_scorer(scoring: Any, ratio: Any, *, weighting: Any = None) -> ImportanceWeightedScorer:
    """Make a scorer that weights labelled source rows toward the target.

    The weights belong to the evaluation, not to the candidate that is evaluated, so the ratio is
    given here and stays the same for every candidate (importance-weighted validation,
    Sugiyama et al. 2007).

    Parameters
    ----------
    scoring : str, scorer or None
        As in scikit-learn; the metric must take ``sample_weight``. None: the estimator's ``score``.
    ratio : fitted density ratio
        From `fit_ratio`, or a `KnownRatio`.
    weighting : Geodesic, optional
        Default: the ratio itself, consistent for the target risk. `RIWERM(0.8)` is tamer.

    Returns
    -------
    ImportanceWeightedScorer
        Called as ``scorer(estimator, X, y)``, in any ``scoring=`` argument of scikit-learn.

    Notes
    -----
    The scorer expects *source* rows. A search that was made with it also uses it in its own
    ``score``; for labelled target rows call ``search.best_estimator_.score``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from weighbridge import iw_scorer
    >>> from weighbridge.ratios import KnownRatio
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> ratio = KnownRatio(lambda X: np.log([0.5, 1.5]))  # the second row is three times likelier
    >>> iw_scorer("accuracy", ratio)(model, X, y)
    0.75
    """
    return ImportanceWeightedScorer(scoring, ratio, weighting)


class ImportanceWeightedScorer:
    """A scorer that weights labelled source rows toward the target; made by `iw_scorer`.

    Parameters
    ----------
    scoring : str, scorer or None
        The score.
    ratio : fitted density ratio
        Where the weights come from.
    weighting : Geodesic, optional
        Which weight to form from the ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import iw_scorer
    >>> from weighbridge.ratios import KnownRatio
    >>> iw_scorer("r2", KnownRatio(np.ravel))
    ImportanceWeightedScorer('r2', KnownRatio(log_ratio=<function ravel at ...>))
    """

    def __init__(self, scoring: Any, ratio: Any, weighting: Any = None):
        if not is_fitted(check_ratio(ratio)):
            raise ValueError(
                f"Got ratio={type(ratio).__name__}, which is not fitted; a scorer needs the ratio "
                "itself: iw_scorer(scoring, fit_ratio(X, X_target))."
            )
        weighting_or_default(weighting)
        if scoring is not None:
            get_scorer(scoring)  # a misspelt name fails here, not in the middle of a search
        self.scoring = scoring
        self.ratio = ratio
        self.weighting = weighting

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score a fitted estimator on labelled source rows."""
        weighting = weighting_or_default(self.weighting)
        X, y = unmasked(X), unmasked(y, "y")
        sample_weight = check_sample_weight(sample_weight, _num_samples(X))
        log_ratio = mean_one_log_ratio(
            source_log_ratio(self.ratio, X, sample_weight, y), sample_weight
        )
        weights = source_weights(weighting, log_ratio, sample_weight)
        scorer = check_scoring(estimator, self.scoring)
        try:
            return scorer(
                estimator,
                X,
                y,
                sample_weight=weights if sample_weight is None else sample_weight * weights,
            )
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise TypeError(
                f"Got scoring={self.scoring!r}, whose metric takes no sample_weight; choose one "
                "that does (accuracy, neg_log_loss, neg_mean_squared_error, roc_auc, ...)."
            ) from error

    def __repr__(self) -> str:
        rest = "" if self.weighting is None else f", weighting={self.weighting!r}"
        return f"ImportanceWeightedScorer({self.scoring!r}, {self.ratio!r}{rest})"
