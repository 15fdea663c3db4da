"""
Choosing lam inside a grid search
=================================

With a frozen ratio an importance-weighted model is an ordinary scikit-learn estimator. Here ``lam``
is searched together with a parameter of the model, by a score that estimates the one on the target.
"""

# %%
# Two classes with a curved boundary, a linear classifier, and a target that lies to the right of
# the source. No line separates the classes everywhere, and the target needs another one.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from weighbridge import Geodesic, ImportanceWeighted, fit_ratio, iw_scorer

rng = np.random.default_rng(0)


def draw(n, centre):
    X = rng.normal((centre, 0.0), (1.0, 1.0), size=(n, 2))
    return X, X[:, 1] + 0.3 * rng.normal(size=n) > np.sin(1.5 * X[:, 0])


X, y = draw(1500, 0.0)
X_target, y_target = draw(1000, 1.8)

# %%
# The ratio is estimated once, from both samples, and frozen. The search sees source rows only.
ratio = FrozenEstimator(fit_ratio(X, X_target))
model = ImportanceWeighted(LogisticRegression(), ratio, weighting=Geodesic(alpha=3))
search = GridSearchCV(
    model,
    {"weighting__lam": [0, 0.4, 0.8, 0.95], "estimator__C": [0.01, 0.1, 1, 10]},
    scoring=iw_scorer("neg_log_loss", ratio),
).fit(X, y)
print(search.best_params_)

# %%
# The target labels, not used so far, show how well it did.
unweighted = LogisticRegression().fit(X, y)
chosen = search.best_estimator_
for name, fitted in (("unweighted", unweighted), ("chosen", chosen)):
    print(f"{name}: accuracy on the target {fitted.score(X_target, y_target):.3f}")

# %%
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.scatter(*X.T, s=8, facecolor="none", edgecolor="#0b62a8", linewidth=0.5, label="source")
axes.scatter(*X_target.T, s=8, color="#b5480a", alpha=0.5, label="target")
x = np.linspace(-3, 5, 200)
axes.plot(x, np.sin(1.5 * x), color="0.4", linewidth=1, label="true boundary")
for name, fitted, style in (("unweighted", unweighted, "--"), ("chosen", chosen.estimator_, "-")):
    (a, b), c = fitted.coef_[0], fitted.intercept_[0]
    axes.plot(x, -(a * x + c) / b, style, color="#0a6b50", linewidth=2, label=name)
axes.set(xlim=(-3, 5), ylim=(-3, 3))
axes.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.1))
axes.spines[["top", "right"]].set_visible(False)
plt.show()
