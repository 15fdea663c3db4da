"""
Which kind of shift is it?
==========================

Three deployments of one training table: the features changed, the mix of classes changed, and a
case in which the rows cannot tell. What is said about each, what is done, and what is true.
"""

# %%
# A made-up clinic, where a fifth of the patients are ill. The ill have a fever; their pulse races
# if they are young, and slows down if they are old. The model is linear, and cannot follow that.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import assess

rng = np.random.default_rng(4)


def patients(n, share):
    """Draw patients, a share of them ill."""
    ill = rng.uniform(size=n) < share
    age = rng.uniform(20, 80, n)
    table = {
        "age": age,
        "fever": 37 + 0.9 * ill + rng.normal(0, 0.6, n),
        "pulse": 70 + ill * (50 - age) + rng.normal(0, 9, n),
    }
    return pd.DataFrame(table), np.where(ill, "ill", "well")


X, y = patients(1500, 0.2)
many, labels = patients(6000, 0.2)
old = np.flatnonzero(rng.uniform(size=6000) < 1 / (1 + np.exp((60 - many.age) / 5)))[:800]
deployments = {
    "a care home": (many.iloc[old], labels[old]),
    "the flu season": patients(800, 0.6),
    "a small practice": patients(200, 0.45),
}

# %%
# **Detected.** ``gain`` says how much better class frequencies explain the difference than no shift
# at all, and ``against`` how much better the best rival explanation is than class frequencies, both
# in standard errors.
model = make_pipeline(StandardScaler(), LogisticRegression())
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
verdicts = {}
for name, (table, _) in deployments.items():
    verdicts[name] = assess(model, X, y, table, random_state=0)
    kind = verdicts[name].report.label_shift
    print(f"{name}: {kind.kind} (gain {kind.gain:.1f}, against {kind.against:.1f})")
    print(f"  {kind}")

# %%
# Of these two features, only age moves in the first case. In the second, fever moves, because more
# of the patients are ill. In the third it may have moved a little.
fig, axes = plt.subplots(2, 3, figsize=(9, 5), sharex="row", sharey="row", layout="constrained")
for column, (name, (table, _)) in zip(axes.T, deployments.items(), strict=True):
    for ax, feature in zip(column, ("age", "fever"), strict=True):
        bins = np.histogram_bin_edges(X[feature], 12)
        ax.hist(X[feature], bins, density=True, color="0.8", label="training")
        ax.hist(table[feature], bins, density=True, histtype="step", lw=2, label="deployment")
        ax.set(xlabel=feature, yticks=[])
    column[0].set_title(f"{name}: {verdicts[name].report.label_shift.kind}", fontsize="medium")
axes[0, 0].legend(fontsize="small")
plt.show()

# %%
# **Acted on.** Weights by features in the first case; in the second, one weight for the ill and one
# for the well. The deployment labels, which were not used, show what that was worth.
for name, (table, known) in deployments.items():
    before, after = (
        np.mean(each.predict(table) != known) for each in (plain, verdicts[name].model)
    )
    print(f"{name}: {verdicts[name].sentence}")
    print(f"  actual error {before:.1%} without weights, {after:.1%} with the model to use")

# %%
# **Unclear.** In the small practice something has changed, but 200 rows do not say what. The
# weights tried are those by features, which gain nothing here. Below the table is what to expect if
# the mix changed: more errors without weights, and something to gain.
print(verdicts["a small practice"])

# %%
# Both answers are given, and a person decides. Anyone who knows that the flu has arrived can say
# so; nobody else should until some patients have been diagnosed.
table, known = deployments["a small practice"]
told = assess(model, X, y, table, shift="label", random_state=0)
print(told.sentence)
print(f"actual error {np.mean(told.model.predict(table) != known):.1%}")
