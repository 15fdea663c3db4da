"""What ``weighbridge weights`` found, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._finding import Finding
from weighbridge.adaptation._result import head
from weighbridge.cli._session import Session
from weighbridge.cli._two_tables import TwoTables
from weighbridge.diagnostics import (
    OverlapJudgement,
    balance_table,
    judge_overlap,
    outside_support,
    summarize_weights,
)
from weighbridge.diagnostics._overlap_word import BROKEN, THIN
from weighbridge.diagnostics._shift_findings import DIFFERENT
from weighbridge.diagnostics._words import in_a_sentence
from weighbridge.pictures import rounded
from weighbridge.weighting import mean_one

# Ends of the bars at the terminal; the last bar has no end.
EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def weights_result(
    session: Session,
    two: TwoTables,
    weights: np.ndarray,
    log_ratio: np.ndarray,
    out: Path,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return the result of a run.

    Parameters
    ----------
    session : Session
        The run.
    two : TwoTables
        What went in.
    weights : ndarray of shape (n_rows,)
        A weight for each training row, mean 1.
    log_ratio : ndarray of shape (n_rows,)
        The log ratio of each, scaled to a mean ratio of 1.
    out : Path
        Where they were written.
    settings : dict
        Options.
    """
    summary = summarize_weights(weights)
    left = _left(two, weights)
    overlap = _overlap(two, log_ratio, settings["seed"])
    counts = np.histogram(weights, [*EDGES, np.inf])[0]
    return session.result(
        **head("weights"),
        inputs=two.inputs(),
        settings={
            "seed": settings["seed"],
            "ratio": two.ratio_name,
            "lam": settings["lam"],
            "alpha": settings["alpha"],
            "jobs": settings["jobs"],
            "drop": list(settings["drop"]),
            "keep": list(settings["keep"]) or None,
        },
        findings=[each.to_dict() for each in (*two.notes, *_found(overlap, left))],
        files={"weights": str(out)},
        weights={
            "n": int(weights.size),
            "worth": float(summary.ess),
            "overlap": overlap.word,
            "half": summary.rows_for_half / weights.size,
            "largest": float(weights.max()),
            "edges": list(EDGES),
            "counts": counts.tolist(),
            "left": rounded(left),
        },
    )


def _left(two: TwoTables, weights: np.ndarray) -> list[dict[str, Any]]:
    """Return what is left of the differences, largest first, over the rows in memory."""
    table = balance_table(two.X, two.X_target, weights[two.tables[0].positions])
    rows = [row for row in table.rows if row.after is not None and np.isfinite(row.after)]
    rows.sort(key=lambda row: -abs(row.after or 0.0))
    return [{"name": row.name, "before": row.before, "after": row.after} for row in rows]


def _overlap(two: TwoTables, log_ratio: np.ndarray, seed: int) -> OverlapJudgement:
    """Judge whether any weights can make training resemble deployment."""
    full = summarize_weights(mean_one(log_ratio))
    return judge_overlap(
        n_rows=log_ratio.size,
        worth=full.ess,
        tail_index=full.pareto_k,
        outside=outside_support(two.X, two.X_target, random_state=seed).share,
        n_parameters=two.X.shape[1] + 1,
    )


def _found(overlap: OverlapJudgement, left: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield what to know about the weights; where overlap is broken nothing else matters."""
    reason = overlap.reason
    if overlap.word == BROKEN:
        message = f"{reason[0].upper()}{reason[1:]}."
        help = "No weights can stand for them: weighbridge diagnose says where, and what to do."
        yield Finding("WB302", "warning", message, help)
        return
    if overlap.word == THIN:
        help = "Prefer a smaller --lam, or --alpha above 1, which caps every weight."
        yield Finding("WB301", "warning", f"Overlap is thin: {reason}.", help)
    beyond = [row for row in left if abs(row["after"]) > DIFFERENT]
    if beyond:
        others = f" ({len(beyond) - 1} more like it)" if len(beyond) > 1 else ""
        yield Finding(
            "WB305",
            "note",
            f"{in_a_sentence(beyond[0]['name'])} still differs by more than {DIFFERENT:g}{others}.",
            "A larger --lam reduces it and makes the weights worth fewer rows.",
        )
