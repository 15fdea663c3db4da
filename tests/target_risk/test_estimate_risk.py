"""Expected losses on the target are right on average, and their intervals cover."""

import json

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import make_scorer, mean_pinball_loss, mean_poisson_deviance
from sklearn.svm import LinearSVC

from clinic import clinic_model
from weighbridge import ImportanceWeighted
from weighbridge.datasets import make_clinic, make_gaussian_shift
from weighbridge.ratios import KnownRatio
from weighbridge.target_risk import compare_risks, estimate_risk


def line(intercept=0.5, slope=1.0):
    """A frozen model, which is fitted to no data."""
    x = np.array([[0.0], [1.0], [2.0]])
    return FrozenEstimator(LinearRegression().fit(x, intercept + slope * x[:, 0]))


def classes(n=600, seed=0, d=2):
    data = make_gaussian_shift(n, n, n_features=d, random_state=seed)
    data.y, data.y_target = (np.where(y > 0.5, "high", "low") for y in (data.y, data.y_target))
    return data


def covers(risk, actual):
    return risk.interval[0] <= actual <= risk.interval[1]


def coverage(n, *, estimator=None, ratio="known"):
    """How often the interval of the mean squared error on N(1, 1) covers, from 500 of N(0, 1)."""
    many = make_gaussian_shift(10, 200_000, random_state=99_999)
    covered = []
    for seed in range(n):
        data = make_gaussian_shift(500, 500, random_state=seed)
        model = line() if estimator is None else estimator
        risk = estimate_risk(
            model,
            data.X,
            data.y,
            data.X_target,
            ratio=data.ratio if ratio == "known" else None,
            scoring="neg_mean_squared_error",
            random_state=seed,
        )
        fitted = model if estimator is None else estimator.fit(data.X, data.y)
        covered.append(covers(risk, np.mean((many.y_target - fitted.predict(many.X_target)) ** 2)))
    return np.mean(covered)


@pytest.mark.more
def test_intervals_cover():
    """At nominal 95 %: more than 88 % of 100, three standard errors below."""
    assert coverage(100) > 0.88


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, LinearRegression()], ids=["fixed", "cross-fitted"])
@pytest.mark.parametrize("ratio", ["known", "estimated"])
def test_intervals_cover_in_many_repetitions(estimator, ratio):
    """95 % less four standard errors of 300 repetitions."""
    assert coverage(300, estimator=estimator, ratio=ratio) > 0.90


def test_error_of_the_clinic_is_covered():
    data = make_clinic(1200, 800, random_state=0)
    risk = estimate_risk(clinic_model(), data.X, data.y, data.X_target, random_state=0)
    model = clinic_model().fit(data.X, data.y)
    assert covers(risk, 1 - model.score(data.X_target, data.y_target))
    assert risk.measure == "error"
    assert risk.training.high < risk.value
    assert "expected error on the target" in str(risk)


def test_without_shift_the_expected_loss_is_the_training_loss():
    data = make_gaussian_shift(1000, 1000, shift=0.0, random_state=0)
    risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    assert risk.measure == "RMSE"
    assert risk.training.low < risk.value < risk.training.high


def test_change_equals_difference_of_errors():
    data = make_clinic(1200, 800, random_state=1)
    samples = data.X, data.y, data.X_target
    weighted = ImportanceWeighted(clinic_model())
    both = compare_risks(clinic_model(), weighted, *samples, random_state=0)
    assert both.other.value - both.baseline.value == pytest.approx(both.change.value, abs=1e-12)
    assert both.change.high < 0  # in truth by 13 points
    assert "change: " in str(both)
    json.dumps(both.to_dict(), allow_nan=False)


def test_paired_change_is_more_precise_than_either_loss():
    data = make_gaussian_shift(500, 500, random_state=0)
    samples = data.X, data.y + np.sin(5 * data.X[:, 0]), data.X_target
    models = LinearRegression(), LinearRegression(positive=True)
    both = compare_risks(*models, *samples, ratio=data.ratio, random_state=0)
    assert both.change.standard_error < both.baseline.estimate.standard_error


@pytest.mark.parametrize(
    ("scoring", "measure"),
    [("accuracy", "error"), ("neg_log_loss", "log loss"), ("neg_brier_score", "Brier score")],
)
def test_losses_of_classifiers_are_covered(scoring, measure):
    data, model = classes(), LogisticRegression()
    samples = data.X, data.y, data.X_target
    risk = estimate_risk(model, *samples, ratio=data.ratio, scoring=scoring, random_state=0)
    assert risk.measure == measure
    probabilities = model.fit(data.X, data.y).predict_proba(data.X_target)
    truth = (data.y_target == "low").astype(int)
    actual = {
        "error": np.mean(probabilities.argmax(axis=1) != truth),
        "log loss": -np.mean(np.log(probabilities[np.arange(600), truth])),
        "Brier score": np.mean((probabilities[:, 1] - truth) ** 2),
    }
    assert covers(risk, actual[measure])


def test_custom_loss_is_covered():
    data = make_gaussian_shift(1000, 1000, random_state=0)

    def pinball(y, prediction):
        return np.maximum(0.9 * (y - prediction), -0.1 * (y - prediction))

    model, samples = LinearRegression(), (data.X, data.y, data.X_target)
    risk = estimate_risk(model, *samples, ratio=data.ratio, loss=pinball, random_state=0)
    predicted = model.fit(data.X, data.y).predict(data.X_target)
    assert risk.measure == "pinball"
    negative = estimate_risk(model, *samples, ratio=data.ratio, loss=lambda y, p: (y - p) ** 2 - 10)
    assert negative.measure == "loss"
    assert negative.interval[0] < negative.value < negative.interval[1] < 0
    assert covers(risk, mean_pinball_loss(data.y_target, predicted, alpha=0.9))


def test_poisson_deviance_of_counts_is_covered():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 2)), rng.normal(0.5, 1, size=(500, 2))
    y, y_target = (rng.poisson(np.exp(0.5 * Z[:, 0])) for Z in (X, X_target))
    model = PoissonRegressor(alpha=1e-3)
    risk = estimate_risk(model, X, y, X_target, scoring="neg_mean_poisson_deviance", random_state=0)
    actual = mean_poisson_deviance(y_target, model.fit(X, y).predict(X_target))
    assert risk.measure == "Poisson deviance"
    assert covers(risk, actual)


def test_classifiers_without_probabilities_are_covered():
    data = classes()
    samples = data.X, data.y, data.X_target
    risk = estimate_risk(LinearSVC(), *samples, ratio=data.ratio, random_state=0)
    assert covers(risk, 1 - LinearSVC().fit(data.X, data.y).score(data.X_target, data.y_target))


def test_separate_samples_have_no_estimate():
    data = make_gaussian_shift(300, 300, shift=10.0, random_state=0)
    samples, options = (data.X, data.y, data.X_target), {"ratio": data.ratio, "random_state": 0}
    risk = estimate_risk(LinearRegression(), *samples, **options)
    assert risk.state == "withheld"
    assert risk.estimate is None
    assert np.isnan([risk.value, *risk.interval]).all()
    assert [finding.code for finding in risk.findings] == ["WB601"]
    assert "withheld" in str(risk)
    json.dumps(risk.to_dict(), allow_nan=False)
    both = compare_risks(LinearRegression(), DummyRegressor(), *samples, **options)
    assert both.change is None
    assert "change: withheld" in str(both)


def test_a_few_rows_of_large_loss_are_flagged():
    """Squared errors of noise with heavy tails have no variance."""
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(600, 1)), rng.normal(size=(600, 1))
    y, ratio = X[:, 0] + rng.standard_t(2, size=600), KnownRatio(lambda X: np.zeros(len(X)))
    risk = estimate_risk(LinearRegression(), X, y, X_target, ratio=ratio, random_state=0)
    assert risk.state == "flagged"
    assert "tail index" in risk.findings[0].message


def test_a_handful_of_rows_is_flagged():
    data = make_gaussian_shift(40, 40, shift=0.3, random_state=0)
    risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, ratio=data.ratio)
    assert risk.state == "flagged"
    assert "only 40 rows" in risk.findings[0].message


@pytest.mark.parametrize(("share", "state"), [(0.02, "good"), (0.08, "flagged")])
def test_rows_outside_the_support_are_flagged_if_they_are_many(share, state):
    """The limit is 5 % of the target rows."""
    rng = np.random.default_rng(0)
    X, X_target = rng.uniform(-1, 1, size=(800, 1)), rng.uniform(-1, 1, size=(800, 1))
    X_target[: round(800 * share)] = rng.uniform(4, 5, size=(round(800 * share), 1))
    y = X[:, 0] + rng.normal(0, 0.1, size=800)
    ratio = KnownRatio(lambda X: np.zeros(len(X)))
    risk = estimate_risk(LinearRegression(), X, y, X_target, ratio=ratio, random_state=0)
    assert risk.state == state
    messages = " ".join(finding.message for finding in risk.findings)
    assert ("more than 5 % of the deployment rows lie outside" in messages) == (share > 0.05)


def test_sample_weights_are_for_fitting():
    """They change the model, not the average over rows; 0 leaves a row out."""
    data = make_gaussian_shift(200, 200, random_state=0)
    counts = np.random.default_rng(0).integers(1, 4, 200)
    samples, options = (data.X, data.y, data.X_target), {"ratio": data.ratio, "random_state": 0}
    plain = estimate_risk(line(), *samples, **options)
    weighted = estimate_risk(line(), *samples, sample_weight=counts, **options)
    # The model of the labels sees ratios with a mean of 1 under other weights.
    assert weighted.value == pytest.approx(plain.value, rel=1e-4)
    assert weighted.training == plain.training
    fitted, changed = (
        estimate_risk(LinearRegression(), *samples, sample_weight=weights, **options)
        for weights in (None, np.exp(data.X[:, 0]))
    )
    assert fitted.value != changed.value
    counts[:50] = 0
    assert estimate_risk(line(), *samples, sample_weight=counts, **options).n_rows == 150


@pytest.mark.more
def test_parallel_folds_give_the_same_numbers():
    data = classes(300)
    samples, options = (data.X, data.y, data.X_target), {"ratio": data.ratio, "random_state": 0}
    one, two = (estimate_risk(LogisticRegression(), *samples, n_jobs=n, **options) for n in (1, 2))
    assert one == two


def test_a_frozen_model_that_was_fitted_to_the_rows_is_rejected():
    data = make_gaussian_shift(200, 200, random_state=0)
    model = ImportanceWeighted(LinearRegression(), data.ratio).fit(data.X, data.y)
    with pytest.raises(ValueError, match="fitted"):
        estimate_risk(FrozenEstimator(model), data.X, data.y, data.X_target)
    fresh = make_gaussian_shift(200, 10, random_state=1)
    risk = estimate_risk(FrozenEstimator(model), fresh.X, fresh.y, data.X_target, ratio=data.ratio)
    assert risk.value > 0


def test_a_frozen_model_may_know_more_classes_than_the_rows_have():
    data = classes(300)
    three = np.r_[data.y[:150], np.repeat("none", 20)]
    X = np.vstack([data.X[:150], np.random.default_rng(0).normal(8, 1, size=(20, 2))])
    model = FrozenEstimator(LogisticRegression().fit(X, three))
    samples = data.X[150:], data.y[150:], data.X_target
    for scoring in ("accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro"):
        risk = estimate_risk(model, *samples, scoring=scoring, ratio=data.ratio, random_state=0)
        assert 0 < risk.value < 1


def test_the_ratio_of_the_estimator_is_used():
    data = make_gaussian_shift(300, 300, random_state=0)
    samples, model = (data.X, data.y, data.X_target), ImportanceWeighted(LinearRegression())
    known = model.set_params(ratio=data.ratio)
    one = estimate_risk(known, *samples, random_state=0)
    assert one == estimate_risk(known, *samples, ratio=data.ratio, random_state=0)
    away = ImportanceWeighted(LinearRegression(), KnownRatio(lambda X: -X[:, 0]))
    both = compare_risks(known, away, *samples, ratio=data.ratio, random_state=0)
    assert both.change.value > 0.1


def assert_rejected(match, error=ValueError, **options):
    data = make_gaussian_shift(100, 100, random_state=0)
    arguments = {"estimator": LinearRegression(), "X": data.X, "y": data.y, **options}
    arguments.setdefault("X_target", data.X_target)
    arguments.setdefault("ratio", data.ratio)
    with pytest.raises(error, match=match):
        estimate_risk(**arguments)


def test_bad_arguments_are_rejected():
    assert_rejected("between 0 and 1", confidence=95)
    assert_rejected("for a regressor", scoring="accuracy")
    assert_rejected("a loss as well", scoring="r2", loss=lambda y, p: y)
    assert_rejected("function loss", TypeError, loss="mse")
    assert_rejected("one finite number for each row", loss=lambda y, p: 1.0)
    assert_rejected("7 rows in X_target", X_target=np.zeros((7, 1)))
    assert_rejected("missing values in 1 of 100 rows", y=np.r_[np.nan, np.zeros(99)])
    assert_rejected("NaN or infinite values", y=np.r_[np.inf, np.zeros(99)])
    assert_rejected("The order is estimator", y=np.zeros((100, 2)))
    assert_rejected("beyond 1e[+]70", y=1e60 * np.arange(100.0))
    scorer = make_scorer(lambda y, p: 0.0)
    assert_rejected("takes no sample_weight", TypeError, scoring=scorer)
    for cv in (None, "5", 1, 2.5, True, 1000):
        assert_rejected("whole number of folds", cv=cv)


def test_bad_models_are_rejected():
    data = classes(100)
    samples = data.X, data.y, data.X_target
    with pytest.raises(TypeError, match="expected a scikit-learn estimator"):
        estimate_risk(LogisticRegression, *samples)
    with pytest.raises(ValueError, match="no predict_proba"):
        estimate_risk(LinearSVC(), *samples, scoring="neg_log_loss")
    with pytest.raises(ValueError, match="only models of one kind"):
        compare_risks(LinearRegression(), LinearSVC(), *samples)
    data.y[:] = "low"
    data.y[:3] = "high"
    with pytest.raises(ValueError, match="3 rows of class"):
        estimate_risk(DummyClassifier(), *samples)
    data = make_gaussian_shift(100, 100, random_state=0)
    samples = data.X, data.y, data.X_target
    with pytest.raises(ValueError, match="row by row"):
        compare_risks(LinearRegression(), DummyRegressor(), *samples, scoring="r2")


def test_columns_are_matched_by_name():
    data = make_clinic(150, 100, random_state=0)
    other = data.X_target[list(data.X.columns[::-1])]
    one, two = (
        estimate_risk(clinic_model(), data.X, data.y, target, random_state=0)
        for target in (data.X_target, other)
    )
    assert one == two


def test_lists_and_sparse_matrices_are_accepted():
    data = make_gaussian_shift(100, 100, n_features=2, random_state=0)
    samples = data.X, data.y, data.X_target
    plain = estimate_risk(LinearRegression(), *samples, random_state=0)
    lists = (sample.tolist() for sample in samples)
    assert estimate_risk(LinearRegression(), *lists, random_state=0) == plain
    X, X_target = coo_matrix(data.X), coo_matrix(data.X_target)
    sparse = estimate_risk(LinearRegression(), X, data.y, X_target, random_state=0)
    assert sparse.value == pytest.approx(plain.value, rel=0.1)


def test_tiny_noise_has_an_interval():
    """An RMSE of a thousandth is neither 0 nor certain."""
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, X_target = rng.normal(size=(400, 2)), rng.normal([1, 0], 1, size=(400, 2))
        y, y_target = (Z.sum(axis=1) + 1e-3 * rng.normal(size=400) for Z in (X, X_target))
        ratio = KnownRatio(lambda X: X[:, 0] - 0.5)
        risk = estimate_risk(LinearRegression(), X, y, X_target, ratio=ratio, random_state=seed)
        residuals = y_target - LinearRegression().fit(X, y).predict(X_target)
        covered.append(covers(risk, np.sqrt(np.mean(residuals**2))))
        assert risk.interval[1] > 0
        assert risk.interval[0] <= risk.value <= risk.interval[1]
    assert np.mean(covered) >= 0.75  # 95 % less four standard errors of 20


def test_the_first_row_may_have_a_ratio_of_zero():
    """The ratio is known up to a constant, which rows of ratio 0 do not show."""
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 1)), rng.normal(0.5, 1, size=(300, 1))
    X_target[0] = -5.0
    y, order = X[:, 0] + rng.normal(size=300), np.argsort(X[:, 0])
    ratio = KnownRatio(lambda Z: np.where(Z[:, 0] < -1, -np.inf, 3 + Z[:, 0] / 2))
    first, last = (
        estimate_risk(
            LinearRegression(), X[rows], y[rows], X_target, ratio=ratio, random_state=0
        ).estimate
        for rows in (order, order[::-1])
    )
    assert first.standard_error == pytest.approx(last.standard_error, rel=0.5)
    assert first.value == pytest.approx(last.value, rel=0.1)
