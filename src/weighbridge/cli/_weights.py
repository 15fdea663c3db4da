"""``weighbridge weights``: a weight for each training row, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge._files import check_outputs, check_suffix, write_whole
from weighbridge._findings import Finding, cli_option, escaped, one_line, percent
from weighbridge.cli import _options as options
from weighbridge.cli._inputs import check_there, library_warnings, limit_threads, size_text
from weighbridge.cli._screen import COLUMNS, Screen, Session, finding_text

if TYPE_CHECKING:
    import numpy as np

    from weighbridge.adaptation import Inputs
    from weighbridge.ratios import OverlapJudgement

EXAMPLE = "weighbridge weights train.csv deploy.csv --out weights.csv"
# Ends of the bars at the terminal; the last bar has no end.
_EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
# Differences that are named.
_NAMED = 4
_NAMES = {1.0: "power, ", 3.0: "relative, "}


@click.command(cls=options.ExampleCommand, example=EXAMPLE)
@options.pair_arguments
@options.aside_option
@options.feature_options
@options.ratio_option
@options.option(
    "--lam",
    type=click.FloatRange(0, 1),
    metavar="X",
    default=0.8,
    help="0: no weights; 1: the full ratio.",
)
@options.option(
    "--alpha",
    type=float,
    metavar="X",
    default=3.0,
    help="1: a power of the ratio; 3: the relative ratio, whose weights are bounded.",
)
@options.seed_option
@options.jobs_option
@options.out_option("weights.csv", "FILE", "The table, .csv or .parquet.")
@options.force_option
@options.screen_options
@click.pass_obj
def weights(
    session: Session, train: Path, deploy: Path, out: Path, force: bool, **settings: Any
) -> int:
    """Write a weight for each training row, so that training resembles deployment.

    Without labels there is nothing to tune; the default bounds every weight by 5 before they are
    scaled to mean 1.
    """
    check_there([train, deploy], EXAMPLE)
    check_suffix(out)
    check_outputs([out], force=force, inputs=[train, deploy])
    session.narration.say(f"weighbridge weights: {train} for {deploy}")
    with library_warnings(session):
        result = _compute(session, train, deploy, out, settings)
    session.show(result, lambda found: _text(found, session.out))
    return 0


def _compute(
    session: Session, train: Path, deploy: Path, out: Path, settings: dict[str, Any]
) -> dict[str, Any]:
    import numpy as np

    from weighbridge._tables import write_weights
    from weighbridge.adaptation import refusals_told
    from weighbridge.cli._two_tables import fitted_ratio, read_two
    from weighbridge.weighting import Geodesic, mean_one_log_ratio

    narration = session.narration
    narration.count("shift", "rows")
    narration("read", 0, 1)
    two = read_two(train, deploy, settings)
    narration.detail("read", size_text(two.tables))
    narration.detail("shift", f"ratio ({two.ratio_name})")
    narration("shift", 0, 1)
    with limit_threads(settings["jobs"]), refusals_told(cli_option):
        parts, done = [], 0
        for part in log_ratio_blocks(two, fitted_ratio(two), train):
            parts.append(part)
            done += part.size
            narration("shift", done, two.tables[0].rows)
        log_ratio = mean_one_log_ratio(np.concatenate(parts), None)
    found = Geodesic(settings["lam"], settings["alpha"]).weights(log_ratio)
    narration.detail("write", str(out))
    narration("write", 0, 1)
    with write_whole(out) as temporary:
        write_weights(temporary, found, log_ratio, rows=np.arange(1, found.size + 1))
    return _result(session, two, found, log_ratio, out, settings)


def log_ratio_blocks(two: Inputs, ratio: Any, path: Path) -> Iterator[np.ndarray]:
    """Yield the log ratio of all training rows, in blocks where not all are in memory."""
    import numpy as np

    from weighbridge._tables import read_blocks

    table, columns = two.tables[0], list(two.X.columns)
    kinds = {each.name: each.kind for each, _ in two.pair.features}
    # a column that holds the ratio is no feature
    known = two.ratio_name in kinds and two.ratio_name not in columns
    for block in read_blocks(path, kinds) if table.sampled < table.rows else [two.X]:
        if known and two.ratio_name in block:
            with np.errstate(divide="ignore"):
                yield np.log(block[two.ratio_name].to_numpy())
        else:
            yield np.asarray(ratio.score_samples(block[columns]))


def _result(
    session: Session,
    two: Inputs,
    weights: np.ndarray,
    log_ratio: np.ndarray,
    out: Path,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return the result of a run, from weights of mean 1 and the log ratio of a mean ratio of 1."""
    import numpy as np

    from weighbridge.adaptation import head, inputs_dict
    from weighbridge.cli._two_tables import settings_dict
    from weighbridge.diagnosis import summarize_weights
    from weighbridge.domain import outside_support
    from weighbridge.pictures import rounded
    from weighbridge.ratios import judge_weights
    from weighbridge.weighting import Geodesic

    summary = summarize_weights(weights)
    left = _differences_left(two, weights)
    outside = outside_support(two.X, two.X_target, random_state=settings["seed"]).share
    overlap = judge_weights(Geodesic().weights(log_ratio), outside, two.X.shape[1] + 1)
    counts = np.histogram(weights, [*_EDGES, np.inf])[0]
    return session.result(
        **head("weights"),
        inputs=inputs_dict(two.tables, two.pair, settings["label"]),
        settings=settings_dict(two, settings, "lam", "alpha"),
        findings=[each.to_dict() for each in (*two.notes, *_found(overlap, left))],
        files={"weights": str(out)},
        weights={
            "n": int(weights.size),
            "worth": float(summary.ess),
            "overlap": overlap.word,
            "half": summary.rows_for_half / weights.size,
            "largest": float(weights.max()),
            "edges": list(_EDGES),
            "counts": counts.tolist(),
            "left": rounded(left),
        },
    )


def _differences_left(two: Inputs, weights: np.ndarray) -> list[dict[str, Any]]:
    """Return what is left of the differences, largest first, over the rows in memory."""
    import numpy as np

    from weighbridge.diagnosis import balance_table

    table = balance_table(two.X, two.X_target, weights[two.tables[0].positions])
    rows = [row for row in table.rows if row.after is not None and np.isfinite(row.after)]
    rows.sort(key=lambda row: -abs(row.after or 0.0))
    return [{"name": row.name, "before": row.before, "after": row.after} for row in rows]


def _found(overlap: OverlapJudgement, left: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield what to know about the weights; where overlap is broken nothing else matters."""
    from weighbridge.diagnosis import DIFFERENT, in_a_sentence

    reason = overlap.reason
    if overlap.word == "broken":
        message = f"{reason[0].upper()}{reason[1:]}."
        help = "No weighting can represent them: weighbridge diagnose says where, and what to do."
        yield Finding(overlap.code, "warning", message, help)
        return
    if overlap.word == "thin":
        help = "Prefer a smaller --lam, or --alpha above 1, which caps every weight."
        yield Finding(overlap.code, "warning", f"Overlap is thin: {reason}.", help)
    beyond = [row for row in left if abs(row["after"]) > DIFFERENT]
    if beyond:
        n_others = len(beyond) - 1
        others = f" (and {n_others} other feature{'s' * (n_others > 1)})" if n_others else ""
        yield Finding(
            "WB305",
            "note",
            f"{in_a_sentence(beyond[0]['name'])} still differs by more than {DIFFERENT:g}{others}.",
            "A larger --lam reduces it and leaves fewer effective rows.",
        )


def _text(result: dict[str, Any], screen: Screen) -> str:
    """Return the text of a run, from its result."""
    found, settings = result["weights"], result["settings"]
    effective = f"{found['worth']:,.0f}"
    head = f"{found['n']:,} weights, mean 1, {effective} effective row{'s' * (effective != '1')}"
    blocks = [
        f"\n{screen.styled(head, bold=True)}   ({_weighting_text(settings)})",
        "\n".join(_bars(found, screen)),
        f"  half of the weight sits on {percent(found['half'])} of the rows; largest weight "
        f"{found['largest']:.1f}\n{_left_text(found['left'])}",
        *(finding_text(each) for each in result["findings"]),
        f"  wrote {result['files']['weights']} (columns row, weight, log_ratio; same order as "
        f"{escaped(result['inputs']['train']['file'])})",
    ]
    return "\n\n".join(blocks)


def _weighting_text(settings: dict[str, Any]) -> str:
    """Return what a weighting is called."""
    lam, alpha = settings["lam"], settings["alpha"]
    if lam in (0, 1):
        return "none" if lam == 0 else "full"
    return f"{_NAMES.get(alpha, '')}lam {lam:.2f}, alpha {alpha:g}"


def _bars(found: dict[str, Any], screen: Screen) -> list[str]:
    edges, counts = found["edges"], found["counts"]
    names = [f"{low:g} – {high:g}" for low, high in pairwise(edges)]
    names.append(f"above {edges[-1]:g}")
    width = max(len(name) for name in names)
    room = screen.width - width - 15
    lines = [f"  {'weight':<{width}}  {'rows':>8}"]
    for name, count in zip(names, counts, strict=True):
        bar = "█" * round(room * count / max(counts))
        share = percent(count / found["n"])
        lines.append(f"  {name:<{width}}  {share:>8}  {bar}".rstrip())
    return lines


def _left_text(left: list[dict[str, Any]]) -> str:
    """Return the largest differences that the weights leave, within one line."""
    line = "  differences left"
    for row in left[:_NAMED]:
        part = f"   {one_line(row['name'])} {abs(row['after']):.2f}"
        if len(line) + len(part) <= COLUMNS:
            line += part
    return line
