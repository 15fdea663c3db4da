"""Why this weighting, or why there is nothing to choose from."""

from __future__ import annotations

from typing import Any

from weighbridge._findings import percent
from weighbridge.report._facts import Facts


def choice_words(facts: Facts) -> list[str]:
    """Return the chosen weighting, how flat the choice is, or why nothing was chosen."""
    bridge = facts.pictures.get("bridge")
    if bridge is None:
        return [_nothing_drawn(facts)]
    return [_chosen(facts, bridge) + _flat(bridge), *_not_used(facts)]


def _nothing_drawn(facts: Facts) -> str:
    if facts.shift.get("word") == "none":
        return "No shift was found, so no weighting was searched for; the unweighted model is kept."
    if facts.is_withheld:
        return (
            "Where the files hardly overlap no weighting can be judged, so none was chosen; the "
            "unweighted model is kept."
        )
    if not facts.pictures:
        return "This result was stored without the numbers of its pictures, so no map is drawn."
    return "The weighting was given and not searched for, so there is no map of other choices."


def _chosen(facts: Facts, bridge: dict[str, Any]) -> str:
    how = "tried one after another" if bridge.get("searched") else "tried"
    tried = f"Of {len(bridge['lam']):,} weightings {how}, "
    left_out = "on rows left out of the fit"
    mixture = facts.mixture
    if len(mixture) < 2:
        chosen, loss = _point(bridge["chosen"]), bridge["loss_name"]
        return f"{tried}{chosen} was chosen by its {loss} {left_out}. "
    return (
        f"{tried}no single one was chosen: an average of {len(mixture)} models, each with its own "
        f"weighting, has the best {bridge['loss_name']} {left_out}. The largest share, "
        f"{percent(max(part[2] for part in mixture))}, has {_point(bridge['chosen'])}, the star on "
        "the map. "
    )


def _point(chosen: dict[str, Any]) -> str:
    if chosen["lam"] == 0:
        return "no weighting (lam 0)"
    if chosen["lam"] == 1:
        return "the full ratio (lam 1)"
    return f"lam {chosen['lam']:.2f} with alpha {chosen['alpha']:.2f}"


def _flat(bridge: dict[str, Any]) -> str:
    """Say how many weightings do as well as the best one, within its standard error."""
    known = [
        (loss, error)
        for loss, error in zip(bridge["loss"], bridge["standard_error"], strict=True)
        if loss is not None and error is not None
    ]
    if len(known) < 2:
        return ""
    best, error = min(known)
    level = sum(loss <= best + error for loss, _ in known)
    if level == 1:
        return "No other one comes within one standard error of it."
    return (
        f"{level:,} of them ({percent(level / len(known))}) are within one standard error of the "
        "best: " + ("the choice hardly matters." if level > len(known) / 3 else "they do as well.")
    )


def _not_used(facts: Facts) -> list[str]:
    if facts.use != "none" or (facts.pictures["bridge"]["chosen"]["lam"] == 0):
        return []
    return ["It is not used: the unweighted model is expected to do as well in deployment."]
