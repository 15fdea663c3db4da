"""Figure: the toy data, and the lines fitted to it by ERM, IWERM and IGIWERM."""

import numpy as np
from sklearn.linear_model import LinearRegression

from experiments import figure_search
from weighbridge import Geodesic
from weighbridge.datasets import make_quadratic
from weighbridge.weighting import log_mean

TITLE = "Toy data and fitted lines"
# the paper's procedure on the first draw, as in that figure
cells = figure_search.cells


def values(done):
    """Return intercept, slope and target error of the three lines."""
    lam, alpha = done[0][1]["values"]["chosen"]
    data = make_quadratic(random_state=0)
    found = {}
    for name, weighting in (
        ("ERM", Geodesic(0.0)), ("IWERM", Geodesic(1.0)), ("IGIWERM", Geodesic(lam, alpha)),
    ):  # fmt: skip
        # as in the search: the ratio is scaled to mean 1 on the sample first
        weights = weighting.weights(data.log_ratio - log_mean(data.log_ratio))
        line = LinearRegression().fit(data.X, data.y, sample_weight=weights)
        found[name] = {
            "lam": weighting.lam,
            "alpha": weighting.alpha,
            "line": [float(line.intercept_), float(line.coef_[0])],
            "error": data.problem.mse(line),
        }
    return found


def draw(found, folder):
    """Draw both panels; returns the file's name."""
    import matplotlib.pyplot as plt

    data = make_quadratic(random_state=0)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax in axes:
        ax.scatter(data.X[:, 0], data.y, s=6, color="tab:blue", alpha=0.4, label="source")
        ax.scatter(data.X_target[:, 0], data.y_target, s=6, color="tab:orange", alpha=0.4,
                   label="target")  # fmt: skip
        ax.set_xlabel("x")
    axes[0].set_ylabel("y")
    x = np.linspace(-8, 8, 2)
    styles = {"ERM": "k--", "IWERM": "k:", "IGIWERM": "r-"}
    for name, line in found.items():
        intercept, slope = line["line"]
        axes[1].plot(x, intercept + slope * x, styles[name], lw=3 if name == "IWERM" else 1.2,
                     label=f"{name}, error {line['error']:.1f}")  # fmt: skip
    axes[1].set_ylim(-15, 60)
    for ax in axes:
        ax.legend()
    figure.savefig(folder / "figure-toy.png", dpi=120)
    plt.close(figure)
    return ["figure-toy.png"]
