"""ImportanceWeightedCV: it wins where weights matter, stays away elsewhere, loses nothing."""

import pickle
import re
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_backend
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info

from weighbridge import Geodesic, ImportanceWeightedCV, fit_ratio
from weighbridge._pass_weights import fit_with_weights
from weighbridge.datasets import make_gaussian_shift, make_quadratic
from weighbridge.diagnosis import effective_sample_size
from weighbridge.exceptions import OverlapWarning, SearchWarning
from weighbridge.model_selection import (
    BayesianSearch,
    CrossValidation,
    GridSearch,
    HoldOut,
    InformationCriterion,
    LeaveOneOut,
)
from weighbridge.ratios import ClassifierRatio, DensityRatioMixin, GaussianRatio, KnownRatio
from weighbridge.weighting import IWERM


def _tilt(X):
    return 0.8 * np.asarray(X, dtype=float)[:, 0]


TILT = KnownRatio(_tilt)


@pytest.fixture(scope="module")
def curved():
    """A curved truth, a mean shift: a straight line needs weights."""
    return make_quadratic(600, 300, reading="all_sd", random_state=0)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    code = (X[:, 1] + X[:, 0] ** 2 + 0.5 * rng.normal(size=240) > 1).astype(int)
    return X, np.array(["no", "yes"])[code]


def _plain_regression(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=n)


# --- the choice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["guard", "argmin"])
def test_wins_where_the_model_is_wrong(curved, answer):
    model = ImportanceWeightedCV(LinearRegression(), curved.ratio, answer=answer, random_state=0)
    model.fit(curved.X, curved.y)
    unweighted = curved.problem.mse(LinearRegression().fit(curved.X, curved.y))
    noise = curved.problem.limit(lam=1)
    assert curved.problem.mse(model.estimator_) - noise < 0.1 * (unweighted - noise)
    assert model.best_weighting_.lam > 0
    assert model.overlap_ == "enough"


def test_no_weights_where_they_gain_nothing():
    # the model is right: any weights only add variance
    chosen = []
    for seed in range(20):
        X, y = _plain_regression(seed=seed)
        model = ImportanceWeightedCV(LinearRegression(), TILT, answer="guard").fit(X, y)
        chosen.append(model.best_weighting_.lam)
    assert np.mean(np.array(chosen) == 0) > 0.5


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_samples_that_hardly_differ_are_not_searched(slope):
    # a forest draws other rows with weights of 1 than without any
    X, y = _plain_regression()
    forest = RandomForestClassifier(10, random_state=0)
    label = (y > 0).astype(int)
    model = ImportanceWeightedCV(forest, KnownRatio(lambda X: slope * X[:, 0])).fit(X, label)
    assert model.best_weighting_.lam == 0
    assert model.search_result_ is None
    assert model.reason_.startswith("The samples hardly differ (the full ratio has ")
    plain = clone(forest).fit(X, label)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.weights_, 1)


def _apart(gap, n=200):
    rng = np.random.default_rng(1)
    X, X_target = rng.normal(size=(2, n, 2))
    X_target[:, 0] += gap
    return X, X[:, 0] ** 2 + rng.normal(size=n), X_target


@pytest.mark.parametrize("gap", [6.0, 20.0])
@pytest.mark.parametrize("estimator", [LinearRegression(), SVR()])
def test_broken_overlap_stays_without_weights_and_says_so(gap, estimator):
    X, y, X_target = _apart(gap)
    model = ImportanceWeightedCV(estimator, ClassifierRatio(), random_state=0)
    with pytest.warns(OverlapWarning) as caught:
        model.fit(X, y, X_target=X_target)
    assert {str(each.message)[:5] for each in caught} == {"WB302"}
    assert model.overlap_ == "broken"
    assert (model.best_weighting_.lam, model.search_result_) == (0.0, None)
    assert model.reason_.startswith("Overlap is broken (")
    np.testing.assert_allclose(model.predict(X), clone(estimator).fit(X, y).predict(X), rtol=1e-12)


def test_a_frozen_ratio_remembers_the_rows_outside():
    X, y, X_target = _apart(6.0)
    with pytest.warns(OverlapWarning, match="WB302"):
        ratio = fit_ratio(X, X_target, ClassifierRatio())
    with pytest.warns(OverlapWarning, match=r"WB302 .* fitted without weights"):
        model = ImportanceWeightedCV(LinearRegression(), FrozenEstimator(ratio)).fit(X, y)
    assert model.best_weighting_.lam == 0


def test_argmin_overrides_the_judgement_of_overlap():
    X, y, _ = _apart(6.0)
    steep = KnownRatio(lambda X: 6 * X[:, 0])
    with pytest.warns(OverlapWarning, match="WB302 .* held-out losses, which rest on few rows"):
        model = ImportanceWeightedCV(LinearRegression(), steep, answer="argmin").fit(X, y)
    assert model.best_weighting_.lam == model.search_result_.best.lam > 0


@pytest.mark.parametrize("value", [np.nan, np.inf, 5000.0])
def test_rows_that_do_not_count_have_no_say_in_overlap(value):
    X, y, _ = _apart(6.0)
    own = np.ones(200)
    own[0] = 0
    steep = KnownRatio(lambda X: np.where(np.arange(200) == 0, value, 6 * X[:, 0]))
    with pytest.warns(OverlapWarning, match="WB302"):
        model = ImportanceWeightedCV(LinearRegression(), steep).fit(X, y, own)
    assert model.overlap_ == "broken"


def test_thin_overlap_stays_without_weights_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15))
    y = X[:, 0] + np.where(X[:, 0] > 0.5, 20 * (X[:, 0] - 0.5), 0) + 0.1 * rng.normal(size=200)
    ratio = KnownRatio(lambda X: 2 * X[:, 0])
    with pytest.warns(OverlapWarning, match="WB301 overlap is thin.* fitted without weights"):
        model = ImportanceWeightedCV(Ridge(), ratio).fit(X, y)
    full = effective_sample_size(np.exp(model.log_ratio_))
    assert 10 < full < 50
    assert (model.overlap_, model.best_weighting_.lam) == ("thin", 0)
    # The limit depends on the number of parameters.
    model = ImportanceWeightedCV(Ridge(), ratio).fit(X[:, :1], y)
    assert (model.overlap_, model.best_weighting_.lam > 0) == ("enough", True)


def test_label_shift_is_weighted_however_thin_the_overlap():
    rng = np.random.default_rng(0)
    y, y_target = (np.arange(800) < n_positive for n_positive in (16, 480))
    X, X_target = (rng.normal(size=(800, 12)) + classes[:, None] for classes in (y, y_target))
    model = ImportanceWeightedCV(LogisticRegression(), shift="label", random_state=0)
    with pytest.warns(OverlapWarning, match="WB301"):
        model.fit(X, y, X_target=X_target)
    assert (model.overlap_, model.best_weighting_.lam) == ("thin", 1)
    assert model.search_result_.points[:, 0].tolist() == [0, 1]


def test_the_guard_compares_in_pairs():
    # the answer of "guard" is the best candidate exactly where it gains half a standard error
    for seed in range(10):
        X, y = _plain_regression(seed=seed)
        model = ImportanceWeightedCV(LinearRegression(), TILT, answer="guard").fit(X, y)
        result = model.search_result_
        gain = result.difference(result.index_of((0, 1)), result.best_index)
        kept = gain.value > 0.5 * gain.standard_error
        assert model.best_weighting_.lam == (result.best.lam if kept else 0)


# --- what comes out ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        make_pipeline(StandardScaler(), Ridge()),
        Pipeline([("all", make_pipeline(StandardScaler(), LinearRegression()))]),
        DecisionTreeRegressor(max_depth=3, random_state=0),
        HistGradientBoostingRegressor(max_iter=10),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_model_is_the_estimator_under_the_chosen_weights(estimator, curved):
    model = ImportanceWeightedCV(estimator, curved.ratio, random_state=0)
    model.fit(curved.X, curved.y)
    assert type(model.estimator_) is type(estimator)
    alone = fit_with_weights(clone(model.estimator_), curved.X, curved.y, model.weights_)
    np.testing.assert_array_equal(model.predict(curved.X), alone.predict(curved.X))


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), GaussianNB(), RandomForestClassifier(10, random_state=0), SVC()],
    ids=lambda each: type(each).__name__,
)
def test_classifiers_keep_their_methods_and_labels(estimator, classes):
    X, y = classes
    model = ImportanceWeightedCV(estimator, TILT, search=GridSearch(4, 2), random_state=0)
    model.fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}
    assert 0.6 < model.score(X, y) <= 1
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        assert hasattr(model, method) == hasattr(estimator, method)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        with np.errstate(divide="ignore"):
            log_probability = model.predict_log_proba(X)
        np.testing.assert_allclose(np.exp(log_probability), model.predict_proba(X), atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    for estimator in (LogisticRegression(), SVC(), SVC(decision_function_shape="ovo")):
        model = ImportanceWeightedCV(estimator, TILT, search=GridSearch(3, 2), random_state=0)
        assert model.fit(X, y).score(X, y) > 0.6


def test_counts(curved):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.poisson(np.exp(0.5 * X[:, 0] ** 2))
    model = ImportanceWeightedCV(PoissonRegressor(), TILT).fit(X, y)
    assert (model.predict(X) > 0).all()


def test_the_reason_is_told(curved):
    model = ImportanceWeightedCV(Ridge(), curved.ratio, random_state=0).fit(curved.X, curved.y)
    number = r"[\d.]+"
    assert re.fullmatch(
        rf"The best of 4 candidates lowers the held-out loss of {number} by {number} \(standard "
        rf"error {number}\), so it is used\.",
        model.reason_,
    )
    X, y = _plain_regression(seed=1)
    model = ImportanceWeightedCV(LinearRegression(), TILT, answer="guard").fit(X, y)
    assert model.best_weighting_.lam == 0
    assert re.search("less than half a standard error|The unweighted model", model.reason_)
    model.set_params(answer="argmin").fit(X, y)
    assert "smallest held-out loss is used, whatever it gains" in model.reason_


def test_attributes(curved):
    model = ImportanceWeightedCV(Ridge(), curved.ratio, random_state=0).fit(curved.X, curved.y)
    weights = model.best_weighting_.weights(model.log_ratio_)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-12)
    assert model.weights_.mean() == pytest.approx(1)
    assert model.ess_ == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert model.n_features_in_ == 1
    assert isinstance(model.best_weighting_, Geodesic)


# --- routes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "search"),
    [
        (LeaveOneOut(), BayesianSearch(6)),
        (HoldOut(validation=IWERM()), BayesianSearch(6, coordinates="plain")),
        (CrossValidation(3), GridSearch(3, 2)),
        (InformationCriterion(), GridSearch(11, 3)),
        (CrossValidation(3, scoring="r2"), GridSearch(3, 2)),
    ],
    ids=str,
)
def test_any_criterion_with_any_search(curved, criterion, search):
    model = ImportanceWeightedCV(LinearRegression(), curved.ratio, random_state=0)
    model.set_params(criterion=criterion, search=search).fit(curved.X, curved.y)
    points = [tuple(each.point) for each in model.search_result_.evaluations]
    assert points[:2] == [(0.0, 1.0), (1.0, 1.0)]
    assert model.best_weighting_.lam > 0


class _Counted(DecisionTreeRegressor):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        _Counted.n_fits += 1
        return super().fit(X, y, sample_weight)


def test_four_weightings_on_three_folds_make_14_fits(curved):
    model = ImportanceWeightedCV(_Counted(max_depth=2), curved.ratio, random_state=0)
    _Counted.n_fits = 0
    model.fit(curved.X, curved.y)
    assert model.best_weighting_.lam > 0
    assert _Counted.n_fits == 4 * 3 + 2


@pytest.mark.parametrize(
    ("bounds", "points"),
    [
        ({}, [[0, 1], [1, 1], [0.5, 1], [0.5, 3]]),
        ({"alpha_bounds": (1.0, 1.0)}, [[0, 1], [1, 1], [0.5, 1]]),
        ({"lam_bounds": (0.0, 0.4)}, [[0, 1], [0.4, 1], [0.4, 3]]),
        ({"lam_bounds": (0.8, 0.8), "answer": "argmin"}, [[0.8, 1], [0.8, 3]]),
    ],
)
def test_the_few_weightings_keep_the_bounds(classes, bounds, points):
    model = ImportanceWeightedCV(GaussianNB(), TILT, random_state=0, **bounds).fit(*classes)
    assert model.search_result_.points.tolist() == points


def test_many_rows_of_a_line_are_scored_on_folds():
    data = make_quadratic(25_000, 1000, reading="all_sd", random_state=0)
    model = ImportanceWeightedCV(LinearRegression(), data.ratio, random_state=0)
    model.fit(data.X, data.y)
    assert data.problem.mse(model.estimator_) < 1.01 * data.problem.limit(lam=1)


def test_categories_of_one_row_and_more_columns_than_rows():
    # nothing can be left out where a row is alone in its column; the fit goes on without a word
    X, y = _plain_regression()
    codes = np.where(np.arange(150) == 7, 2.0, np.where(X[:, 0] > 0, 1.0, 0.0))
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearRegression())
    model = ImportanceWeightedCV(encoder, TILT).fit(codes[:, None], y)
    assert np.isfinite(model.search_result_.values).all()
    wide = np.random.default_rng(0).normal(size=(40, 60))
    model = ImportanceWeightedCV(LinearRegression(), TILT, search=GridSearch(3, 2), random_state=0)
    assert np.isfinite(model.fit(wide, wide[:, 0]).search_result_.values).all()


def test_a_class_that_does_not_count(classes):
    X, y = classes
    label = np.where(np.arange(240) < 5, "never", y)
    own = np.where(label == "never", 0.0, 1.0)
    model = ImportanceWeightedCV(LogisticRegression(), TILT, random_state=0).fit(X, label, own)
    assert np.isfinite(model.search_result_.values).all()


@pytest.mark.more
def test_the_configuration_reaches_other_processes(classes):
    # members that take weights under different names work with metadata routing only
    X, y = classes
    voting = VotingClassifier(
        [
            ("pipe", make_pipeline(StandardScaler(), LogisticRegression())),
            ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
        ]
    )
    with sklearn.config_context(enable_metadata_routing=True):
        voting.estimators[0][1][-1].set_fit_request(sample_weight=True)
        voting.estimators[1][1].set_fit_request(sample_weight=True)
        model = ImportanceWeightedCV(voting, TILT, search=GridSearch(3, 2), random_state=0)
        models = [clone(model).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*(each.search_result_.values for each in models))


def test_threads_are_given_back():
    X, y = _plain_regression()
    before = [each["num_threads"] for each in threadpool_info()]
    model = ImportanceWeightedCV(SVR(), TILT, search=GridSearch(3, 2), n_jobs=2, random_state=0)
    with parallel_backend("threading"):
        model.fit(X, y)
    assert [each["num_threads"] for each in threadpool_info()] == before


# --- how the target gets in ----------------------------------------------------------------------


class Counting(DensityRatioMixin, BaseEstimator):
    """Remembers how many rows of each sample it has seen."""

    def fit(self, X, y):
        self.seen_ = (int(np.sum(y == 0)), int(np.sum(y == 1)))
        return self

    def score_samples(self, X):
        return 0.5 * np.asarray(X)[:, 0]


def test_the_target_sample_is_never_cut():
    # as long as the source sample, where scikit-learn's own cross-validation would slice it
    X, y = _plain_regression(100)
    for criterion in (CrossValidation(4), HoldOut(), LeaveOneOut()):
        model = ImportanceWeightedCV(
            Ridge(), Counting(), criterion=criterion, search=GridSearch(3, 2)
        )
        model.fit(X, y, X_target=X + 0.5)
        assert model.ratio_.seen_ == (100, 100)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_data_frames(container):
    X, y = _plain_regression(200)
    frame, target = (
        container({f"x{j}": part[:, j] for j in range(3)}) for part in (X, X[:120] + 0.4)
    )
    models = [
        ImportanceWeightedCV(estimator, GaussianRatio(), search=GridSearch(3, 2), random_state=0)
        for estimator in (LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0))
    ]
    for model in models:
        model.fit(frame, y, X_target=target)
        assert list(model.feature_names_in_) == ["x0", "x1", "x2"]
        by_array = clone(model).fit(X, y, X_target=X[:120] + 0.4)
        np.testing.assert_allclose(model.predict(frame), by_array.predict(X), rtol=1e-8)


def test_own_weights_of_zero_leave_rows_out():
    X, y = _plain_regression()
    own = np.ones(150)
    own[::3] = 0
    kept = own > 0
    for estimator in (LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)):
        model = ImportanceWeightedCV(
            estimator, TILT, search=GridSearch(5, 2), random_state=0, answer="argmin"
        )
        with_zeros = clone(model).fit(X, y, own)
        without = clone(model).fit(X[kept], y[kept])
        np.testing.assert_allclose(
            with_zeros.search_result_.values, without.search_result_.values, rtol=1e-9
        )
        assert with_zeros.best_weighting_.lam == without.best_weighting_.lam
        np.testing.assert_array_equal(with_zeros.weights_[~kept], 0)


@pytest.mark.parametrize("routing", [False, True])
def test_inside_cross_validation(curved, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        model = ImportanceWeightedCV(
            LinearRegression(),
            FrozenEstimator(fit_ratio(curved.X, curved.X_target, GaussianRatio())),
        )
        scores = cross_val_score(model, curved.X, curved.y, cv=3)
    assert np.isfinite(scores).all()


# --- nothing is lost -----------------------------------------------------------------------------


@pytest.mark.more
def test_same_seed_same_bits_whatever_the_number_of_jobs(classes):
    X, y = classes
    forest = RandomForestClassifier(10)  # no seed of its own
    models = [
        ImportanceWeightedCV(
            forest, TILT, search=GridSearch(3, 2), random_state=7, n_jobs=n_jobs
        ).fit(X, y)
        for n_jobs in (None, 2)
    ]
    first, second = (model.search_result_ for model in models)
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


class Fragile(RegressorMixin, BaseEstimator):
    """A mean that fails, or is interrupted, at some fits."""

    fits = 0

    def __init__(self, fail_above=np.inf, interrupt_at=None):
        self.fail_above = fail_above
        self.interrupt_at = interrupt_at

    def fit(self, X, y, sample_weight=None):
        Fragile.fits += 1
        sample_weight = np.ones(len(y)) if sample_weight is None else sample_weight
        if Fragile.fits == self.interrupt_at:
            raise KeyboardInterrupt
        if np.max(sample_weight) > self.fail_above:
            raise ArithmeticError("this weight is too much for me")
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_candidate_that_fails_is_recorded():
    X, y = _plain_regression()
    model = ImportanceWeightedCV(Fragile(fail_above=4), TILT, search=GridSearch(6, 2))
    with pytest.warns(SearchWarning, match=r"of \d+ candidates failed.*too much for me"):
        model.fit(X, y)
    failures = model.search_result_.failures
    assert 0 < len(failures) < len(model.search_result_.evaluations)
    assert "ArithmeticError: this weight is too much for me" in failures[0][1]


def test_what_fails_without_weights_fails_in_its_own_words():
    X, y = _plain_regression()
    with pytest.raises(ArithmeticError, match="too much for me"):
        ImportanceWeightedCV(Fragile(fail_above=0.5), TILT).fit(X, y)


def test_a_metric_without_weights_is_refused():
    X, y = _plain_regression()
    scoring = make_scorer(lambda y, prediction: abs(y - prediction).mean())
    model = ImportanceWeightedCV(Ridge(), TILT, criterion=CrossValidation(scoring=scoring))
    with pytest.raises(RuntimeError, match="whether the metric takes sample_weight"):
        model.fit(X, y)


def test_all_candidates_fail():
    X, _ = _plain_regression()
    model = ImportanceWeightedCV(LogisticRegression(), TILT, criterion=CrossValidation(2))
    rare = np.array([0] * 149 + [1])  # one fold is left with one class, whatever the weights
    with pytest.raises(RuntimeError, match=r"All \d+ candidates failed.*ValueError"):
        model.fit(X, rare)


INTERRUPTED = ImportanceWeightedCV(
    Fragile(interrupt_at=25),
    TILT,
    criterion=CrossValidation(5),
    search=GridSearch(6, 2),
    random_state=0,
)


def test_ctrl_c_raises_and_leaves_the_object_unfitted():
    X, y = _plain_regression()
    Fragile.fits = 0
    model = clone(INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")
    model.fit(X, y)  # The same object can be fitted afterwards.
    assert np.isfinite(model.predict(X)).all()


def test_progress(capsys, curved, monkeypatch):
    model = ImportanceWeightedCV(LinearRegression(), curved.ratio, verbose=1)
    model.set_params(search=GridSearch(3, 2)).fit(curved.X, curved.y)
    written = capsys.readouterr().err
    assert "weighting 1 of 5, best loss" in written
    assert written.endswith(" s\n")
    model.set_params(verbose=0).fit(curved.X, curved.y)
    model.set_params(verbose=None).fit(curved.X, curved.y)  # no terminal, and short
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    for verbose in (None, 1):
        model.set_params(verbose=verbose).fit(curved.X, curved.y)


def test_warnings_point_to_the_line_of_the_caller():
    X, y = _plain_regression()
    model = ImportanceWeightedCV(Fragile(fail_above=4), TILT, search=GridSearch(6, 2))
    with pytest.warns((SearchWarning, DataConversionWarning)) as caught:
        model.fit(X, y[:, None])
    assert {each.category for each in caught} == {SearchWarning, DataConversionWarning}
    assert {each.filename for each in caught} == {__file__}


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answer": "best"}, "Got answer='best', but expected one of guard, argmin"),
        ({"lam_bounds": (0.5, 1)}, "exclude lam = 0.*answer='argmin'"),
        ({"alpha_bounds": (3, 1)}, "the smallest first"),
    ],
)
def test_bad_parameters(options, message):
    X, y = _plain_regression()
    with pytest.raises(ValueError, match=message):
        ImportanceWeightedCV(Ridge(), TILT, **options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "cv"}, r"Got criterion='cv', but expected .*CrossValidation\(\)"),
        ({"criterion": CrossValidation}, "Got criterion=<class"),
        ({"search": 10}, r"Got search=10, but expected .*BayesianSearch\(15\)"),
        ({"search": BayesianSearch}, "Got search=<class"),
    ],
)
def test_parts_of_the_wrong_type_are_refused_before_the_search(options, message):
    X, y = _plain_regression()
    with pytest.raises(TypeError, match=message):
        ImportanceWeightedCV(DecisionTreeRegressor(), TILT, **options).fit(X, y)


def test_bad_data():
    X, y = _plain_regression()
    with pytest.raises(ValueError, match="classes"):
        ImportanceWeightedCV(LogisticRegression(), TILT).fit(X, np.zeros(150, dtype=int))
    with pytest.raises(ValueError, match="requires y"):
        ImportanceWeightedCV(Ridge(), TILT).fit(X, None)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        ImportanceWeightedCV(Ridge(), TILT).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="NaN"):
        ImportanceWeightedCV(Ridge(), TILT).fit(np.where(X > 2, np.nan, X), y)


def test_a_failed_fit_leaves_the_object_as_it_was(curved):
    model = ImportanceWeightedCV(LinearRegression(), curved.ratio).fit(curved.X, curved.y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(curved.X * np.nan, curved.y)
    assert vars(model) == before


def test_parameters_of_parts_can_be_set():
    model = ImportanceWeightedCV(Ridge()).set_params(ratio__cv=3, estimator__alpha=2.0)
    assert model.ratio.cv == 3
    assert model.estimator.alpha == 2.0
    model.set_params(criterion=CrossValidation(3)).set_params(criterion__cv=4)
    assert model.criterion.cv == 4


def test_no_word_where_all_is_well():
    data = make_gaussian_shift(400, 300, n_features=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ImportanceWeightedCV(Ridge(), random_state=0).fit(data.X, data.y, X_target=data.X_target)
