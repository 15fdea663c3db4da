"""Leave-one-out without refitting, for linear models."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge.model_selection._cross_validation import CrossValidation
from weighbridge.model_selection._linear_fit import LOGISTIC, LinearFit, pseudo_inverse
from weighbridge.model_selection._linear_models import has_closed_form, linear_fit
from weighbridge.model_selection._losses import ROW_LOSSES, RowLoss, default_scoring, row_loss
from weighbridge.model_selection._objective import ClosedForm, Criterion, Seed, WeightingObjective
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

    Notes
    -----
    Takes LinearRegression, Ridge, LogisticRegression with two classes and no l1 penalty,
    PoissonRegressor, and pipelines that end in one of them after scalers, encoders and other
    transformers that ignore the labels. These are fitted once, on all rows.
    A row is left out as a whole, whatever its ``sample_weight``. One that alone determines its
    prediction (the only row of a category, without a penalty) has no held-out loss, no score.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.model_selection import LeaveOneOut
    >>> from weighbridge.weighting import RIWERM
    >>> data = make_quadratic(random_state=0)
    >>> rows = Ridge(), data.X, data.y, data.log_ratio
    >>> gain = LeaveOneOut()(*rows, 0 * rows[-1]) - LeaveOneOut()(*rows, RIWERM(0.8)(rows[-1]))
    >>> gain.value > 2 * gain.standard_error
    True
    """

    _max_columns: float = np.inf

    def __init__(
        self, *, scoring: str | None = None, validation: BaseEstimator | None = None
    ) -> None:
        self.scoring = scoring
        self.validation = validation

    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> WeightingObjective:
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        # A closed form gives probabilities, but no margins.
        known = [
            name
            for name, loss in sorted(ROW_LOSSES.items())
            if loss.response != "decision_function" and row_loss(name, estimator)
        ]
        if scoring not in known:
            raise ValueError(
                f"Got scoring={scoring!r}, which is not a mean over rows for this kind of "
                f"estimator; leave-one-out takes one of {known}. Use "
                "CrossValidation(scoring=...) for any other."
            )
        fit = linear_fit(estimator, rows.X, rows.codes)
        if fit.start.size > self._max_columns:
            raise ValueError(f"Got more than {self._max_columns} columns.")
        return LeaveOneOutObjective(rows, fit, ROW_LOSSES[scoring])


class DefaultCriterion(LeaveOneOut):
    """Leave-one-out if that is cheap and possible, else a few folds."""

    # On the development tasks of the natural suite, five folds choose no better.
    n_folds = 3
    _max_columns = MAX_COLUMNS

    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> WeightingObjective:
        if has_closed_form(estimator, rows.y):
            with suppress(ValueError):  # as many columns as rows, or a table that folds may fit
                return super()._objective(estimator, rows, n_jobs, seed)
        return CrossValidation(self.n_folds)._objective(estimator, rows, n_jobs, seed)


class LeaveOneOutObjective(ClosedForm):
    """Leave-one-out: exact for squared error, one Newton step for other likelihoods."""

    def __init__(self, rows: SourceRows, fit: LinearFit, loss: RowLoss) -> None:
        unweighted = rows.fit_weights(np.ones(rows.y.size))
        fit.start = fit.solve(unweighted)[0]
        self._fit, self._loss = fit, loss
        # Rows that determine their own prediction in the unweighted fit are left out.
        self._scored = np.flatnonzero(~np.isnan(self._predictors(unweighted)))
        if not self._scored.size:
            raise ValueError(
                f"Got {rows.y.size} source rows for {fit.start.size} columns: every row determines "
                "its own prediction, and leaving one out says nothing. Use CrossValidation(), "
                "fewer columns, or a penalty."
            )
        super().__init__(rows, rows.unit_weights[self._scored])

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """Return the losses of the rows by the fits without them."""
        eta = self._predictors(weights)[self._scored]
        likelihood, codes = self._fit.likelihood, self.rows.codes[self._scored]
        if likelihood == LOGISTIC and self._loss.scoring == likelihood.scoring:
            losses = likelihood.terms(codes, eta)[0]  # more digits than from probabilities
        else:
            losses = self._loss.loss(codes, likelihood.response(eta))
        if not np.isfinite(losses).all():
            raise ValueError(
                "a single row determines its own prediction under these weights, so its held-out "
                "loss does not exist"
            )
        return losses

    @np.errstate(under="ignore")
    def _predictors(self, weights: np.ndarray) -> np.ndarray:
        """Return the linear predictor of each row by the fit without that row.

        This is ``eta + q w l' / (1 - q w l'')`` with ``q = x' H^-1 x`` (mathematics, section 3).
        It is NaN if the row determines its own prediction.
        """
        features = self._fit.features
        theta, hessian = self._fit.solve(weights)
        _, slope, curvature = self._fit.terms(theta)
        spread = features @ pseudo_inverse(hessian)
        influence = np.einsum("ij,ij->i", spread, features) * weights
        rest = 1 - influence * curvature
        rest[rest < _MIN_REST] = np.nan
        return np.asarray(features @ theta + influence * slope / rest)
