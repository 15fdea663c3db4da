"""
Choosing lam inside a grid search
=================================

With a frozen ratio an importance-weighted model is an ordinary scikit-learn estimator. Here a
shift is induced in a real data set, and ``lam`` is searched together with a parameter of the model,
by a score that stands for the target.
"""

# %%
# A real data set, split so that source and target differ along a random direction.
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import Geodesic, ImportanceWeighted, fit_ratio, iw_scorer
from weighbridge.datasets import split_by_projection

data = split_by_projection(*load_breast_cancer(return_X_y=True), slope=1, random_state=0)
print(f"{len(data.X)} source rows, {len(data.X_target)} target rows; "
      f"the full ratio is worth {data.ess:.0f} rows")  # fmt: skip

# %%
# The ratio is estimated once, from both samples, and frozen.
ratio = FrozenEstimator(fit_ratio(data.X, data.X_target))
model = ImportanceWeighted(
    make_pipeline(StandardScaler(), LogisticRegression()), ratio, weighting=Geodesic(alpha=3)
)
search = GridSearchCV(
    model,
    {"weighting__lam": [0, 0.4, 0.8], "estimator__logisticregression__C": [0.1, 1, 10]},
    scoring=iw_scorer("neg_log_loss", ratio),
).fit(data.X, data.y)
print(search.best_params_)

# %%
# The labels of the target, never used so far, say how it went. On data where the model is nearly
# right, weights change little: doing nothing is a legal answer.
for name, fitted in (
    ("chosen", search.best_estimator_),
    ("unweighted", model.set_params(weighting__lam=0).fit(data.X, data.y)),
):
    print(f"{name}: accuracy on the target {fitted.score(data.X_target, data.y_target):.3f}")
