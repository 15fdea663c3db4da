"""Counting neighbours, against counting by hand."""

import numpy as np
import pytest

from weighbridge import fit_ratio
from weighbridge.ratios import NearestNeighbourRatio
from weighbridge.ratios._nearest_neighbour import MADE_UP


def by_hand(rows, codes, at, k, itself=None):
    distances = np.abs(rows - at).sum(axis=1)
    if itself is not None:
        distances[itself] = np.inf
    nearest = np.argsort(distances, kind="stable")[:k]
    n_target, share = codes[nearest].sum(), codes.mean()
    odds = (n_target + MADE_UP * share) / (k - n_target + MADE_UP * (1 - share))
    return np.log(odds * (1 - share) / share)


def test_counts_by_hand():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 1)), rng.normal(0.5, 1, size=(40, 1))
    rows, codes = np.vstack([X, X_target]), np.repeat([0, 1], [60, 40])
    ratio = fit_ratio(X, X_target, NearestNeighbourRatio(n_neighbours=7))
    seen = [by_hand(rows, codes, rows[i], 7, itself=i) for i in range(100)]
    np.testing.assert_allclose(ratio.score_samples(rows), seen)
    new = rng.normal(size=(20, 1))
    np.testing.assert_allclose(
        ratio.score_samples(new), [by_hand(rows, codes, row, 7) for row in new]
    )


def test_equal_rows_are_counted_together():
    # a category is one neighbour that counts as many, however many are asked for
    X, X_target = np.repeat([0.0, 1.0], [30, 70])[:, None], np.repeat([0.0, 1.0], [60, 40])[:, None]
    ratio = fit_ratio(X, X_target, NearestNeighbourRatio(n_neighbours=5))
    np.testing.assert_allclose(
        np.exp(ratio.score_samples([[0.0], [1.0]])), [60 / 30, 40 / 70], rtol=0.05
    )


def test_the_number_of_neighbours_is_chosen():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2))
    flat = fit_ratio(X, X_target, NearestNeighbourRatio())
    assert flat.n_neighbours_ == 320  # nothing to see: the smoothest
    X = rng.random((2000, 1))
    stripes = rng.random((4000, 1))
    stripes = stripes[np.sin(60 * stripes[:, 0]) > 0][:1500]
    assert fit_ratio(X, stripes, NearestNeighbourRatio()).n_neighbours_ < 160


def test_parameters_that_make_no_sense():
    with pytest.raises(ValueError, match="n_neighbours=0"):
        fit_ratio(np.zeros((5, 1)), np.ones((5, 1)), NearestNeighbourRatio(n_neighbours=0))
