"""Tables of the experiments on data sets: printed and obtained errors, reading by reading."""

import statistics
from collections import Counter

from experiments._models import CLASSIFIERS, SLOW
from experiments._printed import COLUMNS, contradicts_itself
from experiments._splits import READINGS
from experiments._table import MARKS, Table, counted, mean_and_error, shown, verdict

# what the tables need of alpha, and a curve between the two named ones
ALPHAS = [1.0, 2.0, 3.0]


def split_cells(scale, models):
    """One cell for each reading, set and trial; `models` maps a set to its models."""
    return [
        {
            "do": "split_trial", "reading": reading, "name": name, "model": model, "trial": trial,
            "lams": list(_lams(scale, reading, model)), "alphas": ALPHAS,
            "evaluations": scale.evaluations, "max_rows": scale.max_rows(name),
        }
        for trial in range(scale.trials)
        for name, used in models.items()
        for reading in READINGS
        for model in used
    ]  # fmt: skip


def _lams(scale, reading, model):
    return scale.few_lams if model in SLOW or reading == "as released" else scale.lams


def split_values(done, models):
    """Return mean and standard error of every column, by reading, set and model."""
    return {
        reading: {name: _of_set(done, reading, name, used) for name, used in models.items()}
        for reading in READINGS
    }


def _of_set(done, reading, name, models):
    by_model = {model: runs_of(done, reading, name, model) for model in models}
    runs = by_model[models[0]]
    return {
        "trials": len(runs),
        "rows": runs[0]["n_source"] + runs[0]["n_target"],
        "ess": sorted(run["ess"] for run in runs),
        "redraws": sum(run["redraws"] for run in runs),
        "trials that lost a class": sum(run["classes_lost"] > 0 for run in runs),
        "models": {model: _of_model(by_model[model]) for model in models},
    }


def runs_of(done, reading, name, model):
    """Return the values of the trials of one model on one set."""
    asked = {"reading": reading, "name": name, "model": model}
    return [outcome["values"] for cell, outcome in done if asked.items() <= cell.items()]


def _of_model(runs):
    each = {column: [_column(run, column) for run in runs] for column in COLUMNS}
    each["optimal"] = [_best(run, None) for run in runs]
    if "default" in runs[0]:
        each["default"] = [run["default"] for run in runs]
    columns = {column: {**mean_and_error(of), "each": of} for column, of in each.items()}
    # candidates without an error, by what the fit or the search said
    failures = sum((Counter(run["failures"]) for run in runs), Counter())
    return columns | {"failures": dict(sorted(failures.items()))}


def _column(run, column):
    if column == "unweighted":
        return next(error for lam, _, error in run["surface"] if lam == 0)
    if column == "IWERM":
        return next(error for lam, _, error in run["surface"] if lam == 1)
    if column == "ours":
        return run["ours"] if "ours" in run else _best(run, None)
    return _best(run, 1.0 if column.startswith("AIWERM") else 3.0)


def _best(run, alpha):
    errors = [
        error for _, a, error in run["surface"] if error is not None and alpha in (None, a)
    ]  # fmt: skip
    return min(errors, default=None)


def split_verdicts(values, printed):
    """Return what is said of every printed value, by (reading, set, model, column)."""
    return {
        (reading, name, model, column): verdict(columns[column], value)
        for reading, sets in values.items()
        for name, found in sets.items()
        for model, columns in found["models"].items()
        for column, value in zip(COLUMNS, printed[name][model], strict=True)
    }


def split_tables(values, printed, title, digits=2):
    """Return one table for each reading, printed and obtained values in the same cell."""
    said = split_verdicts(values, printed)
    return [
        _reading_table(reading, sets, printed, said, f"{title}, {reading}", digits)
        for reading, sets in values.items()
    ]


def _reading_table(reading, sets, printed, verdicts, title, digits):
    extra = ["default", "optimal"] if reading == "honest" else []
    names = {"default": "weighbridge", "optimal": "IGIWERM (optimal)"}
    header = ["set", "rows", "ESS", "model", *COLUMNS, *(names[each] for each in extra), "verdict"]
    rows = []
    for name, found in sets.items():
        for model, columns in found["models"].items():
            row = printed[name][model]
            said = {column: verdicts[reading, name, model, column] for column in COLUMNS}
            cells = [
                f"{value[0]:.{digits}f}, {shown(columns[column], digits)}{MARKS[said[column]]}"
                for column, value in zip(COLUMNS, row, strict=True)
            ]
            cells += [shown(columns[each], digits) for each in extra]
            about = [name, str(found["rows"]), f"{statistics.median(found['ess']):.1f}", model]
            rows.append([*about, *cells, _in_words(said, row)])
    told = [word for (of, *_), word in verdicts.items() if of == reading]
    return Table(title, header, rows, _note(reading, sets, told))


def _note(reading, sets, verdicts):
    trials = next(iter(sets.values()))["trials"]
    lost = {name: found["trials that lost a class"] for name, found in sets.items()}
    lost = ", ".join(f"{name} {n}" for name, n in lost.items() if n)
    redraws = sum(found["redraws"] for found in sets.values())
    text = READINGS[reading][0].upper() + READINGS[reading][1:]
    text += (
        f". Over {trials} splits: first the printed mean, then ours ± its standard error. ✓ within "
        "10 % of the printed mean, ? further off but not told apart, ✗ differs (Welch's t, at the "
        f"level of three standard errors). Of {len(verdicts)} printed values: {counted(verdicts)}."
    )
    if lost:
        text += f" Splits whose source lacks a class of the target: {lost}."
    if redraws:
        text += f" Splits with one class on a side, drawn again: {redraws}."
    return text


# What the first column that differs hints at; those after it depend on the same and on more.
HINTS = {
    "unweighted": "without weights only split, scaling and the model's defaults are left",
    "IWERM": "with full weights also the ratio and the scale of the weights",
    "AIWERM (optimal)": "also the search over lam",
    "RIWERM (optimal)": "also the search over lam, and the constant in the ratio",
    "ours": "also how lam and alpha are chosen",
}


def _in_words(said, printed_row):
    """What differs and what that leaves as a cause, or what does not; what cannot be."""
    wrong = [column for column, word in said.items() if word == "differs"]
    if wrong:
        text = f"differs in {', '.join(wrong)} ({HINTS[wrong[0]]})"
    else:
        told = Counter(said.values())
        text = ", ".join(f"{told[word]} {word}" for word in MARKS if told[word])
    if contradicts_itself(printed_row):
        text += "; printed optimum worse than its own end"
    return text


def classifiers(names, left_out=()):
    """The five classifiers for every set, but for the pairs in `left_out`."""
    return {
        name: [model for model in CLASSIFIERS if (name, model) not in left_out] for name in names
    }
