"""
Where weighting cannot help
===========================

Two cases where the right answer is not to weight: samples that do not overlap because of one
column, and a model that needs no weights.
"""

# %%
# **Samples that do not overlap.** The other sites have newer devices, and somebody put the software
# version into the table. No training row has version 3, so no training row is like a deployment
# row.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from weighbridge import assess
from weighbridge.datasets import make_clinic
from weighbridge.plotting import BalanceDisplay, RiskDisplay

data = make_clinic(1500, 800, random_state=0)
rng = np.random.default_rng(0)
X = data.X.assign(device=rng.choice(["v1", "v2"], 1500))
X_target = data.X_target.assign(device="v3")
columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression())
apart = assess(model, X, data.y, X_target, random_state=0)
print(apart)

# %%
# No number is invented. The finding names the column, and the picture shows it: the arrow marks an
# infinite difference, a level that only one table has.
BalanceDisplay.from_samples(X, X_target, max_rows=8).plot()
plt.show()

# %%
# Does the version describe the patients? No: the software does not make anybody ill. Drop it from
# both tables, and the question can be answered.
fixed = assess(
    model,
    X.drop(columns="device"),
    data.y,
    X_target.drop(columns="device"),
    candidates=["none", "full", "tuned"],
    random_state=0,
)
print(fixed.sentence)

# %%
# If it did describe the patients, say a new kind of patient, dropping it would only hide the
# problem. Then you need deployment labels.
#
# **A model that needs no weights.** The response is linear in the features, and so is the model.
# All features move by half a standard deviation, yet the line is right wherever it is used.
rng = np.random.default_rng(0)
X, X_target = rng.normal(size=(500, 3)), rng.normal(0.5, 1, size=(500, 3))
y = X @ [1.0, -1.0, 0.5] + rng.normal(size=500)
right = assess(LinearRegression(), X, y, X_target, random_state=0)
print(right)

# %%
# The full ratio throws rows away and gains nothing. The tuned weighting notices this, and uses no
# weights.
RiskDisplay.from_verdict(right).plot()
plt.show()

# %%
# A shift alone is no reason to weight; a model that is wrong where it will be used is one.
