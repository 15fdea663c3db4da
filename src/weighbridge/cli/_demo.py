"""``weighbridge demo``: the whole job on made-up visits to a clinic."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from weighbridge._files import RUN_FILES, check_outputs, sole_writer, write_whole
from weighbridge.cli import _options as options
from weighbridge.cli._adapt import Job
from weighbridge.cli._screen import Session

LABEL = "readmitted"
OUT = "weighbridge-demo"
_COLUMNS = b"age,sex,sys_bp,bmi,smoker,income,visits,site"
_NOW = "Now yours:  weighbridge adapt train.csv deploy.csv --label y"
_TRUTH = "  The deployment labels are known here (no fit and no choice has used them):"


@click.command(cls=options.ExampleCommand, example="weighbridge demo")
@options.seed_option
@options.jobs_option
@options.out_option(OUT, "DIR", "Folder for the files.")
@options.force_option
@options.open_option
@options.screen_options
@click.pass_obj
def demo(session: Session, seed: int, jobs: int, out: Path, force: bool, open_report: bool) -> int:
    """See what weighbridge does, on data that it makes up.

    Labelled visits to a clinic, and visits at other sites where its model is to be used. The two
    files are written too, so that `weighbridge adapt` can be tried on them.
    """
    train, deploy = out / "train.csv", out / "deploy.csv"
    check_outputs([out / name for name in RUN_FILES.values()], force=force)
    # files of the same names that are no clinic visits are left alone
    ours = [path for path in (train, deploy) if path.is_file() and is_clinic(path)]
    check_outputs([path for path in (train, deploy) if path not in ours], force=force)
    session.narration.say(
        "weighbridge demo: 4,000 labelled clinic visits, 2,000 visits at other sites"
    )
    from weighbridge.adaptation import Labels, knowing_labels

    settings: dict[str, Any] = {"label": LABEL, "models": ("linear",), "seed": seed, "jobs": jobs}
    job = Job(session, train, deploy, out, force=force, **settings)
    with sole_writer(out):
        truth = _write_tables(train, deploy, seed)
        job.compute()
        # the labels are looked at now that everything is decided
        found = job.adaptation
        job.adaptation = knowing_labels(
            found, found.pair.X_target, Labels.of_all(truth), "accuracy"
        )
        job.save()
    now = _NOW if open_report else f"{_how_to_open(out, seed)}\n  {_NOW}"
    job.show(now, _TRUTH, open_report=open_report)
    return 0


def _how_to_open(out: Path, seed: int) -> str:
    """Return what to type to have the same page in the browser."""
    words = ["weighbridge", "demo"]
    words += ["--out", str(out)] if str(out) != OUT else []
    words += ["--seed", str(seed)] if seed else []
    return f"Open it:    {shlex.join([*words, '--open'])}"


def is_clinic(path: Path) -> bool:
    """Return whether a table is one that the demo wrote."""
    with path.open("rb") as file:
        head = file.readline(200).strip()
    return head in (_COLUMNS, _COLUMNS + b"," + LABEL.encode())


def _write_tables(train: Path, deploy: Path, seed: int) -> Any:
    """Write the two files; return the labels of the deployment, which are in neither."""
    from weighbridge.datasets import make_clinic

    data = make_clinic(random_state=seed)
    for path, frame in ((train, data.X.assign(**{LABEL: data.y})), (deploy, data.X_target)):
        with write_whole(path) as temporary:
            frame.to_csv(temporary, index=False, lineterminator="\n")
    return data.y_target
