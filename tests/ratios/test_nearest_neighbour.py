"""Laws of counting neighbours: counts by hand, copies, the choice of their number."""

import numpy as np
import pytest

from weighbridge import fit_ratio
from weighbridge.ratios import NearestNeighbourRatio


def log_ratio_by_hand(rows, codes, at, k, itself=None):
    """Count the k nearest rows, with two pseudo-counts in the proportion of the samples."""
    distances = np.abs(rows - at).sum(axis=1)
    if itself is not None:
        distances[itself] = np.inf
    nearest = np.argsort(distances, kind="stable")[:k]
    n_target, share = codes[nearest].sum(), codes.mean()
    odds = (n_target + 2 * share) / (k - n_target + 2 * (1 - share))
    return np.log(odds * (1 - share) / share)


def test_ratio_equals_counts_by_hand():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 1)), rng.normal(0.5, 1, size=(40, 1))
    rows, codes = np.vstack([X, X_target]), np.repeat([0, 1], [60, 40])
    ratio = fit_ratio(X, X_target, NearestNeighbourRatio(n_neighbours=7))
    expected = [log_ratio_by_hand(rows, codes, rows[i], 7, itself=i) for i in range(100)]
    np.testing.assert_allclose(ratio.score_samples(rows), expected)
    new = rng.normal(size=(20, 1))
    expected = [log_ratio_by_hand(rows, codes, row, 7) for row in new]
    np.testing.assert_allclose(ratio.score_samples(new), expected)


def test_equal_rows_of_categories_are_counted_together():
    # However few neighbours are wanted, all rows at the same place are among them.
    X, X_target = np.repeat([0.0, 1.0], [30, 70])[:, None], np.repeat([0.0, 1.0], [60, 40])[:, None]
    ratio = fit_ratio(X, X_target, NearestNeighbourRatio(n_neighbours=5))
    np.testing.assert_allclose(
        np.exp(ratio.score_samples([[0.0], [1.0]])), [60 / 30, 40 / 70], rtol=0.05
    )


def test_number_of_neighbours_follows_the_ratio():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2))
    flat = fit_ratio(X, X_target, NearestNeighbourRatio())
    assert flat.n_neighbours_ == 320  # Without a shift, the largest is best.
    X = rng.random((2000, 1))
    stripes = rng.random((4000, 1))
    stripes = stripes[np.sin(60 * stripes[:, 0]) > 0][:1500]
    assert fit_ratio(X, stripes, NearestNeighbourRatio()).n_neighbours_ < 160


def test_bad_parameters():
    with pytest.raises(ValueError, match="n_neighbours=0"):
        fit_ratio(np.zeros((5, 1)), np.ones((5, 1)), NearestNeighbourRatio(n_neighbours=0))


@pytest.mark.parametrize("which", ["source", "target", "both"])
@pytest.mark.parametrize("copies", [3, 7])
def test_copies_of_every_row_change_nothing(which, copies):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (150, 2)), rng.normal(0.7, 1, (100, 2))
    expected = fit_ratio(X, X_target, NearestNeighbourRatio())
    source, target = (
        np.repeat(part, copies if which in (name, "both") else 1, axis=0)
        for name, part in (("source", X), ("target", X_target))
    )
    ratio = fit_ratio(source, target, NearestNeighbourRatio())
    assert ratio.n_neighbours_ == expected.n_neighbours_
    for rows in (X, X_target, X + 0.1):
        np.testing.assert_allclose(
            ratio.score_samples(rows), expected.score_samples(rows), atol=1e-12
        )


def test_bootstrap_sample_gives_nearly_the_same_weights():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (300, 2)), rng.normal(0.7, 1, (200, 2))
    drawn = X_target[rng.integers(0, 200, 300)]
    weights, again = (
        np.exp(fit_ratio(X, part, NearestNeighbourRatio()).score_samples(X))
        for part in (X_target, drawn)
    )
    assert np.corrcoef(weights, again)[0, 1] > 0.8
