"""Labels as classes, and class weights as a density ratio in the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples, check_is_fitted

from weighbridge.label_shift._prevalence import METHODS, ClassFrequencies, estimate_prevalence
from weighbridge.label_shift._probabilities import ClassProbabilities
from weighbridge.tables import (
    as_labels,
    check_confidence,
    check_count,
    is_continuous,
    refuse_missing,
)

# Bins of numbers with decimals.
BINS = 10


def coded_classes(y: ArrayLike, n_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the code of each row; raise ValueError unless they can be compared."""
    y = as_labels(y)
    if y.shape != (n_source,):
        raise ValueError(f"Got y of shape {y.shape}, but expected ({n_source},), one for each row.")
    refuse_missing(y)
    if is_continuous(y):
        raise ValueError(
            "Got y with continuous values, but label shift is checked for classes only; leave the "
            "check out for regression, or pass classes."
        )
    types = {"number" if isinstance(v, int | float) else type(v).__name__ for v in y.tolist()}
    if len(types) > 1:
        raise ValueError(f"Got y with labels of several types ({', '.join(sorted(types))}).")
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if labels.size < 2 or counts.min() < 2 or y.size < 4 * labels.size:
        rarest = labels.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"Got y with {labels.size} class{'es' * (labels.size > 1)} in {y.size} rows, the "
            f"rarest ({rarest!r}) in {counts.min()}, but expected at least 2 classes, 2 rows in "
            "each and 4 on average. Merge rare classes, or leave them out."
        )
    return labels, codes


def binned_labels(labels: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of each number, and the medians of the bins."""
    edges = np.unique(np.quantile(labels, np.arange(1, n_bins) / n_bins))
    bins, codes = np.unique(np.searchsorted(edges, labels), return_inverse=True)
    return codes, np.array([np.median(labels[codes == code]) for code in range(bins.size)])


class LabelRatio(BaseEstimator):
    """Class frequencies of a target without labels, and the density ratio that they imply.

    Under label shift, the rows of a class look the same in both samples, and only the class
    frequencies change, from p to q. A source row of class c then has the density ratio ``q_c /
    p_c``. As the `ratio` of `ImportanceWeighted`, `ImportanceWeightedCV`, `assess` or a conformal
    predictor, this object gives each row the weight of its class.

    Parameters
    ----------
    method : {"em", "bbse", "rlls"}, default="em"
        "em" maximises the likelihood of the target rows (Saerens et al. 2002) by calibrated
        probabilities (bias-corrected temperature scaling, Alexandari et al. 2020). "bbse" matches
        mean forecasts (Lipton et al. 2018). "rlls" does so with less variance and some bias towards
        no change (Azizzadenesheli et al. 2019), which its intervals allow for.
    classifier : classifier with predict_proba, optional
        Default: logistic regression, linear and with squares and products, and histogram gradient
        boosting, mixed by their likelihood on held-out rows; for tables of any kind.
    bins : int, optional
        Cut numbers into this many classes with equally many source rows. Neighbours are smoothed a
        little, and weights are interpolated between the medians of the bins. Default: 10 if there
        are decimals; integers are classes. Estimates are less precise than with classes, because
        features distinguish neighbouring bins less clearly.
    cv : int, default=5
        Number of folds, stratified by class.
    confidence : float, default=0.95
        Level of the intervals, which are conservative if features hardly distinguish the classes.
    random_state : int, RandomState instance or None, default=0
        Assigns folds, and draws the 10,000 rows of a larger sample that models are fitted to.

    Attributes
    ----------
    frequencies_ : ClassFrequencies
        Has ``classes``, their frequencies in the ``source`` and in the ``target`` with its interval
        ``low`` and ``high``, and ``weights``, q / p. The classes of numbers are medians of the
        bins.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import LabelRatio
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.2
    >>> X, X_target = (rng.normal(2.0 * labels)[:, None] for labels in (y, y_target))
    >>> frequencies = LabelRatio().fit(X, y, X_target).frequencies_
    >>> frequencies.low[1] < 0.2 < frequencies.high[1]
    True
    """

    def __init__(
        self,
        method: str = "em",
        *,
        classifier: BaseEstimator | None = None,
        bins: int | None = None,
        cv: int = 5,
        confidence: float = 0.95,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.method = method
        self.classifier = classifier
        self.bins = bins
        self.cv = cv
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_target: ArrayLike) -> LabelRatio:
        """Estimate the class frequencies in the target.

        Parameters
        ----------
        X, X_target : array-like, sparse matrix or data frame
            Source rows and target rows, of the same type.
        y : array-like of shape (n_source,)
            Classes of the source rows, or numbers; see `bins`.

        Returns
        -------
        LabelRatio
            The fitted object.
        """
        if self.method not in METHODS:
            expected = ", ".join(METHODS)
            raise ValueError(f"Got method={self.method!r}, but expected one of {expected}.")
        confidence = check_confidence(self.confidence)
        if self.bins is not None:
            check_count("bins", self.bins, 2)
        labels, medians = as_labels(y), None
        refuse_missing(labels)
        if self.bins is not None or is_continuous(labels):
            labels, medians = binned_labels(labels.astype(float), int(self.bins or BINS))
        classes, codes = coded_classes(labels, _num_samples(X))
        models = self.classifier, self.cv, self.random_state
        probabilities = ClassProbabilities(X, codes, X_target, *models)
        estimate = estimate_prevalence(probabilities, self.method, ordered=medians is not None)
        priors, names = probabilities.priors, classes if medians is None else medians
        columns = priors, estimate.target, *estimate.interval(confidence)
        source, target, low, high = (tuple(column.tolist()) for column in columns)
        self.frequencies_ = ClassFrequencies(
            tuple(names.tolist()), source, target, low, high, confidence, self.method
        )
        self.classes_, self.bin_medians_ = classes, medians
        self.probabilities_, self.estimate_ = probabilities, estimate
        # A class without target rows keeps a little weight, because its rows are not impossible.
        least = 0.5 / len(probabilities.target)
        self.class_weights_ = np.maximum(estimate.target, least) / priors
        return self

    def score_labels(self, y: ArrayLike) -> np.ndarray:
        """Return the log weights of labels, ``log q(y) - log p(y)``."""
        check_is_fitted(self, "frequencies_")
        return self.class_shares(y) @ np.log(self.class_weights_)

    def class_shares(self, y: ArrayLike) -> np.ndarray:
        """Return the share of each class in each label: 0 or 1, or the weights of two bins."""
        labels = as_labels(y)
        if self.bin_medians_ is not None:
            numbers, medians = labels.astype(float), self.bin_medians_
            unit = np.eye(medians.size)
            return np.column_stack([np.interp(numbers, medians, row) for row in unit])
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in labels.tolist() if label not in codes]
        if unknown:
            raise ValueError(
                f"Got label {unknown[0]!r}, which no training row had (theirs are "
                f"{list(codes)[:5]}); its frequency there is 0, and no weight can make up for it."
            )
        return np.eye(len(codes))[[codes[label] for label in labels.tolist()]]

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the log ratio ``log sum_c (q_c / p_c) P(c | x)`` of any rows."""
        check_is_fitted(self, "frequencies_")
        return np.asarray(np.log(self.probabilities_.predict(X) @ self.class_weights_))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frequencies_")
