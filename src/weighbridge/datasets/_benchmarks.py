"""The benchmark sets of benchmarks.toml: from copies, scikit-learn, the cache or their source."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tomllib
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from weighbridge._files import write_whole

# Number of rows that are rounded at once. All of covtype would need three times its memory.
_BLOCK_ROWS = 65_536
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)

Folder = str | os.PathLike[str] | None
Table = tuple[np.ndarray, np.ndarray]

_ENTRIES = tomllib.loads(files(__package__).joinpath("benchmarks.toml").read_text("utf-8"))
_DEFAULTS = {"decimals": None, "bundled": False}
BENCHMARKS = {name: Bunch(name=name, **_DEFAULTS | entry) for name, entry in _ENTRIES.items()}


def benchmark_names() -> list[str]:
    """Names of the benchmark sets that `fetch_benchmark` can fetch.

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

    These places are searched in order: the folder that the environment variable
    ``WEIGHBRIDGE_DATA`` names; scikit-learn itself (digits, diabetes, iris); the cache; the public
    source (LIBSVM's site, OpenML, scikit-learn's fetchers), from which a set is copied to the
    cache. The numbers are always compared with their known SHA-256.

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
        ``data`` (float, in raw units), ``target`` (integers for classes), ``feature_names``,
        ``name``, ``task`` ("binary", "multiclass" or "regression"), ``description`` (origin and
        caveats), ``source_used`` (a path, an address or "scikit-learn").

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
    benchmark = BENCHMARKS[name]
    (X, y), source_used = _search(benchmark, data_home, download)
    return Bunch(
        data=np.ascontiguousarray(X, dtype=np.float64),
        target=np.asarray(y, dtype=np.float64 if benchmark.task == "regression" else np.int64),
        feature_names=_expand(benchmark.feature_names),
        source_used=source_used,
        **{key: benchmark[key] for key in ("name", "task", "description")},
    )


def _search(benchmark: Bunch, data_home: Folder, download: bool) -> tuple[Table, str]:
    """Return X and y, and the place where they were found."""
    folder = os.environ.get("WEIGHBRIDGE_DATA")
    if folder and not Path(folder).is_dir():
        raise FileNotFoundError(
            f"Got WEIGHBRIDGE_DATA={folder}, but there is no such folder; correct the variable, or "
            "unset it to use the public sources."
        )
    if folder and (copy := Path(folder) / benchmark.file).exists():
        remedy = "replace it, or remove it to use the public source."
        with _explain(f"a copy, {copy}, that is damaged or another version", remedy):
            content = copy.read_bytes()
            _check_digest(hashlib.sha256(content).hexdigest(), benchmark.file_sha256)
            return _read(content, copy.suffix), str(copy)
    if benchmark.bundled:
        remedy = f"put {benchmark.file} in the folder that WEIGHBRIDGE_DATA names."
        with _explain(f"another version of {benchmark.name} from scikit-learn", remedy):
            return _checked(_load_source(benchmark, data_home, download), benchmark), "scikit-learn"
    cached = _cache_path(benchmark, data_home, download)
    if cached.exists():
        remedy = f"delete the file {cached} and fetch {benchmark.name} again."
        with _explain("a cache that is damaged or another version", remedy):
            return _checked(_read(cached.read_bytes(), cached.suffix), benchmark), str(cached)
    with _explain(
        f"no copy of {benchmark.name}, and its public source, {benchmark.address}, cannot be used",
        f"nothing was kept. Put {benchmark.file} in a folder and name that folder in the "
        f"environment variable WEIGHBRIDGE_DATA, or put {cached.name} from the cache of another "
        f"machine at {cached}; or try again with a network and download=True.",
    ):
        X, y = _checked(_load_source(benchmark, data_home, download), benchmark)
    if download:
        smaller = X.astype(np.int32) if benchmark.decimals == 0 else X
        with _explain_cache(cached.parent), write_whole(cached) as temporary:
            np.savez_compressed(temporary, X=smaller, y=y)
    return (X, y), benchmark.address


@contextmanager
def _explain(finding: str, remedy: str) -> Iterator[None]:
    """Add to an error what was found and what to do."""
    try:
        yield
    except _UNREADABLE as error:
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"Got {finding} ({error}); {remedy}") from error


def _explain_cache(folder: str | os.PathLike[str]) -> AbstractContextManager[None]:
    remedy = "pass data_home=, a folder that you can write to."
    return _explain(f"a cache folder, {folder}, that cannot be written", remedy)


def _cache_path(benchmark: Bunch, data_home: Folder, create: bool) -> Path:
    """Return the path of a set in the cache, and create its folder."""
    from sklearn.datasets import get_data_home

    with _explain_cache(data_home or "scikit-learn's data folder"):
        folder = Path(get_data_home()) / "weighbridge" if data_home is None else Path(data_home)
        if create:
            folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{benchmark.name}.npz"


def _read(content: bytes, suffix: str) -> Table:
    """Read X and y from arrays, or from a compressed CSV file with y as its last column."""
    if suffix == ".gz":
        table = np.loadtxt(io.BytesIO(gzip.decompress(content)), delimiter=",", skiprows=1)
        return table[:, :-1], table[:, -1]
    with np.load(io.BytesIO(content)) as arrays:
        return arrays["X"], arrays["y"]


def _checked(table: Table, benchmark: Bunch) -> Table:
    """Return the table; raise ValueError unless its numbers are those of the benchmark."""
    _check_digest(content_sha256(*table, benchmark.decimals), benchmark.sha256)
    return table


def _check_digest(digest: str, expected: str) -> None:
    if digest != expected:
        raise ValueError(f"SHA-256 {digest}, but expected {expected}")


def content_sha256(X: np.ndarray, y: np.ndarray, decimals: int | None) -> str:
    """Return the SHA-256 of the shape of X, and of the numbers in X and y, row by row."""
    digest = hashlib.sha256(str(X.shape).encode())
    for start in range(0, len(X), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        rounded = block if decimals is None else np.round(block, decimals)
        # Adding 0.0 turns -0.0 into 0.0.
        digest.update(np.ascontiguousarray(rounded + 0.0, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(y, dtype="<f8").tobytes())
    return digest.hexdigest()


def _load_source(benchmark: Bunch, data_home: Folder, download: bool) -> Table:
    """Load X and y from the public source. scikit-learn keeps its own files in `data_home`."""
    if benchmark.source != "scikit-learn" and not download:
        raise OSError("download=False")
    with warnings.catch_warnings():
        # scikit-learn warns at each attempt. The final error contains the reason.
        warnings.filterwarnings("ignore", message="Retry downloading from url")
        warnings.filterwarnings("ignore", message="A network error occurred while downloading")
        if benchmark.source == "libsvm":
            return _load_libsvm(benchmark)
        if benchmark.source == "openml":
            from sklearn.datasets import fetch_openml

            options = {"as_frame": False, "parser": "liac-arff", "cache": False}
            return decode_openml(fetch_openml(data_id=531, **options))
        module, _, function = benchmark.address.rpartition(".")
        options = {"data_home": data_home, "download_if_missing": download}
        loader = getattr(import_module(module), function)
        data = loader(**({} if benchmark.bundled else options))
    return data.data, data.target


def _load_libsvm(benchmark: Bunch) -> Table:
    """Download a file in LIBSVM's format, and round its numbers to the decimals of the set."""
    from sklearn.datasets import load_svmlight_file

    try:
        from pooch import HTTPDownloader
    except ImportError:
        raise ImportError(
            f"Downloading {benchmark.name} needs pooch: pip install weighbridge[data]. Or put "
            f"{benchmark.file} in the folder that WEIGHBRIDGE_DATA names."
        ) from None
    content = io.BytesIO()
    # A streamed download that fails would leave its socket open.
    HTTPDownloader(stream=False)(benchmark.address, content, None)
    content.seek(0)
    n_features = len(_expand(benchmark.feature_names))
    X, y = load_svmlight_file(content, n_features=n_features, zero_based=False)
    return np.round(X.toarray(), benchmark.decimals), y


def decode_openml(data: Bunch) -> Table:
    """Restore the numbers that OpenML declares as categories, which scikit-learn codes 0, 1, ..."""
    X = np.array(data.data, dtype=float)
    for name, values in data.categories.items():
        column = data.feature_names.index(name)
        X[:, column] = np.array(values, dtype=float)[X[:, column].astype(int)]
    return X, np.array(data.target, dtype=float)


def _expand(names: str) -> list[str]:
    """Split at spaces, and expand a range such as x1..3 to x1, x2, x3."""

    def numbered(found: re.Match[str]) -> str:
        return " ".join(f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1))

    return re.sub(r"(\S*?)(\d+)\.\.(\d+)", numbered, names).split()
