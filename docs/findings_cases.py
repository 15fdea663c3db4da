"""Cases that raise each finding: run here, shown on the page of findings with what they print.

``python docs/findings_cases.py`` runs all of them and records anew what they print, and
``python docs/findings_cases.py WB301 WB302`` only those.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("findings_cases.toml")
START = "start"
LEFT_OUT = "..."


@dataclass(frozen=True)
class Case:
    """What raises a finding: Python, then lines at the command line; or why there is no case."""

    code: str
    python: str = ""
    shell: str = ""
    output: str = ""
    reason: str = ""
    needs: str = ""  # a package, or an operating system, without which the case cannot be run
    slow: bool = False  # takes seconds
    process: bool = False  # a run that ends its process, or its standard output


@cache
def start() -> str:
    """Return the lines of Python that come before every case."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))[START]["python"]


@cache
def cases() -> dict[str, Case]:
    """Return every case by its name: a code, with a letter where a code has several."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Case(name[:5], **fields) for name, fields in table.items() if name != START}


def shown(case: Case, text: str) -> str:
    """Return the part of an output that is on the page: what has the code, and how it goes on."""
    kept: list[str] = []
    inside = False
    for line in text.rstrip().splitlines():
        inside = level(case.code, line) is not None or (inside and _goes_on(line))
        if inside:
            kept.append(line)
        elif not kept or kept[-1] != LEFT_OUT:
            kept.append(LEFT_OUT)
    return "\n".join(kept)


def level(code: str, line: str) -> str | None:
    """Return the level of the finding that begins in a line, None where none of this code does."""
    found = re.match(rf" *(?:(error|warning|note) {code}:|\w+Warning: {code} )", line)
    return found and (found[1] or "warning")


def _goes_on(line: str) -> bool:
    return line.startswith("  ") and not re.match(r" *(error|warning|note) WB", line)


@cache
def _run(python: str, shell: str, process: bool) -> str:
    """Return all that a case prints, in an empty folder; like cases are run once."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _own_modules(folder):
        said = _of_python(python)
        for line in shell.strip().splitlines():
            said += _of_process(line) if process else _of_command(line)
        return said


def run(case: Case) -> str:
    """Return all that a case prints."""
    return _run(case.python, case.shell, case.process)


@contextlib.contextmanager
def _own_modules(folder: str) -> Any:
    """Leave neither a module of a case behind, nor one that it has switched off."""
    before = dict(sys.modules)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(folder):
                del sys.modules[name]
            elif module is None:
                sys.modules.pop(name)
        sys.modules.update({name: before[name] for name in set(before) - set(sys.modules)})


def _of_python(python: str) -> str:
    printed = io.StringIO()

    def say(message: Warning, category: type[Warning], *place: Any) -> None:
        # the place is a file of this run, and no news
        print(f"{category.__name__}: {message}", file=printed)

    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("default")  # as in Python: once for each place
        warnings.showwarning = say
        exec(compile(start() + python, "case.py", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def _of_command(line: str) -> str:
    from inspect import signature

    from click.testing import CliRunner

    from weighbridge.cli._app import app

    words, _, file = line.partition(" > ")
    # click before 8.2 mixes the streams unless told otherwise
    apart = (
        {"mix_stderr": False} if file and "mix_stderr" in signature(CliRunner).parameters else {}
    )
    done = CliRunner(**apart).invoke(app, shlex.split(words)[1:])
    if not file:
        return done.output
    Path(file).write_text(done.stdout, encoding="utf-8")
    return done.stderr


def _of_process(line: str) -> str:
    line = re.sub(r"^weighbridge", f"{shlex.quote(sys.executable)} -m weighbridge", line)
    done = subprocess.run(
        line,
        shell=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout


def record(names: list[str]) -> None:
    """Run cases, and put what they print into the file."""
    for name in names or list(cases()):
        case = cases()[name]
        if case.reason:
            continue
        begun = time.perf_counter()
        said = run(case)
        told = shown(case, said)
        problem = "" if case.code in told and "Traceback" not in said else f"   NOT RAISED\n{said}"
        print(f"{name} {time.perf_counter() - begun:5.1f} s{problem}", flush=True)
        if problem:
            continue
        head, _, rest = FILE.read_text(encoding="utf-8").partition(f"\n[{name}]\n")
        own, mark, after = rest.partition("\n[")
        own = own.partition("\noutput = ")[0].rstrip("\n")
        text = f"{head}\n[{name}]\n{own}\noutput = '''\n{told}\n'''\n{mark}{after}"
        FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
