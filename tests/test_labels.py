"""When the answer is withheld: the covered part, which rows to label, and what labels tell."""

import csv
import json
import math
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from scipy.stats import binom
from sklearn.linear_model import LinearRegression, LogisticRegression

import weighbridge
from cli_runs import run, within_80_columns
from weighbridge._files import is_ours
from weighbridge.adaptation._labels import class_codes, plan_labels, rows_to_label
from weighbridge.domain import covered_rows, outside_support
from weighbridge.exceptions import InputError, OverlapWarning
from weighbridge.report import render
from weighbridge.target_risk import Sample, by_labels, estimate_risk, find_measure

SCHEMA = json.loads(
    files("weighbridge.adaptation").joinpath("result.schema.json").read_text(encoding="utf-8")
)


def adapt(train, deploy, **options):
    """With a ratio that takes little time."""
    return weighbridge.adapt(train, deploy, **{"ratio": "classifier", **options})


def people(n, far, seed):
    """Rows with a share `far` of a site that training has never seen, and there another truth."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.normal(size=(2, n))
    site = np.where(rng.random(n) < far, "west", rng.choice(["north", "south"], n))
    logit = age + np.where(site == "west", -1, 1) * bmi - 0.3
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    frame = {"age": np.round(60 + 10 * age, 1), "bmi": np.round(25 + 4 * bmi, 1), "site": site}
    return pd.DataFrame({**frame, "ill": ill})


TRAIN, TRUTH = people(400, 0, 1), people(700, 0.55, 2)
DEPLOY = TRUTH.drop(columns="ill")


@pytest.fixture(scope="module")
def withheld():
    return adapt(TRAIN, DEPLOY, label="ill")


def filled(result, truth=TRUTH):
    rows = result.label_these["row"].to_numpy(dtype=int) - 1
    return result.label_these.assign(ill=truth["ill"].to_numpy()[rows])


def errors(result):
    return (result.verdict.model.predict(DEPLOY) != TRUTH["ill"]).to_numpy()


def of_labels(losses, measure, stands_for, known=None):
    known = np.ones(stands_for.size, dtype=bool) if known is None else known
    sample = Sample.drawn(np.arange(stands_for.size), stands_for, known)
    return by_labels(losses, sample, measure, 0.95)


# ---------------------------------------------------------------- the covered part


def test_rows_are_covered_where_they_do_not_lie_outside():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(200, 2)), rng.normal(1.5, 2, size=(150, 2))
    rows, is_covered = covered_rows(X, X_target)
    assert rows.tolist() == list(range(150))
    assert 1 - is_covered.mean() == pytest.approx(outside_support(X, X_target).share)
    # each by itself: what lies farther out than a covered row's opposite is not covered
    assert is_covered[np.abs(X_target).max(axis=1) < 1].all()
    assert not is_covered[np.abs(X_target).max(axis=1) > 6].any()


def test_where_the_answer_is_withheld_the_covered_part_has_one(withheld):
    expect = withheld.to_dict()["expect"]
    seen = (DEPLOY["site"] != "west").to_numpy()
    assert withheld.verdict.overlap == "broken"
    assert expect["candidates"][0]["error"] is None
    assert expect["covered"]["share"] == pytest.approx(seen.mean(), abs=0.01)
    error = expect["covered"]["error"]
    assert error["low"] < errors(withheld)[seen].mean() < error["high"]
    assert withheld.verdict.candidate("none").risk.covered.estimate.value == error["value"]
    assert errors(withheld).mean() > error["high"]  # which is not the error of all


def test_the_covered_part_is_what_a_run_on_it_alone_finds(withheld):
    """The same folds and models, and a ratio between training and the covered rows."""
    rows, is_covered = withheld.verdict._problem.covered
    part = DEPLOY.iloc[rows[is_covered]]
    alone = adapt(TRAIN, part, label="ill").verdict.candidate("none").risk
    found = withheld.verdict.candidate("none").risk.covered
    assert found.value == pytest.approx(alone.value, abs=1e-10)
    assert found.interval == pytest.approx(alone.interval, abs=1e-10)


class CountingRegression(LinearRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def test_no_model_is_fitted_again_for_the_covered_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    far = rng.normal(size=(200, 2)) + 50 * (np.arange(200) < 80)[:, None]
    CountingRegression.fits = 0
    with pytest.warns(OverlapWarning):
        risk = estimate_risk(CountingRegression(), X, y, far, random_state=0)
    assert (risk.state, risk.covered.state) == ("withheld", "good")
    assert risk.covered_share == 0.6
    assert CountingRegression.fits == 6


@pytest.mark.parametrize("n_covered", [49, 0])
def test_few_covered_rows_have_no_figure_of_their_own(n_covered):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    far = rng.normal(size=(200, 2)) / 4 + 50 * (np.arange(200) >= n_covered)[:, None]
    with pytest.warns(OverlapWarning):
        risk = estimate_risk(LinearRegression(), X, y, far, random_state=0)
    assert (risk.covered_share, risk.covered) == (n_covered / 200, None)


def test_copies_of_one_row_have_no_ratio_and_no_figure():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    risk = estimate_risk(LinearRegression(), X, y, np.repeat([[0.0, 0], [50, 50]], 100, axis=0))
    assert (risk.state, risk.covered_share, risk.covered) == ("withheld", 0.5, None)


# ---------------------------------------------------------------- how many, and which


@pytest.mark.parametrize("within", [0.05, 0.1])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_so_many_labels_come_that_close_95_times_in_100(p, within):
    """The exact probability of a binomial, up to the steps in which it jumps."""
    n = rows_to_label(within, np.ones(1), np.array([math.sqrt(p * (1 - p))]))
    near = np.abs(np.arange(n + 1) / n - p) <= within + 1e-12
    chance = binom.pmf(np.arange(n + 1), n, p)
    step = chance[near].min()  # half of the last one is a rounding of the normal law
    assert chance[near].sum() == pytest.approx(0.95, abs=step + 0.005)


def test_so_many_labels_of_two_parts_come_that_close_95_times_in_100():
    """By Monte Carlo, with its standard error; rows are dealt as the spreads are."""
    rng, shares, p = np.random.default_rng(0), np.array([0.4, 0.6]), np.array([0.1, 0.5])
    spreads = np.sqrt(p * (1 - p))
    n = rows_to_label(0.05, shares, spreads)
    sizes = np.rint(n * shares * spreads / (shares @ spreads)).astype(int)
    found = rng.binomial(sizes, p, size=(20_000, 2)) / sizes @ shares
    close = np.mean(np.abs(found - shares @ p) <= 0.05)
    assert close == pytest.approx(0.95, abs=0.005 + 3 * math.sqrt(0.95 * 0.05 / 20_000))


def test_the_number_of_rows_by_its_rule(withheld):
    """At most 10 % of errors or a coin: the covered part by training, the other by the worst."""
    plan, share = withheld.to_label, withheld.to_dict()["expect"]["covered"]["share"]
    p = max(0.1, withheld.to_dict()["expect"]["training"])
    spread = share * math.sqrt(p * (1 - p)) + (1 - share) * 0.5
    wanted = [math.ceil((1.959964 * spread / within) ** 2) for within in (0.05, 0.1)]
    assert plan["rows"] == [min(700, each) for each in wanted]
    assert plan["chosen"] == len(withheld.label_these) == plan["rows"][0]


@pytest.mark.more
def test_rows_for_a_regression_are_a_part_of_its_loss():
    """By hand: squared errors of a normal law have a spread of sqrt(2) times their mean."""
    rng = np.random.default_rng(0)
    x, far = rng.normal(size=1000), np.arange(300) < 180
    train = pd.DataFrame({"x": x, "y": x + rng.normal(size=1000)})
    result = adapt(train, pd.DataFrame({"x": rng.normal(size=300) + 99 * far}), label="y")
    half_as_much = math.sqrt(2) / 2  # the root of a mean moves by half of the relative change
    wanted = [(1.96 * half_as_much / within) ** 2 for within in (0.1, 0.2)]
    assert result.to_label["relative"]
    assert result.to_label["rows"] == pytest.approx(wanted, rel=0.15)


@pytest.mark.more
@pytest.mark.parametrize("noise", [0.0, 1e-200])
def test_a_model_without_errors_has_rows_to_label_too(noise):
    x = np.linspace(-2, 2, 60)
    train = pd.DataFrame({"x": x, "y": 3 + noise * np.sin(99 * x)})
    train.loc[0, "y"] += 1e-9
    result = adapt(train, pd.DataFrame({"x": np.r_[x, x + 99, x + 99]}), label="y")
    assert result.verdict.overlap == "broken"
    assert 20 <= result.to_label["chosen"] <= 180


def test_the_rows_stand_for_all_of_the_deployment_without_bias(withheld):
    """Over 200 seeds the weighted mean error has the actual one as its mean, in both parts."""
    table, wrong = withheld.tables[1], errors(withheld)
    means = []
    for seed in range(200):
        _, rows = plan_labels(withheld.verdict, table, "ill", seed)
        stands_for = rows["stands_for"].to_numpy(float)
        assert stands_for.sum() == pytest.approx(700)
        means.append(stands_for @ wrong[rows["row"].to_numpy(int) - 1] / 700)
    standard_error = np.std(means) / math.sqrt(200)
    assert np.mean(means) == pytest.approx(wrong.mean(), abs=3 * standard_error + 1e-12)


@pytest.mark.more
def test_the_same_rows_are_drawn_whatever_their_order(withheld):
    again = adapt(TRAIN, DEPLOY.iloc[::-1], label="ill")
    rows, others = (
        each.label_these[[*DEPLOY]].sort_values([*DEPLOY]).to_numpy().tolist()
        for each in (withheld, again)
    )
    assert rows == others


def test_every_part_has_some_rows_and_any_beginning_is_a_sample(withheld):
    site = DEPLOY["site"].to_numpy()[withheld.label_these["row"].to_numpy(int) - 1] == "west"
    assert min(site.sum(), (~site).sum()) >= 20
    assert 0 < site[:20].sum() < 20


# ---------------------------------------------------------------- what labels tell


@pytest.mark.parametrize("kind", ["share", "rare", "mean"])
def test_intervals_of_labelled_rows_hold_95_times_in_100(kind):
    """A made-up deployment of two parts, 2,000 draws of 60 and 90 rows, a fifth without labels."""
    rng, sizes, drawn = np.random.default_rng(0), (12_000, 8_000), (60, 90)
    rates = {"share": (0.15, 0.45), "rare": (0.03, 0.1), "mean": (1.0, 2.0)}[kind]
    parts = [
        rng.exponential(rate, n) if kind == "mean" else (rng.random(n) < rate).astype(float)
        for rate, n in zip(rates, sizes, strict=True)
    ]
    name, model = ("accuracy", LogisticRegression())
    if kind == "mean":
        name, model = "neg_mean_absolute_error", LinearRegression()
    truth, measure = np.concatenate(parts).mean(), find_measure(name, None, model)
    stands_for = np.repeat(np.divide(sizes, drawn), drawn)
    held = []
    for _ in range(2000):
        losses = np.concatenate([rng.choice(part, n) for part, n in zip(parts, drawn, strict=True)])
        known = rng.random(losses.size) > 0.2
        found = of_labels(losses[known], measure, stands_for, known)
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 2000))


def test_a_stratified_mean_by_hand():
    losses, stands_for = np.array([1.0, 3, 10, 20, 60]), np.array([2.0, 2, 5, 5, 5])
    measure = find_measure("neg_mean_absolute_error", None, LinearRegression())
    found = of_labels(losses, measure, stands_for)
    assert found.value == pytest.approx((4 * 2 + 15 * 30) / 19)
    variance = (4 / 19) ** 2 * 2 / 2 + (15 / 19) ** 2 * 700 / 3
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_one_label_of_a_stratum_stands_for_all_of_it():
    """Its spread is unknown then, not its size: 10 rows of 2 and 3 of 5."""
    losses, stands_for = np.array([1.0, 10, 20, 60]), np.repeat([2.0, 5], [10, 3])
    known = np.arange(13) > 8
    measure = find_measure("neg_mean_absolute_error", None, LinearRegression())
    found = of_labels(losses, measure, stands_for, known)
    assert found.value == pytest.approx((20 * 1 + 15 * 30) / 35)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
def test_losses_of_any_size_have_an_interval(scale):
    measure = find_measure("neg_mean_absolute_error", None, LinearRegression())
    found = of_labels(scale * np.array([1.0, 2, 3]), measure, np.ones(3))
    assert found.high / scale == pytest.approx(2 + 4.302652729911275 / math.sqrt(3))


def test_a_metric_of_labelled_rows_is_by_the_same_design(withheld):
    """Half of the labels are given, most of them in one part of the deployment."""
    rows = filled(withheld)
    part = rows["stands_for"].rank(method="dense").to_numpy()
    rows["ill"] = rows["ill"].where((part == 1) | (rows.index % 5 == 0), None)
    found = adapt(TRAIN, DEPLOY, label="ill", labels=rows, metric=["accuracy", "auc"])
    (candidate,) = found.metrics[0]["candidates"]
    assert candidate["actual"] == pytest.approx(1 - found.actual["none"].value, rel=1e-12)


def test_one_label_tells_nothing_by_any_metric():
    labels = TRUTH["ill"].where(TRUTH.index == 4, None)
    found = adapt(TRAIN, DEPLOY.assign(ill=labels), label="ill", metric=["accuracy", "auc"])
    assert found.actual is None
    assert {each["candidates"][0]["actual"] for each in found.metrics} == {None}


def test_a_class_among_decimals_may_be_written_without_them():
    codes, known = class_codes(np.array([1.0, 0.5, np.nan, 2.0]), np.array(["0.5", "1.0"]))
    assert codes[:2].tolist() == [1, 0]
    assert known.tolist() == [True, True, False, False]


def test_the_next_run_takes_the_labels_in(withheld):
    rows = filled(withheld).assign(ill=lambda f: f["ill"].where(f.index % 3 > 0, None))
    found = adapt(TRAIN, DEPLOY, label="ill", labels=rows)
    known = rows["ill"].notna().to_numpy()
    place = rows["row"].to_numpy(int) - 1
    frame = pd.DataFrame({"w": rows["stands_for"].astype(float), "e": errors(found)[place]})
    totals = frame.groupby("w")["w"].sum()
    by_hand = (frame[known].groupby("w")["e"].mean() * totals).sum() / totals.sum()
    actual = found.actual["none"]
    assert actual.value == pytest.approx(by_hand)
    assert actual.low < errors(found).mean() < actual.high
    assert actual.rows == known.sum()
    assert found.label_these is found.to_label is None
    content = found.to_dict()
    Draft202012Validator(SCHEMA).validate(content)
    assert content["settings"]["labels"] == "labels"
    assert "labels=labels" in render(content)


def test_labels_in_some_rows_of_the_deployment_are_a_sample():
    labels = TRUTH["ill"].where(TRUTH.index % 4 == 0, None)
    found = adapt(TRAIN, DEPLOY.assign(ill=labels), label="ill")
    assert found.actual["none"].value == pytest.approx(errors(found)[::4].mean())
    assert found.actual["none"].rows == 175
    note = next(each for each in found.findings if each.code == "WB116")
    assert "on the 175 of 700 rows that have one" in note.message
    assert "random sample" in note.help


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"row": [701]}, "names row 701; deploy has 700 rows in use"),
        ({"row": [0]}, "names row 0"),
        ({"row": [1.5]}, "names row 1.5"),
        ({"row": ["x"]}, "names row x"),
        ({"row": None}, 'has no column "row"'),
        ({"ill": None}, 'has no column "ill"'),
        ({"stands_for": None}, 'has no column "stands_for"'),
        ({"stands_for": [0]}, "not a positive number"),
        ({"ill": [None] * 700}, "no row of labels has a label"),
        ({"age": [1.0]}, r'"age" of row \d+ is "1.0" in labels and'),
        ({"site": ["east"]}, 'is "east" in labels and'),
    ],
)
def test_labels_that_do_not_fit_are_refused(change, said, withheld):
    rows = filled(withheld).astype(object)
    for name, cells in change.items():
        if cells is None:
            rows = rows.drop(columns=name)
        else:
            rows.loc[: len(cells) - 1, name] = np.array(cells, object)[: len(rows)]
    with pytest.raises(InputError, match=said) as caught:
        adapt(TRAIN, DEPLOY, label="ill", labels=rows)
    assert [each.code for each in caught.value.problems] == ["WB151"]


def test_labels_of_one_part_only_are_refused_and_so_is_a_row_twice(withheld):
    rows = filled(withheld)
    first = rows["stands_for"].iloc[0]
    part = rows.assign(ill=rows["ill"].where(rows["stands_for"] == first, None))
    for wrong, said in (
        (part, "no row of labels whose stands_for is .* has a label"),
        (pd.concat([rows, rows.iloc[:1]]), "more than once"),
    ):
        with pytest.raises(InputError, match=said):
            adapt(TRAIN, DEPLOY, label="ill", labels=wrong)
    with pytest.raises(InputError, match="deploy has labels as well as labels"):
        adapt(TRAIN, TRUTH, label="ill", labels=rows)


@pytest.mark.more
def test_columns_of_our_own_names_do_no_harm():
    names = {"age": "row", "bmi": "stands_for"}
    train, truth = TRAIN.rename(columns=names), TRUTH.rename(columns=names)
    result = adapt(train, truth.drop(columns="ill"), label="ill")
    assert list(result.label_these) == ["row", "stands_for", "site", "ill"]
    found = adapt(train, truth.drop(columns="ill"), label="ill", labels=filled(result))
    assert found.actual["none"].rows == len(result.label_these)
    far = adapt(TRAIN.rename(columns={"ill": "row"}), DEPLOY, label="row")
    assert (far.verdict.overlap, far.label_these, far.to_label) == ("broken", None, None)


def test_text_among_labels_that_are_numbers_is_refused(withheld):
    rows = filled(withheld)
    with pytest.raises(InputError, match="not every label in labels is a finite number"):
        adapt(TRAIN.assign(ill=TRAIN["age"]), DEPLOY, label="ill", labels=rows)


def test_classes_that_training_does_not_have_are_a_finding():
    labels = TRUTH["ill"].where(TRUTH.index > 2, "maybe")
    found = adapt(TRAIN, DEPLOY.assign(ill=labels), label="ill")
    note = next(each for each in found.findings if each.code == "WB152")
    assert '3 labelled deployment rows are of classes that training does not have: "maybe"' in (
        note.message
    )
    assert found.actual["none"].rows == 697


# ---------------------------------------------------------------- files and words


@pytest.mark.more
def test_rows_to_label_are_a_file_that_no_spreadsheet_runs(tmp_path, withheld):
    wild = people(700, 0.55, 2).drop(columns="ill").assign(site=lambda f: "=" + f["site"])
    result = adapt(TRAIN.assign(site="=" + TRAIN["site"]), wild, label="ill")
    paths = result.save(tmp_path)
    with open(paths["labels"], encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["row", "stands_for", "age", "bmi", "site", "ill"]
    assert len(rows) == result.to_label["chosen"]
    assert {row[-2] for row in rows} == {"'=north", "'=south", "'=west"}
    assert {row[-1] for row in rows} == {""}
    # and what was written for spreadsheets is read back as it was
    table = pd.read_csv(paths["labels"], dtype={"ill": object})
    table["ill"] = TRUTH["ill"].to_numpy()[table["row"] - 1]
    table.to_csv(paths["labels"], index=False)
    again = adapt(TRAIN.assign(site="=" + TRAIN["site"]), wild, label="ill", labels=paths["labels"])
    assert again.actual["none"].rows == len(table)


def test_labels_are_never_overwritten_and_old_rows_do_not_stay(tmp_path, withheld):
    path = tmp_path / "label_these.csv"
    withheld.save(tmp_path)
    assert is_ours(path)
    withheld.save(tmp_path)
    filled(withheld).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"label_these.csv was filled in by hand"):
        withheld.save(tmp_path)
    seeing = adapt(TRAIN, DEPLOY, label="ill", labels=path)
    assert "labels" not in seeing.save(tmp_path)
    assert path.exists()
    withheld.save(tmp_path, force=True)
    assert "labels" not in seeing.save(tmp_path)
    assert not path.exists()


def test_a_withheld_page_and_terminal_say_what_to_do(tmp_path, monkeypatch):
    """How many rows to label, which file has them, and what is known of the covered part."""
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    DEPLOY.to_csv("deploy.csv", index=False)
    shown = run("adapt", "train.csv", "deploy.csv", "--label", "ill", "--ratio", "classifier")
    assert shown.exit_code == 0
    assert within_80_columns(shown.stdout)
    assert not any(line.strip().startswith("%") for line in shown.stdout.splitlines())
    stored = json.loads((tmp_path / "weighbridge-out/result.json").read_text())
    Draft202012Validator(SCHEMA).validate(stored)
    path = "weighbridge-out/label_these.csv"
    assert stored["files"]["labels"] == path
    expect = stored["expect"]
    near, far = expect["to_label"]["rows"]
    covered = expect["covered"]
    page = (tmp_path / "weighbridge-out/report.html").read_text(encoding="utf-8")
    for text in (" ".join(shown.stdout.split()), " ".join(page.split())):
        plain = text.replace('<span class="wbr-keep">', "").replace("</span>", "")
        assert f"{near} give it to within 5 points, {far} to within 10 points (at 95 %)" in plain
        assert f"{path} lists {expect['to_label']['chosen']} rows" in plain
        assert f"--labels {path}" in plain
        share, value = (
            f"{100 * each:.{d}f} %"
            for each, d in ((covered["share"], 0), (covered["error"]["value"], 1))
        )
        assert f"For the {share} of the deployment rows that training covers: " in plain
        assert f"expected error {value} [" in plain
    filled_in = pd.read_csv(path, dtype={"ill": object})
    filled_in["ill"] = TRUTH["ill"].to_numpy()[filled_in["row"] - 1]
    filled_in.to_csv(path, index=False)
    refused = run("adapt", "train.csv", "deploy.csv", "--label", "ill", "--ratio", "classifier")
    assert refused.exit_code == 2
    assert f"--labels {path}" in " ".join(refused.stderr.split())
    again = run(
        "adapt",
        "train.csv",
        "deploy.csv",
        "--label",
        "ill",
        "--ratio",
        "classifier",
        "--labels",
        path,
        "--json",
    )
    assert again.exit_code == 0
    result = json.loads(again.stdout)
    assert result["expect"]["actual"]["none"]["rows"] == len(filled_in)
    assert result["settings"]["labels"] == path
    assert "labels" not in result["files"]
    assert pd.read_csv(path)["ill"].notna().all()


def test_rows_are_asked_for_only_where_overlap_is_thin_or_broken(withheld):
    assert withheld.label_these is not None
    plain = adapt(TRAIN, people(200, 0, 3).drop(columns="ill"), label="ill")
    assert plain.verdict.overlap == "enough"
    assert plain.label_these is plain.to_label is None
    assert plain.to_dict()["expect"]["covered"] is None
    thin = adapt(TRAIN, people(200, 0.2, 3).drop(columns="ill"), label="ill", lam=0.5, alpha=1.0)
    assert thin.verdict.overlap == "thin"
    assert thin.to_label["chosen"] == len(thin.label_these) > 20
    assert "To measure the error, label deployment rows" in render(thin.to_dict())


# ---------------------------------------------------------------- a few labels


NEAR = people(600, 0, 4)
SHOWN = (np.arange(600) * 7) % 600 < 150  # 150 rows in no order


@pytest.fixture(scope="module")
def few():
    return adapt(TRAIN, NEAR.assign(ill=NEAR["ill"].where(SHOWN, None)), label="ill")


def test_a_few_labels_and_the_forecast_give_the_error_together(few):
    blind = adapt(TRAIN, NEAR.drop(columns="ill"), label="ill")
    expected = blind.verdict.candidate("none").risk.estimate
    found, alone = few.actual["none"], few.actual["none"].alone
    wrong = (
        few.verdict.candidate("none").model.predict(few.pair.X_target) != NEAR["ill"]
    ).to_numpy()
    assert alone.value == pytest.approx(wrong[SHOWN].mean())
    assert found.high - found.low < 0.9 * (alone.high - alone.low)
    assert min(alone.value, expected.value) - 0.01 < found.value
    assert found.value < max(alone.value, expected.value) + 0.01
    assert found.low < wrong.mean() < found.high
    relation = few.to_dict()["expect"]["relation"]
    assert relation["labels"] == found.rows == 150
    assert not relation["changed"]
    assert relation["rows"] == blind.verdict._judgement.worse.to_dict()
    assert relation["relation"]["value"] == pytest.approx(alone.value - expected.value, abs=0.02)
    Draft202012Validator(SCHEMA).validate(few.to_dict())


def test_the_words_of_a_few_labels(few):
    assert "by 150 labels, expected" in few.verdict.sentence
    assert "by 150 labels and the forecast; expected" in few.verdict.answer("expect").evidence
    assert "because the rows differ" in few.verdict.answer("matters").evidence
    page = " ".join(render(few.to_dict()).split())
    for part in (
        "With 150 labels the error without weights is",
        "training said",
        "By labels alone, ",
        "because the relation does.",
        "forecast made without them have been combined",
    ):
        assert part in page


def test_labels_that_show_another_relation_say_so():
    turned = NEAR.assign(ill=np.where(NEAR["ill"] == "yes", "no", "yes"))
    found = adapt(TRAIN, turned.assign(ill=turned["ill"].where(SHOWN, None)), label="ill")
    relation = found.to_dict()["expect"]["relation"]
    assert relation["changed"]
    assert relation["p_value"] < 1e-4
    assert relation["relation"]["low"] > 0.1
    assert found.verdict.sentence.startswith("The relation has changed: error ")
    finding = next(each for each in found.findings if each.code == "WB604")
    assert "The 150 labels are not what the relation in training leads to expect" in finding.message


@pytest.mark.more
def test_all_labels_are_the_actual_error_and_nothing_else():
    found = adapt(TRAIN, NEAR, label="ill")
    assert found.actual["none"].alone is None
    assert found.verdict.sentence.count("actual error") == 1
    assert found.to_dict()["expect"]["relation"]["labels"] == 600


def test_labels_of_a_part_of_the_deployment_are_a_finding():
    old = NEAR["age"] > 62
    part = adapt(TRAIN, NEAR.assign(ill=NEAR["ill"].where(old, None)), label="ill")
    assert "WB153" in [each.code for each in part.findings]


def test_labels_of_a_random_sample_or_of_one_class_are_told_apart(few):
    assert not {"WB153", "WB154"} & {each.code for each in few.findings}
    shown = NEAR["ill"].where(SHOWN & (NEAR["ill"] == "yes"), None)
    one = adapt(TRAIN, NEAR.assign(ill=shown), label="ill")
    finding = next(each for each in one.findings if each.code == "WB154")
    assert 'labelled deployment rows are of one class, "yes"' in finding.message


# ---------------------------------------------------------------- pooled


def test_labelled_rows_join_the_training_rows_only_if_asked_and_better(few):
    assert few.pooled is None
    turned = NEAR.assign(ill=np.where(NEAR["ill"] == "yes", "no", "yes"))
    shown = turned.assign(ill=turned["ill"].where(SHOWN, None))
    kept = adapt(TRAIN, shown, label="ill")
    found = adapt(TRAIN, shown, label="ill", pool=True)
    assert found.pooled["labels"] == 150
    assert found.pooled["counts"] in (1, 3, 10, 30)
    assert found.pooled["change"]["high"] < 0
    rest, truth = NEAR[~SHOWN].drop(columns="ill"), turned["ill"][~SHOWN]
    before, after = ((each.model.predict(rest) != truth).mean() for each in (kept, found))
    assert after < before - 0.1
    # by hand: the same rows and weights in one fit
    assert found.actual == kept.actual
    content = found.to_dict()
    Draft202012Validator(SCHEMA).validate(content)
    assert content["settings"]["pool"]
    page = " ".join(render(content).split())
    assert "the 150 labelled deployment rows are among the training rows" in page
    assert "only the last fit has used them" in page
    assert "pool=True" in page
    assert "pool=" not in render(kept.to_dict())


@pytest.mark.more
def test_labelled_rows_that_do_not_help_stay_out(few):
    found = adapt(TRAIN, NEAR.assign(ill=NEAR["ill"].where(SHOWN, None)), label="ill", pool=True)
    assert found.pooled["counts"] == 0
    rows = NEAR.drop(columns="ill")
    assert (found.model.predict_proba(rows) == few.model.predict_proba(rows)).all()
    assert "did not join the training rows: on held-out" in render(found.to_dict())


def test_pooling_needs_labels():
    with pytest.raises(InputError, match="no deployment row has a label") as caught:
        adapt(TRAIN, DEPLOY, label="ill", pool=True)
    assert caught.value.problems[0].code == "WB705"


# ---------------------------------------------------------------- weighbridge label


def test_the_command_writes_so_many_rows_to_label_and_adapt_takes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    DEPLOY.to_csv("deploy.csv", index=False)
    words = ("label", "train.csv", "deploy.csv", "--label", "ill", "--budget", "60")
    shown = run(*words)
    assert shown.exit_code == 0
    assert within_80_columns(shown.stdout)
    assert "Wrote label_these.csv: 60 rows of deploy.csv" in " ".join(shown.stdout.split())
    rows = pd.read_csv("label_these.csv")
    assert [*rows] == ["row", "stands_for", "age", "bmi", "site", "ill"]
    assert len(rows) == 60
    assert rows["stands_for"].sum() == pytest.approx(700)
    assert (rows["site"] == "west").sum() >= 20
    rows["ill"] = TRUTH["ill"].to_numpy()[rows["row"] - 1]
    found = adapt("train.csv", "deploy.csv", label="ill", labels=rows)
    assert found.actual["none"].rows == 60
    stored = json.loads(run(*words, "--json", "--out", "other.csv").stdout)
    Draft202012Validator(SCHEMA).validate(stored)
    assert stored["label"] == {"rows": 60, "parts": 2}
    TRUTH.to_csv("deploy.csv", index=False)
    refused = run(*words, "--out", "third.csv")
    assert refused.exit_code == 3
    assert "has labels already" in refused.stderr
