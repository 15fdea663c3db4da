"""Data sets of Ray."""

from pathlib import Path

import pyarrow as pa
import pytest

from engines import laws
from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def ray():
    ray = pytest.importorskip("ray")
    paths = {"env_vars": {"PYTHONPATH": str(Path(__file__).parents[1])}}
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=2, runtime_env=paths, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    yield ray
    ray.shutdown()


@pytest.fixture
def as_ray(ray):
    def make(frame=None):
        table = pa.Table.from_pandas(laws.rows() if frame is None else frame, preserve_index=False)
        return ray.data.from_arrow([table.slice(start, 500) for start in range(0, 2000, 500)])

    return make


def collect(table):
    blocks = table.iter_batches(batch_format="pyarrow", batch_size=None)
    frame = pa.concat_tables(blocks, promote_options="permissive").to_pandas()
    return frame.sort_values("row", ignore_index=True)


def test_sample_is_uniform(as_ray):
    laws.check_sample(as_ray, draws=5)


def test_with_column_equals_the_function_of_the_frame(as_ray):
    laws.check_new_columns(as_ray, collect)


def test_with_column_is_lazy(as_ray, tmp_path):
    laws.check_lazy(as_ray, tmp_path)


def test_with_column_names_the_block_that_fails(ray, as_ray):
    errors = (BlockError, ray.exceptions.RayError)
    laws.check_faults(as_ray, collect, r"the block that starts with \[\{'row'", errors)


def test_bad_arguments_are_refused(as_ray):
    laws.check_refusals(as_ray, lambda: as_ray(laws.rows().head(0)))


def test_blocks_may_be_empty_or_all_missing_but_not_of_other_types(ray):
    frame = laws.rows(200)
    text, missing = frame.assign(x="text"), frame.assign(x=None)
    laws.check_partitions(
        collect,
        *(ray.data.from_pandas([frame, other]) for other in (frame.head(0), missing, text)),
    )


def test_a_query_that_fails_gives_its_cause(as_ray):
    def no_scale(frame):
        raise ZeroDivisionError("no scale")

    table = as_ray().map_batches(no_scale, batch_format="pandas")
    for verb in (sample, lambda table: with_column(table, "new", len)):
        with pytest.raises(BlockError, match=r"(?s)could not be .*no scale"):
            verb(table)
