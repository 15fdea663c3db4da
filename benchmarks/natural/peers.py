"""Weights of peers for every draw of the natural suite, each peer in an environment of its own.

    python -m benchmarks.natural.peers --tasks FOLDER --half choose --out FOLDER [--draws 10]

Writes OUT/weights/PEER/TASK--DRAW.npz (weights at the source rows, seconds), which `run --methods
fixed peers ...` fits its models with: full weights, as their users do. The environments are kept in
--environments, and nothing of them is needed afterwards. A draw without weights (an error, no
time left) gets NaN, and its models are fitted unweighted.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.natural.run import arguments, draw, load
from benchmarks.peers.environments import Package

PEERS = {
    "ADAPT KLIEP": ("adapt", "KLIEP"),
    "skada KLIEP": ("skada", "KLIEP, grid"),
    "skada density": ("skada", "Density"),
}


def main():
    """Weigh every draw that has no weights yet."""
    parser = arguments(__doc__)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--environments", type=Path, default=Path(".cache/peers"))
    options = parser.parse_args()
    tasks = [load(path) for path in sorted(options.tasks.glob("*.npz"))]
    tasks = [task for task in tasks if options.half in ("both", task.half)]
    for peer in options.peers:
        name, method = PEERS[peer]
        package = Package(name, options.environments.absolute())
        folder = options.out / "weights" / peer
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "versions.json").write_text(json.dumps(package.versions(), indent=1))
        for task in tasks:
            weigh(package, method, task, folder, options)
            print(peer, "|", task.name, flush=True)


def weigh(package, method, task, folder, options):
    """Save the weights of all draws of a task."""
    seeds = [s for s in range(options.draws) if not (folder / f"{task.file}--{s}.npz").exists()]
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch) / f"{seed}.npz" for seed in seeds]
        for seed, file in zip(seeds, files, strict=True):
            one = draw(task, seed, options.rows)
            np.savez(file, X_source=one.Xs, X_target=one.Xu)
        found = package.run(Path(scratch), method, files, timeout=options.timeout)
        for seed, one in zip(seeds, found, strict=True):
            failed = "error" in one
            weights = np.array([np.nan]) if failed else np.load(one["weights"])
            seconds = options.timeout if failed else one["seconds"]
            path = folder / f"{task.file}--{seed}.npz"
            np.savez(path, weights=weights, seconds=seconds, error=one.get("error", ""))


if __name__ == "__main__":
    main()
