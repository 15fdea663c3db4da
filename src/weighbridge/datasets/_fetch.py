"""Benchmark sets: from a folder of copies, from scikit-learn, from a cache, from their source."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from weighbridge.datasets._benchmarks import BENCHMARKS, Benchmark, Contents, Folder, content_sha256

VARIABLE = "WEIGHBRIDGE_DATA"


def benchmark_names() -> list[str]:
    """Names of the benchmark sets that `fetch_benchmark` knows.

    Returns
    -------
    list of str
        Two-class sets first, then regressions, then sets with more classes.

    Examples
    --------
    >>> from weighbridge.datasets import benchmark_names
    >>> len(benchmark_names())
    11
    >>> "covtype" in benchmark_names()
    True
    """
    return list(BENCHMARKS)


def fetch_benchmark(name: str, *, data_home: Folder = None, download: bool = True) -> Bunch:
    """Fetch one of the data sets on which importance weighting is compared.

    Looked for in this order: the folder that the environment variable ``WEIGHBRIDGE_DATA`` names;
    scikit-learn itself (digits, diabetes, iris); the cache; the public source (LIBSVM's site,
    OpenML, scikit-learn's fetchers), from which it goes to the cache. In every case the numbers
    are compared with a SHA-256 of what they must be.

    Parameters
    ----------
    name : str
        One of `benchmark_names`. "pima" is what LIBSVM and the paper call diabetes; "diabetes" is
        scikit-learn's.
    data_home : path, optional
        Folder of the cache. Default: ``weighbridge`` in scikit-learn's own data folder.
    download : bool, default=True
        False never uses the network.

    Returns
    -------
    Bunch
        ``data`` (float, in raw units), ``target`` (whole numbers for classes), ``feature_names``,
        ``name``, ``task`` ("binary", "multiclass" or "regression"), ``description`` (origin, and
        what to know), ``source_used`` (a path, an address or "scikit-learn").

    Examples
    --------
    >>> from weighbridge.datasets import fetch_benchmark
    >>> data = fetch_benchmark("iris")
    >>> data.data.shape, data.task
    ((150, 4), 'multiclass')
    """
    if name not in BENCHMARKS:
        raise ValueError(
            f"Got name={name!r}, but expected one of {', '.join(BENCHMARKS)}. (LIBSVM's diabetes "
            "is called pima here.)"
        )
    return fetch(BENCHMARKS[name], data_home, download)


def fetch(benchmark: Benchmark, data_home: Folder, download: bool) -> Bunch:
    """Fetch a benchmark that need not be in the table."""
    (X, y), used = _find(benchmark, data_home, download)
    return Bunch(
        data=np.ascontiguousarray(X, dtype=np.float64),
        target=np.asarray(y, dtype=np.float64 if benchmark.task == "regression" else np.int64),
        feature_names=list(benchmark.feature_names),
        name=benchmark.name,
        task=benchmark.task,
        description=benchmark.description,
        source_used=used,
    )


def _find(benchmark: Benchmark, data_home: Folder, download: bool) -> tuple[Contents, str]:
    copy = _copy(benchmark)
    if copy is not None and copy.exists():
        return _verified(_read_copy(benchmark, copy), benchmark, str(copy)), str(copy)
    if benchmark.bundled:
        contents = benchmark.source(benchmark, data_home, download)
        return _verified(contents, benchmark, "scikit-learn"), "scikit-learn"
    cached = _cache_file(benchmark, data_home)
    if cached.exists():
        return _read_cache(benchmark, cached), str(cached)
    if download:
        with _writing(cached.parent):
            cached.parent.mkdir(parents=True, exist_ok=True)
    try:
        contents = benchmark.source(benchmark, data_home, download)
    except OSError as error:  # urllib's and requests' errors are of this kind
        raise OSError(_missing(benchmark, cached, error)) from error
    _verified(contents, benchmark, benchmark.address)
    if download:
        _write_cache(benchmark, cached, contents)
    return contents, benchmark.address


def _copy(benchmark: Benchmark) -> Path | None:
    """Path of the file in the user's folder of copies, if there is such a folder."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise FileNotFoundError(
            f"Got {VARIABLE}={folder}, but there is no such folder; correct the variable, or unset "
            "it to use the public sources."
        )
    return Path(folder) / benchmark.file


def _read_copy(benchmark: Benchmark, path: Path) -> Contents:
    content = path.read_bytes()
    got = hashlib.sha256(content).hexdigest()
    if got != benchmark.file_sha256:
        raise ValueError(
            f"Got {path} with SHA-256 {got}, but expected {benchmark.file_sha256}: the file is "
            "damaged or another version. Replace it, or remove it to use the public source."
        )
    if path.suffix == ".npz":
        with np.load(io.BytesIO(content)) as arrays:
            return arrays["X"].astype(np.float64), arrays["y"]
    with gzip.open(io.BytesIO(content), "rt", encoding="utf-8") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def _cache_file(benchmark: Benchmark, data_home: Folder) -> Path:
    if data_home is not None:
        return Path(data_home) / f"{benchmark.name}.npz"
    from sklearn.datasets import get_data_home

    with _writing("scikit-learn's data folder"):
        home = get_data_home()  # scikit-learn makes the folder, too
    return Path(home) / "weighbridge" / f"{benchmark.name}.npz"


def _read_cache(benchmark: Benchmark, path: Path) -> Contents:
    remedy = f"Delete the file {path} and fetch {benchmark.name} again."
    try:
        # np.load would leave a file open that it cannot read
        with path.open("rb") as file, np.load(file) as arrays:
            X, y = arrays["X"].astype(np.float64), arrays["y"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"Got a cache that cannot be read ({error}). {remedy}") from error
    got = content_sha256(X, y, benchmark.decimals)
    if got != benchmark.sha256:
        raise ValueError(
            f"Got a cache whose numbers have SHA-256 {got}, but expected {benchmark.sha256}. "
            f"{remedy}"
        )
    return X, y


def _write_cache(benchmark: Benchmark, path: Path, contents: Contents) -> None:
    """Write whole or not at all: a fetch that is killed leaves no half file under the name."""
    X, y = contents
    X = X.astype(np.int32) if benchmark.decimals == 0 else X
    with _writing(path.parent), tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / path.name
        np.savez_compressed(part, X=X, y=y)
        os.replace(part, path)


def _verified(contents: Contents, benchmark: Benchmark, used: str) -> Contents:
    X, y = contents
    got = content_sha256(X, y, benchmark.decimals)
    if got != benchmark.sha256:
        raise ValueError(
            f"Got {benchmark.name} of shape {X.shape} from {used}, whose numbers have SHA-256 "
            f"{got}, but expected {benchmark.sha256}: the source has changed, or the download was "
            f"cut short. Nothing was kept; try again, or put {benchmark.file} in the folder that "
            f"{VARIABLE} names."
        )
    return contents


@contextmanager
def _writing(folder: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(
            f"Got a cache folder, {folder}, that cannot be written ({error}); pass data_home=, a "
            "folder that you can write to."
        ) from error


def _missing(benchmark: Benchmark, cached: Path, error: OSError) -> str:
    return (
        f"Got no copy of {benchmark.name}, and its public source, {benchmark.address}, was not "
        f"read ({error}). Put {benchmark.file} in a folder and name that folder in the environment "
        f"variable {VARIABLE}, or put {cached.name} from the cache of another machine at {cached}; "
        "or try again with a network and download=True."
    )
