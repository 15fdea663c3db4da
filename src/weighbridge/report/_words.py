"""What each section says before it shows anything: one or two sentences, built from the numbers."""

from __future__ import annotations

from typing import Any

from weighbridge._findings import percent, signed
from weighbridge.report._facts import Facts, estimate

# Differences below this are of no concern, and the features that a sentence names.
BALANCED = 0.1
_NAMED = 3


def expect_words(facts: Facts) -> list[str]:
    """Return what error to expect, and what weighting changes."""
    if facts.is_withheld or facts.used is None or facts.used["error"] is None:
        return [_withheld(facts)]
    if facts.shift.get("word") == "none":
        return [
            "No shift was found, so the error in training is the best forecast: "
            f"{_training(facts)} with the unweighted model. Nothing needs to be weighted."
        ]
    words = [_expected(facts) + _changed(facts), *_roughly(facts), *_close(facts)]
    return [each for each in words if each]


def _withheld(facts: Facts) -> str:
    code = facts.expect.get("withheld") or "WB302"
    return (
        "No error is given for the deployment: too few training rows are like the deployment rows "
        f"for a figure to mean anything ({code}). In training the unweighted model has "
        f"{_training(facts)}; do not carry it over."
    )


def _training(facts: Facts) -> str:
    numbers = facts.numbers
    named = "an error of" if numbers.is_share else f"an error ({numbers.measure}) of"
    return f"{named} {numbers.value(facts.expect['training'])}"


def _expected(facts: Facts) -> str:
    used, numbers = facts.used, facts.numbers
    assert used is not None
    found = estimate(used["error"])
    return (
        f"{_with(used['name']).capitalize()} the {numbers.noun} in deployment is "
        f"{numbers.value(found.value)}; the {facts.confidence} interval runs from "
        f"{numbers.value(found.low)} to {numbers.value(found.high)}. "
    )


def _with(name: str) -> str:
    return "without weights" if name == "none" else f"with the {name} weighting"


def _changed(facts: Facts) -> str:
    none, numbers = facts.candidate("none"), facts.numbers
    weighted = facts.used if facts.use != "none" else facts.candidate("tuned")
    if weighted is None and len(facts.candidates) > 1:
        weighted = facts.candidates[-1]
    if weighted is None or weighted.get("change") is None or none is None:
        return ""
    if facts.use == "none" and facts.is_none(weighted["name"]):
        return "The search for a weighting chose no weights either."
    change = estimate(weighted["change"])
    size = f"{numbers.change(change.value)}{numbers.unit}"
    span = f"({numbers.change(change.low)} to {numbers.change(change.high)})"
    if facts.use == "none":
        return (
            f"The {weighted['name']} weighting would change it by {size} {span} on the same rows: "
            "no gain that these data can show."
        )
    words = (
        "" if change.high < 0 else "; the interval reaches zero, so the gain is likely, not sure"
    )
    return (
        f"Without weights it would be {numbers.value(none['error']['value'])}: a change of {size} "
        f"{span} on the same rows{words}."
    )


def _roughly(facts: Facts) -> list[str]:
    used = facts.used or {}
    if used.get("state") != "flagged":
        return []
    return ["Take these as rough figures: the overlap is thin, and intervals may be too short."]


def _close(facts: Facts) -> list[str]:
    finding = facts.finding("WB501")
    if finding is None:
        return []
    return [f"{finding['message'][:1].upper()}{finding['message'][1:]} {finding['help']}"]


def actual_words(facts: Facts) -> str:
    """Return whether the intervals held, where the deployment labels are known."""
    actual = facts.expect.get("actual")
    if not actual:
        return ""
    numbers = facts.numbers
    listed = ", ".join(f"{name} {numbers.value(value)}" for name, value in actual.items())
    inside = [is_inside(facts, name) for name in actual]
    known = [each for each in inside if each is not None]
    held = f"{sum(known)} of {len(known)} lie inside their intervals" if known else ""
    if known and all(known):
        held = "every one lies inside its interval"
    return (
        "The deployment labels are known here. weighbridge did not use them for fitting or "
        f"choosing. Actual error: {listed}" + (f"; {held}." if held else ".")
    )


def is_inside(facts: Facts, name: str) -> bool | None:
    """Whether an actual error lies in its interval; None where there is no interval."""
    candidate = facts.candidate(name) or {}
    error, actual = candidate.get("error"), (facts.expect.get("actual") or {}).get(name)
    if error is None or actual is None:
        return None
    return bool(error["low"] <= actual <= error["high"])


def shift_words(facts: Facts) -> list[str]:
    """Return the features that moved most, and what is left after weighting."""
    auc = facts.shift.get("auc")
    words = []
    if auc is not None:
        words.append(
            "A classifier tells training rows from deployment rows with an AUC of "
            f"{auc['value']:.2f} ({auc['low']:.2f} to {auc['high']:.2f}); 0.50 is chance, 1.00 is "
            "complete separation."
        )
    rows = balance_rows(facts)
    if rows:
        words.append(_moved(rows))
        words += _left(facts, rows)
    return words


def balance_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the differences of means, the largest first; those of the report where no pictures."""
    rows = facts.pictures.get("balance")
    if rows is None:
        plain = (facts.shift.get("balance") or {}).get("rows") or []
        used = facts.use if facts.use not in (None, "none") else "full"
        rows = [{**row, "after": {used: row.get("after")}} for row in plain]
        rows.sort(key=lambda row: -abs(row["before"] or 0.0))
    return rows


def _moved(rows: list[dict[str, Any]]) -> str:
    moved = [row for row in rows[:_NAMED] if abs(row["before"] or 0.0) >= BALANCED]
    if not moved:
        return "No feature differs by more than a tenth of its standard deviation."
    named = [f"{row['name']} ({signed(row['before'], 2)})" for row in moved]
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    return f"The largest differences of means, in standard deviations: {listed}."


def _left(facts: Facts, rows: list[dict[str, Any]]) -> list[str]:
    name = facts.shown
    if facts.overlap.get("word") == "broken":
        return [
            "Where the files hardly overlap, weights mean nothing: look at the differences before "
            "weighting only."
        ]
    if name is None or facts.shift.get("word") == "none":
        return []
    left = [
        (abs(row["after"][name]), row["name"]) for row in rows if row["after"].get(name) is not None
    ]
    if not left:
        return []
    largest, where = max(left)
    small = sum(size < BALANCED for size, _ in left)
    return [
        f"After the {name} weighting the largest difference left is {largest:.2f} ({where}); "
        f"{small:,} of {len(left):,} are below {BALANCED}."
    ]


def overlap_words(facts: Facts) -> list[str]:
    """Return what the training rows are worth, and how many deployment rows they miss."""
    overlap = facts.overlap
    if not overlap:
        return ["The overlap was not looked at."]
    full, n_rows = _rows(overlap, "worth_full"), f"{overlap['n_source']:,}"
    worth = f"Weighted by the full ratio, the {n_rows} training rows are worth {full}"
    if facts.use not in (None, "none"):
        worth += f"; by the {facts.use} weighting, {_rows(overlap, 'worth_used')}"
    words = [f"{worth}."]
    if overlap.get("reason"):
        words.append(f"The overlap is {overlap['word']}: {overlap['reason']}.")
    if overlap.get("largest_share") is not None:
        words.append(f"The heaviest row carries {percent(overlap['largest_share'])} of the weight.")
    if overlap.get("outside") is not None and "outside" not in (overlap.get("reason") or ""):
        words.append(
            f"{percent(overlap['outside'])} of the deployment rows lie outside the training data."
        )
    return [" ".join(words)]


def _rows(overlap: dict[str, Any], name: str) -> str:
    value = overlap.get(name)
    return "an unknown number" if value is None else f"{value:,.0f}"
