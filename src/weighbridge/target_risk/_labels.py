"""What labels are plausible at a row, and what a prediction may be expected to cost there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from weighbridge._folds import row_blocks
from weighbridge.model_selection import RowLoss
from weighbridge.tables import (
    Quadratic,
    QuadraticRows,
    TableEncoder,
    stack_samples,
    take_rows,
)

# Squares and products need so many rows for each; wider tables are projected to so many columns.
_ROWS_PER_FEATURE = 5
_MAX_COLUMNS = 300
# Scales are learned from so many rows.
_SCALE_ROWS = 10_000
# Features, or what they are made of, are kept up to so many numbers (192 MB): every estimate asks
# for them again.
_KEPT_NUMBERS = 24_000_000

Block = tuple[slice, np.ndarray]


class Features:
    """A constant, standardised numbers, and as many of their squares and products as rows allow."""

    def __init__(self, X: Any, X_target: Any):
        stacked, codes = stack_samples(X, X_target)
        self.encoder = TableEncoder().fit(stacked, codes)
        self.projection = _projection(self.encoder.width)
        step = max(1, codes.size // _SCALE_ROWS)
        some = self._numbers(take_rows(stacked, np.arange(0, codes.size, step)))
        self.quadratic = None
        d, room = some.shape[1], int(np.bincount(codes).min()) / _ROWS_PER_FEATURE
        if self.projection is None and 2 * d <= room:
            self.quadratic = Quadratic(products=d * (d + 3) / 2 <= room).fit(some)
        self.width = 1 + (d if self.quadratic is None else self.quadratic.scale.size)
        self._n_numbers = d
        self._kept: list[tuple[Any, list[Block] | np.ndarray]] = []
        self._room = _KEPT_NUMBERS

    def blocks(self, X: Any, *, keep: bool = True) -> Iterator[Block]:
        """Yield the features of blocks of rows; `keep` says that they will be asked for again."""
        found = self._found(X) if keep else None
        if isinstance(found, list):
            return iter(found)
        return self._made(X, found)

    def _found(self, X: Any) -> list[Block] | np.ndarray | None:
        """Return what is kept of a table: its features, the numbers behind them, or nothing."""
        for table, found in self._kept:
            if table is X:
                return found
        n = X.shape[0]
        if n * self.width <= self._room:
            self._room -= n * self.width
            self._kept.append((X, list(self._made(X, None))))
        elif self.quadratic is not None and n * self._n_numbers <= self._room:
            self._room -= n * self._n_numbers
            self._kept.append((X, self._numbers(X)))
        else:
            return None
        return self._kept[-1][1]

    def _made(self, X: Any, numbers: np.ndarray | None) -> Iterator[Block]:
        for block in row_blocks(X.shape[0], 4 * self.width):
            some = self._numbers(take_rows(X, block)) if numbers is None else numbers[block]
            phi = np.empty((some.shape[0], self.width))
            phi[:, 0] = 1.0
            if self.quadratic is None:
                phi[:, 1:] = some
            else:
                phi[:, 1:] = self.quadratic.transform(some)
            yield block, phi

    def times(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """Return the features of all rows times a matrix of coefficients."""
        inner = self._factored(X)
        if inner is not None:
            return coefficients[0] + inner @ coefficients[1:]
        return np.concatenate([phi @ coefficients for _, phi in self.blocks(X)])

    def moments(self, X: Any, values: np.ndarray) -> np.ndarray:
        """Return the transposed features of all rows times a matrix of values of the rows."""
        inner = self._factored(X)
        if inner is not None:
            return np.vstack([values.sum(axis=0), inner.moments(values)])
        total = np.zeros((self.width, values.shape[1]))
        for block, phi in self.blocks(X):
            total += phi.T @ values[block]
        return total

    def _factored(self, X: Any) -> QuadraticRows | None:
        """Return features that need not be made to be multiplied, where their factors are kept."""
        found = self._found(X)
        if self.quadratic is None or not isinstance(found, np.ndarray):
            return None
        return QuadraticRows(found, self.quadratic)

    def _numbers(self, X: Any) -> np.ndarray:
        numbers = self.encoder.numbers(X)
        if self.projection is not None:
            numbers = numbers @ self.projection
        dense = numbers.toarray() if sp.issparse(numbers) else numbers
        # a row far outside counts as one that is merely far: squares of it would swamp the rest
        return np.clip(np.asarray(dense, dtype=np.float64), -8.0, 8.0)


def _projection(width: int) -> np.ndarray | None:
    """Return a random projection of a table that is too wide to be smoothed column by column."""
    if width <= _MAX_COLUMNS:
        return None
    rng = np.random.RandomState(0)
    return np.asarray(rng.standard_normal((width, _MAX_COLUMNS)) / np.sqrt(_MAX_COLUMNS))


# Penalties, in rows; the one with the smallest held-out squared error is used.
PENALTIES = (1e-3, 1e-1, 1.0, 10.0, 100.0, 1000.0)


class Smoothed(NamedTuple):
    """Cross-fitted values at the source rows; at the target rows the mean over the folds."""

    at_source: np.ndarray
    at_target: np.ndarray


def smooth(
    features: Features,
    X: Any,
    X_target: Any,
    values: np.ndarray,
    weights: np.ndarray,
    fold: npt.NDArray[np.intp],
) -> Smoothed:
    """Regress `values` on the features of the source rows, leaving each row's fold out."""
    n_folds = int(fold.max()) + 1
    grams = np.zeros((n_folds, features.width, features.width))
    moments = np.zeros((n_folds, features.width, values.shape[1]))
    for block, phi in features.blocks(X):
        for k in range(n_folds):
            rows = fold[block] == k
            weighted = phi[rows] * weights[block][rows, None]
            grams[k] += weighted.T @ phi[rows]
            moments[k] += weighted.T @ values[block][rows]
    gram, moment = grams.sum(axis=0), moments.sum(axis=0)
    scale = weights.mean()
    # all folds and penalties side by side: one pass predicts with each
    solved = np.array(
        [
            [_ridge(gram - grams[k], moment - moments[k], scale * penalty) for k in range(n_folds)]
            for penalty in PENALTIES
        ]
    )
    held_out = np.empty((len(PENALTIES), *values.shape))
    for block, phi in features.blocks(X):
        for k in range(n_folds):
            rows = np.flatnonzero(fold[block] == k)
            held_out[:, block.start + rows] = phi[rows] @ solved[:, k]
    errors = np.einsum("pij,i->p", (held_out - values) ** 2, weights)
    best = int(np.argmin(errors))
    return Smoothed(held_out[best], features.times(X_target, solved[best].mean(axis=0)))


def _ridge(gram: np.ndarray, moment: np.ndarray, penalty: float) -> np.ndarray:
    """Solve the normal equations; the constant is not penalised."""
    shrunk = gram + penalty * np.eye(len(gram))
    shrunk[0, 0] = gram[0, 0] + 1e-12 * penalty
    return np.asarray(np.linalg.solve(shrunk, moment))


# Residuals are represented by so many of their quantiles.
_QUANTILES = 21


class PlausibleLabels:
    """A model of the labels, cross-fitted: chances of classes, or a mean, a scale and residuals."""

    def __init__(
        self,
        smooth: Callable[[np.ndarray], Smoothed],
        codes: npt.NDArray[Any],
        n_classes: int | None,
        weights: np.ndarray,
    ):
        self.n_classes = n_classes
        if n_classes is not None:
            self.source, self.target = map(_chances, smooth(np.eye(n_classes)[codes]))
            return
        # near 1 in size, so that squares neither over- nor underflow
        unit = float(np.abs(codes - codes.mean()).max()) or 1.0
        y = (codes - codes.mean()) / unit
        mean = smooth(y[:, None])
        squares = (y[:, None] - mean.at_source) ** 2
        typical = float(np.average(squares[:, 0], weights=weights))
        variance = smooth(squares)
        floor = max(0.05 * typical, np.finfo(float).tiny)
        scale, scale_target = (np.sqrt(np.maximum(part, floor)) for part in variance)
        residuals = (y - mean.at_source[:, 0]) / scale[:, 0]
        self.residuals = _weighted_quantiles(residuals, weights, _QUANTILES)
        # counts and other amounts stay what they are
        self.lowest = 0.0 if codes.min() >= 0 else -np.inf
        centre = codes.mean()
        self.source = np.hstack([centre + unit * mean.at_source, unit * scale])
        self.target = np.hstack([centre + unit * mean.at_target, unit * scale_target])

    def expected_loss(self, loss: RowLoss, model: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the loss of predictions, averaged over the plausible labels of each row."""
        if self.n_classes is None:
            mean, scale = model.T
            labels = (np.maximum(mean + scale * each, self.lowest) for each in self.residuals)
            return np.asarray(np.mean([loss.loss(each, response) for each in labels], axis=0))
        return loss.expected(model, response)


def _chances(smoothed: np.ndarray) -> np.ndarray:
    """Bring smoothed indicators of classes back to probabilities."""
    positive = np.clip(smoothed, 1e-3, None)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _weighted_quantiles(values: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Return equally likely values with the mean and the spread of the whole."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    middles = (np.arange(n) + 0.5) / n
    found = values[order][np.minimum(np.searchsorted(share, middles), values.size - 1)]
    mean = np.average(values, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, weights=weights))
    return np.asarray((found - found.mean()) / (found.std() or 1.0) * spread + mean)
