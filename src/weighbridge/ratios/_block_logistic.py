"""Cross-fitted logistic regression on samples that come in blocks."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from weighbridge._folds import row_blocks
from weighbridge.blocks import Rows
from weighbridge.ratios._cross_fit import LinearLogOdds, cross_fit
from weighbridge.ratios._encoder import TableEncoder
from weighbridge.ratios._logistic import LogisticPath, Quadratic, QuadraticRows
from weighbridge.ratios._sample import Sample, on_host, samples
from weighbridge.tables import RowKeys

# The Newton decrement of a logistic regression is the error of a typical row's log odds.
ROUNDING = 1e-11
# What is smaller than this and stays as it is for a few steps is rounding.
NEAR = 1e-9
PATIENCE = 3
# Values that differ by less, relative to 1, may be equal.
NOISE = 1e-12
MOST_PAIRS = 10


class Descent:
    """The descent of one function, whose values others compute at the points it asks for."""

    def __init__(self, start: np.ndarray):
        self.trial = self.coef = start
        self.gradient = np.zeros_like(start)
        self.value = self.decrement = math.inf
        self.left, self.stalled, self.done = 0.0, 0, False
        self.pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MOST_PAIRS)

    def look(self, value: float, gradient: np.ndarray, factor: Any = None) -> None:
        """Take the value at the trial point: go there and choose the next, or halve the step."""
        if self.done:
            return
        if not value <= self.value + NOISE * max(1.0, abs(self.value)):
            self.trial = (self.coef + self.trial) / 2
            self.left = 1.0
            return
        step, change = self.trial - self.coef, gradient - self.gradient
        # near the minimum the change of the gradient is rounding too
        if NEAR < self.decrement < math.inf and step @ change > 0:
            self.pairs.append((step, change, 1 / float(step @ change)))
        if factor is not None:
            self.factor = factor
            self.pairs.clear()  # new second derivatives know better than old steps
        self.coef, self.value, self.gradient = self.trial, value, gradient
        self._choose()

    def _choose(self) -> None:
        """Choose the next point, or see that this is the last."""
        direction = -self._newton(self.gradient)
        decrement = math.sqrt(max(-float(self.gradient @ direction), 0.0))
        self.left = decrement / self.decrement
        self.stalled = self.stalled + 1 if self.left > 0.5 and decrement < NEAR else 0
        self.decrement = decrement
        self.trial = self.coef + direction
        if decrement <= ROUNDING:
            self.coef = self.trial
        self.done = decrement <= ROUNDING or self.stalled == PATIENCE

    def _newton(self, gradient: np.ndarray) -> np.ndarray:
        """Return the inverse second derivatives times a gradient."""
        shares = []
        rest = gradient.copy()
        for step, change, inverse in reversed(self.pairs):
            shares.append(inverse * (step @ rest))
            rest -= shares[-1] * change
        result = cho_solve(self.factor, rest)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - inverse * (change @ result)) * step
        return np.asarray(result)


# With more features second derivatives of all rows take so long that those of a sketch come first.
MOST_CURVED = 300
# A step that leaves more than this share of the decrement asks for new second derivatives.
SLOW, SLOW_MANY = 0.1, 0.5
MOST_PASSES = 100


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


def fold_sizes(stream: _Dealt | Stretch, n_folds: int) -> np.ndarray:
    """Return how many rows of a sample each fold holds."""
    return np.asarray(
        stream.sum(lambda _, keys: np.bincount(fold_of(keys, n_folds), minlength=n_folds))
    )


class Curvature(Enum):
    """Second derivatives to be summed: none, of the mean of the models, or of each by itself."""

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
    """What a block of rows of one sample adds to the sums; it travels to where the block is."""

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
    """Penalised logistic regressions of source against target rows, one for each fold."""

    samples: Sequence[_Dealt | Stretch]
    sketch: Sequence[_Dealt | Stretch]
    quadratic: Quadratic | None
    sizes: np.ndarray
    C: float

    def fit(self, start: np.ndarray) -> np.ndarray:
        """Return the coefficients, a row for each fold, intercept last, exact up to rounding."""
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

    def _sums(
        self, streams: Sequence[_Dealt | Stretch], coef: np.ndarray, curvature: Curvature
    ) -> FoldSums:
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


# Work on second derivatives of the sketch, in products of numbers: some seconds.
SKETCH_WORK = 2e11


@dataclass(frozen=True)
class BlockLogistic:
    """Log ratios by logistic regressions learnt from rows in blocks, one for each fold."""

    encoder: TableEncoder
    row_keys: RowKeys | None
    quadratic: Quadratic
    models: list[LinearLogOdds]

    def log_ratio(self, X: Any) -> np.ndarray:
        """Return the log ratio at the rows of a table."""
        if self.row_keys is None:
            return self.by_model(self.encoder.numbers(X), None)
        numbers, keys = self.encoder.numbers_and_keys(X, self.row_keys)
        return self.by_model(numbers, dealing_keys(keys))

    def by_model(self, numbers: np.ndarray, keys: np.ndarray | None) -> np.ndarray:
        """Return the log ratio at some rows, each by the model that has not learnt from it."""
        coef = np.array([np.append(model.coef, model.intercept) for model in self.models])
        if keys is None:
            coef = coef.mean(axis=0, keepdims=True)
        result = np.empty(numbers.shape[0])
        for piece in row_blocks(numbers.shape[0], coef.shape[1], cached=True):
            values = features(self.quadratic, numbers[piece]) @ coef.T
            own = 0 if keys is None else fold_of(keys[piece], len(self.models))
            result[piece] = values[np.arange(values.shape[0]), own]
        return result


@dataclass(frozen=True)
class Streams:
    """Source and target as streams of numbers and keys, and rows of both in memory."""

    encoder: TableEncoder
    row_keys: RowKeys | None
    samples: list[_Dealt | Stretch]
    sketch: list[Stretch]


@dataclass(frozen=True)
class _Dealt:
    """A sample in blocks, with keys that deal its rows into folds."""

    sample: Sample

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sample.n

    def sum(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> Any:
        """Add up a function of standardised rows and their keys."""
        return self.sample.sum(partial(_on_dealing_keys, function))


def _on_dealing_keys(function: Callable[..., Any], numbers: np.ndarray, keys: np.ndarray) -> Any:
    return function(numbers, dealing_keys(keys))


def dealing_keys(keys: np.ndarray) -> np.ndarray:
    """Return keys in [0, 1) that have nothing to do with who is in memory."""
    return (keys * 2.0**20) % 1.0


def streams(source: Rows, target: Rows, seed: int, most: int) -> Streams:
    """Return two samples in blocks as streams whose keys are known to whoever scores a row."""
    source, target = on_host(source), on_host(target)
    encoder = TableEncoder().fit_rows(source, target)
    pair = samples(encoder, source, target, seed, most)
    row_keys = RowKeys(encoder.low, encoder.high, seed)
    parts: list[_Dealt | Stretch] = []
    sketch, known = [], True
    for sample in pair:
        keys, by_content = sample.first_keys, sample.by_content
        if sample.complete:
            keys = np.asarray(encoder.numbers_and_keys(sample.table, row_keys)[1])
            by_content = 2 * np.unique(keys).size >= sample.n
        # the order of a sample that is all here is random, and its ranks deal it as they are
        ranked = sample.complete and not by_content
        sketch.append(Stretch(sample.first, sample.first_keys if ranked else dealing_keys(keys)))
        parts.append(sketch[-1] if sample.complete else _Dealt(sample))
        known &= by_content
    return Streams(encoder, row_keys if known else None, parts, sketch)


def fit_block_logistic(given: Streams, n_folds: int) -> BlockLogistic:
    """Fit the regressions of all folds to the rows of source and target."""
    sketch = given.sketch
    counts = np.array([fold_sizes(sample, n_folds) for sample in given.samples])
    learnt = counts.sum(axis=1, keepdims=True) - counts
    if learnt.min() < 1:
        sizes = " and ".join(str(sample.n) for sample in given.samples)
        raise ValueError(
            f"Got samples of {sizes} rows that cannot be dealt into {n_folds} folds by what the "
            "rows hold: all rows of one sample are in one fold. So few rows fit in memory; pass "
            "arrays or data frames."
        )
    numbers = np.concatenate([part.first for part in sketch])
    quadratic = Quadratic().fit(numbers)
    chosen = _on_sketch(sketch, QuadraticRows(numbers, quadratic), n_folds)
    log_odds = np.log(learnt[1] / learnt[0])
    start = [
        np.append(model.coef, model.intercept + log_odds[fold]) for fold, model in enumerate(chosen)
    ]
    C = chosen[0].C
    most = max(1000, int(SKETCH_WORK / len(sketch) / quadratic.scale.size**2))
    part = [Stretch(rows.first[:most], rows.keys[:most]) for rows in sketch]
    regressions = FoldRegressions(given.samples, part, quadratic, learnt.sum(axis=0), C)
    coef = regressions.fit(np.array(start))
    models = [
        LinearLogOdds(row[:-1], float(row[-1] - prior), C)
        for row, prior in zip(coef, log_odds, strict=True)
    ]
    return BlockLogistic(given.encoder, given.row_keys, quadratic, models)


def _on_sketch(sketch: Sequence[Stretch], rows: Any, n_folds: int) -> list[LinearLogOdds]:
    """Return the fold models of the best penalty, as if source and target rows were as many."""
    codes = np.repeat([0, 1], [part.n for part in sketch])
    fold = fold_of(np.concatenate([part.keys for part in sketch]), n_folds)
    numbers = range(n_folds)
    folds = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in numbers]
    models = [model.estimator for model in cross_fit(LogisticPath(), rows, codes, folds)[0]]
    priors = [np.log(codes[train].mean() / (1 - codes[train].mean())) for train, _ in folds]
    return [
        LinearLogOdds(model.coef, model.intercept - prior, model.C)
        for model, prior in zip(models, priors, strict=True)
    ]
