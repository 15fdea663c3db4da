"""Metrics and ratios by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weighbridge._problem import Option, Problem, nearest, shown
from weighbridge.adaptation._models import CLASSIFICATION
from weighbridge.exceptions import InputError
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    GaussianRatio,
    KnownRatio,
    NearestNeighbourRatio,
)

# name: scorer of scikit-learn
METRICS = {
    CLASSIFICATION: {
        "error": "accuracy",
        "log_loss": "neg_log_loss",
        "brier": "neg_brier_score",
    },
    "regression": {
        "rmse": "neg_root_mean_squared_error",
        "mse": "neg_mean_squared_error",
        "mae": "neg_mean_absolute_error",
    },
}
RATIOS: dict[str, Callable[[], Any]] = {
    "auto": AutoRatio,
    "classifier": ClassifierRatio,
    "gaussian": GaussianRatio,
    "ulsif": ULSIF,
    "rulsif": lambda: ULSIF(relative=0.1),
    "kliep": KLIEP,
    "kmm": KMM,
    "nearest": NearestNeighbourRatio,
}


def find_metric(metric: str | None, task: str, option: Option) -> tuple[str, str]:
    """Return the name of a metric and its scorer; by default errors, or the root mean square."""
    known = METRICS[task]
    if metric is None:
        metric = next(iter(known))
    if metric in known:
        return metric, known[metric]
    other = METRICS["regression" if task == CLASSIFICATION else CLASSIFICATION]
    why = (
        f"{shown(metric)} is not a metric of {task}."
        if metric in other
        else (f"there is no metric {shown(metric)} that is a mean over rows.")
    )
    near = nearest(str(metric), known)
    raise InputError(
        [
            Problem(
                "WB703",
                why,
                (f"metrics: {', '.join(known)}",),
                option("metric", near[0] if near else next(iter(known))),
                "usage",
            )
        ]
    )


def find_ratio(ratio: Any, X: Any, X_target: Any, option: Option) -> tuple[str, Any, Any, Any]:
    """Return the name of a ratio, the ratio, and both tables without the column that holds it.

    Parameters
    ----------
    ratio : str or density ratio
        A name of `RATIOS`, a column of both tables, or a ratio of your own.
    X, X_target : pandas data frames
        Training and deployment rows, whose index counts all of them.
    option : function
        How a remedy is written.
    """
    if not isinstance(ratio, str):
        return type(ratio).__name__, ratio, X, X_target
    if ratio in RATIOS:
        return ratio, RATIOS[ratio](), X, X_target
    if ratio not in X.columns:
        near = nearest(ratio, [*RATIOS, *X.columns])
        raise _no_ratio(
            f"{shown(ratio)} is neither a ratio nor a column of both files.",
            f"ratios: {', '.join(RATIOS)}",
            option("ratio", near[0] if near else "auto"),
        )
    values = np.concatenate([X[ratio].to_numpy(), X_target[ratio].to_numpy()])
    numbers = values.dtype.kind == "f"
    if not numbers or not (np.isfinite(values) & (values >= 0)).all():
        raise _no_ratio(
            f"{shown(ratio)} is no density ratio: it must be 0 or a positive number in every row.",
            "a ratio is how much likelier a row is in deployment than in training",
            f"correct the column, or estimate the ratio: {option('ratio', 'auto')}",
        )
    with np.errstate(divide="ignore"):
        known = KnownRatio(RatioOfRows(np.log(values)))
    return ratio, known, X.drop(columns=ratio), X_target.drop(columns=ratio)


class RatioOfRows:
    """Log ratios that are known for each row; a row is known by its number in the index."""

    def __init__(self, log_ratio: np.ndarray) -> None:
        self.log_ratio = log_ratio

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratios of these rows."""
        return np.asarray(self.log_ratio[X.index.to_numpy()])


def _no_ratio(message: str, evidence: str, help: str) -> InputError:
    return InputError([Problem("WB704", message, (evidence,), help, "usage")])
