"""Named columns, objects, known ratios and other things at the doors of blocks."""

import pathlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from weighbridge import diagnose, fit_ratio
from weighbridge.blocks import as_rows, from_array, from_parquet
from weighbridge.diagnostics import domain_auc
from weighbridge.ratios import ULSIF, GaussianRatio, KnownRatio

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dd = pytest.importorskip("dask.dataframe")


def test_names_of_columns_say_nothing_about_which_rows_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(101_000, 3)), rng.normal(0.3, 0.9, size=(500, 3))
    found = []
    for names in (None, ["c", "a", "b"]):
        sources = []
        for place, part in enumerate((X, X_target)):
            path = tmp_path / f"{place}.parquet"
            labels = names or ["x", "y", "z"]
            pq.write_table(pa.table(dict(zip(labels, part.T, strict=True))), path)
            sources.append(from_array(part) if names is None else from_parquet(path))
        ratio = fit_ratio(*sources, ULSIF(n_centres=20))
        found.append(np.exp(ratio.score_samples(sources[0])))
    np.testing.assert_allclose(*found, atol=1e-10)


def test_objects_are_written_alike_in_blocks_with_and_without_text():
    rng = np.random.default_rng(0)
    column = rng.choice(np.array([True, False], dtype=object), size=600)
    column[555] = "unknown"
    X = pd.DataFrame({"flag": column, "size": rng.normal(size=600)})
    X_target = X.iloc[rng.permutation(600)[:300]].reset_index(drop=True)
    whole = fit_ratio(X, X_target, GaussianRatio())
    blocks = fit_ratio(from_array(X, 100), from_array(X_target, 70), GaussianRatio())
    for ratio in (whole, blocks):
        scores = ratio.score_samples(from_array(X, 100))
        np.testing.assert_allclose(scores, whole.score_samples(X), atol=1e-10)


def test_a_known_ratio_finds_named_columns_in_any_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    ratio = KnownRatio(log_ratio=lambda X: X["b"].to_numpy())
    ratio = ratio.fit(pd.concat([frame, frame]), np.repeat([0, 1], 50))
    pq.write_table(pa.table({"b": X[:, 1], "a": X[:, 0]}), tmp_path / "x.parquet")
    scores = ratio.score_samples(from_parquet(tmp_path / "x.parquet", size=20))
    np.testing.assert_array_equal(scores, X[:, 1])


def test_texts_that_hardly_repeat_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("weighbridge.ratios._encoder.MOST_LEVELS", 40)
    text = np.array([f"id {number}" for number in range(900)], dtype=object)
    text[::3] = "often"
    X = pd.DataFrame({"id": text, "size": np.arange(900.0)})
    ratio = fit_ratio(from_array(X, 30), from_array(X[::2], 30), GaussianRatio())
    assert ratio.encoder_.levels[0].tolist() == ["\0others", "often"]


@pytest.mark.parametrize("part", ["train.parquet", pathlib.Path("train.parquet")])
def test_a_path_is_rows_of_its_files_and_no_table_of_a_ratio(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": [1.0, 2.0]}), part)
    assert as_rows(part).names == ["a"]
    with pytest.raises(TypeError, match=r"a path; .*from_parquet\(path\)"):
        fit_ratio(part, part)


def test_a_sparse_matrix_in_blocks_is_passed_as_it_is():
    rows = from_array(sp.csr_array(np.eye(5)))
    with pytest.raises(TypeError, match="pass the matrix itself"):
        fit_ratio(rows, rows)


@pytest.mark.parametrize("ask", [lambda X: diagnose(X, X), lambda X: domain_auc(X, X)])
def test_what_needs_a_table_in_memory_says_how_to_get_one(ask):
    frame = pd.DataFrame({"a": np.arange(30.0)})
    for rows in (from_array(frame), dd.from_pandas(frame, npartitions=2)):
        with pytest.raises(TypeError, match=r"as_rows\(X\)\.sample\(100_000\)"):
            ask(rows)
