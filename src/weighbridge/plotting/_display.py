"""What all displays share: where they get their numbers and axes, and one look for each role."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

# Beside the data: what stands back, and what needs attention.
GREY = "#57606a"
CAUTION = "#b5480a"
BAND = "#e6e9ec"
# Losses in steps: as good as the best, and worse and worse.
LOSS_STEPS = ("#174e8c", "#fdebd8", "#f9cfa5", "#f2b070", "#e08a3c")


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

    def area(self) -> dict[str, Any]:
        """Return the style of an area."""
        return {"facecolor": self.fill, "edgecolor": self.color}

    def mark(self, page: Any = "white") -> dict[str, Any]:
        """Return the style of a mark without a line; a hollow one shows the page."""
        mark = {"color": self.color, "linestyle": "none", "marker": self.marker, "markersize": 6.5}
        inside = page if self.hollow else self.color
        return {**mark, "markeredgewidth": 1.5, "markerfacecolor": inside}


TRAINING = Role("training", "#0b62a8", linestyle="--", marker="o", hollow=True)
DEPLOYMENT = Role("deployment", "#b5480a", fill="#f3c9a8")
WEIGHTED = Role("weighted training", "#0a6b50", marker="s")


class Display:
    """The numbers of a picture, and how matplotlib draws them."""

    def __init__(self, numbers: Any) -> None:
        raise NotImplementedError

    @classmethod
    def from_numbers(cls, numbers: Any) -> Self:
        """Take the numbers of a picture, such as those of ``Adaptation.pictures``.

        Parameters
        ----------
        numbers : object
            What the function ``compute_...`` of this picture returns.

        Returns
        -------
        Display
            Not drawn yet; see `plot`.
        """
        return cls(numbers)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        Display
            The object itself.
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _on(self, ax: Any, width: float, height: float) -> Any:
        """Return the axes to draw on, new ones where none are given, and remember them."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def shown_name(name: str, longest: int = 28) -> str:
    """Return a name from the data on one line, cut in the middle, and never read as a formula."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        # both ends stay: names of one family differ at the end, and so do levels
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")


def size(value: float) -> str:
    """Write the size of a difference."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.2f}" if value < 1000 else f"{value:.0e}"
