"""The shape of the package in numbers, beside the goals it is held to.

``python tools/house.py`` prints the table of this checkout, ``python tools/house.py FOLDER`` that
of another package, and ``--list NAME`` what stands behind one of its rows. A sub-package is a
folder or a single module directly below the package; a face is an ``__init__``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import io
import math
import os
import random
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import resolve_name
from itertools import groupby
from pathlib import Path
from types import FrameType

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
CHECKOUT = Path(__file__).resolve().parents[1] / "src" / "weighbridge"


@dataclass(frozen=True)
class Import:
    """One imported name (none for ``import x.y``), and the module it is asked of."""

    line: int
    module: str
    name: str | None
    alias: str | None
    for_types: bool
    in_function: bool


@dataclass(frozen=True)
class Module:
    """A file of the package."""

    name: str
    path: Path
    is_face: bool

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def code(self) -> set[int]:
        """Numbers of the lines that are neither docstring nor comment nor blank."""
        found: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if tokenize.tok_name[token.type] not in NO_CODE:
                found.update(range(token.start[0], token.end[0] + 1))
        return found.difference(*(_docstring_lines(node) for node in ast.walk(self.tree)))

    @cached_property
    def imports(self) -> list[Import]:
        """What the file imports, anywhere in it."""
        return list(self._imports_below(self.tree, for_types=False, in_function=False))

    def _imports_below(self, node: ast.AST, **where: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, each.name, None, None, **where) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = self._absolute(node)
            for each in node.names:
                yield Import(node.lineno, module, each.name, each.asname or each.name, **where)
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        in_function = where["in_function"] or isinstance(node, FUNCTION)
        for child in ast.iter_child_nodes(node):
            for_types = where["for_types"] or (guarded and child in node.body)
            yield from self._imports_below(child, for_types=for_types, in_function=in_function)

    def _absolute(self, node: ast.ImportFrom) -> str:
        package = self.name if self.is_face else self.name.rpartition(".")[0]
        return resolve_name("." * node.level + (node.module or ""), package)


def _docstring_lines(node: ast.AST) -> Iterable[int]:
    documented = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTION))
    if not documented or ast.get_docstring(node, clean=False) is None:
        return ()
    return range(node.body[0].lineno, node.body[0].end_lineno + 1)


@dataclass(frozen=True)
class Package:
    """All modules of a package, and what can be measured without running it."""

    root: Path

    @cached_property
    def modules(self) -> dict[str, Module]:
        """The files by their dotted names."""
        found = {}
        for path in sorted(self.root.rglob("*.py")):
            parts = path.relative_to(self.root.parent).with_suffix("").parts
            is_face = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_face else parts)
            found[name] = Module(name, path, is_face)
        return found

    @cached_property
    def faces(self) -> dict[str, dict[str | None, Import]]:
        """The names that each face imports, for types only or not, with where from."""
        faces = [each for each in self.modules.values() if each.is_face]
        return {face.name: {each.alias: each for each in self.imports(face)} for face in faces}

    @cached_property
    def plain(self) -> list[Module]:
        """The modules that are no faces."""
        return [each for each in self.modules.values() if not each.is_face]

    def imports(self, module: Module) -> list[Import]:
        """Return the imports of a module that stay within the package."""
        return [each for each in module.imports if each.module.split(".")[0] == self.root.name]

    def asked(self, what: Import) -> str:
        """Return the module that an import names."""
        below = f"{what.module}.{what.name}"
        return below if below in self.modules else what.module

    def defining(self, what: Import) -> str:
        """Return the module that defines what is imported, through any number of faces."""
        offered = self.faces.get(what.module, {}).get(what.name)
        if offered is None or offered.module == what.module:
            return self.asked(what)
        return self.defining(offered)

    def functions(self) -> list[tuple[int, str]]:
        """Return every function and method with its lines of code, the longest first."""
        found = []
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, FUNCTION):
                    lines = module.code.intersection(range(node.lineno, node.end_lineno + 1))
                    found.append((len(lines), f"{module.name}:{node.lineno} {node.name}"))
        return sorted(found, reverse=True)

    def chain(self, *, in_functions: bool) -> list[str]:
        """Return the longest chain of imports; faces, types only and circles do not count."""
        below = {module.name: self._below(module, in_functions) for module in self.plain}
        found: dict[str, list[str]] = {}
        above: set[str] = set()

        def longest(name: str) -> list[str]:
            if name not in found:
                above.add(name)
                tails = [longest(each) for each in sorted(below[name] - above)]
                found[name] = [name, *max(tails, key=len, default=[])]
                above.discard(name)
            return found[name]

        return max((longest(name) for name in below), key=len)

    def _below(self, module: Module, in_functions: bool) -> set[str]:
        asked = [each for each in self.imports(module) if in_functions or not each.in_function]
        return {self.defining(each) for each in asked if not each.for_types} - self.faces.keys()

    def private_imports(self) -> list[str]:
        """Return each name asked of a private module of another sub-package, types included."""
        return [
            f"{module.path.relative_to(self.root)}:{each.line} -> {self.asked(each)}:{each.name}"
            for module in self.modules.values()
            for each in self.imports(module)
            if self.asked(each).split(".")[:2] != module.name.split(".")[:2]
            and any(part.startswith("_") for part in self.asked(each).split(".")[2:])
        ]

    def one_importer(self) -> dict[str, str]:
        """Return modules that one other module names in its imports; faces do not count."""
        importers = defaultdict(set)
        for module in self.plain:
            for each in self.imports(module):
                importers[self.asked(each)].add(module.name)
        named = {module.name: importers[module.name] for module in self.plain}
        return {name: next(iter(those)) for name, those in named.items() if len(those) == 1}

    def callers_elsewhere(self) -> dict[str, str]:
        """Return functions defined once and named once in the code, in another file."""
        homes, uses = defaultdict(list), defaultdict(list)
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Name):
                    uses[node.id].append(module.name)
                elif isinstance(node, ast.Attribute):
                    uses[node.attr].append(module.name)
                elif isinstance(node, FUNCTION) and node in module.tree.body:
                    homes[node.name].append(module.name)
        return {
            f"{home[0]}.{name}": uses[name][0]
            for name, home in homes.items()
            if len(home) == len(uses[name]) == 1 and home != uses[name]
        }


@dataclass
class Trace:
    """Takes ``sys.setprofile``'s events: modules entered, and calls back; imports are left out.

    A call back is a call into a sub-package that already lies below another one on the stack.
    """

    root: Path
    entered: set[str] = field(default_factory=set)
    backs: Counter[str] = field(default_factory=Counter)
    stack: list[str] = field(default_factory=list)
    importing: int = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(f"{self.root}{os.sep}")
        if ours and event == "return":
            self.importing -= code.co_name == "<module>"
            self.stack.pop()
        elif ours and event == "call":
            self.importing += code.co_name == "<module>"
            self._call(Path(code.co_filename), code.co_qualname)

    def _call(self, path: Path, function: str) -> None:
        parts = path.relative_to(self.root).with_suffix("").parts
        package, stack = parts[0], self.stack
        if not self.importing:
            self.entered.add(".".join(parts))
            if package in stack and stack[-1] != package:
                since = len(stack) - 1 - stack[::-1].index(package)
                way = [name for name, _ in groupby(stack[since:])]
                self.backs[" -> ".join([*way, f"{package}.{function}"])] += 1
        stack.append(package)


def _write_table(path: Path, rng: random.Random, shift: float, *, label: bool) -> None:
    """Write 600 rows: two numbers, a category of three levels and, if asked for, a label."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["a", "b", "c", "y"][: 3 + label])
        for _ in range(600):
            a, b, c = rng.gauss(shift, 1), rng.gauss(0, 1), rng.choice("uvw")
            y = int(rng.random() < 1 / (1 + math.exp(-a)))
            table.writerow([a, b, c, y][: 3 + label])


def trace_adapt(root: Path) -> Trace:
    """Run ``weighbridge adapt`` on 600 + 600 rows in this process, with one thread."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.path.insert(0, str(root.parent))
    from weighbridge.cli import main

    trace, rng, screen, code = Trace(root), random.Random(0), io.StringIO(), None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write_table(Path("train.csv"), rng, 0.0, label=True)
        _write_table(Path("deploy.csv"), rng, 0.5, label=False)
        sys.argv = ["weighbridge", "adapt", "train.csv", "deploy.csv", "--label", "y"]
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            sys.setprofile(trace)
            try:
                main()
            except SystemExit as end:
                code = end.code
            finally:
                sys.setprofile(None)
    if code:
        sys.exit(f"weighbridge adapt failed:\n{screen.getvalue()}")
    return trace


def table(package: Package, *, run: bool) -> Iterator[str]:
    """Measure the package, and write the table row by row."""
    files = package.modules.values()
    lines = sum(len(each.text.splitlines()) for each in files)
    code = sum(len(each.code) for each in files)
    lengths = [length for length, _ in package.functions()]
    p95 = lengths[math.ceil(len(lengths) / 20) - 1]
    chains = [len(package.chain(in_functions=each)) for each in (False, True)]
    private, elsewhere = len(package.private_imports()), len(package.callers_elsewhere())
    lonely, of_all = len(package.one_importer()), f" of {len(package.plain)}"
    yield _line("", package.root.name, "goal", "met")
    yield "|---|---:|---:|---|"
    yield _row("files", [len(files)], [215])
    yield _row("lines / code", [lines, code], [42_400, 25_500])
    yield _row("code per file", [round(code / len(files))], [110], sign=">=")
    yield _row("longest import chain, by imports at the top / anywhere", chains, [20, 20])
    yield _row("imports of another sub-package's private modules", [private], [0])
    yield _row("modules with one importer", [lonely], [30], more=of_all)
    yield _row("functions whose only caller is in another file", [elsewhere], [60])
    yield _row("function p95 / max", [p95, lengths[0]], [25, 60])
    if run:
        trace = trace_adapt(package.root)
        figures = [len(trace.entered), trace.backs.total()]
        yield _row("modules entered by `weighbridge adapt` / calls back", figures, [120, 100])


def _row(label: str, figures: list[int], bars: list[int], sign: str = "<=", more: str = "") -> str:
    over = [(a < b) if sign == ">=" else (a > b) for a, b in zip(figures, bars, strict=True)]
    found, goal = (" / ".join(f"{each:,}" for each in those) for those in (figures, bars))
    return _line(label, found + more, f"{sign} {goal}", "no" if any(over) else "yes")


def _line(label: str, figures: str, goal: str, met: str) -> str:
    return f"| {label:<54} | {figures:>15} | {goal:>18} | {met:<3} |"


def _path_list(package: Package) -> list[str]:
    trace = trace_adapt(package.root)
    backs = [f"{way}  {count}" for way, count in trace.backs.most_common()]
    return ["# entered", *sorted(trace.entered), "# calls back", *backs]


LISTS = {
    "chain": lambda package: package.chain(in_functions=True),
    "private": Package.private_imports,
    "one-importer": lambda package: map(" <- ".join, package.one_importer().items()),
    "callers": lambda package: map(" <- ".join, package.callers_elsewhere().items()),
    "long": lambda package: (f"{n:3} {name}" for n, name in package.functions() if n > 25),
    "path": _path_list,
}


def main() -> None:
    """Print the table, or what stands behind a row."""
    parser = argparse.ArgumentParser(description="Measure the shape of the package.")
    parser.add_argument("folder", type=Path, nargs="?", default=CHECKOUT, help="of the package")
    parser.add_argument("--list", choices=LISTS, help="print what stands behind a row")
    parser.add_argument("--static", action="store_true", help="leave out the run of adapt")
    asked = parser.parse_args()
    package = Package(asked.folder.resolve())
    found = LISTS[asked.list](package) if asked.list else table(package, run=not asked.static)
    print(*found, sep="\n")


if __name__ == "__main__":
    main()
