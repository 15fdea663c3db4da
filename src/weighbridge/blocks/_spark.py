"""Rows of a Spark DataFrame, worked on where its partitions are."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from itertools import accumulate, chain
from typing import Any

import numpy as np

from weighbridge._folds import one_blas_thread
from weighbridge.blocks._arrow import OTHER_ROWS, ArrowTable, Fingerprint, cut, first_line
from weighbridge.blocks._rows import (
    Block,
    Rows,
    add,
    block_size,
    check_columns,
    check_length,
    in_memory,
    run_on_block,
)
from weighbridge.exceptions import BlockError


def from_spark(frame: Any, columns: Any = None) -> SparkRows:
    """Rows of a Spark DataFrame, worked on by its workers, which need weighbridge too.

    Partitions add up their blocks, and the sums come back. In every pass a partition must have the
    same rows in the same order: keep what may otherwise differ (``cache``, ``checkpoint``).

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of Spark 3.5 or newer.
    columns : sequence of str, optional
        Columns to read, in this order. Default: all.

    Returns
    -------
    Rows
        The rows. Their ``with_weights(ratio, weighting=None, name="weight")`` is the DataFrame with
        weights of mean 1, computed by the workers, for ``weightCol`` of ``pyspark.ml``.

    Examples
    --------
    >>> rows = from_spark(train, ["age", "visits"])  # doctest: +SKIP
    >>> ratio = fit_ratio(rows, from_spark(deploy, ["age", "visits"]))  # doctest: +SKIP
    >>> LinearRegression(weightCol="weight").fit(rows.with_weights(ratio))  # doctest: +SKIP
    """
    return SparkRows(frame, columns)


class SparkRows(Rows):
    """Partitions of a Spark DataFrame."""

    names: list[str]

    def __init__(self, frame: Any, columns: Any = None):
        from pyspark.sql.types import BooleanType, NumericType

        self.frame, every = frame, list(frame.columns)
        self.names = check_columns(every if columns is None else columns, every)
        self.n_columns = len(self.names)
        kinds = [frame.schema[name].dataType for name in self.names]
        self.numeric = all(isinstance(kind, NumericType | BooleanType) for kind in kinds)
        self._table = ArrowTable(self.names, self.numeric)

    @cached_property
    def _parts(self) -> dict[int, tuple[int, int]]:
        """Number of rows and fingerprint of each partition that has rows."""
        return {number: seen for number, seen, _ in self._collected(list, None, {}, ())}

    @property
    def n_rows(self) -> int:
        """Number of rows, counted once."""
        return sum(n for n, _ in self._parts.values())

    def select(self, columns: list[str]) -> SparkRows:
        """Return some of the columns, see `Rows.select`."""
        return SparkRows(self.frame, check_columns(columns, self.names))

    def map(self, function: Callable[[Block], Any], *beside: Any) -> Iterator[Any]:
        """Apply a function to each block, see `Rows.map`."""
        return chain.from_iterable(self._results(list, function, beside))

    def sum(self, function: Callable[[Block], Any], *beside: Any) -> Any:
        """Add up what a function returns, in each partition first; see `Rows.sum`."""
        return reduce(add, self._results(partial(reduce, add), function, beside))

    def with_weights(self, ratio: Any, weighting: Any = None, name: str = "weight") -> Any:
        """Return the DataFrame with the weights that a fitted ratio gives its rows."""
        import pyarrow as pa
        from pyspark.sql.types import DoubleType, StructType

        if name in self.frame.columns:
            raise ValueError(f"Got name={name!r}, which is a column already; choose another.")
        names, table_of, named = self.names, self._table, hasattr(ratio, "feature_names_in_")

        def weights(table: Any) -> np.ndarray:
            if named and isinstance(table, np.ndarray):
                table = pa.table(dict(zip(names, table.T, strict=True))).to_pandas()
            log_ratio = ratio.score_samples(table)
            return np.exp(log_ratio if weighting is None else weighting(log_ratio))

        mean = self.sum(lambda block: weights(block.table).sum()) / max(self.n_rows, 1)
        if not 0 < mean < np.inf:
            raise ValueError(f"Got weights with a mean of {mean}, which cannot be made 1.")

        def weighted(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                columns = [*batch.columns, pa.array(weights(table_of(batch)) / mean)]
                yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, name])

        kinds = StructType([*self.frame.schema.fields]).add(name, DoubleType())
        return self.frame.mapInArrow(weighted, kinds)

    def _results(self, together: Any, function: Any, beside: tuple[Any, ...]) -> list[Any]:
        """Return what the blocks of each partition come to, if they are those of the first pass."""
        arrays = [np.atleast_1d(in_memory(other)) for other in beside]
        for array in arrays:
            check_length(len(array), self.n_rows)
        if self.n_rows == 0:  # a table without rows is one block
            import pyarrow as pa

            table = self._table(pa.table({name: [] for name in self.names}))
            return [together([function(Block(table, 0, tuple(arrays)))])]
        counts = accumulate((n for n, _ in self._parts.values()), initial=0)
        starts = dict(zip(self._parts, counts, strict=False))
        found = self._collected(together, function, starts, arrays)
        again = {number: seen for number, seen, _ in found}
        for number in {**again, **self._parts}:
            if again.get(number) != self._parts.get(number):
                raise BlockError(f"In partition {number}: {OTHER_ROWS}")
        return [result for *_, result in found]

    def _collected(self, together: Any, function: Any, starts: Any, beside: Any) -> list[Any]:
        """Return the number of each partition with rows, what tells its rows, and its result."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        size = block_size(self.n_columns, None)
        work = partial(_work, self._table, size, together, function, starts, beside)
        try:
            rows = self.frame.select(*self.names).mapInArrow(work, "result binary").collect()
        except (PySparkException, Py4JJavaError) as error:
            # what happened stands somewhere among many lines of Java or of a worker
            found = re.search(r"^:? ?([\w.]+(Error|Exception): .*)", str(error), re.MULTILINE)
            what = found[1] if found else first_line(error)
            raise BlockError(f"Spark could not read all rows, or lost a worker: {what}") from error
        parts = sorted((pickle.loads(row.result) for row in rows), key=lambda each: each[0])
        for *_, result in parts:
            if isinstance(result, BlockError):
                raise result
        return parts


def _work(
    table_of: Any, size: int, together: Any, function: Any, starts: Any, beside: Any, batches: Any
) -> Iterator[Any]:
    """Work on a partition in a worker of Spark; an error in a block is a result too."""
    import pyarrow as pa
    from pyspark import TaskContext, cloudpickle

    context: Any = TaskContext.get()
    part, seen = context.partitionId(), Fingerprint()

    def results() -> Iterator[Any]:
        for number, table in enumerate(chain([first], tables)):
            start = starts.get(part, 0) + seen.n
            seen.add(table)
            if function is not None:
                stretches = (other[start : start + len(table)] for other in beside)
                block = Block(table, start, tuple(stretches))
                yield run_on_block(function, number, block, lambda *_: f"partition {part}")

    tables = cut(map(table_of, batches), size)
    first = next(tables, None)
    if first is None:
        return
    try:
        with one_blas_thread():  # Spark has a worker for each core
            result = together(results())
    except BlockError as error:
        result = error
    found = cloudpickle.dumps((part, (seen.n, seen.value), result))
    yield pa.RecordBatch.from_pydict({"result": [found]})
