"""Tables of Ibis."""

import itertools

import pyarrow as pa
import pytest

from engines import laws
from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError

pytestmark = pytest.mark.engines


@pytest.fixture
def as_ibis():
    # The backend of DuckDB in Ibis 12 does not work with DuckDB 2.0.
    backend, numbers = pytest.importorskip("ibis").polars.connect(), itertools.count()

    def make(frame=None):
        table = pa.Table.from_pandas(laws.rows() if frame is None else frame, preserve_index=False)
        return backend.create_table(f"rows_{next(numbers)}", table)

    return make


def collect(reader):
    assert isinstance(reader, pa.RecordBatchReader)
    return reader.read_all().to_pandas()


def test_sample_is_uniform(as_ibis):
    laws.check_sample(as_ibis, is_seeded=False)


def test_with_column_equals_the_function_of_the_frame(as_ibis):
    laws.check_new_columns(as_ibis, collect)


def test_with_column_names_the_batch_that_fails(as_ibis):
    faults = [laws.too_few, laws.fails]
    laws.check_faults(as_ibis, collect, "the batch that starts at row", functions=faults)


def test_bad_arguments_are_refused(as_ibis):
    laws.check_refusals(as_ibis, lambda: as_ibis(laws.rows().head(0)))


def test_a_query_that_fails_gives_its_cause(as_ibis):
    table = as_ibis()
    table = table.mutate(number=table["kind"].cast("int64"))
    for verb in (sample, lambda table: with_column(table, "new", len)):
        with pytest.raises(BlockError, match=r"could not be (read|sampled): \w+"):
            verb(table)
