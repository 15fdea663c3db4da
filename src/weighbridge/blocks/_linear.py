"""Linear and ridge regression fitted by sums over blocks, and predictions block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weighbridge.blocks._columns import (
    CentredTable,
    block_columns,
    block_steps,
    no_alarms,
    typical,
    without_names,
)
from weighbridge.blocks._rows import Block, Rows, in_memory
from weighbridge.tables import array_namespace, is_foreign, to_numpy

FloatArray = npt.NDArray[np.float64]

# Rows gathered at a time, in the cache.
_PIECE = 4_096
# Sums of products lose twice the digits that a table loses; below this share of the largest
# direction the smallest is looked at again.
_NARROW = 1e-6
# Solvers that stop near the solution; from sums it is found at once.
_ITERATIVE = ("sag", "saga", "lsqr", "sparse_cg")


class BlockModel:
    """An estimator that works on blocks, its transformers fitted, ready for any weights."""

    def __init__(self, estimator: Any, rows: Rows, y: Any) -> None:
        *steps, last = block_steps(estimator)
        self.estimator, self.rows = estimator, rows
        self.y = _label_numbers(y, rows.n_rows)
        self.columns = block_columns(steps, rows)
        self.centred = bool(last.fit_intercept)
        where = typical(rows, self.columns, self.y, None, self.centred)
        self.table = CentredTable(self.columns, where)

    def fits(self, weights: Sequence[FloatArray]) -> list[Any]:
        """Fit a copy for each vector of weights, all by one pass over the rows."""
        return [self._fitted(clone(self.estimator), root) for root in self._roots(weights)]

    def fit_into(self, estimator: Any, weights: FloatArray) -> Any:
        """Fit an estimator that the caller owns, of the same kind."""
        return self._fitted(estimator, self._roots([weights])[0])

    def _roots(self, weights: Sequence[FloatArray]) -> list[_Root]:
        size = self.table.size
        plain = [np.eye(size)] * len(weights)
        sums = self._sums(plain, weights)
        roots = [_root(one, self.centred) for one in sums]
        narrow = [index for index, root in enumerate(roots) if root.narrow]
        if narrow:
            # once more in coordinates where all directions are of one size: then no digits are lost
            changes = [roots[index].change(size) for index in narrow]
            again = self._sums(changes, [weights[index] for index in narrow])
            for index, one in zip(narrow, again, strict=True):
                roots[index] = roots[index].after(_root(one, self.centred))
        return roots

    def _sums(self, changes: list[FloatArray], weights: Sequence[FloatArray]) -> FloatArray:
        sums = self.rows.sum(_Products(self.table, changes), self.y, *weights)
        return to_numpy(sums)

    def _fitted(self, estimator: Any, root: _Root) -> Any:
        """Fit to a few rows that have the same sums of squares and products as all of them."""
        steps = [deepcopy(step) for step in self.columns.steps]
        _install(estimator, iter(steps))
        model = estimator
        while isinstance(model, Pipeline):
            model = model.steps[-1][1]
        centre, scale, level = self.table.typical
        few = root.rows.copy()
        few[:, :-1] /= scale
        if self.centred:  # of mean 0, to the last digit
            few = np.concatenate([few, -few]) / np.sqrt(2)
        _fit_exactly(model, few[:, :-1], few[:, -1])
        if self.centred:
            middle = centre + root.mean[:-1] / scale
            model.intercept_ = level + root.mean[-1] - float(middle @ model.coef_)
        first = steps[0] if steps else model
        if self.columns.names is not None and not isinstance(first, FrozenEstimator):
            first.feature_names_in_ = np.asarray(self.columns.names, dtype=object)
        return estimator


def _fit_exactly(model: Any, X: FloatArray, y: FloatArray) -> None:
    solver = getattr(model, "solver", None)
    if solver not in _ITERATIVE:
        model.fit(X, y)
        return
    model.set_params(solver="auto").fit(X, y)
    model.set_params(solver=solver)


def _install(pipeline: Any, fitted: Iterator[Any]) -> None:
    """Put fitted transformers into the places of a pipeline."""
    if not isinstance(pipeline, Pipeline):
        return
    steps = [
        (name, step if step is None or step == "passthrough" else next(fitted))
        for name, step in pipeline.steps[:-1]
    ]
    pipeline.steps = [*steps, pipeline.steps[-1]]
    _install(pipeline.steps[-1][1], fitted)


@dataclass(frozen=True)
class _Products:
    """Weighted sums of products of the columns of a block, each after a change of coordinates."""

    table: CentredTable
    changes: list[FloatArray]

    def __call__(self, block: Block) -> Any:
        y, *weights = block.beside
        features = self.table.columns(block.table)
        sums = self._on_device if is_foreign(features) else self._in_pieces
        with no_alarms():
            total = sums(features, y, weights)
        self.table.check(total, features)
        return total

    def _in_pieces(self, features: FloatArray, y: Any, weights: list[Any]) -> FloatArray:
        total = np.zeros((len(weights), self.table.size, self.table.size))
        for start in range(0, len(features), _PIECE):
            some = slice(start, start + _PIECE)
            table = self.table.transposed(features, y, some)
            for one, change, weight in zip(total, self.changes, weights, strict=True):
                part = change.T @ table
                one += (part * weight[some]) @ part.T
        return total

    def _on_device(self, features: Any, y: Any, weights: list[Any]) -> Any:
        xp, device = array_namespace(features), features.device
        table, sums = self.table.whole(features, y), []
        for change, weight in zip(self.changes, weights, strict=True):
            part = table @ xp.asarray(change, device=device)
            scaled = part * xp.asarray(np.ascontiguousarray(weight), device=device)[:, None]
            sums.append(xp.matrix_transpose(scaled) @ part)
        return xp.stack(sums)


class _Root(NamedTuple):
    """Rows of features and labels with given sums of products, and coordinates to look again in."""

    rows: FloatArray
    mean: FloatArray
    # to coordinates in which all directions of a table are of one size, and back
    stretch: FloatArray
    shrink: FloatArray
    narrow: bool

    def change(self, size: int) -> FloatArray:
        """Return the change of coordinates for a table with a column of ones."""
        places = [*range(size - 2), size - 1]
        out = np.zeros((size, size))
        out[np.ix_(places, places)] = self.stretch
        out[size - 2, places] = -self.mean @ self.stretch
        out[size - 2, size - 2] = 1.0
        return out

    def after(self, second: _Root) -> _Root:
        """Return what was found in these coordinates, taken back."""
        mean = self.mean + second.mean @ self.shrink
        return second._replace(rows=second.rows @ self.shrink, mean=mean)


def _root(sums: FloatArray, centred: bool) -> _Root:
    """Factor sums of products of [features, ones, labels]."""
    one = len(sums) - 2
    places = [*range(one), one + 1]
    total, products = sums[one, one], sums[np.ix_(places, places)]
    mean = sums[one, places] / total if centred else np.zeros(one + 1)
    spread = products - total * np.outer(mean, mean)
    size = np.sqrt(np.maximum(np.diag(spread), 0.0))
    # what is left of a constant column is rounding
    gone = ~(size > 1e-13 * np.sqrt(total + np.diag(products)))
    spread[gone], spread[:, gone], size[gone] = 0.0, 0.0, 1.0
    alike = spread / np.outer(size, size)
    values, vectors = np.linalg.eigh(alike)
    roots = np.sqrt(np.maximum(values, len(values) * np.finfo(float).eps))
    kept = np.flatnonzero(~gone[:-1])
    far = total * np.square(mean[kept]) * _NARROW > np.square(size[kept])
    narrowest = np.linalg.eigvalsh(alike[np.ix_(kept, kept)]).min(initial=np.inf)
    narrow = bool(far.any() or narrowest < _NARROW)
    rows = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * size
    stretch = vectors / size[:, None] / roots
    return _Root(rows, mean, stretch, roots[:, None] * vectors.T * size, narrow)


def predict_by_blocks(model: Any, rows: Rows, method: str = "predict") -> Any:
    """Apply a method of a fitted model to each block; named columns may come in any order."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.names is not None:
        rows = _in_order(rows, list(names))
    return rows.vector(partial(_predicted, model, without_names(model), method))


def _in_order(rows: Rows, names: list[str]) -> Rows:
    if rows.names == names:
        return rows
    absent = [name for name in names if name not in (rows.names or [])]
    other = [name for name in rows.names or [] if name not in names]
    if absent or other:
        raise ValueError(
            f"Got rows without columns {absent} and with others {other}; the model was fitted with "
            f"{names}."
        )
    return rows.select(names)


def _predicted(model: Any, nameless: Any, method: str, table: Any) -> np.ndarray:
    """Predict a table; one without names goes to the model that has forgotten its own."""
    if is_foreign(table):
        table = to_numpy(table)
    chosen = nameless if isinstance(table, np.ndarray) else model
    return np.asarray(getattr(chosen, method)(table))


def _label_numbers(y: Any, n_rows: int) -> FloatArray:
    """Return labels of rows in blocks as finite numbers in memory, one for each row."""
    labels = np.asarray(in_memory(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise ValueError(
            f"Got y of shape {labels.shape} for {n_rows} rows in blocks; there must be one label "
            "for each row."
        )
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Got y of type {labels.dtype} that is not numbers; a regressor needs one number for "
            "each row."
        ) from None
    bad = int((~np.isfinite(numbers)).sum())
    if bad:
        raise ValueError(
            f"Got y with NaN or infinite values in {bad} of {n_rows} rows; leave these rows out."
        )
    return numbers
