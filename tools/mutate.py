"""Do the tests notice a change of the code? Random mutations of lines that tests reach.

    python tools/mutate.py contexts -n 16    # once: which test reaches which line
    python tools/mutate.py run -n 16         # change a line, run tests that reach it; 60 times

Needs coverage, pytest and pytest-xdist. All is kept in .cache/mutate, and a `run` that was stopped
goes on where it was; the checkout itself is never changed. Only what runs in functions is mutated:
the rest runs at import, under no test. A test that fails, or runs out of time, without the mutation
too is no witness.
"""

import argparse
import ast
import json
import queue
import random
import shutil
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import NamedTuple

import coverage
from mutate_pytest import KEPT, ROOT, TESTS, contexts, recipe, run_pytest

SEED = 16
RESULTS = KEPT / "results.jsonl"
WHOLE = "not slow and not torch and not browser"
NOT_COPIED = (".git", ".venv*", ".cache", ".*_cache", ".hypothesis", "__pycache__", "_build")


PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, And Or"
SWAPS = {pair.split()[0]: pair.split()[1] for pair in PAIRS.split(",")}
SWAPS |= {"min": "max", "minimum": "maximum", "argmin": "argmax", "fmin": "fmax"}
SWAPS |= {second: first for first, second in SWAPS.items()}


class Mutation(NamedTuple):
    """Bytes of one line, and what they become."""

    file: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, text):
        """Return the text of the file with the mutation, and what it replaces."""
        lines = text.encode().split(b"\n")
        row = lines[self.line - 1]
        lines[self.line - 1] = row[: self.start] + self.new.encode() + row[self.end :]
        return b"\n".join(lines).decode(), row[self.start : self.end].decode()


def _mutated(node):
    """Return an expression with one thing changed, None where there is nothing to change."""
    new = copy(node)
    match node:
        case ast.Compare(ops=[*others, operator]):
            new.ops = [*others, _swapped(operator)]
        case ast.BinOp() if _is_text(node.left) or _is_text(node.right):
            return None
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) | ast.BoolOp():
            new.op = _swapped(node.op)
        case ast.UnaryOp(op=ast.Not()):
            new = node.operand
        case ast.Constant(value=bool()):
            new.value = not node.value
        case ast.Constant(value=int() | float() as value) if value + 1 != value:
            new.value = value + 1
        case ast.Name(id=name, ctx=ast.Load()) if name in SWAPS:
            new.id = SWAPS[name]
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in SWAPS:
            new.attr = SWAPS[name]
        case _:
            return None
    return new


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def _swapped(operator):
    return getattr(ast, SWAPS[type(operator).__name__])()


def _in_functions(node, inside=False):
    """Walk over what runs in functions, but for texts, annotations and what is raised."""
    if inside:
        yield node
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or (function and name != "body"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.JoinedStr):
                yield from _in_functions(child, inside or function)


def mutations(path):
    """Return all mutations of a file, by line."""
    found = defaultdict(list)
    for node in _in_functions(ast.parse(path.read_text())):
        new = _mutated(node)
        if isinstance(node, ast.Return) and getattr(node.value, "value", node.value) is not None:
            node, new = node.value, ast.Constant(None)
        if new is not None and node.lineno == node.end_lineno:
            place = (str(path.relative_to(ROOT)), node.lineno, node.col_offset, node.end_col_offset)
            found[node.lineno].append(Mutation(*place, f"({ast.unparse(new)})"))
    return found


def _draw(args, seconds):
    """Draw lines that tests reach: one mutation of each, and the tests."""
    data = coverage.CoverageData(str(KEPT / "lines"))
    data.read()
    named = defaultdict(set)
    for name in seconds:
        named[name].add(name)
        named[name.split("::")[0]].add(name)
    paths = [path for path in sorted(ROOT.glob("src/**/*.py")) if args.under in str(path)]
    found = {path: mutations(path) for path in paths}
    places = [(path, line) for path in found for line in sorted(found[path])]
    rng = random.Random(args.seed)
    rng.shuffle(places)
    drawn = []
    while places and len(drawn) < args.count:
        path, line = places.pop()
        mutation = rng.choice(found[path][line])
        contexts = data.contexts_by_lineno(str(path)).get(line, [])
        if tests := set().union(*(named[each] for each in contexts if each)):
            drawn.append((mutation, tests))
    return drawn


def _fast(tests, seconds, most):
    """Return so many tests, the fastest of every file before the second of any."""
    ranks, order = Counter(), []
    for name in sorted(tests, key=seconds.get):
        file = name.split("::")[0]
        order.append((ranks[file], seconds[name], name))
        ranks[file] += 1
    return sorted((name for *_, name in sorted(order)[:most]), key=seconds.get)


def _witness(folder, mutation, tests, options, limit):
    """Return a test that the mutation makes fail; None if there is none."""
    path, tests = folder / mutation.file, list(tests)
    text = path.read_text()
    while tests:
        path.write_text(mutation.applied(text)[0])
        ran = run_pytest(folder, [*options, "-x"], tests, limit)
        path.write_text(text)
        if ran.code in (0, 5):
            break
        last = ran.events[-1][1] if ran.events else None
        if run_pytest(folder, options, [last] if last else tests, limit).code == 0:
            return last or "reading the tests"
        tests = [name for name in tests if last and name != last]
    return None


def _judge(folder, mutation, tests, known, args):
    """Return who notices a mutation: a test of make test, a test of the whole set."""
    quick = tests & {*known["quick"]}

    def tried(names, options):
        fast = _fast(names, known["seconds"], args.most)
        return _witness(folder, mutation, fast, options, args.limit)

    by_quick = tried(quick, args.quick_options)
    by_whole = by_quick or tried(tests, args.whole_options)
    if by_whole in quick and not by_quick:  # not among the fast ones, or for want of examples
        by_quick = tried({by_whole}, args.quick_options)
    counts = {"tests": len(tests), "quick": len(quick), "most": args.most}
    return {"mutation": mutation, "make test": by_quick, "whole": by_whole, **counts}


def run(args):
    """Mutate, run the tests that reach the line, and count who notices."""
    known = json.loads(TESTS.read_text())
    drawn = _draw(args, known["seconds"])
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    results = {Mutation(*each["mutation"]): each for each in map(json.loads, lines)}
    folders = queue.SimpleQueue()

    def finish(mutation, tests):
        done = results.get(mutation)
        if not done or (not done["make test"] and done["most"] < min(args.most, len(tests))):
            folder = folders.get()
            done = results[mutation] = _judge(folder, mutation, tests, known, args)
            folders.put(folder)
            with open(RESULTS, "a") as file:
                file.write(json.dumps(done) + "\n")
        old = mutation.applied((ROOT / mutation.file).read_text())[1]
        print(f"{mutation.file}:{mutation.line}  {old} -> {mutation.new}", flush=True)
        print(f"    make test: {done['make test']}; whole set: {done['whole']}", flush=True)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(int(args.n)) as pool:
        for number in range(int(args.n)):
            folder = Path(scratch, str(number))
            shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
            folders.put(folder)
        list(pool.map(lambda one: finish(*one), drawn))
    counts = [sum(bool(results[one][kind]) for one, _ in drawn) for kind in ("whole", "make test")]
    print(f"{len(drawn)} mutations; the whole set catches {counts[0]}, make test {counts[1]}")


def main():
    """Read the command line."""
    style = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=style)
    (markers, profile), (_, more) = recipe("test"), recipe("test-all")
    parser.add_argument("step", choices=["contexts", "run"])
    parser.add_argument("tests", nargs="*", help="contexts: these tests only")
    parser.add_argument("--add", action="store_true", help="contexts: to those recorded before")
    parser.add_argument("-n", default="2", help="processes")
    for name, default, text in (
        ("quick", markers, "markers of make test"),
        ("whole", WHOLE, "markers of the whole set"),
        ("under", "src/", "run: mutate files whose path contains this"),
        ("count", 60, "run: how many mutations"),
        ("seed", SEED, "run: seed of the choice"),
        ("most", 60, "run: tests for a mutation; with more, those not caught are tried again"),
        ("limit", 120, "run: seconds for the tests of a mutation"),
    ):
        parser.add_argument(f"--{name}", default=default, type=type(default), help=text)
    args = parser.parse_intermixed_args()
    args.quick_options, args.whole_options = ["-m", args.quick, *profile], ["-m", args.whole, *more]
    {"contexts": contexts, "run": run}[args.step](args)


if __name__ == "__main__":
    main()
