"""Searches for (lam, alpha): they know points and losses, and nothing of learning.

A search is called with an objective and bounds, and returns a `SearchResult`. All of them try the
named points (ERM, IWERM, ...) first, evaluate no model twice, keep what is finished in a `Journal`
if they are given one, and end with what they have when they are interrupted.
"""

from weighbridge.search._bayesian import BayesianSearch
from weighbridge.search._coordinates import ROUNDING as ROUNDING
from weighbridge.search._coordinates import groups as groups
from weighbridge.search._evaluation import Evaluation, Objective
from weighbridge.search._expected_improvement import expected_improvement
from weighbridge.search._grid import GridSearch
from weighbridge.search._journal import Journal
from weighbridge.search._optuna import OptunaSearch
from weighbridge.search._point import Bounds, Point, canonical, named_points
from weighbridge.search._result import Difference, SearchResult
from weighbridge.search._search import Search

__all__ = [
    "BayesianSearch",
    "Bounds",
    "Difference",
    "Evaluation",
    "GridSearch",
    "Journal",
    "Objective",
    "OptunaSearch",
    "Point",
    "Search",
    "SearchResult",
    "canonical",
    "expected_improvement",
    "named_points",
]
