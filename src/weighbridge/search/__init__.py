"""Searches for (lam, alpha): they know about points and losses, and nothing about learning.

A search is called with an objective and bounds, and returns a `SearchResult`. All of them try the
named points (ERM, IWERM, ...) first, evaluate no model twice, keep what is finished in a `Journal`
if they are given one, and after Ctrl-C return what they have if asked to.
"""

from weighbridge.search._bayesian import (
    BayesianSearch,
    expected_improvement,
    lower_confidence_bound,
    probability_of_improvement,
)
from weighbridge.search._journal import Journal, JournalError
from weighbridge.search._point import (
    ROUNDING,
    Bounds,
    Evaluation,
    Objective,
    Point,
    canonical,
    groups,
    named_points,
)
from weighbridge.search._result import Difference, SearchResult, weighted_mean
from weighbridge.search._run import AllFailedError, GridSearch, Handful, Search

# Public names; the others serve the packages above.
__all__ = [
    "BayesianSearch",
    "Bounds",
    "Difference",
    "Evaluation",
    "GridSearch",
    "Journal",
    "Objective",
    "Point",
    "Search",
    "SearchResult",
    "canonical",
    "expected_improvement",
    "lower_confidence_bound",
    "named_points",
    "probability_of_improvement",
]
