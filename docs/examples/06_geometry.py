"""
The geometry of the weights
===========================

Curves from a source to a target distribution: how long they are, how they bend, and what that says
about a weighting.
"""

# %%
# Two normal distributions. For ``alpha`` other than 1 the weighted density is not normal; the curve
# is drawn through the normal distributions with the same mean and variance.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from weighbridge.datasets import make_gaussian_shift
from weighbridge.geodesic import excess_length, path_length, remaining_length
from weighbridge.manifolds import (
    Categorical,
    Gamma,
    Normal,
    VonMises,
    fisher_rao_distance,
    geodesic,
    geometric_bias,
    projected_curve,
)

family = Normal()
source, target = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
lam = np.unique(np.r_[np.linspace(0, 1, 41), expit(np.linspace(-14, 14, 80))])
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for alpha, name in ((-1, "mixture"), (0, "shortest"), (1, "AIWERM"), (3, "RIWERM")):
    curve = [family.usual(t) for t in projected_curve(family, source, target, lam, alpha).theta]
    ax.plot(
        [each["mean"] for each in curve],
        [each["sd"] for each in curve],
        label=f"alpha = {alpha}, {name}",
    )
within = [family.usual(t) for t in geodesic(family, source, target, 0, np.linspace(0, 1, 41))]
ax.plot(
    [each["mean"] for each in within],
    [each["sd"] for each in within],
    "k:",
    label="shortest within the family",
)
ax.set(xlabel="mean", ylabel="standard deviation")
ax.legend()
plt.show()
distance = fisher_rao_distance(family, source, target)
print("Fisher-Rao distance within the family:", round(distance, 4))

# %%
# Geodesics of the alpha-connection stay in the family. In mean and variance they are parabolas; the
# one for ``alpha = 3`` would need negative variances, so no such geodesic exists here.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for alpha in (-3, -1, 0, 1, 2):
    curve = [family.usual(t) for t in geodesic(family, source, target, alpha, lam)]
    ax.plot(
        [each["mean"] for each in curve],
        [each["sd"] ** 2 for each in curve],
        label=f"alpha = {alpha}",
    )
mean = np.linspace(0, 2, 101)
ax.plot(mean, 1 - 0.375 * mean - mean * (2 - mean), "k--", lw=1, label="alpha = 3: no geodesic")
ax.axhspan(-0.5, 0, color="0.9")
ax.set(xlabel="mean", ylabel="variance", ylim=(-0.5, None))
fig.legend(loc="outside right upper")
plt.show()

# %%
# The paper's two biases at ``lam = 0.5``: the distance left along the curve, and the curvature of
# the alpha-connection, which vanishes for AIWERM (``alpha = 1``) and for the mixture
# (``alpha = -1``). The target is nearer now, and RIWERM (``alpha = 3``) has a geodesic to it.
near = family.theta(mean=1, sd=0.5)
for alpha in (-1, 0, 1, 3):
    bias = geometric_bias(family, source, near, 0.5, alpha)
    numbers = f"geodesic {bias.geodesic:g}, curvature {bias.curvature:.3f}"
    print(f"alpha = {alpha:2}: {numbers}, vector {bias.vector.round(3)}")
print(geometric_bias(family, source, target, 0.5, 3).reason)

# %%
# How curved are the families? Normal distributions have the same curvature everywhere; gamma and
# von Mises distributions do not.
shape = np.geomspace(0.05, 50, 60)
gamma = [Gamma().scalar_curvature(Gamma().theta(shape=s, rate=1), 0) for s in shape]
mises = [VonMises().scalar_curvature(VonMises().theta(mean=0, concentration=s), 0) for s in shape]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.semilogx(shape, gamma, label="gamma, by shape")
ax.semilogx(shape, mises, label="von Mises, by concentration")
ax.axhline(-1, color="black", lw=0.8, label="normal")
ax.axhline(0.5, color="gray", lw=0.8, ls="--", label="three categories")
ax.set(xlabel="parameter", ylabel="scalar curvature")
ax.legend()
plt.show()
three = Categorical(3)
print(round(three.scalar_curvature(three.theta([0.2, 0.3, 0.5]), 0), 9))

# %%
# For a sample, log ratios are enough. The longer a curve is than the shortest one, the more of it
# passes through distributions that are like neither source nor target.
data = make_gaussian_shift(2000, 2000, random_state=0)
alphas = np.linspace(-3, 5, 33)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].plot(alphas, path_length(data.log_ratio, alphas))
axes[0].set(xlabel="alpha", ylabel="length of the curve")
steps = np.linspace(0, 1, 21)
for alpha in (1.0, 3.0):
    axes[1].plot(steps, remaining_length(data.log_ratio, steps, alpha), label=f"alpha = {alpha:g}")
axes[1].set(xlabel="lam", ylabel="remaining length")
axes[1].legend()
plt.show()
print("excess of AIWERM and RIWERM:", excess_length(data.log_ratio, [1.0, 3.0]).round(3))
