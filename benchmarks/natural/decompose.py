"""Which part of a change of loss comes from X, and which from Y given X.

A model is fitted on half of the source rows; its loss is looked at on the other half and on the
target rows. With s and t the densities of X, all is compared on the distribution both share, with
density proportional to s t / (s + t) (Cai, Namkoong and Yadlowsky 2023): source rows get the weight
t / (s + t), target rows s / (s + t), which are bounded, so that no overlap is needed where there is
none. The change of loss is then the sum of three terms: source to shared under source labels (X),
shared under source labels to shared under target labels (Y|X), shared to target under target labels
(X); the two terms of X are added. t / (s + t) comes from a classifier of the domain, cross-fitted,
with both domains weighted equally. Standard errors are those of weighted means, for fixed model and
weights. Losses: share of errors; squared error over the variance of the target's labels.
"""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold


def decompose(task, estimator, seed=0):
    """Return the change of loss and its parts, each with its standard error."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(task.ys))
    fitting, judging = np.array_split(order, 2)
    loss = losses_of(task, clone(estimator).fit(task.Xs[fitting], task.ys[fitting]))
    on_source = loss(task.Xs[judging], task.ys[judging])
    on_target = loss(task.Xt, task.yt)
    share = target_share(task.Xs[judging], task.Xt, seed)
    w_source, w_target = share[: len(judging)], 1 - share[len(judging) :]
    (plain_s, by_s), (shared_s, by_ss) = _mean(on_source), _mean(on_source, w_source)
    (plain_t, by_t), (shared_t, by_st) = _mean(on_target), _mean(on_target, w_target)
    return {
        "source loss": float(plain_s),
        "change": _part(plain_t - plain_s, by_t, by_s),
        "X": _part(shared_s - plain_s + plain_t - shared_t, by_ss - by_s, by_t - by_st),
        "Y|X": _part(shared_t - shared_s, by_st, by_ss),
        "effective share": [float(w.mean() ** 2 / (w**2).mean()) for w in (w_source, w_target)],
    }


def losses_of(task, model):
    """Return the loss of a model row by row, as a function of rows and labels."""
    if task.kind == "classification":
        return lambda X, y: (model.predict(X) != y).astype(float)
    return lambda X, y: (model.predict(X) - y) ** 2 / task.yt.var()


def target_share(X_source, X_target, seed):
    """Return t / (s + t) at all rows, source rows first, from models that have not seen them."""
    X = np.vstack([X_source, X_target])
    domain = np.repeat([0, 1], [len(X_source), len(X_target)])
    balance = np.where(domain, 0.5 / len(X_target), 0.5 / len(X_source)) * len(X)
    model = HistGradientBoostingClassifier(
        max_iter=200, learning_rate=0.05, max_leaf_nodes=15, early_stopping=True, random_state=seed
    )
    share = np.empty(len(X))
    for fitting, held_out in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, domain):
        fitted = clone(model).fit(X[fitting], domain[fitting], sample_weight=balance[fitting])
        share[held_out] = fitted.predict_proba(X[held_out])[:, 1]
    return share


def _mean(values, weights=None):
    """Return a weighted mean, and what each row adds to its error."""
    weights = np.ones(len(values)) if weights is None else weights
    mean = np.average(values, weights=weights)
    return mean, weights * (values - mean) / weights.sum()


def _part(value, *errors):
    """Return a part with its standard error; errors of different domains are independent."""
    return {"value": float(value), "se": float(np.sqrt(sum((each**2).sum() for each in errors)))}
