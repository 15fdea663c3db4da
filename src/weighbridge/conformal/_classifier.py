"""Sets of classes with nominal coverage on the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from weighbridge._pass_weights import answer_of
from weighbridge.conformal._base import ConformalEstimator, Fit, Rng
from weighbridge.conformal._rows import LabelledRows


class ConformalClassifier(ConformalEstimator):
    """Sets of classes around any classifier, with nominal coverage on the target.

    Weighted split conformal prediction (Tibshirani, Barber, Candes & Ramdas 2019): a set has all
    classes whose score is at most the quantile of the scores of calibration rows, weighted by the
    density ratio. With the true ratio, it contains a new target label with probability at least
    `coverage`, however wrong the probabilities of the model are.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; otherwise as in `ConformalRegressor`.
    ratio, coverage, random_state
        As in `ConformalRegressor`.
    method : {"lac", "aps"}, default="lac"
        Score of a class. "lac": one minus its probability (Sadinle, Lei & Wasserman 2019), for
        the smallest sets on average, some of them empty. "aps": total probability of the likelier
        classes plus half its own (Romano, Sesia & Candes 2020, who draw the half at random), for
        sets that grow where the model is unsure.
    calibration_size : float or int, default=0.5
        Share or number of rows to calibrate on, unless the estimator is frozen. Every class has
        the same share in both subsets, and at least one row to fit to.
    shift : {"covariate", "label", "auto"}, default="covariate"
        "label": the class prevalence changed, and rows are weighted by class
        (`weighbridge.label_shift.LabelRatio`). "auto": held-out rows decide, if `ratio` is None
        (`weighbridge.label_shift.kind_of_shift`).

    Attributes
    ----------
    estimator_, classes_ : classifier, ndarray of shape (n_classes,)
        The fitted inner estimator, and its classes, the columns of the sets.
    shift_ : ShiftKind or None
        The kind of shift that ``shift="auto"`` found.
    scores_ : ndarray of shape (n_calibration,)
        Scores of the labels of the calibration rows.
    calibration_weights_, ess_, n_calibration_, rows_checked_, ratio_
        As in `ConformalRegressor`.

    Notes
    -----
    See `ConformalRegressor`. With weights by class, each class is compared with the quantile under
    its own weight (Podkopaev & Ramdas 2021). A class with more than ``1 - coverage`` of the total
    weight is in every set, and so is one without labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from weighbridge.conformal import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 2)), rng.normal(0.5, 1, (500, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=1000) > 0, "up", "down")
    >>> model = ConformalClassifier(LogisticRegression(), random_state=0)
    >>> model.fit(X, y, X_target=X_target).classes_
    array(['down', 'up'], dtype='<U4')
    >>> model.predict_set([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    array([[ True, False],
           [ True,  True],
           [False,  True]])
    """

    _has_classes: ClassVar[bool] = True
    _class_scores: Callable[[np.ndarray], np.ndarray]

    def __init__(
        self,
        estimator: BaseEstimator,
        ratio: BaseEstimator | str | None = None,
        *,
        coverage: float = 0.9,
        method: str = "lac",
        calibration_size: float = 0.5,
        random_state: Any = None,
        shift: str = "covariate",
    ):
        self.estimator, self.ratio, self.coverage = estimator, ratio, coverage
        self.method, self.calibration_size = method, calibration_size
        self.random_state, self.shift = random_state, shift

    def predict_set(self, X: ArrayLike) -> np.ndarray:
        """Return a set of classes for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ndarray of bool, of shape (n_samples, n_classes)
            True for the classes in the set, in the order of `classes_`. All of them if the
            calibration rows give no finite limit.
        """
        return self._sets(X, self._limits(X))

    def _sets(self, X: ArrayLike, limits: np.ndarray) -> np.ndarray:
        return self._class_scores(answer_of(self.estimator_, "predict_proba", X)) <= limits

    def _set_sizes(self, X: ArrayLike, limits: np.ndarray) -> dict[str, float | None]:
        sizes = self._sets(X, limits).sum(axis=1)
        return {"mean_size": float(sizes.mean()), "empty_share": float((sizes == 0).mean())}

    def _log_ratio_of_labels(self) -> np.ndarray:
        is_known = np.isin(self.classes_, self.ratio_.frequencies_.classes)
        log_ratio = np.full(is_known.size, np.inf)
        log_ratio[is_known] = self.ratio_.score_labels(self.classes_[is_known])
        return log_ratio

    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        if self.method not in _CLASS_SCORES:
            raise ValueError(f"Got method={self.method!r}, but expected 'lac' or 'aps'.")
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"Got {type(self.estimator).__name__}, which has no predict_proba. Put it in "
                "sklearn.calibration.CalibratedClassifierCV, or use ConformalRegressor for numbers."
            )
        if y.dtype == object and len({isinstance(label, str) for label in y.tolist()}) > 1:
            raise ValueError("Got y with text and numbers. Write all labels as one of the two.")
        check_classification_targets(y)
        return y

    def _fit_and_score(
        self, fitting: LabelledRows | None, calibration: LabelledRows, fit_inner: Fit, rng: Rng
    ) -> dict[str, Any]:
        estimator, class_scores = fit_inner(fitting), _CLASS_SCORES[self.method]
        unknown = np.setdiff1d(calibration.y, estimator.classes_)
        if unknown.size:
            raise ValueError(
                f"Got labels {unknown[:5].tolist()}, but expected classes of the model, "
                f"{estimator.classes_[:5].tolist()}. Leave such rows out, or fit the model to some."
            )
        scores = class_scores(answer_of(estimator, "predict_proba", calibration.X))
        scores = scores[np.arange(len(scores)), np.searchsorted(estimator.classes_, calibration.y)]
        # The scores of another method, set after fit, would not be comparable.
        return {"estimator_": estimator, "scores_": scores, "_class_scores": class_scores}


def _least_ambiguous(probabilities: np.ndarray) -> np.ndarray:
    return 1 - probabilities


def _adaptive(probabilities: np.ndarray) -> np.ndarray:
    order = np.argsort(-probabilities, axis=1, kind="stable")
    descending = np.take_along_axis(probabilities, order, axis=1)
    scores = np.empty_like(probabilities)
    # With its whole probability, the last class of every row would have score 1.
    halves = np.cumsum(descending, axis=1) - descending / 2
    np.put_along_axis(scores, order, halves, axis=1)
    return scores


_CLASS_SCORES = {"lac": _least_ambiguous, "aps": _adaptive}
