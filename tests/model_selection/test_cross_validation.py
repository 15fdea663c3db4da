"""Held-out folds: the fits, losses and scores are those of scikit-learn."""

from itertools import islice, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import fbeta_score, get_scorer, make_scorer, max_error
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from weighbridge import Geodesic
from weighbridge._pass_weights import fit_with_weights
from weighbridge.model_selection import (
    ROW_LOSSES,
    AllFailedError,
    CrossValidation,
    HoldOut,
    Point,
    default_scoring,
    evaluate_points,
    respond,
)
from weighbridge.weighting import RIWERM, mean_one

POINTS = [Point(0.0, 1.0), Point(1.0, 1.0), Point(0.5, 3.0), Point(0.3, -2.0)]
REGRESSORS = [
    LinearRegression(),
    DecisionTreeRegressor(max_depth=3, random_state=0),
    make_pipeline(StandardScaler(), Ridge()),
]
CLASSIFIERS = [
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    SVC(gamma=0.5, tol=1e-10),
]


def _data_for(estimator, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] ** 2 + X @ [1.0, -1.0, 0.5] + rng.normal(size=n)
    return X, np.where(y > 0.5, "yes", "no") if is_classifier(estimator) else y, 0.5 * X[:, 0]


def _folds(estimator, cv=4):
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(cv, shuffle=True, random_state=3)


# --- the fits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [None, np.arange(120) % 3.0])
@pytest.mark.parametrize(
    ("estimator", "point"),
    # The last bits of the weights decide ties between the splits of a tree.
    [*product(REGRESSORS[::2], POINTS), *product([REGRESSORS[1], *CLASSIFIERS], POINTS[:2])],
)
def test_losses_are_those_of_fits_by_hand(estimator, point, counts):
    # Weights of the whole sample are scaled to mean 1 on the rows of each fit.
    X, y, s = _data_for(estimator)
    loss = ROW_LOSSES[default_scoring(estimator)]
    objective = CrossValidation(4, random_state=3).objective(estimator, X, y, s, counts)
    losses = next(objective.evaluate([point])).losses
    if counts is not None:
        X, y, s, counts = (array[counts > 0] for array in (X, y, s, counts))
    count = np.ones(y.size) if counts is None else counts
    r = mean_one(s, counts)
    np.testing.assert_allclose(
        objective.unit_weights, count * mean_one(RIWERM(0.9)(np.log(r)), counts), rtol=1e-12
    )
    w, expected = np.exp(Geodesic(*point)(np.log(r))), np.empty(y.size)
    classes = np.unique(y) if loss.of_classes else None
    codes = (y == "yes").astype(int) if loss.of_classes else y
    for train, test in _folds(estimator).split(X, y):
        scaled = count[train] * w[train] / np.average(w[train], weights=count[train])
        model = fit_with_weights(clone(estimator), X[train], y[train], scaled)
        expected[test] = loss.loss(codes[test], respond(model, X[test], loss.response, classes))
    np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-12)


def test_splitters_and_given_splits():
    X, y, s = _data_for(Ridge())
    own = (np.arange(120) >= 20).astype(float)
    for cv in (KFold(3), ShuffleSplit(2, random_state=0), None):
        objective = CrossValidation(cv).objective(Ridge(), X, y, s)
        assert next(objective.evaluate(POINTS[:1])).losses.size == objective.unit_weights.size
    # row numbers of given splits are the caller's, also where rows are left out
    splits = list(KFold(3).split(X))
    objective = CrossValidation(splits).objective(Ridge(), X, y, s, own)
    for (train, test), (given_train, given_test) in zip(objective.splits, splits, strict=True):
        np.testing.assert_array_equal(train + 20, given_train[given_train >= 20])
        np.testing.assert_array_equal(test + 20, given_test[given_test >= 20])


def test_hold_out_is_one_fold():
    X, y, s = _data_for(Ridge())
    objective = HoldOut(0.25, random_state=0).objective(Ridge(), X, y, s)
    ((train, test),) = objective.splits
    assert test.size == 30
    assert sorted([*train, *test]) == list(range(120))
    losses = next(objective.evaluate([Point(1.0, 1.0)])).losses
    model, test = Ridge().fit(X[train], y[train], mean_one(s[train])), np.sort(test)
    np.testing.assert_allclose(losses, (y[test] - model.predict(X[test])) ** 2, rtol=1e-9)
    # A class of one row cannot be stratified.
    lonely = np.where(np.arange(120) == 7, "one", np.where(y > 0, "a", "b"))
    HoldOut(random_state=0).objective(LogisticRegression(), X, lonely, s)


def test_a_row_that_is_held_out_often_is_one_unit():
    # repeated folds do not make more rows of 120
    X, y, s = _data_for(Ridge())
    often = RepeatedKFold(n_splits=4, n_repeats=10, random_state=0)
    scores = CrossValidation(often)(Ridge(), X, y, s, s)
    assert scores.losses.shape == (120,)
    losses = np.zeros(120)
    for train, test in often.split(X):
        w = mean_one(s)[train]
        fitted = Ridge().fit(X[train], y[train], w / w.mean())
        losses[test] += (y[test] - fitted.predict(X[test])) ** 2 / 10
    np.testing.assert_allclose(scores.losses, losses, rtol=1e-9)


@pytest.mark.parametrize(
    "convert",
    [list, sp.csr_array, lambda X: pd.DataFrame(X, columns=list("abc"))],
    ids=["lists", "sparse", "pandas"],
)
def test_other_containers_give_the_same_losses(convert):
    X, y, s = _data_for(Ridge())
    criterion = CrossValidation(4, random_state=0)
    # sparse ridge regression centres in another way, by an iterative solver
    estimator = Ridge(solver="sparse_cg", tol=1e-12)
    losses = [criterion(estimator, table, y, s, s).losses for table in (X, convert(X))]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


# --- the losses --------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", sorted(set(ROW_LOSSES) - {"neg_squared_margin"}))
def test_row_losses_average_to_the_scorer(scoring, classes):
    loss = ROW_LOSSES[scoring]
    estimator = GaussianNB() if loss.of_classes else PoissonRegressor()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, classes, size=200)
    weights = rng.uniform(size=200)
    names = np.unique(y) if loss.of_classes else None
    model = estimator.fit(X, y)
    losses = loss.loss(y, respond(model, X, loss.response, names))
    score = get_scorer(scoring)(model, X, y, sample_weight=weights)
    expected = 1 - score if scoring == "accuracy" else -score
    assert np.average(losses, weights=weights) == pytest.approx(expected, rel=1e-12)


def test_squared_margin_is_a_brier_score_of_clipped_margins():
    # ((1 - y f) / 2)^2 within the margin, 0 or 1 beyond; of more classes, twice the error rate.
    X, y, s = _data_for(SVC())
    assert default_scoring(SVC()) == "neg_squared_margin"
    losses = CrossValidation(KFold(4))(SVC(gamma=0.5), X, y, s, np.zeros(120)).losses
    decision = cross_val_predict(SVC(gamma=0.5), X, y, cv=KFold(4), method="decision_function")
    signed = np.where(y == "yes", decision, -decision)
    expected = np.clip((1 - signed) / 2, 0, 1) ** 2
    np.testing.assert_allclose(losses, expected, rtol=1e-8, atol=1e-12)
    three = np.arange(120) % 3
    margin, errors = (
        CrossValidation(KFold(4), scoring=name)(SVC(gamma=0.5), X, three, s, s).losses
        for name in (None, "accuracy")
    )
    np.testing.assert_array_equal(margin, 2 * errors)


def test_a_class_missing_in_a_fold_has_probability_zero_and_a_finite_loss():
    X, y, s = _data_for(SVC())
    y = np.where(np.arange(y.size) == 11, "none such", y)
    for scoring, worst in (("neg_log_loss", -np.log(np.finfo(float).eps)), ("accuracy", 1.0)):
        criterion = CrossValidation(4, scoring=scoring, random_state=0)
        losses = criterion(GaussianNB(), X, y, s, s).losses
        assert losses[11] == pytest.approx(worst)
        assert np.isfinite(losses).all()


@pytest.mark.parametrize(
    ("scoring", "estimator"),
    [
        ("roc_auc", LogisticRegression()),
        ("roc_auc", SVC(gamma=0.5)),
        ("r2", Ridge()),
        (make_scorer(fbeta_score, beta=2, pos_label="yes"), LogisticRegression()),
    ],
)
def test_other_scorers_give_one_loss_for_each_fold(scoring, estimator):
    X, y, s = _data_for(estimator)
    objective = CrossValidation(4, scoring=scoring, random_state=3).objective(estimator, X, y, s)
    evaluation = next(objective.evaluate([Point(1.0, 1.0)]))
    validation = mean_one(RIWERM(0.9)(np.log(mean_one(s))))
    for number, (train, test) in enumerate(_folds(estimator).split(X, y)):
        model = clone(estimator).fit(X[train], y[train], mean_one(s[train]))
        score = get_scorer(scoring)(model, X[test], y[test], sample_weight=validation[test])
        assert evaluation.losses[number] == pytest.approx(-score, rel=1e-6)
        assert objective.unit_weights[number] == pytest.approx(validation[test].sum())


def test_a_scorer_without_weights_fails_clearly():
    X, y, s = _data_for(Ridge())
    criterion = CrossValidation(scoring=make_scorer(max_error))
    with pytest.raises(ValueError, match=r"cannot be scored\. TypeError.*sample_weight"):
        criterion(Ridge(), X, y, s, s)
    objective = criterion.objective(Ridge(), X, y, s)
    with pytest.raises(AllFailedError, match="whether the metric takes sample_weight"):
        evaluate_points(objective, POINTS)


# --- many candidates --------------------------------------------------------------------


class Counting(RegressorMixin, BaseEstimator):
    """The mean, which notes every fit and fails where the first row's weight is too large."""

    fits = 0

    def __init__(self, limit=np.inf, value=0.0):
        self.limit = limit
        self.value = value

    def fit(self, X, y, sample_weight):
        type(self).fits += 1
        if sample_weight.max() > self.limit:
            raise RuntimeError("a weight is too large")
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_ + self.value)


def test_candidates_are_fitted_when_they_are_asked_for_in_order():
    X, y, s = _data_for(Ridge())
    objective = CrossValidation(3, random_state=0).objective(Counting(), X, y, s)
    Counting.fits = 0
    evaluations = objective.evaluate(POINTS)
    assert Counting.fits == 0
    for number, evaluation in enumerate(islice(evaluations, 3), 1):
        assert evaluation.point == POINTS[number - 1]
        assert Counting.fits == 3 * number
    assert list(objective.evaluate([])) == []


def test_failures_are_recorded_not_raised():
    X, y, s = _data_for(Ridge())
    without = np.where(np.arange(120) < 30, 0.0, -np.inf)
    deviance = CrossValidation(scoring="neg_mean_poisson_deviance")
    for criterion, estimator, log_ratio, message in (
        (CrossValidation(3), Counting(limit=2.0), s, "RuntimeError: a weight is too large"),
        (CrossValidation(KFold(4)), Ridge(), without, "left to fit on has weight 0"),
        (deviance, Ridge(), s, "of 120 held-out losses are NaN or inf"),
        (CrossValidation(3), Counting(value=np.nan), s, "NaN"),
    ):
        objective = criterion.objective(estimator, X, np.maximum(y, 0), log_ratio)
        evaluation = list(objective.evaluate(POINTS[:2]))[1]
        assert evaluation.losses is None
        assert message in evaluation.error


def test_rows_of_weight_0_leave_the_columns_of_a_kernel_matrix():
    # libsvm reads the wrong columns otherwise; sample weights of 0 leave before the folds.
    X, y, s = _data_for(SVC())
    machine, kernel = SVC(gamma=0.5, tol=1e-10), rbf_kernel(X, gamma=0.5)
    precomputed = clone(machine).set_params(kernel="precomputed")
    criterion, equal = CrossValidation(4, random_state=3), 0 * X[:, 0]
    for log_weight in (s, np.where(np.arange(120) % 5 == 1, -np.inf, s)):
        expected = criterion(machine, X, y, equal, log_weight).losses
        losses = criterion(precomputed, kernel, y, equal, log_weight).losses
        np.testing.assert_allclose(losses, expected, atol=1e-8)
    used = np.arange(120) >= 40
    whole = criterion.objective(precomputed, kernel, y, s, used.astype(float))
    alone = criterion.objective(precomputed, kernel[np.ix_(used, used)], y[used], s[used])
    losses = [[each.losses for each in rows.evaluate(POINTS[:2])] for rows in (whole, alone)]
    np.testing.assert_allclose(*losses, rtol=1e-10)


def test_the_number_of_jobs_changes_no_bit():
    X, y, s = _data_for(LogisticRegression())
    one, two = (
        CrossValidation(4, random_state=0)
        .objective(make_pipeline(StandardScaler(), LogisticRegression()), X, y, s, n_jobs=n_jobs)
        .evaluate(POINTS)
        for n_jobs in (1, 2)
    )
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.losses, second.losses)


# --- pipelines ----------------------------------------------------------------------------


def _frame(n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40, 10, n), "town": rng.choice(["a", "b", "c"], n)})
    X.loc[::7, "age"] = np.nan
    y = (X["age"].fillna(30) + 5 * (X["town"] == "a") + rng.normal(0, 5, n) > 40).to_numpy()
    return X, y, rng.normal(size=n)


def _prepared(last, *more):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["town"]),
    )
    return make_pipeline(columns, *more, last)


@pytest.mark.parametrize("last", [LogisticRegression(), RandomForestClassifier(5, random_state=0)])
def test_transformers_that_ignore_labels_are_fitted_once_a_fold_and_change_no_loss(last):
    X, y, s = _frame()
    criterion = CrossValidation(random_state=0)
    # A step that may do anything keeps the pipeline whole.
    once, whole = (
        criterion(model, X, y, s, s).losses
        for model in (_prepared(last), _prepared(last, FunctionTransformer()))
    )
    np.testing.assert_array_equal(once, whole)


def test_a_metric_of_the_rows_as_a_whole_sees_the_pipeline_and_the_table():
    X, y, s = _frame()

    def score(model, X, y, sample_weight):
        assert isinstance(model, Pipeline)
        return float(np.average(model.predict(X[["age", "town"]]) == y, weights=sample_weight))

    criterion = CrossValidation(scoring=score, random_state=0)
    assert 0 < -criterion(_prepared(LogisticRegression()), X, y, s, s).value <= 1


def test_a_table_that_a_transformer_cannot_take_is_a_failure_in_its_words():
    X, y, s = _frame()
    X.loc[3, "town"] = "nowhere else"
    encoder = make_column_transformer((OneHotEncoder(), ["town"]))
    strict = make_pipeline(encoder, LogisticRegression())
    objective = CrossValidation(random_state=0).objective(strict, X, y, s)
    assert "unknown categories" in next(objective.evaluate(POINTS)).error
