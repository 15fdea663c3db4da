"""A search over joblib's backend for dask is the search of one process, bit for bit."""

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from weighbridge import ImportanceWeightedCV
from weighbridge.datasets import make_gaussian_shift
from weighbridge.ratios import GaussianRatio
from weighbridge.search import BayesianSearch

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    from dask_cluster import small_cluster

    with small_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    return make_gaussian_shift(200, 200, n_features=3, random_state=0)


def searched(data):
    model = ImportanceWeightedCV(
        RandomForestRegressor(n_estimators=10),
        GaussianRatio(),
        search=BayesianSearch(25),
        random_state=0,
        verbose=0,
    )
    return model.fit(data.X, data.y, X_target=data.X_target)


def test_twenty_five_forests_on_dask_give_the_choice_losses_and_model_of_one_process(data, client):
    here = searched(data)
    with joblib.parallel_config("dask", n_jobs=-1):
        there = searched(data)
    assert len(here.search_result_.evaluations) == 25
    for one, other in zip(
        here.search_result_.evaluations, there.search_result_.evaluations, strict=True
    ):
        assert one.point == other.point
        np.testing.assert_array_equal(one.losses, other.losses)
        np.testing.assert_array_equal(one.predictions, other.predictions)
    assert here.best_weighting_.get_params() == there.best_weighting_.get_params()
    assert here.reason_ == there.reason_
    shares = [[share for _, share in model.mixture_] for model in (here, there)]
    assert shares[0] == shares[1]
    np.testing.assert_array_equal(here.weights_, there.weights_)
    np.testing.assert_array_equal(here.predict(data.X_target), there.predict(data.X_target))
