"""The natural suite: its halves, its figures, and the parts of a change of loss."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from benchmarks.natural.decompose import decompose
from benchmarks.natural.summary import effects, oracle, significant, summary
from benchmarks.natural.tasks import entries, file_name, half


def test_every_task_has_a_set_a_reason_and_a_name_of_its_own():
    tasks = entries()
    assert len(tasks) >= 24
    assert len({file_name(task["name"]) for task in tasks}) == len(tasks)
    assert all(task["package"] and task["item"] and task["why"] for task in tasks)


def test_the_half_is_the_parity_of_the_hash_of_the_name():
    halves = {task["name"]: half(task["name"]) for task in entries()}
    odd = {name for name in halves if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2}
    assert {name for name, each in halves.items() if each == "report"} == odd


def test_the_oracle_of_a_draw_is_chosen_by_the_other_draws():
    fixed = np.random.default_rng(0).random((6, 4))
    for place, value in enumerate(oracle(fixed)):
        best = np.delete(fixed, place, axis=0).mean(axis=0).argmin()
        assert value == fixed[place, best]


def test_effects_are_signed_and_significant_beyond_noise():
    noise = np.random.default_rng(0).standard_normal(10)
    assert effects([0.19], [0.09])[0] == pytest.approx(100 * np.log(2))
    assert significant(3 + noise)
    assert not significant(noise)
    assert not significant(np.zeros(10))


def test_captured_counts_winnable_pairs_alone_and_cuts_each():
    wobble = np.linspace(-0.1, 0.1, 10)
    table = {
        ("a", "linear"): {"ours": wobble - 5, "oracle": wobble - 10},
        ("b", "linear"): {"ours": wobble + 90, "oracle": wobble - 10},
        ("c", "linear"): {"ours": wobble + 3, "oracle": wobble - 1},
    }
    ours = summary(table)["ours"]
    assert ours["captured"] == pytest.approx((0.5 - 1) / 2)
    assert ours["winnable pairs"] == 2
    assert ours["where nothing is winnable"] == pytest.approx(3)
    assert ours["significantly worse"] == 2
    assert ours["worst significant harm"] == 90


@pytest.mark.more
@pytest.mark.parametrize("change", [0.0, 1.0])
def test_parts_add_up_and_a_shift_of_x_alone_has_no_part_of_y_given_x(change):
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((1200, 1)), 0.7 + rng.standard_normal((800, 1))
    y, y_target = (
        (rows**2).ravel() + 0.3 * rng.standard_normal(len(rows)) for rows in (X, X_target)
    )
    task = SimpleNamespace(Xs=X, ys=y, Xt=X_target, yt=y_target + change, kind="regression")
    parts = decompose(task, LinearRegression())
    total = parts["X"]["value"] + parts["Y|X"]["value"]
    assert total == pytest.approx(parts["change"]["value"])
    assert parts["X"]["value"] > 3 * parts["X"]["se"]
    assert (abs(parts["Y|X"]["value"]) > 3 * parts["Y|X"]["se"]) == bool(change)
