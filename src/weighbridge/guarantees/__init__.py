"""How far a weighted empirical risk can be from the target risk: learning guarantees.

The bound for all hypotheses of a class is often above 1, where it says nothing; those for a
hypothesis fixed in advance are of use from some hundred rows on. The ratio must be known.
"""

from weighbridge.guarantees._bounds import (
    bernstein_bound,
    d2_from_ratios,
    learning_bound,
    risk_interval,
    second_moment_bound,
)
from weighbridge.guarantees._terms import LearningBound

__all__ = [
    "LearningBound",
    "bernstein_bound",
    "d2_from_ratios",
    "learning_bound",
    "risk_interval",
    "second_moment_bound",
]
