"""What the template of the page fills in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weighbridge._svg import feature_key
from weighbridge.report import _tables as tables
from weighbridge.report._code import snippets
from weighbridge.report._figures import (
    Figure,
    choice_figures,
    detail_figures,
    expect_figures,
    overlap_figures,
    shift_figures,
    trust_figures,
)
from weighbridge.report._read import Facts
from weighbridge.verdict import (
    actual_words,
    cards,
    choice_words,
    expect_words,
    overlap_words,
    shift_words,
)

# Columns left out that are named at the top; the rest are counted, and listed in the details.
_NAMED = 6
_LEVELS = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Section:
    """One question of the page: what it is called, what it says first, what it shows."""

    id: str
    label: str
    title: str
    words: list[str]
    advice: list[str]
    figures: list[Figure]

    @property
    def columns(self) -> list[list[Figure]]:
        """The pictures in two columns: tall and short ones side by side."""
        places = list(enumerate(self.figures))
        return [[each for k, each in places if k % 4 in (side, 3 - side)] for side in (0, 1)]


def page_content(facts: Facts) -> dict[str, Any]:
    """Return everything the template needs."""
    return {
        **_top(facts),
        "sections": {each.id: each for each in _sections(facts)},
        "n_findings": len(facts.findings),
        "findings": _findings(facts),
        **_expect_parts(facts),
        "weightings": _weightings(facts),
        "keys": [feature_key(name, id=f"key-{k}") for k, name in enumerate(facts.drawn)],
        "feature_tables": [tables.feature_table(each) for each in facts.pictures.features],
        "use": _use(facts),
        "snippets": snippets(facts),
        **_details(facts),
    }


def _top(facts: Facts) -> dict[str, Any]:
    dropped = facts.inputs.get("dropped") or []
    return {
        "sentence": facts.verdict["sentence"],
        "version": facts.result.get("version", ""),
        "date": (facts.result.get("date") or "")[:10],
        "head": _head(facts),
        "cards": cards(facts),
        "dropped": _dropped(facts),
        "n_more_dropped": max(0, len(dropped) - _NAMED),
        "has_label": bool(facts.expect),
        "knows_labels": bool(facts.expect.get("actual")),
    }


def _expect_parts(facts: Facts) -> dict[str, Any]:
    if not facts.expect:
        return {"actual": "", "candidates": None, "models": None}
    return {
        "actual": actual_words(facts),
        "candidates": tables.candidate_table(facts),
        "models": tables.model_table(facts),
    }


def _details(facts: Facts) -> dict[str, Any]:
    found = (
        tables.attribution_table(facts),
        tables.feature_test_table(facts),
        tables.column_table(facts),
    )
    return {
        "rectangle": detail_figures(facts),
        "settings": tables.settings_tables(facts),
        "detail_tables": [each for each in found if each is not None],
    }


def _sections(facts: Facts) -> list[Section]:
    def advice(*questions: str) -> list[str]:
        answers = [facts.answers[each]["advice"] for each in questions if each in facts.answers]
        return [each for each in answers if each]

    found = [
        Section(
            "shift",
            "Shift",
            "Where do the files differ, and does weighting remove it?",
            shift_words(facts, facts.balance, facts.shown),
            advice("shift"),
            shift_figures(facts),
        ),
        Section(
            "overlap",
            "Overlap",
            "Do a few rows carry everything?",
            overlap_words(facts),
            advice("overlap"),
            overlap_figures(facts),
        ),
        Section("trust", "Trust", "Can I trust this?", _trust(facts), [], trust_figures(facts)),
    ]
    if facts.expect:  # the two sections that need labels
        found.insert(0, _expect_section(facts, advice("matters", "weighting", "expect")))
        found.insert(3, _choice_section(facts))
    return found


def _expect_section(facts: Facts, advice: list[str]) -> Section:
    return Section(
        "expect",
        "Expected error",
        "What error should I expect in deployment?",
        expect_words(facts),
        advice,
        expect_figures(facts),
    )


def _choice_section(facts: Facts) -> Section:
    drawn = choice_figures(facts)
    return Section(
        "choice",
        "Choice",
        "Why this weighting?",
        choice_words(facts, facts.pictures.bridge),
        [],
        drawn,
    )


def _head(facts: Facts) -> dict[str, Any]:
    def side(name: str) -> dict[str, str]:
        found = facts.inputs.get(name) or {}
        rows, used = found.get("rows"), found.get("sampled")
        counted = "" if rows is None else f"{rows:,}"
        if used is not None and used != rows:
            counted = f"{used:,} of {rows:,}"
        return {"file": str(found.get("file") or name), "rows": counted}

    return {"train": side("train"), "deploy": side("deploy"), "label": facts.inputs.get("label")}


def _dropped(facts: Facts) -> list[dict[str, Any]]:
    """Return the columns left out that are named, by the finding that says why."""
    by_code: dict[str, list[str]] = {}
    for each in (facts.inputs.get("dropped") or [])[:_NAMED]:
        by_code.setdefault(each["code"], []).append(each["name"])
    return [
        {"code": code, "names": names, "is_explained": facts.finding(code) is not None}
        for code, names in by_code.items()
    ]


def _weightings(facts: Facts) -> list[tuple[str, bool]]:
    """Return the weightings a reader can pick, and which one is picked at first."""
    names = facts.drawn
    return [(name, name == facts.shown) for name in names] if len(names) > 1 else []


def _findings(facts: Facts) -> list[dict[str, Any]]:
    """Return the findings, the gravest first, each with an id of its own."""
    seen: dict[str, int] = {}
    found = []
    for each in sorted(facts.findings, key=lambda finding: _LEVELS.get(finding["level"], 3)):
        code = each["code"]
        seen[code] = seen.get(code, 0) + 1
        found.append({**each, "id": code if seen[code] == 1 else f"{code}-{seen[code]}"})
    return found


def _trust(facts: Facts) -> list[str]:
    if not facts.findings:
        return ["Nothing was found that speaks against these answers."]
    grave = sum(each["level"] != "note" for each in facts.findings)
    notes = len(facts.findings) - grave
    counted = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((grave, "warning"), (notes, "note"))
        if count
    ]
    each = "" if len(facts.findings) == 1 else "each "
    return [f"{' and '.join(counted)}, {each}with what to do about it."]


def _use(facts: Facts) -> str:
    """Say what was kept, and where it is."""
    files = facts.result.get("files") or {}
    if not facts.expect:
        return "No model was fitted. With a label, weighbridge adapt fits one and writes it."
    kept = (
        "the unweighted model"
        if facts.use == "none"
        else f"the model with the {facts.use} weighting"
    )
    if files.get("model") is None:
        return f"In Python, result.model is {kept}; result.save(folder) writes it to a file."
    # an average of models has no weights of its own
    whose = " in its largest part" if facts.use == "tuned" and len(facts.mixture) > 1 else ""
    weights = (
        f" The weight of every training row{whose} is in {files['weights']}."
        if files.get("weights")
        else ""
    )
    return f"{files['model']} holds {kept}, fitted to all training rows.{weights}"
