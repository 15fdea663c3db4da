"""Draws of the toy problem: what each way to choose the weighting costs on the target."""

import time

import numpy as np
from sklearn.linear_model import LinearRegression

from experiments._models import paper_procedure
from experiments._splits import RELEASED_ALPHAS, forest_log_ratio
from weighbridge import Geodesic, ImportanceWeightedCV
from weighbridge.criteria import CrossValidation, HoldOut, InformationCriterion, LeaveOneOut
from weighbridge.datasets import make_quadratic
from weighbridge.search import Point, SearchResult
from weighbridge.weighting import IWERM, log_mean

LAMS = np.linspace(0, 1, 21)
GRID = [Point(float(lam), alpha) for lam in LAMS for alpha in (1.0, 1.5, 2.0, 2.5, 3.0)]
AIWERM = [point for point in GRID if point.alpha == 1.0]
RIWERM = [point for point in GRID if point.alpha == 3.0]
RELEASED = [Point(float(lam), alpha) for lam in (*LAMS, 0.98) for alpha in RELEASED_ALPHAS]


def toy_trials(*, reading, n, first, count):
    """Return population errors on the target, a list of `count` draws for each way to choose."""
    draws = [_toy(make_quadratic(n, reading=reading, random_state=first + i)) for i in range(count)]
    return {name: [draw[name] for draw in draws] for name in draws[0]}


def _toy(data):
    log_ratio = data.log_ratio - log_mean(data.log_ratio)
    X, y, model = data.X, data.y, LinearRegression()

    def error(point):
        weights = Geodesic(*point).weights(log_ratio)
        return data.problem.mse(LinearRegression().fit(X, y, sample_weight=weights))

    def chosen(criterion, grid):
        objective = criterion.objective(model, X, y, log_ratio)
        return error(SearchResult(tuple(objective.evaluate(grid)), objective.unit_weights).best)

    surface = {point: error(point) for point in GRID}
    loo = LeaveOneOut(validation=IWERM())
    default = ImportanceWeightedCV(model, data.ratio, random_state=0).fit(X, y)
    return {
        "ERM": surface[Point(0.0, 1.0)],
        "IWERM": surface[Point(1.0, 1.0)],
        "AIWERM": chosen(loo, AIWERM),
        "RIWERM": chosen(loo, RIWERM),
        "IC": chosen(InformationCriterion(), GRID),
        "leave-one-out": chosen(loo, GRID),
        "5-fold": chosen(CrossValidation(validation=IWERM(), random_state=0), GRID),
        "hold-out": chosen(HoldOut(validation=IWERM(), random_state=0), GRID),
        "default": data.problem.mse(default.estimator_),
        "AIWERM (optimal)": min(surface[point] for point in AIWERM),
        "RIWERM (optimal)": min(surface[point] for point in RIWERM),
        "optimal": min(surface.values()),
    }


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
