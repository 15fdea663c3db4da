"""Searches for (lam, alpha): they know about points and losses, and nothing about learning.

A search is called with an objective and bounds, and returns a `SearchResult`. All of them try the
named points (ERM, IWERM, ...) first and evaluate no model twice.
"""

from weighbridge.search._bayesian import (
    BayesianSearch,
    expected_improvement,
    lower_confidence_bound,
    probability_of_improvement,
)
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
