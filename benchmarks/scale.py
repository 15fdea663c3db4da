"""Beyond memory, over processes, and on a GPU: seconds, memory and what arithmetic alone takes.

    python -m benchmarks.scale [PART ...] [--rows N] [--folder FOLDER]

Parts: `parquet` (uLSIF on N + N rows x 8 from Parquet files that it makes, at N/4, N/2 and N, with
the peak of memory and the floor), `surface` (1,000,000 x 20, ridge, 525 candidates, five folds),
`dask` (the same fit by one process, dask's threads and two workers, at growing size), `engines`
(5,000,000 + 5,000,000 x 8 by DuckDB, polars and Spark beside Parquet; needs what
`make test-engines` installs, and Java), `gpu`
(10,000,000 + 10,000,000 x 16 on a GPU, 1,000 centres; needs torch with CUDA).

The floor of `parquet` is the arithmetic that no implementation can avoid, in the same run and on
the same cores: exponentials, squares and products of kernels in blocks that fit the cache.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._record import best_of, record

ROWS = 10_000_000
COLUMNS = 8
CENTRES = 100
BANDWIDTHS = 10
RIDGES = np.logspace(-4, 0, 10)
PART_ROWS = 1_000_000
SHIFT = 0.5


def mean_of(n_columns):
    """The target's mean, of length SHIFT."""
    return np.full(n_columns, SHIFT / np.sqrt(n_columns))


def log_ratio(X):
    """The true log ratio from N(0, I) to N(mean, I)."""
    mean = mean_of(X.shape[1])
    return X @ mean - mean @ mean / 2


def make_files(folder, rows, part_rows=PART_ROWS):
    """Write both samples into Parquet files, of a million rows each, where they are not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, mean in (("source", 0.0), ("target", mean_of(COLUMNS))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for part in range(-(-rows // part_rows)):
            path = folder / name / f"part-{part:04d}.parquet"
            if path.exists():
                continue
            rng = np.random.default_rng([part, name == "target"])
            X = rng.standard_normal((min(part_rows, rows - part * part_rows), COLUMNS)) + mean
            table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)})
            pq.write_table(table, path.with_suffix(".new"), compression="none")
            path.with_suffix(".new").rename(path)


def files(folder, name, rows, part_rows=PART_ROWS):
    """The first files of a sample."""
    return sorted((folder / name).glob("*.parquet"))[: -(-rows // part_rows)]


def fit_from_files(folder, rows, choice_rows):
    """One fit, and one scoring of all source rows; run in a process of its own for its memory."""
    from weighbridge import fit_ratio
    from weighbridge.blocks import from_parquet
    from weighbridge.ratios import ULSIF

    source, target = (from_parquet(files(folder, name, rows)) for name in ("source", "target"))
    start = time.perf_counter()
    ratio = fit_ratio(
        source, target, ULSIF(n_centres=CENTRES, ridges=RIDGES, choice_rows=choice_rows)
    )
    fitted = time.perf_counter()
    scores = ratio.score_samples(source)
    scored = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    X = source.first(200_000)
    truth = np.exp(log_ratio(X))
    return {
        "rows": rows,
        "choice_rows": choice_rows,
        "fit_seconds": fitted - start,
        "score_seconds": scored - fitted,
        "peak_gib": peak,
        "nmse": float(np.mean((np.exp(scores[: len(X)]) - truth) ** 2) / np.mean(truth**2)),
    }


def floor_seconds(rows, bandwidths, passes_of_values):
    """Seconds of the arithmetic alone, measured on some rows in cached blocks and multiplied.

    Source: one exponential, squares for the other bandwidths, a product of each kernel with
    itself. Target: the same kernels, and their sums. Then the values of the ratio at some rows.
    """
    block = 2**18 // CENTRES
    few = 100 * block
    rng = np.random.default_rng(0)
    exponent = -rng.random((block, CENTRES))

    def work(kind):
        kernel = np.empty_like(exponent)
        total = np.zeros((CENTRES, CENTRES))
        for _ in range(few // block // 2):  # half of the blocks in each of two threads
            np.exp(exponent, out=kernel)
            for bandwidth in range(bandwidths if kind != "values" else 1):
                if bandwidth:
                    kernel *= kernel
                if kind == "source":
                    total += kernel.T @ kernel
                elif kind == "target":
                    kernel.sum(axis=0)
                else:
                    kernel @ total[0]

    seconds = {}
    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        for kind in ("source", "target", "values"):
            times = []
            for _ in range(3):
                start = time.perf_counter()
                list(pool.map(work, [kind, kind]))
                times.append(time.perf_counter() - start)
            seconds[kind] = min(times) * rows / few
    return seconds["source"] + seconds["target"] + passes_of_values * seconds["values"]


def in_own_process(*arguments):
    """Run this module again and read the JSON of its last line."""
    command = [sys.executable, "-m", "benchmarks.scale", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def parquet(folder, rows):
    """Fits of growing size, with the choice by a sample and by all rows."""
    make_files(folder, rows)
    figures = {"floor_seconds_all": floor_seconds(rows, BANDWIDTHS, 1)}
    figures["floor_seconds_sample"] = floor_seconds(rows, 1, 1)
    figures["fits"] = []
    for n, choice in ((rows // 4, 0), (rows // 2, 0), (rows, 0), (rows, 100_000)):
        fit = in_own_process("--fit", n, "--choice", choice, "--folder", folder)
        print(
            f"{n:>11,} + {n:,} rows, choice by {choice or 'all'}: fit {fit['fit_seconds']:.1f} s, "
            f"score {fit['score_seconds']:.1f} s, {fit['peak_gib']:.2f} GiB, NMSE {fit['nmse']:.4f}"
        )
        figures["fits"].append(fit)
    for choice, name in ((-2, "all"), (-1, "sample")):
        floor = figures[f"floor_seconds_{name}"]
        times = figures["fits"][choice]["fit_seconds"] / floor
        figures[f"times_floor_{name}"] = times
        print(f"floor, choice by {name}: {floor:.1f} s; the fit takes {times:.2f} times that")
    return figures


def surface(folder, rows):
    """One pass, 525 candidates and five folds, in weighted ridge fits on the same blocks."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from sklearn.linear_model import Ridge

    from weighbridge.blocks import from_array, from_parquet
    from weighbridge.criteria import CrossValidation
    from weighbridge.search import Point

    n, d = 1_000_000, 20
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal(d)) + 0.3 * X[:, 0] ** 2 + rng.standard_normal(n)
    s = log_ratio(X)
    path = folder / "surface.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}), path, compression="none")
    points = [Point(lam, alpha) for lam in np.linspace(0, 1, 25) for alpha in np.linspace(1, 3, 21)]
    weights, figures = np.exp(s), {"candidates": len(points)}
    for name, source in (("array", from_array(X)), ("parquet", from_parquet(path))):

        def single(source=source):
            return _ridge_fit(source, y, weights)

        def whole(source=source):
            objective = CrossValidation(random_state=0).objective(Ridge(), source, y, s)
            return list(objective.evaluate(points))

        fit, seconds = best_of(single, 5), best_of(whole, 5)
        print(f"{name}: ridge fit {fit:.3f} s; {len(points)} candidates {seconds / fit:.1f} fits")
        figures[name] = {"fit": fit, "seconds": seconds, "fits": seconds / fit}
    return figures


def _ridge_fit(rows, y, weights):
    """What Ridge().fit does with weights, as one pass over the same blocks."""

    def sums(block):
        table = np.column_stack([block.table, np.ones(block.n_rows), block.beside[0]])
        return (table * block.beside[1][:, None]).T @ table

    moments = rows.sum(sums, y, weights)
    moments -= np.outer(moments[-2], moments[-2]) / moments[-2, -2]  # centred
    gram, moment = moments[:-2, :-2], moments[:-2, -1]
    return np.linalg.solve(gram + np.eye(len(gram)), moment)


WAYS = {
    "one": "one thread",
    "all": "all cores",
    "threads": "dask's threads",
    "workers": "two workers",
    "kept": "two workers that keep memory",
}
PARTITIONS = 8


def dask(folder, rows):
    """The curve: one process without dask, dask's threads and two workers, at growing size.

    Each fit has a process of its own, the ways take turns, and the fastest of three fits counts (of
    two from 4,000,000 rows). Seconds on the clock, and of all processors in brackets.
    """
    figures = []
    for n in [n for n in (250_000, 1_000_000, 4_000_000, ROWS) if n <= rows] or [rows]:
        here = folder / f"dask-{n}"
        make_files(here, n, n // PARTITIONS)
        turns = [
            {way: in_own_process("--fit", n, "--way", way, "--folder", here) for way in WAYS}
            for _ in range(3 if n < 4_000_000 else 2)
        ]
        fits = {way: min((t[way] for t in turns), key=lambda fit: fit["seconds"]) for way in WAYS}
        scores = [np.array(fit.pop("scores")) for fit in fits.values()]
        gap = max(float(np.abs(found - scores[0]).max()) for found in scores)
        texts = [f"{WAYS[w]} {fit['seconds']:.1f} ({fit['cpu']:.1f})" for w, fit in fits.items()]
        print(f"{n:>11,} + {n:,} rows: {', '.join(texts)}; gap {gap:.1e}", flush=True)
        figures.append({"rows": n, "largest_gap": gap, **fits})
    return figures


def fit_one_way(folder, rows, way):
    """One fit from files, on a cluster that has seen one before; run in a process of its own."""
    import dask.dataframe as dd
    from distributed import get_client

    from weighbridge import fit_ratio
    from weighbridge.blocks import from_parquet
    from weighbridge.ratios import ULSIF

    parts = [
        [str(path) for path in files(folder, name, rows, rows // PARTITIONS)]
        for name in ("source", "target")
    ]
    ulsif = ULSIF(n_centres=CENTRES, ridges=RIDGES, choice_rows=None)
    read, on_workers = dd.read_parquet, way in ("workers", "kept")
    if way in ("one", "all"):
        read = from_parquet

    def cpu():
        times = get_client().run(os.times).values() if on_workers else ()
        return sum(sum(each[:2]) for each in (os.times(), *times))

    start = time.perf_counter()
    # dask's threads have one of linear algebra each, as ours have
    with threadpool_limits(1 if way in ("one", "threads") else None), ExitStack() as stack:
        if on_workers:
            stack.enter_context(two_workers(keep_memory=way == "kept"))
            # packages are imported by the first use
            fit_ratio(*(read(part[:2]) for part in parts), ULSIF(n_centres=2, choice_rows=1000))
        started, cpu_before = time.perf_counter(), cpu()
        ratio = fit_ratio(*map(read, parts), ulsif)
        seconds, used = time.perf_counter() - started, cpu() - cpu_before
    scores = ratio.score_samples(from_parquet(parts[0][0]))[:1000].tolist()
    return {"seconds": seconds, "cpu": used, "start": started - start, "scores": scores}


@contextmanager
def two_workers(keep_memory):
    """Two processes of one thread each; dask tells theirs to hand memory back at every step."""
    import dask
    from distributed import Client, LocalCluster

    trim = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
    with dask.config.set({trim: None} if keep_memory else {}):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        )
    with cluster, Client(cluster):
        yield


def engine_rows(engine, paths):
    """The rows of some Parquet files as an engine reads them."""
    from weighbridge import blocks

    paths = [str(path) for path in paths]
    if engine == "duckdb":
        return blocks.from_duckdb(f"FROM read_parquet({paths})")
    if engine == "polars":
        import polars as pl

        return blocks.from_polars(pl.scan_parquet(paths))
    if engine == "spark":
        from pyspark.sql import SparkSession

        options = {"spark.ui.enabled": "false", "spark.log.level": "OFF"}
        os.environ["PYSPARK_PYTHON"] = sys.executable  # of the workers
        options |= {f"spark.driver.{each}": "127.0.0.1" for each in ("host", "bindAddress")}
        # files are put together by size: of one size each, they stay in order
        options["spark.sql.files.maxPartitionBytes"] = "80m"
        builder = SparkSession.builder.master("local[2]").config(map=options)
        return blocks.from_spark(builder.getOrCreate().read.parquet(*paths))
    return blocks.from_parquet(paths)


def fit_by_engine(folder, rows, engine):
    """One fit and one scoring of all source rows; run in a process of its own for its memory."""
    from weighbridge import fit_ratio
    from weighbridge.ratios import ULSIF

    source, target = (
        engine_rows(engine, files(folder, each, rows)) for each in ("source", "target")
    )
    start = time.perf_counter()
    ratio = fit_ratio(source, target, ULSIF(n_centres=CENTRES, ridges=RIDGES))
    fitted = time.perf_counter()
    scores = ratio.score_samples(source)
    scored = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    np.save(folder / f"scores-{engine}.npy", scores)
    # of the first rows, whatever the order in which an engine reads the files
    few = engine_rows("parquet", files(folder, "source", 1)).first(200_000)
    np.save(folder / f"few-{engine}.npy", ratio.score_samples(few))
    times = {"fit_seconds": fitted - start, "score_seconds": scored - fitted}
    return {"engine": engine, "rows": rows, **times, "peak_gib": peak}


def engines(folder, rows):
    """The same fit by each engine: seconds, memory of this process, and how far ratios differ."""
    n = min(rows, 5_000_000)
    make_files(folder, n)
    figures = []
    for engine in ("parquet", "duckdb", "polars", "spark"):
        fit = in_own_process("--fit", n, "--engine", engine, "--folder", folder)
        # all rows in whatever order the engine has read the files, and some in one order
        for name, order in (("scores", np.sort), ("few", np.asarray)):
            one, other = (
                order(np.exp(np.load(folder / f"{name}-{each}.npy")))
                for each in ("parquet", engine)
            )
            fit[f"largest_gap_{name}"] = float(np.abs(one - other).max())
        figures.append(fit)
        print(fit)
    return {"fits": figures}


def gpu(folder, rows):
    """uLSIF, weights and the surface on a device: seconds, and the error of the ratio."""
    import torch

    from weighbridge.blocks import from_array
    from weighbridge.ratios import ULSIF

    del folder
    d, device = 16, torch.device("cuda")
    torch.manual_seed(0)
    X, T = (torch.randn(rows, d, dtype=torch.float64, device=device) for _ in range(2))
    T += torch.tensor(mean_of(d), device=device)
    truth = torch.exp(X @ torch.tensor(mean_of(d), device=device) - SHIFT**2 / 2)
    figures = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
    # the libraries of the device are loaded by the first use of them
    few = [from_array(part[:200_000]) for part in (X, T)]
    _on_device(*few, truth[:200_000], ULSIF(n_centres=1000))
    for name, choice in (("sample", 100_000), ("all", None)):
        ulsif = ULSIF(n_centres=1000, ridges=np.logspace(-4, 0, 9), cv=5, choice_rows=choice)
        figures[name] = _on_device(from_array(X), from_array(T), truth, ulsif)
        print(f"choice by {name}: {figures[name]}")
    figures["log_weight"] = _log_weight_on_device(torch.log(truth))
    figures["surface"] = _surface_on_device(X, T)
    print(figures["log_weight"], figures["surface"])
    return figures


def _on_device(source, target, truth, ulsif):
    import torch

    from weighbridge import fit_ratio

    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start = time.perf_counter()
    ratio = fit_ratio(source, target, ulsif)
    torch.cuda.synchronize()
    fit = time.perf_counter() - start
    estimate = torch.exp(ratio.score_samples(source))
    torch.cuda.synchronize()
    return {
        "fit_seconds": fit,
        "score_seconds": time.perf_counter() - start - fit,
        "nmse": float(((estimate - truth) ** 2).mean() / (truth**2).mean()),
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def _log_weight_on_device(s):
    import torch

    from weighbridge.geodesic import log_weight

    def seconds(function):
        def waited():
            function()
            torch.cuda.synchronize()

        return best_of(waited, 5)

    floor = seconds(lambda: torch.log(torch.exp(s)))
    found = seconds(lambda: log_weight(s, 0.8, 2.3))
    return {"rows": s.shape[0], "seconds": found, "exp_and_log_seconds": floor}


def _surface_on_device(X, T):
    import torch
    from sklearn.linear_model import Ridge

    from weighbridge.blocks import from_array
    from weighbridge.criteria import CrossValidation
    from weighbridge.search import Point

    X = torch.cat([X[:1_000_000], T[:1_000_000, :4]], dim=1)
    y = X.sum(dim=1).cpu().numpy() + np.random.default_rng(0).standard_normal(len(X))
    s = log_ratio(X.cpu().numpy())
    points = [Point(lam, alpha) for lam in np.linspace(0, 1, 25) for alpha in np.linspace(1, 3, 21)]
    losses, seconds = {}, {}
    for name, rows in (("device", from_array(X)), ("cpu", from_array(X.cpu().numpy()))):

        def whole(rows=rows):
            objective = CrossValidation(random_state=0).objective(Ridge(), rows, y, s)
            return [each.losses for each in objective.evaluate(points)]

        losses[name] = np.array(whole())
        seconds[name] = best_of(whole, 3)
    gap = float(np.abs(losses["device"] / losses["cpu"] - 1).max())
    return {"candidates": len(points), "seconds": seconds, "largest_gap": gap}


PARTS = {"parquet": parquet, "surface": surface, "dask": dask, "engines": engines, "gpu": gpu}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--choice", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine is not None:
        print(json.dumps(fit_by_engine(asked.folder, asked.fit, asked.engine)))
        return
    if asked.way is not None:
        print(json.dumps(fit_one_way(asked.folder, asked.fit, asked.way)))
        return
    if asked.fit is not None:
        print(json.dumps(fit_from_files(asked.folder, asked.fit, asked.choice or None)))
        return
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        for part in asked.parts or ("parquet", "surface", "dask"):
            record(f"scale-{part}", PARTS[part](folder, asked.rows))


if __name__ == "__main__":
    main()
