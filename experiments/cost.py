"""The cost table: seconds of a plain fit and of a fit with the weighting chosen."""

from experiments._printed import COST
from experiments._table import Table, mean_and_error, shown
from experiments._toy_trials import toy_seconds

TITLE = "Computational cost (section 5.4)"


TRIALS, EVALUATIONS = 10, 25
# seconds are no values that a second run repeats
REPEATABLE = False


def cells(scale):
    """No cells: timings are taken alone, after all other work, and not kept."""
    return []


def values(done):
    """Return mean seconds and standard errors."""
    runs = [toy_seconds(trial=trial, evaluations=EVALUATIONS) for trial in range(TRIALS)]
    return {name: mean_and_error([run[name] for run in runs]) for name in runs[0]}


def tables(found):
    """Return seconds, and how many plain fits they are."""
    printed_fit = COST["ERM"][0]
    rows = []
    for name, label in (
        ("ERM", "ERM"), ("IGIWERM", "IGIWERM (bopt)"), ("default", "weighbridge's default"),
    ):  # fmt: skip
        printed = COST.get(name)
        rows.append([
            label,
            "" if printed is None else f"{printed[0]:.3f} ({printed[1]:.3f})",
            "" if printed is None else f"{printed[0] / printed_fit:.1f}",
            shown(found[name], 4),
            f"{found[name]['mean'] / found['ERM']['mean']:.0f}",
            "" if printed is None else "cannot agree: another machine",
        ])  # fmt: skip
    note = (
        "Seconds ± standard error and multiples of a plain fit. Seconds are another machine's and "
        "cannot agree. The multiple differs because a plain fit takes less than a millisecond "
        "here, against more than a second as printed, so that the Gaussian process of 25 "
        "evaluations is what costs; the default solves all candidates together and needs none. "
        "Timings differ from run to run."
    )
    header = ["method", "printed (sd)", "in fits", "seconds", "in fits", "verdict"]
    return [Table(TITLE, header, rows, note)]
