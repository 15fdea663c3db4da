"""Numbers that the pages quote, as substitutions: prose and recorded values cannot drift."""

import math
import statistics

from experiments import libsvm_models, multiclass, regression
from experiments._printed import COLUMNS
from experiments._splits import READINGS
from experiments._table import Table
from experiments.figure_surfaces import CURVES, by_set

SETS_TABLES = {
    "libsvm-models": libsvm_models, "regression": regression, "multiclass": multiclass,
}  # fmt: skip
WORDS = {"within": "within 10 %", "apart": "not told apart", "differ": "differs"}


def substitutions(results):
    """Return a file of substitutions, and a table of how each reading fits each set."""
    found = numbers(results)
    lines = [f".. |{name}| replace:: {text}" for name, text in found.items()]
    # pages take the lines before the comment, or the table after it
    return "\n".join([*lines, "", ".. the table", "", where_each_reading_fits(results).rst()])


def numbers(results):
    """Return the numbers that the pages quote, as text by name."""
    return (
        _counts(results)
        | _global(results)
        | _points(results)
        | _off_the_curves(results)
        | _recording(results)
    )


def verdicts(results):
    """Return what is said of the printed values of appendix E, by (reading, set, model, column)."""
    return {
        row: word
        for name, module in SETS_TABLES.items()
        for row, word in module.verdicts(results[name]["values"]).items()
    }


def _counts(results):
    """How many printed values each word is said of, reading by reading."""
    said = verdicts(results)
    found = {}
    for reading in READINGS:
        of = {row[1:]: word for row, word in said.items() if row[0] == reading}
        for short, word in WORDS.items():
            found[f"{reading} {short}"] = str(list(of.values()).count(word))
        unweighted = {row[:2]: word for row, word in of.items() if row[2] == "unweighted"}
        differing = {row[:2] for row, word in of.items() if word == "differs"}
        found |= {
            f"{reading} values": str(len(of)),
            f"{reading} rows": str(len(unweighted)),
            f"{reading} rows that differ": str(len(differing)),
            f"{reading} rows that differ unweighted": str(
                sum(word == "differs" for word in unweighted.values())
            ),
            f"{reading} unweighted within": str(
                sum(word == "within 10 %" for word in unweighted.values())
            ),
        }
    return found


def _global(results):
    """Where a z-score of the whole table fits better or worse than the text as stated."""
    said, better, worse = verdicts(results), [], []
    for name in dict.fromkeys(row[1] for row in said):
        words = {
            reading: [word for row, word in said.items() if row[:2] == (reading, name)]
            for reading in ("as stated", "global")
        }
        fewer, more = (
            words["global"].count(word) - words["as stated"].count(word)
            for word in ("differs", "within 10 %")
        )
        better += [name] * (fewer < 0 <= more)
        worse += [name] * (fewer > 0)
    stated = rows_of(results, "as stated")
    ratios = [
        columns[column]["se"] / stated[row][column]["se"]
        for row, columns in rows_of(results, "global").items()
        for column in COLUMNS
        if columns[column]["se"] and stated[row][column]["se"]
    ]
    return {
        "global better": _listed(better),
        "global worse": _listed(worse),
        "global error": f"{statistics.median(ratios):.1f}" if ratios else "",
    }


def rows_of(results, reading):
    """Return the columns of a reading, by (set, model)."""
    return {
        (name, model): columns
        for table in SETS_TABLES
        for name, of in results[table]["values"].get(reading, {}).items()
        for model, columns in of["models"].items()
    }


def above_unweighted(results, column):
    """Return by how many points a column is above no weights, for each classification row."""
    return {
        row: columns[column]["mean"] - columns["unweighted"]["mean"]
        for row, columns in rows_of(results, "honest").items()
        if row[1] != "SVR" and columns[column]["mean"] is not None
    }


def _points(results):
    """What weights cost and gain on average over the classification rows, honest reading."""
    columns = ("IWERM", "ours", "default", "optimal")
    above = {column: above_unweighted(results, column) for column in columns}
    worst = max(above["default"], key=above["default"].get)
    at_worst = rows_of(results, "honest")[worst]
    gap = _gap(at_worst["default"], at_worst["unweighted"])
    found = {
        "classification rows": str(len(above["IWERM"])),
        "IWERM above": _points_text(above["IWERM"]),
        "ours above": _points_text(above["ours"]),
        "default above": _points_text(above["default"]),
        "optimal below": f"{-statistics.mean(above['optimal'].values()):.1f}",
        "optimal median": f"{-statistics.median(above['optimal'].values()):.1f}",
        "worst default": f"{worst[1]} on {worst[0]}, where it is {gap[0]:.0f} ± {gap[1]:.0f} "
        "points above no weights",
    }
    for (name, model), columns in rows_of(results, "honest").items():
        if model == "SVR":
            base = columns["unweighted"]["mean"]
            for column in ("optimal", "default"):
                share = 100 * (1 - columns[column]["mean"] / base)
                found[f"{name} {column}"] = f"{share:.0f} %"
    return found


def _points_text(above):
    mean = statistics.mean(above.values())
    return f"{abs(mean):.1f} points {'above' if mean > 0 else 'below'} no weights"


def _gap(one, other):
    """Mean difference with its standard error, split by split where these are kept."""
    if "each" not in one:
        return one["mean"] - other["mean"], math.hypot(one["se"], other["se"])
    gaps = [
        a - b
        for a, b in zip(one["each"], other["each"], strict=True)
        if a is not None and b is not None
    ]  # fmt: skip
    return statistics.mean(gaps), statistics.stdev(gaps) / math.sqrt(len(gaps))


def _off_the_curves(results):
    """What the surfaces say about alpha."""
    sets = by_set(results["figure-surfaces"]["values"])
    places = [surface["best"] for surface in sets.values()]
    ends = sum(lam in (0.0, 1.0) for lam, _ in places)
    off = sum(0 < lam < 1 and alpha not in CURVES for lam, alpha in places)
    points = next(iter(sets.values()))["points"]
    inner = {(lam, alpha) for lam, alpha in points if 0 < lam < 1}
    free = sum(alpha not in CURVES for _, alpha in inner)
    clear = {name: surface for name, surface in sets.items() if surface["adjusted p"] < 0.05}
    better = [name for name, s in clear.items() if s["off the curves"]["gain"] > 0]
    worse = [name for name, s in clear.items() if s["off the curves"]["gain"] < 0]
    shares = [100 * s["off the curves"]["gain"] / s["off the curves"]["best on"]
              for s in sets.values()]  # fmt: skip
    return {
        "sets": str(len(sets)),
        "best at an end": str(ends),
        "best on a curve": str(len(places) - ends - off),
        "best off": str(off),
        "points off": f"{free} of {len(inner) + 2}",
        "surface alphas": str(len({alpha for _, alpha in points})),
        "surface lams": str(len({lam for lam, _ in points})),
        "surface splits": str(max(s["splits"] for s in sets.values())),
        "off better": _listed(better),
        "off worse": _listed(worse),
        "off gain": f"{statistics.mean(shares):.1f} %",
        "off gain median": f"{statistics.median(shares):.1f} %",
    }


def _listed(names):
    if not names:
        return "none"
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _recording(results):
    """With which code and versions the results were made, and of which sets not all rows."""
    rows = {name: n for table in SETS_TABLES for name, n in results[table].get("rows", {}).items()}
    thinned = _listed([f"{name} ({n})" for name, n in rows.items()])
    runs = {}
    for name, content in results.items():
        if content["seconds"]:  # made of cells
            by = ", ".join(f"{package} {v}" for package, v in content["versions"].items())
            by += f", Python {content['python']} ({content['machine']}), code {content['code']}"
            runs.setdefault(by, []).append(name)
    by = "; ".join(f"{by}: {', '.join(of)}" for by, of in runs.items())
    return {"recorded with": by if len(runs) > 1 else next(iter(runs)), "thinned sets": thinned}


def where_each_reading_fits(results):
    """Return a table: for each set and reading how many printed values each word is said of."""
    said = verdicts(results)
    readings = [each for each in READINGS if any(row[0] == each for row in said)]
    names = list(dict.fromkeys(row[1] for row in said))
    rows = []
    for name in names:
        texts = []
        for reading in readings:
            of = [word for row, word in said.items() if row[:2] == (reading, name)]
            texts.append(" / ".join(str(of.count(word)) for word in WORDS.values()))
        total = sum(row[:2] == (readings[0], name) for row in said)
        rows.append([name, str(total), *texts])
    note = (
        f"Of the printed values of a set ({len(COLUMNS)} for each model): within 10 % / further "
        "off but not told apart / differ."
    )
    return Table("How each reading fits", ["set", "values", *readings], rows, note)
