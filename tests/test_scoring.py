"""Scores weighted toward the target."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer, max_error, mean_squared_error
from sklearn.model_selection import cross_val_score

from weighbridge import fit_ratio, iw_scorer
from weighbridge.datasets import make_gaussian_shift, make_quadratic
from weighbridge.ratios import ClassifierRatio, KnownRatio
from weighbridge.weighting import ERM, RIWERM


def test_score_is_the_weighted_metric():
    data = make_gaussian_shift(300, 200, random_state=0)
    model = LinearRegression().fit(data.X, data.y)
    score = iw_scorer("neg_mean_squared_error", data.ratio)(model, data.X, data.y)
    expected = mean_squared_error(
        data.y, model.predict(data.X), sample_weight=np.exp(data.log_ratio)
    )
    assert score == pytest.approx(-expected)


@pytest.mark.parametrize("scoring", ["accuracy", make_scorer(accuracy_score), None])
def test_names_scorers_and_the_own_score(scoring):
    data = make_gaussian_shift(300, 200, random_state=0)
    label = data.y > 0
    model = LogisticRegression().fit(data.X, label)
    expected = accuracy_score(label, model.predict(data.X), sample_weight=np.exp(data.log_ratio))
    assert iw_scorer(scoring, data.ratio)(model, data.X, label) == pytest.approx(expected)


def test_score_on_source_rows_estimates_the_target_risk():
    # E_source[r (y - f)^2] = E_target[(y - f)^2]: 200 data sets, 4 standard errors
    problem = make_gaussian_shift(1, 1, shift=0.5).ratio
    model = DummyRegressor(strategy="constant", constant=0.3).fit([[0.0]], [0.0])
    scorer = iw_scorer("neg_mean_squared_error", problem)
    gaps = []
    for seed in range(200):
        data = make_gaussian_shift(500, 500, shift=0.5, random_state=seed)
        on_target = mean_squared_error(data.y_target, model.predict(data.X_target))
        gaps.append(-scorer(model, data.X, data.y) - on_target)
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(200)


def test_own_weights_multiply():
    data = make_gaussian_shift(100, 100, random_state=0)
    model = LinearRegression().fit(data.X, data.y)
    own = np.arange(100) % 3
    score = iw_scorer("r2", data.ratio)(model, data.X, data.y, sample_weight=own)
    repeated = iw_scorer("r2", data.ratio)(
        model, np.repeat(data.X, own, axis=0), np.repeat(data.y, own)
    )
    assert score == pytest.approx(repeated)


def test_other_weightings_for_the_evaluation():
    data = make_gaussian_shift(100, 100, random_state=0)
    model = LinearRegression().fit(data.X, data.y)
    plain = iw_scorer("r2", data.ratio, weighting=ERM())(model, data.X, data.y)
    assert plain == pytest.approx(model.score(data.X, data.y))
    # a constant in the ratio does not change the meaning of lam
    scores = [
        iw_scorer("r2", KnownRatio(lambda X, c=c: X[:, 0] + c), weighting=RIWERM(0.5))(
            model, data.X, data.y
        )
        for c in (0, 5)
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_in_cross_validation():
    data = make_quadratic(random_state=0)
    ratio = FrozenEstimator(fit_ratio(data.X, data.X_target))
    scores = cross_val_score(
        LinearRegression(), data.X, data.y, scoring=iw_scorer("neg_mean_squared_error", ratio)
    )
    # the unweighted line is bad on the target, and only a weighted score says so
    line = LinearRegression().fit(data.X, data.y)
    assert -scores.mean() > 5 * mean_squared_error(data.y, line.predict(data.X))


def test_what_is_no_weighting_or_ratio_is_refused():
    with pytest.raises(TypeError, match="expected a Geodesic"):
        iw_scorer("r2", KnownRatio(np.ravel), weighting=RIWERM)
    with pytest.raises(TypeError, match="ClassifierRatio"):
        iw_scorer("r2", LogisticRegression())


def test_an_unfitted_ratio_is_refused():
    with pytest.raises(ValueError, match=r"not fitted.*fit_ratio\(X, X_target\)"):
        iw_scorer("r2", ClassifierRatio())


def test_an_unknown_score_is_refused_at_once():
    with pytest.raises(ValueError, match="acuracy"):
        iw_scorer("acuracy", KnownRatio(np.ravel))


def test_a_metric_without_weights_is_refused_by_name():
    data = make_gaussian_shift(50, 50, random_state=0)
    model = LinearRegression().fit(data.X, data.y)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        iw_scorer(make_scorer(max_error), data.ratio)(model, data.X, data.y)
