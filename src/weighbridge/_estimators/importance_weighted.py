"""An estimator fitted with importance weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from weighbridge._estimators.base import (
    WeightedEstimator,
    is_estimated,
    refuse_text,
    tables_in_memory,
)
from weighbridge._estimators.fitted_rows import FittedRows
from weighbridge._pass_weights import fit_with_weights, weight_parameter
from weighbridge.geodesic import log_weight_bounds
from weighbridge.ratios import (
    AutoRatio,
    effective_sample_size,
    source_log_ratio,
    warn_if_apart,
    warn_if_untrustworthy,
)
from weighbridge.tables import check_sample_weight, unmasked
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one,
    mean_one_log_ratio,
    source_log_weight,
    weighting_or_default,
)


class ImportanceWeighted(WeightedEstimator):
    """Any scikit-learn estimator, fitted for a target distribution for which it has no labels.

    The labelled source rows are weighted so that they represent the target sample
    (Kimura & Hino, *Information Geometrically Generalized Covariate Shift Adaptation*):
    density ratio, weight ``w^(lam, alpha)``, weighted fit.

    Parameters
    ----------
    estimator : estimator
        Regressor or classifier whose ``fit`` takes ``sample_weight``, or a pipeline that ends in
        one. The wrapper goes outside the pipeline.
    ratio : str or density ratio, optional
        How to estimate ``p_target(x) / p_source(x)``; default "auto", that is `AutoRatio()`; other
        names are those of `weighbridge.fit_ratio`. A ratio that is already fitted and frozen, or
        known, needs no ``X_target`` in ``fit``.
    weighting : Geodesic or callable with ``get_params``, optional
        How weights are formed from the ratio; default `Geodesic()`, the full ratio (IWERM). Your
        own is called with log ratios and returns log weights, one for each row.
    normalize : bool, default=True
        Scale the ratio, and then the weights, to mean 1 on the source sample. False passes the
        weights of the paper on as they are; they then also change the strength of regularisation.

    Attributes
    ----------
    estimator_ : estimator
        The fitted inner estimator.
    ratio_ : density ratio
        The fitted ratio.
    log_ratio_ : ndarray of shape (n_samples,)
        Log density ratio at the source rows; scaled to a mean ratio of 1 if `normalize`.
    weights_ : ndarray of shape (n_samples,)
        Importance weight of each source row; ``estimator_`` got them times ``sample_weight``.
    ess_ : float
        Effective sample size of the weights that the inner estimator was given.
    n_features_in_ : int
        Number of features, where the inner estimator knows it.
    feature_names_in_ : ndarray
        Names of the features, where the inner estimator knows them.

    See Also
    --------
    weighbridge.for_target : A model with a fitted ratio and its score, for any search over `lam`.
    weighbridge.iw_scorer : Scores weighted toward the target, for use in cross-validation.

    Notes
    -----
    A search over ``weighting__lam`` fits the ratio anew in each fold; `weighbridge.for_target` fits
    it once. The wrapper goes outside a pipeline, because a step gets `X` transformed and
    ``X_target`` as it is.
    A ratio that is fitted but not frozen counts as not fitted: clones forget it.
    Inside scikit-learn's cross-validation, pass a frozen, fitted ratio (see the second example):
    scikit-learn slices every argument that is as long as ``X``, and would silently cut ``X_target``
    when the two samples have the same number of rows.
    A `weighbridge.exceptions.OverlapWarning` says when the weights cannot be trusted.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import Geodesic, ImportanceWeighted
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> model = ImportanceWeighted(LinearRegression(), weighting=Geodesic(lam=0.5, alpha=3))
    >>> model = model.fit(data.X, data.y, X_target=data.X_target)
    >>> plain = LinearRegression().fit(data.X, data.y)
    >>> data.problem.mse(model.estimator_) < 0.1 * data.problem.mse(plain)
    True

    With a frozen ratio, only ``fit(X, y)`` is left, and everything composes:

    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.model_selection import GridSearchCV
    >>> from weighbridge import fit_ratio, iw_scorer
    >>> ratio = FrozenEstimator(fit_ratio(data.X, data.X_target))
    >>> search = GridSearchCV(
    ...     ImportanceWeighted(LinearRegression(), ratio, weighting=Geodesic(alpha=3)),
    ...     {"weighting__lam": [0, 0.5, 0.9]},
    ...     scoring=iw_scorer("neg_mean_squared_error", ratio),
    ... ).fit(data.X, data.y)
    >>> search.best_params_["weighting__lam"] > 0
    True
    """

    _defaults: ClassVar[dict[str, Any]] = {"ratio": AutoRatio, "weighting": Geodesic}

    def __init__(
        self, estimator: Any, ratio: Any = None, *, weighting: Any = None, normalize: bool = True
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.weighting = weighting
        self.normalize = normalize

    @np.errstate(under="ignore")
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None
    ) -> ImportanceWeighted:
        """Estimate the ratio, form the weights, fit the inner estimator with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Source rows.
        y : array-like of shape (n_samples,)
            Labels of the source rows.
        sample_weight : array-like of shape (n_samples,), optional
            Your weights for the source rows. They multiply the importance weights, and 0 leaves a
            row out; the ratio itself compares the two samples as they are.
        X_target : array-like of shape (n_target, n_features), optional
            Target rows, without labels. Required unless `ratio` is fitted or known.

        Returns
        -------
        ImportanceWeighted
            The fitted object.
        """
        X, X_target = tables_in_memory(X, X_target)
        estimator, y = clone(self.estimator), unmasked(y, "y")
        weight_parameter(estimator)  # Fails before the work if there is none.
        weighting = weighting_or_default(self.weighting)
        sample_weight = check_sample_weight(sample_weight, _num_samples(X))
        ratio = self._fitted_ratio(X, X_target, y)
        log_ratio = source_log_ratio(ratio, X, sample_weight, y)
        log_scale = log_mean(log_ratio, sample_weight)
        if self.normalize:
            log_ratio = mean_one_log_ratio(log_ratio, sample_weight)
        log_weight = source_log_weight(weighting, log_ratio, sample_weight)
        weights = (
            mean_one(log_weight, sample_weight) if self.normalize else _raw_weights(log_weight)
        )
        delivered = weights if sample_weight is None else sample_weight * weights
        ess = effective_sample_size(delivered)
        log_cap = _log_cap(weighting)
        fit_with_weights(estimator, X, y, delivered)
        refuse_text(estimator, X, ratio)

        self.estimator_, self.ratio_ = estimator, ratio
        self.log_ratio_, self.weights_, self.ess_ = log_ratio, weights, ess
        self._fitted_rows = FittedRows(X, sample_weight)
        self._copy_features()
        # a ratio that was fitted here has said so itself
        if X_target is None and is_estimated(ratio) and log_cap > 0:
            warn_if_apart(log_scale)
        warn_if_untrustworthy(delivered, sample_weight, log_cap)
        return self


def _log_cap(weighting: Any) -> float:
    """Log of the largest weight that any ratio can get: 0 for ERM, infinite for IWERM."""
    if not isinstance(weighting, Geodesic):
        return np.inf
    return float(np.max(log_weight_bounds(weighting.lam, weighting.alpha)[1]))


def _raw_weights(log_weight: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # refused below, by name
        weights = np.exp(log_weight)
    if not (np.isfinite(weights).all() and weights.any()):
        raise ValueError(
            "Got raw weights that are all 0 or too large for a double; normalize=True scales them."
        )
    return weights
