"""What choosing (lam, alpha) costs, in single weighted fits of the same estimator.

    python -m benchmarks.selection_cost

One run, one thread: the fit and the search are timed in turn, and the smallest time of each counts.
The paper reports 8.75 fits for 25 and more evaluations of its search.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC

from benchmarks._record import best_of, record
from weighbridge.model_selection import CrossValidation, GridSearch, HoldOut, LeaveOneOut


def rows(n, n_columns, classes, seed=0):
    """Rows with a curved truth, and the log ratio of a mean shift along the first column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_columns))
    signal = X[:, 0] ** 2 + X[:, -1] + rng.standard_normal(n)
    return X, (signal > 1).astype(int) if classes else signal, X[:, 0] - 0.5


# with the named points 25 candidates
FEW = GridSearch([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.9], 3)
# name: estimator, rows, columns, classes, criterion, grid, folds that the cost is divided by, bar
CASES = {
    "linear, 21 x 21, leave-one-out": (
        LinearRegression(), 1_000, 1, False, LeaveOneOut(), GridSearch(21, 21), 1, 15,
    ),
    "ridge, 25 x 21, 5 folds": (
        Ridge(), 200_000, 20, False, CrossValidation(random_state=0), GridSearch(25, 21), 1, 5,
    ),
    "logistic, 11 x 11, leave-one-out": (
        LogisticRegression(), 1_000, 10, True, LeaveOneOut(), GridSearch(11, 11), 1, 30,
    ),
    "SVC, 25 candidates, per fold": (
        SVC(), 700, 10, True, CrossValidation(random_state=0), FEW, 5, 12,
    ),
    "histogram boosting, 25 candidates, per fold": (
        HistGradientBoostingClassifier(early_stopping=False, random_state=0), 100_000, 20, True,
        HoldOut(random_state=0), FEW, 1, 5,
    ),
}  # fmt: skip


def measure(estimator, n, n_columns, classes, criterion, search, folds, bar, repeats):
    """Time a weighted fit and a whole search; candidates counted as evaluated."""
    X, y, log_ratio = rows(n, n_columns, classes)
    weights = np.exp(log_ratio)
    weights /= weights.mean()
    result = None

    def tune():
        nonlocal result
        result = search(criterion.objective(estimator, X, y, log_ratio))
        return result.best

    fit = best_of(lambda: clone(estimator).fit(X, y, sample_weight=weights), repeats)
    tuned = best_of(tune, repeats)
    fit = min(fit, best_of(lambda: clone(estimator).fit(X, y, sample_weight=weights), repeats))
    return {
        "candidates": len(result.evaluations),
        "fit_s": fit,
        "search_s": tuned,
        "fits": tuned / fit / folds,
        "bar": bar,
    }


def main():
    """Measure every case and write the figures."""
    figures = {}
    for name, case in CASES.items():
        slow = case[1] * case[2] > 1_000_000 and classes_of(case)
        figures[name] = measure(*case, repeats=1 if slow else 7)
        one = figures[name]
        print(
            f"{name:45} {one['candidates']:4d} candidates: {one['fits']:6.2f} fits "
            f"(bar {one['bar']}); one fit {one['fit_s'] * 1e3:.2f} ms"
        )
    record("selection_cost", figures)


def classes_of(case):
    """True where the labels are classes."""
    return case[3]


if __name__ == "__main__":
    main()
