"""Positive and unlabelled rows: the risk, its minimum, the prior, the choice, the errors."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_checks import GentleLogRatio
from weighbridge import Geodesic, fit_ratio
from weighbridge.model_selection import GridSearch
from weighbridge.positive_unlabeled import PositiveUnlabeled
from weighbridge.ratios import KnownRatio
from weighbridge.weighting import ERM, IWERM, RIWERM

MOVE = np.array([0.8, 0.0])


def chance(X):
    """P(y = 1 | x), bent: a line fits it in some places only."""
    return 1 / (1 + np.exp(-3 * (X[:, 1] - X[:, 0] ** 2 + 1)))


def log_ratio(X):
    return X @ MOVE - MOVE @ MOVE / 2


def draw(rng, n_positive=300, n=1000, n_target=1000):
    """Positive and unlabelled rows stacked, marks, target rows and their labels."""
    pool = rng.standard_normal((6 * n_positive + 100, 2))
    positive = pool[rng.uniform(size=len(pool)) < chance(pool)][:n_positive]
    target = rng.standard_normal((n_target, 2)) + MOVE
    X = np.vstack([positive, rng.standard_normal((n, 2))])
    y = np.repeat([1, 0], [len(positive), n])
    return X, y, target, (rng.uniform(size=n_target) < chance(target)).astype(int)


PRIOR = float(chance(np.random.default_rng(99).standard_normal((2_000_000, 2))).mean())
X, Y, X_TARGET, TRUTH = draw(np.random.default_rng(0))
KNOWN = KnownRatio(log_ratio)


def parts(model, X=X, Y=Y):
    """Return features with a constant, and what each row counts in the risk, by the book."""
    front = model.estimator_[:-1]
    Z = np.column_stack([front.transform(X) if len(front) else X, np.ones(len(X))])
    mass = model.weights_ / np.where(Y == 1, (Y == 1).sum() / model.prior_, (Y == 0).sum())
    return Z, mass


def test_the_risk_is_unbiased():
    """The mean over draws of the weighted risk is the error rate on the target, to 3 se."""
    rng = np.random.default_rng(1)
    model = PositiveUnlabeled(ratio=KNOWN, prior=PRIOR).fit(X, Y)
    many = rng.standard_normal((1_000_000, 2)) + MOVE
    p = chance(many)
    truth = np.where(model.predict(many) == 1, 1 - p, p).mean()
    found = []
    for _ in range(400):
        A, a, _, _ = draw(rng, 200, 600, 1)
        r = np.exp(log_ratio(A))
        said = model.predict(A) == 1
        free, known = a == 0, a == 1
        # by the book, the ratio as it is
        by_hand = (r * said)[free].mean() + PRIOR * (r * np.where(said, -1, 1))[known].mean()
        found.append((by_hand, model.risk(A, a).value))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / 20
    np.testing.assert_array_less(np.abs(mean - truth), 3 * error)


def test_the_standard_error_of_the_risk_is_right():
    rng = np.random.default_rng(2)
    model = PositiveUnlabeled(prior=PRIOR).fit(X, Y)
    found = [model.risk(*draw(rng, 200, 600, 1)[:2]) for _ in range(200)]
    spread = np.std([each.value for each in found])
    assert np.mean([each.standard_error for each in found]) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("features", ["linear", "fourier"])
@pytest.mark.parametrize("weighting", [ERM(), RIWERM(0.5), IWERM()])
def test_squared_loss_is_the_minimum_of_the_quadratic(features, weighting):
    """Without the bound, -4 E_P[w g] + E_U[w (g + 1)^2] plus penalty has no slope."""
    model = PositiveUnlabeled(
        ratio=KNOWN, prior=PRIOR, weighting=weighting, features=features, non_negative=False
    ).fit(X, Y)
    Z, mass = parts(model)
    b = np.append(model.estimator_[-1].coef_[0], model.estimator_[-1].intercept_)
    slope = -4 * mass[Y == 1] @ Z[Y == 1] + 2 * (mass * (Z @ b + 1))[Y == 0] @ Z[Y == 0]
    np.testing.assert_allclose(slope + 2 * 0.01 * np.append(b[:-1], 0), 0, atol=1e-9)


def bounded_risk(g, mass, loss):
    """R_P + max(0, R_U - R_P as negatives)."""
    negative = (mass * loss(-g))[Y == 0].sum() - (mass * loss(-g))[Y == 1].sum()
    return (mass * loss(g))[Y == 1].sum() + max(negative, 0.0), negative


def squared(z):
    return (1 - z) ** 2


def logistic(z):
    return np.logaddexp(0, -z)


@pytest.mark.parametrize(
    ("learner", "prior"),
    [(None, 0.8), (LogisticRegression(C=10, tol=1e-10, max_iter=2000), 0.62)],
    ids=["squared", "logistic"],
)
def test_the_bound_agrees_with_a_general_solver(learner, prior):
    """Where the risk of the negatives would fall below 0, it is 0, and no better model exists."""
    front = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    whole = learner and make_pipeline(*(step for _, step in front.steps), learner)
    model = PositiveUnlabeled(whole, features=front, prior=prior, ridge=1e-3).fit(X, Y)
    free = clone(model).set_params(non_negative=False).fit(X, Y)
    loss = logistic if learner else squared
    Z, mass = parts(model)
    last = model.estimator_[-1]
    b = np.append(last.coef_[0], last.intercept_)
    penalty = 1 / (2 * learner.C * len(X)) if learner else 1e-3
    assert bounded_risk(free.decision_function(X), mass, loss)[1] < -0.005
    assert bounded_risk(Z @ b, mass, loss)[1] == pytest.approx(0, abs=1e-5)

    def objective(b):
        return bounded_risk(Z @ b, mass, loss)[0] + penalty * b[:-1] @ b[:-1]

    def below(v):  # the epigraph: s is at least both convex parts
        g = Z @ v[:-1]
        positive = (mass * loss(g))[Y == 1].sum() + penalty * v[:-2] @ v[:-2]
        return np.array([v[-1] - positive, v[-1] - positive - bounded_risk(g, mass, loss)[1]])

    start = np.append(b + 0.1, objective(b + 0.1))
    options = {"maxiter": 500, "ftol": 1e-12}
    found = minimize(
        lambda v: v[-1],
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": below},
        options=options,
    )
    assert objective(b) == pytest.approx(found.fun, rel=1e-4)
    rng = np.random.default_rng(3)
    assert all(objective(b + rng.normal(0, 0.03, b.size)) > objective(b) for _ in range(200))


def test_logistic_regression_minimises_the_risk():
    """With log loss l(z) - l(-z) = -z; the slope of the weighted risk is 0."""
    learner = LogisticRegression(C=5, tol=1e-10, max_iter=1000)
    model = PositiveUnlabeled(learner, KNOWN, prior=PRIOR, non_negative=False).fit(X, Y)
    Z, mass = np.column_stack([X, np.ones(len(X))]), parts(model)[1]
    b = np.append(model.estimator_[-1].coef_[0], model.estimator_[-1].intercept_)
    p = 1 / (1 + np.exp(-Z @ b))
    slope = -mass[Y == 1] @ Z[Y == 1] + (mass * p)[Y == 0] @ Z[Y == 0]
    np.testing.assert_allclose(slope + np.append(b[:-1], 0) / 5 / len(X), 0, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p)
    assert not hasattr(PositiveUnlabeled(prior=0.5).fit(X, Y), "predict_proba")


def test_scores_of_squared_loss_are_chances():
    """With features that can, the score is 2 P(y = 1 | x) - 1."""
    rng = np.random.default_rng(4)
    X, y, _, _ = draw(rng, 8000, 20_000)
    model = PositiveUnlabeled(prior=PRIOR, features="fourier", ridge=1e-5).fit(X, y)
    near = np.linalg.norm(X, axis=1) < 1.5
    off = model.decision_function(X[near]) - (2 * chance(X[near]) - 1)
    assert np.sqrt(np.mean(off**2)) < 0.2


def test_weights_help_a_line_under_shift():
    weighted = PositiveUnlabeled(prior=PRIOR).fit(X, Y, X_target=X_TARGET)
    plain = PositiveUnlabeled(prior=PRIOR).fit(X, Y)
    assert weighted.score(X_TARGET, TRUTH) > plain.score(X_TARGET, TRUTH) + 0.03
    assert plain.ratio_ is None
    np.testing.assert_array_equal(plain.weights_, 1)
    assert plain.ess_ == pytest.approx(1000)
    assert plain.target_prior_ == pytest.approx(PRIOR)


def test_the_prior_of_the_target_is_that_of_its_labels():
    rng = np.random.default_rng(5)
    X, y, _, _ = draw(rng, 20_000, 40_000, 1)
    model = PositiveUnlabeled(ratio=KNOWN, prior=PRIOR).fit(X, y)
    many = rng.standard_normal((400_000, 2)) + MOVE
    assert model.target_prior_ == pytest.approx(chance(many).mean(), abs=0.015)


def test_lam_0_is_no_weights_and_the_ratio_is_free_of_scale():
    plain = PositiveUnlabeled(prior=PRIOR).fit(X, Y)
    none = PositiveUnlabeled(ratio=KNOWN, weighting=ERM(), prior=PRIOR).fit(X, Y)
    np.testing.assert_allclose(none.decision_function(X), plain.decision_function(X))
    scaled = KnownRatio(lambda X: log_ratio(X) + 7)
    ours, other = (PositiveUnlabeled(ratio=r, prior=PRIOR).fit(X, Y) for r in (KNOWN, scaled))
    np.testing.assert_allclose(ours.weights_, other.weights_)
    assert np.average(ours.weights_[Y == 0]) == pytest.approx(1)


def test_a_ratio_that_is_fitted_before_is_the_same():
    inside = PositiveUnlabeled(prior=PRIOR).fit(X, Y, X_target=X_TARGET)
    ratio = FrozenEstimator(fit_ratio(X[Y == 0], X_TARGET))
    before = PositiveUnlabeled(ratio=ratio, prior=PRIOR).fit(X, Y)
    np.testing.assert_allclose(before.weights_, inside.weights_)


def test_other_labels_and_frames():
    pd = pytest.importorskip("pandas")
    plain = PositiveUnlabeled(prior=PRIOR, features="fourier").fit(X, Y, X_target=X_TARGET)
    frame = pd.DataFrame(X, columns=["a", "b"])
    target = pd.DataFrame(X_TARGET, columns=["a", "b"])
    named = clone(plain).fit(frame, np.array(["no mark", "positive"])[Y], X_target=target)
    assert list(named.feature_names_in_) == ["a", "b"]
    assert set(named.predict(frame)) == {"no mark", "positive"}
    np.testing.assert_allclose(named.decision_function(frame), plain.decision_function(X))


# Scores that some positives have, and no negative: the share that does.
@pytest.mark.parametrize(("prior", "seed"), [(0.3, 0), (0.5, 1), (0.7, 2)])
def test_the_prior_is_found_where_some_positives_look_like_no_negative(prior, seed):
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=4000) < prior
    U = rng.normal(np.where(y, 3.0, 0.0)[:, None] * [1, 0], 1)
    A = rng.normal(np.array([3.0, 0.0]), 1, (1000, 2))
    model = PositiveUnlabeled().fit(np.vstack([A, U]), np.repeat([1, 0], [1000, 4000]))
    low, high = model.prior_interval_
    assert low < prior < high < low + 0.2
    assert low <= model.prior_ <= high
    assert PositiveUnlabeled(prior=prior).fit(X, Y).prior_interval_ is None


@pytest.mark.slow
def test_the_interval_of_the_prior_holds():
    """95 % intervals hold in at least 95 % less 3 se of 200 draws."""
    rng, held, off = np.random.default_rng(7), [], []
    for _ in range(200):
        prior = rng.uniform(0.2, 0.8)
        U = rng.normal(3.0 * (rng.uniform(size=2000) < prior), 1)[:, None]
        rows = np.vstack([rng.normal(3, 1, (500, 1)), U])
        model = PositiveUnlabeled().fit(rows, np.repeat([1, 0], [500, 2000]))
        low, high = model.prior_interval_
        held.append(low <= prior <= high)
        off.append(model.prior_ - prior)
    assert np.mean(held) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
    assert abs(np.mean(off)) < 0.03


def test_weights_of_rows_count_in_the_prior():
    """Unlabelled negatives of weight 0 are not there."""
    rng = np.random.default_rng(8)
    y = np.repeat([True, False], [1500, 1500])
    U = rng.normal(4.0 * y, 1)[:, None]
    rows, marks = np.vstack([rng.normal(4, 1, (800, 1)), U]), np.repeat([1, 0], [800, 3000])
    kept = np.append(np.ones(800 + 1500), np.where(np.arange(1500) < 500, 1.5, 0.0))
    model = PositiveUnlabeled().fit(rows, marks, kept)
    assert model.prior_interval_[0] < 1500 / 2250 < model.prior_interval_[1]


@pytest.mark.parametrize("learner", [None, LogisticRegression(tol=1e-10, max_iter=1000)])
def test_weights_are_copies_and_0_leaves_out(learner):
    rng = np.random.default_rng(9)
    times = rng.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), times)
    model = PositiveUnlabeled(learner, KNOWN, prior=PRIOR).fit(X, Y, times)
    other = clone(model).fit(X[copies], Y[copies])
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), atol=1e-5 if learner else 1e-9
    )


def test_a_search_weights_only_where_weights_gain():
    search = GridSearch([0, 0.5, 1], [3.0])
    model = PositiveUnlabeled(prior=PRIOR, weighting=search).fit(X, Y, X_target=X_TARGET)
    assert model.weighting_.lam > 0
    assert len(model.search_result_.evaluations) == 5
    rng = np.random.default_rng(10)
    none = clone(model).set_params(features="fourier", ridge=1e-3)
    none.fit(X, Y, X_target=rng.standard_normal((1000, 2)))
    assert none.weighting_ == Geodesic(lam=0.0) or none.weighting_.lam == 0


def test_what_a_search_minimises_is_the_risk_of_held_out_rows():
    """The value of no weights is the risk of five models, each at the rows it has not seen."""
    search = GridSearch([0.0], [3.0])
    model = PositiveUnlabeled(ratio=KNOWN, prior=PRIOR, weighting=search).fit(X, Y)
    result = model.search_result_
    none = result.evaluations[result.index_of((0.0, 1.0))]
    mass = np.exp(model.log_ratio_) / np.where(Y == 1, 300 / PRIOR, 1000)
    value = mass @ none.losses
    assert result.values[0] == pytest.approx(value / mass.sum())
    rng = np.random.default_rng(11)
    wide = clone(model).set_params(weighting=ERM()).fit(X, Y)
    found = [wide.risk(*draw(rng, 300, 1000, 1)[:2]).value for _ in range(20)]
    assert value == pytest.approx(np.mean(found), abs=4 * np.std(found))


def test_a_weighting_that_cannot_be_fitted_fails_alone():
    """At lam = 1 the positives outweigh all rows; the search goes on without it."""
    ratio = KnownRatio(lambda X: 3 * X[:, 1] - 4.5)
    model = PositiveUnlabeled(ratio=ratio, prior=0.9, weighting=GridSearch([0, 0.2, 1], [3.0]))
    model.fit(X, Y)
    assert any("share between 0 and 1" in message for _, message in model.search_result_.failures)
    assert model.weighting_.lam < 1


def test_scikit_learn_chooses_parameters_by_the_risk():
    kernel = make_pipeline(StandardScaler(), Nystroem(n_components=30, random_state=0))
    model = PositiveUnlabeled(ratio=KNOWN, prior=PRIOR, features=kernel)
    grid = {"ridge": [1e-3, 1e3], "features__nystroem__gamma": [0.5]}
    found = GridSearchCV(model, grid, scoring=lambda m, X, y: -m.risk(X, y).value).fit(X, Y)
    assert found.best_params_["ridge"] == 1e-3


STEEP = KnownRatio(lambda X: 4 * X[:, 1] - 8)
ERRORS = [
    ({"prior": 1.0}, {}, ValueError, "prior=1.0.*between 0 and 1"),
    ({"prior": "half"}, {}, ValueError, "prior='half'"),
    ({"ridge": 0}, {}, ValueError, "ridge=0"),
    ({"features": "cubic"}, {}, ValueError, "features='cubic'"),
    ({"weighting": "auto"}, {}, TypeError, "weighting='auto'"),
    ({"estimator": RandomForestClassifier()}, {}, TypeError, "RandomForest.*below 0"),
    ({"estimator": HistGradientBoostingClassifier()}, {}, TypeError, "HistGradient.*below 0"),
    ({"estimator": make_pipeline(SVC())}, {}, TypeError, "SVC.*LogisticRegression"),
    ({"estimator": RidgeClassifier()}, {}, TypeError, "RidgeClassifier"),
    ({"estimator": LogisticRegression(solver="saga")}, {}, TypeError, "saga.*lbfgs"),
    ({"estimator": LogisticRegression(class_weight="balanced")}, {}, TypeError, "class_weight"),
    ({}, {"y": np.ones(len(Y))}, ValueError, "1 class.*1 \\(positive\\) and 0 \\(unlabelled\\)"),
    ({}, {"y": np.zeros(len(Y))}, ValueError, "1 class"),
    ({}, {"y": Y[:-1]}, ValueError, "1300, 1299"),
    ({}, {"y": np.arange(len(Y)) % 3}, ValueError, "multiclass.*3 class"),
    ({}, {"y": np.where(Y == 1, 1.0, np.nan)}, ValueError, "missing values in 1000"),
    ({}, {"sample_weight": Y}, ValueError, "both in rows with positive weight"),
    ({}, {"X_target": X_TARGET[:, :1]}, ValueError, "1 .*column|columns"),
    ({"ratio": STEEP, "prior": 0.9, "weighting": IWERM()}, {}, ValueError, "not a share between 0"),
    ({"ratio": KnownRatio(lambda X: np.where(Y, -np.inf, 0.0))}, {}, ValueError, "are 0 of all"),
    ({}, {"X": np.where(X > 1, np.nan, X)}, ValueError, "NaN"),
]


@pytest.mark.parametrize(("given", "passed", "kind", "words"), ERRORS)
def test_errors_say_what_was_got_and_what_to_do(given, passed, kind, words):
    model = PositiveUnlabeled(**{"prior": PRIOR, **given})
    rows = {"X": X, "y": Y, **passed}
    with pytest.raises(kind, match=words):
        model.fit(**rows)
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize(("far", "words"), [(9.0, "no unlabelled row looks positive")])
def test_no_prior_without_positives(far, words):
    rng = np.random.default_rng(12)
    rows = np.vstack([rng.normal(far, 1, (200, 2)), rng.normal(0, 1, (800, 2))])
    with pytest.raises(ValueError, match=words):
        PositiveUnlabeled().fit(rows, np.repeat([1, 0], [200, 800]))


def test_a_handful_of_rows_decides_is_said():
    ratio = KnownRatio(lambda X: 6 * X[:, 0])
    model = PositiveUnlabeled(ratio=ratio, prior=0.05, weighting=IWERM())
    with pytest.warns(UserWarning, match="WB303"):
        model.fit(X, Y)


@parametrize_with_checks(
    [
        PositiveUnlabeled(prior=0.5),
        PositiveUnlabeled(ratio=KnownRatio(GentleLogRatio()), prior=0.3, features="fourier"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.more
@parametrize_with_checks([PositiveUnlabeled(LogisticRegression(tol=1e-12), prior=0.5)])
def test_scikit_learn_checks_of_logistic_regression(estimator, check):
    check(estimator)


def test_a_pipeline_may_read_text():
    """The steps of an estimator see the table as it is, and so does the ratio."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(13)
    place, target = (
        rng.choice(["north", "south"], n, p=p) for n, p in ((2000, [0.5, 0.5]), (900, [0.9, 0.1]))
    )
    truth = rng.uniform(size=2000) < np.where(place == "north", 0.9, 0.2)
    table = pd.DataFrame({"place": place, "noise": rng.normal(size=2000)})
    rows = pd.concat([table[:1000][truth[:1000]], table[1000:]])
    y = np.repeat([1, 0], [truth[:1000].sum(), 1000])
    columns = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    model = PositiveUnlabeled(make_pipeline(columns, LogisticRegression()), prior=truth.mean())
    model.fit(rows, y, X_target=pd.DataFrame({"place": target, "noise": rng.normal(size=900)}))
    north = model.predict_proba(pd.DataFrame({"place": ["north", "south"], "noise": [0.0, 0.0]}))
    np.testing.assert_allclose(north[:, 1], [0.9, 0.2], atol=0.12)
    assert model.weights_[rows["place"] == "north"].min() > 1
