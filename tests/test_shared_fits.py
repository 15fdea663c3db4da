"""What several candidates, folds and stages need is made once, and changes no number."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from clinic import clinic_model
from weighbridge import ImportanceWeighted, ImportanceWeightedCV, assess, diagnose, fit_ratio
from weighbridge._estimators import AverageModel, SharedFits
from weighbridge._pass_weights import fit_with_weights
from weighbridge.datasets import make_clinic, make_quadratic
from weighbridge.domain import CrossFittedDomain, DomainRows, outside_support
from weighbridge.label_shift import fit_by_kind
from weighbridge.model_selection import LeaveOneOut, Point
from weighbridge.ratios import KnownRatio
from weighbridge.target_risk import compare_risks
from weighbridge.target_risk._coded_texts import coded_texts
from weighbridge.weighting import mean_one


class Counted(HistGradientBoostingClassifier):
    """Counts its fits."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.n_fits += 1
        return super().fit(X, y, sample_weight=sample_weight)


def test_a_choice_makes_at_most_twenty_fits_and_a_verdict_repeats_it_six_times():
    data = make_clinic(300, 200, random_state=0)
    X, X_target = (part.select_dtypes("number") for part in (data.X, data.X_target))
    Counted.n_fits = 0
    model = Counted(max_iter=5, random_state=0)
    verdict = assess(model, X, data.y, X_target, random_state=0)
    assert [each.name for each in verdict.candidates] == ["none", "full", "tuned"]
    assert 6 * 15 < Counted.n_fits <= 120


def test_candidates_that_share_fits_are_those_that_are_fitted_alone():
    data = make_clinic(400, 300, random_state=0)
    ratio = FrozenEstimator(fit_ratio(data.X, data.X_target))
    base, shared = clinic_model(), SharedFits()
    options = {"ratio": ratio, "random_state": 0}
    for candidate in (
        ImportanceWeighted(base, ratio),
        ImportanceWeightedCV(base, alpha_bounds=(1, 1), answer="argmin", **options),
        ImportanceWeightedCV(base, alpha_bounds=(3, 3), answer="argmin", **options),
        ImportanceWeightedCV(base, **options),
    ):
        together, alone = clone(candidate), clone(candidate).fit(data.X, data.y)
        together._shared = shared
        together.fit(data.X, data.y)
        one, other = (each.predict_proba(data.X_target) for each in (together, alone))
        np.testing.assert_allclose(one, other, atol=1e-10)
        if hasattr(alone, "mixture_"):
            assert str(together.mixture_) == str(alone.mixture_)
            np.testing.assert_allclose(
                together.search_result_.values, alone.search_result_.values, rtol=1e-9
            )


def test_models_with_other_seeds_or_weights_are_other_models():
    data = make_quadratic(random_state=0)
    X, y = data.X, data.y > np.median(data.y)
    shared = SharedFits()
    seeds = [Counted(max_iter=2, random_state=seed) for seed in (0, 1, 0)]
    models = [shared.model(each, X, y, None) for each in seeds]
    assert models[0] is models[2]
    assert models[0] is not models[1]
    weighted = shared.model(seeds[0], X, y, np.linspace(0.5, 1.5, y.size))
    assert weighted is not models[0]


def test_an_average_of_pipelines_transforms_its_rows_once():
    data = make_quadratic(random_state=0)
    calls = []

    def seen(X):
        calls.append(len(X))
        return X

    pipeline = make_pipeline(FunctionTransformer(seen), StandardScaler(), LinearRegression())
    first = clone(pipeline).fit(data.X, data.y)
    second = clone(pipeline).fit(data.X, data.y, linearregression__sample_weight=data.X[:, 0] ** 2)
    apart = AverageModel([first, second], np.array([0.3, 0.7])).predict(data.X_target)
    second.steps[:-1] = first.steps[:-1]
    calls.clear()
    together = AverageModel([first, second], np.array([0.3, 0.7])).predict(data.X_target)
    assert calls == [len(data.X_target)]
    np.testing.assert_allclose(together, apart, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 10},
        {"handle_unknown": "infrequent_if_exist", "max_categories": 3},
        {"drop": "first", "handle_unknown": "ignore"},
    ],
)
def test_codes_stand_for_text_in_all_that_an_encoder_makes_of_it(options):
    rng = np.random.default_rng(0)
    levels = np.array(["b", "a", "ä", "", "Z", None], dtype=object)
    chances = [0.3, 0.3, 0.2, 0.1, 0.02, 0.08]
    frames = [
        pd.DataFrame({"x": rng.normal(size=n), "s": rng.choice(levels, n, p=chances)}, dtype=object)
        for n in (200, 100)
    ]
    frames = [frame.astype({"x": float}) for frame in frames]
    step = ColumnTransformer(
        [("x", StandardScaler(), ["x"]), ("s", OneHotEncoder(**options), ["s"])], sparse_threshold=0
    )
    coded = coded_texts([step], *frames)
    assert all(each["s"].dtype == float for each in coded)
    text, numbers = clone(step).fit(frames[0]), clone(step).fit(coded[0])
    for frame, other in zip(frames, coded, strict=True):
        np.testing.assert_array_equal(text.transform(frame), numbers.transform(other))


def test_text_that_anything_but_an_encoder_sees_stays_text():
    frame = pd.DataFrame({"s": pd.Series(["a", "b"], dtype=object)})
    encoders = ColumnTransformer([("s", OneHotEncoder(handle_unknown="ignore"), ["s"])])
    assert coded_texts([encoders], frame)[0] is not frame
    own = ColumnTransformer([("s", FunctionTransformer(), ["s"])])
    chosen = ColumnTransformer([("s", OneHotEncoder(categories=[["a", "b"]]), ["s"])])
    array = np.zeros((2, 1))
    for steps, table in (([own], frame), ([chosen], frame), ([], frame), ([encoders], array)):
        assert coded_texts(steps, table)[0] is table
    mixed = pd.DataFrame({"s": pd.Series(["a", None, np.nan], dtype=object)})
    assert coded_texts([encoders], mixed)[0] is mixed  # two kinds of missing values are two levels


def _apart(n=300, d=3, distance=20.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + distance


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_where_a_line_tells_all_rows_apart_no_trees_are_grown():
    X, X_target = _apart()
    domain = CrossFittedDomain(DomainRows(X, X_target))
    assert all(model.trees is None for model in domain.models)
    assert domain.auc().value > 0.999
    assert [row["name"] for row in fit_ratio(X, X_target).table_] == ["constant", "linear"]
    near = CrossFittedDomain(DomainRows(X, X_target - 19.5))
    assert all(model.trees is not None for model in near.models)


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_beyond_the_source_no_kind_of_shift_is_looked_for():
    X, X_target = _apart()
    y = (X[:, 0] > 0).astype(int)
    found = fit_by_kind("auto", X, y, X_target)
    assert found.kind is not None  # the support was not known
    support = outside_support(X, X_target)
    assert fit_by_kind("auto", X, y, X_target, support=support).kind is None
    assert diagnose(X, X_target, y=y).label_shift is None
    verdict = assess(LogisticRegression(), X, y, X_target, random_state=0)
    assert verdict.weighting == "unknown"


def test_models_with_other_ratios_share_no_criterion():
    data = make_quadratic(random_state=0)
    one, other = (KnownRatio(lambda X, k=k: k * X[:, 0]) for k in (1.0, -1.0))
    base = Ridge()
    models = [ImportanceWeightedCV(base, ratio, random_state=0) for ratio in (one, other)]
    own = ImportanceWeightedCV(Ridge(), other, random_state=0)
    arguments = data.X, data.y, data.X_target
    together = compare_risks(*models, *arguments, random_state=0, ratio=data.ratio)
    apart = compare_risks(models[0], own, *arguments, random_state=0, ratio=data.ratio)
    assert together.change.value == pytest.approx(apart.change.value, rel=1e-9)


class LogPipeline(Pipeline):
    """Does more in its fit than its steps."""

    def fit(self, X, y, **options):
        return super().fit(X, np.log(y), **options)

    def predict(self, X):
        return np.exp(super().predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        LogPipeline([("scale", StandardScaler()), ("line", LinearRegression())]),
        Pipeline([("all", make_pipeline(StandardScaler(), LinearRegression()))]),
        Pipeline([("tree", DecisionTreeRegressor(max_depth=2, random_state=0))]),
    ],
)
def test_pipelines_of_any_form_are_fitted_as_they_are(estimator):
    data = make_quadratic(random_state=0)
    noise = np.random.default_rng(0).normal(size=len(data.X))
    y = np.exp(0.1 * data.X[:, 0] + 0.1 * noise)
    model = ImportanceWeightedCV(estimator, data.ratio, random_state=0).fit(data.X, y)
    expected = np.zeros(y.size)
    for weighting, share in model.mixture_:
        weights = mean_one(weighting(model.log_ratio_))
        expected += share * fit_with_weights(clone(estimator), data.X, y, weights).predict(data.X)
    np.testing.assert_allclose(model.predict(data.X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(drop=["b"], handle_unknown="ignore"),
        OneHotEncoder(),
        OneHotEncoder(min_frequency=2),
    ],
)
def test_text_whose_levels_are_named_stays_text(encoder):
    frame = pd.DataFrame({"s": pd.Series(["a", "b", "c"], dtype=object)})
    assert coded_texts([ColumnTransformer([("s", encoder, ["s"])])], frame)[0] is frame
    numbered = frame.rename(columns={"s": 0})
    step = ColumnTransformer([("s", OneHotEncoder(handle_unknown="ignore"), [0])])
    assert coded_texts([step], numbered)[0] is numbered


def test_a_point_that_comes_twice_is_evaluated_once():
    data = make_quadratic(random_state=0)
    objective = LeaveOneOut().objective(Ridge(), data.X, data.y, data.log_ratio)
    points = [Point(0.0, 1.0), Point(0.0, 1.0), Point(1.0, 1.0)]
    assert [each.point for each in objective.evaluate(points)] == points
