"""The whole diagnosis: words by rule, findings where they belong, numbers in every form."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from weighbridge import (
    Geodesic,
    ImportanceWeighted,
    ImportanceWeightedCV,
    diagnose,
    fit_ratio,
)
from weighbridge.datasets import make_clinic, make_gaussian_shift, make_quadratic
from weighbridge.diagnostics import Estimate, Finding, judge_overlap
from weighbridge.diagnostics._diagnosis import mean_ratio
from weighbridge.diagnostics._shift_report import shift_word
from weighbridge.ratios import ULSIF, KnownRatio


def codes(report):
    return [finding.code for finding in report.findings]


@pytest.fixture(scope="module")
def clinic():
    data = make_clinic(1500, 800, random_state=0)
    return data, diagnose(data.X, data.X_target, y=None)


def test_the_clinic_is_read(clinic):
    _, report = clinic
    assert (report.n_source, report.n_target) == (1500, 800)
    assert (report.shift, report.overlap) == ("strong", "enough")
    assert report.moved[:2] == ["age", "site"]
    assert report.auc_after.value < report.auc.value - 0.15
    assert report.full.ess == report.weights.ess


def test_a_report_prints_within_80_columns(clinic):
    _, report = clinic
    lines = str(report).split("\n")
    assert lines[0] == report.sentence == "Shift strong, overlap enough"
    assert max(map(len, lines)) <= 80
    assert any(line.strip().startswith("age") for line in lines)
    parts = (report, report.balance, report.full, report.support)
    for each in (*parts, report.attribution[0]):
        assert repr(each) == str(each)


def test_a_report_is_json_without_nan(clinic):
    _, report = clinic
    stored = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert stored["shift"]["word"] == report.shift
    assert stored["overlap"]["full"]["ess"] == report.full.ess
    assert stored["overlap"]["reason"] == report.overlap_judgement.reason
    assert len(stored["shift"]["balance"]["rows"]) == len(report.balance)


def test_a_notebook_shows_no_script_and_the_same_words(clinic):
    _, report = clinic
    html = report._repr_html_()
    assert report.sentence in html
    assert "<script" not in html
    assert len(html) < 20_000


def test_all_doors_lead_to_the_same_numbers():
    data = make_gaussian_shift(45, 45, random_state=0)
    ratio = fit_ratio(data.X, data.X_target)
    model = ImportanceWeighted(LinearRegression(), FrozenEstimator(ratio)).fit(data.X, data.y)
    by_samples = diagnose(data.X, data.X_target)
    for door in (ratio, model, type(ratio)()):
        assert diagnose(door, data.X, data.X_target).to_dict() == by_samples.to_dict()


def test_a_model_is_diagnosed_with_its_own_weights():
    data = make_gaussian_shift(400, 300, random_state=0)
    model = ImportanceWeighted(
        LinearRegression(), data.ratio, weighting=Geodesic(lam=0.5, alpha=3)
    ).fit(data.X, data.y)
    report = diagnose(model, data.X, data.X_target)
    assert report.weighting == "lam 0.50, alpha 3.00"
    assert report.weights.ess == pytest.approx(model.ess_)
    assert report.weights.ess > report.full.ess
    tuned = ImportanceWeightedCV(LinearRegression(), data.ratio, random_state=0)
    tuned.fit(data.X, data.y)
    assert diagnose(tuned, data.X, data.X_target).weights.ess == pytest.approx(tuned.ess_)


def test_own_weights_multiply():
    data = make_gaussian_shift(300, 300, random_state=0)
    own = np.ones(300)
    own[:100] = 3
    report = diagnose(data.ratio, data.X, data.X_target, sample_weight=own)
    weights = own * np.exp(data.log_ratio)
    assert report.full.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_the_words_of_shift():
    def word(value):
        return shift_word(Estimate(value, 0.0, value, value))

    assert [word(auc) for auc in (0.5, 0.52, 0.53, 0.61, 0.76, 0.95)] == [
        "none",
        "none",
        "slight",
        "moderate",
        "strong",
        "almost complete",
    ]
    assert shift_word(Estimate(0.7, 0.1, 0.51, 0.89)) == "none"


@given(st.floats(0.3, 1.0), st.floats(0.001, 0.2))
def test_no_word_depends_on_the_confidence(auc, error):
    words = {shift_word(Estimate.normal(auc, error, c, (0.0, 1.0))) for c in (0.5, 0.95, 0.99)}
    assert len(words) == 1


def test_a_standard_error_is_not_negative():
    with pytest.raises(ValueError, match="Got standard_error=-1, but a standard error is 0"):
        Estimate.normal(0.5, -1)


def judged(**numbers):
    usual = {"n_rows": 4000, "worth": 700.0, "tail_index": 0.4, "outside": 0.02}
    return judge_overlap(**{**usual, **numbers}).word


def test_the_words_of_overlap():
    assert judged() == "enough"
    assert judged(outside=0.34) == "broken"
    assert judged(outside=0.33) == "thin"
    assert judged(outside=0.10) == "enough"
    assert judged(worth=9.9, outside=0.051) == "broken"
    # told apart, and yet covered: only weights are useless
    assert judged(worth=9.9, outside=0.05) == "thin"
    assert judged(worth=9.9, outside=0.34) == "broken"
    assert judged(worth=99.0, n_parameters=10) == "thin"
    assert judged(worth=101.0, n_parameters=10) == "enough"
    assert judged(tail_index=0.71) == "thin"
    assert judged(tail_index=math.nan) == "enough"
    assert judged(n_rows=50, worth=40.0, tail_index=0.9) == "enough"  # too few for a tail


def test_a_judgement_can_be_stored_and_printed():
    judgement = judge_overlap(n_rows=400, worth=6.0, tail_index=1.1, outside=0.06)
    assert judgement.to_dict() == {
        "word": "broken",
        "reason": "the full ratio has 6 effective rows of 400",
    }
    assert repr(judgement) == str(judgement) == "broken: the full ratio has 6 effective rows of 400"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"worth": math.nan}, "Got worth=nan, but expected a number of rows"),
        ({"worth": -1.0}, "Got worth=-1.0, but expected a number of rows"),
        ({"outside": math.nan}, "Got outside=nan, but expected a share between 0 and 1"),
        ({"outside": 5}, "Got outside=5, but expected a share between 0 and 1"),
    ],
)
def test_what_cannot_be_judged_is_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        judged(**numbers)


@given(
    st.integers(2, 10_000),
    st.floats(0.0, 1.0),
    st.floats(-1.0, 2.0),
    st.floats(0.0, 1.0),
    st.integers(1, 100),
)
def test_overlap_never_improves_with_fewer_effective_rows(n, share, tail, outside, parameters):
    order = ["broken", "thin", "enough"]
    words = [
        judge_overlap(
            n_rows=n,
            worth=worth * n,
            tail_index=tail,
            outside=outside,
            n_parameters=parameters,
        ).word
        for worth in (share / 2, share)
    ]
    assert order.index(words[0]) <= order.index(words[1])


def test_even_weights_are_never_broken():
    """Five rows of weight 1 are few, and yet all there are."""
    assert judged(n_rows=5, worth=5.0) == "enough"


def test_no_shift_is_a_finding():
    X = np.random.default_rng(0).normal(size=(400, 2))
    report = diagnose(X[:200], X[200:])
    assert report.sentence == "No shift found"
    assert codes(report) == ["WB201"]


def test_label_shift_is_a_finding():
    rng = np.random.default_rng(0)
    y, y_target = rng.integers(0, 2, 1500), (rng.uniform(size=1500) < 0.85).astype(int)
    X, X_target = (rng.normal(size=(1500, 2)) + 2.5 * each[:, None] for each in (y, y_target))
    report = diagnose(X, X_target, y=y)
    assert report.label_shift.kind == "label"
    assert "WB202" in codes(report)


def test_a_column_that_tells_the_samples_apart_is_named():
    rng = np.random.default_rng(0)
    X, X_target = (
        pd.DataFrame({"size": rng.normal(size=100), "sensor_version": version})
        for version in ("a", "b")
    )
    report = diagnose(X, X_target)
    assert report.overlap == "broken"
    (finding,) = (each for each in report.findings if each.code == "WB302")
    assert "sensor_version alone tells the samples apart" in finding.help
    assert "WB113" in codes(report)
    assert report.support.share == 1.0


def test_columns_of_arrays_are_called_columns():
    data = make_gaussian_shift(100, 100, n_features=2, shift=10.0, random_state=0)
    (finding,) = (each for each in diagnose(data.X, data.X_target).findings if each.code == "WB302")
    assert finding.help.startswith("column ")


def test_thin_overlap_and_few_rows_are_findings():
    data = make_quadratic(random_state=0)
    report = diagnose(data.ratio, data.X, data.X_target)
    assert report.overlap == "thin"
    assert {"WB301", "WB306"} <= set(codes(report))


def test_a_difference_that_is_left_is_a_finding():
    data = make_gaussian_shift(1000, 1000, shift=1.0, random_state=0)
    timid = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(lam=0.3)).fit(
        data.X, data.y
    )
    report = diagnose(timid, data.X, data.X_target)
    (finding,) = (each for each in report.findings if each.code == "WB305")
    assert "column 0 still differs by" in finding.message
    assert finding.help.startswith("A larger lam reduces it")
    assert "WB401" not in codes(report)  # of the full ratio only


def test_a_ratio_that_misses_the_shift_is_a_finding():
    data = make_gaussian_shift(1000, 1000, shift=1.5, random_state=0)
    nothing = KnownRatio(lambda X: np.zeros(len(X)))
    report = diagnose(nothing, data.X, data.X_target)
    assert "WB401" in codes(report)
    assert "WB402" not in codes(report)  # a known ratio may lack its constant
    (finding,) = (each for each in report.findings if each.code == "WB305")
    assert "lam" not in finding.help  # it is 1 already


class Doubled(ULSIF):
    """A ratio that is off by a factor of two."""

    def score_samples(self, X):
        return super().score_samples(X) + np.log(2)


def test_a_ratio_that_does_not_average_to_one_is_a_finding():
    data = make_gaussian_shift(500, 500, shift=1.0, random_state=0)
    ratio = fit_ratio(data.X, data.X_target, Doubled(random_state=0))
    assert "WB402" in codes(diagnose(ratio, data.X, data.X_target))


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=30))
def test_mean_ratio_is_the_plain_mean_with_its_standard_error(log_ratio):
    log_ratio = np.array(log_ratio)
    found, ratio = mean_ratio(log_ratio, 0.95), np.exp(log_ratio)
    assert found.value == pytest.approx(ratio.mean(), rel=1e-12)
    error = ratio.std(ddof=1) / math.sqrt(ratio.size)
    # The deviation of numbers that are almost equal is rounding.
    assert found.standard_error == pytest.approx(error, rel=1e-9, abs=1e-12 * found.value)
    assert 0 <= found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("log_ratio", "mean"),
    [
        ([400.0, 0.0, 1.0], math.exp(400) / 3),
        ([800.0, 0.0, 1.0], math.inf),
        ([-math.inf, math.log(2)], 1.0),
        ([-math.inf, -math.inf], 0.0),
    ],
)
def test_mean_ratio_of_any_size_raises_no_warning(log_ratio, mean):
    found = mean_ratio(np.array(log_ratio), 0.95)
    assert found.value == pytest.approx(mean)
    assert found.low >= 0


class Undefined(ULSIF):
    """A ratio without a number at the first target row."""

    value = math.nan

    def score_samples(self, X):
        scores = np.array(super().score_samples(X))
        if len(X) == 80:
            scores[0] = self.value
        return scores


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_ratio_without_a_number_at_a_target_row_is_refused(value, monkeypatch):
    monkeypatch.setattr(Undefined, "value", value)
    data = make_gaussian_shift(90, 80, random_state=0)
    with pytest.raises(ValueError, match="NaN or infinite at 1 of 80 target rows"):
        diagnose(Undefined(random_state=0), data.X, data.X_target)


def test_rows_outside_are_a_finding():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    X_target[:60] += 12
    report = diagnose(X, X_target)
    assert report.overlap != "broken"
    assert report.support.share == pytest.approx(0.12, abs=0.02)
    assert "WB304" in codes(report)


def test_a_model_that_is_not_fitted_is_refused():
    data = make_gaussian_shift(100, 100, random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        diagnose(ImportanceWeighted(LinearRegression()), data.X, data.X_target)


def test_a_finding_has_one_of_three_levels():
    with pytest.raises(ValueError, match="note, warning, error"):
        Finding("WB000", "fatal", "a", "b")
