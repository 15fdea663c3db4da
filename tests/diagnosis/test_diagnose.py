"""The input of `diagnose`: what it accepts, what it refuses, and the findings about the tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression, LogisticRegression

from weighbridge import ImportanceWeighted, assess, diagnose
from weighbridge.diagnosis import balance_table
from weighbridge.domain import outside_support
from weighbridge.label_shift import LabelRatio, kind_of_shift
from weighbridge.ratios import AutoRatio, KnownRatio

rng = np.random.default_rng(0)
X, X_TARGET = rng.normal(size=(120, 3)), rng.normal([1.0, 0.0, 0.0], 1.0, size=(100, 3))
FRAME, FRAME_TARGET = (pd.DataFrame(sample, columns=list("abc")) for sample in (X, X_TARGET))
RATIO = KnownRatio(lambda X: np.asarray(X, dtype=float)[:, 0] - 0.5)
RATIO_OF_ANY = KnownRatio(lambda X: np.linspace(-0.1, 0.1, X.shape[0]))
# So few rows are diagnosed without trees, in a fraction of the time.
FEW = 45


def find(report, code):
    return next((finding for finding in report.findings if finding.code == code), None)


@pytest.mark.parametrize(("frame", "n"), [(pd.DataFrame, 100), (pl.from_pandas, FEW)])
def test_columns_are_matched_by_name(frame, n):
    X, X_target = frame(FRAME[:n]), frame(FRAME_TARGET[:n])
    in_order = diagnose(X, X_target).to_dict()
    assert diagnose(X, X_target[["c", "a", "b"]]).to_dict() == in_order


def test_integer_names_are_the_names_of_the_columns():
    X, X_target = (frame[:90].set_axis([1, 2, 3], axis=1) for frame in (FRAME, FRAME_TARGET))
    report = diagnose(X, X_target[[3, 1, 2]])
    assert [row.name for row in report.balance.rows] == ["1", "2", "3"]
    assert report.moved[0] == "column 1"


def test_column_of_one_frame_is_left_out_and_named():
    report = diagnose(FRAME[:FEW].assign(y=1.0), FRAME_TARGET[:FEW].assign(z="a", w="b"))
    message = "Left out: only X has y, only X_target has w, z."
    assert find(report, "WB138").message == message
    assert report.auc == diagnose(FRAME[:FEW], FRAME_TARGET[:FEW]).auc


def test_empty_and_constant_columns_and_keys_are_named():
    frames = FRAME[:FEW], FRAME_TARGET[:FEW]
    report = diagnose(*(frame.assign(d=np.nan) for frame in frames))
    assert find(report, "WB114").message == "No value in either sample: d."
    without = diagnose(*frames)
    assert (report.auc, report.full.ess) == (without.auc, without.full.ess)
    report = diagnose(RATIO, FRAME, FRAME_TARGET.assign(b=np.nan))
    assert find(report, "WB114").message == "No value in any deployment row: b."
    assert "0 % of the training rows and 100 % of the" in find(report, "WB203").message
    assert find(report, "WB113").message == "Never seen in training: b missing."
    X, X_target = (frame.assign(k="x", m=3.0) for frame in (FRAME, FRAME_TARGET))
    assert find(diagnose(RATIO_OF_ANY, X, X_target), "WB115").message.endswith(": k, m.")
    assert find(report, "WB115") is None
    X, X_target = FRAME.assign(id=np.arange(120)), FRAME_TARGET.assign(id=np.arange(200, 300))
    finding = find(diagnose(RATIO, X, X_target), "WB111")
    assert finding.message == "id differs in every row and distinguishes the samples."
    far_away = diagnose(RATIO, FRAME, FRAME_TARGET.assign(b=FRAME_TARGET["b"] + 20))
    assert find(far_away, "WB111") is None  # A measurement is no key.


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_array])
def test_shared_rows_are_counted(kind):
    shared = np.vstack([X[:80], X_TARGET[:20]])
    finding = find(diagnose(RATIO_OF_ANY, kind(X), kind(shared)), "WB112")
    assert finding.message == "The deployment contains 80 of the 120 training rows."
    assert find(diagnose(RATIO_OF_ANY, kind(X), kind(X_TARGET)), "WB112") is None


def test_repeated_rows_are_shared_only_if_they_are_copies():
    twice = np.random.default_rng(0).permutation(np.vstack([X, X]))[:200]
    assert find(diagnose(RATIO_OF_ANY, twice, X), "WB112") is not None
    assert find(diagnose(RATIO_OF_ANY, np.sign(X), np.sign(X_TARGET)), "WB112") is None
    # Most source rows are one of ten, each of which the target has once, among many others.
    rng = np.random.default_rng(0)
    source, target = rng.permutation(np.arange(900) % 10), rng.permutation(400)
    few, many = (np.column_stack([rows // 20, rows % 20]) for rows in (source, target))
    assert find(diagnose(RATIO_OF_ANY, few, many), "WB112") is None


def test_too_few_rows_raise():
    with pytest.raises(ValueError, match="Got 19 rows in X; at least 20 are needed"):
        diagnose(X[:19], X_TARGET)
    with pytest.raises(ValueError, match="Got 2 rows in X_target; at least 20 are needed"):
        diagnose(X, X_TARGET[:2])
    with pytest.raises(ValueError, match="Got 10 rows that count in X"):
        diagnose(X, X_TARGET, sample_weight=np.repeat([1.0, 0.0], [10, 110]))


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame, csr_array])
def test_rows_of_weight_0_are_dropped(kind):
    y = [*["a", "b"] * 20, *[None] * 30]
    options = {"y": y, "sample_weight": np.repeat([1.0, 0.0], [40, 30])}
    report = diagnose(kind(X[:70]), kind(X_TARGET[:FEW]), **options)
    fewer = diagnose(kind(X[:40]), kind(X_TARGET[:FEW]), y=y[:40])
    assert report.to_dict() == fewer.to_dict()


def test_order_of_rows_does_not_matter():
    order = np.random.default_rng(3).permutation(120)
    first, other = diagnose(RATIO, X, X_TARGET), diagnose(RATIO, X[order], X_TARGET[::-1])
    assert first.auc == other.auc
    assert first.support == other.support
    assert first.attribution == other.attribution
    assert first.findings == other.findings
    assert first.full.ess == pytest.approx(other.full.ess, rel=1e-12)


def test_intervals_have_the_confidence_asked_for_and_words_do_not():
    narrow, wide = (diagnose(RATIO, X, X_TARGET, confidence=c) for c in (0.5, 0.95))
    assert wide.mean_ratio.low < narrow.mean_ratio.low
    assert narrow.auc.low > wide.auc.low
    assert narrow.shift == wide.shift
    with pytest.raises(ValueError, match="Got confidence=95"):
        diagnose(X, X_TARGET, confidence=95)


def test_large_samples_are_drawn():
    report = diagnose(RATIO, X, X_TARGET, max_rows=50)
    assert (report.n_source, report.n_target) == (50, 50)
    assert find(report, "WB139").message.startswith("50 of the 120 rows of X, drawn at random")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((LinearRegression(), X), TypeError, "Got a LinearRegression and one sample only"),
        ((None, X_TARGET), TypeError, "Got X=None; rows of both samples"),
        ((X[:, 0], X_TARGET[:, 0]), ValueError, "Expected 2D array, got 1D array instead for X"),
        ((X, X[:, 0], X_TARGET), TypeError, "Labels go in by name"),
        ((LinearRegression(), X, X_TARGET), TypeError, "has no weights to look at"),
        ((ImportanceWeighted(LinearRegression()), X, X_TARGET), ValueError, "that is not fitted"),
        ((X + 1j, X_TARGET + 1j), TypeError, "Got complex numbers"),
        (
            tuple(frame.set_axis(["a", 1, "b"], axis=1) for frame in (FRAME, FRAME_TARGET)),
            TypeError,
            r"column names are of several types \(int, str\)",
        ),
        (
            (FRAME, FRAME_TARGET.replace({"b": {FRAME_TARGET["b"][3]: np.inf}})),
            ValueError,
            "infinite values in column 'b' of X_target",
        ),
    ],
)
def test_bad_arguments_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        diagnose(*arguments)


@pytest.mark.parametrize("compare", [balance_table, outside_support])
def test_errors_of_a_comparison_do_not_mention_ratios(compare):
    for few, message in (
        (X[:1], "Got X with 1 row; comparing samples takes"),
        (X[:, :0], "Got X without columns"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            compare(few, X_TARGET)
        assert "ratio" not in str(caught.value)


@pytest.mark.parametrize("y", [[1, "a"] * 60, np.ones(120), np.arange(50) % 2])
def test_labels_that_cannot_be_compared_are_a_finding(y):
    report = diagnose(RATIO, X, X_TARGET, y=y)
    assert report.label_shift is None
    with pytest.raises(ValueError, match="Got y") as caught:
        kind_of_shift(X, y, X_TARGET)
    message = find(report, "WB117").message
    assert message == f"Label shift was not checked: g{str(caught.value)[1:]}"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_raise(missing):
    y = np.array([missing, *["a", "b"] * 59, "a"], dtype=object)
    with pytest.raises(ValueError, match="missing values in 1 of 120 rows; leave these rows out"):
        diagnose(X, X_TARGET, y=y)


def test_rare_classes_are_counted():
    rare = diagnose(RATIO, X, X_TARGET, y=np.repeat(["a", "b", "c"], [5, 10, 105]))
    assert find(rare, "WB117").message == "Class 'a' has only 5 rows (and 1 other class)."
    assert find(diagnose(RATIO, X, X_TARGET, y=np.arange(120) % 2), "WB117") is None


@pytest.mark.parametrize("shift", ["label", "auto"])
def test_one_diagnosis_or_verdict_fits_the_ratio_and_the_kind_once(shift, monkeypatch):
    fits = []
    for ratio in (AutoRatio, LabelRatio):
        fit = ratio.fit
        monkeypatch.setattr(
            ratio, "fit", lambda self, *a, f=fit: fits.append(type(self)) or f(self, *a)
        )
    y = X[:, 1] > 0
    assess(LogisticRegression(), X, y, X_TARGET, shift=shift)
    assert sorted(map(str, fits)) == sorted(map(str, {*fits}))
    fits.clear()
    by_label = LabelRatio().fit(X, y, X_TARGET)
    assert diagnose(by_label, X, X_TARGET, y=y).label_shift is not None
    assert fits == [LabelRatio]
    diagnose(by_label, X, X_TARGET[::-1], y=y)  # It was fitted to other rows.
    assert fits == [LabelRatio] * 2


@pytest.mark.parametrize("y", [np.arange(120), X[:, 0]])
def test_quantities_are_not_classes(y):
    report = diagnose(RATIO, X, X_TARGET, y=y)
    assert (report.label_shift, find(report, "WB117")) == (None, None)
