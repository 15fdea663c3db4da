"""Values that are not what they look like: masked arrays, numbers as text, odd types."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from cli_runs import run
from weighbridge import (
    ImportanceWeighted,
    ImportanceWeightedCV,
    assess,
    diagnose,
    fit_ratio,
    iw_scorer,
)
from weighbridge._findings import argument
from weighbridge._tables import read_pair
from weighbridge.adaptation import SavedModel, TableModel
from weighbridge.adaptation._saved_model import model_bytes, values_seen
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.datasets import split_by_projection
from weighbridge.diagnosis import effective_sample_size
from weighbridge.exceptions import InputError, WeightWarning
from weighbridge.guarantees import d2_from_ratios
from weighbridge.label_shift import kind_of_shift
from weighbridge.model_selection import BayesianSearch, CrossValidation, Point
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    ClassifierRatio,
    GaussianRatio,
    KnownRatio,
    NearestNeighbourRatio,
)
from weighbridge.target_risk import estimate_risk

RNG = np.random.default_rng(0)
X, X_TARGET = RNG.normal(0, 1, (120, 2)), RNG.normal(0.5, 1, (80, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=120)
CLASSES = (Y > 0).astype(int)
HIDDEN = RNG.random(X.shape) < 0.1
MASKED = np.ma.masked_array(np.where(HIDDEN, 999.0, X), mask=HIDDEN)
GAPS = np.where(HIDDEN, np.nan, X)
TREE, LOGISTIC = DecisionTreeRegressor(max_depth=2, random_state=0), LogisticRegression()


def _known(X):
    return np.nan_to_num(np.asarray(X)[:, 0]) / 2


KNOWN = KnownRatio(_known)
CROSS = CrossValidation(2)
WEIGHTED, GAUSSIAN = ImportanceWeighted(TREE, KNOWN), ImportanceWeighted(TREE, GaussianRatio())
SEARCHED = ImportanceWeightedCV(
    TREE, KNOWN, criterion=CROSS, search=BayesianSearch(6), random_state=0
)
CONFORMAL = ConformalRegressor(TREE, KNOWN, random_state=0)


def _losses(X):
    objective = CROSS.objective(TREE, X, Y, _known(GAPS), random_state=0)
    return next(objective.evaluate([Point(0.5, 1.0)])).losses


def _risk(X):
    return estimate_risk(TREE, X, Y, X_TARGET, ratio=KNOWN, cv=2, random_state=0)


TAKES_ROWS = {
    "weighted": lambda X: clone(GAUSSIAN).fit(X, Y, X_target=X_TARGET).predict(GAPS),
    "target": lambda X: clone(GAUSSIAN).fit(X_TARGET, X_TARGET[:, 0], X_target=X).weights_,
    "known": lambda X: clone(WEIGHTED).fit(X, Y).predict(GAPS),
    "cv": lambda X: clone(SEARCHED).fit(X, Y).predict(GAPS),
    "conformal": lambda X: clone(CONFORMAL).fit(X, Y).scores_,
    "predict": lambda X: clone(WEIGHTED).fit(GAPS, Y).predict(X),
    "score": lambda X: clone(WEIGHTED).fit(GAPS, Y).score(X, Y),
    "scorer": lambda X: iw_scorer("r2", KNOWN)(clone(TREE).fit(GAPS, Y), X, Y),
    "objective": _losses,
    "ratio": lambda X: fit_ratio(X, X_TARGET, GaussianRatio()).score_samples(X),
    "diagnose": lambda X: diagnose(KNOWN, X, X_TARGET).auc.value,
    "risk": lambda X: _risk(X).value,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.more) if n == "diagnose" else n for n in TAKES_ROWS],
)
def test_masked_rows_are_rows_with_gaps_wherever_they_go_in(name):
    np.testing.assert_array_equal(TAKES_ROWS[name](MASKED), TAKES_ROWS[name](GAPS))


GAPPY_Y = np.ma.masked_array(Y, mask=HIDDEN[:, 0])
GAPPY_CLASSES = np.ma.masked_array(CLASSES, mask=HIDDEN[:, 0])
GAPPY_WEIGHTS = np.ma.masked_array(np.ones(120), mask=HIDDEN[:, 0])
LABELS = {
    "weighted": lambda y: ImportanceWeighted(Ridge(), KNOWN).fit(X, y),
    "cv": lambda y: clone(SEARCHED).fit(X, y),
    "conformal": lambda y: clone(CONFORMAL).fit(X, y),
    "scorer": lambda y: iw_scorer("r2", KNOWN)(Ridge().fit(X, Y), X, y),
    "score": lambda y: ImportanceWeighted(Ridge(), KNOWN).fit(X, Y).score(X, y),
    "objective": lambda y: CROSS.objective(Ridge(), X, y, _known(X)),
    "risk": lambda y: estimate_risk(Ridge(), X, y, X_TARGET, ratio=KNOWN, cv=2),
    "assess": lambda y: assess(Ridge(), X, y, X_TARGET, ratio=KNOWN, cv=2),
    "split": lambda y: split_by_projection(X, y, random_state=0),
}
CLASS_LABELS = {
    "weighted": lambda y: ImportanceWeighted(LOGISTIC, KNOWN).fit(X, y),
    "conformal": lambda y: ConformalClassifier(LOGISTIC, KNOWN, random_state=0).fit(X, y),
    "text": lambda y: ImportanceWeighted(LOGISTIC, KNOWN).fit(X, y.astype(str)),
    "domain": lambda y: GaussianRatio().fit(X, y),
    "label shift": lambda y: kind_of_shift(X, y, X_TARGET),
    "diagnose": lambda y: diagnose(KNOWN, X, X_TARGET, y=y),
}


WEIGHTS = {
    "effective sample size": effective_sample_size,
    "bound": d2_from_ratios,
    "fit": lambda weight: ImportanceWeighted(Ridge(), KNOWN).fit(X, Y, weight),
    "score": lambda weight: ImportanceWeighted(Ridge(), KNOWN).fit(X, Y).score(X, Y, weight),
}
HIDDEN_NUMBERS = [(LABELS, GAPPY_Y), (CLASS_LABELS, GAPPY_CLASSES), (WEIGHTS, GAPPY_WEIGHTS)]


@pytest.mark.parametrize(
    ("function", "values"),
    [(function, values) for functions, values in HIDDEN_NUMBERS for function in functions.values()],
    ids=[f"{name}" for functions, _ in HIDDEN_NUMBERS for name in functions],
)
def test_masked_labels_and_weights_are_an_error(function, values):
    with pytest.raises(ValueError, match=r"masked values in|missing|NaN"):
        function(values)


def test_a_mask_that_hides_nothing_changes_nothing():
    plain = ImportanceWeighted(LOGISTIC, KNOWN).fit(X, CLASSES)
    masked = ImportanceWeighted(LOGISTIC, KNOWN).fit(np.ma.array(X), np.ma.array(CLASSES))
    np.testing.assert_array_equal(masked.predict_proba(X), plain.predict_proba(X))
    assert masked.classes_.dtype == CLASSES.dtype


RATIOS = [ULSIF(), KLIEP(), KMM(), ClassifierRatio(), GaussianRatio(), NearestNeighbourRatio()]
TEXTS = {
    "text": lambda X: X.astype(str),
    "bytes": lambda X: X.astype("S32"),
    "objects": lambda X: X.astype(str).astype(object),
    "lists": lambda X: X.astype(str).tolist(),
    "frame without names": lambda X: pd.DataFrame(X.astype(str)),
}


READ_AS_NUMBERS = 'WB104 Got text in column "0", "1"'


@pytest.mark.parametrize("name", TEXTS)
def test_numbers_as_text_in_an_array_are_read_as_numbers_with_a_word(name):
    as_text = TEXTS[name]
    plain = ImportanceWeighted(Ridge(), GaussianRatio()).fit(X, Y, X_target=X_TARGET)
    with pytest.warns(WeightWarning, match=READ_AS_NUMBERS):
        model = clone(plain).fit(as_text(X), Y, X_target=as_text(X_TARGET))
    np.testing.assert_allclose(model.weights_, plain.weights_, rtol=1e-10)
    np.testing.assert_allclose(model.estimator_.coef_, plain.estimator_.coef_, rtol=1e-10)


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: type(ratio).__name__)
def test_every_ratio_reads_an_array_of_text_as_numbers(ratio):
    expected = fit_ratio(X, X_TARGET, ratio).score_samples(X)
    with pytest.warns(WeightWarning, match=READ_AS_NUMBERS):
        found = fit_ratio(X.astype(str), X_TARGET.astype(str), ratio)
    np.testing.assert_allclose(found.score_samples(X.astype(str)), expected, atol=1e-6)


def test_a_mixed_array_has_numbers_and_categories():
    site = np.where(RNG.random(120) < 0.5, "north", "south")
    mixed = np.column_stack([X[:, 0].astype(str), site])
    frame = pd.DataFrame({"x": X[:, 0], "site": site})
    with pytest.warns(WeightWarning, match='WB104 Got text in column "0": its'):
        found = fit_ratio(mixed[:60], mixed[60:], ULSIF()).score_samples(mixed)
    expected = fit_ratio(frame[:60], frame[60:], ULSIF()).score_samples(frame)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


CODES = pd.DataFrame({"age": RNG.integers(20, 40, 120), "x": X[:, 0]}).astype({"age": str})
CODES_TARGET = pd.DataFrame({"age": RNG.integers(25, 45, 80), "x": X_TARGET[:, 0]}).astype(
    {"age": str}
)
AGES = CODES["age"].astype(float).to_numpy() + X[:, 1]


def _encoded(*others):
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, ["age"]), *others), Ridge())


def test_text_in_a_frame_that_the_model_reads_as_numbers_is_refused():
    for model in (
        ImportanceWeighted(Ridge(), GaussianRatio()),
        ImportanceWeighted(make_pipeline(StandardScaler(), Ridge()), GaussianRatio()),
        ImportanceWeightedCV(Ridge(), GaussianRatio(), random_state=0),
        ConformalRegressor(Ridge(), GaussianRatio(), random_state=0),
    ):
        with pytest.raises(TypeError, match=r"WB104 .*age.* reads them"):
            model.fit(CODES, AGES, X_target=CODES_TARGET)
    for function in (estimate_risk, assess):
        with pytest.raises(TypeError, match='WB104 Got text in column "age"'):
            function(Ridge(), CODES, AGES, CODES_TARGET, ratio=GaussianRatio(), cv=2)


@pytest.mark.parametrize(
    "model",
    [
        _encoded(),
        _encoded((StandardScaler(), ["x"])),
        make_pipeline(make_column_transformer((StandardScaler(), ["x"])), Ridge()),
    ],
)
@pytest.mark.filterwarnings("ignore:WB30")
def test_codes_in_a_frame_stay_categories_where_the_model_encodes_them(model):
    lettered, target = (part.assign(age="z" + part["age"]) for part in (CODES, CODES_TARGET))
    found = ImportanceWeighted(model, GaussianRatio()).fit(CODES, AGES, X_target=CODES_TARGET)
    expected = ImportanceWeighted(model, GaussianRatio()).fit(lettered, AGES, X_target=target)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-10)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_text_in_a_frame_that_can_only_be_numbers_is_refused_without_a_model(library):
    frames = [library({"a": part[:, 0].astype(str)}) for part in (X, X_TARGET)]
    for function in (fit_ratio, diagnose):
        with pytest.raises(TypeError, match=r"WB104 .*a.* decimals in nearly"):
            function(*frames)


def test_numbers_beside_text_are_refused():
    with pytest.raises(TypeError, match="convert them to the same type"):
        fit_ratio(X, X_TARGET.astype(str))
    ratio = fit_ratio(X, X_TARGET, GaussianRatio())
    with pytest.raises(ValueError, match=r"Got text .* which held numbers in fit"):
        ratio.score_samples(np.full((3, 2), "north"))


def _patients(rows):
    site = np.array(["north", "south", "west"])[np.arange(len(rows)) % 3]
    return pd.DataFrame({"age": 50 + 10 * rows[:, 0], "site": site})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of two columns, in Python and in a file."""
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["site"]), (StandardScaler(), ["age"]))
    kinds, rows = {"age": "numeric", "site": "category"}, _patients(X)
    model = make_pipeline(columns, LogisticRegression()).fit(rows, CLASSES)
    seen, file = values_seen(rows, kinds), tmp_path_factory.mktemp("run") / "model.skops"
    whole = SavedModel(model, kinds, "ill", "classification", "none", "0.1", seen)
    file.write_bytes(model_bytes(whole))
    return TableModel(model, kinds, seen), file


STRANGE = [
    ("site", "east", '"east", where training had "north", "south", "west".'),
    ("site", "$5", '"$5"'),
    ("age", 5e7, "where training had "),
    ("age", -4e3, '"-4000.0"'),
]


@pytest.mark.parametrize(("name", "value", "words"), STRANGE)
def test_new_values_are_a_finding_of_predictions(saved, tmp_path, name, value, words):
    model, file = saved
    rows = _patients(X_TARGET[:6])
    rows[name] = rows[name].where(np.arange(6) > 0, value)
    rows.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", file, tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--json")
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)["findings"]
    assert found["code"] == "WB113"
    assert words in found["message"]
    with pytest.warns(UserWarning, match="WB113"):
        model.predict(rows)


def test_predictions_of_usual_rows_have_no_findings(saved, tmp_path):
    model, file = saved
    rows = _patients(X_TARGET).assign(site=lambda rows: rows["site"].where(rows["age"] > 45))
    rows.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", file, tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--json")
    assert json.loads(result.stdout)["findings"] == []
    told = pd.read_csv(tmp_path / "out.csv")["probability_1"]
    np.testing.assert_allclose(told, model.predict_proba(rows)[:, 1], rtol=1e-6)


@pytest.mark.parametrize("sign", ["${}", "{} %", "€ {}"])
def test_numbers_with_a_sign_are_refused_or_told(sign):
    tables = [_patients(X), _patients(X_TARGET)]
    many, few = (
        [rows.assign(price=[sign.format(i % n) for i in range(len(rows))]) for rows in tables]
        for n in (40, 4)
    )
    with pytest.raises(InputError, match=r'WB131: "price" in .* numbers written with a symbol'):
        read_pair(*many, option=argument)
    (note,) = read_pair(*few, option=argument)[2].notes
    assert (note.code, note.level) == ("WB131", "note")
    assert "each is taken for a category" in note.message


DAYS = 86_400_000_000
SAME = {
    "decimals": lambda X: np.vectorize(Decimal, otypes=[object])(X),
    "durations": lambda X: (X * DAYS).astype("m8[us]"),
    "nullable": lambda X: pd.DataFrame(X, columns=["a", "b"]).astype("Float64"),
    "long doubles": lambda X: X.astype(np.longdouble),
}
REFUSED = {
    "complex": lambda X: X + 1j,
    "complex objects": lambda X: (X + 1j).astype(object),
    "three dimensions": lambda X: X[:, :, None],
    "a record for each row": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
    "gaps in a sparse matrix": lambda X: sp.csr_array(np.where(X > 1, np.nan, X)),
    "infinity as text": lambda X: np.where(X > 1, np.inf, X).astype(str),
}


@pytest.mark.parametrize("name", SAME)
def test_numbers_of_other_types_are_the_same_numbers(name):
    rows, target = SAME[name](X), SAME[name](X_TARGET)
    expected = fit_ratio(X, X_TARGET, GaussianRatio()).score_samples(X)
    found = fit_ratio(rows, target, GaussianRatio()).score_samples(rows)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:WB104")
def test_what_is_no_table_of_numbers_is_refused(name):
    with pytest.raises((TypeError, ValueError)):
        fit_ratio(REFUSED[name](X), REFUSED[name](X_TARGET), ULSIF())
