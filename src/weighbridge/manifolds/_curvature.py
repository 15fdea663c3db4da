"""Derivatives of a log-partition, and the connections and curvature that follow from them.

For ``Gamma^(alpha)_{ij,k} = (1 - alpha)/2 T_ijk`` in coordinates where ``T`` is the derivative of
the metric, every curvature is ``(1 - alpha^2)/4`` times a contraction of products of two ``T``.

On a circle ``theta + r exp(i phi) v`` the Fourier coefficients of psi are ``r^k/k! D^k psi[v, ...,
v]``: an average of values, with none of the cancellation of finite differences. Mixed derivatives
follow from directions ``v`` that are sums of coordinate directions.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular

from weighbridge.tables import one_number

if TYPE_CHECKING:
    from weighbridge.manifolds._exponential_family import ExponentialFamily


# Below this share no digit of an inverse metric is left.
_INDEPENDENT = 1e-13
# Central differences of order 8, and their step where the skewness is that of a normal.
_RULE = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
_STEP = 0.03


class CurvedSpace(ABC):
    """What follows from a metric that is a Hessian and from its derivative."""

    @abstractmethod
    def check(self, theta: Any) -> np.ndarray:
        """Return the coordinates as an array, or say what is wrong with them."""

    @abstractmethod
    def metric(self, theta: Any) -> np.ndarray:
        """Metric ``g_ij``."""

    @abstractmethod
    def skewness(self, theta: Any) -> np.ndarray:
        """Symmetric tensor ``T_ijk``, the derivative of the metric."""

    @abstractmethod
    def _vector(self, value: Any, name: str) -> np.ndarray:
        """Return one finite number for each coordinate."""

    def connection(self, theta: Any, alpha: float, raised: bool = False) -> np.ndarray:
        """Christoffel symbols of the alpha-connection.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.
        alpha : float
            Which connection.
        raised : bool, default=False
            Give ``Gamma^k_ij`` instead of ``Gamma_{ij,k}``.

        Returns
        -------
        ndarray of shape (dim, dim, dim)
            ``[i, j, k]`` holds ``Gamma^(alpha)_{ij,k} = (1 - alpha)/2 T_ijk``, or with `raised`
            ``Gamma^(alpha)k_ij``: the differentiated pair first, the component last.
        """
        factor, theta = (1 - _real(alpha)) / 2, self.check(theta)
        if not raised:
            return factor * self.skewness(theta)
        frame, tensor = self._frame(theta), self._frame_skewness(theta)
        # two indices go down with the frame, the last one up with its inverse
        lower = np.einsum("abc,ia,jb->ijc", tensor, frame, frame)
        flat = lower.reshape(-1, len(frame)).T
        return factor * np.linalg.solve(frame.T, flat).T.reshape(lower.shape)

    def curvature(self, theta: Any, alpha: float) -> np.ndarray:
        """Curvature tensor of the alpha-connection.

        ``R(X, Y) Z = D_X D_Y Z - D_Y D_X Z - D_[X, Y] Z`` with all indices down. In an exponential
        family ``R^(alpha) = (1 - alpha^2)/4 Lambda`` (Kimura & Hino, equation 68), and Lambda,
        ``4 R^(0)``, has every symmetry of a Riemannian curvature tensor.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.
        alpha : float
            Which connection; 0 is the Riemannian one.

        Returns
        -------
        ndarray of shape (dim, dim, dim, dim)
            ``[i, j, k, l]`` holds ``g(R(d_i, d_j) d_k, d_l)``, that is
            ``(1 - alpha^2)/4 (T_ikm T_jl^m - T_jkm T_il^m)``.
        """
        factor, theta = _factor(alpha), self.check(theta)
        frame, skewness = self._frame(theta), self._frame_skewness(theta)
        product = np.tensordot(skewness, skewness, axes=(2, 2))  # [i, k, j, l]
        # the difference is taken in the frame, where no large term hides the others
        tensor = product.transpose(0, 2, 1, 3) - product.transpose(2, 0, 1, 3)
        for _ in range(4):
            # each round maps the last axis and turns it to the front
            tensor = (tensor @ frame.T).transpose(3, 0, 1, 2)
        return factor * tensor

    def difference_tensor(self, theta: Any, alpha: float = -1.0, beta: float = 1.0) -> np.ndarray:
        """Difference ``K^(alpha, beta)`` of the beta- and the alpha-connection.

        ``(beta - alpha)/2 K`` with ``K = K^(-1, 1)``, the default, which is ``-T`` with its last
        index up (Kimura & Hino, equations 53 and 59).

        Returns
        -------
        ndarray of shape (dim, dim, dim)
            ``[i, j, k]`` holds ``K^k_ij``.
        """
        return (_real(alpha) - _real(beta)) / 2 * self.connection(theta, -1.0, raised=True)

    def relative_curvature(self, theta: Any, alpha: float, beta: float) -> np.ndarray:
        """Relative curvature ``R^(alpha, beta)``, its components in natural coordinates.

        ``R(X, Y) Z = D^(alpha)_X D^(beta)_Y Z - D^(beta)_Y D^(alpha)_X Z - D^(alpha)_[X, Y] Z``
        (Kimura & Hino, equation 52). For ``alpha != beta`` this is not a tensor: with ``f Y`` in
        place of ``Y`` a term ``(X f) K^(alpha, beta)(Y, Z)`` is left, so that these components
        hold in natural coordinates only. ``R^(alpha, beta) + R^(beta, alpha)`` is a tensor.

        Returns
        -------
        ndarray of shape (dim, dim, dim, dim)
            ``[i, j, k, l]`` holds ``g(R(d_i, d_j) d_k, d_l)``, that is ``(alpha - beta)/2 psi_ijkl
            + (1 - alpha)(1 + beta)/4 T_ikm T_jl^m - (1 + alpha)(1 - beta)/4 T_jkm T_il^m``, to
            about nine digits.
        """
        alpha, beta, theta = _real(alpha), _real(beta), self.check(theta)
        raised = self.connection(theta, -1.0, raised=True)
        product = np.einsum("ikm,jlm->ijkl", raised, self.skewness(theta))
        bent = (1 - alpha) * (1 + beta) * product
        bent -= (1 + alpha) * (1 - beta) * product.swapaxes(0, 1)
        return bent / 4 + ((alpha - beta) / 2 * self._fourth(theta) if alpha != beta else 0.0)

    def _fourth(self, theta: np.ndarray) -> np.ndarray:
        """Fourth derivatives of psi: central differences of T along an orthonormal frame."""
        frame = self._frame(theta)
        step = _STEP / (1 + np.abs(self._frame_skewness(theta)).max())
        rates = [
            sum(c * (self.skewness(theta + k * u) - self.skewness(theta - k * u)) for k, c in _RULE)
            for u in step * np.linalg.inv(frame)
        ]
        return np.tensordot(frame, np.array(rates) / step, axes=1)

    def ricci(self, theta: Any, alpha: float) -> np.ndarray:
        """Ricci tensor of the alpha-connection, ``Ric_jk = R_ijkl g^il``.

        Parameters
        ----------
        theta, alpha
            As in `curvature`.

        Returns
        -------
        ndarray of shape (dim, dim)
            ``(1 - alpha^2)/4 (T_jlm T_k^lm - T_jkm tau^m)`` with ``tau_m = T_mab g^ab``.
        """
        factor, theta = _factor(alpha), self.check(theta)
        frame = self._frame(theta)
        return factor * (frame @ _ricci(self._frame_skewness(theta)) @ frame.T)

    def scalar_curvature(self, theta: Any, alpha: float) -> float:
        """Scalar curvature of the alpha-connection, ``g^jk Ric_jk``.

        ``(1 - alpha^2)/4 (|T|^2 - |tau|^2)``, twice the Gaussian curvature in dimension 2 and 0 in
        dimension 1. Kimura & Hino (Proposition 4.3) have a factor of -4 at ``alpha = 3``, that is
        ``(1 - alpha^2)/2``, twice as large.

        Parameters
        ----------
        theta, alpha
            As in `curvature`.

        Returns
        -------
        float
            The curvature.
        """
        factor, skewness = _factor(alpha), self._orthonormal_skewness(self.check(theta))
        return factor * _scalar(skewness) + 0.0

    def sectional_curvature(self, theta: Any, u: Any, v: Any, alpha: float) -> float:
        """Sectional curvature of the plane of two tangent vectors.

        ``g(R^(alpha)(u, v) v, u)`` over the squared area of `u` and `v`. It belongs to the plane
        for every alpha, being ``1 - alpha^2`` times the Riemannian one.

        Parameters
        ----------
        u, v : array of shape (dim,)
            Two vectors in natural coordinates, not parallel.
        theta, alpha
            As in `curvature`.

        Returns
        -------
        float
            The curvature.
        """
        plane = self._vector(u, "u"), self._vector(v, "v")
        factor, theta = _factor(alpha), self.check(theta)
        return factor * _sectional(self._frame(theta), self._frame_skewness(theta), *plane)

    def _frame(self, theta: np.ndarray) -> np.ndarray:
        """Lower root K of the metric, ``g = K K'``; override where some root is known."""
        return _root(self.metric(theta))

    def _frame_skewness(self, theta: np.ndarray) -> np.ndarray:
        """T in the frame K, in which g is 1; override it together with the frame."""
        frame, skewness = self._frame(theta), self.skewness(theta)
        for _ in range(3):
            # T is symmetric, so that turning the axes round whitens each of them once
            flat = skewness.reshape(-1, len(frame)).T
            whitened = solve_triangular(frame, flat, lower=True).T
            skewness = whitened.reshape(skewness.shape).transpose(2, 0, 1)
        return skewness

    def _raise(self, theta: np.ndarray, covector: np.ndarray) -> np.ndarray:
        """Inverse metric times a vector of expectations."""
        frame = self._frame(theta)
        return np.linalg.solve(frame.T, np.linalg.solve(frame, covector))

    def _orthonormal_skewness(self, theta: np.ndarray) -> np.ndarray:
        """T in any orthonormal frame at all, which is enough for scalars."""
        return self._frame_skewness(theta)


def _real(alpha: float) -> float:
    value = one_number(alpha, "alpha")
    if not np.isfinite(value):
        raise ValueError(f"Got alpha={alpha}, but a connection needs a finite alpha.")
    return value


def _factor(alpha: float) -> float:
    """``(1 - alpha^2)/4``, exactly 0 at +-1."""
    alpha = _real(alpha)
    return (1 - alpha) * (1 + alpha) / 4


def _ricci(skewness: np.ndarray) -> np.ndarray:
    """Return ``T_jlm T_klm - T_jkm tau_m`` for T in an orthonormal frame."""
    flat = skewness.reshape(len(skewness), -1)
    return flat @ flat.T - skewness @ np.einsum("maa->m", skewness)


def _scalar(skewness: np.ndarray) -> float:
    """Return ``|T|^2 - |tau|^2`` for T in an orthonormal frame."""
    squares = np.sum(skewness**2, axis=2)
    diagonal = np.einsum("aac->ac", skewness)
    # summed over planes a, b; the terms a = b are 0, and near a boundary the largest of all
    planes = squares - diagonal @ diagonal.T
    return float(planes.sum(where=~np.eye(len(planes), dtype=bool)))


def _sectional(frame: np.ndarray, skewness: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """Curvature ``R(u, v, v, u)`` over the squared area of the plane."""
    a, b = frame.T @ u, frame.T @ v
    size = np.sqrt((a @ a) * (b @ b))
    # the part of b across a; its length is the area over |a|
    across = b - a * ((a @ b) / (a @ a)) if a.any() else b
    area = np.sqrt((a @ a) * (across @ across))
    if not area > 1e-7 * size:
        raise ValueError(
            f"Got u={u.tolist()} and v={v.tolist()}, which do not span a plane; a sectional "
            "curvature needs two vectors that are not parallel."
        )
    a, b = a / np.linalg.norm(a), across / np.linalg.norm(across)
    ab, bb, aa = skewness @ b @ a, skewness @ b @ b, skewness @ a @ a
    return float(ab @ ab - bb @ aa)


def _root(metric: np.ndarray) -> np.ndarray:
    """Lower root of g."""
    cause = None
    try:
        root = np.linalg.cholesky(metric)
        # what is left of each statistic after those before it, as a share of its variance
        if (np.diag(root) ** 2 > _INDEPENDENT * np.diag(metric)).all():
            return root
    except np.linalg.LinAlgError as error:
        cause = error
    raise ArithmeticError(
        "The Fisher metric is not positive definite in floating point. Either the statistics F(x) "
        "are linearly dependent (drop one), or theta is too near to the boundary of the family: "
        "move away from it, or shift and scale x."
    ) from cause


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
