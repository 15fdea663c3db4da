"""The paper's information criterion, in its corrected form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from weighbridge._findings import effective_sample_size, users_line
from weighbridge.criteria._criterion import CandidateObjective, Criterion
from weighbridge.criteria._linear import InformationObjective
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
    It averages with the ratio itself and needs effective rows: where the ratio is worth fewer than
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
                f"The ratio is worth {ess:.1f} rows for {parameters} parameters; below ten for "
                "each the information criterion is too low and favours large weights. Use "
                "LeaveOneOut(), or more source rows where the target lies.",
                WeightWarning,
                stacklevel=users_line(),
            )
        return objective
