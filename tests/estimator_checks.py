"""scikit-learn's common checks of estimators that wrap another one."""

import doctest
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline


class GentleLogRatio:
    """A ratio between 1/e and e that differs from row to row, for any kind of X."""

    def __call__(self, X):
        column = X[:, [0]].toarray() if sp.issparse(X) else np.asarray(X)[:, [0]]
        return np.tanh(np.nan_to_num(column.astype(float).ravel()))

    def __repr__(self):  # Names of tests must not contain addresses.
        return "gentle"


class LastStepWeighted(Pipeline):
    """A pipeline with sample_weight for its last step, so that scikit-learn checks weights."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, **{f"{self.steps[-1][0]}__sample_weight": sample_weight})


def _inner_fails_too(inner, check):
    """Run the same check on a copy of the inner estimator alone."""
    inner = clone(inner)
    inner = LastStepWeighted(inner.steps) if isinstance(inner, Pipeline) else inner
    try:
        check.func(type(inner).__name__, inner, **check.keywords)
    except Exception:  # noqa: BLE001
        return True
    return False


def check_as_the_inner_estimator(estimator, check):
    """Run a check, which may fail only if it fails for the inner estimator, too."""
    try:
        check(estimator)
    except SkipTest:
        raise
    except Exception:
        if _inner_fails_too(estimator.estimator, check):
            pytest.xfail("the inner estimator fails it too")
        raise


def check_with_held_out_rows(estimator, check):
    """Run a check, which may also fail if the guide declares that it fails by design."""
    if check.func.__name__ in DECLARED_FAILURES:
        pytest.xfail(DECLARED_FAILURES[check.func.__name__])
    check_as_the_inner_estimator(estimator, check)


def _declared_by_the_guide():
    """Return the checks that fail by design with their reasons."""
    page = Path(__file__).parents[1] / "docs" / "guide" / "estimator.rst"
    names = {}
    for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
        if example.source.startswith(("reason = ", "held_out = ")):
            exec(example.source, names)
    return names["held_out"]


DECLARED_FAILURES = _declared_by_the_guide()
