"""The information criterion beside the true loss on the target, and when it warns.

    python -m benchmarks.information check      # is the penalty right, for eight likelihoods?
    python -m benchmarks.information choose     # the problems the rule of the warning was chosen on
    python -m benchmarks.information report     # the other ones, once, at the end

A problem is a likelihood, a shift of known ratio and a number of rows. Each draw has fresh source
rows, three weightings (none, RIWERM(0.5), the ratio) and 4,000 fresh target rows with labels, on
which scikit-learn's own fit under the same weights is scored. The bias of the criterion is the mean
of value minus target loss, divided by the larger of the mean target loss (without its sign) and the
standard deviation of the losses of target rows: a log likelihood may be 0 by the units of y alone.
A problem has the largest bias of its three weightings.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.metrics import mean_tweedie_deviance

from benchmarks._record import record
from weighbridge.criteria import InformationCriterion
from weighbridge.exceptions import WeightWarning
from weighbridge.search import Point
from weighbridge.weighting import Geodesic, mean_one

POINTS = [Point(0.0, 1.0), Point(0.5, 3.0), Point(1.0, 1.0)]
TIGHT = {"tol": 1e-8, "max_iter": 2000, "solver": "newton-cholesky"}
MODELS = {
    "linear": LinearRegression(),
    "ridge": Ridge(10.0),
    "logistic": LogisticRegression(C=1.0, **TIGHT),
    "multinomial": LogisticRegression(C=1.0, **TIGHT),
    "Poisson": PoissonRegressor(alpha=0.01, **TIGHT),
    "Gamma": GammaRegressor(alpha=0.01, **TIGHT),
    "Tweedie": TweedieRegressor(power=1.5, alpha=0.01, **TIGHT),
    "Huber": HuberRegressor(alpha=0.1, tol=1e-7, max_iter=2000),
}
TARGET_ROWS = 4000


@dataclass(frozen=True)
class Problem:
    """A likelihood, its numbers of columns and rows, and a target N(shift, spread^2) in column 1.

    The source is standard normal; `bend` is what the model has no column for.
    """

    model: str
    columns: int
    rows: int
    shift: float
    spread: float = 1.0
    bend: float = 0.2

    def draw(self, rng):
        """Return source and target rows with labels, and the log ratio of the source rows."""
        X, X_target = (rng.normal(size=(size, self.columns)) for size in (self.rows, TARGET_ROWS))
        X_target[:, 0] = self.shift + self.spread * X_target[:, 0]
        s = X[:, 0] ** 2 / 2 - (X[:, 0] - self.shift) ** 2 / (2 * self.spread**2)
        return X, self.labels(X, rng), X_target, self.labels(X_target, rng), s

    def labels(self, X, rng):
        eta = X @ (0.4 / np.sqrt(np.arange(1, X.shape[1] + 1)))
        eta += self.bend * X[:, 0] ** 2 * np.exp(-(X[:, 0] ** 2) / 8)
        if self.model in ("linear", "ridge"):
            return eta + rng.normal(size=len(X))
        if self.model == "Huber":
            return eta + rng.standard_t(3, size=len(X))
        if self.model == "logistic":
            return (eta + rng.logistic(size=len(X)) > 0).astype(int)
        if self.model == "multinomial":
            turned = X @ (0.4 * (-1) ** np.arange(X.shape[1]))
            scores = np.column_stack([0 * eta, eta, turned])
            return np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        mean = np.exp(eta)
        if self.model == "Gamma":
            return rng.gamma(2.0, mean / 2)
        counts = rng.poisson(mean)
        return rng.gamma(2.0 * np.maximum(counts, 1), 0.5) * (counts > 0) if (
            self.model == "Tweedie"
        ) else counts.astype(float)

    def target_losses(self, weights, X, y, X_target, y_target):
        """Losses on target rows of scikit-learn's fit."""
        model = clone(MODELS[self.model]).fit(X, y, sample_weight=weights)
        if self.model in ("logistic", "multinomial"):
            return -np.log(model.predict_proba(X_target)[np.arange(y_target.size), y_target])
        mean = model.predict(X_target)
        if self.model in ("linear", "ridge"):
            variance = np.average((y - model.predict(X)) ** 2, weights=weights)
            return (y_target - mean) ** 2 / (2 * variance) + np.log(2 * np.pi * variance) / 2
        if self.model == "Huber":
            size, most = np.abs(y_target - mean) / model.scale_, model.epsilon
            huber = np.where(size <= most, size**2, 2 * most * size - most**2)
            return model.scale_ * (1 + huber)
        if self.model == "Poisson":
            return mean - y_target * np.log(mean) + gammaln(y_target + 1)
        if self.model == "Gamma":
            return y_target / mean - np.log(y_target / mean) - 1
        return 2 * (np.sqrt(y_target) - np.sqrt(mean)) ** 2 / np.sqrt(mean)

    def trial(self, seed):
        """Return values, target losses, their spread and penalties of the weightings; warned."""
        X, y, X_target, y_target, s = self.draw(np.random.default_rng(seed))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            objective = InformationCriterion().objective(MODELS[self.model], X, y, s)
            found = list(objective.evaluate(POINTS))
        warned = any(issubclass(each.category, WeightWarning) for each in caught)
        rows = []
        for point, each in zip(POINTS, found, strict=True):
            weights = mean_one(Geodesic(*point)(objective.log_ratio))
            losses = self.target_losses(weights, X, y, X_target, y_target)
            value = np.average(each.losses, weights=objective.unit_weights)
            rows.append([value, losses.mean(), losses.std()])
        return np.array(rows), warned
