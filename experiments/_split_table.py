"""Tables of the experiments on data sets: printed and obtained errors, reading by reading."""

import statistics
from collections import Counter

from experiments._models import CLASSIFIERS
from experiments._printed import COLUMNS, contradicts_itself
from experiments._splits import READINGS
from experiments._table import MARKS, Table, mean_and_error, shown, verdict


def split_cells(scale, models):
    """One cell for each reading, set and trial; `models` maps a set to its models."""
    return [
        {
            "do": "split_trial", "reading": reading, "name": name, "model": model,
            "trial": trial, "lams": list(scale.lams), "alphas": list(scale.alphas),
            "evaluations": scale.evaluations, "max_rows": scale.max_rows,
        }
        for trial in range(scale.trials)
        for name, used in models.items()
        for reading in READINGS
        for model in used
    ]  # fmt: skip


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
    columns = {column: mean_and_error([_column(run, column) for run in runs]) for column in COLUMNS}
    columns["optimal"] = mean_and_error([_best(run, None) for run in runs])
    if "default" in runs[0]:
        columns["default"] = mean_and_error([run["default"] for run in runs])
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


def split_tables(values, printed, title, digits=2):
    """Return one table for each reading, printed and obtained values in the same cell."""
    return [
        _reading_table(reading, values[reading], printed, f"{title}, {reading}", digits)
        for reading in READINGS
    ]


def _reading_table(reading, sets, printed, title, digits):
    extra = ["default", "optimal"] if reading == "honest" else []
    names = {"default": "weighbridge", "optimal": "IGIWERM (optimal)"}
    header = ["set", "rows", "ESS", "model", *COLUMNS, *(names[each] for each in extra), "verdict"]
    rows, verdicts = [], []
    for name, found in sets.items():
        for model, columns in found["models"].items():
            row = printed[name][model]
            pairs = list(zip(COLUMNS, row, strict=True))
            said = {column: verdict(columns[column], value) for column, value in pairs}
            cells = [
                f"{value[0]:.{digits}f}, {shown(columns[column], digits)}{MARKS[said[column]]}"
                for column, value in pairs
            ]
            cells += [shown(columns[each], digits) for each in extra]
            about = [name, str(found["rows"]), f"{statistics.median(found['ess']):.1f}", model]
            rows.append([*about, *cells, _in_words(said, row)])
            verdicts += said.values()
    return Table(title, header, rows, _note(reading, sets, verdicts))


def _note(reading, sets, verdicts):
    trials = next(iter(sets.values()))["trials"]
    lost = {name: found["trials that lost a class"] for name, found in sets.items()}
    lost = ", ".join(f"{name} {n}" for name, n in lost.items() if n)
    redraws = sum(found["redraws"] for found in sets.values())
    text = READINGS[reading][0].upper() + READINGS[reading][1:]
    text += (
        f". Over {trials} splits: first the printed mean, then ours ± its standard error. ✗ "
        "differs (Welch's t, at the level of three standard errors), ? cannot tell (the reach is "
        f"more than half of the printed value). Of {len(verdicts)} printed values "
        f"{verdicts.count('agrees')} agree, {verdicts.count('differs')} differ, "
        f"{verdicts.count('cannot tell')} cannot be told."
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
    """What agrees, what differs and what that leaves as a cause, what cannot be."""
    wrong = [column for column, word in said.items() if word == "differs"]
    if wrong:
        text = f"differs in {', '.join(wrong)} ({HINTS[wrong[0]]})"
    else:
        told = [word for word in said.values() if word != "cannot tell"]
        text = "agrees" if len(told) == len(said) else "agrees where it can be told"
        text = text if told else "cannot tell"
    if contradicts_itself(printed_row):
        text += "; printed optimum worse than its own end"
    return text


def classifiers(names, left_out=()):
    """The five classifiers for every set, but for the pairs in `left_out`."""
    return {
        name: [model for model in CLASSIFIERS if (name, model) not in left_out] for name in names
    }
