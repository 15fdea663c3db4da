"""What several candidates, folds and stages need is made once, and changes no number."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from weighbridge import assess, diagnose, fit_ratio
from weighbridge.datasets import make_quadratic
from weighbridge.domain import CrossFittedDomain, DomainRows, outside_support
from weighbridge.label_shift import fit_by_kind
from weighbridge.model_selection import LeaveOneOut, Point


def _apart(n=300, d=3, distance=20.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + distance


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_where_a_line_tells_all_rows_apart_no_trees_are_grown():
    X, X_target = _apart()
    domain = CrossFittedDomain(DomainRows(X, X_target))
    assert all(trees is None for trees in domain.tree_models)
    assert domain.auc().value > 0.999
    assert [row["name"] for row in fit_ratio(X, X_target).table_] == ["constant", "linear"]
    near = CrossFittedDomain(DomainRows(X, X_target - 19.5))
    assert all(trees is not None for trees in near.tree_models)


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_beyond_the_source_no_kind_of_shift_is_looked_for():
    X, X_target = _apart()
    y = (X[:, 0] > 0).astype(int)
    found = fit_by_kind("auto", X, y, X_target)
    assert found.kind is not None  # the support was not known
    support = outside_support(X, X_target)
    assert fit_by_kind("auto", X, y, X_target, support=support).kind is None
    assert diagnose(X, X_target, y=y).label_shift is None
    verdict = assess(LogisticRegression(), X, y, X_target, random_state=0)
    assert verdict.weighting == "unknown"


def test_a_point_that_comes_twice_is_evaluated_once():
    data = make_quadratic(random_state=0)
    objective = LeaveOneOut().objective(Ridge(), data.X, data.y, data.log_ratio)
    points = [Point(0.0, 1.0), Point(0.0, 1.0), Point(1.0, 1.0)]
    assert [each.point for each in objective.evaluate(points)] == points
