"""Callbacks of scikit-learn hear of every evaluation of a search."""

import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from weighbridge import ImportanceWeightedCV
from weighbridge.datasets import make_quadratic

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Listener:
    """Counts what it hears."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        return False


def test_every_evaluation_is_a_task():
    data, listener = make_quadratic(random_state=0), Listener()
    model = ImportanceWeightedCV(LinearRegression(), data.ratio, random_state=0)
    model.set_callbacks(listener).fit(data.X, data.y)
    n = len(model.search_result_.evaluations)
    assert listener.heard == ["setup", "fit", *["weighting"] * n, "teardown"]


def test_nobody_listens_and_nothing_changes():
    data = make_quadratic(random_state=0)
    plain = ImportanceWeightedCV(LinearRegression(), data.ratio, random_state=0)
    heard = clone(plain).set_callbacks(Listener()).fit(data.X, data.y)
    assert (
        heard.best_weighting_.get_params() == plain.fit(data.X, data.y).best_weighting_.get_params()
    )
    assert not hasattr(plain, "_callback_fit_ctx")
