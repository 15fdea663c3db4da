"""Do weights still act on a network that fits every row? Losses and lam beyond 1, on digits.

A wide network is trained on scikit-learn's digits until its loss is next to nothing, with the true
ratio as weights: by cross-entropy and by `PolynomialLoss`, with r, and with r to the power 1.5.
"""

import json

import numpy as np
from sklearn.datasets import load_digits

from experiments.deep import _shifts

WAYS = {
    "no weights": ("cross-entropy", 0.0),
    "cross-entropy, r": ("cross-entropy", 1.0),
    "cross-entropy, r^1.5": ("cross-entropy", 1.5),
    "polynomial, no weights": ("polynomial", 0.0),
    "polynomial, r": ("polynomial", 1.0),
    "polynomial, r^1.5": ("polynomial", 1.5),
}
EPOCHS = (10, 300)
ROWS = 600


def train(kind, seed, way):
    """Return target accuracy, training loss and training accuracy after 10 and 300 epochs."""
    import torch

    from experiments.deep._models import Small
    from weighbridge.torch import Beyond, PolynomialLoss

    torch.set_num_threads(1)
    name, lam = WAYS[way]
    digits = load_digits()
    data = getattr(_shifts, kind)(
        digits.images / 16, digits.target, np.random.default_rng([3, seed]), n_source=ROWS,
        n_target=ROWS,
    )  # fmt: skip
    X, X_target = (torch.tensor(each).flatten(1) for each in (data.X, data.X_target))
    y, y_target = torch.tensor(data.y), torch.tensor(data.y_target)
    log_weight = Beyond(lam)(torch.tensor(data.log_ratio))
    weights = (torch.softmax(log_weight, 0) * len(y)).float()
    losses = {"cross-entropy": torch.nn.CrossEntropyLoss, "polynomial": PolynomialLoss}[name]
    losses = losses(reduction="none")
    torch.manual_seed(seed)
    net = Small(X.shape[1], hidden=(256,))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    found = {}
    for epoch in range(1, EPOCHS[-1] + 1):
        for rows in torch.randperm(len(y)).split(64):
            optimizer.zero_grad()
            (weights[rows] * losses(net(X[rows]), y[rows])).mean().backward()
            optimizer.step()
        if epoch in EPOCHS:
            with torch.no_grad():
                output = net(X)
                found[epoch] = {
                    "target": float((net(X_target).argmax(1) == y_target).double().mean()),
                    "loss": float(losses(output, y).mean()),
                    "fitted": float((output.argmax(1) == y).double().mean()),
                }
    return found


def run(out, seeds=range(10)):
    """Train every way on every problem, write all to the file `out`, and print means."""
    found = {
        f"{kind}: {way}": [train(kind, seed, way) for seed in seeds]
        for kind in ("rotated", "thickened")
        for way in WAYS
    }
    out.write_text(json.dumps(found))
    for way, each in found.items():
        for epoch in EPOCHS:
            mean = {key: np.mean([one[epoch][key] for one in each]) for key in each[0][epoch]}
            print(f"{way:35} {epoch:4} epochs: target {mean['target']:.1%}, loss "
                  f"{mean['loss']:.4f}, fitted {mean['fitted']:.1%}")  # fmt: skip
