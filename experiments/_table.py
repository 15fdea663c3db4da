"""Tables of printed and obtained values, as Markdown and as reStructuredText."""

import math
from dataclasses import dataclass

from scipy.stats import norm as normal
from scipy.stats import t as t_distribution

# how a verdict is marked beside a number
MARKS = {"agrees": "", "differs": " ✗", "cannot tell": " ?"}


@dataclass(frozen=True)
class Table:
    """A table with its title and what there is to say about it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""

    def markdown(self):
        """Return the table in Markdown."""
        lines = [f"## {self.title}", "", _bar(self.header), _bar(["---"] * len(self.header))]
        lines += [_bar(row) for row in self.rows]
        return "\n".join(lines + (["", self.note] if self.note else []) + [""])

    def rst(self):
        """Return the table for the documentation."""
        lines = [f".. list-table:: {self.title}", "   :header-rows: 1", "   :class: paper", ""]
        for row in [self.header, *self.rows]:
            lines += [f"   {'* -' if place == 0 else '  -'} {cell}".rstrip()
                      for place, cell in enumerate(row)]  # fmt: skip
        return "\n".join(lines + (["", self.note] if self.note else []) + [""])


def _bar(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def mean_and_error(values):
    """Return mean and standard error of the values that are there, and how many of all are."""
    kept = [value for value in values if value is not None]
    n = len(kept)
    if not n:
        return {"mean": None, "se": None, "n": 0, "of": len(values)}
    mean = math.fsum(kept) / n
    spread = math.fsum((value - mean) ** 2 for value in kept)
    error = math.sqrt(spread / (n - 1) / n) if n > 1 else None
    return {"mean": mean, "se": error, "n": n, "of": len(values)}


def verdict(ours, printed, printed_trials=10):
    """Compare a mean of ours with a printed (mean, standard deviation): three answers.

    "differs" beyond Welch's t at the level of three standard errors of a normal distribution;
    else "agrees", or "cannot tell" where that reach is more than half of the printed value.
    """
    if ours["mean"] is None or ours["se"] is None:
        return "cannot tell"
    theirs = printed[1] / math.sqrt(printed_trials)
    error = math.hypot(ours["se"], theirs)
    if error == 0:
        return "agrees" if ours["mean"] == printed[0] else "differs"
    freedom = error**4 / (ours["se"] ** 4 / (ours["n"] - 1) + theirs**4 / (printed_trials - 1))
    reach = error * t_distribution.ppf(normal.cdf(3), freedom)
    if abs(ours["mean"] - printed[0]) > reach:
        return "differs"
    return "agrees" if reach <= abs(printed[0]) / 2 else "cannot tell"


def shown(ours, digits=2):
    """Return mean ± standard error as text, and how many trials failed to count."""
    if ours["mean"] is None:
        return "none"
    text = f"{ours['mean']:.{digits}f}"
    if ours["se"] is not None:
        text += f" ± {ours['se']:.{digits}f}"
    return text if ours["n"] == ours["of"] else f"{text} ({ours['n']} of {ours['of']})"
