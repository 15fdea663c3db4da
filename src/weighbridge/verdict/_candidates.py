"""The weightings that a verdict compares, by the names they are shown as."""

from __future__ import annotations

from typing import Any

from weighbridge._estimators import (
    ImportanceWeighted,
    ImportanceWeightedCV,
    WeightedEstimator,
)
from weighbridge.model_selection import has_closed_form
from weighbridge.target_risk import base_of
from weighbridge.weighting import AIWERM, RIWERM, Geodesic

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
    """Return the procedures behind the names."""
    base = base_of(estimator)
    options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "verbose": 0}
    made = {
        "none": base,
        "full": ImportanceWeighted(base),
        "power": ImportanceWeighted(base, weighting=AIWERM(0.5)),
        "relative": ImportanceWeighted(base, weighting=RIWERM(0.5)),
        "tuned": ImportanceWeightedCV(base, **options) if base is estimator else estimator,
        "given": estimator,
    }
    return [made[name] for name in names]


def candidate_names(names: Any, estimator: Any, y: Any) -> tuple[str, ...]:
    """Check the names; by default all five where candidates are cheap, else three."""
    own = weighted_name(estimator)
    if names is None:
        found = CHEAP if has_closed_form(base_of(estimator), y) else COSTLY
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


def weighting_of(model: Any) -> Any:
    """Return the weighting of a fitted candidate."""
    if not isinstance(model, WeightedEstimator):
        return Geodesic(lam=0.0)
    return getattr(model, "best_weighting_", None) or model.weighting or Geodesic()
