"""What every exponential family can do once its log-partition is known."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_solve

from weighbridge.manifolds._curvature import CurvedSpace, gradient, hessian, third
from weighbridge.manifolds._observations import Nodes

_NEWTON_STEPS = 200


class ExponentialFamily(CurvedSpace):
    """A family of densities given by its log-partition: its metric, connections and curvature.

    ``p(x; theta) = exp(theta . F(x) + k(x) - psi(theta))``. A subclass gives `dim` and
    `log_partition`; the geometry follows. Derivatives of ``psi`` are Cauchy integrals on small
    circles of complex numbers, good to about ten digits, unless the subclass overrides
    `expectation`, `metric` and `skewness` with closed forms. Densities, samples and `natural` in
    closed form are for the subclass to add.

    ``theta`` is always a one-dimensional array of length `dim`. The connections are
    ``Gamma^(alpha)_{ij,k} = (1 - alpha)/2 T_ijk`` (Kimura & Hino, Appendix A): ``alpha = 1`` is
    straight in theta, ``alpha = -1`` in the expectations, and ``alpha = 0`` is Riemannian.

    Attributes
    ----------
    dim : int
        Number of natural parameters.
    domain : str
        The parameters allowed, in words, for error messages.

    Examples
    --------
    The inverse Gaussian family, from its log-partition alone:

    >>> import numpy as np
    >>> from weighbridge.manifolds import ExponentialFamily
    >>> class InverseGaussian(ExponentialFamily):
    ...     dim = 2
    ...
    ...     def log_partition(self, theta):
    ...         return -2 * np.sqrt(theta[0] * theta[1]) - np.log(-2 * theta[1]) / 2
    >>> family = InverseGaussian()
    >>> family.expectation([-0.5, -0.5]).round(6)
    array([1., 2.])
    >>> round(family.scalar_curvature([-0.5, -0.5], alpha=0), 6)
    -1.0
    """

    domain: ClassVar[str] = "a finite, real log_partition(theta)"

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of natural parameters."""

    @abstractmethod
    def log_partition(self, theta: Any) -> Any:
        """Log-partition ``psi(theta)``, the one thing a subclass must give.

        Write it with functions that take complex numbers (``np.log``, ``np.sqrt``,
        ``scipy.special.loggamma``; no ``abs``) if the derivatives are to come from it. `theta` is
        not checked here, and outside of the domain the value means nothing.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters, real or complex.

        Returns
        -------
        float or complex
            ``psi(theta)``.
        """

    def in_domain(self, theta: Any) -> bool:
        """Whether `theta` is a parameter of the family.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.

        Returns
        -------
        bool
            By default, whether `log_partition` is finite and real there.
        """
        with np.errstate(all="ignore"):
            value = self.log_partition(np.asarray(theta, dtype=float))
        return bool(np.isfinite(value) and np.imag(value) == 0)

    def check(self, theta: Any) -> np.ndarray:
        """Return `theta` as an array, or say what is wrong with it.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters; a plain number will do if there is one.

        Returns
        -------
        ndarray of shape (dim,)
            The parameters as float64.
        """
        theta = self._vector(theta, "theta")
        if not self.in_domain(theta):
            raise ValueError(
                f"Got theta={theta.tolist()}, but the natural parameters of {self!r} need "
                f"{self.domain}."
            )
        return theta

    def expectation(self, theta: Any) -> np.ndarray:
        """Expectation parameters ``eta = E[F(x)]``, the gradient of ``psi``.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.

        Returns
        -------
        ndarray of shape (dim,)
            ``eta``.
        """
        return gradient(self, self.check(theta))

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters whose expectation is `eta`.

        Parameters
        ----------
        eta : array of shape (dim,)
            Expectation parameters.
        start : array of shape (dim,), optional
            Where Newton's method begins; families with a closed form do not need it.

        Returns
        -------
        ndarray of shape (dim,)
            ``theta`` with ``expectation(theta) = eta``.
        """
        return _solve_expectation(self, self._vector(eta, "eta"), start)

    def dual_potential(self, eta: Any, start: Any = None) -> float:
        """Legendre dual ``phi(eta) = theta . eta - psi(theta)`` of the log-partition.

        The largest ``theta . eta - psi(theta)`` of all theta (Kimura & Hino, section 3), whose
        gradient is `natural`; `eta` and `start` are those of `natural`.
        """
        theta = self.natural(eta, start)
        return float(theta @ self._vector(eta, "eta") - self.log_partition(theta))

    def metric(self, theta: Any) -> np.ndarray:
        """Fisher metric ``g_ij = psi_ij``, the covariance of ``F(x)``.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.

        Returns
        -------
        ndarray of shape (dim, dim)
            A positive definite matrix.
        """
        return hessian(self, self.check(theta))

    def skewness(self, theta: Any) -> np.ndarray:
        """Amari-Chentsov tensor ``T_ijk = psi_ijk``, the third central moments of ``F(x)``.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.

        Returns
        -------
        ndarray of shape (dim, dim, dim)
            A symmetric tensor.
        """
        return third(self, self.check(theta))

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """Sufficient statistics ``F(x)``.

        Parameters
        ----------
        x : array of shape (n_samples,) or (n_samples, n_features)
            Observations.

        Returns
        -------
        ndarray of shape (n_samples, dim)
            One row for each observation.
        """
        raise self._missing("sufficient_statistics")

    def log_base_measure(self, x: Any) -> np.ndarray:
        """Log of the base measure, ``k(x)``; ``-inf`` outside of the support.

        Parameters
        ----------
        x : array of shape (n_samples,) or (n_samples, n_features)
            Observations.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number for each observation.
        """
        raise self._missing("log_base_measure")

    def log_density(self, x: Any, theta: Any) -> np.ndarray:
        """Log density ``theta . F(x) + k(x) - psi(theta)``; ``-inf`` outside of the support.

        Parameters
        ----------
        x : array of shape (n_samples,) or (n_samples, n_features)
            Observations.
        theta : array of shape (dim,)
            Natural parameters.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number for each observation.
        """
        theta = self.check(theta)
        base = self.log_base_measure(x)
        inside = base > -np.inf
        result = np.full(base.shape, -np.inf)
        rows = np.asarray(x, dtype=float)[inside]
        statistics = self.sufficient_statistics(rows)
        result[inside] = statistics @ theta + base[inside] - self.log_partition(theta)
        return result

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws from the density.

        Parameters
        ----------
        theta : array of shape (dim,)
            Natural parameters.
        size : int
            How many.
        random_state : int, Generator, RandomState or None
            Where the randomness comes from.

        Returns
        -------
        ndarray of shape (size,) or (size, n_features)
            Observations.
        """
        raise self._missing("sample")

    def _vector(self, value: Any, name: str) -> np.ndarray:
        vector = np.atleast_1d(np.asarray(value, dtype=float))
        if vector.shape != (self.dim,) or not np.isfinite(vector).all():
            raise ValueError(
                f"Got {name}={vector.tolist()}, but {self!r} needs {self.dim} finite number(s)."
            )
        return vector

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not say what {name} is. The geometry needs log_partition "
            f"only; for densities and samples give the class a method {name}."
        )

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """Return nodes that resolve two members; each level doubles their number."""
        raise TypeError(
            f"Got {self!r}, but no quadrature is known for it. Choose nodes, take "
            "interpolate_densities of the two log densities there, and give the result to project."
        )

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float | None:
        """Return the Fisher-Rao distance in closed form; None where there is none."""
        return None

    def _closed_geodesic(self, start: np.ndarray, stop: np.ndarray, alpha: float) -> Any:
        """Return an alpha-geodesic in closed form; None where there is none."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _solve_expectation(family: ExponentialFamily, eta: np.ndarray, start: Any) -> np.ndarray:
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
