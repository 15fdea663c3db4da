"""Weights of classes as a density ratio, and as a correction of a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _num_samples, check_is_fitted

from weighbridge._pass_weights import answer_of
from weighbridge.label_shift._chances import ClassChances, coded_classes
from weighbridge.label_shift._frequencies import METHODS, ClassFrequencies, Frequencies, posterior
from weighbridge.tables import (
    FloatArray,
    as_labels,
    check_confidence,
    check_count,
    is_continuous,
    refuse_missing,
)

# Bins of numbers with decimals.
BINS = 10


class LabelRatio(BaseEstimator):
    """A density ratio in the label: right where the mix of classes changes, and nothing else does.

    It takes the place of a ratio in the features, as the `ratio` of `ImportanceWeighted`,
    `ImportanceWeightedCV`, `assess` and the conformal predictors: a source row of class c gets the
    weight ``q_c / p_c``, the class's frequency in the target over that in the source.

    Parameters
    ----------
    bins : int, optional
        Numbers are cut into this many classes of equally many source rows, smoothed a little, and
        weights are interpolated between their medians. Default: ten where there are decimals;
        whole numbers are classes. This is harder than with classes: features tell numbers
        apart less clearly, and what they cannot tell is noise in the weights.
    method, classifier, cv, confidence, random_state
        How the frequencies in the target are estimated; as in `class_frequencies`.

    Attributes
    ----------
    frequencies_ : ClassFrequencies
        Of both samples; for numbers, those of the bins, named by their medians.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from weighbridge import ImportanceWeighted
    >>> from weighbridge.label_shift import LabelRatio
    >>> rng = np.random.default_rng(0)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.1
    >>> X, X_target = (rng.normal(2.0 * part)[:, None] for part in (y, y_target))
    >>> model = ImportanceWeighted(LogisticRegression(), LabelRatio()).fit(X, y, X_target=X_target)
    >>> plain = LogisticRegression().fit(X, y)
    >>> model.score(X_target, y_target) > plain.score(X_target, y_target)
    True
    """

    def __init__(
        self,
        method: str = "em",
        *,
        classifier: Any = None,
        bins: int | None = None,
        cv: int = 5,
        confidence: float = 0.95,
        random_state: Any = 0,
    ):
        self.method = method
        self.classifier = classifier
        self.bins = bins
        self.cv = cv
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_target: Any) -> LabelRatio:
        """Estimate the frequencies of the classes in the target.

        Parameters
        ----------
        X, y, X_target
            As in `class_frequencies`; labels may also be numbers, see `bins`.

        Returns
        -------
        LabelRatio
            The fitted object.
        """
        if self.method not in METHODS:
            expected = ", ".join(METHODS)
            raise ValueError(f"Got method={self.method!r}, but expected one of {expected}.")
        check_confidence(self.confidence)
        if self.bins is not None:
            check_count("bins", self.bins, 2)
        labels, self._middles = as_labels(y), None
        refuse_missing(labels)
        if self.bins is not None or is_continuous(labels):
            labels, self._middles = _binned(labels.astype(float), int(self.bins or BINS))
        self.classes_, codes = coded_classes(labels, _num_samples(X))
        chances = ClassChances(X, codes, X_target, self.classifier, self.cv, self.random_state)
        ordered = self._middles is not None
        self._keep(chances, Frequencies.estimated(chances, self.method, ordered=ordered))
        return self

    def _keep(self, chances: ClassChances, found: Frequencies) -> None:
        names = self.classes_ if self._middles is None else self._middles
        rows = (chances.priors, found.target, *found.interval(float(self.confidence)))
        source, target, low, high = (tuple(map(float, part)) for part in rows)
        self.frequencies_ = ClassFrequencies(
            tuple(names.tolist()), source, target, low, high, float(self.confidence), self.method
        )
        self._chances, self._found = chances, found
        # a class that is not in the target keeps a trace of weight: its rows are not impossible
        least = 0.5 / len(chances.target)
        self._weights = np.maximum(found.target, least) / chances.priors

    def score_labels(self, y: Any) -> FloatArray:
        """Return the log weights of labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``log q(y) - log p(y)``.
        """
        check_is_fitted(self, "frequencies_")
        return self._parts(y) @ np.log(self._weights)

    def _parts(self, y: Any) -> FloatArray:
        """Return the share that each class has in a label: one has all, but between two bins."""
        labels = as_labels(y)
        if self._middles is not None:
            numbers, unit = labels.astype(float), np.eye(self._middles.size)
            return np.column_stack([np.interp(numbers, self._middles, row) for row in unit])
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        places = np.array([codes.get(label, -1) for label in labels.tolist()], dtype=int)
        if (places < 0).any():
            raise ValueError(
                f"Got label {labels[places < 0].tolist()[0]!r}, which no training row had "
                f"(theirs are {self.classes_[:5].tolist()}); its frequency there is 0, and no "
                "weight can make up for it."
            )
        return np.eye(self.classes_.size)[places]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log density ratio that the frequencies imply for features alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``log sum_c (q_c / p_c) P(c | x)``.
        """
        check_is_fitted(self, "frequencies_")
        return np.asarray(np.log(self._chances.at(X) @ self._weights))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frequencies_")


def _binned(labels: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of each number, and the medians of the bins."""
    edges = np.unique(np.quantile(labels, np.arange(1, n_bins) / n_bins))
    codes = np.searchsorted(edges, labels, side="left")
    codes = np.unique(codes, return_inverse=True)[1]
    medians = [float(np.median(labels[codes == code])) for code in range(int(codes.max()) + 1)]
    return codes, np.array(medians)


def class_frequencies(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    method: str = "em",
    classifier: Any = None,
    cv: int = 5,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> ClassFrequencies:
    """Estimate how frequent the classes are in a target without labels.

    It is right under label shift: rows of one class look the same in both samples, and only the
    frequencies of the classes differ.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    y : array-like of shape (n_source,)
        Their classes.
    X_target : same type as `X`, of shape (n_target, n_features)
        Target rows.
    method : {"em", "bbse", "rlls"}, default="em"
        "em" maximises the likelihood of the target rows (Saerens et al. 2002), by calibrated
        probabilities (bias-corrected temperature scaling, Alexandari et al. 2020). "bbse" matches
        mean forecasts (Lipton et al. 2018), "rlls" does so with less variance and some bias
        towards no change (Azizzadenesheli et al. 2019), which its intervals allow for.
    classifier : classifier with predict_proba, optional
        Default: logistic regression, linear and with squares and products, and histogram gradient
        boosting, mixed as suits the held-out rows best; for tables of any kind.
    cv : int, default=5
        Number of folds, stratified by class.
    confidence : float, default=0.95
        Of the intervals, which are on the safe side where features hardly tell classes apart.
    random_state : int, RandomState instance or None, default=0
        Deals the folds, draws 10,000 rows to fit to from larger samples.

    Returns
    -------
    ClassFrequencies
        Frequencies in both samples, with intervals for the target's.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.label_shift import class_frequencies
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.2
    >>> X, X_target = (rng.normal(2.0 * part)[:, None] for part in (y, y_target))
    >>> found = class_frequencies(X, y, X_target)
    >>> found.low[1] < 0.2 < found.high[1]
    True
    """
    coded_classes(y, _num_samples(X))  # numbers, which a ratio may cut into bins, have no classes
    options = {"cv": cv, "confidence": confidence, "random_state": random_state}
    ratio = LabelRatio(method, classifier=classifier, **options).fit(X, y, X_target)
    return ratio.frequencies_


class PriorCorrected(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are rescaled to the class frequencies of a target.

    Nothing is fitted again: under label shift the probability of class c changes by the factor
    ``q_c / p_c``. It is only as good as the classifier is calibrated; a refit
    with `LabelRatio` also moves what a model of limited flexibility learns.

    Parameters
    ----------
    estimator : fitted classifier with predict_proba
        It is left as it is.
    frequencies : ClassFrequencies, optional
        Of both samples, as `class_frequencies` estimates them. Default: estimated in ``fit``.

    Attributes
    ----------
    frequencies_ : ClassFrequencies
        The frequencies used.
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from weighbridge.label_shift import PriorCorrected
    >>> rng = np.random.default_rng(0)
    >>> y, y_target = rng.uniform(size=1000) < 0.5, rng.uniform(size=1000) < 0.1
    >>> X, X_target = (rng.normal(2.0 * part)[:, None] for part in (y, y_target))
    >>> plain = LogisticRegression().fit(X, y)
    >>> model = PriorCorrected(plain).fit(X, y, X_target)
    >>> model.score(X_target, y_target) > plain.score(X_target, y_target)
    True
    """

    def __init__(self, estimator: Any, frequencies: ClassFrequencies | None = None):
        self.estimator = estimator
        self.frequencies = frequencies

    def fit(self, X: Any, y: Any, X_target: Any = None) -> PriorCorrected:
        """Take or estimate the frequencies; the classifier itself is not touched.

        Parameters
        ----------
        X, y
            As in `class_frequencies`.
        X_target : same type as `X`, of shape (n_target, n_features), optional
            Target rows, where frequencies are to be estimated.

        Returns
        -------
        PriorCorrected
            The fitted object.
        """
        inner = self.estimator
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        check_is_fitted(inner)
        if not hasattr(inner, "predict_proba"):
            raise TypeError(
                f"Got {type(inner).__name__}, which has no predict_proba to rescale; wrap it in "
                "CalibratedClassifierCV, or refit it with LabelRatio."
            )
        if self.frequencies is None and X_target is None:
            raise ValueError(
                "Got neither frequencies nor X_target; pass the target rows, or "
                "frequencies=class_frequencies(X, y, X_target)."
            )
        found = self.frequencies or class_frequencies(X, y, X_target)
        if [str(each) for each in found.classes] != [str(each) for each in inner.classes_]:
            raise ValueError(
                f"Got frequencies of the classes {list(found.classes)[:5]} for a classifier of "
                f"{inner.classes_[:5].tolist()}; both must come from the same rows and labels."
            )
        self.frequencies_, self.classes_ = found, inner.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the rescaled probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        check_is_fitted(self, "frequencies_")
        chances = answer_of(self.estimator, "predict_proba", X)
        return posterior(np.maximum(chances, 1e-300), np.array(self.frequencies_.weights))

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row, by `predict_proba`."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
