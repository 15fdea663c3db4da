"""What a map of weightings says about its candidates: title, description, colours, table."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from weighbridge._findings import number
from weighbridge._svg._draw import Table, capital
from weighbridge.pictures import AS_GOOD, BridgeSurface

# Hellinger distance of the two ends below which all weightings are alike.
_ALIKE = 0.04
NO_MAP = (
    "The ratio is nearly the same for all training rows, so every weighting gives nearly the same "
    "weights: there is no map to draw."
)
_ENDS = {0.0: "the unweighted model", 1.0: "full weighting"}
# Upper ends of the steps of colour, in standard errors above the best.
LEVELS = (AS_GOOD, 4.0, 8.0, 16.0)


def are_alike(surface: BridgeSurface) -> bool:
    """Return True if the two ends nearly coincide, so that there is no shift to map."""
    return math.dist(surface.ends["none"], surface.ends["full"]) < _ALIKE


def is_judged(surface: BridgeSurface) -> bool:
    """Return True if standard errors separate differences from noise."""
    return not np.isnan(surface.standard_error).all()


def map_title(surface: BridgeSurface) -> str:
    """Return how many weightings do as well as the best, and whether the two ends do."""
    known = ~np.isnan(surface.apart)
    n, n_good = int(known.sum()), int(surface.as_good.sum())
    if n < 2:
        return f"{('No', 'Only one')[n]} weighting could be evaluated"
    if not is_judged(surface):
        return f"Losses of {n:,} weightings, with nothing to say what is chance"
    if are_alike(surface):
        return "All weightings are nearly the same"
    if n_good == n:
        return f"All {n:,} weightings do about equally well"
    if n_good == 1:
        lam, alpha = (float(axis[surface.as_good][0]) for axis in (surface.lam, surface.alpha))
        best = _ENDS.get(lam, f"lam {number(lam)} with alpha {number(alpha)}")
        others = f"{n - 1:,} weightings" if n > 2 else "weighting"
        return f"{capital(best)} does better than the other {others}"
    ends = {name: surface.apart[known & (surface.lam == lam)] for lam, name in _ENDS.items()}
    among = [name for name, apart in ends.items() if (apart <= AS_GOOD).any()]
    worse = [name for name, apart in ends.items() if apart.size and name not in among]
    title = f"{n_good:,} of {n:,} weightings do as well as the best"
    title += f", {' and '.join(among)} among them" if among else ""
    does = "does" if len(worse) == 1 else "do"
    return title + (f"; {' and '.join(worse)} {does} worse" if worse else "")


def description(surface: BridgeSurface) -> str:
    """Return which weighting was chosen, where it lies, and what it gains."""
    chosen = surface.chosen
    where = "" if chosen.lam in (0, 1) else f", {_place_of_choice(surface)}"
    words = f"Selected: {name_of_choice(surface)}{where}."
    unweighted, loss = _loss_at(surface, 0.0, 1.0), _loss_at(surface, *chosen)
    if not math.isnan(unweighted + loss) and chosen.lam != 0:
        name = capital(surface.loss_name)
        words += f" {name} {number(loss)}, without weights {number(unweighted)}."
    good = surface.lam[surface.as_good]
    if good.size > 1 and is_judged(surface):
        words += f" As good as the best: lam from {number(good.min())} to {number(good.max())}."
    return words


def name_of_choice(surface: BridgeSurface) -> str:
    """Return lam and alpha of the choice; at the ends alpha has no effect."""
    lam, alpha = surface.chosen
    if lam in (0, 1):
        return "no weights (lam 0)" if lam == 0 else "the full ratio (lam 1)"
    return f"lam {number(lam)}, alpha {number(alpha)}"


def _place_of_choice(surface: BridgeSurface) -> str:
    ends = surface.ends
    length = math.dist(ends["none"], ends["full"])
    for name, words in (("none", "near no weights"), ("full", "near the full ratio")):
        if math.dist(surface.chosen_place, ends[name]) < 0.3 * length:
            return words
    return "between no weights and the full ratio"


def _loss_at(surface: BridgeSurface, lam: float, alpha: float) -> float:
    """Return the loss of a candidate, NaN if it was not tried."""
    is_same = (surface.lam == lam) & ((surface.alpha == alpha) | (lam in (0, 1)))
    return float(next(iter(surface.loss[is_same]), math.nan))


def candidates_table(surface: BridgeSurface) -> Table:
    """Return all candidates, best first, and whether each does as well as the best."""
    columns = surface.lam, surface.alpha, surface.loss, surface.standard_error, surface.apart
    rows = []
    for index in np.lexsort((surface.lam, surface.loss)):  # NaN, a failed fit, comes last.
        lam, alpha, loss, error, apart = (float(column[index]) for column in columns)
        name = {0.0: "none", 1.0: "full"}.get(lam, f"{number(lam)}, {number(alpha)}")
        row = name, "", "", "failed" if math.isnan(loss) else number(loss, 4)
        if not math.isnan(apart + error):
            answer = "yes" if apart <= AS_GOOD else "no"
            row = name, answer, number(apart, 2), f"{number(loss, 4)} ± {number(error, 2)}"
        rows.append(row)
    return ("lam, alpha", "as good", "errors apart", surface.loss_name), tuple(rows)


def step_of(apart: float) -> int:
    """Return the index of the colour for a loss `apart` standard errors above the best."""
    return bisect_left(LEVELS, apart)


class ColourBar(NamedTuple):
    """Steps of colour: how many, the standard errors between them, and words at both ends."""

    n: int
    errors: tuple[float, ...]
    good: str
    bad: str


def colour_bar(surface: BridgeSurface) -> ColourBar:
    """Return the steps of colour that the candidates need, one if nothing differs."""
    known = surface.apart[~np.isnan(surface.apart)]
    if not known.size:
        return ColourBar(0, (), "", "no weighting could be evaluated")
    n = 1 + step_of(float(known.max()))
    if not is_judged(surface):
        return ColourBar(n, (), "best", "worst" if n > 1 else "")
    if n == 1:
        return ColourBar(n, (), "all as good as the best", "")
    return ColourBar(n, LEVELS[: n - 1], "as good as the best", "worse" if n < 4 else "far worse")
