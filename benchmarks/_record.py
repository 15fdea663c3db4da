"""Timing, and a JSON of figures with the versions that gave them."""

import json
import os
import platform
import time
from importlib.metadata import version
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


def record(name, figures, peers=None):
    """Write the figures with versions and machine to results/NAME.json, whole or not at all.

    `peers` holds the versions found in the environments of other packages.
    """
    packages = ("weighbridge", "numpy", "scipy", "scikit-learn")
    content = {
        "figures": figures,
        "versions": {package: version(package) for package in packages},
        **({"peers": peers} if peers else {}),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=2) + "\n")
    part.replace(path)
    print(f"wrote {path.relative_to(Path.cwd())}")
