"""Tables of printed and obtained values, as Markdown and as reStructuredText."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as t_distribution

# what is said of a value beside the printed one, and its mark
MARKS = {"within 10 %": " ✓", "not told apart": " ?", "differs": " ✗", "not there": ""}
# one tail beyond three standard deviations of a normal distribution
TAIL = float(normal.sf(3))
# From so many values on, their own tails are heard: a bootstrap with so many resamples.
MANY, RESAMPLES = 30, 10_000


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
    """Return mean and standard error of the values that are there, and how many of all are.

    Of many values also an interval for the mean, `low` to `high`, at the level of three standard
    deviations: a bootstrap of Student's t, which is longer on the side of a heavy tail.
    """
    kept = np.array([value for value in values if value is not None], dtype=float)
    n = len(kept)
    if not n:
        return {"mean": None, "se": None, "n": 0, "of": len(values)}
    mean = math.fsum(kept) / n
    error = math.sqrt(math.fsum((kept - mean) ** 2) / (n - 1) / n) if n > 1 else None
    found = {"mean": mean, "se": error, "n": n, "of": len(values)}
    if n >= MANY:
        below, above = np.quantile(_students_t(kept - mean), [TAIL, 1 - TAIL])
        found |= {"low": mean - above * error, "high": mean - below * error}
    return found


def _students_t(centred):
    """Student's t of resamples of values with mean 0; 0 where a resample has no spread."""
    n, found = len(centred), []
    for drawn in resamples(centred, n, RESAMPLES, np.random.default_rng(0)):
        error = drawn.std(axis=1, ddof=1) / math.sqrt(n)
        found.append(drawn.mean(axis=1) / np.where(error > 0, error, np.inf))
    return np.concatenate(found)


def resamples(values, size, count, rng):
    """Yield `count` resamples of so many values as rows, a few megabytes at a time."""
    step = max(1, 1_000_000 // size)
    for first in range(0, count, step):
        yield values[rng.integers(len(values), size=(min(step, count - first), size))]


def verdict(ours, printed, printed_trials=10):
    """Compare a mean of ours with a printed (mean, standard deviation): a key of `MARKS`.

    "within 10 %" of the printed mean, whatever the errors are, but only of as many trials as were
    printed; else "differs" if the difference is beyond the reach of both errors.
    """
    if ours["mean"] is None:
        return "not there"
    gap = ours["mean"] - printed[0]
    if ours["of"] >= printed_trials and abs(gap) <= 0.1 * abs(printed[0]):
        return "within 10 %"
    return (
        "differs" if abs(gap) > _reach(ours, gap, printed[1], printed_trials) else "not told apart"
    )


def _reach(ours, gap, printed_sd, printed_trials):
    """How far apart two means may be by chance, at the level of three standard deviations.

    Welch's t. Of many values the half of our own interval that faces the printed mean, and that of
    Student's t for the printed one, as the sides of a right angle.
    """
    if ours["se"] is None:
        return math.inf
    theirs = printed_sd / math.sqrt(printed_trials)
    if "low" in ours:
        side = ours["mean"] - ours["low"] if gap > 0 else ours["high"] - ours["mean"]
        return math.hypot(side, theirs * t_distribution.isf(TAIL, printed_trials - 1))
    error = ours["se"]
    if ours["of"] < printed_trials:  # two equal values are no proof that there is no spread
        error = max(error, printed_sd / math.sqrt(ours["n"]))
    both = math.hypot(error, theirs)
    if both == 0:
        return 0.0
    freedom = both**4 / (error**4 / (ours["n"] - 1) + theirs**4 / (printed_trials - 1))
    return both * t_distribution.isf(TAIL, freedom)


def counted(words):
    """Return how many of the values each word is said of, as text."""
    words = list(words)
    text = ", ".join(f"{words.count(word)} {word}" for word in ("within 10 %", "not told apart"))
    text += f", {words.count('differs')} differ"
    missing = words.count("not there")
    return text + (f", {missing} not there" if missing else "")


def shown(ours, digits=2):
    """Return mean ± standard error as text, and how many trials failed to count."""
    if ours["mean"] is None:
        return "none"
    text = f"{ours['mean']:.{digits}f}"
    if ours["se"] is not None:
        text += f" ± {ours['se']:.{digits}f}"
    return text if ours["n"] == ours["of"] else f"{text} ({ours['n']} of {ours['of']})"
