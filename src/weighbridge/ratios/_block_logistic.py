"""Cross-fitted logistic regression on samples that come in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.blocks import Rows
from weighbridge.ratios._block_newton import (
    FoldRegressions,
    Stretch,
    features,
    fold_of,
    fold_sizes,
)
from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._cross_fit import cross_fit
from weighbridge.ratios._host_rows import on_host
from weighbridge.ratios._logistic import LinearLogOdds, LogisticPath
from weighbridge.ratios._quadratic import Quadratic, QuadraticRows
from weighbridge.ratios._row_keys import RowKeys
from weighbridge.ratios._sample import Sample, samples
from weighbridge.ratios._table import TableEncoder

# Work on second derivatives of the sketch, in products of numbers: some seconds.
SKETCH_WORK = 2e11


@dataclass(frozen=True)
class BlockLogistic:
    """Log ratios by logistic regressions that were learnt from rows in blocks, one for each fold.

    Parameters
    ----------
    encoder : TableEncoder
        Makes standardised numbers of a table.
    row_keys : RowKeys or None
        Says in which fold a row is, by what it holds; None where many rows hold the same.
    quadratic : Quadratic
        The features.
    models : list of LinearLogOdds
        One for each fold; their log odds are those of as many source as target rows.
    """

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
        """Return the log ratio at some rows, each by the model that has not learnt from it.

        Without keys nobody knows which that is, and a row gets the mean of all models.
        """
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
    samples: list[Any]
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
        return self.sample.sum(_OnDealingKeys(function))


@dataclass(frozen=True)
class _OnDealingKeys:
    function: Callable[[np.ndarray, np.ndarray], Any]

    def __call__(self, numbers: np.ndarray, keys: np.ndarray) -> Any:
        return self.function(numbers, dealing_keys(keys))


def dealing_keys(keys: np.ndarray) -> np.ndarray:
    """Return keys in [0, 1) that have nothing to do with who is in memory.

    Those are the rows with the smallest keys: they would all be in the first fold. The digits of a
    key that come later are as random as the first.
    """
    return (keys * 2.0**20) % 1.0


def streams(source: Rows, target: Rows, seed: int, most: int) -> Streams:
    """Return two samples in blocks as streams whose keys are known to whoever scores a row."""
    source, target = on_host(source), on_host(target)
    labels = source.names or [str(j) for j in range(source.n_columns)]
    encoder = TableEncoder().fit_rows(source, target, labels)
    pair = samples(encoder, source, target, seed, most)
    row_keys = RowKeys(encoder.low, encoder.high, seed)
    parts: list[Any] = []
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
    """Fit the regressions of all folds to the rows of source and target.

    The penalty is the one of the smallest held-out log loss on the sketch, some rows of either
    sample in memory; the scales of squares and products come from there too. With this penalty the
    coefficients are those of all rows.
    """
    sketch = given.sketch
    counts = np.array([fold_sizes(sample, n_folds) for sample in given.samples])
    learnt = counts.sum(axis=1, keepdims=True) - counts
    if learnt.min() < 1:
        sizes = " and ".join(str(sample.n) for sample in given.samples)
        raise ValueError(
            f"Got samples of {sizes} rows that cannot be dealt into {n_folds} folds by what the "
            "rows hold: all rows of one sample are in one fold. So few rows fit into memory; pass "
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
