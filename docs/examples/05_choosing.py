"""
Choosing the weighting
======================

A straight line fitted to a parabola: how lam and alpha are chosen, what the choice looks like, and
when the answer is not to weight.
"""

# %%
# The paper's toy problem. By default four weightings are compared.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

from weighbridge import ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.exceptions import OverlapWarning
from weighbridge.model_selection import BayesianSearch, GridSearch
from weighbridge.plotting import BridgeDisplay

data = make_quadratic(reading="all_sd", random_state=0)
model = ImportanceWeightedCV(LinearRegression(), random_state=0)
model.fit(data.X, data.y, X_target=data.X_target)
print(model.search_result_)
print(model.best_weighting_)
print(model.reason_)

# %%
# A candidate costs one small fit here, so a fine grid is cheap. Many candidates are not
# significantly worse than the best: those whose paired difference is within two standard errors
# are blue.
model.set_params(search=GridSearch(lam=21, alpha=5)).fit(data.X, data.y, X_target=data.X_target)
alike = model.search_result_.not_worse(z=2)
print(f"{alike.sum()} of {alike.size} candidates are within two standard errors of the best")
BridgeDisplay.from_estimator(model, chart="rectangle")
plt.show()

# %%
# The bridge places the same candidates by their weights: equal distances mean equally different
# weights. The left end is no weights, the right end the full ratio.
BridgeDisplay.from_estimator(model)
plt.show()

# %%
# For a support vector machine every candidate costs one fit per fold. This search makes at most 15
# evaluations: the named points first, then where a Gaussian process expects the largest
# improvement. The machine is flexible, so there is little to gain from weights, and ``reason_``
# says whether it is enough.
machine = ImportanceWeightedCV(SVR(C=10), search=BayesianSearch(15), random_state=0)
machine.fit(data.X[:400], data.y[:400], X_target=data.X_target)
BridgeDisplay.from_estimator(machine, path=True)
plt.show()
print(machine.best_weighting_)
print(machine.reason_)

# %%
# Where the target lies outside the source, no weighting can be judged, and no weights are used.
rng = np.random.default_rng(0)
X, X_target = rng.normal(0, 1, (300, 2)), rng.normal(6, 1, (300, 2))
y = X[:, 0] ** 2 + rng.normal(size=300)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", OverlapWarning)
    apart = ImportanceWeightedCV(LinearRegression(), random_state=0).fit(X, y, X_target=X_target)
print(apart.overlap_, apart.best_weighting_)
print(caught[-1].message)
