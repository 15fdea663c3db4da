"""
Choosing lam inside a grid search
=================================

``for_target`` makes an importance-weighted model an ordinary scikit-learn estimator. Here ``lam``
is searched together with a parameter of the model, by an estimate of the score on the target.
"""

# %%
# Two classes with a curved boundary, a linear classifier, and a target that lies to the right of
# the source. No line separates the classes everywhere, and the target needs a different line.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from weighbridge import Geodesic, for_target

rng = np.random.default_rng(0)


def draw(n, centre):
    X = rng.normal((centre, 0.0), (1.0, 1.0), size=(n, 2))
    return X, X[:, 1] + 0.3 * rng.normal(size=n) > np.sin(1.5 * X[:, 0])


X, y = draw(1500, 0.0)
X_target, y_target = draw(1000, 1.8)

# %%
# The ratio is estimated once, from both samples. Then every fit is weighted by it, and so is every
# held-out score; the search itself sees source rows only.
search = GridSearchCV(
    **for_target(
        LogisticRegression(),
        X,
        X_target,
        scoring="neg_log_loss",
        weighting=Geodesic(alpha=3),
    ),
    param_grid={"weighting__lam": [0, 0.4, 0.8, 0.95], "estimator__C": [0.01, 0.1, 1, 10]},
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
