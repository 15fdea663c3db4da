"""How much work: a run of minutes, or the paper's own numbers of trials."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Numbers of trials, candidates and rows.

    `toy_trials`, `search_trials` (with the Bayesian search) and `released_trials` (with the
    released script's forest) are draws of the toy problem, `trials` splits of a data set; `lams`
    and `alphas` span the surfaces, `evaluations` is the budget of the Bayesian search, and sets
    with more than `max_rows` rows are thinned at random (None: never).
    """

    name: str
    toy_trials: int
    search_trials: int
    released_trials: int
    trials: int
    lams: tuple[float, ...]
    alphas: tuple[float, ...]
    evaluations: int
    max_rows: int | None


REDUCED = Scale(
    "reduced",
    toy_trials=40,
    search_trials=4,
    released_trials=20,
    trials=2,
    lams=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    alphas=(1.0, 2.0, 3.0),
    evaluations=8,
    max_rows=500,
)
FULL = Scale(
    "full",
    toy_trials=200,
    search_trials=10,
    released_trials=200,
    trials=10,
    lams=tuple(round(0.1 * step, 1) for step in range(11)),
    alphas=(-1.0, 0.0, 1.0, 2.0, 3.0, 5.0),
    evaluations=25,
    max_rows=None,
)
