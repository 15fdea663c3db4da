"""Logistic regression on rows in blocks: the solver by itself, and the ratio it makes."""

import pickle
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from weighbridge import fit_ratio
from weighbridge.blocks import from_array, from_parquet
from weighbridge.exceptions import BlockError
from weighbridge.ratios import KLIEP, KMM, AutoRatio, ClassifierRatio, NearestNeighbourRatio
from weighbridge.ratios import _block_logistic as block_newton
from weighbridge.ratios._block_logistic import (
    NOISE,
    BlockSums,
    Curvature,
    Descent,
    FoldRegressions,
    Stretch,
    dealing_keys,
    features,
    fold_of,
    fold_sizes,
)
from weighbridge.ratios._logistic import Quadratic, _PenalisedLoss

N_FOLDS = 3

# --- the solver --------------------------------------------------------------------------------


class Pieces(Stretch):
    """Rows in memory that come in blocks of a few."""

    def __init__(self, numbers, keys, size):
        super().__init__(numbers, keys)
        self.size = size

    def sum(self, function):
        """Add up the blocks, part by part."""
        starts = range(0, self.n, self.size)
        cuts = [slice(start, start + self.size) for start in starts]
        results = [function(self.first[cut], self.keys[cut]) for cut in cuts]
        if isinstance(results[0], tuple):
            return type(results[0])(*(sum(parts) for parts in zip(*results, strict=True)))
        return sum(results)


def two_streams(n_source=400, n_target=300, d=3, shift=0.5, size=None, seed=0):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(n_source, d)), rng.normal(shift, 0.9, size=(n_target, d))]
    for part in parts:
        part[:, -1] = part[:, -1] > 0  # a level is its own square
    keys = [rng.random(len(part)) for part in parts]
    return [Pieces(*both, size or 10**9) for both in zip(parts, keys, strict=True)]


def regressions(streams, C=1.0, sketch=None):
    quadratic = Quadratic().fit(np.concatenate([stream.first for stream in streams]))
    counts = sum(fold_sizes(stream, N_FOLDS) for stream in streams)
    sizes = counts.sum() - counts
    return FoldRegressions(streams, sketch or streams, quadratic, sizes, C)


def from_zero(problem):
    return problem.fit(np.zeros((N_FOLDS, problem.quadratic.scale.size + 1)))


def log_odds(problem, coef):
    rows = np.concatenate([stream.first for stream in problem.samples])
    return features(problem.quadratic, rows) @ coef.T


def training_rows(problem, fold):
    """Return features and codes of the rows that the model of a fold learns from."""
    kept = [fold_of(stream.keys, N_FOLDS) != fold for stream in problem.samples]
    rows = [stream.first[keep] for stream, keep in zip(problem.samples, kept, strict=True)]
    codes = np.repeat([0, 1], [len(part) for part in rows])
    return problem.quadratic.transform(np.concatenate(rows)), codes


def second_derivatives(X, C, coef):
    probability = expit(X @ coef)
    penalty = np.append(np.ones(coef.size - 1), 0) / C
    return ((X.T * probability * (1 - probability)) @ X + np.diag(penalty)) / len(X)


def minimised(loss, X, C):
    """Return the minimum of a penalised loss by a solver of scipy's."""
    with_ones = np.column_stack([X, np.ones(len(X))])
    hess = partial(second_derivatives, with_ones, C)
    start, options = np.zeros(with_ones.shape[1]), {"gtol": 1e-12}
    coef = minimize(loss, start, method="trust-exact", jac=True, hess=hess, options=options).x
    # it may stop at a gradient of 1e-9, where values no longer tell points apart
    for _ in range(3):
        coef -= np.linalg.solve(hess(coef), loss(coef)[1])
    return coef


def test_keys_deal_rows_into_folds_of_equal_width():
    keys = np.array([0.0, 0.19, 0.2, 0.99, np.nextafter(1, 0)])
    assert fold_of(keys, 5).tolist() == [0, 0, 1, 4, 4]
    assert fold_sizes(Stretch(np.zeros((5, 1)), keys), 5).tolist() == [2, 1, 0, 0, 2]


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_coefficients_minimise_the_objective_of_the_penalised_path(C):
    problem = regressions(two_streams(), C)
    found = from_zero(problem)
    for fold in range(N_FOLDS):
        X, codes = training_rows(problem, fold)
        assert problem.sizes[fold] == codes.size
        loss = _PenalisedLoss(X, codes, 1 / (C * codes.size))
        # the gradient at the minimum is rounding
        assert np.abs(loss(found[fold])[1]).max() < 1e-14
        by_scipy = minimised(loss, X, C)
        np.testing.assert_allclose(found[fold], by_scipy, rtol=1e-8, atol=1e-8)


def test_sums_are_those_of_numerical_derivatives():
    streams = two_streams(60, 50, d=2)
    quadratic = Quadratic().fit(streams[0].first)
    rng = np.random.default_rng(1)
    coef = rng.normal(size=(N_FOLDS, quadratic.scale.size + 1))

    def sums(coef, code, curvature):
        return streams[code].sum(BlockSums(quadratic, coef, code, curvature))

    step = 1e-6
    for code in (0, 1):
        found = sums(coef, code, Curvature.EACH)
        for j in range(coef.shape[1]):
            there, back = coef.copy(), coef.copy()
            there[:, j] += step
            back[:, j] -= step
            ahead, behind = (sums(at, code, Curvature.NONE) for at in (there, back))
            # a central difference errs by step^2 and by rounding over step
            slope = (ahead.loss - behind.loss) / (2 * step)
            np.testing.assert_allclose(found.gradient[:, j], slope, rtol=1e-6, atol=1e-6)
            bend = (ahead.gradient - behind.gradient) / (2 * step)
            np.testing.assert_allclose(found.curvature[:, j], bend, rtol=1e-6, atol=1e-6)


def test_models_that_agree_have_the_second_derivatives_of_their_mean():
    streams = two_streams(60, 50, d=2)
    quadratic = Quadratic().fit(streams[0].first)
    coef = np.tile(np.linspace(-1, 1, quadratic.scale.size + 1), (N_FOLDS, 1))
    each, mean = (
        streams[0].sum(BlockSums(quadratic, coef, 0, curvature)).curvature
        for curvature in (Curvature.EACH, Curvature.MEAN)
    )
    np.testing.assert_allclose(mean, each, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_of_any_size_give_the_same_log_odds(size):
    whole, blocks = (regressions(two_streams(size=size)) for size in (None, size))
    found, expected = (log_odds(problem, from_zero(problem)) for problem in (blocks, whole))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_any_start_leads_to_the_same_log_odds():
    problem = regressions(two_streams())
    rng = np.random.default_rng(0)
    start = 5 * rng.normal(size=(N_FOLDS, problem.quadratic.scale.size + 1))
    found, expected = (log_odds(problem, coef) for coef in (problem.fit(start), from_zero(problem)))
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("n_sketch", [700, 100])
def test_second_derivatives_of_a_sketch_lead_to_the_same_minimum(n_sketch, monkeypatch):
    streams = two_streams(2000, 300)
    problem = regressions(streams, C=0.01)
    expected = log_odds(problem, from_zero(problem))
    monkeypatch.setattr(block_newton, "MOST_CURVED", 1)
    sketch = [Stretch(stream.first[:n_sketch], stream.keys[:n_sketch]) for stream in streams]
    problem = regressions(streams, C=0.01, sketch=sketch)
    np.testing.assert_allclose(log_odds(problem, from_zero(problem)), expected, atol=1e-10)


@pytest.mark.parametrize("shift", [3.0, 20.0])
def test_samples_apart_have_a_minimum_too(shift):
    problem = regressions(two_streams(shift=shift), C=1e3)
    found = from_zero(problem)
    for fold in range(N_FOLDS):
        X, codes = training_rows(problem, fold)
        gradient = _PenalisedLoss(X, codes, 1 / (1e3 * codes.size))(found[fold])[1]
        assert np.abs(gradient).max() < 1e-12


def test_features_that_say_the_same_share_their_coefficient():
    streams = two_streams()
    twice = [Stretch(np.hstack([stream.first] * 2), stream.keys) for stream in streams]
    coef = from_zero(regressions(twice))
    d = streams[0].width
    np.testing.assert_allclose(coef[:, :d], coef[:, d : 2 * d], atol=1e-7)


def test_a_step_too_far_is_halved_until_it_leads_down():
    def hyperbola(point):
        height = np.sqrt(1 + point**2)
        return float(height.sum()), point / height

    descent = Descent(np.array([3.0, -2.0]))
    values, factor = [], cho_factor(0.01 * np.eye(2))  # far too flat: steps are far too long
    while not descent.done:
        value, gradient = hyperbola(descent.trial)
        descent.look(value, gradient, factor)
        values.append(descent.value)
        factor = None
    assert min(np.diff(values)) < 0 <= max(np.diff(values)) <= NOISE * max(values)
    np.testing.assert_allclose(descent.coef, 0, atol=1e-10)


def test_too_few_passes_are_told(monkeypatch):
    monkeypatch.setattr(block_newton, "MOST_PASSES", 2)
    with pytest.warns(ConvergenceWarning, match="still move after 2 passes over the rows"):
        from_zero(regressions(two_streams()))


# --- the ratio ---------------------------------------------------------------------------------


class FewInMemory(ClassifierRatio):
    """The ratio with so few rows in memory that small samples do not fit."""

    _most_rows = 250


def two_samples(n_source=700, n_target=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(0.3, 0.9, size=(n_target, d))


def true_log_ratio(X):
    return (0.5 * X**2 - 0.5 * ((X - 0.3) / 0.9) ** 2 - np.log(0.9)).sum(axis=1)


def in_blocks(tables, size=90):
    return [from_array(table, size=size) for table in tables]


def fitted_in_blocks(**parameters):
    return fit_ratio(*in_blocks(two_samples()), FewInMemory(**parameters))


@cache
def in_equal_blocks():
    """Return the log ratio at the source rows."""
    return fitted_in_blocks().score_samples(two_samples()[0])


def test_a_row_is_scored_by_the_regression_on_all_rows_of_the_other_folds():
    tables = two_samples()
    ratio = fitted_in_blocks()
    models = ratio.block_models_
    encoded = [models.encoder.numbers_and_keys(table, models.row_keys) for table in tables]
    numbers, keys = (np.concatenate(parts) for parts in zip(*encoded, strict=True))
    codes = np.repeat([0, 1], [len(table) for table in tables])
    X, fold = models.quadratic.transform(numbers), fold_of(dealing_keys(keys), 5)
    C = ratio.estimators_[0].C
    expected = np.empty(codes.size)
    for own in range(5):
        rows = fold != own
        loss = _PenalisedLoss(X[rows], codes[rows], 1 / (C * rows.sum()))
        coef = minimised(loss, X[rows], C)
        prior = np.log(codes[rows].sum() / (1 - codes[rows]).sum())
        expected[~rows] = X[~rows] @ coef[:-1] + coef[-1] - prior
    found = ratio.score_samples(np.concatenate(tables))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_rows_in_memory_are_in_all_folds():
    # rows with small keys are in memory; the folds must not go by the same digits
    keys = np.random.default_rng(0).random(20_000)
    small = np.sort(keys)[:1000]
    counts = np.bincount(fold_of(dealing_keys(small), 5), minlength=5)
    assert abs(counts - 200).max() < 4 * np.sqrt(1000 * 0.2 * 0.8)  # four standard errors


@pytest.mark.more
@given(size=st.integers(1, 800), size_target=st.integers(1, 800))
@settings(max_examples=6)
def test_the_ratio_does_not_depend_on_the_size_of_blocks(size, size_target):
    X, X_target = two_samples()
    rows = from_array(X, size=size)
    ratio = fit_ratio(rows, from_array(X_target, size=size_target), FewInMemory())
    expected = in_equal_blocks()
    np.testing.assert_allclose(ratio.score_samples(rows), expected, atol=1e-10)
    np.testing.assert_allclose(ratio.score_samples(X), expected, atol=1e-10)


@pytest.mark.parametrize("door", ["memmap", "parquet", "dask array", "dask frame"])
def test_every_source_of_rows_gives_the_same_ratio(door, tmp_path):
    tables = two_samples()
    rows = [as_source(door, table, tmp_path / str(k)) for k, table in enumerate(tables)]
    found = fit_ratio(*rows, FewInMemory()).score_samples(rows[0])
    assert isinstance(found, np.ndarray) != ("dask" in door)  # computed later
    expected = in_equal_blocks()
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)


def as_source(door, table, path):
    if door == "memmap":
        np.save(f"{path}.npy", table)
        return from_array(np.load(f"{path}.npy", mmap_mode="r"), size=70)
    if door == "dask array":
        return pytest.importorskip("dask.array").from_array(table, chunks=(90, 2))
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    if door == "dask frame":
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    frame.to_parquet(f"{path}.parquet", row_group_size=120)
    return from_parquet(f"{path}.parquet", size=50)


def with_gaps_and_levels(n, shift, seed):
    rng = np.random.default_rng(seed)
    shares = [0.5 - shift / 5, 0.3, 0.2 + shift / 5]
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 5 * shift, 10, n),
            "height": rng.normal(size=n),
            "town": pd.Categorical(rng.choice(["a", "b", "c"], n, p=shares)),
        }
    )
    frame.loc[rng.random(n) < 0.1 + shift / 10, "height"] = np.nan
    return frame


@pytest.mark.parametrize("most", [250, 100_000])
def test_gaps_and_categories_give_the_same_ratio_from_every_source(most, tmp_path):
    class Ratio(ClassifierRatio):
        _most_rows = most

    tables = [with_gaps_and_levels(600, 0, 1), with_gaps_and_levels(500, 1, 2)]
    expected = fit_ratio(*in_blocks(tables), Ratio()).score_samples(tables[0])
    assert np.corrcoef(expected, tables[0]["age"])[0, 1] > 0.5
    for k, table in enumerate(tables):
        table.to_parquet(tmp_path / f"{k}.parquet")
    dd = pytest.importorskip("dask.dataframe")
    sources = [
        [dd.from_pandas(table, npartitions=3) for table in tables],
        [from_parquet(tmp_path / f"{k}.parquet", size=37) for k in (0, 1)],
    ]
    for rows in sources:
        ratio = fit_ratio(*rows, Ratio())
        np.testing.assert_allclose(np.asarray(ratio.score_samples(rows[0])), expected, atol=1e-10)
        np.testing.assert_allclose(ratio.score_samples(tables[0]), expected, atol=1e-10)


def test_blocks_are_as_good_as_memory():
    class Quarter(ClassifierRatio):
        _most_rows = 5000

    tables = two_samples(20_000, 5000, d=8)
    memory = fit_ratio(*tables, ClassifierRatio())
    blocks = fit_ratio(*in_blocks(tables, 4000), Quarter())
    # rows of the fit are held out by both, in other folds: errors differ by a tenth or two
    seen = tables[0]
    errors = [relative_error(ratio.score_samples(seen), seen) for ratio in (memory, blocks)]
    assert errors[1] < 1.2 * errors[0] < 0.06
    # the mean of the models, which new rows get in memory, is as good
    new, models = np.random.default_rng(1).normal(size=(4000, 8)), blocks.block_models_
    mean = models.by_model(models.encoder.numbers(new), None)
    errors = [relative_error(found, new) for found in (memory.score_samples(new), mean)]
    assert errors[1] < 1.2 * errors[0] < 0.06


def relative_error(log_ratio, X):
    """Return the mean squared error of the ratio over its variance."""
    ratio, truth = np.exp(log_ratio), np.exp(true_log_ratio(X))
    return np.mean((ratio - truth) ** 2) / np.var(truth)


def of_few_values(n, shares, seed):
    return np.random.default_rng(seed).choice(3, size=(n, 1), p=shares).astype(float)


@pytest.mark.parametrize("most", [250, 100_000])
def test_rows_of_few_values_get_the_mean_of_the_models(most):
    class Ratio(ClassifierRatio):
        _most_rows = most

    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    tables = [
        of_few_values(n, p, k) for k, (n, p) in enumerate(zip((4000, 3000), shares, strict=True))
    ]
    ratio = fit_ratio(*in_blocks(tables), Ratio())
    assert ratio.block_models_.row_keys is None
    counts = np.array([np.bincount(table[:, 0].astype(int)) / len(table) for table in tables])
    found = ratio.score_samples([[0.0], [1.0], [2.0]])
    # three values and a quadratic through them: the shares themselves, but for the penalty
    np.testing.assert_allclose(found, np.log(counts[1] / counts[0]), atol=0.02)
    sizes = fit_ratio(*in_blocks(tables, 41), Ratio()).score_samples([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(sizes, found, atol=1e-10)


def test_sigmoid_calibration_is_a_line_through_held_out_log_odds():
    tables = two_samples()
    plain, ratio = fitted_in_blocks(), fitted_in_blocks(calibration="sigmoid")
    found, raw = (one.score_samples(np.concatenate(tables)) for one in (ratio, plain))
    line = np.polyfit(raw, found, 1)
    np.testing.assert_allclose(np.polyval(line, raw), found, atol=1e-10)
    # as many source as target rows are in memory, of samples of other sizes: no matter
    np.testing.assert_allclose(line, [1, 0], atol=0.25)


def test_isotonic_calibration_is_monotone_and_keeps_the_mean_ratio():
    tables = two_samples(4000, 2000)
    plain, ratio = (
        fit_ratio(*in_blocks(tables), ClassifierRatio(calibration=name))
        for name in (None, "isotonic")
    )
    found, raw = (one.score_samples(tables[0]) for one in (ratio, plain))
    assert (np.diff(found[np.argsort(raw)]) >= 0).all()
    # isotonic regression on rows keeps their mean; 4,000 of them have a standard error of 0.02
    assert np.exp(found).mean() == pytest.approx(1, abs=0.1)


def test_odds_are_those_of_all_rows():
    ratio = fitted_in_blocks()
    assert ratio.log_prior_odds_ == pytest.approx(np.log(400 / 700))
    X = two_samples()[0]
    np.testing.assert_allclose(
        ratio.decision_function(X), ratio.score_samples(X) + ratio.log_prior_odds_
    )
    assert len(ratio.estimators_) == 5
    sampled = fitted_in_blocks(estimator=LogisticRegression())
    assert sampled.log_prior_odds_ == ratio.log_prior_odds_


def test_a_ratio_of_blocks_survives_pickle_and_a_fit_in_memory():
    X, X_target = two_samples()
    ratio = fitted_in_blocks()
    copy = pickle.loads(pickle.dumps(ratio))
    np.testing.assert_array_equal(copy.score_samples(X), ratio.score_samples(X))
    again = ratio.fit(np.concatenate([X, X_target]), np.repeat([0, 1], [len(X), len(X_target)]))
    expected = fit_ratio(X, X_target, ClassifierRatio()).score_samples(X)
    np.testing.assert_array_equal(again.score_samples(X), expected)


@pytest.mark.parametrize(
    "ratio",
    [
        ClassifierRatio(LogisticRegression()),
        NearestNeighbourRatio(),
        *(
            pytest.param(ratio, marks=pytest.mark.more)
            for ratio in (
                ClassifierRatio(HistGradientBoostingClassifier(max_iter=20), calibration="sigmoid"),
                AutoRatio(),
                KLIEP(),
                KMM(),
            )
        ),
    ],
    ids=lambda ratio: type(ratio).__name__,
)
def test_other_ratios_are_fitted_to_a_sample_of_the_rows(ratio):
    few = type("Few", (type(ratio),), {"_most_rows": 1500, "__init__": type(ratio).__init__})
    few = few(**ratio.get_params(deep=False))
    tables = two_samples(6000, 1500, d=2)
    found = [
        fit_ratio(*in_blocks(tables, size), few).score_samples(tables[0]) for size in (1000, 333)
    ]
    np.testing.assert_allclose(*found, atol=1e-10)
    truth = true_log_ratio(tables[0])
    assert np.corrcoef(found[0], truth)[0, 1] > 0.8
    # as many source as target rows were drawn, of samples of other sizes: no matter
    assert abs(np.mean(found[0] - truth)) < 0.2


@pytest.mark.filterwarnings("ignore:WB107")
def test_more_than_a_thousand_columns_are_fitted_to_a_sample():
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(80, 1001)), rng.normal(0.03, 1, size=(70, 1001))
    ratio = fit_ratio(*in_blocks(tables, 30), ClassifierRatio(cv=2))
    assert ratio.block_models_ is None
    assert ratio.score_samples(tables[0]).mean() < ratio.score_samples(tables[1]).mean()


def test_a_tensor_is_fetched_block_by_block():
    torch = pytest.importorskip("torch")
    tables = two_samples()
    rows = [from_array(torch.asarray(part), size=70) for part in tables]
    found = fit_ratio(*rows, FewInMemory()).score_samples(rows[0])
    np.testing.assert_allclose(found, in_equal_blocks(), atol=1e-10)


def test_other_splitters_are_refused():
    with pytest.raises(TypeError, match=r"not by their order; give the number of folds"):
        fitted_in_blocks(cv=KFold(3))


def test_a_sample_in_one_fold_is_refused():
    rows = in_blocks(two_samples(50, 2))
    with pytest.raises(ValueError, match=r"cannot be dealt into 2 folds.*pass arrays"):
        fit_ratio(*rows, ClassifierRatio(random_state=0))


def test_a_block_with_infinity_is_named():
    X, X_target = two_samples()
    X[123, 2] = np.inf
    with pytest.raises(BlockError, match=r"block 2.*Got infinity in column '2'"):
        fit_ratio(from_array(X, size=60), from_array(X_target), ClassifierRatio())
