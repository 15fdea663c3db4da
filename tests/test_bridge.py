"""BridgeDisplay: the map of the weightings that were tried."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from weighbridge import Geodesic, ImportanceWeighted, ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.model_selection import BayesianSearch, Evaluation, GridSearch, Point, SearchResult
from weighbridge.pictures import BridgeSurface, RootWeights
from weighbridge.plotting import BridgeDisplay, compute_surface
from weighbridge.plotting._display import WEIGHTED
from weighbridge.ratios import KnownRatio

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
    # a plane of all coordinates: distances on the map never exceed Hellinger's, and come near them
    points = model.search_result_.points
    surface = compute_surface(model.search_result_, model.log_ratio_, points[0])
    table = BridgeDisplay(surface).table()
    roots = np.sqrt([Geodesic(*point).weights(model.log_ratio_) for point in points])
    roots /= np.sqrt(len(model.log_ratio_))
    exact = np.linalg.norm(roots[:, None] - roots, axis=2)
    place = np.column_stack([table["x"], table["y"]])
    drawn = np.linalg.norm(place[:, None] - place, axis=2)
    assert (drawn <= exact + 1e-9).all()
    assert np.corrcoef(exact.ravel(), drawn.ravel())[0, 1] > 0.97


@pytest.mark.parametrize("chart", ["bridge", "rectangle"])
@pytest.mark.parametrize("path", [False, True])
def test_draws(model, chart, path):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = BridgeDisplay.from_estimator(model, ax=ax, chart=chart, path=path)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    count = model.search_result_.not_worse(2.0).sum()
    assert ax.get_title().startswith(f"{count} of {len(model.search_result_.points)} weightings")
    bar = ax.figure.axes[-1]
    assert [bar.get_title(), bar.get_xlabel()] == ["worse", "as good as\nthe best"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"power (alpha 1)", "relative (alpha 3)"} < set(labels)
    # the square has no room for curves that it does not reach
    assert ("mixture (alpha -1)" in labels) == (chart == "bridge")
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
    power = surface.curves["power"]
    step = np.linalg.norm(np.diff(power, axis=0), axis=1).max()
    gaps = np.linalg.norm(power[:, None] - tried, axis=2).min(axis=0)
    assert gaps.max() <= step
    # a row of infinite ratio is no row
    more = compute_surface(model.search_result_, np.r_[model.log_ratio_, np.inf], (0.4, 2.0))
    np.testing.assert_array_equal(more.x, surface.x)


def test_apart_is_in_standard_errors_of_the_paired_difference(model):
    # by hand, from the losses of single rows and their weights
    result = model.search_result_
    surface = compute_surface(result, model.log_ratio_, (0.4, 2.0))
    weight, losses = result.unit_weights, [each.losses for each in result.evaluations]
    best = losses[int(np.argmin([np.average(each, weights=weight) for each in losses]))]
    n, expected = (weight > 0).sum(), []
    for each in losses:
        mean = np.average(each - best, weights=weight)
        variance = (weight**2 * (each - best - mean) ** 2).sum() / weight.sum() ** 2
        expected.append(mean / np.sqrt(n / (n - 1) * variance) if mean > 0 else 0.0)
    np.testing.assert_allclose(surface.apart, expected, rtol=1e-9)
    np.testing.assert_array_equal(surface.as_good, np.array(expected) <= 2)
    np.testing.assert_array_equal(surface.as_good, result.not_worse(z=2.0))
    assert 1 < surface.as_good.sum() < surface.lam.size
    # far fewer than by the standard errors of the losses themselves
    alone = surface.loss <= surface.loss.min() + 2 * surface.standard_error
    assert surface.as_good.sum() < alone.sum()
    np.testing.assert_array_equal(BridgeDisplay(surface).table()["apart"], surface.apart)


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
    alike = BridgeDisplay(compute_surface(failed, np.zeros(20), (0.0, 1.0))).plot()
    assert alike.ax_.texts[0].get_text().endswith("there is no map to draw.")


@pytest.mark.parametrize("chart", ["bridge", "rectangle"])
@pytest.mark.parametrize("kept", [lambda lam, alpha: False, lambda lam, alpha: lam in (0, 1)])
def test_a_grid_of_failures_is_drawn_by_what_is_left(chart, kept):
    tried = _tried(_grid(), lambda lam, alpha: 1 + lam if kept(lam, alpha) else None)
    display = BridgeDisplay(compute_surface(tried, LOG_RATIO, (0.0, 1.0))).plot(chart=chart)
    (marks,) = [each for each in display.ax_.collections if each.get_array() is not None]
    assert len(marks.get_offsets()) == sum(kept(*point) for point in _grid())


@pytest.mark.parametrize("chart", ["bridge", "rectangle"])
def test_a_flat_surface_has_one_colour(chart):
    from matplotlib.colors import to_hex

    from weighbridge.plotting._display import LOSS_STEPS

    surface = compute_surface(_tried(_grid(), lambda lam, alpha: 1.0), LOG_RATIO, (0.0, 1.0))
    display = BridgeDisplay(surface).plot(chart=chart)
    (filled,) = [each for each in display.ax_.collections if each.get_array() is not None]
    assert {to_hex(each) for each in filled.get_facecolor()} == {LOSS_STEPS[0]}
    assert display.figure_.axes[-1].get_ylabel() == "all as good as the best"


def _tried(points, loss=lambda lam, alpha: (lam - 0.6) ** 2 + 0.01 * alpha):
    """Return what a search of these points found; a loss of None is a failure."""
    found = []
    for lam, alpha in points:
        value = loss(lam, alpha)
        losses = None if value is None else np.array([value - 0.1, value + 0.1])
        found.append(
            Evaluation(Point(lam, alpha), losses, error=None if value is not None else "no")
        )
    return SearchResult(tuple(found), np.ones(2))


def _grid(lam=11, alpha=5):
    return GridSearch(lam, alpha).points()


LOG_RATIO = np.random.default_rng(0).normal(-0.5, 1.0, 500)


def test_two_kinds_of_rows_are_placed_exactly():
    # all weightings of two different ratios lie on an arc of a circle: the plane keeps everything
    log_ratio = np.repeat([-1.0, 1.0], [30, 20])
    surface = compute_surface(_tried(_grid()), log_ratio, (0.5, 1.0))
    assert surface.kept == pytest.approx(1, abs=1e-12)
    roots = np.sqrt([Geodesic(*point).weights(log_ratio) / 50 for point in _grid()])
    exact = np.linalg.norm(roots[:, None] - roots, axis=2)
    places = np.column_stack([surface.x, surface.y])
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places, axis=2), exact, atol=1e-7)


def test_share_kept_is_that_of_the_first_two_components():
    surface = compute_surface(_tried(_grid()), LOG_RATIO, (0.5, 1.0))
    roots = RootWeights(LOG_RATIO)
    curves = [roots(roots.arch(alpha).even(61), alpha) for alpha in (-1.0, 0.0, 1.0, 3.0)]
    ends = roots(np.array([0.0, 1.0]), 1.0)
    drawn = np.vstack([roots(*np.array(_grid()).T), *curves, ends])
    singular = np.linalg.svd(drawn - drawn.mean(axis=0), compute_uv=False)
    expected = (singular[:2] ** 2).sum() / (singular**2).sum()
    assert surface.kept == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 3.0, 5.0])
def test_points_of_a_curve_are_equally_far_apart(alpha):
    # in the distance of the weights; within what linear interpolation between 161 steps leaves
    log_ratio = np.random.default_rng(0).normal(-8, 4.0, 1000)
    roots = RootWeights(log_ratio)
    arch = roots.arch(alpha)
    lam = arch.even(41)
    assert lam[0] == 0
    assert lam[-1] == 1
    assert (np.diff(lam) >= 0).all()
    steps = np.linalg.norm(np.diff(roots(lam, alpha), axis=0), axis=1)
    assert steps.max() < 1.5 * np.median(steps)
    np.testing.assert_allclose(arch.share(lam), np.linspace(0, 1, 41), atol=0.02)


def test_hangers_reach_from_the_deck_to_the_relative_arch():
    surface = compute_surface(_tried(_grid()), LOG_RATIO, (0.5, 1.0))
    assert list(surface.hangers) == pytest.approx(np.arange(1, 10) / 10)
    for place, name in ((0, "straight"), (-1, "relative")):
        curve = surface.curves[name]
        step = np.linalg.norm(np.diff(curve, axis=0), axis=1).max()
        for line in surface.hangers.values():
            assert np.linalg.norm(curve - line[place], axis=1).min() <= step
    # power rises above the deck, relative above power, and the mixture hangs below
    heights = [surface.curves[name][30, 1] for name in ("mixture", "straight", "power", "relative")]
    assert heights == sorted(heights)


def test_a_search_is_told_from_a_grid():
    def surface(points):
        return compute_surface(_tried(points), LOG_RATIO, (0.5, 1.0))

    assert not surface(_grid()).searched
    odd = surface(_grid(9, 4))  # the named points lie beside this grid
    assert not odd.searched
    assert odd.mesh is not None
    one_curve = surface([(0.0, 3.0), (1.0, 3.0), (0.8, 3.0), *((k / 9, 3.0) for k in range(1, 9))])
    assert not one_curve.searched
    assert one_curve.mesh is None
    rng = np.random.default_rng(0)
    found = surface([*_grid(2, 2), *zip(rng.uniform(size=8), rng.uniform(1, 3, 8), strict=True)])
    assert found.searched
    assert found.mesh is None


def test_surface_between_the_candidates():
    # the surface has the distance to the best of both ends, whatever alpha, and stays between the
    # smallest and the largest of the candidates
    surface = compute_surface(_tried(_grid()), LOG_RATIO, (0.5, 1.0))
    mesh = surface.mesh
    assert mesh.x.shape == mesh.y.shape == mesh.apart.shape
    np.testing.assert_allclose(mesh.apart[:, 0], surface.apart[surface.lam == 0][0])
    np.testing.assert_allclose(mesh.apart[:, -1], surface.apart[surface.lam == 1][0])
    assert surface.apart.min() <= mesh.apart.min() <= mesh.apart.max() <= surface.apart.max()
    # curves of the grid are curves of the surface, also where lam has bounds
    ends = [surface.ends[name][0] for name in ("none", "full")]
    np.testing.assert_allclose(mesh.x[0, [0, -1]], ends, atol=1e-12)
    inner = compute_surface(
        _tried([(lam, alpha) for lam in (0.2, 0.4, 0.6) for alpha in (1.0, 2.0)]),
        LOG_RATIO,
        (0.4, 1.0),
    )
    corner = inner.x[0], inner.y[0]  # lam 0.2, alpha 1
    np.testing.assert_allclose([inner.mesh.x[0, 0], inner.mesh.y[0, 0]], corner, atol=1e-9)


def test_a_failed_candidate_leaves_a_gap_in_the_surface():
    def loss(lam, alpha):
        return None if (lam, alpha) == (0.5, 3.0) else lam

    mesh = compute_surface(_tried(_grid(), loss), LOG_RATIO, (0.3, 1.0)).mesh
    assert np.isnan(mesh.apart[-1]).any()
    assert np.isfinite(mesh.apart[0]).all()
    assert np.isfinite(mesh.apart[:, [0, -1]]).all()


def test_written_down_and_read_again():
    surface = compute_surface(_tried(_grid()), LOG_RATIO, (0.5, 3.0), loss_name="log loss")
    text = json.dumps(surface.to_dict(), allow_nan=False)
    again = BridgeSurface.from_dict(json.loads(text))
    for name in ("lam", "alpha", "loss", "standard_error", "x", "y"):
        np.testing.assert_allclose(getattr(again, name), getattr(surface, name), atol=6e-5)
    # five digits are written, so at most half a unit of the fifth is lost
    np.testing.assert_allclose(again.mesh.apart, surface.mesh.apart, rtol=5.1e-5)
    assert (again.chosen, again.searched, again.loss_name) == ((0.5, 3.0), False, "log loss")
    assert again.curves.keys() == surface.curves.keys()
    assert again.hangers.keys() == surface.hangers.keys()
    # what failed has no number, and needs none
    failed = compute_surface(
        _tried([(0.0, 1.0), (1.0, 1.0)], lambda lam, alpha: None if lam else 1.0),
        LOG_RATIO,
        (0.0, 1.0),
    )
    numbers = json.loads(json.dumps(failed.to_dict(), allow_nan=False))
    assert numbers["loss"][1] is None
    assert np.isnan(BridgeSurface.from_dict(numbers).loss[1])


def test_rows_of_ratio_zero_and_of_one_value():
    # rows no target row can be are one group, and a constant ratio makes all weightings one point
    zero = compute_surface(_tried(_grid()), np.r_[LOG_RATIO, -np.inf], (0.5, 1.0))
    assert np.isfinite(zero.x).all()
    point = compute_surface(_tried(_grid()), np.full(30, 0.3), (0.5, 1.0))
    assert point.kept == 1
    assert not np.abs(np.column_stack([point.x, point.y])).max()
    BridgeDisplay(point).plot()


def test_filled_surfaces_have_the_colours_of_the_reports():
    from weighbridge._svg import style_sheet
    from weighbridge.plotting._display import LOSS_STEPS

    light = style_sheet().split("@media")[0]
    assert all(f"--wb-step-{k}: {colour};" in light for k, colour in enumerate(LOSS_STEPS))
    display = BridgeDisplay(compute_surface(_tried(_grid()), LOG_RATIO, (0.5, 1.0))).plot()
    assert display.ax_.get_aspect() >= 1


def test_errors(model):
    with pytest.raises(ValueError, match="Got chart='map'"):
        BridgeDisplay.from_estimator(model, chart="map")
    data = make_quadratic(400, 100, reading="all_sd", random_state=0)
    fixed = ImportanceWeighted(LinearRegression(), data.ratio).fit(data.X, data.y)
    with pytest.raises(TypeError, match="did not search for a weighting"):
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


@pytest.mark.parametrize("chart", ["bridge", "rectangle"])
def test_nothing_leaves_the_figure(chart):
    # a bridge as high as it is long, with the legend below it and words at the colours beside it
    log_ratio = np.random.default_rng(0).normal(0, 6.0, 400)
    display = BridgeDisplay(compute_surface(_tried(_grid()), log_ratio, (0.5, 1.0)))
    figure = display.plot(chart=chart).figure_
    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    assert (box.min >= -0.02).all()
    assert (box.max <= figure.get_size_inches() + 0.02).all()
