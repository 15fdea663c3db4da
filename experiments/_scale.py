"""How much work: a run of minutes, what the documentation records, or everything."""

from dataclasses import dataclass, field, replace

TENTHS = tuple(round(0.1 * step, 1) for step in range(11))
FIFTHS = TENTHS[::2]


@dataclass(frozen=True)
class Scale:
    """Numbers of trials, candidates and rows.

    `trials` are splits of a data set for the tables and `surface_trials` those for the surfaces
    (`long_surface_trials` on california housing, whose fits take seconds). `lams` and `alphas` span
    a surface; the tables use `lams` with alpha 1, 2 and 3, but `few_lams` for models that are slow
    to fit and for the released procedure. `evaluations` is the budget of the Bayesian search there.
    Sets in `rows` are thinned to so many rows.

    Draws of the toy problem are the same in every scale, so that Table 1 is: `toy_trials`,
    `few_rows_trials` (of 200 rows, whose errors have the heaviest tails), `fold_trials` (where
    folds are fitted), `search_trials` (with the Bayesian search of `toy_evaluations`) and
    `released_trials` (with the released script's forest).
    """

    name: str
    trials: int = 10
    surface_trials: int = 20
    long_surface_trials: int = 10
    lams: tuple[float, ...] = TENTHS
    few_lams: tuple[float, ...] = FIFTHS
    alphas: tuple[float, ...] = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    evaluations: int = 8
    rows: dict[str, int] = field(default_factory=dict)
    toy_trials: int = 500
    few_rows_trials: int = 3000
    fold_trials: int = 100
    search_trials: int = 40
    released_trials: int = 60
    toy_evaluations: int = 25

    def max_rows(self, name):
        """Rows that a set is thinned to, or None."""
        return self.rows.get(name)


RECORDED = Scale("recorded", rows={"covtype": 1000, "madelon": 1000, "california housing": 2000})
# the same rows and grids, so that it can contradict what is recorded by chance alone
REDUCED = replace(RECORDED, name="reduced", trials=2, surface_trials=4, long_surface_trials=4)
FULL = Scale("full", few_lams=TENTHS, evaluations=25)
