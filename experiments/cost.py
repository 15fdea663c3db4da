"""The cost table: seconds of a plain fit and of a fit with the weighting chosen."""

from experiments._printed import COST
from experiments._table import Table, mean_and_error
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
    printed_fit, fit = COST["ERM"][0], found["ERM"]["mean"]
    rows = []
    for name, label in (
        ("ERM", "ERM"), ("IGIWERM", "IGIWERM (bopt)"), ("default", "weighbridge's default"),
    ):  # fmt: skip
        printed, ours = COST.get(name), found[name]
        rows.append([
            label,
            "" if printed is None else f"{printed[0]:.3f} ({printed[1]:.3f})",
            "" if printed is None else f"{printed[0] / printed_fit:.1f}",
            f"{ours['mean']:.2g} ± {ours['se']:.1g}",
            f"{ours['mean'] / fit:.0f}",
            "" if printed is None else "cannot be compared: another machine",
        ])  # fmt: skip
    # the search fits once for each evaluation, and once on all rows at the end
    share = 100 * (EVALUATIONS + 1) * fit / found["IGIWERM"]["mean"]
    note = (
        "Seconds ± standard error and multiples of a plain fit. Seconds are another machine's and "
        "cannot be compared, and hardly their multiples: a plain fit of 1000 rows takes "
        f"{1000 * fit:.2g} ms here, against {printed_fit:.3f} s as printed. Of the "
        f"{found['IGIWERM']['mean']:.2g} s of IGIWERM its {EVALUATIONS + 1} fits are {share:.2g} "
        "%; the rest are the Gaussian process and the bookkeeping of the search. The default "
        f"solves all candidates together in {1000 * found['default']['mean']:.2g} ms. "
        "Timings differ from run to run."
    )
    header = ["method", "printed (sd)", "in fits", "seconds", "in fits", "verdict"]
    return [Table(TITLE, header, rows, note)]
