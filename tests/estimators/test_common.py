"""scikit-learn's own checks: the wrapper may fail only what its inner estimator fails.

One estimator of each kind is checked by `make test`, the others by `make test-more`.
"""

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from estimator_checks import (
    DECLARED_FAILURES,
    GentleLogRatio,
    check_as_the_inner_estimator,
    check_with_held_out_rows,
)
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
from weighbridge.weighting import RIWERM

GENTLE = KnownRatio(GentleLogRatio())
REGRESSOR, CLASSIFIER = Ridge(), LogisticRegression()
OTHERS = [
    SVC(),
    RandomForestClassifier(n_estimators=3, random_state=0),
    RandomForestRegressor(n_estimators=3, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), Ridge()),
]
few_rows = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.SearchWarning")
# The samples of these checks are small and hardly overlap.
little_overlap = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")


def _weighted(inner):
    return ImportanceWeighted(inner, GENTLE, weighting=RIWERM(0.7))


def _searched(inner):
    # With another seed, the folds would differ between two fits of one check.
    search = GridSearch(3, 2)
    return ImportanceWeightedCV(inner, GENTLE, search=search, answer="argmin", random_state=0)


@parametrize_with_checks([_weighted(REGRESSOR), _weighted(CLASSIFIER)])
def test_importance_weighted(estimator, check):
    check_as_the_inner_estimator(estimator, check)


@pytest.mark.more
@parametrize_with_checks([_weighted(inner) for inner in OTHERS])
def test_importance_weighted_of_other_models(estimator, check):
    check_as_the_inner_estimator(estimator, check)


@few_rows
@parametrize_with_checks([_searched(CLASSIFIER)])
def test_importance_weighted_cv(estimator, check):
    check_with_held_out_rows(estimator, check)


# The forest for regression is slow, and fails for the same reasons as that for classification.
@few_rows
@pytest.mark.more
@parametrize_with_checks([_searched(inner) for inner in (REGRESSOR, *OTHERS[:2], *OTHERS[3:])])
def test_importance_weighted_cv_of_other_models(estimator, check):
    check_with_held_out_rows(estimator, check)


@few_rows
@little_overlap
@pytest.mark.more
@pytest.mark.parametrize("make", [_searched, ConformalRegressor, ConformalClassifier])
def test_checks_fail_if_and_only_if_the_guide_names_them(make):
    inner = REGRESSOR if make is ConformalRegressor else CLASSIFIER
    model = _searched(inner) if make is _searched else make(inner, GENTLE, random_state=0)
    results = check_estimator(model, expected_failed_checks=DECLARED_FAILURES, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(DECLARED_FAILURES)


@little_overlap
@parametrize_with_checks([GENTLE, ULSIF(), ClassifierRatio()])
def test_ratios(estimator, check):
    check(estimator)


@little_overlap
@pytest.mark.more
@parametrize_with_checks(
    [
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


@pytest.mark.parametrize(
    "inner", [REGRESSOR, CLASSIFIER, *OTHERS], ids=lambda inner: type(inner).__name__
)
def test_wrapper_has_the_methods_of_the_inner_estimator(inner):
    wrapper = ImportanceWeighted(inner)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        assert hasattr(wrapper, method) == hasattr(inner, method)
