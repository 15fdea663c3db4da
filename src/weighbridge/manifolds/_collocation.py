"""One alpha-geodesic, solved as a boundary-value problem by collocation at Chebyshev points.

The points are spread by arc length, for the speed in lam may vary by orders of magnitude along one
curve. The unknown curve is found from a first guess or by growing it from one of its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct
from scipy.linalg import lu_factor, lu_solve

from weighbridge.geodesic import check_lam
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha

_NEWTON_STEPS = 50
# Coefficients of the logarithm of a speed that nodes follow.
_SMOOTH = 5


def nodes(degree: int) -> np.ndarray:
    """Return the degree + 1 Chebyshev points, from -1 to 1."""
    return np.sin(np.pi * (2 * np.arange(degree + 1) - degree) / (2 * degree))


def to_coefficients(values: np.ndarray) -> np.ndarray:
    """Return the Chebyshev coefficients of the polynomial with these values at the nodes."""
    degree = len(values) - 1
    coefficients = dct(values[::-1], type=1, axis=0) / degree
    coefficients[[0, -1]] /= 2
    return coefficients


def invert(coefficients: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return x in [-1, 1] where an increasing polynomial takes these values."""
    x = np.linspace(-1.0, 1.0, 16 * len(coefficients))
    table = np.maximum.accumulate(chebyshev.chebval(x, coefficients))
    place = np.clip(np.searchsorted(table, values), 1, x.size - 1)
    low, high = x[place - 1], x[place]
    guess = np.interp(values, table, x)
    slope = chebyshev.chebder(coefficients)
    for _ in range(_NEWTON_STEPS):
        gap = chebyshev.chebval(guess, coefficients) - values
        step = gap / np.maximum(chebyshev.chebval(guess, slope), 1e-300)
        moved = np.clip(guess - step, low, high)
        if np.max(np.abs(moved - guess), initial=0.0) <= 1e-15:
            break
        guess = moved
    return guess


def spread(speed: np.ndarray, degree: int) -> np.ndarray:
    """Return points x that cut a curve with this speed at its nodes as nodes of `degree` would."""
    top = float(np.max(speed))
    if not 0 < top < np.inf:
        return nodes(degree)
    log_speed = to_coefficients(np.log(np.maximum(speed / top, 1e-8)))
    smooth = log_speed[:_SMOOTH]
    fine = nodes(8 * len(speed))
    length = chebyshev.chebint(to_coefficients(np.exp(chebyshev.chebval(fine, smooth))))
    ends = chebyshev.chebval(np.array([-1.0, 1.0]), length)
    length *= 2 / (ends[1] - ends[0])
    length[0] -= chebyshev.chebval(-1.0, length) + 1
    return invert(length, nodes(degree))


# A step this small next to the curve is the last: the next one would be its square.
_LAST_STEP = 1e-7
# What double precision leaves of a parameter, relative to it.
_ROUNDING = 1e-13
_MAX_STEPS = 30
_SMALLEST_DAMPING = 2.0**-6
# Residuals times unknowns of one curve, over all degrees: some seconds for a vector of normals.
_WORK = 80_000


class ExhaustedError(ArithmeticError):
    """The work allowed for one curve is done."""


class Task:
    """The family and the equation of one curve, and the work it may still take."""

    def __init__(self, family: ExponentialFamily, alpha: float):
        self.family, self.alpha, self._left = family, alpha, _WORK

    def spend(self, points: int) -> None:
        """Count the evaluation of a residual."""
        self._left -= points * self.family.dim
        if self._left < 0:
            raise ExhaustedError


class Equation:
    """The equation on one grid of lam; unknown are the values of theta at the inner points."""

    def __init__(self, task: Task, lam: np.ndarray):
        self.task, self.family, self.lam = task, task.family, lam
        self.flat, self.bent = (1 + task.alpha) / 2, (1 - task.alpha) / 2
        degree = lam.size - 1
        first = chebyshev.chebder(to_coefficients(np.eye(degree + 1)))
        first = chebyshev.chebvander(nodes(degree), degree - 1) @ first
        slope = first @ lam
        self.increasing = bool((slope > 0).all())
        self._rate = first
        with np.errstate(divide="ignore", invalid="ignore"):
            by_lam = first / slope[:, None]
            self._second = by_lam @ by_lam

    def newton(self, theta: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Take damped Newton steps; return the first one relative to the curve, and theta."""
        first = np.inf
        if not self.increasing or not self._inside(theta):
            return first, None
        for count in range(_MAX_STEPS):
            metric = np.array([self.family.metric(point) for point in theta])
            factors = self._factors(theta, metric)
            step = self._solve(factors, self._residual(theta, metric))
            size = _fisher_norm(metric, step)
            floor = _ROUNDING * _fisher_norm(metric, theta)
            length = 2 * _fisher_norm(metric, self._rate @ theta)
            relative = max(0.0, size - floor) / max(length, floor)
            first = relative if count == 0 else first
            if not np.isfinite(size):
                return first, None
            if relative <= _LAST_STEP:
                return first, theta + step
            moved = self._damped(theta, step, size, metric, factors)
            if moved is None:
                return first, None
            theta = moved
        return first, None

    def _damped(
        self,
        theta: np.ndarray,
        step: np.ndarray,
        size: float,
        metric: np.ndarray,
        factors: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray | None:
        """Take the longest of 1, 1/2, 1/4, ... of the step after which the next one is shorter."""
        damping = 1.0
        while damping >= _SMALLEST_DAMPING:
            trial = theta + damping * step
            if self._inside(trial):
                after = self._solve(factors, self._residual(trial))
                if _fisher_norm(metric, after) <= (1 - damping / 2) * size:
                    return trial
            damping /= 2
        return None

    def _inside(self, theta: np.ndarray) -> bool:
        return all(self.family.in_domain(point) for point in theta)

    def _factors(self, theta: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the LU factors of the Jacobian."""
        inner = theta[1:-1]
        skewness = np.array([self.family.skewness(point) for point in inner])
        g, second = metric[1:-1], self._second[1:-1, 1:-1]
        # [row point, row coordinate, column point, column coordinate]
        jacobian = self.flat * np.einsum("ij,iab->iajb", second, g)
        jacobian += self.bent * np.einsum("ij,jab->iajb", second, g)
        points = np.arange(len(inner))
        turning = np.einsum("iabc,ic->iab", skewness, self._second[1:-1] @ theta)
        jacobian[points, :, points, :] += self.flat * turning
        matrix = jacobian.reshape(inner.size, inner.size)
        return lu_factor(matrix, check_finite=False)

    def _residual(self, theta: np.ndarray, metric: np.ndarray | None = None) -> np.ndarray:
        self.task.spend(len(theta))
        if metric is None:
            metric = np.array([self.family.metric(point) for point in theta])
        eta = np.array([self.family.expectation(point) for point in theta])
        straight = np.einsum("iab,ib->ia", metric, self._second @ theta)
        return (self.flat * straight + self.bent * self._second @ eta)[1:-1]

    def _solve(self, factors: tuple[np.ndarray, np.ndarray], residual: np.ndarray) -> np.ndarray:
        step = np.zeros((self.lam.size, self.family.dim))
        solution = lu_solve(factors, -residual.ravel(), check_finite=False)
        step[1:-1] = solution.reshape(residual.shape)
        return step


def _fisher_norm(metric: np.ndarray, vectors: np.ndarray) -> float:
    """Root mean square of the lengths of one vector at each point."""
    squares = np.einsum("ia,iab,ib->i", vectors, metric, vectors)
    return float(np.sqrt(np.mean(np.maximum(squares, 0.0))))


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


def _solve_geodesic(
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
            "x has a mean so large for its spread that no digits are left. Use an alpha nearer "
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
    """Return the largest error, as a Fisher length, that double precision leaves in a curve."""
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
    except ArithmeticError:  # a step went where the moments are not doubles
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


class AlphaGeodesic:
    """One alpha-geodesic, solved once and evaluated anywhere."""

    def __init__(self, family: ExponentialFamily, start: Any, stop: Any, alpha: float):
        self.family = family
        self.start, self.stop = family.check(start), family.check(stop)
        alpha = one_alpha(alpha)
        # a curve that stays where it is needs no solver
        self.alpha = 1.0 if np.array_equal(self.start, self.stop) else alpha
        self._curve: Curve | None = None
        if abs(self.alpha) != 1:
            self._curve = _solve_geodesic(family, self.start, self.stop, self.alpha)

    def points(self, lam: Any) -> np.ndarray:
        """Return theta at `lam`."""
        lam = _checked(lam)
        if self._curve is not None:
            points = self._curve.points(lam)
        elif self.alpha == -1:
            points = _each(self._natural, _line(*self._expectations(), lam))
        else:
            points = _line(self.start, self.stop, lam)
        # the ends are known, a polynomial or an inverse would round them
        points = np.where((lam == 0)[..., None], self.start, points)
        return np.where((lam == 1)[..., None], self.stop, points)

    def velocities(self, lam: Any) -> np.ndarray:
        """Return d theta / d lam at `lam`."""
        lam = _checked(lam)
        if self._curve is not None:
            return self._curve.velocities(lam)
        if self.alpha == -1:
            first, last = self._expectations()
            rise = last - first
            return _each(lambda theta: self.family._raise(theta, rise), self.points(lam))
        return np.broadcast_to(self.stop - self.start, (*lam.shape, self.family.dim)).copy()

    def _natural(self, eta: np.ndarray) -> np.ndarray:
        try:
            return self.family.natural(eta)
        except ValueError as error:
            raise ArithmeticError(
                f"The expectations between theta={self.start} and theta={self.stop} were rounded "
                "to some that no member of the family has: x has a mean too large for its "
                "spread, or the ends are too near to the boundary. Shift and scale x."
            ) from error

    def _expectations(self) -> tuple[np.ndarray, np.ndarray]:
        return self.family.expectation(self.start), self.family.expectation(self.stop)


def _checked(lam: Any) -> np.ndarray:
    lam = np.asarray(lam, dtype=float)
    check_lam(np, lam)
    return lam


def _line(start: np.ndarray, stop: np.ndarray, lam: np.ndarray) -> np.ndarray:
    return start + lam[..., None] * (stop - start)


def _each(function: Any, rows: np.ndarray) -> np.ndarray:
    """Apply a function of one vector to the vectors along the last axis."""
    flat = [function(row) for row in rows.reshape(-1, rows.shape[-1])]
    return np.reshape(flat, rows.shape)
