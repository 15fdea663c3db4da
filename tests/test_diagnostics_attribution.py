"""Attribution of the shift to features, where the answer is known."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from weighbridge._domain import CrossFittedDomain, DomainRows
from weighbridge.diagnostics._attribution import (
    FeatureAttribution,
    _columns_of_features,
    attribute_shift,
    attributed,
)


def test_a_shift_in_one_of_five_independent_columns_is_all_in_that_column():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(1000, 5)), rng.normal(size=(1000, 5))
    X_target[:, 2] += 1
    first, *others = attribute_shift(X, X_target)
    # without the column no difference is left: the fall is the AUC less 1/2
    whole = ndtr(1 / math.sqrt(2))
    assert first.name == "2"
    assert abs(first.fall - (whole - 0.5)) < 4 * first.standard_error + 0.02
    assert abs(first.alone - whole) < 0.04
    assert all(abs(other.fall) < 0.02 for other in others)
    assert all(other.alone < 0.55 for other in others)


def test_without_shift_nothing_is_attributed():
    rng = np.random.default_rng(1)
    found = attribute_shift(rng.normal(size=(600, 4)), rng.normal(size=(600, 4)))
    assert all(abs(one.fall) < 4 * one.standard_error + 0.01 for one in found)
    assert all(0.5 <= one.alone < 0.56 for one in found)


def table(rng, n, first_id, shares, gaps):
    return pd.DataFrame(
        {
            "site": rng.choice(["a", "b", "c"], n, p=shares),
            "id": np.arange(n) + first_id,
            "bmi": np.where(rng.random(n) < gaps, np.nan, rng.normal(size=n)),
            "name": [f"name {i}" for i in range(n)],
            "fixed": 1.0,
        }
    )


def test_an_id_column_tells_the_samples_apart_by_itself():
    rng = np.random.default_rng(2)
    X = table(rng, 400, 0, [0.6, 0.2, 0.2], 0.02)
    X_target = table(rng, 300, 1000, [0.2, 0.5, 0.3], 0.3)
    found = attribute_shift(X, X_target)
    assert found[0].name == "id"
    assert [one.name for one in found if one.alone > 0.95] == ["id"]


def test_categories_and_missing_values_belong_to_their_column():
    rng = np.random.default_rng(3)
    X = table(rng, 800, 0, [0.6, 0.2, 0.2], 0.02).drop(columns="id")
    X_target = table(rng, 800, 0, [0.2, 0.5, 0.3], 0.3).drop(columns="id")
    found = {one.name: one for one in attribute_shift(X, X_target)}
    # AUC of the levels: b and c against a, ties by half
    p, q = np.array([0.6, 0.2, 0.2]), np.array([0.2, 0.5, 0.3])
    order = np.argsort(q / p)
    p, q = p[order], q[order]
    expected = float(q @ (np.cumsum(p) - p / 2))
    assert abs(found["site"].alone - expected) < 0.04
    # missing or not: (1 + .3 - .02) / 2
    assert abs(found["bmi"].alone - 0.64) < 0.04
    assert found["site"].fall > found["bmi"].fall > 0.02
    assert found["name"].fall == found["fixed"].fall == found["fixed"].standard_error == 0
    assert found["name"].alone == pytest.approx(0.5, abs=1e-12)
    assert found["fixed"].alone == pytest.approx(0.5, abs=1e-12)


def test_of_two_copies_neither_has_the_whole_fall_but_each_the_whole_alone():
    rng = np.random.default_rng(4)
    z, z_target = rng.normal(size=(1000, 1)), rng.normal(1, 1, (1000, 1))
    single = attribute_shift(z, z_target)[0]
    both = attribute_shift(
        *(np.hstack([part, part + 0.01 * rng.normal(size=part.shape)]) for part in (z, z_target))
    )
    assert max(one.fall for one in both) < 0.8 * single.fall
    assert all(abs(one.alone - single.alone) < 0.03 for one in both)


def test_columns_of_a_feature_are_found_in_the_encoded_table():
    rng = np.random.default_rng(5)
    X = table(rng, 60, 0, [0.4, 0.3, 0.3], 0.2)[["site", "fixed", "bmi"]]
    rows = DomainRows(X, table(rng, 60, 0, [0.4, 0.3, 0.3], 0.2)[["site", "fixed", "bmi"]])
    (site, site_tree), (fixed, _), (bmi, bmi_tree) = _columns_of_features(rows.encoder)
    text = rows.table["site"].to_numpy()
    np.testing.assert_array_equal(rows.numbers[:, site], text[:, None] == np.array(["a", "b", "c"]))
    assert fixed.size == 0
    gaps = rows.table["bmi"].isna().to_numpy()
    np.testing.assert_array_equal(rows.numbers[:, bmi[1]], gaps)
    np.testing.assert_array_equal(np.isnan(rows.tree_codes[:, bmi_tree]), gaps)
    assert rows.encoder.categorical[site_tree]


def test_a_fitted_classifier_is_used_again_and_its_weights_count():
    rng = np.random.default_rng(6)
    X, X_target = rng.normal(size=(1500, 2)), rng.normal([1, 0], 1, size=(1500, 2))
    rows = DomainRows(X, X_target)
    assert attributed(CrossFittedDomain(rows)) == attribute_shift(X, X_target)
    after = attributed(CrossFittedDomain(rows, np.exp(X[:, 0] - 0.5)))
    assert all(one.fall < 0.06 for one in after)
    assert all(one.alone < 0.56 for one in after)


def test_sparse_tables():
    X = sp.random(400, 20, 0.3, "csr", random_state=7).toarray()
    X[200:, 4] += 1
    found = attribute_shift(sp.csr_array(X[:200]), sp.csr_array(X[200:]), n_shuffles=1)
    assert found[0].name == "4"
    assert found[0].alone > 0.95


def test_to_dict():
    assert FeatureAttribution("age", 0.1, 0.01, 0.7).to_dict() == {
        "name": "age",
        "fall": 0.1,
        "standard_error": 0.01,
        "alone": 0.7,
    }


def test_no_shuffle_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="Got n_shuffles=0"):
        attribute_shift(X, X + 1, n_shuffles=0)


@pytest.mark.parametrize("n", [200, 500])
def test_samples_apart_without_exception_are_attributed(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert all(feature.alone > 0.95 for feature in attribute_shift(X, X + 10))
