"""
A straight line for another distribution
========================================

The paper's illustrative example: a straight line fitted to ``y = x**2`` plus noise, and used on
rows from somewhere else. No straight line is right everywhere; which one is best depends on where
it is used.
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


def target_mse(lam, alpha):
    """True error of the line that this weighting fits to the source rows."""
    weighting = Geodesic(lam, alpha)
    model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # full ratio: 32 effective rows (Kish)
        return data.problem.mse(model.fit(data.X, data.y).estimator_)


lams = np.linspace(0, 1, 21)
errors = {alpha: [target_mse(lam, alpha) for lam in lams] for alpha in (0, 1, 2, 3)}

# %%
# The error on the target falls by a factor of 80 between no weights and the full ratio. At
# ``alpha >= 1`` the first steps gain most of it; ``alpha = 0`` needs nearly all of ``lam``. Dashed:
# the limit of the same weighting with infinitely many rows.
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
