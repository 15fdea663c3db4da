"""What a cell can ask for: functions of plain arguments that return plain values."""

from experiments._split_trial import shift_summary, split_trial, surface_trial
from experiments._toy_trials import released_toy, toy_folds, toy_search, toy_trials

__all__ = [
    "released_toy",
    "shift_summary",
    "split_trial",
    "surface_trial",
    "toy_folds",
    "toy_search",
    "toy_trials",
]
