"""
The whole job: from two tables to a report
==========================================

Two tables, one call. The result answers five questions, and contains the model, a weight for each
row and a report to share. At the command line, the same is
``weighbridge adapt train.csv deploy.csv --label readmitted``.
"""

# %%
# A clinic has four thousand visits with a label, readmitted or not. The model is to be used at
# other sites, whose visits have no labels yet.
import tempfile
from pathlib import Path

from weighbridge import adapt
from weighbridge.adaptation import load_model
from weighbridge.datasets import make_clinic
from weighbridge.plotting import BalanceDisplay, BridgeDisplay

data = make_clinic(random_state=0)
train, deploy = data.X.assign(readmitted=data.y), data.X_target
print(train.head())

# %%
# Nothing needs to be cleaned: categories and missing values are handled, the task is guessed, and
# the result says what was left out.
result = adapt(train, deploy, label="readmitted")
print(result)

# %%
# The verdict rests on the paired change, measured on folds that the choice never saw. Every
# candidate is listed, used or not, with its effective rows (Kish's effective sample size).
for candidate in result.verdict.candidates:
    print(f"{candidate.name:<9} {candidate.risk.estimate}  {candidate.worth:,.0f} effective rows")

# %%
# This simulator knows what happened at the other sites. Did the interval hold?
truth = (result.model.predict(deploy) != data.y_target).mean()
expected = result.verdict.candidate(result.verdict.use).risk.estimate
print(f"expected {expected}, actual {truth:.3f}: {expected.low <= truth <= expected.high}")

# %%
# Weights are in the order of the training table, with mean 1; any estimator can be fitted with
# them.
print(result.weights[:5].round(2))

# %%
# Two charts of the report, drawn with matplotlib. The bridge is a map of all weightings from none
# to the full ratio; where it is blue, the model cannot be told apart from the best of them.
BalanceDisplay.from_numbers(result.pictures.love("tuned")).plot()
BridgeDisplay.from_numbers(result.pictures.bridge).plot()

# %%
# All files at once, each written whole or not at all: the report, the model (a skops file: loading
# it runs no code), the weights, and every number as JSON.
with tempfile.TemporaryDirectory() as folder:
    files = result.save(folder)
    for path in files.values():
        print(Path(path).name, f"{Path(path).stat().st_size / 1000:.0f} kB")
    saved = load_model(files["model"])
print(saved.label, saved.features)
