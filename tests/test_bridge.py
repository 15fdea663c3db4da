"""BridgeDisplay: the map of the weightings that were tried."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.plotting import BridgeDisplay
from weighbridge.search import BayesianSearch, Evaluation, GridSearch, Point, SearchResult

mpl.use("agg")


@pytest.fixture(scope="module")
def model():
    data = make_quadratic(300, 200, reading="all_sd", random_state=0)
    return ImportanceWeightedCV(LinearRegression(), data.ratio, search=GridSearch(9, 5)).fit(
        data.X, data.y
    )


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_ends_of_the_bridge(model):
    # no weights are at the origin, the full ratio is to the right of it and level with it
    weighting = model.best_weighting_
    display = BridgeDisplay(
        model.search_result_, model.log_ratio_, (weighting.lam, weighting.alpha)
    )
    table = display.table()
    none, full = (np.flatnonzero(table["lam"] == lam)[0] for lam in (0, 1))
    assert table["x"][none] == pytest.approx(0, abs=1e-12)
    assert table["y"][none] == pytest.approx(0, abs=1e-12)
    assert table["y"][full] == pytest.approx(0, abs=1e-12)
    assert table["x"][full] == table["x"].max() > 0
    assert table["y"].sum() > 0  # the arches rise


def test_distances_are_those_of_the_weights(model):
    # two coordinates of three: distances on the map never exceed Hellinger's, and come near it
    points = model.search_result_.points
    display = BridgeDisplay(model.search_result_, model.log_ratio_, points[0])
    table = display.table()
    from weighbridge import Geodesic

    roots = np.sqrt([Geodesic(*point).weights(model.log_ratio_) for point in points])
    roots /= np.sqrt(len(model.log_ratio_))
    exact = np.linalg.norm(roots[:, None] - roots, axis=2)
    place = np.column_stack([table["x"], table["y"]])
    drawn = np.linalg.norm(place[:, None] - place, axis=2)
    far = exact > 0.1 * exact.max()
    ratio = drawn[far] / exact[far]
    assert ratio.max() / np.median(ratio) < 1.1
    assert np.corrcoef(exact.ravel(), drawn.ravel())[0, 1] > 0.97


@pytest.mark.parametrize("chart", ["bridge", "rectangle"])
@pytest.mark.parametrize("path", [False, True])
def test_draws(model, chart, path):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = BridgeDisplay.from_estimator(model, ax=ax, chart=chart, path=path)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["power (alpha 1)", "relative (alpha 3)"]
    assert labels[-1].startswith("chosen: lam")
    numbers = {text.get_text() for text in ax.texts}
    assert ("7" in numbers) == path
    star = ax.lines[-1].get_xydata()[0]
    if chart == "rectangle":
        np.testing.assert_allclose(star, [model.best_weighting_.alpha, model.best_weighting_.lam])


def test_few_evaluations_failures_and_no_shift():
    data = make_quadratic(200, 100, reading="all_sd", random_state=0)
    few = ImportanceWeightedCV(LinearRegression(), data.ratio, search=BayesianSearch(5))
    BridgeDisplay.from_estimator(few.fit(data.X, data.y), path=True)
    failed = SearchResult(
        (
            Evaluation(Point(0.0, 1.0), np.array([1.0])),
            Evaluation(Point(1.0, 1.0), None, error="no"),
        ),
        np.ones(1),
    )
    display = BridgeDisplay(failed, data.log_ratio, (0.0, 1.0)).plot()
    assert "failed" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    BridgeDisplay(failed, np.zeros(20), (0.0, 1.0)).plot()


def test_errors(model):
    with pytest.raises(ValueError, match="Got chart='map'"):
        BridgeDisplay.from_estimator(model, chart="map")
    data = make_quadratic(400, 100, reading="all_sd", random_state=0)
    fixed = ImportanceWeighted(LinearRegression(), data.ratio).fit(data.X, data.y)
    with pytest.raises(TypeError, match="has searched for nothing"):
        BridgeDisplay.from_estimator(fixed)
    with pytest.raises(NotFittedError):
        BridgeDisplay.from_estimator(ImportanceWeightedCV(LinearRegression()))
