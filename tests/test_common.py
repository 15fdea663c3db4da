"""scikit-learn's own checks: the wrapper may fail only what its inner estimator fails.

One estimator of each kind is checked by `make test`, the others by `make test-more`.
"""

import doctest
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.model_selection import GridSearch
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    GaussianRatio,
    KnownRatio,
    NearestNeighbourRatio,
)
from weighbridge.weighting import RIWERM, Geodesic


class GentleLogRatio:
    """A ratio between 1/e and e that differs from row to row, for any kind of X."""

    def __call__(self, X):
        column = X[:, [0]].toarray() if sp.issparse(X) else np.asarray(X)[:, [0]]
        return np.tanh(np.nan_to_num(column.astype(float).ravel()))

    def __repr__(self):  # names of tests must not contain addresses
        return "gentle"


REGRESSOR, CLASSIFIER = Ridge(), LogisticRegression()
OTHERS = [
    SVC(),
    RandomForestClassifier(n_estimators=3, random_state=0),
    RandomForestRegressor(n_estimators=3, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), Ridge()),
]


class LastStepWeighted(Pipeline):
    """The pipeline itself, with a door for the weights of its last step.

    Pipeline.fit has no sample_weight, so that scikit-learn would not ask it about weights at all.
    """

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, **{f"{self.steps[-1][0]}__sample_weight": sample_weight})


def _inner_fails_too(inner, check):
    """Run the same check on a copy of the inner estimator alone."""
    inner = clone(inner)
    inner = LastStepWeighted(inner.steps) if isinstance(inner, Pipeline) else inner
    try:
        check.func(type(inner).__name__, inner, **check.keywords)
    except Exception:  # noqa: BLE001
        return True
    return False


def _weighted(inner):
    return ImportanceWeighted(inner, KnownRatio(GentleLogRatio()), weighting=RIWERM(0.7))


@parametrize_with_checks([_weighted(REGRESSOR), _weighted(CLASSIFIER)])
def test_importance_weighted(estimator, check):
    _check_as_the_inner_estimator(estimator, check)


@pytest.mark.more
@parametrize_with_checks([_weighted(inner) for inner in OTHERS])
def test_importance_weighted_of_other_models(estimator, check):
    _check_as_the_inner_estimator(estimator, check)


def _check_as_the_inner_estimator(estimator, check):
    try:
        check(estimator)
    except SkipTest:
        raise
    except Exception:
        if _inner_fails_too(estimator.estimator, check):
            pytest.xfail("the inner estimator fails it too")
        raise


def _searched(inner):
    # the same seed for all, or the folds would differ between two fits of one check
    ratio = KnownRatio(GentleLogRatio())
    return ImportanceWeightedCV(inner, ratio, search=GridSearch(3, 2), random_state=0)


def _declared_by_the_guide():
    """Return the checks that fail by design with their reason, as the guide writes them down."""
    page = Path(__file__).parents[1] / "docs" / "guide" / "estimator.rst"
    parts = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    names = {}
    for part in parts:
        if part.source.startswith(("reason = ", "held_out = ")):
            exec(part.source, names)
    return names["held_out"]


HELD_OUT = _declared_by_the_guide()
few_rows = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.SearchWarning")
# the blobs of these checks are small, and hardly overlap
little_overlap = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")


@few_rows
@parametrize_with_checks([_searched(CLASSIFIER)])
def test_importance_weighted_cv(estimator, check):
    _check_as_a_search(estimator, check)


@few_rows
@pytest.mark.more
@parametrize_with_checks(
    [
        _searched(inner)
        for inner in (REGRESSOR, *OTHERS)
        if not isinstance(inner, RandomForestRegressor)  # as the classifier, and slow
    ]
)
def test_importance_weighted_cv_of_other_models(estimator, check):
    _check_as_a_search(estimator, check)


def _check_as_a_search(estimator, check):
    if check.func.__name__ in HELD_OUT:
        pytest.xfail(HELD_OUT[check.func.__name__])
    _check_as_the_inner_estimator(estimator, check)


@few_rows
@little_overlap
@pytest.mark.more
@pytest.mark.parametrize("make", [_searched, ConformalRegressor, ConformalClassifier])
def test_the_guide_names_the_checks_that_fail(make):
    """What the guide says fails is all that fails, and does fail."""
    inner = REGRESSOR if make is ConformalRegressor else CLASSIFIER
    model = (
        _searched(inner)
        if make is _searched
        else make(inner, KnownRatio(GentleLogRatio()), random_state=0)
    )
    found = check_estimator(model, expected_failed_checks=HELD_OUT, on_skip=None)
    assert {each["check_name"] for each in found if each["status"] == "xfail"} == set(HELD_OUT)


@little_overlap
@parametrize_with_checks([KnownRatio(GentleLogRatio()), ULSIF(), ClassifierRatio()])
def test_ratios(estimator, check):
    check(estimator)


@little_overlap
@pytest.mark.more
@parametrize_with_checks(
    [
        KnownRatio(GentleLogRatio()),
        ClassifierRatio(LogisticRegression(), calibration="sigmoid"),
        ClassifierRatio(RandomForestClassifier(n_estimators=5, random_state=0), cv=3),
        ULSIF(relative=0.2),
        KLIEP(),
        KMM(),
        GaussianRatio(),
        GaussianRatio(shared=True),
        NearestNeighbourRatio(),
        AutoRatio(),
    ]
)
def test_other_ratios(estimator, check):
    check(estimator)


def test_geodesic_is_an_estimator_with_parameters():
    weighting = clone(Geodesic(lam=0.3, alpha=2))
    assert weighting.get_params() == {"lam": 0.3, "alpha": 2}
    assert weighting.set_params(lam=0.5).lam == 0.5
    assert repr(weighting) == "Geodesic(alpha=2, lam=0.5)"


@pytest.mark.parametrize(
    "inner", [REGRESSOR, CLASSIFIER, *OTHERS], ids=lambda inner: type(inner).__name__
)
def test_kind_is_that_of_the_inner_estimator(inner):
    wrapper = ImportanceWeighted(inner)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        assert hasattr(wrapper, method) == hasattr(inner, method)
