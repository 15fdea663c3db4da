"""Draw the picture of *Geometric against statistical bias* anew.

    PYTHONPATH=. python docs/draw_geometric_bias.py

One picture, written twice: in the colours of light and of dark pages. It needs matplotlib.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from benchmarks._bias_problems import forty
from benchmarks.geometric_bias import (
    finite_risks,
    grid,
    measures,
    merged,
    population_bias,
    spearman,
)

IMAGES = Path(__file__).parent / "images"
PROBLEM = "quadratic, far"
DRAWS = 200
COLOURS = {"": ("#ffffff", "#1a1a1a", "viridis_r"), "_dark": ("#14181e", "#e8ebee", "cool")}


def draw(panels, alpha, page, ink, shades):
    """Return the three panels in the colours of a page."""
    figure, axes = plt.subplots(1, 3, figsize=(10.4, 3.5), facecolor=page, layout="constrained")
    for axis, (title, across, up) in zip(axes, panels, strict=True):
        axis.set_facecolor(page)
        dots = axis.scatter(across, up, c=alpha, cmap=shades, s=20, linewidths=0)
        axis.set_yscale("log" if title[1] == "statistical bias" else "linear")
        axis.set_title(f"rank correlation {spearman(across, up):.2f}", color=ink, fontsize=11)
        axis.set_xlabel(title[0], color=ink, fontsize=11)
        axis.set_ylabel(title[1], color=ink, fontsize=11)
        axis.tick_params(colors=ink, which="both")
        axis.spines[:].set_color(ink)
        axis.spines[["top", "right"]].set_visible(False)
    bar = figure.colorbar(dots, ax=axes, pad=0.01, aspect=25)
    bar.set_label("alpha", color=ink, fontsize=11)
    bar.ax.tick_params(colors=ink)
    bar.outline.set_visible(False)
    return figure


def main():
    problem = forty()[PROBLEM]
    lam, alpha = grid()
    bias, best = population_bias(problem, lam, alpha)
    geometric = measures(problem, lam, alpha, *merged(*problem.nodes()[2:]))
    total = finite_risks(problem, best, lam, alpha, 100, DRAWS)[0]
    length, curvature = geometric["remaining length"], geometric["curvature"]
    panels = (
        (("remaining length", "statistical bias"), length, bias),
        (("curvature bias", "statistical bias"), curvature, bias),
        (("remaining length", "excess risk, 100 rows"), length, total),
    )
    for suffix, (page, ink, shades) in COLOURS.items():
        figure = draw(panels, alpha, page, ink, shades)
        figure.savefig(IMAGES / f"geometric_bias{suffix}.png", dpi=110, facecolor=page)


if __name__ == "__main__":
    main()
