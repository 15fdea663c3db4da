"""Table 2: a support vector machine on the five LIBSVM sets; its rows are also in appendix E."""

from experiments._printed import TABLE_2
from experiments._split_table import split_cells, split_tables, split_values, split_verdicts

TITLE = "Table 2: support vector machine on the LIBSVM sets"
MODELS = {name: ["SVM"] for name in TABLE_2}


def cells(scale):
    """Return the work: every reading, set and trial."""
    return split_cells(scale, MODELS)


def values(done):
    """Return means and standard errors of the support vector machine."""
    return split_values(done, MODELS)


def tables(found):
    """Return a table for each reading."""
    return split_tables(found, TABLE_2, TITLE)


def verdicts(found):
    """Return what is said of every printed value."""
    return split_verdicts(found, TABLE_2)
