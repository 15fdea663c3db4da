"""Normal distributions in several dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, solve_triangular

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._normal import distance_of_normals
from weighbridge.manifolds._observations import (
    Nodes,
    check_number,
    generator,
    in_range,
    panels,
    reach,
    whole_number,
)

# Share of a distance that a closed form may leave out.
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class MultivariateNormal(ExponentialFamily):
    """Normal distributions ``N(mean, covariance)`` of vectors of length `d`.

    ``F(x)`` holds the ``x_i`` and then the products ``x_i x_j`` for ``i <= j``, row by row; with
    the precision matrix ``P``, ``theta`` holds ``P mean`` and then ``-P_ii / 2`` and ``-P_ij``, so
    that each product is counted once and there are ``d + d (d + 1)/2`` parameters. The scalar
    curvature is ``-(1 - alpha^2) d (d + 1)^2 / 4`` everywhere. As in `Normal`, means that are large
    next to the standard deviations cost the expectations digits; shift x first.

    Parameters
    ----------
    d : int
        Length of the vectors.

    Examples
    --------
    >>> from weighbridge.manifolds import MultivariateNormal
    >>> family = MultivariateNormal(2)
    >>> family.dim
    5
    >>> theta = family.theta(mean=[1.0, 2.0], covariance=[[1.0, 0.5], [0.5, 1.0]])
    >>> family.expectation(theta).round(6)
    array([1. , 2. , 2. , 2.5, 5. ])
    >>> round(family.scalar_curvature(theta, alpha=0), 12)
    -4.5
    """

    d: int
    domain: ClassVar[str] = (
        "a positive definite precision matrix P (theta = (P mean, then -P_ii / 2 and -P_ij by rows "
        "of the upper triangle))"
    )

    def __post_init__(self) -> None:
        whole_number(self.d, "d", least=1)

    @property
    def dim(self) -> int:
        """Number of natural parameters, ``d + d (d + 1)/2``."""
        return self.d + self.d * (self.d + 1) // 2

    def theta(self, mean: Any, covariance: Any) -> np.ndarray:
        """Natural parameters of a mean and a covariance matrix.

        Parameters
        ----------
        mean : array of shape (d,)
            Mean.
        covariance : array of shape (d, d)
            Covariance matrix, symmetric and positive definite.

        Returns
        -------
        ndarray of shape (dim,)
            ``theta``.
        """
        mean, covariance = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
        expected = ((self.d,), (self.d, self.d))
        if (mean.shape, covariance.shape) != expected:
            raise ValueError(
                f"Got a mean of shape {mean.shape} and a covariance of shape {covariance.shape}, "
                f"but {self!r} needs {expected[0]} and {expected[1]}."
            )
        return self._from_moments(mean, covariance)

    def usual(self, theta: Any) -> dict[str, np.ndarray]:
        """The ``mean`` and the matrix ``covariance`` of natural parameters."""
        mean, root = self._moments(theta)
        return {"mean": mean, "covariance": root @ root.T}

    def in_domain(self, theta: Any) -> bool:
        """Whether the precision matrix is positive definite."""
        if not np.isfinite(theta).all():
            return False
        try:
            np.linalg.cholesky(self._precision(np.asarray(theta)))
        except np.linalg.LinAlgError:
            return False
        return True

    def log_partition(self, theta: Any) -> Any:
        """``h' P^-1 h / 2 - log det(P / 2 pi) / 2`` with ``h = P mean``."""
        theta = np.asarray(theta)
        precision, linear = self._precision(theta), theta[: self.d]
        if np.iscomplexobj(theta):
            # the logarithm of a complex determinant would jump; the sum of logarithms is analytic
            log_det = np.log(np.linalg.eigvals(precision / (2 * np.pi))).sum()
        else:
            log_det = np.linalg.slogdet(precision / (2 * np.pi))[1]
        return (linear @ np.linalg.solve(precision, linear) - log_det) / 2

    def expectation(self, theta: Any) -> np.ndarray:
        """The means of ``x_i`` and of ``x_i x_j``."""
        mean, root = self._moments(theta)
        with np.errstate(over="ignore"):
            second = root @ root.T + np.outer(mean, mean)
        means = np.concatenate([mean, second[_upper(self.d)]])
        return in_range(means, "expectation", self, theta)

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters of the means of ``x_i`` and of ``x_i x_j``."""
        eta = self._vector(eta, "eta")
        mean = eta[: self.d]
        return self._from_moments(mean, self._symmetric(eta[self.d :]) - np.outer(mean, mean))

    def metric(self, theta: Any) -> np.ndarray:
        """Covariance of ``F(x)``."""
        frame = self._frame(theta)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return in_range(frame @ frame.T, "metric", self, theta)

    def skewness(self, theta: Any) -> np.ndarray:
        """Third central moments of ``F(x)``."""
        frame, tensor = self._frame(theta), _standard_skewness(self.d)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for _ in range(3):
                # each round maps the last axis and turns it to the front
                tensor = (tensor @ frame.T).transpose(2, 0, 1)
        return in_range(tensor, "skewness", self, theta)

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """The ``x_i``, then the ``x_i x_j`` for ``i <= j``."""
        x = self._rows(x)
        i, j = _upper(self.d)
        return np.hstack([x, x[:, i] * x[:, j]])

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 everywhere."""
        return np.zeros(len(self._rows(x)))

    def log_density(self, x: Any, theta: Any) -> np.ndarray:
        """Log density from mean and covariance: ``theta . F(x)`` loses digits of a large mean."""
        mean, root = self._moments(theta)
        z = solve_triangular(root, (self._rows(x) - mean).T)
        log_det = 2 * np.log(np.diag(root)).sum()
        return -((z**2).sum(axis=0) + log_det + self.d * np.log(2 * np.pi)) / 2

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws, one per row."""
        mean, root = self._moments(theta)
        return mean + generator(random_state).standard_normal((size, self.d)) @ root.T

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """A grid along the axes that both covariances have in common."""
        if self.d > 2:
            raise ValueError(
                f"Got {self!r}, but a grid is for two dimensions at most. Draw a sample of the "
                "source and give project the log_weight of its log ratios."
            )
        one, two = self.usual(start), self.usual(stop)
        # coordinates in which the start is standard and the covariance of the stop is diagonal
        variances, axes = eigh(two["covariance"], one["covariance"])
        shift = axes.T @ (two["mean"] - one["mean"])
        lines = []
        for centre, sd in zip(shift, np.sqrt(variances), strict=True):
            centres, sds = [0.0, centre], [1.0, sd]
            lines.append(panels(centres, sds, *reach(centres, sds), level, order=10))
        check_number(math.prod(line[0].size for line in lines))
        grid = np.meshgrid(*(line[0] for line in lines), indexing="ij")
        z = np.column_stack([axis.ravel() for axis in grid])
        log_weights = np.meshgrid(*(line[1] for line in lines), indexing="ij")
        log_weight = np.sum(log_weights, axis=0).ravel()
        back = np.linalg.inv(axes.T)
        return one["mean"] + z @ back.T, log_weight + np.linalg.slogdet(back)[1]

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float | None:
        """In closed form where the two differ by independent coordinates."""
        (mean1, root1), (mean2, root2) = self._moments(start), self._moments(stop)
        shift = solve_triangular(root1, mean2 - mean1)
        half = solve_triangular(root1, root2)
        size, covariance = float(np.linalg.norm(shift)), half @ half.T
        # what is left out below has a Fisher length; no more is lost, by the triangle inequality
        still = _between_covariances(np.linalg.eigvalsh(covariance))
        if size <= _NEGLIGIBLE * still:
            return still
        # the first axis is the direction of the shift
        axes = np.linalg.qr(np.column_stack([shift, np.eye(self.d)]))[0]
        covariance = axes.T @ covariance @ axes
        variance, across = float(covariance[0, 0]), np.linalg.eigvalsh(covariance[1:, 1:])
        along = distance_of_normals(size, 1.0, math.sqrt(variance))
        distance = math.hypot(along, _between_covariances(across))
        mixed = float(np.linalg.norm(covariance[0, 1:]))
        least = distance * math.sqrt(variance * across.min(initial=np.inf))
        return distance if mixed <= _NEGLIGIBLE * least else None

    def _frame_skewness(self, theta: np.ndarray) -> np.ndarray:
        # affine maps of x are isometries: the standard normal's, whatever theta is
        return _standard_skewness(self.d)

    def _symmetric(self, triangle: np.ndarray) -> np.ndarray:
        matrix = np.zeros((self.d, self.d), dtype=triangle.dtype)
        i, j = _upper(self.d)
        matrix[i, j] = matrix[j, i] = triangle
        return matrix

    def _precision(self, theta: np.ndarray) -> np.ndarray:
        matrix = -self._symmetric(theta[self.d :])
        # the off-diagonal entries stand for both P_ij and P_ji
        return matrix + np.diag(np.diag(matrix))

    def _moments(self, theta: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean, and a root C of the covariance C C'."""
        theta = self.check(theta)
        factor = np.linalg.cholesky(self._precision(theta))
        root = solve_triangular(factor, np.eye(self.d), lower=True).T
        return root @ (root.T @ theta[: self.d]), root

    def _from_moments(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        symmetric = np.allclose(covariance, covariance.T, rtol=1e-10, atol=0)
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric or not np.isfinite(mean).all():
            raise ValueError(
                f"Got mean={mean.tolist()} and covariance={covariance.tolist()}, but {self!r} "
                "needs finite means and a symmetric, positive definite covariance."
            )
        inverse = solve_triangular(factor, np.eye(self.d), lower=True)
        precision = inverse.T @ inverse
        triangle = np.diag(np.diag(precision) / 2) - precision
        return self.check(np.concatenate([precision @ mean, triangle[_upper(self.d)]]))

    def _frame(self, theta: Any) -> np.ndarray:
        """Matrix K with g = K K' and T = K K K applied to the standard normal's."""
        mean, root = self._moments(theta)
        i, j = _upper(self.d)
        # C_ik C_jl + C_il C_jk over the square root of its variance: 1 off, 2 on the diagonal
        squares = root[i][:, i] * root[j][:, j] + root[i][:, j] * root[j][:, i]
        squares = squares * np.where(i == j, np.sqrt(0.5), 1.0)
        linear = mean[i, None] * root[j] + mean[j, None] * root[i]
        return np.block([[root, np.zeros((self.d, len(i)))], [linear, squares]])

    def _rows(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        if x.ndim != 2 or x.shape[1] != self.d or not np.isfinite(x).all():
            raise ValueError(
                f"Got x of shape {x.shape}, but {self!r} needs finite numbers in the shape "
                f"(n_samples, {self.d})."
            )
        return x


@lru_cache(maxsize=32)
def _upper(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the upper triangle; a solver asks for them a hundred thousand times."""
    return np.triu_indices(d)


@lru_cache(maxsize=32)
def _standard_skewness(d: int) -> np.ndarray:
    """T of the standard normal in the frame ``w_i``, ``w_i w_j``, ``w_i^2 / sqrt(2)``."""
    i, j = _upper(d)
    # w' A w for each entry; third cumulants are 2 A_ij with w_i, w_j and 8 tr(A B C)
    forms = np.zeros((len(i), d, d))
    forms[np.arange(len(i)), i, j] += 0.5
    forms[np.arange(len(i)), j, i] += 0.5
    forms *= np.where(i == j, np.sqrt(0.5), 1.0)[:, None, None]
    products = np.einsum("aij,bjk->abik", forms, forms)
    tensor = np.zeros((d + len(i),) * 3)
    tensor[d:, d:, d:] = 8 * np.einsum("abik,cki->abc", products, forms)
    tensor[d:, :d, :d] = 2 * forms
    tensor[:d, d:, :d] = 2 * forms.transpose(1, 0, 2)
    tensor[:d, :d, d:] = 2 * forms.transpose(1, 2, 0)
    tensor.flags.writeable = False
    return tensor


def _between_covariances(ratios: np.ndarray) -> float:
    """Distance of two normals with equal means from the eigenvalues of one beside the other."""
    return float(np.linalg.norm(np.log(ratios))) / math.sqrt(2)
