"""The report of a diagnosis: its words by rule, its numbers in every form, and its findings.

That every finding is raised is shown by the cases of the page of findings; here is when it is not.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from weighbridge import Geodesic, ImportanceWeighted, ImportanceWeightedCV, diagnose, fit_ratio
from weighbridge.datasets import make_clinic, make_gaussian_shift
from weighbridge.diagnosis import Estimate, Finding, summarize_weights
from weighbridge.ratios import ULSIF, KnownRatio

CONSTANT = KnownRatio(lambda X: np.zeros(len(X)))


def find(report, code):
    return next((finding for finding in report.findings if finding.code == code), None)


@pytest.fixture(scope="module")
def clinic():
    data = make_clinic(1500, 800, random_state=0)
    return diagnose(data.X, data.X_target)


def test_clinic_is_described(clinic):
    assert (clinic.n_source, clinic.n_target) == (1500, 800)
    assert (clinic.shift, clinic.overlap) == ("strong", "enough")
    assert clinic.moved[:2] == ["age", "site"]
    assert clinic.auc_after.value < clinic.auc.value - 0.15
    assert clinic.full.ess == clinic.weights.ess


def test_text_html_and_dict_agree(clinic):
    lines = str(clinic).split("\n")
    assert lines[0] == clinic.sentence == "Shift strong, overlap enough"
    assert max(map(len, lines)) <= 80
    assert any(line.strip().startswith("age") for line in lines)
    stored = json.loads(json.dumps(clinic.to_dict(), allow_nan=False))
    assert stored["shift"]["word"] == clinic.shift
    assert stored["overlap"]["full"]["ess"] == clinic.full.ess
    assert len(stored["shift"]["balance"]["rows"]) == len(clinic.balance)
    html = clinic._repr_html_()
    assert clinic.sentence in html
    assert "<script" not in html
    assert len(html) < 20_000


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda w: max(w) > 1e-3))
def test_rows_for_half_are_the_fewest_that_carry_half_of_the_weight(weights):
    summary = summarize_weights(weights)
    largest_first = sorted(weights, reverse=True)
    total, rows = math.fsum(weights), summary.rows_for_half
    assert math.fsum(largest_first[:rows]) >= total / 2 * (1 - 1e-12)
    assert math.fsum(largest_first[: rows - 1]) <= total / 2 * (1 + 1e-12)
    assert summary.largest_share == pytest.approx(largest_first[0] / total)


def test_text_of_weights():
    even = summarize_weights(np.ones(1000))
    assert even.to_dict()["pareto_k"] is None
    assert str(even).startswith("1,000 effective rows of 1,000, half of the weight on 500")
    with pytest.raises(ValueError, match="zero for every row"):
        summarize_weights([0.0, 0.0])


def test_ratio_model_and_samples_give_the_same_numbers():
    data = make_gaussian_shift(45, 45, random_state=0)
    ratio = fit_ratio(data.X, data.X_target)
    model = ImportanceWeighted(LinearRegression(), FrozenEstimator(ratio)).fit(data.X, data.y)
    by_samples = diagnose(data.X, data.X_target)
    for model_or_ratio in (ratio, model, type(ratio)()):
        report = diagnose(model_or_ratio, data.X, data.X_target)
        assert report.to_dict() == by_samples.to_dict()


def test_models_and_sample_weights_multiply_the_ratio():
    data = make_gaussian_shift(400, 300, random_state=0)
    fixed = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(0.5, 3))
    tuned = ImportanceWeightedCV(LinearRegression(), data.ratio, random_state=0)
    fixed_report, tuned_report = (
        diagnose(model.fit(data.X, data.y), data.X, data.X_target) for model in (fixed, tuned)
    )
    assert fixed_report.weights.ess == pytest.approx(fixed.ess_)
    assert tuned_report.weights.ess == pytest.approx(tuned.ess_)
    assert fixed_report.weighting == "lam 0.50, alpha 3.00"
    assert fixed_report.weights.ess > fixed_report.full.ess
    sample_weight = np.repeat([3.0, 1.0], [100, 300])
    report = diagnose(data.ratio, data.X, data.X_target, sample_weight=sample_weight)
    weights = sample_weight * np.exp(data.log_ratio)
    assert report.full.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


WORDS = {0.5: "none", 0.52: "none", 0.53: "slight", 0.61: "moderate", 0.76: "strong"}


@pytest.mark.parametrize(("auc", "word"), [*WORDS.items(), (0.95, "almost complete")])
def test_shift_follows_the_auc(clinic, auc, word):
    assert replace(clinic, auc=Estimate(auc, 0.0, auc, auc)).shift == word


def test_no_shift_is_not_claimed_of_too_few_rows():
    X = np.random.default_rng(0).normal(size=(400, 2))
    enough, few = diagnose(X[:200], X[200:]), diagnose(CONSTANT, X[:30], X[30:60])
    assert [finding.code for finding in enough.findings] == ["WB201"]
    assert few.auc.low <= 0.52 < 0.6 < few.auc.high
    assert few.sentence == "No shift found, but the rows are too few to tell"
    assert ("not needed" in find(enough, "WB201").help, few.too_few) == (True, True)
    assert "not needed" not in find(few, "WB201").help


def test_column_that_separates_the_samples_is_named():
    rng = np.random.default_rng(0)
    X, X_target = (
        pd.DataFrame({"size": rng.normal(size=100), "sensor_version": version})
        for version in ("a", "b")
    )
    report = diagnose(X, X_target)
    assert (report.overlap, report.support.share) == ("broken", 1.0)
    assert "sensor_version alone distinguishes the samples" in find(report, "WB302").help
    assert find(report, "WB113") is not None
    assert "weights mean nothing here (WB302)" in str(report)
    data = make_gaussian_shift(100, 100, n_features=2, shift=10.0, random_state=0)
    assert find(diagnose(data.X, data.X_target), "WB302").help.startswith("column ")


def test_remaining_differences_are_findings():
    data = make_gaussian_shift(1000, 1000, shift=1.0, random_state=0)
    model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(0.3))
    report = diagnose(model.fit(data.X, data.y), data.X, data.X_target)
    assert "column 0 still differs by" in find(report, "WB305").message
    assert find(report, "WB305").help.startswith("Weights nearer to the full ratio")
    assert find(report, "WB401") is None  # It is about the full ratio only.
    report = diagnose(CONSTANT, data.X, data.X_target)
    assert "AutoRatio" in find(report, "WB401").help
    assert find(report, "WB402") is None  # A known ratio may lack its constant.
    assert "another ratio" in find(report, "WB305").help


class Constant(ULSIF):
    """An estimated ratio that is the same everywhere."""

    def __init__(self, value=1.0):
        super().__init__(random_state=0)
        self.value = value

    def score_samples(self, X):
        return np.log(self.value) + 1e-3 * np.linspace(-1, 1, len(X))


def test_ratio_that_does_not_average_to_one_is_a_finding():
    """A ratio without the 30 % of the target that lie outside averages 0.7 over the source."""
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1))
    X_target[:300] += 100
    for value, is_found in ((0.7, False), (0.4, True), (2.0, True)):
        ratio = fit_ratio(X, X[::-1], Constant(value))
        report = diagnose(ratio, X, X_target)
        assert (find(report, "WB402") is not None) == is_found
        assert report.mean_ratio.value == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("log_ratio", "mean"),
    [
        ([0.3, -2.0, 1.0], (math.exp(0.3) + math.exp(-2.0) + math.exp(1.0)) / 3),
        ([400.0, 0.0, 1.0], math.exp(400) / 3),
        ([800.0, 0.0, 1.0], math.inf),
        ([-math.inf, math.log(2), math.log(4)], 2.0),
    ],
)
def test_mean_ratio_of_any_size_has_its_interval(log_ratio, mean):
    X = np.random.default_rng(0).normal(size=(60, 1))
    X[:, 0] = np.sort(X[:, 0])
    ratio = KnownRatio(lambda X: np.tile(log_ratio, 20)[: len(X)])
    estimate = diagnose(ratio, X, X[:40]).mean_ratio
    assert estimate.value == pytest.approx(mean)
    assert 0 <= estimate.low <= estimate.value <= estimate.high
    if mean < 1e10:
        error = np.exp(np.tile(log_ratio, 20)).std(ddof=1) / math.sqrt(60)
        assert estimate.standard_error == pytest.approx(error)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_ratio_without_a_number_at_a_target_row_raises(value):
    data = make_gaussian_shift(90, 80, random_state=0)
    ratio = KnownRatio(lambda X: np.where(np.arange(len(X)) == 89 - 10 * (len(X) == 80), value, 0))
    with pytest.raises(ValueError, match="NaN or infinite at 1 of 80 target rows"):
        diagnose(ratio, data.X[:89], data.X_target)


def test_estimates_and_findings_check_their_fields():
    with pytest.raises(ValueError, match="Got standard_error=-1, but a standard error is 0"):
        Estimate.normal(0.5, -1)
    with pytest.raises(ValueError, match="note, warning, error"):
        Finding("WB000", "fatal", "a", "b")
