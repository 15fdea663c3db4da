"""Derivatives of a log-partition by Cauchy's integral, and the inverse of its gradient.

On a circle ``theta + r exp(i phi) v`` the Fourier coefficients of psi are ``r^k/k! D^k psi[v, ...,
v]``: an average of values, with none of the cancellation of finite differences. Mixed derivatives
follow from directions ``v`` that are sums of coordinate directions.
"""

from __future__ import annotations

import warnings
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_solve

if TYPE_CHECKING:
    from weighbridge.manifolds._exponential_family import ExponentialFamily

# Points on a circle; psi(conj z) = conj psi(z), so that half of them are computed.
_POINTS = 64
_HALF_CIRCLE = np.exp(2j * np.pi * np.arange(_POINTS // 2 + 1) / _POINTS)
# A circle is too large if the upper half of its spectrum is above _TAIL of the whole (what the
# orders 65, 66, 67 add to 1, 2, 3 is then far smaller) or if a circle of 0.6 the radius gives other
# orders 1, 2, 3. It is too small if psi moves so little that rounding is above _NOISE of that, and
# could be larger if psi moves less than _STILL of its value.
_TAIL = 1e-12
_AGREEMENT = 1e-11
_NOISE = 1e-9
_STILL = 1e-3
_SHRINK, _GROW = 0.7, 2.0
_TRIALS = 400
_NEWTON_STEPS = 200


def gradient(family: ExponentialFamily, theta: np.ndarray) -> np.ndarray:
    """First derivatives of psi."""
    scale, series = _along_coordinates(family, theta)
    return series[:, 0] / scale


def hessian(family: ExponentialFamily, theta: np.ndarray) -> np.ndarray:
    """Second derivatives of psi, by polarisation."""
    scale, series = _along_coordinates(family, theta)
    result = np.diag(series[:, 1])
    for i, j in combinations(range(len(theta)), 2):
        plus, minus = _along_pair(family, theta, scale, i, j)
        result[i, j] = result[j, i] = (plus[1] - minus[1]) / 4
    return result / np.multiply.outer(scale, scale)


def third(family: ExponentialFamily, theta: np.ndarray) -> np.ndarray:
    """Third derivatives of psi, by polarisation."""
    scale, series = _along_coordinates(family, theta)
    dim, cubes = len(theta), series[:, 2]
    result = np.zeros((dim, dim, dim))
    result[(np.arange(dim),) * 3] = cubes
    sums = np.zeros((dim, dim))
    for i, j in combinations(range(dim), 2):
        plus, minus = (order[2] for order in _along_pair(family, theta, scale, i, j))
        sums[i, j] = plus
        # (a + b)^3 -+ (a - b)^3 = 2 b^3 + 6 a^2 b and 2 a^3 + 6 a b^2
        _fill(result, (i, i, j), (plus - minus - 2 * cubes[j]) / 6)
        _fill(result, (i, j, j), (plus + minus - 2 * cubes[i]) / 6)
    for i, j, k in combinations(range(dim), 3):
        direction = np.zeros(dim)
        direction[[i, j, k]] = scale[[i, j, k]]
        whole = _series(family, theta, direction)[2]
        pairs = sums[i, j] + sums[i, k] + sums[j, k]
        _fill(result, (i, j, k), (whole - pairs + cubes[i] + cubes[j] + cubes[k]) / 6)
    return result / np.einsum("i,j,k->ijk", scale, scale, scale)


def _fill(tensor: np.ndarray, index: tuple[int, int, int], value: float) -> None:
    for order in permutations(index):
        tensor[order] = value


def _along_coordinates(
    family: ExponentialFamily, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Natural unit of each coordinate, and the first three derivatives in these units."""
    units = 1 + np.abs(theta)
    circles = [_circle(family, theta, unit) for unit in np.diag(units)]
    scale = units * np.array([radius for radius, _ in circles])
    return scale, np.array([orders for _, orders in circles]) * [1, 2, 6]


def _along_pair(
    family: ExponentialFamily, theta: np.ndarray, scale: np.ndarray, i: int, j: int
) -> tuple[np.ndarray, np.ndarray]:
    direction = np.zeros(len(theta))
    direction[i], direction[j] = scale[i], scale[j]
    plus = _series(family, theta, direction)
    direction[j] = -scale[j]
    return plus, _series(family, theta, direction)


def _series(family: ExponentialFamily, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Derivatives of order 1, 2, 3 along `direction`."""
    radius, orders = _circle(family, theta, direction)
    return orders * [1, 2, 6] / radius ** np.arange(1, 4)


def _circle(
    family: ExponentialFamily, theta: np.ndarray, direction: np.ndarray
) -> tuple[float, np.ndarray]:
    """A radius in units of `direction`, about as large as can be, and its orders 1, 2, 3."""
    radius, best, tried = 1.0, None, set()
    for _ in range(_TRIALS):
        orders, change = _orders(family, theta, radius * direction)
        if orders is not None:
            best = radius, orders
        tried.add(change)
        if change == 1 or (change < 1 and best) or tried >= {_SHRINK, _GROW}:
            break
        radius *= change
    if best is None:
        raise ArithmeticError(
            f"The derivatives of log_partition of {family!r} at theta={theta.tolist()} did not "
            "settle: no circle round theta was found on which it is analytic and keeps its digits. "
            "Write it without abs, real, max and the like, and check in_domain. If it is analytic, "
            "rounding is the cause (psi is large compared with its changes, or theta is near "
            "the boundary): shift and scale x, or give the class expectation, metric and skewness."
        )
    return best


def _orders(
    family: ExponentialFamily, theta: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray | None, float]:
    """Orders 1, 2, 3 of the power series if the circle is good; the factor to try next."""
    if not (family.in_domain(theta + direction) and family.in_domain(theta - direction)):
        return None, _SHRINK
    large = _coefficients(family, theta, direction)
    sizes = np.abs(large)
    tail, moves = sizes[_POINTS // 2 :].max(), sizes[1 : _POINTS // 2].max()
    # a pole, a zero of exp(psi) or a cut of log inside the circle keeps the tail up
    if not tail <= _TAIL * sizes.max():
        return None, _SHRINK
    if tail > _NOISE * moves:
        return None, _GROW
    small = _coefficients(family, theta, 0.6 * direction)[1:4] / 0.6 ** np.arange(1, 4)
    if not np.abs(large[1:4] - small).max() <= _AGREEMENT * sizes.max():
        return None, _SHRINK
    return large[1:4], _GROW if moves < _STILL * sizes[0] else 1.0


def _coefficients(
    family: ExponentialFamily, theta: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    """Fourier coefficients of psi on the circle, order 0 to 63; the upper half should vanish."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # functions of the math module drop the imaginary part with a warning
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            circle = [family.log_partition(theta + z * direction) for z in _HALF_CIRCLE]
    except (TypeError, np.exceptions.ComplexWarning) as error:
        raise TypeError(
            f"The log_partition of {family!r} does not take complex numbers ({error}). Write it "
            "with functions that do (np.log, np.sqrt, scipy.special.loggamma), or give the class "
            "expectation, metric and skewness."
        ) from error
    values = np.asarray(circle, dtype=complex)
    if not np.isfinite(values).all():
        return np.full(_POINTS, np.nan)
    return np.fft.hfft(values, _POINTS) / _POINTS


def solve_expectation(family: ExponentialFamily, eta: np.ndarray, start: Any) -> np.ndarray:
    """Minimise the convex ``psi(theta) - theta . eta`` by damped Newton steps."""
    theta = _starting_point(family) if start is None else family.check(start)
    last, cause = np.inf, None
    for count in range(_NEWTON_STEPS):
        try:
            gap = eta - family.expectation(theta)
            step = cho_solve((np.linalg.cholesky(family.metric(theta)), True), gap)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            if count == 0:
                raise
            cause = error
            break
        decrement = float(step @ gap)
        # Newton squares the error, so that the step after 1e-18 is lost in rounding
        if decrement <= 1e-18 or last <= decrement <= 1e-14:
            return theta + step if family.in_domain(theta + step) else theta
        moved = _damped(family, theta, step, eta, decrement)
        if moved is None:
            break
        theta, last = moved, decrement
    raise ValueError(
        f"Got eta={eta.tolist()}, but no theta of {family!r} with that expectation was found: it "
        "is not attainable, or too near to the boundary. Check it, or give a start nearer to it."
    ) from cause


def _damped(
    family: ExponentialFamily,
    theta: np.ndarray,
    step: np.ndarray,
    eta: np.ndarray,
    decrement: float,
) -> np.ndarray | None:
    here = family.log_partition(theta) - theta @ eta
    size = 1.0
    for _ in range(100):
        there = theta + size * step
        if family.in_domain(there):
            gain = here - (family.log_partition(there) - there @ eta)
            # close to the solution the gain is below the rounding of psi; Newton needs no watching
            if gain >= 1e-4 * size * decrement or decrement < 1e-6:
                return there
        size /= 2
    return None


def _starting_point(family: ExponentialFamily) -> np.ndarray:
    """Some point of the domain: 0, or a corner of a cube."""
    if family.in_domain(np.zeros(family.dim)):
        return np.zeros(family.dim)
    for corner in product((-1.0, 1.0, 0.0), repeat=min(family.dim, 8)):
        theta = np.resize(corner, family.dim)
        if family.in_domain(theta):
            return theta
    raise ValueError(
        f"No parameter of {family!r} was found to start from; call natural(eta, start=theta) with "
        "any theta of the family."
    )
