"""Do the learning guarantees hold, and how tight are they? Draws of 12 problems of known risk.

    python -m benchmarks.bounds [--draws 2000] [--rows 200 1000 5000]

For each problem and number of rows: how often each public bound fails at nominal 5 %, and its mean
beside the true gap; beside it the sum of the bias in the sample and the deviation, which is no
guarantee. Constants were chosen on the problems marked "choose".
"""

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import expon, norm, rv_discrete, t

from benchmarks._record import record
from weighbridge.guarantees import bernstein_bound, learning_bound, risk_interval
from weighbridge.weighting import ERM, IWERM, RIWERM

DELTA = 0.05
WEIGHTINGS = {"ERM": ERM(), "RIWERM(.5)": RIWERM(0.5), "RIWERM(.9)": RIWERM(0.9)}
CELLS = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.2, 0.3, 0.4])


@dataclass
class Mixture:
    """A share of one distribution and the rest of another."""

    share: float
    first: Any
    second: Any

    def logpdf(self, x):
        return np.logaddexp(
            np.log(self.share) + self.first.logpdf(x), np.log1p(-self.share) + self.second.logpdf(x)
        )


@dataclass
class Problem:
    """Source, target, loss (its probability of being 1 where `noisy`), and what is known of r."""

    name: str
    half: str
    source: Any
    target: Any
    loss: Any
    ends: tuple[float, float] = (-60, 60)
    d2: float | None = None
    ratio_bound: float | None = None
    noisy: bool = False

    def log_ratio(self, x):
        if isinstance(self.source, rv_discrete):
            return np.log(CELLS[1] / CELLS[0])[x]
        return self.target.logpdf(x) - self.source.logpdf(x)

    def risks(self):
        """Return the target risk of the loss, and of the loss that is 1 where r is above 1."""
        if isinstance(self.source, rv_discrete):
            x, mass = np.arange(4), CELLS[1]
        else:  # midpoints
            edges = np.linspace(*self.ends, 4_000_001)
            x = (edges[1:] + edges[:-1]) / 2
            mass = np.exp(self.target.logpdf(x)) * (edges[1] - edges[0])
            assert abs(mass.sum() - 1) < 1e-4, (self.name, mass.sum())
        return float(mass @ self.loss(x)), float(mass[self.log_ratio(x) > 0].sum())

    def draw(self, n, rng):
        x = self.source.rvs(size=n, random_state=rng)
        losses = self.loss(x).astype(float)
        if self.noisy:
            losses = (rng.random(n) < losses).astype(float)
        return self.log_ratio(x), losses


def above(c):
    """Return the loss that is 1 above a threshold."""
    return lambda x: (np.asarray(x) > c).astype(float)


def sigmoid(x):
    """Return a smooth loss."""
    return 1 / (1 + np.exp(2 - np.clip(x, -500, 500)))


def beyond_two(x):
    """Return the loss that is 1 in both tails."""
    return (np.abs(x) > 2).astype(float)


CELL_LOSSES = np.array([0.9, 0.1, 0.3, 0.5])
POSITIVE = (0.0, 60.0)
PROBLEMS = [
    Problem("N(0,1) to N(.5,1), 1[x>1]", "choose", norm(), norm(0.5), above(1), d2=np.exp(0.25)),
    Problem("N(0,1) to N(1,1), smooth", "choose", norm(), norm(1), sigmoid, d2=np.e),
    Problem("N(0,1) to N(2,1), 1[x>0]", "choose", norm(), norm(2), above(0), d2=np.exp(4)),
    Problem("N(0,1) to N(0,1.3), 1[|x|>2]", "choose", norm(), norm(0, 1.3), beyond_two,
            d2=1 / (1.3 * np.sqrt(2 - 1.69))),
    Problem("Exp(1) to Exp(.6), 1[x<1]", "choose", expon(), expon(scale=1 / 0.6),
            lambda x: 1 - above(1)(x), POSITIVE, d2=1.8),
    Problem("4 cells, 4 losses", "choose", rv_discrete(values=(range(4), CELLS[0])), None,
            lambda x: CELL_LOSSES[x], d2=float(np.sum(CELLS[1] ** 2 / CELLS[0])), ratio_bound=8.0),
    Problem("N(0,1) to N(1,1), 1[x>1.5]", "report", norm(), norm(1), above(1.5), d2=np.e),
    Problem("N(0,1) to N(2,1), smooth", "report", norm(), norm(2), sigmoid, d2=np.exp(4)),
    Problem("N(0,1) to N(1,.5), noisy 0-1", "report", norm(), norm(1, 0.5), sigmoid,
            d2=2 / np.sqrt(1.75) * np.exp(1 / 1.75), ratio_bound=2 * np.exp(2 / 3), noisy=True),
    Problem("Exp(1) to Exp(.4), 1-exp(-x)", "report", expon(), expon(scale=2.5),
            lambda x: -np.expm1(-x), POSITIVE),
    Problem("t(5) to t(3), 1[|x|>2]", "report", t(5), t(3), beyond_two, (-500, 500)),
    Problem("N(0,1) to .9 N(0,1) + .1 N(4,.5), 1[x>2]", "report", norm(),
            Mixture(0.9, norm(), norm(4, 0.5)), above(2)),
]  # fmt: skip


def one_draw(problem, n, seed):
    """Return the true gap and the bound for each public bound on one sample.

    An interval has its half width for the bound, and an infinite gap where it misses the risk.
    """
    log_ratio, losses = problem.draw(n, np.random.default_rng([seed, n]))
    risk, risk_above = problem.truth
    low, high = risk_interval(log_ratio, losses, delta=DELTA)
    found = {"risk_interval": (0.0 if low <= risk <= high else np.inf, (high - low) / 2)}
    if problem.ratio_bound:
        ends = risk_interval(log_ratio, losses, delta=DELTA, ratio_bound=problem.ratio_bound)
        held = ends[0] <= risk <= ends[1]
        found["risk_interval, ratio_bound"] = (0.0 if held else np.inf, (ends[1] - ends[0]) / 2)
    for name, weighting in WEIGHTINGS.items():
        weight = weighting.weights(log_ratio, normalize=False)
        weighted = np.mean(weight * losses)
        gap, value = abs(risk - weighted), max(high - weighted, weighted - low)
        found[f"bernstein_bound, {name}"] = gap, value
        if name != "RIWERM(.5)":
            continue
        bound = bernstein_bound(log_ratio, weighting, losses=losses, delta=DELTA)
        assert abs(bound.value - value) < 1e-12
        found["bias + deviation, RIWERM(.5)"] = gap, bound.bias + bound.deviation
        free = bernstein_bound(log_ratio, weighting, delta=DELTA).value
        # the loss for which the bound without losses is made: 1 where the ratio is above the weight
        worst = abs(risk_above - np.mean(weight * (log_ratio > 0)))
        found["bernstein_bound without losses, RIWERM(.5)"] = worst, free
        found["learning_bound, RIWERM(.5)"] = (
            gap,
            learning_bound(
                log_ratio, weighting, losses=losses, pseudo_dimension=2, delta=DELTA
            ).value,
        )
    if problem.d2:
        weighted = np.mean(np.exp(log_ratio) * losses)
        found["learning_bound, IWERM, d2"] = (
            abs(risk - weighted),
            learning_bound(
                log_ratio, IWERM(), losses=losses, pseudo_dimension=2, delta=DELTA, d2=problem.d2
            ).value,
        )
    return found


def measure(problem, n, draws):
    """Return failure rate, mean bound and mean gap of every bound."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means far from 1, where tails are heavy
        runs = [one_draw(problem, n, seed) for seed in range(draws)]
    found = {}
    for name in runs[0]:
        gaps, values = np.array([run[name] for run in runs]).T
        found[name] = {
            "fails": float(np.mean(gaps > values)),
            "bound": float(np.mean(values)),
            "gap": None if name.startswith("risk") else float(np.mean(gaps)),
        }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 5000])
    arguments = parser.parse_args()
    limit = DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / arguments.draws)
    figures, worst = [], {}
    for problem in PROBLEMS:
        problem.truth = problem.risks()
        for n in arguments.rows:
            found = measure(problem, n, arguments.draws)
            figures.append({"problem": problem.name, "half": problem.half, "n": n, "bounds": found})
            print(f"{problem.name}, n = {n}, risk {problem.truth[0]:.3f}", flush=True)
            for name, entry in found.items():
                gap = "" if entry["gap"] is None else f", gap {entry['gap']:.3f}"
                print(f"  {name}: fails {entry['fails']:.4f}, bound {entry['bound']:.3f}{gap}")
                worst[name] = max(worst.get(name, 0.0), entry["fails"])
    print(f"largest failure rates; the bar is {limit:.4f}")
    for name, rate in worst.items():
        print(f"  {name}: {rate:.4f}{'' if rate <= limit else ' ABOVE'}")
    record("bounds", {"draws": arguments.draws, "limit": limit, "worst": worst, "cells": figures})


if __name__ == "__main__":
    main()
