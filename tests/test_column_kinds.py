"""Every kind of column with every pattern of missing values gives a result or an error of ours."""

import warnings
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest

from cli_runs import run
from weighbridge import adapt, diagnose
from weighbridge._findings import argument
from weighbridge._tables import read_pair
from weighbridge.domain import outside_support
from weighbridge.exceptions import InputError, SearchWarning, WeightWarning
from weighbridge.ratios import GaussianRatio, fit_ratio

N_TRAIN, N_DEPLOY = 60, 30
DAY_0 = "2024-01-01"


def text(codes):
    return [f"w{code}" for code in codes]


def days(codes):
    return pd.to_timedelta(codes, "D")


# Each kind makes a column from integers between 0 and 9.
KINDS = {
    "int8": lambda codes: pd.Series(codes, dtype="int8"),
    "int64": lambda codes: pd.Series(codes, dtype="int64"),
    "float32": lambda codes: pd.Series(codes / 4, dtype="float32"),
    "nullable integers": lambda codes: pd.Series(codes, dtype="Int64"),
    "booleans": lambda codes: pd.Series(codes % 2 == 0),
    "nullable booleans": lambda codes: pd.Series(codes % 2 == 0, dtype="boolean"),
    "text objects": lambda codes: pd.Series(text(codes), dtype=object),
    "pandas text": lambda codes: pd.Series(text(codes), dtype="string[python]"),
    "pyarrow text": lambda codes: pd.Series(text(codes), dtype="string[pyarrow]"),
    "category": lambda codes: pd.Series(text(codes), dtype="category"),
    "ordered category": lambda codes: pd.Series(
        pd.Categorical(text(codes), categories=text(range(10)), ordered=True)
    ),
    "dates": lambda codes: pd.Series(pd.Timestamp(DAY_0) + days(codes)),
    "dates with zone": lambda codes: pd.Series(pd.Timestamp(DAY_0, tz="CET") + days(codes)),
    "durations": lambda codes: pd.Series(days(codes)),
    "decimals": lambda codes: pd.Series([Decimal(int(code)) / 4 for code in codes], dtype=object),
    "numbers and text": lambda codes: pd.Series(
        [int(code) if code % 2 else f"w{code}" for code in codes], dtype=object
    ),
    "many levels": lambda codes: pd.Series([f"w{row}" for row in range(len(codes))], dtype=object),
    "huge float64": lambda codes: pd.Series(codes * 1e300),
    "tiny nullable floats": lambda codes: pd.Series(codes * 1e-300, dtype="Float64"),
}
# Which training rows and which deployment rows miss their value: a share, or one row.
MISSING = {
    "complete": (0, 0),
    "in training": (0.4, 0),
    "in deployment": (0, 0.4),
    "a little in deployment": (0, 1 / N_DEPLOY),
    "in both": (0.4, 0.4),
    "altogether in training": (1, 0),
    "altogether in deployment": (0, 1),
    "new values in deployment": (0, 0),
    "constant in training": (0, 0),
    "one deployment row": (0, 0),
}
COMBINATIONS = list(product(KINDS, MISSING))
# The whole job for text in every pattern, and for every kind in the pattern that crashed most
# kinds of columns. `make test-more` runs the others.
JOBS = [
    pytest.param(
        kind,
        pattern,
        marks=[] if kind == "text objects" or pattern == "in deployment" else pytest.mark.more,
    )
    for kind, pattern in COMBINATIONS
]
# What a message of ours starts with.
OURS = ("Got ", "Column ", "WB", "error WB")


def make_tables(kind, pattern):
    """Return both tables: two features, the column under test and, in training, a label."""
    rng = np.random.default_rng(0)
    n = N_TRAIN + N_DEPLOY
    codes = rng.integers(0, 5, n)
    if pattern == "new values in deployment":
        codes[N_TRAIN:] += 5
    if pattern == "constant in training":
        codes[:N_TRAIN] = 2
    shares = np.repeat(MISSING[pattern], (N_TRAIN, N_DEPLOY))
    places = np.concatenate([rng.permutation(size) / size for size in (N_TRAIN, N_DEPLOY)])
    column = KINDS[kind](codes)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    parts = []
    for rows in (slice(N_TRAIN), slice(N_TRAIN, n)):
        is_missing = (places < shares)[rows]
        values = column[rows]
        # A column keeps its own type unless a value is missing.
        values = values.mask(is_missing) if is_missing.any() else values
        parts.append(table[rows].assign(c=values).reset_index(drop=True))
    train, deploy = parts
    train["y"] = (train["a"] + rng.normal(size=N_TRAIN) > 0).astype(int)
    return train, deploy[:1] if pattern == "one deployment row" else deploy


def result_or_error(function, *args, **options):
    """Return the result, or None after an error of ours; only our own warnings may be raised."""
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **options)
        except (ValueError, TypeError) as raised:
            result, error = None, raised
    if error:
        assert type(error) in (InputError, ValueError, TypeError), repr(error)
        assert str(error).startswith(OURS), repr(error)
    assert all(issubclass(one.category, WeightWarning | SearchWarning) for one in caught)
    return result


@pytest.mark.parametrize(("kind", "pattern"), COMBINATIONS)
def test_diagnose_reports_or_refuses(kind, pattern):
    train, deploy = make_tables(kind, pattern)
    report = result_or_error(diagnose, GaussianRatio(), train.drop(columns="y"), deploy)
    assert report is not None or pattern == "one deployment row"


@pytest.mark.parametrize(("kind", "pattern"), COMBINATIONS)
def test_reading_keeps_missing_values(kind, pattern):
    train, deploy = make_tables(kind, pattern)
    read = result_or_error(read_pair, train, deploy, option=argument, label="y")
    if read is None:
        assert pattern == "one deployment row"
        return
    X, X_target = read[2].X, read[2].X_target
    if "c" in X:  # a column without a value in one table is left out
        assert X["c"].isna().equals(train["c"].isna())
        assert X_target["c"].isna().equals(deploy["c"].isna())
    assert result_or_error(fit_ratio, X, X_target, ratio="gaussian")


@pytest.mark.parametrize(("kind", "pattern"), JOBS)
def test_adapt_returns_or_refuses(kind, pattern):
    train, deploy = make_tables(kind, pattern)
    result = result_or_error(adapt, train, deploy, label="y", model="linear", lam=0)
    assert result is not None or pattern == "one deployment row" or kind == "huge float64"


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"many levels"}))
def test_values_missing_in_deployment_alone_are_outside_the_support(kind):
    train, deploy = make_tables(kind, "altogether in deployment")
    assert outside_support(train.drop(columns="y"), deploy).unseen_levels == ("c missing",)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_command_reads_text_missing_in_deployment_alone(tmp_path, suffix):
    files = [tmp_path / f"{name}.{suffix}" for name in ("train", "deploy")]
    for table, file in zip(make_tables("text objects", "in deployment"), files, strict=True):
        table.to_csv(file, index=False) if suffix == "csv" else table.to_parquet(file)
    result = run("diagnose", *files, "--drop", "y")
    assert result.exit_code == 0, result.output
    assert "c missing" in result.stdout
