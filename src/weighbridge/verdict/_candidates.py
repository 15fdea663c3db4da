"""The weightings that a verdict compares, by the names they are shown as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import is_classifier

from weighbridge._importance_weighted import ImportanceWeighted
from weighbridge._importance_weighted_cv import ImportanceWeightedCV
from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.criteria._binned_objective import MANY_ROWS
from weighbridge.criteria._linear_design import has_closed_form

# shown as: literature name
LITERATURE = {
    "none": "ERM",
    "full": "IWERM",
    "power": "AIWERM",
    "relative": "RIWERM",
    "tuned": "IGIWERM",
    "given": "yours",
}
CHEAP = ("none", "full", "power", "relative", "tuned")
COSTLY = ("none", "full", "tuned")


def make_candidates(
    estimator: Any, names: tuple[str, ...], n_jobs: int | None, seed: int
) -> list[Any]:
    """Return the procedures behind the names.

    An estimator that weights its rows already is "tuned" as it is, and its inner one the base of
    the others.
    """
    weighted = isinstance(estimator, WeightedEstimator)
    base = estimator.estimator if weighted else estimator
    options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "verbose": 0}
    made: dict[str, Callable[[], Any]] = {
        "none": lambda: base,
        "full": lambda: ImportanceWeighted(base),
        "power": lambda: ImportanceWeightedCV(
            base, alpha_bounds=(1.0, 1.0), answer="argmin", **options
        ),
        "relative": lambda: ImportanceWeightedCV(
            base, alpha_bounds=(3.0, 3.0), answer="argmin", **options
        ),
        "tuned": lambda: estimator if weighted else ImportanceWeightedCV(base, **options),
        "given": lambda: estimator,
    }
    return [made[name]() for name in names]


def candidate_names(names: Any, estimator: Any, y: Any) -> tuple[str, ...]:
    """Check the names; by default all five where candidates are cheap, else three."""
    own = weighted_name(estimator)
    if names is None:
        base = estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator
        # many rows of a logistic model are searched fit by fit, those of a line in one pass
        cheap = has_closed_form(base, y) and (y.size < MANY_ROWS or not is_classifier(base))
        found = CHEAP if cheap else COSTLY
        return tuple(own if name == "tuned" else name for name in found)
    found = () if isinstance(names, str) else tuple(names)
    known = [*CHEAP[:-1], own]
    if not {"none", own} <= set(found) <= set(known):
        raise ValueError(
            f"Got candidates={names!r}, but expected a list of {', '.join(known)} with at least "
            f"none and {own} among them."
        )
    return tuple(name for name in known if name in found)


def weighted_name(estimator: Any) -> str:
    """Return what the weighted candidate is called: one whose weighting is fixed was not tuned."""
    if isinstance(estimator, ImportanceWeightedCV):
        (low, high), (low_alpha, high_alpha) = estimator.lam_bounds, estimator.alpha_bounds
        # no weights and the full ratio are the same for every alpha
        fixed = low == high and (low_alpha == high_alpha or low in (0, 1))
        return "given" if fixed else "tuned"
    return "given" if isinstance(estimator, WeightedEstimator) else "tuned"
