"""Attribution of the shift to features, where the answer is known."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from weighbridge import diagnose
from weighbridge.diagnosis import attribute_shift
from weighbridge.ratios import KnownRatio


def by_name(attribution):
    return {feature.name: feature for feature in attribution}


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
    first, *others = attribute_shift(X, X_target)
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
    features = by_name(attribute_shift(X.drop(columns="id"), X_target.drop(columns="id")))
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
    attribution = attribute_shift(X, X_target)
    assert attribution[0].name == "id"
    assert [feature.name for feature in attribution if feature.alone > 0.95] == ["id"]


def test_two_copies_share_the_fall_but_not_alone():
    rng = np.random.default_rng(4)
    z, z_target = rng.normal(size=(1000, 1)), rng.normal(1, 1, (1000, 1))
    single = attribute_shift(z, z_target)[0]
    both = attribute_shift(
        *(np.hstack([x, x + 0.01 * rng.normal(size=x.shape)]) for x in (z, z_target))
    )
    assert max(feature.fall for feature in both) < 0.8 * single.fall
    assert all(abs(feature.alone - single.alone) < 0.03 for feature in both)


def test_diagnose_has_the_same_attribution():
    rng = np.random.default_rng(6)
    X, X_target = rng.normal(size=(200, 2)), rng.normal([1, 0], 1, size=(200, 2))
    ratio = KnownRatio(lambda X: X[:, 0] - 0.5)
    assert diagnose(ratio, X, X_target).attribution == attribute_shift(X, X_target)


def test_sparse_tables_are_attributed_by_column():
    X = sp.random(400, 20, 0.3, "csr", random_state=7).toarray()
    X[200:, 4] += 1
    first = attribute_shift(sp.csr_array(X[:200]), sp.csr_array(X[200:]), n_shuffles=1)[0]
    assert (first.name, first.alone > 0.95) == ("4", True)


def test_separable_samples_are_attributed():
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert all(feature.alone > 0.95 for feature in attribute_shift(X, X + 10))


@pytest.mark.parametrize("options", [{"n_shuffles": 0}, {"cv": 1}, {"max_rows": 2}])
def test_bad_options_raise(options):
    X = np.random.default_rng(0).normal(size=(20, 2))
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"Got {name}={value}, but expected a whole number"):
        attribute_shift(X, X + 1, **options)
