"""The information criterion beside the true loss on the target, and when it warns.

    python -m benchmarks.information check      # is the penalty right, for each model?
    python -m benchmarks.information choose     # the problems the rule of the warning was chosen on
    python -m benchmarks.information report     # other ones

A problem is a likelihood, a shift of known ratio and a number of rows. Each draw has fresh source
rows, three weightings (none, RIWERM(0.5), the ratio) and 4,000 fresh target rows with labels, on
which scikit-learn's own fit under the same weights is scored. The bias of the criterion is the mean
of value minus target loss, divided by the larger of the mean target loss (without its sign) and the
standard deviation of the losses of target rows: a log likelihood may be 0 by the units of y alone.
A problem counts with the largest bias of its three weightings.
"""

import argparse
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge

from benchmarks._record import record
from weighbridge.exceptions import WeightWarning
from weighbridge.model_selection import InformationCriterion, Point
from weighbridge.weighting import Geodesic, mean_one

POINTS = [Point(0.0, 1.0), Point(0.5, 3.0), Point(1.0, 1.0)]
TIGHT = {"tol": 1e-8, "max_iter": 2000, "solver": "newton-cholesky"}
MODELS = {
    "linear": LinearRegression(),
    "ridge": Ridge(10.0),
    "logistic": LogisticRegression(C=1.0, **TIGHT),
    "Poisson": PoissonRegressor(alpha=0.01, **TIGHT),
}
TARGET_ROWS = 4000


@dataclass(frozen=True)
class Problem:
    """A likelihood, its numbers of columns and rows, and a target N(shift, spread^2) in column 1.

    The source is standard normal; `bend` times a square is what the model has no column for.
    """

    model: str
    columns: int
    rows: int
    shift: float
    spread: float = 1.0
    bend: float = 0.0

    def draw(self, rng):
        """Return source and target rows with labels, and the log ratio of the source rows."""
        X, X_target = (rng.normal(size=(size, self.columns)) for size in (self.rows, TARGET_ROWS))
        X_target[:, 0] = self.shift + self.spread * X_target[:, 0]
        s = X[:, 0] ** 2 / 2 - (X[:, 0] - self.shift) ** 2 / (2 * self.spread**2)
        return X, self.labels(X, rng), X_target, self.labels(X_target, rng), s

    def labels(self, X, rng):
        """Draw a label for each row."""
        eta = X @ (0.4 / np.sqrt(np.arange(1, X.shape[1] + 1)))
        real = self.model in ("linear", "ridge")
        eta += self.bend * X[:, 0] ** 2 * (1 if real else np.exp(-(X[:, 0] ** 2) / 12))
        if real:
            return eta + rng.normal(size=len(X))
        if self.model == "logistic":
            return (eta + rng.logistic(size=len(X)) > 0).astype(int)
        return rng.poisson(np.exp(eta)).astype(float)

    def target_losses(self, weights, X, y, X_target, y_target):
        """Losses on target rows of scikit-learn's fit."""
        model = clone(MODELS[self.model]).fit(X, y, sample_weight=weights)
        if self.model == "logistic":
            return -np.log(model.predict_proba(X_target)[np.arange(y_target.size), y_target])
        mean = model.predict(X_target)
        if self.model in ("linear", "ridge"):
            variance = np.average((y - model.predict(X)) ** 2, weights=weights)
            return (y_target - mean) ** 2 / (2 * variance) + np.log(2 * np.pi * variance) / 2
        return mean - y_target * np.log(mean) + gammaln(y_target + 1)

    def trial(self, seed):
        """Return value, penalty, mean and spread of target losses of each weighting; warned."""
        X, y, X_target, y_target, s = self.draw(np.random.default_rng(seed))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            objective = InformationCriterion().objective(MODELS[self.model], X, y, s)
        warned = any(issubclass(each.category, WeightWarning) for each in caught)
        rows = []
        for point in POINTS:
            weights = mean_one(Geodesic(*point)(objective.log_ratio))
            scores = objective.scores(weights)
            losses = self.target_losses(weights, X, y, X_target, y_target)
            rows.append([scores.value, scores.penalty, losses.mean(), losses.std()])
        return np.array(rows), warned

    def figures(self, draws, first=0):
        """Return the bias with its standard error, the penalty, and the share warned of."""
        found, failed = [], 0
        for seed in range(first, first + draws):
            try:
                found.append(self.trial(seed))
            except ValueError:  # a weighting without a fit
                failed += 1
        terms, warned = np.array([rows for rows, _ in found]), [each for _, each in found]
        value, penalty, loss, spread = np.moveaxis(terms, 2, 0)
        scale = np.maximum(np.abs(loss.mean(axis=0)), spread.mean(axis=0))
        off = (value - loss) / scale
        worst = int(np.argmax(np.abs(off.mean(axis=0))))
        se = off.std(axis=0, ddof=1) / np.sqrt(len(off))
        return {
            "problem": asdict(self),
            "bias": off.mean(axis=0).tolist(),
            "standard_error": se.tolist(),
            "worst": float(off.mean(axis=0)[worst]),
            "worst_error": float(se[worst]),
            "penalty": (penalty / scale).mean(axis=0).tolist(),
            "warned": float(np.mean(warned)),
            "failed": failed,
        }


def _grid(columns, settings):
    return [Problem(model, p, *each) for model, p in columns for each in settings]


CHECK = [Problem(model, 3, 1000, 0.5, 1.0, 0.2) for model in MODELS]
CHOOSE = _grid(
    [("linear", 3), ("linear", 1), ("logistic", 3), ("Poisson", 2), ("ridge", 8)],
    [
        (200, 0.5, 1.0, 0.3),
        (200, 1.0, 1.0, 0.0),
        (300, 1.5, 1.0, 0.5),
        (1000, 1.5, 1.0, 0.5),
        (1000, 1.0, 1.0, 0.5),
        (400, 1.25, 0.8, 0.5),
        (1000, 2.0, 0.6, 0.3),
        (1500, 1.5, 1.0, 0.0),
        (100, 1.0, 1.0, 0.5),
        (200, 1.5, 1.0, 0.0),
        (100, 0.5, 1.0, 0.0),
        (500, 2.0, 1.0, 0.7),
        (2000, 1.5, 1.0, 1.0),
        (300, 1.0, 1.0, 1.0),
        (2000, 0.5, 1.0, 1.0),
        (3000, 1.0, 1.0, 1.0),
    ],
)
REPORT = _grid(
    [("linear", 2), ("linear", 6), ("logistic", 2), ("Poisson", 3), ("ridge", 5)],
    [
        (150, 0.75, 1.0, 0.4),
        (250, 1.25, 1.0, 0.6),
        (600, 1.75, 1.0, 0.4),
        (1200, 1.25, 1.0, 0.8),
        (800, 0.75, 1.0, 0.8),
        (500, 1.5, 0.7, 0.4),
        (2500, 1.75, 1.0, 0.0),
        (120, 1.0, 0.9, 0.0),
    ],
)
RUNS = {"check": (CHECK, 2000), "choose": (CHOOSE, 250), "report": (REPORT, 300)}


def summary(figures):
    """Shares of draws warned of, by how far off the criterion is."""
    off = np.abs([each["worst"] for each in figures])
    warned = np.array([each["warned"] for each in figures])
    parts = {"over 5 %": off > 0.05, "2 to 5 %": (off >= 0.02) & (off <= 0.05)}
    parts["below 2 %"] = off < 0.02
    return {
        name: {
            "problems": int(those.sum()),
            "mean_warned": float(warned[those].mean()) if those.any() else None,
            "least_warned": float(warned[those].min()) if those.any() else None,
            "warned_in_9_of_10": int((warned[those] >= 0.9).sum()),
        }
        for name, those in parts.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=RUNS)
    parser.add_argument("--draws", type=int)
    options = parser.parse_args()
    problems, draws = RUNS[options.part]
    warnings.simplefilter("ignore", ConvergenceWarning)
    figures = []
    for problem in problems:
        one = problem.figures(options.draws or draws)
        figures.append(one)
        terms = zip(one["bias"], one["standard_error"], one["penalty"], strict=True)
        print(
            f"{problem.model:12}{problem.columns:2} columns {problem.rows:5} rows, "
            f"shift {problem.shift:.2f} x {problem.spread:.1f}, bend {problem.bend:.1f}: bias",
            *(f"{a:+.2%} +- {b:.2%} (penalty {c:.2%})" for a, b, c in terms),
            f"warned {one['warned']:.1%}, failed {one['failed']}",
            flush=True,
        )
    within = all(
        abs(a) < 3 * b
        for one in figures
        for a, b in zip(one["bias"], one["standard_error"], strict=True)
    )
    print(summary(figures), f"all within 3 standard errors: {within}")
    record(f"information_{options.part}", {"problems": figures, "summary": summary(figures)})


if __name__ == "__main__":
    main()
