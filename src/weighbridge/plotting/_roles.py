"""One role, one colour, one mark: what training, deployment and weighted training look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Beside the data: what stands back, and what needs attention.
GREY = "#57606a"
CAUTION = "#b5480a"
BAND = "#e6e9ec"
# Losses in steps, the best first.
LOSS_STEPS = (
    "#08306b",
    "#1b4b85",
    "#2f67a0",
    "#4484bc",
    "#6ba0cf",
    "#96bbdd",
    "#c1d6eb",
    "#edf2f8",
)


@dataclass(frozen=True)
class Role:
    """How a sample is drawn: never by colour alone, but also by line, mark or area."""

    name: str
    color: str
    fill: str | None = None
    linestyle: str = "-"
    marker: str | None = None
    hollow: bool = False

    def line(self) -> dict[str, Any]:
        """Return the style of a line."""
        return {"color": self.color, "linestyle": self.linestyle, "linewidth": 1.6}

    def mark(self, page: Any = "white") -> dict[str, Any]:
        """Return the style of a mark without a line; a hollow one shows the page."""
        return {
            "color": self.color,
            "linestyle": "none",
            "marker": self.marker,
            "markersize": 6.5,
            "markeredgewidth": 1.5,
            "markerfacecolor": page if self.hollow else self.color,
        }


TRAINING = Role("training", "#0b62a8", linestyle="--", marker="o", hollow=True)
DEPLOYMENT = Role("deployment", "#b5480a", fill="#f3c9a8")
WEIGHTED = Role("weighted training", "#0a6b50", marker="s")
