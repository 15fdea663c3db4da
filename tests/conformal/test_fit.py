"""Rows to fit to and to calibrate on, models, ratios, the report and errors of conformal fits."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from conformal_problems import NONE, SHIFT, classification, regression
from estimator_checks import GentleLogRatio, check_with_held_out_rows
from weighbridge import ImportanceWeighted, ImportanceWeightedCV, fit_ratio
from weighbridge.conformal import ConformalClassifier, ConformalRegressor, ConformalReport
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import ULSIF, ClassifierRatio, KnownRatio

RIDGE, LOGISTIC = Ridge(), LogisticRegression()
X, Y = regression(100, 0)
X_NEW, Y_NEW = regression(100, 1)
CLASSES = classification(100, 0)[1]
TEXT = np.where(Y > 1, "up", "down")
FROZEN = FrozenEstimator(Ridge().fit(X, Y))
FROZEN_CLASSIFIER = FrozenEstimator(LogisticRegression().fit(X, TEXT))
GENTLE = KnownRatio(GentleLogRatio())


def _interval(estimator=RIDGE, ratio=SHIFT, **options):
    return ConformalRegressor(estimator, ratio, random_state=0, **options)


def _set(estimator=LOGISTIC, ratio=SHIFT, **options):
    return ConformalClassifier(estimator, ratio, random_state=0, **options)


class StoresRows(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].copy()
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("size", "expected"), [(0.5, 50), (0.25, 25), (40, 40), (0.999, 99)])
def test_no_row_is_both_fitted_to_and_calibrated_on(size, expected):
    model = _interval(StoresRows(), calibration_size=size).fit(X, Y)
    is_held_out = ~np.isin(X[:, 0], model.estimator_.rows_)
    assert is_held_out.sum() == model.n_calibration_ == expected
    errors = np.abs(Y - model.estimator_.predict(X))[is_held_out]
    np.testing.assert_allclose(np.sort(model.scores_), np.sort(errors))


def test_model_is_fitted_to_every_class():
    rows, y = classification(200, 0)
    y[:6] = [3, 3, 4, 5, 5, 5]  # One class has a single row.
    model = ConformalClassifier(LogisticRegression(), SHIFT, calibration_size=0.7)
    for seed in range(5):
        fitted = clone(model).set_params(random_state=seed).fit(rows, y)
        assert fitted.classes_.tolist() == [0, 1, 2, 3, 4, 5]
        assert fitted.n_calibration_ == 140


OTHER_SHAPE, SINGLE = np.c_[X, X], np.full(100, "up")
MISSING = np.array([None, *TEXT[1:]], dtype=object)
INFINITE = KnownRatio(lambda X: np.full(len(X), np.inf))
TWO_OUTPUTS = FrozenEstimator(Ridge().fit(X, np.c_[Y, Y]))
SCALE = FrozenEstimator(DummyRegressor(strategy="constant", constant=-1.0).fit(X, Y))
ERRORS = [
    (_interval(), {"y": np.c_[Y, Y]}, ValueError, r"1d array, got an array of shape \(100, 2\)"),
    (_interval(), {"y": Y[1:]}, ValueError, r"inconsistent numbers of samples: \[100, 99\]"),
    (_interval(), {"y": None}, ValueError, "y should be a 1d array"),
    (_interval(), {"y": np.full(100, np.nan)}, ValueError, "missing values in 100 of 100 rows"),
    (_interval(), {"y": TEXT}, ValueError, "labels that are not numbers.*ConformalClassifier"),
    (_interval(), {"y": TEXT.astype(object)}, ValueError, "labels that are not numbers"),
    (_interval(), {"y": np.array([None, *Y[1:]])}, ValueError, "missing values in 1 of 100 rows"),
    (_set(), {"y": MISSING}, ValueError, "missing values in 1 of 100 rows"),
    (_set(), {"y": np.array([1, *TEXT[1:]], dtype=object)}, ValueError, "Got y with text and num"),
    (_set(), {"y": SINGLE}, ValueError, r"Got y with only one class \('up'\)"),
    (
        _set(),
        {"X": X[:4], "y": [0, 1, 2, 2]},
        ValueError,
        "Got 4 rows and 2 of.*3 classes",
    ),
    (
        _interval(),
        {"X": X[:1], "y": Y[:1]},
        ValueError,
        "n_samples=1, but expected at least 2",
    ),
    (_interval(LogisticRegression()), {"y": CLASSES}, TypeError, "Got the classifier LogisticReg"),
    (_set(SVC()), {"y": CLASSES}, TypeError, "Got SVC, which has no predict_proba.*Regressor"),
    (_set(Ridge()), {"y": CLASSES}, TypeError, "Got Ridge, which has no predict_proba"),
    (_set(method="raps"), {"y": CLASSES}, ValueError, "Got method='raps', but expected 'lac' or"),
    (_interval("linear"), {}, TypeError, "Got estimator='linear', but expected"),
    (_interval(Ridge), {}, TypeError, "provide an instance of scikit-learn estimator instead"),
    (_interval(Ridge().fit(X, Y)), {}, ValueError, r"fitted but not frozen.*FrozenEstimator\(est"),
    (_interval(TWO_OUTPUTS), {"X": X_NEW}, ValueError, r"predict has shape \(100, 2\), not"),
    (_set(FROZEN_CLASSIFIER), {"y": np.full(100, "z")}, ValueError, r"Got labels \['z'\], but exp"),
    (
        _interval(FROZEN, scale=GammaRegressor()),
        {},
        ValueError,
        "Got scale=GammaRegressor",
    ),
    (_interval(scale=SCALE), {}, ValueError, "not positive and finite at 50 of 50.*GammaRegressor"),
    (_interval(ratio=INFINITE), {}, ValueError, "infinite at 50 source rows.*sample_weight 0"),
    (_interval(), {"X_fit": X}, ValueError, "Got X_fit and an estimator that is not fitted"),
    (
        _interval(FROZEN),
        {"X_fit": X},
        ValueError,
        "100 of 100.*Pass other rows",
    ),
    (_interval(FROZEN), {"X_fit": OTHER_SHAPE}, ValueError, r"X_fit of shape \(100, 2\) and X of"),
    *[
        (_interval(calibration_size=size), {}, ValueError, "Got calibration_size=.*from 1 to")
        for size in (0, 1.0, -0.5, 100, 0.0, True, "half", None)
    ],
    *[
        (_interval(coverage=coverage), {}, ValueError, "Got coverage=.*between 0 and 1")
        for coverage in (0, 1, -0.1, 90, np.nan)
    ],
]


@pytest.mark.parametrize(("model", "passed", "kind", "message"), ERRORS)
def test_bad_input_is_named_with_its_remedy(model, passed, kind, message):
    with pytest.raises(kind, match=message):
        model.fit(**{"X": X, "y": Y, **passed})
    assert not hasattr(model, "scores_")


def test_predictions_name_bad_rows():
    for model in (_interval(), _set(SVC())):
        with pytest.raises(NotFittedError):
            model.report(X)
    model = _interval(ratio=KnownRatio(lambda X: np.where(X[:, 0] > 9, np.nan, 0))).fit(X, Y)
    with pytest.raises(ValueError, match="NaN at 1 of 2 rows"):
        model.predict_interval([[10.0], [1.0]])
    for rows in (X[:0], []):
        for method in (model.report, model.predict_interval):
            with pytest.raises(ValueError, match=r"Got X with 0 samples \(rows\)"):
                method(rows)


def test_labels_of_one_class_or_of_objects_can_be_calibrated():
    assert _set(FROZEN_CLASSIFIER).fit(X, np.full(100, "up")).n_calibration_ == 100
    assert _interval().fit(X, Y.astype(object)).n_calibration_ == 50
    column = FrozenEstimator(Ridge().fit(X, Y[:, None]))
    assert _interval(column).fit(X, Y).predict_interval(X).shape == (100, 2)


STORING = {
    "ImportanceWeighted": ImportanceWeighted(Ridge(), SHIFT),
    "ImportanceWeightedCV": ImportanceWeightedCV(Ridge(), SHIFT),
    "neighbours": KNeighborsRegressor(),
    "process": GaussianProcessRegressor(alpha=0.1),
    "machine": SVR(),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsRegressor()),
    "search": GridSearchCV(ImportanceWeighted(Ridge(), SHIFT), {"estimator__alpha": [0.1, 1.0]}),
}


@pytest.mark.parametrize("name", STORING)
def test_models_that_store_their_rows_are_not_calibrated_on_them(name):
    (X, y), (X_new, y_new) = regression(200, 0), regression(200, 2)
    conformal = _interval(FrozenEstimator(clone(STORING[name]).fit(X, y)))
    with pytest.raises(ValueError, match=r"^\d+ of 200 calibration rows were used to fit"):
        conformal.fit(X, y)
    assert conformal.fit(X_new, y_new).rows_checked_
    if name != "machine":  # It stores some of its rows only.
        with pytest.raises(ValueError, match="20 of 200 calibration rows"):
            conformal.fit(np.r_[X[:20], X_new[20:]], np.r_[y[:20], y_new[20:]])


def test_rows_of_weight_zero_are_neither_fitted_to_nor_calibrated_on():
    half = np.repeat([1.0, 0.0], 50)
    conformal = _interval(FrozenEstimator(ImportanceWeighted(Ridge(), SHIFT).fit(X, Y, half)))
    assert conformal.fit(X, Y, sample_weight=1 - half).n_calibration_ == 50
    with pytest.raises(ValueError, match="50 of 100"):
        conformal.fit(X.astype(np.float32), Y)


def _named(n, seed, mean=0.0):
    values = np.random.default_rng(seed).normal(mean, 1, size=(n, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_rows_fitted_to_are_recognised_by_the_names_of_columns():
    X, new = _named(200, 0), _named(200, 1)
    y = X["a"].to_numpy()
    conformal = _interval(FrozenEstimator(LinearRegression().fit(X, y)))
    for X_fit in (X[["c", "b", "a"]], pl.from_pandas(X[["b", "a", "c"]]), X.to_numpy()):
        with pytest.raises(ValueError, match="200 of 200 calibration rows"):
            conformal.fit(X, y, X_fit=X_fit)
        assert conformal.fit(new, y, X_fit=X_fit).rows_checked_
    with pytest.raises(ValueError, match=r"Got X_fit of columns \['a', 'b', 'd'\] and X of"):
        conformal.fit(X, y, X_fit=X.rename(columns={"c": "d"}))


def test_report_says_if_calibration_rows_were_not_checked():
    forest = FrozenEstimator(RandomForestRegressor(5, random_state=0).fit(X, Y))
    unchecked = _interval(forest).fit(X, Y)
    assert unchecked.rows_checked_ is unchecked.report(X).to_dict()["rows_checked"] is False
    assert "not checked whether calibration rows were used to fit" in str(unchecked.report(X))
    for model in (clone(unchecked).fit(X_NEW, Y_NEW, X_fit=X), _interval().fit(X, Y)):
        assert model.rows_checked_
        assert "not checked" not in str(model.report(X))


def test_frozen_model_is_left_as_it_is():
    model = _interval(FROZEN).fit(X_NEW, Y_NEW)
    np.testing.assert_array_equal(model.predict(X), FROZEN.predict(X))
    np.testing.assert_allclose(model.scores_, np.abs(Y_NEW - FROZEN.predict(X_NEW)))
    assert model.score(X, Y) == FROZEN.score(X, Y)
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("ratio", [None, ULSIF(), ClassifierRatio()])
def test_ratio_is_fitted_to_all_rows_and_the_target(ratio):
    X, y = regression(200, 0)
    X_target = regression(100, 1, mean=0.5)[0]
    model = ConformalRegressor(Ridge(), ratio, random_state=0).fit(X, y, X_target=X_target)
    expected = fit_ratio(X, X_target, ratio)
    np.testing.assert_allclose(model.ratio_.score_samples(X), expected.score_samples(X))
    frozen = ConformalRegressor(Ridge(), FrozenEstimator(expected), random_state=0).fit(X, y)
    np.testing.assert_allclose(frozen.predict_interval(X), model.predict_interval(X))


def test_inner_weighted_model_uses_the_ratio_by_default():
    X, y = regression(400, 0)
    X_target = regression(200, 1, mean=0.5)[0]
    shared = ConformalRegressor(ImportanceWeighted(Ridge()), ClassifierRatio(), random_state=0)
    shared.fit(X, y, X_target=X_target)
    assert shared.estimator_.ratio_.estimator is shared.ratio_
    known = ConformalRegressor(ImportanceWeightedCV(Ridge(), random_state=0), SHIFT, random_state=0)
    assert known.fit(X, y).estimator_.log_ratio_.size == 200
    inner = ImportanceWeighted(Ridge(), ClassifierRatio())
    own = ConformalRegressor(inner, ULSIF(), random_state=0)
    own.fit(X, y, np.ones(400), X_target=X_target)
    assert isinstance(own.estimator_.ratio_, ClassifierRatio)


def test_coverage_may_change_after_fit_but_not_the_method():
    X, y = regression(300, 0)
    model = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    wide = np.diff(model.predict_interval(X))
    narrow = np.diff(model.set_params(coverage=0.5).predict_interval(X))
    assert (narrow < wide).all()
    X, y = classification(300, 0)
    sets = ConformalClassifier(LogisticRegression(), SHIFT, random_state=0).fit(X, y)
    before = sets.predict_set(X)
    np.testing.assert_array_equal(sets.set_params(method="aps").predict_set(X), before)


def test_report_of_intervals():
    X, y = regression(400, 0)
    model = ConformalRegressor(Ridge(), SHIFT, random_state=0).fit(X, y)
    rows = np.r_[X, [[1e3]] * 100]
    report = model.report(rows)
    width = np.diff(model.predict_interval(rows))[:, 0]
    assert report == ConformalReport(
        coverage=0.9,
        n_calibration=200,
        ess=model.ess_,
        n_rows=500,
        infinite_share=np.isinf(width).mean(),
        mean_width=report.mean_width,
    )
    assert report.mean_width == pytest.approx(width[np.isfinite(width)].mean(), rel=1e-12)
    assert json.loads(json.dumps(report.to_dict()))["n_calibration"] == 200
    assert str(report).startswith("nominal coverage 0.9; 200 calibration rows, ")
    assert "20.0% of 500 intervals or sets are infinite\nmean width of the" in str(report)
    assert model.report([[1e3]]).mean_width is None


def test_report_of_sets():
    X, y = classification(400, 0)
    model = ConformalClassifier(LogisticRegression(), NONE, coverage=0.2, random_state=0).fit(X, y)
    sizes, report = model.predict_set(X).sum(axis=1), model.report(X)
    assert report.mean_size == sizes.mean()
    assert report.empty_share == (sizes == 0).mean() > 0
    assert report.infinite_share == 0
    assert f"mean size {report.mean_size:.3g} classes" in str(report)


def test_fit_warns_if_most_sets_are_infinite():
    X, y = regression(400, 0)
    ratio = KnownRatio(lambda X: 8 * X[:, 0])
    model = ConformalRegressor(Ridge(), ratio, random_state=0)
    with pytest.warns(OverlapWarning, match=r"WB307 \d+ % of the prediction sets"):
        model.fit(X, y)
    finding = model.report(X + 8).findings[0]
    assert (finding.code, finding.level) == ("WB307", "warning")
    assert finding.message.startswith("100 % of the prediction sets on the target are infinite")
    size = f"200 calibration rows have an effective sample size of {model.ess_:.1f}, but a coverage"
    assert f"{size} of 0.9 needs at least 9." in finding.message
    assert str(finding) in str(model.report(X + 8))
    assert json.loads(json.dumps(model.report(X + 8).to_dict()))["findings"][0]["code"] == "WB307"
    assert not model.report(X - 8).findings
    # Nine rows are enough for a coverage of 90 %, and eight are not.
    for n in (8, 9):
        few = ConformalRegressor(FrozenEstimator(Ridge().fit(X, y)), NONE)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            few.fit(*regression(n, 1))
        assert len(caught) == (n == 8)


class CappedRatio(ClassifierRatio):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score_samples(self, X):
        return np.where(np.asarray(X)[:, 0] > 10, 20.0, 0.0)


def test_fit_warns_if_only_the_target_sample_shows_infinite_sets():
    message = r"WB307 100 %.* size of 50\.0, enough for a coverage of 0\.9, .* a larger ratio"
    with pytest.warns(OverlapWarning, match=message):
        _interval(ratio=CappedRatio()).fit(X, Y, X_target=X + 20)


def test_fit_warns_if_a_frozen_ratio_separates_the_samples():
    with pytest.warns(OverlapWarning, match="WB302"):
        ratio = FrozenEstimator(fit_ratio(X, X + 20, ClassifierRatio()))
    with pytest.warns(OverlapWarning, match="WB302"):
        _interval(ratio=ratio).fit(X, Y)


few_rows = pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")


@few_rows
@parametrize_with_checks([_interval(ratio=GENTLE), _set(ratio=GENTLE)])
def test_common_checks(estimator, check):
    check_with_held_out_rows(estimator, check)


@few_rows
@pytest.mark.more
@parametrize_with_checks(
    [
        _interval(make_pipeline(StandardScaler(), Ridge()), GENTLE),
        _set(RandomForestClassifier(10, random_state=0), GENTLE, method="aps"),
    ]
)
def test_common_checks_of_other_models(estimator, check):
    check_with_held_out_rows(estimator, check)


def test_kind_and_nested_parameters():
    regressor = ConformalRegressor(Ridge())
    assert is_regressor(regressor)
    assert is_classifier(ConformalClassifier(LogisticRegression()))
    assert is_regressor(ConformalRegressor(FrozenEstimator(Ridge())))
    nested = clone(regressor).set_params(estimator__alpha=2.0, ratio__n_jobs=1, coverage=0.8)
    assert nested.estimator.alpha == 2


@pytest.mark.parametrize("routing", [False, True])
def test_inside_cross_validation(routing):
    X, y = regression(200, 0)
    with config_context(enable_metadata_routing=routing):
        model = ConformalRegressor(Ridge(), SHIFT, random_state=0)
        assert cross_val_score(model, X, y).shape == (5,)
        weighted = ConformalRegressor(ImportanceWeighted(Ridge()), SHIFT, random_state=0)
        assert weighted.fit(X, y, sample_weight=np.ones(200)).n_calibration_ == 100


def test_failed_fit_changes_nothing_and_frames_equal_arrays():
    X, y = regression(200, 0)
    for frame in (pd.DataFrame({"x": X[:, 0]}), pl.DataFrame({"x": X[:, 0]})):
        model = ConformalRegressor(LinearRegression(), SHIFT, random_state=0).fit(frame, y)
        assert model.feature_names_in_.tolist() == ["x"]
        expected = ConformalRegressor(LinearRegression(), SHIFT, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_interval(frame), expected.predict_interval(X))
    before = vars(model).copy()
    with pytest.raises(ValueError, match="missing values"):
        model.fit(frame, np.full(200, np.nan))
    assert vars(model) == before


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas])
def test_columns_of_the_target_are_matched_by_name(convert):
    X, X_target = _named(300, 0), _named(200, 1, mean=0.3)
    y, turned = X["a"].to_numpy() ** 2, X_target[["c", "a", "b"]]
    for inner in (LinearRegression(), ImportanceWeighted(LinearRegression(), ULSIF())):
        model = ConformalRegressor(inner, ClassifierRatio(), random_state=0)
        expected = model.fit(convert(X), y, X_target=convert(X_target)).predict_interval(convert(X))
        model.fit(convert(X), y, X_target=convert(turned))
        np.testing.assert_array_equal(model.predict_interval(convert(X)), expected)
    with pytest.raises(ValueError, match=r"other columns than X: missing \['c'\]"):
        model.fit(convert(X), y, X_target=convert(turned.drop(columns="c")))
