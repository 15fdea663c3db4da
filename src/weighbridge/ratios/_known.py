"""A density ratio that is known and needs no estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import gaussian_kde
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from weighbridge.ratios._base import DensityRatioMixin, whole_or_not_at_all
from weighbridge.tables import is_frame, unmasked


class KnownRatio(DensityRatioMixin, BaseEstimator):
    """A density ratio given by formulas instead of samples; it needs no fitting.

    Give either `log_ratio`, or `source` and `target`. Functions receive data frames as they are.

    Parameters
    ----------
    log_ratio : callable, optional
        ``log_ratio(X)`` returns ``log p_target(x) - log p_source(x)`` for each row.
    source, target : callable, frozen scipy.stats distribution or fitted density, optional
        The two log densities: functions of `X`, distributions with a ``logpdf`` or ``logpmf``
        method, or fitted densities of scikit-learn (``score_samples``).

    Notes
    -----
    If a row becomes a source row with the known probability p(x), the log ratio is ``-log p(x)`` if
    all rows are the target, and ``-logit p(x)`` if only the others are. Both hold up to a constant,
    which `ImportanceWeighted` does not need, because it scales the ratio to mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from weighbridge.ratios import KnownRatio
    >>> ratio = KnownRatio(source=norm(0, 1), target=norm(1, 1))
    >>> ratio.score_samples(np.array([[0.0], [0.5], [2.0]]))  # x - 1/2
    array([-0.5,  0. ,  1.5])
    """

    # These hold until fit, which is never required, sees labels and sizes of samples.
    classes_ = np.array([0, 1])
    log_prior_odds_ = 0.0
    _finite = False

    def __init__(
        self, log_ratio: Callable[..., Any] | None = None, *, source: Any = None, target: Any = None
    ):
        self.log_ratio = log_ratio
        self.source = source
        self.target = target

    def fit(self, X: Any, y: Any) -> KnownRatio:
        """Check the parameters and remember the columns; nothing is estimated.

        Parameters
        ----------
        X, y
            As in `ULSIF.fit`.

        Returns
        -------
        KnownRatio
            The object itself.
        """
        self._check_parameters()
        with whole_or_not_at_all(self):
            self._coded(self._checked_rows(X, y, reset=True)[1])
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density ratio at the rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``log p_target(x) - log p_source(x)``.
        """
        self._check_parameters()
        if hasattr(self, "n_features_in_"):
            X = self._checked_rows(X, reset=False)
        elif not is_frame(X):
            rows = unmasked(X)
            X = check_array(rows, accept_sparse="csr", ensure_all_finite=False, estimator=self)
        if self.log_ratio is not None:
            return _one_per_row(self.log_ratio(X), X, "log_ratio")
        log_target = _log_density(self.target, X, "target")
        log_source = _log_density(self.source, X, "source")
        with np.errstate(invalid="ignore"):
            log_ratio = log_target - log_source
        # Outside both supports there is no mass to reweight.
        return np.where((log_target == -np.inf) & (log_source == -np.inf), -np.inf, log_ratio)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # It knows one ratio and learns no other.
        return tags

    def _check_parameters(self) -> None:
        names = ("log_ratio", "source", "target")
        given = [name for name in names if getattr(self, name) is not None]
        if given not in (["log_ratio"], ["source", "target"]):
            raise ValueError(
                f"Got {', '.join(given) or 'nothing'}, but KnownRatio needs exactly one of: "
                "log_ratio; source and target."
            )
        if "log_ratio" in given and not callable(self.log_ratio):
            raise TypeError(
                f"Got log_ratio of type {type(self.log_ratio).__name__}, but expected a function "
                "of X: a ratio must be known at any row. Weights that you already have go into "
                "sample_weight."
            )


def _log_density(density: Any, X: Any, name: str) -> np.ndarray:
    methods = ("logpdf", "logpmf", "score_samples", "__call__")
    method = next((method for method in methods if hasattr(density, method)), None)
    if method is None:
        raise TypeError(
            f"Got {name} of type {type(density).__name__}, but expected a function of X that "
            "returns log densities, a frozen scipy.stats distribution, or a fitted density of "
            "scikit-learn."
        )
    rows = X
    if method in ("logpdf", "logpmf"):
        if sp.issparse(X):
            raise TypeError(
                f"Got sparse X, which the {name} distribution cannot take; pass X.toarray(), or a "
                "function of X."
            )
        rows = np.asarray(X, dtype=float)
        if isinstance(density, gaussian_kde):
            rows = rows.T
        elif rows.shape[1] == 1:  # One-dimensional distributions return a value for each cell.
            rows = rows[:, 0]
    return _one_per_row(getattr(density, method)(rows), X, name)


def _one_per_row(values: Any, X: Any, name: str) -> np.ndarray:
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if values.shape != (X.shape[0],):
        raise ValueError(
            f"Got {name}(X) of shape {values.shape} for X of shape {X.shape}; it must return one "
            f"number for each row, shape ({X.shape[0]},)."
        )
    return values
