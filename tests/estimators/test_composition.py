"""ImportanceWeighted inside scikit-learn's own machinery, metadata routing on and off."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from weighbridge import Geodesic, ImportanceWeighted, fit_ratio, iw_scorer
from weighbridge.datasets import make_gaussian_shift
from weighbridge.ratios import ClassifierRatio
from weighbridge.weighting import RIWERM


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.fixture
def data():
    data = make_gaussian_shift(200, 150, n_features=2, random_state=0)
    data.label = np.where(data.y > np.median(data.y), "high", "low")
    data.frozen = FrozenEstimator(fit_ratio(data.X, data.X_target))
    return data


@pytest.mark.usefixtures("routing")
def test_grid_search_over_weighting_and_estimator(data):
    model = ImportanceWeighted(make_pipeline(StandardScaler(), SVC()), data.frozen)
    model.set_params(weighting=Geodesic())
    grid = {
        "weighting__lam": [0, 0.5, 1],
        "weighting__alpha": [1, 3],
        "estimator__svc__C": [0.1, 1],
    }
    search = GridSearchCV(model, grid, scoring=iw_scorer("accuracy", data.frozen), cv=3)
    search.fit(data.X, data.label)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_estimator_.ratio_ is data.frozen
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    # lam = 0 is one model whatever alpha is
    scores = search.cv_results_["mean_test_score"].reshape(2, 2, 3)[..., 0]
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", [
    lambda model: BaggingClassifier(model, n_estimators=3, random_state=0),
    lambda model: StackingClassifier([("iw", model), ("plain", LogisticRegression())], cv=3),
    lambda model: VotingClassifier([("iw", model), ("plain", LogisticRegression())]),
    lambda model: CalibratedClassifierCV(model, cv=3),
    lambda model: make_pipeline(StandardScaler(with_std=False, with_mean=False), model),
])  # fmt: skip
def test_inside_ensembles(data, make):
    model = make(ImportanceWeighted(LogisticRegression(), data.frozen, weighting=RIWERM(0.5)))
    assert clone(model).fit(data.X, data.label).score(data.X, data.label) > 0.7
    assert cross_val_score(model, data.X, data.label, cv=3).min() > 0.6


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", [
    lambda model: BaggingRegressor(model, n_estimators=3, random_state=0),
    lambda model: StackingRegressor([("iw", model), ("plain", Ridge())], cv=3),
])  # fmt: skip
def test_inside_ensembles_and_outputs_of_regressors(data, make):
    weighted = ImportanceWeighted(Ridge(), data.frozen, weighting=RIWERM(0.5))
    assert np.isfinite(cross_val_score(make(weighted), data.X, data.y, cv=3)).all()
    two = np.column_stack([data.y, -data.y])
    assert MultiOutputRegressor(weighted).fit(data.X, two).predict(data.X).shape == (200, 2)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())),
        BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0),
        make_pipeline(
            ColumnTransformer([("scale", StandardScaler(), [0])], remainder="passthrough"),
            LogisticRegression(),
        ),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=3),
    ],
)
def test_weights_reach_the_innermost_model(data, inner):
    fitted = ImportanceWeighted(inner, data.frozen).fit(data.X, data.label)
    plain = ImportanceWeighted(inner, data.frozen, weighting=Geodesic(lam=0)).fit(
        data.X, data.label
    )
    change = fitted.predict_proba(data.X) - plain.predict_proba(data.X)
    assert np.abs(change).max() > 0.01


def test_weights_do_not_leak_into_transformers_under_routing(data):
    seen = {}

    class Recorder(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen["weights"] = sample_weight
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        ImportanceWeighted(make_pipeline(Recorder(), Ridge()), data.frozen).fit(data.X, data.y)
        assert seen["weights"] is None
        asked = make_pipeline(Recorder().set_fit_request(sample_weight=True), Ridge())
        model = ImportanceWeighted(asked, data.frozen).fit(data.X, data.y)
    np.testing.assert_array_equal(seen["weights"], model.weights_)


def test_columns_of_a_frame_reach_a_column_transformer(data):
    X, X_target = (
        pd.DataFrame({"a": part[:, 0], "site": np.where(part[:, 1] > 0, "n", "s")})
        for part in (data.X, data.X_target)
    )
    columns = ColumnTransformer([("a", StandardScaler(), ["a"]), ("s", OneHotEncoder(), ["site"])])
    ratio = ClassifierRatio(make_pipeline(columns, LogisticRegression()))
    model = ImportanceWeighted(make_pipeline(columns, Ridge()), ratio)
    model.fit(X, data.y, X_target=X_target[["site", "a"]])
    assert model.predict(X_target).shape == (150,)
    with pytest.raises(ValueError, match="columns are missing"):
        model.predict(X_target[["a"]])


@pytest.mark.usefixtures("routing")
def test_a_frozen_ratio_keeps_the_whole_target_in_every_fold():
    data = make_gaussian_shift(90, 90, random_state=0)  # equally many rows on purpose
    ratio = fit_ratio(data.X, data.X_target)
    model = ImportanceWeighted(Ridge(), FrozenEstimator(ratio))
    fits = cross_validate(model, data.X, data.y, cv=3, return_estimator=True)["estimator"]
    for fit in fits:
        assert fit.ratio_.estimator is ratio
        assert fit.log_ratio_.size == 60
    # and the ratio itself saw all 180 rows, split 90 to 90
    assert ratio.log_prior_odds_ == 0
    assert ratio.rows_used_ == {"source": (90, 90), "target": (90, 90)}


def test_target_through_a_pipeline_is_transformed_under_routing(data):
    # the wrapper belongs outside; inside, scikit-learn can transform X_target on request
    inside = Pipeline(
        [("scale", StandardScaler()), ("iw", ImportanceWeighted(Ridge()))],
        transform_input=["X_target"],
    )
    with sklearn.config_context(enable_metadata_routing=True):
        inside.fit(data.X, data.y, X_target=data.X_target)
    scaler = inside["scale"]
    expected = fit_ratio(scaler.transform(data.X), scaler.transform(data.X_target))
    np.testing.assert_allclose(
        inside["iw"].ratio_.score_samples(scaler.transform(data.X)),
        expected.score_samples(scaler.transform(data.X)),
    )


@pytest.mark.usefixtures("routing")
# two thirds of the rows have a heavy tail of weights
@pytest.mark.filterwarnings("ignore:WB303:weighbridge.exceptions.OverlapWarning")
def test_own_weights_through_cross_validation(data):
    model = ImportanceWeighted(Ridge(), data.frozen)
    weights = np.linspace(0.5, 1.5, 200)
    if sklearn.get_config()["enable_metadata_routing"]:
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_validate(model, data.X, data.y, params={"sample_weight": weights}, cv=3,
                            return_estimator=True)  # fmt: skip
    for fit in scores["estimator"]:
        assert fit.log_ratio_.size in (133, 134)
    assert np.isfinite(scores["test_score"]).all()


def test_global_state_is_left_alone(data):
    before = sklearn.get_config(), np.geterr(), np.random.get_state()[1].copy()  # noqa: NPY002
    ImportanceWeighted(Ridge()).fit(data.X, data.y, X_target=data.X_target)
    after = sklearn.get_config(), np.geterr(), np.random.get_state()[1]  # noqa: NPY002
    assert before[:2] == after[:2]
    np.testing.assert_array_equal(before[2], after[2])
