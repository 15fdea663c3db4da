"""BridgeDisplay: the map of the weightings that were tried."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.plotting import BridgeDisplay, compute_surface
from weighbridge.plotting._roles import WEIGHTED
from weighbridge.ratios import KnownRatio
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
    chosen = weighting.lam, weighting.alpha
    table = BridgeDisplay(compute_surface(model.search_result_, model.log_ratio_, chosen)).table()
    none, full = (np.flatnonzero(table["lam"] == lam)[0] for lam in (0, 1))
    assert table["x"][none] == pytest.approx(0, abs=1e-12)
    assert table["y"][none] == pytest.approx(0, abs=1e-12)
    assert table["y"][full] == pytest.approx(0, abs=1e-12)
    assert table["x"][full] == table["x"].max() > 0
    assert table["y"].sum() > 0  # the arches rise


def test_distances_are_those_of_the_weights(model):
    # two coordinates of three: distances on the map never exceed Hellinger's, and come near it
    points = model.search_result_.points
    surface = compute_surface(model.search_result_, model.log_ratio_, points[0])
    table = BridgeDisplay(surface).table()
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


def test_the_surface_is_what_the_search_found(model):
    surface = compute_surface(model.search_result_, model.log_ratio_, (0.4, 2.0))
    np.testing.assert_array_equal(
        np.column_stack([surface.lam, surface.alpha]), model.search_result_.points
    )
    np.testing.assert_array_equal(surface.loss, model.search_result_.values)
    assert surface.chosen == Point(0.4, 2.0)
    # the curves go from no weights to the full ratio; alpha = 1 passes through its candidates
    ends = np.array([[surface.x[surface.lam == lam][0], 0] for lam in (0, 1)])
    for curve in surface.curves.values():
        np.testing.assert_allclose(curve[[0, -1]], ends, atol=1e-12)
    tried = np.column_stack([surface.x, surface.y])[surface.alpha == 1]
    power = surface.curves["power (alpha 1)"]
    step = np.linalg.norm(np.diff(power, axis=0), axis=1).max()
    gaps = np.linalg.norm(power[:, None] - tried, axis=2).min(axis=0)
    assert gaps.max() <= step
    # a row of infinite ratio is no row
    more = compute_surface(model.search_result_, np.r_[model.log_ratio_, np.inf], (0.4, 2.0))
    np.testing.assert_array_equal(more.x, surface.x)


def test_the_choice_has_the_colour_of_what_is_used(model):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    BridgeDisplay.from_estimator(model, ax=ax)
    assert ax.lines[-1].get_marker() == "*"
    assert ax.lines[-1].get_color() == WEIGHTED.color


def test_rows_of_own_weight_zero_may_have_no_ratio():
    data = make_quadratic(300, 100, reading="all_sd", random_state=0)
    ratio = KnownRatio(lambda X: np.where(X[:, 0] == X[0, 0], np.nan, data.ratio.score_samples(X)))
    model = ImportanceWeightedCV(LinearRegression(), ratio, search=GridSearch(3, 3))
    model.fit(data.X, data.y, np.r_[0.0, np.ones(299)])
    assert np.isnan(model.log_ratio_).sum() == 1
    assert np.isfinite(BridgeDisplay.from_estimator(model).table()["x"]).all()


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
    display = BridgeDisplay(compute_surface(failed, data.log_ratio, (0.0, 1.0))).plot()
    assert "failed" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    BridgeDisplay(compute_surface(failed, np.zeros(20), (0.0, 1.0))).plot()


def test_errors(model):
    with pytest.raises(ValueError, match="Got chart='map'"):
        BridgeDisplay.from_estimator(model, chart="map")
    data = make_quadratic(400, 100, reading="all_sd", random_state=0)
    fixed = ImportanceWeighted(LinearRegression(), data.ratio).fit(data.X, data.y)
    with pytest.raises(TypeError, match="has searched for nothing"):
        BridgeDisplay.from_estimator(fixed)
    with pytest.raises(NotFittedError):
        BridgeDisplay.from_estimator(ImportanceWeightedCV(LinearRegression()))
    with pytest.raises(TypeError, match="Got surface of type SearchResult, but expected a Bridge"):
        BridgeDisplay(model.search_result_)
    with pytest.raises(TypeError, match="Got result of type ImportanceWeightedCV, but expected"):
        compute_surface(model, model.log_ratio_, (0.0, 1.0))
    with pytest.raises(TypeError, match="Got log_ratio of type str that is not numbers"):
        compute_surface(model.search_result_, "x", (0.0, 1.0))
    with pytest.raises(ValueError, match=r"Got chosen=0\.5, but expected a pair"):
        compute_surface(model.search_result_, model.log_ratio_, 0.5)
