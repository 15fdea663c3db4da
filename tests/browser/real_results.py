"""Results of whole runs on small tables: what the made-up ones might have got wrong."""

import numpy as np
import pandas as pd

from weighbridge.adaptation import adapt
from weighbridge.datasets import make_clinic


def clinic():
    """Return a run with categories, missing values and known deployment labels."""
    data = make_clinic(600, 400, random_state=0)
    train = data.X.assign(readmitted=data.y)
    deploy = data.X_target.assign(readmitted=data.y_target)
    return adapt(train, deploy, label="readmitted").to_dict()


def _houses():
    """Return houses in the town and in the suburbs; prices follow a curve."""
    rng = np.random.default_rng(0)

    def draw(n_rows, moved):
        return pd.DataFrame(
            {
                "area": rng.normal(100 + 15 * moved, 30, n_rows).round(1),
                "year": rng.normal(1970 + 8 * moved, 20, n_rows).round(),
                "garden": np.where(rng.random(n_rows) < 0.3 + 0.2 * moved, "yes", "no"),
            }
        )

    train, deploy = draw(1000, 0), draw(500, 1)
    bend = 0.03 * (train["area"] - 100) ** 2
    return train.assign(price=3 * train["area"] + bend + rng.normal(0, 20, len(train))), deploy


def houses():
    """Return a run of a straight line through prices that follow a curve."""
    return adapt(*_houses(), label="price").to_dict()


def three_prices():
    """Return a run with three classes and a given weighting, so that nothing is searched for."""
    train, deploy = _houses()
    bands = np.array(["cheap", "a price that many can pay", "dear"])
    train["price"] = bands[np.digitize(train["price"], [280, 340])]
    return adapt(train, deploy, label="price", lam=0.5, alpha=3).to_dict()


REAL = {make.__name__: make for make in (clinic, houses, three_prices)}
