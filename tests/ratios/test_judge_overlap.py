"""The judgement of overlap by rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.ratios import judge_overlap


def judged(**numbers):
    usual = {"n_rows": 4000, "worth": 700.0, "outside": 0.02}
    return judge_overlap(**{**usual, **numbers}).word


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ({}, "enough"),
        ({"outside": 0.34}, "broken"),
        ({"outside": 0.33}, "thin"),
        ({"outside": 0.10}, "enough"),
        ({"worth": 9.9, "outside": 0.051}, "broken"),
        # The samples are distinguished, and yet covered: only weights are useless.
        ({"worth": 9.9, "outside": 0.05}, "thin"),
        ({"worth": 10.0, "n_parameters": 1}, "enough"),
        ({"worth": 19.0, "n_parameters": 3}, "thin"),
        ({"worth": 20.0, "n_parameters": 3}, "enough"),
        ({"worth": 49.0, "n_parameters": 100}, "thin"),
        ({"worth": 50.0, "n_parameters": 100}, "enough"),
        ({"n_rows": 5, "worth": 5.0}, "enough"),  # All rows count.
    ],
)
def test_word_follows_the_rule(numbers, word):
    assert judged(**numbers) == word


def test_judgement_can_be_stored_and_printed():
    judgement = judge_overlap(n_rows=400, worth=6.0, outside=0.06)
    reason = "the full ratio has 6 effective rows of 400"
    assert judgement.to_dict() == {"word": "broken", "reason": reason}
    assert repr(judgement) == str(judgement) == f"broken: {reason}"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"worth": math.nan}, "Got worth=nan, but expected a number of rows"),
        ({"worth": -1.0}, "Got worth=-1.0, but expected a number of rows"),
        ({"outside": math.nan}, "Got outside=nan, but expected a share between 0 and 1"),
        ({"outside": 5}, "Got outside=5, but expected a share between 0 and 1"),
    ],
)
def test_bad_numbers_raise(numbers, message):
    with pytest.raises(ValueError, match=message):
        judged(**numbers)


@given(
    st.integers(2, 10_000),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.integers(1, 100),
)
def test_overlap_never_improves_with_fewer_effective_rows(n, share, outside, parameters):
    order = ["broken", "thin", "enough"]
    shared = {"n_rows": n, "outside": outside, "n_parameters": parameters}
    words = [judged(worth=worth * n, **shared) for worth in (share / 2, share)]
    assert order.index(words[0]) <= order.index(words[1])
