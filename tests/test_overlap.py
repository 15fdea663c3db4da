"""Effective sample size and Pareto k-hat against known answers."""

import math

import numpy as np
import pytest

from weighbridge._overlap import effective_sample_size, pareto_k, pareto_threshold
from weighbridge.weighting import AIWERM, mean_one


def test_ess_of_even_and_of_single_weights():
    assert effective_sample_size(np.ones(7)) == pytest.approx(7)
    assert effective_sample_size(np.array([0.0, 0.0, 5.0])) == 1
    assert effective_sample_size(np.array([1e300, 1e300])) == pytest.approx(2)


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


def test_pareto_k_of_bounded_weights_is_negative():
    assert pareto_k(np.random.default_rng(0).uniform(size=5000)) < -0.5


@pytest.mark.parametrize(
    "weights", [np.ones(1000), np.arange(10.0), np.r_[np.ones(996), 2, 3, 4, 5]]
)
def test_pareto_k_without_a_tail_is_nan(weights):
    assert math.isnan(pareto_k(weights))


def test_threshold_grows_with_the_sample():
    assert pareto_threshold(100) == 0.5
    assert pareto_threshold(10**6) == 0.7
    assert pareto_threshold(5) == 0
