"""Benchmark sets: each route gives the right numbers, and each failure names its remedy."""

import hashlib
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.utils import Bunch

from weighbridge.datasets import benchmark_names, fetch_benchmark
from weighbridge.datasets._benchmarks import BENCHMARKS, content_sha256, decode_openml

FOLDER = os.environ.get("WEIGHBRIDGE_DATA")
# If the folder is named but missing, the tests fail.
needs_copies = pytest.mark.skipif(
    not FOLDER, reason="WEIGHBRIDGE_DATA names no folder of data sets"
)
DIGIT_COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
TREE_COUNTS = [211840, 283301, 35754, 2747, 9493, 17367, 20510]
# Rows, columns, rows of each class in the order of labels, start and target of the first row,
# according to the publishers.
FACTS = {
    "australian": (690, 14, {-1: 383, 1: 307}, [1, 22.08, 11.46], -1),
    "breast-cancer": (683, 10, {2: 444, 4: 239}, [1000025, 5, 1], 2),
    "heart": (270, 13, {-1: 150, 1: 120}, [70, 1, 4], 1),
    "pima": (768, 8, {-1: 268, 1: 500}, [6, 148, 72], -1),
    "madelon": (2000, 500, {-1: 1000, 1: 1000}, [485, 477, 537], -1),
    "boston": (506, 13, None, [0.00632, 18, 2.31], 24.0),
    "diabetes": (442, 10, None, [0.03807590643, 0.05068011874, 0.06169620652], 151.0),
    "california": (20640, 8, None, [8.3252, 41, 6.984126984], 4.526),
    "digits": (1797, 64, dict(enumerate(DIGIT_COUNTS)), [0, 0, 5], 0),
    "iris": (150, 4, {0: 50, 1: 50, 2: 50}, [5.1, 3.5, 1.4], 0),
    "covtype": (581012, 54, dict(enumerate(TREE_COUNTS, start=1)), [2596, 51, 3], 5),
}
BUNDLED = {"digits": load_digits, "iris": load_iris, "diabetes": load_diabetes}


def test_names():
    assert sorted(benchmark_names()) == sorted(FACTS)
    with pytest.raises(ValueError, match="Got name='wine', but expected one of australian"):
        fetch_benchmark("wine")


@pytest.mark.more
@needs_copies
@pytest.mark.parametrize("name", FACTS)
def test_copies_contain_what_the_publishers_say(name):
    rows, columns, counts, start, first = FACTS[name]
    data = fetch_benchmark(name, download=False)
    assert data.data.shape == (rows, columns)
    assert data.data.dtype == np.float64
    np.testing.assert_allclose(data.data[0, :3], start, rtol=1e-8)
    assert (data.target.shape, data.target[0]) == ((rows,), first)
    assert len(data.feature_names) == len(set(data.feature_names)) == columns
    assert Path(data.source_used).parent == Path(FOLDER)
    assert data.name == name
    # breast-cancer contains the patient's number, as in the paper.
    assert (" id," in data.description) == ("id" in data.feature_names) == (name == "breast-cancer")
    task = "regression" if counts is None else "binary" if len(counts) == 2 else "multiclass"
    assert (data.task, data.target.dtype) == (task, np.float64 if counts is None else np.int64)
    if counts is not None:
        labels, sizes = np.unique(data.target, return_counts=True)
        assert dict(zip(labels.tolist(), sizes.tolist(), strict=True)) == counts


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_come_from_scikit_learn_and_equal_the_copies(name, monkeypatch, tmp_path):
    copy = fetch_benchmark(name) if FOLDER else None
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)
    data = fetch_benchmark(name, data_home=tmp_path / "cache", download=False)
    X, y = BUNDLED[name](return_X_y=True)
    np.testing.assert_array_equal(np.c_[data.data, data.target], np.c_[X, y])
    assert data.source_used == "scikit-learn"
    assert not (tmp_path / "cache").exists()
    if copy:
        # diabetes is scaled on loading: sums of 442 terms in another order, columns of size 0.05
        np.testing.assert_allclose(np.c_[copy.data, copy.target], np.c_[X, y], rtol=0, atol=1e-15)


def test_digest_is_that_of_rounded_numbers():
    """Rounding noise, -0.0, memory order and type do not count. A shape or a value does."""
    one_row = hashlib.sha256(b"(1, 2)" + np.array([1, 2, 3], dtype="<f8").tobytes())
    assert content_sha256(np.array([[1.0, 2.0]]), np.array([3]), 0) == one_row.hexdigest()
    rng = np.random.default_rng(0)
    X, y = np.round(rng.standard_normal((7, 4)), 3), np.arange(7)
    X[0, 0] = 0.0
    noisy = np.asfortranarray(X + 1e-7 * rng.uniform(-1, 1, X.shape))
    noisy[0, 0] = -0.0
    digest = content_sha256(X, y, 3)
    assert digest == content_sha256(noisy, y.astype(float), 3) != content_sha256(noisy, y, None)
    for other in ((X.reshape(14, 2), y), (X + 0.001, y), (X, y + 1)):
        assert digest != content_sha256(*other, 3)


@pytest.fixture
def serve(monkeypatch):
    """Return a function that puts a page on a local server and returns its address."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body, length = pages.get(self.path, (b"", 0))
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def put(path, body, length=None):
        pages[path] = (body, len(body) if length is None else length)
        return f"http://127.0.0.1:{server.server_port}{path}"

    yield put
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def small(serve, monkeypatch):
    """A benchmark of three rows on the local server, and no folder of copies."""
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)
    text = b"+1 1:0.5 2:40.330002\n-1 2:-1\n+1 1:3\n"
    X, y = np.array([[0.5, 40.33], [0, -1], [3, 0]]), np.array([1, -1, 1])
    changes = {"name": "small", "feature_names": "a b", "decimals": 3}
    changes |= {"sha256": content_sha256(X, y, 3), "address": serve("/small", text)}
    monkeypatch.setitem(BENCHMARKS, "small", Bunch(**BENCHMARKS["heart"] | changes))
    return BENCHMARKS["small"]


@pytest.mark.more
@needs_copies
@pytest.mark.parametrize("name", [name for name in FACTS if BENCHMARKS[name].source == "libsvm"])
def test_libsvm_file_and_cache_give_the_numbers_of_the_copy(name, serve, tmp_path, monkeypatch):
    """LIBSVM prints float32 numbers with six decimals, and leaves out zeros."""
    copy = fetch_benchmark(name)
    lines = []
    for row, label in zip(copy.data.astype(np.float32), copy.target, strict=True):
        cells = (f"{j}:{value:.6f}" for j, value in enumerate(row, start=1) if value != 0)
        lines.append(f"{label:+d} {' '.join(cells)}\n")
    monkeypatch.delenv("WEIGHBRIDGE_DATA")
    address = serve(f"/{name}", "".join(lines).encode())
    monkeypatch.setitem(BENCHMARKS[name], "address", address)
    first = fetch_benchmark(name, data_home=tmp_path)
    second = fetch_benchmark(name, data_home=tmp_path, download=False)
    assert (first.source_used, second.source_used) == (address, str(tmp_path / f"{name}.npz"))
    for data in (first, second):
        np.testing.assert_array_equal(data.data, copy.data, strict=True)
        np.testing.assert_array_equal(data.target, copy.target, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.npz"]


@pytest.mark.parametrize("text", [
    b"+1 1:0.5 2:40.331\n-1 2:-1\n+1 1:3\n",  # another value
    b"-1 1:0.5 2:40.33\n-1 2:-1\n+1 1:3\n",  # another label
    b"+1 1:0.5 2:40.33\n-1 2:-1\n",  # a missing row
    b"<html>moved</html>", b"+1 1:0.5 3:1\n", b"",
])  # fmt: skip
def test_other_content_is_an_error_and_is_not_cached(text, small, serve, tmp_path):
    small.address = serve("/changed", text)
    with pytest.raises(ValueError, match=r"small.*nothing was kept"):
        fetch_benchmark("small", data_home=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("page", ["missing", "interrupted"])
def test_failed_download_names_the_alternatives(page, small, serve, tmp_path):
    body = b"+1 1:0.5 2:40.33\n"
    small.address = small.address + "-gone" if page == "missing" else serve("/cut", body, 1000)
    with pytest.raises((OSError, ValueError), match="Got no copy of small") as caught:
        fetch_benchmark("small", data_home=tmp_path)
    assert page == "interrupted" or "404" in str(caught.value)
    for needed in (small.address, small.file, "WEIGHBRIDGE_DATA", str(tmp_path / "small.npz")):
        assert needed in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.more
@pytest.mark.parametrize("name", ["california", "boston"])
def test_no_network_gives_one_error_without_warnings(name, monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # There is no such proxy.
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(OSError, match=f"Got no copy of {name}.*{BENCHMARKS[name].file}"):
        fetch_benchmark(name, data_home=tmp_path)
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize("name", ["heart", "boston", "california", "covtype"])
def test_download_false_is_an_error_at_once(name, monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)
    with pytest.raises(OSError, match=f"Got no copy of {name}.*download=True") as caught:
        fetch_benchmark(name, data_home=tmp_path, download=False)
    for needed in (BENCHMARKS[name].address, BENCHMARKS[name].file, str(tmp_path)):
        assert needed in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_download_without_pooch_names_the_extra(small, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install weighbridge\[data\]"):
        fetch_benchmark("small", data_home=tmp_path)


def test_default_cache_is_in_the_data_folder_of_scikit_learn(small, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    data = fetch_benchmark("small")
    np.testing.assert_array_equal(data.data, [[0.5, 40.33], [0, -1], [3, 0]])
    np.testing.assert_array_equal(data.target, [1, -1, 1])
    cached = tmp_path / "weighbridge" / "small.npz"
    assert cached.is_file()
    with pytest.raises(OSError, match=r"cannot be written.*pass data_home"):
        fetch_benchmark("small", data_home=cached / "folder")
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(cached / "folder"))
    with pytest.raises(OSError, match=r"scikit-learn's data folder.*pass data_home"):
        fetch_benchmark("small")


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "other numbers", "other arrays"])
def test_damaged_cache_names_the_file_to_delete(damage, small, tmp_path):
    fetch_benchmark("small", data_home=tmp_path)
    path = tmp_path / "small.npz"
    whole = path.read_bytes()
    if damage == "other numbers":
        np.savez(path, X=np.zeros((3, 2)), y=np.array([1, -1, 1]))
    elif damage == "other arrays":
        np.savez(path, Z=np.zeros((3, 2)))
    else:
        path.write_bytes({"cut": whole[:100], "text": b"nonsense", "empty": b""}[damage])
    with pytest.raises(ValueError, match=f"Got a cache .*delete the file {path}"):
        fetch_benchmark("small", data_home=tmp_path)
    path.unlink()
    assert fetch_benchmark("small", data_home=tmp_path).data.shape == (3, 2)


@needs_copies
@pytest.mark.parametrize("name", ["heart", "madelon"])
def test_damaged_copy_names_file_and_digests(name, monkeypatch, tmp_path):
    file, expected = BENCHMARKS[name].file, BENCHMARKS[name].file_sha256
    damaged = bytearray((Path(FOLDER) / file).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / file).write_bytes(damaged)
    monkeypatch.setenv("WEIGHBRIDGE_DATA", str(tmp_path))
    digest = hashlib.sha256(damaged).hexdigest()
    with pytest.raises(ValueError, match=f"{file}.*SHA-256 {digest}, but expected {expected}"):
        fetch_benchmark(name)


def test_folder_of_copies_is_searched_first(small, monkeypatch, tmp_path):
    copies, cache = tmp_path / "copies", tmp_path / "cache"
    monkeypatch.setenv("WEIGHBRIDGE_DATA", str(copies))
    with pytest.raises(FileNotFoundError, match="no such folder; correct the variable"):
        fetch_benchmark("iris")
    copies.mkdir()
    assert fetch_benchmark("iris").source_used == "scikit-learn"
    assert fetch_benchmark("small", data_home=cache).source_used == small.address
    monkeypatch.setenv("WEIGHBRIDGE_DATA", "")  # The same as not set.
    assert fetch_benchmark("small", data_home=cache).source_used == str(cache / "small.npz")


@needs_copies
def test_california_from_scikit_learn_equals_the_copy_and_is_cached(monkeypatch, tmp_path):
    """scikit-learn keeps the totals of the published file, and computes the averages itself."""
    copy = fetch_benchmark("california")
    X, households = copy.data, np.round(copy.data[:, 4] / copy.data[:, 5])
    totals = [np.round(X[:, j] * households) for j in (2, 3)]
    price, (income, age) = np.round(copy.target * 100_000), X[:, :2].T
    published = np.column_stack([price, income, age, *totals, X[:, 4], households, X[:, 6:]])
    joblib.dump(published, tmp_path / "cal_housing_py3.pkz")
    monkeypatch.delenv("WEIGHBRIDGE_DATA")
    address, cached = BENCHMARKS["california"].address, tmp_path / "california.npz"
    # Nothing is written without download.
    for download, used in ((False, address), (True, address), (False, str(cached))):
        assert not cached.exists() or used == str(cached)
        data = fetch_benchmark("california", data_home=tmp_path, download=download)
        np.testing.assert_array_equal(np.c_[data.data, data.target], np.c_[copy.data, copy.target])
        assert data.source_used == used


@needs_copies
def test_boston_from_openml_equals_the_copy():
    """OpenML declares CHAS and RAD categories; scikit-learn returns their index in the list."""
    copy = fetch_benchmark("boston")
    coded = copy.data.copy()
    values = {"CHAS": ["0", "1"], "RAD": ["1", "2", "24", "3", "4", "5", "6", "7", "8"]}
    for name, listed in values.items():
        column = copy.feature_names.index(name)
        coded[:, column] = [listed.index(f"{value:.0f}") for value in copy.data[:, column]]
    X, y = decode_openml(Bunch(**copy | {"data": coded, "categories": values}))
    np.testing.assert_array_equal(np.c_[X, y], np.c_[copy.data, copy.target])
