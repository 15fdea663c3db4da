"""Expected errors beside actual ones: draws, rivals and figures of the benchmark."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.expected_error import rivals
from benchmarks.expected_error.cells import cell
from benchmarks.expected_error.summary import summary


@pytest.fixture
def path(tmp_path):
    """A task whose two domains have the same relation."""
    rng = np.random.default_rng(0)
    arrays = {}
    for domain, centre in (("s", 0.0), ("t", 1.0)):
        X = rng.normal(centre, 1, size=(1200, 2))
        y = (rng.uniform(size=1200) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(float)
        arrays |= {f"X{domain}": X, f"y{domain}": y}
    about = {"name": "made up", "half": "choose", "kind": "classification"}
    np.savez(tmp_path / "made-up.npz", about=json.dumps(about), **arrays)
    return tmp_path / "made-up.npz"


def test_draws_share_no_row_and_move_what_their_kind_says(path):
    shift = {}
    for kind in ("natural", "induced", "null", "label"):
        draw = cell(path, kind, 0, rows=250)
        (reference, y_reference), (target, y_target) = draw.reference, draw.target
        rows = np.vstack([draw.fit[0], reference, target])
        assert len(np.unique(rows, axis=0)) == len(rows) == 750
        moved = np.abs(target.mean(axis=0) - reference.mean(axis=0)).max()
        shift[kind] = moved, abs(y_target.mean() - y_reference.mean())
        assert np.array_equal(cell(path, kind, 0, rows=250).target[0], target)
    assert shift["natural"][0] > 0.8
    assert shift["induced"][0] > 0.5
    assert shift["null"][0] < 0.2
    assert shift["label"][1] > 0.3


def test_rivals_know_what_they_are_told():
    """A model that knows the chances, without shift: each guess is the share of errors."""
    rng = np.random.default_rng(0)
    chance = rng.uniform(size=(2, 20_000))
    y = (rng.uniform(size=(2, 20_000)) < chance).astype(int)
    said = [np.column_stack([1 - each, each]) for each in chance]
    draw = SimpleNamespace(reference=(chance[0][:, None], y[0]), target=(chance[1][:, None], y[1]))
    actual = np.mean((chance[1] > 0.5) != y[1])
    for name, guess in rivals.errors(draw, said, np.ones(20_000)).items():
        assert guess == pytest.approx(actual, abs=0.012), name
    for name, guess in rivals.brier(draw, said, np.ones(20_000)).items():
        assert guess == pytest.approx(np.mean((chance[1] - y[1]) ** 2), abs=0.006), name


def test_the_figures_are_means_over_cells_that_are_answered():
    def row(actual, ours, state="good"):
        estimate = [ours, ours - 0.02, ours + 0.02] if state == "good" else None
        told = {"state": state, "estimate": estimate, "seconds": 1.0}
        about = {"task": "a", "file": "a", "kind": "induced", "measure": "error"}
        return about | {"actual": actual, "others": {"reference": 0.1}, "ours": told}

    rows = [row(0.2, 0.21), row(0.1, 0.13), row(0.5, None, "withheld")]
    figures = summary(rows, {})
    found = figures["error"]["induced"]
    assert (found["cells"], found["withheld"]) == (2, 1)
    assert found["methods"]["ours"]["absolute"] == pytest.approx(2.0)
    assert found["methods"]["reference"]["where withheld"] == pytest.approx(40.0)
    assert found["methods"]["ours"]["recall"] == 1
    assert found["methods"]["ours"]["precision"] == 1
    assert figures["coverage"]["error, induced"]["held"] == 0.5
