"""
No shift
========

Random halves of one table: what the verdict says when there is nothing to find, and what a p-value
means.
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

from weighbridge import assess
from weighbridge.datasets import make_clinic
from weighbridge.diagnostics import two_sample_test
from weighbridge.plotting import BalanceDisplay

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
# The two-sample test asks how unusual the difference is. It splits the rows into two tables at
# random, 199 times, and counts how often the difference is as large as the observed one. Without a
# shift all p-values are equally likely: 5 in 100 are 0.05 or less even though there is nothing to
# find.
rng = np.random.default_rng(1)
p_values = []
for _ in range(60):
    rows = rng.permutation(2000)[:600]
    test = two_sample_test(data.X.iloc[rows[:300]], data.X.iloc[rows[300:]], random_state=0)
    p_values.append(test.p_value)
print(f"{np.mean(np.array(p_values) <= 0.05):.0%} of 60 random splits have p <= 0.05")

# %%
# With a real shift (patients at other sites, 300 rows each) the p-values pile up at the smallest
# possible value, 1/200.
shifted = []
for _ in range(20):
    source, target = rng.permutation(2000)[:300], rng.permutation(1000)[:300]
    test = two_sample_test(data.X.iloc[source], data.X_target.iloc[target], random_state=0)
    shifted.append(test.p_value)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, found, line in (("random splits", p_values, "-"), ("other sites", shifted, "--")):
    heights = np.arange(1, len(found) + 1) / len(found)
    ax.step([0, *np.sort(found), 1], [0, *heights, 1], line, where="post", label=name)
ax.plot([0, 1], [0, 1], ":", color="gray", label="all p-values equally likely")
ax.set(xlabel="p-value", ylabel="share of tests with this p-value or less")
ax.legend(loc="lower right")
plt.show()

# %%
# A small p-value says that two tables differ, not that the difference matters: with many rows every
# difference is found. So the verdict depends on the size of the difference, and "no shift found" is
# an answer you can act on: do nothing.
