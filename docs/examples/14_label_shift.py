"""
The mix of classes changes
==========================

Handwritten digits, all equally frequent in training. In deployment they are the first digits of
amounts, where ones are more than six times as frequent as nines. What a one looks like has not
changed.
"""

# %%
# scikit-learn's digits, without zeros, seen by a bad camera: 4 by 4 pixels and noise. First digits
# of amounts follow Benford's law. Training and deployment share no image.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import ImportanceWeighted, assess

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images, digits = images[digits > 0], digits[digits > 0]
coarse = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
benford = np.log10(1 + 1 / np.arange(1, 10))
order = rng.permutation(digits.size)
train, rest = order[:900], order[900:]
chance = (benford / np.bincount(digits[rest])[1:])[digits[rest] - 1]
deploy = rng.choice(rest, 600, p=chance / chance.sum())


def photograph(rows):
    return coarse[rows] + rng.normal(0, 1.5, (rows.size, 16))


X, y = photograph(train), digits[train]
X_target, y_target = photograph(deploy), digits[deploy]

# %%
# **Detected.** Nothing in the call says that the mix changed; it is the usual one:
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
verdict = assess(model, X, y, X_target, random_state=0)
print(verdict)

# %%
# The first line says what changed, and then what to do. Held-out rows decided it: one number for
# each digit tells the two tables apart better than a coin toss, by ``gain`` standard errors, and
# the best rival explanation does no better (``against`` is negative).
kind = verdict.report.label_shift
print(f"{kind.kind}: gain {kind.gain:.1f}, against {kind.against:.1f} ({kind.rival})")

# %%
# How frequent each digit is in deployment is estimated with an interval. The labels, which have not
# been used so far, show how close it is.
found = kind.frequencies
actual = np.bincount(y_target, minlength=10)[1:] / y_target.size
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
middle, ends = np.array(found.target), np.array([found.low, found.high])
ax.errorbar(found.classes, middle, abs(ends - middle), fmt="o", capsize=4, label="estimated, 95 %")
ax.plot(found.classes, actual, "kx", label="actual")
ax.plot(found.classes, found.source, "_", color="gray", markersize=16, label="training")
ax.set(xlabel="digit", ylabel="share of the rows", xticks=found.classes, ylim=(0, None))
ax.legend()
plt.show()

# %%
# **Acted on.** ``verdict.model`` is fitted with one weight for each digit. If the model cannot be
# fitted again, its probabilities can still be multiplied by the weights of the classes. Weights by
# features assume that a given picture is a one as often as before, which is no longer true.
plain = model.fit(X, y)
by_features = ImportanceWeighted(model).fit(X, y, X_target=X_target)
models = {
    "no weights": plain,
    "weights by features": by_features,
    "weights by class": verdict.model,
}
predictions = {name: each.predict(X_target) for name, each in models.items()}
corrected = plain.predict_proba(X_target) * found.weights
predictions["probabilities corrected"] = plain.classes_[corrected.argmax(axis=1)]

# %%
# **The truth.**
for name, predicted in predictions.items():
    print(f"{name:24}{np.mean(predicted != y_target):.1%} wrong")
expect = verdict.expect
print(f"{'expected':24}{expect.value:.1%} [{expect.low:.1%}, {expect.high:.1%}]")

# %%
# The remaining errors are due to the camera. :doc:`/guide/kinds` says how the kind is detected, and
# :doc:`/gallery/15_which_kind` has problems of other kinds.
