"""The judgement of overlap, and the numbers behind it against known answers."""

import math
import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from weighbridge import ImportanceWeightedCV, assess, diagnose, fit_ratio
from weighbridge._pass_weights import count_parameters
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import (
    effective_sample_size,
    judge_weights,
    pareto_k,
    pareto_threshold,
)
from weighbridge.weighting import AIWERM, mean_one


def test_ess_of_a_shifted_normal():
    # N(0,1) -> N(mu,1) at alpha = 1: ESS/n -> exp(-lam^2 mu^2); mu = 1, lam = .3: .91393
    shares = []
    for seed in range(200):
        x = np.random.default_rng(seed).normal(size=2000)
        shares.append(effective_sample_size(mean_one(AIWERM(0.3)(x - 0.5))) / 2000)
    error = np.std(shares) / math.sqrt(len(shares))
    assert abs(np.mean(shares) - 0.91393) < 4 * error + 0.0005  # O(1/n) bias of a ratio of means


@pytest.mark.parametrize("b", [0.2, 0.4, 0.6, 0.8])
def test_pareto_k_of_exponentials(b):
    # source Exp(1), target Exp(b): the ratio has tail index 1 - b exactly
    values = [
        pareto_k(np.exp((1 - b) * np.random.default_rng(seed).exponential(size=20_000)))
        for seed in range(100)
    ]
    # ten pseudo-observations at 1/2 beside 425 exceedances
    expected = (425 * (1 - b) + 5) / 435
    error = np.std(values) / 10
    assert abs(np.mean(values) - expected) < 4 * error


def test_threshold_grows_with_the_sample():
    assert pareto_threshold(100) == 0.5
    assert pareto_threshold(10**6) == 0.7
    assert pareto_threshold(5) == 0


# --- one judgement -----------------------------------------------------------------------------


def _shifted(shift, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(2, n, 2))
    X_target[:, 0] += shift
    return X, X[:, 0] ** 2 + X.sum(axis=1) + rng.normal(0, 0.3, n), X_target


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
@pytest.mark.parametrize(
    ("shift", "word", "weighted"),
    [(0.3, "enough", False), (1.8, "thin", False), (1.8, "thin", True), (2.5, "broken", False)],
)
def test_model_diagnosis_and_verdict_give_one_word(shift, word, weighted):
    X, y, X_target = _shifted(shift)
    own = (np.arange(150) % 10 > 0) + 0.0 if weighted else None
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    for model in (LinearRegression(), tree):
        tuned = ImportanceWeightedCV(model, random_state=0)
        tuned.fit(X, y, sample_weight=own, X_target=X_target)
        assert tuned.overlap_ == word
        assert diagnose(tuned, X, X_target, sample_weight=own).overlap == word
    verdict = assess(model, X, y, X_target, sample_weight=own, random_state=0)
    assert verdict.overlap == word


def test_a_frozen_ratio_tells_the_rows_outside():
    X, y, X_target = _shifted(3.0, n=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        ratio = FrozenEstimator(fit_ratio(X, X_target))
        model = ImportanceWeightedCV(LinearRegression(), ratio, random_state=0).fit(X, y)
    assert model.overlap_ != "enough"


def test_parameters_are_coefficients_or_columns():
    X, y, _ = _shifted(0)
    assert count_parameters(LinearRegression().fit(X, y), 2) == 3
    assert count_parameters(DecisionTreeRegressor().fit(X, y), 2) == 3
    levels = (np.arange(150) % 5)[:, None]
    encoded = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(levels, y > 0)
    assert count_parameters(encoded, 1) == 6


def test_the_scale_of_the_weights_does_not_matter():
    weights = np.random.default_rng(0).exponential(size=300) ** 2
    told = {str(judge_weights(scale * weights, 0.05, 4)) for scale in (1.0, 1e-300, 1e300)}
    assert len(told) == 1
