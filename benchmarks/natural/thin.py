"""Does the choice of a weighting harm where overlap is thin?

    python -m benchmarks.natural.thin --tasks FOLDER --out FOLDER [--draws 3] [--jobs 2]
        [--label default] [--models linear svm ...]

Ten tasks are made from the development half of the natural suite. Source rows are drawn with
probability proportional to ``exp(-slope * v)``, where v are the standardised log odds of a linear
domain classifier. The slope rises until the full ratio has an effective sample size between 3 and
30. The target stays as it is. For each task and model the change of the loss by
`ImportanceWeightedCV` from the unweighted model is printed, as the mean over draws.
"""

import json
import warnings
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from benchmarks._record import record
from benchmarks.natural.run import MODELS, _standardised, arguments, load, loss
from benchmarks.natural.summary import effects
from weighbridge import ImportanceWeightedCV, fit_ratio
from weighbridge.diagnosis import effective_sample_size

N_TASKS = 10
SLOPES = (0.5, 1, 1.5, 2, 2.5, 3, 4)
ESS = (3, 30)


def make(path, seed, rows):
    """Return a draw of a task with thin overlap, its slope and effective sample size, or None."""
    task = load(path)
    rng = np.random.default_rng([seed, 2])
    some = rng.permutation(len(task.ys))[: 20 * rows]
    task.Xs, task.ys = task.Xs[some], task.ys[some]
    target = rng.permutation(len(task.yt))
    n_free = min(rows, len(target) // 2)
    free, judged = target[:n_free], target[n_free : n_free + 4000]
    stacked = np.vstack([task.Xs, task.Xt[free]])
    codes = np.repeat([0, 1], [len(task.Xs), len(free)])
    line = LogisticRegression(max_iter=1000, class_weight="balanced").fit(stacked, codes)
    log_odds = line.decision_function(task.Xs)
    for slope in SLOPES:
        likely = np.exp(-slope * (log_odds - log_odds.min()) / log_odds.std())
        n_rows = min(rows, log_odds.size // 3)
        chosen = rng.choice(log_odds.size, n_rows, replace=False, p=likely / likely.sum())
        one = _sample(task, chosen, free, judged)
        if one is None:
            continue
        ratio = fit_ratio(one.Xs, one.Xu)
        ess = effective_sample_size(np.exp(ratio.score_samples(one.Xs)))
        if ESS[0] <= ess <= ESS[1]:
            return one, slope, float(ess)
    return None


def _sample(task, chosen, free, judged):
    """Return the rows of a draw, or None if one class is left."""
    one = type(task)(**vars(task))
    one.Xs, one.ys = task.Xs[chosen], task.ys[chosen]
    one.Xu, one.Xt, one.yt = task.Xt[free], task.Xt[judged], task.yt[judged]
    if task.kind == "classification" and np.unique(one.ys).size < np.unique(task.ys).size:
        return None
    return _standardised(one)


def piece(path, model, seed, rows):
    """Return the losses of both models on one draw, and what the choice was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = make(path, seed, rows)
        if made is None:
            return None
        task, slope, ess = made
        estimator = MODELS[model][task.kind == "classification"]
        plain = clone(estimator).fit(task.Xs, task.ys)
        chosen = ImportanceWeightedCV(estimator, random_state=seed)
        chosen.fit(task.Xs, task.ys, X_target=task.Xu)
    losses = loss(plain, task), loss(chosen, task)
    about = {"slope": slope, "ess": ess, "overlap": chosen.overlap_, "reason": chosen.reason_}
    return {"effect": float(effects(losses[1], losses[0])), "losses": losses, **about}


def main():
    """Run all pieces, print the changes and record them."""
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--label", default="default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.set_defaults(draws=3)
    options = parser.parse_args()
    paths = [p for p in sorted(options.tasks.glob("*.npz")) if load(p).half == "choose"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [path for path in paths if make(path, 0, options.rows) is not None][:N_TASKS]
    jobs = list(product(paths, options.models, range(options.draws)))
    pieces = Parallel(n_jobs=options.jobs)(delayed(piece)(*job, options.rows) for job in jobs)
    table = {}
    for (path, model, _), one in zip(jobs, pieces, strict=True):
        if one is not None:
            table.setdefault(f"{path.stem} | {model}", []).append(one)
    means = {key: float(np.mean([one["effect"] for one in ones])) for key, ones in table.items()}
    for key in sorted(means, key=means.get):
        ess = np.mean([one["ess"] for one in table[key]])
        print(f"{means[key]:+7.2f}  {ess:5.1f} effective rows  {key}")
    print(f"mean {np.mean(list(means.values())):+.2f}, worst mean {max(means.values()):+.2f}")
    single = [one["effect"] for ones in table.values() for one in ones]
    print(f"worst single draw {max(single):+.2f} of {len(single)}")
    record(f"thin_{options.label}", {"pieces": json.loads(json.dumps(table))}, folder=options.out)


if __name__ == "__main__":
    main()
