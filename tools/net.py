"""Record what users see of this checkout, and compare two such records.

    python tools/net.py record FOLDER
    python tools/net.py compare BEFORE AFTER

A record is a folder of texts: signatures, help, results, pages, terminal, tables, imports, numbers.
Numbers in JSON may differ by a relative 1e-10; everything else is compared as text. Inputs and
models of the runs are kept in FOLDER/kept, which is not compared.
"""

from __future__ import annotations

import csv
import difflib
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from net_calls import PAGES, RESULTS, RUNS, TABLES, write_bad_tables, write_problems

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {
    "PYTHONPATH": str(HERE.parent / "src"),
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "LC_ALL": "C.UTF-8",
    "SOURCE_DATE_EPOCH": "0",
}
COMMANDS = ("demo", "adapt", "diagnose", "weights", "label", "predict", "report", "explain")
PACKAGES = ("weighbridge", "numpy", "scipy", "scikit-learn", "pandas", "skops")
RELATIVE, ABSOLUTE = 1e-10, 1e-13  # rounding of a sum that is zero has no relative size
MOST_LINES, MOST_CHARACTERS = 40, 200

IMPORTS = """
import sys
before = set(sys.modules)
sys.argv = ["weighbridge", "--help"]
try:
    {code}
except SystemExit:
    pass
names = {{each.partition(".")[0] for each in set(sys.modules) - before}}
names -= {{"weighbridge", "cython_runtime", *sys.stdlib_module_names}}
print(*sorted(each for each in names if each[0] != "_"), sep="\\n", file=sys.stderr)
"""
IMPORTED = {
    "package": "import weighbridge",
    "names": "from weighbridge import *",
    "help": "from weighbridge.cli import main; main()",
}


def main() -> int:
    """Do what the command line says."""
    match sys.argv[1:]:
        case ["record", folder]:
            return record(Path(folder))
        case ["compare", before, after]:
            return compare(Path(before), Path(after))
    sys.stderr.write(str(__doc__))
    return 2


def record(target: Path) -> int:
    """Write what users see into a new folder."""
    if target.exists() and any(target.iterdir()):
        sys.stderr.write(f"{target} is not empty\n")
        return 2
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        calls = write_problems(folder)
        write_bad_tables(folder)
        for name, words in calls.items():
            run(target, folder, name, words)
            out = [f"{name}/out/{each}" for each in ("report.html", "result.json", "weights.csv")]
            write_outputs(target, name, *(folder / each for each in out))
        for name, words in RUNS.items():
            run(target, folder, name, words.split())
            found = [folder / each[name] for each in (PAGES, RESULTS, TABLES) if name in each]
            write_outputs(target, name, *found)
        run(target, folder, "help/weighbridge", ["--help"])
        for name in COMMANDS:
            run(target, folder, f"help/{name}", [name, "--help"])
        shutil.copytree(folder, target / "kept")
        write_imports(target, folder)
        write_library(target, folder)
    sys.stdout.write(f"recorded {target} in {time.perf_counter() - began:.0f} s\n")
    return 0


def child(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python on this checkout, with one thread and no terminal."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run(target: Path, folder: Path, name: str, words: list[str]) -> None:
    """Record one call of the command line; an object on standard output is a result."""
    done = child(folder, "-m", "weighbridge", *words)
    said = done.stdout
    if said.startswith("{"):
        write(target / f"results/{name}.json", normal_result(said))
        said = "(a result)\n"
    shown = f"$ weighbridge {' '.join(words)}\n{said}--- standard error\n{done.stderr}"
    shown += f"--- exit code {done.returncode}\n"
    where = name if name.startswith("help/") else f"terminal/{name}"
    write(target / f"{where}.txt", normal_text(shown, folder))


def write_outputs(target: Path, name: str, *files: Path) -> None:
    """Record pages, results and tables that a run left, if it did."""
    kinds = {".html": ("pages", normal_page), ".json": ("results", normal_result)}
    kinds[".csv"] = ("tables", columns)
    for file in filter(Path.exists, files):
        kind, normal = kinds[file.suffix]
        ending = file.suffix.replace(".csv", ".json")
        write(target / f"{kind}/{name}{ending}", normal(file.read_text(encoding="utf-8")))


def write_imports(target: Path, folder: Path) -> None:
    """Record which packages are imported; the time is told and not recorded."""
    for name, code in IMPORTED.items():
        began = time.perf_counter()
        done = child(folder, "-c", IMPORTS.format(code=code))
        sys.stdout.write(f"import of {name}: {time.perf_counter() - began:.2f} s\n")
        write(target / f"imports/{name}.txt", done.stderr)


def write_library(target: Path, folder: Path) -> None:
    """Record signatures and numbers of the library, computed in another process."""
    done = child(folder, str(HERE / "net_library.py"))
    if done.returncode:
        raise SystemExit(done.stderr)
    for name, text in json.loads(done.stdout).items():
        write(target / name, text)


def write(path: Path, text: str) -> None:
    """Write a text, and the folder that it belongs into."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


# What differs from run to run is a fixed word.


def normal_text(text: str, folder: Path) -> str:
    """Return a text of the terminal without folders, durations, sizes and foretold work."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r" +\d[\d.,]* (ms|s|min|h)$", " TIME", text, flags=re.MULTILINE)
    text = re.sub(r"^  [^\n]*: about [\d,]+ fits.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" +\d[\d.,]* (B|kB|MB)$", " SIZE", text, flags=re.MULTILINE)


def normal_result(text: str) -> str:
    """Return a result without versions."""
    result = json.loads(text)
    for key in ("version", "versions", "timing"):
        if key in result:
            result[key] = sorted(result[key]) if isinstance(result[key], dict) else "VERSION"
    return json.dumps(result, indent=1, ensure_ascii=False)


def normal_page(text: str) -> str:
    """Return a page, an element a line, without versions and the result that it carries."""
    text = re.sub(r'(<script[^>]*id="result">).*?(</script>)', r"\1RESULT\2", text, flags=re.DOTALL)
    for each in (platform.python_version(), *map(version, PACKAGES)):
        text = re.sub(rf"([ >]){re.escape(each)}(?=[ <\"])", r"\1VERSION", text)
    return re.sub(r"\s*(<[a-z])", r"\n\1", text)


def columns(text: str) -> str:
    """Return a CSV table as JSON, column by column."""
    header, *rows = csv.reader(text.splitlines())
    found = zip(header, zip(*rows, strict=True), strict=True)
    return json.dumps({name: [number(cell) for cell in cells] for name, cells in found}, indent=1)


def number(cell: str) -> float | str:
    """Return the number that a cell holds, or its text."""
    try:
        return float(cell)
    except ValueError:
        return cell


# Comparing two records.


def compare(before: Path, after: Path) -> int:
    """Print what differs, a shortened diff for each file, and return 1 if anything does."""
    files = sorted({str(each) for folder in (before, after) for each in recorded(folder)})
    differing = [name for name in files if not same(name, before / name, after / name)]
    sys.stdout.write(f"{len(differing)} of {len(files)} files differ\n")
    return int(bool(differing))


def recorded(folder: Path) -> Iterator[Path]:
    """Yield the files of a record, relative to it."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and inside.parts[0] != "kept":
            yield inside


def same(name: str, before: Path, after: Path) -> bool:
    """Return whether two files agree; print the beginning of their difference."""
    texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (before, after)]
    if name.endswith(".json") and all(texts):
        old, new = (json.loads(text) for text in texts)
        lines = [list(leaves(old)), list(leaves(aligned(old, new)))]
    else:
        lines = [text.splitlines() for text in texts]
    found = list(difflib.unified_diff(*lines, f"before/{name}", f"after/{name}", "", "", 0, ""))
    for line in found[:MOST_LINES]:
        sys.stdout.write(line[:MOST_CHARACTERS] + "\n")
    if len(found) > MOST_LINES:
        sys.stdout.write(f"... {len(found) - MOST_LINES} more lines\n")
    return not found


def aligned(old: Any, new: Any) -> Any:
    """Return the new value, with the old number wherever both agree to rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: aligned(old.get(key), value) for key, value in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        padded = old + [None] * (len(new) - len(old))
        return [aligned(a, b) for a, b in zip(padded, new, strict=False)]
    if {type(old), type(new)} <= {int, float}:
        return old if math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) else new
    return new


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each number and text of a value, with the way to it."""
    if isinstance(value, dict | list) and value:
        pairs = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from leaves(each, f"{path}/{key}")
    else:
        yield f"{path} = {json.dumps(value, ensure_ascii=False)}"


if __name__ == "__main__":
    sys.exit(main())
