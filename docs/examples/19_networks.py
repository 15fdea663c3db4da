"""
A network for rotated images
============================

A network has learnt to read digits that are mostly upright. The ones to read now are rotated. The
density ratio of the two samples is estimated in the features that the network itself has learnt.
"""

# %%
# scikit-learn's digits, each rotated by an angle that is drawn around 0 degrees in training and
# around 40 degrees in deployment. Both have all angles, so weights can work; the deployment labels
# are used only as a check.
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from weighbridge.torch import DynamicWeights, ImportanceWeightedNet, WeightedNetClassifier

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.target))
source, target = order[:900], order[900:]
angle = rng.normal(0, 25, len(order))
angle[target] += 40


def turned(rows):
    images = [rotate(digits.images[i], angle[i], reshape=False, order=1) for i in rows]
    return np.array(images, dtype=np.float32).reshape(len(rows), -1) / 16


X, y = turned(source), digits.target[source]
X_target, y_target = turned(target), digits.target[target]

fig, axes = plt.subplots(2, 8, figsize=(7.5, 2.2), layout="constrained")
for row, images, name in zip(axes, (X, X_target), ("training", "deployment"), strict=True):
    for ax, image in zip(row, images, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# **A network with row weights.** Any torch module will do. ``WeightedNetClassifier`` is a skorch
# net whose ``fit`` takes ``sample_weight``.


class Reader(torch.nn.Sequential):
    def __init__(self):
        super().__init__(
            torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.ReLU(),
            torch.nn.Linear(32, 10),
        )  # fmt: skip


def net():
    return WeightedNetClassifier(
        Reader, optimizer=torch.optim.Adam, lr=0.003, batch_size=64, max_epochs=40, random_state=0
    )


# %%
# **Three ways.** No weights; the last layer refitted with weights, which is the default; and
# weights that are estimated afresh in every batch while the network learns.
models = {
    "no weights": net().fit(X, y),
    "last layer weighted": ImportanceWeightedNet(net()).fit(X, y, X_target=X_target),
    "dynamic weights": ImportanceWeightedNet(net(), dynamic=DynamicWeights(len(X))).fit(
        X, y, X_target=X_target
    ),
}
for name, model in models.items():
    print(f"{name:20}{model.score(X_target, y_target):.1%} of the deployment digits read correctly")

# %%
# How the choice was made, and what the weights look like: rotated rows count for more.
weighted = models["last layer weighted"]
print(weighted.weighting_, "because:", weighted.choice_.reason_)
dynamic = models["dynamic weights"].dynamic_
worth = dynamic.history[-1]["ess"]
print(f"effective rows, last epoch: {worth:.0f} of {len(dynamic.weight)} trained on")
print(dynamic.findings() or "nothing is wrong with them")

centres = np.arange(-50, 51, 20)
near = np.abs(angle[source][:, None] - centres).argmin(1)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ratio = np.exp(weighted.log_ratio_)
ax.bar(centres, [ratio[near == k].mean() for k in range(len(centres))], width=16, color="C0")
ax.axhline(1, color="0.5", linewidth=1)
ax.set(xlabel="angle of a training row (degrees)", ylabel="mean estimated ratio")
plt.show()
