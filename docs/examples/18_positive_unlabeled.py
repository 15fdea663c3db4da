"""
Only positives are labelled
===========================

Some customers are known to have cancelled; nobody knows which of the others will. And the customers
to decide about next month are not like those of the past.
"""

# %%
# Two features, and a curved boundary. There are 400 rows of the positive class, 1,000 rows whose
# class is unknown, and 1,000 rows of the target, whose first feature is larger on average.
import matplotlib.pyplot as plt
import numpy as np

from weighbridge.model_selection import GridSearch
from weighbridge.positive_unlabeled import PositiveUnlabeled
from weighbridge.weighting import ERM

rng = np.random.default_rng(1)


def is_positive(X):
    return X[:, 1] + rng.normal(0, 0.3, len(X)) > X[:, 0] ** 2 - 1


pool, unlabelled, X_target = (
    rng.normal([c, 0], 1, (n, 2)) for c, n in ((0, 2000), (0, 1000), (1.2, 1000))
)
positive = pool[is_positive(pool)][:400]
truth = is_positive(X_target)
X, y = np.vstack([positive, unlabelled]), np.repeat([1, 0], [len(positive), len(unlabelled)])

# %%
# **How many of the unlabelled rows are positive?** Some positives look like no negative, and there
# a comparison of the two samples gives the answer. The share in the target follows from the ratio.
model = PositiveUnlabeled().fit(X, y, X_target=X_target)
low, high = model.prior_interval_
actual = is_positive(rng.normal(0, 1, (100_000, 2))).mean()
print(f"unlabelled rows {model.prior_:.2f} [{low:.2f}, {high:.2f}], in truth {actual:.2f}")
print(f"target rows     {model.target_prior_:.2f}, in truth {truth.mean():.2f}")

# %%
# **With weights and without.** A line cannot follow the curve; what matters is where it is good,
# and the weights say where. The search compares weightings by the risk on held-out rows, and needs
# no negatives to do so.
models = {
    "no weights": PositiveUnlabeled(weighting=ERM()),
    "RIWERM(0.5), the default": PositiveUnlabeled(),
    "weighting chosen": PositiveUnlabeled(weighting=GridSearch([0, 0.5, 1], [3.0])),
    "Fourier features, no weights": PositiveUnlabeled(features="fourier", weighting=ERM()),
}
fresh = rng.normal(0, 1, (4000, 2))
fresh_positive = fresh[:2000][is_positive(fresh[:2000])]
X_new = np.vstack([fresh_positive, fresh[2000:]])
y_new = np.repeat([1, 0], [len(fresh_positive), 2000])
for name, each in models.items():
    each.fit(X, y, X_target=X_target)
    expect = each.risk(X_new, y_new)
    wrong = np.mean(each.predict(X_target) != truth)
    print(f"{name:30}{wrong:.1%} wrong, expected {expect.value:.1%} ± {expect.standard_error:.1%}")

# %%
# **The picture.** The lines where the score is zero, over the target rows with their labels, which
# no model saw.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*unlabelled.T, s=6, color="0.75", label="unlabelled")
axes[0].scatter(*positive.T, s=6, color="C1", label="positive")
axes[0].set(title="what is known", xlabel="first feature", ylabel="second feature")
axes[1].scatter(*X_target[~truth].T, s=6, color="C0", label="negative")
axes[1].scatter(*X_target[truth].T, s=6, color="C1", label="positive")
axes[1].set(title="the target", xlabel="first feature")
grid = np.stack(np.meshgrid(np.linspace(-3, 4, 200), np.linspace(-3, 4, 200)), axis=-1)
for (name, each), style in zip(list(models.items())[:2], ("--", "-"), strict=True):
    score = each.decision_function(grid.reshape(-1, 2)).reshape(200, 200)
    axes[1].contour(*grid.transpose(2, 0, 1), score, levels=[0], colors="k", linestyles=style)
    axes[1].plot([], [], "k", linestyle=style, label=name)
for ax in axes:
    ax.legend(loc="upper left", fontsize="small")
axes[1].set(xlim=(-3, 4), ylim=(-3, 4))
plt.show()

# %%
# Features that follow the curve need no weights. :doc:`/guide/positive_unlabeled` says what is
# assumed, and what was measured.
