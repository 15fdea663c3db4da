"""The experiments on the smallest scale: they run, they repeat, they say what differs."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENTS = ROOT / "experiments"
sys.path.insert(0, str(ROOT))

from experiments import _numbers, _printed, _run_cells, _table, figure_surfaces, table1  # noqa: E402
from experiments.__main__ import NAMES  # noqa: E402
from experiments._models import ManyFits, make_model  # noqa: E402
from experiments._publish import (  # noqa: E402
    DOCS,
    contradictions,
    of_other_runs,
    publish,
    recorded,
    tables_text,
)
from experiments._result import digest, write_result  # noqa: E402
from experiments._run_cells import (  # noqa: E402
    finished_elsewhere,
    key,
    made_here,
    run_cell,
    run_cells,
)
from experiments._scale import FULL, RECORDED, REDUCED  # noqa: E402
from experiments._split_table import split_cells, split_tables, split_values  # noqa: E402
from experiments._splits import READINGS, split, standardised  # noqa: E402
from experiments._toy_trials import GRID, Draw, mse_of_lines, weighted_lines  # noqa: E402
from experiments._warnings import explanation  # noqa: E402

pytestmark = pytest.mark.more  # the paper's experiments, not the library
TOY = {"do": "toy_search", "reading": "all_sd", "trial": 0, "evaluations": 4}
IRIS = {
    "do": "split_trial", "reading": "honest", "name": "iris", "model": "Naive Bayes", "trial": 3,
    "lams": [0.0, 0.5, 1.0], "alphas": [1.0, 3.0], "evaluations": 4, "max_rows": None,
}  # fmt: skip
LAMS = (0.0, 0.5, 1.0)
SMALL = replace(REDUCED, lams=LAMS, few_lams=LAMS, alphas=(1.0, 3.0), evaluations=4)
PAGES = DOCS.parent


@pytest.mark.parametrize("jobs", [1, 2])
def test_cells_give_the_same_values_again_whatever_the_number_of_processes(tmp_path, jobs):
    first = {key(cell): run_cell(cell)[1]["values"] for cell in (TOY, IRIS)}
    again = run_cells([TOY, IRIS], tmp_path / "cells.jsonl", jobs)
    assert {name: outcome["values"] for name, outcome in again.items()} == first


@pytest.mark.parametrize("reading", READINGS)
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


def test_the_digest_covers_what_cells_enter_and_no_package_that_they_do_not():
    # in a process of its own: here everything may be cached
    code = """
import json, sys
from experiments._run_cells import run_cell
entered = set()
def note(frame, event, argument):
    entered.add(frame.f_code.co_filename)
cells = json.loads(sys.argv[1])
sys.setprofile(note)
for cell in cells:
    run_cell(cell)
sys.setprofile(None)
print(*(name for name in entered if "weighbridge" in name or "experiments" in name), sep=chr(10))
"""
    # forests are left out: they enter scikit-learn only, and slowly
    cells = [{**IRIS, "model": each} for each in ("Logistic Regression", "SVM", "Naive Bayes")]
    cells += [{**IRIS, "reading": reading} for reading in ("as stated", "global")]
    cells += [{**IRIS, "name": "diabetes", "model": "SVR"}, TOY]
    cells += [{"do": do, "reading": "variances", "n": 200, "first": 0, "count": 1}
              for do in ("toy_trials", "toy_folds")]  # fmt: skip
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, json.dumps(cells)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    library = Path(_run_cells.weighbridge.__file__).parent.resolve()
    entered = {Path(line).resolve() for line in shown.stdout.splitlines()}
    entered = {path for path in entered if {library, EXPERIMENTS} & set(path.parents)}
    runner = {EXPERIMENTS / "_run_cells.py", EXPERIMENTS / "_warnings.py"}  # count, do not compute
    runner.add(library / "geodesic" / "_derivatives.py")  # hands arrays of NumPy on as they are
    covered = {path.resolve() for path in _run_cells.code_files()}
    assert len(entered) > 20
    assert entered - covered <= runner
    packages = {path.relative_to(library).parts[0] for path in entered if library in path.parents}
    assert packages == {name.partition("/")[0] for name in _run_cells.LIBRARY}


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
    _, unexplained = write_result(
        tmp_path, "figure-search", figure_search, SMALL, done, made_here()
    )
    assert unexplained == []
    content = json.loads((tmp_path / "figure-search.json").read_text())
    assert {"values", "versions", "code", "seconds", "warnings", "seed"} <= content.keys()
    assert len(content["sha256 of the values"]) == 64
    assert (tmp_path / "figure-search.md").read_text().startswith("# ")
    assert (tmp_path / "figure-search.png").stat().st_size > 1000
    monkeypatch.setattr("experiments._publish.DOCS", tmp_path / "docs")
    monkeypatch.setattr("experiments._publish.substitutions", lambda results: " ".join(results))
    publish(tmp_path, {"figure-search": figure_search})
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "figure-search.json", "figure-search.png", "numbers.inc",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_shows_what_was_recorded(name):
    module = import_module(f"experiments.{NAMES[name]}")
    content = recorded()[name]
    if content["sha256 of the values"] is not None:
        assert digest(content["values"]) == content["sha256 of the values"]
    if hasattr(module, "tables"):
        assert (DOCS / f"{name}.inc").read_text(encoding="utf-8") == tables_text(module, content)
    assert all(why for _, why in content["warnings"].values())


def test_a_warning_that_nobody_explained_is_reported(tmp_path):
    from experiments import figure_search

    cell = figure_search.cells(SMALL)[0]
    outcome = run_cell(cell)[1] | {"warnings": {"UserWarning: never seen": 1, "WB304": 2}}
    _, unexplained = write_result(
        tmp_path, "figure-search", figure_search, SMALL, [(cell, outcome)], made_here()
    )
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
    assert [table.title for table in tables] == [f"title, {reading}" for reading in READINGS]
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


def test_a_verdict_of_few_values_is_welchs_test_beyond_ten_percent():
    rng = np.random.default_rng(0)
    seen = set()
    for shift in np.linspace(0, 5, 21):
        ours, theirs = rng.normal(10, 1, 10), rng.normal(10 + shift, 2, 10)
        p = stats.ttest_ind(ours, theirs, equal_var=False).pvalue
        found = _table.verdict(
            _table.mean_and_error(list(ours)), (theirs.mean(), theirs.std(ddof=1))
        )
        near = abs(ours.mean() / theirs.mean() - 1) <= 0.1
        far = "differs" if p < 2 * stats.norm.sf(3) else "not told apart"
        assert found == ("within 10 %" if near else far)
        seen.add(found)
    assert seen == {"within 10 %", "not told apart", "differs"}


def test_a_mean_off_by_a_third_is_never_within_ten_percent_however_noisy_it_is():
    # 69.96 printed, 42.24 of ours: not told apart, and no agreement
    ours = _table.mean_and_error([42.24 + 22.5 * z for z in (-1, 1) * 5])
    assert _table.verdict(ours, (69.96, 1.84)) == "not told apart"


def test_few_trials_are_never_within_ten_percent_and_take_the_printed_spread():
    assert _table.verdict(_table.mean_and_error([10.0]), (10.0, 1.0)) == "not told apart"
    assert _table.verdict(_table.mean_and_error([]), (10.0, 1.0)) == "not there"
    # two equal values by chance: without the printed spread they would differ
    assert _table.verdict(_table.mean_and_error([12.5, 12.5]), (10.0, 1.5)) == "not told apart"
    same = {"mean": 10.0, "se": 0.0, "n": 10, "of": 10}
    assert _table.verdict(same, (10.9, 0.0)) == "within 10 %"
    assert _table.verdict(same, (12.0, 0.0)) == "differs"


@pytest.mark.parametrize(("law", "mean"), [
    (stats.norm(5, 1), 5.0), (stats.lognorm(1.0), math.exp(0.5)), (stats.pareto(3), 1.5),
])  # fmt: skip
def test_the_interval_of_many_values_holds_the_mean_more_often_than_students_t(law, mean):
    rng, inside, by_t = np.random.default_rng(0), 0, 0
    for _ in range(60):
        found = _table.mean_and_error(law.rvs(100, random_state=rng).tolist())
        inside += found["low"] <= mean <= found["high"]
        reach = found["se"] * stats.t.isf(_table.TAIL, 99)
        by_t += abs(found["mean"] - mean) <= reach
    assert inside >= by_t
    assert inside >= 58


def test_a_reach_is_longer_on_the_side_of_the_tail():
    rng = np.random.default_rng(1)
    ours = _table.mean_and_error(stats.lognorm(1.5).rvs(200, random_state=rng).tolist())
    assert ours["high"] - ours["mean"] > 1.5 * (ours["mean"] - ours["low"])
    # as far above as is beyond reach below
    step = 1.2 * (ours["mean"] - ours["low"])
    assert _table.verdict(ours, (ours["mean"] - step, 0.0)) == "differs"
    assert _table.verdict(ours, (ours["mean"] + step, 0.0)) == "not told apart"


def test_mean_and_error_leaves_out_what_failed_and_says_so():
    found = _table.mean_and_error([1.0, None, 3.0, 5.0])
    expected = np.std([1, 3, 5], ddof=1) / math.sqrt(3)
    assert (found["mean"], found["n"], found["of"]) == (3.0, 3, 4)
    assert found["se"] == pytest.approx(expected, rel=1e-12)
    assert _table.shown(found).endswith("(3 of 4)")


def test_means_of_other_draws_are_where_resampling_ours_says():
    rng, law = np.random.default_rng(0), stats.lognorm(1.0)
    missed = 0
    for _ in range(20):
        low, high = table1.others(law.rvs(200, random_state=rng).tolist(), 50)
        means = law.rvs((100, 50), random_state=rng).mean(axis=1)
        missed += np.sum((means < low) | (means > high))
    assert missed <= 20  # of 2000: 2 expected, and 200 draws do not have the longest tails


def test_a_target_is_met_within_its_rounding():
    assert table1.against_target({"others": [9.0, 10.0]}, 10.0) == "not told apart"
    assert table1.against_target({"others": [9.0, 9.96]}, 10.0) == "not told apart"
    assert table1.against_target({"others": [9.0, 9.94]}, 10.0) == "differs"
    assert table1.against_target({"others": [9.0, 9.6]}, 10) == "not told apart"


@pytest.mark.parametrize("reading", ["variances", "all_sd", "script"])
def test_errors_of_all_lines_together_are_those_of_single_fits(reading):
    from sklearn.linear_model import LinearRegression

    from weighbridge import Geodesic

    draw = Draw(reading, 200, 5)
    for point in GRID[::13]:
        weights = Geodesic(*point).weights(draw.log_ratio)
        line = LinearRegression().fit(draw.data.X, draw.data.y, sample_weight=weights)
        assert draw.errors[point] == pytest.approx(draw.data.problem.mse(line), rel=1e-9)
        lines = weighted_lines(weights[None], draw.data.X[:, 0], draw.data.y)
        assert lines[1][0] == pytest.approx(line.coef_[0], rel=1e-9)
        assert mse_of_lines(draw.data.problem, *lines) == pytest.approx([draw.errors[point]])


@pytest.mark.parametrize(("name", "model"), [("heart", "SVM"), ("boston", "SVR")])
def test_a_kernel_computed_once_gives_the_predictions_of_the_model_itself(name, model):
    data = split("as stated", name, 0, None)
    fits = ManyFits(make_model(model, 0), data.X, data.y, data.X_target)
    tilted = np.exp(0.3 * data.log_ratio)
    without = np.where(np.arange(len(tilted)) % 3 == 0, 0.0, tilted)  # rows that libsvm drops
    for weights in (np.ones_like(tilted), tilted, without):
        plain = make_model(model, 0).fit(data.X, data.y, sample_weight=weights)
        assert fits.predict(weights) == pytest.approx(plain.predict(data.X_target), abs=1e-6)


def test_the_global_reading_has_one_mean_and_one_deviation_for_the_whole_table():
    X, _ = standardised("heart", None, whole=True)
    assert (X.mean(), X.std()) == pytest.approx((0, 1), abs=1e-12)
    assert X.std(axis=0).max() > 20 * X.std(axis=0).min()
    data = split("global", "heart", 0, None)
    rows, ratio = np.vstack([data.X, data.X_target]), data.log_ratio
    direction = np.linalg.lstsq(data.X, ratio, rcond=None)[0]
    # v is a projection of the rows themselves, with no constant, and slope 16 over its deviation
    assert data.X @ direction == pytest.approx(ratio, abs=1e-8)
    assert np.std(rows @ direction) == pytest.approx(16, rel=1e-9)


def test_a_run_that_is_out_of_time_leaves_the_rest_for_the_next(tmp_path):
    path = tmp_path / "cells.jsonl"
    assert run_cells([TOY, IRIS], path, jobs=1, minutes=0) == {}
    assert len(run_cells([TOY, IRIS], path, jobs=1)) == 2


def test_the_longest_cells_come_first_and_models_share_the_ratio_of_the_released_procedure():
    models = {"iris": ["Logistic Regression", "SVM", "AdaBoost"], "madelon": ["AdaBoost"]}
    batches = _run_cells._batches(split_cells(SMALL, models))
    first = batches[0][0]
    assert (first["name"], first["model"]) == ("madelon", "AdaBoost")
    shared = [batch for batch in batches if len(batch) > 1]
    assert [[cell["model"] for cell in batch] for batch in shared] == [models["iris"][:2]] * 2
    assert sum(map(len, batches)) == len(split_cells(SMALL, models))


def test_a_journal_made_elsewhere_keeps_its_versions_and_is_refused_if_mixed(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    here = run_cells([TOY], path, jobs=1)
    monkeypatch.setattr(_run_cells, "versions", lambda: {"numpy": "of another machine"})
    with pytest.raises(OSError, match="1 of the 2 cells by one code"):
        finished_elsewhere([TOY, IRIS], path)
    run_cells([IRIS], path, jobs=1)
    with pytest.raises(OSError, match="1 of the 2 cells by one code"):
        finished_elsewhere([TOY, IRIS], path)
    monkeypatch.undo()
    found, made = finished_elsewhere([TOY], path)
    assert found == here
    assert made == made_here()
    monkeypatch.setattr(_run_cells, "code_digest", lambda: "other code")
    found, made = finished_elsewhere([TOY], path)
    assert list(found.values()) == list(here.values())
    assert made["code"] != "other code"


def test_recorded_results_of_other_code_are_found_before_some_are_published():
    content = recorded()["table1"]
    made = {"code": content["code"], "versions": content["versions"]}
    everything = list(NAMES)
    assert of_other_runs(everything, made) == []
    assert "libsvm-models" in of_other_runs(["table1"], {**made, "code": "other"})


def test_a_run_that_says_the_opposite_of_the_documentation_is_told(monkeypatch):
    module = import_module("experiments.regression")
    values = recorded()["regression"]["values"]
    assert contradictions("regression", module, values) == []
    there = module.verdicts(values)
    row = next(row for row, word in there.items() if word == "differs")
    swapped = {**there, row: "within 10 %"}
    monkeypatch.setattr(module, "verdicts", lambda v: there if v is not None else swapped)
    (found,) = contradictions("regression", module, None)
    assert found == f"regression, {', '.join(row)}: within 10 % here, differs recorded"
    swapped[row] = "not told apart"  # fewer splits tell less apart
    assert contradictions("regression", module, None) == []


def _points(gain, splits=40, seed=0):
    """Points of a grid, errors whose points off the curves are better by a gain."""
    points = [[lam, alpha] for lam in (0.2, 0.5, 0.8) for alpha in (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0)]
    noise = np.random.default_rng(seed).normal(10, 1, (splits, len(points)))
    off = np.array([alpha not in (1.0, 3.0) for _, alpha in points])
    return points, noise - gain * off


def test_points_off_the_curves_have_no_advantage_from_being_more():
    found = [figure_surfaces.off_the_curves(*_points(0.0, seed=seed)) for seed in range(300)]
    rejected = sum(each["p"] < 0.05 for each in found)
    assert 5 <= rejected <= 27  # 15 expected
    gains = np.array([each["gain"] for each in found])
    assert abs(gains.mean()) < 3 * gains.std() / math.sqrt(300)
    # without the halves they would have one
    naive = []
    for seed in range(300):
        points, errors = _points(0.0, seed=seed)
        off = np.array([alpha not in (1.0, 3.0) for _, alpha in points])
        naive.append(errors.mean(axis=0)[~off].min() - errors.mean(axis=0)[off].min())
    assert np.mean(naive) > 5 * np.std(naive) / math.sqrt(300)


def test_a_true_gain_off_the_curves_is_found():
    found = figure_surfaces.off_the_curves(*_points(1.0))
    assert found["p"] < 0.001
    assert found["gain"] == pytest.approx(1.0, abs=4 * found["se"])


def test_holm_is_what_its_definition_says():
    ps = [0.01, 0.04, 0.03, 0.005]
    # the smallest times 4, the next times 3, ..., never less than one before
    assert figure_surfaces.holm(ps) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_reduced_and_recorded_runs_have_the_same_toy_draws_and_grids():
    assert table1.cells(REDUCED) == table1.cells(RECORDED) == table1.cells(FULL)
    for cells in (REDUCED, RECORDED):
        assert (cells.lams, cells.alphas) == (FULL.lams, FULL.alphas)
    assert len(RECORDED.lams) >= 11
    assert len(RECORDED.alphas) >= 9
    assert {1.0, 3.0, -3.0, 5.0} <= set(RECORDED.alphas)


def test_pages_quote_only_numbers_of_the_recorded_values():
    results = recorded()
    assert (DOCS / "numbers.inc").read_text(encoding="utf-8") == _numbers.substitutions(results)
    known = _numbers.numbers(results)
    for page in ("index", "sets", "figures"):
        text = (PAGES / f"{page}.rst").read_text(encoding="utf-8")
        used = re.findall(r"\|([a-zA-Z ]+)\|", text.replace("\n", " ").replace("  ", " "))
        assert used
        assert set(used) <= known.keys()


GLOBAL = ("contradicts the print least often", "but comes no nearer to it",
          "so that more is not told apart")  # fmt: skip
# What a page says in words, and when it is true of the recorded values.
CLAIMS = {
    ("sets", "No reading reproduces the tables."): lambda found: all(
        2 * int(found[f"{reading} within"]) < int(found[f"{reading} values"])
        for reading in READINGS
        if found[f"{reading} values"] != "0"
    ),
    ("sets", "contradicts the print least often"): lambda found: all(
        int(found["global differ"]) < int(found[f"{reading} differ"])
        for reading in READINGS
        if reading != "global"
    ),
    ("sets", "but comes no nearer to it"): lambda found: (
        int(found["global within"]) <= 1.2 * int(found["as stated within"])
    ),
    ("sets", "so that more is not told apart"): lambda found: (
        float(found["global error"]) > 1.1
        and int(found["global apart"]) > int(found["as stated apart"])
    ),
    ("sets", "the full ratio costs more than it gains"): lambda found: (
        "above" in found["IWERM above"]
    ),
    ("sets", "Choosing helps less than the optimum promises."): lambda found: (
        float(found["optimal below"]) > 0 and "above" in found["ours above"]
    ),
    ("sets", "weighbridge's default stays near no weights"): lambda found: (
        float(found["default above"].split()[0]) < 1
    ),
    ("figures", "it would be there more often"): lambda found: (
        int(found["best off"]) / int(found["sets"])
        < int(found["points off"].split()[0]) / int(found["points off"].split()[-1])
    ),
    ("figures", "These splits do not bear out the paper's reading"): lambda found: (
        found["off better"] == "none"
    ),
}


@pytest.mark.parametrize(("page", "words"), CLAIMS)
def test_what_the_pages_say_in_words_is_true_of_the_recorded_values(page, words):
    text = (PAGES / f"{page}.rst").read_text(encoding="utf-8")
    assert words in " ".join(text.split())
    found = _numbers.numbers(recorded())
    if found["global values"] == "0" and words in GLOBAL:
        pytest.skip("the global reading is not recorded")
    assert CLAIMS[page, words](found)


def test_cells_run_without_what_only_pictures_and_downloads_need(tmp_path):
    code = "import sys; sys.modules.update(dict.fromkeys(('matplotlib', 'pooch')))\n"
    code += "from experiments.__main__ import main; sys.exit(main(sys.argv[1:]))"
    shown = subprocess.run(
        [sys.executable, "-c", code, "figure-search", "--only-cells", "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["cells.jsonl"]


def test_the_command_line_runs_from_the_root():
    shown = _run("--help", PYTHONWARNINGS="error")
    assert shown.returncode == 0
    assert "figure-geometry" in shown.stdout


def _run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}, check=False,
    )  # fmt: skip
