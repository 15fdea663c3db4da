"""What several candidates, folds and stages need is made once, and changes no number."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from weighbridge import assess, diagnose, fit_ratio
from weighbridge.datasets import make_quadratic
from weighbridge.domain import CrossFittedDomain, DomainRows, outside_support
from weighbridge.label_shift import fit_by_kind
from weighbridge.model_selection import LeaveOneOut, Point
from weighbridge.target_risk._coded_texts import coded_texts


@pytest.mark.parametrize(
    "options",
    [
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 10},
        {"handle_unknown": "infrequent_if_exist", "max_categories": 3},
        {"drop": "first", "handle_unknown": "ignore"},
    ],
)
def test_codes_stand_for_text_in_all_that_an_encoder_makes_of_it(options):
    rng = np.random.default_rng(0)
    levels = np.array(["b", "a", "ä", "", "Z", None], dtype=object)
    chances = [0.3, 0.3, 0.2, 0.1, 0.02, 0.08]
    frames = [
        pd.DataFrame({"x": rng.normal(size=n), "s": rng.choice(levels, n, p=chances)}, dtype=object)
        for n in (200, 100)
    ]
    frames = [frame.astype({"x": float}) for frame in frames]
    step = ColumnTransformer(
        [("x", StandardScaler(), ["x"]), ("s", OneHotEncoder(**options), ["s"])], sparse_threshold=0
    )
    coded = coded_texts([step], *frames)
    assert all(each["s"].dtype == float for each in coded)
    text, numbers = clone(step).fit(frames[0]), clone(step).fit(coded[0])
    for frame, other in zip(frames, coded, strict=True):
        np.testing.assert_array_equal(text.transform(frame), numbers.transform(other))


def test_text_that_anything_but_an_encoder_sees_stays_text():
    frame = pd.DataFrame({"s": pd.Series(["a", "b"], dtype=object)})
    encoders = ColumnTransformer([("s", OneHotEncoder(handle_unknown="ignore"), ["s"])])
    assert coded_texts([encoders], frame)[0] is not frame
    own = ColumnTransformer([("s", FunctionTransformer(), ["s"])])
    chosen = ColumnTransformer([("s", OneHotEncoder(categories=[["a", "b"]]), ["s"])])
    array = np.zeros((2, 1))
    for steps, table in (([own], frame), ([chosen], frame), ([], frame), ([encoders], array)):
        assert coded_texts(steps, table)[0] is table
    mixed = pd.DataFrame({"s": pd.Series(["a", None, np.nan], dtype=object)})
    assert coded_texts([encoders], mixed)[0] is mixed  # two kinds of missing values are two levels


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
    seen = found.seen._replace(support=outside_support(X, X_target))
    assert fit_by_kind("auto", X, y, X_target, seen=seen).kind is None
    assert diagnose(X, X_target, y=y).label_shift is None
    verdict = assess(LogisticRegression(), X, y, X_target, random_state=0)
    assert verdict.weighting == "unknown"


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(drop=["b"], handle_unknown="ignore"),
        OneHotEncoder(),
        OneHotEncoder(min_frequency=2),
    ],
)
def test_text_whose_levels_are_named_stays_text(encoder):
    frame = pd.DataFrame({"s": pd.Series(["a", "b", "c"], dtype=object)})
    assert coded_texts([ColumnTransformer([("s", encoder, ["s"])])], frame)[0] is frame
    numbered = frame.rename(columns={"s": 0})
    step = ColumnTransformer([("s", OneHotEncoder(handle_unknown="ignore"), [0])])
    assert coded_texts([step], numbered)[0] is numbered


def test_a_point_that_comes_twice_is_evaluated_once():
    data = make_quadratic(random_state=0)
    objective = LeaveOneOut().objective(Ridge(), data.X, data.y, data.log_ratio)
    points = [Point(0.0, 1.0), Point(0.0, 1.0), Point(1.0, 1.0)]
    assert [each.point for each in objective.evaluate(points)] == points
