"""A made-up clinic whose model moves to other sites: mixed columns, gaps, a bent label rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from weighbridge.ratios import KnownRatio
from weighbridge.tables import check_count, column_labels, one_number, read_columns

BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")

# Log odds of deployment at each site, and the share of visits there without a body mass index.
_SITES = {"north": -0.8, "south": -0.24, "east": 0.4, "west": 0.88}
_NO_BMI = {"north": 0.02, "south": 0.03, "east": 0.07, "west": 0.12}


class ClinicLogRatio:
    """Log density ratio of deployment to training visits, up to a constant."""

    def __init__(self, shift: float):
        self.shift = shift

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratio at the rows of `X`."""
        columns = dict(zip(column_labels(X), read_columns(X), strict=True))
        return self.shift * _toward_deployment(columns)


def make_clinic(
    n_source: int = 4000,
    n_target: int = 2000,
    *,
    shift: float = 1.0,
    backend: Any = "pandas",
    random_state: Any = None,
) -> Bunch:
    """Labelled visits to a clinic, and visits at other sites where its model is to be used.

    A data set as found in practice: eight columns of mixed types with gaps, a label whose rule
    no straight line follows (the young and the old are readmitted), and older patients at other
    sites, so that a line fitted to the training visits slopes the wrong way. Unlike real data, it
    has the labels of the deployment, and the true ratio.

    Parameters
    ----------
    n_source, n_target : int
        Numbers of labelled visits and of visits in deployment.
    shift : float, default=1.0
        How different the two are; 0 is no shift.
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
    Visits are drawn from one population and seen in deployment with probability ``expit(s(x))``, in
    training with ``expit(-s(x))``; s is linear in age, site and the number of earlier visits, and
    proportional to `shift`. The log ratio is therefore ``s(x)`` plus a constant. Gaps in the body
    mass index depend on the site alone.

    Examples
    --------
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(random_state=0)
    >>> data.X.shape, data.X_target.shape
    ((4000, 8), (2000, 8))
    >>> bool(data.X_target["age"].mean() > data.X["age"].mean() + 5)
    True
    """
    check_count("n_source", n_source, 1)
    check_count("n_target", n_target, 1)
    shift = one_number(shift, "shift")
    if not math.isfinite(shift):
        raise ValueError(f"Got shift={shift}, but expected a finite number; 0 is no shift.")
    _check_backend(backend)
    rng = check_random_state(random_state)
    source, y = _visits(rng, n_source, -shift)
    target, y_target = _visits(rng, n_target, shift)
    return Bunch(
        X=_frame(source, backend),
        y=y,
        X_target=_frame(target, backend),
        y_target=y_target,
        ratio=KnownRatio(ClinicLogRatio(shift)),
    )


def _check_backend(backend: Any) -> None:
    """Refuse anything but a library of data frames: a name, a module or narwhals' own mark."""
    name = getattr(backend, "__name__", getattr(backend, "value", backend))
    if name not in BACKENDS:
        raise ValueError(
            f"Got backend={backend!r}, but expected a library of data frames: "
            f"{', '.join(map(repr, BACKENDS))}."
        )


def _frame(columns: dict[str, np.ndarray], backend: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        raise ImportError(
            f"make_clinic returns data frames of {backend}, which is not installed: "
            f"pip install {backend}."
        ) from None


def _visits(rng: Any, n: int, shift: float) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draw from everybody until enough of them come to these sites."""
    kept: list[dict[str, np.ndarray]] = []
    missing = n
    while missing > 0:
        everybody = _everybody(rng, 3 * n + 100)
        chance = expit(shift * _toward_deployment(everybody))
        comes = rng.uniform(size=chance.size) < chance
        kept.append({name: column[comes] for name, column in everybody.items()})
        missing -= int(comes.sum())
    visits = {name: np.concatenate([part[name] for part in kept])[:n] for name in kept[0]}
    y = (rng.uniform(size=n) < expit(_log_odds(visits))).astype(int)
    gaps = rng.uniform(size=n) < np.array([_NO_BMI[site] for site in visits["site"]])
    visits["bmi"] = np.where(gaps, np.nan, visits["bmi"])
    return visits, y


def _everybody(rng: Any, n: int) -> dict[str, np.ndarray]:
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


def _toward_deployment(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return log odds of deployment: it is older, at other sites, with fewer earlier visits."""
    site = np.array([_SITES[name] for name in columns["site"]])
    return (columns["age"] - 45) / 14 + site - 0.25 * (columns["visits"] - 2.5)


def _log_odds(visits: dict[str, np.ndarray]) -> np.ndarray:
    """Return the log odds of readmission: high for the young and for the old."""
    age = (visits["age"] - 41) / 14
    return np.asarray(
        -1.3
        + 0.9 * age**2
        + 0.04 * (visits["bmi"] - 26.5)
        + 0.5 * (visits["smoker"] == "yes")
        + 0.15 * (visits["visits"] - 2.5)
    )
