"""The logistic regressions of all folds at once, from sums over blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._descent import Descent
from weighbridge.ratios._quadratic import Quadratic

# With more features second derivatives of all rows take so long that those of a sketch come first.
MOST_CURVED = 300
# A step that leaves more than this share of the decrement asks for new second derivatives.
SLOW, SLOW_MANY = 0.1, 0.5
MOST_PASSES = 100


class Stream(Protocol):
    """Rows of a sample that are read as often as needed."""

    n: int

    def sum(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> Any:
        """Add up a function of standardised numbers and keys over blocks of rows."""


class Stretch:
    """Rows in memory, as a stream."""

    def __init__(self, numbers: np.ndarray, keys: np.ndarray):
        self.first, self.keys = numbers, keys
        self.n, self.width = numbers.shape

    def sum(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> Any:
        """Apply the function to the one block there is."""
        return function(self.first, self.keys)


def fold_of(keys: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the fold of each row, from its key in [0, 1)."""
    return np.minimum((keys * n_folds).astype(np.intp), n_folds - 1)


def fold_sizes(stream: Stream, n_folds: int) -> np.ndarray:
    """Return how many rows of a sample each fold holds."""
    return np.asarray(
        stream.sum(lambda _, keys: np.bincount(fold_of(keys, n_folds), minlength=n_folds))
    )


class Curvature(Enum):
    """Second derivatives to be summed: none, of the mean of the models, or of each by itself.

    Those of the mean take one matrix for a row, where each model would take its own; models of
    folds differ so little that the steps are hardly worse, unless the samples hardly overlap.
    """

    NONE = 0
    MEAN = 1
    EACH = 2


class FoldSums(NamedTuple):
    """Losses, gradients and second derivatives, summed over what each model learns from."""

    loss: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray


@dataclass(frozen=True)
class BlockSums:
    """What a block of rows of one sample adds to the sums; it travels to where the block is.

    The model of a fold learns from the rows of all other folds.
    """

    quadratic: Quadratic | None
    coef: np.ndarray  # a row for each model, the intercept last
    code: int
    curvature: Curvature

    def __call__(self, numbers: np.ndarray, keys: np.ndarray) -> FoldSums:
        """Return the sums, computed in pieces whose features stay in the cache."""
        n_folds, width = self.coef.shape
        square = width if self.curvature is not Curvature.NONE else 0
        sums = FoldSums(
            np.zeros(n_folds), np.zeros((n_folds, width)), np.zeros((n_folds, square, square))
        )
        folds = fold_of(keys, n_folds)
        for fold in range(n_folds):
            rows = numbers[folds == fold]
            learning = np.flatnonzero(np.arange(n_folds) != fold)
            for piece in row_blocks(rows.shape[0], width, cached=True):
                self._add(sums, features(self.quadratic, rows[piece]), learning)
        return sums

    def _add(self, sums: FoldSums, rows: np.ndarray, learning: np.ndarray) -> None:
        """Add what some models learn from the features of some rows."""
        log_odds = rows @ self.coef[learning].T
        probability = expit(log_odds)
        losses = np.logaddexp(0.0, -log_odds if self.code else log_odds)
        sums.loss[learning] += losses.sum(axis=0)
        sums.gradient[learning] += (probability - self.code).T @ rows
        spread = probability * (1 - probability)
        if self.curvature is Curvature.MEAN:
            sums.curvature[learning] += _gram(rows, spread.mean(axis=1))
        elif self.curvature is Curvature.EACH:
            for model, weights in zip(learning, spread.T, strict=True):
                sums.curvature[model] += _gram(rows, weights)


def features(quadratic: Quadratic | None, numbers: np.ndarray) -> np.ndarray:
    """Return the features of some rows, and a column of ones, each column in one stretch."""
    numbers = np.asfortranarray(numbers)
    width = numbers.shape[1] if quadratic is None else quadratic.scale.size
    result = np.empty((width + 1, numbers.shape[0])).T
    if quadratic is None:
        result[:, :-1] = numbers
    else:
        quadratic.transform(numbers, out=result[:, :-1])
    result[:, -1] = 1.0
    return result


def _gram(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    weighted = rows * np.sqrt(weights)[:, None]
    return weighted.T @ weighted


@dataclass(frozen=True)
class FoldRegressions:
    """Penalised logistic regressions of source against target rows, one for each fold.

    A model minimises the mean log loss of the rows of all other folds, plus
    ``|coef|^2 / (2 C n)`` with n the number of these rows; the intercept is free. This is the
    objective of `LogisticPath`.

    Parameters
    ----------
    samples : two streams
        Source and target rows.
    sketch : two streams
        Rows of them in memory, for the first second derivatives where features are many.
    quadratic : Quadratic or None
        The features; None for the numbers themselves.
    sizes : ndarray of shape (n_folds,)
        Number of rows that each model learns from.
    C : float
        Inverse penalty.
    """

    samples: Sequence[Stream]
    sketch: Sequence[Stream]
    quadratic: Quadratic | None
    sizes: np.ndarray
    C: float

    def fit(self, start: np.ndarray) -> np.ndarray:
        """Return the coefficients, a row for each fold, intercept last, exact up to rounding.

        Every pass over the rows serves all folds. A step is Newton's, corrected by what the steps
        before it have met (as in L-BFGS); one that raises the objective is halved. With more than
        300 features second derivatives come from the sketch first, and from all rows only if steps
        turn out poor.
        """
        descents = [Descent(coef) for coef in start]
        many = sketched = start.shape[1] > MOST_CURVED + 1
        curvature = Curvature.MEAN
        for _ in range(MOST_PASSES):
            coef = np.array([descent.trial for descent in descents])
            sums = self._sums(self.samples, coef, Curvature.NONE if sketched else curvature)
            factors: Sequence[Any] = [None] * len(descents)
            if curvature is not Curvature.NONE:
                known = self._sums(self.sketch, coef, curvature) if sketched else sums
                factors = self._factors(known.curvature)
                sketched = False
            values, gradients = self._objective(sums, coef)
            for number, descent in enumerate(descents):
                descent.look(float(values[number]), gradients[number], factors[number])
            left = [descent.left for descent in descents if not descent.done]
            if not left:
                break
            curvature = _next(curvature, max(left) > (SLOW_MANY if many else SLOW))
        else:
            worst = max(descent.decrement for descent in descents)
            warnings.warn(
                f"The logistic regressions of a ratio still move after {MOST_PASSES} passes over "
                f"the rows (log odds by about {worst:.1e}); the samples may hardly overlap.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return np.array([descent.coef for descent in descents])

    def _sums(self, streams: Sequence[Stream], coef: np.ndarray, curvature: Curvature) -> FoldSums:
        """Return the sums over both samples; rows of a sketch stand for all."""
        total = []
        for code, stream in enumerate(streams):
            sums = stream.sum(BlockSums(self.quadratic, coef, code, curvature))
            total.append([part * (self.samples[code].n / stream.n) for part in sums])
        return FoldSums(*(source + target for source, target in zip(*total, strict=True)))

    def _objective(self, sums: FoldSums, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return value and gradient for each fold."""
        sizes = self.sizes[:, None]
        slopes = coef.copy()
        slopes[:, -1] = 0.0
        values = sums.loss + (slopes**2).sum(axis=1) / (2 * self.C)
        return values / self.sizes, (sums.gradient + slopes / self.C) / sizes

    def _factors(self, curvature: np.ndarray) -> list[Any]:
        """Return a Cholesky factor of the second derivatives for each fold."""
        factors = []
        for matrix, size in zip(curvature / self.sizes[:, None, None], self.sizes, strict=True):
            # rounding must not make it singular, where features say the same or a model is certain
            floor = np.finfo(float).eps * matrix.shape[0] * np.trace(matrix) + 1e-300
            penalty = np.full(matrix.shape[0], 1 / (self.C * size))
            penalty[-1] = 0.0
            matrix[np.diag_indices_from(matrix)] += penalty + floor
            factors.append(cho_factor(matrix, lower=True))
        return factors


def _next(last: Curvature, slow: bool) -> Curvature:
    """Return the second derivatives of the next pass: better ones where a step was poor."""
    if not slow:
        return Curvature.NONE
    return Curvature.MEAN if last is Curvature.NONE else Curvature.EACH
