"""The parts of a risk estimate, each against an independent computation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from weighbridge.datasets import make_gaussian_shift
from weighbridge.model_selection import ROW_LOSSES
from weighbridge.target_risk._influence import (
    Influence,
    Losses,
    RatioInfluence,
    calibrated,
    doubly_robust,
    weighted_mean,
)
from weighbridge.target_risk._labels import PENALTIES, Features, PlausibleLabels, smooth

SQUARED = ROW_LOSSES["neg_mean_squared_error"]
ZERO_ONE = ROW_LOSSES["accuracy"]
FIELDS = ("source", "target", "residuals", "shares", "folds")


def some_losses(seed=0, n=30, n_target=20):
    rng = np.random.default_rng(seed)
    return Losses(
        rng.exponential(size=n),
        rng.exponential(size=n),
        rng.exponential(size=n_target),
        rng.exponential(size=5),
        0.5,
    )


def some_shares(seed=1, n=30):
    shares = np.random.default_rng(seed).exponential(size=n)
    return shares / shares.sum()


def test_doubly_robust_is_its_formula():
    part, shares = some_losses(), some_shares()
    found = doubly_robust(part, shares, None)
    by_hand = sum(part.expected_target) / 20 + part.of_final - sum(part.of_folds) / 5
    by_hand += sum(
        w * (loss - m) for w, loss, m in zip(shares, part.held_out, part.expected, strict=True)
    )
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    residuals = part.held_out - part.expected
    centred = residuals - shares @ residuals
    plain = np.var(part.expected_target) / 20 + np.sum((shares * centred) ** 2)
    assert np.sum(found.source**2) + found.of_target == pytest.approx(plain, rel=1e-12)


def test_quiet_rows_do_not_make_an_interval_short():
    """Of two rows that carry the weight, both fit by chance; the others are noisy."""
    shares = np.array([0.45, 0.45, 0.05, 0.05])
    part = some_losses(n=4)._replace(held_out=np.array([0.0, 0.0, 1.0, -1.0]), expected=np.zeros(4))
    found = doubly_robust(part, shares, None)
    assert np.sum(found.source**2) == pytest.approx(2 * 0.05**2)
    assert found.of_source == pytest.approx(np.sum(shares**2) * 0.1)


def some_forecasts(seed=0, n=200, n_target=150):
    """Losses with two forecasts of them, and log ratios."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(0.5, 1, size=n_target)
    forecasts = ((x**2, z**2), (np.abs(x), np.abs(z)))
    losses = x**2 * rng.exponential(size=n)
    part = Losses(losses, *forecasts[0], np.full(2, 0.3), 0.4, forecasts)
    return part, 0.5 * x - 0.125, 0.5 * z - 0.125


def bridged_shares(log_ratio, extra=1.0):
    ratio = np.exp(log_ratio)
    weights = extra * ratio / (0.25 * ratio + 0.75)
    return weights / weights.sum()


def regressed(part, shares):
    """The calibrated mean by scikit-learn: a weighted regression, shrunk by a row."""
    columns = [(here, np.clip(there, here.min(), here.max())) for here, there in part.forecasts]
    source, target = (np.column_stack(each) for each in zip(*columns, strict=True))
    centre = shares @ source
    spread = np.sqrt(shares @ (source - centre) ** 2)
    model = Ridge(1.0).fit((source - centre) / spread, part.held_out, shares * shares.size)
    return model.predict((target - centre) / spread)


def test_calibrated_is_a_weighted_regression():
    part, at_source, at_target = some_forecasts()
    found = calibrated(part, at_source, at_target, None)
    shares = bridged_shares(at_source)
    expected = regressed(part, shares)
    assert found.shares == pytest.approx(shares, rel=1e-12)
    assert found.value == pytest.approx(expected.mean() + 0.4 - 0.3, rel=1e-10)
    assert found.of_target == pytest.approx(np.var(expected) / 150, rel=1e-10)


def test_what_a_row_adds_is_what_its_weight_changes():
    """By numerical differentiation; the one row of shrinkage is left out of the formula."""
    part, at_source, at_target = some_forecasts(n=2000)
    found = calibrated(part, at_source, at_target, None)
    for row in (3, 500, int(np.argmax(part.held_out))):
        step = np.ones(2000)
        ends = []
        for size in (1e-4, -1e-4):
            step[row] = 1 + size
            ends.append(regressed(part, bridged_shares(at_source, step)).mean())
        slope = (ends[0] - ends[1]) / 2e-4
        assert found.source[row] == pytest.approx(slope, rel=0.02, abs=1e-7)


def test_a_forecast_without_spread_changes_nothing():
    """But for rounding it is the plain weighted mean, with the error of one."""
    part, at_source, at_target = some_forecasts()
    shares = bridged_shares(at_source)
    same = part._replace(forecasts=((np.full(200, 0.3), np.full(150, 0.3)),))
    found = calibrated(same, at_source, at_target, None)
    assert found.value == pytest.approx(shares @ part.held_out + 0.1, rel=1e-12)
    plain = np.sum((shares * (part.held_out - shares @ part.held_out)) ** 2)
    assert np.sum(found.source**2) == pytest.approx(plain, rel=1e-10)


def test_target_rows_of_ratio_zero_are_not_left_out():
    part, at_source, at_target = some_forecasts()
    at_target[0] = -1.0  # weights of at most 4 leave out nothing of it, as of a ratio of 0
    one = calibrated(part, at_source, at_target, None)
    at_target[0] = -np.inf
    assert calibrated(part, at_source, at_target, None).unseen == pytest.approx(one.unseen)


def test_what_the_rows_cannot_tell_widens_the_interval():
    """The part of the target that weights of at most 4 leave out, and another estimate, by hand."""
    part, at_source, at_target = some_forecasts()
    for expected in (part.expected, part.expected + np.where(at_source > 0, 0.1, 0.0), 9.0):
        some = part._replace(expected=expected * np.ones(200))
        found = calibrated(some, at_source, at_target, None)
        value, ratio = found.value - 0.1, np.exp(at_target)
        left_out = 1 - np.minimum(1 / (0.25 * ratio + 0.75), 1).mean()
        other = some.expected_target.mean() + found.shares @ (some.held_out - some.expected)
        apart = min(abs(value - other), 0.25 * value)
        by_hand = np.hypot(0.1 * left_out * value, apart)
        assert np.hypot(*found.unseen) == pytest.approx(by_hand, rel=1e-10)
        without = found.of_source + found.of_target + found.of_labels + found.of_choice
        assert found.variance == pytest.approx(without + by_hand**2, rel=1e-10)
    assert apart == 0.25 * value


def test_amounts_have_intervals_in_factors():
    """The mean of an amount is more often too small than too large; a share stays as it is."""
    part, at_source, at_target = some_forecasts()
    found = calibrated(part, at_source, at_target, None)
    plain, amount = found.estimate(0.95), found.estimate(0.95, (0.0, np.inf))
    half = (plain.high - plain.low) / 2
    assert amount.high == pytest.approx(found.value * np.exp(half / found.value), rel=1e-12)
    assert amount.low == pytest.approx(found.value * np.exp(-half / found.value), rel=1e-12)
    assert found.estimate(0.95, (0.0, 1.0)).high == pytest.approx(min(plain.high, 1.0))


def test_differences_of_estimates_are_estimates_of_differences():
    """What a reader can subtract must subtract: losses, and their errors row by row."""
    one, other = some_losses(0), some_losses(5)
    shares = some_shares()
    first, second = (doubly_robust(each, shares, None) for each in (one, other))
    of_both = Losses(*(a - b for a, b in zip(one[:5], other[:5], strict=True)))
    direct = doubly_robust(of_both, shares, None)
    difference = first.minus(second)
    assert difference.value == pytest.approx(direct.value, abs=1e-14)
    assert difference.variance == pytest.approx(direct.variance, rel=1e-12)


def test_what_rows_cannot_tell_of_two_models_cancels_only_where_it_agrees():
    """Another method is above one estimate and as far below the other: twice that, not nothing."""
    part, at_source, at_target = some_forecasts()
    shares = bridged_shares(at_source)
    robust = part.expected_target.mean() + shares @ (part.held_out - part.expected)
    value = calibrated(part, at_source, at_target, None).value - 0.1
    off = value - robust + np.array([0.05, -0.05])
    above, below = (
        calibrated(
            part._replace(expected_target=part.expected_target + each), at_source, at_target, None
        )
        for each in off
    )
    change = above.minus(below)
    rows = change.of_source + change.of_target + change.of_labels + change.of_choice
    assert change.variance - rows == pytest.approx(0.1**2, rel=1e-10)
    assert above.minus(above).variance == 0


def test_rounding_is_no_difference():
    """Equal models whose sums were taken in another order are equal, and neither helps."""
    one = doubly_robust(some_losses(), some_shares(), None)
    nearly = Influence(one.value * (1 + 1e-15), *[getattr(one, name) for name in FIELDS])
    change = nearly.minus(one)
    assert change.value == 0
    assert change.variance == 0


def test_a_perfect_loss_model_leaves_the_weights_nothing_to_do():
    part, shares = some_losses(), some_shares()
    perfect = part._replace(expected=part.held_out)
    found = doubly_robust(perfect, shares, None)
    final = part.of_final - part.of_folds.mean()
    assert found.value == pytest.approx(part.expected_target.mean() + final, rel=1e-12)
    assert found.of_source == pytest.approx(0, abs=1e-30)


def test_the_weighted_mean_is_the_plain_formula():
    part, shares = some_losses(), some_shares()
    found = weighted_mean(part.held_out, shares, plain=True)
    value = shares @ part.held_out
    assert found.value == pytest.approx(value)
    assert found.variance == pytest.approx(np.sum(shares**2 * (part.held_out - value) ** 2))


def test_root_follows_the_delta_method():
    part, shares = some_losses(), some_shares()
    mean = doubly_robust(part._replace(of_final=9.0), shares, None)
    root = mean.root()
    assert root.value == pytest.approx(np.sqrt(mean.value))
    assert root.variance == pytest.approx(mean.variance / (4 * mean.value), rel=1e-12)


def test_the_root_of_next_to_nothing_keeps_its_error():
    part, shares = some_losses(), some_shares()
    mean = doubly_robust(part, shares, None)
    nothing = mean.minus(mean)
    low = Influence(-1.0, *[getattr(mean, name) for name in FIELDS]).root()
    assert low.value == 0
    assert low.variance == pytest.approx(np.sqrt(mean.variance) / 4, rel=1e-12)
    assert nothing.root().variance == 0


def test_models_of_folds_that_agree_add_nothing():
    nothing = np.zeros(1)
    agree, differ = (
        Influence(0.0, nothing, nothing, nothing, nothing, np.array(folds)).of_choice
        for folds in ([0.3, 0.3, 0.3], [0.1, 0.3, 0.5])
    )
    assert agree == 0
    assert differ == pytest.approx(0.04)


def test_degrees_of_freedom_count_equal_rows():
    """With equal contributions of n rows alone the variance rests on n of them."""
    nothing = np.zeros(1)
    found = Influence(0.0, np.full(12, 0.3), nothing, nothing, nothing, nothing)
    assert found.degrees_of_freedom == pytest.approx(12)


def test_an_exact_estimate_has_no_interval():
    nothing = np.zeros(1)
    estimate = Influence(0.25, nothing, nothing, nothing, nothing, nothing).estimate(0.95)
    assert (estimate.low, estimate.value, estimate.high) == (0.25, 0.25, 0.25)


def gaussian(n=200, d=2, seed=0):
    return make_gaussian_shift(n, n, n_features=d, random_state=seed)


def all_features(features, X):
    return np.vstack([phi for _, phi in features.blocks(X)])


def test_smoothing_is_ridge_without_each_fold():
    data = gaussian()
    features = Features(data.X, data.X_target)
    phi, phi_target = (all_features(features, X) for X in (data.X, data.X_target))
    weights = np.exp(0.3 * data.X[:, 0])
    fold = np.arange(200) % 4
    found = smooth(features, data.X, data.X_target, data.y[:, None], weights, fold)
    errors = {}
    for penalty in PENALTIES:
        held, at_target = np.empty(200), []
        for k in range(4):
            rest = fold != k
            model = Ridge(penalty * weights.mean()).fit(
                phi[rest, 1:], data.y[rest], sample_weight=weights[rest]
            )
            held[~rest] = model.predict(phi[~rest, 1:])
            at_target.append(model.predict(phi_target[:, 1:]))
        errors[weights @ (held - data.y) ** 2] = held, np.mean(at_target, axis=0)
    held, at_target = errors[min(errors)]
    np.testing.assert_allclose(found.at_source[:, 0], held, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.at_target[:, 0], at_target, rtol=1e-7, atol=1e-9)


def test_features_come_out_the_same_in_blocks_of_any_size():
    from sklearn import config_context

    data = gaussian(500)
    features = Features(data.X, data.X_target)
    whole = all_features(features, data.X)
    again = Features(data.X, data.X_target)  # the first one remembers its blocks
    with config_context(working_memory=0.01):
        blocks = list(again.blocks(data.X))
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.vstack([phi for _, phi in blocks]), whole)


def test_features_of_large_tables_are_made_anew():
    data = gaussian(100)
    features = Features(data.X, data.X_target)
    features._room = 100 * features.width  # enough for one of the samples
    kept, anew = (
        [next(features.blocks(table))[1] for _ in range(2)] for table in (data.X, data.X_target)
    )
    assert kept[0] is kept[1]
    assert anew[0] is not anew[1]
    np.testing.assert_array_equal(*anew)


def test_wide_tables_are_projected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 700))
    features = Features(X, X + 0.1)
    assert features.width == 301
    assert np.isfinite(all_features(features, X)).all()


def labels_of(data, codes, n_classes):
    features = Features(data.X, data.X_target)
    weights, fold = np.ones(codes.size), np.arange(codes.size) % 5

    def smoothed(values):
        return smooth(features, data.X, data.X_target, values, weights, fold)

    return PlausibleLabels(smoothed, codes, n_classes, weights)


def test_squared_loss_expected_of_numbers_is_bias_and_variance():
    data = gaussian(2000, d=1)
    labels = labels_of(data, data.y, None)
    prediction = 0.5 * data.X[:, 0]
    expected = labels.expected_loss(SQUARED, labels.source, prediction)
    mean, scale = labels.source.T
    q = labels.residuals
    by_hand = (mean - prediction) ** 2 + scale**2 * np.mean(q**2)
    by_hand += 2 * (mean - prediction) * scale * q.mean()
    np.testing.assert_allclose(expected, by_hand, rtol=1e-10)
    # the rule is quadratic, the noise 0.5, and both are found
    truth = data.X[:, 0] + data.X[:, 0] ** 2 / 2
    assert np.mean((mean - truth) ** 2) < 0.01
    assert np.mean(scale) == pytest.approx(0.5, rel=0.05)


def test_labels_of_any_size_are_modelled():
    data = gaussian(300, d=1)
    plain, large = (labels_of(data, scale * data.y, None) for scale in (1.0, 1e150))
    np.testing.assert_allclose(large.source / 1e150, plain.source, rtol=1e-6, atol=1e-9)


def test_errors_expected_of_classes_are_the_chances_of_the_others():
    data = gaussian(500, d=2)
    codes = (data.y > 0.5).astype(int)
    labels = labels_of(data, codes, 2)
    votes = np.eye(2)[np.random.default_rng(0).integers(0, 2, 500)]
    expected = labels.expected_loss(ZERO_ONE, labels.source, votes)
    np.testing.assert_allclose(expected, 1 - np.sum(labels.source * votes, axis=1), rtol=1e-12)


def test_the_ratio_moves_as_a_logistic_regression_does_when_a_row_counts_more():
    """The influence of a row on a weighted mean, against fitting again with that row upweighted."""
    data = gaussian(300)
    features = Features(data.X, data.X_target)
    phi, phi_target = (all_features(features, X) for X in (data.X, data.X_target))
    rows, domain = np.vstack([phi, phi_target]), np.repeat([0, 1], 300)

    def fitted(weights):
        model = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000, fit_intercept=False)
        return rows @ model.fit(rows, domain, sample_weight=weights).coef_[0]

    log_ratio = fitted(np.ones(600))
    influence = RatioInfluence(features, data.X, data.X_target, log_ratio[:300], log_ratio[300:])
    losses = (data.y - data.X[:, 0]) ** 2

    def mean(log_ratio):
        weights = np.exp(log_ratio[:300])
        return weights @ losses / weights.sum()

    shares = np.exp(log_ratio[:300]) / np.exp(log_ratio[:300]).sum()
    at_source, at_target = influence.of(shares * (losses - shares @ losses))
    step = 1e-3
    for row, expected in ((3, at_source[3]), (77, at_source[77]), (310, at_target[10])):
        weights = np.ones(600)
        weights[row] += step
        change = (mean(fitted(weights)) - mean(log_ratio)) / step
        assert change == pytest.approx(expected, rel=0.02, abs=1e-6)
    counts = np.zeros((300, 1))
    counts[3] = step
    moved = influence.moved(counts, np.zeros((300, 1)))[:, 0]
    weights = np.ones(600)
    weights[3] += step
    np.testing.assert_allclose(moved, (fitted(weights) - log_ratio)[:300], rtol=0.02, atol=1e-8)


def test_features_need_not_be_made_to_be_multiplied():
    """Where only the numbers behind them are kept, products are those of the features."""
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 4)), rng.normal(0.5, 1, size=(400, 4))
    made, factored = Features(X, X_target), Features(X, X_target)
    factored._room = X.size + X_target.size  # of the numbers, not of the features
    coefficients, values = rng.normal(size=(made.width, 2)), rng.normal(size=(500, 3))
    phi = np.concatenate([block for _, block in made.blocks(X)])
    for features in (made, factored):
        np.testing.assert_allclose(features.times(X, coefficients), phi @ coefficients, atol=1e-12)
        np.testing.assert_allclose(features.moments(X, values), phi.T @ values, atol=1e-10)
        again = np.concatenate([block for _, block in features.blocks(X)])
        np.testing.assert_array_equal(again, phi)
    assert factored._room == X_target.size
    # rows that are asked for once are not kept
    once = np.concatenate([block for _, block in factored.blocks(X_target, keep=False)])
    assert factored._room == X_target.size
    np.testing.assert_array_equal(
        once, np.concatenate([block for _, block in made.blocks(X_target)])
    )
