"""Appendix E: five models on three sets with more than two classes, errors in percent."""

from experiments._printed import MULTICLASS
from experiments._split_table import (
    classifiers,
    split_cells,
    split_tables,
    split_values,
    split_verdicts,
)

TITLE = "More than two classes (appendix E)"
# the paper leaves the support vector machine out on covtype, for its size
MODELS = classifiers(MULTICLASS, left_out={("covtype", "SVM")})


def cells(scale):
    """Return the work: every reading, set and trial."""
    return split_cells(scale, MODELS)


def values(done):
    """Return means and standard errors."""
    return split_values(done, MODELS)


def tables(found):
    """Return a table for each reading."""
    return split_tables(found, MULTICLASS, TITLE)


def verdicts(found):
    """Return what is said of every printed value."""
    return split_verdicts(found, MULTICLASS)
