"""
How tight is a learning guarantee?
==================================

Bounds on the gap between the risk on the target and the weighted risk on the source, compared with
the gap itself.
"""

# %%
# Source N(0, 1), target N(1, 1). Some model errs on rows above 1.5, and the target has more of
# those. Its risk on the target is known, and so is the ratio.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from weighbridge.guarantees import bernstein_bound, learning_bound
from weighbridge.weighting import IWERM, RIWERM

risk = norm.sf(1.5, loc=1)
rng = np.random.default_rng(0)


def draw(n):
    x = rng.standard_normal(n)
    return x - 0.5, (x > 1.5).astype(float)


# %%
# Three weightings of the same thousand rows. The gap is what the weighted risk misses; the bounds
# hold with probability 0.95. Weights other than the full ratio have a bias, which no sample
# removes.
log_ratio, losses = draw(1000)
weightings = {"IWERM": IWERM(), "RIWERM(0.5)": RIWERM(0.5), "RIWERM(0.9)": RIWERM(0.9)}
for name, weighting in weightings.items():
    gap = abs(np.mean(weighting.weights(log_ratio, normalize=False) * losses) - risk)
    bound = learning_bound(log_ratio, weighting, pseudo_dimension=2, losses=losses, d2=np.e)
    print(f"{name}: gap {gap:.3f}, {bound}")

# %%
# The full ratio is unbounded, and its bound falls like n to the power -3/8. With bounded weights
# Bernstein's inequality gives a usable number much earlier, down to the bias.
rows = np.geomspace(100, 100_000, 13).astype(int)
curves = {"gap, RIWERM(0.9)": [], "any weights": [], "bounded weights": []}
for n in rows:
    log_ratio, losses = draw(n)
    weighting = RIWERM(0.9)
    gap = abs(np.mean(weighting.weights(log_ratio, normalize=False) * losses) - risk)
    curves["gap, RIWERM(0.9)"].append(gap)
    bound = learning_bound(log_ratio, weighting, pseudo_dimension=2, losses=losses, d2=np.e)
    curves["any weights"].append(bound.value)
    curves["bounded weights"].append(bernstein_bound(log_ratio, weighting, losses=losses).value)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, values in curves.items():
    ax.loglog(rows, values, "o-", label=name)
ax.axhline(1, color="gray", lw=0.8, ls="--")
ax.text(rows[-1], 1.1, "above this line a bound says nothing", color="gray", ha="right")
ax.set(xlabel="source rows", ylabel="gap between target risk and weighted risk")
ax.legend()
plt.show()
