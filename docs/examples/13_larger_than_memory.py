"""
Rows that do not fit into memory
================================

A ratio, weights, diagnostics and a tuned model from two folders of Parquet files, with only a few
blocks in memory at a time. The tables on this page would fit into memory; with ten million rows
each, the code is the same (:doc:`/guide/blocks`).
"""

# %%
# Training patients in three files, and deployment patients, who are older and from a different mix
# of sites, in three more. The columns are numbers and one category; each folder has 120,000 rows.
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

from weighbridge import ImportanceWeightedCV, fit_ratio
from weighbridge.blocks import from_parquet
from weighbridge.diagnostics import balance_table, effective_sample_size
from weighbridge.plotting import BalanceDisplay, WeightDisplay, compute_love
from weighbridge.ratios import ULSIF
from weighbridge.weighting import RIWERM

rng = np.random.default_rng(0)
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)


def write_part(path, mean_age, shares, n=40_000):
    age = rng.normal(mean_age, 9, n)
    pressure = 100 + 0.4 * age + rng.normal(0, 8, n)
    visits = rng.poisson(2, n)
    site = rng.choice(["north", "south", "west"], n, p=shares)
    cost = (age - 40) ** 2 / 50 + 2 * visits + rng.normal(0, 3, n)
    columns = {"age": age, "pressure": pressure, "visits": visits, "site": site, "cost": cost}
    pq.write_table(pa.table(columns), path)


for name, mean_age, shares in (("train", 45, [0.5, 0.3, 0.2]), ("deploy", 51, [0.3, 0.3, 0.4])):
    (folder / name).mkdir()
    for part in range(3):
        write_part(folder / name / f"part-{part}.parquet", mean_age, shares)

# %%
# A folder is one table, here in blocks of 10,000 rows. So far only the number of rows and the
# column names have been read.
features = ["age", "pressure", "visits", "site"]
rows = from_parquet(folder / "train", columns=features, size=10_000)
rows_target = from_parquet(folder / "deploy", columns=features, size=10_000)
print(rows.shape, rows.names)

# %%
# The ratio is learnt from sums over all rows, block by block. The same rows in memory give the same
# ratio.
start = time.perf_counter()
ratio = fit_ratio(rows, rows_target, ULSIF())
log_ratio = ratio.score_samples(rows)
print(f"by blocks {time.perf_counter() - start:.1f} s")

X, X_target = (part.first(part.n_rows) for part in (rows, rows_target))
start = time.perf_counter()
in_memory = fit_ratio(X, X_target, ULSIF()).score_samples(X)
print(f"in memory {time.perf_counter() - start:.1f} s")
print(f"largest difference of the ratios {abs(np.exp(log_ratio) - np.exp(in_memory)).max():.0e}")

# %%
# The weights are one number per row. The balance is again a sum over blocks, and so are the
# effective rows (Kish's effective sample size). The love plot shows each difference before and
# after weighting.
weights = RIWERM(0.8).weights(log_ratio)
balance = balance_table(rows, rows_target, weights)
print(balance)
print(f"{effective_sample_size(weights):,.0f} effective rows of {rows.n_rows:,}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
BalanceDisplay(compute_love(balance)).plot(ax=axes[0])
WeightDisplay.from_weights(weights).plot(ax=axes[1])
plt.show()

# %%
# A ridge regression on the numbers, with its weighting chosen automatically: every candidate and
# fold is scored from sums taken in a few passes. The ratio is estimated from these columns alone.
numbers, numbers_target = (part.select(features[:3]) for part in (rows, rows_target))
cost = from_parquet(folder / "train", columns=["cost"])
model = ImportanceWeightedCV(Ridge(), ULSIF(), random_state=0)
model.fit(numbers, cost, X_target=numbers_target)
print(f"{model.best_weighting_}: {model.reason_}")

# %%
# Here the deployment labels are known. The model predicts block by block.
actual = from_parquet(folder / "deploy", columns=["cost"]).first(rows_target.n_rows)[:, 0]
plain = Ridge().fit(X[features[:3]], cost.first(rows.n_rows)[:, 0])
for name, found in (
    ("no weights", plain.predict(X_target[features[:3]])),
    ("weighted", model.predict(numbers_target)),
):
    print(f"{name:<11} mean squared error in deployment {np.mean((actual - found) ** 2):.1f}")

# %%
# Finally, the weights are written to disk with their rows, block by block.
columns = ["age", "visits"]
schema = pa.schema([("age", pa.float64()), ("visits", pa.float64()), ("weight", pa.float64())])


def with_weight(block):
    return pa.table(dict(zip(columns, block.table.T, strict=True)) | {"weight": block.beside[0]})


with pq.ParquetWriter(folder / "weighted.parquet", schema) as writer:
    for table in rows.select(columns).map(with_weight, weights):
        writer.write_table(table)
print(from_parquet(folder / "weighted.parquet").shape)
temporary.cleanup()
