"""The numbers behind the pictures of a report: aggregates only, as many for any number of rows."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from weighbridge._importance_weighted_cv import ImportanceWeightedCV
from weighbridge.criteria._row_loss import default_scoring
from weighbridge.diagnostics._balance import balance_table
from weighbridge.diagnostics._diagnosis import Diagnosis
from weighbridge.diagnostics._features import read_features
from weighbridge.plotting import (
    compute_lorenz,
    compute_overlap,
    compute_reliability,
    compute_surface,
    compute_weight_histogram,
)
from weighbridge.plotting._feature_histogram import histogram_of
from weighbridge.plotting._surface import surface_dict
from weighbridge.target_risk._measure import NAMES
from weighbridge.verdict import Candidate, Verdict
from weighbridge.weighting import Geodesic

# Features that are drawn, rows of the balance that are kept, and points of a Lorenz curve.
_DRAWN = 6
_MOST_ROWS = 400
_LORENZ_POINTS = 40
# Digits that a picture can show.
_DIGITS = 5


def pictures(verdict: Verdict, diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what the report draws, ready for JSON.

    Parameters
    ----------
    verdict : Verdict
        The verdict, with fitted candidates.
    diagnosis : Diagnosis
        What it rests on.

    Returns
    -------
    dict
        ``balance``, ``features``, ``overlap``, ``weights``, ``bridge``, ``reliability``.
    """
    weightings = {each.name: _weighting(each) for each in verdict.candidates if each.name != "none"}
    if not weightings:  # nothing was tuned, and yet the full ratio can be looked at
        weightings = {"full": Geodesic()}
    found = shift_pictures(diagnosis, weightings)
    return {**found, "bridge": _bridge(verdict)}


def shift_pictures(diagnosis: Diagnosis, weightings: dict[str, Geodesic]) -> dict[str, Any]:
    """Return the pictures that need no labels, for weightings by name."""
    alone = {name: diagnosis.alone(each) for name, each in weightings.items()}
    fitted = {name: diagnosis.weights_of(each) for name, each in weightings.items()}
    return rounded(
        {
            "balance": _balance(diagnosis, alone),
            "features": _features(diagnosis, alone),
            "overlap": _overlap(diagnosis),
            "weights": {
                name: _weights(weights, weightings[name], diagnosis)
                for name, weights in fitted.items()
            },
            "bridge": None,
            "reliability": _reliability(diagnosis),
        }
    )


def rounded(content: Any) -> Any:
    """Return plain lists of numbers with the digits that a picture can show; None is no number."""
    if isinstance(content, dict):
        return {name: rounded(each) for name, each in content.items()}
    if isinstance(content, np.ndarray):
        return rounded(content.tolist())
    if isinstance(content, list | tuple):
        return [rounded(each) for each in content]
    if isinstance(content, np.generic):
        return rounded(content.item())
    if isinstance(content, float):
        return float(f"{content:.{_DIGITS}g}") if math.isfinite(content) else None
    return content


def _weighting(candidate: Candidate) -> Geodesic:
    assert candidate.lam is not None  # models that bring a weighting of their own are refused
    return Geodesic(candidate.lam, 1.0 if candidate.alpha is None else candidate.alpha)


def _balance(diagnosis: Diagnosis, weights: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    tables = {
        name: balance_table(diagnosis.X, diagnosis.X_target, each) for name, each in weights.items()
    }
    first = next(iter(tables.values()))
    after = {name: {row.name: row.after for row in table.rows} for name, table in tables.items()}
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "mean_source": row.mean_source,
            "mean_target": row.mean_target,
            "before": row.before,
            "after": {name: found[row.name] for name, found in after.items()},
        }
        for row in first.largest(_MOST_ROWS)
    ]


def _features(diagnosis: Diagnosis, weights: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return histograms of the features that moved most, each weighting on the same bins."""
    telling = sorted(diagnosis.attribution, key=lambda each: -each.alone)
    wanted = [each.name for each in telling[:_DRAWN]]
    by_name = {each.name: each for each in read_features(diagnosis.X, diagnosis.X_target)}
    found = []
    for name in wanted:
        histograms = {key: histogram_of(by_name[name], each) for key, each in weights.items()}
        plain = asdict(next(iter(histograms.values())))
        plain["weighted"] = {key: each.weighted for key, each in histograms.items()}
        plain["missing"]["weighted"] = {
            key: each.missing["weighted"] for key, each in histograms.items()
        }
        found.append(plain)
    return found


def _overlap(diagnosis: Diagnosis) -> dict[str, Any] | None:
    source = diagnosis.log_ratio[~np.isnan(diagnosis.log_ratio)]
    if not np.isfinite(source.max()) or np.isnan(diagnosis.log_ratio_target).any():
        return None
    return asdict(compute_overlap(source, diagnosis.log_ratio_target))


def _weights(weights: np.ndarray, weighting: Geodesic, diagnosis: Diagnosis) -> dict[str, Any]:
    histogram, lorenz = (
        compute_weight_histogram(weights),
        compute_lorenz(weights, n_points=_LORENZ_POINTS),
    )
    mean_one = weights / weights.mean()
    return {
        **asdict(histogram),
        **asdict(lorenz),
        "largest": float(mean_one.max()),
        "bound": _bound(weighting, diagnosis),
        "worth": float(mean_one.sum() ** 2 / (mean_one @ mean_one)),
    }


def _bound(weighting: Geodesic, diagnosis: Diagnosis) -> float | None:
    """Return what no weight exceeds, whatever the ratio, on the scale of mean 1."""
    if not weighting.alpha > 1 or weighting.lam in (0, 1) or diagnosis.sample_weight is not None:
        return None
    bound = (1 - weighting.lam) ** (-2 / (weighting.alpha - 1))
    log_weight = weighting(diagnosis.log_ratio)
    return float(bound / np.exp(log_weight).mean())


def _bridge(verdict: Verdict) -> dict[str, Any] | None:
    """Return the map of what the tuned candidate chose from; None where nothing was searched."""
    tuned = next((each for each in verdict.candidates if each.name == "tuned"), None)
    model = None if tuned is None else tuned.model
    if not isinstance(model, ImportanceWeightedCV) or len(model.search_result_.evaluations) < 3:
        return None
    log_ratio = model.log_ratio_[~np.isnan(model.log_ratio_)]
    chosen = model.best_weighting_
    surface = compute_surface(
        model.search_result_,
        log_ratio,
        (chosen.lam, chosen.alpha),
        loss_name=NAMES[default_scoring(model.estimator)],
    )
    return rounded(surface_dict(surface))


def _reliability(diagnosis: Diagnosis) -> dict[str, Any]:
    return asdict(compute_reliability(diagnosis.domain))
