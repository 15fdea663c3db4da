"""
Estimating a density ratio
==========================

Two samples of one feature, with a known density ratio, so every estimate can be compared with the
truth.
"""

# %%
# The target has two bumps on top of a wide source: no straight line or parabola follows the ratio.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from weighbridge import fit_ratio
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    ClassifierRatio,
    GaussianRatio,
    NearestNeighbourRatio,
)

rng = np.random.default_rng(0)
X = rng.normal(0, 1.5, size=(1500, 1))
X_target = rng.normal(rng.choice([-1.2, 1.2], size=1000), 0.4)[:, None]

x = np.linspace(-4, 4, 400)[:, None]
bumps = norm(-1.2, 0.4).pdf(x[:, 0]) / 2 + norm(1.2, 0.4).pdf(x[:, 0]) / 2
true = bumps / norm(0, 1.5).pdf(x[:, 0])

# %%
# The default compares a few candidates on held-out rows and says which it chose and why.
auto = fit_ratio(X, X_target)
print(auto.table_)

# %%
# All ratio estimators have the same two methods, ``fit`` and ``score_samples``.
ratios = {
    f"AutoRatio ({auto.chosen_})": auto,
    "ULSIF": fit_ratio(X, X_target, ULSIF()),
    "KLIEP": fit_ratio(X, X_target, KLIEP()),
    "KMM": fit_ratio(X, X_target, KMM()),
    "NearestNeighbourRatio": fit_ratio(X, X_target, NearestNeighbourRatio()),
    "ULSIF(relative=0.5)": fit_ratio(X, X_target, ULSIF(relative=0.5)),
    "ClassifierRatio (quadratic)": fit_ratio(X, X_target, ClassifierRatio()),
    "GaussianRatio": fit_ratio(X, X_target, GaussianRatio()),
}
figure, axes = plt.subplots(2, 4, figsize=(11, 5), sharex=True, sharey=True, layout="constrained")
for axis, (name, ratio) in zip(axes.flat, ratios.items(), strict=True):
    aim = true / (0.5 * true + 0.5) if "relative" in name else true
    label = "true relative ratio" if "relative" in name else "true ratio"
    axis.plot(x, aim, color="0.6", linewidth=3, label=label)
    axis.plot(x, np.exp(ratio.score_samples(x)), color="#0b62a8", label="estimate")
    axis.set_title(name, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
for axis in (axes[0, 0], axes[1, 1]):
    axis.legend(frameon=False, loc="upper center", fontsize=8)
axes[0, 0].set_ylim(0, 5)
figure.supxlabel("x")
figure.supylabel("ratio")
plt.show()

# %%
# The last two cannot do better: a parabola in log space has one bump. The relative ratio estimates
# a different curve, bounded by 2, which is the weight of ``Geodesic(lam=0.5, alpha=3)``. The two
# plain ULSIF curves differ because their kernels sit at different target rows, drawn with another
# seed.
