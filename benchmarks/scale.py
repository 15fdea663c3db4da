"""Large tables through their own engines: seconds and memory beside what cannot be avoided.

    python -m benchmarks.scale [parquet] [spark] [--rows N] [--folder FOLDER]

parquet  A ratio of N + N rows of 8 numbers in Parquet files (10 million each), and a file with the
         weight of every source row. The floor, in a process of its own: read the source twice and
         the target once, predict each source row once by the fitted ratio, write the file.
spark    2 million rows: `with_column` with the weights of a ratio beside one that returns a
         constant, both written by Spark's no-op sink (needs what `make test-engines` needs).
"""

import argparse
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._record import best_of, record

ROWS = 10_000_000
SPARK_ROWS = 2_000_000
COLUMNS = 8
FILE_ROWS = 1_000_000
SHIFT = 0.5
NAMES = [f"x{column}" for column in range(COLUMNS)]
MEAN = np.full(COLUMNS, SHIFT / np.sqrt(COLUMNS))


def make_files(folder, rows):
    """Write both samples, a million rows a file, unless they are there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, mean in (("source", 0.0), ("target", MEAN)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(-(-rows // FILE_ROWS)):
            path = folder / name / f"{number:04d}.parquet"
            if path.exists():
                continue
            rng = np.random.default_rng([number, name == "target"])
            size = min(FILE_ROWS, rows - number * FILE_ROWS)
            X = rng.standard_normal((size, COLUMNS)) + mean
            table = pa.table(dict(zip(NAMES, X.T, strict=True)))
            pq.write_table(table, path.with_suffix(".new"), compression="none")
            path.with_suffix(".new").rename(path)


class Weights:
    """The plain ratio as a weight of mean 1, a function of a data frame."""

    def __init__(self, ratio, X):
        self.ratio = ratio
        self.log_mean = float(np.log(np.exp(ratio.score_samples(X)).mean()))

    def __call__(self, table):
        return np.exp(self.ratio.score_samples(table) - self.log_mean)


def ours(folder):
    """Fit the ratio to samples, and write the weights of all source rows."""
    import pyarrow.parquet as pq

    from weighbridge import fit_ratio
    from weighbridge.engines import sample, with_column

    start = time.perf_counter()
    source, target = folder / "source", folder / "target"
    X, X_target = sample(source), sample(target)
    sampled = time.perf_counter()
    weights = Weights(fit_ratio(X, X_target), X)
    fitted = time.perf_counter()
    reader = with_column(source, "weight", weights)
    with pq.ParquetWriter(folder / "weighted.parquet", reader.schema, compression="none") as writer:
        for batch in reader:
            writer.write_batch(batch)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (folder / "weights.pickle").write_bytes(pickle.dumps(weights))
    return {
        "seconds": done - start,
        "sample": sampled - start,
        "fit": fitted - sampled,
        "weigh": done - fitted,
        "peak_gib": peak,
        "nmse": _nmse(weights, X),
    }


def _nmse(weights, X):
    truth = np.exp(X.to_numpy() @ MEAN - MEAN @ MEAN / 2)
    return float(np.mean((weights(X) - truth) ** 2) / np.mean(truth**2))


def floor(folder):
    """Read the source twice and the target once, predict each source row once, write."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    weights = pickle.loads((folder / "weights.pickle").read_bytes())
    start = time.perf_counter()
    for name in ("source", "target"):
        for batch in ds.dataset(folder / name).to_batches():
            del batch
    batches = ds.dataset(folder / "source").to_batches()
    writer = None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for batch in batches:
            if not batch.num_rows:
                continue
            weighted = batch.append_column("weight", pa.array(weights(batch.to_pandas())))
            if writer is None:
                path = Path(scratch) / "floor.parquet"
                writer = pq.ParquetWriter(path, weighted.schema, compression="none")
            writer.write_batch(weighted)
        writer.close()
        return {"seconds": time.perf_counter() - start}


def parquet(folder, rows):
    """Return the figures of both, each in a process of its own."""
    make_files(folder, rows)
    figures = {part: _in_own_process(part, folder) for part in ("ours", "floor")}
    figures["rows"] = rows
    figures["times_floor"] = figures["ours"]["seconds"] / figures["floor"]["seconds"]
    return figures


def _in_own_process(part, folder):
    command = [sys.executable, "-m", "benchmarks.scale", "--run", part, "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def spark(folder, rows):
    """Return the seconds of weighing in Spark, and of a map that returns a constant."""
    from pyspark.sql import SparkSession

    from weighbridge import fit_ratio
    from weighbridge.engines import sample, with_column

    make_files(folder, rows)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    source, target = (session.read.parquet(str(folder / n)) for n in ("source", "target"))
    source = source.limit(rows).repartition(8).cache()
    source.count()
    X = sample(source)
    weights = Weights(fit_ratio(X, sample(target)), X)

    def run(function):
        with_column(source, "weight", function).write.format("noop").mode("overwrite").save()

    seconds = {
        "weigh": best_of(lambda: run(weights), 5),
        "constant": best_of(lambda: run(lambda table: np.ones(len(table))), 5),
    }
    session.stop()
    return {"rows": rows, **seconds, "times_constant": seconds["weigh"] / seconds["constant"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="parquet, spark; default: both")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", choices=["ours", "floor"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps({"ours": ours, "floor": floor}[options.run](options.folder)))
        return
    parts = {"parquet": (parquet, ROWS), "spark": (spark, SPARK_ROWS)}
    unknown = set(options.parts) - set(parts)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts: {', '.join(parts)}")
    figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.parts or parts:
            run, rows = parts[name]
            figures[name] = run(options.folder or Path(scratch), options.rows or rows)
            print(name, json.dumps(figures[name], indent=1))
    record("scale", figures)


if __name__ == "__main__":
    main()
