"""Attribution of the shift to features, where the answer is known."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from weighbridge.diagnosis import attribute_domain
from weighbridge.domain import CrossFittedDomain, DomainRows


def attribution(X, X_target):
    return attribute_domain(CrossFittedDomain(DomainRows(X, X_target)))


def clinic(rng, n, first_id, shares, gaps):
    return pd.DataFrame(
        {
            "site": rng.choice(["a", "b", "c"], n, p=shares),
            "id": np.arange(n) + first_id,
            "bmi": np.where(rng.random(n) < gaps, np.nan, rng.normal(size=n)),
            "name": [f"name {i}" for i in range(n)],
            "fixed": 1.0,
        }
    )


def test_shift_in_one_of_five_independent_columns_belongs_to_it():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(1000, 5)), rng.normal(size=(1000, 5))
    X_target[:, 2] += 1
    first, *others = attribution(X, X_target)
    # Without the column no difference is left, so the fall is the AUC less 1/2.
    auc = ndtr(1 / math.sqrt(2))
    assert first.name == "2"
    assert abs(first.fall - (auc - 0.5)) < 4 * first.standard_error + 0.02
    assert abs(first.alone - auc) < 0.04
    assert all(abs(other.fall) < 0.02 for other in others)
    assert all(0.5 <= other.alone < 0.56 for other in others)


def test_categories_and_missing_values_belong_to_their_column():
    rng = np.random.default_rng(3)
    X = clinic(rng, 800, 0, [0.6, 0.2, 0.2], 0.02)
    X_target = clinic(rng, 800, 0, [0.2, 0.5, 0.3], 0.3)
    found = attribution(X.drop(columns="id"), X_target.drop(columns="id"))
    features = {feature.name: feature for feature in found}
    # The AUC of the levels: b and c against a, with ties counting half.
    p, q = np.array([0.6, 0.2, 0.2]), np.array([0.2, 0.5, 0.3])
    order = np.argsort(q / p)
    p, q = p[order], q[order]
    assert abs(features["site"].alone - float(q @ (np.cumsum(p) - p / 2))) < 0.04
    # Missing or not: (1 + 0.3 - 0.02) / 2.
    assert abs(features["bmi"].alone - 0.64) < 0.04
    assert features["site"].fall > features["bmi"].fall > 0.02
    for name in ("name", "fixed"):
        assert features[name].fall == features[name].standard_error == 0
        assert features[name].alone == pytest.approx(0.5, abs=1e-12)


def test_key_distinguishes_the_samples_alone():
    rng = np.random.default_rng(2)
    X = clinic(rng, 400, 0, [0.6, 0.2, 0.2], 0.02)
    X_target = clinic(rng, 300, 1000, [0.2, 0.5, 0.3], 0.3)
    features = attribution(X, X_target)
    assert features[0].name == "id"
    assert [feature.name for feature in features if feature.alone > 0.95] == ["id"]


def test_two_copies_share_the_fall_but_not_alone():
    rng = np.random.default_rng(4)
    z, z_target = rng.normal(size=(1000, 1)), rng.normal(1, 1, (1000, 1))
    single = attribution(z, z_target)[0]
    both = attribution(
        *(np.hstack([x, x + 0.01 * rng.normal(size=x.shape)]) for x in (z, z_target))
    )
    assert max(feature.fall for feature in both) < 0.8 * single.fall
    assert all(abs(feature.alone - single.alone) < 0.03 for feature in both)


def test_sparse_tables_are_attributed_by_column():
    X = sp.random(400, 20, 0.3, "csr", random_state=7).toarray()
    X[200:, 4] += 1
    first = attribution(sp.csr_array(X[:200]), sp.csr_array(X[200:]))[0]
    assert (first.name, first.alone > 0.95) == ("4", True)


def test_all_features_that_separate_the_samples_are_found():
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert all(feature.alone > 0.95 for feature in attribution(X, X + 10))


def test_wide_tables_are_attributed_to_the_features_with_the_largest_auc():
    X = np.random.default_rng(0).normal(size=(120, 130))
    features = attribution(X[:60], X[60:] + (np.arange(130) == 129) * 2)
    assert len(features) == 100
    assert features[0].name == "129"
