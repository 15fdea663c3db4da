"""Appendix E: five models on the five LIBSVM sets, misclassification rates in percent."""

from experiments._printed import LIBSVM
from experiments._split_table import (
    classifiers,
    split_cells,
    split_tables,
    split_values,
    split_verdicts,
)

TITLE = "Five models on the LIBSVM sets (appendix E)"
MODELS = classifiers(LIBSVM)


def cells(scale):
    """Return the work: every reading, set and trial, with all five models."""
    return split_cells(scale, MODELS)


def values(done):
    """Return means and standard errors."""
    return split_values(done, MODELS)


def tables(found):
    """Return a table for each reading."""
    return split_tables(found, LIBSVM, TITLE)


def verdicts(found):
    """Return what is said of every printed value."""
    return split_verdicts(found, LIBSVM)
