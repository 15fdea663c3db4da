"""Which test reaches which line: pytest with a plugin, for `mutate.py`.

MUTATE_RECORD names settings of coverage: every test is then a context of its own.
MUTATE_EVENTS names a file: the beginning and the end of every test are written there.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".cache" / "mutate"
TESTS = KEPT / "tests.json"

# --- the plugin ----------------------------------------------------------------------------------

_recorder = None


class Monitor:
    """Records lines as coverage does, but each once a context: next to free from Python 3.12 on."""

    def __init__(self):
        self.found = defaultdict(lambda: defaultdict(set))
        self.now = self.found[""]
        self.source = f"{ROOT}/src/"

    def start(self):
        """Ask the interpreter for lines."""
        tool = sys.monitoring
        tool.use_tool_id(tool.COVERAGE_ID, "mutate")
        tool.register_callback(tool.COVERAGE_ID, tool.events.LINE, self._line)
        tool.set_events(tool.COVERAGE_ID, tool.events.LINE)

    def _line(self, code, line):
        if code.co_filename.startswith(self.source):
            self.now[code.co_filename].add(line)
        return sys.monitoring.DISABLE

    def switch_context(self, context):
        """Note every line anew, under another name."""
        self.now = self.found[context]
        sys.monitoring.restart_events()

    def stop(self):
        """Ask for nothing any more."""
        sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)

    def save(self):
        """Write a file that coverage can combine with others."""
        data = coverage.CoverageData(basename=f"{KEPT}/lines.{os.getpid()}")
        for context, files in self.found.items():
            data.set_context(context)
            data.add_lines({name: sorted(lines) for name, lines in files.items()})
        data.write()


@contextmanager
def _noted_under(context):
    before = os.environ.get("MUTATE_CONTEXT", "")
    _switch(context)
    try:
        yield
    finally:
        _switch(before)


def _switch(context):
    os.environ["MUTATE_CONTEXT"] = context  # also for processes that the test starts
    if _recorder is not None:
        _recorder.switch_context(context)


def pytest_configure(config):
    """Start recording, in processes that run tests."""
    global _recorder
    leads = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    settings = os.environ.get("MUTATE_RECORD")
    if settings and not leads:
        if hasattr(sys, "monitoring"):
            _recorder = Monitor()
        else:
            _recorder = coverage.Coverage(config_file=settings)
            os.environ["COVERAGE_PROCESS_START"] = settings
        _recorder.start()


def pytest_unconfigure():
    """Save what was recorded."""
    if _recorder is not None:
        _recorder.stop()
        _recorder.save()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note what a test runs under its name."""
    with _noted_under(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Note what a shared fixture runs under the name of its file: all tests there may need it."""
    name = request.node.nodeid.split("::")[0] if fixturedef.scope != "function" else ""
    with _noted_under(name or os.environ["MUTATE_CONTEXT"]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Note what runs while a file of tests is read under the name of the file."""
    with _noted_under(collector.nodeid.split("::")[0]):
        return (yield)


def _write_event(*event):
    if "MUTATE_EVENTS" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(os.environ["MUTATE_EVENTS"], "a") as file:
            file.write(json.dumps(event) + "\n")


def pytest_runtest_logstart(nodeid):
    """Write down that a test begins."""
    _write_event("began", nodeid)


def pytest_runtest_logreport(report):
    """Write down how a part of a test ended, and what it took."""
    _write_event("failed" if report.failed else "passed", report.nodeid, report.duration)


# --- running pytest ------------------------------------------------------------------------------


class Ran(NamedTuple):
    """How pytest ended (None: out of time), what happened in which order, and what it printed."""

    code: int | None
    events: list
    output: str

    @property
    def failed(self):
        """Names of the tests that failed."""
        return {name for kind, name, *_ in self.events if kind == "failed"}


def run_pytest(folder, options, tests, limit=None, **environment):
    """Run tests in a checkout, with its own source first."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment}
    paths = [f"{folder}/src", f"{folder}/tools", environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # compiled files would outlive a mutation that leaves the size of the file as it was
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    plugins = ["-p", "mutate_pytest", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as scratch, open(f"{scratch}/output", "w+") as output:
        environment["MUTATE_EVENTS"] = events = f"{scratch}/events"
        Path(events).touch()
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", *plugins, *options, *tests],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code = None
        try:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(limit)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # whatever the tests have left behind
            process.wait()
        output.seek(0)
        lines = Path(events).read_text().splitlines()
        return Ran(code, [json.loads(line) for line in lines], output.read())


def recipe(target):
    """Return the markers and the profile of hypothesis that a target of the Makefile asks for."""
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    calls = [line.split("-m pytest")[1] for line in done.stdout.splitlines() if "-m pytest" in line]
    words = [word for call in calls for word in shlex.split(call)]
    markers = words[words.index("-m") + 1] if "-m" in words else ""
    return markers, [word for word in words if word.startswith("--hypothesis-profile")]


def contexts(args):
    """Run the whole set once; keep which test reaches which line, and how long each takes."""
    if not args.add:
        shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    settings = KEPT / "coveragerc"
    settings.write_text(
        f"[run]\nsource = {ROOT}/src\ndata_file = {KEPT}/lines\nparallel = true\ncore = ctrace\n"
        "context = ${MUTATE_CONTEXT-}\ndisable_warnings = no-data-collected, module-not-imported\n"
    )
    # for the processes that tests start
    if not hasattr(sys, "monitoring"):
        (KEPT / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n")
    listed = run_pytest(ROOT, ["--collect-only", "-m", args.quick], args.tests)
    path = os.pathsep.join(filter(None, [str(KEPT), os.environ.get("PYTHONPATH", "")]))
    extra = {"MUTATE_RECORD": str(settings), "PYTHONPATH": path}
    ran = run_pytest(ROOT, ["-m", args.whole, "-n", args.n], args.tests, **extra)
    print(ran.output[-9000:])
    if listed.code or ran.code not in (0, 1):
        raise SystemExit(f"pytest could not list or run the tests.\n{listed.output[-3000:]}")
    failed = ran.failed
    if failed:  # because of the recording, or anyway?
        failed = run_pytest(ROOT, ["-n", args.n], sorted(failed)).failed
        print("Left out, for they fail without recording too:", *sorted(failed), sep="\n  ")
    recorded = coverage.Coverage(config_file=str(settings))
    recorded.load()
    recorded.combine([str(KEPT)])
    recorded.save()
    seconds = defaultdict(float)
    for _, name, *duration in ran.events:
        seconds[name] += sum(duration)
    seconds = {name: value for name, value in seconds.items() if name not in failed}
    quick = sorted({*listed.output.splitlines()} & {*seconds})
    if TESTS.exists():
        before = json.loads(TESTS.read_text())
        seconds, quick = before["seconds"] | seconds, sorted({*before["quick"], *quick})
    TESTS.write_text(json.dumps({"seconds": seconds, "quick": quick}))
    print(f"{len(seconds)} tests, {len(quick)} of them in make test")
