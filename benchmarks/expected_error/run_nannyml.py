"""NannyML's own guesses for what `run --export` has written; runs in an environment of its own.

    ENVIRONMENT/bin/python benchmarks/expected_error/run_nannyml.py OUT

CBPE gives accuracy, AUC and F1 of two classes, DLE the root mean squared error; all rows of the
target are one chunk. Writes OUT/nannyml.json, which `run` puts beside the others.
"""

import json
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # before it is there

import nannyml
import numpy as np
import pandas as pd

NAMES = {"roc_auc": "AUC", "f1": "F1", "rmse": "RMSE", "accuracy": "error"}


def guesses(data):
    """Return the guesses of one model on one draw, by measure."""
    is_classes = data["said"].ndim == 2
    columns = [f"x{number}" for number in range(data["X"].shape[1])]
    frames = []
    for X, said in ((data["X"], data["said"]), (data["X_target"], data["said_target"])):
        frame = pd.DataFrame(X, columns=columns)
        frame["said"] = said.argmax(axis=1) if is_classes else said
        frames.append(frame.assign(chance=said[:, 1]) if is_classes else frame)
    frames[0]["y"] = data["y"]
    shared = {"y_true": "y", "y_pred": "said", "chunk_number": 1}
    if is_classes:
        names = ["accuracy", "roc_auc", "f1"]
        method = nannyml.CBPE(
            problem_type="classification_binary", y_pred_proba="chance", metrics=names, **shared
        )
    else:
        names = ["rmse"]
        method = nannyml.DLE(feature_column_names=columns, metrics=names, **shared)
    table = method.fit(frames[0]).estimate(frames[1]).filter(period="analysis").to_df()
    found = {NAMES[name]: float(table[name]["value"].iloc[0]) for name in names}
    return found | ({"error": 1 - found["error"]} if is_classes else {})


def main():
    """Guess for every file that has no guesses yet."""
    out = Path(sys.argv[1])
    path = out / "nannyml.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["version"] = version("nannyml")
    for file in sorted((out / "said").glob("*.npz")):
        if file.stem not in found:
            with np.load(file) as data, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[file.stem] = guesses(dict(data))
    path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
