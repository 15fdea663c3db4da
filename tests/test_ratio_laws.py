"""Laws that every density ratio keeps, and inputs that must not pass unnoticed."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from weighbridge import ImportanceWeighted, ImportanceWeightedCV, adapt, assess, fit_ratio
from weighbridge.datasets import make_gaussian_shift
from weighbridge.diagnosis import diagnose
from weighbridge.exceptions import OverlapWarning, WeightWarning
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    GaussianRatio,
    NearestNeighbourRatio,
)

BOOSTING = HistGradientBoostingClassifier(
    max_leaf_nodes=8, learning_rate=0.05, early_stopping=True, random_state=0
)
RATIOS = [
    ULSIF(),
    KLIEP(),
    KMM(),
    GaussianRatio(),
    NearestNeighbourRatio(),
    ClassifierRatio(),
]
VARIANTS = [
    AutoRatio(),  # one of the others, chosen
    ULSIF(relative=0.3),
    GaussianRatio(shared=True),
    ClassifierRatio(BOOSTING, calibration="sigmoid"),
]
# swapping the samples turns these ratios upside down
SYMMETRIC = [
    GaussianRatio(),
    GaussianRatio(shared=True),
    NearestNeighbourRatio(),
    ClassifierRatio(),
    ClassifierRatio(LogisticRegression(C=0.1)),
    AutoRatio(),
]


def name_of(ratio):
    inner = getattr(ratio, "estimator", None)
    extra = "-boosting" if inner is not None else ""
    extra += "-relative" if getattr(ratio, "relative", 0) else ""
    return type(ratio).__name__ + extra + ("-shared" if getattr(ratio, "shared", False) else "")


EVERY = [*RATIOS, *(pytest.param(ratio, marks=pytest.mark.more) for ratio in VARIANTS)]
every_ratio = pytest.mark.parametrize("ratio", EVERY, ids=name_of)
# all but boosting, which leaves columns to an estimator and is slow where they are many
own_columns = pytest.mark.parametrize("ratio", EVERY[:-1], ids=name_of)


def samples(n_source=300, n_target=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) * 0.9 + 0.5


def scores(ratio, X, X_target, at=None):
    return fit_ratio(X, X_target, ratio).score_samples(X if at is None else at)


# --- no shift ----------------------------------------------------------------------------------


@every_ratio
@pytest.mark.parametrize("same", ["rows", "distribution"])
def test_without_shift_the_log_ratio_averages_zero(ratio, same):
    # weighted by the ratio the mean is a Kullback-Leibler divergence, which is 0 too
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    X_target = X if same == "rows" else rng.normal(size=(1500, 2))
    log_ratio = scores(ratio, X, X_target)
    assert abs(log_ratio.mean()) < 0.05
    assert abs(np.average(log_ratio, weights=np.exp(log_ratio))) < 0.05


# --- invariances -------------------------------------------------------------------------------


@every_ratio
def test_the_order_of_rows_does_not_matter(ratio):
    X, X_target = samples()
    rng = np.random.default_rng(1)
    order, order_target = rng.permutation(len(X)), rng.permutation(len(X_target))
    before, after = scores(ratio, X, X_target), scores(ratio, X[order], X_target[order_target])
    np.testing.assert_allclose(after, before[order], rtol=1e-8, atol=1e-8)


def tied_samples(kind):
    """Rows that repeat, within a sample and across samples."""
    rng = np.random.default_rng(0)
    if kind == "grid":  # (1, 2) and (2, 1) have the same sum
        return rng.integers(0, 6, (200, 2)).astype(float), rng.integers(1, 7, (150, 2)).astype(
            float
        )
    if kind == "bytes":
        return (rng.integers(low, 256, (300, 1)).astype(np.uint8) for low in (0, 50))
    return (
        pd.DataFrame({"c": rng.choice(list("abc"), 300, p=p)})
        for p in ([0.5, 0.3, 0.2], [0.3, 0.3, 0.4])
    )


@every_ratio
@pytest.mark.parametrize("kind", ["grid", "bytes", "categories"])
def test_the_order_of_rows_does_not_matter_among_ties(ratio, kind):
    X, X_target = tied_samples(kind)
    rng = np.random.default_rng(1)
    shuffled = [_rows(part, rng.permutation(len(part))) for part in (X, X_target)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        before, after = scores(ratio, X, X_target, X), scores(ratio, *shuffled, X)
    np.testing.assert_allclose(after, before, rtol=1e-8, atol=1e-8)


def _rows(part, order):
    return part.iloc[order] if isinstance(part, pd.DataFrame) else part[order]


@pytest.mark.parametrize("ratio", SYMMETRIC[:-1], ids=name_of)
def test_swapping_works_among_ties(ratio):
    X, X_target = tied_samples("grid")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        one, other = scores(ratio, X, X_target, X), scores(ratio, X_target, X, X)
    np.testing.assert_allclose(one, -other, atol=2e-3)


@every_ratio
def test_an_array_is_scored_by_a_ratio_that_was_fitted_to_a_frame(ratio):
    X, X_target = samples()
    names = ["z", "a", "m"]  # not in the order of the alphabet
    frames = [pd.DataFrame(part, columns=names) for part in (X, X_target)]
    fitted = fit_ratio(*frames, ratio)
    expected = fitted.score_samples(frames[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn misses the names
        np.testing.assert_allclose(fitted.score_samples(X), expected, atol=1e-10)


@every_ratio
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_order_of_named_columns_does_not_matter(ratio, library):
    X, X_target = samples()
    frame = library(dict(zip("abc", X.T, strict=True)))
    target = library(dict(zip("abc", X_target.T, strict=True)))
    before = scores(ratio, frame, target[["c", "a", "b"]])
    after = scores(ratio, frame[["b", "c", "a"]], target)
    np.testing.assert_allclose(after, before, atol=1e-8)


@every_ratio
def test_an_array_is_a_frame_without_names(ratio):
    X, X_target = samples()
    frames = [pd.DataFrame(part, columns=["x", "y", "z"]) for part in (X, X_target)]
    np.testing.assert_allclose(scores(ratio, *frames), scores(ratio, X, X_target), atol=1e-10)


@every_ratio
@pytest.mark.parametrize(
    ("units", "offset", "atol"),
    [
        ([1e8, 1e-8, 1.0], 0.0, 1e-5),
        ([2.0**40, 2.0**-40, 1.0], 0.0, 1e-12),
        # a double has seven decimals left beside 1e9: rows move a little
        ([1.0, 1.0, 1.0], 1e9, 2e-3),
    ],
)
def test_units_do_not_matter(ratio, units, offset, atol):
    X, X_target = samples()
    before = scores(ratio, X, X_target)
    after = scores(ratio, X * units + offset, X_target * units + offset)
    np.testing.assert_allclose(after, before, atol=atol)


@pytest.mark.parametrize("ratio", SYMMETRIC, ids=name_of)
def test_swapping_the_samples_turns_the_ratio_upside_down(ratio):
    X, X_target = samples(300, 240)
    both = np.vstack([X, X_target])
    np.testing.assert_allclose(
        scores(ratio, X, X_target, both), -scores(ratio, X_target, X, both), atol=2e-3
    )


@every_ratio
@pytest.mark.parametrize("n_target", [400, 3000])
def test_sample_sizes_do_not_scale_the_ratio(ratio, n_target):
    data = make_gaussian_shift(1500, n_target, n_features=1, shift=0.5, random_state=0)
    log_ratio = scores(ratio, data.X, data.X_target)
    relative = getattr(ratio, "relative", 0)
    true = data.log_ratio - np.log(relative * np.exp(data.log_ratio) + 1 - relative)
    assert np.corrcoef(log_ratio, true)[0, 1] > 0.5  # not upside down
    # an uncorrected ratio would be off by log(3.75) or log(2); relative ones have another mean
    assert np.log(np.exp(log_ratio).mean()) == pytest.approx(np.log(np.exp(true).mean()), abs=0.15)


# --- known answers -----------------------------------------------------------------------------


# choosing a penalty by its held-out score shrinks the ratio a little; its standard error is 6 %
@pytest.mark.parametrize(
    ("ratio", "within"),
    [
        (AutoRatio(), 0.03),
        (KLIEP(), 0.03),
        (NearestNeighbourRatio(), 0.03),
        (ClassifierRatio(), 0.05),
        (ClassifierRatio(BOOSTING, calibration="sigmoid"), 0.05),
        (ULSIF(), 0.05),
    ],
    ids=lambda value: "" if isinstance(value, float) else name_of(value),
)
@pytest.mark.parametrize("container", ["text", "category", "polars", "numbers"])
def test_categories_by_counting(ratio, within, container):
    first = np.repeat(["a", "b", "c"], [351, 339, 310])
    second = np.repeat(["a", "b", "c"], [252, 232, 516])
    make = {
        "text": lambda v: pd.DataFrame({"x": v}),
        "category": lambda v: pd.DataFrame({"x": pd.Categorical(v, categories=["a", "b", "c"])}),
        "polars": lambda v: pl.DataFrame({"x": v}),
        "numbers": lambda v: pd.get_dummies(pd.DataFrame({"x": v})).to_numpy(),
    }[container]
    levels = make(np.array(["a", "b", "c"]))
    for X_target, X, expected in [
        (make(first), make(second), [1.393, 1.461, 0.601]),
        (make(second), make(first), [1 / 1.393, 1 / 1.461, 1 / 0.601]),
    ]:
        got = np.exp(scores(ratio, X, X_target, levels))
        np.testing.assert_allclose(got, expected, rtol=within)


@every_ratio
def test_numbers_text_and_gaps_together(ratio):
    rng = np.random.default_rng(0)

    def table(n, p, mean):
        age = rng.normal(mean, 10, size=n)
        return pd.DataFrame(
            {
                "age": np.where(rng.random(n) < 0.1, np.nan, age),
                "city": rng.choice(["oslo", "lima", None], size=n, p=p),
                "visits": pd.array(rng.integers(0, 5, size=n), dtype="Int64"),
                "smoker": rng.random(n) < 0.3,
            }
        )

    X, X_target = table(600, [0.6, 0.3, 0.1], 50), table(500, [0.3, 0.6, 0.1], 55)
    fitted = fit_ratio(X, X_target, ratio)
    log_ratio = fitted.score_samples(X)
    assert np.isfinite(log_ratio).all()
    city = X["city"].to_numpy()
    assert log_ratio[city == "lima"].mean() > log_ratio[city == "oslo"].mean() + 0.3
    # a city never seen, a gap never seen
    new = X.head(3).assign(city="quito", smoker=[True, False, True])
    assert np.isfinite(fitted.score_samples(new)).all()
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        np.testing.assert_allclose(fitted.score_samples(other), log_ratio, atol=1e-8)


@every_ratio
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(ratio, library):
    X, X_target = samples()
    make = {
        "polars": lambda part: pl.DataFrame(part, schema=["x", "y", "z"]),
        "pyarrow": lambda part: pa.table(dict(zip("xyz", part.T, strict=True))),
    }[library]
    got = scores(ratio, make(X), make(X_target))
    np.testing.assert_allclose(got, scores(ratio, X, X_target), atol=1e-10)


@every_ratio
def test_sparse_tables_or_a_refusal(ratio):
    rng = np.random.default_rng(0)
    X, X_target = (
        np.where(rng.random((n, 6)) < share, rng.random((n, 6)), 0.0)
        for n, share in ((300, 0.2), (200, 0.5))
    )
    if isinstance(ratio, GaussianRatio) or getattr(ratio, "estimator", None) is not None:
        with pytest.raises(TypeError, match="dense"):
            scores(ratio, sp.csr_array(X), sp.csr_array(X_target))
        return
    fitted = fit_ratio(sp.csr_array(X), sp.csr_matrix(X_target), ratio)
    huge = fit_ratio(sp.csr_array(X * 1e300), sp.csr_matrix(X_target * 1e300), ratio)
    expected = fitted.score_samples(X)
    np.testing.assert_allclose(huge.score_samples(X * 1e300), expected, atol=1e-3)
    with pytest.raises(ValueError, match="NaN"):
        fitted.score_samples(sp.csr_array(np.where(X > 0, np.nan, X)))
    assert fitted.score_samples(X_target).mean() > fitted.score_samples(sp.csc_array(X)).mean()


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")
@pytest.mark.parametrize(
    ("kind", "n_columns"),
    [
        ("numbers", 6),
        pytest.param("counts", 60, marks=pytest.mark.more),
        pytest.param("counts", 1100, marks=pytest.mark.more),
    ],
)
@every_ratio
def test_sparse_and_dense_tables_give_the_same_weights(ratio, kind, n_columns):
    # squares of 41 to 1,000 columns are for dense tables alone, as the docstrings say
    squares = isinstance(ratio, ClassifierRatio | AutoRatio) and n_columns == 60
    if squares or isinstance(ratio, GaussianRatio) or getattr(ratio, "estimator", None) is not None:
        return
    rng = np.random.default_rng(0)
    X, X_target = (rng.poisson(rate, (n, n_columns)) * 1.0 for n, rate in ((200, 0.2), (150, 0.25)))
    if kind == "numbers":
        X, X_target = (part * rng.normal(size=part.shape) for part in (X, X_target))
    dense = fit_ratio(X, X_target, ratio)
    sparse = fit_ratio(sp.csr_array(X), sp.csr_array(X_target), ratio)
    expected = dense.score_samples(X)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(sparse.score_samples(rows), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(dense.score_samples(rows), expected, rtol=1e-6, atol=1e-6)


@every_ratio
def test_dates_in_any_unit(ratio):
    rng = np.random.default_rng(0)
    days = [rng.normal(mean, 60, size=n) for mean, n in ((0, 300), (40, 200))]
    start = np.datetime64("2024-01-01", "us")
    dates = [start + (part * 86_400e6).astype("timedelta64[us]") for part in days]
    X, X_target = (pd.DataFrame({"when": part}) for part in dates)
    fitted = fit_ratio(X, X_target, ratio)
    expected = fitted.score_samples(X)
    assert np.corrcoef(expected, days[0])[0, 1] > 0.4
    for other in (X.astype("datetime64[ns]"), pl.from_pandas(X)):
        np.testing.assert_allclose(fitted.score_samples(other), expected, atol=1e-6)
    zoned = X_target.assign(
        when=X_target["when"].dt.tz_localize("UTC").astype("datetime64[ns, UTC]")
    )
    np.testing.assert_allclose(scores(ratio, X, zoned), expected, atol=1e-3)
    with pytest.raises(TypeError, match=r"column 'when' as .* in X and as .*to_datetime"):
        fit_ratio(X, X_target.astype(str), ratio)


@pytest.mark.more
@every_ratio
def test_durations_in_any_unit(ratio):
    X, X_target = (
        pd.DataFrame({"wait": pd.to_timedelta(part[:, 0], "h").as_unit("us")}) for part in samples()
    )
    expected = scores(ratio, X, X_target)
    other = X_target.assign(wait=X_target["wait"].dt.as_unit("ns"))
    np.testing.assert_allclose(scores(ratio, X, other), expected, atol=1e-8)


@every_ratio
def test_arrays_with_text_and_batches_without(ratio):
    rng = np.random.default_rng(0)
    X, X_target = (
        [[str(rng.choice(["a", "b"], p=p)), float(rng.normal())] for _ in range(n)]
        for n, p in ((200, [0.7, 0.3]), (150, [0.3, 0.7]))
    )
    X, X_target = (np.array(part, dtype=object) for part in (X, X_target))
    if getattr(ratio, "estimator", None) is not None:
        return  # trees take arrays of numbers only
    fitted = fit_ratio(X, X_target, ratio)
    log_ratio = fitted.score_samples(np.array([["a", 0.0], ["b", 0.0]], dtype=object))
    assert log_ratio[1] > log_ratio[0] + 0.5
    assert np.isfinite(fitted.score_samples(np.array([[None, 0.3]], dtype=object))).all()
    as_lists = fit_ratio(X.tolist(), X_target.tolist(), ratio)
    np.testing.assert_allclose(as_lists.score_samples(X), fitted.score_samples(X), atol=1e-10)


# --- reproducible, bounded, whole --------------------------------------------------------------


@every_ratio
def test_same_bits_and_untouched_random_state(ratio):
    X, X_target = samples()
    np.random.seed(7)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = scores(ratio, X, X_target), scores(ratio, X, X_target)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.more
@pytest.mark.parametrize("ratio", [AutoRatio(), NearestNeighbourRatio()], ids=name_of)
def test_same_bits_for_any_number_of_jobs(ratio):
    X, X_target = samples()
    alone, together = (
        scores(clone(ratio).set_params(n_jobs=n_jobs), X, X_target) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(alone, together)


@pytest.mark.more
@every_ratio
def test_blocks_of_rows_give_what_all_rows_give(ratio):
    X, X_target = samples(700, 600)
    fitted = fit_ratio(X, X_target, ratio)
    new = np.random.default_rng(3).normal(size=(5000, 3))
    whole = fitted.score_samples(new)
    with sklearn.config_context(working_memory=1):
        np.testing.assert_allclose(fitted.score_samples(new), whole, atol=1e-10)
        np.testing.assert_allclose(scores(ratio, X, X_target, new), whole, atol=1e-6)


@every_ratio
def test_a_failed_fit_leaves_the_ratio_as_it_was(ratio):
    X, X_target = samples()
    fitted = fit_ratio(X, X_target, ratio)
    before = fitted.score_samples(X)
    with pytest.raises(ValueError, match="one class only"):
        fitted.fit(X[:4], [0, 0, 0, 0])
    if getattr(ratio, "estimator", None) is None:  # trees take infinity
        with pytest.raises(ValueError, match="infinity"):
            fitted.fit(np.full((4, 3), np.inf), [0, 0, 1, 1])
    np.testing.assert_array_equal(fitted.score_samples(X), before)


# --- bad input ---------------------------------------------------------------------------------


def check_weights(log_ratio):
    """Weights are finite, positive, and not all lost."""
    weights = np.exp(log_ratio - log_ratio.max())
    assert np.isfinite(log_ratio).all()
    assert weights.sum() > 0


@every_ratio
def test_one_row_is_refused(ratio):
    X, X_target = samples()
    with pytest.raises(ValueError, match="X_target with 1 sample"):
        fit_ratio(X, X_target[:1], ratio)
    with pytest.raises(ValueError, match="with 1 row"):
        clone(ratio).fit(np.vstack([X, X_target[:1]]), np.repeat([0, 1], [300, 1]))


@every_ratio
def test_constant_columns_count_nothing(ratio):
    X, X_target = samples()
    constant = [np.column_stack([part, np.full(len(part), 0.1)]) for part in (X, X_target)]
    np.testing.assert_allclose(scores(ratio, *constant), scores(ratio, X, X_target), atol=1e-8)
    only = [part[:, 3:] for part in constant]
    np.testing.assert_allclose(scores(ratio, *only), 0.0, atol=0.05)


@every_ratio
def test_a_column_that_separates_the_samples_is_announced(ratio):
    X, X_target = samples()
    X, X_target = (np.column_stack([p, np.full(len(p), k)]) for p, k in ((X, 0), (X_target, 1)))
    with pytest.warns(OverlapWarning, match="WB302"):
        fitted = fit_ratio(X, X_target, ratio)
    check_weights(fitted.score_samples(X))


@every_ratio
def test_disjoint_samples_are_announced(ratio):
    X, X_target = samples()
    with pytest.warns(OverlapWarning, match="WB302"):
        fitted = fit_ratio(X, X_target + 50, ratio)
    check_weights(fitted.score_samples(X))


@every_ratio
def test_more_columns_than_rows(ratio):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 200)), rng.normal(size=(30, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        check_weights(scores(ratio, X, X_target))


@pytest.mark.more
@own_columns
def test_ten_thousand_columns(ratio):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 10_000)), rng.normal(size=(50, 10_000)) + 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        check_weights(scores(ratio, X, X_target))


@own_columns
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_very_large_and_small_numbers_are_only_units(ratio, size):
    X, X_target = samples()
    expected = scores(ratio, X, X_target)
    np.testing.assert_allclose(scores(ratio, X * size, X_target * size), expected, atol=1e-3)


@own_columns
def test_one_absurd_value_is_refused_by_the_name_of_its_column(ratio):
    X, X_target = samples()
    X[3, 1] = 1e300
    with pytest.raises(ValueError, match=r"Column '1' holds values so far from its others"):
        scores(ratio, X, X_target)


@every_ratio
def test_masked_values_are_missing_values(ratio):
    X, X_target = samples()
    hidden = np.random.default_rng(2).random(X.shape) < 0.2
    masked = np.ma.masked_array(np.where(hidden, 999.0, X), mask=hidden)
    with_gaps = np.where(hidden, np.nan, X)
    np.testing.assert_array_equal(
        scores(ratio, masked, X_target, X_target), scores(ratio, with_gaps, X_target, X_target)
    )


@every_ratio
def test_small_integers_do_not_wrap(ratio):
    rng = np.random.default_rng(0)
    X, X_target = rng.integers(0, 256, (300, 2)), rng.integers(50, 256, (300, 2))
    narrow = scores(ratio, X.astype(np.uint8), X_target.astype(np.uint8))
    np.testing.assert_array_equal(narrow, scores(ratio, X.astype(float), X_target.astype(float)))


# --- too few rows ------------------------------------------------------------------------------


@own_columns
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "needed"), [(2, 1, 6), (5, 2, 8), (20, 200, 80), (60, 1000, 179)]
)
def test_too_few_rows_are_told_with_how_many_it_takes(ratio, n_rows, n_columns, needed):
    rng = np.random.default_rng(0)
    X, X_target = (rng.normal(mean, 1, (n_rows, n_columns)) for mean in (0, 5 / n_columns**0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_ratio(X, X_target, ratio)
    said = [each for each in caught if "WB107" in str(each.message)]
    assert len(said) == 1
    assert said[0].category is WeightWarning
    assert said[0].filename == __file__
    assert f"{n_rows} rows of one sample" in str(said[0].message)
    assert f"at least {needed} rows of each" in str(said[0].message)


def test_enough_rows_are_not_warned_of():
    rng = np.random.default_rng(0)
    for n_rows, n_columns in ((6, 1), (8, 2), (80, 200)):
        X, X_target = rng.normal(size=(2, n_rows, n_columns))
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="WB107")
            warnings.simplefilter("ignore", OverlapWarning)
            fit_ratio(X, X_target, ULSIF())


# --- numbers too small to be written -----------------------------------------------------------


@every_ratio
def test_underflow_is_nobodys_business(ratio):
    X, X_target = samples()
    rows = np.vstack([X, 40 * X])
    expected = fit_ratio(X, X_target, ratio).score_samples(rows)
    with np.errstate(all="raise"):
        got = fit_ratio(X, X_target, ratio).score_samples(rows)
    np.testing.assert_array_equal(got, expected)


def weights_of_adapt(X, y, X_target):
    train, deploy = (
        pd.DataFrame(X, columns=list("abc")),
        pd.DataFrame(X_target, columns=list("abc")),
    )
    result = adapt(
        train.assign(g=np.where(X[:, 0] > 0, "u", "v"), y=y > 0), deploy.assign(g="v"), label="y"
    )
    return result.weights


DOORS = {
    "weighted": lambda X, y, Z: ImportanceWeighted(Ridge()).fit(X, y, X_target=Z).predict(Z),
    "diagnose": lambda X, y, Z: str(diagnose(X, Z)),
    "assess": lambda X, y, Z: str(assess(Ridge(), X, y, Z, random_state=0)),
    "cv": lambda X, y, Z: ImportanceWeightedCV(Ridge()).fit(X, y, X_target=Z).predict(Z),
    "adapt": weights_of_adapt,
}


@pytest.mark.parametrize(
    "name", [*list(DOORS)[:1], *(pytest.param(n, marks=pytest.mark.more) for n in list(DOORS)[1:])]
)
def test_underflow_passes_every_door(name):
    X, X_target = samples()
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    expected = DOORS[name](X, y, X_target)
    with np.errstate(all="raise"):
        got = DOORS[name](X, y, X_target)
    np.testing.assert_array_equal(got, expected)
