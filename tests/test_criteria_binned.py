"""Cross-validation from moments at knots: exact folds at the price of one pass."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from weighbridge import Geodesic
from weighbridge.criteria import CrossValidation, _binned_objective
from weighbridge.criteria._binned_objective import BinnedObjective
from weighbridge.criteria._fold_objective import FoldObjective
from weighbridge.search import Point

N = 20_000
POINTS = [Point(0.5, 1.0), Point(1.0, 1.0), Point(0.5, 3.0), Point(0.9, 2.0), Point(0.3, -2.0)]
ESTIMATORS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(100.0),
    Ridge(100.0, fit_intercept=False),
    make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), Ridge(10.0)),
]
# no interpolation is involved at lam = 0: sums of 20,000 terms in another order
ROUNDING = 1e-10


def _problem(n=N, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 2 ** np.arange(d) + 1
    y = X[:, 0] ** 2 + X @ np.arange(1, d + 1) + rng.normal(size=n)
    return X, y, 0.8 * (X[:, 0] - 1)


def _binned_and_exact(estimator, X, y, s, own=None):
    """Both objectives, on the same folds."""
    binned = CrossValidation(random_state=0).objective(estimator, X, y, s, own)
    assert isinstance(binned, BinnedObjective)
    exact = FoldObjective(
        estimator, binned.rows, binned.splits, "neg_mean_squared_error", n_jobs=None, identity=[]
    )
    return binned, exact


def _fold_means(exact, losses):
    """Weighted mean of the losses of each fold."""
    tests = [test for _, test in exact.splits]
    return np.array([np.average(losses[rows], weights=exact.unit_weights[rows]) for rows in tests])


def _largest_gap(binned, exact, points):
    gaps = []
    for ours, theirs in zip(binned.evaluate(points), exact.evaluate(points), strict=True):
        assert ours.point == theirs.point
        gaps.append(np.abs(ours.losses / _fold_means(exact, theirs.losses) - 1).max())
    return max(gaps)


@pytest.mark.parametrize("own", [None, np.arange(N + 5000) % 5 / 2], ids=["plain", "own"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_losses_are_those_of_exact_folds(estimator, own):
    X, y, s = _problem(N if own is None else own.size)
    if hasattr(estimator, "steps"):  # its transformers are fitted once, on all rows
        used = np.ones(len(X), dtype=bool) if own is None else own > 0
        X = X.copy()
        X[used] = StandardScaler().fit_transform(X[used])
        estimator = estimator[1:]
    binned, exact = _binned_and_exact(estimator, X, y, s, own)
    assert _largest_gap(binned, exact, [Point(0.0, 1.0)]) < ROUNDING
    assert _largest_gap(binned, exact, POINTS) < 1e-4
    totals = [exact.rows.unit_weights[test].sum() for _, test in exact.splits]
    np.testing.assert_allclose(binned.unit_weights, totals, rtol=1e-12)


def test_without_shift_all_candidates_are_one():
    X, y, _ = _problem()
    binned, exact = _binned_and_exact(Ridge(), X, y, np.zeros(N))
    assert _largest_gap(binned, exact, POINTS) < ROUNDING


def test_labels_and_columns_far_from_zero_keep_their_digits():
    # squares of the labels alone would leave 4 digits of the error
    X, y, s = _problem()
    binned, exact = _binned_and_exact(LinearRegression(), X + 1e5, y + 1e7, s)
    assert _largest_gap(binned, exact, [Point(0.0, 1.0)]) < 1e-6  # scikit-learn's own digits
    losses = next(binned.evaluate([Point(0.5, 3.0)])).losses
    near = CrossValidation(random_state=0).objective(LinearRegression(), X, y, s)
    np.testing.assert_allclose(losses, next(near.evaluate([Point(0.5, 3.0)])).losses, rtol=1e-6)


def test_predictions_are_those_of_exact_folds_in_the_order_of_the_rows():
    X, y, s = _problem()
    binned, exact = _binned_and_exact(Ridge(), X, y, s)
    ours = binned.predictions(list(binned.evaluate(POINTS)))
    theirs = exact.predictions(list(exact.evaluate(POINTS)))
    assert ours.shape == (len(POINTS), N)
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * y.std())


def test_error_falls_with_the_square_of_the_number_of_knots(monkeypatch):
    X, y, s = _problem()
    gaps = []
    for knots in (16, 32, 64, 128):
        monkeypatch.setattr(_binned_objective, "KNOTS", knots)
        gaps.append(_largest_gap(*_binned_and_exact(Ridge(), X, y, s), POINTS))
    order = -np.polyfit(np.log([16, 32, 64, 128]), np.log(gaps), 1)[0]
    assert 1.6 < order < 2.6


@pytest.mark.parametrize("odd", [-50.0, -1000.0, 12.0])
def test_a_few_odd_ratios_do_not_spoil_the_others(odd):
    X, y, s = _problem()
    s = s.copy()
    s[:3] = odd
    assert _largest_gap(*_binned_and_exact(Ridge(), X, y, s), POINTS) < 2e-3


@pytest.mark.parametrize("own", [None, np.arange(N) % 3 + 1.0], ids=["plain", "own"])
def test_weights_that_are_no_function_of_the_ratio_are_scored_exactly(own):
    X, y, s = _problem()
    log_weight = np.random.default_rng(1).normal(size=N)
    scores = CrossValidation(random_state=0)(Ridge(), X, y, s, log_weight, own)
    binned, exact = _binned_and_exact(Ridge(), X, y, s, own)
    theirs = next(exact.outcomes(np.exp(log_weight)[None])).losses
    np.testing.assert_allclose(scores.losses, _fold_means(exact, theirs), rtol=ROUNDING)
    # and for one that is, both ways agree
    relative = CrossValidation(random_state=0)(
        Ridge(), X, y, s, Geodesic(0.5, 3)(binned.log_ratio), own
    )
    at_knots = next(binned.evaluate([Point(0.5, 3.0)])).losses
    np.testing.assert_allclose(relative.losses, at_knots, rtol=1e-4)


def test_blocks_of_candidates_change_nothing(monkeypatch):
    X, y, s = _problem()
    binned = CrossValidation(random_state=0).objective(Ridge(), X, y, s)
    together = [each.losses for each in binned.evaluate(POINTS)]
    monkeypatch.setattr(_binned_objective, "_TOGETHER", 1)
    # a product of other shape sums in another order
    single = [each.losses for each in binned.evaluate(POINTS)]
    np.testing.assert_allclose(single, together, rtol=ROUNDING)
    assert list(binned.evaluate([])) == []


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (LogisticRegression(), {}),
        (LinearRegression(positive=True), {}),
        (Ridge(), {"scoring": "neg_mean_absolute_error"}),
        (Ridge(), {"cv": ShuffleSplit(2, random_state=0)}),
    ],
)
def test_anything_else_is_fitted_fold_by_fold(estimator, options):
    X, y, s = _problem()
    y = y > 0 if isinstance(estimator, LogisticRegression) else y
    assert isinstance(CrossValidation(**options).objective(estimator, X, y, s), FoldObjective)


def test_few_rows_many_columns_and_ratios_of_zero_are_fitted_fold_by_fold(monkeypatch):
    X, y, s = _problem()
    criterion = CrossValidation(KFold(5))
    assert isinstance(criterion.objective(Ridge(), X, y, s), BinnedObjective)
    gone = np.where(np.arange(N) == 3, -np.inf, s)
    assert isinstance(criterion.objective(Ridge(), X, y, gone), FoldObjective)
    assert isinstance(criterion.objective(Ridge(), X[1:], y[1:], s[1:]), FoldObjective)
    # moments of 5 folds and 256 knots: room for 4 columns, and the intercept and the labels
    monkeypatch.setattr(_binned_objective, "_MOMENTS", 5 * 256 * 6**2)
    assert isinstance(criterion.objective(Ridge(), X, y, s), BinnedObjective)
    wide = np.column_stack([X, s])
    assert isinstance(criterion.objective(Ridge(), wide, y, s), FoldObjective)
    assert isinstance(criterion.objective(Ridge(), sp.csr_array(wide), y, s), FoldObjective)
