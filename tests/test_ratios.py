"""Density ratios on problems with a known answer, and what they refuse."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from weighbridge import Geodesic
from weighbridge._folds import assign_folds
from weighbridge.datasets import make_gaussian_shift
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import ClassifierRatio, KnownRatio, fit_ratio
from weighbridge.tables._row_keys import RowScores

# --- KnownRatio --------------------------------------------------------------------------------


def test_three_ways_to_know_a_ratio_agree():
    X = np.linspace(-3, 3, 50)[:, None]
    source, target = stats.norm(0, 1), stats.norm(1, 1)
    expected = X[:, 0] - 0.5
    ways = [
        KnownRatio(lambda X: X[:, 0] - 0.5),
        KnownRatio(source=source, target=target),
        KnownRatio(
            source=lambda X: source.logpdf(X[:, 0]), target=lambda X: target.logpdf(X[:, 0])
        ),
    ]
    for ratio in ways:
        np.testing.assert_allclose(ratio.score_samples(X), expected, atol=1e-12)


def test_discrete_and_multivariate_distributions():
    counts = np.array([[0], [3]])
    ratio = KnownRatio(source=stats.poisson(1), target=stats.poisson(2))
    np.testing.assert_allclose(ratio.score_samples(counts), counts[:, 0] * np.log(2) - 1)
    X = np.random.default_rng(0).normal(size=(20, 3))
    ratio = KnownRatio(
        source=stats.multivariate_normal(np.zeros(3)), target=stats.multivariate_normal(np.ones(3))
    )
    np.testing.assert_allclose(ratio.score_samples(X), X.sum(axis=1) - 1.5, atol=1e-12)


def test_kernel_densities_as_source_and_target():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(400, 2)), rng.normal(0.5, 1, size=(400, 2))
    by_scipy = KnownRatio(
        source=stats.gaussian_kde(X.T, 0.4), target=stats.gaussian_kde(X_target.T, 0.4)
    )
    expected = stats.gaussian_kde(X_target.T, 0.4).logpdf(X[:2].T) - stats.gaussian_kde(
        X.T, 0.4
    ).logpdf(X[:2].T)
    np.testing.assert_allclose(by_scipy.score_samples(X[:2]), expected)
    densities = [KernelDensity(bandwidth=0.4).fit(part) for part in (X, X_target)]
    by_sklearn = KnownRatio(source=densities[0], target=densities[1]).score_samples(X)
    assert np.corrcoef(by_sklearn, X.sum(axis=1))[0, 1] > 0.8


def test_outside_both_supports_the_ratio_is_zero():
    ratio = KnownRatio(source=stats.uniform(0, 1), target=stats.uniform(0, 0.5))
    np.testing.assert_array_equal(
        ratio.score_samples([[0.2], [0.7], [5.0]]), [np.log(2), -np.inf, -np.inf]
    )
    np.testing.assert_array_equal(
        KnownRatio(source=stats.uniform(0, 1), target=stats.uniform(0, 2)).score_samples([[1.5]]),
        [np.inf],
    )


def test_known_ratio_is_fitted_from_birth_and_survives_clone_and_pickle():
    ratio = KnownRatio(source=stats.norm(0, 1), target=stats.norm(1, 1))
    for copy in (clone(ratio), pickle.loads(pickle.dumps(ratio))):
        assert copy.score_samples([[0.5]]) == 0
        assert copy.predict([[2.0], [-2.0]]).tolist() == [1, 0]


def test_functions_get_data_frames_as_they_are():
    ratio = KnownRatio(lambda X: X["age"].to_numpy() / 10)
    for frame in (pd.DataFrame({"age": [1.0, 2.0]}), pl.DataFrame({"age": [1.0, 2.0]})):
        np.testing.assert_allclose(ratio.score_samples(frame), [0.1, 0.2])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"source": stats.norm()},
        {"log_ratio": np.ravel, "source": stats.norm(), "target": stats.norm()},
    ],
)
def test_known_ratio_needs_exactly_one_way(parameters):
    with pytest.raises(ValueError, match="needs exactly one of"):
        KnownRatio(**parameters).score_samples([[0.0]])


def test_known_ratio_errors_name_the_culprit():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"log_ratio\(X\) of shape \(4, 2\)"):
        KnownRatio(lambda X: X).score_samples(X)
    with pytest.raises(ValueError, match=r"source\(X\) of shape \(4, 2\)|target\(X\) of shape"):
        KnownRatio(source=stats.norm(), target=stats.norm()).score_samples(X)
    with pytest.raises(TypeError, match=r"Got log_ratio of type ndarray.*sample_weight"):
        KnownRatio(np.zeros(4)).score_samples(X)
    with pytest.raises(TypeError, match="sparse X"):
        KnownRatio(source=stats.norm(), target=stats.norm()).score_samples(sp.csr_array(X[:, :1]))
    with pytest.raises(TypeError, match="Got target of type str"):
        KnownRatio(source=stats.norm(), target="normal").score_samples(X[:, :1])


# --- ClassifierRatio ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_target", [3000, 700])
def test_default_ratio_of_a_mean_shift(n_target):
    data = make_gaussian_shift(3000, n_target, n_features=3, random_state=0)
    got = fit_ratio(data.X, data.X_target).score_samples(data.X)
    # direction and constant: an inverted or uncorrected ratio is off by far more
    assert np.corrcoef(got, data.log_ratio)[0, 1] > 0.98
    assert np.exp(got).mean() == pytest.approx(1, abs=0.1)
    weights, true = np.exp(got), np.exp(data.log_ratio)
    error = np.mean((weights / weights.mean() - true / true.mean()) ** 2)
    # five other draws averaged 0.07; weights of 1 have an error of 1 - 1/e = 0.63
    assert error / np.mean((true / true.mean()) ** 2) < 0.12


def test_default_ratio_sees_a_change_of_scale():
    data = make_gaussian_shift(4000, 4000, shift=0.0, scale=0.6, random_state=0)
    got = fit_ratio(data.X, data.X_target).score_samples(data.X)
    weights, true = np.exp(got), np.exp(data.log_ratio)
    # weights of 1 have a squared error of 0.39
    assert np.mean((weights / weights.mean() - true / true.mean()) ** 2) < 0.01


class TellsLogOdds(DecisionTreeClassifier):
    """A classifier with a method of that name, which need not mean what we mean by it."""

    def log_odds(self, X):
        raise AssertionError("a classifier is asked for probabilities only")


def test_a_classifier_is_asked_for_probabilities_whatever_else_it_offers():
    data = make_gaussian_shift(200, 200, random_state=0)
    scores = [
        fit_ratio(
            data.X, data.X_target, ClassifierRatio(tree(max_depth=2, random_state=0))
        ).score_samples(data.X)
        for tree in (TellsLogOdds, DecisionTreeClassifier)
    ]
    np.testing.assert_array_equal(*scores)


def test_no_shift_gives_a_flat_ratio():
    rng = np.random.default_rng(0)
    got = fit_ratio(rng.normal(size=(1000, 4)), rng.normal(size=(800, 4)))
    assert np.abs(got.score_samples(rng.normal(size=(500, 4)))).mean() < 0.1


def test_rows_seen_in_fit_get_out_of_fold_scores():
    # labels are noise: a tree that has seen a row knows its sample, one that has not cannot
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(400, 5)), rng.normal(size=(400, 5))
    ratio = fit_ratio(X, X_target, ClassifierRatio(DecisionTreeClassifier(random_state=0)))
    rows, domain = np.vstack([X, X_target]), np.repeat([0, 1], 400)
    assert abs(roc_auc_score(domain, ratio.score_samples(rows)) - 0.5) < 0.06
    in_sample = DecisionTreeClassifier(random_state=0).fit(rows, domain).predict_proba(rows)[:, 1]
    assert roc_auc_score(domain, in_sample) == 1


def test_out_of_fold_scores_equal_the_fold_models_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [40, 20])
    splitter = ShuffleSplitAll(3)
    ratio = ClassifierRatio(LogisticRegression(), cv=splitter).fit(X, y)
    expected = np.empty(60)
    for train, test in splitter.split(X, y):
        model = LogisticRegression().fit(X[train], y[train])
        prior = np.log(y[train].mean() / (1 - y[train].mean()))
        expected[test] = model.decision_function(X[test]) - prior
    np.testing.assert_allclose(ratio.score_samples(X), expected, rtol=1e-12)
    order = rng.permutation(60)[:25]
    np.testing.assert_array_equal(ratio.score_samples(X[order]), ratio.score_samples(X)[order])
    new = rng.normal(size=(7, 2))
    by_fold = [
        model.decision_function(new) - np.log(y[train].mean() / (1 - y[train].mean()))
        for model, (train, _) in zip(ratio.estimators_, splitter.split(X, y), strict=True)
    ]
    np.testing.assert_allclose(ratio.score_samples(new), np.mean(by_fold, axis=0), rtol=1e-12)


class ShuffleSplitAll:
    """Three interleaved folds."""

    def __init__(self, n):
        self.n = n

    def get_n_splits(self, X=None, y=None, groups=None):
        return self.n

    def split(self, X, y=None, groups=None):
        rows = np.arange(len(X))
        return [(rows[rows % self.n != i], rows[rows % self.n == i]) for i in range(self.n)]


def test_equal_rows_get_one_score():
    # with a categorical column every row has twins in every fold
    X = np.random.default_rng(0).integers(0, 3, size=(600, 1)).astype(float)
    y = np.repeat([0, 1], 300)
    scores = ClassifierRatio(DecisionTreeClassifier()).fit(X, y).score_samples(X)
    assert np.unique(scores).size == 3


def test_categories_by_counting():
    # one categorical column: the ratio is the ratio of relative frequencies
    X = np.repeat([0.0, 1, 2], [351, 339, 310])[:, None]
    X_target = np.repeat([0.0, 1, 2], [252, 232, 516])[:, None]
    model = make_pipeline(OneHotEncoder(), LogisticRegression(C=1e4))
    ratio = fit_ratio(X, X_target, ClassifierRatio(model))
    got = np.exp(ratio.score_samples([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(1 / got, [1.393, 1.461, 0.601], rtol=0.03)


@pytest.mark.parametrize(
    "calibration", ["isotonic", pytest.param("sigmoid", marks=pytest.mark.more)]
)
def test_calibration_repairs_overconfident_odds(calibration):
    data = make_gaussian_shift(3000, 3000, random_state=0)
    forest = RandomForestClassifier(n_estimators=30, random_state=0, n_jobs=1)
    errors = {}
    for method in (None, calibration):
        got = fit_ratio(data.X, data.X_target, ClassifierRatio(forest, calibration=method))
        weights, true = np.exp(got.score_samples(data.X)), np.exp(data.log_ratio)
        errors[method] = np.mean((weights / weights.mean() - true / true.mean()) ** 2)
    assert errors[calibration] < 0.5 * errors[None]


def test_certain_probabilities_stay_finite():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + 100
    with pytest.warns(OverlapWarning, match="WB302"):
        ratio = fit_ratio(X, X_target, ClassifierRatio(DecisionTreeClassifier()))
    # 100 rows cannot show a probability closer to 0 than 1/200
    np.testing.assert_allclose(ratio.score_samples(X), np.log(1 / 199))


def test_ratio_is_a_classifier_of_the_two_samples():
    data = make_gaussian_shift(800, 400, random_state=0)
    ratio = fit_ratio(data.X, data.X_target)
    rows, domain = np.vstack([data.X, data.X_target]), np.repeat([0, 1], [800, 400])
    assert ratio.score(rows, domain) > 0.7
    probability = ratio.predict_proba(rows)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert probability[:, 1].mean() == pytest.approx(1 / 3, abs=0.02)
    np.testing.assert_allclose(np.exp(ratio.predict_log_proba(rows)), probability)
    np.testing.assert_array_equal(ratio.predict(rows), probability[:, 1] > 0.5)
    scores = cross_val_score(ClassifierRatio(LogisticRegression()), rows, domain, scoring="roc_auc")
    assert scores.mean() == pytest.approx(stats.norm.cdf(0.5**0.5), abs=0.05)


def test_same_seed_same_bits():
    data = make_gaussian_shift(200, 200, random_state=0)
    first, second = (fit_ratio(data.X, data.X_target).score_samples(data.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_wide_and_sparse_data_with_the_default_model():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 60)), rng.normal(size=(300, 60)) + 0.2
    wide = fit_ratio(X, X_target, ClassifierRatio())
    assert wide.estimators_[0].coef.size == 120  # columns and squares, no products
    dense = (rng.random((300, 30)) < 0.1).astype(float), (rng.random((200, 30)) < 0.2).astype(float)
    ratio = fit_ratio(*(sp.csr_array(part) for part in dense), ClassifierRatio())
    scores = ratio.score_samples(sp.csr_array(dense[0]))
    assert scores.mean() < ratio.score_samples(sp.csc_array(dense[1])).mean()
    np.testing.assert_allclose(ratio.score_samples(sp.coo_array(dense[0])), scores)


def test_rows_are_found_again_in_any_container():
    X = np.array([[0.0, 1.5, -2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, -2.0]])
    names = ["a", "b", "c"]
    containers = [
        X,
        X[:, :] * -1.0 * -1.0,  # negative zeros
        sp.csr_array(X),
        sp.csc_matrix(X),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        pd.DataFrame(X, columns=names).astype(object),
    ]
    twice = sp.csr_array((np.r_[X[X != 0] / 2, X[X != 0] / 2], np.tile(X.nonzero(), 2)))
    for seen in containers:
        scores = RowScores(seen)
        scores.remember(np.arange(4.0))
        for same in [*containers, twice]:
            values, new = scores.find(same)
            assert values.tolist() == [0, 1, 2, 3]
            assert new.size == 0
        other = scores.find(np.array([[0.0, -2.0, 1.5], [3.0, 1e-3, 0.0]]))[1]
        assert other.tolist() == [0, 1]


def _awkward_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    yield "plain", x
    yield "beside a large constant", np.c_[x, np.full(300, 1e15)]
    yield "beside nanoseconds", np.c_[x, 1.7e18 + np.arange(300) * 1e9]
    yield "metres and pascals", x * [1e-9, 1e6]
    yield "large offset", 2.4e6 + 0.1 * x
    yield "seconds since 1970", 1.7e9 + 30 * x
    yield "with gaps", np.where(rng.random((300, 2)) < 0.2, np.nan, x)


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in _awkward_samples()])
def test_no_two_rows_are_confused_and_new_rows_are_new(X):
    scores = RowScores(X[:200])
    scores.remember(np.arange(200.0))
    distinct = np.unique(np.nan_to_num(X[:200], nan=99.0), axis=0).shape[0]
    assert scores.known.size == distinct
    values, new = scores.find(X[:200])
    assert new.size == 0
    assert np.unique(values).size == distinct
    unseen = [row for row in range(200, 300) if not np.isnan(X[row]).any()]
    assert scores.find(X[unseen])[1].size == len(unseen)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_rows_are_found_with_other_last_bits(offset):
    # low-rank data through a PCA: three columns of numbers and many of nothing but rounding
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 60)) + offset
    transform = PCA().fit(X).transform
    scores = RowScores(transform(X))
    scores.remember(np.arange(800.0))
    for low, high in ((0, 1), (0, 3), (5, 200), (0, 400), (0, 800)):
        values, new = scores.find(transform(X[low:high]))
        assert new.size == 0
        np.testing.assert_array_equal(values, np.arange(low, high))


def test_text_that_looks_like_numbers_stays_text():
    frame = pd.DataFrame({"zip": ["10115", "20095", "SW1A"], "x": [1.0, 2.0, np.nan]})
    scores = RowScores(frame)
    scores.remember(np.arange(3.0))
    for part in (frame.iloc[:2], frame.iloc[[2]], pl.from_pandas(frame)[:2]):
        assert scores.find(part)[1].size == 0
    dates = pd.DataFrame({"day": pd.to_datetime(["2026-01-01", "2026-01-02"]), "n": [1, 1]})
    scores = RowScores(dates)
    scores.remember(np.arange(2.0))
    assert scores.find(dates.iloc[[1]])[0].tolist() == [1]


def test_large_whole_numbers_are_told_apart():
    ids = np.arange(400)[:, None] + 2**40
    scores = RowScores(ids)
    scores.remember(np.arange(400.0))
    assert scores.known.size == 400


def test_slices_behind_a_matrix_product_keep_theirheld_out_scores():
    # a PCA gives a row other last bits in another batch; its score must stay the held-out one
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(403, 50)), rng.normal(size=(300, 50))
    forest = RandomForestClassifier(30, random_state=0, n_jobs=1)
    ratio = fit_ratio(
        X, X_target, make_pipeline(StandardScaler(), PCA(20), ClassifierRatio(forest))
    )
    whole = ratio.score_samples(X)
    for rows in (slice(0, 100), slice(7, 8), slice(200, 403)):
        np.testing.assert_array_equal(ratio.score_samples(X[rows]), whole[rows])


def test_copies_of_a_row_stay_in_one_fold():
    # no shift; a forest that has seen a row's copy would put the row into its own sample
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 5)), rng.normal(size=(300, 5))
    forest = ClassifierRatio(RandomForestClassifier(50, random_state=0, n_jobs=1))
    for copies in (X[rng.integers(0, 300, 300)], np.repeat(X, 3, axis=0), np.tile(X[:60], (10, 1))):
        ratio = fit_ratio(copies, X_target, forest)
        gap = ratio.score_samples(copies).mean() - ratio.score_samples(X_target).mean()
        assert gap > -0.4  # with copies on both sides of a fold: -1.6 to -6
    with pytest.raises(ValueError, match="copies of 1 row"):
        fit_ratio(X, np.repeat(X_target[:1], 200, axis=0), forest)


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=15),
    st.lists(st.integers(0, 9), min_size=2, max_size=15),
)
def test_every_training_fold_has_both_samples_and_every_row_is_held_out_once(source, target):
    codes = np.repeat([0, 1], [len(source), len(target)])
    group = np.unique(source + target, return_inverse=True)[1]
    try:
        folds = assign_folds(group, codes, 5)
    except ValueError:
        assert min(len(set(source)), len(set(target))) == 1
        return
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == list(range(codes.size))
    for train, _ in folds:
        assert set(codes[train]) == {0, 1}


def test_folds_are_stratified_by_sample():
    codes = np.repeat([0, 1], [400, 100])
    for train, test in assign_folds(np.arange(500), codes, 5):
        assert codes[train].sum() == 80
        assert codes[test].sum() == 20


def test_identical_samples_have_no_shift():
    X = np.random.default_rng(0).normal(size=(200, 2))
    scores = fit_ratio(X, X, ClassifierRatio(LogisticRegression())).score_samples(X)
    assert np.abs(scores).max() < 0.05


def test_a_failed_fit_leaves_the_earlier_one_whole():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [40, 20])
    ratio = ClassifierRatio().fit(X, y)
    before = ratio.score_samples(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="1 row"):
        ratio.fit(X[:41], y[:41])
    with pytest.raises(ValueError, match="one class"):
        ratio.fit(np.hstack([X, X]), np.zeros(60))
    assert ratio.n_features_in_ == 2
    assert ratio.score_samples(np.zeros((1, 2))) == before
    fresh = ClassifierRatio()
    with pytest.raises(ValueError, match="1 row"):
        fresh.fit(X[:41], y[:41])
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(SimpleImputer(), LogisticRegression()),
        GridSearchCV(HistGradientBoostingClassifier(max_iter=5), {"max_depth": [2]}, cv=2),
    ],
)
def test_missing_values_go_to_the_classifier_that_was_given(model):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
    X[0, 0] = np.nan
    ratio = fit_ratio(X, X_target, ClassifierRatio(model))
    assert np.isfinite(ratio.score_samples(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        fit_ratio(X, X_target, ClassifierRatio(LogisticRegression()))


# --- fit_ratio: columns, containers, refusals --------------------------------------------------


def _frames(library):
    rng = np.random.default_rng(0)
    source = {"age": rng.normal(0, 1, 300), "dose": rng.integers(0, 5, 300)}
    target = {"dose": rng.integers(0, 5, 200).astype(float), "age": rng.normal(1, 1, 200)}
    return library.DataFrame(source), library.DataFrame(target)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_frames_are_matched_by_name(library):
    X, X_target = _frames(library)
    ratio = fit_ratio(X, X_target)
    aligned = fit_ratio(X.to_numpy().astype(float), X_target[["age", "dose"]].to_numpy())
    np.testing.assert_allclose(ratio.score_samples(X), aligned.score_samples(X.to_numpy()))
    assert list(ratio.feature_names_in_) == ["age", "dose"]
    with pytest.raises(ValueError, match="feature names"):
        ratio.score_samples(X_target)


def test_columns_whose_labels_are_not_text_are_matched_too():
    rng = np.random.default_rng(0)
    X, X_target = (
        pd.DataFrame(rng.normal(size=(100, 2))),
        pd.DataFrame(rng.normal([0, 1], 1, (90, 2))),
    )
    expected = fit_ratio(X, X_target).score_samples(X)
    np.testing.assert_array_equal(fit_ratio(X, X_target[[1, 0]]).score_samples(X), expected)
    with pytest.raises(ValueError, match=r"columns \[0, 1\] and X_target with columns \[7, 8\]"):
        fit_ratio(X, X_target.rename(columns={0: 7, 1: 8}))


def test_frames_that_cannot_be_used():
    X = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="repeated column names"):
        fit_ratio(X, X)
    with pytest.raises(TypeError, match="X as a pandas and X_target as a polars data frame"):
        fit_ratio(pl.LazyFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]}))


def test_a_pipeline_is_fitted_only_if_all_its_steps_are():
    data = make_gaussian_shift(60, 50, random_state=0)
    scaled = make_pipeline(StandardScaler(), KnownRatio(np.ravel))
    ratio = fit_ratio(data.X, data.X_target, scaled)
    assert ratio.score_samples(data.X).shape == (60,)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_with_text_and_missing_values(library):
    rng = np.random.default_rng(0)
    X = library.DataFrame({"x": rng.normal(size=200), "site": rng.choice(["n", "s"], 200)})
    X_target = library.DataFrame({"x": rng.normal(size=100), "site": ["n"] * 90 + ["s"] * 10})
    if library is pd:
        X.loc[:5, "x"] = np.nan
        X = X.astype({"site": "category"})
        X_target = X_target.astype({"site": "category"})
        model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20)
        scores = fit_ratio(X, X_target, ClassifierRatio(model)).score_samples(X)
        assert scores[X["site"] == "n"].mean() > scores[X["site"] == "s"].mean() + 1
    scores = fit_ratio(X, X_target, ClassifierRatio()).score_samples(X)
    north = X["site"].to_numpy() == "n"
    assert scores[north].mean() > scores[~north].mean() + 1


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_categories_that_only_one_sample_has(library):
    rng = np.random.default_rng(0)
    X = library.DataFrame({"x": rng.normal(size=80), "city": ["oslo", "lima"] * 40})
    X_target = library.DataFrame({"x": rng.normal(size=60), "city": ["oslo", "lima", "rome"] * 20})
    if library is pd:
        X, X_target = X.astype({"city": "category"}), X_target.astype({"city": "category"})
        model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    else:
        X, X_target = (part.cast({"city": pl.Categorical}) for part in (X, X_target))
        columns = ColumnTransformer([("city", OneHotEncoder(handle_unknown="ignore"), ["city"])])
        model = make_pipeline(columns, LogisticRegression())
    ratio = fit_ratio(X, X_target, ClassifierRatio(model))
    assert np.isfinite(ratio.score_samples(X)).all()
    assert ratio.score_samples(X_target).mean() > ratio.score_samples(X).mean()


@pytest.mark.parametrize(
    ("ratio", "remedy"),
    [
        (LogisticRegression(), r"ClassifierRatio\(LogisticRegression\(\)\)"),
        (np.ones(3), "go into sample_weight"),
        (len, r"KnownRatio\(function\)"),
        (Geodesic(), "weighting="),
    ],
)
def test_what_is_no_ratio_is_refused_with_a_remedy(ratio, remedy):
    with pytest.raises(TypeError, match=remedy):
        fit_ratio(np.eye(4), np.eye(4), ratio)


def test_pipelines_end_in_a_ratio_and_freeze():
    data = make_gaussian_shift(300, 200, n_features=2, random_state=0)
    ratio = fit_ratio(data.X, data.X_target, make_pipeline(StandardScaler(), ClassifierRatio()))
    frozen = clone(FrozenEstimator(ratio))
    np.testing.assert_array_equal(frozen.score_samples(data.X), ratio.score_samples(data.X))


@pytest.mark.filterwarnings("ignore:WB107")
def test_fit_ratio_clones_what_it_is_given():
    template = ClassifierRatio(LogisticRegression())
    fit_ratio(np.eye(6), np.eye(6), template)
    assert not hasattr(template, "estimators_")


@pytest.mark.parametrize(
    ("X", "X_target", "message"),
    [
        (np.zeros((0, 2)), np.ones((5, 2)), "X with 0 samples"),
        (np.zeros((5, 2)), np.ones((1, 2)), "X_target with 1 sample "),
        (np.zeros((5, 2)), np.ones((5, 3)), "X with 2 columns and X_target with 3"),
        (np.zeros(5), np.ones((5, 1)), "got 1D array instead for X"),
        (np.full((5, 1), np.inf), np.ones((5, 1)), "infinity"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [1, 2]}), r"missing \['a'\], unexpected"),
    ],
)
def test_samples_that_cannot_be_compared(X, X_target, message):
    with pytest.raises(ValueError, match=message):
        fit_ratio(X, X_target)


@pytest.mark.parametrize(
    ("X", "X_target", "message"),
    [
        (pd.DataFrame({"a": [1, 2]}), np.ones((5, 1)), "both as data frames, or both as arrays"),
        (pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), "convert one of them"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["x", "y"]}), "column 'a' as Int64 in X"),
        (np.array([["a"], ["b"]]), np.ones((5, 1)), "X with text"),
    ],
)
def test_samples_of_different_types(X, X_target, message):
    with pytest.raises(TypeError, match=message):
        fit_ratio(X, X_target)


def test_a_fitted_ratio_is_not_fitted_again():
    with pytest.raises(ValueError, match="fitted already"):
        fit_ratio(np.eye(4), np.eye(4), KnownRatio(np.ravel))


@pytest.mark.parametrize(
    ("ratio", "error", "message"),
    [
        (ClassifierRatio(LinearSVC()), TypeError, "LinearSVC, which has no predict_proba"),
        (
            ClassifierRatio(make_pipeline(LogisticRegression(class_weight="balanced"))),
            ValueError,
            "logisticregression__class_weight='balanced'",
        ),
        (ClassifierRatio(calibration="platt"), ValueError, "calibration='platt'"),
        (ClassifierRatio(cv=1), ValueError, "at least 2 folds"),
        (ClassifierRatio(cv=ShuffleSplit(2, test_size=0.3)), ValueError, "every test fold"),
        (ClassifierRatio(cv=KFold(2)), ValueError, "one sample .class. only"),
        (
            ClassifierRatio(
                GridSearchCV(LogisticRegression(), {"class_weight": ["balanced"]}, cv=2)
            ),
            ValueError,
            "class_weight='balanced'",
        ),
    ],
)
def test_classifier_ratio_refuses(ratio, error, message):
    rng = np.random.default_rng(0)
    with pytest.raises(error, match=message):
        fit_ratio(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), ratio)


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
@pytest.mark.filterwarnings("ignore:WB107")
def test_leave_one_out_and_tiny_samples():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 0, 1, 1, 1])
    assert ClassifierRatio(cv=LeaveOneOut()).fit(X, y).score_samples(X).shape == (8,)
    assert len(ClassifierRatio(cv=np.int64(5)).fit(X, y).estimators_) == 3
    with pytest.raises(ValueError, match="at least 2 rows of each sample"):
        ClassifierRatio().fit(X[:6], y[:6])
