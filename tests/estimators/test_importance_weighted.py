"""ImportanceWeighted: the weights are right, they arrive, and bad input is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from weighbridge import Geodesic, ImportanceWeighted, fit_ratio
from weighbridge.datasets import make_gaussian_shift
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import AutoRatio, ClassifierRatio, KnownRatio
from weighbridge.weighting import AIWERM, ERM, IWERM, RIWERM, mean_one

TILT = KnownRatio(lambda X: 0.5 * np.asarray(X)[:, 0])


def _regression(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 2 + X @ [1.0, -1.0, 0.5] + rng.normal(size=n)


def _classification(n=120):
    return make_classification(n_samples=n, n_features=4, random_state=0)


@pytest.mark.parametrize("weighting", [ERM(), IWERM(), AIWERM(0.5), RIWERM(0.5), Geodesic(0.3, -2)])
def test_the_fit_is_the_weighted_fit(weighting):
    X, y = _regression()
    model = ImportanceWeighted(Ridge(), TILT, weighting=weighting).fit(X, y)
    log_ratio = 0.5 * X[:, 0]
    log_ratio -= np.log(np.exp(log_ratio).mean())
    weights = np.exp(weighting(log_ratio))
    weights /= weights.mean()
    np.testing.assert_allclose(model.log_ratio_, log_ratio, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-12)
    assert model.weights_.mean() == pytest.approx(1)
    assert model.ess_ == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    expected = Ridge().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.estimator_.coef_, expected.coef_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_own_weights_multiply_and_are_left_alone():
    X, y = _regression()
    own = np.random.default_rng(1).integers(0, 4, size=y.size).astype(float)
    before = own.copy()
    model = ImportanceWeighted(Ridge(), TILT).fit(X, y, sample_weight=own)
    np.testing.assert_array_equal(own, before)
    assert np.average(model.weights_, weights=own) == pytest.approx(1)
    expected = Ridge().fit(X, y, sample_weight=own * model.weights_)
    np.testing.assert_allclose(model.estimator_.coef_, expected.coef_)
    repeated = ImportanceWeighted(Ridge(), TILT).fit(
        np.repeat(X, own.astype(int), axis=0), np.repeat(y, own.astype(int))
    )
    np.testing.assert_allclose(model.predict(X), repeated.predict(X))


def test_a_constant_in_the_ratio_changes_nothing():
    X, y = _regression()
    fits = [
        ImportanceWeighted(
            Ridge(), KnownRatio(lambda X, c=c: 0.5 * X[:, 0] + c), weighting=RIWERM(0.5)
        ).fit(X, y)
        for c in (0.0, 7.0)
    ]
    np.testing.assert_allclose(fits[0].weights_, fits[1].weights_, rtol=1e-12)


def test_raw_weights_of_the_paper_on_request():
    X, y = _regression()
    ratio = KnownRatio(lambda X: 0.5 * X[:, 0] + 1)
    model = ImportanceWeighted(Ridge(), ratio, weighting=RIWERM(0.5), normalize=False).fit(X, y)
    r = np.exp(0.5 * X[:, 0] + 1)
    np.testing.assert_allclose(model.weights_, r / (0.5 + 0.5 * r), rtol=1e-12)
    expected = Ridge().fit(X, y, sample_weight=model.weights_)
    np.testing.assert_allclose(model.estimator_.coef_, expected.coef_)


def test_default_is_the_full_estimated_ratio():
    data = make_gaussian_shift(400, 300, random_state=0)
    model = ImportanceWeighted(LinearRegression()).fit(data.X, data.y, X_target=data.X_target)
    assert isinstance(model.ratio_, AutoRatio)
    np.testing.assert_allclose(model.weights_, mean_one(model.ratio_.score_samples(data.X)))
    # the line fitted for N(1, 1) is steeper than the one fitted for N(0, 1)
    assert model.estimator_.coef_[0] > LinearRegression().fit(data.X, data.y).coef_[0] + 0.4


def test_rows_with_own_weight_zero_are_left_out_whatever_their_ratio():
    X, y = _regression(60)
    own = np.r_[np.ones(55), np.zeros(5)]
    for odd in (0.0, 740.0, 1000.0, np.inf, np.nan):
        ratio = KnownRatio(lambda X, odd=odd: np.r_[0.5 * X[:55, 0], np.full(len(X) - 55, odd)])
        model = ImportanceWeighted(Ridge(), ratio, weighting=RIWERM(0.5))
        model.fit(X, y, sample_weight=own)
        without = ImportanceWeighted(Ridge(), TILT, weighting=RIWERM(0.5)).fit(X[:55], y[:55])
        np.testing.assert_allclose(model.weights_[:55], without.weights_)
        np.testing.assert_allclose(model.estimator_.coef_, without.estimator_.coef_)
        assert (model.weights_[55:] == 0).all()


EQUIVALENT = [
    LinearRegression(),
    Ridge(),
    SVR(gamma=0.5),
    KernelRidge(),
    DecisionTreeRegressor(max_depth=3, random_state=0),
    make_pipeline(StandardScaler(with_std=False, with_mean=False), Ridge()),
    TransformedTargetRegressor(Ridge()),
    LogisticRegression(tol=1e-8),
    GaussianNB(),
    SVC(gamma=0.5),
    make_pipeline(SVC(gamma=0.5)),
    HistGradientBoostingClassifier(max_iter=5, max_bins=255, min_samples_leaf=1),
]


def _data_for(estimator):
    return _classification() if is_classifier(estimator) else _regression()


@pytest.mark.parametrize("estimator", EQUIVALENT, ids=lambda e: type(e).__name__)
def test_integer_weights_are_repeated_rows(estimator):
    # a ratio of 1, 2 or 3 times a constant, undone by normalize=False
    X, y = _data_for(estimator)
    counts = 1 + (np.arange(y.size) % 3)
    ratio = KnownRatio(lambda X: np.log(counts))
    model = ImportanceWeighted(clone(estimator), ratio, normalize=False).fit(X, y)
    np.testing.assert_allclose(model.weights_, counts)
    repeated = clone(estimator).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    method = "decision_function" if hasattr(repeated, "decision_function") else "predict"
    # SVC and SVR stop at a tolerance of 1e-3 in the dual, logistic regression at 1e-8
    atol = 5e-3 if "SV" in str(estimator) else 1e-5
    np.testing.assert_allclose(getattr(model, method)(X), getattr(repeated, method)(X), atol=atol)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(n_estimators=5, random_state=0),
        AdaBoostClassifier(n_estimators=5, random_state=0),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
        PoissonRegressor(),
        BaggingRegressor(Ridge(), n_estimators=3, random_state=0),
        VotingRegressor([("a", Ridge()), ("b", LinearRegression())]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_weights_arrive_exactly_as_if_passed_by_hand(estimator):
    X, y = _data_for(estimator)
    y = np.abs(y) if isinstance(estimator, PoissonRegressor) else y
    model = ImportanceWeighted(clone(estimator), TILT).fit(X, y)
    by_hand = clone(estimator).fit(X, y, sample_weight=model.weights_)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(X))


NEIGHBOURS, NO_WEIGHTS = KNeighborsClassifier(), "{} cannot be fitted with row weights"
NO_LAST_STEP = Pipeline([("scale", StandardScaler()), ("nothing", "passthrough")])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (NEIGHBOURS, NO_WEIGHTS.format("KNeighborsClassifier")),
        (make_pipeline(KNeighborsRegressor()), NO_WEIGHTS.format("KNeighborsRegressor")),
        (GridSearchCV(NEIGHBOURS, {}), NO_WEIGHTS.format("KNeighborsClassifier")),
        (VotingClassifier([("a", NEIGHBOURS)]), NO_WEIGHTS.format("KNeighborsClassifier")),
        # These take sample_weight themselves, but would not pass it on, or resample by it.
        (CalibratedClassifierCV(NEIGHBOURS), NO_WEIGHTS.format("KNeighborsClassifier")),
        (BaggingClassifier(NEIGHBOURS), NO_WEIGHTS.format("KNeighborsClassifier")),
        (FrozenEstimator(Ridge()), "whose fit does nothing"),
        (NO_LAST_STEP, "'nothing', is 'passthrough'"),
    ],
)
def test_estimator_without_weights_is_named(estimator, message):
    X, y = _classification()
    with pytest.raises(ValueError, match=message):
        ImportanceWeighted(estimator, TILT).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression())),
        VotingClassifier(
            [("a", make_pipeline(StandardScaler(), SVC())), ("b", LogisticRegression())]
        ),
    ],
)
def test_members_that_take_weights_under_other_names_need_routing(estimator):
    X, y = _classification()
    with pytest.raises(ValueError, match="metadata routing on"):
        ImportanceWeighted(estimator, TILT).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = ImportanceWeighted(estimator, TILT).fit(X, y)
        plain = ImportanceWeighted(estimator, TILT, weighting=ERM()).fit(X, y)
    leaves = [
        np.ravel(fit.estimator_.calibrated_classifiers_[0].estimator[-1].coef_)
        if isinstance(estimator, CalibratedClassifierCV)
        else np.ravel(fit.estimator_.estimators_[0][-1].intercept_)
        for fit in (weighted, plain)
    ]
    assert np.abs(leaves[0] - leaves[1]).max() > 1e-3


def test_kind_methods_and_attributes_follow_the_inner_estimator():
    X, y = _classification()
    labels = np.where(y, "yes", "no")
    model = ImportanceWeighted(LogisticRegression(), TILT).fit(X, labels)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.predict_proba(X).shape == (120, 2)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert model.n_features_in_ == 4
    regressor = ImportanceWeighted(Ridge(), TILT)
    assert is_regressor(regressor)
    with pytest.raises(AttributeError):
        regressor.fit(X, y).classes_  # noqa: B018


def test_score_is_the_inner_score_and_takes_weights():
    X, y = _regression()
    model = ImportanceWeighted(Ridge(), TILT).fit(X, y)
    for weights in (None, np.arange(y.size)):
        expected = model.estimator_.score(X, y, sample_weight=weights)
        assert model.score(X, y, sample_weight=weights) == expected


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_data_frames(library):
    data = make_gaussian_shift(150, 100, n_features=2, random_state=0)
    X = library.DataFrame({"a": data.X[:, 0], "b": data.X[:, 1]})
    X_target = library.DataFrame({"b": data.X_target[:, 1], "a": data.X_target[:, 0]})
    model = ImportanceWeighted(Ridge()).fit(X, data.y, X_target=X_target)
    arrays = ImportanceWeighted(Ridge()).fit(data.X, data.y, X_target=data.X_target)
    np.testing.assert_allclose(model.predict(X), arrays.predict(data.X))
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_sparse_matrices():
    rng = np.random.default_rng(0)
    X, X_target = (sp.random(n, 20, 0.2, format="csr", random_state=rng) for n in (200, 150))
    y = np.asarray(X.sum(axis=1)).ravel() > 2
    model = ImportanceWeighted(LogisticRegression()).fit(X, y, X_target=X_target)
    assert model.predict(X_target).shape == (150,)


def test_missing_values_where_the_inner_estimator_and_the_ratio_take_them():
    X, y = _classification()
    X[::7, 1] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=5)
    model = ImportanceWeighted(boosting, ClassifierRatio(boosting))
    assert model.fit(X, y, X_target=X[:50] + 0.1).predict(X).shape == (120,)


def test_refitting_with_other_columns_forgets_the_old_ones():
    X, y = _regression()
    model = ImportanceWeighted(Ridge(), TILT)
    model.fit(pd.DataFrame(X, columns=list("abc")), y)
    model.fit(X[:, :2], y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    ("log_ratio", "effective"),
    [
        (lambda X: 6 * X[:, 0], r"\d+\.\d"),
        # Weights of 0 count among the rows.
        (lambda X: np.where(np.arange(len(X)) < 3, 0.0, -np.inf), r"3\.0"),
    ],
)
def test_few_effective_rows_warn(log_ratio, effective):
    X, y = _regression(400)
    message = f"WB303 the weights have {effective} effective rows of 400"
    with pytest.warns(OverlapWarning, match=message):
        ImportanceWeighted(Ridge(), KnownRatio(log_ratio)).fit(X, y)


@pytest.mark.parametrize("n", [26, 40, 80, 200])
def test_nearly_even_weights_are_never_blamed(n):
    for seed in range(30):
        X = np.random.default_rng(seed).normal(size=(n, 1))
        ratio = KnownRatio(lambda X: 0.01 * X[:, 0])
        ImportanceWeighted(Ridge(), ratio).fit(X, X[:, 0])


# The cap of the second one is never reached.
@pytest.mark.parametrize("weighting", [IWERM(), Geodesic(0.9999, 1.001)])
def test_heavy_tail_of_the_weights_warns(weighting):
    X = np.random.default_rng(0).exponential(size=(3000, 1))
    ratio = KnownRatio(lambda X: 0.85 * X[:, 0])  # tail index 0.85
    with pytest.warns(OverlapWarning, match=r"WB303 .*Pareto k-hat 0\.\d\d, reliable below 0\.70"):
        ImportanceWeighted(Ridge(), ratio, weighting=weighting).fit(X, X[:, 0])


@pytest.mark.parametrize("distance", [5, 10, 100])
def test_samples_that_do_not_overlap_are_announced(distance):
    # scaled to mean 1, a ratio that is equally tiny everywhere would look like no shift at all
    X, y = _regression(300)
    model = ImportanceWeighted(Ridge(), weighting=RIWERM(0.8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, X_target=X[::-1] + distance)
    assert {warning.category for warning in caught} == {OverlapWarning}
    assert sum("WB302" in str(warning.message) for warning in caught) == 1
    assert all(warning.filename == __file__ for warning in caught)
    with pytest.warns(OverlapWarning, match="WB302"):
        frozen = FrozenEstimator(fit_ratio(X, X + distance))
    with pytest.warns(OverlapWarning, match="WB30[23]"):  # by its mean, or by its few rows
        ImportanceWeighted(Ridge(), frozen, weighting=RIWERM(0.8)).fit(X, y)


def test_a_known_ratio_without_its_constant_is_not_blamed():
    X, y = _regression()
    ImportanceWeighted(Ridge(), KnownRatio(lambda X: 0.5 * X[:, 0] - 50)).fit(X, y)


@pytest.mark.parametrize("weighting", [ERM(), RIWERM(0.8)])
def test_bounded_weights_are_not_blamed_for_the_tail_of_the_ratio(weighting):
    X = np.random.default_rng(0).exponential(size=(3000, 1))
    ratio = KnownRatio(lambda X: 0.85 * X[:, 0])
    ImportanceWeighted(Ridge(), ratio, weighting=weighting).fit(X, X[:, 0])


def test_own_weights_are_not_blamed_on_overlap():
    X, y = _regression(40)
    own = np.r_[np.full(3, 100.0), np.full(37, 0.01)]
    ImportanceWeighted(Ridge(), TILT, weighting=ERM()).fit(X, y, sample_weight=own)


LINE = np.arange(120.0)[:, None]
FITTED = fit_ratio(LINE, LINE + 30)
TAKES_ONE, FROZEN = "target sample is used once", FrozenEstimator(FITTED)
NO_WEIGHTING = r"expected a Geodesic.*RIWERM\(0\.8\)"


@pytest.mark.parametrize(
    ("ratio", "weighting", "target", "error", "message"),
    [
        (None, None, (), ValueError, r"X_target=.*FrozenEstimator.*KnownRatio"),
        (FROZEN, None, {"X_target": LINE}, ValueError, TAKES_ONE),
        (TILT, None, {"X_target": LINE}, ValueError, TAKES_ONE),
        # clone forgets the fit, as everywhere in scikit-learn.
        (FITTED, None, (), ValueError, r"fitted but not frozen.*FrozenEstimator\(ratio\)"),
        (LogisticRegression(), None, {"X_target": LINE}, TypeError, r"ClassifierRatio\(Logistic"),
        (TILT, "RIWERM", (), TypeError, NO_WEIGHTING),
        (TILT, 0.5, (), TypeError, NO_WEIGHTING),
        (TILT, RIWERM, (), TypeError, NO_WEIGHTING),
        (TILT, Geodesic, (), TypeError, NO_WEIGHTING),
        (TILT, Geodesic(lam=np.full(120, 0.5)), (), TypeError, "one number each"),
        (None, None, {"sample_weight": LINE}, ValueError, "go in by name: X_target="),
    ],
)
def test_bad_ratio_weighting_or_target_names_the_remedy(ratio, weighting, target, error, message):
    with pytest.raises(error, match=message):
        ImportanceWeighted(Ridge(), ratio, weighting=weighting).fit(
            LINE, LINE[:, 0], **dict(target)
        )


def test_the_wrapper_inside_the_wrapper():
    X, y = _regression()
    inner = ImportanceWeighted(Ridge(), TILT)
    model = ImportanceWeighted(inner, TILT).fit(X, y)
    by_hand = clone(inner).fit(X, y, sample_weight=model.weights_)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(X))


def test_default_weighting_can_be_searched():
    model = ImportanceWeighted(Ridge(), TILT).set_params(weighting__lam=0.5, estimator__alpha=2)
    assert model.weighting.get_params() == {"lam": 0.5, "alpha": 1.0}
    assert model.estimator.alpha == 2
    assert ImportanceWeighted(Ridge()).set_params(ratio__cv=3).ratio.cv == 3


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (-np.ones(120), "negative value"),
        (np.full(120, np.nan), "NaN or infinite values in 120 of 120 rows"),
        (np.r_[np.inf, np.ones(119)], "NaN or infinite values in 1 of 120 rows"),
        (np.zeros(120), "zero for every row"),
        (np.ones(7), r"shape \(7,\) for 120 rows"),
        (np.ones((120, 1)), r"shape \(120, 1\)"),
        (np.full(120, 1e308), "divide it by its maximum"),
        (["a"] * 120, "not numbers"),
    ],
)
def test_bad_sample_weight_is_an_error(own, message):
    X, y = _regression()
    with pytest.raises((TypeError, ValueError), match=message):
        ImportanceWeighted(Ridge(), TILT).fit(X, y, sample_weight=own)


@pytest.mark.parametrize(
    ("log_ratio", "message"),
    [
        (lambda X: np.full(len(X), np.nan), "NaN at 120 of 120 rows"),
        (lambda X: np.full(len(X), np.inf), "infinite at 120 source rows"),
        (lambda X: np.full(len(X), -np.inf), "0 at every source row"),
        (lambda X: np.zeros(3), r"shape \(3,\)"),
    ],
)
def test_bad_ratios(log_ratio, message):
    X, y = _regression()
    with pytest.raises(ValueError, match=message):
        ImportanceWeighted(Ridge(), KnownRatio(log_ratio)).fit(X, y)


def test_infinite_ratio_with_raw_bounded_weights():
    X, y = _regression()
    ratio = KnownRatio(lambda X: np.where(X[:, 0] > 1, np.inf, 0.0))
    model = ImportanceWeighted(Ridge(), ratio, weighting=RIWERM(0.5), normalize=False).fit(X, y)
    assert model.weights_.max() == pytest.approx(2)
    with pytest.raises(ValueError, match="source density is 0"):
        ImportanceWeighted(Ridge(), ratio, normalize=False).fit(X, y)
    too_large = KnownRatio(lambda X: np.full(len(X), 1000.0))
    with pytest.raises(ValueError, match="normalize=True"):
        ImportanceWeighted(Ridge(), too_large, normalize=False).fit(X, y)


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_one_row_samples(rows):
    X, y = _regression()
    with pytest.raises(ValueError, match=f"with {rows} sample"):
        ImportanceWeighted(Ridge()).fit(X[:rows], y[:rows], X_target=X)
    with pytest.raises(ValueError, match=f"X_target with {rows} sample"):
        ImportanceWeighted(Ridge()).fit(X, y, X_target=X[:rows])


def test_a_failed_fit_leaves_the_earlier_one_whole():
    X, y = _regression()
    model = ImportanceWeighted(Ridge(), TILT).fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    assert vars(model) == before


@pytest.mark.parametrize("name", ["lam", "alpha"])
def test_a_parameter_of_the_weighting_is_named_with_the_remedy(name):
    with pytest.raises(ValueError, match=f"weighting__{name}.*weighbridge.for_target"):
        ImportanceWeighted(Ridge()).set_params(**{name: 0.5})


def test_a_step_behind_a_scaler_is_told_to_go_outside_the_pipeline():
    X = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})
    model = make_pipeline(StandardScaler(), ImportanceWeighted(Ridge()))
    with pytest.raises(TypeError, match="ImportanceWeighted\\(make_pipeline"):
        model.fit(X, X["a"], importanceweighted__X_target=X[10:])
