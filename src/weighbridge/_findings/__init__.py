"""Findings in words: codes, numbers as they are written, estimates, the judgement of overlap."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weighbridge._findings.cards import (
    NAMED,
    QUESTIONS,
    ROLES,
    Card,
    card_style,
    cards_html,
    interval_text,
    notebook_card,
    overlap_evidence,
    shift_evidence,
    unbroken,
)
from weighbridge._findings.codes import GROUPS, entries, page
from weighbridge._findings.finding import (
    Finding,
    Option,
    Problem,
    argument,
    cli_option,
    escaped,
    listed,
    nearest,
    one_line,
    shown,
    shown_file,
)
from weighbridge._findings.numbers import (
    INFINITY,
    UNKNOWN,
    Brief,
    Estimate,
    Numbers,
    Record,
    count,
    number,
    percent,
    percent_labels,
    signed,
    tick_labels,
    wilson,
)
from weighbridge._findings.progress import (
    USUAL,
    Progress,
    SearchProgress,
    Stage,
    Stages,
    shown_progress,
    spent,
    told_progress,
)

if TYPE_CHECKING:
    from weighbridge._findings.overlap import (
        APART,
        BROKEN,
        CODES,
        ENOUGH,
        FEWEST_PER_PARAMETER,
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


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first used, so that help and codes are instant."""
    return getattr(import_module("weighbridge._findings.overlap"), name)
