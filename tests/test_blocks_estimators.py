"""Estimators on rows in blocks: ordinary fitted objects, equal to those fitted in memory."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from weighbridge import ImportanceWeighted, ImportanceWeightedCV, fit_ratio
from weighbridge._pass_weights import fit_with_weights
from weighbridge.blocks import BlockModel, from_array, from_parquet, predict_by_blocks
from weighbridge.criteria import LeaveOneOut
from weighbridge.exceptions import BlockError
from weighbridge.ratios import GaussianRatio, KnownRatio
from weighbridge.weighting import ERM, RIWERM

# sums of some thousand products, solved: what is asked of blocks is 1e-8
CLOSE = 1e-9


def _problem(n=4_000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 3.0 ** np.arange(d) + 5
    y = X @ np.arange(1, d + 1) + 0.3 * (X[:, 0] - 5) ** 2 + rng.normal(size=n)
    return X, y, np.exp(0.7 * (X[:, 0] - 5))


def _log_ratio(X):
    return 0.7 * (np.asarray(X)[:, 0] - 5)


def _last(model):
    return model[-1] if hasattr(model, "steps") else model


def _assert_alike(ours, theirs, rtol=CLOSE):
    scale = np.abs(_last(theirs).coef_).max()
    np.testing.assert_allclose(_last(ours).coef_, _last(theirs).coef_, rtol=0, atol=rtol * scale)
    np.testing.assert_allclose(_last(ours).intercept_, _last(theirs).intercept_, rtol=rtol)
    assert ours.n_features_in_ == theirs.n_features_in_


ESTIMATORS = [
    Ridge(),
    Ridge(50.0, fit_intercept=False),
    Ridge(5.0, positive=True),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    LinearRegression(positive=True),
    make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
    make_pipeline(StandardScaler(with_mean=False), LinearRegression()),
    make_pipeline(StandardScaler(with_std=False), "passthrough", MinMaxScaler((-1, 1)), Ridge()),
    make_pipeline(MaxAbsScaler(), make_pipeline(PolynomialFeatures(2), LinearRegression())),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fits_by_sums_are_those_in_memory(estimator):
    X, y, weights = _problem()
    ours = fit_with_weights(clone(estimator), from_array(X, size=777), y, weights)
    theirs = fit_with_weights(clone(estimator), X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7)
    if not getattr(estimator, "positive", False):  # an iteration that stops near the solution
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=CLOSE)
    assert vars(_last(ours)).keys() == vars(_last(theirs)).keys()


@given(size=st.integers(1, 500), seed=st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_fits_do_not_depend_on_the_size_of_the_blocks(size, seed):
    X, y, weights = _problem(500, seed=seed)
    whole = BlockModel(Ridge(), from_array(X), y).fits([weights])[0]
    ours = BlockModel(Ridge(), from_array(X, size=size), y).fits([weights])[0]
    _assert_alike(ours, whole, rtol=1e-10)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), StandardScaler(with_std=False)]
)
def test_scalers_fitted_by_blocks_are_those_in_memory(scaler):
    X, y, _ = _problem()
    X[:, 1] = 7.0  # a constant column
    pipe = fit_with_weights(make_pipeline(scaler, Ridge()), from_array(X, 333), y, np.ones(y.size))
    theirs = clone(scaler).fit(X)
    assert vars(pipe[0]).keys() == vars(theirs).keys()
    np.testing.assert_allclose(pipe[0].transform(X), theirs.transform(X), rtol=1e-11, atol=1e-11)
    assert pipe[0].n_samples_seen_ == theirs.n_samples_seen_


def test_several_weightings_are_fitted_by_one_pass():
    X, y, weights = _problem()
    passes = []

    class Counted(type(from_array(X))):
        def map(self, function, *beside):
            passes.append(type(function).__name__)
            return super().map(function, *beside)

    fits = BlockModel(Ridge(), Counted(X, 500), y).fits([weights, np.ones(y.size), weights**2])
    assert passes == ["_Chosen", "_Products"]
    for model, row in zip(fits, [weights, np.ones(y.size), weights**2], strict=True):
        _assert_alike(model, Ridge().fit(X, y, row))


def _narrow_tables():
    X = _problem()[0]
    rng = np.random.default_rng(1)
    near = np.column_stack([X, X[:, 0] + 1e-5 * rng.normal(size=len(X))])
    return {
        "nearly collinear": near,
        "twice the same": np.column_stack([X, 2 * X[:, 1]]),
        "constant": np.column_stack([X, np.full(len(X), 1e6)]),
        "far from zero": X + 1e6,
        "of all sizes": X * 10.0 ** np.array([-3, 0, 2, 4]),
        "powers": np.column_stack([X[:, :1] ** power for power in range(1, 6)]),
    }


@pytest.mark.parametrize("name", _narrow_tables())
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_keep_the_digits_of_narrow_tables(name, fit_intercept):
    # scikit-learn decomposes the table itself; sums of squares alone would lose half the digits
    X, (_, y, weights) = _narrow_tables()[name], _problem()
    model = LinearRegression(fit_intercept=fit_intercept)
    theirs = clone(model).fit(X, y, weights)
    ours = fit_with_weights(clone(model), from_array(X, 999), y, weights)
    # of a constant column older versions of scikit-learn count what rounding leaves of it
    counted = name == "constant" and fit_intercept and theirs.rank_ == 5
    assert ours.rank_ == theirs.rank_ - counted
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-8 * y.std())
    told = slice(0, 4) if counted else slice(None)
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_[told], theirs.coef_[told], rtol=1e-6, atol=1e-8 * size)
    np.testing.assert_allclose(ours.singular_[:2], theirs.singular_[:2], rtol=1e-8)


def test_weights_on_few_far_rows_keep_their_digits():
    X, y, _ = _problem()
    weights = np.where(X[:, 0] > np.quantile(X[:, 0], 0.99), 1.0, 1e-12)
    ours = fit_with_weights(LinearRegression(), from_array(X, 999), y, weights)
    _assert_alike(ours, LinearRegression().fit(X, y, weights), rtol=1e-8)


@pytest.mark.parametrize("solver", ["sag", "lsqr", "sparse_cg", "svd"])
def test_solvers_that_iterate_find_the_solution_and_keep_their_name(solver):
    X, y, weights = _problem()
    ours = fit_with_weights(Ridge(2.0, solver=solver), from_array(X, 999), y, weights)
    assert ours.solver == solver
    _assert_alike(ours, Ridge(2.0, solver="svd").fit(X, y, weights))


def _parquet(folder, X, names=None, size=500):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    pq.write_table(pa.table(dict(zip(names, X.T, strict=True))), folder / "part.parquet")
    return from_parquet(folder / "part.parquet", size=size)


def _source(kind, folder, X):
    if kind == "array":
        return from_array(X, size=700)
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        return from_array(np.load(folder / "X.npy", mmap_mode="r"), size=900)
    if kind == "parquet":
        return _parquet(folder, X)
    da = pytest.importorskip("dask.array")
    if kind == "dask array":
        return da.from_array(X, chunks=(1_000, 2))
    pytest.importorskip("dask.dataframe")
    import dask.dataframe as dd
    import pandas as pd

    return dd.from_pandas(pd.DataFrame(X, columns=[f"x{j}" for j in range(4)]), npartitions=3)


@pytest.mark.parametrize("kind", ["array", "memmap", "parquet", "dask array", "dask frame"])
@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_a_weighted_fit_is_that_in_memory_from_every_source(kind, estimator, tmp_path):
    X, y, _ = _problem()
    known = KnownRatio(_log_ratio)
    rows = _source(kind, tmp_path, X)
    ours = ImportanceWeighted(estimator, known, weighting=RIWERM(0.5)).fit(rows, y)
    theirs = ImportanceWeighted(estimator, known, weighting=RIWERM(0.5)).fit(X, y)
    _assert_alike(ours.estimator_, theirs.estimator_)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, rtol=1e-12)
    np.testing.assert_allclose(ours.ess_, theirs.ess_, rtol=1e-12)
    predicted = ours.predict(rows)
    if kind.startswith("dask"):
        assert hasattr(predicted, "compute")  # nothing is computed before it is asked for
    np.testing.assert_allclose(np.asarray(predicted), theirs.predict(X), rtol=CLOSE)
    named = kind in ("parquet", "dask frame")
    assert hasattr(ours, "feature_names_in_") == named
    if named:
        assert list(ours.feature_names_in_) == ["x0", "x1", "x2", "x3"]


def test_own_weights_multiply_and_labels_may_come_in_blocks(tmp_path):
    X, y, _ = _problem()
    own = np.arange(y.size) % 3 / 2
    known = KnownRatio(_log_ratio)
    labels = _parquet(tmp_path, y[:, None], ["y"])
    model = ImportanceWeighted(Ridge(), known, weighting=RIWERM(0.5))
    ours = model.fit(from_array(X, 700), labels, from_array(own, 333)).estimator_
    _assert_alike(ours, clone(model).fit(X, y, own).estimator_)


def test_the_ratio_is_fitted_on_blocks_too():
    X, y, _ = _problem()
    X_target = _problem(3_000, seed=1)[0] + [1, 0, 0, 0]
    model = ImportanceWeighted(Ridge(), GaussianRatio(), weighting=RIWERM(0.5))
    ours = clone(model).fit(from_array(X, 700), y, X_target=from_array(X_target, 400))
    theirs = clone(model).fit(X, y, X_target=X_target)
    _assert_alike(ours.estimator_, theirs.estimator_, rtol=1e-8)
    frozen = FrozenEstimator(fit_ratio(X, X_target, GaussianRatio()))
    again = ImportanceWeighted(Ridge(), frozen, weighting=RIWERM(0.5)).fit(from_array(X, 700), y)
    _assert_alike(again.estimator_, theirs.estimator_, rtol=1e-8)


MANY = 20_000  # rows in memory that are scored from moments, as rows in blocks always are


@pytest.mark.parametrize("answer", ["stack", "guard", "argmin"])
@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_the_tuned_estimator_chooses_as_in_memory(answer, estimator):
    X, y, _ = _problem(MANY)
    own = np.arange(MANY) % 3 + 1.0
    known = KnownRatio(_log_ratio)
    model = ImportanceWeightedCV(estimator, known, answer=answer, random_state=0)
    theirs = clone(model).fit(X, y, own)
    ours = clone(model).fit(from_array(X, 3_000), y, own)
    np.testing.assert_allclose(ours.search_result_.values, theirs.search_result_.values, rtol=1e-10)
    assert ours.best_weighting_.get_params() == theirs.best_weighting_.get_params()
    assert ours.reason_ == theirs.reason_
    assert ours.overlap_ == theirs.overlap_
    assert len(ours.mixture_) == len(theirs.mixture_)
    # shares are what they are up to 1e-9 of the losses; predictions hardly feel it
    np.testing.assert_allclose(ours.predict(from_array(X, 999)), theirs.predict(X), rtol=1e-6)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, rtol=1e-12)


def test_few_rows_in_blocks_are_tuned_by_folds_not_by_leaving_one_out():
    X, y, _ = _problem(900)
    known = KnownRatio(_log_ratio)
    model = ImportanceWeightedCV(Ridge(), known, random_state=0).fit(from_array(X, 100), y)
    assert model.search_result_.evaluations[0].losses.shape == (5,)
    with pytest.raises(TypeError, match=r"on blocks there is criteria\.CrossValidation\(\)"):
        clone(model).set_params(criterion=LeaveOneOut()).fit(from_array(X, 100), y)


def test_broken_overlap_is_judged_on_blocks_as_in_memory():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MANY, 1))
    y = np.where(X[:, 0] < 3, 0.0, 20 * (X[:, 0] - 3)) + 0.1 * rng.normal(size=MANY)
    known = KnownRatio(lambda X: 9 * np.asarray(X)[:, 0] - 40)
    model = ImportanceWeightedCV(LinearRegression(), known, random_state=0)
    with pytest.warns(UserWarning, match="WB302"):
        theirs = clone(model).fit(X, y)
    with pytest.warns(UserWarning, match="WB302"):
        ours = clone(model).fit(from_array(X, 3_000), y)
    assert ours.overlap_ == theirs.overlap_ == "broken"
    assert ours.reason_ == theirs.reason_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


def test_without_shift_there_are_no_weights_on_blocks_either():
    X, y, _ = _problem(900)
    known = KnownRatio(lambda X: np.zeros(len(X)))
    model = ImportanceWeightedCV(Ridge(), known, random_state=0).fit(from_array(X, 100), y)
    assert model.best_weighting_.lam == 0
    _assert_alike(model.estimator_, Ridge().fit(X, y))


def test_a_model_that_was_fitted_in_memory_predicts_blocks():
    X, y, _ = _problem()
    known = KnownRatio(_log_ratio)
    inner = HistGradientBoostingRegressor(max_iter=5)
    model = ImportanceWeighted(inner, known, weighting=ERM()).fit(X, y)
    np.testing.assert_array_equal(model.predict(from_array(X, 321)), model.predict(X))
    classes = (y > y.mean()).astype(int)
    model = ImportanceWeighted(LogisticRegression(max_iter=1000), known, weighting=ERM())
    model.fit(X - 5, classes)
    rows = from_array(X - 5, 321)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X - 5))
    np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(X - 5), rtol=1e-12)
    with pytest.raises(TypeError, match=r"which cannot be scored; compare y with predict"):
        model.score(rows, classes)
    with pytest.raises(NotFittedError):
        clone(model).predict(rows)


def test_named_columns_may_come_in_any_order(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = _problem()
    names = ["a", "b", "c", "d"]
    known = KnownRatio(_log_ratio)
    model = ImportanceWeighted(Ridge(), known).fit(from_array(pd.DataFrame(X, columns=names)), y)
    expected = model.predict(pd.DataFrame(X, columns=names))
    turned = _parquet(tmp_path, X[:, ::-1], names[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # blocks are arrays, and no complaint about names
        np.testing.assert_allclose(model.predict(turned), expected, rtol=1e-12)
    other = from_array(pd.DataFrame(X, columns=["a", "b", "c", "e"]))
    with pytest.raises(ValueError, match=r"without columns \['d'\] and with others \['e'\]"):
        model.predict(other)
    # arrays go by position
    np.testing.assert_allclose(model.predict(from_array(X, 99)), expected, rtol=1e-12)
    pipe = make_pipeline(StandardScaler(), Ridge())
    pipe = fit_with_weights(pipe, from_array(pd.DataFrame(X, columns=names)), y, np.ones(y.size))
    assert list(pipe.feature_names_in_) == names
    expected = pipe.predict(pd.DataFrame(X, columns=names))
    np.testing.assert_allclose(predict_by_blocks(pipe, turned), expected, rtol=1e-12)


@pytest.mark.torch
def test_tensors_are_fitted_where_they_are_and_give_an_ordinary_model():
    torch = pytest.importorskip("torch")
    X, y, weights = _problem()
    rows = from_array(torch.asarray(X), size=900)
    for estimator in (Ridge(), LinearRegression(fit_intercept=False)):
        ours = fit_with_weights(clone(estimator), rows, y, weights)
        _assert_alike(ours, clone(estimator).fit(X, y, weights))
        assert isinstance(ours.coef_, np.ndarray)
        np.testing.assert_allclose(predict_by_blocks(ours, rows), ours.predict(X), rtol=1e-12)


@pytest.mark.parametrize("wrapper", [ImportanceWeighted, ImportanceWeightedCV])
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HistGradientBoostingRegressor(), r"Got HistGradientBoostingRegressor on rows in blocks"),
        (make_pipeline(RobustScaler(), Ridge()), r"Got a pipeline with RobustScaler, which cannot"),
    ],
)
def test_other_estimators_are_told_what_works_on_blocks(wrapper, estimator, message):
    X, y, _ = _problem(300)
    with pytest.raises(TypeError, match=message) as caught:
        wrapper(estimator, KnownRatio(_log_ratio)).fit(from_array(X), y)
    assert "sample(" in str(caught.value)  # the remedy


@pytest.mark.parametrize("wrapper", [ImportanceWeighted, ImportanceWeightedCV])
def test_missing_values_name_their_block(wrapper):
    X, y, _ = _problem(900)
    X[555, 2] = np.nan
    known = KnownRatio(lambda X: np.zeros(len(X)))
    model = wrapper(make_pipeline(StandardScaler(), Ridge()), known)
    with pytest.raises(BlockError, match=r"In block 5 \(rows 500 to 599\): .* in column 2"):
        model.fit(from_array(X, 100), y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(899), r"Got y of shape \(899,\) for 900 rows in blocks"),
        (np.zeros((900, 2)), r"Got y of shape \(900, 2\) for 900 rows in blocks"),
        (np.full(900, "a"), r"that is not numbers; a regressor needs one number"),
        (np.full(900, np.nan), r"NaN or infinite values in 900 of 900 rows"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    X, _, _ = _problem(900)
    with pytest.raises(ValueError, match=message):
        ImportanceWeighted(Ridge(), KnownRatio(_log_ratio)).fit(from_array(X, 100), labels)


def test_a_model_fitted_on_blocks_does_not_claim_to_know_its_rows():
    X, y, _ = _problem(900)
    model = ImportanceWeighted(Ridge(), KnownRatio(_log_ratio), weighting=ERM()).fit(X, y)
    assert hasattr(model, "_fitted_rows")
    assert not hasattr(model.fit(from_array(X), y), "_fitted_rows")


def test_estimators_of_dask_are_told_what_they_need():
    lightgbm = pytest.importorskip("lightgbm")
    da = pytest.importorskip("dask.array")
    X, y, _ = _problem(300)
    inner, known = lightgbm.DaskLGBMRegressor(), KnownRatio(_log_ratio)
    for table in (X, from_array(X)):
        with pytest.raises(TypeError, match="which is fitted to dask collections"):
            ImportanceWeighted(inner, known).fit(table, y)
    with pytest.raises(TypeError, match="Got y of type ndarray for DaskLGBMRegressor"):
        ImportanceWeighted(inner, known, weighting=ERM()).fit(da.from_array(X), y)
    with pytest.raises(TypeError, match="local twin LGBMRegressor"):
        ImportanceWeightedCV(inner, known).fit(da.from_array(X), da.from_array(y))
