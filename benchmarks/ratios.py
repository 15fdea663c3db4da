"""Quality and time of all ratios, and of densratio, skada and adapt on the same data, in one run.

    python -m benchmarks.ratios [--quick] [--only ours,densratio] [--parts quality] [--envs FOLDER]

Each package has an environment and processes of its own, on one thread; data go there as files and
weights come back. The environments are made in a temporary folder, or kept in the one of ``--envs``
and used again. What fails or takes too long is in the table with its reason.

quality  Distance of the mean-one weights at the source rows from the true ones, as a share of the
         mean square of the true ones (NMSE), on problems with a known ratio. Peers at their
         defaults, and with a grid of ten bandwidths where the default is a single one ("grid").
time     uLSIF, KLIEP and a classifier against peers, with the same grids and numbers of centres.
         For uLSIF the peers select by leaving one out, we by five folds beyond 1,000 rows; the
         row "ours loo" is ours with their way of selecting.
growth   ULSIF up to 200,000 rows a side, against the time of its exponentials and products alone.
score    score_samples on a million new rows.
"""

import argparse
import tempfile
import zlib
from pathlib import Path

import numpy as np

from benchmarks._problems import PROBLEMS, one_hot
from benchmarks._record import record
from benchmarks.peers.environments import INSTALLS, Package

METHODS = {
    "ours": [
        "ClassifierRatio",
        "ClassifierRatio, linear",
        "ClassifierRatio, boosting",
        "ULSIF",
        "KLIEP",
        "KMM",
        "GaussianRatio",
        "NearestNeighbourRatio",
        "AutoRatio",
    ],
    "densratio": ["uLSIF", "KLIEP"],
    "skada": [
        "Density",
        "Gaussian",
        "Discriminator",
        "Discriminator, inverse",
        "KLIEP",
        "KLIEP, grid",
        "KMM",
        "NearestNeighbor",
    ],
    "adapt": ["ULSIF", "ULSIF, grid", "KLIEP", "KLIEP, grid", "KMM"],
}
# Who runs what in a race: package, method, and settings beside those that all share.
TIMED = {
    "uLSIF": [
        ("ours", "ULSIF", {}),
        ("ours", "ULSIF", {"cv": "loo"}),
        ("densratio", "uLSIF", {}),
        ("adapt", "ULSIF, grid", {}),
    ],
    "KLIEP": [
        ("ours", "KLIEP", {}),
        ("densratio", "KLIEP", {}),
        ("skada", "KLIEP, grid", {}),
        ("adapt", "KLIEP, grid", {}),
    ],
}
BANDWIDTHS = [float(value) for value in np.geomspace(1, 12, 10)]
RIDGES = [float(value) for value in np.logspace(-3, 1, 10)]
KLIEP_SETTINGS = {"bandwidths": BANDWIDTHS, "n_centres": 100, "cv": 5}
ULSIF_SETTINGS = {"bandwidths": BANDWIDTHS, "ridges": RIDGES, "n_centres": 100}
SHIFT = "mean shift, 8 columns"
NEW_ROWS = 1_000_000


def main():
    options = _options()
    parts = {"quality": quality, "time": time, "growth": growth, "score": score}
    figures = {"quick": options.quick, "seed": options.seed}
    with tempfile.TemporaryDirectory() as scratch:
        environments = Path(options.envs or Path(scratch) / "envs")
        packages = {name: Package(name, environments.absolute()) for name in options.only}
        folder = Path(scratch) / "data"
        folder.mkdir()
        for name in options.parts:
            figures[name] = parts[name](packages, folder, options)
        peers = {name: peer.versions() for name, peer in packages.items() if name != "ours"}
    whole = set(options.only) == set(METHODS) and set(options.parts) == set(parts)
    record("ratios" if whole and not options.quick else "ratios_partial", figures, peers)


def quality(packages, folder, options):
    """NMSE, effective share of the sample, and seconds, for every method on every problem."""
    n, draws = (500, 2) if options.quick else (2000, 5)
    cases = {
        name: [Case(folder, name, 1000 * options.seed + draw, n) for draw in range(draws)]
        for name in PROBLEMS
    }
    ones = [{"weights": np.ones(n)}] * draws
    table = {
        name: {
            "true weights": _summary(row, [{"weights": np.exp(case.truth)} for case in row]),
            "weights of one": _summary(row, ones),
        }
        for name, row in cases.items()
    }
    for package, method in _methods(packages):
        files = [case.file(package) for row in cases.values() for case in row]
        results = packages[package].run(folder, method, files, timeout=300)
        print(f"quality of {package} {method}: done")
        for i, (name, row) in enumerate(cases.items()):
            part = results[i * draws : (i + 1) * draws]
            table[name][f"{package} {method}"] = _summary(row, part)
    for name, rows in table.items():
        print(f"\n{name}, {n} rows a side, {draws} draws")
        for method, row in rows.items():
            print(f"  {method:32} {_quality_line(row)}")
    return {"rows": n, "draws": draws, "problems": table}


def time(packages, folder, options):
    """Seconds of the same work by us and by the peers, and the quality of what comes out."""
    figures = {
        "uLSIF": [
            _race(packages, folder, "uLSIF", ULSIF_SETTINGS, n)
            for n in ([2000] if options.quick else [2000, 10_000])
        ],
        "KLIEP": [
            _race(packages, folder, "KLIEP", KLIEP_SETTINGS, n)
            for n in ([500] if options.quick else [500, 2000])
        ],
    }
    if "ours" in packages:
        figures["classifier"] = [
            _classifier_race(packages["ours"], folder, n)
            for n in ([2000] if options.quick else [2000, 10_000])
        ]
    return figures


def growth(packages, folder, options):
    """Seconds and memory of ULSIF as rows grow, against the seconds of its arithmetic alone."""
    sizes = [2000, 4000] if options.quick else [10_000, 20_000, 50_000, 100_000, 200_000]
    rows = []
    if "ours" not in packages:
        return rows
    print("\n  ULSIF, rows a side   seconds  us/row     MB   floor ratio own grid")
    for n in sizes:
        case = Case(folder, SHIFT, 0, n)
        settings = {**ULSIF_SETTINGS, "cv": 5}
        job = {"task": "growth", "settings": settings}
        (row,) = packages["ours"].run(folder, "ULSIF", [case.file("ours")], **job)
        if "error" not in row:
            row["seconds_per_row"] = row["seconds"] / (2 * n)
            row["times_floor"] = row["seconds"] / row["floor_seconds"]
        rows.append({"rows": n, **row})
        print(f"{n:20,} {_growth_line(row)}")
    return rows


def score(packages, folder, options):
    """Seconds and memory of score_samples on many new rows, for each of our ratios."""
    rows = []
    if "ours" not in packages:
        return rows
    case = Case(folder, SHIFT, 0, 2000)
    new = np.random.default_rng(1).standard_normal((NEW_ROWS // (10 if options.quick else 1), 8))
    file = folder / "new.npz"
    np.savez(file, X_source=case.X, X_target=case.X_target, X_new=new)
    print(f"\nscore_samples on {len(new):,} new rows of 8 columns, {new.nbytes / 1e6:.0f} MB")
    for method in METHODS["ours"]:
        (row,) = packages["ours"].run(folder, method, [file], task="score")
        rows.append({"method": method, "rows": len(new), **row})
        print(f"  {method:32} {_cost_line(row)}")
    return rows


class Case:
    """One draw of a problem: its truth, and files for the child processes."""

    def __init__(self, folder, problem, draw, n):
        self.stem = folder / f"{problem.replace(', ', '_').replace(' ', '_')}_{draw}_{n}"
        self.is_categorical = problem == "categorical"
        rng = np.random.default_rng([draw, zlib.crc32(problem.encode())])
        self.X, self.X_target, self.truth = PROBLEMS[problem](n, rng)

    def file(self, package):
        """Return the file for a package; peers get categories as indicator columns."""
        indicators = self.is_categorical and package != "ours"
        path = Path(f"{self.stem}_{'indicators' if indicators else 'numbers'}.npz")
        if not path.exists():
            code = one_hot if indicators else np.asarray
            np.savez(path, X_source=code(self.X), X_target=code(self.X_target))
        return path

    def score(self, result):
        """Return NMSE and effective share of the weights in a result, or what is wrong."""
        if "error" in result:
            return {"error": result["error"]}
        weights = result["weights"]
        weights = np.load(weights) if isinstance(weights, str) else weights
        if not np.isfinite(weights).all():
            return {"error": f"{np.sum(~np.isfinite(weights))} weights are not finite"}
        if weights.mean() <= 0:
            return {"error": "weights are zero or negative on average"}
        weights, truth = (values / values.mean() for values in (weights, np.exp(self.truth)))
        return {
            "nmse": float(np.mean((weights - truth) ** 2) / np.mean(truth**2)),
            "ess": float(1 / np.mean(weights**2)),
        }


def _race(packages, folder, title, settings, n):
    """Run one method in each package that has it; the first is ours."""
    case = Case(folder, SHIFT, 0, n)
    print(f"\n{title}, {n:,} rows a side, 8 columns, grid and centres the same")
    rows = []
    for package, method, extra in TIMED[title]:
        if package not in packages:
            continue
        # what takes minutes runs once
        repeats = 3 if n <= 2000 or package == "ours" else 1
        job = {"settings": {**settings, **extra}, "repeats": repeats}
        (result,) = packages[package].run(folder, method, [case.file(package)], **job)
        row = {"package": package, **extra, **case.score(result), **_cost(result)}
        if rows and "seconds" in row and "seconds" in rows[0] and rows[0]["package"] == "ours":
            row["times_ours"] = row["seconds"] / rows[0]["seconds"]
        rows.append(row)
        print(f"  {' '.join([package, *extra.values()]):10} {_race_line(row)}")
    return {"rows": n, "runs": rows}


def _classifier_race(ours, folder, n):
    case = Case(folder, SHIFT, 0, n)
    job = {"task": "against bare", "repeats": 7}
    (row,) = ours.run(folder, "ClassifierRatio, linear", [case.file("ours")], **job)
    print(f"\nClassifierRatio(LogisticRegression(), cv=5), {n:,} rows a side")
    if "error" in row:
        print(f"  {row['error']}")
    else:
        row["times_bare"] = row["fit_and_score"] / row["bare"]
        print(f"  cross_val_predict {row['bare'] * 1e3:.1f} ms, fit {row['fit'] * 1e3:.1f} ms,")
        print(f"  fit and score {row['fit_and_score'] * 1e3:.1f} ms: {row['times_bare']:.2f} x")
    return {"rows": n, **row}


def _summary(cases, results):
    """Mean and standard error over draws; failures are counted, and the first is told."""
    scores = [case.score(result) for case, result in zip(cases, results, strict=True)]
    errors = [each["error"] for each in scores if "error" in each]
    good = [each["nmse"] for each in scores if "nmse" in each]
    summary = {"failed": len(errors), "error": errors[0]} if errors else {}
    if good:
        summary["nmse"] = float(np.mean(good))
        if len(good) > 1:
            summary["standard_error"] = float(np.std(good, ddof=1) / np.sqrt(len(good)))
        summary["ess"] = float(np.mean([each["ess"] for each in scores if "ess" in each]))
    seconds = [result["seconds"] for result in results if "seconds" in result]
    if seconds:
        summary["seconds"] = float(np.median(seconds))
    return summary


def _methods(packages):
    return [(package, method) for package in packages for method in METHODS[package]]


def _cost(result):
    return {name: result[name] for name in ("seconds", "peak_mb") if name in result}


def _quality_line(row):
    failure = f"  {row['failed']} failed: {row['error']}" if "error" in row else ""
    if "nmse" not in row:
        return failure.strip()
    spread = f"± {row['standard_error']:.4f}" if "standard_error" in row else "one draw"
    line = f"nmse {row['nmse']:8.4f} {spread}  ess {row['ess']:.3f}"
    return line + (f"  {row['seconds']:8.3f} s" if "seconds" in row else "") + failure


def _cost_line(row):
    return row.get("error") or f"{row['seconds']:9.3f} s  {row['peak_mb']:7.0f} MB above the data"


def _race_line(row):
    if "seconds" not in row:
        return row["error"]
    times = f"  {row['times_ours']:.1f} x ours" if "times_ours" in row else ""
    nmse = f"nmse {row['nmse']:.4f}" if "nmse" in row else row["error"]
    return f"{_cost_line({**row, 'error': None})}  {nmse}{times}"


def _growth_line(row):
    if "error" in row:
        return row["error"]
    figures = row["seconds"], row["seconds_per_row"] * 1e6, row["peak_mb"], row["floor_seconds"]
    own_grid = f"{row['times_floor']:5.2f} {row['own_grid_seconds']:8.3f}"
    return "{:9.3f} {:7.2f} {:6.0f} {:7.3f} ".format(*figures) + own_grid


def _options():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios")
    parser.add_argument("--quick", action="store_true", help="few rows, few draws")
    names = {"only": ["ours", *INSTALLS], "parts": ["quality", "time", "growth", "score"]}
    for name, choices in names.items():
        parser.add_argument(
            f"--{name}",
            type=lambda text: text.split(","),
            default=choices,
            help=f"some of {','.join(choices)}",
        )
    parser.add_argument("--seed", type=int, default=0, help="other draws, e.g. to tune a ratio on")
    parser.add_argument("--envs", help="keep the environments of the peers in this folder")
    options = parser.parse_args()
    for name, choices in names.items():
        if unknown := set(getattr(options, name)) - set(choices):
            parser.error(f"--{name}: {', '.join(sorted(unknown))}; expected {', '.join(choices)}")
    return options


if __name__ == "__main__":
    main()
