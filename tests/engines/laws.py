"""Laws of samples and new columns that hold for the tables of every engine."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError

N_ROWS = 2000


def rows(n=N_ROWS, seed=0):
    """Return rows with a number, a number that may be missing, text, and their position."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "x": x,
            "z": np.where(rng.random(n) < 0.1, np.nan, x**2),
            "kind": rng.choice(["low", "high"], n),
        }
    )


FUNCTIONS = {
    float: lambda frame: 2 * frame["x"].to_numpy(),
    int: lambda frame: frame["row"].to_numpy() + 1,
    bool: lambda frame: frame["x"].to_numpy() > 0,
    str: lambda frame: frame["kind"].astype(object) + "!",
}


def check_sample(make_table, draws=20, is_seeded=True):
    """Check that samples are uniform, without replacement, in order, and set by their seed."""
    size = N_ROWS // 10
    samples = [sample(make_table(), size, random_state=i)["row"].to_numpy() for i in range(draws)]
    for positions in samples:
        assert np.unique(positions).size == size
    counts = np.bincount(np.concatenate(samples) // 100, minlength=20)
    # The counts of a sample without replacement vary less than those of a multinomial.
    assert chisquare(counts).pvalue > 1e-3
    neighbours = sum(np.sum(np.diff(np.sort(positions)) == 1) for positions in samples)
    expected = draws * (size - 1) * size / N_ROWS
    assert abs(neighbours - expected) < 4 * np.sqrt(expected)
    if is_seeded:
        np.testing.assert_array_equal(sample(make_table(), size, random_state=0)["row"], samples[0])
    whole = sample(make_table(), N_ROWS + 1)
    pd.testing.assert_frame_equal(whole.sort_values("row"), rows(), check_dtype=False)


def check_new_columns(make_table, collect):
    """Check that new columns equal the function of the data frame, with rows and types kept."""
    frame = rows()
    for kind, function in FUNCTIONS.items():
        result = collect(with_column(make_table(), "new", function))
        assert list(result.columns) == [*frame.columns, "new"]
        pd.testing.assert_frame_equal(result[list(frame)], frame, check_dtype=False)
        np.testing.assert_array_equal(result["new"], function(frame))
        assert isinstance(result["new"].tolist()[0], kind)


class Recorder:
    """A function of a block that must not run before the table is computed."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, frame):
        for row in frame["row"]:
            (self.folder / str(row)).touch()
        return frame["x"].to_numpy()


def check_lazy(make_table, folder):
    """Check that `with_column` computes no more than the first rows."""
    with_column(make_table(), "new", Recorder(folder))
    assert len(list(folder.iterdir())) < N_ROWS


def too_few(frame):
    """Return one value too few in the block with the last row."""
    return np.zeros(len(frame) - bool((frame["row"] == N_ROWS - 1).any()))


def fails(frame):
    """Fail in the block with the last row."""
    if (frame["row"] == N_ROWS - 1).any():
        raise ZeroDivisionError("no scale")
    return np.zeros(len(frame))


def changes_type(frame):
    """Return text in the block with the last row, and numbers before it."""
    if (frame["row"] == N_ROWS - 1).any():
        return np.repeat("a", len(frame))
    return np.zeros(len(frame))


FAULTS = {
    too_few: r"Got [\d,]+ values for [\d,]+ rows: return one for each",
    fails: "ZeroDivisionError: no scale",
    changes_type: "Arrow",
}


def check_faults(make_table, collect, place, errors=BlockError, functions=(*FAULTS,)):
    """Check that the error of a function that fails in the last block has its block and cause."""
    for function in functions:
        cause = FAULTS[function]
        with pytest.raises(errors, match=rf"(?s)In {place}.*, the function failed: .*{cause}"):
            collect(with_column(make_table(), "new", function))


def check_partitions(collect, empty, missing, mixed):
    """Check tables with a partition that is empty, of missing values, or of another type."""
    for table in (empty, missing):
        result = collect(with_column(table, "new", lambda frame: frame["x"].isna().to_numpy()))
        np.testing.assert_array_equal(result["new"], result["x"].isna())
        assert len(sample(table, 50)) == 50
    with pytest.raises(BlockError, match="types"):
        sample(mixed)


def check_refusals(make_table, make_empty):
    """Check that a name in use, a table without rows and a senseless size are refused."""
    with pytest.raises(ValueError, match="Got name='x', which is a column already"):
        with_column(make_table(), "x", len)
    with pytest.raises(ValueError, match="The table has no rows"):
        with_column(make_empty(), "new", len)
    with pytest.raises(ValueError, match="The table has no rows"):
        sample(make_empty())
    with pytest.raises(ValueError, match="Got rows=0"):
        sample(make_table(), 0)
