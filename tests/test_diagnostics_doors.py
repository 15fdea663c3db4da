"""What diagnose takes and refuses, and what it says about the tables themselves."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from weighbridge import diagnose
from weighbridge.diagnostics import (
    balance_table,
    domain_auc,
    outside_support,
)
from weighbridge.label_shift import kind_of_shift
from weighbridge.ratios import KnownRatio

rng = np.random.default_rng(0)
X, X_TARGET = rng.normal(size=(120, 3)), rng.normal([1.0, 0.0, 0.0], 1.0, size=(100, 3))
FRAME, FRAME_TARGET = (pd.DataFrame(part, columns=list("abc")) for part in (X, X_TARGET))
RATIO = KnownRatio(lambda X: np.asarray(X, dtype=float)[:, 0] - 0.5)
RATIO_OF_ANY = KnownRatio(lambda X: np.linspace(-0.1, 0.1, X.shape[0]))
# So few rows are diagnosed without trees, in a fraction of the time.
FEW = 45


def finding(report, code):
    return next((each for each in report.findings if each.code == code), None)


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("frame", "n"), [(pd.DataFrame, 100), (pl.from_pandas, FEW)])
def test_columns_are_matched_by_name(frame, n):
    X, X_target = frame(FRAME[:n]), frame(FRAME_TARGET[:n])
    in_order = diagnose(X, X_target).to_dict()
    assert diagnose(X, X_target[["c", "a", "b"]]).to_dict() == in_order


def test_integer_names_are_the_names_of_the_columns():
    X, X_target = (part[:90].set_axis([1, 2, 3], axis=1) for part in (FRAME, FRAME_TARGET))
    report = diagnose(X, X_target[[3, 1, 2]])
    assert [row.name for row in report.balance.rows] == ["1", "2", "3"]
    assert report.moved[0] == "column 1"


def test_names_of_several_types_are_refused():
    X, X_target = (part.set_axis(["a", 1, "b"], axis=1) for part in (FRAME, FRAME_TARGET))
    with pytest.raises(TypeError, match=r"column names are of several types \(int, str\)"):
        diagnose(X, X_target)


def test_a_column_without_a_value_is_left_out_and_named():
    frames = FRAME[:FEW], FRAME_TARGET[:FEW]
    report = diagnose(*(part.assign(d=np.nan) for part in frames))
    assert finding(report, "WB114").message == "No value in either sample: d."
    without = diagnose(*frames)
    assert (report.auc, report.full.ess) == (without.auc, without.full.ess)


def test_a_column_without_a_value_in_one_sample_is_named():
    report = diagnose(RATIO, FRAME, FRAME_TARGET.assign(b=np.nan))
    assert finding(report, "WB114").message == "No value in any deployment row: b."
    assert "0 % of the training rows and 100 % of the" in finding(report, "WB203").message
    assert finding(report, "WB113").message == "Never seen in training: b missing."


def test_constant_columns_are_named():
    X, X_target = (part.assign(k="x", m=3.0) for part in (FRAME, FRAME_TARGET))
    assert finding(diagnose(RATIO_OF_ANY, X, X_target), "WB115").message.endswith(": k, m.")
    assert finding(diagnose(RATIO_OF_ANY, FRAME, FRAME_TARGET), "WB115") is None


def test_a_running_number_is_named():
    X, X_target = FRAME.assign(id=np.arange(120)), FRAME_TARGET.assign(id=np.arange(200, 300))
    note = finding(diagnose(RATIO, X, X_target), "WB111")
    assert note.message == "id is different in every row and tells the samples apart."
    # a measurement that is far away is no key
    apart = diagnose(RATIO, FRAME, FRAME_TARGET.assign(b=FRAME_TARGET["b"] + 20))
    assert finding(apart, "WB111") is None


# --- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_array])
def test_shared_rows_are_counted(kind):
    shared = np.vstack([X[:80], X_TARGET[:20]])
    note = finding(diagnose(RATIO_OF_ANY, kind(X), kind(shared)), "WB112")
    assert note.message == "The deployment contains 80 of the 120 training rows."
    assert finding(diagnose(RATIO_OF_ANY, kind(X), kind(X_TARGET)), "WB112") is None


def test_rows_of_few_values_are_not_shared_by_chance():
    coarse, coarse_target = np.sign(X), np.sign(X_TARGET)
    assert finding(diagnose(RATIO_OF_ANY, coarse, coarse_target), "WB112") is None


def test_copies_are_found_where_the_source_repeats_rows():
    twice = np.random.default_rng(0).permutation(np.vstack([X, X]))[:200]
    assert finding(diagnose(RATIO_OF_ANY, twice, X), "WB112").message.startswith("The deployment")


def test_rows_that_repeat_in_one_sample_only_are_not_shared():
    # most source rows are one of ten, each of which the target has once, among many others
    rng = np.random.default_rng(0)
    source, target = rng.permutation(np.arange(900) % 10), rng.permutation(400)
    X, X_target = (np.column_stack([rows // 20, rows % 20]) for rows in (source, target))
    assert finding(diagnose(RATIO_OF_ANY, X, X_target), "WB112") is None


def test_a_handful_of_rows_is_refused():
    with pytest.raises(ValueError, match="Got 19 rows in X; at least 20 are needed"):
        diagnose(X[:19], X_TARGET)
    with pytest.raises(ValueError, match="Got 2 rows in X_target; at least 20 are needed"):
        diagnose(X, X_TARGET[:2])
    own = np.zeros(120)
    own[:10] = 1
    with pytest.raises(ValueError, match="Got 10 rows that count in X"):
        diagnose(X, X_TARGET, sample_weight=own)


def test_where_rows_are_too_few_to_tell_it_is_said():
    """The interval reaches both 0.52 and 0.60: neither no shift nor a moderate one is excluded."""
    report = diagnose(RATIO, X[:40], X[40:80])
    assert report.auc.low <= 0.52 < 0.6 < report.auc.high
    note = finding(report, "WB201")
    assert "too few to tell" in note.message
    assert "not needed" not in note.help
    assert report.sentence == "No shift found, but the rows are too few to tell"


def test_many_rows_without_shift_are_enough_to_tell():
    rows = np.random.default_rng(1).normal(size=(2000, 2))
    report = diagnose(RATIO, rows[:1000], rows[1000:])
    assert report.auc.high < 0.6
    assert finding(report, "WB201").help.startswith("Weights are not needed")


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame, csr_array])
def test_rows_of_own_weight_0_are_left_out(kind):
    own = np.r_[np.ones(40), np.zeros(30)]
    y = [*["a", "b"] * 20, *[None] * 30]
    report = diagnose(kind(X[:70]), kind(X_TARGET[:FEW]), y=y, sample_weight=own)
    fewer = diagnose(kind(X[:40]), kind(X_TARGET[:FEW]), y=y[:40])
    assert report.to_dict() == fewer.to_dict()


# --- the other arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [95, 1, 0, "0.95"])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="Got confidence="):
        diagnose(X, X_TARGET, confidence=confidence)


def test_all_intervals_have_the_confidence_asked_for():
    narrow, wide = (diagnose(RATIO, X, X_TARGET, confidence=c) for c in (0.5, 0.95))
    assert wide.mean_ratio.low < narrow.mean_ratio.low
    assert narrow.auc.low > wide.auc.low
    assert narrow.shift == wide.shift


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((LinearRegression(), X), TypeError, "Got a LinearRegression and one sample only"),
        ((None, X_TARGET), TypeError, "Got X=None; rows of both samples"),
        ((X[:, 0], X_TARGET[:, 0]), ValueError, "Expected 2D array, got 1D array instead for X"),
        ((X, X[:, 0], X_TARGET), TypeError, "labels go in by name"),
        ((LinearRegression(), X, X_TARGET), TypeError, "has no weights to look at"),
        ((X + 1j, X_TARGET + 1j), TypeError, "Got complex numbers"),
    ],
)
def test_what_is_in_the_wrong_place_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        diagnose(*arguments)


def test_infinity_is_refused_by_column_and_sample():
    infinite = FRAME_TARGET.copy()
    infinite.loc[3, "b"] = np.inf
    with pytest.raises(ValueError, match="infinite values in column 'b' of X_target"):
        diagnose(FRAME, infinite)


@pytest.mark.parametrize("compare", [balance_table, domain_auc, outside_support])
def test_no_comparison_speaks_of_ratios(compare):
    for few, message in (
        (X[:1], "Got X with 1 row; comparing samples takes"),
        (X[:, :0], "Got X without columns"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            compare(few, X_TARGET)
        assert "ratio" not in str(caught.value)


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a"] * 60, r"labels of several types \(number, str\)"),
        (np.zeros((120, 2)), r"y of shape \(120, 2\)"),
        (np.ones(120), "one class only"),
        (["a"] + ["b"] * 119, "class 'a' in 1 row only"),
        ([f"c{j}" for j in range(60)] * 2, "60 classes in 120 rows"),
        (np.arange(50) % 2, r"y of shape \(50,\)"),
    ],
)
def test_labels_that_cannot_be_compared_are_a_finding(y, message):
    report = diagnose(RATIO, X, X_TARGET, y=y)
    assert report.label_shift is None
    note = finding(report, "WB117")
    assert note.message.startswith("Label shift was not checked: got y ")
    with pytest.raises(ValueError, match=message) as caught:
        kind_of_shift(X, y, X_TARGET)
    assert str(caught.value)[1:] in note.message


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_refused(missing):
    y = np.array([missing, *["a", "b"] * 59, "a"], dtype=object)
    with pytest.raises(ValueError, match="missing values in 1 of 120 rows; leave these rows out"):
        diagnose(X, X_TARGET, y=y)


def test_rare_classes_are_a_finding():
    y = np.repeat(["a", "b", "c"], [5, 10, 105])
    report = diagnose(RATIO, X, X_TARGET, y=y)
    assert report.label_shift is not None
    assert finding(report, "WB117").message == "Class 'a' has only 5 rows (and 1 other class)."
    even = diagnose(RATIO, X, X_TARGET, y=np.arange(120) % 2)
    assert finding(even, "WB117") is None


@pytest.mark.parametrize("y", [np.arange(120), X[:, 0]])
def test_quantities_are_no_classes(y):
    report = diagnose(RATIO, X, X_TARGET, y=y)
    assert report.label_shift is None
    assert finding(report, "WB117") is None


# --- texts ---------------------------------------------------------------------------------------


def test_where_overlap_is_broken_no_weight_is_praised():
    report = diagnose(X, X_TARGET + 30)
    assert report.overlap == "broken"
    assert "weights mean nothing here (WB302)" in str(report)
    assert "worth" not in str(report).split("feature")[0]


def test_rows_outside_explain_a_mean_below_1():
    """A ratio without the 30 % of the target that lie outside averages 0.7 over the source."""
    X, X_target = rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1))
    X_target[:300] += 100
    ratio = fitted_constant(0.7, X, X_target)
    assert finding(diagnose(ratio, X, X_target), "WB402") is None
    assert finding(diagnose(fitted_constant(0.4, X, X_target), X, X_target), "WB402") is not None


def fitted_constant(value, X, X_target):
    """Return an estimated ratio that is the same everywhere."""
    from weighbridge import fit_ratio
    from weighbridge.ratios import ULSIF

    class Constant(ULSIF):
        def score_samples(self, X):
            return np.log(value) + 1e-3 * np.linspace(-1, 1, len(X))

    return fit_ratio(X[:, :1], X[::-1, :1], Constant(random_state=0))


def test_an_automatic_choice_is_not_told_to_choose_automatically():
    from weighbridge.ratios import AutoRatio

    class Blind(AutoRatio):
        def score_samples(self, X):
            return 1e-6 * np.asarray(X)[:, 0]

    X, X_target = rng.normal(size=(400, 1)), rng.normal(1.5, 1, size=(400, 1))
    note = finding(diagnose(Blind(), X, X_target), "WB401")
    assert "AutoRatio" not in note.help
    known = KnownRatio(lambda X: 1e-6 * X[:, 0])
    assert "AutoRatio" in finding(diagnose(known, X, X_target), "WB401").help
