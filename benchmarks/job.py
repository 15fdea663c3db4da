"""The whole job at the command line: seconds, memory and sizes of files.

    python -m benchmarks.job [PART ...]

Parts: `start` (--help, --version, a usage error, the first line), `demo`, `adapt` (the demo's
tables, and an unfamiliar pair of 30,000 x 15 with categories and gaps), `diagnose` (100,000 +
100,000 x 20), `large` (weights and predictions for 1,000,000 x 20 deployment rows), `pages` (size
of the report for 20 and for 2,000 features), `reading` (CSV of 200,000 x 10, beside pandas alone),
`install` (packages and megabytes of the extra `cli`), `whole` (CPU seconds of whole jobs in one
thread, 2,000 to 500,000 rows x 13 mixed columns, 500 columns, no overlap, boosting, beside one
plain fit of the same model, with the number of its fits; ten minutes), `left` (how true the time
left is: its ratio to the true one, after a tenth of the job).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks._record import record
from weighbridge.datasets import make_clinic

COMMAND = Path(sysconfig.get_path("scripts")) / "weighbridge"


def timed(*words, folder, threads=None):
    """Run the command; seconds until the first line and until the end, and the peak of memory."""
    limits = {} if threads is None else {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **limits, "PYTHONUNBUFFERED": "1"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [COMMAND, *map(str, words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    line = process.stdout.readline()
    first = time.perf_counter() - start
    text = line + process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    return {
        "command": " ".join(map(str, words)),
        "exit": os.waitstatus_to_exitcode(status),
        "first_line": round(first, 3),
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "megabytes": round(usage.ru_maxrss / 1024),
        "verdict": next(
            (each for each in text.splitlines() if "error" in each or "hift" in each), ""
        ),
    }


def repeated(*words, folder, times=5):
    """The fastest of several runs: what else the machine does is not the point."""
    return min((timed(*words, folder=folder) for _ in range(times)), key=lambda run: run["seconds"])


def unfamiliar(n, seed, *, labels):
    """Draw people and their loans: 15 columns, six of them categories, four with gaps."""
    rng = np.random.default_rng(seed)
    older = 0.0 if labels else 0.6
    age = np.clip(rng.normal(40 + 9 * older, 12, n), 18, 90).round()
    chances = [0.3, 0.25, 0.2, 0.2, 0.05] if labels else [0.2, 0.15, 0.2, 0.4, 0.05]
    region = rng.choice(["coast", "hills", "plain", "city", "islands"], n, p=chances)
    income = np.exp(rng.normal(10.3 + 0.2 * older + 0.005 * age, 0.5, n)).round(2)
    debt = np.exp(rng.normal(8.5 + 0.3 * older, 1.1, n)).round(2)
    job = rng.choice(["farm", "office", "shop", "school", "care", "none", "other"], n)
    score = rng.normal(600 + 0.5 * age, 60, n).round()
    columns = {
        "age": age,
        "region": region,
        "income": np.where(rng.uniform(size=n) < 0.04 + 0.05 * older, np.nan, income),
        "debt": debt,
        "job": job,
        "score": np.where(rng.uniform(size=n) < 0.1, np.nan, score),
        "children": rng.poisson(1.2, n),
        "owns_home": rng.choice(["yes", "no"], n),
        "years_here": np.clip(rng.exponential(6, n), 0, 60).round(1),
        "loans": rng.poisson(0.8 + 0.4 * older, n),
        "purpose": rng.choice(["car", "house", "study", "other", None], n),
        "phone": rng.choice(["landline", "mobile"], n, p=[0.3, 0.7]),
        "contact": rng.choice(["letter", "mail", "call"], n),
        "rate": np.where(rng.uniform(size=n) < 0.02, np.nan, rng.uniform(1, 12, n).round(2)),
        "late": rng.poisson(0.3, n),
    }
    if labels:
        risk = (
            -2
            + 0.0006 * (age - 45) ** 2
            + 0.4 * np.log(debt / income + 0.05)
            + 0.5 * columns["late"]
        )
        columns["default"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    return pd.DataFrame(columns)


def wide(n, d, seed, shift):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)).astype(np.float32).round(4)
    values[:, 0] += shift
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(d)])


def start(folder):
    return [
        repeated(*words, folder=folder)
        for words in (["--help"], ["--version"], ["adapt", "--help"], ["adapt"], ["adpat"])
    ]


def demo(folder):
    return [repeated("demo", folder=folder, times=3)]


def adapt(folder):
    data = make_clinic(random_state=0)
    data.X.assign(readmitted=data.y).to_csv(folder / "train.csv", index=False)
    data.X_target.to_csv(folder / "deploy.csv", index=False)
    unfamiliar(30_000, 1, labels=True).to_csv(folder / "loans.csv", index=False)
    unfamiliar(30_000, 2, labels=False).to_csv(folder / "new_loans.csv", index=False)
    found = [
        timed("adapt", "train.csv", "deploy.csv", "--label", "readmitted", folder=folder),
        timed(
            "adapt",
            "loans.csv",
            "new_loans.csv",
            "--label",
            "default",
            "--out",
            "loans",
            folder=folder,
        ),
    ]
    found[-1]["result"] = json.loads((folder / "loans/result.json").read_text())["verdict"]
    found[-1]["files"] = {path.name: path.stat().st_size for path in (folder / "loans").iterdir()}
    return found


def diagnose(folder):
    wide(100_000, 20, 1, 0).to_csv(folder / "a.csv", index=False)
    wide(100_000, 20, 2, 0.5).to_csv(folder / "b.csv", index=False)
    return [timed("diagnose", "a.csv", "b.csv", folder=folder)]


def large(folder):
    train = wide(20_000, 20, 1, 0)
    rng = np.random.default_rng(3)
    train["y"] = (train["x0"] ** 2 + rng.normal(size=len(train)) > 1).astype(int)
    train.to_csv(folder / "train.csv", index=False)
    wide(1_000_000, 20, 2, 0.5).to_csv(folder / "deploy.csv", index=False)
    model = "weighbridge-out/model.skops"
    return [
        timed("adapt", "train.csv", "deploy.csv", "--label", "y", folder=folder),
        timed("weights", "train.csv", "deploy.csv", "--drop", "y", "--out", "w.csv", folder=folder),
        timed("weights", "deploy.csv", "train.csv", "--out", "w1.csv", folder=folder),
        timed("predict", model, "deploy.csv", "--out", "p.csv", folder=folder),
    ]


def pages(folder):
    found = []
    for d in (20, 2_000):
        train = wide(300, d, 1, 0)
        train["y"] = (train["x1"] > 0).astype(int)
        train.to_csv(folder / "train.csv", index=False)
        wide(300, d, 2, 1.0).to_csv(folder / "deploy.csv", index=False)
        run = timed(
            "adapt", "train.csv", "deploy.csv", "--label", "y", "--out", f"d{d}", folder=folder
        )
        found.append({**run, "report": (folder / f"d{d}/report.html").stat().st_size})
    return found


def reading(folder):
    """CPU seconds to read a table, checks included, and of pandas alone; the fastest of five."""
    from weighbridge._tables import read_table

    path = folder / "a.csv"
    wide(200_000, 10, 1, 0).to_csv(path, index=False)

    def seconds(read):
        start = time.process_time()
        read()
        return time.process_time() - start

    readers = {"weighbridge": lambda: read_table(path)}
    readers["pandas"] = lambda: pd.read_csv(path)
    fastest = {name: min(seconds(read) for _ in range(5)) for name, read in readers.items()}
    return [{name: round(value, 3) for name, value in fastest.items()}]


def install(folder):
    """Packages that `pip install "weighbridge[cli]"` brings beyond those of the library alone."""
    root = Path(__file__).parents[1]
    sizes = {}
    for extra in ("", "[cli]"):
        target = folder / f"env{len(sizes)}"
        subprocess.run([sys.executable, "-m", "venv", target], check=True)
        pip = [target / "bin/python", "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", f"{root}{extra}"], check=True)
        listed = subprocess.run([*pip, "list", "--format", "json"], capture_output=True, check=True)
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        sizes[extra] = (sorted(each["name"] for each in json.loads(listed.stdout)), size)
    (names, size), (more, larger) = sizes[""], sizes["[cli]"]
    return [
        {"new": [each for each in more if each not in names], "megabytes": (larger - size) / 1e6}
    ]


def mixed(folder, n, m):
    """Write a pair of 13 columns, four of them categories, four with gaps."""
    for name, size, seed, labels in (("train", n, 1, True), ("deploy", m, 2, False)):
        table = unfamiliar(size, seed, labels=labels).drop(columns=["contact", "late"])
        table.to_csv(folder / f"{name}.csv", index=False)
    return "default"


def numbers(folder, n, m, d, shift, moved):
    """Write a pair of numbers alone, some columns of which have moved."""
    train, deploy = wide(n, d, 1, 0), wide(m, d, 2, 0)
    deploy.iloc[:, :moved] += shift
    noise = np.random.default_rng(3).normal(size=n)
    train["y"] = (train["x0"] + train["x1"] ** 2 + noise > 1).astype(int)
    train.to_csv(folder / "train.csv", index=False)
    deploy.to_csv(folder / "deploy.csv", index=False)
    return "y"


# name: what writes the tables, and further words of the command
JOBS = {
    "2,000 + 2,000 x 13": (lambda folder: mixed(folder, 2_000, 2_000), []),
    "6,000 + 4,000 x 13": (lambda folder: mixed(folder, 6_000, 4_000), []),
    "33,000 + 16,000 x 13": (lambda folder: mixed(folder, 33_000, 16_000), []),
    "50,000 + 50,000 x 13": (lambda folder: mixed(folder, 50_000, 50_000), []),
    "500,000 + 500,000 x 13": (lambda folder: mixed(folder, 500_000, 500_000), []),
    "1,500 + 1,000 x 500": (lambda folder: numbers(folder, 1_500, 1_000, 500, 0.5, 5), []),
    "1,500 + 1,000 x 5,000": (lambda folder: numbers(folder, 1_500, 1_000, 5_000, 0.5, 5), []),
    "3,300 + 2,300 x 128, no overlap": (
        lambda folder: numbers(folder, 3_300, 2_300, 128, 6.0, 128),
        [],
    ),
    "boosting, 5,000 + 5,000 x 13": (
        lambda folder: mixed(folder, 5_000, 5_000),
        ["--model", "boosting"],
    ),
}


def plain_fit(folder, label, boosting):
    """CPU seconds of one fit of the model to the training table."""
    from sklearn.compose import make_column_selector as columns_of
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = pd.read_csv(folder / "train.csv")
    X, y = table.drop(columns=label), table[label]
    scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    model = make_pipeline(
        make_column_transformer(
            ("passthrough" if boosting else scaled, columns_of(dtype_include="number")),
            (
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                columns_of(dtype_exclude="number"),
            ),
        ),
        HistGradientBoostingClassifier() if boosting else LogisticRegression(max_iter=1000),
    )
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def whole(folder):
    found = []
    with threadpool_limits(1):
        for name, (write, words) in JOBS.items():
            label = write(folder)
            tables = ("train.csv", "deploy.csv", "--label", label, "--out", "out", "--force")
            run = timed("adapt", *tables, *words, folder=folder, threads=1)
            run["stages"] = json.loads((folder / "out/result.json").read_text())["timing"]
            run["plain_fit"] = round(plain_fit(folder, label, bool(words)), 3)
            found.append({"job": name, **run})
            print(json.dumps(found[-1]), flush=True)
    return found


def left(folder):
    """Ratios of the time left, as it is said, to the true one; and fits of the boosting job."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from weighbridge._findings import Stages
    from weighbridge.adaptation import Settings, run

    class Listener(Stages):
        wants_news = True

        def __init__(self):
            super().__init__()
            self.said = []

        def __call__(self, stage, done, total):
            super().__call__(stage, done, total)
            self.said.append((time.monotonic(), self.left()))

    found = []
    for name in ("6,000 + 4,000 x 13", "33,000 + 16,000 x 13", "boosting, 5,000 + 5,000 x 13"):
        write, words = JOBS[name]
        settings = Settings(label=write(folder), models=tuple(words[1:]) or ("linear",))
        fits, fit = [], HistGradientBoostingClassifier.fit

        @wraps(fit)
        def counted(self, *arguments, fit=fit, fits=fits, **options):
            fits.append(self.max_leaf_nodes)
            return fit(self, *arguments, **options)

        HistGradientBoostingClassifier.fit = counted
        listener, start = Listener(), time.monotonic()
        run(str(folder / "train.csv"), str(folder / "deploy.csv"), settings, progress=listener)
        end, HistGradientBoostingClassifier.fit = time.monotonic(), fit
        ratios = [
            said / (end - at)
            for at, said in listener.said
            if said is not None and 0.1 <= (at - start) / (end - start) <= 0.95
        ]
        # the model's own trees have more leaves than those that tell samples and classes apart
        own = sum(leaves > 8 for leaves in fits)
        found.append({"job": name, "least": min(ratios), "most": max(ratios), "fits": own})
    return found


PARTS = {
    each.__name__: each
    for each in (start, demo, adapt, diagnose, large, pages, reading, install, whole, left)
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[*PARTS], metavar="PART")
    figures = {}
    for name in parser.parse_args().parts:
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = PARTS[name](Path(folder))
        print(name, json.dumps(figures[name], indent=1), flush=True)
    figures["peak_megabytes_of_any_child"] = (
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    )
    record("job", figures)


if __name__ == "__main__":
    main()
