"""The benchmark sets of benchmarks.toml, and the places that they come from."""

from __future__ import annotations

import hashlib
import io
import os
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

# Rows that are rounded and hashed at a time: covtype as one block would need its memory thrice.
BLOCK = 65_536

Contents = tuple[np.ndarray, np.ndarray]
Folder = str | os.PathLike[str] | None
# A benchmark, the folder for scikit-learn's own files, and whether to download.
Source = Callable[["Benchmark", Folder, bool], Contents]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark set: what it holds, its file in a folder of copies, its public source."""

    name: str
    task: str
    description: str
    feature_names: tuple[str, ...]
    file: str
    file_sha256: str
    # of the numbers, by `content_sha256`: the same whatever file or site they came from
    sha256: str
    source: Source
    address: str
    # decimals that count in that digest; None: every bit
    decimals: int | None = None
    # scikit-learn brings it along: nothing to download, nothing to cache
    bundled: bool = False


def content_sha256(X: np.ndarray, y: np.ndarray, decimals: int | None) -> str:
    """SHA-256 of the numbers themselves, rows and columns included, not of their file."""
    digest = hashlib.sha256(str(X.shape).encode())
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK]
        rounded = block if decimals is None else np.round(block, decimals)
        digest.update(np.ascontiguousarray(rounded + 0.0, dtype="<f8").tobytes())  # no -0.0
    digest.update(np.ascontiguousarray(y, dtype="<f8").tobytes())
    return digest.hexdigest()


def from_libsvm(benchmark: Benchmark, data_home: Folder, download: bool) -> Contents:
    """Download a file in LIBSVM's format; the file itself is not kept."""
    _check_download(download)
    try:
        from pooch import HTTPDownloader
    except ImportError:
        raise ImportError(
            f"Downloading {benchmark.name} needs pooch: pip install weighbridge[data]. Or put "
            f"{benchmark.file} in the folder that WEIGHBRIDGE_DATA names."
        ) from None
    text = io.BytesIO()
    # in one piece: a stream that is refused or breaks off would leave its socket open
    HTTPDownloader(stream=False)(benchmark.address, text, None)
    text.seek(0)
    return parse_libsvm(text, benchmark)


def parse_libsvm(text: io.BytesIO, benchmark: Benchmark) -> Contents:
    """Dense rows of a file in LIBSVM's format, rounded to the decimals that the set has."""
    from sklearn.datasets import load_svmlight_file

    width = len(benchmark.feature_names)
    try:
        X, y = load_svmlight_file(text, n_features=width, zero_based=False)
    except ValueError as error:
        raise ValueError(
            f"Got a file from {benchmark.address} that is not {benchmark.name} in LIBSVM's format "
            f"({error}). Nothing was kept; try again, or put {benchmark.file} in the folder that "
            "WEIGHBRIDGE_DATA names."
        ) from error
    return np.round(X.toarray(), benchmark.decimals or 0), y


def from_openml(benchmark: Benchmark, data_home: Folder, download: bool) -> Contents:
    """Boston from OpenML."""
    from sklearn.datasets import fetch_openml

    _check_download(download)
    with _without_retry_warnings():
        found = fetch_openml(data_id=531, as_frame=False, parser="liac-arff", cache=False)
    return decode_openml(found)


def decode_openml(found: Any) -> Contents:
    """Put back the numbers that OpenML calls categories and scikit-learn codes 0, 1, 2, ..."""
    X = np.array(found.data, dtype=float)
    for name, values in found.categories.items():
        if name in found.feature_names:
            column = found.feature_names.index(name)
            X[:, column] = np.array(values, dtype=float)[X[:, column].astype(int)]
    return X, np.array(found.target, dtype=float)


def from_scikit_learn(benchmark: Benchmark, data_home: Folder, download: bool) -> Contents:
    """Load what scikit-learn brings along, or has in its cache, or else downloads."""
    where = {} if benchmark.bundled else {"data_home": data_home, "download_if_missing": download}
    with _without_retry_warnings():
        found = _named(benchmark.address)(**where)
    return found.data, found.target


def _named(address: str) -> Callable[..., Any]:
    # imported when it is needed: sklearn.datasets brings urllib and http along
    module, _, name = address.rpartition(".")
    return getattr(import_module(module), name)


def _check_download(download: bool) -> None:
    if not download:
        raise OSError("download=False")


@contextmanager
def _without_retry_warnings() -> Iterator[None]:
    # scikit-learn warns at every attempt; the error at the end says all of it once
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Retry downloading from url")
        warnings.filterwarnings("ignore", message="A network error occurred while downloading")
        yield


def _names(words: str) -> tuple[str, ...]:
    """Return the names in a text, where x1..3 is x1, x2, x3."""
    found: list[str] = []
    for word in words.split():
        first, _, last = word.partition("..")
        stem = first.rstrip("0123456789")
        start = int(first[len(stem) :]) if last else 0
        found += [f"{stem}{i}" for i in range(start, int(last) + 1)] if last else [word]
    return tuple(found)


def _benchmark(name: str, entry: dict[str, Any]) -> Benchmark:
    names, source = _names(entry.pop("feature_names")), globals()[entry.pop("source")]
    return Benchmark(name=name, feature_names=names, source=source, **entry)


_TABLE = tomllib.loads(files("weighbridge.datasets").joinpath("benchmarks.toml").read_text("utf-8"))
BENCHMARKS = {name: _benchmark(name, entry) for name, entry in _TABLE.items()}
