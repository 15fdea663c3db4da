"""Warnings that weighbridge raises; the code at the start of a message names the finding."""

__all__ = ["OverlapWarning", "SearchWarning", "WeightWarning"]


class WeightWarning(UserWarning):
    """Something about the weights deserves a look.

    Examples
    --------
    Turn every such warning into an error while testing a pipeline:

    >>> import warnings
    >>> from weighbridge.exceptions import WeightWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", WeightWarning)
    """


class OverlapWarning(WeightWarning):
    """The two samples overlap too little for the weights to be trusted.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from sklearn.linear_model import Ridge
    >>> from weighbridge import ImportanceWeighted
    >>> from weighbridge.exceptions import OverlapWarning
    >>> from weighbridge.ratios import KnownRatio
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> ratio = KnownRatio(lambda X: 20 * X[:, 0])  # a handful of rows carries everything
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = ImportanceWeighted(Ridge(), ratio).fit(X, X[:, 0])
    >>> issubclass(caught[0].category, OverlapWarning)
    True
    """


class SearchWarning(UserWarning):
    """A search for (lam, alpha) did not go as planned: it was interrupted, or candidates failed.

    Examples
    --------
    >>> import warnings
    >>> from weighbridge.exceptions import SearchWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SearchWarning)
    """
