"""The paper's information criterion, in its corrected form, for any smooth likelihood."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.special import boxcox, logsumexp, softmax
from sklearn.linear_model import GammaRegressor, HuberRegressor, TweedieRegressor

from weighbridge._findings import users_line
from weighbridge.criteria._criterion import CandidateObjective, Criterion, Outcome, Scores
from weighbridge.criteria._linear import LinearFits, LinearObjective
from weighbridge.criteria._linear_design import (
    Logistic,
    Normal,
    closed_form_family,
    fixed_steps,
    linear_model,
    read_regression,
)
from weighbridge.criteria._rows import SourceRows, source_rows
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios import effective_sample_size
from weighbridge.tables import FloatArray, check_sample_weight
from weighbridge.weighting import IWERM, mean_one, mean_one_log_ratio

_TAKEN = (
    "LinearRegression, Ridge, LogisticRegression without an l1 penalty (of more than two classes "
    "not by liblinear or one against the rest), PoissonRegressor, GammaRegressor, "
    "TweedieRegressor, HuberRegressor, or a pipeline that ends in one after scalers, encoders and "
    "other transformers that ignore the labels"
)
_OTHERS = (GammaRegressor, TweedieRegressor, HuberRegressor)
# Curvatures below this share of the largest are rounding, and so are decrements this small.
_ROUNDING, _TOLERANCE, _STEPS = 1e-12, 1e-18, 200
# Parameters may be off the weighted fit by so much of their sampling error, and so little of the
# gradients may lie where there is no curvature.
_OFF, _FLAT = 1e-2, 1e-6
# Fewer effective rows a parameter are warned of, and a row with more of the ratio: by the problems
# for choosing in `benchmarks/information.py`.
_ROWS, _SHARE = 10, 0.05


def information_criterion(
    losses: Any,
    gradients: Any,
    hessians: Any,
    log_ratio: Any,
    log_weight: Any,
    *,
    penalty: Any = None,
    sample_weight: Any = None,
) -> Scores:
    """Estimate the expected loss of a weighted fit on the target from its own rows.

    ``(1/n) [sum r l + tr(J H^-1)]`` with ``J = sum r w g g'`` and ``H = sum w K + P``; the ratio r
    and the weights w are scaled to mean 1. How the parameters are chosen makes no difference, and
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
        Second derivatives ``P`` of what is added to ``sum w l``, or their diagonal.
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
    >>> from weighbridge.criteria import information_criterion
    >>> y, equal = np.random.default_rng(0).poisson(3.0, size=1000), np.zeros(1000)
    >>> theta, mean = np.log(y.mean()), y.mean()
    >>> losses, gradients, hessians = mean - y * theta, mean - y, np.full(1000, mean)
    >>> found = information_criterion(
    ...     losses, gradients[:, None], hessians[:, None, None], equal, equal
    ... )
    >>> round(found.effective_parameters, 1)
    1.0
    """
    losses, gradients, log_ratio, log_weight = (
        np.asarray(each, dtype=float) for each in (losses, gradients, log_ratio, log_weight)
    )
    n, size = losses.size, gradients.shape[-1]
    own = check_sample_weight(sample_weight, n)
    pull = np.zeros(size) if penalty is None else np.asarray(penalty, dtype=float)
    pull = np.diag(pull) if pull.ndim == 1 else pull
    _check(losses=(losses, n), gradients=(gradients, n, size), penalty=(pull, size, size))
    _check(log_ratio=(log_ratio, n), log_weight=(log_weight, n))
    ratio, weights = mean_one(mean_one_log_ratio(log_ratio, own), own), mean_one(log_weight, own)
    if own is not None:
        ratio, weights = ratio * own, weights * own
    if not callable(hessians):
        _check(hessians=(np.asarray(hessians, dtype=float), n, size, size))
    summed = hessians(weights) if callable(hessians) else np.tensordot(weights, hessians, axes=1)
    _check(hessians=(np.asarray(summed), size, size))
    return _information((losses, gradients, summed), pull, ratio, weights)


def _check(**parts: tuple[Any, ...]) -> None:
    for name, (found, *shape) in parts.items():
        # a log may be minus infinity
        if found.shape != tuple(shape) or not (found < np.inf).all():
            raise ValueError(
                f"Got {name} of shape {found.shape}, or with values that are not finite; these "
                f"losses and gradients need finite {name} of shape {tuple(shape)}."
            )


# Losses of rows, first and second derivatives in linear predictors; these summed in parameters.
_Terms = tuple[FloatArray, FloatArray, FloatArray]


def _information(terms: _Terms, pull: FloatArray, ratio: FloatArray, weights: FloatArray) -> Scores:
    losses, gradients, summed = terms
    scale, values, vectors = _eigen(summed + pull)
    along, flat = gradients * scale @ vectors, values == 0
    size = np.sqrt(ratio * weights) @ np.abs(along)
    if values.min() < 0 or size[flat].sum() > _FLAT * size.sum():
        raise ValueError(
            f"Got a Hessian with {int((values < 0).sum())} negative eigenvalues, and "
            f"{int(flat.sum())} of 0 for directions in which losses change: the parameters are "
            "not a single minimum of the weighted losses. Use fewer parameters, or a penalty."
        )
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=~flat)
    penalties = weights * (along**2 @ inverse)
    strength, axes = np.linalg.eigh(scale[:, None] * pull * scale)
    free = axes[:, strength <= _ROUNDING * max(strength.max(), 1.0)]  # no penalty balances these
    left = vectors.T @ (free @ (free.T @ (vectors @ (weights @ along))))
    off = np.sqrt(left**2 @ inverse / (weights @ penalties + 1e-300))
    if off > _OFF:
        raise ValueError(
            "Got gradients whose weighted sum is not 0: the parameters are off the weighted fit by "
            f"{off:.2g} of their sampling error. Give losses and derivatives at the fit under "
            "log_weight, made with a tighter tolerance."
        )
    return Scores(losses + penalties, ratio, penalties=penalties)


def _eigen(hessian: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scales of the parameters, and in these eigenvalues (0 for rounding) and -vectors."""
    diagonal = np.abs(np.diag(hessian))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * hessian * scale)
    values[np.abs(values) <= _ROUNDING * np.abs(values).max()] = 0.0
    return scale, values, vectors


def _tweedie(y: FloatArray, power: float, log_link: bool, eta: FloatArray) -> _Terms:
    """Half the unit deviance."""
    mean = np.exp(eta[:, 0]) if log_link else eta[:, 0]
    slope = (mean - y) * mean**-power  # in the mean
    curvature = mean**-power - power * (mean - y) * mean ** (-power - 1)
    if log_link:
        slope, curvature = slope * mean, curvature * mean**2 + slope * mean
    if power == 0:
        loss = np.square(y - mean) / 2
    else:
        own = np.where(y == 0, 0.0, y * boxcox(y, 1 - power)) - boxcox(y, 2 - power)
        loss = own - y * boxcox(mean, 1 - power) + boxcox(mean, 2 - power)
        loss = np.where(mean > 0, loss, np.inf)
    return loss, slope[:, None], curvature[:, None, None]


def _multinomial(own: FloatArray, contrasts: FloatArray, eta: FloatArray) -> _Terms:
    """Negative log likelihood, in orthonormal contrasts: as penalised, and none redundant."""
    scores = eta @ contrasts.T
    chances = softmax(scores, axis=1)
    loss = logsumexp(scores, axis=1) - (scores * own).sum(axis=1)
    mean = chances @ contrasts
    curvature = np.einsum("ka,nk,kb->nab", contrasts, chances, contrasts, optimize=True)
    return loss, (chances - own) @ contrasts, curvature - mean[:, :, None] * mean[:, None, :]


def _huber(y: FloatArray, epsilon: float, eta: FloatArray) -> _Terms:
    """``sigma + H((y - eta) / sigma) sigma``, H a square up to epsilon; sigma comes second."""
    residual, sigma = (y - eta[:, 0]) / eta[:, 1], eta[:, 1]
    held = np.clip(residual, -epsilon, epsilon)
    loss = np.where(sigma > 0, sigma * (1 + held * (2 * residual - held)), np.inf)
    along = np.column_stack([np.ones_like(residual), residual])
    curvature = np.where(held == residual, 2 / sigma, 0.0)  # none beyond epsilon
    outer = curvature[:, None, None] * along[:, :, None] * along[:, None, :]
    return loss, np.column_stack([-2 * held, 1 - held**2]), outer


class SmoothObjective(CandidateObjective):
    """The information criterion of models that are fitted for one candidate after the other."""

    solved_together = True  # a candidate more costs a few Newton steps

    def __init__(self, estimator: Any, rows: SourceRows) -> None:
        super().__init__(rows)
        last, y = (fixed_steps(estimator) or [estimator])[-1], rows.codes
        logistic, huber = type(last) not in _OTHERS, isinstance(last, HuberRegressor)
        # in scikit-learn Huber's penalty is not halved, and those of deviances go with mean losses
        strength = read_regression(last)[1] if logistic else float(last.alpha) * (1 + huber)
        read = Normal(), strength, not (logistic or huber)  # labels as they are
        self._design = linear_model(estimator, rows.X, y, read).design()
        Z, pull = self._design.features, self._design.penalty
        coef = np.linalg.lstsq(Z, y)[0]
        if logistic:
            pull, self._tables = np.tile(pull, y.max()), [Z] * y.max()
            own, self._start = np.eye(y.max() + 1)[y], np.zeros(pull.size)
            self._terms = partial(_multinomial, own, helmert(y.max() + 1).T)
        elif huber:
            pull, self._tables = np.append(pull, 0.0), [Z, np.ones((y.size, 1))]
            self._start = np.append(coef, np.std(y - Z @ coef))
            self._terms = partial(_huber, y, float(last.epsilon))
        else:
            power, link = float(getattr(last, "power", 2)), getattr(last, "link", "log")
            log_link, self._tables = link == "log" or (link == "auto" and power > 0), [Z]
            level = np.log(np.abs(y).mean() or 1.0) if log_link else y.mean()
            self._start = np.linalg.lstsq(Z, np.full(y.size, level))[0]
            self._terms = partial(_tweedie, y, power, log_link)
        self._penalty, ones = pull, rows.delivered(np.ones(y.size))
        if not (y.any() and np.isfinite(self._at(self._start, ones)[0]).all()):
            raise ValueError(
                f"Got labels from {y.min():g} to {y.max():g}, for which {last} has no finite loss. "
                "Deviances need labels of 0 or more (one of them above, all from power 2 on) and, "
                "with an identity link, an intercept; Huber's loss residuals other than 0."
            )
        self._start, self.n_parameters = self._fit(ones), self._start.size

    @property
    def unit_weights(self) -> FloatArray:
        """Validation weights of the rows."""
        return self.rows.unit_weights

    def scores(self, weights: FloatArray) -> Scores:
        """Fit under weights of the rows, and score the fit."""
        terms, pull = self._at(self._fit(weights), weights), np.diag(self._pull(weights))
        return _information(terms, pull, self.unit_weights, weights)

    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Fit and score candidates one after the other."""
        for row in self.rows.delivered(weights):
            begun = time.perf_counter()
            try:
                losses, error = self.scores(row).losses, None
            except (ValueError, np.linalg.LinAlgError) as failure:
                losses, error = None, f"{type(failure).__name__}: {failure}"
            yield Outcome(losses, error=error, seconds=time.perf_counter() - begun)

    def _pull(self, weights: FloatArray) -> FloatArray:
        return self._penalty * (weights.sum() if self._design.model.per_weight else 1.0)

    @np.errstate(all="ignore")  # steps that go too far are damped
    def _at(self, theta: FloatArray, weights: FloatArray) -> _Terms:
        """Losses and gradients of the rows, and the weighted sum of their Hessians."""
        each = list(enumerate(self._tables))
        parts = np.split(theta, np.cumsum([Z.shape[1] for Z in self._tables])[:-1])
        losses, slope, curvature = self._terms(np.column_stack([Z @ parts[a] for a, Z in each]))
        summed = [[(Z.T * (weights * curvature[:, a, b])) @ V for b, V in each] for a, Z in each]
        return losses, np.hstack([slope[:, [a]] * Z for a, Z in each]), np.block(summed)

    @np.errstate(all="ignore")
    def _fit(self, weights: FloatArray) -> FloatArray:
        """Minimise by damped Newton steps, downhill in any case, or say that it failed."""
        theta, pull, damping = self._start, self._pull(weights), 0.0
        losses, gradients, summed = self._at(theta, weights)
        for _ in range(_STEPS):
            value = weights @ losses + pull @ theta**2 / 2
            gradient = weights @ gradients + pull * theta
            scale, values, vectors = _eigen(summed + np.diag(pull))
            along, size = vectors.T @ (scale * gradient), np.abs(values) + (values == 0)
            done = along**2 @ (1 / size) <= _TOLERANCE * (1 + abs(value))
            before, room, damping = theta, 1e-14 * (1 + abs(value)), damping / 10
            while damping < 1 / _ROUNDING:
                theta = before - scale * (vectors @ (along / (size + damping)))
                losses, gradients, summed = self._at(theta, weights)
                gain = value - weights @ losses - pull @ theta**2 / 2
                if gain >= 1e-4 * (along**2 @ (1 / (size + damping))) - room:
                    break
                damping = max(4 * damping, 1e-3)
            if done and damping < 1:
                return theta
        raise ValueError(
            f"no fit under these weights was found in {_STEPS} Newton steps; it may have none. Add "
            "a penalty or an intercept, or use a log link"
        )


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

    It averages with the ratio itself, scaled to mean 1 on the rows. A `WeightWarning` says where
    it may be too low by 5 % or more: where the products of ratio and gradient at the unweighted
    fit have fewer than ten effective rows for each parameter, or one row has over 5 % of the ratio.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.criteria import InformationCriterion
    >>> from weighbridge.datasets import make_cubic
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
        steps, family = fixed_steps(estimator), closed_form_family(estimator)
        several = isinstance(family, Logistic) and np.unique(rows.y).size > 2
        model: Any = steps[-1] if steps else None
        ways = {getattr(model, name, "") for name in ("multi_class", "solver")}
        if (several and ways & {"ovr", "liblinear"}) or not (family or type(model) in _OTHERS):
            raise TypeError(f"Got {estimator!r}, but the information criterion takes {_TAKEN}.")
        kind = InformationObjective if family and not several else SmoothObjective
        objective: InformationObjective | SmoothObjective = kind(estimator, rows)
        ratio, plain = rows.unit_weights, rows.delivered(np.ones(rows.y.size))
        with np.errstate(all="ignore"):  # a perfect fit has no gradients
            size = np.sqrt(np.asarray(objective.scores(plain).penalties) / plain)
            ess = effective_sample_size(ratio * size)
        share, parameters = ratio.max() / ratio.sum(), objective.n_parameters
        if ess < _ROWS * parameters or share > _SHARE:
            warnings.warn(
                f"The ratio times the gradients of the unweighted fit has {ess:.1f} effective rows "
                f"for {parameters} parameters, and one row has {share:.1%} of the ratio; with "
                f"fewer than {_ROWS} for each, or more than {_SHARE:.0%}, the information "
                "criterion may be too low by 5 % or more, most for large weights. Use "
                "LeaveOneOut(), CrossValidation(), or more source rows like those in the target.",
                WeightWarning,
                stacklevel=users_line(),
            )
        return objective


class InformationObjective(LinearObjective):
    """The information criterion IC_GW, divided by twice the number of rows."""

    no_loss = "the fit leaves no residuals under these weights, and variance 0 has no likelihood"

    @property
    def n_parameters(self) -> int:
        """Coefficients, and the variance of a normal model."""
        family = self.design.model.family
        return self.design.features.shape[1] + isinstance(family, Normal)

    def scores(self, weights: FloatArray) -> Scores:
        """Fit under weights of the rows, and score the fit."""
        losses, penalties = self._terms(weights[None], self._solver.fit(weights[None]))
        return Scores((losses + penalties)[0], self.unit_weights, penalties=penalties[0])

    def row_losses(self, weights: FloatArray, fits: LinearFits) -> FloatArray:
        """Negative log likelihood of each row, plus its share of the penalty."""
        return np.asarray(sum(self._terms(weights, fits)))

    def _terms(self, weights: FloatArray, fits: LinearFits) -> tuple[FloatArray, FloatArray]:
        if isinstance(self.design.model.family, Normal):
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._normal(weights, fits)
        family, y = self.design.model.family, self.design.model.y
        slope, _ = family.derivatives(y, fits.eta)
        return family.loss(y, fits.eta), weights * slope**2 * fits.spread

    def _normal(self, weights: FloatArray, fits: LinearFits) -> tuple[FloatArray, FloatArray]:
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
        return loss, penalty
