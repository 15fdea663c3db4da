"""The information criterion of the paper, in its corrected form, for any smooth loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._findings import users_line
from weighbridge.exceptions import WeightWarning
from weighbridge.model_selection._linear_fit import NORMAL, ROUNDING, scaled_eigen
from weighbridge.model_selection._linear_models import linear_fit
from weighbridge.model_selection._objective import ClosedForm, Criterion, Seed
from weighbridge.model_selection._result import Scores
from weighbridge.model_selection._rows import SourceRows
from weighbridge.ratios import effective_sample_size
from weighbridge.tables import check_sample_weight
from weighbridge.weighting import IWERM, mean_one, mean_one_log_ratio

# Below this effective sample size for each parameter, or above this share of the ratio in one row,
# there is a warning. Chosen on the development problems of `benchmarks/information.py`.
MIN_ROWS, MAX_SHARE = 10, 0.05
# Largest distance of the parameters from the fit, in sampling errors, and largest share of the
# gradients in directions without curvature.
MAX_DISTANCE, MAX_FLAT = 1e-2, 1e-6


def information_criterion(
    losses: ArrayLike,
    gradients: ArrayLike,
    hessians: ArrayLike | Callable[[np.ndarray], np.ndarray],
    log_ratio: ArrayLike,
    log_weight: ArrayLike,
    *,
    penalty: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Scores:
    """Estimate the expected loss of a weighted fit on the target from the rows of the fit.

    ``(1/n) [sum r l + tr(J H^-1)]`` with ``J = sum r w g g'`` and ``H = sum w K + P``; the ratio r
    and the weights w are scaled to mean 1. The choice of parameters makes no difference, and
    redundant ones do no harm.

    Parameters
    ----------
    losses : array of shape (n_samples,)
        Loss ``l`` of each row at the weighted fit, such as its negative log likelihood.
    gradients : array of shape (n_samples, n_parameters)
        Gradients ``g`` of the losses in all parameters, scales and variances among them.
    hessians : array of shape (n_samples, n_parameters, n_parameters), or callable
        Second derivatives ``K`` of the losses. For many rows a function of weights that returns
        their weighted sum, such as ``lambda w: (X.T * (w * curvature)) @ X``.
    log_ratio, log_weight : array of shape (n_samples,)
        Logarithms of the density ratio, and of the weights of the fit.
    penalty : array of shape (n_parameters,) or (n_parameters, n_parameters), optional
        Second derivatives ``P`` of the term that is added to ``sum w l``, or their diagonal.
    sample_weight : array of shape (n_samples,), optional
        Your weights for the rows; they multiply ratio and weights.

    Returns
    -------
    Scores
        Of the rows, with ``penalty`` and ``effective_parameters``.

    Examples
    --------
    A Poisson distribution with the log of its mean as parameter, without shift:

    >>> import numpy as np
    >>> from weighbridge.model_selection import information_criterion
    >>> y, equal = np.random.default_rng(0).poisson(3.0, size=1000), np.zeros(1000)
    >>> theta, mean = np.log(y.mean()), y.mean()
    >>> losses, gradients, hessians = mean - y * theta, mean - y, np.full(1000, mean)
    >>> scores = information_criterion(
    ...     losses, gradients[:, None], hessians[:, None, None], equal, equal
    ... )
    >>> round(scores.effective_parameters, 1)
    1.0
    """
    losses, gradients, log_ratio, log_weight = (
        np.asarray(array, dtype=float) for array in (losses, gradients, log_ratio, log_weight)
    )
    n, size = losses.size, gradients.shape[-1]
    counts = check_sample_weight(sample_weight, n)
    P = np.zeros(size) if penalty is None else np.asarray(penalty, dtype=float)
    P = np.diag(P) if P.ndim == 1 else P
    _check(losses=(losses, n), gradients=(gradients, n, size), penalty=(P, size, size))
    _check(log_ratio=(log_ratio, n), log_weight=(log_weight, n))
    ratio = mean_one(mean_one_log_ratio(log_ratio, counts), counts)
    weights = mean_one(log_weight, counts)
    if counts is not None:
        ratio, weights = ratio * counts, weights * counts
    if callable(hessians):
        summed = np.asarray(hessians(weights))
    else:
        matrices = np.asarray(hessians, dtype=float)
        _check(hessians=(matrices, n, size, size))
        summed = np.tensordot(weights, matrices, axes=1)
    _check(hessians=(summed, size, size))
    return _information(losses, gradients, summed, P, ratio, weights)


def _check(**arrays: tuple[Any, ...]) -> None:
    for name, (array, *shape) in arrays.items():
        # A logarithm may be minus infinity.
        if array.shape != tuple(shape) or not (array < np.inf).all():
            raise ValueError(
                f"Got {name} of shape {array.shape}, or with values that are not finite; these "
                f"losses and gradients need finite {name} of shape {tuple(shape)}."
            )


def _information(
    losses: np.ndarray,
    gradients: np.ndarray,
    hessian: np.ndarray,
    penalty: np.ndarray,
    ratio: np.ndarray,
    weights: np.ndarray,
) -> Scores:
    """Return ``r l`` and ``r w g' H^-1 g`` of each row, divided by r."""
    scale, values, vectors = scaled_eigen(hessian + penalty)
    along, is_flat = gradients * scale @ vectors, values == 0
    size = np.sqrt(ratio * weights) @ np.abs(along)
    if values.min() < 0 or size[is_flat].sum() > MAX_FLAT * size.sum():
        raise ValueError(
            f"Got a Hessian with {int((values < 0).sum())} negative eigenvalues, and "
            f"{int(is_flat.sum())} of 0 for directions in which losses change: the parameters are "
            "not a single minimum of the weighted losses. Use fewer parameters, or a penalty."
        )
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=~is_flat)
    penalties = weights * (along**2 @ inverse)
    # A penalty may balance the gradients, but not in the directions that it leaves free.
    strength, axes = np.linalg.eigh(scale[:, None] * penalty * scale)
    free = axes[:, strength <= ROUNDING * max(strength.max(), 1.0)]
    unbalanced = vectors.T @ (free @ (free.T @ (vectors @ (weights @ along))))
    distance = np.sqrt(unbalanced**2 @ inverse / (weights @ penalties + 1e-300))
    if distance > MAX_DISTANCE:
        raise ValueError(
            "Got gradients whose weighted sum is not 0: the parameters are off the weighted fit by "
            f"{distance:.2g} of their sampling error. Give losses and derivatives at the fit under "
            "log_weight, made with a tighter tolerance."
        )
    return Scores(losses + penalties, ratio, penalties=penalties)


class InformationCriterion(Criterion):
    """IC_GW of the paper, divided by 2 n: the expected negative log likelihood on the target.

    ``(1/n) [sum r l + tr(J H^-1)]`` as in `information_criterion`, with ``l`` the negative log
    likelihood at the weighted fit. With all weights 1 and a true model it is Akaike's.

    Notes
    -----
    Takes the models of `LeaveOneOut`: LinearRegression and Ridge (normal, the variance a
    parameter), LogisticRegression with two classes, PoissonRegressor, and pipelines that end in
    one. Each fit is the minimum itself, whatever the tolerance of the estimator. For all other
    models and losses, use `information_criterion`.

    The losses are averaged with the ratio, scaled to mean 1 on the rows. A `WeightWarning` is
    raised if the criterion may be too low by 5 % or more: if the products of ratio and gradient at
    the unweighted fit have an effective sample size below ten for each parameter, or one row has
    over 5 % of the ratio.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import InformationCriterion
    >>> data = make_cubic(1000, random_state=0)
    >>> rows = LinearRegression(), data.X, data.y, data.log_ratio
    >>> plain, full = (InformationCriterion()(*rows, lam * rows[-1]) for lam in (0, 1))
    >>> full.value < plain.value
    True
    """

    validation = IWERM()

    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> InformationObjective:
        objective = InformationObjective(estimator, rows)
        objective.warn_if_too_low()
        return objective


class InformationObjective(ClosedForm):
    """The information criterion of a linear model, from one fit of each candidate."""

    def __init__(self, estimator: BaseEstimator, rows: SourceRows) -> None:
        super().__init__(rows, rows.unit_weights)
        self._fit = linear_fit(estimator, rows.X, rows.codes)
        # The variance of a normal model is the last parameter.
        self._is_normal = self._fit.likelihood == NORMAL
        self.n_parameters = self._fit.start.size + self._is_normal
        self._fit.start = self._fit.solve(rows.fit_weights(np.ones(rows.y.size)))[0]

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """Return the losses, which include the penalties."""
        return self.scores(weights).losses

    @np.errstate(divide="ignore", invalid="ignore")
    def scores(self, weights: np.ndarray) -> Scores:
        """Fit with `weights`, and score the fit."""
        theta, hessian = self._fit.solve(weights)
        losses, slope, _ = self._fit.terms(theta)
        gradients, penalty = slope[:, None] * self._fit.features, self._fit.penalty(weights)
        hessian -= np.diag(penalty)
        if self._is_normal:
            losses, gradients, hessian, v = _with_variance(slope, gradients, hessian, weights)
            penalty = np.append(penalty / v, 0.0)
        P = np.diag(penalty)
        return _information(losses, gradients, hessian, P, self.unit_weights, weights)

    def warn_if_too_low(self) -> None:
        """Warn if the criterion may be too low by 5 % or more."""
        ratio, plain = self.unit_weights, self.rows.fit_weights(np.ones(self.rows.y.size))
        ess = np.nan
        # A perfect fit has no gradients.
        with np.errstate(all="ignore"), suppress(ValueError):
            size = np.sqrt(np.asarray(self.scores(plain).penalties) / plain)
            ess = effective_sample_size(ratio * size)
        share, parameters = ratio.max() / ratio.sum(), self.n_parameters
        if ess < MIN_ROWS * parameters or share > MAX_SHARE:
            warnings.warn(
                f"The ratio times the gradients of the unweighted fit has {ess:.1f} effective rows "
                f"for {parameters} parameters, and one row has {share:.1%} of the ratio; with "
                f"fewer than {MIN_ROWS} for each, or more than {MAX_SHARE:.0%}, the information "
                "criterion may be too low by 5 % or more, most for large weights. Use "
                "LeaveOneOut(), CrossValidation(), or more source rows like those in the target.",
                WeightWarning,
                stacklevel=users_line(),
            )


def _with_variance(
    error: np.ndarray, gradients: np.ndarray, hessian: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the normal loss ``(e^2 / v + log(2 pi v)) / 2`` and its derivatives, and v.

    The gradients and the Hessian of ``e^2 / 2`` are given. The variance v becomes a parameter.
    """
    v = float(weights @ error**2 / weights.sum())
    if not v > 0:
        raise ValueError(
            "the fit leaves no residuals under these weights, and variance 0 has no likelihood"
        )
    ratio = error**2 / v
    losses = (ratio + np.log(2 * np.pi * v)) / 2
    mixed = -(weights @ gradients)[:, None] / v**2
    corner = weights @ (2 * ratio - 1) / (2 * v**2)
    hessian = np.block([[hessian / v, mixed], [mixed.T, corner]])
    return losses, np.column_stack([gradients / v, (1 - ratio) / (2 * v)]), hessian, v
