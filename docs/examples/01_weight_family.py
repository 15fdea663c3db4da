"""
The weight family in one picture
================================

Every weight is a function of one number, the density ratio r. ``lam`` says how far to go from no
weights to the full ratio, and ``alpha`` along which curve.
"""

# %%
# A sample from N(0, 1) and its log density ratios to N(1, 1), with the ratio scaled to mean 1. One
# call gives the weights for the whole grid of candidates.
import matplotlib.pyplot as plt
import numpy as np

from weighbridge.datasets import make_gaussian_shift
from weighbridge.geodesic import log_weight

log_ratio = make_gaussian_shift(1000, 10, shift=1.0, random_state=0).log_ratio
log_ratio -= np.log(np.exp(log_ratio).mean())
alphas = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 3.0])
lam = np.linspace(0, 1, 61)
weights = np.exp(log_weight(log_ratio, lam[:, None], alphas[:, None, None]))
print(weights.shape)

# %%
# Each weighting is a point: the square roots of the rows' shares of the total weight. Two
# coordinates are drawn: the direction from "none" to "full", and the most important one across it.
# Equal distances then mean equally different weights.
points = np.sqrt(weights / weights.sum(axis=-1, keepdims=True))
none, full = points[0, 0], points[0, -1]
deck = (full - none) / np.linalg.norm(full - none)
centred = points - (none + full) / 2
along = centred @ deck
rest = (centred - along[..., None] * deck).reshape(-1, log_ratio.size)
_, values, directions = np.linalg.svd(rest, full_matrices=False)
across = (rest @ directions[0]).reshape(along.shape)
across *= np.sign((across[-1] - across[0]).mean())  # the relative curve is drawn above the others
share = (np.sum(along**2) + values[0] ** 2) / np.sum(centred**2)
print(f"two coordinates keep {share:.1%} of the squared distances")

# %%
# **Left**: the weight at ``lam = 0.5`` against the ratio. At ``alpha > 1`` the weight is capped, at
# ``alpha < 1`` it has a floor, and at ``alpha = 1`` it is a straight line with slope ``lam``.
#
# **Right**: the bridge. All of ``lam = 0`` is one point (no weights), all of ``lam = 1`` another
# (the full ratio). The curves of constant alpha are arches between them, and ``alpha = 0`` is the
# shortest.
names = {-1: ", mixture", 0: ", shortest", 1: ", power (AIWERM)", 3: ", relative (RIWERM)"}
styles = [":", "--", "-.", "-", (0, (5, 1)), (0, (3, 1, 1, 1))]
colours = plt.colormaps["viridis"](np.linspace(0.0, 0.8, alphas.size))
s = np.linspace(-5, 5, 401)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
for i, alpha in enumerate(alphas):
    look = {"linestyle": styles[i], "color": colours[i], "linewidth": 2}
    left.plot(np.exp(s), np.exp(log_weight(s, 0.5, alpha)), **look)
    right.plot(along[i], across[i], label=f"alpha = {alpha:g}{names.get(alpha, '')}", **look)
left.plot(np.exp(s), np.exp(s), color="0.7", linewidth=0.8)
left.axhline(1, color="0.7", linewidth=0.8)
left.annotate("full ratio (IWERM)", (40, 40), ha="right", va="bottom", color="0.4")
left.annotate("none (ERM)", (np.exp(-4.9), 1.08), color="0.4")
left.set(xscale="log", yscale="log", ylim=(0.01, 100), title="Weights at lam = 0.5")
left.set(xlabel="density ratio r", ylabel="weight")
right.plot(along[0, [0, -1]], across[0, [0, -1]], "o", color="#1b1f24")
right.annotate("none ", (along[0, 0], across[0, 0]), ha="right", va="center")
right.annotate(" full", (along[0, -1], across[0, -1]), ha="left", va="center")
right.set(title="The bridge: 1,000 rows of N(0, 1), target N(1, 1)", xticks=[], yticks=[])
right.margins(x=0.12)
right.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, -0.28), ncols=2)
left.spines[["top", "right"]].set_visible(False)
right.spines[:].set_visible(False)
plt.show()
