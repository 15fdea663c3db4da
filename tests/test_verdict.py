"""The verdict: words by rule, sentences by situation, and right answers on known problems."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clinic import clinic_model
from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge._findings import Estimate, Numbers, Stages
from weighbridge.datasets import make_clinic, make_gaussian_shift, make_quadratic
from weighbridge.ratios import GaussianRatio, KnownRatio
from weighbridge.verdict import assess
from weighbridge.verdict._candidates import candidate_names
from weighbridge.verdict._words import Judgement
from weighbridge.weighting import RIWERM

SQUARED = "neg_mean_squared_error"
QUESTIONS = ["shift", "matters", "overlap", "weighting", "expect"]


def test_a_known_ratio_sees_the_rows_as_they_are_also_behind_transformers():
    """A line does not depend on the scale of its features, and neither does a verdict on it."""
    data = make_quadratic(random_state=0)
    plain, scaled = (
        assess(model, data.X, data.y, data.X_target, ratio=data.ratio, random_state=0)
        for model in (LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()))
    )
    for one, other in zip(plain.candidates, scaled.candidates, strict=True):
        assert one.risk.estimate.value == pytest.approx(other.risk.estimate.value, rel=1e-8)
    assert plain.sentence == scaled.sentence


@given(st.floats(-0.5, 0.5), st.floats(0.0, 0.5))
def test_weights_are_used_only_where_they_help(value, error):
    judgement = Judgement("strong", "enough", None, Estimate.normal(value, error))
    assert (judgement.use == "tuned") == (judgement.weighting in ("helps", "probably helps"))
    assert not (judgement.use == "tuned" and value >= 0)


@given(st.floats(0.01, 1e5), st.floats(-0.5, 0.5))
def test_what_is_written_subtracts(value, share):
    """Up to one unit of the last digit."""
    numbers = Numbers("RMSE", value)
    before, after = value, value * (1 + share)
    shown = [float(numbers.value(x).replace(",", "")) for x in (before, after)]
    change = float(numbers.change(after - before).replace(",", "").replace("−", "-"))
    assert abs(shown[1] - shown[0] - change) < 1.01 * 10**-numbers.decimals


def well_specified(seed, n=500):
    """A straight line, seen by a straight line: weights can only cost rows."""
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 3)), rng.normal(0.5, 1, size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=n), X_target


WELL_KNOWN = KnownRatio(lambda X: 0.5 * X.sum(axis=1) - 0.375)


def test_the_toy_problem_is_helped():
    data = make_quadratic(random_state=0)
    verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    assert (verdict.matters, verdict.weighting, verdict.use) == ("yes", "helps", "tuned")
    assert data.problem.mse(verdict.model.estimator_) < 0.05 * data.problem.mse(
        LinearRegression().fit(data.X, data.y)
    )
    assert verdict.expect == verdict.candidate("tuned").risk.estimate


def test_a_well_specified_model_is_kept_as_it_is():
    verdict = assess(LinearRegression(), *well_specified(0), random_state=0)
    assert (verdict.weighting, verdict.use) == ("no gain", "none")
    assert verdict.sentence.startswith("Keep the unweighted model")
    assert isinstance(verdict.model, LinearRegression)
    assert "WB504" in [finding.code for finding in verdict.findings]


def test_random_halves_have_no_shift():
    data = make_clinic(1200, 10, random_state=0)
    rows = np.random.default_rng(0).permutation(1200)
    X, X_target = data.X.iloc[rows[:600]], data.X.iloc[rows[600:]]
    verdict = assess(clinic_model(), X, data.y[rows[:600]], X_target, random_state=0)
    assert verdict.shift == "none"
    assert verdict.sentence.startswith("No shift found")
    assert [each.name for each in verdict.candidates] == ["none"]


def test_samples_ten_deviations_apart_get_no_estimate():
    data = make_gaussian_shift(300, 300, n_features=3, shift=10.0, random_state=0)
    verdict = assess(Ridge(), data.X, data.y, data.X_target, random_state=0)
    assert (verdict.overlap, verdict.weighting, verdict.matters) == (
        "broken",
        "unknown",
        "unknown",
    )
    assert verdict.expect is None
    assert verdict.use == "none"
    assert verdict.to_dict()["expect"]["withheld"] == "WB302"
    assert "WB302" in [finding.code for finding in verdict.findings]
    assert "withheld" in str(verdict)


def share(values):
    values = list(values)
    return sum(values) / len(values)


@pytest.mark.slow
def test_a_well_specified_problem_has_no_gain_in_most_seeds():
    words = [
        assess(LinearRegression(), *well_specified(seed), random_state=seed).weighting
        for seed in range(100)
    ]
    assert share(word == "no gain" for word in words) >= 0.80


@pytest.mark.slow
def test_the_toy_problem_is_helped_in_nearly_all_seeds():
    words = []
    for seed in range(100):
        data = make_quadratic(random_state=seed)
        verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=seed)
        words.append(verdict.weighting)
    assert share(word == "helps" for word in words) >= 0.95


@pytest.mark.slow
def test_random_halves_have_no_shift_in_nearly_all_seeds():
    found = []
    for seed in range(100):
        data = make_clinic(1000, 10, random_state=seed)
        rows = np.random.default_rng(seed).permutation(1000)
        X, X_target = data.X.iloc[rows[:500]], data.X.iloc[rows[500:]]
        verdict = assess(clinic_model(), X, data.y[rows[:500]], X_target, random_state=seed)
        found.append(verdict.sentence.startswith("No shift found"))
    assert share(found) >= 0.95


@pytest.fixture(scope="module")
def clinic():
    data = make_clinic(1500, 800, random_state=0)
    return assess(clinic_model(), data.X, data.y, data.X_target, random_state=0), data


def test_the_verdict_fits_a_terminal(clinic):
    verdict, _ = clinic
    lines = str(verdict).split("\n")
    assert " ".join(lines[: lines.index("")]) == verdict.sentence
    assert max(map(len, lines)) <= 80
    # what does not fit into a line goes on below it
    asked = [line.split()[0].lower() for line in lines[2 : lines.index("", 2)] if line[2] != " "]
    assert asked == [*QUESTIONS, "assumed"]
    assert sum(line.lstrip().startswith("tuned *") for line in lines) == 1


def test_what_is_shown_subtracts(clinic):
    verdict, _ = clinic
    none = verdict.candidate("none").risk.value
    for candidate in verdict.candidates[1:]:
        assert candidate.risk.value - none == pytest.approx(candidate.change.value, abs=1e-12)


def test_every_answer_has_evidence_and_advice(clinic):
    verdict, _ = clinic
    assert [answer.question for answer in verdict.answers] == QUESTIONS
    assert all(answer.evidence and answer.advice[-1] in ".?" for answer in verdict.answers)
    assert all(finding.message and finding.help for finding in verdict.findings)


def test_the_verdict_is_json_without_nan(clinic):
    verdict, _ = clinic
    stored = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert stored["verdict"]["sentence"] == verdict.sentence
    assert [each["name"] for each in stored["expect"]["candidates"]] == [
        each.name for each in verdict.candidates
    ]


def test_the_notebook_shows_the_same_words(clinic):
    verdict, _ = clinic
    html = verdict._repr_html_()
    assert verdict.sentence in html
    assert "<script" not in html
    assert len(html) < 20_000
    assert all(answer.word in html for answer in verdict.answers)


def test_hostile_names_stay_text():
    rng = np.random.default_rng(0)
    name = "<script>alert(1)</script>"
    X, X_target = (pd.DataFrame({name: rng.normal(shift, 1, 200)}) for shift in (0, 1))
    ratio = KnownRatio(lambda X: X[name].to_numpy() - 0.5)
    options = {"ratio": ratio, "candidates": ["none", "tuned"]}
    verdict = assess(LinearRegression(), X, X[name] + rng.normal(size=200), X_target, **options)
    assert name in str(verdict)
    assert name not in verdict._repr_html_()
    assert name not in verdict.report._repr_html_()


def test_costly_models_get_fewer_candidates():
    few, many = np.arange(100) % 2, np.arange(30_000) % 2
    forest, logistic, line = RandomForestClassifier(), LogisticRegression(), LinearRegression()
    for costly, y in ((forest, few), (logistic, many), (logistic, np.arange(99) % 3), (line, many)):
        assert candidate_names(None, costly, y) == ("none", "full", "tuned")
    for cheap, y in ((logistic, few), (line, few)):
        assert candidate_names(None, cheap, y) == ("none", "full", "power", "relative", "tuned")


def test_a_tuned_model_of_ones_own_is_compared_with_its_inner_one():
    data = make_quadratic(random_state=0)
    own = ImportanceWeightedCV(LinearRegression(), data.ratio, answer="guard", random_state=0)
    verdict = assess(own, data.X, data.y, data.X_target, candidates=["tuned", "none"])
    assert [each.name for each in verdict.candidates] == ["none", "tuned"]
    assert verdict.model.answer == "guard"


def test_own_weights_of_zero_leave_rows_out():
    X, y, X_target = well_specified(2, n=200)
    counts = np.ones(200)
    counts[150:] = 0
    options = {"ratio": WELL_KNOWN, "candidates": ["none", "tuned"], "random_state": 0}
    one = assess(LinearRegression(), X, y, X_target, sample_weight=counts, **options)
    other = assess(LinearRegression(), X[:150], y[:150], X_target, **options)
    assert one.report.n_source == 150
    assert one.candidate("none").risk.training == other.candidate("none").risk.training


def test_what_a_verdict_refuses():
    data = make_gaussian_shift(100, 100, random_state=0)
    arguments = (data.X, data.y, data.X_target)
    with pytest.raises(ValueError, match="row by row"):
        assess(LinearRegression(), *arguments, scoring="r2")
    with pytest.raises(ValueError, match="at least none and tuned"):
        assess(LinearRegression(), *arguments, candidates=["none", "best"])
    with pytest.raises(ValueError, match="at least none and tuned"):
        assess(LinearRegression(), *arguments, candidates="tuned")
    with pytest.raises(ValueError, match="sample_weight"):
        assess(KNeighborsRegressor(), *arguments)
    with pytest.raises(ValueError, match="for a classifier"):
        assess(LogisticRegression(), data.X, data.y > 0, data.X_target, scoring=SQUARED)


def test_arguments_in_another_order_are_refused():
    data = make_gaussian_shift(100, 100, n_features=2, random_state=0)
    with pytest.raises(ValueError, match="estimator, X, y, X_target"):
        assess(LinearRegression(), data.X, data.X_target, data.y)
    y = data.y.copy()
    y[:3] = np.nan
    with pytest.raises(ValueError, match="missing values in 3 of 100 rows"):
        assess(LinearRegression(), data.X, y, data.X_target)
    with pytest.raises(TypeError, match="expected a scikit-learn estimator"):
        assess(LinearRegression, data.X, data.y, data.X_target)


def test_a_weighting_of_ones_own_is_shown():
    data = make_quadratic(random_state=0)
    own = ImportanceWeighted(LinearRegression(), data.ratio, weighting=RIWERM(0.8))
    verdict = assess(own, data.X, data.y, data.X_target, random_state=0)
    assert verdict.use == "given"
    assert verdict.answer("weighting").advice == "Use the given weighting."
    given = verdict.candidate("given")
    assert (given.lam, given.alpha, given.literature) == (0.8, 3.0, "yours")
    assert verdict.report.weighting == "lam 0.80, alpha 3.00"


class Capped(BaseEstimator):
    """A weighting of one's own: the ratio, cut off."""

    def __init__(self, cap=5.0):
        self.cap = cap

    def __call__(self, log_ratio):
        return np.minimum(log_ratio, np.log(self.cap))


class Spread(BaseEstimator):
    """No weighting: a number in place of one for each row."""

    def __call__(self, log_ratio):
        return np.ptp(log_ratio)


def test_any_callable_with_parameters_is_a_weighting():
    data = make_quadratic(random_state=0)
    own = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Capped())
    verdict = assess(own, data.X, data.y, data.X_target, random_state=0)
    assert verdict.use == "given"
    given = verdict.candidate("given")
    assert (given.lam, given.alpha, given.literature) == (None, None, "Capped(cap=5.0)")
    assert verdict.report.weighting == "Capped(cap=5.0)"
    assert "given *" in str(verdict)
    assert max(map(len, str(verdict).split("\n"))) <= 80
    assert "Capped" in verdict._repr_html_()
    assert json.loads(json.dumps(given.to_dict()))["lam"] is None
    # which is the same as cutting off by hand
    fitted = own.fit(data.X, data.y)
    np.testing.assert_allclose(verdict.model.predict(data.X), fitted.predict(data.X), rtol=1e-10)


@pytest.mark.parametrize(
    ("weighting", "error", "message"),
    [
        (lambda log_ratio: log_ratio, TypeError, "or your own object with get_params"),
        (Spread(), ValueError, r"shape \(\) for 5 log ratios from the weighting Spread"),
    ],
)
def test_what_is_no_weighting_is_refused_before_the_work(weighting, error, message):
    def progress(*_):
        pytest.fail("the work has begun")

    data = make_quadratic(100, 100, random_state=0)
    own = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
    with pytest.raises(error, match=message):
        assess(own, data.X, data.y, data.X_target, progress=progress)
    with pytest.raises(error, match=message):
        own.fit(data.X, data.y)


def test_a_verdict_of_none_shows_what_the_full_ratio_would_do():
    verdict = assess(LinearRegression(), *well_specified(0), ratio=WELL_KNOWN, random_state=0)
    assert verdict.use == "none"
    assert verdict.report.weighting == "full"


def test_unseen_categories_are_the_evidence_of_broken_overlap():
    rng = np.random.default_rng(0)
    X, X_target = (
        pd.DataFrame({"x": rng.normal(size=200), "sensor": sensor}) for sensor in ("a", "b")
    )
    model = make_pipeline(make_column_transformer((StandardScaler(), ["x"])), LinearRegression())
    verdict = assess(model, X, X["x"] + rng.normal(size=200), X_target)
    assert verdict.overlap == "broken"
    assert "lie outside" in verdict.answer("overlap").evidence
    assert verdict.answer("expect").evidence == "withheld: see the overlap (WB302)"


def test_a_small_group_that_costs_much_is_a_shift():
    """3 % of the deployment, 0.2 % of the training rows lie where the line is wrong."""
    rng = np.random.default_rng(0)

    def sample(share):
        X = rng.normal(size=(4000, 1))
        X[rng.uniform(size=4000) < share] += 6
        return X, X[:, 0] - 10 * (X[:, 0] > 4) + 0.3 * rng.normal(size=4000)

    X, y = sample(0.002)
    X_target, y_target = sample(0.03)
    verdict = assess(LinearRegression(), X, y, X_target, random_state=0)
    assert verdict.report.shift == "none"
    assert verdict.shift == "slight"
    assert not verdict.sentence.startswith("No shift found")
    actual = np.sqrt(np.mean((y_target - verdict.model.predict(X_target)) ** 2))
    assert verdict.expect.low < actual < verdict.expect.high


def test_few_rows_cannot_tell():
    rng = np.random.default_rng(2)
    X, X_target = rng.normal(size=(30, 2)), rng.normal(0.4, 1, size=(30, 2))
    verdict = assess(LinearRegression(), X, X.sum(axis=1) + rng.normal(size=30), X_target)
    assert verdict.shift == "none"
    assert "too few rows to tell" in verdict.answer("shift").advice


def test_a_generator_is_a_seed():
    X, y, X_target = well_specified(1, n=100)
    options = {"ratio": WELL_KNOWN, "cv": 2, "candidates": ["none", "tuned"]}
    one, other = (
        assess(LinearRegression(), X, y, X_target, random_state=np.random.default_rng(3), **options)
        for _ in range(2)
    )
    assert one.to_dict() == other.to_dict()


def _log(n, seed=3, d=6, keep=0.999):
    """Two halves of a log, each row like the one before it, and what is measured at each."""
    rng = np.random.default_rng(seed)
    rows = lfilter([np.sqrt(1 - keep**2)], [1, -keep], rng.normal(size=(40_000, d)), axis=0)
    rows = rows[-20_000 :: 20_000 // (2 * n)] + 0.05 * rng.normal(size=(2 * n, d))
    y = rows[:, 0] + np.sin(rows[:, 1]) + 0.3 * rng.normal(size=2 * n)
    return rows[:n], y[:n], rows[n:], y[n:]


def test_of_a_log_the_unweighted_model_is_kept_with_a_rough_figure():
    """The halves are told apart almost perfectly, no weights are left, and yet each is covered."""
    X, y, X_target, y_target = _log(1000, keep=0.9995)
    model = LinearRegression()
    verdict = assess(model, X, y, X_target, random_state=0)
    assert verdict.report.auc.value > 0.9
    assert verdict.report.full.ess < 10
    assert verdict.report.support.share < 0.05
    assert (verdict.overlap, verdict.use, verdict.weighting) == ("thin", "none", "no gain")
    assert [each.name for each in verdict.candidates] == ["none"]
    assert verdict.sentence.startswith("Keep the unweighted model and label some deployment rows: ")
    assert re.search(r"the expected error \(RMSE\) of [\d.]+ is a rough figure$", verdict.sentence)
    assert verdict.answer("weighting").evidence == "too little overlap to weight by"
    risk = verdict.candidates[0].risk
    actual = np.sqrt(np.mean((model.fit(X, y).predict(X_target) - y_target) ** 2))
    assert risk.state == "flagged"
    assert risk.estimate.value == pytest.approx(actual, rel=0.3)


class _Listener(Stages):
    def __init__(self):
        super().__init__()
        self.news = []

    def heard(self, topic, news):
        self.news.append((topic, news))


class _Unfit(GaussianRatio):
    def fit(self, X, y):
        raise RuntimeError("the ratio is fitted")


def test_what_lies_outside_is_told_before_anything_is_fitted():
    X, X_target = np.random.default_rng(0).normal(size=(2, 60, 3))
    listener = _Listener()
    with pytest.raises(RuntimeError, match="the ratio is fitted"):
        assess(Ridge(), X, X[:, 0], X_target + 10, ratio=_Unfit(), progress=listener)
    assert listener.news == [("outside", 1.0)]
