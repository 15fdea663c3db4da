"""Run the paper's experiments.

    python -m experiments                     all tables and figures, minutes
    python -m experiments table1 figure-toy   some of them
    python -m experiments --recorded          what the documentation shows, hours
    python -m experiments --full              covtype whole, the finest grids everywhere, days

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
    for name, least in (("trials", 1), ("jobs", 1), ("max_rows", 100), ("minutes", 0)):
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
    from experiments._publish import contradictions, of_other_runs, publish
    from experiments._result import write_result
    from experiments._run_cells import finished_elsewhere, key, made_here, run_cells

    scale = _chosen_scale(options)
    folder = options.out or RESULTS / scale.name
    folder.mkdir(parents=True, exist_ok=True)
    modules = {name: import_module(f"experiments.{NAMES[name]}") for name in options.names or NAMES}
    wanted = {name: module.cells(scale) for name, module in modules.items()}
    every = [cell for cells in wanted.values() for cell in cells]
    made = made_here()
    if options.journal:
        outcomes, made = finished_elsewhere(every, options.journal)
    else:
        outcomes = run_cells(every, folder / "cells.jsonl", options.jobs, fresh=options.fresh,
                             minutes=options.minutes)  # fmt: skip
    left = {key(cell) for cell in every} - outcomes.keys()
    if left:
        print(f"{len(left)} cells are left; the same command goes on from there")
        return 3
    if options.only_cells:
        return 0
    unexplained, against = [], []
    for name, module in modules.items():
        done = [(cell, outcomes[key(cell)]) for cell in wanted[name]]
        values, warned = write_result(
            folder, name, module, scale, done, made if done else made_here()
        )
        unexplained += warned
        against += [] if options.publish else contradictions(name, module, values)
        print(f"{name}: {module.TITLE}, in {name}.json and {name}.md")
    if options.publish:
        others = of_other_runs(modules, made)
        if others:
            print(f"not published: {', '.join(others)} were recorded by other code or versions, "
                  "and would stay beside these; publish all of them", file=sys.stderr)  # fmt: skip
            return 1
        publish(folder, modules)
    else:
        print("\n".join(f"contradicts the documentation: {each}" for each in against)
              or "nothing contradicts the documentation")  # fmt: skip
    if unexplained:
        print(f"warnings that nobody explained: {sorted(set(unexplained))}", file=sys.stderr)
    return int(bool(unexplained or against))


def _chosen_scale(options):
    from experiments import _scale
    from experiments._splits import SETS

    scale = _scale.FULL if options.full else _scale.REDUCED
    scale = _scale.RECORDED if options.recorded else scale
    if options.max_rows is not None:
        rows = {
            name: min(scale.rows.get(name, options.max_rows), options.max_rows) for name in SETS
        }
        scale = replace(scale, rows=rows)
    if options.trials is not None:
        scale = replace(scale, trials=options.trials)
    return scale


def _parser():
    parser = argparse.ArgumentParser(
        "python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"which: {', '.join(NAMES)}; default all")  # fmt: skip
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--recorded", action="store_true", help="as in the documentation")
    size.add_argument("--full", action="store_true", help="all rows and the finest grids")
    parser.add_argument("--trials", type=int, help="splits of each data set")
    parser.add_argument("--max-rows", type=int, help="thin larger data sets to so many rows")
    parser.add_argument("--jobs", type=int, default=2, help="processes; default 2")
    parser.add_argument("--out", type=Path, help="folder of results; default experiments/results")
    parser.add_argument(
        "--fresh", action="store_true", help="run again what an earlier run has finished"
    )
    parser.add_argument("--minutes", type=float, help="begin no cell after so many minutes")
    parser.add_argument("--only-cells", action="store_true", help="write no tables or pictures")
    parser.add_argument("--journal", type=Path, metavar="CELLS",
                        help="run nothing: take the cells.jsonl of a run elsewhere")  # fmt: skip
    parser.add_argument("--publish", action="store_true", help="copy results to the documentation")
    return parser


if __name__ == "__main__":
    sys.exit(main())
