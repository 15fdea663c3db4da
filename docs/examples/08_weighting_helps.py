"""
A shift that weighting fixes
============================

A clinic's model moves to other sites with older patients. Is there a shift? Does weighting help?
What error should you expect? And was that right?
"""

# %%
# The simulated tables have numbers and categories, missing values, and a label rule that no
# straight line follows: it is the young and the old who are readmitted. A line fitted to the young
# slopes the wrong way for the old.
import matplotlib.pyplot as plt
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from weighbridge import assess
from weighbridge.datasets import make_clinic
from weighbridge.plotting import BalanceDisplay, RiskDisplay, ShiftDisplay, WeightDisplay

data = make_clinic(random_state=0)
X, y, X_target = data.X, data.y, data.X_target
columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression())

# %%
# One call answers five questions. It has not seen any label from the other sites.
verdict = assess(model, X, y, X_target, random_state=0)
print(verdict)

# %%
# The error to expect with each weighting. The intervals of the errors on the left may overlap; the
# decision rests on the change on the right, which is measured row by row.
RiskDisplay.from_verdict(verdict).plot()
plt.show()

# %%
# Where the tables differ, and what is left of the differences after weighting. A difference below
# 0.1 is usually taken as balanced.
BalanceDisplay.from_report(verdict.report).plot()
plt.show()

# %%
# The same for single features: weighted training rows should follow deployment. They do so for age,
# for the sites, and for blood pressure, which merely follows age.
weights = verdict.model.weights_
ShiftDisplay.from_samples(X, X_target, weights, features=["age", "site", "sys_bp"]).plot()
plt.show()

# %%
# The price: some rows count many times over, and most count for little. The curve shows how few
# rows carry how much of the weight.
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
display = WeightDisplay.from_estimator(verdict.model)
display.plot(ax=axes[0])
display.plot("lorenz", ax=axes[1])
plt.show()

# %%
# Was it right? Here the deployment labels are known.
plain = (model.fit(X, y).predict(X_target) != data.y_target).mean()
actual = (verdict.model.predict(X_target) != data.y_target).mean()
for name, error in (("none", plain), (verdict.use, actual)):
    low, high = verdict.candidate(name).risk.interval
    inside = "holds it" if low <= error <= high else "misses it"
    print(f"{name}: actual error {error:.1%}, the interval {low:.1%} to {high:.1%} {inside}")

# %%
# One data set proves little about an interval; :doc:`/guide/target_risk` says how often it holds
# over many data sets. And if the relation between features and label were different at the other
# sites, nothing above would have shown it: label a few rows there to check.
