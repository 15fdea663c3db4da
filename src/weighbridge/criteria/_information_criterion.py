"""The paper's information criterion, in its corrected form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from weighbridge._data import FloatArray
from weighbridge._findings import effective_sample_size, users_line
from weighbridge.criteria._criterion import CandidateObjective, Criterion
from weighbridge.criteria._linear import LinearFits, LinearObjective
from weighbridge.criteria._linear_design import Normal
from weighbridge.criteria._rows import source_rows
from weighbridge.exceptions import WeightWarning
from weighbridge.weighting import IWERM


class InformationCriterion(Criterion):
    """IC_GW of the paper, divided by 2 n: the expected negative log likelihood on the target.

    ``(1/n) [sum r l + tr(J H^-1)]`` with ``l`` the negative log likelihood at the weighted fit,
    ``J = sum r w g g'`` from its gradients and ``H = sum w K + penalty`` from its curvatures. With
    all weights 1 and a true model it is Akaike's.

    See Also
    --------
    CrossValidation, HoldOut, LeaveOneOut

    Notes
    -----
    Needs a likelihood: the normal linear model with unknown variance (LinearRegression, Ridge),
    LogisticRegression with two classes and no l1 penalty, PoissonRegressor, and pipelines that end
    in one of them after transformers that ignore the labels.
    It averages with the ratio itself and needs effective rows: where the ratio has fewer than
    ten for each parameter it is too low, and a `WeightWarning` says so.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.criteria import InformationCriterion
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.weighting import ERM, IWERM
    >>> data = make_cubic(random_state=0)
    >>> plain, full = (
    ...     InformationCriterion()(
    ...         LinearRegression(), data.X, data.y, data.log_ratio, weighting(data.log_ratio)
    ...     )
    ...     for weighting in (ERM(), IWERM())
    ... )
    >>> full.value < plain.value
    True
    """

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
    ) -> CandidateObjective:
        """Prepare the design; `n_jobs` and `random_state` change nothing here."""
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, IWERM())
        objective = InformationObjective(estimator, rows, identity=[self])
        parameters = objective.design.features.shape[1]
        ess = effective_sample_size(np.asarray(rows.unit_weights))
        if ess < 10 * parameters:
            warnings.warn(
                f"The ratio has {ess:.1f} effective rows for {parameters} parameters; below ten "
                "for each the information criterion is too low and favours large weights. Use "
                "LeaveOneOut(), or more source rows like those in the target.",
                WeightWarning,
                stacklevel=users_line(),
            )
        return objective


class InformationObjective(LinearObjective):
    """The information criterion IC_GW, divided by twice the number of rows."""

    no_loss = "the fit leaves no residuals under these weights, and a variance of 0 no likelihood"

    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Negative log likelihood of each row, plus its share of the penalty."""
        if isinstance(self.design.model.family, Normal):
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._normal(weights, fits)
        family, y = self.design.model.family, self.design.model.y
        slope, _ = family.derivatives(y, fits.eta)
        return family.loss(y, fits.eta) + weights * slope**2 * fits.spread

    def _normal(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """The variance is a parameter too: ``g' H^-1 g`` with one more row and column in H."""
        residual = self.design.model.y - fits.eta
        total = weights.sum(axis=1)
        s2 = np.einsum("kn,kn->k", weights, residual**2) / total
        ratio = residual**2 / s2[:, None]
        loss = (ratio + np.log(2 * np.pi * s2)[:, None]) / 2
        # in units of s2: g = (-e x / s2, (1 - ratio) / (2 s2))
        cross = fits.coef * self._solver.penalty(weights) / s2[:, None] ** 2
        towards = np.einsum("kij,kj->ki", fits.inverse, cross)  # A^-1 d
        corner = total / (2 * s2**2) - s2 * np.einsum("ki,ki->k", cross, towards)
        gradient = -residual / s2[:, None]
        left = (1 - ratio) / (2 * s2[:, None])
        left = left - s2[:, None] * gradient * (towards @ self.design.features.T)
        penalty = weights * (gradient**2 * s2[:, None] * fits.spread + left**2 / corner[:, None])
        return np.asarray(loss + penalty)
