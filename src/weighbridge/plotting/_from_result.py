"""Numbers of pictures out of a result, and back into the form that drawings are made from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from weighbridge.diagnostics._weights import WeightSummary
from weighbridge.plotting._feature_histogram import FeatureHistogram
from weighbridge.plotting._forest import Forest
from weighbridge.plotting._love import LovePlot
from weighbridge.plotting._overlap_histogram import OverlapHistogram
from weighbridge.plotting._plain import array, plain
from weighbridge.plotting._result import picture_of, result_dict
from weighbridge.plotting._weight_curves import LorenzCurve, WeightHistogram
from weighbridge.ratios._parameters import check_count

# What a weighting is called that has no name.
UNNAMED = "given weights"
_ENDS = ("value", "low", "high")


def forest_of(result: Any) -> Forest:
    """Return what a result expects each weighting to lose."""
    numbers = result_dict(result)
    expect = numbers.get("expect") or {}
    candidates = expect.get("candidates")
    if not candidates:
        raise ValueError(
            "Got a result without expected losses: it was made without a label; adapt with one."
        )
    names = tuple(each["name"] for each in candidates)
    losses = array([_ends(each["error"]) for each in candidates]).T
    changes = array([_ends(each["change"]) for each in candidates]).T
    return Forest(
        names=names,
        literature=tuple(each["literature"] for each in candidates),
        value=losses[0],
        low=losses[1],
        high=losses[2],
        change=changes[0],
        change_low=changes[1],
        change_high=changes[2],
        rough=np.array([each["state"] == "flagged" for each in candidates]),
        use=names.index(numbers["verdict"]["use"]),
        measure=expect["measure"],
        confidence=expect["confidence"],
    )


def expect_dict(forest: Forest) -> dict[str, Any]:
    """Return a forest as the part ``expect`` of a result."""
    candidates = [
        {
            "name": name,
            "literature": forest.literature[place],
            "error": _estimate(forest.value, forest.low, forest.high, place),
            "change": _estimate(forest.change, forest.change_low, forest.change_high, place),
            "state": _state(forest, place),
        }
        for place, name in enumerate(forest.names)
    ]
    return {
        "measure": forest.measure,
        "confidence": forest.confidence,
        "candidates": candidates,
        "actual": None,
        "withheld": None,
    }


def _ends(estimate: Mapping[str, Any] | None) -> list[float | None]:
    return [None if estimate is None else estimate[end] for end in _ENDS]


def _estimate(*columns: Any) -> dict[str, float] | None:
    *ends, place = columns
    found = {name: float(end[place]) for name, end in zip(_ENDS, ends, strict=True)}
    return None if math.isnan(found["value"]) else found


def _state(forest: Forest, place: int) -> str:
    if np.isnan(forest.value[place]):
        return "withheld"
    return "flagged" if forest.rough[place] else "good"


def love_of(result: Any, weighting: str | None, max_rows: int) -> tuple[LovePlot, str | None]:
    """Return the differences of a result after one weighting, and its name."""
    check_count("max_rows", max_rows, 1)
    rows = picture_of(result, "balance")
    name = _weighting(result, weighting, rows[0]["after"])
    kept = rows[:max_rows]
    before = np.array([_size(row, row["before"]) for row in kept])
    after = None
    if name is not None:
        after = np.array([_size(row, row["after"][name]) for row in kept])
    names = tuple(row["name"] for row in kept)
    return LovePlot(names, before, after, len(rows) - len(kept)), name


def love_rows(love: LovePlot, weighting: str) -> list[dict[str, Any]]:
    """Return a love plot as the part ``balance`` of the pictures of a result."""
    rows = []
    for place, name in enumerate(love.names):
        # a difference of None between known means is infinite, between unknown ones unknown
        mean = None if np.isnan(love.before[place]) else 0.0
        row: dict[str, Any] = {"name": name, "mean_source": mean, "mean_target": mean}
        row |= {"before": plain(love.before[place]), "after": {}}
        if love.after is not None:
            row["after"] = {weighting: plain(love.after[place])}
        rows.append(row)
    return rows


def _size(row: Mapping[str, Any], difference: float | None) -> float:
    if difference is not None:
        return abs(difference)
    return math.nan if None in (row["mean_source"], row["mean_target"]) else math.inf


def histograms_of(result: Any, weighting: str | None) -> tuple[list[FeatureHistogram], str | None]:
    """Return the features that a result keeps after one weighting, and its name."""
    features = picture_of(result, "features")
    name = _weighting(result, weighting, features[0]["weighted"])
    found = []
    for each in features:
        missing = {side: each["missing"][side] for side in ("training", "deployment")}
        if name is not None:
            missing["weighted"] = each["missing"]["weighted"][name]
        values = each["values"]
        is_text = values is not None and any(isinstance(value, str) for value in values)
        found.append(
            FeatureHistogram(
                each["name"],
                None if values is None else np.array(values, dtype=object if is_text else float),
                None if each["edges"] is None else array(each["edges"]),
                array(each["training"]),
                array(each["deployment"]),
                None if name is None else array(each["weighted"][name]),
                missing,
            )
        )
    return found, name


def feature_dict(histogram: FeatureHistogram, weighting: str) -> dict[str, Any]:
    """Return a feature as one of the part ``features`` of the pictures of a result."""
    numbers: dict[str, Any] = plain(histogram)
    for part in (numbers, numbers["missing"]):
        weighted = part.get("weighted")
        part["weighted"] = {} if weighted is None else {weighting: weighted}
    return numbers


def overlap_of(result: Any) -> OverlapHistogram:
    """Return the log ratio in both samples, as a result keeps it."""
    numbers = picture_of(result, "overlap")
    return OverlapHistogram(
        edges=array(numbers["edges"]),
        training=array(numbers["training"]),
        deployment=array(numbers["deployment"]),
        limit=numbers["limit"],
        beyond=numbers["beyond"],
        n_beyond=numbers["n_beyond"],
    )


def weights_of(
    result: Any, weighting: str | None
) -> tuple[WeightHistogram, LorenzCurve, WeightSummary, float | None]:
    """Return the weights of a result: histogram, curve, what is known of their summary, cap."""
    every = picture_of(result, "weights")
    numbers = every[_weighting(result, weighting, every)]
    counts = np.array(numbers["counts"], dtype=int)
    rows, weight = array(numbers["rows"]), array(numbers["weight"])
    n = int(counts.sum())
    ninety = float(np.interp(0.9, weight, rows))
    summary = WeightSummary(
        n_rows=n,
        ess=numbers["worth"],
        design_effect=n / numbers["worth"],
        perplexity=math.nan,
        largest_share=numbers["largest"] / n,
        rows_for_half=round(numbers["half"] * n),
        rows_for_ninety=math.ceil(ninety * n),
        pareto_k=math.nan,
        pareto_limit=math.nan,
        lam_cap=math.nan,
    )
    histogram = WeightHistogram(array(numbers["edges"]), counts, numbers["n_below"])
    return histogram, LorenzCurve(rows, weight, numbers["half"]), summary, numbers["bound"]


def weights_dict(
    histogram: WeightHistogram, lorenz: LorenzCurve, summary: WeightSummary, cap: float | None
) -> dict[str, Any]:
    """Return weights as one of the part ``weights`` of the pictures of a result."""
    return {
        **plain(histogram),
        **plain(lorenz),
        "largest": summary.largest_share * summary.n_rows,
        "bound": cap,
        "worth": summary.ess,
    }


def _weighting(result: Any, name: str | None, known: Mapping[str, Any]) -> str | None:
    """Return the weighting that is asked for, or the one to use, among those a result keeps."""
    if name is None:
        use = result_dict(result)["verdict"].get("use")
        order = [each for each in (use, "tuned", *known) if each in known]
        return order[0] if order else None
    if name not in known:
        names = ", ".join(map(repr, known)) or "none"
        raise ValueError(f"Got weighting={name!r}, but the result has {names}; choose one of them.")
    return name
