"""Covariate shift without labels of the target: none, static and dynamic weights, on MNIST."""

import json
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np

from experiments.deep import _shifts
from experiments.deep._data import load

KINDS = ("rotated", "thickened", "thinned")
METHODS = ("none", "static, lam = 1", "static", "dynamic, lam = 1", "dynamic")


@dataclass(frozen=True)
class Setting:
    """One problem, on which all methods are tried with the same initial weights."""

    kind: str
    seed: int
    rows: int = 6_000
    epochs: int = 15
    batch: int = 128
    lr: float = 1e-3
    memory: float = 0.5
    warmup: int = 3
    name: str = "mnist"


def try_all(setting, folder, device="cpu", methods=METHODS):
    """Return the share of target rows that each method gets right."""
    import torch

    from experiments.deep._models import LeNet
    from weighbridge import Geodesic
    from weighbridge.torch import DynamicWeights, ImportanceWeightedNet, WeightedNetClassifier

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    images, rng = load(setting.name, folder), np.random.default_rng([7, setting.seed])
    make = getattr(_shifts, setting.kind)
    data = make(images.X, images.y, rng, n_source=setting.rows, n_target=setting.rows)
    found = asdict(setting)
    for method in methods:
        net = WeightedNetClassifier(
            LeNet, optimizer=torch.optim.Adam, lr=setting.lr, max_epochs=setting.epochs,
            batch_size=setting.batch, device=device, random_state=setting.seed,
        )  # fmt: skip
        model, told = net, {}
        if method != "none":
            weighting = Geodesic() if "lam" in method else None
            dynamic = DynamicWeights(
                1, weighting, warmup=setting.warmup, memory=setting.memory
            )  # fmt: skip
            model = ImportanceWeightedNet(
                net, weighting=weighting, dynamic=dynamic if "dynamic" in method else None
            )
            told = {"X_target": data.X_target}
        model.fit(data.X, data.y, **told)
        found[method] = float(np.mean(model.predict(data.X_target) == data.y_target))
        if method != "none":
            found[method + ": weighting"] = str(model.weighting_)
            found[method + ": effective share"] = model.ess_ / len(data.y)
        if "dynamic" in method:
            found[method + ": history"] = [each["ess"] for each in model.dynamic_.history]
            found[method + ": findings"] = [str(each) for each in model.dynamic_.findings()]
    return found


def run(settings, folder, out, workers=2, device="cpu"):
    """Run problems side by side, and append each to the file `out` as a line of JSON."""
    with (
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
        open(out, "a") as file,
    ):
        jobs = [pool.submit(try_all, each, folder, device) for each in settings]
        for job in as_completed(jobs):
            found = job.result()
            file.write(json.dumps(found) + "\n")
            file.flush()
            shown = ", ".join(f"{method} {100 * found[method]:.2f}" for method in METHODS)
            print(f"{found['kind']:9} seed {found['seed']:3}: {shown}", flush=True)
