"""One alpha-geodesic, solved as a boundary-value problem by collocation at Chebyshev points.

The curve is solved for at constant Fisher speed, for its speed in lam may vary by many orders of
magnitude; lam is an integral along it. It is found from a first guess or grown from one end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct
from scipy.linalg import lu_factor, lu_solve

from weighbridge.geodesic import check_lam
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha
from weighbridge.manifolds._pace import PacedCurve


def nodes(degree: int) -> np.ndarray:
    """Return the degree + 1 Chebyshev points, from -1 to 1."""
    return np.sin(np.pi * (2 * np.arange(degree + 1) - degree) / (2 * degree))


def to_coefficients(values: np.ndarray) -> np.ndarray:
    """Return the Chebyshev coefficients of the polynomial with these values at the nodes."""
    degree = len(values) - 1
    coefficients = dct(values[::-1], type=1, axis=0) / degree
    coefficients[[0, -1]] /= 2
    return coefficients


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
    """The curve at constant Fisher speed on Chebyshev points; unknown are the inner ones.

    Across the curve the equation is that of an alpha-geodesic in whatever parameter,
    ``(1 + alpha)/2 g theta'' + (1 - alpha)/2 eta''`` parallel to ``eta'``; along it,
    ``theta' . eta'`` does not change.
    """

    def __init__(self, task: Task, degree: int):
        self.task, self.family = task, task.family
        self.flat, self.bent = (1 + task.alpha) / 2, (1 - task.alpha) / 2
        first = chebyshev.chebder(to_coefficients(np.eye(degree + 1)))
        self._first = chebyshev.chebvander(nodes(degree), degree - 1) @ first
        self._second = self._first @ self._first

    def newton(self, theta: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Take damped Newton steps; return the first one relative to the curve, and theta."""
        first = np.inf
        if not self._inside(theta):
            return first, None
        for count in range(_MAX_STEPS):
            metric = np.array([self.family.metric(point) for point in theta])
            terms = self._terms(theta)
            factors = self._factors(theta, metric, terms)
            step = self._solve(factors, self._residual(metric, terms))
            size = _fisher_norm(metric, step)
            floor = _ROUNDING * _fisher_norm(metric, theta)
            length = 2 * _fisher_norm(metric, self._first @ theta)
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
                there = np.array([self.family.metric(point) for point in trial])
                after = self._solve(factors, self._residual(there, self._terms(trial)))
                if _fisher_norm(metric, after) <= (1 - damping / 2) * size:
                    return trial
            damping /= 2
        return None

    def _inside(self, theta: np.ndarray) -> bool:
        return all(self.family.in_domain(point) for point in theta)

    def _terms(self, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return theta', theta'', eta', eta'', the speed and the last factor of the residual."""
        self.task.spend(len(theta))
        eta = np.array([self.family.expectation(point) for point in theta])
        u, a = (matrix[1:-1] @ theta for matrix in (self._first, self._second))
        v, b = (matrix[1:-1] @ eta for matrix in (self._first, self._second))
        square = np.einsum("ia,ia->i", u, v)
        along = self.flat * np.einsum("ia,ia->i", u, b) + self.bent * np.einsum("ia,ia->i", v, a)
        return u, a, v, b, square, along / square

    def _residual(self, metric: np.ndarray, terms: tuple[np.ndarray, ...]) -> np.ndarray:
        _, a, v, b, _, along = terms
        straight = np.einsum("iab,ib->ia", metric[1:-1], a)
        return self.flat * straight + self.bent * b + along[:, None] * v

    def _factors(
        self, theta: np.ndarray, metric: np.ndarray, terms: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the LU factors of the Jacobian."""
        inner, g = theta[1:-1], metric[1:-1]
        u, a, v, b, square, along = terms
        flat, bent, one = self.flat, self.bent, np.eye(inner.shape[1])
        v_over, share = v / square[:, None], along[:, None]

        def outer(right: np.ndarray) -> np.ndarray:
            return np.einsum("ia,ib->iab", v_over, right)

        # what stands before the derivatives of theta and of eta, of order 2 and 1
        parts = [
            (self._second, flat * g + bent * outer(v), bent * one + flat * outer(u)),
            (
                self._first,
                outer(flat * b - share * v),
                share[..., None] * one + outer(bent * a - share * u),
            ),
        ]
        jacobian = np.zeros((*inner.shape, *inner.shape))
        for matrix, by_theta, by_eta in parts:
            matrix = matrix[1:-1, 1:-1]
            jacobian += np.einsum("ij,iab->iajb", matrix, by_theta)
            jacobian += np.einsum("ij,iac,jcb->iajb", matrix, by_eta, g, optimize=True)
        skewness = np.array([self.family.skewness(point) for point in inner])
        points = np.arange(len(inner))
        jacobian[points, :, points, :] += flat * np.einsum("iabc,ic->iab", skewness, a)
        matrix = jacobian.reshape(inner.size, inner.size)
        return lu_factor(matrix, check_finite=False)

    def _solve(self, factors: tuple[np.ndarray, np.ndarray], residual: np.ndarray) -> np.ndarray:
        step = np.zeros((len(self._first), self.family.dim))
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


def _solve_geodesic(
    family: ExponentialFamily, start: np.ndarray, stop: np.ndarray, alpha: float
) -> PacedCurve:
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
    return _paced(family, alpha, curve)


def _paced(family: ExponentialFamily, alpha: float, theta: np.ndarray) -> PacedCurve:
    def place(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        point, rate = (chebyshev.chebval(2 * x - 1, c) for c in (theta, chebyshev.chebder(theta)))
        return np.moveaxis(point, 0, -1), 2 * np.moveaxis(rate, 0, -1)

    walk = zip(*place((nodes(len(theta) - 1) + 1) / 2), strict=True)
    rates = [family.skewness(p) @ u @ u @ u / (u @ family.metric(p) @ u) for p, u in walk]
    # lam'' / lam' of a parameter lam that is affine
    log = chebyshev.chebint(-alpha / 4 * to_coefficients(np.array(rates)))
    return PacedCurve(place, lambda x: chebyshev.chebval(2 * x - 1, log), len(theta) // 2)


def _solve(task: Task, start: np.ndarray, stop: np.ndarray) -> np.ndarray | None:
    """Return the curve once two degrees agree on it."""
    curve: np.ndarray | None = None
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


def _noise(family: ExponentialFamily, curve: np.ndarray) -> float:
    """Return the largest error, as a Fisher length, that double precision leaves in a curve."""
    theta = chebyshev.chebval(nodes(16), curve).T
    rounding = 2.0**-52 * np.abs(theta).max(axis=0)
    squares = [rounding**2 @ np.diag(family.metric(point)) for point in theta]
    return float(np.sqrt(max(squares)))


def _find(task: Task, start: np.ndarray, stop: np.ndarray, degree: int) -> np.ndarray | None:
    """Solve from nothing: from the nearer one of the two flat curves, or else from an end."""
    flat = AlphaGeodesic(task.family, start, stop, 1.0 if task.alpha >= 0 else -1.0)
    try:
        guess = to_coefficients(flat.points((nodes(degree) + 1) / 2))
    except ArithmeticError:  # expectations of members, but rounded to those of none
        return _prolong(task, start, stop, degree)
    curve = _refine(task, guess, stop, degree)[1]
    return _prolong(task, start, stop, degree) if curve is None else curve


def _prolong(task: Task, start: np.ndarray, stop: np.ndarray, degree: int) -> np.ndarray | None:
    """Solve for ends ever farther on the straight line to `stop`, each time from the last curve."""
    curve = to_coefficients(np.tile(start, (degree + 1, 1)))
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


def _refine(
    task: Task, curve: np.ndarray, stop: np.ndarray, degree: int
) -> tuple[float, np.ndarray | None]:
    """Solve from a nearby curve; also return the first step, relative to the curve."""
    x = nodes(degree)
    theta = chebyshev.chebval(x, curve).T
    theta += (x[:, None] + 1) / 2 * (stop - theta[-1])
    theta[-1] = stop
    try:
        error, found = Equation(task, degree).newton(theta)
    except ExhaustedError:
        raise
    except ArithmeticError:  # a step went where the moments are not doubles
        return np.inf, None
    return error, None if found is None else to_coefficients(found)


class AlphaGeodesic:
    """One alpha-geodesic, solved once and evaluated anywhere."""

    def __init__(self, family: ExponentialFamily, start: Any, stop: Any, alpha: float):
        self.family = family
        self.start, self.stop = family.check(start), family.check(stop)
        alpha = one_alpha(alpha)
        # a curve that stays where it is needs no solver
        self.alpha = 1.0 if np.array_equal(self.start, self.stop) else alpha
        self._curve: Any = None
        if abs(self.alpha) != 1:
            problem = self.start, self.stop, self.alpha
            self._curve = family._closed_geodesic(*problem) or _solve_geodesic(family, *problem)

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
                "to values that no member of the family has: x has a mean too large for its "
                "spread, or the ends are too near to the boundary. Shift and scale x."
            ) from error

    def _expectations(self) -> tuple[np.ndarray, np.ndarray]:
        return self.family.expectation(self.start), self.family.expectation(self.stop)


def _checked(lam: Any) -> np.ndarray:
    lam = np.asarray(lam, dtype=float)
    check_lam(lam)
    return lam


def _line(start: np.ndarray, stop: np.ndarray, lam: np.ndarray) -> np.ndarray:
    return start + lam[..., None] * (stop - start)


def _each(function: Any, rows: np.ndarray) -> np.ndarray:
    """Apply a function of one vector to the vectors along the last axis."""
    flat = [function(row) for row in rows.reshape(-1, rows.shape[-1])]
    return np.reshape(flat, rows.shape)
