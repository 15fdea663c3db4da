"""QuaPy's calibrated EMQ on the draws that `run frequencies --export` has written.

    ENVIRONMENT/bin/python benchmarks/kinds/peers/run_quapy.py OUT

Runs in an environment of its own (quapy, abstention). EMQ with bias-corrected temperature scaling
on cross-fitted probabilities and an estimated training prevalence (`EMQ.EMQ_BCTS`), which its
authors found best; base classifier: logistic regression on standardised columns, as for ours.
Writes OUT/quapy/NAME.json: for every draw its estimates, in the order of the classes.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from quapy.method.aggregative import EMQ
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def estimate(X, y, X_target):
    """Return the class frequencies that EMQ finds in the target rows."""
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    method = EMQ.EMQ_BCTS(base, val_split=5, n_jobs=1)
    method.fit(X, y)
    return [float(each) for each in method.predict(X_target)]


def main():
    """Estimate for every file that has no estimates yet."""
    out = Path(sys.argv[1])
    (out / "quapy").mkdir(exist_ok=True)
    for file in sorted((out / "frequencies").glob("*.npz")):
        path = out / "quapy" / f"{file.stem}.json"
        if path.exists():
            continue
        found, started = [], time.process_time()
        with np.load(file) as data, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = data["X"].astype(float), data["y"]
            for seed in range(len(data["frequencies"])):
                source, free = data[f"source{seed}"], data[f"free{seed}"]
                found.append(estimate(X[source], y[source], X[free]))
        seconds = (time.process_time() - started) / len(found)
        content = {"estimates": found, "seconds": seconds, "quapy": version("quapy")}
        path.write_text(json.dumps(content))
        print(file.stem, f"{seconds:.2f} s a draw", flush=True)


if __name__ == "__main__":
    main()
