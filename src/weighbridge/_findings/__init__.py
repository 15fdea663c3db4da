"""Findings in words: codes, numbers as they are written, estimates, the judgement of overlap."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weighbridge._findings.codes import GROUPS, entries, page
from weighbridge._findings.finding import (
    Finding,
    Option,
    Problem,
    argument,
    cli_option,
    escaped,
    html_list,
    listed,
    nearest,
    notebook_card,
    one_line,
    shown,
    shown_file,
)
from weighbridge._findings.numbers import (
    INFINITY,
    UNKNOWN,
    Estimate,
    Numbers,
    Record,
    count,
    number,
    percent,
    percent_labels,
    signed,
    tick_labels,
)
from weighbridge._findings.progress import (
    Progress,
    SearchProgress,
    Stage,
    Stages,
    told_progress,
)

if TYPE_CHECKING:
    from weighbridge._findings.overlap import (
        APART,
        BROKEN,
        CODES,
        ENOUGH,
        FEWEST_PER_PARAMETER,
        NEARLY_ALL,
        OUTSIDE,
        SOME_OUTSIDE,
        THIN,
        Choice,
        OverlapJudgement,
        count_parameters,
        effective_sample_size,
        judge_overlap,
        judge_weights,
        outside_share,
        pareto_k,
        pareto_threshold,
        users_line,
        warn_if_apart,
        warn_if_outside,
        warn_if_untrustworthy,
        warn_of_choice,
    )

__all__ = [
    "APART",
    "BROKEN",
    "CODES",
    "ENOUGH",
    "FEWEST_PER_PARAMETER",
    "GROUPS",
    "INFINITY",
    "NEARLY_ALL",
    "OUTSIDE",
    "SOME_OUTSIDE",
    "THIN",
    "UNKNOWN",
    "Choice",
    "Estimate",
    "Finding",
    "Numbers",
    "Option",
    "OverlapJudgement",
    "Problem",
    "Progress",
    "Record",
    "SearchProgress",
    "Stage",
    "Stages",
    "argument",
    "cli_option",
    "count",
    "count_parameters",
    "effective_sample_size",
    "entries",
    "escaped",
    "html_list",
    "judge_overlap",
    "judge_weights",
    "listed",
    "nearest",
    "notebook_card",
    "number",
    "one_line",
    "outside_share",
    "page",
    "pareto_k",
    "pareto_threshold",
    "percent",
    "percent_labels",
    "shown",
    "shown_file",
    "signed",
    "tick_labels",
    "told_progress",
    "users_line",
    "warn_if_apart",
    "warn_if_outside",
    "warn_if_untrustworthy",
    "warn_of_choice",
]


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first used, so that help and codes are instant."""
    if name not in __all__:
        raise AttributeError(f"module 'weighbridge._findings' has no attribute {name!r}")
    return getattr(import_module("weighbridge._findings.overlap"), name)
