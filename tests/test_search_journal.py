"""A search that is killed goes on where it stopped, and never on the wrong data."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from test_search import Bowl, all_searches, points_of
from weighbridge.exceptions import SearchWarning
from weighbridge.search import BayesianSearch, Evaluation, GridSearch, Journal, Point
from weighbridge.search._journal import decode_array, encode_array

HERE = Path(__file__).parent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.jsonl"


@given(arrays(np.float64, array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_arrays_come_back_to_the_last_bit(values):
    # NaN payloads, infinities and signed zeros included
    again = decode_array(json.loads(json.dumps(encode_array(values))))
    assert again.shape == values.shape
    assert again.tobytes() == values.tobytes()


@given(st.floats(0, 1), st.floats(-9, 9), st.text(), st.floats(0, 1e9))
def test_evaluations_come_back_as_they_were(tmp_path_factory, lam, alpha, message, seconds):
    journal = Journal(tmp_path_factory.mktemp("journal") / "search.jsonl")
    assert journal.open("data") == {}
    losses, predictions = np.array([0.1, lam]), np.array([[alpha, 1 / 3]])
    fine = Evaluation(Point(lam, alpha), losses, predictions, seconds=seconds)
    failed = Evaluation(Point(lam, alpha + 1), None, error=message)
    for evaluation in (fine, failed):
        journal.append(evaluation)
    for evaluation, again in zip(
        (fine, failed), Journal(journal.path).open("data").values(), strict=True
    ):
        assert again.point == evaluation.point
        assert (again.error, again.seconds) == (evaluation.error, evaluation.seconds)
    again = Journal(journal.path).open("data")[fine.point]
    np.testing.assert_array_equal(again.losses, losses)
    np.testing.assert_array_equal(again.predictions, predictions)


@all_searches
def test_nothing_is_repeated(search, path):
    first = search(Bowl(fail=lambda point: point.lam == 1), journal=Journal(path))
    content = path.read_bytes()
    objective = Bowl()
    second = search(objective, journal=Journal(path))
    assert objective.asked == []  # not even the one that failed
    assert points_of(second) == points_of(first)
    assert second.failures == first.failures
    np.testing.assert_array_equal(second.values, first.values)
    np.testing.assert_array_equal(second.standard_errors, first.standard_errors)
    assert path.read_bytes() == content


@all_searches
def test_a_resumed_search_ends_like_one_that_never_stopped(search, path):
    whole = search(Bowl())
    with pytest.raises(KeyboardInterrupt):
        search(Bowl(stop=6), journal=Journal(path))
    objective = Bowl()
    resumed = search(objective, journal=Journal(path))
    assert points_of(resumed) == points_of(whole)
    assert objective.asked == points_of(whole)[5:]
    np.testing.assert_array_equal(resumed.values, whole.values)
    assert not resumed.interrupted


def test_a_search_that_ends_by_itself_ends_there_again(path):
    # progress counts up to the most there may be; the journal holds what was evaluated
    search, counts = BayesianSearch(40), []
    whole = search(Bowl(), progress=lambda evaluation, done, planned, least: counts.append(planned))
    assert whole.converged
    assert set(counts) == {40}
    assert 4 < len(counts) < 40
    with pytest.raises(KeyboardInterrupt):
        search(Bowl(stop=7), journal=Journal(path))
    objective = Bowl()
    resumed = search(objective, journal=Journal(path))
    assert resumed.converged
    assert points_of(resumed) == points_of(whole)
    assert objective.asked == points_of(whole)[6:]
    with pytest.warns(SearchWarning, match="interrupted after 6 of 40"):
        stopped = search(Bowl(stop=7), on_interrupt="best")
    assert (stopped.interrupted, stopped.converged) == (True, False)


def test_one_journal_serves_two_searches(path):
    # the second search takes what it would evaluate itself, and no other points
    GridSearch(lam=3, alpha=1)(Bowl(), journal=Journal(path))
    objective = Bowl()
    result = BayesianSearch(6, tol=0)(objective, journal=Journal(path))
    assert objective.asked == points_of(result)[4:]
    assert points_of(result) == points_of(BayesianSearch(6, tol=0)(Bowl()))


def test_a_line_is_on_disk_before_the_next_evaluation_starts(path):
    class Watched(Bowl):
        def evaluation(self, point):
            lines = path.read_bytes().splitlines()
            assert len(lines) == len(self.asked)  # the header, and all before this one
            return super().evaluation(point)

    GridSearch()(Watched(), journal=Journal(path))


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
from test_search import Bowl
from weighbridge.search import BayesianSearch, Journal

class Killed(Bowl):
    def evaluation(self, point):
        if len(self.asked) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluation(point)

BayesianSearch(9, tol=0)(Killed(), journal=Journal({path!r}))
"""


@pytest.mark.more
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
def test_what_was_finished_survives_kill_9(path):
    code = KILLED.format(here=str(HERE), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    objective = Bowl()
    result = BayesianSearch(9, tol=0)(objective, journal=Journal(path))
    whole = BayesianSearch(9, tol=0)(Bowl())
    assert points_of(result) == points_of(whole)
    assert objective.asked == points_of(whole)[6:]
    np.testing.assert_array_equal(result.values, whole.values)


def finished(path):
    GridSearch(lam=2, alpha=1)(Bowl(), journal=Journal(path))
    return path.read_bytes()


def test_every_cut_of_the_file_is_survived(path):
    # killed at any byte: whole lines are kept, the rest is evaluated again
    content = finished(path)
    header = content.index(b"\n") + 1
    for size in [0, 1, header - 1, header, header + 1, *range(header + 2, len(content), 97)]:
        path.write_bytes(content[:size])
        whole = content[:size].endswith(b"\n") or size == 0
        objective = Bowl()
        if whole:
            GridSearch(lam=2, alpha=1)(objective, journal=Journal(path))
        else:
            with pytest.warns(SearchWarning, match="unfinished"):
                GridSearch(lam=2, alpha=1)(objective, journal=Journal(path))
        assert len(objective.asked) == 4 - max(content[:size].count(b"\n") - 1, 0)
        assert path.read_bytes() == content


def test_opening_alone_changes_nothing(path):
    content = finished(path)[:-7]
    path.write_bytes(content)
    with pytest.warns(SearchWarning, match="unfinished"):
        assert len(Journal(path).open("bowl")) == 3
    assert path.read_bytes() == content


def test_a_journal_of_other_data_is_refused(path):
    content = finished(path)
    other = Bowl()
    other.fingerprint = "other bowl"
    with pytest.raises(ValueError, match=r"'bowl', but this search has 'other bowl'.*another path"):
        GridSearch()(other, journal=Journal(path))
    assert other.asked == []
    assert path.read_bytes() == content


def test_a_journal_of_another_format_is_refused(path):
    content = finished(path).replace(b'"version": 1', b'"version": 9')
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"format version 9, but this version .* reads 1"):
        GridSearch()(Bowl(), journal=Journal(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"lam,alpha\n0,1\n",
        b"lam",
        b"\n",
        b"\xff\xfe\x00\n",
        b'{"format": "something else", "version": 1, "fingerprint": "bowl"}\n',
        b'{"version": 1}\n',
        b"[1, 2]\n",
        b"3\n",
    ],
)
def test_a_file_that_is_not_a_journal_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not the journal of a search; give a path"):
        GridSearch()(Bowl(), journal=Journal(path))
    assert path.read_bytes() == content


def spoiled(**changes):
    line = {"lam": 0.0, "alpha": 1.0, "losses": None, "predictions": None, "error": "x"}
    line |= {"seconds": 1.0, **changes}
    return json.dumps({key: value for key, value in line.items() if value != "missing"}).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"",
        b"[]",
        spoiled(lam=None),
        spoiled(seconds="missing"),
        spoiled(losses={"shape": [2], "float64": "!"}),
        spoiled(losses={"shape": [2], "float64": "AAAA"}),
        spoiled(losses={**encode_array(np.ones(3)), "shape": [2]}),
        spoiled(losses={"shape": [2]}),
    ],
)
@pytest.mark.parametrize("place", [1, 3, 5])
def test_a_broken_line_is_refused(path, line, place):
    lines = finished(path).splitlines()
    lines.insert(place, line)
    content = b"\n".join(lines) + b"\n"
    path.write_bytes(content)
    objective = Bowl()
    with pytest.raises(ValueError, match=rf"line {place + 1} cannot be read.*another path"):
        GridSearch()(objective, journal=Journal(path))
    assert objective.asked == []
    assert path.read_bytes() == content


def test_two_writers_are_noticed(path):
    def intrude(evaluation, done, planned, best):
        if done == 2:
            with path.open("ab") as file:
                file.write(b"another search\n")

    with pytest.raises(RuntimeError, match=r"changed by someone else.*its own file"):
        GridSearch()(Bowl(), journal=Journal(path), progress=intrude)
    assert b"another search\n" in path.read_bytes()


def test_a_journal_is_opened_first(path):
    with pytest.raises(ValueError, match="before it was opened"):
        Journal(path).append(Evaluation(Point(0, 1), np.ones(1)))
    assert not path.exists()


def test_a_folder_that_does_not_exist_is_noticed_before_any_evaluation(tmp_path):
    objective = Bowl()
    with pytest.raises(FileNotFoundError):
        GridSearch()(objective, journal=Journal(tmp_path / "none" / "search.jsonl"))
    assert objective.asked == []
