"""Curves that are smooth in x while the pace of their parameter lam varies beyond all measure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Place = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
LogPace = Callable[[np.ndarray], np.ndarray]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
# Logarithm of a share of lam below all doubles.
_UNSEEN = 800.0
_SPLITS = 60
_NEWTON_STEPS = 12
_TOO_FAST = (
    "Double precision does not resolve the speed of the alpha-geodesic. Use an alpha nearer to 0, "
    "or ends that are closer."
)


class PacedCurve:
    """A curve over x from 0 to 1: theta with its derivative, and ``log d lam / d x`` + constant."""

    def __init__(self, place: Place, log_pace: LogPace, panels: int):
        self._place, self._log_pace = place, log_pace
        edges = self._edges = self._refined(np.linspace(0.0, 1.0, panels + 1))
        paces = log_pace(edges[:-1, None] + np.diff(edges)[:, None] * _NODES)
        self._top = float(np.max(paces))
        self._mass = np.diff(edges) * (np.exp(paces - self._top) @ _WEIGHTS)

    def points(self, lam: np.ndarray) -> np.ndarray:
        """Return theta, the coordinates along the last axis."""
        return self._place(self._x(lam))[0]

    def velocities(self, lam: np.ndarray) -> np.ndarray:
        """Return d theta / d lam, the coordinates along the last axis."""
        x = self._x(lam)
        with np.errstate(all="ignore"):
            velocity = self._place(x)[1] * (self._mass.sum() / self._pace(x))[..., None]
        if not np.isfinite(velocity).all():
            raise ArithmeticError(_TOO_FAST)
        return velocity

    def _pace(self, x: np.ndarray) -> np.ndarray:
        return np.exp(self._log_pace(x) - self._top)

    def _refined(self, edges: np.ndarray) -> np.ndarray:
        """Split until the pace varies little between two edges, wherever lam moves at all."""
        for _ in range(_SPLITS):
            middle = (edges[:-1] + edges[1:]) / 2
            ends, inner = self._log_pace(edges), self._log_pace(middle)
            seen = np.maximum(ends[:-1], ends[1:]) > ends.max() - _UNSEEN
            change = np.maximum(np.abs(ends[:-1] - inner), np.abs(ends[1:] - inner))
            if not (seen & (change > 1)).any():
                return edges
            edges = np.sort(np.concatenate([edges, middle[seen & (change > 1)]]))
        raise ArithmeticError(_TOO_FAST)

    def _x(self, lam: np.ndarray) -> np.ndarray:
        """Return x at lam, counted from the nearer end."""
        near = self._inverse(self._edges, self._mass, np.minimum(lam, 0.5))
        far = self._inverse(self._edges[::-1], self._mass[::-1], np.minimum(1 - lam, 0.5))
        return np.where(lam <= 0.5, near, far)

    def _inverse(self, edges: np.ndarray, mass: np.ndarray, share: np.ndarray) -> np.ndarray:
        before = np.concatenate([[0.0], np.cumsum(mass)])
        wanted = share * before[-1]
        panel = np.clip(np.searchsorted(before, wanted, "right") - 1, 0, len(mass) - 1)
        begin, width, rest = edges[panel], np.diff(edges)[panel], wanted - before[panel]
        part = rest / mass[panel]
        for _ in range(_NEWTON_STEPS):
            reach = width * part
            pace = self._pace(begin[..., None] + reach[..., None] * _NODES) @ _WEIGHTS
            off = part * pace - rest / np.abs(width)
            part = np.clip(part - off / self._pace(begin + reach), 0, 1)
        return begin + width * part
