"""Run the paper's experiments.

    python -m experiments                     all tables and figures, minutes
    python -m experiments table1 figure-toy   some of them
    python -m experiments --full              as many trials as in the paper, hours

Data sets come from the folder that WEIGHBRIDGE_DATA names, or are fetched from their public
sources. A run that was stopped goes on where it was; --fresh starts again.
"""

import argparse
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

NAMES = {
    "table1": "table1",
    "table2": "table2",
    "cost": "cost",
    "libsvm-models": "libsvm_models",
    "regression": "regression",
    "multiclass": "multiclass",
    "figure-geometry": "figure_geometry",
    "figure-toy": "figure_toy",
    "figure-search": "figure_search",
    "figure-surfaces": "figure_surfaces",
    "figure-shift": "figure_shift",
}
RESULTS = Path(__file__).parent / "results"


def main(arguments=None):
    """Run what the command line asks for; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"got {', '.join(sorted(unknown))}, but expected names of {', '.join(NAMES)}")
    for name, least in (("trials", 1), ("jobs", 1), ("max_rows", 100)):
        value = getattr(options, name)
        if value is not None and value < least:
            parser.error(
                f"got {value} for --{name.replace('_', '-')}, which must be at least {least}"
            )
    # before NumPy is there: cells run side by side, and the last bits of a sum depend on threads
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("\nstopped; what is finished is kept, and the same command goes on from there")
        return 130
    except OSError as error:  # a data set that is nowhere to be had, a folder that is not writable
        print(error, file=sys.stderr)
        return 1


def _run(options):
    from experiments import _scale
    from experiments._publish import publish
    from experiments._result import write_result
    from experiments._run_cells import key, run_cells

    scale = _scale.FULL if options.full else _scale.REDUCED
    if options.max_rows is not None:
        scale = replace(scale, max_rows=options.max_rows)
    if options.trials is not None:
        scale = replace(scale, trials=options.trials)
    folder = options.out or RESULTS / scale.name
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "cells.jsonl"
    modules = {name: import_module(f"experiments.{NAMES[name]}") for name in options.names or NAMES}
    wanted = {name: module.cells(scale) for name, module in modules.items()}
    every = [cell for cells in wanted.values() for cell in cells]
    outcomes = run_cells(every, journal, options.jobs, fresh=options.fresh)
    unexplained = []
    for name, module in modules.items():
        done = [(cell, outcomes[key(cell)]) for cell in wanted[name]]
        unexplained += write_result(folder, name, module, scale, done)
        print(f"{name}: {module.TITLE}, in {name}.json and {name}.md")
    if options.publish:
        publish(folder, modules)
    if unexplained:
        print(f"warnings that nobody explained: {sorted(set(unexplained))}", file=sys.stderr)
    return int(bool(unexplained))


def _parser():
    parser = argparse.ArgumentParser(
        "python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"which: {', '.join(NAMES)}; default all")  # fmt: skip
    parser.add_argument("--full", action="store_true", help="as many trials as in the paper")
    parser.add_argument("--trials", type=int, help="splits of each data set")
    parser.add_argument("--max-rows", type=int, help="thin larger data sets to so many rows")
    parser.add_argument("--jobs", type=int, default=2, help="processes; default 2")
    parser.add_argument("--out", type=Path, help="folder of results; default experiments/results")
    parser.add_argument(
        "--fresh", action="store_true", help="run again what an earlier run has finished"
    )
    parser.add_argument("--publish", action="store_true", help="copy results to the documentation")
    return parser


if __name__ == "__main__":
    sys.exit(main())
