"""The parts of a forecast and its interval, each against an independent computation."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge

from weighbridge.datasets import make_gaussian_shift
from weighbridge.model_selection import ROW_LOSSES
from weighbridge.target_risk import mean_interval
from weighbridge.target_risk._forecast import (
    BRIDGE,
    PENALTIES,
    CrossFittedRidge,
    Influence,
    LabelModel,
    Losses,
    calibrated_mean,
    plain_mean,
)
from weighbridge.target_risk._interval import degrees_of_freedom
from weighbridge.target_risk._problem import RatioInfluence


def example(seed=0, n=200, n_target=150):
    """Losses with two forecasts of them, and the log ratios of both samples."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(0.5, 1, size=n_target)
    forecasts = ((x**2, z**2), (np.abs(x), np.abs(z)))
    values = x**2 * rng.exponential(size=n)
    losses = Losses(values, *forecasts[0], np.full(2, 0.3), 0.4, forecasts)
    return losses, 0.5 * x - 0.125, 0.5 * z - 0.125


def forecast(losses, at_source, at_target):
    """The forecast with a known ratio."""
    problem = {"bridge": BRIDGE, "log_ratios": (at_source, at_target), "ratio_influence": None}
    return calibrated_mean(losses, SimpleNamespace(**problem))


def bridged_shares(log_ratio, extra=1.0):
    ratio = np.exp(log_ratio)
    weights = extra * ratio / (0.25 * ratio + 0.75)
    return weights / weights.sum()


def regressed(losses, shares):
    """The calibrated forecasts by scikit-learn: a weighted regression, shrunk by one row."""
    columns = [(x, np.clip(z, x.min(), x.max())) for x, z in losses.forecasts]
    source, target = (np.column_stack(samples) for samples in zip(*columns, strict=True))
    centre = shares @ source
    spread = np.sqrt(shares @ (source - centre) ** 2)
    model = Ridge(1.0).fit((source - centre) / spread, losses.held_out, shares * shares.size)
    return model.predict((target - centre) / spread)


def test_forecast_is_a_weighted_regression():
    losses, at_source, at_target = example()
    influence = forecast(losses, at_source, at_target)
    shares = bridged_shares(at_source)
    expected = regressed(losses, shares)
    assert influence.shares == pytest.approx(shares, rel=1e-12)
    assert influence.value == pytest.approx(expected.mean() + 0.4 - 0.3, rel=1e-10)
    assert influence.rows == pytest.approx(expected + 0.4 - 0.3, rel=1e-10)
    assert influence.variances[1] == pytest.approx(np.var(expected) / 150, rel=1e-10)


def test_contribution_of_a_row_is_the_derivative_by_its_weight():
    """By numerical differentiation. The formula leaves out the one row of shrinkage."""
    losses, at_source, at_target = example(n=2000)
    influence = forecast(losses, at_source, at_target)
    for row in (3, 500, int(np.argmax(losses.held_out))):
        step = np.ones(2000)
        ends = []
        for size in (1e-4, -1e-4):
            step[row] = 1 + size
            ends.append(regressed(losses, bridged_shares(at_source, step)).mean())
        slope = (ends[0] - ends[1]) / 2e-4
        assert influence.source[row] == pytest.approx(slope, rel=0.02, abs=1e-7)


def test_a_constant_forecast_gives_the_weighted_mean():
    losses, at_source, at_target = example()
    shares = bridged_shares(at_source)
    constant = losses._replace(forecasts=((np.full(200, 0.3), np.full(150, 0.3)),))
    influence = forecast(constant, at_source, at_target)
    assert influence.value == pytest.approx(shares @ losses.held_out + 0.1, rel=1e-12)
    plain = np.sum((shares * (losses.held_out - shares @ losses.held_out)) ** 2)
    assert np.sum(influence.source**2) == pytest.approx(plain, rel=1e-10)


def test_small_residuals_of_heavy_rows_do_not_shorten_the_interval():
    """Two rows with nearly all the weight have no residual by chance; the others have."""
    shares, residuals = np.array([0.45, 0.45, 0.05, 0.05]), np.array([0.0, 0.0, 1.0, -1.0])
    none = np.zeros(1)
    influence = Influence(0.0, shares * residuals, none, residuals, shares, none)
    assert np.sum(influence.source**2) == pytest.approx(2 * 0.05**2)
    assert influence.variances[0] == pytest.approx(np.sum(shares**2) * 0.1)


def test_target_rows_of_ratio_zero_are_not_left_out():
    losses, at_source, at_target = example()
    at_target[0] = -1.0
    small = forecast(losses, at_source, at_target).unseen
    at_target[0] = -np.inf
    assert forecast(losses, at_source, at_target).unseen == pytest.approx(small)


def test_what_the_rows_cannot_show_widens_the_interval():
    """The part that weights of at most 4 leave out, and a doubly robust estimate, by hand."""
    losses, at_source, at_target = example()
    for expected in (losses.expected, losses.expected + np.where(at_source > 0, 0.1, 0.0), 9.0):
        changed = losses._replace(expected=expected * np.ones(200))
        influence = forecast(changed, at_source, at_target)
        value, ratio = influence.value - 0.1, np.exp(at_target)
        left_out = 1 - np.minimum(1 / (0.25 * ratio + 0.75), 1).mean()
        robust = changed.expected_target.mean()
        robust += influence.shares @ (changed.held_out - changed.expected)
        apart = min(abs(value - robust), 0.25 * value)
        by_hand = np.hypot(0.1 * left_out * value, apart)
        assert np.hypot(*influence.unseen) == pytest.approx(by_hand, rel=1e-10)
        others = sum(influence.variances[:4])
        assert influence.variance == pytest.approx(others + by_hand**2, rel=1e-10)
    assert apart == 0.25 * value


def test_intervals_of_amounts_are_on_the_log_scale():
    influence = forecast(*example())
    plain, amount = mean_interval(influence, 0.95), mean_interval(influence, 0.95, (0.0, np.inf))
    half = (plain.high - plain.low) / 2
    assert amount.high == pytest.approx(influence.value * np.exp(half / influence.value), rel=1e-12)
    assert amount.low == pytest.approx(influence.value * np.exp(-half / influence.value), rel=1e-12)
    share = mean_interval(influence, 0.95, (0.0, 1.0))
    assert share.high == pytest.approx(min(plain.high, 1.0))


def test_difference_subtracts_values_and_contributions():
    """Rounding is no difference: equal models with sums in another order are equal."""
    first, second = (forecast(*example(seed)) for seed in (0, 5))
    change = first.minus(second)
    assert change.value == pytest.approx(first.value - second.value, abs=1e-14)
    for name in ("source", "target", "residuals", "folds", "unseen"):
        by_hand = getattr(first, name) - getattr(second, name)
        np.testing.assert_array_equal(getattr(change, name), by_hand)
    fields = {**vars(first), "value": first.value * (1 + 1e-15)}
    nearly = Influence(**{name: fields[name] for name in Influence.__dataclass_fields__})
    assert nearly.minus(first).value == 0
    assert nearly.minus(first).variance == 0


def test_distances_to_the_doubly_robust_estimate_cancel_only_if_they_agree():
    """One estimate is above it and the other as far below: that is twice the distance."""
    losses, at_source, at_target = example()
    shares = bridged_shares(at_source)
    robust = losses.expected_target.mean() + shares @ (losses.held_out - losses.expected)
    value = forecast(losses, at_source, at_target).value - 0.1
    above, below = (
        forecast(
            losses._replace(expected_target=losses.expected_target + value - robust + off),
            at_source,
            at_target,
        )
        for off in (0.05, -0.05)
    )
    assert above.minus(below).variances[4] == pytest.approx(0.1**2, rel=1e-10)
    assert above.minus(above).variance == 0


def test_plain_mean_has_the_textbook_variance():
    losses = np.random.default_rng(0).exponential(size=50)
    influence = plain_mean(losses)
    assert influence.value == pytest.approx(losses.mean())
    assert influence.variance == pytest.approx(losses.var() / 50)
    assert degrees_of_freedom(plain_mean(np.tile([0.0, 1.0], 6))) == pytest.approx(12)


def test_root_follows_the_delta_method():
    losses, at_source, at_target = example()
    mean = forecast(losses._replace(of_final=9.0), at_source, at_target)
    root = mean.root()
    assert root.value == pytest.approx(np.sqrt(mean.value))
    assert root.variance == pytest.approx(mean.variance / (4 * mean.value), rel=1e-12)
    below_zero = forecast(losses._replace(of_final=-9.0), at_source, at_target)
    assert below_zero.root().value == 0
    assert below_zero.root().variance == pytest.approx(np.sqrt(mean.variance) / 4, rel=1e-12)
    assert mean.minus(mean).root().variance == 0


def test_variance_of_folds_is_that_of_their_models():
    none = np.zeros(1)
    agreeing, differing = (
        Influence(0.25, none, none, none, none, np.array(folds))
        for folds in ([0.3, 0.3, 0.3], [0.1, 0.3, 0.5])
    )
    assert agreeing.variances[3] == 0
    assert differing.variances[3] == pytest.approx(0.04)
    exact = mean_interval(agreeing, 0.95)
    assert (exact.low, exact.value, exact.high) == (0.25, 0.25, 0.25)


def gaussian(n=200, d=2):
    return make_gaussian_shift(n, n, n_features=d, random_state=0)


def features_of(ridge, numbers):
    """The features of rows, as products with the unit matrix."""
    return ridge.times(numbers, np.eye(ridge.width))


def fitted_ridge(data, n_folds=4, weights=None):
    n = len(data.X)
    weights = np.ones(n) if weights is None else weights
    return CrossFittedRidge(data.X, data.X_target, weights, np.arange(n) % n_folds)


def test_smoothing_is_ridge_without_each_fold():
    data = gaussian()
    weights, fold = np.exp(0.3 * data.X[:, 0]), np.arange(200) % 4
    ridge = fitted_ridge(data, 4, weights)
    phi, phi_target = (features_of(ridge, numbers) for numbers in (ridge.source, ridge.target))
    at_source, at_target = ridge.smooth(data.y[:, None])
    errors = {}
    for penalty in PENALTIES:
        held_out, targets = np.empty(200), []
        for k in range(4):
            rest = fold != k
            model = Ridge(penalty * weights.mean())
            model.fit(phi[rest, 1:], data.y[rest], sample_weight=weights[rest])
            held_out[~rest] = model.predict(phi[~rest, 1:])
            targets.append(model.predict(phi_target[:, 1:]))
        errors[weights @ (held_out - data.y) ** 2] = held_out, np.mean(targets, axis=0)
    held_out, target = errors[min(errors)]
    np.testing.assert_allclose(at_source[:, 0], held_out, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(at_target[:, 0], target, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [30, 60, 500], ids=["linear", "squares", "products"])
def test_products_with_features_are_those_of_the_features(n):
    """They are computed in blocks, and without the matrix of the features."""
    data, rng = gaussian(n, d=5), np.random.default_rng(0)
    ridge = fitted_ridge(data)
    assert ridge.width == {30: 6, 60: 11, 500: 21}[n]
    phi, weights = features_of(ridge, ridge.source), rng.exponential(size=n)
    with config_context(working_memory=0.01):
        gram = ridge.gram(ridge.source, weights)
    np.testing.assert_allclose(gram, (phi * weights[:, None]).T @ phi, atol=1e-9)
    values = rng.normal(size=(n, 3))
    np.testing.assert_allclose(ridge.moments(ridge.source, values), phi.T @ values, atol=1e-10)
    coefficients = rng.normal(size=(ridge.width, 2))
    products = ridge.times(ridge.source, coefficients)
    np.testing.assert_allclose(products, phi @ coefficients, atol=1e-10)


def test_wide_tables_are_projected():
    X = np.random.default_rng(0).normal(size=(60, 700))
    ridge = CrossFittedRidge(X, X + 0.1, np.ones(60), np.arange(60) % 3)
    assert ridge.width == 301
    assert np.isfinite(ridge.smooth(X[:, :1])[1]).all()


def test_expected_squared_loss_is_bias_and_variance():
    data = gaussian(2000, d=1)
    labels, squared = (
        LabelModel(fitted_ridge(data), data.y, None),
        ROW_LOSSES["neg_mean_squared_error"],
    )
    prediction = 0.5 * data.X[:, 0]
    expected = labels.expected_loss(squared, labels.source, prediction)
    (mean, scale), q = labels.source.T, labels.residuals
    by_hand = (mean - prediction) ** 2 + scale**2 * np.mean(q**2)
    by_hand += 2 * (mean - prediction) * scale * q.mean()
    np.testing.assert_allclose(expected, by_hand, rtol=1e-10)
    # The simulator's relation is quadratic, and its noise 0.5.
    truth = data.X[:, 0] + data.X[:, 0] ** 2 / 2
    assert np.mean((mean - truth) ** 2) < 0.01
    assert np.mean(scale) == pytest.approx(0.5, rel=0.05)


def test_labels_of_any_size_are_modelled():
    data = gaussian(300, d=1)
    plain, large = (LabelModel(fitted_ridge(data), unit * data.y, None) for unit in (1.0, 1e150))
    np.testing.assert_allclose(large.source / 1e150, plain.source, rtol=1e-6, atol=1e-9)


def test_ratio_influence_is_the_derivative_of_a_logistic_regression():
    """The influence of a row on a weighted mean, against a fit with more weight of that row."""
    data = gaussian(300)
    ridge = fitted_ridge(data)
    rows = np.vstack([features_of(ridge, numbers) for numbers in (ridge.source, ridge.target)])

    def fitted(weights):
        model = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000, fit_intercept=False)
        domain = np.repeat([0, 1], 300)
        return rows @ model.fit(rows, domain, sample_weight=weights).coef_[0]

    log_ratio = fitted(np.ones(600))
    influence = RatioInfluence(ridge, log_ratio[:300], log_ratio[300:])
    losses = (data.y - data.X[:, 0]) ** 2

    def mean(log_ratio):
        weights = np.exp(log_ratio[:300])
        return weights @ losses / weights.sum()

    shares = np.exp(log_ratio[:300]) / np.exp(log_ratio[:300]).sum()
    at_source, at_target = influence.of_mean(shares * (losses - shares @ losses))
    step = 1e-3
    for row, expected in ((3, at_source[3]), (77, at_source[77]), (310, at_target[10])):
        weights = np.ones(600)
        weights[row] += step
        change = (mean(fitted(weights)) - mean(log_ratio)) / step
        assert change == pytest.approx(expected, rel=0.02, abs=1e-6)
    counts = np.zeros((300, 1))
    counts[3] = step
    changes = influence.log_ratio_change(counts, np.zeros((300, 1)))[:, 0]
    weights = np.ones(600)
    weights[3] += step
    np.testing.assert_allclose(changes, (fitted(weights) - log_ratio)[:300], rtol=0.02, atol=1e-8)
