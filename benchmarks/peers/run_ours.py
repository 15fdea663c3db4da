"""Weights by weighbridge, under the same jobs as the peers, and what only we are asked for."""

from functools import partial

import numpy as np
from _child import main, measure
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from weighbridge import fit_ratio
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    GaussianRatio,
    NearestNeighbourRatio,
)

# Rows and centres of a block whose input and output fit into the second cache.
BLOCK = (512, 100)


def boosting():
    model = HistGradientBoostingClassifier(random_state=0)
    return ClassifierRatio(model, calibration="sigmoid")


RATIOS = {
    "ClassifierRatio": ClassifierRatio,
    "ClassifierRatio, linear": lambda: ClassifierRatio(LogisticRegression()),
    "ClassifierRatio, boosting": boosting,
    "ULSIF": ULSIF,
    "KLIEP": KLIEP,
    "KMM": KMM,
    "GaussianRatio": GaussianRatio,
    "NearestNeighbourRatio": NearestNeighbourRatio,
    "AutoRatio": AutoRatio,
}


def weights(make, X_source, X_target, **settings):
    log_ratio = fit_ratio(X_source, X_target, make(**settings)).score_samples(X_source)
    return np.exp(log_ratio - log_ratio.max())


def score(job, method, data, file):
    """Time and memory of score_samples on new rows."""
    ratio = fit_ratio(data["X_source"], data["X_target"], RATIOS[job["method"]]())
    _, cost = measure(lambda: ratio.score_samples(data["X_new"]))
    return cost


def growth(job, method, data, file):
    """Time and memory of a fit, and the seconds that its arithmetic alone would take.

    The bandwidths of the default grid are squares of one another, and spare most exponentials.
    """
    rows, settings = len(data["X_source"]), job["settings"]
    own_grid = {name: settings[name] for name in ("n_centres", "cv")}

    def fit(settings):
        make = RATIOS[job["method"]]
        return measure(lambda: fit_ratio(data["X_source"], data["X_target"], make(**settings)))[1]

    cost, own_grid_cost = fit(settings), fit(own_grid)
    n_bandwidths, n_centres = len(settings["bandwidths"]), settings["n_centres"]
    exps = 2 * rows * n_centres * n_bandwidths  # kernels of both samples
    flops = 2 * rows * n_centres**2 * n_bandwidths  # Gram matrices of one sample
    exp_rate, flop_rate = rates()
    return {
        **cost,
        "own_grid_seconds": own_grid_cost["seconds"],
        "floor_seconds": exps / exp_rate + flops / flop_rate,
        "exps_per_second": exp_rate,
        "flops_per_second": flop_rate,
    }


def rates():
    """Exponentials and operations of a matrix product in a second, on blocks in the cache."""
    rng = np.random.default_rng(0)
    arguments = -8 * rng.random(BLOCK)
    left, right, out = np.exp(arguments), np.exp(arguments), np.empty(BLOCK)
    square = np.empty((BLOCK[1], BLOCK[1]))

    def best(function, calls=200):
        def many():
            for _ in range(calls):
                function()

        return measure(many, repeats=5)[1]["seconds"] / calls

    exp_seconds = best(lambda: np.exp(arguments, out=out))
    product_seconds = best(lambda: np.matmul(left.T, right, out=square))
    return left.size / exp_seconds, 2 * left.size * BLOCK[1] / product_seconds


def against_bare(job, method, data, file):
    """Time of ClassifierRatio and of scikit-learn's cross_val_predict, taken in turns."""
    X_source, X_target = data["X_source"], data["X_target"]
    X = np.vstack([X_source, X_target])
    y = np.repeat([0, 1], [len(X_source), len(X_target)])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def bare():
        cross_val_predict(LogisticRegression(), X, y, cv=folds, method="decision_function")

    def fit():
        return fit_ratio(X_source, X_target, ClassifierRatio(LogisticRegression(), cv=5))

    runs = {"bare": bare, "fit": fit, "fit_and_score": lambda: fit().score_samples(X_source)}
    rounds = [
        {name: measure(function)[1]["seconds"] for name, function in runs.items()}
        for _ in range(job["repeats"])
    ]
    return {name: min(figures[name] for figures in rounds) for name in runs}


if __name__ == "__main__":
    main(
        {name: partial(weights, make) for name, make in RATIOS.items()},
        {"score": score, "growth": growth, "against bare": against_bare},
    )
