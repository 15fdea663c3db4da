"""
Intervals that hold on the target
=================================

A straight line fitted to a parabola, used where its errors are larger than where it was fitted.
Conformal intervals take that into account if they know the ratio.
"""

# %%
# Source N(0, 1), target N(1, 1). The ratio is estimated from the two samples.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from weighbridge.conformal import ConformalRegressor
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import KnownRatio

rng = np.random.default_rng(0)


def draw(n, mean):
    X = rng.normal(mean, 1, (n, 1))
    return X, X[:, 0] ** 2 + 0.5 * rng.normal(size=n)


X, y = draw(1000, 0)
X_target, y_target = draw(1000, 1)
no_shift = KnownRatio(lambda X: np.zeros(len(X)))
scale = RandomForestRegressor(100, min_samples_leaf=20, random_state=0)
line = LinearRegression()
models = {
    "without weights": ConformalRegressor(line, no_shift, random_state=0).fit(X, y),
    "weighted": ConformalRegressor(line, random_state=0).fit(X, y, X_target=X_target),
    "weighted and scaled": ConformalRegressor(line, scale=scale, random_state=0).fit(
        X, y, X_target=X_target
    ),
}

# %%
# What they promise, and what they deliver. The calibration rows are the same; weights leave fewer
# effective rows (Kish's effective sample size).
for name, model in models.items():
    low, high = model.predict_interval(X_target).T
    print(f"{name}: {np.mean((low <= y_target) & (y_target <= high)):.1%} of the labels inside")
    print(model.report(X_target))

# %%
# The intervals at 0.9 coverage. Without weights they fit the source, in grey, and miss the target.
# With weights they are as wide as the target needs, and infinite far to the right, where the
# calibration rows give no answer. A model of the size of the error makes them wide only where the
# line is wrong.
grid = np.linspace(-3, 4.5, 400)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    low, high = np.clip(model.predict_interval(grid), -15, 25).T
    ax.fill_between(grid[:, 0], low, high, color="#0a6b50", alpha=0.2, label="interval")
    ax.plot(grid[:, 0], model.predict(grid), color="#0a6b50")
    ax.plot(X[:300, 0], y[:300], ".", color="0.6", ms=4, label="source")
    ax.plot(X_target[:300, 0], y_target[:300], ".", color="#b5480a", ms=4, label="target")
    ax.set(title=name, xlabel="x", ylim=(-10, 20))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("y")
axes[0].legend(frameon=False, loc="upper left")
plt.show()

# %%
# Ten calibration rows cannot say where nine tenths of the errors on a distant target lie. The
# answer is an infinite interval and a warning, not a number.
far = KnownRatio(lambda X: 3 * X[:, 0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", OverlapWarning)
    few = ConformalRegressor(line, far, calibration_size=10, random_state=0).fit(X, y)
print(few.report(draw(1000, 3)[0]))
print(caught[0].message)
