"""The whole job in one call: what it finds, what it refuses, what it leaves on disk."""

import csv
import json
import time
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from scipy.stats import binomtest
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from weighbridge import ImportanceWeighted, adapt
from weighbridge._findings import Stages
from weighbridge.adaptation import Settings, load_model, run
from weighbridge.adaptation._adapt import METRICS
from weighbridge.adaptation._labels import Labels, actual_errors
from weighbridge.datasets import make_clinic, make_quadratic
from weighbridge.exceptions import InputError
from weighbridge.ratios import GaussianRatio
from weighbridge.target_risk import Question, Sample, by_labels, find_measure
from weighbridge.verdict import assess_models

SCHEMA = json.loads(
    files("weighbridge.adaptation").joinpath("result.schema.json").read_text(encoding="utf-8")
)


def clinic(n=600, m=400, *, seed=0, **options):
    data = make_clinic(n, m, random_state=seed, **options)
    return data.X.assign(readmitted=data.y), data.X_target, data


@pytest.fixture(scope="module")
def result():
    train, deploy, _ = clinic()
    return adapt(train, deploy, label="readmitted")


@pytest.fixture(scope="module")
def lines():
    """A regression where weighting helps beyond doubt: a line for a parabola."""
    data = make_quadratic(random_state=0)
    train = pd.DataFrame({"x": data.X[:, 0], "y": data.y})
    return train, pd.DataFrame({"x": data.X_target[:, 0], "y": data.y_target}), data


@pytest.fixture(scope="module")
def blind(lines):
    return adapt(lines[0], lines[1][["x"]], label="y")


@pytest.fixture(scope="module")
def seeing(lines):
    """The same with the labels of the deployment."""
    return adapt(*lines[:2], label="y")


def more(value):
    return pytest.param(value, marks=pytest.mark.more)


def refused(match, *arguments, **options):
    with pytest.raises(InputError, match=match) as caught:
        adapt(*arguments, **options)
    return [problem.code for problem in caught.value.problems]


def test_result_has_a_verdict_a_model_and_a_weight_for_each_training_row(result):
    _, deploy, data = clinic()
    assert result.model.predict(deploy).shape == (400,)
    assert result.weights.shape == result.log_ratio.shape == (600,)
    assert result.weights.mean() == pytest.approx(1)
    # mathematics: the weights of the used candidate, as a formula of the log ratio
    used = result.verdict.candidate(result.verdict.use)
    assert used.alpha is not None  # else there would be nothing to compare
    r, lam, power = np.exp(result.log_ratio), used.lam, (1 - used.alpha) / 2
    w = r**lam if power == 0 else ((1 - lam) + lam * r**power) ** (1 / power)
    assert result.weights == pytest.approx(w / w.mean())
    assert result.verdict.shift == "strong"
    assert np.corrcoef(result.log_ratio, data.ratio.score_samples(data.X))[0, 1] > 0.9


def test_json_follows_the_schema_and_holds_no_nan(result):
    content = result.to_dict()
    Draft202012Validator(SCHEMA).validate(content)
    text = json.dumps(content, allow_nan=False)
    assert json.loads(text) == content
    short = result.to_dict(full=False)
    assert "pictures" not in short
    assert {*short} == {*content} - {"pictures"}


def test_json_repeats_the_verdict(result):
    content, verdict = result.to_dict(), result.verdict
    assert content["verdict"]["sentence"] == verdict.sentence
    for shown, candidate in zip(content["expect"]["candidates"], verdict.candidates, strict=True):
        assert shown["error"]["value"] == candidate.risk.estimate.value
        if candidate.change is not None:  # what a reader can subtract must subtract
            none = content["expect"]["candidates"][0]["error"]["value"]
            change = shown["error"]["value"] - none
            assert shown["change"]["value"] == pytest.approx(change, abs=1e-12)


@pytest.mark.more
def test_no_number_of_json_grows_with_the_rows():
    small, large = (
        len(json.dumps(adapt(*clinic(n, n)[:2], label="readmitted").to_dict())) for n in (400, 1600)
    )
    assert large < 1.3 * small


def test_same_tables_and_seed_give_the_same_result(result, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    train, deploy, _ = clinic()
    again = adapt(train, deploy, label="readmitted").to_dict()
    assert again == {**result.to_dict(), "date": "1970-01-01", "timing": {}}


def test_labels_of_the_deployment_change_no_figure_and_lead_the_words(lines, blind, seeing):
    _, deploy, _ = lines
    assert blind.actual is None
    assert "WB116" in [finding.code for finding in seeing.findings]
    without, known = blind.verdict.to_dict(), seeing.verdict.to_dict()
    for part in ("shift", "overlap", "expect"):
        assert without[part] == known[part]
    assert "actual" not in str(blind.verdict)
    assert blind.verdict.use == seeing.verdict.use
    assert " actual error (RMSE) " in seeing.verdict.sentence
    assert "WB603" in [finding.code for finding in blind.findings]
    assert "WB603" not in [finding.code for finding in seeing.findings]
    error = deploy["y"] - seeing.model.predict(deploy[["x"]])
    assert seeing.actual[seeing.verdict.use].value == pytest.approx(np.sqrt(np.mean(error**2)))


@pytest.mark.parametrize("metric", ["log_loss", more("error"), more("brier")])
def test_actual_errors_where_a_class_was_not_in_training(metric):
    """By hand: the mean over the rows whose class the model knows."""
    train, deploy, data = clinic(300, 200)
    labels = np.where(np.arange(200) < 60, 7, data.y_target)
    found = adapt(train, deploy.assign(readmitted=labels), label="readmitted", metric=metric)
    chances = found.model.predict_proba(deploy)[60:]
    y = data.y_target[60:]
    by_hand = {
        "error": np.mean((chances[:, 1] > 0.5) != y),
        "log_loss": -np.log(chances[np.arange(y.size), y]).mean(),
        "brier": np.mean((chances[:, 1] - y) ** 2),
    }
    assert found.actual[found.verdict.use].value == pytest.approx(by_hand[metric])


@pytest.mark.parametrize("metric", ["error", "rmse", "mae"])
def test_the_interval_of_an_actual_error_is_wilsons_for_shares_and_students_for_means(metric):
    rng = np.random.default_rng(3)
    losses = rng.random(60) < 0.2 if metric == "error" else rng.exponential(size=60)
    model = LogisticRegression() if metric == "error" else LinearRegression()
    task = "classification" if metric == "error" else "regression"
    measure = find_measure(METRICS[task][metric], None, model)
    sample = Sample.drawn(np.arange(60), np.ones(60), np.ones(60, dtype=bool))
    found = by_labels(losses.astype(float), sample, measure, 0.9)
    if metric == "error":
        ends = binomtest(int(losses.sum()), 60).proportion_ci(0.9, method="wilson")
    else:
        ends = student.interval(0.9, 59, losses.mean(), losses.std(ddof=1) / np.sqrt(60))
    if metric == "rmse":
        ends = np.sqrt(ends)
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-12)


@pytest.mark.more
def test_actual_errors_beside_a_column_that_holds_the_ratio(lines):
    train, deploy, data = lines
    ratios = [np.exp(data.ratio.score_samples(each[["x"]].to_numpy())) for each in (train, deploy)]
    train, deploy = (
        each.assign(r=ratio) for each, ratio in zip((train, deploy), ratios, strict=True)
    )
    assert adapt(train, deploy, label="y", ratio="r").actual is not None


def test_one_label_tells_nothing(lines, seeing):
    labels = np.full(len(lines[1]), np.nan)
    for n_known, is_told in ((1, False), (2, True)):
        labels[:n_known] = 1.0
        known = Labels(np.arange(labels.size), labels, np.ones(labels.size))
        scoring = METRICS["regression"]["mae"]
        found, relation = actual_errors(seeing.verdict, lines[1][["x"]], known, scoring)
        assert (found is not None) == is_told
        assert relation is None  # of which two labels say nothing


@pytest.mark.more
def test_an_actual_error_of_one_class_alone():
    train, deploy, _ = clinic(300, 200)
    only = adapt(train, deploy.assign(readmitted=1), label="readmitted", metric="log_loss")
    assert only.actual is not None


def test_an_actual_error_outside_its_interval_is_a_finding(lines, seeing):
    train, deploy, _ = lines
    found = adapt(train, deploy.assign(y=deploy["y"] + 1000), label="y")
    assert "WB604" in [finding.code for finding in found.findings]
    assert "WB604" not in [finding.code for finding in seeing.findings]


def test_regression_by_its_root_mean_squared_error(lines, blind):
    _, deploy, data = lines
    assert blind.task == "regression"
    assert blind.metric == "rmse"
    assert "RMSE" in blind.verdict.answers[-1].evidence
    assert blind.verdict.weighting == "helps"
    error = deploy["y"] - blind.model.predict(deploy[["x"]])
    assert data.problem.limit(0) > 10 * np.mean(error**2)


def test_text_labels_of_three_classes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    frame["kind"] = np.array(["red", "green", "blue"])[rng.integers(3, size=300)]
    deploy = pd.DataFrame(rng.normal(0.3, 1, (200, 2)), columns=["a", "b"])
    found = adapt(frame, deploy, label="kind")
    assert found.to_dict()["inputs"]["classes"] == ["blue", "green", "red"]
    assert {*found.model.predict(deploy)} <= {"red", "green", "blue"}


def test_the_same_rows_twice_are_no_shift():
    train, _, _ = clinic()
    found = adapt(train, train.drop(columns="readmitted"), label="readmitted")
    assert found.verdict.sentence.startswith("No shift found")
    assert found.verdict.use == "none"
    assert (found.weights == 1).all()
    # its labels are those the model was fitted to: what they say is no actual error
    assert adapt(train, train, label="readmitted").actual is None


def test_deployment_rows_that_are_half_of_the_training_are_refused():
    train, _, _ = clinic()
    deploy = train.drop(columns="readmitted").iloc[:400]
    assert refused("contains 400 of the 600 rows", train, deploy, label="readmitted") == ["WB112"]


def test_a_running_number_is_refused_with_the_way_out():
    train, deploy, _ = clinic()
    train, deploy = train.assign(visit=range(600)), deploy.assign(visit=range(600, 1000))
    codes = refused(r'drop=\["visit"\]', train, deploy, label="readmitted")
    assert codes == ["WB111"]
    # a number that starts again in each file is one, too
    again = train.assign(visit=range(1, 601)), deploy.assign(visit=range(1, 401))
    assert refused("counts the rows of each file", *again, label="readmitted") == ["WB111"]
    found = adapt(train, deploy, label="readmitted", ratio="gaussian", drop="visit")
    assert "visit" not in [each["name"] for each in found.to_dict()["inputs"]["features"]]


@pytest.mark.more
def test_own_weights_of_zero_are_as_if_the_rows_were_not_there():
    train, deploy, _ = clinic(800)
    train["own"] = [1.0] * 500 + [0.0] * 300
    found = adapt(train, deploy, label="readmitted", weight="own")
    assert found.weights.shape == (800,)
    assert found.weights[:500].mean() == pytest.approx(1)
    assert "own" not in found.kinds


def test_a_column_with_the_ratio_is_taken_as_it_is():
    train, deploy, data = clinic(300, 200)
    ratios = [np.exp(data.ratio.score_samples(rows)) for rows in (data.X, data.X_target)]
    train, deploy = train.assign(r=ratios[0]), deploy.assign(r=ratios[1])
    found = adapt(train, deploy, label="readmitted", ratio="r")
    expected = ratios[0] / ratios[0].mean()
    assert np.exp(found.log_ratio) == pytest.approx(expected)
    assert "r" not in found.kinds
    assert refused(
        "density ratio", train.assign(r=-1.0), deploy, label="readmitted", ratio="r"
    ) == ["WB704"]


@pytest.mark.parametrize(
    "ratio", ["gaussian", *map(more, ("classifier", "ulsif", "kliep", "nearest"))]
)
def test_named_ratios_take_the_table_as_it_is(ratio):
    train, deploy, _ = clinic(300, 200)
    assert adapt(train, deploy, label="readmitted", ratio=ratio).verdict.shift == "strong"


def test_a_ratio_of_your_own(lines):
    train, deploy, _ = lines
    found = adapt(train, deploy[["x"]], label="y", ratio=GaussianRatio())
    assert found.to_dict()["settings"]["ratio"] == "GaussianRatio"


@pytest.mark.more
def test_lam_and_alpha_can_be_fixed(lines):
    train, deploy, _ = lines
    both = adapt(train, deploy[["x"]], label="y", ratio="gaussian", lam=0.7, alpha=3)
    given = both.verdict.candidate("given")
    assert (given.lam, given.alpha) == (0.7, 3)
    one = adapt(train, deploy[["x"]], label="y", ratio="gaussian", alpha=3)
    assert one.verdict.candidate("tuned").alpha in (3, None)
    other = adapt(train, deploy[["x"]], label="y", ratio="gaussian", lam=0.5)
    assert other.verdict.candidate("tuned").lam == 0.5


@pytest.mark.more
def test_models_by_name_of_your_own_and_several(lines):
    train, deploy, _ = lines
    found = adapt(train, deploy[["x"]], label="y", model=["linear", LinearRegression()])
    assert [*found.others] == ["LinearRegression"]
    (other,) = found.to_dict()["expect"]["models"]
    assert other["name"] == "LinearRegression"
    # a ridge of a thousand rows and a line are nearly the same
    assert other["training"] == pytest.approx(found.to_dict()["expect"]["training"], rel=0.01)
    own = make_pipeline(FunctionTransformer(lambda X: X[["x"]]), LinearRegression())
    assert adapt(train, deploy[["x"]], label="y", model=own).verdict.weighting == "helps"
    named = adapt(train, deploy[["x"]], label="y", model="sklearn.linear_model:LinearRegression")
    assert named.verdict.weighting == "helps"


@pytest.mark.parametrize(
    ("options", "code", "match"),
    [
        ({"model": "lineer"}, "WB702", 'model="linear"'),
        ({"model": "nowhere:model"}, "WB702", "cannot be imported"),
        ({"model": "math:pi"}, "WB702", "without fit"),
        ({"model": ImportanceWeighted(LogisticRegression())}, "WB702", "the estimator inside it"),
        ({"model": KNeighborsClassifier()}, "WB701", "cannot be fitted with row weights"),
        ({"model": LinearRegression()}, "WB702", "regressor, and the task is classification"),
        ({"metric": "rmse"}, "WB703", "not a metric of classification"),
        ({"metric": "eror"}, "WB703", 'metric="error"'),
        ({"metric": "roc_auc"}, "WB703", 'metric="auc"'),
        ({"metric": ["error", "r2"]}, "WB703", "not a metric of classification"),
        ({"metric": 5}, "WB703", 'no metric "5"'),
        ({"metric": "log_loss", "model": "svm"}, "WB703", "no predict_proba"),
        ({"ratio": "ulsiff"}, "WB704", 'ratio="ulsif"'),
        ({"lam": 2.0}, "WB705", "got lam 2"),
        ({"alpha": float("inf")}, "WB705", "finite"),
        ({"confidence": 95.0}, "WB705", "between 0 and 1"),
        ({"n_jobs": 0}, "WB705", "number of cores"),
        ({"task": "ranking"}, "WB705", "auto, classification, regression"),
    ],
)
def test_wrong_arguments_say_what_to_do(options, code, match):
    train, deploy, _ = clinic(100, 100)
    assert refused(match, train, deploy, label="readmitted", **options) == [code]


def test_all_wrong_settings_are_named_together():
    train, deploy, _ = clinic(100, 100)
    codes = refused("got", train, deploy, label="readmitted", lam=-1.0, confidence=2.0)
    assert codes == ["WB705", "WB705"]


def test_files_of_a_run(result, tmp_path):
    files = result.save(tmp_path / "new" / "out")
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == [
        "model.skops",
        "report.html",
        "result.json",
        "weights.csv",
    ]
    with open(files["weights"], encoding="ascii", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["row", "weight", "log_ratio"]
    numbers = np.array(lines, dtype=float)
    assert numbers[:, 0].tolist() == [*range(1, 601)]
    assert (numbers[:, 1] == result.weights).all()  # to the last bit
    assert (numbers[:, 2] == result.log_ratio).all()
    content = json.loads((tmp_path / "new/out/result.json").read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(content)
    assert content["files"]["report"] == files["report"]


def test_weights_as_parquet(result, tmp_path):
    files = result.save(tmp_path, table="parquet")
    assert (pd.read_parquet(files["weights"])["weight"] == result.weights).all()
    with pytest.raises(ValueError, match="csv, parquet"):
        result.save(tmp_path, table="xlsx")


@pytest.mark.more
def test_the_model_takes_frames_of_any_type(tmp_path):
    """Missing text is None, NaN or NA, a flag is a boolean, a level a number: all the same rows."""
    train, deploy, data = clinic(400, 200)
    rng = np.random.default_rng(0)

    def typed(frame):
        gaps = rng.uniform(size=len(frame)) < 0.3
        return frame.assign(
            site=frame["site"].astype("category").where(~gaps),
            flag=rng.uniform(size=len(frame)) < 0.5,
            ward=pd.Categorical(rng.integers(1, 4, len(frame))),
            day=pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 99, len(frame)), "D"),
        )

    train, deploy = typed(train), typed(deploy)
    found = adapt(train, deploy, label="readmitted")
    expected = found.model.predict_proba(deploy)
    with_none = deploy.astype({"site": object})
    with_none["site"] = [None if each != each else each for each in with_none["site"]]
    for same in (with_none, deploy[deploy.columns[::-1]], deploy.assign(extra="x")):
        assert (found.model.predict_proba(same) == expected).all()
    saved = load_model(found.save(tmp_path)["model"]).model
    assert (saved.predict_proba(with_none) == expected).all()
    assert (saved.predict(deploy) == found.model.predict(deploy)).all()
    assert found.model.score(deploy, data.y_target) == pytest.approx(
        np.mean(found.model.predict(deploy) == data.y_target)
    )
    with pytest.raises(ValueError, match='without "age"'):
        found.model.predict(deploy.drop(columns="age"))
    with pytest.raises(ValueError, match='Got text \\("old"\\) in "age"'):
        found.model.predict(deploy.assign(age="old"))


def test_a_saved_model_predicts_as_the_model_does(result, tmp_path):
    _, deploy, _ = clinic()
    saved = load_model(result.save(tmp_path)["model"])
    assert (saved.model.predict(deploy) == result.model.predict(deploy)).all()
    assert saved.model.predict_proba(deploy) == pytest.approx(result.model.predict_proba(deploy))
    assert saved.label == "readmitted"
    assert saved.task == "classification"
    assert saved.features == result.kinds
    assert saved.use == result.verdict.use
    age, site = result.pair.X["age"], result.pair.X["site"]
    assert saved.seen["age"].tolist() == [age.min(), age.max()]
    assert saved.seen["site"].tolist() == sorted(site.unique())


@pytest.mark.parametrize("model", ["svm", more("boosting"), more("forest")])
def test_every_named_model_is_saved_and_read_back(model, tmp_path):
    train, deploy, _ = clinic(200, 100)
    found = adapt(train, deploy, label="readmitted", model=model, lam=0.5, alpha=3)
    saved = load_model(found.save(tmp_path)["model"])
    assert (saved.model.predict(deploy) == found.model.predict(deploy)).all()


class Hostile:
    """What a model file of an enemy may hold: loading it by pickle would write a file."""

    def __reduce__(self):
        return (open, ("ran", "w"))


def test_a_hostile_model_file_is_refused_and_runs_nothing(tmp_path, monkeypatch):
    import pickle

    import skops.io

    monkeypatch.chdir(tmp_path)
    (tmp_path / "pickle.skops").write_bytes(pickle.dumps(Hostile()))
    (tmp_path / "text.skops").write_text("hello")
    transformer = FunctionTransformer(func=__import__("os").system)
    (tmp_path / "function.skops").write_bytes(
        skops.io.dumps({"format": "weighbridge model/1", "model": transformer})
    )
    (tmp_path / "other.skops").write_bytes(skops.io.dumps(LinearRegression()))
    (tmp_path / "half.skops").write_bytes(skops.io.dumps({"format": "weighbridge model/1"}))
    odd = {
        "format": "weighbridge model/1",
        "model": LinearRegression(),
        "features": [1],
        "label": 2,
    }
    odd |= {"task": "regression", "use": "none", "version": "0"}
    (tmp_path / "odd.skops").write_bytes(skops.io.dumps(odd))
    for name, code in [
        ("odd", "WB710"),
        ("pickle", "WB710"),
        ("text", "WB710"),
        ("other", "WB710"),
        ("half", "WB710"),
        ("function", "WB711"),
        ("missing", "WB101"),
    ]:
        with pytest.raises(InputError) as caught:
            load_model(tmp_path / f"{name}.skops")
        assert [problem.code for problem in caught.value.problems] == [code]
    assert not (tmp_path / "ran").exists()


def test_progress_goes_through_the_stages_in_order():
    seen = []
    train, deploy, _ = clinic(200, 100)
    adapt(train, deploy, label="readmitted", progress=lambda *state: seen.append(state))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == ["read", "shift", "bridge", "verify"]
    for stage in stages:
        done = [done for name, done, _ in seen if name == stage]
        assert done == sorted(done)
        assert seen[[name for name, _, _ in seen].index(stage)][1] == 0
        assert all(done <= total for name, done, total in seen if name == stage)


def test_representations_are_short_and_whole(result):
    text = repr(result)
    assert " ".join(text.split()).startswith(result.verdict.sentence)
    assert len(text.splitlines()) <= 15
    warned = any(each.level == "warning" for each in result.findings)
    assert ("result.findings: " in text) == warned
    html = result._repr_html_()
    assert len(html.encode()) < 20_000
    assert "<script" not in html


def test_whoever_changes_the_answer_does_not_change_the_result(result):
    first = result.to_dict()

    def spoil(part):
        for each in part.values() if isinstance(part, dict) else part:
            if isinstance(each, dict | list):
                spoil(each)
        part.clear()

    spoil(result.to_dict())
    assert result.to_dict() == first


class Counted(GaussianNB):
    """Counts its fits, which take a while."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        time.sleep(0.005)
        return super().fit(X, y, sample_weight)


class Listener(Stages):
    """Keeps the news of a job, with the number of fits before them."""

    def __init__(self):
        super().__init__()
        self.news = []

    def heard(self, topic, news):
        self.news.append((topic, news, Counted.n_fits))


@pytest.mark.more
def test_stages_to_come_are_expected_to_take_the_time_of_their_fits():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 1))
    y = rng.random(120) < 1 / (1 + np.exp(-3 * np.sin(2 * x[:, 0])))
    listener = Listener()
    assess_models(
        {"counted": Counted()},
        x,
        y,
        rng.normal(0.8, 0.8, (100, 1)),
        question=Question(ratio=GaussianRatio(), cv=2, random_state=0, progress=listener),
    )
    # The full ratio, and four weightings on three folds with the fit without weights.
    n_fits = 1 + 4 * 3 + 1
    expected = listener._expected
    assert expected["verify"] == 2 * expected["bridge"]
    # A fit is the pause and about a millisecond; ten times that on a busy machine.
    assert 0.005 * n_fits <= expected["bridge"] <= 0.05 * n_fits


@pytest.mark.more
def test_nothing_is_announced_of_models_that_are_solved_at_once():
    train, deploy, _ = clinic(200, 100)
    listener = Listener()
    run(train, deploy, Settings(label="readmitted"), progress=listener)
    assert [topic for topic, _, _ in listener.news] == ["read", "outside"]


def test_an_estimator_that_was_passed_fails_in_its_own_words():
    train, deploy, _ = clinic(200, 100)
    with pytest.raises(ValueError, match="'C' parameter") as caught:
        adapt(train, deploy, label="readmitted", model=LogisticRegression(C=-1))
    assert not isinstance(caught.value, InputError)
