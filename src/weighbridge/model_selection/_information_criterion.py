"""The information criterion of the paper, in its corrected form, for any smooth loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.linear_model import GammaRegressor, HuberRegressor, TweedieRegressor

from weighbridge._findings import users_line
from weighbridge.exceptions import WeightWarning
from weighbridge.model_selection import _linear_fit as smooth
from weighbridge.model_selection._criterion import ClosedForm, Criterion, Seed
from weighbridge.model_selection._linear_models import (
    closed_form,
    fixed_steps,
    likelihood_of,
    linear_design,
    read_regression,
)
from weighbridge.model_selection._result import Scores
from weighbridge.model_selection._rows import SourceRows
from weighbridge.ratios import effective_sample_size
from weighbridge.tables import check_sample_weight
from weighbridge.weighting import IWERM, mean_one, mean_one_log_ratio

_TAKEN = (
    "LinearRegression, Ridge, LogisticRegression without an l1 penalty (of more than two classes "
    "not by liblinear or one against the rest), PoissonRegressor, GammaRegressor, "
    "TweedieRegressor, HuberRegressor, or a pipeline that ends in one after scalers, encoders and "
    "other transformers that ignore the labels"
)
_OTHERS = (GammaRegressor, TweedieRegressor, HuberRegressor)
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
    return _information((losses, gradients, summed), P, ratio, weights)


def _check(**arrays: tuple[Any, ...]) -> None:
    for name, (array, *shape) in arrays.items():
        # A logarithm may be minus infinity.
        if array.shape != tuple(shape) or not (array < np.inf).all():
            raise ValueError(
                f"Got {name} of shape {array.shape}, or with values that are not finite; these "
                f"losses and gradients need finite {name} of shape {tuple(shape)}."
            )


def _information(
    derivatives: smooth.Derivatives, penalty: np.ndarray, ratio: np.ndarray, weights: np.ndarray
) -> Scores:
    """Return ``r l`` and ``r w g' H^-1 g`` of each row, divided by r."""
    losses, gradients, hessian = derivatives
    scale, values, vectors = smooth.scaled_eigen(hessian + penalty)
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
    free = axes[:, strength <= smooth.ROUNDING * max(strength.max(), 1.0)]
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

    See Also
    --------
    information_criterion, CrossValidation, HoldOut, LeaveOneOut

    Notes
    -----
    Takes LinearRegression and Ridge (normal, the variance a parameter), LogisticRegression without
    an l1 penalty, PoissonRegressor, GammaRegressor and TweedieRegressor (half the unit deviance
    that they minimise, no dispersion), HuberRegressor (its loss, the scale a parameter), and
    pipelines that end in one of them after transformers that ignore the labels. Each fit is the
    minimum itself, whatever the tolerance. Other losses: `information_criterion`.

    The losses are averaged with the ratio, scaled to mean 1 on the rows. A `WeightWarning` is
    raised if the criterion may be too low by 5 % or more: if the products of ratio and gradient at
    the unweighted fit have an effective sample size below ten for each parameter, or one row has
    over 5 % of the ratio.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import InformationCriterion
    >>> from weighbridge.weighting import ERM, IWERM
    >>> data = make_cubic(1000, random_state=0)
    >>> plain, full = (
    ...     InformationCriterion()(
    ...         LinearRegression(), data.X, data.y, data.log_ratio, weighting(data.log_ratio)
    ...     )
    ...     for weighting in (ERM(), IWERM())
    ... )
    >>> full.value < plain.value
    True
    """

    validation = IWERM()

    def _validator(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> InformationFormula:
        formula = InformationFormula(estimator, rows)
        formula.warn_if_too_low()
        return formula


class InformationFormula(ClosedForm):
    """The information criterion of a linear model, from one fit of each candidate."""

    def __init__(self, estimator: BaseEstimator, rows: SourceRows) -> None:
        super().__init__(rows)
        self._fit = _linear_fit(estimator, rows)
        # The variance of a normal model is the last parameter.
        self._is_normal = self._fit.likelihood.is_quadratic
        self.n_parameters = self._fit.start.size + self._is_normal
        unweighted = rows.fit_weights(np.ones(rows.y.size))
        losses = self._fit.derivatives(self._fit.start, unweighted)[0]
        if not (closed_form(estimator) or rows.codes.any()) or not np.isfinite(losses).all():
            raise ValueError(
                f"Got labels from {rows.y.min():g} to {rows.y.max():g}, for which {estimator} has "
                "no finite loss. Deviances need labels of 0 or more (one of them above, all from "
                "power 2 on) and, with an identity link, an intercept; Huber's loss residuals "
                "other than 0."
            )
        self._fit.start = self._fit.solve(unweighted)[0]

    def score(self, weights: np.ndarray) -> tuple[np.ndarray, None]:
        """Return the losses, which include the penalties."""
        return self.scores(weights).losses, None

    @np.errstate(divide="ignore", invalid="ignore")
    def scores(self, weights: np.ndarray) -> Scores:
        """Fit with `weights`, and score the fit."""
        fit, theta = self._fit, self._fit.solve(weights)[0]
        penalty = np.diag(fit.penalty(weights))
        if self._is_normal:
            fit, theta, penalty = self._with_variance(theta, penalty, weights)
        derivatives = fit.derivatives(theta, weights)
        return _information(derivatives, penalty, self.unit_weights, weights)

    def _with_variance(
        self, theta: np.ndarray, penalty: np.ndarray, weights: np.ndarray
    ) -> tuple[smooth.LinearFit, np.ndarray, np.ndarray]:
        """Append the variance to the parameters of a normal model."""
        fit, y = self._fit, self._fit.likelihood.y
        residual = y - fit.predictors(theta)[:, 0]
        variance = weights @ residual**2 / weights.sum()
        if not variance > 0:
            raise ValueError(
                "the fit leaves no residuals under these weights, and variance 0 has no likelihood"
            )
        tables = [*fit.tables, np.ones((y.size, 1))]
        theta, penalty = np.append(theta, variance), np.pad(penalty / variance, (0, 1))
        return (
            smooth.LinearFit(smooth.normal_with_variance(y), tables, theta, False, theta),
            theta,
            penalty,
        )

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


def _linear_fit(estimator: BaseEstimator, rows: SourceRows) -> smooth.LinearFit:
    """Return the fit of an estimator, or raise TypeError with the list of those that are taken."""
    steps, kind = fixed_steps(estimator), closed_form(estimator)
    model: Any = steps[-1] if steps else None
    is_multinomial = kind is smooth.logistic and np.unique(rows.y).size > 2
    ways = {getattr(model, name, "") for name in ("multi_class", "solver")}
    is_one_by_one = is_multinomial and bool(ways & {"ovr", "liblinear"})
    if is_one_by_one or not (kind or type(model) in _OTHERS):
        raise TypeError(f"Got {estimator!r}, but the information criterion takes {_TAKEN}.")
    is_huber, y = isinstance(model, HuberRegressor), rows.codes
    if kind is not None:
        penalty = read_regression(estimator)[1:]
    else:  # scikit-learn does not halve Huber's penalty
        penalty = float(model.alpha) * (1 + is_huber), not is_huber
    design = linear_design(estimator, rows.X, *penalty)
    Z, P = design.features, design.penalty
    if is_multinomial:
        likelihood = smooth.multinomial(y)
        P = np.tile(P, likelihood.n_predictors)
        return smooth.LinearFit(likelihood, [Z] * likelihood.n_predictors, P, False, 0 * P)
    if kind is not None:
        return design.fit(likelihood_of(kind, rows.y))
    if is_huber:  # from least squares and the standard deviation of its residuals
        coef = np.linalg.lstsq(Z, y)[0]
        start, tables = np.append(coef, np.std(y - Z @ coef)), [Z, np.ones((y.size, 1))]
        likelihood = smooth.huber(y, float(model.epsilon))
        return smooth.LinearFit(likelihood, tables, np.append(P, 0.0), False, start)
    power, link = float(getattr(model, "power", 2)), getattr(model, "link", "log")
    has_log_link = link == "log" or (link == "auto" and power > 0)
    return design.fit(smooth.tweedie(y, power, has_log_link))
