"""Symmetric label noise: weights by the losses of a few clean rows (Fang et al. 2020).

Four tenths of the training labels of Fashion-MNIST are drawn anew among the other classes. A
thousand clean rows, kept apart from training, say what losses should look like. Compared are no
weights, `DynamicWeights` on losses, and the exact solution of each batch's quadratic programme.
"""

import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np

from experiments.deep._data import load

METHODS = ("exact", "dynamic", "none")
CLEAN = 1_000
LAST = 10  # epochs whose mean accuracy is reported


@dataclass(frozen=True)
class Setting:
    """One training."""

    method: str
    seed: int
    name: str = "fashion"
    share: float = 0.4  # of the labels that are wrong
    epochs: int = 90
    batch: int = 256
    lr: float = 1e-3
    memory: float = 0.97
    lam: float = 5.0
    steps: int = 5
    divergence: str = "kmm"
    rows: int | None = None


def noisy(images, setting):
    """Return training rows with wrong labels and clean rows, disjoint: X, y, X_clean, y_clean."""
    rng = np.random.default_rng([23, setting.seed])
    order = rng.permutation(len(images.y))[: setting.rows]
    clean, train = order[:CLEAN], order[CLEAN:]
    y = images.y[train].copy()
    wrong = rng.random(y.size) < setting.share
    y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.sum())) % 10
    return images.X[train], y, images.X[clean], images.y[clean]


def train(setting, folder, device="cuda"):
    """Train LeNet; return the accuracy on test rows after each epoch, and the seconds."""
    import torch

    from experiments.deep._models import LeNet
    from weighbridge.torch import Beyond, DynamicWeights

    torch.set_num_threads(1)
    images = load(setting.name, folder)
    X, y, X_clean, y_clean = noisy(images, setting)
    X, X_clean, X_test = (
        torch.tensor(each, device=device)[:, None].float() / 255
        for each in (X, X_clean, images.X_test)
    )
    y, y_clean, y_test = (torch.tensor(e, device=device) for e in (y, y_clean, images.y_test))
    torch.manual_seed(setting.seed)
    net = LeNet().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=setting.lr)
    options = {"on": "losses", "memory": setting.memory}
    if setting.method == "exact":
        dynamic = exact_dynamic()(len(X), lambda log_ratio: setting.lam * log_ratio, **options)
    else:
        options |= {"steps": setting.steps, "divergence": setting.divergence}
        dynamic = DynamicWeights(len(X), Beyond(setting.lam), **options)
    dynamic = dynamic.to(device)
    row_losses = torch.nn.CrossEntropyLoss(reduction="none")
    accuracy, began = [], time.perf_counter()
    for _ in range(setting.epochs):
        for rows in torch.randperm(len(X), device=device).split(setting.batch):
            losses = row_losses(net(X[rows]), y[rows])
            weights = 1.0
            if setting.method != "none":
                some = torch.randint(CLEAN, (setting.batch,), device=device)
                with torch.no_grad():
                    clean = row_losses(net(X_clean[some]), y_clean[some])
                weights = dynamic(rows, losses, clean)
            optimizer.zero_grad()
            (weights * losses).mean().backward()
            optimizer.step()
        dynamic.end_epoch()
        with torch.no_grad():
            said = torch.cat([net(part).argmax(1) for part in X_test.split(5_000)])
            accuracy.append(float((said == y_test).double().mean()))
    found = {**asdict(setting), "accuracy": accuracy, "seconds": time.perf_counter() - began}
    if setting.method != "none":
        found["ess"] = [record["ess"] / len(X) for record in dynamic.history]
        found["findings"] = [str(each) for each in dynamic.findings()]
    return found


def exact_dynamic():
    """Return dynamic weights that solve every programme to the end; all else is the same."""
    from weighbridge.torch import DynamicWeights

    class Exact(DynamicWeights):
        def _solve(self, source, target, old):
            return exact_weights(source[:, 0], target[:, 0])

    return Exact


def exact_weights(losses, clean, bound=1e6, ridge=0.01):
    """Solve the quadratic programme of `batch_weights` by an interior-point method."""
    import piqp
    import torch

    z, z_target = (each.detach().double().cpu().numpy() for each in (losses, clean))
    both = np.concatenate([z, z_target])
    width = both.var()  # half of the mean squared distance of two rows
    among = np.exp(-((z[:, None] - z) ** 2) / (2 * width))
    wanted = np.exp(-((z[:, None] - z_target) ** 2) / (2 * width)).mean(1)
    n = z.size
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.setup(
        P=among / n**2 + ridge / n * np.eye(n), c=-wanted / n, A=np.full((1, n), 1 / n),
        b=np.ones(1), x_l=np.zeros(n), x_u=np.full(n, bound),
    )  # fmt: skip
    if solver.solve() != piqp.PIQP_SOLVED:
        raise RuntimeError("the quadratic programme of a batch was not solved")
    return torch.tensor(solver.result.x, dtype=losses.dtype, device=losses.device)


def run(settings, folder, out, workers=9, device="cuda"):
    """Run trainings side by side, and append each to the file `out` as a line of JSON."""
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool, open(out, "a") as file:
        jobs = [pool.submit(train, each, folder, device) for each in settings]
        for job in as_completed(jobs):
            found = job.result()
            file.write(json.dumps(found) + "\n")
            file.flush()
            last = 100 * np.mean(found["accuracy"][-LAST:])
            print(f"{found['method']:8} seed {found['seed']:3} lam {found['lam']:g} memory "
                  f"{found['memory']} {found['divergence']} last {last:.2f} best "
                  f"{100 * max(found['accuracy']):.2f} ({found['seconds']:.0f} s)")  # fmt: skip
