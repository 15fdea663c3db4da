"""What every child process does: read a job, work on one thread, write a line for each data file.

    PYTHON run_NAME.py JOB.json

A job has: ``method`` and its ``settings``, ``task`` (what to do, mostly "weigh"), ``files`` (.npz
with X_source and X_target), ``result`` (a file that gets one line of JSON for each data file),
``repeats``, ``timeout`` (seconds for each data file) and ``memory`` (bytes of address space).
"""

import contextlib
import json
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np


class OutOfTime(BaseException):
    """Not an Exception: one package catches all of those and goes on."""


def main(methods, tasks=None):
    """Run the job named on the command line."""
    job = json.loads(Path(sys.argv[1]).read_text())
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    task = {"weigh": weigh, **(tasks or {})}[job["task"]]
    with one_thread(), Path(job["result"]).open("a") as result:
        for file in job["files"]:
            line = attempt(task, job, methods[job["method"]], file)
            result.write(json.dumps(line) + "\n")
            result.flush()


def attempt(task, job, method, file):
    """Return the figures of one data file, or the error in words."""
    np.random.seed(0)  # noqa: NPY002 - some packages draw from the global generator
    signal.signal(signal.SIGALRM, _ring)
    try:
        with np.load(file) as data:
            arrays = dict(data)
        signal.alarm(job["timeout"])
        return task(job, method, arrays, file)
    except OutOfTime:
        return {"error": f"timed out at {job['timeout']} s"}
    except Exception as error:  # noqa: BLE001 - whatever a package does is a result
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        signal.alarm(0)


def weigh(job, method, data, file):
    """Fit, and save the weights at the source rows."""
    weights, cost = measure(
        lambda: method(data["X_source"], data["X_target"], **job["settings"]), job["repeats"]
    )
    path = f"{job['result']}-{Path(file).stem}.npy"
    np.save(path, np.asarray(weights, dtype=float).ravel())
    return {"weights": path, **cost}


def measure(function, repeats=1):
    """Return the value, the smallest time, and the peak of memory above what was held before."""
    seconds, peaks = [], []
    for _ in range(repeats):
        before = _resident("VmRSS")
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # Linux: forget earlier peaks
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
        peaks.append(_resident("VmHWM") - before)
    return value, {"seconds": min(seconds), "peak_mb": max(0.0, *peaks)}


def bandwidths(X_source, X_target):
    """Ten bandwidths around the median distance, for packages that have no grid of their own."""
    rows = np.vstack([X_source[:250], X_target[:250]])
    squares = (rows**2).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    middle = np.median(distance[np.triu_indices(len(rows), 1)])
    return (middle or 1.0) * np.geomspace(0.25, 4, 10)


def ridges():
    """Ten penalties, for packages that have no grid of their own."""
    return np.logspace(-3, 1, 10)


@contextlib.contextmanager
def one_thread():
    """One thread for libraries that are loaded already; the others see the environment."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        yield
        return
    with threadpool_limits(1):
        yield


def _resident(field):
    """Return resident memory in MB, now (VmRSS) or at its peak (VmHWM).

    Not ru_maxrss where it can be helped: a child inherits that of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def _ring(signum, frame):
    raise OutOfTime
