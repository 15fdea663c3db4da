"""``weighbridge weights``: a weight for each training row, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import check_outputs, check_suffix, write_whole
from weighbridge.cli import _options as options
from weighbridge.cli._engine import Asked, Engine, asked_for, started
from weighbridge.cli._inputs import check_there
from weighbridge.cli._libraries import library_warnings
from weighbridge.cli._session import Session

if TYPE_CHECKING:
    import numpy as np

    from weighbridge.cli._two_tables import TwoTables

# A training file with more rows is fitted by so many of them, and weighted in full.
MOST_TRAINING_ROWS = 200_000
EXAMPLE = "weighbridge weights train.csv deploy.csv --out weights.csv"


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.pair_arguments
@options.option(
    "--label", metavar="NAME", group="what", help="Column of TRAIN to set aside, if it has labels."
)
@options.feature_options
@options.ratio_option
@options.option(
    "--lam",
    type=click.FloatRange(0, 1),
    metavar="X",
    default=0.8,
    show_default=True,
    help="0: no weights; 1: the full ratio.",
)
@options.option(
    "--alpha",
    type=float,
    metavar="X",
    default=3.0,
    show_default=True,
    help="1: a power of the ratio; 3: the relative ratio, whose weights are bounded.",
)
@options.seed_option
@options.jobs_option
@options.engine_options(
    "its workers fit the folds of the ratio, and weigh the rows of a large file block by block",
    "For blocks of rows that are weighted at once, and for tables that scikit-learn makes in "
    "between.",
)
@options.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    default=Path("weights.csv"),
    show_default=True,
    group="output",
    help="The table, .csv or .parquet.",
)
@options.force_option
@options.screen_options
@click.pass_obj
def weights(
    session: Session,
    train: Path,
    deploy: Path,
    out: Path,
    force: bool,
    json: str | None,
    quiet: bool,
    plain: bool,
    debug: bool,
    **settings: Any,
) -> int:
    """Write a weight for each training row, so that training resembles deployment.

    Without labels there is nothing to tune; the default bounds every weight by 5 before they are
    scaled to mean 1.
    """
    asked = asked_for(settings)
    settings["jobs"] = asked.n_jobs
    check_there([train, deploy], EXAMPLE)
    check_suffix(out)
    check_outputs([out], force=force, inputs=[train, deploy])
    session.narration.say(f"weighbridge weights: {train} for {deploy}")
    with library_warnings(session):
        result = _compute(session, train, deploy, out, settings, asked)
    session.narration.finish()
    result |= {"timing": session.timing()}
    if session.json is not None:
        session.print_json(result)
    else:
        from weighbridge.cli._weights_screen import weights_block

        session.out.write(weights_block(result, session.out))
    return 0


def _compute(
    session: Session,
    train: Path,
    deploy: Path,
    out: Path,
    settings: dict[str, Any],
    asked: Asked,
) -> dict[str, Any]:
    from weighbridge._source_ratio import mean_one_log_ratio
    from weighbridge._tables import write_weights
    from weighbridge.cli._two_tables import read_two
    from weighbridge.cli._weights_result import weights_result
    from weighbridge.weighting import Geodesic

    narration = session.narration
    narration.count("shift", "rows")
    narration("read", 0, 1)
    two = read_two(train, deploy, settings, max_train=MOST_TRAINING_ROWS)
    narration.detail("read", two.size)
    narration.detail("shift", f"ratio ({two.ratio_name})")
    narration("shift", 0, 1)
    with two.threads(settings["jobs"]), started(session, asked) as engine:
        log_ratio = mean_one_log_ratio(_log_ratio(session, two, train, engine), None)
    weighting = Geodesic(settings["lam"], settings["alpha"])
    found = weighting.weights(log_ratio)
    narration.detail("write", str(out))
    narration("write", 0, 1)
    with write_whole(out) as temporary:
        write_weights(temporary, found, log_ratio)
    return weights_result(session, two, found, log_ratio, out, settings)


def _log_ratio(session: Session, two: TwoTables, train: Path, engine: Engine) -> np.ndarray:
    """Return the log ratio of every training row."""
    import numpy as np

    ratio, parts, done = two.fitted_ratio(), [], 0
    for part in two.log_ratio(ratio, train, engine):
        parts.append(part)
        done += part.size
        session.narration("shift", done, two.tables[0].rows)
    return np.concatenate(parts)
