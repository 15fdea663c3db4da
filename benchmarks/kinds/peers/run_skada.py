"""SKADA-Bench's simulated shifts, and skada's reweighters with its scorers that see no label.

    ENVIRONMENT/bin/python benchmarks/kinds/peers/run_skada.py OUT --half choose [--problems-only]

Runs in an environment of its own (skada). Problems: OUT/skada/SHIFT--SEED.npz with X, y, X_target,
y_target, 800 rows each, by skada's own generator with the settings of SKADA-Bench; seeds 0 to 49 to
report, 100 to 149 to choose on. Peers, as in SKADA-Bench: columns standardised, a reweighter over
its grid there, SVC, and the setting that a scorer likes best in five splits; then fitted to all
rows, and the accuracy at all target rows. SKADA-Bench judges 20 % of the target rows, five times.
Writes OUT/skada/peers/SHIFT--SEED.json, {reweighter: {scorer: accuracy}}.
"""

import argparse
import json
import os
import time
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from skada import (
    DensityReweightAdapter,
    GaussianReweightAdapter,
    KLIEPReweightAdapter,
    KMMReweightAdapter,
    MMDTarSReweightAdapter,
    NearestNeighborReweightAdapter,
    make_da_pipeline,
)
from skada.datasets import make_shifted_datasets
from skada.metrics import (
    CircularValidation,
    ImportanceWeightedScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensity,
)
from skada.model_selection import StratifiedDomainShuffleSplit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

NOISE = {"covariate_shift": 0.6, "target_shift": 0.8, "conditional_shift": 0.8}
SEEDS = {"report": range(50), "choose": range(100, 150)}
GAMMAS = [0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
SCORERS = {
    "importance weighted": ImportanceWeightedScorer(),
    "prediction entropy": PredictionEntropyScorer(),
    "soft neighbourhood": SoftNeighborhoodDensity(),
    "circular": CircularValidation(),
}
REWEIGHTERS = {
    "density": (
        DensityReweightAdapter(weight_estimator=KernelDensity()),
        {"weight_estimator__bandwidth": [0.01, 0.1, 1.0, 10.0, 100.0, "scott", "silverman"]},
    ),
    "Gaussian": (GaussianReweightAdapter(), {"reg": ["auto", 1e-5, 0.01, 0.5]}),
    "KLIEP": (
        KLIEPReweightAdapter(gamma=1.0, random_state=0),
        {"gamma": [*GAMMAS, "auto", "scale"]},
    ),
    "KMM": (KMMReweightAdapter(), {"gamma": [*GAMMAS, None]}),
    "nearest neighbour": (
        NearestNeighborReweightAdapter(n_neighbors=1),
        {"laplace_smoothing": [True, False]},
    ),
    "MMDTarS": (MMDTarSReweightAdapter(gamma=1.0, reg=1e-6), {"gamma": [*GAMMAS, None]}),
}


def make(path, shift, seed):
    """Write a problem."""
    X, y, domain = make_shifted_datasets(
        100,
        100,
        shift=shift,
        noise=NOISE[shift],
        label="binary",
        center_cov_shift=(-0.4, 3),
        random_state=seed,
    )
    source = domain >= 0
    np.savez(path, X=X[source], y=y[source], X_target=X[~source], y_target=y[~source])


def judge(path, name):
    """Return the accuracy of a reweighter at the target rows under each scorer's choice."""
    with np.load(path) as data:
        X, y, X_target, y_target = (data[key] for key in ("X", "y", "X_target", "y_target"))
    rows, domain = np.vstack([X, X_target]), np.repeat([1, -2], [len(X), len(X_target)])
    labels = np.concatenate([y, np.full(len(X_target), -1)]).astype(int)
    adapter, grid = REWEIGHTERS[name]
    base = SVC(probability=True, random_state=0)
    base = base.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    model = make_da_pipeline(StandardScaler(), clone(adapter), base)
    step = type(adapter).__name__.lower()
    search = GridSearchCV(
        model,
        {f"{step}__{key}": values for key, values in grid.items()},
        scoring=SCORERS,
        refit=False,
        cv=StratifiedDomainShuffleSplit(n_splits=5, test_size=0.2, random_state=0),
        error_score=-np.inf,
    ).fit(rows, labels, sample_domain=domain)
    found, results = {}, search.cv_results_
    for scorer in SCORERS:
        chosen = results["params"][int(np.argmax(results[f"mean_test_{scorer}"]))]
        fitted = clone(model).set_params(**chosen).fit(rows, labels, sample_domain=domain)
        found[scorer] = float(np.mean(fitted.predict(X_target) == y_target))
    return found


def main():
    """Write all problems that are not there; then judge the peers on them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", choices=list(SEEDS), default="choose")
    parser.add_argument("--problems-only", action="store_true")
    parser.add_argument("--seeds", type=int, default=50, help="the first so many, for peers")
    options = parser.parse_args()
    folder = options.out / "skada"
    (folder / "peers").mkdir(parents=True, exist_ok=True)
    for seed in SEEDS[options.half]:
        for shift in NOISE:
            if not (folder / f"{shift}--{seed}.npz").exists():
                make(folder / f"{shift}--{seed}.npz", shift, seed)
    if options.problems_only:
        return
    for seed in SEEDS[options.half][: options.seeds]:
        for shift in NOISE:
            path = folder / "peers" / f"{shift}--{seed}.json"
            if path.exists():
                continue
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {name: judge(folder / f"{shift}--{seed}.npz", name) for name in REWEIGHTERS}
            path.write_text(json.dumps({"accuracy": found, "skada": version("skada")}))
            print(path.stem, f"{time.process_time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
