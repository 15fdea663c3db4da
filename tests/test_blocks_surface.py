"""The surface of (lam, alpha) from blocks: the same numbers wherever the rows are."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import norm
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVR

from weighbridge import Geodesic
from weighbridge._estimators.choice import simplex_minimum, stack_shares
from weighbridge.blocks import Block, Columns, from_array, from_dask, from_parquet
from weighbridge.criteria import (
    CrossValidation,
    HoldOut,
    InformationCriterion,
    LeaveOneOut,
    _binned_moments,
    _binned_objective,
)
from weighbridge.criteria._binned_moments import FoldMoments, KnotMoments, _SquaredGains
from weighbridge.criteria._fold_objective import FoldObjective
from weighbridge.exceptions import BlockError
from weighbridge.search import GridSearch, Journal, Point
from weighbridge.tables._columns import to_numpy

N = 20_000  # so many rows in memory are scored from moments too
POINTS = [Point(0.0, 1.0), Point(0.5, 1.0), Point(1.0, 1.0), Point(0.5, 3.0), Point(0.3, -2.0)]
# sums in another order, and nothing else
SUMS = 1e-10


def _problem(n=N, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 2.0 ** np.arange(d) + 1
    y = X[:, 0] ** 2 + X @ np.arange(1, d + 1) + rng.normal(size=n)
    return X, y, 0.8 * (X[:, 0] - 1)


def _losses(objective, points=POINTS):
    return np.stack([each.losses for each in objective.evaluate(points)])


def _objective(X, y, log_ratio, own=None, estimator=None, **options):
    criterion = CrossValidation(random_state=0, **options)
    return criterion.objective(Ridge() if estimator is None else estimator, X, y, log_ratio, own)


@cache
def _losses_in_memory():
    return _losses(_objective(*_problem()))


def _parquet(folder, X, size=None):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    for number, part in enumerate(np.array_split(X, 3)):
        table = pa.table({f"x{j}": part[:, j] for j in range(X.shape[1])})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=1_500)
    return from_parquet(folder, size=size)


def _source(kind, folder, X):
    """The rows of an array, from somewhere else."""
    if kind == "array":
        return from_array(X, size=3_000)
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        return from_array(np.load(folder / "X.npy", mmap_mode="r"), size=7_001)
    if kind == "parquet":
        return _parquet(folder, X, size=4_096)
    da = pytest.importorskip("dask.array")
    if kind == "dask array":
        return da.from_array(X, chunks=(6_000, 2))
    pytest.importorskip("dask.dataframe")
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return dd.from_pandas(frame, npartitions=3)


SOURCES = ["array", "memmap", "parquet", "dask array", "dask frame"]
ESTIMATORS = [
    Ridge(100.0),
    LinearRegression(fit_intercept=False),
    make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), Ridge(10.0)),
    make_pipeline(MinMaxScaler(), MaxAbsScaler(), LinearRegression()),
]


@pytest.mark.parametrize("kind", SOURCES)
def test_the_surface_is_the_same_from_every_source(kind, tmp_path):
    X, y, s = _problem()
    ours = _losses(_objective(_source(kind, tmp_path, X), y, s))
    np.testing.assert_allclose(ours, _losses_in_memory(), rtol=SUMS)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_of_blocks_has_its_surface_in_memory(estimator):
    X, y, s = _problem()
    own = np.arange(N) % 7 + 0.5
    ours = _losses(_objective(from_array(X, size=3_333), y, s, own, estimator))
    np.testing.assert_allclose(ours, _losses(_objective(X, y, s, own, estimator)), rtol=SUMS)


@given(size=st.integers(300, 25_000))
@settings(max_examples=8, deadline=None)
def test_the_surface_does_not_depend_on_the_size_of_the_blocks(size):
    X, y, s = _problem()
    ours = _losses(_objective(from_array(X, size=size), y, s))
    np.testing.assert_allclose(ours, _losses_in_memory(), rtol=SUMS)


def test_few_rows_in_blocks_are_scored_from_moments_and_agree_with_exact_folds():
    X, y, s = _problem(600)
    objective = _objective(from_array(X, size=37), y, s)
    memory = LinearRowsInMemory(objective, X)
    np.testing.assert_allclose(_losses(objective)[0], memory(POINTS[:1])[0], rtol=SUMS)
    # interpolated between knots, which lie at most of so few rows
    np.testing.assert_allclose(_losses(objective), memory(POINTS), rtol=1e-3)


class LinearRowsInMemory:
    """Mean losses of folds, each fitted on a table in memory."""

    def __init__(self, objective, X, estimator=None):
        rows = objective.rows
        kept = slice(None) if rows.kept is None else rows.kept
        self.rows = type(rows)(
            X[kept], rows.y, rows.log_ratio, rows.sample_weight, rows.validation, None
        )
        self.splits = objective.splits
        scoring = "neg_mean_squared_error"
        estimator = Ridge() if estimator is None else estimator
        self.exact = FoldObjective(
            estimator, self.rows, self.splits, scoring, n_jobs=None, identity=[]
        )

    def __call__(self, points):
        weights, tests = self.rows.unit_weights, [test for _, test in self.splits]
        return np.stack(
            [
                [np.average(each.losses[test], weights=weights[test]) for test in tests]
                for each in self.exact.evaluate(points)
            ]
        )


def test_rows_of_own_weight_zero_are_not_read_even_where_they_are_missing():
    X, y, s = _problem(3_000)
    own = np.arange(3_000) % 3 / 2
    X[own == 0] = np.nan
    objective = _objective(from_array(X, size=500), y, s, own)
    memory = LinearRowsInMemory(objective, X)
    np.testing.assert_allclose(_losses(objective)[0], memory(POINTS[:1])[0], rtol=SUMS)
    np.testing.assert_allclose(_losses(objective), memory(POINTS), rtol=1e-4)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_transformers_are_fitted_to_the_rows_that_count(estimator):
    X, y, s = _problem(3 * N // 2)
    own = np.arange(y.size) % 4 / 2
    own[1_000:1_100] = 0  # a whole block
    memory = _losses(_objective(X, y, s, own, estimator))
    X[own == 0] = np.nan
    ours = _objective(from_array(X, size=100), y, s, own, estimator)
    np.testing.assert_allclose(_losses(ours), memory, rtol=SUMS)
    evaluations = list(ours.evaluate(POINTS[:2]))
    before, gain = ours.held_out(evaluations).gain(0, np.array([0.5, 0.5]))
    assert np.isfinite([before, *gain]).all()


def test_a_ratio_of_zero_has_a_knot_of_its_own():
    X, y, s = _problem(3_000)
    s[::5] = -np.inf
    objective = _objective(from_array(X, size=500), y, s)
    memory = LinearRowsInMemory(objective, X)
    np.testing.assert_allclose(_losses(objective)[0], memory(POINTS[:1])[0], rtol=SUMS)
    np.testing.assert_allclose(_losses(objective), memory(POINTS), rtol=1e-4)


@pytest.mark.parametrize("n", [500, 503])
def test_folds_are_those_of_kfold(n):
    X, y, s = _problem(n)
    for cv in (5, KFold(5, shuffle=True, random_state=0)):
        splits = _objective(from_array(X, size=99), y, s, cv=cv).splits
        expected = KFold(5, shuffle=True, random_state=0).split(X)
        for ours, theirs in zip(splits, expected, strict=True):
            np.testing.assert_array_equal(ours[0], theirs[0])
            np.testing.assert_array_equal(ours[1], theirs[1])


def test_labels_ratios_and_weights_may_be_dask_arrays_or_rows_of_one_column(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y, s = _problem(2_000)
    own = np.arange(2_000) % 4 + 1.0
    expected = _losses(_objective(from_array(X), y, s, own))
    rows = da.from_array(X, chunks=(300, 3))
    vectors = [da.from_array(part, chunks=700) for part in (y, s, own)]
    np.testing.assert_allclose(_losses(_objective(rows, *vectors)), expected, rtol=SUMS)
    labels = _parquet(tmp_path, y[:, None])
    np.testing.assert_allclose(
        _losses(_objective(from_array(X, size=99), labels, s, own)), expected, rtol=SUMS
    )
    with pytest.raises(ValueError, match=r"Got 3 columns .* where one is needed"):
        _objective(from_array(X), from_array(X), s)


@pytest.mark.parametrize("own", [None, np.arange(3 * N // 2) % 4 / 2], ids=["plain", "own"])
def test_weights_that_are_no_function_of_the_ratio_are_scored_as_in_memory(own):
    X, y, s = _problem(3 * N // 2)
    log_weight = np.random.default_rng(1).normal(size=y.size)
    criterion = CrossValidation(random_state=0)
    ours = criterion(Ridge(), from_array(X, size=3_000), y, s, log_weight, own)
    theirs = criterion(Ridge(), X, y, s, log_weight, own)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=SUMS)


@pytest.mark.torch
@pytest.mark.parametrize("own", [None, np.arange(3_000) % 3 / 2], ids=["plain", "own"])
def test_tensors_give_the_same_surface(own):
    torch = pytest.importorskip("torch")
    X, y, s = _problem(3_000)
    expected = _objective(from_array(X), y, s, own)
    tensors = torch.asarray(X)
    log_weight = Geodesic(0.5, 3)(s)
    scores = CrossValidation(random_state=0)(Ridge(), from_array(X), y, s, log_weight, own)
    for rows in (tensors, from_array(tensors, size=700)):
        objective = _objective(rows, y, s, own)
        np.testing.assert_allclose(_losses(objective), _losses(expected), rtol=SUMS)
        ours = CrossValidation(random_state=0)(Ridge(), rows, y, s, log_weight, own)
        np.testing.assert_allclose(ours.losses, scores.losses, rtol=SUMS)
        evaluations = list(objective.evaluate(POINTS[:2]))
        shares = np.array([0.5, 0.5])
        before, gain = objective.held_out(evaluations).gain(0, shares)
        before_too, gain_too = expected.held_out(evaluations).gain(0, shares)
        np.testing.assert_allclose([before, *gain], [before_too, *gain_too], rtol=SUMS)


@pytest.mark.torch
def test_sums_of_a_tensor_are_made_where_it_is():
    torch = pytest.importorskip("torch")
    X, y, s = _problem(800)
    objective = _objective(torch.asarray(X, dtype=torch.float32), y, s)
    rows, table = objective.rows, objective._table
    fold = objective._fold
    of_block = KnotMoments(table, objective._knots, 5)
    beside = [y, rows.log_ratio, fold, rows.unit_weights]
    for part in rows.X.map(of_block, *beside):
        assert all(isinstance(each, torch.Tensor) for each in part)
        assert all(each.dtype == torch.float64 for each in part)
    sums = rows.X.sum(FoldMoments(table, 5), y, fold, rows.unit_weights)
    assert isinstance(sums, torch.Tensor)


@pytest.mark.parametrize("most", [None, 1_000])
def test_sums_of_any_array_library_are_those_of_numpy(most, monkeypatch):
    # nothing but the standard's functions; products may come in pieces
    strict = pytest.importorskip("array_api_strict")
    if most is not None:
        monkeypatch.setattr(_binned_moments, "_ON_DEVICE", most)
    X, y, s = _problem(900)
    s[::7] = -np.inf
    own = np.arange(900) % 3 / 2
    objective = _objective(from_array(X), y, s, own)
    rows = objective.rows
    fold, weights = objective._fold_beside, rows.beside(rows.unit_weights)
    beside = [y, rows.beside(rows.log_ratio), fold, weights, own]
    pair = objective._errors(list(objective.evaluate(POINTS[1:3])))
    for function, parts in (
        (KnotMoments(objective._table, objective._knots, 5), beside),
        (FoldMoments(objective._table, 5), [y, fold, weights]),
        (_SquaredGains(objective._table, pair, 0.3), [y, fold, weights / weights.sum()]),
    ):
        ours, theirs = (function(Block(table, 0, tuple(parts))) for table in (strict.asarray(X), X))
        if isinstance(function, KnotMoments):
            assert all(type(part).__module__.startswith("array_api_strict") for part in ours)
            for one, two in zip(function.finish(*ours), function.finish(*theirs), strict=True):
                np.testing.assert_allclose(one, two, rtol=SUMS, atol=SUMS)
        else:
            np.testing.assert_allclose(to_numpy(ours), theirs, rtol=SUMS, atol=SUMS)


def test_products_of_wide_cells_may_come_in_pieces(monkeypatch):
    X, y, s = _problem(900)
    expected = _losses(_objective(from_array(X), y, s))
    monkeypatch.setattr(_binned_moments, "_NUMBERS", 100)
    monkeypatch.setattr(_binned_moments, "_PIECE", 10)
    ours = _losses(_objective(from_array(X), y, s))
    np.testing.assert_allclose(ours, expected, rtol=SUMS)


def test_held_out_errors_are_those_of_predictions():
    # the Gram matrix, the loss without weights and the paired gain, all by brute force
    X, y, s = _problem(3 * N // 2)
    own = np.arange(y.size) % 4 / 2
    blocks, memory = (_objective(part, y, s, own) for part in (from_array(X, size=3_000), X))
    evaluations = list(memory.evaluate(POINTS))
    predictions = memory.predictions(evaluations)
    truth, weights = memory.rows.y, memory.rows.unit_weights
    errors = blocks.held_out(list(blocks.evaluate(POINTS)))
    residuals = predictions - truth
    share = weights / weights.sum()
    np.testing.assert_allclose(errors.costs, (residuals * share) @ residuals.T, rtol=SUMS)
    shares = stack_shares(predictions, truth, weights)
    np.testing.assert_allclose(simplex_minimum(errors.costs), shares, atol=1e-3)
    shares = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    gain = residuals[0] ** 2 - (shares @ residuals) ** 2
    n = (weights > 0).sum()
    mean = share @ gain
    before, difference = errors.gain(0, shares)
    np.testing.assert_allclose(before, share @ residuals[0] ** 2, rtol=SUMS)
    np.testing.assert_allclose(difference.value, mean, rtol=SUMS)
    expected = np.sqrt(n / (n - 1)) * norm(share * (gain - mean))
    np.testing.assert_allclose(difference.standard_error, expected, rtol=SUMS)
    assert memory.held_out(evaluations) is None


def test_predictions_of_candidates_are_not_kept_of_blocks():
    X, y, s = _problem(300)
    objective = _objective(from_array(X), y, s)
    with pytest.raises(TypeError, match="predictions of 1 candidates are not kept"):
        objective.predictions(list(objective.evaluate(POINTS[:1])))


def test_a_journal_knows_rows_by_their_content_wherever_they_are(tmp_path):
    X, y, s = _problem(900)
    name = _objective(from_array(X, size=100), y, s).fingerprint
    (tmp_path / "parts").mkdir()
    same = [from_array(X, size=350), _parquet(tmp_path / "parts", X)]
    assert {_objective(rows, y, s).fingerprint for rows in same} == {name}
    other, turned = X.copy(), X[::-1]
    other[700, 1] += 1e-9
    assert _objective(from_array(other, size=100), y, s).fingerprint != name
    assert _objective(from_array(turned, size=100), y, s).fingerprint != name
    journal = Journal(tmp_path / "journal.jsonl")
    search = GridSearch(lam=3, alpha=2)
    first = search(_objective(from_array(X, size=100), y, s), journal=journal)
    again = search(_objective(from_array(X, size=350), y, s), journal=journal)
    for one, two in zip(first.evaluations, again.evaluations, strict=True):
        assert (one.point, one.seconds) == (two.point, two.seconds)  # none was computed again


def test_a_frozen_transformer_may_read_any_column():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    X, y, s = _problem(2_000)
    town = np.where(X[:, 1] > 0, "north", "south")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 2], "town": town})
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    encoder.fit(frame[:1_000])
    estimator = make_pipeline(FrozenEstimator(encoder), Ridge())
    ours = _losses(_objective(from_array(frame, size=300), y, s, None, estimator))
    made = from_array(np.asarray(encoder.transform(frame), dtype=float))
    np.testing.assert_allclose(ours, _losses(_objective(made, y, s)), rtol=SUMS)
    with pytest.raises(TypeError, match=r"Got columns \['town'\] that are not numbers"):
        _objective(from_array(frame, size=300), y, s)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVR(), r"Got SVR on rows in blocks, which only LinearRegression and Ridge"),
        (LogisticRegression(), r"Got LogisticRegression on rows in blocks"),
        (make_pipeline(StandardScaler(), SVR()), r"Got SVR on rows in blocks"),
        (make_pipeline(RobustScaler(), Ridge()), r"RobustScaler, which cannot .*FrozenEstimator"),
        (LinearRegression(positive=True), r"without positive=True"),
    ],
)
def test_other_estimators_are_told_what_works_on_blocks(estimator, message):
    X, y, s = _problem(200)
    with pytest.raises(TypeError, match=message):
        _objective(from_array(X), y, s, None, estimator)


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (LeaveOneOut(), r"on blocks there is criteria.CrossValidation\(\)"),
        (InformationCriterion(), r"on blocks there is criteria.CrossValidation\(\)"),
        (HoldOut(), r"where each row is held out once"),
        (CrossValidation(ShuffleSplit(2)), r"where each row is held out once"),
        (CrossValidation(scoring="neg_mean_absolute_error"), r"the loss is the squared error"),
    ],
)
def test_other_criteria_are_told_what_works_on_blocks(criterion, message):
    X, y, s = _problem(200)
    with pytest.raises(TypeError, match=message):
        criterion.objective(Ridge(), from_array(X), y, s)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_missing_value_is_found_in_its_block_and_file(estimator, value, tmp_path):
    X, y, s = _problem(3_000)
    X[2_345, 1] = value
    with pytest.raises(BlockError, match=r"In block 4 \(rows 2,000 to 2,499\) of part-2.parquet"):
        _objective(_parquet(tmp_path, X, size=500), y, s, None, estimator)


def test_a_missing_value_is_named_by_its_column(tmp_path):
    X, y, s = _problem(3_000)
    X[2_345, 1] = np.nan
    with pytest.raises(BlockError, match=r"values in 1 rows, first in column 'x1'"):
        _objective(_parquet(tmp_path, X, size=500), y, s)
    with pytest.raises(BlockError, match="first in column 1; a linear model needs numbers"):
        _objective(from_array(X, size=500), y, s)


def test_numbers_that_cannot_be_squared_are_refused():
    X, y, s = _problem(30_000)
    X[12_346, 1] = 1e300  # not among the rows that the scale is taken from
    with pytest.raises(BlockError, match=r"In block 1 .*too large to be squared"):
        _objective(from_array(X, size=10_000), y, s)


def test_too_many_columns_are_refused(monkeypatch):
    X, y, s = _problem(300)
    monkeypatch.setattr(_binned_objective, "_MOMENTS", 5 * 256 * 4**2)
    with pytest.raises(ValueError, match="Got 3 columns in blocks; moments of 5 folds are kept"):
        _objective(from_array(X), y, s)


def test_labels_of_another_length_are_refused():
    X, y, s = _problem(300)
    with pytest.raises(ValueError, match=r"Got X with 300 rows, y of shape \(299,\)"):
        _objective(from_array(X), y[1:], s)


def test_transformers_of_a_device_are_refused():
    strict = pytest.importorskip("array_api_strict")
    columns = Columns(10, None, (PolynomialFeatures().fit(np.ones((2, 3))),))
    with pytest.raises(TypeError, match="rows on a device"):
        columns(strict.asarray(np.ones((2, 3))))


def test_dask_rows_are_taken_as_they_are():
    da = pytest.importorskip("dask.array")
    X, y, s = _problem(1_000)
    rows = from_dask(da.from_array(X, chunks=(300, 3)))
    ours = _losses(_objective(rows, y, s))
    np.testing.assert_allclose(ours, _losses(_objective(from_array(X), y, s)), rtol=SUMS)
