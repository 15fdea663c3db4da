"""Figure 1: the curves from source to target, for a real pair of normal distributions."""

import numpy as np
from scipy.special import expit

from experiments._table import Table
from weighbridge.manifolds import Normal, fisher_rao_distance, geometric_bias, projected_curve

TITLE = "Figure 1: the curves between N(0, 1) and N(2, 0.25)"
FAMILY = Normal()
SOURCE, TARGET = FAMILY.theta(mean=0, sd=1), FAMILY.theta(mean=2, sd=0.5)
ALPHAS = (-1.0, 0.0, 1.0, 2.0, 3.0)
NAMES = {-1.0: "mixture", 0.0: "shortest", 1.0: "AIWERM", 3.0: "RIWERM"}
# close together at the ends, where the curves for alpha > 1 turn
LAMS = np.unique(np.r_[np.linspace(0, 1, 41), expit(np.linspace(-14, 14, 80))])


def cells(scale):
    """No work that is worth keeping."""
    return []


def values(done):
    """Return mean, standard deviation, natural parameters and mass along each curve."""
    found = {"distance": fisher_rao_distance(FAMILY, SOURCE, TARGET), "curves": {}}
    for alpha in ALPHAS:
        curve = projected_curve(FAMILY, SOURCE, TARGET, LAMS, alpha)
        usual = [FAMILY.usual(theta) for theta in curve.theta]
        bias = geometric_bias(FAMILY, SOURCE, TARGET, 0.5, alpha)
        found["curves"][f"{alpha:g}"] = {
            "mean": [each["mean"] for each in usual],
            "sd": [each["sd"] for each in usual],
            "theta": curve.theta.tolist(),
            "mass": np.exp(curve.log_normaliser).tolist(),
            "geodesic bias at lam = 0.5": bias.geodesic,
            "curvature bias at lam = 0.5": bias.curvature,
        }
    return found


def tables(found):
    """Return where each curve is half-way, and its biases there."""
    middle = int(np.searchsorted(LAMS, 0.5))
    rows = [
        [f"{alpha} {NAMES.get(float(alpha), '')}".strip(), f"{curve['mean'][middle]:.6f}",
         f"{curve['sd'][middle]:.6f}", f"{curve['mass'][middle]:.6f}",
         f"{curve['geodesic bias at lam = 0.5']:g}",
         f"{curve['curvature bias at lam = 0.5']:.6g}"]
        for alpha, curve in found["curves"].items()
    ]  # fmt: skip
    note = (
        "The paper's figure is a sketch and prints no numbers. Fisher-Rao distance of the ends: "
        f"{found['distance']:.7f}."
    )
    header = ["alpha", "mean", "sd", "mass Z", "geodesic bias", "curvature bias"]
    return [Table("Half-way, lam = 0.5", header, rows, note)]


def draw(found, folder):
    """Draw the curves in both charts; returns the file's name."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(ALPHAS)))
    for (alpha, curve), colour in zip(found["curves"].items(), colours, strict=True):
        label = f"alpha = {alpha} {NAMES.get(float(alpha), '')}"
        style = {"1": "--", "3": ":"}.get(alpha, "-")
        first, second = np.array(curve["theta"]).T
        axes[0].plot(first, second, style, color=colour, lw=2, label=label)
        axes[1].plot(curve["mean"], curve["sd"], style, color=colour, lw=2)
    one, three = (np.array(found["curves"][name]["theta"]) for name in ("1", "3"))
    outline = np.vstack([one, three[::-1]])
    axes[0].fill(*outline.T, color="gray", alpha=0.15, lw=0)
    for ax, ends in zip(axes, ([SOURCE, TARGET], [(0, 1), (2, 0.5)]), strict=True):
        for place, name in zip(ends, ("source, lam = 0", "target, lam = 1"), strict=True):
            ax.plot(*place, "o", color="black")
            right = name.startswith("target")
            ax.annotate(name, place, xytext=(-8, -3) if right else (8, -3),
                        textcoords="offset points", ha="right" if right else "left")  # fmt: skip
    axes[0].set(xlabel="theta 1 = mean / variance", ylabel="theta 2 = -1 / (2 variance)")
    axes[1].set(xlabel="mean", ylabel="standard deviation")
    axes[0].legend()
    figure.savefig(folder / "figure-geometry.png", dpi=120)
    plt.close(figure)
    return ["figure-geometry.png"]
