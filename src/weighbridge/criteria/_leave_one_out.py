"""Leave-one-out without refitting, for linear models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weighbridge.criteria._criterion import Criterion, candidate_weights
from weighbridge.criteria._linear import LinearFits, LinearObjective
from weighbridge.criteria._rows import (
    ROW_LOSSES,
    RowLoss,
    SourceRows,
    default_scoring,
    row_loss,
    source_rows,
)
from weighbridge.search import Evaluation
from weighbridge.tables import FloatArray

# A row with a weighted leverage this close to 1 is all there is to determine its own prediction.
_OWN_ROW = 1e-9


class LeaveOneOut(Criterion):
    """Importance-weighted leave-one-out from one fit of each candidate.

    Exact for linear and ridge regression: the held-out residual is ``e / (1 - h)`` with the
    weighted leverage ``h``. For logistic and Poisson regression, one Newton step from the full fit
    (approximate leave-one-out, well within 1 % of refitting).

    Parameters
    ----------
    scoring : str, optional
        A metric that is a mean over rows: "neg_mean_squared_error", "neg_mean_absolute_error",
        "neg_log_loss", "neg_brier_score", "accuracy" or "neg_mean_poisson_deviance". Default:
        squared error, the Brier score for classifiers.
    validation : weighting, optional
        As in `CrossValidation`.

    See Also
    --------
    CrossValidation, HoldOut, InformationCriterion

    Notes
    -----
    Takes LinearRegression, Ridge, LogisticRegression with two classes and no l1 penalty,
    PoissonRegressor, and pipelines that end in one of them after scalers, encoders and other
    transformers that ignore the labels; these are fitted once, on all rows.
    A row is left out as a whole, whatever its own ``sample_weight``. One that alone determines its
    prediction (the only row of a category, without a penalty) has no held-out loss, no score.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from weighbridge.criteria import LeaveOneOut
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.weighting import ERM, RIWERM
    >>> data = make_quadratic(random_state=0)
    >>> plain, relative = (
    ...     LeaveOneOut()(Ridge(), data.X, data.y, data.log_ratio, weighting(data.log_ratio))
    ...     for weighting in (ERM(), RIWERM(0.8))
    ... )
    >>> gain = plain - relative
    >>> gain.value > 2 * gain.standard_error
    True
    """

    # Wider tables are refused before anything is solved.
    _most_columns: float = math.inf

    def __init__(self, *, scoring: Any = None, validation: Any = None) -> None:
        self.scoring = scoring
        self.validation = validation

    def objective(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        log_ratio: Any,
        sample_weight: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> LeaveOneOutObjective:
        """Prepare the design; `n_jobs` and `random_state` change nothing here."""
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        # a closed form gives probabilities, no margins
        known = sorted(
            name
            for name, each in ROW_LOSSES.items()
            if each.response != "decision_function" and row_loss(name, estimator) is not None
        )
        loss = row_loss(scoring, estimator)
        if loss is None or loss.scoring not in known:
            raise ValueError(
                f"Got scoring={scoring!r}, which is not a mean over rows for this kind of "
                f"estimator; leave-one-out takes one of {known}. Use "
                "CrossValidation(scoring=...) for any other."
            )
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        return LeaveOneOutObjective(estimator, rows, loss, self._most_columns)


class LeaveOneOutObjective(LinearObjective):
    """Leave-one-out: exact for squared error, one Newton step for other families."""

    no_loss = (
        "a single row determines its own prediction under these weights, so its held-out loss "
        "does not exist"
    )

    def __init__(
        self, estimator: Any, rows: SourceRows, loss: RowLoss, most_columns: float
    ) -> None:
        super().__init__(estimator, rows, most_columns)
        self.loss = loss
        self._held = self._determined()

    def _determined(self) -> npt.NDArray[np.intp]:
        """Rows whose prediction does not hang on them alone, as that of a single category does."""
        weights = self.rows.delivered(np.ones((1, self.rows.y.size)))
        held = self._held_out(weights, self._solver.fit(weights))[0]
        if np.isnan(held).all():
            raise ValueError(
                f"Got {held.size} source rows for {self.design.features.shape[1]} columns: every "
                "row determines its own prediction, and leaving one out says nothing. Use "
                "CrossValidation(), fewer columns, or a penalty."
            )
        return np.flatnonzero(~np.isnan(held))

    @property
    def held_rows(self) -> npt.NDArray[np.intp]:
        """Rows that are scored; one that determines its own prediction is not."""
        return self._held

    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Score the predictions of each row by the fit without it."""
        held_out = self._held_out(weights, fits)
        y, codes, family = self.design.model.y, self.rows.codes, self.design.model.family
        if self._held.size < y.size:
            held_out, y, codes = held_out[:, self._held], y[self._held], codes[self._held]
        if self.loss.scoring == family.scoring == "neg_mean_squared_error":
            held_out -= y
            return np.square(held_out, out=held_out)
        if self.loss.scoring == family.scoring == "neg_log_loss":
            return family.loss(y, held_out)
        return np.stack([self.loss.loss(codes, one) for one in family.response(held_out)])

    @property
    def row_loss(self) -> RowLoss:
        """What a held-out prediction costs."""
        return self.loss

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of a few candidates; they are not kept, but computed again."""
        points = [evaluation.point for evaluation in evaluations]
        weights = candidate_weights(self.log_ratio, points, self.rows.sample_weight)
        delivered = self.rows.delivered(weights)
        held_out = self._held_out(delivered, self._solver.fit(delivered))[:, self._held]
        return self.design.model.family.response(held_out)

    def _held_out(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """``eta + q w l' / (1 - q w l'')``: the linear predictor of each row without that row."""
        slope, curvature = self.design.model.family.derivatives(self.design.model.y, fits.eta)
        pull = fits.spread * weights
        rest = 1 - pull * curvature
        if rest.min() < _OWN_ROW:
            rest[rest < _OWN_ROW] = np.nan
        pull *= slope
        pull /= rest
        pull += fits.eta
        return pull
