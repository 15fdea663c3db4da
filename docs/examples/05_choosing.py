"""
Choosing the weighting
======================

A straight line fitted to a parabola: how lam and alpha are chosen, what the choice looks like, and
when the answer is not to weight.
"""

# %%
# The paper's toy problem. All candidates are fitted together, so the whole surface is available.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

from weighbridge import ImportanceWeightedCV
from weighbridge.datasets import make_quadratic
from weighbridge.exceptions import OverlapWarning
from weighbridge.model_selection import BayesianSearch
from weighbridge.plotting import BridgeDisplay

data = make_quadratic(reading="all_sd", random_state=0)
model = ImportanceWeightedCV(LinearRegression(), random_state=0)
model.fit(data.X, data.y, X_target=data.X_target)
print(model.search_result_)
print("made of", [(str(weighting), round(share, 2)) for weighting, share in model.mixture_])
print("because", model.reason_)

# %%
# Many candidates cannot be told apart from the best: those whose paired difference from the best is
# within two standard errors are blue.
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
# For a support vector machine every candidate costs one fit per fold. By default three are tried:
# no weights, the full ratio and RIWERM(0.5). A longer search is made on request: here at most 15
# evaluations, the named points first, then where a Gaussian process expects the largest
# improvement. The machine is flexible, so there is little to gain from weights, and ``reason_``
# says whether it is enough.
machine = ImportanceWeightedCV(SVR(C=10), search=BayesianSearch(15), random_state=0)
machine.fit(data.X[:400], data.y[:400], X_target=data.X_target)
BridgeDisplay.from_estimator(machine, path=True)
plt.show()
print("made of", [(str(weighting), round(share, 2)) for weighting, share in machine.mixture_])
print("because", machine.reason_)

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
