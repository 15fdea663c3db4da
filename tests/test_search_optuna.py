"""The search that lives in an optuna study."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest

from test_search import Bowl, points_of
from weighbridge.search import Bounds, Journal, OptunaSearch, named_points

HERE = Path(__file__).parent


@pytest.fixture
def stored(tmp_path):
    return {"storage": f"sqlite:///{tmp_path / 'search.db'}", "study_name": "bowl"}


def load(stored):
    return optuna.load_study(storage=stored["storage"], study_name=stored["study_name"])


@pytest.mark.more
def test_a_finished_trial_is_never_repeated(stored):
    first = OptunaSearch(6, random_state=0, **stored)(Bowl(fail=lambda point: point.lam == 1))
    objective = Bowl()
    again = OptunaSearch(6, random_state=0, **stored)(objective)
    assert objective.asked == []
    assert points_of(again) == points_of(first)
    assert again.failures == first.failures == [((1.0, 1.0), "no fit at lam 1")]
    np.testing.assert_array_equal(again.values, first.values)
    # every unit's loss is there: the paired comparison is the same to the last bit
    assert again.difference(0, 2) == first.difference(0, 2)
    np.testing.assert_array_equal(again.seconds, first.seconds)


@pytest.mark.more
def test_a_study_is_extended(stored):
    first = OptunaSearch(5, random_state=0, **stored)(Bowl())
    objective = Bowl()
    longer = OptunaSearch(9, random_state=0, **stored)(objective)
    assert points_of(longer)[:5] == points_of(first)
    assert objective.asked == points_of(longer)[5:]
    # seeds belong to trials: the study goes on as if it had never stopped
    assert points_of(longer) == points_of(OptunaSearch(9, random_state=0)(Bowl()))


def test_an_interrupted_study_is_resumed(stored):
    with pytest.raises(KeyboardInterrupt):
        OptunaSearch(6, random_state=0, **stored)(Bowl(stop=3))
    objective = Bowl()
    result = OptunaSearch(6, random_state=0, **stored)(objective)
    assert len(result.points) == 6
    assert result.failures == []
    assert set(named_points()) <= set(points_of(result))
    assert len(objective.asked) == 4
    states = [trial.state.name for trial in load(stored).get_trials()]
    assert states.count("COMPLETE") == 6
    assert states.count("FAIL") == 1  # the one that was given up
    assert "RUNNING" not in states


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
from test_search import Bowl
from weighbridge.search import OptunaSearch

class Killed(Bowl):
    def evaluation(self, point):
        if len(self.asked) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluation(point)

OptunaSearch(6, random_state=0, storage={storage!r}, study_name="bowl")(Killed())
"""


@pytest.mark.more
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
def test_the_named_point_of_a_process_that_was_killed_is_evaluated(stored):
    code = KILLED.format(here=str(HERE), storage=stored["storage"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert [trial.state.name for trial in load(stored).get_trials()].count("RUNNING") == 1
    objective = Bowl()
    result = OptunaSearch(6, random_state=0, **stored)(objective)
    assert not set(objective.asked) & set(named_points()[:2])  # these were finished
    assert set(named_points()) <= set(points_of(result))


SHARED = """
import sys, time
sys.path.insert(0, {here!r})
from test_search import Bowl
from weighbridge.search import OptunaSearch

class Slow(Bowl):
    def evaluation(self, point):
        time.sleep(0.1)
        return super().evaluation(point)

result = OptunaSearch(10, random_state=0, storage={storage!r}, study_name="bowl")(Slow())
assert result.difference(0, 1).standard_error > 0
"""


@pytest.mark.more
def test_processes_share_a_study(stored):
    # tables and named points first: processes that start together may both try one of these
    OptunaSearch(4, random_state=0, **stored)(Bowl())
    code = SHARED.format(here=str(HERE), storage=stored["storage"])
    workers = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(2)
    ]
    for worker in workers:
        _, messages = worker.communicate(timeout=120)
        assert worker.returncode == 0, messages.decode()
    finished = [each for each in load(stored).get_trials() if each.state.name == "COMPLETE"]
    assert 10 <= len(finished) <= 11  # each process finishes the trial it has begun
    models = {tuple(sorted(each.params.items())) for each in finished}
    assert len(models) == len(finished)  # equal seeds, and yet no point twice
    result = OptunaSearch(10, **stored)(Bowl())
    assert set(named_points()) <= set(points_of(result))
    assert len(result.points) == len(finished)


@pytest.mark.parametrize(
    ("name", "bounds", "message"),
    [
        ("other bowl", Bounds(), r"other data.*'bowl', but this search fingerprint 'other bowl'"),
        ("bowl", Bounds(lam=(0, 0.5)), r"lam \[0.0, 1.0\], but this search lam \[0.0, 0.5\]"),
    ],
)
def test_a_study_of_something_else_is_refused(stored, name, bounds, message):
    OptunaSearch(3, random_state=0, **stored)(Bowl())
    other = Bowl()
    other.fingerprint = name
    with pytest.raises(ValueError, match=message):
        OptunaSearch(5, **stored)(other, bounds)
    assert other.asked == []
    assert len(load(stored).get_trials()) == 4 - 1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_study_that_is_not_ours_is_refused(stored, direction):
    foreign = optuna.create_study(direction=direction, **stored)
    foreign.enqueue_trial({"x": 1.0})
    with pytest.raises(ValueError, match="study 'bowl', which has trials of something else"):
        OptunaSearch(5, **stored)(Bowl())


def test_a_storage_needs_a_name(stored):
    with pytest.raises(ValueError, match="storage without study_name; name the study"):
        OptunaSearch(storage=stored["storage"])(Bowl())


def test_a_sampler_of_your_own():
    runs = [OptunaSearch(7, sampler=optuna.samplers.RandomSampler(seed=3)) for _ in range(2)]
    first, second = (points_of(search(Bowl())) for search in runs)
    assert first == second
    assert first[:4] == named_points()
    assert first != points_of(OptunaSearch(7, random_state=3)(Bowl()))


def test_a_model_that_is_proposed_again_is_not_evaluated_again():
    # all of lam = 1 is one model; trials that repeat it count, so that the search ends
    objective = Bowl()
    result = OptunaSearch(9, random_state=0)(objective, Bounds(lam=(1, 1)))
    assert objective.asked == points_of(result) == [(1.0, 1.0)]


def test_a_journal_works_here_too(tmp_path):
    path = tmp_path / "search.jsonl"
    first = OptunaSearch(7, random_state=0)(Bowl(), journal=Journal(path))
    objective = Bowl()
    again = OptunaSearch(7, random_state=0)(objective, journal=Journal(path))
    assert objective.asked == []
    assert points_of(again) == points_of(first)


@pytest.mark.parametrize("level", [optuna.logging.DEBUG, optuna.logging.ERROR])
def test_the_verbosity_of_optuna_is_as_it_was(level, capfd):
    before = optuna.logging.get_verbosity()
    try:
        optuna.logging.set_verbosity(level)
        OptunaSearch(3, random_state=0)(Bowl())
        with pytest.raises(RuntimeError, match="All 3"):
            OptunaSearch(3, random_state=0)(Bowl(fail=lambda point: True))
        assert optuna.logging.get_verbosity() == level
    finally:
        optuna.logging.set_verbosity(before)
    assert capfd.readouterr() == ("", "")


@pytest.mark.more
def test_without_optuna_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "from weighbridge.search import OptunaSearch\n"  # importing it needs no optuna
        "try:\n    OptunaSearch()(None)\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "weighbridge[optuna]"' in done.stdout
    assert "BayesianSearch" in done.stdout
