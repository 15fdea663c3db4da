"""Findings in words: codes, numbers as they are written, estimates, the judgement of overlap."""

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
    users_line,
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
