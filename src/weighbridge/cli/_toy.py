"""The paper's illustrative example at the terminal."""

from __future__ import annotations

import textwrap
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LinearRegression

from weighbridge import Geodesic, ImportanceWeighted
from weighbridge.cli._picture import save_atomically
from weighbridge.cli._session import Session
from weighbridge.datasets import make_quadratic
from weighbridge.exceptions import OverlapWarning

# shown as, literature name, weighting
ROWS = [
    ("none", "ERM", Geodesic(lam=0.0, alpha=1.0)),
    ("full", "IWERM", Geodesic(lam=1.0, alpha=1.0)),
    ("power", "AIWERM", Geodesic(lam=0.5, alpha=1.0)),
    ("relative", "RIWERM", Geodesic(lam=0.9, alpha=3.0)),
    ("geodesic", "IGIWERM", Geodesic(lam=0.8, alpha=2.0)),
]


class Fit(NamedTuple):
    """One weighting of the demo."""

    name: str
    literature: str
    weighting: Geodesic
    line: Any
    error: float
    limit: float
    worth: float
    warning: str | None


def fit_all(data: Any) -> list[Fit]:
    """Fit a line with every weighting, by the true ratio."""
    fits = []
    for name, literature, weighting in ROWS:
        model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OverlapWarning)
            model.fit(data.X, data.y)
        fits.append(
            Fit(
                name,
                literature,
                weighting,
                model.estimator_,
                data.problem.mse(model.estimator_),
                data.problem.limit(weighting.lam, weighting.alpha),
                model.ess_,
                str(caught[0].message) if caught else None,
            )
        )
    return fits


def run(session: Session, reading: str, seed: int, path: Path | None) -> None:
    """Run the demo: fit, print the table, draw the lines where there is a path for them."""
    start = time.perf_counter()
    data = make_quadratic(reading=reading, random_state=seed)
    fits = fit_all(data)
    console = Console(no_color=session.out.plain or None, highlight=False)
    _print_table(console, data, fits)
    if path is not None:
        save_atomically(draw(data, fits), path)
        console.print(f"  picture  {path}", soft_wrap=True)
    else:
        session.narration.say(
            '  no picture: matplotlib is not installed (pip install "weighbridge[plot]")'
        )
    console.print("  Now yours:  ImportanceWeightedCV(model).fit(X, y, X_target=X_target)")
    session.narration.say(f"  done in {time.perf_counter() - start:.1f} s")


def _print_table(console: Console, data: Any, fits: list[Fit]) -> None:
    best, plain_error = min(fits, key=lambda fit: fit.error), fits[0].error
    # outside UTF-8 an arrow or a dash would be an error, not a character
    arrow, dash = ("→", "–") if console.encoding.startswith("utf") else ("->", "-")
    if best.error < plain_error:
        answer = f"Weighting helps: target error (MSE) {plain_error:.1f} {arrow} {best.error:.1f}"
        answer += f" ({best.name})"
    else:
        answer = "Keep the unweighted line: no weighting does better on these rows"
    console.print(f"\n[bold]{answer}[/bold]")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=None)
    table.add_column("  weighting")
    for head in ("lam", "alpha", "target MSE", "with endless rows", "worth"):
        table.add_column(head, justify="right")
    for fit in fits:
        lam, alpha = fit.weighting.lam, fit.weighting.alpha
        table.add_row(
            f"  {fit.name} ({fit.literature})",
            f"{lam:.2f}",
            dash if lam in (0, 1) else f"{alpha:.1f}",
            f"{fit.error:.2f}",
            f"{fit.limit:.2f}",
            f"{fit.worth:,.0f} rows",
        )
    console.print()
    console.print(table)
    console.print(
        f"\n  No line can do better than {data.problem.limit(1):.2f}. {len(data.X):,} labelled "
        "rows; the simulator\n  knows the true ratio and every line's true error."
    )
    if np.ptp([fit.error for fit in fits[1:]]) < 1e-9:
        console.print("  The ratio is 0 or one constant here, so that all weightings agree.")
    for fit in fits:
        if fit.warning:
            note = f"note for {fit.name}: {fit.warning}"
            console.print(textwrap.fill(note, 78, initial_indent="  ", subsequent_indent="    "))
    console.print()


def draw(data: Any, fits: list[Fit]) -> Any:
    """Return a figure of both samples and the fitted lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    target: dict[str, Any] = {"facecolor": "#f3c9a8", "edgecolor": "#b5480a", "linewidth": 0.5}
    axes.scatter(data.X[:, 0], data.y, s=12, facecolor="none", edgecolor="#0b62a8", alpha=0.5,
                 linewidth=0.7, label="source (training) rows")  # fmt: skip
    axes.scatter(data.X_target[:, 0], data.y_target, s=12, alpha=0.7, **target,
                 label="target rows (labels never used)")  # fmt: skip
    low, high = np.percentile(np.r_[data.X[:, 0], data.X_target[:, 0]], [0.5, 99.5])
    x = np.array([low, high])
    colours = ["#57606a", "#0a6b50", "#7a3e9d", "#b3261e", "#1b1f24"]
    styles = [(0, (5, 2)), "-", (0, (1, 1)), (0, (3, 2, 1, 2)), (0, (9, 3))]
    for fit, colour, style in zip(fits, colours, styles, strict=True):
        axes.plot(x, fit.line.predict(x[:, None]), color=colour, linestyle=style, linewidth=1.8,
                  label=f"{fit.name} ({fit.literature}): MSE {fit.error:.1f}")  # fmt: skip
    bottom, top = np.percentile(np.r_[data.y, data.y_target], [0.5, 99.5])
    margin = 0.15 * (top - bottom)
    axes.set(xlabel="x", ylabel="y", xlim=(low, high), ylim=(bottom - margin, top + margin))
    axes.set_title("A straight line fitted for the target, from source rows alone", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    return figure
