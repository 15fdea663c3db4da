"""
A few labels
============

The relation between features and label has changed. Features cannot show it. A hundred labels can;
they also say what the error is, and may help to repair the model.
"""

# %%
# A made-up machine that sorts parts. Parts break if they are hot and shaken, and the model has
# learnt how much they can stand. In deployment the parts come from another supplier: they are
# shaken a little more, and can stand much less.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from weighbridge import adapt

rng = np.random.default_rng(0)


def parts(n, shaken, stands):
    """Draw parts; how much they can stand decides whether they break."""
    heat, shake = rng.normal(0, 1, n), rng.normal(shaken, 1, n)
    broken = heat + shake + rng.normal(0, 0.7, n) > stands
    return pd.DataFrame({"heat": heat, "shake": shake}), np.where(broken, "broken", "whole")


X, y = parts(1500, 0.0, 1.0)
X_target, y_target = parts(1000, 0.4, 0.0)
train = X.assign(state=y)

# %%
# **Without labels** there is a shift in the features, it seems to matter little, and the model is
# kept. The line *Assumed* says what this rests on: the same relation in both tables.
blind = adapt(train, X_target, label="state")
print(blind)

# %%
# **With a hundred labels.** ``weighbridge label`` draws the rows to label, and writes them to a
# file. Here they are drawn at random; the labels of all other rows stay blank.
some = rng.choice(1000, 100, replace=False)
labels = np.full(1000, None, dtype=object)
labels[some] = y_target[some]
deploy = X_target.assign(state=labels)
known = adapt(train, deploy, label="state", pool=True)
print(known)

# %%
# The first line now says what is wrong, and *Matters* splits the change: how much of it comes from
# different rows, which the features show, and how much from a changed relation, which only labels
# show. The error is estimated from the labels and the forecast together; what the labels alone say
# is kept alongside. All labels are known here, so both can be compared with the truth.
told = known.actual["none"]
truth = np.mean(blind.model.predict(X_target) != y_target)
shown = {
    "forecast, no labels": blind.verdict.expect,
    "100 labels alone": told.alone,
    "100 labels and the forecast": told,
}
fig, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
for place, each in enumerate(shown.values()):
    ax.plot([each.low, each.high], [place, place], "C0", lw=2)
    ax.plot(each.value, place, "C0o")
ax.axvline(truth, color="k", ls="--", label="actual, all labels")
ax.set(yticks=range(3), yticklabels=shown, xlabel="share of errors", ylim=(2.5, -0.5))
ax.legend()
plt.show()

# %%
# **What to do.** No weights can correct a changed relation: train with deployment labels. That is
# what ``pool=True`` asked for. The labelled rows join the training rows, each counting as several,
# if held-out ones among them show that this helps:
print(f"each of {known.pooled['labels']} labelled rows counts as {known.pooled['counts']:.0f}")
rest = np.setdiff1d(np.arange(1000), some)
for name, model in (("without them", blind.model), ("with them", known.model)):
    wrong = model.predict(X_target.iloc[rest]) != y_target[rest]
    print(f"{name:14}{wrong.mean():.1%} of the other rows wrong")
