"""Draws of the toy problem: what each way to choose the weighting costs on the target."""

import time

import numpy as np
from sklearn.linear_model import LinearRegression

from experiments._models import paper_procedure
from experiments._splits import RELEASED_ALPHAS, forest_log_ratio
from weighbridge import Geodesic, ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.model_selection import (
    CrossValidation,
    HoldOut,
    InformationCriterion,
    LeaveOneOut,
    Point,
    SearchResult,
)
from weighbridge.weighting import IWERM, log_mean

LAMS = np.linspace(0, 1, 21)
GRID = [Point(float(lam), alpha) for lam in LAMS for alpha in (1.0, 1.5, 2.0, 2.5, 3.0)]
AIWERM = [point for point in GRID if point.alpha == 1.0]
RIWERM = [point for point in GRID if point.alpha == 3.0]
RELEASED = [Point(float(lam), alpha) for lam in (*LAMS, 0.98) for alpha in RELEASED_ALPHAS]


def toy_trials(*, reading, n, first, count):
    """Return population errors on the target, a list of `count` draws for each way to choose."""
    return _lists([Draw(reading, n, first + i).closed_forms() for i in range(count)])


def toy_folds(*, reading, n, first, count):
    """The same for the ways that fit folds, which take longer."""
    return _lists([Draw(reading, n, first + i).folds() for i in range(count)])


def _lists(draws):
    return {name: [draw[name] for draw in draws] for name in draws[0]}


class Draw:
    """One draw of the toy problem, with the error on the target of every point of the grid."""

    def __init__(self, reading, n, seed):
        self.data = make_quadratic(n, reading=reading, random_state=seed)
        self.log_ratio = self.data.log_ratio - log_mean(self.data.log_ratio)
        weights = np.array([Geodesic(*point).weights(self.log_ratio) for point in GRID])
        lines = weighted_lines(weights, self.data.X[:, 0], self.data.y)
        self.errors = dict(zip(GRID, mse_of_lines(self.data.problem, *lines), strict=True))

    def closed_forms(self):
        """Errors of fixed weightings, of what closed forms choose, and the best there is."""
        loo = LeaveOneOut(validation=IWERM())
        default = ImportanceWeightedCV(LinearRegression(), self.data.ratio, random_state=0)
        default.fit(self.data.X, self.data.y)
        return {
            "ERM": self.errors[Point(0.0, 1.0)],
            "IWERM": self.errors[Point(1.0, 1.0)],
            "AIWERM": self._chosen(loo, AIWERM),
            "RIWERM": self._chosen(loo, RIWERM),
            "IC": self._chosen(InformationCriterion(), GRID),
            "leave-one-out": self._chosen(loo, GRID),
            "default": self.data.problem.mse(default.estimator_),
            "AIWERM (optimal)": min(self.errors[point] for point in AIWERM),
            "RIWERM (optimal)": min(self.errors[point] for point in RIWERM),
            "optimal": min(self.errors.values()),
        }

    def folds(self):
        """Errors of what folds choose."""
        return {
            "5-fold": self._chosen(CrossValidation(validation=IWERM(), random_state=0), GRID),
            "hold-out": self._chosen(HoldOut(validation=IWERM(), random_state=0), GRID),
        }

    def _chosen(self, criterion, grid):
        model = LinearRegression()
        objective = criterion.objective(model, self.data.X, self.data.y, self.log_ratio)
        found = SearchResult(tuple(objective.evaluate(grid)), objective.unit_weights)
        return self.errors[found.best]


def weighted_lines(weights, x, y):
    """Intercepts and slopes of the least-squares lines, one for each row of `weights`."""
    share = weights / weights.sum(axis=1, keepdims=True)
    x_mean, y_mean = share @ x, share @ y
    x_gap, y_gap = x - x_mean[:, None], y - y_mean[:, None]
    slope = (share * x_gap * y_gap).sum(axis=1) / (share * x_gap**2).sum(axis=1)
    return y_mean - slope * x_mean, slope


def mse_of_lines(problem, intercept, slope):
    """Mean squared errors on the target of many lines beside ``y = x**2 + noise``."""
    first, second, third, fourth = (float(problem.target.moment(k)) for k in (1, 2, 3, 4))
    bent = fourth - 2 * slope * third + (slope**2 - 2 * intercept) * second
    return (bent + 2 * intercept * slope * first + intercept**2 + problem.noise.var()).tolist()


def toy_search(*, reading, trial, evaluations):
    """The paper's procedure on one draw: a hold-out loss, expected improvement in (lam, alpha)."""
    data = make_quadratic(reading=reading, random_state=trial)
    model = paper_procedure(LinearRegression(), data.ratio, evaluations, trial)
    model.fit(data.X, data.y)
    path = [
        [*each.point, float(np.average(each.losses, weights=model.search_result_.unit_weights))]
        for each in model.search_result_.evaluations
    ]
    best = model.best_weighting_
    return {
        "error": data.problem.mse(model.estimator_),
        "chosen": [best.lam, best.alpha],
        "path": path,
    }


def released_toy(*, trial):
    """The released script: a forest on (x, y) for the ratio, errors on the test sample itself."""
    data = make_quadratic(reading="script", random_state=trial)
    source, target = (np.column_stack(pair) for pair in (
        (data.X, data.y), (data.X_target, data.y_target),
    ))  # fmt: skip
    log_ratio = forest_log_ratio(source, target, trial)

    def error(point):
        weights = Geodesic(*point).weights(log_ratio, normalize=False)
        line = LinearRegression().fit(data.X, data.y, sample_weight=weights)
        return float(np.mean((line.predict(data.X_target) - data.y_target) ** 2))

    inside = np.isfinite(data.log_ratio).astype(float)  # the true ratio: constant, or 0
    right = LinearRegression().fit(data.X, data.y, sample_weight=inside)
    return {
        "ERM": error((0.0, 1.0)),
        "IWERM": error((1.0, 1.0)),
        "AIWERM": min(error(point) for point in AIWERM),
        "RIWERM": min(error(point) for point in RIWERM),
        "surface": [error(point) for point in RELEASED],
        "right ratio": float(np.mean((right.predict(data.X_target) - data.y_target) ** 2)),
    }


def toy_seconds(*, trial, evaluations):
    """Seconds of a plain fit, of the paper's procedure, and of weighbridge's default."""
    data = make_quadratic(random_state=trial)
    plain = LinearRegression()
    paper = paper_procedure(plain, data.ratio, evaluations, trial)
    default = ImportanceWeightedCV(plain, data.ratio, random_state=trial)
    seconds = {}
    for name, model, repeats in (
        ("ERM", plain, 100),
        ("IGIWERM", paper, 1),
        ("default", default, 10),
    ):
        model.fit(data.X, data.y)  # the first fit also imports and plans
        begun = time.perf_counter()
        for _ in range(repeats):
            model.fit(data.X, data.y)
        seconds[name] = (time.perf_counter() - begun) / repeats
    return seconds
