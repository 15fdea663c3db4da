"""Leave-one-out without refitting, for linear models."""

from __future__ import annotations

from typing import Any

from weighbridge.criteria._criterion import Criterion
from weighbridge.criteria._linear import LeaveOneOutObjective
from weighbridge.criteria._row_loss import ROW_LOSSES, default_scoring, row_loss
from weighbridge.criteria._rows import source_rows


class LeaveOneOut(Criterion):
    """Importance-weighted leave-one-out from one fit of each candidate.

    Exact for linear and ridge regression: the held-out residual is ``e / (1 - h)`` with the
    weighted leverage ``h``. For logistic and Poisson regression one Newton step from the full fit
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
    prediction (the only row of a category, without a penalty) has no held-out loss and is not
    scored.

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
                f"Got scoring={scoring!r}, which is no mean over rows of this kind of estimator; "
                f"leave-one-out takes one of {known}. Use CrossValidation(scoring=...) for any "
                "other."
            )
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        return LeaveOneOutObjective(estimator, rows, loss, identity=[self])
