"""Distributions on finitely many cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import Nodes, generator, real_line, whole_number


@dataclass(frozen=True)
class Categorical(ExponentialFamily):
    """Distributions on the cells ``0, ..., k - 1``, all of positive probability.

    ``theta_i = log(p_i / p_{k-1})`` for ``i < k - 1``: the last cell is the base. The simplex is a
    piece of a sphere of radius 2: all its sectional curvatures are ``(1 - alpha^2)/4``, and the
    scalar curvature is ``(1 - alpha^2) (k - 1) (k - 2)/4``.

    Parameters
    ----------
    k : int
        Number of cells.

    Examples
    --------
    >>> from weighbridge.manifolds import Categorical
    >>> family = Categorical(3)
    >>> theta = family.theta(probabilities=[0.5, 0.3, 0.2])
    >>> family.expectation(theta).round(6)
    array([0.5, 0.3])
    >>> round(family.scalar_curvature(theta, alpha=0), 12)
    0.5
    """

    k: int
    domain: ClassVar[str] = "finite numbers (theta_i = log(p_i / p_last))"

    def __post_init__(self) -> None:
        whole_number(self.k, "k", least=2)

    @property
    def dim(self) -> int:
        """Number of natural parameters, ``k - 1``."""
        return self.k - 1

    def theta(self, probabilities: Any) -> np.ndarray:
        """Natural parameters of `k` probabilities.

        Parameters
        ----------
        probabilities : array of shape (k,)
            Positive numbers whose sum is 1.

        Returns
        -------
        ndarray of shape (k - 1,)
            ``theta``.
        """
        p = np.asarray(probabilities, dtype=float)
        if p.shape != (self.k,) or not (p > 0).all() or not abs(p.sum() - 1) <= 1e-6:
            raise ValueError(
                f"Got probabilities={p.tolist()}, but {self!r} needs {self.k} numbers above 0 "
                "whose sum is 1. Divide by the sum; leave out cells of probability 0."
            )
        return np.log(p[:-1]) - np.log(p[-1])

    def usual(self, theta: Any) -> dict[str, np.ndarray]:
        """The ``probabilities`` of natural parameters, of shape (k,)."""
        scores = np.append(self.check(theta), 0.0)
        odds = np.exp(scores - scores.max())
        return {"probabilities": odds / odds.sum()}

    def in_domain(self, theta: Any) -> bool:
        """Whether the numbers are finite."""
        return bool(np.isfinite(theta).all())

    def log_partition(self, theta: Any) -> Any:
        """``log(1 + sum(exp(theta)))``."""
        scores = np.append(np.asarray(theta), 0.0)
        top = int(np.argmax(scores.real))
        return scores[top] + np.log1p(np.exp(np.delete(scores, top) - scores[top]).sum())

    def expectation(self, theta: Any) -> np.ndarray:
        """The probabilities of all cells but the last."""
        return self.usual(theta)["probabilities"][:-1]

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters of the probabilities of all cells but the last."""
        eta = self._vector(eta, "eta")
        if not (eta > 0).all() or not eta.sum() < 1:
            raise ValueError(
                f"Got eta={eta.tolist()}, but {self!r} needs probabilities above 0 that leave some "
                "for the last cell."
            )
        return np.log(eta) - np.log1p(-eta.sum())

    def metric(self, theta: Any) -> np.ndarray:
        """``p_i (i == j) - p_i p_j``."""
        p = self.expectation(theta)
        return np.diag(p) - np.outer(p, p)

    def skewness(self, theta: Any) -> np.ndarray:
        """Third central moments of the indicators of the cells."""
        p = self.expectation(theta)
        pair = np.multiply.outer(np.diag(p), p)
        result = 2 * np.einsum("i,j,k->ijk", p, p, p)
        result -= pair + pair.transpose(0, 2, 1) + pair.transpose(2, 0, 1)
        result[(np.arange(self.dim),) * 3] += p
        return result

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """Indicators of all cells but the last."""
        x = real_line(x)
        if not self._inside(x).all():
            raise ValueError(
                f"Got x with values other than 0, ..., {self.k - 1}, but {self!r} needs the number "
                "of a cell for each observation."
            )
        return (x[:, None] == np.arange(self.dim)).astype(float)

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 for the number of a cell, ``-inf`` for other numbers."""
        return np.where(self._inside(real_line(x)), 0.0, -np.inf)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws of the number of a cell."""
        probabilities = self.usual(theta)["probabilities"]
        return generator(random_state).choice(self.k, size=size, p=probabilities)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """All categories."""
        x = np.arange(self.dim + 1)
        return x, np.zeros(x.size)

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float:
        p, q = (np.asarray(self.usual(theta)["probabilities"]) for theta in (start, stop))
        # 2 arccos BC by the chord: the arc cosine loses half the digits of a short arc
        chord = float(np.linalg.norm(np.sqrt(p) - np.sqrt(q)))
        return 4 * math.asin(chord / 2)

    def _orthonormal_skewness(self, theta: np.ndarray) -> np.ndarray:
        # to number the cells anew is an isometry; the largest as the base loses no digits
        scores = np.sort(np.append(theta, 0.0))
        return super()._orthonormal_skewness(scores[:-1] - scores[-1])

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return (x >= 0) & (x < self.k) & (x == np.floor(x))
