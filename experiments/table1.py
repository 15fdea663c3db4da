"""Table 1: the toy regression, in every reading of its text."""

import numpy as np

from experiments._printed import TOY
from experiments._table import MARKS, Table, mean_and_error, shown, verdict
from experiments._toy_trials import RELEASED

TITLE = "Table 1: toy regression"
# reading of the text: (how `make_quadratic` calls it, rows, what our own study found: population
# errors on the target, mean of 200 draws, ratio known, alpha in [1, 3])
STATED = {
    "as stated: N(m, variance)": (
        "variances", 1000,
        {"ERM": 476.5, "IWERM": 5.81, "IC": 5.87, "leave-one-out": 5.85, "5-fold": 5.87,
         "hold-out": 7.65, "optimal": 5.73},
    ),
    "as stated, noise of standard deviation 5": (
        "noise_sd", 1000,
        {"ERM": 496.0, "IWERM": 26.93, "IC": 27.12, "leave-one-out": 27.02, "5-fold": 27.08,
         "hold-out": 31.44, "optimal": 26.26},
    ),
    "as stated, all standard deviations": (
        "all_sd", 1000,
        {"ERM": 57.2, "IWERM": 25.56, "IC": 25.56, "leave-one-out": 25.55, "5-fold": 25.54,
         "hold-out": 26.00, "optimal": 25.30},
    ),
    "noise of standard deviation 5, 200 rows": (
        "noise_sd", 200,
        {"ERM": 501.7, "IWERM": 38.4, "IC": 36.5, "leave-one-out": 36.2, "5-fold": 35.6,
         "hold-out": 76.5, "optimal": 29.1},
    ),
    "the script's uniform design, right ratio": ("script", 400, {}),
}  # fmt: skip
# what the released script was found to give: (our name, mean of ten draws)
RELEASED_TARGETS = {
    "ERM": ("ERM", 158),
    "IWERM": ("IWERM", 33),
    "IGIWERM, a pair for each draw": ("a pair for each draw", 28),
    "the same design with the right ratio": ("right ratio", 8.5),
}
CHUNK = 10


def cells(scale):
    """Return the work: chunks of draws, the paper's own procedure, the released script."""
    draws = [
        {"do": "toy_trials", "reading": reading, "n": n, "first": first, "count": CHUNK}
        for reading, n, _ in STATED.values()
        for first in range(0, scale.toy_trials, CHUNK)
    ]
    searches = [
        {"do": "toy_search", "reading": reading, "trial": trial, "evaluations": scale.evaluations}
        for reading, n, _ in STATED.values()
        if n == 1000
        for trial in range(scale.search_trials)
    ]
    return draws + searches + [
        {"do": "released_toy", "trial": trial} for trial in range(scale.released_trials)
    ]  # fmt: skip


def values(done):
    """Return mean and standard error for each reading and way to choose."""
    found = {label: _stated(done, *STATED[label][:2]) for label in STATED}
    found["as released"] = _released([out for cell, out in done if cell["do"] == "released_toy"])
    return found


def _stated(done, reading, n):
    chunks = [
        outcome["values"]
        for cell, outcome in done
        if cell["do"] == "toy_trials" and (cell["reading"], cell["n"]) == (reading, n)
    ]
    names = chunks[0]
    found = {name: mean_and_error([e for chunk in chunks for e in chunk[name]]) for name in names}
    searched = [
        outcome["values"]["error"]
        for cell, outcome in done
        if cell["do"] == "toy_search" and cell["reading"] == reading and n == 1000
    ]
    if searched:
        found["hold-out, search"] = mean_and_error(searched)
    return found


def _released(outcomes):
    draws = [outcome["values"] for outcome in outcomes]
    names = ("ERM", "IWERM", "AIWERM", "RIWERM", "right ratio")
    found = {name: mean_and_error([draw[name] for draw in draws]) for name in names}
    surface = np.array([draw["surface"] for draw in draws])
    found["a pair for each draw"] = mean_and_error(surface.min(axis=1).tolist())
    best = int(surface.mean(axis=0).argmin())
    found["one pair for all draws"] = mean_and_error(surface[:, best].tolist())
    found["the script's pair"] = mean_and_error(surface[:, RELEASED.index((0.98, -7.0))].tolist())
    found["one pair"] = list(RELEASED[best])
    return found


def tables(found):
    """Return printed against obtained, then each reading against what it must come to."""
    return [_against_print(found), _against_targets(found), _released_table(found["as released"])]


def _against_print(found):
    ways = {
        "ERM": "ERM", "IWERM": "IWERM", "AIWERM": "AIWERM", "RIWERM": "RIWERM",
        "IGIWERM (bopt)": "hold-out, search", "IGIWERM (IC)": "IC",
    }  # fmt: skip
    released = dict(zip(ways, ("ERM", "IWERM", "AIWERM", "RIWERM", "a pair for each draw"),
                        strict=False))  # fmt: skip
    readings = {label: ways for label, (_, n, _) in STATED.items() if n == 1000}
    readings["as released"] = released
    rows, differing = [], {label: [] for label in readings}
    for name, printed in TOY.items():
        row = [name, f"{printed[0]:.2f} ({printed[1]:.2f})"]
        for label, of in readings.items():
            if name not in of:
                row.append("not there")
                continue
            ours = found[label][of[name]]
            said = verdict(ours, printed)
            row.append(shown(ours) + MARKS[said])
            differing[label] += [name] * (said == "differs")
        rows.append(row)
    rows.append(["verdict", "", *(
        f"differs in {', '.join(wrong)}" if wrong else "agrees" for wrong in differing.values()
    )])  # fmt: skip
    note = (
        "The printed numbers follow from no reading of the text: with these variances an ordinary "
        "line tends to 476, 496 or 50 (closed form), not 160, and the floor of 5.5 in the literal "
        "reading is far below anything printed. They are near those of the released script, which "
        "uses another design, estimates the ratio by a forest that sees the labels, and picks lam "
        "and alpha on the test labels. AIWERM and RIWERM: lam by leave-one-out, and on the test "
        "labels in the released column. Mean squared error ± standard error; ✗ differs (Welch's t, "
        "at the level of three standard errors of the printed ten trials and ours)."
    )
    header = ["method", "printed (sd)", *readings]
    return Table(f"{TITLE}, printed and obtained", header, rows, note)


def _against_targets(found):
    ways = ("ERM", "IWERM", "IC", "leave-one-out", "5-fold", "hold-out", "optimal", "default")
    rows = []
    for label, (_, n, targets) in STATED.items():
        cells_, good = [], True
        for way in ways:
            text = shown(found[label][way])
            if way in targets:
                good &= on_target(found[label][way], targets[way])
                text = f"{targets[way]:g}, {text}"
            cells_.append(text)
        said = ("agrees" if good else "differs") if targets else ""
        rows.append([label, str(n), *cells_, said])
    note = (
        "First the value it must come to (an independent computation with 200 draws), then ours. "
        "Agreement is within 4 standard errors of both. The last column but one is weighbridge's "
        "default; \"optimal\" is the best point of the square on the target itself."
    )  # fmt: skip
    return Table(f"{TITLE}, what each reading comes to", ["reading", "rows", *ways, "verdict"],
                 rows, note)  # fmt: skip


def on_target(ours, target, draws=200):
    """Whether ours is within 4 standard errors of a rounded mean of so many other draws."""
    decimals = len(str(target).partition(".")[2])
    error = np.hypot(ours["se"], ours["se"] * np.sqrt(ours["n"] / draws))
    return bool(abs(ours["mean"] - target) <= 4 * error + 0.5 * 10.0**-decimals)


def _released_table(found):
    lam, alpha = found["one pair"]
    rows = [
        [name, shown(found[way]), str(target), "agrees" if on_target(found[way], target, 10)
         else "differs"]
        for name, (way, target) in RELEASED_TARGETS.items()
    ]  # fmt: skip
    rows += [
        [f"IGIWERM, one pair for all draws, ({lam:g}, {alpha:g})",
         shown(found["one pair for all draws"]), "", ""],
        ["IGIWERM, the pair in the script, (0.98, -7)", shown(found["the script's pair"]), "", ""],
    ]  # fmt: skip
    note = (
        "Errors on the test sample of 200 rows on which the parameters were picked. Agreement is "
        "within 4 standard errors, the expected values taken for means of ten draws as in the "
        "paper. They cannot be means of many: without weights a line in this design tends to "
        "145.67 (closed form). Nor can the printed 160.19 (4.25): draws of this design have a "
        "standard deviation of 23."
    )
    return Table(f"{TITLE}, as released", ["method", "ours", "expected", "verdict"], rows, note)
