"""Appendix E: support vector regression on three sets, mean squared errors."""

from experiments._printed import REGRESSION
from experiments._split_table import split_cells, split_tables, split_values, split_verdicts

TITLE = "Support vector regression (appendix E)"
MODELS = {name: ["SVR"] for name in REGRESSION}


def cells(scale):
    """Return the work: every reading, set and trial."""
    return split_cells(scale, MODELS)


def values(done):
    """Return means and standard errors."""
    return split_values(done, MODELS)


def tables(found):
    """Return a table for each reading."""
    return split_tables(found, REGRESSION, TITLE, digits=3)


def verdicts(found):
    """Return what is said of every printed value."""
    return split_verdicts(found, REGRESSION)
