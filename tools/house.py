"""The size and shape of the package in numbers, beside their goals.

``python tools/house.py`` measures this checkout, ``python tools/house.py FOLDER`` another one, and
``--list NAME`` prints what a row counts. A sub-package is a folder or a single module directly
below the package; a face is an ``__init__``. Files that git ignores do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import math
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cached_property
from importlib.util import resolve_name
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

NAME = "weighbridge"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTION)
NO_CODE = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
LISTS = ("public", "hidden", "elsewhere", "per-module", "records", "any", "functions")
# The parts of the package, the most lines of Python in each, and the modules in it if they are
# called otherwise, former names included. The longest prefix decides where a module belongs.
PARTS = """
top_level 700 __init__ __main__ exceptions scoring weighting
single_files 800 _fitting _progress _numbers _files _folds _arrays _pass_weights
findings 600 _findings; tables 2100 _tables _data; engines 430; geodesic 600; ratios 2800
label_shift 800; estimators 1200 _estimators; model_selection 2200; few_labels 700
conformal 800; positive_unlabeled 300; diagnosis 1600 diagnostics domain _domain _support
target_risk 2000; verdict 1100
plotting 2050 pictures; report 750; job 1300 adaptation; cli 1300; datasets 800
geometry 3000 manifolds guarantees geodesic._lengths geodesic._means; torch 1150; elsewhere 0
"""


class Module:
    """A file of the package."""

    def __init__(self, path: Path, source: Path):
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = list(ast.walk(self.tree))
        parts = path.relative_to(source).with_suffix("").parts
        self.is_face = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_face else parts)
        self.local_name = self.name.partition(".")[2] or "__init__"
        self.imports = list(self._imports(self.tree, runs=True))

    def _imports(self, node: ast.AST, *, runs: bool) -> Iterator[tuple[str, bool]]:
        """Yield names from the package, and whether they are imported as the module is."""
        if isinstance(node, ast.ImportFrom):
            package = self.name if self.is_face else self.name.rpartition(".")[0]
            module = resolve_name("." * node.level + (node.module or ""), package)
            if module.split(".")[0] == NAME:
                yield from ((f"{module}.{alias.name}", runs) for alias in node.names)
        is_guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        runs = runs and not isinstance(node, FUNCTION)
        for child in ast.iter_child_nodes(node):
            yield from self._imports(child, runs=runs and not (is_guard and child in node.body))

    @cached_property
    def code(self) -> set[int]:
        """Numbers of the lines that are not docstring, comment or blank."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if tokenize.tok_name[token.type] not in NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
                lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        return lines

    @property
    def public(self) -> set[str]:
        """The names in `__all__`."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return set(ast.literal_eval(node.value))
        return set()

    def definitions(self) -> Iterator[tuple[str, str]]:
        """Yield functions with their lines of code, records and annotations."""
        for node in self.nodes:
            place = f"{self.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, FUNCTION):
                lines = self.code.intersection(range(node.lineno, node.end_lineno + 1))
                yield "functions", f"{len(lines):3} {place} {node.name}"
            if isinstance(node, ast.ClassDef):
                origin = " ".join(map(ast.unparse, [*node.decorator_list, *node.bases]))
                if "dataclass" in origin or "NamedTuple" in origin:
                    yield "records", f"{place} {node.name}"
            annotation = getattr(node, "returns", None) or getattr(node, "annotation", None)
            if annotation is not None:
                yield "annotations", f"{place} {ast.unparse(annotation)}"


class Checkout:
    """The files of a repository that git does not ignore."""

    def __init__(self, root: Path):
        self.root = root
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        names = sorted(set(listed.stdout.splitlines()))
        self.files = [path for name in names if (path := root / name).is_file()]
        sources = [path for path in self.files if path.is_relative_to(root / "src")]
        self.modules = [Module(path, root / "src") for path in sources if path.suffix == ".py"]

    def count_lines(self, folder: str, *suffixes: str) -> int:
        """Return the number of lines of the files below a folder, by default those of Python."""
        files = [path for path in self.files if path.is_relative_to(self.root / folder)]
        files = [path for path in files if path.suffix in (suffixes or (".py",))]
        return sum(path.read_text(encoding="utf-8").count("\n") for path in files)

    def lists(self) -> dict[str, list[str]]:
        """Return the items behind the rows."""
        items = defaultdict(list)
        folders = {module.local_name for module in self.modules if module.is_face}
        for module in self.modules:
            items["public, repeated"] += module.public
            if module.is_face:
                names = [name.rpartition(".")[2] for name, runs in module.imports if runs]
                items["hidden"] += [f"{module.name}.{name}" for name in {*names} - module.public]
            else:
                names = [name for name, _ in module.imports]
                items["per-module"].append(f"{len({*names}):3} {module.name}")
                here = module.name.split(".")[:2]
                other = [name for name in names if name.split(".")[:2] != here]
                items["elsewhere"] += [f"{module.name} <- {name}" for name in other]
            for name, item in module.definitions():
                items[name].append(item)
        items["public"] = list({*items["public, repeated"]} - folders)
        items["any"] = [line for line in items["annotations"] if re.search(r" .*\bAny\b", line)]
        return {name: sorted(lines) for name, lines in items.items()}

    def lines_by_part(self) -> Iterator[tuple[str, tuple[int], tuple[int]]]:
        """Yield the parts of the package, the lines of Python in each and the most allowed."""
        parts = [part.split() for part in re.split("[;\n]", PARTS.strip())]
        homes = {name: part for part, _, *former in parts for name in (part, *former)}
        lines: Counter[str] = Counter()
        for module in self.modules:
            inside = [name for name in homes if f"{module.local_name}.".startswith(f"{name}.")]
            lines[homes[max(inside, key=len, default="elsewhere")]] += module.text.count("\n")
        for part, cap, *_ in parts:
            yield part, (lines[part],), (int(cap),)


def trace_adapt(source: Path) -> set[tuple[str, int]]:
    """Return file and line of the functions that one ``weighbridge adapt`` enters after import."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.path.insert(0, str(source))
    import numpy as np
    import pandas as pd

    from weighbridge.cli import main

    entered: set[tuple[str, int]] = set()
    importing, log, rng = 0, io.StringIO(), np.random.default_rng(0)

    def record(frame: FrameType, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code
        if event in ("call", "return") and code.co_filename.startswith(f"{source}{os.sep}"):
            if code.co_name == "<module>":
                importing += 1 if event == "call" else -1
            elif not importing:
                entered.add((code.co_filename, code.co_firstlineno))

    with TemporaryDirectory() as home, chdir(home), redirect_stdout(log), redirect_stderr(log):
        for name, shift in (("train", 0.0), ("deploy", 0.5)):
            table = pd.DataFrame(rng.normal([shift, 0], size=(600, 2)), columns=["a", "b"])
            table["c"] = rng.choice([*"uvw"], 600)
            if name == "train":
                table["y"] = (table["a"] > rng.logistic(size=600)).astype(int)
            table.to_csv(f"{name}.csv", index=False)
        sys.argv = ["weighbridge", "adapt", "train.csv", "deploy.csv", "--label", "y"]
        sys.setprofile(record)
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(log.getvalue()) from None
        finally:
            sys.setprofile(None)
    return entered


def print_shape(checkout: Checkout, *, run: bool) -> None:
    """Print each measure beside its goal."""
    modules, lists, lines = checkout.modules, checkout.lists(), checkout.count_lines
    n = {name: len(items) for name, items in lists.items()}
    code = sum(len(module.code) for module in modules)
    statements = sum(isinstance(node, ast.stmt) for module in modules for node in module.nodes)
    imports = [int(line.split()[0]) for line in lists["per-module"]]
    mean = round(sum(imports) / len(imports), 1)
    lengths = [int(line.split()[0]) for line in lists["functions"]]
    p95, longest = lengths[-math.ceil(len(lengths) / 20)], lengths[-1]
    catalogue = next(p.read_text("utf-8") for p in checkout.files if p.name == "findings.toml")
    evidence = lines("benchmarks") + lines("experiments")
    codes = sum(code.startswith("WB") for code in tomllib.loads(catalogue))
    print_table(
        "shape",
        ("lines / code / statements", (lines("src"), code, statements), (29_000, 18_500, 16_000)),
        ("files", (len(modules),), (130,)),
        (f"public names ({n['public, repeated']} with repeats)", (n["public"],), (130,)),
        ("names in faces that are not in __all__", (n["hidden"],), (40,)),
        ("names imported from other sub-packages", (n["elsewhere"],), (700,)),
        ("imports of a module: most / mean", (imports[-1], mean), (20, 7)),
        ("record classes", (n["records"],), (70,)),
        ("annotations with Any, %", (round(100 * n["any"] / n["annotations"]),), (10,)),
        ("finding codes / lines of findings.toml", (codes, catalogue.count("\n")), (50, 600)),
        ("lines of tests", (lines("tests"),), (21_000,)),
        ("lines of docs", (lines("docs", ".rst", ".py", ".toml"),), (10_500,)),
        ("lines of benchmarks + experiments", (evidence,), (9_000,)),
        ("lines of tools", (lines("tools"),), (900,)),
        ("lines of a function: p95 / max", (p95, longest), (25, 60)),
    )
    print_table("lines of Python", *checkout.lines_by_part())
    if run:
        entered = trace_adapt(checkout.root / "src")
        counts = (len({file for file, _ in entered}), len(entered))
        print_table("one adapt (600 x 4)", ("modules / functions entered", counts, (85, 1_300)))


def print_table(title: str, *rows: tuple[str, Sequence[float], Sequence[float]]) -> None:
    """Print rows of a label, figures and goals."""
    print(f"\n| {title:<40} | {'now':>24} | {'goal':>24} | met |\n|---|---:|---:|---|")
    for label, figures, goals in rows:
        now, goal = (" / ".join(f"{value:,}" for value in values) for values in (figures, goals))
        met = "yes" if all(a <= b for a, b in zip(figures, goals, strict=True)) else "no"
        print(f"| {label:<40} | {now:>24} | {goal:>24} | {met:<3} |")


def main() -> None:
    """Print the tables, or a list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--list", choices=LISTS, help="print what a row counts")
    parser.add_argument("--static", action="store_true", help="without a run of adapt")
    options = parser.parse_args()
    checkout = Checkout(options.folder.resolve())
    if options.list:
        print(*checkout.lists()[options.list], sep="\n")
    else:
        print_shape(checkout, run=not options.static)


if __name__ == "__main__":
    main()
