"""One writer of numbers: a value, its change, its interval and its axis have the same digits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge._findings import Estimate, Numbers, percent


def around(value, half):
    return Estimate(value, half / 2, value - half, value + half)


# measure, loss, half its interval, change, half its interval -> loss, interval, change, interval
WRITTEN = [
    (("error", 0.353, 0.02, -0.05, 0.01),
     ("35.3 %", "[33.3 %, 37.3 %]", "−5.0", "[−6.0, −4.0]")),
    (("error", 0.353, 0.02, 0.001, 0.0005),
     ("35.30 %", "[33.30 %, 37.30 %]", "+0.10", "[+0.05, +0.15]")),
    (("error", 0.0003, 0.0001, 0.0001, 0.0001),
     ("0.030 %", "[0.020 %, 0.040 %]", "+0.010", "[0.000, +0.020]")),
    (("error", 0.9997, 0.0002, -0.0002, 0.0004),
     ("99.970 %", "[99.950 %, 99.990 %]", "−0.020", "[−0.060, +0.020]")),
    (("error", 0.0, 0.0, 0.02, 0.01),
     ("0.0 %", "[0.0 %, 0.0 %]", "+2.0", "[+1.0, +3.0]")),
    (("MSE", 11700.0, 600.0, -320.4, 40.0),
     ("11,700", "[11,100, 12,300]", "−320", "[−360, −280]")),
    (("MSE", 117.0, 8.0, 0.1, 0.05),
     ("117.00", "[109.00, 125.00]", "+0.10", "[+0.05, +0.15]")),
    (("MSE", 117.0, 0.3, 2.0, 1.0),
     ("117.0", "[116.7, 117.3]", "+2.0", "[+1.0, +3.0]")),
    (("MSE", 1.17e-6, 2e-7, -1.2e-7, 3e-8),
     ("1.17e−6", "[0.97e−6, 1.37e−6]", "−0.12e−6", "[−0.15e−6, −0.09e−6]")),
    (("MSE", 1.17e12, 2e11, 1.2e11, 3e11),
     ("1.17e12", "[0.97e12, 1.37e12]", "+0.12e12", "[−0.18e12, +0.42e12]")),
    (("log loss", 0.994, 0.05, 1e-16, 1e-16),
     ("0.994", "[0.944, 1.044]", "0.000", "[0.000, 0.000]")),
]  # fmt: skip


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: "-".join(map(str, row[0])))
def test_a_value_its_change_and_their_intervals_have_the_same_digits(row):
    (measure, loss, half, change, half_change), texts = row
    loss, change = around(loss, half), around(change, half_change)
    numbers = Numbers(measure, loss.value, [loss], [None, change])
    assert [
        numbers.value(loss.value),
        numbers.interval(loss),
        numbers.change(change.value),
        numbers.change_interval(change),
    ] == list(texts)


LABELLED = [
    ("error", 0.353, 0.3, [0.3, 0.35], ["30 %", "35 %"]),
    ("error", 0.003, 0.002, [0.002, 0.003], ["0.2 %", "0.3 %"]),
    ("MSE", 11700.0, 600.0, [11000.0, 11500.0, 12000.0], ["11,000", "11,500", "12,000"]),
    ("MSE", 1.17e-6, 2e-7, [0.0, 1e-6, 1.2e-6], ["0", "1.0e−6", "1.2e−6"]),
]


@pytest.mark.parametrize(("measure", "loss", "half", "values", "labels"), LABELLED)
def test_an_axis_is_written_as_its_values_are(measure, loss, half, values, labels):
    assert Numbers(measure, loss, [around(loss, half)]).labels(values) == labels


def test_an_axis_of_changes_has_signs_and_points():
    assert Numbers("error", 0.3).change_labels([-0.005, 0.0, 0.005]) == ["−0.5", "0", "+0.5"]
    assert Numbers("MSE", 11700).change_labels([-500.0, 0.0]) == ["−500", "0"]


def test_a_loss_far_beyond_the_usual_one_is_written_short():
    assert Numbers("MSE", 1.2).value(3.4e30) == "3.4e30"
    assert Numbers("MSE", 1.2).value(math.inf) == "∞"
    assert Numbers("MSE", 1.2).change(-math.inf) == "−∞"


sizes = st.floats(1e-30, 1e30)


@given(sizes, st.floats(0.001, 10), st.booleans())
def test_a_change_that_can_be_seen_is_never_written_as_zero(typical, share, is_lower):
    change = -share * typical if is_lower else share * typical
    numbers = Numbers("MSE", typical, [], [Estimate(change, 0.0, change, change)])
    text = numbers.change(change)
    assert text.startswith("−" if is_lower else "+")
    written = float(text.replace("−", "-").replace(",", ""))
    assert written == pytest.approx(change, rel=0.11)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate.normal(0.353, 0.02), "0.353 [0.314, 0.392]"),
        (Estimate.normal(11700, 300), "11,700 [11,112, 12,288]"),
        (Estimate.normal(1.17e-6, 1e-7), "1.17e−6 [0.97e−6, 1.37e−6]"),
        (Estimate.normal(117, 0.1), "117.00 [116.80, 117.20]"),
        (Estimate.normal(-0.02, 0.1), "−0.020 [−0.216, 0.176]"),
        (Estimate.normal(0.0, 0.0), "0.00 [0.00, 0.00]"),
        (Estimate(0.5, math.inf, -math.inf, math.inf), "0.500 [−∞, ∞]"),
    ],
)
def test_an_estimate_is_written_by_the_same_writer(estimate, text):
    assert str(estimate) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.003, "0.3 %"), (0.0, "0 %"), (1.0, "100 %"), (0.9999, "> 99.9 %"), (0.0001, "< 0.1 %")],
)
def test_a_share_has_one_text(share, text):
    assert percent(share) == text
