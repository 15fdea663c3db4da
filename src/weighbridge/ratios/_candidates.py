"""The candidates for a density ratio, one score for all of them, and the table of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import rankdata

from weighbridge.ratios._classifier import family_and_view, whole_table
from weighbridge.ratios._cross_fit import (
    MAX_TREE_COLUMNS,
    MIN_TREE_ROWS,
    Family,
    Single,
    log_prior_odds,
    row_log_losses,
    small_trees,
)
from weighbridge.ratios._encoder import TableEncoder
from weighbridge.ratios._kernel import bandwidth_grid
from weighbridge.ratios._logistic import LogisticPath, QuadraticFeatures, can_be_squared
from weighbridge.ratios._overlap import OUTSIDE, effective_sample_size
from weighbridge.ratios._ulsif import ULSIF
from weighbridge.tables import take_rows

# The score is that of the ratio r / (a r + 1 - a), which no row can take beyond 1 / a.
RELATIVE = 0.05
# With fewer rows of a sample kernels have no rows to hold out.
MIN_KERNEL_ROWS = 10
# A linear model of so few coefficients cannot know its own rows, and is fitted to all of them.
ROWS_PER_COEFFICIENT = 20


@dataclass(frozen=True)
class Candidate:
    """A way to estimate the ratio, and what it sees of the table; no family is the constant 1."""

    name: str
    family: Family | None
    view: Callable[[Any], Any]
    temper: bool = False
    refit: bool = False
    extends: str | None = None  # the smoother one whose log loss it must beat
    settle: Callable[[Any], Any] | None = None  # makes the other folds' model of the first's


# By name, from the smoothest to the most flexible.
_Makers = dict[str, Callable[[], Candidate]]


def ratio_candidates(
    own: Any, X: Any, codes: np.ndarray, seed: int, only: str | None = None
) -> Iterator[Candidate]:
    """Yield the candidates, smoothest first, or a single one without the work of others."""
    makers: _Makers = {"constant": lambda: Candidate("constant", None, whole_table)}
    if own is None:
        makers |= _default_makers(X, codes, seed)
    else:
        makers |= {name: partial(_own, name, model, X, codes) for name, model in own}
    return (make() for name, make in makers.items() if only in (None, name))


def _own(name: str, model: Any, X: Any, codes: np.ndarray) -> Candidate:
    """Return one of the user's candidates."""
    family, view = family_and_view(model, X, codes)
    return Candidate(name, family, view, refit=hasattr(model, "score_samples"))


def _default_makers(X: Any, codes: np.ndarray, seed: int) -> _Makers:
    """Return what makes each of the default candidates that suit the table."""
    encoder = TableEncoder().fit(X, codes)
    first = encoder.numbers(take_rows(X, slice(0, 1)))
    fewest, dense = int(np.bincount(codes).min()), not sp.issparse(X)
    path = LogisticPath(encoder.sparse_centre)
    plain = fewest >= ROWS_PER_COEFFICIENT * (first.shape[1] + 1)

    def quadratic() -> Candidate:
        view = QuadraticFeatures(encoder, factored=True).fit(X)
        return Candidate("quadratic", LogisticPath(), view, extends="linear")

    def ulsif() -> Candidate:
        first_of = (np.flatnonzero(codes == code)[:500] for code in (0, 1))
        source, target = (encoder.numbers(take_rows(X, places)) for places in first_of)
        centres = target[:100] if dense else target[:100].toarray()
        grid = bandwidth_grid(None, source, target, centres)[::2]
        kernels = Single(ULSIF(bandwidths=grid, random_state=seed))
        return Candidate(
            "ulsif",
            kernels,
            whole_table,
            refit=True,
            settle=lambda one: one.set_params(bandwidths=[one.bandwidth_], ridges=[one.ridge_]),
        )

    def boosting() -> Candidate:
        # a ratio is smoother than most things trees learn
        trees = small_trees(encoder.categorical, seed, learning_rate=0.1, max_iter=500, patience=10)
        return Candidate(
            "boosting",
            Single(trees),
            encoder.for_trees,
            temper=True,
            extends="linear",
            settle=lambda one: one.set_params(max_iter=one.n_iter_, early_stopping=False),
        )

    makers: _Makers = {"linear": lambda: Candidate("linear", path, encoder.numbers, refit=plain)}
    if dense and can_be_squared(first):
        makers["quadratic"] = quadratic
    if fewest >= MIN_KERNEL_ROWS:
        makers["ulsif"] = ulsif
    if dense and X.shape[1] <= MAX_TREE_COLUMNS and fewest >= MIN_TREE_ROWS:
        makers["boosting"] = boosting
    return makers


@dataclass(frozen=True)
class Scored:
    """A cross-fitted candidate: models of folds, and log ratios at the rows these held out."""

    candidate: Candidate
    models: list[Any]
    member: int
    line: tuple[float, float]
    seconds: float
    log_ratio: np.ndarray
    codes: np.ndarray
    rows: np.ndarray

    def at(self, rows: np.ndarray) -> Scored:
        """Return it at some of the rows alone, where it has all of them."""
        return replace(self, log_ratio=self.log_ratio[rows], codes=self.codes[rows], rows=rows)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Summands of the score, at source and target rows."""
        source, target = (self.log_ratio[self.codes == code] for code in (0, 1))
        log_mean = logsumexp(source) - np.log(source.size)
        at_source, at_target = _relative(source - log_mean), _relative(target - log_mean)
        return (1 - RELATIVE) / 2 * at_source**2, RELATIVE / 2 * at_target**2 - at_target

    @cached_property
    def score(self) -> float:
        """The held-out score, smaller is better."""
        return float(sum(part.mean() for part in self.parts))

    @cached_property
    def log_losses(self) -> np.ndarray:
        """Log loss of each row."""
        return row_log_losses(self.log_ratio + log_prior_odds(self.codes), self.codes)

    @property
    def auc(self) -> float:
        """The chance that of two rows the target's has the larger ratio."""
        m, ranks = int(self.codes.sum()), rankdata(self.log_ratio)
        return float((ranks[self.codes == 1].mean() - (m + 1) / 2) / (self.codes.size - m))

    @property
    def worth(self) -> float:
        """Effective number of source rows."""
        source = self.log_ratio[self.codes == 0]
        return effective_sample_size(np.exp(source - source.max()))


def _relative(log_ratio: np.ndarray) -> np.ndarray:
    return 1 / (RELATIVE + (1 - RELATIVE) * np.exp(-np.maximum(log_ratio, -700.0)))


@dataclass(frozen=True, repr=False)
class CandidateTable:
    """How the candidates for a density ratio compare; ``str`` gives a table.

    Attributes
    ----------
    names : list of str
        From the smoothest to the most flexible.
    chosen : str
        The one that was chosen.
    shift_found : bool
        False where none beats the constant ratio.
    scores : list of float
        Held-out squared error of the relative ratio, up to a constant; smaller is better.
    differences, standard_errors : list of float
        Score minus the best score, and the standard error of that difference over rows.
    log_losses, aucs : list of float
        Held-out log loss and AUC of telling the samples apart.
    worth : list of float
        Effective number of source rows under the held-out ratio.
    seconds : list of float
        Time taken by cross-fitting.
    folds : list of int
        Folds fitted; a candidate with fewer was dropped, and compared on the rows held out there.
    outside : float
        Share of target rows whose ratio exceeds twice that of all but a few source rows,
        according to the chosen candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 3)), rng.normal(0.5, 1, (800, 3))
    >>> print(fit_ratio(X, X_target).table_)  # doctest: +ELLIPSIS
    shift found: the ratio is linear, ...
    """

    names: list[str]
    chosen: str
    shift_found: bool
    scores: list[float]
    differences: list[float]
    standard_errors: list[float]
    log_losses: list[float]
    aucs: list[float]
    worth: list[float]
    seconds: list[float]
    folds: list[int]
    outside: float

    def __repr__(self) -> str:
        if self.shift_found:
            said = f"shift found: the ratio is {self.chosen}, the smoothest within one standard "
            said += "error of the best score"
        else:
            said = "no shift found: no candidate's log loss beats that of a constant ratio by two "
            said += "standard errors"
        if self.outside > OUTSIDE:
            said += f"\n{self.outside:.0%} of the target rows lie where hardly any source row is: "
            said += "no weighting can represent them"
        head = f"{'':2}{'candidate':<12}{'score':>9}{'above best':>12}{'+-':>9}"
        lines = [said, head + f"{'log loss':>10}{'AUC':>7}{'eff. rows':>11}{'folds':>7}{'s':>7}"]
        for row in range(len(self.names)):
            lines.append(
                f"{'*' if self.names[row] == self.chosen else '':2}{self.names[row]:<12}"
                f"{self.scores[row]:>9.4f}{self.differences[row]:>12.4f}"
                f"{self.standard_errors[row]:>9.4f}{self.log_losses[row]:>10.4f}{self.aucs[row]:>7.3f}"
                f"{self.worth[row]:>11.0f}{self.folds[row]:>7}{self.seconds[row]:>7.2f}"
            )
        return "\n".join(lines)
