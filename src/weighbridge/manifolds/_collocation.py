"""The boundary-value problem of an alpha-geodesic, by collocation at Chebyshev points.

The points are spread by arc length, for the speed in lam may vary by orders of magnitude along one
curve. The unknown curve is found from a first guess or by growing it from one of its ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from weighbridge.manifolds._chebyshev import invert, nodes, spread, to_coefficients
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._geodesic_equation import Equation, ExhaustedError, Task

_DEGREES = (16, 32, 64, 128, 256)
# Unknowns of the largest linear system: seconds, and a fifth of a gigabyte.
_LARGEST = 5000
# First step on a grid of twice the degree; the error after it is of the order of its square.
_AGREEMENT = 1e-7
# Fisher length that the rounding of a polynomial with the curve's largest parameters may have.
_COARSEST = 3e-10
# A curve that has to be prolonged grows by pieces of this Fisher length.
_STRETCH = 1.0
_MAX_PIECES = 40
_MAX_PROLONGED = 64
# Nodes follow the speed only where it varies by more than this: an even grid converges faster.
_UNEVEN = 8.0


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve as two polynomials in x from -1 to 1: ``theta(x)`` and its parameter ``lam(x)``."""

    theta: np.ndarray
    lam: np.ndarray

    def points(self, lam: np.ndarray) -> np.ndarray:
        """Return theta, the coordinates along the last axis."""
        x = invert(self.lam, lam)
        return np.moveaxis(chebyshev.chebval(x, self.theta), 0, -1)

    def reversed(self) -> Curve:
        """Return the same curve from its other end."""
        signs = (-1.0) ** np.arange(len(self.lam))
        lam = -signs * self.lam
        lam[0] += 1
        return Curve(signs[:, None] * self.theta, lam)

    def velocities(self, lam: np.ndarray) -> np.ndarray:
        """Return d theta / d lam, the coordinates along the last axis."""
        x = invert(self.lam, lam)
        rate = chebyshev.chebval(x, chebyshev.chebder(self.theta))
        return np.moveaxis(rate / chebyshev.chebval(x, chebyshev.chebder(self.lam)), 0, -1)


def solve_geodesic(
    family: ExponentialFamily, start: np.ndarray, stop: np.ndarray, alpha: float
) -> Curve:
    """Return the alpha-geodesic, or raise ArithmeticError if none was found."""
    try:
        curve = _solve(Task(family, alpha), start, stop)
    except ExhaustedError:
        curve = None
    if curve is None or _noise(family, curve) > _COARSEST:
        raise ArithmeticError(
            f"No alpha-geodesic was found for alpha={alpha:g} between theta={start} and "
            f"theta={stop}. There may be none (|alpha| > 1), or it is too long for the solver, or "
            "x has a mean so large beside its spread that no digits are left. Use an alpha nearer "
            "to 1 or -1, ends that are closer, or projected_curve; shift and scale x."
        )
    return curve


def _solve(task: Task, start: np.ndarray, stop: np.ndarray) -> Curve | None:
    """Return the curve once two degrees agree on it."""
    curve: Curve | None = None
    for degree in _DEGREES:
        if degree * task.family.dim > _LARGEST:
            break
        if curve is None:
            curve = _find(task, start, stop, degree)
            continue
        # the first step on the finer grid is the error of the coarser one
        error, curve = _refine(task, curve, stop, degree)
        if curve is not None and error <= _AGREEMENT:
            return curve
    return None


def _noise(family: ExponentialFamily, curve: Curve) -> float:
    """Return the Fisher length of what double precision does to the polynomial, where it is worst.

    Where theta is small and the metric large, the digits lost to a large theta elsewhere count.
    """
    theta = chebyshev.chebval(nodes(16), curve.theta).T
    rounding = 2.0**-52 * np.abs(theta).max(axis=0)
    squares = [rounding**2 @ np.diag(family.metric(point)) for point in theta]
    return float(np.sqrt(max(squares)))


def _find(task: Task, start: np.ndarray, stop: np.ndarray, degree: int) -> Curve | None:
    """Solve from nothing: from a blend of the two flat curves, or else from either end."""
    blend = _blend(task, start, stop, degree)
    curve = None if blend is None else _refine(task, blend, stop, degree)[1]
    if curve is not None or degree > _MAX_PROLONGED:
        return curve
    curve = _prolong(task, start, stop, degree)
    if curve is not None:
        return curve
    # a curve from a narrow to a wide distribution is often found where the way back is not
    back = _prolong(task, stop, start, degree)
    return None if back is None else back.reversed()


def _blend(task: Task, start: np.ndarray, stop: np.ndarray, degree: int) -> Curve | None:
    """Return a first guess, which is straight in theta for alpha >= 1, in eta for alpha <= -1."""
    family, share = task.family, (1 + min(1.0, max(-1.0, task.alpha))) / 2
    lam = (nodes(degree) + 1) / 2
    part, ends = lam[1:-1, None], (family.expectation(start), family.expectation(stop))
    inner = share * ((1 - part) * start + part * stop)
    if share < 1:
        try:
            mixed = [family.natural(eta) for eta in (1 - part) * ends[0] + part * ends[1]]
        except ValueError:  # expectations of members, but rounded to those of none
            return None
        inner += (1 - share) * np.array(mixed)
    return Curve(to_coefficients(np.vstack([start, inner, stop])), to_coefficients(lam))


def _prolong(task: Task, start: np.ndarray, stop: np.ndarray, degree: int) -> Curve | None:
    """Solve for ends ever farther on the straight line to `stop`, each time from the last curve."""
    lam = (nodes(degree) + 1) / 2
    curve = Curve(to_coefficients(np.outer(lam, 0 * start) + start), to_coefficients(lam))
    end, stretch = start, _STRETCH
    for _ in range(_MAX_PIECES):
        rest = stop - end
        far = float(np.sqrt(rest @ task.family.metric(end) @ rest))
        further = stop if far <= stretch else end + stretch / far * rest
        attempt = _refine(task, curve, further, degree)[1]
        if attempt is None and stretch < _STRETCH / 16:
            return None
        if attempt is None:
            stretch /= 2
            continue
        if further is stop:
            return attempt
        end, curve, stretch = further, attempt, min(_STRETCH, 1.5 * stretch)
    return None


def _refine(task: Task, curve: Curve, stop: np.ndarray, degree: int) -> tuple[float, Curve | None]:
    """Solve from a nearby curve; also return the first step, relative to the curve."""
    x = _spread_nodes(task.family, curve, degree)
    theta, lam = chebyshev.chebval(x, curve.theta).T, chebyshev.chebval(x, curve.lam)
    lam[[0, -1]] = 0.0, 1.0
    theta += lam[:, None] * (stop - theta[-1])
    theta[-1] = stop
    try:
        error, found = Equation(task, lam).newton(theta)
    except ExhaustedError:
        raise
    except ArithmeticError:  # a step went where the moments are no doubles
        return np.inf, None
    return error, None if found is None else Curve(to_coefficients(found), to_coefficients(lam))


def _spread_nodes(family: ExponentialFamily, curve: Curve, degree: int) -> np.ndarray:
    """Return where on the curve nodes go that are spread evenly by its Fisher length."""
    x = nodes(len(curve.lam) - 1)
    theta = chebyshev.chebval(x, curve.theta).T
    if not all(family.in_domain(point) for point in theta):
        return nodes(degree)
    rate = chebyshev.chebval(x, chebyshev.chebder(curve.theta)).T
    metric = np.array([family.metric(point) for point in theta])
    speed = np.sqrt(np.einsum("ia,iab,ib->i", rate, metric, rate))
    return spread(speed, degree) if speed.max() > _UNEVEN * speed.min() else nodes(degree)
