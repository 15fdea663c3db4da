"""What the tests of the command line share: two small files, one schema, one way to run."""

import inspect
import json
from importlib.resources import files

import jsonschema
from click.testing import CliRunner

from weighbridge.cli._app import app
from weighbridge.datasets import make_clinic

COLUMNS = ["age", "bmi", "site"]
SCHEMA = json.loads(
    files("weighbridge.adaptation").joinpath("result.schema.json").read_text(encoding="utf-8")
)


def runner(**options):
    """Return what runs commands and keeps both streams apart, as click does by itself since 8.2."""
    if "mix_stderr" in inspect.signature(CliRunner).parameters:
        options["mix_stderr"] = False
    return CliRunner(**options)


def run(*words):
    """Run a command in this process."""
    return runner().invoke(app, [str(word) for word in words])


def valid(text):
    """Return the one JSON object of a text, which must be as the schema says."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    result = json.loads(text, parse_constant=refuse)
    jsonschema.validate(result, SCHEMA)
    return result


def within_80_columns(text):
    """Return whether every line fits a terminal."""
    return all(len(line) <= 80 for line in text.splitlines())


def write_clinic(folder, n_source=400, n_target=300, seed=1):
    """Write train.csv with labels and deploy.csv without; return the data set."""
    data = make_clinic(n_source, n_target, random_state=seed)
    train = data.X[COLUMNS].assign(readmitted=data.y)
    train.to_csv(folder / "train.csv", index=False)
    data.X_target[COLUMNS].to_csv(folder / "deploy.csv", index=False)
    return data
