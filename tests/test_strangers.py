"""What newcomers try first, and what they carry into other tools."""

import json
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import weighbridge as wb
from weighbridge.adaptation import Adaptation
from weighbridge.conformal import ConformalClassifier
from weighbridge.datasets import make_clinic, make_gaussian_shift, make_quadratic
from weighbridge.exceptions import InputError, OverlapWarning
from weighbridge.ratios import fit_ratio, source_log_ratio
from weighbridge.target_risk import estimate_risk

NAMED = {"ulsif": wb.ULSIF, "kliep": wb.KLIEP, "kmm": wb.KMM}
pytestmark = pytest.mark.filterwarnings(f"ignore::{OverlapWarning.__module__}.OverlapWarning")


@pytest.fixture(scope="module")
def clinic():
    data = make_clinic(400, 200, random_state=3)
    train = data.X.assign(readmitted=data.y)
    return train, data.X_target


def adapted(clinic, **settings):
    train, deploy = clinic
    return wb.adapt(train, deploy, label="readmitted", progress=False, **settings)


@pytest.fixture(scope="module")
def found(clinic):
    return adapted(clinic)


# names


@pytest.mark.parametrize("name", NAMED)
def test_a_ratio_by_its_name_is_the_one_of_that_name(name):
    data = make_gaussian_shift(80, 60, n_features=1, random_state=0)
    by_name = wb.ImportanceWeighted(Ridge(), name).fit(data.X, data.y, X_target=data.X_target)
    made = wb.ImportanceWeighted(Ridge(), NAMED[name]()).fit(data.X, data.y, X_target=data.X_target)
    np.testing.assert_array_equal(by_name.predict(data.X), made.predict(data.X))
    ratios = [fit_ratio(data.X, data.X_target, each) for each in (name, NAMED[name]())]
    assert type(ratios[0]) is type(ratios[1])
    np.testing.assert_array_equal(*(source_log_ratio(each, data.X, None) for each in ratios))
    # the wrapper keeps what it was given
    assert clone(by_name).ratio == name


def test_adapt_and_the_estimators_know_the_same_names(clinic):
    with pytest.raises(ValueError, match="ulsif") as of_fit:
        fit_ratio(np.ones((5, 1)), np.ones((5, 1)), "ulsiff")
    with pytest.raises(wb.exceptions.InputError, match="ulsif") as of_adapt:
        adapted(clinic, ratio="ulsiff")
    for name in (*NAMED, "gaussian", "auto"):
        assert name in str(of_fit.value)
        assert name in str(of_adapt.value)


def test_one_idea_makes_a_grid_search_over_lam():
    data = make_quadratic(random_state=0)
    given = wb.for_target(Ridge(), data.X, data.X_target, scoring="neg_mean_squared_error")
    search = GridSearchCV(**given, param_grid={"weighting__lam": [0, 0.5]}).fit(data.X, data.y)
    # the same by hand: one ratio, a weighted estimator, a weighted score
    ratio = fit_ratio(data.X, data.X_target)
    for place, lam in enumerate((0, 0.5)):
        model = wb.ImportanceWeighted(Ridge(), FrozenEstimator(ratio), weighting=wb.AIWERM(lam))
        scorer = wb.iw_scorer("neg_mean_squared_error", ratio)
        scores = cross_val_score(model, data.X, data.y, scoring=scorer)
        assert search.cv_results_["mean_test_score"][place] == pytest.approx(scores.mean())


# tables as they come


def test_text_in_a_model_that_takes_numbers_names_the_column_and_the_remedy():
    X = pd.DataFrame({"age": [30.0, 40, 50, 60], "ward": ["a", "b", "a", "b"]})
    model = wb.ImportanceWeighted(LogisticRegression(), wb.KnownRatio(lambda X: np.zeros(len(X))))
    with pytest.raises(ValueError, match=r"columns \['ward'\]") as raised:
        model.fit(X, [0, 1, 0, 1])
    assert "make_column_transformer((OneHotEncoder(" in str(raised.value)


def test_text_is_blamed_only_where_there_is_some_and_in_a_pipeline_too():
    X, texts = pd.DataFrame({"age": [30.0, 40, 50, 60]}), ["a", "b", "a", "b"]
    known = wb.KnownRatio(lambda X: np.zeros(len(X)))
    with pytest.raises(ValueError, match="could not convert string to float"):
        wb.ImportanceWeighted(Ridge(), known).fit(X, texts)  # the label is
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (wb.ImportanceWeighted(scaled, known), wb.ImportanceWeightedCV(scaled, known)):
        with pytest.raises(ValueError, match=r"columns \['ward'\]; Pipeline does not take it, or"):
            model.fit(X.assign(ward=texts), [0, 1, 0, 1])


@pytest.mark.parametrize("name", ["auto", "ulsif"])
@pytest.mark.parametrize("kind", [wb.ImportanceWeighted, wb.ImportanceWeightedCV])
def test_a_ratio_by_name_works_where_estimators_are_cloned(kind, name):
    data = make_gaussian_shift(120, 100, n_features=2, random_state=0)
    model = kind(LogisticRegression(), ratio=name)
    sets = ConformalClassifier(model).fit(data.X, data.y > 0, X_target=data.X_target)
    assert sets.predict_set(data.X_target).shape == (100, 2)
    inner = "relative" if name == "ulsif" else "cv"
    assert model.set_params(**{f"ratio__{inner}": 0.5}).get_params()[f"ratio__{inner}"] == 0.5


def test_a_ratio_that_is_fitted_or_known_is_taken_as_it_is():
    data = make_gaussian_shift(120, 100, n_features=2, random_state=0)
    fitted = fit_ratio(data.X, data.X_target, "gaussian")
    for ratio in (fitted, FrozenEstimator(fitted), wb.KnownRatio(fitted.score_samples)):
        prepared = wb.for_target(Ridge(), data.X, data.X_target, ratio=ratio)
        model = prepared["estimator"].fit(data.X, data.y)
        assert np.ptp(model.log_ratio_ - fitted.score_samples(data.X)) < 1e-9
        assert np.isfinite(prepared["scoring"](model, data.X, data.y))


def test_the_row_weights_are_not_taken_for_the_label(clinic):
    train, deploy = clinic
    with pytest.raises(InputError) as caught:
        wb.adapt(train.rename(columns={"readmitted": "y"}).assign(w=1.0), deploy, label="readmit",
                 weight="w")  # fmt: skip
    assert caught.value.problems[0].help == 'label="y"'


def test_samples_apart_by_a_sum_of_columns_are_not_called_well_covered():
    rng = np.random.default_rng(0)
    X, X_target = rng.integers(0, 30, (2, 400, 3)).astype(float)
    # a cohort of a given year: age less school less work is the same for all of them
    X[:, 0], X_target[:, 0] = X[:, 1:].sum(axis=1) + 5, X_target[:, 1:].sum(axis=1) + 6
    with pytest.warns(OverlapWarning, match="WB302"):
        ratio = FrozenEstimator(fit_ratio(X, X_target))
    report = wb.diagnose(ratio, X, X_target)
    assert report.support.share < 0.1
    assert report.full.ess > 100
    assert (report.overlap, report.overlap_judgement.can_weight) == ("thin", False)
    assert "far larger ratio than nearly all training rows" in report.overlap_judgement.reason
    y = X[:, 1] + rng.normal(size=400)
    assert estimate_risk(LinearRegression(), X, y, X_target, ratio=ratio).state == "flagged"
    model = wb.ImportanceWeightedCV(LinearRegression(), ratio).fit(X, y)
    assert model.overlap_ != "enough"


def test_diagnose_forgives_a_column_that_one_table_has_alone(clinic):
    train, deploy = clinic
    given, whole = wb.diagnose(train, deploy), wb.diagnose(train.drop(columns="readmitted"), deploy)
    assert given.auc == whole.auc
    assert given.attribution == whole.attribution
    (note,) = (each for each in given.findings if each.code == "WB138")
    assert "only X has readmitted" in str(note)
    assert "WB138" not in [each.code for each in whole.findings]


@pytest.mark.parametrize(
    ("swap", "label", "said"),
    [
        (False, "y", ['only train has "readmitted"', 'label="readmitted"']),
        (False, "readmited", ["nearest: readmitted"]),
        (True, "readmitted", ["deploy has it", "give training first"]),
    ],
)
def test_a_wrong_label_is_one_problem_with_the_likely_remedy(clinic, swap, label, said):
    train, deploy = clinic[::-1] if swap else clinic
    with pytest.raises(InputError) as caught:
        wb.adapt(train, deploy, label=label)
    assert [problem.code for problem in caught.value.problems] == ["WB105"]
    assert all(text in str(caught.value) for text in said)


@pytest.mark.parametrize("wrong", [None, pd.Series([0, 1], name="readmitted"), ["readmitted"], 8])
def test_a_label_is_the_name_of_a_column(clinic, wrong):
    with pytest.raises(TypeError, match="name a column"):
        wb.adapt(*clinic, label=wrong)


def test_tables_without_a_common_column_are_refused(clinic):
    train, deploy = clinic
    other = deploy.rename(columns=str.upper)
    with pytest.raises((ValueError, wb.exceptions.InputError), match="column"):
        wb.diagnose(train, other)


# what is shown


def test_tab_shows_eight_names_and_hides_nothing(found):
    for each in (found, found.verdict, found.verdict.report):
        shown = [name for name in dir(each) if not name.startswith("_")]
        assert len(shown) <= 8
        for name in shown:
            getattr(each, name)
    assert isinstance(found, Adaptation)
    assert found.log_ratio.shape == found.weights.shape  # there, though not on the list


def test_diagnose_has_the_cards_of_adapt_in_a_notebook(found, clinic):
    train, deploy = clinic
    shown = wb.diagnose(train, deploy)._repr_html_()
    whole = found._repr_html_()
    assert "<script" not in shown + whole
    for question in ("Is there shift?", "Is there overlap?"):
        assert question in shown
        assert question in whole
    style = (files("weighbridge._findings") / "cards.css").read_text("utf-8")
    assert style in shown
    assert style in whole


# the model in other people's tools


def by_hand(model, X, y, weights):
    """Return the same pipeline fitted anew with these weights."""
    last = model.steps[-1][0]
    return clone(model).fit(X, y, **{f"{last}__sample_weight": weights})


def frames(found):
    return found.pair.X, found.pair.y


def test_the_weights_are_those_that_made_the_model(clinic):
    for settings in ({"lam": 1, "alpha": 3}, {"lam": 0}):
        found = adapted(clinic, **settings)
        assert isinstance(found.pipeline, Pipeline)
        X, y = frames(found)
        made = by_hand(found.pipeline, X, y, found.weights).predict_proba(X)
        np.testing.assert_allclose(made, found.pipeline.predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(made, found.verdict.model.predict_proba(X), atol=1e-6)


ALONE = """
import json, sys
sys.modules["weighbridge"] = None
import pandas as pd
import skops.io
trusted = skops.io.get_untrusted_types(file="model.skops")
model = skops.io.load("model.skops", trusted=trusted)["model"]
print(json.dumps([trusted, model.predict_proba(pd.read_csv("rows.csv"))[:, 1].tolist()]))
"""


@pytest.mark.parametrize("settings", [{"lam": 1, "alpha": 3}, {"lam": 0}])
def test_the_model_of_one_fit_is_read_without_weighbridge(clinic, tmp_path, settings):
    found = adapted(clinic, **settings)
    found.save(tmp_path)
    X, _ = frames(found)
    X.to_csv(tmp_path / "rows.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    types, predicted = json.loads(done.stdout)
    assert not [name for name in types if name.startswith("weighbridge")]
    np.testing.assert_allclose(predicted, found.verdict.model.predict_proba(X)[:, 1], atol=1e-9)
