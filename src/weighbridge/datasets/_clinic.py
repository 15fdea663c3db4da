"""A simulated clinic whose model moves to other sites: mixed columns, missing values, a U shape."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from weighbridge.ratios import KnownRatio
from weighbridge.tables import check_count, column_labels, one_number, read_columns

# Log odds of deployment at each site, and the share of visits there without a body mass index.
_SITES = {"north": -0.8, "south": -0.24, "east": 0.4, "west": 0.88}
_NO_BMI = {"north": 0.02, "south": 0.03, "east": 0.07, "west": 0.12}

BACKENDS = ("pandas", "polars", "pyarrow")
Visits = dict[str, np.ndarray]


def make_clinic(
    n_source: int = 4000,
    n_target: int = 2000,
    *,
    shift: float = 1.0,
    backend: Any = "pandas",
    random_state: Any = None,
) -> Bunch:
    """Labelled visits to a clinic, and visits at other sites where its model is to be used.

    The data are as in practice: eight columns of mixed types with missing values. Young and old
    patients are readmitted more often, so that no straight line fits. Patients at other sites are
    older, so that a line fitted to the training visits slopes the wrong way. Unlike real data, they
    come with the labels of the deployment and the true ratio.

    Parameters
    ----------
    n_source, n_target : int
        Numbers of labelled visits and of visits in deployment.
    shift : float, default=1.0
        Strength of the shift; 0 is no shift.
    backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        Library of the data frames, which must be installed.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    Bunch
        Data frames ``X`` and ``X_target``, labels ``y`` and ``y_target`` (1 is readmitted), and the
        true ``ratio`` (a `KnownRatio`, up to a constant).

    Notes
    -----
    Visits are drawn from one population and kept with probability ``expit(s(x))`` in deployment and
    ``expit(-s(x))`` in training; s is linear in age, site and the number of earlier visits, and
    proportional to `shift`. The log ratio is therefore ``s(x)`` plus a constant. Missing values of
    the body mass index depend on the site alone.

    Examples
    --------
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(random_state=0)
    >>> data.X.shape, data.X_target.shape
    ((4000, 8), (2000, 8))
    >>> bool(data.X_target["age"].mean() > data.X["age"].mean() + 5)
    True
    """
    library = getattr(backend, "__name__", getattr(backend, "value", backend))
    if library not in BACKENDS:
        raise ValueError(f"Got backend={backend!r}, but expected one of {', '.join(BACKENDS)}.")
    check_count("n_source", n_source, 1)
    check_count("n_target", n_target, 1)
    shift = one_number(shift, "shift")
    if not math.isfinite(shift):
        raise ValueError(f"Got shift={shift}, but expected a finite number; 0 is no shift.")
    rng = check_random_state(random_state)
    X, y = _draw_visits(rng, n_source, -shift)
    X_target, y_target = _draw_visits(rng, n_target, shift)
    X, X_target = _as_frame(X, library), _as_frame(X_target, library)
    ratio = KnownRatio(partial(_log_ratio, shift=shift))
    return Bunch(X=X, y=y, X_target=X_target, y_target=y_target, ratio=ratio)


def _as_frame(visits: Visits, library: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_dict(visits, backend=library).to_native()
    except ImportError:
        what = f"make_clinic returns data frames of {library}, which is not installed"
        raise ImportError(f"{what}. Run: pip install {library}") from None


def _log_ratio(X: Any, shift: float) -> np.ndarray:
    """Return the log ratio of deployment to training visits, up to a constant."""
    visits = dict(zip(column_labels(X), read_columns(X), strict=True))
    return shift * _log_odds_of_deployment(visits)


def _log_odds_of_deployment(visits: Visits) -> np.ndarray:
    """Return s(x) for a shift of 1: deployment has older patients with fewer earlier visits."""
    site = np.array([_SITES[name] for name in visits["site"]])
    return (visits["age"] - 45) / 14 + site - 0.25 * (visits["visits"] - 2.5)


def _log_odds_of_readmission(visits: Visits) -> np.ndarray:
    log_odds = -1.3 + 0.9 * ((visits["age"] - 41) / 14) ** 2 + 0.04 * (visits["bmi"] - 26.5)
    return log_odds + 0.5 * (visits["smoker"] == "yes") + 0.15 * (visits["visits"] - 2.5)


def _draw_visits(rng: np.random.RandomState, n: int, shift: float) -> tuple[Visits, np.ndarray]:
    """Draw n visits and their labels by rejection sampling from the population."""
    samples: list[Visits] = []
    n_missing = n
    while n_missing > 0:
        population = _draw_population(rng, 3 * n + 100)
        probability = expit(shift * _log_odds_of_deployment(population))
        is_accepted = rng.uniform(size=probability.size) < probability
        samples.append({name: column[is_accepted] for name, column in population.items()})
        n_missing -= int(is_accepted.sum())
    visits = {name: np.concatenate([sample[name] for sample in samples])[:n] for name in samples[0]}
    y = (rng.uniform(size=n) < expit(_log_odds_of_readmission(visits))).astype(int)
    is_missing = rng.uniform(size=n) < np.array([_NO_BMI[site] for site in visits["site"]])
    visits["bmi"] = np.where(is_missing, np.nan, visits["bmi"])
    return visits, y


def _draw_population(rng: np.random.RandomState, n: int) -> Visits:
    age = np.clip(rng.normal(45, 14, n), 18, 95).round(1)
    return {
        "age": age,
        "sex": rng.choice(["f", "m"], n).astype(object),
        "sys_bp": (100 + 0.45 * age + rng.normal(0, 12, n)).round(),
        "bmi": np.clip(rng.normal(26.5, 4.5, n), 14, 60).round(1),
        "smoker": rng.choice(["no", "yes"], n, p=[0.75, 0.25]).astype(object),
        "income": np.exp(rng.normal(10.2 + 0.006 * age, 0.45, n)).round(-1),
        "visits": rng.poisson(2.5, n).astype(float),
        "site": rng.choice(list(_SITES), n).astype(object),
    }
