"""Leave-one-out without refitting, for linear models."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from weighbridge.model_selection._criterion import ClosedForm, Criterion, Seed, Validator
from weighbridge.model_selection._cross_validation import CrossValidation
from weighbridge.model_selection._linear_fit import Likelihood, pseudo_inverse
from weighbridge.model_selection._linear_models import (
    LinearDesign,
    has_closed_form,
    likelihood_of,
    linear_design,
    read_regression,
)
from weighbridge.model_selection._losses import ROW_LOSSES, RowLoss, default_scoring, row_loss
from weighbridge.model_selection._rows import SourceRows

# A row determines its own prediction if its weighted leverage is within this of 1.
_MIN_REST = 1e-9
# With more columns, folds and a few candidates take less time than a closed form.
MAX_COLUMNS = 100


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
    A row is left out as a whole, whatever its ``sample_weight``. One that alone determines its
    prediction (the only row of a category, without a penalty) has no held-out loss, no score.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.model_selection import LeaveOneOut
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

    _max_columns: float = np.inf

    def __init__(
        self, *, scoring: str | None = None, validation: BaseEstimator | None = None
    ) -> None:
        self.scoring = scoring
        self.validation = validation

    def _row_loss(self, estimator: BaseEstimator) -> RowLoss:
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        # A closed form gives probabilities, but no margins.
        known = {
            name: loss
            for name, loss in sorted(ROW_LOSSES.items())
            if loss.response != "decision_function" and row_loss(name, estimator) is not None
        }
        if scoring not in list(known):
            raise ValueError(
                f"Got scoring={scoring!r}, which is not a mean over rows for this kind of "
                f"estimator; leave-one-out takes one of {list(known)}. Use "
                "CrossValidation(scoring=...) for any other."
            )
        return known[scoring]

    def _validator(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> Validator:
        loss = self._row_loss(estimator)
        kind, strength, is_mean = read_regression(estimator)
        design = linear_design(estimator, rows.X, strength, is_mean)
        if design.features.shape[1] > self._max_columns:
            raise ValueError(f"Got more than {self._max_columns} columns.")
        return LeaveOneOutFormula(rows, design, likelihood_of(kind, rows.y), loss)


class DefaultCriterion(LeaveOneOut):
    """Leave-one-out if that is cheap and possible, else five folds."""

    _max_columns = MAX_COLUMNS

    def _validator(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> Validator:
        if has_closed_form(estimator, rows.y):
            with suppress(ValueError):  # as many columns as rows, or a table that folds may fit
                return super()._validator(estimator, rows, n_jobs, seed)
        return CrossValidation()._validator(estimator, rows, n_jobs, seed)


class LeaveOneOutFormula(ClosedForm):
    """Leave-one-out: exact for squared error, one Newton step for other likelihoods."""

    def __init__(
        self, rows: SourceRows, design: LinearDesign, likelihood: Likelihood, loss: RowLoss
    ) -> None:
        super().__init__(rows)
        self.row_loss: RowLoss = loss
        self._features, self._fit = design.features, design.fit(likelihood)
        unweighted = rows.fit_weights(np.ones(rows.y.size))
        self._fit.start = self._fit.solve(unweighted)[0]
        self._held_out = np.flatnonzero(~np.isnan(self._predictors(unweighted)))
        if not self._held_out.size:
            raise ValueError(
                f"Got {rows.y.size} source rows for {self._features.shape[1]} columns: every "
                "row determines its own prediction, and leaving one out says nothing. Use "
                "CrossValidation(), fewer columns, or a penalty."
            )

    @property
    def held_out(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that do not determine their own prediction in the unweighted fit."""
        return self._held_out

    def score(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return losses and predictions of the rows by the fits without them."""
        eta = self._predictors(weights)[self._held_out]
        likelihood, codes = self._fit.likelihood, self.rows.codes[self._held_out]
        predictions = likelihood.response(eta)
        if self.row_loss.scoring == likelihood.scoring == "neg_log_loss":
            losses = np.logaddexp(0.0, eta) - codes * eta  # more digits than from probabilities
        else:
            losses = self.row_loss.loss(codes, predictions)
        if not np.isfinite(losses).all():
            raise ValueError(
                "a single row determines its own prediction under these weights, so its held-out "
                "loss does not exist"
            )
        return losses, predictions

    @np.errstate(under="ignore")
    def _predictors(self, weights: np.ndarray) -> np.ndarray:
        """Return the linear predictor of each row by the fit without that row.

        This is ``eta + q w l' / (1 - q w l'')`` with ``q = x' H^-1 x`` (mathematics, section 3).
        It is NaN if the row determines its own prediction.
        """
        fit = self._fit
        theta, hessian = fit.solve(weights)
        eta = fit.predictors(theta)
        _, slope, curvature = fit.likelihood.terms(eta)
        spread = self._features @ pseudo_inverse(hessian)
        influence = np.einsum("ij,ij->i", spread, self._features) * weights
        rest = 1 - influence * curvature[:, 0, 0]
        rest[rest < _MIN_REST] = np.nan
        return np.asarray(eta[:, 0] + influence * slope[:, 0] / rest)
