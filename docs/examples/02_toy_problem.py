"""
A straight line used on another distribution
============================================

The paper's illustrative example: a straight line fitted to ``y = x**2`` plus noise, and used on
rows from elsewhere. No straight line is right everywhere; which one is best depends on where it is
used.
"""

# %%
# The simulator knows the true ratio and the true error of any line, so only the lines themselves
# are estimated.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from weighbridge import Geodesic, ImportanceWeighted
from weighbridge.datasets import make_quadratic
from weighbridge.exceptions import OverlapWarning

data = make_quadratic(random_state=0)


def fitted(lam, alpha):
    """The line that this weighting fits to the source rows."""
    weighting = Geodesic(lam, alpha)
    model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # full ratio: 32 effective rows
        return model.fit(data.X, data.y)


# %%
# Five weightings of the family and their names in the literature: the error of the line on the
# target, its limit with infinitely many rows, and the effective rows (Kish's effective sample
# size).
points = {
    "none (ERM)": (0.0, 1.0),
    "full (IWERM)": (1.0, 1.0),
    "power (AIWERM)": (0.5, 1.0),
    "relative (RIWERM)": (0.9, 3.0),
    "geodesic (IGIWERM)": (0.8, 2.0),
}
lines = {name: fitted(*point) for name, point in points.items()}
print(f"{'weighting':<20}{'lam':>5}{'alpha':>7}{'target MSE':>12}{'limit':>9}{'rows':>7}")
for name, (lam, alpha) in points.items():
    mse, limit = data.problem.mse(lines[name].estimator_), data.problem.limit(lam, alpha)
    print(f"{name:<20}{lam:>5.2f}{alpha:>7.1f}{mse:>12.2f}{limit:>9.2f}{lines[name].ess_:>7,.0f}")

# %%
# The lines. The labels of the target rows are shown here, but were never used.
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.scatter(data.X, data.y, s=10, facecolor="none", edgecolor="#0b62a8", label="source rows")
axes.scatter(data.X_target, data.y_target, s=10, color="#f3c9a8", label="target rows")
ends = np.percentile(np.r_[data.X, data.X_target], [0.5, 99.5])
for name, model in lines.items():
    axes.plot(ends, model.predict(ends[:, None]), label=name)
bottom, top = np.percentile(np.r_[data.y, data.y_target], [0.5, 99.5])
axes.set(xlabel="x", ylabel="y", xlim=ends, ylim=(bottom - 10, top + 10))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The error on the target falls by a factor of 80 between no weights and the full ratio. At
# ``alpha >= 1`` the first steps bring most of the gain; at ``alpha = 0`` it takes a ``lam`` near 1.
# Dashed: the limit of the same weighting with infinitely many rows. The paper's description of the
# distributions can be read in four ways; ``make_quadratic(reading=...)`` has the others.
lams = np.linspace(0, 1, 21)
errors = {
    alpha: [data.problem.mse(fitted(lam, alpha).estimator_) for lam in lams]
    for alpha in (0, 1, 2, 3)
}
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
floor = data.problem.limit(lam=1)
for alpha, marker in zip(errors, "osD^", strict=True):
    (line,) = axes.plot(lams, errors[alpha], marker, linestyle="-", markersize=4)
    line.set_label(f"alpha = {alpha}")
    limits = [data.problem.limit(lam, alpha) for lam in lams]
    axes.plot(lams, limits, "--", color=line.get_color(), linewidth=1)
axes.axhline(floor, color="0.6", linewidth=0.8)
axes.annotate("no line can do better", (0.02, 0.93 * floor), va="top", color="0.4")
axes.set(xlabel="lam", ylabel="target MSE", yscale="log", ylim=(4, 700))
axes.plot([], [], "--", color="0.3", linewidth=1, label="with infinitely many rows")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
