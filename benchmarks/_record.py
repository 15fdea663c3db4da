"""Timing, and a JSON of figures with the versions that gave them."""

import json
import os
import platform
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def best_of(function, repeats=7):
    """Smallest of several wall-clock times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def record(name, figures, peers=None, folder=RESULTS):
    """Write the figures with versions and machine to FOLDER/NAME.json, whole or not at all.

    `peers` holds the versions found in the environments of other packages.
    """
    packages = ("weighbridge", "numpy", "scipy", "scikit-learn")
    content = {
        "figures": figures,
        "versions": {package: _version(package) for package in packages},
        **({"peers": peers} if peers else {}),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=2) + "\n")
    part.replace(path)
    print(f"wrote {os.path.relpath(path)}")


def kept(file, work):
    """Return what a piece of work gives, done once and kept on file, whole or not at all."""
    if not file.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = work()
        part = file.with_suffix(".part")
        part.write_text(json.dumps(found))
        part.replace(file)
    return json.loads(file.read_text())


def _version(package):
    """Return the version of a package, which may be a folder on the path rather than installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
