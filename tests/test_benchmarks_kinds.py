"""The kinds of shift: problems, draws, the prototype and the figures of the benchmark."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.kinds import problems, sets, summary
from benchmarks.kinds.pieces import expectation_maximisation, prototype


@pytest.fixture
def data():
    """Three classes of 300, 400 and 500 rows."""
    y = np.repeat([0, 1, 2], [300, 400, 500])
    X = np.random.default_rng(0).normal(size=(1200, 2)) + 2 * np.eye(3)[y][:, :2]
    return SimpleNamespace(name="made up", X=X, y=y)


def test_draws_of_a_set_share_no_row_and_have_their_frequencies(data):
    for seed in range(20):
        one = sets.draw(data, seed, rows=200)
        rows = np.vstack([one.Xs, one.Xu, one.Xt])
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert len(one.ys) == 200
        assert one.frequencies.min() >= sets.MIN_SHARE
        target = np.concatenate([one.yu, one.yt])
        found = np.bincount(target, minlength=3) / len(target)
        noise = np.sqrt(one.frequencies * (1 - one.frequencies) / len(target))
        assert np.all(np.abs(found - one.frequencies) < 4 * noise)
    assert np.array_equal(sets.draw(data, 3, rows=200).free, sets.draw(data, 3, rows=200).free)


def test_rare_classes_are_left_out_and_large_ones_thinned():
    y = np.repeat(["a", "b", "c"], [3000, 20, 700])
    X, codes = sets.thinned(np.arange(3720.0)[:, None], y)
    assert np.bincount(codes).tolist() == [2000, 700]
    assert set(y[X[codes == 1, 0].astype(int)]) == {"c"}


def test_both_halves_have_the_sets_of_the_frequencies():
    for half, names in sets.FREQUENCIES.items():
        assert all(sets.half(name) == half for name in names)


@pytest.mark.parametrize("kind", problems.KINDS)
def test_problems_are_the_same_whenever_they_are_asked_for(kind):
    one, same, other = (problems.problem(kind, number, 100) for number in (4, 4, 6))
    assert np.array_equal(one.X_target, same.X_target)
    assert one.X.shape != other.X.shape or not np.array_equal(one.X, other.X)
    assert one.half == "choose"
    assert problems.problem(kind, 5, 50).half == "report"


@pytest.mark.parametrize("number", [4, 6, 12, 14])
def test_a_change_of_the_rows_leaves_the_relation(number):
    """Labels at target rows have the chances of the source's world."""
    one = problems.problem("covariate", number, 4000)
    rng = np.random.default_rng([number, problems.KINDS.index("covariate")])
    chances = problems.World(one.about["world"], rng).chances(one.X_target)
    noise = np.sqrt((chances * (1 - chances)).mean(axis=0) / 4000)
    found = np.bincount(one.y_target, minlength=chances.shape[1]) / 4000
    assert np.all(np.abs(found - chances.mean(axis=0)) < 4 * noise + 1e-9)
    moved = np.abs(one.X_target.mean(axis=0) - one.X.mean(axis=0)) / one.X.std(axis=0)
    spread = np.abs(np.log(one.X_target.std(axis=0) / one.X.std(axis=0)))
    assert max(moved.max(), spread.max()) > 0.1


@pytest.mark.parametrize("number", [0, 2, 8, 10])
def test_a_change_of_the_classes_leaves_the_rows_of_a_class(number):
    one = problems.problem("label", number, 4000)
    before, after = (np.bincount(y, minlength=10) / 4000 for y in (one.y, one.y_target))
    assert np.abs(after - before).sum() / 2 > problems.LEAST_LABEL - 0.05
    for code in np.flatnonzero(np.minimum(before, after) > 0.05):
        rows, others = one.X[one.y == code], one.X_target[one.y_target == code]
        noise = np.sqrt(rows.var(axis=0) / len(rows) + others.var(axis=0) / len(others))
        assert np.all(np.abs(rows.mean(axis=0) - others.mean(axis=0)) < 4.5 * noise)


def test_frequencies_are_found_from_chances_that_are_right():
    """Two Gaussian classes: exact chances under equal frequencies, one to three in the target."""
    rng = np.random.default_rng(0)
    y = rng.uniform(size=20_000) < 0.75
    x = rng.normal(np.where(y, 1, -1), 1)
    chance = 1 / (1 + np.exp(-2 * x))
    chances = np.column_stack([1 - chance, chance])
    found = expectation_maximisation(chances, np.array([0.5, 0.5]))
    assert found[1] == pytest.approx(y.mean(), abs=0.01)


def test_the_prototype_moves_the_border_to_the_frequencies():
    rng = np.random.default_rng(0)
    n = 20_000
    y, y_target = rng.integers(2, size=n), (rng.uniform(size=n) < 0.9).astype(int)
    X, X_target = (rng.normal(2 * each[:, None] - 1, 1) for each in (y, y_target))
    model = prototype(LogisticRegression(), X, y, X_target)
    border = -model.intercept_[0] / model.coef_[0, 0]
    assert border == pytest.approx(-np.log(9) / 2, abs=0.1)


def test_told_kinds_are_judged_by_the_truth():
    assert summary.judged("label", "label") == "right"
    assert summary.judged("label", "unclear") == "cannot tell"
    assert summary.judged("label", "none") == "missed"
    assert summary.judged("none", "covariate") == "wrong kind"
    assert summary.judged("relation", "label") == "wrong kind"
    assert summary.judged("relation", "covariate") == "no claim of label"
    rows = {
        str(place): {"truth": truth, "kind": kind, "acted": acted, "n": 500, "seconds": 1.0}
        for place, (truth, kind, acted) in enumerate(
            [
                ("label", "label", "label"),
                ("label", "unclear", "covariate"),
                ("label", "covariate", "covariate"),
                ("covariate", "covariate", "covariate"),
                ("relation", "covariate", "covariate"),
            ]
        )
    }
    found = summary.told(rows, {})
    assert found["n = 500, label"]["right or cannot tell"] == pytest.approx(2 / 3)
    assert found["n = 500, label"]["acted wrongly"] == pytest.approx(1 / 3)
    assert found["all"]["problems"] == 4
    assert found["n = 500, relation"]["acted wrongly"] == 0
    assert found["wrong"] == {"2": "covariate"}


def test_errors_of_frequencies_are_those_of_all_draws_and_classes():
    ours = {"estimates": [[0.5, 0.5], [0.2, 0.8]], "low": [[0.4, 0.4], [0.1, 0.7]], "seconds": 1.0}
    ours["high"] = [[0.6, 0.6], [0.3, 0.9]]
    row = {"set": "a", "frequencies": [[0.45, 0.55], [0.35, 0.65]]}
    row |= dict.fromkeys(("em", "bbse", "rlls"), ours)
    quapy = {"estimates": [[0.4, 0.6], [0.3, 0.7]], "seconds": 1.0}
    found = summary.frequencies({"a": row}, {"a": quapy})
    assert found["a"]["em"]["error"] == pytest.approx(0.1)
    assert found["a"]["em"]["held"] == 0.5
    assert found["all sets"]["em"]["over QuaPy"] == pytest.approx(2.0)
    assert "all sets" in summary.as_text(found)


def test_a_cell_is_worse_only_where_the_draws_say_so():
    rng = np.random.default_rng(0)
    rows = {}
    for seed in range(10):
        noise = 1e-3 * rng.normal(size=3)
        for model, worse in (("linear", 0.05), ("svm", 0.0)):
            losses = {"none": 0.3, "covariate": 0.3, "prototype": 0.2}
            losses["auto"] = 0.3 + worse + noise[0]
            about = {"cell": "label", "task": "a", "model": model, "kind": "label"}
            rows[f"{model}--{seed}"] = about | {"losses": losses}
    found = summary.natural(rows, {})
    assert list(found["label"]["worse cells"]) == ["a | linear"]
    assert found["label"]["told"] == {"label": 1.0}
    assert found["label, beside the prototype"]["significantly worse"] == 2
    gain = 100 * np.log(0.21 / 0.31)
    assert found["label, by model"]["svm"]["prototype"] == pytest.approx(gain)


def test_accuracies_are_paired_with_those_of_auto():
    rows = {
        f"target_shift--{seed}": {
            "shift": "target_shift",
            "kind": "label",
            "accuracy": {"none": 0.8 + seed / 100, "auto": 0.9 + seed / 100},
        }
        for seed in range(3)
    }
    rivals = {"target_shift--1": {"accuracy": {"KMM": {"circular": 0.85}}}}
    found = summary.skada(rows, rivals)["target_shift"]
    assert found["none"]["auto - this"] == pytest.approx(0.1)
    assert found["none"]["se"] == pytest.approx(0, abs=1e-12)
    assert found["skada KMM, circular"]["auto - this"] == pytest.approx(0.06)
    assert found["told"] == {"label": 1.0}
