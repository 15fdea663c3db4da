"""The table of benchmark sets: digests, names of columns, and what to know of each."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
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
    # decimals that count in that digest; None: every bit
    decimals: int | None
    source: Source
    address: str
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
    """Download by the fetcher of scikit-learn that is the address, or find it in its cache."""
    with _without_retry_warnings():
        found = _named(benchmark.address)(data_home=data_home, download_if_missing=download)
    return found.data, found.target


def bundled_with_scikit_learn(benchmark: Benchmark, data_home: Folder, download: bool) -> Contents:
    """Load by the loader of scikit-learn that is the address; always there."""
    found = _named(benchmark.address)()
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
    return tuple(words.split())


LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"

_TABLE = (
    Benchmark(
        name="australian",
        task="binary",
        description="Statlog (Australian Credit Approval) from UCI as in LIBSVM, values as "
        "published before LIBSVM printed them as float32; -1: 383 rows, +1: 307.",
        feature_names=tuple(f"A{i}" for i in range(1, 15)),
        file="libsvm_australian.csv.gz",
        file_sha256="011ab57fd5e011737635ac340959775f04c9643cfda1c51ec241a5cae64b8531",
        sha256="4deec7e51905e6e49a52b81f4fef81c22ba8b24baf91ff24bd7df23ce7f6e123",
        decimals=3,
        source=from_libsvm,
        address=LIBSVM + "australian",
    ),
    Benchmark(
        name="breast-cancer",
        task="binary",
        description="Wisconsin breast cancer (original) from UCI as in LIBSVM, 16 incomplete rows "
        "left out; 2 (benign): 444 rows, 4: 239. The first column, id, is the patient's number "
        "and no measurement; the paper used it as an input.",
        feature_names=_names(
            "id clump_thickness uniformity_cell_size uniformity_cell_shape marginal_adhesion "
            "single_epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses"
        ),
        file="libsvm_breast-cancer.csv.gz",
        file_sha256="af5feefd733660015a3159b2c2ea6a3f89e1e1822c2115565652dd97b3ad0e20",
        sha256="a6f53963724baab313e2a5ea0a84bb9393cde3fd4b93ab289402cb47b3b01434",
        decimals=0,
        source=from_libsvm,
        address=LIBSVM + "breast-cancer",
    ),
    Benchmark(
        name="heart",
        task="binary",
        description="Statlog (Heart) from UCI as in LIBSVM; -1 (absence): 150 rows, +1: 120.",
        feature_names=_names(
            "age sex chest_pain_type resting_bp serum_cholesterol fasting_bs resting_ecg "
            "max_heart_rate exercise_angina oldpeak slope vessels thal"
        ),
        file="libsvm_heart.csv.gz",
        file_sha256="572c56f1099f847809c675ce4d47c0a27af3f0158a96e868d4a0abf6b5df5aa4",
        sha256="f3ab6a4c6c158818152558f3dbe685634396e9f0232040224d8a4952a4083751",
        decimals=1,
        source=from_libsvm,
        address=LIBSVM + "heart",
    ),
    Benchmark(
        name="pima",
        task="binary",
        description="Pima Indians diabetes (NIDDK), which LIBSVM and the paper call diabetes; -1 "
        "is the diabetic class (268 rows), +1 the healthy one (500). Zeros in glucose, pressure, "
        "triceps, insulin and mass stand for missing values.",
        feature_names=_names("pregnant glucose pressure triceps insulin mass pedigree age"),
        file="libsvm_diabetes.csv.gz",
        file_sha256="297881bcead0ec123f164959ccc142390fa82ef4c05bf3a7e4bf255fa43f9a95",
        sha256="d314b7ab23b6ff2fabf5f6665b3b792656746302544aca655b9ed0b7041e8e4c",
        decimals=3,
        source=from_libsvm,
        address=LIBSVM + "diabetes",
    ),
    Benchmark(
        name="madelon",
        task="binary",
        description="Madelon of the NIPS 2003 feature selection challenge (Guyon) from UCI as in "
        "LIBSVM, the training file alone as in the paper; artificial, 20 of 500 columns carry "
        "information; -1: 1000 rows, +1: 1000.",
        feature_names=tuple(f"x{i}" for i in range(1, 501)),
        file="libsvm_madelon.npz",
        file_sha256="ad9951f61ca2c5c3c1111a4cada55f81168ea109efdad45d9950865ffba457de",
        sha256="57ca43f48d9621ba0cea4a9158afb220e56c9063169b56c01fc6a409e8053611",
        decimals=0,
        source=from_libsvm,
        address=LIBSVM + "madelon",
    ),
    Benchmark(
        name="boston",
        task="regression",
        description="Boston house prices in 1000 dollars (Harrison & Rubinfeld 1978, StatLib). "
        "Here to compare with published tables only: its column B is made from the share of black "
        "residents, for which scikit-learn removed the set in 1.2.",
        feature_names=_names("CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT"),
        file="sklearn_boston.csv.gz",
        file_sha256="9efb53eeff36fe31d60de4347dc214c038edafd6932972c4592f0f781dc77843",
        sha256="cf15269a0ec60d764547c44bf2f5de905657b76e8d3a88c0328ecba0f4f45b23",
        decimals=5,
        source=from_openml,
        address="https://www.openml.org/d/531",
    ),
    Benchmark(
        name="diabetes",
        task="regression",
        description="Progression of diabetes in 442 patients (Efron et al. 2004) as in "
        "scikit-learn: columns centred, each with sum of squares 1; the target is raw, variance "
        "5930.",
        feature_names=_names("age sex bmi bp s1 s2 s3 s4 s5 s6"),
        file="sklearn_diabetes.csv.gz",
        file_sha256="5c6b4e7a9c9fa01e244ebf7fdfc30a868bd63e5968707fca31f759aa9cc60693",
        sha256="2876fd74abd39021565d28c600669ba08fe0f1baad9131b947e1f4c8442ddd50",
        decimals=8,
        source=bundled_with_scikit_learn,
        address="sklearn.datasets.load_diabetes",
        bundled=True,
    ),
    Benchmark(
        name="california",
        task="regression",
        description="California housing, median value of 20640 districts in 100000 dollars (Pace "
        "& Barry 1997, StatLib) as in scikit-learn; averages per household run to some thousands.",
        feature_names=_names(
            "MedInc HouseAge AveRooms AveBedrms Population AveOccup Latitude Longitude"
        ),
        file="sklearn_california_housing.csv.gz",
        file_sha256="c19e580a671808d49ce3bd658818e061deb2193478eb76f261d9e30a3c4c57aa",
        sha256="5f917e306b23714d59e3ea27205ce1b34c4561850dca8150133291c48e832323",
        # quotients of whole numbers, the same on every machine; many lie half-way between decimals
        decimals=None,
        source=from_scikit_learn,
        address="sklearn.datasets.fetch_california_housing",
    ),
    Benchmark(
        name="digits",
        task="multiclass",
        description="Handwritten digits, 8 x 8 pixels of 0 to 16 (UCI, the test part of "
        "optdigits) as in scikit-learn; ten classes of 174 to 183 rows.",
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8)),
        file="sklearn_digits.csv.gz",
        file_sha256="b6ce6e38dc5438f106778c12b17f0d53813b688da30c388275f202398676741e",
        sha256="866f8f26809d55e10130193b318ed778d8d463536f6199f7ada8f5ecfe7f5a2c",
        decimals=0,
        source=bundled_with_scikit_learn,
        address="sklearn.datasets.load_digits",
        bundled=True,
    ),
    Benchmark(
        name="iris",
        task="multiclass",
        description="Iris (Fisher 1936) as in scikit-learn; three classes of 50 rows, one of "
        "which is often lost from the source when the set is split by a steep projection.",
        feature_names=_names("sepal_length sepal_width petal_length petal_width"),
        file="sklearn_iris.csv.gz",
        file_sha256="c54bf67eaef88e405781e2eccac168e760af05ff073b397ffb1f36544a243bb9",
        sha256="46cd12e92ec86a89419cc8ba441165f31a1274b74cc38bd1ed1293b241b0b14e",
        decimals=1,
        source=bundled_with_scikit_learn,
        address="sklearn.datasets.load_iris",
        bundled=True,
    ),
    Benchmark(
        name="covtype",
        task="multiclass",
        description="Forest cover types of 581012 plots (Blackard & Dean, UCI; copyright Jock A. "
        "Blackard and Colorado State University) as in scikit-learn; seven classes, 1 to 7, of "
        "2747 to 283301 rows.",
        feature_names=(
            *_names(
                "Elevation Aspect Slope Horizontal_Distance_To_Hydrology "
                "Vertical_Distance_To_Hydrology Horizontal_Distance_To_Roadways Hillshade_9am "
                "Hillshade_Noon Hillshade_3pm Horizontal_Distance_To_Fire_Points"
            ),
            *(f"Wilderness_Area_{i}" for i in range(4)),
            *(f"Soil_Type_{i}" for i in range(40)),
        ),
        file="sklearn_covtype.npz",
        file_sha256="4bc6ab9d005b454f15c9d671e45869425d88d0d2cdb660be721166bfa4eedb4f",
        sha256="56b4e923e896d8d65abf45254d90d1ee3548aeaaa1a25013a6fda797b926c2b7",
        decimals=0,
        source=from_scikit_learn,
        address="sklearn.datasets.fetch_covtype",
    ),
)
BENCHMARKS = {each.name: each for each in _TABLE}
