"""Table 1: the toy regression, in every reading of its text."""

import numpy as np

from experiments._printed import TOY
from experiments._table import MARKS, Table, counted, mean_and_error, resamples, shown, verdict
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
CHUNK = 20
RESAMPLES = 20_000
# printed method: our way to choose, in the readings of the text and in the released script
WAYS = {
    "ERM": "ERM", "IWERM": "IWERM", "AIWERM": "AIWERM", "RIWERM": "RIWERM",
    "IGIWERM (bopt)": "hold-out, search", "IGIWERM (IC)": "IC",
}  # fmt: skip
PRINTED_READINGS = {label: WAYS for label, (_, n, _) in STATED.items() if n == 1000} | {
    "as released": {
        "ERM": "ERM", "IWERM": "IWERM", "AIWERM": "AIWERM", "RIWERM": "RIWERM",
        "IGIWERM (bopt)": "a pair for each draw",
    }
}  # fmt: skip


def cells(scale):
    """Return the work: chunks of draws, the paper's own procedure, the released script."""
    draws = [
        {"do": do, "reading": reading, "n": n, "first": first, "count": min(CHUNK, trials - first)}
        for reading, n, targets in STATED.values()
        for do, trials in (
            ("toy_trials", scale.few_rows_trials if n == 200 else scale.toy_trials),
            ("toy_folds", scale.fold_trials if targets else 0),
        )
        for first in range(0, trials, CHUNK)
    ]
    searches = [
        {"do": "toy_search", "reading": reading, "trial": trial,
         "evaluations": scale.toy_evaluations}
        for reading, n, _ in STATED.values()
        if n == 1000
        for trial in range(scale.search_trials)
    ]  # fmt: skip
    return draws + searches + [
        {"do": "released_toy", "trial": trial} for trial in range(scale.released_trials)
    ]  # fmt: skip


def values(done):
    """Return mean and standard error for each reading and way to choose."""
    found = {label: _stated(done, *STATED[label]) for label in STATED}
    found["as released"] = _released([out for cell, out in done if cell["do"] == "released_toy"])
    return found


def _stated(done, reading, n, targets):
    asked = {"reading": reading, "n": n}
    draws = {}
    for cell, outcome in done:
        if asked.items() <= cell.items():
            for way, errors in outcome["values"].items():
                draws.setdefault(way, []).extend(errors)
        elif cell["do"] == "toy_search" and cell["reading"] == reading and n == 1000:
            draws.setdefault("hold-out, search", []).append(outcome["values"]["error"])
    found = {way: mean_and_error(errors) for way, errors in draws.items()}
    for way in targets:
        found[way]["others"] = others(draws[way], 200)
    return found


def others(draws, count):
    """Where a mean of `count` other draws should be, with probability 99.9 %: [low, high].

    By resampling ours, both for the others and for the error of our own mean.
    """
    draws, rng = np.array(draws), np.random.default_rng(0)
    again, other = (
        np.concatenate([rows.mean(axis=1) for rows in resamples(draws, size, RESAMPLES, rng)])
        for size in (len(draws), count)
    )
    return np.quantile(draws.mean() - again + other, [0.0005, 0.9995]).tolist()


def _released(outcomes):
    draws = [outcome["values"] for outcome in outcomes]
    names = ("ERM", "IWERM", "AIWERM", "RIWERM", "right ratio")
    errors = {name: [draw[name] for draw in draws] for name in names}
    surface = np.array([draw["surface"] for draw in draws])
    errors["a pair for each draw"] = surface.min(axis=1).tolist()
    found = {name: mean_and_error(of) for name, of in errors.items()}
    for way, _ in RELEASED_TARGETS.values():
        found[way]["others"] = others(errors[way], 10)
    best = int(surface.mean(axis=0).argmin())
    found["one pair for all draws"] = mean_and_error(surface[:, best].tolist())
    found["the script's pair"] = mean_and_error(surface[:, RELEASED.index((0.98, -7.0))].tolist())
    found["one pair"] = list(RELEASED[best])
    return found


def tables(found):
    """Return printed against obtained, then each reading against what it must come to."""
    return [_against_print(found), _against_targets(found), _released_table(found["as released"])]


def verdicts(found):
    """Return what is said of every printed value and of every target, by (reading, method)."""
    said = {
        (label, name): verdict(found[label][ways[name]], printed)
        for label, ways in PRINTED_READINGS.items()
        for name, printed in TOY.items()
        if name in ways
    }
    expected = {
        (label, way): target
        for label, (_, _, targets) in STATED.items()
        for way, target in targets.items()
    }
    expected |= {("as released", way): target for way, target in RELEASED_TARGETS.values()}
    return said | {
        (label, f"target of {way}"): against_target(found[label][way], target)
        for (label, way), target in expected.items()
    }


def against_target(ours, target):
    """Whether a rounded mean of other draws is where ours says that it should be."""
    half = 0.5 * 10.0 ** -len(str(target).partition(".")[2])
    low, high = ours["others"]
    return "not told apart" if low - half <= target <= high + half else "differs"


def _against_print(found):
    told = verdicts(found)
    rows = []
    for name, printed in TOY.items():
        row = [name, f"{printed[0]:.2f} ({printed[1]:.2f})"]
        for label, ways in PRINTED_READINGS.items():
            if name in ways:
                row.append(shown(found[label][ways[name]]) + MARKS[told[label, name]])
            else:
                row.append("not there")
        rows.append(row)
    words = {
        label: [told[label, name] for name in ways] for label, ways in PRINTED_READINGS.items()
    }
    rows.append(["verdict", "", *(counted(of) for of in words.values())])
    note = (
        "The printed numbers follow from no reading of the text: with these variances an ordinary "
        "line tends to 476, 496 or 50 (closed form), not 160, and the floor of 5.5 in the literal "
        "reading is far below anything printed. They are nearest to those of the released script, "
        "which uses another design, estimates the ratio by a forest that sees the labels, and "
        "picks lam and alpha on the test labels. AIWERM and RIWERM: lam by leave-one-out, and on "
        f"the test labels in the released column. Means of {_draws(found)} ± standard error; ✓ "
        "within 10 % of the printed mean, ? further off but not told apart, ✗ differs: beyond the "
        "reach of the printed ten trials (Student's t) and of ours (a bootstrap of Student's t, "
        "which hears heavy tails), at the level of three standard deviations."
    )
    header = ["method", "printed (sd)", *PRINTED_READINGS]
    return Table(f"{TITLE}, printed and obtained", header, rows, note)


def _draws(found):
    stated, released = found[next(iter(STATED))], found["as released"]
    return (
        f"{stated['ERM']['n']} draws ({stated['hold-out, search']['n']} of the search, "
        f"{released['ERM']['n']} of the released script)"
    )


def _against_targets(found):
    ways = ("ERM", "IWERM", "IC", "leave-one-out", "5-fold", "hold-out", "optimal", "default")
    told = verdicts(found)
    rows = []
    for label, (_, n, targets) in STATED.items():
        texts = [
            (f"{targets[way]:g}, " if way in targets else "") + shown(found[label][way])
            if way in found[label]
            else ""
            for way in ways
        ]
        wrong = [way for way in targets if told[label, f"target of {way}"] == "differs"]
        said = f"differs in {', '.join(wrong)}" if wrong else "not told apart" if targets else ""
        rows.append([label, str(n), *texts, said])
    most = max(found[label]["ERM"]["n"] for label in STATED)
    stated = found[next(iter(STATED))]
    note = (
        "First the value it must come to (an independent computation with 200 draws), then ours "
        f"({stated['ERM']['n']} draws, {most} of 200 rows, {stated['5-fold']['n']} where folds are "
        "fitted). A row "
        "differs where the former is not where a mean of 200 draws like ours is with probability "
        "99.9 % (by resampling ours). The last column but one is weighbridge's default; "
        '"optimal" is the best point of the square on the target itself.'
    )
    header = ["reading", "rows", *ways, "verdict"]
    return Table(f"{TITLE}, what each reading comes to", header, rows, note)


def _released_table(found):
    lam, alpha = found["one pair"]
    rows = [
        [name, shown(found[way]), str(target), against_target(found[way], target)]
        for name, (way, target) in RELEASED_TARGETS.items()
    ]
    rows += [
        [f"IGIWERM, one pair for all draws, ({lam:g}, {alpha:g})",
         shown(found["one pair for all draws"]), "", ""],
        ["IGIWERM, the pair in the script, (0.98, -7)", shown(found["the script's pair"]), "", ""],
    ]  # fmt: skip
    spread = found["ERM"]["se"] * found["ERM"]["n"] ** 0.5
    note = (
        "Errors on the test sample of 200 rows on which the parameters were picked. A row differs "
        "where the expected value is not where a mean of ten draws like ours is with probability "
        "99.9 % (by resampling ours). The expected ones cannot be means of many: without weights "
        "a line in this design tends to 145.67 (closed form). Nor can the printed 160.19 (4.25): "
        f"draws of this design have a standard deviation of {spread:.0f}."
    )
    return Table(f"{TITLE}, as released", ["method", "ours", "expected", "verdict"], rows, note)
