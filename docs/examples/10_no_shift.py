"""
No shift
========

Random halves of one table: what the verdict says when there is nothing to find, and what the
interval of the AUC means.
"""

# %%
# One table, split into two at random. Whatever differs between the halves differs by chance.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from weighbridge import assess, diagnose
from weighbridge.datasets import make_clinic
from weighbridge.plotting import BalanceDisplay
from weighbridge.ratios import KnownRatio

data = make_clinic(2000, 1000, random_state=0)
halves = np.random.default_rng(0).permutation(2000).reshape(2, 1000)
X, y, X_target = data.X.iloc[halves[0]], data.y[halves[0]], data.X.iloc[halves[1]]
columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression())
verdict = assess(model, X, y, X_target, random_state=0)
print(verdict)

# %%
# Nothing was tuned, and the model is the one you would have trained anyway. The other half's labels
# are known here:
actual = (verdict.model.predict(X_target) != data.y[halves[1]]).mean()
expect = verdict.expect
print(f"actual error {actual:.1%}, expected between {expect.low:.1%} and {expect.high:.1%}")

# %%
# The features differ a little, as in any two samples, but every difference lies within the grey
# band.
BalanceDisplay.from_samples(X, X_target).plot()
plt.show()

# %%
# The AUC of a classifier that tells the rows of two tables apart measures the difference. Without a
# shift it is 1/2, and its 95 % interval contains 1/2 for 95 of 100 random splits. A known ratio of
# 1 saves the time to estimate one.
even = KnownRatio(lambda X: np.zeros(len(X)))
rng = np.random.default_rng(1)
splits = []
for _ in range(60):
    rows = rng.permutation(2000)[:600]
    splits.append(diagnose(even, data.X.iloc[rows[:300]], data.X.iloc[rows[300:]]).auc)
covered = np.mean([auc.low <= 0.5 <= auc.high for auc in splits])
print(f"{covered:.0%} of 60 intervals contain 0.5")

# %%
# With a real shift (patients at other sites, 300 rows each) every interval lies above 1/2.
shifted = []
for _ in range(20):
    source, target = rng.permutation(2000)[:300], rng.permutation(1000)[:300]
    shifted.append(diagnose(even, data.X.iloc[source], data.X_target.iloc[target]).auc)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for label, aucs in (("random splits", splits[:20]), ("other sites", shifted)):
    values = np.array([auc.value for auc in aucs])
    ends = np.abs(values - [[auc.low for auc in aucs], [auc.high for auc in aucs]])
    ax.errorbar(np.arange(20), values, ends, fmt="o", markersize=4, label=label)
ax.axhline(0.5, linestyle=":", color="gray")
ax.set(xlabel="pair of tables", ylabel="AUC with its 95 % interval")
ax.legend(loc="center right")
plt.show()

# %%
# An interval above 1/2 says that two tables differ, not that the difference matters: with many rows
# every difference is found. So the verdict depends on the size of the difference, and "no shift
# found" is an answer you can act on: do nothing.
