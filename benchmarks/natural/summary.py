"""Figures of the natural suite, from the losses of its draws.

The effect of a method on a pair (task, model) is the mean over draws of
100 log((loss + .01) / (ERM's loss + .01)); negative is better. It is significant if a paired t test
across draws says so at 1 %. Draws share a pool of rows, so this is about the pool, not about other
pools. The oracle of a draw is the best of the fixed weightings on the other draws. A pair is
winnable if the oracle gains at least 2, significantly; captured is the mean over winnable pairs of
the effect over the oracle's, each cut to [-1, 1].
"""

import numpy as np
from scipy import stats

WINNABLE = -2.0
LEVEL = 0.01


def effects(losses, plain):
    """Return the effect in each draw."""
    return 100 * np.log((np.asarray(losses) + 0.01) / (np.asarray(plain) + 0.01))


def significant(values):
    """Return whether the mean over draws differs from 0 by a t test."""
    values = np.asarray(values)
    if len(values) < 2 or not values.any():
        return False
    spread = values.std(ddof=1)
    return bool(spread == 0 or stats.ttest_1samp(values, 0).pvalue < LEVEL)


def oracle(fixed):
    """Return the loss, in each draw, of the weighting that is best on the other draws."""
    fixed = np.asarray(fixed)
    others = fixed.sum(axis=0) - fixed
    return fixed[np.arange(len(fixed)), others.argmin(axis=1)]


def pairs(losses):
    """Return the effects of a pair: a dict of method to values over draws, the oracle included."""
    plain = losses["ERM"]
    out = {name: effects(each, plain) for name, each in losses.items() if name != "fixed"}
    return out | {"oracle": effects(oracle(losses["fixed"]), plain)}


def summary(table):
    """Return figures of each method over all pairs: {(task, model): {method: effects}}."""
    best = {key: pair["oracle"] for key, pair in table.items()}
    winnable = [key for key in table if best[key].mean() <= WINNABLE and significant(best[key])]
    methods = [
        name for name in next(iter(table.values())) if all(name in t for t in table.values())
    ]
    return {name: _figures(name, table, winnable, best) for name in methods}


def _figures(name, table, winnable, best):
    means = {key: float(pair[name].mean()) for key, pair in table.items()}
    sure = [key for key in table if significant(table[key][name])]
    harm = {" | ".join(key): round(means[key], 2) for key in sure if means[key] > 0}
    shares = [np.clip(means[key] / best[key].mean(), -1, 1) for key in winnable]
    rest = [means[key] for key in table if key not in winnable]
    models = sorted({key[1] for key in table})
    return {
        "pairs": len(table),
        "mean effect": _mean(means.values()),
        "standard error": float(np.std(list(means.values())) / np.sqrt(len(means))),
        "by model": {each: _mean(means[key] for key in table if key[1] == each) for each in models},
        "winnable pairs": len(winnable),
        "captured": _mean(shares),
        "where nothing is winnable": _mean(rest),
        "significantly better": len(sure) - len(harm),
        "significantly worse": len(harm),
        "worst significant harm": max(harm.values(), default=0.0),
        "worse pairs": harm,
    }


def _mean(values):
    values = list(values)
    return float(np.mean(values)) if values else None


def as_text(figures, cost):
    """Return the summary as a table in Markdown."""
    models = sorted(next(iter(figures.values()))["by model"])
    heads = [
        "method", "mean effect", "se", *models, "captured", "nothing to win", "worse", "worst harm",
        "fits", "CPU / one fit",
    ]  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, one in figures.items():
        share = "-" if one["captured"] is None else f"{one['captured']:.0%}"
        calm = one["where nothing is winnable"]
        cells = [
            name, f"{one['mean effect']:+.2f}", f"{one['standard error']:.2f}",
            *(f"{one['by model'][each]:+.2f}" for each in models), share,
            "-" if calm is None else f"{calm:+.2f}", f"{one['significantly worse']}/{one['pairs']}",
            f"{one['worst significant harm']:+.1f}",
            *([f"{value:.0f}" for value in cost[name]] if name in cost else ["-", "-"]),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
