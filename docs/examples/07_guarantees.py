"""
How tight is a learning guarantee?
==================================

Bounds on the gap between the risk on the target and the weighted risk on the source, compared with
the gap itself.
"""

# %%
# Source N(0, 1), target N(1, 1). A model errs on rows above 1.5, and the target has more of those.
# The model was fixed before the rows were drawn; its risk on the target is known, and so is the
# ratio.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from weighbridge.guarantees import bernstein_bound, learning_bound, risk_interval
from weighbridge.weighting import ERM, RIWERM

risk = norm.sf(1.5, loc=1)
rng = np.random.default_rng(0)


def draw(n):
    x = rng.standard_normal(n)
    return x - 0.5, (x > 1.5).astype(float)


# %%
# A thousand rows and their losses give an interval that contains the target risk with probability
# 0.95. No weighting has to be chosen for it.
log_ratio, losses = draw(1000)
low, high = risk_interval(log_ratio, losses)
print(f"target risk {risk:.3f}, interval {low:.3f} to {high:.3f}")

# %%
# Three weightings of the same rows. The gap is the distance from the weighted risk to the target
# risk, and its bound is the distance to the farther end of the interval. Weights other than the
# full ratio have a bias, which no sample size removes.
for name, weighting in {"ERM": ERM(), "RIWERM(.5)": RIWERM(0.5), "RIWERM(.9)": RIWERM(0.9)}.items():
    gap = abs(np.mean(weighting.weights(log_ratio, normalize=False) * losses) - risk)
    bound = bernstein_bound(log_ratio, weighting, losses=losses)
    print(f"{name}: gap {gap:.3f}, bias about {bound.bias:.3f}; {bound}")

# %%
# A model that was fitted to the rows is a different matter: the bound must hold for all models of
# its class at once. It falls like n to the power -3/8.
rows = np.geomspace(100, 100_000, 13).astype(int)
weighting = RIWERM(0.9)
curves = {"gap, RIWERM(.9)": [], "bound, fixed model": [], "bound, all models of a class": []}
for n in rows:
    log_ratio, losses = draw(n)
    gap = abs(np.mean(weighting.weights(log_ratio, normalize=False) * losses) - risk)
    curves["gap, RIWERM(.9)"].append(gap)
    curves["bound, fixed model"].append(bernstein_bound(log_ratio, weighting, losses=losses).value)
    bound = learning_bound(log_ratio, weighting, pseudo_dimension=2, losses=losses, d2=np.e)
    curves["bound, all models of a class"].append(bound.value)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, values in curves.items():
    ax.loglog(rows, values, "o-", label=name)
ax.axhline(1, color="gray", lw=0.8, ls="--")
ax.text(rows[-1], 1.1, "above this line a bound says nothing", color="gray", ha="right")
ax.set(xlabel="source rows", ylabel="gap between target risk and weighted risk")
ax.legend()
plt.show()

# %%
# How often do such bounds fail? The bias in the sample plus the deviation looks like a bound, but
# is not one: with N(2, 1) as the target and a loss of 1 above 0, the sample misses the largest
# ratios, and with them part of the bias.
fails = {"bias + deviation": 0, "value": 0}
for _ in range(200):
    x = rng.standard_normal(2000)
    log_ratio, losses = 2 * x - 2, (x > 0).astype(float)
    bound = bernstein_bound(log_ratio, RIWERM(0.5), losses=losses)
    weights = RIWERM(0.5).weights(log_ratio, normalize=False)
    gap = abs(np.mean(weights * losses) - norm.sf(0, loc=2))
    fails["bias + deviation"] += gap > bound.bias + bound.deviation
    fails["value"] += gap > bound.value
print({name: f"{count / 2:g} % of draws" for name, count in fails.items()})
