"""Sets of classes that hold on the target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from weighbridge._pass_weights import answer_of
from weighbridge.conformal._calibrated import CalibratedEstimator, Part
from weighbridge.conformal._report import ConformalReport


class ConformalClassifier(CalibratedEstimator):
    """Sets of classes around any classifier, with a stated coverage on the target.

    Weighted split conformal prediction (Tibshirani, Barber, Candes & Ramdas 2019): scores on
    calibration rows are weighted by the density ratio, and a row's set has all classes whose score
    is at most the quantile of these scores. With the true ratio it holds a new target label with
    probability at least `coverage`, however wrong the probabilities of the model are.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; otherwise as in `ConformalRegressor`.
    ratio, random_state
        As in `ConformalRegressor`.
    coverage : float, default=0.9
        Share of target labels that the sets are to hold. It may be changed after ``fit``.
    method : {"lac", "aps"}, default="lac"
        Score of a class. "lac": one minus its probability (Sadinle, Lei & Wasserman 2019), for
        the smallest sets on average; some may be empty. "aps": total probability of the likelier
        classes plus half its own (Romano, Sesia & Candes 2020, who draw the half at random), for
        sets that grow where the model is unsure.
    calibration_size : float or int, default=0.5
        Share or number of rows to calibrate on, where the estimator is not fitted. Every class has
        the same share in both parts, and at least one row in the part to fit to.
    shift : {"covariate", "label", "auto"}, default="covariate"
        What changed: the features, met by a ratio in them; the mix of classes, met by weights by
        class (`weighbridge.label_shift.LabelRatio`); or whichever held-out rows point to, where
        `ratio` is None (`weighbridge.label_shift.kind_of_shift`).

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner estimator.
    classes_ : ndarray of shape (n_classes,)
        Its classes: the columns of the sets.
    shift_ : ShiftKind or None
        The kind of shift that ``shift="auto"`` found.
    scores_ : ndarray of shape (n_calibration,)
        Scores of the labels of the calibration rows.
    calibration_weights_, ess_, n_calibration_, rows_checked_
        As in `ConformalRegressor`.
    ratio_, n_features_in_, feature_names_in_
        As in `weighbridge.ImportanceWeighted`.

    See Also
    --------
    ConformalRegressor : Intervals; its notes apply here too.

    Notes
    -----
    With weights by class (Podkopaev & Ramdas 2021) the mass of a new row depends on its class,
    which is not known: each class is compared with the quantile that its own weight gives. A class
    with a weight above ``1 - coverage`` of all masses is in every set, and so is one that no
    labelled row has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from weighbridge.conformal import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 2)), rng.normal(0.5, 1, (500, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=1000) > 0, "up", "down")
    >>> model = ConformalClassifier(LogisticRegression(), random_state=0)
    >>> model = model.fit(X, y, X_target=X_target)
    >>> model.classes_
    array(['down', 'up'], dtype='<U4')
    >>> model.predict_set([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    array([[ True, False],
           [ True,  True],
           [False,  True]])
    """

    _by_class: ClassVar[bool] = True
    _example: ClassVar[str] = "LogisticRegression()"
    _score_of: Any

    def __init__(
        self,
        estimator: Any,
        ratio: Any = None,
        *,
        coverage: float = 0.9,
        method: str = "lac",
        calibration_size: Any = 0.5,
        random_state: Any = None,
        shift: str = "covariate",
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.coverage = coverage
        self.method = method
        self.calibration_size = calibration_size
        self.random_state = random_state
        self.shift = shift

    def predict_set(self, X: Any) -> np.ndarray:
        """Return a set of classes for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ndarray of bool, of shape (n_samples, n_classes)
            True for the classes in the set, in the order of `classes_`. All of them where the
            calibration rows cannot tell.
        """
        return self._sets(X, self._thresholds(X))

    def report(self, X: Any) -> ConformalReport:
        """Say what the sets at some rows look like, and what they rest on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ConformalReport
            Target coverage, effective calibration rows, share of infinite sets, sizes.
        """
        limit = self._thresholds(X)
        sizes = self._sets(X, limit).sum(axis=1)
        return ConformalReport(
            mean_size=float(sizes.mean()),
            empty_share=float((sizes == 0).mean()),
            **self._found(limit, sizes.size),
        )

    def _sets(self, X: Any, limit: np.ndarray) -> np.ndarray:
        chances = answer_of(self.estimator_, "predict_proba", X)
        return self._score_of(chances) <= limit

    def _log_ratio_of_labels(self) -> np.ndarray:
        known = np.isin(self.classes_, self.ratio_.frequencies_.classes)
        # nothing is known of a class that no labelled row has: it is in every set
        log_ratio = np.full(known.size, np.inf)
        log_ratio[known] = self.ratio_.score_labels(self.classes_[known])
        return log_ratio

    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        if self.method not in _SCORES:
            raise ValueError(f"Got method={self.method!r}, but expected 'lac' or 'aps'.")
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"Got {type(self.estimator).__name__}, which has no predict_proba; use a "
                "classifier that has, e.g. wrap it in sklearn.calibration.CalibratedClassifierCV. "
                "For numbers use weighbridge.conformal.ConformalRegressor."
            )
        if y.dtype == object and len({isinstance(label, str) for label in y.tolist()}) > 1:
            raise ValueError(
                "Got y with text and numbers in it, which have no common order; write all labels "
                "as text, or all as numbers."
            )
        check_classification_targets(y)
        return y

    def _check_fitting(self, rows: Part) -> None:
        if rows.n_rows and (rows.y == rows.y[0]).all():
            raise ValueError(
                f"Got y with only one class ({rows.y.tolist()[0]!r}); a classifier is fitted to at "
                "least two."
            )

    def _fit_models(
        self, part: Part | None, ratio: Any, X_target: Any, rng: np.random.RandomState
    ) -> dict[str, Any]:
        estimator = self._fit_inner(part, ratio, X_target)
        # scores of another method would not compare
        return {"estimator_": estimator, "_score_of": _SCORES[self.method]}

    def _scores(self, models: dict[str, Any], part: Part) -> np.ndarray:
        estimator = models["estimator_"]
        unknown = np.setdiff1d(part.y, estimator.classes_)
        if unknown.size:
            raise ValueError(
                f"Got labels {unknown[:5].tolist()} that the model does not know (its classes are "
                f"{list(estimator.classes_[:5])}); no set can hold them. Leave such rows out, or "
                "fit the model to some of them."
            )
        chances = answer_of(estimator, "predict_proba", part.X)
        column = np.searchsorted(estimator.classes_, part.y)
        return models["_score_of"](chances)[np.arange(part.n_rows), column]


def _least_ambiguous(chances: np.ndarray) -> np.ndarray:
    return 1 - chances


def _adaptive(chances: np.ndarray) -> np.ndarray:
    order = np.argsort(-chances, axis=1, kind="stable")
    in_order = np.take_along_axis(chances, order, axis=1)
    scores = np.empty_like(chances)
    # counted in full, the last class of every row would have score 1, and many sets all classes
    np.put_along_axis(scores, order, np.cumsum(in_order, axis=1) - in_order / 2, axis=1)
    return scores


_SCORES = {"lac": _least_ambiguous, "aps": _adaptive}
