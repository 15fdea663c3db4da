"""One split of one data set: every weighting of a grid, and the ways to choose one."""

from collections import Counter

import numpy as np
from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.metrics import mean_squared_error, zero_one_loss
from sklearn.model_selection import train_test_split

from experiments._models import ManyFits, make_model, paper_procedure
from experiments._splits import RELEASED_ALPHAS, split
from weighbridge import Geodesic, ImportanceWeightedCV
from weighbridge.model_selection import BayesianSearch, Bounds, Evaluation
from weighbridge.weighting import log_mean

# Characters of an error that are kept.
MESSAGE = 100
# The two curves with names, in every reading.
NAMED_ALPHAS = (1.0, 3.0)


def split_trial(*, reading, name, model, trial, lams, alphas, evaluations, max_rows):
    """Return errors on the target: 0-1 loss in percent, or mean squared error."""
    data = split(reading, name, trial, max_rows)
    run = {"as released": _released, "honest": _honest}.get(reading, _stated)
    return {
        "n_source": len(data.y),
        "n_target": len(data.y_target),
        "ess": data.ess,
        "redraws": data.redraws,
        "classes_lost": data.classes_lost,
        **run(data, make_model(model, trial), trial, lams, alphas, evaluations),
    }


def surface_trial(*, name, model, trial, lams, alphas, max_rows):
    """Return the error on the target of every weighting of a grid, honest reading."""
    data, failures = split("honest", name, trial, max_rows), Counter()
    fits = _fits(data, make_model(model, trial))
    surface = _surface(data, fits, lams, alphas, failures, normalize=True)
    return {"surface": surface, "failures": dict(failures)}


def first_split(name, max_rows):
    """Return the first split of a set and its two principal components."""
    data = split("honest", name, 0, max_rows)
    return data, PCA(2, svd_solver="full").fit(np.vstack([data.X, data.X_target]))


def shift_summary(*, name, max_rows):
    """Return size, effective sample size and explained variance of the first split of a set."""
    data, pca = first_split(name, max_rows)
    shares = [float(share) for share in pca.explained_variance_ratio_]
    return {
        "n_source": len(data.y),
        "n_target": len(data.y_target),
        "ess": data.ess,
        "explained variance": shares,
    }


def _stated(data, model, trial, lams, alphas, evaluations):
    """Weights as they are; ours by hold-out and expected improvement."""
    failures, fits = Counter(), _fits(data, model)
    surface = _surface(data, fits, lams, NAMED_ALPHAS, failures, normalize=False)
    found = {"surface": surface, "ours": None, "ours chose": None}
    objective = PlainHoldOut(data, model, trial)
    search = BayesianSearch(evaluations, coordinates="plain", tol=0)
    try:
        point = search(objective, Bounds(alpha=(1.0, 3.0))).best
    except RuntimeError as error:  # every candidate failed: the rows fitted on have one class
        failures[str(error)[:MESSAGE]] += 1
    else:
        ours = _error(data, fits, Geodesic(*point), failures, normalize=False)
        found |= {"ours": ours, "ours chose": list(point)}
    return found | {"failures": dict(failures)}


def _released(data, model, trial, lams, alphas, evaluations):
    """Everything is picked on the test labels; powers of densities from 1 to 4."""
    failures = Counter()
    alphas = NAMED_ALPHAS + RELEASED_ALPHAS
    surface = _surface(data, _fits(data, model), lams, alphas, failures, normalize=False)
    return {"surface": surface, "failures": dict(failures)}


def _honest(data, model, trial, lams, alphas, evaluations):
    """Weights of mean 1; the paper's procedure and weighbridge's default, without labels."""
    paper = paper_procedure(model, data.ratio, evaluations, trial)
    default = ImportanceWeightedCV(model, data.ratio, random_state=trial)
    failures = Counter()
    surface = _surface(data, _fits(data, model), lams, alphas, failures, normalize=True)
    found = {"surface": surface}
    for name, chooser in (("ours", paper), ("default", default)):
        try:
            chooser.fit(data.X, data.y)
        except (RuntimeError, ValueError) as error:  # a class with a row or two, say
            failures[str(error)[:MESSAGE]] += 1
            found |= {name: None, f"{name} chose": None}
            continue
        best = chooser.best_weighting_
        found[name] = _loss(model, chooser.predict(data.X_target), data.y_target)
        found[f"{name} chose"] = [best.lam, best.alpha]
    return found | {"failures": dict(failures)}


def _fits(data, model):
    return ManyFits(model, data.X, data.y, data.X_target)


def _surface(data, fits, lams, alphas, failures, *, normalize):
    """Errors on the target for a grid of weightings, [lam, alpha, error] each."""

    def error(*point):
        return _error(data, fits, Geodesic(*point), failures, normalize=normalize)

    ends = {lam: error(lam) for lam in (0.0, 1.0)}
    inner = [[lam, alpha, error(lam, alpha)] for alpha in alphas for lam in lams if 0 < lam < 1]
    # at its ends lam makes one model, whatever alpha is
    return [[lam, alpha, end] for lam, end in ends.items() for alpha in alphas] + inner


def _error(data, fits, weighting, failures, *, normalize):
    """Error on the target, or None where the weights cannot be had or the fit is refused."""
    log_ratio = data.log_ratio
    if normalize:
        log_ratio = log_ratio - log_mean(log_ratio)
    try:
        weights = weighting.weights(log_ratio, normalize=normalize)
        predicted = fits.predict(weights)
    except ValueError as error:  # all weight on one class, say, or a weight that is infinite
        failures[str(error)[:MESSAGE]] += 1
        return None
    return _loss(fits.model, predicted, data.y_target)


def _loss(model, predicted, y):
    if is_regressor(model):
        return float(mean_squared_error(y, predicted))
    return float(100 * zero_one_loss(y, predicted))


class PlainHoldOut:
    """The paper's L(h; lam, alpha): a fifth of the rows held out, the ratio as it is printed."""

    def __init__(self, data, model, seed):
        self.model = model
        self.log_ratio = data.log_ratio
        rows = np.arange(len(data.y))
        self.fitted_on, self.held_out = train_test_split(rows, test_size=0.2, random_state=seed)
        self.X, self.y = data.X, data.y
        # one unit of weight 1 for the whole hold-out sample: its mean is not self-normalised
        self.unit_weights = np.ones(1)

    def evaluate(self, points):
        """Yield the weighted validation loss of each point."""
        X, y = self.X[self.held_out], self.y[self.held_out]
        ratio = np.exp(self.log_ratio[self.held_out])
        for point in points:
            weights = Geodesic(*point).weights(self.log_ratio[self.fitted_on], normalize=False)
            try:
                self.model.fit(self.X[self.fitted_on], self.y[self.fitted_on], weights)
            except ValueError as error:
                yield Evaluation(point, None, error=str(error))
                continue
            predicted = self.model.predict(X)
            losses = (predicted - y) ** 2 if is_regressor(self.model) else predicted != y
            yield Evaluation(point, np.array([np.mean(ratio * losses)]))
