"""Benchmark sets: the right numbers by every route, and an error that helps by every other."""

import hashlib
import os
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.utils import Bunch

from weighbridge.datasets import benchmark_names, fetch_benchmark
from weighbridge.datasets._benchmarks import BENCHMARKS, content_sha256, decode_openml
from weighbridge.datasets._fetch import fetch

FOLDER = os.environ.get("WEIGHBRIDGE_DATA")
# A folder that is named and missing is a failure, not a reason to skip.
needs_copies = pytest.mark.skipif(
    not FOLDER, reason="WEIGHBRIDGE_DATA does not name a folder of data sets"
)
LIBSVM_SETS = ["australian", "breast-cancer", "heart", "pima", "madelon"]
# rows, columns, rows of each class in the order of labels, start and target of the first row;
# as in the tables of the publishers
FACTS = {
    "australian": (690, 14, {-1: 383, 1: 307}, [1, 22.08, 11.46], -1),
    "breast-cancer": (683, 10, {2: 444, 4: 239}, [1000025, 5, 1], 2),
    "heart": (270, 13, {-1: 150, 1: 120}, [70, 1, 4], 1),
    "pima": (768, 8, {-1: 268, 1: 500}, [6, 148, 72], -1),
    "madelon": (2000, 500, {-1: 1000, 1: 1000}, [485, 477, 537], -1),
    "boston": (506, 13, None, [0.00632, 18, 2.31], 24.0),
    "diabetes": (442, 10, None, [0.03807590643, 0.05068011874, 0.06169620652], 151.0),
    "california": (20640, 8, None, [8.3252, 41, 6.984126984], 4.526),
    "digits": (
        1797,
        64,
        dict(enumerate([178, 182, 177, 183, 181, 182, 181, 179, 174, 180])),
        [0, 0, 5],
        0,
    ),
    "iris": (150, 4, {0: 50, 1: 50, 2: 50}, [5.1, 3.5, 1.4], 0),
    "covtype": (
        581012,
        54,
        dict(enumerate([211840, 283301, 35754, 2747, 9493, 17367, 20510], start=1)),
        [2596, 51, 3],
        5,
    ),
}


def test_names():
    assert sorted(benchmark_names()) == sorted(FACTS)


@pytest.mark.more
@needs_copies
@pytest.mark.parametrize("name", FACTS)
def test_copies_hold_what_the_publishers_say(name):
    rows, columns, counts, start, first = FACTS[name]
    data = fetch_benchmark(name, download=False)
    assert data.data.shape == (rows, columns)
    assert data.data.dtype == np.float64
    assert data.target.shape == (rows,)
    np.testing.assert_allclose(data.data[0, :3], start, rtol=1e-8)
    assert data.target[0] == first
    assert len(data.feature_names) == len(set(data.feature_names)) == columns
    assert Path(data.source_used).parent == Path(FOLDER)
    assert data.name == name
    assert data.description
    if counts is None:
        assert data.task == "regression"
        assert data.target.dtype == np.float64
    else:
        assert data.task == ("binary" if len(counts) == 2 else "multiclass")
        assert data.target.dtype == np.int64
        labels, found = np.unique(data.target, return_counts=True)
        assert dict(zip(labels.tolist(), found.tolist(), strict=True)) == counts


@needs_copies
def test_breast_cancer_says_that_it_holds_an_id():
    data = fetch_benchmark("breast-cancer")
    assert data.feature_names[0] == "id"
    assert "id" in data.description
    assert np.unique(data.data[:, 0]).size < len(data.data)


@pytest.mark.parametrize(
    ("name", "loader"), [("digits", load_digits), ("iris", load_iris), ("diabetes", load_diabetes)]
)
def test_bundled_sets_come_from_scikit_learn(name, loader, monkeypatch, tmp_path):
    # no network, no folder of copies, and nothing is cached
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)
    data = fetch_benchmark(name, data_home=tmp_path / "cache", download=False)
    X, y = loader(return_X_y=True)
    np.testing.assert_array_equal(data.data, X)
    np.testing.assert_array_equal(data.target, y)
    assert data.source_used == "scikit-learn"
    assert not (tmp_path / "cache").exists()


@needs_copies
@pytest.mark.parametrize("name", ["digits", "iris", "diabetes"])
def test_scikit_learn_and_the_copies_agree(name, monkeypatch):
    copy = fetch_benchmark(name)
    monkeypatch.delenv("WEIGHBRIDGE_DATA")
    bundled = fetch_benchmark(name)
    # diabetes is scaled on loading: sums of 442 terms in another order, columns of size 0.05
    np.testing.assert_allclose(copy.data, bundled.data, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(copy.target, bundled.target)


def test_the_digest_is_of_numbers_not_of_files():
    # rounding noise, -0.0, the order in memory and the type do not count; a shape or a value does
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((7, 4)), 3)
    X[0, 0] = 0.0
    y = np.arange(7)
    noisy = np.asfortranarray(X + 1e-7 * rng.uniform(-1, 1, X.shape))
    noisy[0, 0] = -0.0
    digest = content_sha256(X, y, 3)
    assert digest == content_sha256(noisy, y.astype(float), 3)
    assert digest != content_sha256(noisy, y, None)
    assert digest != content_sha256(X.reshape(14, 2), y, 3)
    assert digest != content_sha256(X + 0.001, y, 3)
    assert digest != content_sha256(X, y + 1, 3)


def test_the_digest_by_its_definition():
    X, y = np.array([[1.0, 2.0]]), np.array([3])
    expected = hashlib.sha256(b"(1, 2)" + np.array([1, 2, 3], dtype="<f8").tobytes())
    assert content_sha256(X, y, 0) == expected.hexdigest()


# ---- the public route, against a server of our own ----


def libsvm_text(data):
    """The set as LIBSVM's site prints it: float32 with six decimals, zeros left out."""
    lines = []
    for row, label in zip(data.data.astype(np.float32), data.target, strict=True):
        cells = (f"{j}:{value:.6f}" for j, value in enumerate(row, start=1) if value != 0)
        lines.append(f"{label:+d} {' '.join(cells)}\n")
    return "".join(lines).encode()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, *args, pages, **options):
        self.pages = pages
        super().__init__(*args, **options)

    def do_GET(self):
        if self.path not in self.pages:
            self.send_error(404)
            return
        body, promised = self.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def serve(monkeypatch):
    """Return a function that puts a page on a local server and gives its address."""
    pages = {}
    server = HTTPServer(("127.0.0.1", 0), partial(_Handler, pages=pages))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def put(path, body, promised=None):
        pages[path] = (body, len(body) if promised is None else promised)
        return f"http://127.0.0.1:{server.server_port}{path}"

    yield put
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def no_copies(monkeypatch):
    monkeypatch.delenv("WEIGHBRIDGE_DATA", raising=False)


@pytest.mark.more
@needs_copies
@pytest.mark.parametrize("name", LIBSVM_SETS)
def test_libsvm_files_give_the_same_numbers(name, serve, tmp_path, monkeypatch):
    # the public file differs by its float32 printing; rounded, it is the copy bit for bit, and so
    # is what the cache gives back, without the server
    copy = fetch_benchmark(name)
    text = libsvm_text(copy)
    monkeypatch.delenv("WEIGHBRIDGE_DATA")
    here = replace(BENCHMARKS[name], address=serve(f"/{name}", text))
    first = fetch(here, tmp_path, True)
    assert first.source_used == here.address
    second = fetch(here, tmp_path, False)
    assert second.source_used == str(tmp_path / f"{name}.npz")
    for data in (first, second):
        np.testing.assert_array_equal(data.data, copy.data)
        np.testing.assert_array_equal(data.target, copy.target)
        assert (data.data.dtype, data.target.dtype) == (np.float64, np.int64)
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.npz"]


@pytest.fixture
def small(serve):
    """A benchmark of three rows on the local server."""
    text = b"+1 1:0.5 2:40.330002\n-1 2:-1\n+1 1:3\n"
    X, y = np.array([[0.5, 40.33], [0, -1], [3, 0]]), np.array([1, -1, 1])
    return replace(
        BENCHMARKS["heart"],
        name="small",
        feature_names=("a", "b"),
        decimals=3,
        sha256=content_sha256(X, y, 3),
        address=serve("/small", text),
    )


def test_small_set_by_the_public_route(small, no_copies, tmp_path):
    data = fetch(small, tmp_path / "new" / "folder", True)
    np.testing.assert_array_equal(data.data, [[0.5, 40.33], [0, -1], [3, 0]])
    np.testing.assert_array_equal(data.target, [1, -1, 1])


@pytest.mark.parametrize(
    "text",
    [
        b"+1 1:0.5 2:40.331\n-1 2:-1\n+1 1:3\n",  # a value changed
        b"-1 1:0.5 2:40.33\n-1 2:-1\n+1 1:3\n",  # a label changed
        b"+1 1:0.5 2:40.33\n-1 2:-1\n",  # a row lost
    ],
)
def test_other_numbers_are_refused_and_not_cached(text, small, serve, no_copies, tmp_path):
    changed = replace(small, address=serve("/changed", text))
    with pytest.raises(ValueError, match=f"expected {small.sha256}.*Nothing was kept"):
        fetch(changed, tmp_path, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [b"<html>moved</html>", b"+1 1:0.5 3:1\n", b""])
def test_a_file_that_is_not_the_set_is_refused(text, small, serve, no_copies, tmp_path):
    changed = replace(small, address=serve("/changed", text))
    with pytest.raises(ValueError, match="Nothing was kept"):
        fetch(changed, tmp_path, True)
    assert not list(tmp_path.iterdir())


def test_a_connection_that_breaks_off_is_refused(small, serve, no_copies, tmp_path):
    broken = replace(small, address=serve("/broken", b"+1 1:0.5 2:40.33\n", promised=1000))
    with pytest.raises((OSError, ValueError), match="WEIGHBRIDGE_DATA"):
        fetch(broken, tmp_path, True)
    assert not list(tmp_path.iterdir())


def test_no_such_page(small, no_copies, tmp_path):
    gone = replace(small, address=small.address + "-gone")
    with pytest.raises(OSError, match=r"Got no copy of small.*404") as caught:
        fetch(gone, tmp_path, True)
    message = str(caught.value)
    for needed in (gone.address, gone.file, "WEIGHBRIDGE_DATA", str(tmp_path / "small.npz")):
        assert needed in message


@pytest.mark.more
@pytest.mark.parametrize("name", ["california", "boston"])
def test_no_network_through_scikit_learn(name, no_copies, monkeypatch, tmp_path):
    # a proxy that is not there; the warnings of every attempt stay inside (warnings are errors)
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(OSError, match=f"Got no copy of {name}.*{BENCHMARKS[name].file}"):
        fetch_benchmark(name, data_home=tmp_path)
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize("name", ["heart", "boston", "california", "covtype"])
def test_download_false_is_an_error_at_once(name, no_copies, tmp_path):
    with pytest.raises(OSError, match=f"Got no copy of {name}.*download=True") as caught:
        fetch_benchmark(name, data_home=tmp_path, download=False)
    for needed in (BENCHMARKS[name].address, BENCHMARKS[name].file, str(tmp_path)):
        assert needed in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_cache_is_in_the_data_folder_of_scikit_learn(small, no_copies, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    fetch(small, None, True)
    assert (tmp_path / "weighbridge" / "small.npz").is_file()
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(blocked / "home"))
    with pytest.raises(OSError, match=r"scikit-learn's data folder.*pass data_home"):
        fetch(small, None, True)


def test_a_cache_that_cannot_be_made(small, no_copies, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot be written.*pass data_home"):
        fetch(small, tmp_path / "file" / "cache", True)


def test_a_cache_file_that_cannot_be_replaced(small, no_copies, tmp_path, monkeypatch):
    # the folder is removed after it was made: the write fails, and says so
    def source(benchmark, data_home, download):
        contents = small.source(benchmark, data_home, download)
        Path(data_home).rmdir()
        return contents

    with pytest.raises(OSError, match=r"cannot be written.*pass data_home"):
        fetch(replace(small, source=source), tmp_path / "cache", True)


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "other numbers", "other arrays"])
def test_a_damaged_cache_names_the_file_to_delete(damage, small, no_copies, tmp_path):
    fetch(small, tmp_path, True)
    path = tmp_path / "small.npz"
    whole = path.read_bytes()
    if damage == "other numbers":
        np.savez(path, X=np.zeros((3, 2)), y=np.array([1, -1, 1]))
    elif damage == "other arrays":
        np.savez(path, Z=np.zeros((3, 2)))
    else:
        path.write_bytes({"cut": whole[:100], "text": b"nonsense", "empty": b""}[damage])
    with pytest.raises(ValueError, match=f"Got a cache .*Delete the file {path}"):
        fetch(small, tmp_path, True)
    path.unlink()
    assert fetch(small, tmp_path, True).data.shape == (3, 2)


def test_pooch_is_asked_for_where_it_is_needed(small, no_copies, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install weighbridge\[data\]"):
        fetch(small, tmp_path, True)


# ---- the folder of copies ----


@needs_copies
@pytest.mark.parametrize("name", ["heart", "madelon"])
def test_a_damaged_copy_names_file_and_digests(name, monkeypatch, tmp_path):
    file = BENCHMARKS[name].file
    damaged = bytearray((Path(FOLDER) / file).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / file).write_bytes(damaged)
    monkeypatch.setenv("WEIGHBRIDGE_DATA", str(tmp_path))
    got = hashlib.sha256(damaged).hexdigest()
    with pytest.raises(ValueError, match=f"{file} with SHA-256 {got}, but expected") as caught:
        fetch_benchmark(name)
    assert BENCHMARKS[name].file_sha256 in str(caught.value)


def test_a_folder_that_is_missing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("WEIGHBRIDGE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="no such folder; correct the variable"):
        fetch_benchmark("iris")


def test_a_file_that_is_missing_there_is_looked_for_elsewhere(small, monkeypatch, tmp_path):
    copies, cache = tmp_path / "copies", tmp_path / "cache"
    copies.mkdir()
    monkeypatch.setenv("WEIGHBRIDGE_DATA", str(copies))
    assert fetch_benchmark("iris").source_used == "scikit-learn"
    assert fetch(small, cache, True).source_used == small.address
    monkeypatch.setenv("WEIGHBRIDGE_DATA", "")  # empty is as good as not set
    assert fetch(small, cache, True).source_used == str(cache / "small.npz")


def test_unknown_name():
    with pytest.raises(ValueError, match="Got name='wine', but expected one of australian"):
        fetch_benchmark("wine")


# ---- scikit-learn's fetchers and OpenML ----


@needs_copies
def test_california_as_scikit_learn_makes_it(monkeypatch, tmp_path):
    # Put the totals of the published file where scikit-learn keeps them: it forms the averages
    # itself, and every bit must agree with the copy. Nothing is written without download.
    copy = fetch_benchmark("california")
    X, households = copy.data, np.round(copy.data[:, 4] / copy.data[:, 5])
    totals = [np.round(X[:, j] * households) for j in (2, 3)]
    price, (income, age) = np.round(copy.target * 100_000), X[:, :2].T
    published = np.column_stack([price, income, age, *totals, X[:, 4], households, X[:, 6:]])
    joblib.dump(published, tmp_path / "cal_housing_py3.pkz")
    monkeypatch.delenv("WEIGHBRIDGE_DATA")
    found = fetch_benchmark("california", data_home=tmp_path, download=False)
    np.testing.assert_array_equal(found.data, copy.data)
    np.testing.assert_array_equal(found.target, copy.target)
    assert found.source_used == "sklearn.datasets.fetch_california_housing"
    assert not (tmp_path / "california.npz").exists()
    # with download it is cached, whole numbers or not, bit for bit
    fetch_benchmark("california", data_home=tmp_path)
    again = fetch_benchmark("california", data_home=tmp_path, download=False)
    assert again.source_used == str(tmp_path / "california.npz")
    np.testing.assert_array_equal(again.data, copy.data)


@needs_copies
def test_boston_as_openml_codes_it():
    # OpenML declares CHAS and RAD categories; scikit-learn then gives their place in the list
    copy = fetch_benchmark("boston")
    coded = copy.data.copy()
    values = {"CHAS": ["0", "1"], "RAD": ["1", "2", "24", "3", "4", "5", "6", "7", "8"]}
    for name, listed in values.items():
        column = copy.feature_names.index(name)
        coded[:, column] = [listed.index(f"{value:.0f}") for value in copy.data[:, column]]
    assert not np.array_equal(coded, copy.data)
    found = Bunch(
        data=coded, target=copy.target, feature_names=copy.feature_names, categories=values
    )
    X, y = decode_openml(found)
    assert content_sha256(X, y, BENCHMARKS["boston"].decimals) == BENCHMARKS["boston"].sha256
