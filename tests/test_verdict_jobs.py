"""Assessments as work: progress, threads, several models at once."""

from dataclasses import asdict
from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from clinic import clinic_model
from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.datasets import make_clinic, make_gaussian_shift, make_quadratic
from weighbridge.model_selection import GridSearch, LeaveOneOut
from weighbridge.target_risk import Question
from weighbridge.verdict import assess, assess_models
from weighbridge.weighting import Geodesic

DATA = make_quadratic(random_state=0)
TWO = {"ratio": DATA.ratio, "random_state": 0, "cv": 2}


@pytest.fixture
def toy():
    return DATA.X, DATA.y, DATA.X_target


def told_by(estimator, *arguments, **options):
    told = []
    assess(estimator, *arguments, progress=lambda *each: told.append(each), **options)
    return told


def test_every_stage_begins_at_nothing_and_ends_with_its_last_fit(toy):
    """Support, ratio, kind and diagnosis, then six models; four candidates; four by five folds."""
    told = told_by(LinearRegression(), *toy, ratio=DATA.ratio, random_state=0)
    steps = {"shift": [0, 1, 9, 10, *range(17, 23)], "bridge": range(5), "verify": range(21)}
    for stage, done in steps.items():
        heard = [each for each in told if each[0] == stage]
        assert heard == [(stage, each, max(done)) for each in done]
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["shift", "bridge", "verify"]


@pytest.mark.more
def test_work_in_parallel_is_the_same():
    """A table of all kinds, an estimated ratio, transformers that are shared."""
    data = make_clinic(120, 100, random_state=0)
    told, verdicts = {1: [], 2: []}, []
    for n_jobs in (1, 2):
        verdict = assess(
            clinic_model(),
            data.X,
            data.y,
            data.X_target,
            candidates=["none", "full", "tuned"],
            random_state=0,
            cv=2,
            n_jobs=n_jobs,
            progress=lambda *each, n_jobs=n_jobs: told[n_jobs].append(each),
        )
        verdicts.append(verdict.to_dict())
    assert told[1] == told[2]
    # products of matrices in other processes may differ in their last bits
    for one, two in zip(*(each["expect"]["candidates"] for each in verdicts), strict=True):
        assert one["error"] == pytest.approx(two["error"], rel=1e-9)


class Threads(LinearRegression):
    """Notes how many threads its fits may use."""

    seen: ClassVar[set[int]] = set()

    def fit(self, X, y, sample_weight=None):
        Threads.seen |= {pool["num_threads"] for pool in threadpool_info()}
        return super().fit(X, y, sample_weight=sample_weight)


def test_fits_run_in_one_thread_each_and_leave_the_others_as_they_were(toy):
    own = ImportanceWeightedCV(Threads(), search=GridSearch(lam=2, alpha=1), random_state=0)
    with threadpool_limits(2):
        assess(own, *toy, **TWO)
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
    assert Threads.seen == {1}


def test_without_shift_there_is_no_bridge():
    data = make_gaussian_shift(200, 10, random_state=0)
    told = told_by(LinearRegression(), data.X, data.y, data.X, random_state=0, cv=2)
    assert {stage for stage, _, _ in told} == {"shift"}


def test_progress_is_a_function(toy):
    with pytest.raises(TypeError, match="expected a function progress"):
        assess(LinearRegression(), *toy, progress="bar")


@pytest.fixture(scope="module")
def verdict():
    return assess(LinearRegression(), DATA.X, DATA.y, DATA.X_target, random_state=0, cv=2)


def test_every_candidate_keeps_its_model(verdict, toy):
    for candidate in verdict.candidates:
        assert candidate.model.predict(toy[2]).shape == (300,)
        assert "model" not in candidate.to_dict()
        assert "model" not in repr(candidate)
    assert verdict.candidate(verdict.use).model is verdict.model


def test_a_verdict_keeps_what_pictures_are_drawn_from(verdict, toy):
    X, _, X_target = toy
    diagnosis, problem = verdict._diagnosis, verdict._problem
    assert np.exp(diagnosis.log_ratio).mean() == pytest.approx(1)
    # one scale for both samples: a row of either has one ratio
    raw = problem.ratio.score_samples(np.vstack([X[:3], X_target[:3]]))
    both = np.append(diagnosis.log_ratio[:3], diagnosis.log_ratio_target[:3])
    assert np.ptp(raw - both) < 1e-12
    assert diagnosis.domain.log_odds.shape == (X.shape[0] + X_target.shape[0],)
    assert {"_problem", "_diagnosis"} & verdict.to_dict().keys() == set()


@pytest.mark.more
def test_models_assessed_together_get_the_verdicts_they_get_alone(toy):
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    few = ImportanceWeightedCV(tree, search=GridSearch(lam=3, alpha=1), random_state=0)
    estimators = {"line": LinearRegression(), "tree": few}
    options = {"random_state": 0, "cv": 2}  # one ratio is estimated, and shared
    told = []
    together = assess_models(
        estimators,
        *toy,
        question=Question(progress=lambda *each: told.append(each), **options),
    )
    for name, estimator in estimators.items():
        alone = assess(estimator, *toy, **options)
        assert together[name].to_dict() == alone.to_dict()
    totals = {stage: total for stage, _, total in told}
    assert totals == {"shift": 16 + 2 * 3, "bridge": 4 + 2, "verify": 2 * (4 + 2)}
    assert together["line"]._problem is together["tree"]._problem


def test_models_of_two_kinds_are_refused(toy):
    X, y, X_target = toy
    models = {"line": LinearRegression(), "classes": LogisticRegression()}
    with pytest.raises(ValueError, match="classifiers only or regressors only"):
        assess_models(models, X, y > y.mean(), X_target)
    with pytest.raises(ValueError, match="Got 0 models"):
        assess_models({}, X, y, X_target)


@pytest.mark.parametrize(
    "estimator",
    [
        ImportanceWeighted(LinearRegression(), weighting=Geodesic(0.8, 2.0)),
        ImportanceWeightedCV(
            LinearRegression(), lam_bounds=(0.8, 0.8), alpha_bounds=(2, 2), answer="argmin"
        ),
    ],
)
def test_a_weighting_that_leaves_nothing_to_choose_is_given(estimator, toy):
    verdict = assess(estimator, *toy, **TWO)
    given = verdict.candidate("given")
    assert (given.lam, given.alpha, given.literature) == (0.8, 2.0, "yours")
    assert verdict.candidates[-1] is given


def test_what_one_number_leaves_open_is_tuned(toy):
    lam = ImportanceWeightedCV(
        LinearRegression(), lam_bounds=(0.8, 0.8), answer="argmin", random_state=0
    )
    alpha = ImportanceWeightedCV(LinearRegression(), alpha_bounds=(2, 2), random_state=0)
    names = ["none", "tuned"]
    tuned = [
        assess(each, *toy, candidates=names, **TWO).candidate("tuned") for each in (lam, alpha)
    ]
    assert tuned[0].lam == 0.8
    assert tuned[1].alpha in (None, 2.0)


def test_bounds_without_no_weights_are_refused_before_any_work(toy):
    own = ImportanceWeightedCV(LinearRegression(), lam_bounds=(0.8, 0.8))
    told = []
    with pytest.raises(ValueError, match="exclude lam = 0"):
        assess(own, *toy, progress=lambda *each: told.append(each))
    assert told == []


@pytest.mark.more
def test_transformers_fitted_once_a_fold_change_nothing():
    """The same pipeline, hidden from the short cut by a criterion that is the default one."""
    data = make_clinic(300, 200, random_state=0)
    arguments = (data.X, data.y, data.X_target)
    plain = ImportanceWeightedCV(clinic_model(), random_state=0)
    named = ImportanceWeightedCV(clinic_model(), criterion=LeaveOneOut(), random_state=0)
    one, other = (
        assess(each, *arguments, candidates=["none", "full", "tuned"], random_state=0, cv=2)
        for each in (plain, named)
    )
    for name in ("none", "full", "tuned"):
        held_out = [each._held_out[name].source["predict_proba"] for each in (one, other)]
        np.testing.assert_allclose(*held_out, rtol=1e-9)
        assert asdict(one.candidate(name).risk.estimate) == pytest.approx(
            asdict(other.candidate(name).risk.estimate)
        )
