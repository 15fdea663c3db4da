"""Connections and curvature of a space with a metric g and a symmetric tensor T.

For ``Gamma^(alpha)_{ij,k} = (1 - alpha)/2 T_ijk`` in coordinates where ``T`` is the derivative of
``g``, every curvature is ``(1 - alpha^2)/4`` times a contraction of products of two ``T``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from weighbridge._data import one_number

# Below this share no digit of an inverse metric is left.
_INDEPENDENT = 1e-13


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
        family ``R^(alpha) = (1 - alpha^2) R^(0)``, which has every symmetry of a Riemannian one.

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

    def ricci(self, theta: Any, alpha: float) -> np.ndarray:
        """Ricci tensor of the alpha-connection, ``Ric_jk = R_ijkl g^il``.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.
        alpha : float
            Which connection; 0 is the Riemannian one.

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
        dimension 1. Kimura & Hino's Proposition 2 has -4 for the factor at ``alpha = 3``, which is
        ``(1 - alpha^2)/2`` and twice too large.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.
        alpha : float
            Which connection; 0 is the Riemannian one.

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
        theta : array of shape (dim,)
            Natural parameters.
        u, v : array of shape (dim,)
            Two vectors in natural coordinates, not parallel.
        alpha : float
            Which connection; 0 is the Riemannian one.

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
