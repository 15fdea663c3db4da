"""
An information criterion for any smooth loss
============================================

A model that was fitted to some rows looks better on them than it is. The information criterion adds
what is missing to the weighted mean of their losses, and needs no other rows.
"""

# %%
# **A likelihood from scikit-learn.** Numbers of faults of a part, by load. Their mean is not quite
# log-linear, and parts in use carry more load than those on the test bench; the ratio is known.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import gammaln
from sklearn.linear_model import PoissonRegressor

from weighbridge.model_selection import InformationCriterion, information_criterion
from weighbridge.weighting import ERM, IWERM, RIWERM

rng = np.random.default_rng(0)


def parts(n, load):
    """Draw loads around a mean, and numbers of faults."""
    x = rng.normal(load, 1.0, n)
    return x[:, None], rng.poisson(np.exp(0.3 * x + np.tanh(x) ** 2))


shift = 0.7
X, y = parts(1500, 0.0)
X_target, y_target = parts(100_000, shift)  # the labels are only a check, below
log_ratio = shift * X[:, 0] - shift**2 / 2

model = PoissonRegressor(alpha=0.0)
found, true = {}, {}
for name, weighting in {"ERM": ERM(), "RIWERM": RIWERM(0.5), "IWERM": IWERM()}.items():
    log_weight = weighting(log_ratio)
    found[name] = InformationCriterion()(model, X, y, log_ratio, log_weight)
    mean = model.fit(X, y, sample_weight=np.exp(log_weight)).predict(X_target)
    true[name] = np.mean(mean - y_target * np.log(mean) + gammaln(y_target + 1))
    value, error = found[name].value, found[name].standard_error
    print(f"{name:6} {value:.3f} +- {error:.3f}, on the target {true[name]:.3f}")

# %%
# The standard errors are as large as the differences, but all three come from the same rows:
# paired, the difference is clear.
gain = found["ERM"] - found["IWERM"]
print(f"IWERM gains {gain.value:.3f} +- {gain.standard_error:.3f}")

# %%
# **A loss of your own.** Any smooth loss will do: here times until failure under a Weibull
# distribution whose log scale is linear in the load, with its log shape as a third parameter.
# Newton's method finds the weighted fit; losses, gradients and Hessians at the fit are all that is
# needed.
times = rng.gamma(2.0, np.exp(1 - 0.3 * X[:, 0] - np.tanh(X[:, 0]) ** 2) / 2)
Z = np.column_stack([np.ones(times.size), X[:, 0]])


def weibull(theta):
    """Losses, gradients and Hessians of each row in (intercept, slope, log shape)."""
    shape = np.exp(theta[2])
    u = np.log(times) - Z @ theta[:2]
    power = np.exp(shape * u)
    losses = power - theta[2] - shape * u + np.log(times)
    in_eta, in_shape = shape * (1 - power), shape * u * (power - 1) - 1
    mixed = shape * (1 - power - shape * u * power)
    corner = shape * u * (power - 1) + (shape * u) ** 2 * power
    hessians = np.empty((times.size, 3, 3))
    hessians[:, :2, :2] = (shape**2 * power)[:, None, None] * Z[:, :, None] * Z[:, None, :]
    hessians[:, :2, 2] = hessians[:, 2, :2] = mixed[:, None] * Z
    hessians[:, 2, 2] = corner
    return losses, np.column_stack([in_eta[:, None] * Z, in_shape]), hessians


theta = np.array([np.log(times.mean()), 0.0, 0.0])
for name, weighting in {"ERM": ERM(), "IWERM": IWERM()}.items():
    log_weight = weighting(log_ratio)
    for _ in range(30):
        _, gradients, hessians = weibull(theta)
        w = np.exp(log_weight)
        theta = theta - np.linalg.solve(np.tensordot(w, hessians, 1), w @ gradients)
    scores = information_criterion(*weibull(theta), log_ratio, log_weight)
    print(f"{name:6} {scores.value:.3f}, {scores.effective_parameters:.1f} effective parameters")

# %%
# The criterion beside the truth, for the three weightings of the first part.
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
places = np.arange(3)
axes.plot(places - 0.1, [each.value for each in found.values()], "o", label="criterion")
axes.plot(places + 0.1, list(true.values()), "s", label="on the target")
axes.set_xticks(places, list(found))
axes.set_ylabel("negative log likelihood")
_ = axes.legend()
