"""The sections of the page: sentences, and pictures with captions that say how to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from weighbridge._findings import number, percent, signed
from weighbridge._svg import (
    Chart,
    bridge,
    concentration,
    effective_rows,
    expected_error,
    feature,
    feature_key,
    love,
    overlap,
    paired_change,
    reliability,
    weights,
)
from weighbridge.pictures import WeightCurves
from weighbridge.report._details import DataTable, table
from weighbridge.report._read import Facts
from weighbridge.verdict import page_words


@dataclass(frozen=True)
class Figure:
    """One picture, or the same one for several weightings of which the reader picks one."""

    id: str
    title: str
    caption: str
    charts: dict[str, Chart] = field(default_factory=dict)
    table: DataTable | None = None
    small: bool = False


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


def page_figures(facts: Facts) -> dict[str, Any]:
    """Return everything that is drawn on the page, by the name its template knows it by."""
    names = facts.drawn
    return {
        "sections": {each.id: each for each in _sections(facts)},
        # those a reader can pick, and which one is picked at first
        "weightings": [(name, name == facts.shown) for name in names] if len(names) > 1 else [],
        "keys": [feature_key(name, id=f"key-{k}") for k, name in enumerate(names)],
    }


# Label and title of each section in their order, and the questions whose advice it repeats.
_SECTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "expect": (
        "Expected error",
        "What error should I expect in deployment?",
        ("matters", "weighting", "expect"),
    ),
    "shift": ("Shift", "Where do the files differ, and does weighting remove it?", ("shift",)),
    "overlap": ("Overlap", "Do a few rows carry everything?", ("overlap",)),
    "choice": ("Choice", "Why this weighting?", ()),
    "trust": ("Trust", "Can I trust this?", ()),
}


def _sections(facts: Facts) -> Iterator[Section]:
    """Yield the questions of the page that have something to say; two of them need labels."""
    words = page_words(facts, facts.balance, facts.shown, facts.pictures.bridge)
    words["trust"] = _trust(facts)
    figures = {
        "expect": expect_figures,
        "shift": _shift_figures,
        "overlap": _overlap_figures,
        "choice": _choice_figures,
        "trust": _trust_figures,
    }
    for name, (label, title, questions) in _SECTIONS.items():
        if name in words:
            answers = [facts.answers[each]["advice"] for each in questions if each in facts.answers]
            advice = list(filter(None, answers))
            yield Section(name, label, title, words[name], advice, figures[name](facts))


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


def expect_figures(facts: Facts, *, start: str = "") -> list[Figure]:
    """Return the expected errors and the paired changes; `start` is put before their ids."""
    if not any(each["error"] is not None for each in facts.candidates):
        return []
    actual = {name: each.value for name, each in facts.actual.items()}
    error = expected_error(facts.forest, actual=actual, id=f"{start}expected-error")
    found = [
        _figure(
            "fig-expected-error",
            error,
            f"A dot is the expected error in deployment, a bar its {facts.confidence} interval. "
            "The square marks the weighting that is used. Every error comes from rows that neither "
            "the fit nor the choice of the weighting had seen.",
        )
    ]
    if any(each["change"] is not None for each in facts.candidates):
        change = paired_change(facts.forest, id=f"{start}paired-change")
        found.append(
            _figure(
                "fig-paired-change",
                change,
                "Left of the dashed line is better than no weights. Compare weightings "
                "here, not by their intervals: changes are measured on the same rows.",
            )
        )
    return found


def _shift_figures(facts: Facts) -> list[Figure]:
    """Return the love plot and the features that moved most, once for every weighting."""
    pictures, names = facts.pictures, facts.drawn
    if not pictures.balance or not names:
        return []
    n_rows = len(pictures.balance)
    drawn = {
        name: love(pictures.love(name, max_rows=n_rows), name, id=f"love-{k}")
        for k, name in enumerate(names)
    }
    found = [
        Figure(
            "fig-balance",
            "Differences before and after weighting",
            "A circle is the difference of means between training and deployment, in standard "
            "deviations; the square is what the weighting leaves. In the band below 0.1 a "
            "difference is of no concern.",
            drawn,
            _balance_table(facts),
        )
    ]
    for j, each in enumerate(pictures.features):
        charts = {
            name: feature(each.after(name), name, id=f"feature-{j}-{k}")
            for k, name in enumerate(names)
        }
        found.append(Figure(f"fig-feature-{j}", each.name, "", charts, small=True))
    return found


def _overlap_figures(facts: Facts) -> list[Figure]:
    """Return how the samples overlap, and how the weight is spread over the rows."""
    found, pictures = [], facts.pictures
    if pictures.overlap is not None:
        found.append(
            _figure(
                "fig-overlap",
                overlap(pictures.overlap, id="overlap-chart"),
                "Rows by the log of their ratio: how much more often such a row comes up in "
                "deployment. Training is drawn upwards, deployment downwards; where deployment "
                "rows have no training rows above them, no weighting can represent them.",
            )
        )
    if facts.overlap.get("worth_full") is not None:
        found.append(_effective_rows_figure(facts))
    if facts.shown is not None:
        found += _weight_figures(facts.shown, pictures.weights[facts.shown])
    return found


def _effective_rows_figure(facts: Facts) -> Figure:
    full, n_rows = facts.overlap["worth_full"], facts.overlap["n_source"]
    caption = (
        "Effective rows (Kish's effective sample size): how many equally weighted rows would give "
        "as precise a mean."
    )
    if facts.use is None:
        return _figure("fig-worth", effective_rows(full, None, n_rows, id="worth"), caption)
    used = n_rows if facts.use == "none" else facts.overlap["worth_used"]
    return _figure("fig-worth", effective_rows(used, full, n_rows, id="worth"), caption)


def _weight_figures(name: str, curves: WeightCurves) -> list[Figure]:
    return [
        _figure(
            "fig-concentration",
            concentration(curves, id="concentration"),
            f"The share of the weight ({name}) on the heaviest rows; on the dashed line all rows "
            "count alike.",
        ),
        _figure(
            "fig-weights",
            weights(curves, id="weight-histogram"),
            f"Training rows by their weight ({name}), on a scale where the mean weight is 1.",
        ),
    ]


def _choice_figures(facts: Facts) -> list[Figure]:
    """Return the map of the weightings that were tried."""
    surface = facts.pictures.bridge
    if surface is None:
        return []
    chart = bridge(surface, id="bridge")
    caption = (
        "Each mark is a weighting. Distance shows how different the weights are, with no weights "
        "at the left end and the full ratio at the right end. Blue weightings do as well as the "
        "best. On the same rows, their loss is at most two standard errors of the difference "
        "higher. The star marks the choice."
    )
    # A sentence in place of the map needs no key.
    return [_figure("fig-bridge", chart, caption if "data-x0" in chart.svg else "")]


def _trust_figures(facts: Facts) -> list[Figure]:
    """Return how far the chances behind the ratio can be believed."""
    curve = facts.pictures.reliability
    if curve is None:
        return []
    return [
        _figure(
            "fig-reliability",
            reliability(curve, id="reliability"),
            "The ratio rests on the chance that a row comes from deployment. Of the rows with a "
            "given chance, that share should be deployment rows: the curve should follow the "
            "dashed line.",
        )
    ]


def _figure(id_: str, chart: Chart, caption: str) -> Figure:
    """Return a figure with its table; some charts share one, and come without."""
    heads, rows = chart.table
    found = table(chart.title, heads, rows) if heads else None
    return Figure(id_, chart.title, caption, {"": chart}, found)


def _balance_table(facts: Facts) -> DataTable:
    """Return the differences of means before and after every weighting."""
    names = list(facts.balance[0].after) if facts.balance else []
    heads = ["feature", "training", "deployment", "before", *(f"after {name}" for name in names)]
    rows = []
    for row in facts.balance:
        write = percent if row.kind in ("level", "missing") else number
        differences = [row.before, *(row.after.get(name) for name in names)]
        means = [write(row.mean_source), write(row.mean_target)]
        rows.append([row.name, *means, *(signed(each, 2) for each in differences)])
    return table("Means, and their differences in standard deviations", heads, rows)
