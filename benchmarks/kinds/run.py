"""Our answers to each kind of shift beside those of others, a file for each piece of work.

    python -m benchmarks.kinds.run PART --half choose --out OUT [--sets SETS] [--tasks TASKS]
        [--draws 10] [--models linear svm ...] [--only NAMES]

Parts: `frequencies` (class frequencies of 100 draws on four sets, beside QuaPy's), `skada` (SKADA-
Bench's simulated shifts, an SVC), `told` (simulated problems of a known kind: what was said, and
what was acted on), `natural` (`shift="auto"` beside `shift="covariate"` on natural, induced and
null cells, and beside the prototype on label cells; the error at target rows that nobody saw), or
`all`. Finished pieces are not repeated. The prototype: sigmoid-calibrated probabilities of the
model, expectation maximisation for the class frequencies, and a refit with weights by class.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks._record import kept, record
from benchmarks.kinds import pieces
from benchmarks.kinds.summary import SUMMARIES, as_text
from benchmarks.natural.run import MODELS

PARTS = {part: getattr(pieces, part) for part in SUMMARIES}


def finish(file, work):
    """Do a piece that is not on file, and write it whole or not at all."""
    try:
        kept(file, work)
    except Exception as error:  # noqa: BLE001 - the others go on, and the next run tries again
        print("failed:", file.stem, repr(error)[:300], flush=True)


def rivals(part, options):
    """Return what peers have found, by the names of their files."""
    folder = {"frequencies": "quapy", "skada": "skada/peers"}.get(part)
    files = sorted((options.out / folder).glob("*.json")) if folder else ()
    return {file.stem: json.loads(file.read_text()) for file in files}


def run(part, options):
    """Do what is not on file of a part, then print and record its summary."""
    folder = options.out / "pieces" / part
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {
        name: work
        for name, work in PARTS[part](options)
        if not options.only or any(each in name for each in options.only)
    }
    todo = [name for name in jobs if not (folder / f"{name}.json").exists()]
    print(f"{part}: {len(todo)} of {len(jobs)} pieces to do", flush=True)
    for number, name in enumerate(todo, 1):
        finish(folder / f"{name}.json", jobs[name])
        if number % 50 == 0:
            print(f"{number} of {len(todo)}", flush=True)
    files = [folder / f"{name}.json" for name in jobs]
    rows = {file.stem: json.loads(file.read_text()) for file in files if file.exists()}
    if rows:
        figures = SUMMARIES[part](rows, rivals(part, options))
        print(as_text(figures))
        record(f"kinds_{part}_{options.half}", figures, folder=options.out)


def main():
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--half", choices=["choose", "report"], default="choose")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=Path, help="folder of benchmarks.kinds.sets")
    parser.add_argument("--tasks", type=Path, help="folder of benchmarks.natural.tasks")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of pieces")
    parser.add_argument("--export", action="store_true", help="write what run_quapy reads")
    options = parser.parse_args()
    if options.export:
        pieces.export(options)
        return
    for part in PARTS if options.part == "all" else [options.part]:
        run(part, options)


if __name__ == "__main__":
    main()
