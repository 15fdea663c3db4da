"""Metrics of the rows as a whole, and several metrics at once: each is what scikit-learn says."""

import warnings

import numpy as np
import pandas as pd
import pytest
from jsonschema import validate
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    log_loss,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

from cli_runs import SCHEMA, run, valid, within_80_columns
from weighbridge import adapt
from weighbridge.datasets import make_gaussian_shift
from weighbridge.exceptions import InputError
from weighbridge.report import render
from weighbridge.target_risk import Question, RiskProblem, estimate_risk
from weighbridge.target_risk._interval import CalibratedScore, Draw, bootstrap, score_of
from weighbridge.target_risk._problem import find_measure
from weighbridge.target_risk._procedures import HeldOut

OF_CLASSES = ["roc_auc", "f1", "balanced_accuracy"]
REPEATED = {"roc_auc": "more", "f1": "slow", "balanced_accuracy": "slow"}
ALL = ["auc", "f1", "balanced_accuracy", "log_loss", "brier", "accuracy", "error"]
SCORERS = {"rmse": "neg_root_mean_squared_error", "mae": "neg_mean_absolute_error", "r2": "r2"}


def classes(n=600, seed=0, cuts=(0.5,)):
    """Gaussian rows whose numbers are cut into noisy classes a, b, ..."""
    data = make_gaussian_shift(n, n, n_features=2, random_state=seed)
    rng = np.random.default_rng(seed)
    data.y, data.y_target = (
        np.array(list("abc"))[np.digitize(y + rng.normal(size=y.size), cuts)]
        for y in (data.y, data.y_target)
    )
    return data


def tables(data, *, labels=True):
    names = [f"x{j}" for j in range(data.X.shape[1])]
    train = pd.DataFrame(data.X, columns=names).assign(y=data.y)
    deploy = pd.DataFrame(data.X_target, columns=names)
    return train, deploy.assign(y=data.y_target) if labels else deploy


QUICK = {"label": "y", "ratio": "gaussian"}


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b"], ["a", "b", "c"], [3, 1, 2]])
@pytest.mark.parametrize("missing", [False, True])
def test_a_fast_metric_is_scikit_learns_for_all_weights(labels, missing):
    """Ties, and classes without a row that counts, included."""
    rng = np.random.default_rng(0)
    known = np.sort(np.array(labels))
    n = len(known)
    codes = rng.integers(n - missing, size=200)
    chances = np.round(rng.dirichlet(np.ones(n), size=200), 1)
    chances /= chances.sum(axis=1, keepdims=True)
    model = LogisticRegression().fit(np.arange(n)[:, None], known)
    said = {"predict": known[chances.argmax(axis=1)], "predict_proba": chances}
    weights = rng.exponential(size=200)
    by_hand = {
        "f1_macro": {},
        "balanced_accuracy": {},
        "f1": {} if 1 in labels else {"pos_label": "b"},
    }
    for name in by_hand if n == 2 else ["f1_macro", "balanced_accuracy"]:
        found = score_of(find_measure(name, None, model), said, codes, known)(weights)
        score = get_scorer(name)._score_func
        options = get_scorer(name)._kwargs | by_hand[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sure = score(known[codes], said["predict"], sample_weight=weights, **options)
        assert found == pytest.approx(sure, abs=1e-12)
    if missing:
        return
    name = "roc_auc" if n == 2 else "roc_auc_ovr"
    found = score_of(find_measure(name, None, model), said, codes, known)(weights)
    score = chances[:, 1] if n == 2 else chances
    sure = roc_auc_score(known[codes], score, sample_weight=weights, multi_class="ovr")
    assert found == pytest.approx(sure, abs=1e-12)


def test_soft_labels_are_the_metric_with_every_row_of_each_class():
    """By hand: calibrated on weighted source rows; each target row once for each class."""
    data = classes(400)
    model = FrozenEstimator(LogisticRegression().fit(data.X[:50], data.y[:50]))
    rows = data.X[50:], data.y[50:], data.X_target
    at_source, at_target = (model.predict_proba(each) for each in (rows[0], rows[2]))
    curve = IsotonicRegression(out_of_bounds="clip")
    weights = np.exp(data.ratio.score_samples(rows[0]))
    ratio = weights / weights.mean()
    bridged = ratio / (0.25 * ratio + 0.75)
    curve.fit(at_source[:, 1], rows[1] == "b", sample_weight=bridged)
    chance = curve.predict(at_target[:, 1])
    by_hand = roc_auc_score(
        np.repeat([0, 1], 400),
        np.tile(at_target[:, 1], 2),
        sample_weight=np.concatenate([1 - chance, chance]),
    )
    problem = RiskProblem(model, *rows, question=Question(ratio=data.ratio))
    source, target = ({"predict_proba": each} for each in (at_source, at_target))
    measure = find_measure("roc_auc", None, model)
    score = CalibratedScore(measure, HeldOut(source, [target], target, model), problem)
    assert score(Draw(0, weights, problem.shares)) == pytest.approx(by_hand, abs=1e-9)
    # The bias of the draws is subtracted from the estimate.
    risk = estimate_risk(model, *rows, ratio=data.ratio, scoring="roc_auc")
    drawn = [score(draw) for draw in bootstrap(problem)]
    assert risk.value == pytest.approx(2 * by_hand - np.mean(drawn), abs=1e-9)
    # The distance to the weighted score widens the interval.
    weighted = roc_auc_score(rows[1], at_source[:, 1], sample_weight=weights)
    error = np.hypot(np.std(drawn, ddof=1), 0.75 * (risk.value - weighted))
    assert risk.estimate.standard_error == pytest.approx(error, rel=1e-6)


@pytest.mark.more
@pytest.mark.parametrize("cuts", [(0.5,), (0.0, 1.5)])
def test_scores_are_near_those_of_many_labelled_target_rows(cuts):
    """4,000 rows: within four standard errors, of about .01, of the truth."""
    data = classes(4000, cuts=cuts)
    model = FrozenEstimator(LogisticRegression().fit(data.X[:2000], data.y[:2000]))
    names = OF_CLASSES if len(cuts) == 1 else ["roc_auc_ovr", "f1_macro", "balanced_accuracy"]
    for name in names:
        rows = data.X[2000:], data.y[2000:], data.X_target
        risk = estimate_risk(model, *rows, ratio=data.ratio, scoring=name, random_state=0)
        if name == "f1":
            truth = f1_score(data.y_target, model.predict(data.X_target), pos_label="b")
        else:
            truth = get_scorer(name)(model, data.X_target, data.y_target)
        assert risk.estimate.standard_error < 0.03
        assert abs(risk.value - truth) < 4 * risk.estimate.standard_error, name


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=getattr(pytest.mark, mark)) for each, mark in REPEATED.items()],
)
def test_intervals_of_scores_cover(name):
    """At nominal 95 %: 89 or more of 100, three standard errors below."""
    many = classes(4000, seed=10_000)
    model = FrozenEstimator(LogisticRegression().fit(many.X, many.y))
    covered = 0
    for seed in range(100):
        data = classes(800, seed=seed)
        rows = data.X, data.y, data.X_target
        risk = estimate_risk(model, *rows, ratio=data.ratio, scoring=name, random_state=0)
        said = {"predict": model.predict(data.X_target)}
        said["predict_proba"] = model.predict_proba(data.X_target)
        codes = (data.y_target == "b").astype(int)
        metric = score_of(find_measure(name, None, model), said, codes, model.classes_)
        truth = metric(np.ones(codes.size))
        covered += risk.interval[0] <= truth <= risk.interval[1]
    assert covered >= 89


@pytest.fixture(scope="module")
def several():
    return adapt(*tables(classes(300)), metric=ALL, **QUICK)


def test_every_metric_asked_for_has_its_numbers(several):
    assert [each["name"] for each in several.metrics] == ALL
    validate(several.to_dict(), SCHEMA)
    for each in several.metrics:
        for candidate in each["candidates"]:
            expected = candidate["expected"]
            assert expected["low"] < expected["value"] < expected["high"]


def test_the_actual_metric_is_scikit_learns(several):
    deploy = tables(classes(300))[1]
    y, X, model = deploy["y"], deploy[["x0", "x1"]], several.verdict.model
    answers, chances = model.predict(X), model.predict_proba(X)
    sure = {
        "auc": roc_auc_score(y, chances[:, 1]),
        "f1": f1_score(y, answers, pos_label="b"),
        "balanced_accuracy": balanced_accuracy_score(y, answers),
        "log_loss": log_loss(y, chances),
        "brier": brier_score_loss(y, chances[:, 1], pos_label="b"),
        "accuracy": accuracy_score(y, answers),
        "error": 1 - accuracy_score(y, answers),
    }
    found = {each["name"]: each["candidates"][-1]["actual"] for each in several.metrics}
    assert found == pytest.approx(sure, abs=1e-12)


def test_accuracy_is_the_error_turned_round(several):
    *_, accuracy, error = several.metrics
    assert (accuracy["measure"], error["measure"]) == ("accuracy", "error")
    for one, other in zip(accuracy["candidates"], error["candidates"], strict=True):
        assert one["training"] == 1 - other["training"]
        assert one["actual"] == 1 - other["actual"]
        assert one["expected"] == {
            "value": 1 - other["expected"]["value"],
            "low": 1 - other["expected"]["high"],
            "high": 1 - other["expected"]["low"],
        }


def test_further_metrics_leave_the_verdict_as_it_was(several):
    """The verdict is about the first loss asked for, here the log loss."""
    alone = adapt(*tables(classes(300)), metric="log_loss", **QUICK)
    assert several.metric == alone.metric == "log_loss"
    assert str(several.verdict) == str(alone.verdict)
    assert several.actual == alone.actual
    one, other = (each.to_dict()["expect"]["candidates"] for each in (several, alone))
    assert one == other
    (metric,) = alone.metrics
    assert metric["candidates"][0]["expected"] == one[0]["error"]


@pytest.mark.more
@pytest.mark.parametrize(
    ("asked", "loss"),
    [(None, "error"), (["f1", "accuracy"], "error"), (["auc", "brier"], "brier")],
)
def test_a_verdict_is_about_the_first_loss_or_the_default(asked, loss):
    result = adapt(*tables(classes(100), labels=False), metric=asked, lam=0.0, **QUICK)
    assert result.metric == loss
    assert {each["actual"] for row in result.metrics for each in row["candidates"]} == {None}


class Counted(LogisticRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.more
def test_no_model_is_fitted_again_for_a_metric():
    counts = []
    for metric in ("error", ALL):
        Counted.fits = 0
        adapt(*tables(classes(150)), label="y", metric=metric, model=Counted(), lam=1.0)
        counts.append(Counted.fits)
    assert counts[0] == counts[1] > 0


@pytest.mark.more
def test_numbers_have_r_squared_beside_their_losses():
    data = make_gaussian_shift(300, 300, n_features=2, random_state=0)
    train, deploy = tables(data)
    result = adapt(train, deploy, label="y", metric=["r2", "mae", "rmse"])
    assert result.metric == "mae"
    for each in result.metrics:
        scorer = get_scorer(SCORERS[each["name"]])
        sure = abs(scorer(result.verdict.model, deploy[["x0", "x1"]], deploy["y"]))
        (*_, used) = each["candidates"]
        assert used["actual"] == pytest.approx(sure)
        assert used["expected"]["low"] < sure < used["expected"]["high"]


@pytest.mark.more
def test_of_three_classes_auc_and_f1_are_means_over_the_classes():
    result = adapt(*tables(classes(300, cuts=(0.0, 1.5))), label="y", metric=["auc", "f1"])
    assert [each["measure"] for each in result.metrics] == ["AUC (one vs rest)", "macro F1"]
    deploy = tables(classes(300, cuts=(0.0, 1.5)))[1]
    model = result.verdict.model
    for each, scorer in zip(result.metrics, ("roc_auc_ovr", "f1_macro"), strict=True):
        sure = get_scorer(scorer)(model, deploy[["x0", "x1"]], deploy["y"])
        assert each["candidates"][-1]["actual"] == pytest.approx(sure)


def test_a_metric_without_a_value_is_none_and_the_verdict_has_a_loss_anyway():
    """Deployment labels of one class alone have an error, and no AUC."""
    train, deploy = tables(classes(100))
    result = adapt(train, deploy.assign(y="a"), metric="auc", lam=0.0, **QUICK)
    (auc,) = result.metrics
    assert auc["candidates"][0]["actual"] is None
    assert result.metric == "error"
    assert result.actual["none"].value >= 0
    assert "AUC" in render(result.to_dict())


def test_a_model_that_gives_no_scores_has_no_auc():
    data = classes(120, cuts=(0.0, 1.5))
    with pytest.raises(InputError, match="no predict_proba") as caught:
        adapt(*tables(data), label="y", metric="auc", model=RidgeClassifier())
    assert caught.value.problems[0].code == "WB703"
    two = classes(200)
    samples = two.X, two.y, two.X_target
    risk = estimate_risk(LinearSVC(), *samples, ratio=two.ratio, scoring="roc_auc")
    assert risk.value > 0.6  # by the margins


@pytest.mark.parametrize(
    ("scoring", "bounds"),
    [("roc_auc", (0, 1)), ("f1_macro", (0, 1)), ("matthews_corrcoef", (-np.inf, 1))],
)
def test_a_metric_has_the_bounds_of_its_values(scoring, bounds):
    assert find_measure(scoring, None, LogisticRegression()).bounds == bounds


def test_the_command_shows_the_metrics_and_how_to_repeat_them(tmp_path):
    train, deploy = tables(classes(150))
    train.to_csv(tmp_path / "train.csv", index=False)
    deploy.to_csv(tmp_path / "deploy.csv", index=False)
    files = (tmp_path / "train.csv", tmp_path / "deploy.csv")
    options = ("--label", "y", "--metric", "auc,f1", "--metric", "error", "--lam", "0")
    options += ("--ratio", "gaussian")
    found = run("adapt", *files, *options, "--out", tmp_path / "out", "--plain", "--quiet")
    assert found.exit_code == 0, found.output
    table = found.output[found.output.index("  metric ") :].splitlines()
    assert table[0].split() == ["metric", "weighting", "training", "expected", "95", "%", "actual"]
    assert [line.split()[0] for line in table[1:4]] == ["AUC", "F1", "error"]
    assert within_80_columns("\n".join(table[:4]))
    result = valid((tmp_path / "out" / "result.json").read_text())
    assert result["settings"]["metric"] == ["auc", "f1", "error"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Every metric asked for" in page
    assert "--metric auc,f1,error" in page
    assert "metric=[&#34;auc&#34;, &#34;f1&#34;, &#34;error&#34;]" in page


def test_a_run_without_further_metrics_shows_no_table_of_them():
    result = adapt(*tables(classes(100)), lam=0.0, **QUICK)
    assert [each["name"] for each in result.metrics] == ["error"]
    assert "Every metric" not in render(result.to_dict())
