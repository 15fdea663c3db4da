"""The half-plane of normal distributions: curves of weighted densities between two of them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pictures import faults
from weighbridge.plotting import GeodesicDisplay, compute_half_plane

START, STOP = (0.0, 1.0), (1.5, 0.7)


def _weighted(alpha, lam):
    """Return the weighted density by its formula, and its mass."""
    p, q = norm(*START), norm(*STOP)

    def density(x):
        power = (1 - alpha) / 2
        if alpha == 1:
            return p.pdf(x) ** (1 - lam) * q.pdf(x) ** lam
        mean = (1 - lam) * p.pdf(x) ** power + lam * q.pdf(x) ** power
        return mean ** (1 / power)

    return density, quad(density, -8, 9, limit=200)[0]


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 3.0])
def test_moments_and_distance_by_quadrature(alpha):
    plane = compute_half_plane(START, STOP, alphas=[alpha], n_points=9)
    for place in (2, 4, 6):
        density, mass = _weighted(alpha, plane.lam[0, place])
        mean, square = (
            quad(lambda x, k, f=density: x**k * f(x), -8, 9, args=(k,))[0] / mass for k in (1, 2)
        )
        sd = np.sqrt(square - mean**2)
        np.testing.assert_allclose(
            [plane.mean[0, place], plane.sd[0, place]], [mean, sd], rtol=1e-6
        )
        normal = norm(mean, sd)

        def divergence(x, normal=normal, density=density, mass=mass):
            value = density(x) / mass
            return value * (np.log(value) - normal.logpdf(x)) if value > 1e-300 else 0.0

        expected = quad(divergence, -6, 7, limit=200)[0]
        assert plane.distance[0, place] == pytest.approx(expected, abs=1e-7)


def test_curves_begin_and_end_at_the_two_distributions():
    plane = compute_half_plane(START, STOP)
    np.testing.assert_array_equal(plane.lam[:, [0, -1]], [[0, 1]] * 4)
    np.testing.assert_allclose(plane.mean[:, [0, -1]], [[START[0], STOP[0]]] * 4, atol=1e-12)
    np.testing.assert_allclose(plane.sd[:, [0, -1]], [[START[1], STOP[1]]] * 4, rtol=1e-12)
    assert not plane.distance[:, [0, -1]].any()
    assert (plane.distance >= 0).all()


def test_only_alpha_one_stays_in_the_family():
    plane = compute_half_plane(START, STOP)
    largest = dict(zip(plane.alpha, plane.distance.max(axis=1), strict=True))
    assert largest.pop(1.0) == 0
    assert min(largest.values()) > 1e-3


def test_points_are_equally_far_apart():
    # about, in the plane that is drawn: lam is interpolated between a hundred steps, and the tail
    # of a narrower target moves the relative curve while lam is still below 1e-15
    plane = compute_half_plane((0, 1), (2, 0.5))
    steps = np.hypot(np.diff(plane.mean), np.diff(plane.sd))
    assert (steps.max(axis=1) < 2.5 * np.median(steps, axis=1)).all()


def test_one_distribution_is_one_point():
    plane = compute_half_plane((0, 1), (0, 1), n_points=5)
    assert np.ptp(plane.mean) == pytest.approx(0, abs=1e-9)
    assert plane.distance.max() == pytest.approx(0, abs=1e-9)


def test_picture():
    display = GeodesicDisplay.from_normals(START, STOP, n_points=15)
    assert display.plot() is display
    table = display.table()
    for place, line in enumerate(display.ax_.lines[:4]):
        np.testing.assert_array_equal(line.get_xdata(), table["mean"][15 * place : 15 * place + 15])
    assert len(display.lines_) == 3  # those that leave the family
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [
        "alpha -1, mixture",
        "alpha 0, straight",
        "alpha 1, power",
        "alpha 3, relative",
    ]
    assert not faults(display)
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax
    plt.close(ax.figure)


def test_errors():
    with pytest.raises(ValueError, match=r"Got start=1, but expected a pair"):
        compute_half_plane(1, STOP)
    with pytest.raises(ValueError, match=r"Got alphas=\(\), but expected at least one"):
        compute_half_plane(START, STOP, alphas=())
    with pytest.raises(ValueError, match="n_points"):
        compute_half_plane(START, STOP, n_points=2)
    with pytest.raises(TypeError, match="Got half_plane of type tuple, but expected"):
        GeodesicDisplay(START)
