"""The experiments on the smallest scale: they run, they repeat, they say what differs."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from experiments import _printed, _run_cells, _table, table1  # noqa: E402
from experiments.__main__ import NAMES  # noqa: E402
from experiments._publish import DOCS, publish  # noqa: E402
from experiments._result import digest, write_result  # noqa: E402
from experiments._run_cells import key, run_cell, run_cells  # noqa: E402
from experiments._scale import FULL, REDUCED  # noqa: E402
from experiments._split_table import split_cells, split_tables, split_values  # noqa: E402
from experiments._warnings import explanation  # noqa: E402

pytestmark = pytest.mark.more  # the paper's experiments, not the library
TOY = {"do": "toy_search", "reading": "all_sd", "trial": 0, "evaluations": 4}
IRIS = {
    "do": "split_trial", "reading": "honest", "name": "iris", "model": "Naive Bayes", "trial": 3,
    "lams": [0.0, 0.5, 1.0], "alphas": [1.0, 3.0], "evaluations": 4, "max_rows": None,
}  # fmt: skip
SMALL = replace(REDUCED, trials=2, lams=(0.0, 0.5, 1.0), alphas=(1.0, 3.0), evaluations=4)


@pytest.mark.parametrize("jobs", [1, 2])
def test_cells_give_the_same_values_again_whatever_the_number_of_processes(tmp_path, jobs):
    first = {key(cell): run_cell(cell)[1]["values"] for cell in (TOY, IRIS)}
    again = run_cells([TOY, IRIS], tmp_path / "cells.jsonl", jobs)
    assert {name: outcome["values"] for name, outcome in again.items()} == first


@pytest.mark.parametrize("reading", ["as stated", "as released", "honest"])
def test_every_reading_scores_all_points_of_the_named_curves(reading):
    _, outcome = run_cell({**IRIS, "reading": reading})
    values = outcome["values"]
    points = {(lam, alpha) for lam, alpha, _ in values["surface"]}
    assert {(lam, alpha) for lam in (0.0, 0.5, 1.0) for alpha in (1.0, 3.0)} <= points
    # every candidate that has no error has a message instead
    missing = sum(error is None for lam, _, error in values["surface"] if 0 < lam < 1)
    assert sum(values["failures"].values()) >= missing
    assert any(error is not None for _, _, error in values["surface"])
    assert 1 <= values["ess"] <= values["n_source"]
    assert values["n_source"] + values["n_target"] == 150
    assert all(explanation(kind) is not None for kind in outcome["warnings"])


def test_ends_of_the_surface_are_one_model_whatever_alpha():
    surface = run_cell(IRIS)[1]["values"]["surface"]
    for end in (0.0, 1.0):
        assert len({error for lam, _, error in surface if lam == end}) == 1


def test_finished_cells_are_not_run_again_unless_told(tmp_path):
    path = tmp_path / "cells.jsonl"
    first = run_cells([TOY], path, jobs=1)
    kept = path.read_text()
    assert run_cells([TOY], path, jobs=1) == first
    assert path.read_text() == kept
    run_cells([TOY], path, jobs=1, fresh=True)
    assert len(path.read_text().splitlines()) == 2


def test_fresh_leaves_the_cells_of_others_alone(tmp_path):
    path = tmp_path / "cells.jsonl"
    first = run_cells([TOY], path, jobs=1)
    run_cells([{**TOY, "trial": 1}], path, jobs=1, fresh=True)
    assert run_cells([TOY], path, jobs=1) == first


def test_results_of_other_code_are_not_reused(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    run_cells([TOY], path, jobs=1)
    monkeypatch.setattr(_run_cells, "code_digest", lambda: "other code")
    run_cells([TOY], path, jobs=1)
    assert len(path.read_text().splitlines()) == 2


def test_the_digest_covers_all_modules_that_the_workers_import():
    # in a process of its own: here everything is imported
    code = "import sys, experiments._workers; print(*(m.__file__ for m in sys.modules.values() "
    code += "if m.__name__.split('.')[0] in ('weighbridge', 'experiments')), sep=chr(10))"
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = {Path(line).resolve() for line in shown.stdout.split()}
    covered = {path.resolve() for path in _run_cells.code_files()}
    assert len(imported) > 20
    assert imported - covered == {ROOT / "experiments" / "__init__.py"}


def test_a_line_cut_short_does_not_count_and_spoils_nothing(tmp_path):
    path = tmp_path / "cells.jsonl"
    first = run_cells([TOY], path, jobs=1)
    path.write_text(path.read_text()[:-40])
    again = run_cells([TOY], path, jobs=1)
    assert again[key(TOY)]["values"] == first[key(TOY)]["values"]
    assert run_cells([TOY], path, jobs=1) == again


def test_a_result_has_values_versions_seconds_and_a_picture(tmp_path, monkeypatch):
    from experiments import figure_search

    done = [(cell, run_cell(cell)[1]) for cell in figure_search.cells(SMALL)]
    assert write_result(tmp_path, "figure-search", figure_search, SMALL, done) == []
    content = json.loads((tmp_path / "figure-search.json").read_text())
    assert {"values", "versions", "code", "seconds", "warnings", "seed"} <= content.keys()
    assert len(content["sha256 of the values"]) == 64
    assert (tmp_path / "figure-search.md").read_text().startswith("# ")
    assert (tmp_path / "figure-search.png").stat().st_size > 1000
    monkeypatch.setattr("experiments._publish.DOCS", tmp_path / "docs")
    publish(tmp_path, {"figure-search": figure_search})
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "figure-search.json", "figure-search.png",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_shows_what_was_recorded(name):
    module = import_module(f"experiments.{NAMES[name]}")
    recorded = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    if recorded["sha256 of the values"] is not None:
        assert digest(recorded["values"]) == recorded["sha256 of the values"]
    if hasattr(module, "tables"):
        tables = "\n".join(table.rst() for table in module.tables(recorded["values"]))
        assert (DOCS / f"{name}.inc").read_text(encoding="utf-8") == tables
    assert all(why for _, why in recorded["warnings"].values())


def test_a_warning_that_nobody_explained_is_reported(tmp_path):
    from experiments import figure_search

    cell = figure_search.cells(SMALL)[0]
    outcome = run_cell(cell)[1] | {"warnings": {"UserWarning: never seen": 1, "WB304": 2}}
    unexplained = write_result(tmp_path, "figure-search", figure_search, SMALL, [(cell, outcome)])
    assert unexplained == ["UserWarning: never seen"]


def test_a_set_that_is_nowhere_is_one_line_and_exit_code_1(tmp_path):
    shown = _run("figure-shift", "--out", str(tmp_path), WEIGHBRIDGE_DATA=str(tmp_path / "missing"))
    assert shown.returncode == 1
    assert "WEIGHBRIDGE_DATA" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("bad", [("table9",), ("--trials", "0"), ("--max-rows", "5")])
def test_bad_arguments_are_refused_before_any_work(bad, tmp_path):
    shown = _run(*bad, "--out", str(tmp_path))
    assert shown.returncode == 2
    assert "expected names" in shown.stderr or "at least" in shown.stderr


def test_tables_show_printed_and_obtained_values_and_a_verdict():
    models = {"iris": ["Naive Bayes"]}
    done = [(cell, run_cell(cell)[1]) for cell in split_cells(SMALL, models)]
    values = split_values(done, models)
    tables = split_tables(values, _printed.MULTICLASS, "title")
    assert [table.title for table in tables] == [
        "title, as stated", "title, as released", "title, honest",
    ]  # fmt: skip
    for reading, table in zip(values, tables, strict=True):
        (row,) = table.rows
        assert len(row) == len(table.header)
        ours = values[reading]["iris"]["models"]["Naive Bayes"]["unweighted"]
        assert row[4].startswith(f"35.88, {ours['mean']:.2f}")
        said = _table.verdict(ours, _printed.MULTICLASS["iris"]["Naive Bayes"][0])
        assert row[4].endswith(_table.MARKS[said])
        assert ("differs in" in row[-1]) == any(cell.endswith("✗") for cell in row)
        assert row[-1].endswith("; printed optimum worse than its own end")
        assert table.markdown().count("\n|") == 3
        assert table.rst().count("* -") == 2
        assert "Over 2 splits" in table.note


def test_printed_optima_contradict_themselves_in_23_of_42_rows():
    tables = (_printed.LIBSVM, _printed.REGRESSION, _printed.MULTICLASS)
    rows = [row for table in tables for models in table.values() for row in models.values()]
    assert (len(rows), sum(map(_printed.contradicts_itself, rows))) == (42, 23)


def test_a_verdict_is_welchs_test():
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 3, 13):
        ours, theirs = rng.normal(10, 1, 10), rng.normal(10 + shift, 2, 10)
        p = stats.ttest_ind(ours, theirs, equal_var=False).pvalue
        found = _table.verdict(
            _table.mean_and_error(list(ours)), (theirs.mean(), theirs.std(ddof=1))
        )
        assert found == ("differs" if p < 2 * stats.norm.sf(3) else "agrees")


def test_too_few_or_too_noisy_trials_cannot_tell():
    assert _table.verdict(_table.mean_and_error([10.0]), (10.0, 1.0)) == "cannot tell"
    assert _table.verdict(_table.mean_and_error([]), (10.0, 1.0)) == "cannot tell"
    assert _table.verdict(_table.mean_and_error([2.0, 18.0]), (10.0, 1.0)) == "cannot tell"
    same = {"mean": 10.0, "se": 0.0, "n": 5, "of": 5}
    assert _table.verdict(same, (10.0, 0.0)) == "agrees"
    assert _table.verdict(same, (11.0, 0.0)) == "differs"


def test_mean_and_error_leaves_out_what_failed_and_says_so():
    found = _table.mean_and_error([1.0, None, 3.0, 5.0])
    expected = np.std([1, 3, 5], ddof=1) / math.sqrt(3)
    assert (found["mean"], found["n"], found["of"]) == (3.0, 3, 4)
    assert found["se"] == pytest.approx(expected, rel=1e-12)
    assert _table.shown(found).endswith("(3 of 4)")


def test_a_target_is_met_within_four_errors_of_both_and_its_rounding():
    ours = {"mean": 10.0, "se": 0.1, "n": 200, "of": 200}
    reach = 4 * 0.1 * math.sqrt(2) + 0.05
    assert table1.on_target(ours, round(10 + reach - 0.06, 1))
    assert not table1.on_target(ours, round(10 + reach + 0.06, 1))


@pytest.mark.slow
def test_every_reading_of_table_1_comes_to_its_target():
    cells = table1.cells(FULL)
    found = table1.values([(cell, run_cell(cell)[1]) for cell in cells])
    for label, (_, _, targets) in table1.STATED.items():
        for way, target in targets.items():
            assert table1.on_target(found[label][way], target), (label, way)
    for way, target in table1.RELEASED_TARGETS.values():
        assert table1.on_target(found["as released"][way], target, draws=10), way


def test_the_command_line_runs_from_the_root():
    shown = _run("--help", PYTHONWARNINGS="error")
    assert shown.returncode == 0
    assert "figure-geometry" in shown.stdout


def _run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}, check=False,
    )  # fmt: skip
