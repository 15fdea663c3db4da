"""How an answer is formed of candidates: shares on the simplex, finalists, the average model."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from weighbridge._estimators.choice import (
    AverageModel,
    average_model,
    finalists,
    form_answer,
    simplex_minimum,
    stack_shares,
)
from weighbridge.model_selection import Evaluation, Point, SearchResult


def _cost(shares, costs):
    return shares @ costs @ shares


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_the_minimum_on_the_simplex_is_one(seed, size):
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(size, 30)) + rng.normal(size=30)  # correlated, as candidates are
    costs = errors @ errors.T
    shares = simplex_minimum(costs)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    # first-order conditions: no direction within the simplex lowers the cost
    slope = costs @ shares
    scale = np.trace(costs) / size
    assert (slope >= slope @ shares - 1e-6 * scale).all()


def test_the_minimum_against_a_general_optimiser():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(5, 40)) + 1.5 * rng.normal(size=40)
    costs = errors @ errors.T / 40
    found = minimize(
        _cost,
        np.full(5, 0.2),
        args=(costs,),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert _cost(simplex_minimum(costs), costs) == pytest.approx(found.fun, rel=1e-7)


def test_scale_and_perfect_predictions():
    costs = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(simplex_minimum(costs), [0.25, 0.75], atol=1e-7)
    np.testing.assert_allclose(
        simplex_minimum(1e-12 * costs), simplex_minimum(1e12 * costs), rtol=1e-9
    )
    np.testing.assert_array_equal(simplex_minimum(np.zeros((3, 3))), [1, 0, 0])


def test_shares_minimise_the_weighted_loss():
    # two candidates that err on opposite sides: the weighted rows say how far to go
    truth = np.zeros(4)
    predictions = np.array([[1.0, 1, 1, 1], [-1, -1, -3, -3]])
    shares = stack_shares(predictions, truth, np.array([1.0, 1, 0, 0]))
    np.testing.assert_allclose(shares, [0.5, 0.5], atol=1e-6)
    shares = stack_shares(predictions, truth, np.array([0, 0, 2.0, 2]))
    np.testing.assert_allclose(shares, [0.75, 0.25], atol=1e-6)


def test_shares_of_probabilities_minimise_the_brier_score():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=50)
    predictions = rng.dirichlet(np.ones(3), size=(2, 50))
    weights = rng.uniform(size=50)
    indicator = np.eye(3)[truth]

    def brier(share):
        mixed = share * predictions[0] + (1 - share) * predictions[1]
        return weights @ ((mixed - indicator) ** 2).sum(axis=1)

    grid = np.linspace(0, 1, 2001)
    best = grid[np.argmin([brier(share) for share in grid])]
    assert stack_shares(predictions, truth, weights)[0] == pytest.approx(best, abs=1e-3)


def _result(values):
    points = [Point(0.0, 1.0), Point(1.0, 1.0), Point(0.8, 3.0), Point(0.5, 1.0)]
    points += [Point(lam, 2.0) for lam in np.linspace(0.01, 0.99, len(values) - 4)]
    return SearchResult(
        tuple(
            Evaluation(point, None if np.isnan(value) else np.array([value]))
            for point, value in zip(points, values, strict=True)
        ),
        np.ones(1),
    )


def test_finalists_are_few_and_span_the_surface():
    values = np.linspace(2, 1, 100)
    values[60] = np.nan
    chosen = finalists(_result(values), 0)
    assert {0, 1, 2, 3, 99} <= set(chosen)
    assert 60 not in chosen
    assert len(chosen) <= 13
    assert finalists(_result(np.ones(6)), 0) == [0, 1, 2, 3, 4, 5]
    # a search that was taken up again may have tried no weights last
    assert 50 in finalists(_result(values), 50)


# --- the average model ---------------------------------------------------------------------------


def _rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] + rng.normal(size=60)


def test_an_average_of_lines_is_a_line_of_averages():
    models = [make_pipeline(StandardScaler(), LinearRegression()).fit(*_rows(0)) for _ in range(2)]
    X, y = _rows(0)
    models[1][-1].fit(models[1][0].transform(X), y**2)
    shares = np.array([0.3, 0.7])
    average = average_model(models, shares)
    expected = shares @ [model.predict(X) for model in models]
    np.testing.assert_allclose(average.predict(X), expected, rtol=1e-12)
    assert type(average[-1]) is LinearRegression
    assert models[0][-1].coef_ is not average[-1].coef_


def test_one_model_is_itself():
    model = LinearRegression().fit(*_rows())
    assert average_model([model], np.ones(1)) is model


def test_regressors_average_predictions():
    X, y = _rows()
    models = [RandomForestRegressor(5, random_state=seed).fit(X, y) for seed in range(2)]
    average = average_model(models, np.array([0.25, 0.75]))
    expected = 0.25 * models[0].predict(X) + 0.75 * models[1].predict(X)
    np.testing.assert_allclose(average.predict(X), expected)
    assert not hasattr(average, "predict_proba")
    assert average.n_features_in_ == 2
    assert "average of 2 fits of RandomForestRegressor" in repr(average)
    with pytest.raises(AttributeError, match=r"average of 2 models has no 'feature_importances_'"):
        average.feature_importances_  # noqa: B018
    residual = ((y - expected) ** 2).sum()
    assert average.score(X, y) == pytest.approx(1 - residual / ((y - y.mean()) ** 2).sum())


def test_classifiers_average_chances():
    X, y = _rows()
    label = np.where(y > 0, "up", "down")
    models = [LogisticRegression(C=c).fit(X, label) for c in (0.01, 10)]
    average = AverageModel(models, np.array([0.5, 0.5]))
    chances = sum(model.predict_proba(X) for model in models) / 2
    np.testing.assert_allclose(average.predict_proba(X), chances)
    np.testing.assert_allclose(average.predict_log_proba(X), np.log(chances))
    np.testing.assert_array_equal(average.predict(X), average.classes_[chances.argmax(axis=1)])
    assert average.score(X, label) == np.mean(average.predict(X) == label)
    for again in (pickle.loads(pickle.dumps(average)), deepcopy(average)):
        np.testing.assert_array_equal(again.predict_proba(X), average.predict_proba(X))
    with pytest.raises(AttributeError, match="models"):
        AverageModel.__new__(AverageModel).models  # noqa: B018
    weights = np.where(label == "up", 1.0, 0.0)
    assert average.score(X, label, weights) == np.mean(average.predict(X[y > 0]) == "up")


def test_machines_average_clipped_margins():
    X, y = _rows()
    label = np.where(y > 0, "up", "down")
    models = [SVC(C=c).fit(X, label) for c in (0.1, 10)]
    shares = np.array([0.4, 0.6])
    margins = [np.clip(model.decision_function(X), -1, 1) for model in models]
    expected = np.where(shares @ margins > 0, "up", "down")
    average = AverageModel(models, shares)
    np.testing.assert_array_equal(average.predict(X), expected)
    assert not hasattr(average, "predict_proba")
    np.testing.assert_allclose(average.decision_function(X), shares @ margins)


def test_machines_of_three_classes_vote():
    X, y = _rows()
    label = np.digitize(y, [-0.5, 0.5])
    for shape in ("ovr", "ovo"):
        models = [SVC(C=c, decision_function_shape=shape).fit(X, label) for c in (0.1, 1, 10)]
        average = AverageModel(models, np.array([0.2, 0.2, 0.6]))
        np.testing.assert_array_equal(average.predict(X), models[2].predict(X))
        np.testing.assert_array_equal(
            average.decision_function(X).argmax(axis=1), models[2].predict(X)
        )


def test_counts_are_scored_by_their_deviance():
    X, y = _rows()
    counts = np.random.default_rng(0).poisson(np.exp(y / 3))
    models = [PoissonRegressor(alpha=alpha).fit(X, counts) for alpha in (0.1, 0.1)]
    average = average_model(models, np.array([0.5, 0.5]))
    assert average.score(X, counts) == pytest.approx(models[0].score(X, counts))


# --- when weights are worth it -------------------------------------------------------------------


class _Told:
    """An objective whose losses are no means over rows."""

    row_loss = None


def _guarded(gain, *, guarded, before=1.0):
    """Return whether "guard" takes a candidate that gains so many standard errors."""
    noise = np.linspace(-1, 1, 20)
    error = noise.std(ddof=1) / np.sqrt(20)
    result = SearchResult(
        (
            Evaluation(Point(0.0, 1.0), before + noise),
            Evaluation(Point(1.0, 1.0), np.full(20, before - gain * error)),
        ),
        np.ones(20),
    )
    return form_answer("guard", _Told(), result, guarded=guarded).indices == [1]


@pytest.mark.parametrize("before", [1.0, -10.0])  # a likelihood may be below 0
@pytest.mark.parametrize(
    ("gain", "guarded", "taken"),
    [
        (0.6, False, True),
        (0.4, False, False),
        (-1.0, False, False),
        (1.9, True, False),
        (2.1, True, True),
    ],
)
def test_weights_must_be_worth_it(before, gain, guarded, taken):
    assert _guarded(gain, guarded=guarded, before=before) == taken


def test_one_number_has_no_standard_error():
    result = SearchResult(
        (
            Evaluation(Point(0.0, 1.0), np.array([2.0])),
            Evaluation(Point(1.0, 1.0), np.array([1.0])),
        ),
        np.ones(1),
    )
    with pytest.raises(ValueError, match=r"no standard error.*CrossValidation.*argmin"):
        form_answer("guard", _Told(), result, guarded=False)
    assert form_answer("argmin", _Told(), result, guarded=True).indices == [1]


def test_what_cannot_be_compared_is_not_taken():
    result = SearchResult(
        (
            Evaluation(Point(0.0, 1.0), None, error="no"),
            Evaluation(Point(1.0, 1.0), np.array([1.0, 2.0])),
        ),
        np.ones(2),
    )
    assert form_answer("guard", _Told(), result, guarded=False).indices == [0]
