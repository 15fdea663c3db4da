"""One score for all density ratios, and the choice by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from weighbridge._findings import OUTSIDE, effective_sample_size, outside_share
from weighbridge.ratios._cross_fit import (
    Family,
    log_prior_odds,
    row_log_losses,
)

# The score is that of the ratio r / (a r + 1 - a), which no row can take beyond 1 / a.
RELATIVE = 0.05
# Standard errors: of a difference in score, toward a smoother candidate; and of a gain in log loss,
# below which there is no shift.
TOWARD_SMOOTHER = 1.0
TOWARD_CONSTANT = 2.0


@dataclass(frozen=True)
class Candidate:
    """A way to estimate the ratio, and what it sees of the table; no family is the constant 1."""

    name: str
    family: Family | None
    view: Callable[[Any], Any]
    temper: bool = False
    refit: bool = False
    extends: str | None = None  # the candidate that this one contains


@dataclass(frozen=True)
class Scored:
    """A cross-fitted candidate: fold models, held-out log ratios, summands of the score."""

    candidate: Candidate
    models: list[Any]
    member: int
    line: tuple[float, float]
    log_ratio: np.ndarray
    at_source: np.ndarray
    at_target: np.ndarray
    log_losses: np.ndarray
    auc: float
    worth: float
    seconds: float

    @property
    def score(self) -> float:
        """The held-out score, smaller is better."""
        return float(self.at_source.mean() + self.at_target.mean())


def scored(
    candidate: Candidate,
    models: list[Any],
    member: int,
    line: tuple[float, float],
    log_ratio: np.ndarray,
    codes: np.ndarray,
    seconds: float,
) -> Scored:
    """Score held-out log ratios."""
    source, target = log_ratio[codes == 0], log_ratio[codes == 1]
    log_mean = logsumexp(source) - np.log(source.size)
    at_source = _relative(source - log_mean)
    at_target = _relative(target - log_mean)
    log_odds = log_ratio + log_prior_odds(codes)
    return Scored(
        candidate,
        models,
        member,
        line,
        log_ratio,
        (1 - RELATIVE) / 2 * at_source**2,
        RELATIVE / 2 * at_target**2 - at_target,
        row_log_losses(log_odds, codes),
        float(roc_auc_score(codes, log_ratio)),
        effective_sample_size(np.exp(source - source.max())),
        seconds,
    )


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
        Time of cross-fitting.
    outside : float
        Share of target rows whose ratio exceeds twice that of all but a few source rows, by the
        chosen candidate.

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
        lines = [said, head + f"{'log loss':>10}{'AUC':>7}{'eff. rows':>11}{'s':>7}"]
        for row in range(len(self.names)):
            lines.append(
                f"{'*' if self.names[row] == self.chosen else '':2}{self.names[row]:<12}"
                f"{self.scores[row]:>9.4f}{self.differences[row]:>12.4f}"
                f"{self.standard_errors[row]:>9.4f}{self.log_losses[row]:>10.4f}"
                f"{self.aucs[row]:>7.3f}{self.worth[row]:>11.0f}{self.seconds[row]:>7.2f}"
            )
        return "\n".join(lines)


def choose(results: list[Scored], codes: np.ndarray) -> CandidateTable:
    """Choose the smoothest candidate that is not worse than the best; the first is the constant."""
    constant, others = results[0], results[1:]
    found = any(_gain(constant, other) > TOWARD_CONSTANT for other in others)
    losses = {result.candidate.name: result.log_losses.mean() for result in results}
    counts = [
        result.candidate.extends is None
        or losses[result.candidate.name] < losses[result.candidate.extends]
        for result in results
    ]
    best = min((r for r, c in zip(results[1:], counts[1:], strict=True) if c), key=_score)
    differences = [result.score - best.score for result in results]
    errors = [_standard_error(result, best) for result in results]
    near = [
        c and d <= TOWARD_SMOOTHER * e for c, d, e in zip(counts, differences, errors, strict=True)
    ]
    chosen = near.index(True, 1) if found else 0
    at_source, at_target = (results[chosen].log_ratio[codes == code] for code in (0, 1))
    return CandidateTable(
        names=[result.candidate.name for result in results],
        chosen=results[chosen].candidate.name,
        shift_found=found,
        scores=[result.score for result in results],
        differences=differences,
        standard_errors=errors,
        log_losses=[float(result.log_losses.mean()) for result in results],
        aucs=[result.auc for result in results],
        worth=[result.worth for result in results],
        seconds=[result.seconds for result in results],
        outside=outside_share(at_source, at_target, np.log(2)),
    )


def _score(result: Scored) -> float:
    return result.score


def _gain(constant: Scored, other: Scored) -> float:
    """Return the gain in held-out log loss over the constant ratio, in its standard errors."""
    gain = constant.log_losses - other.log_losses
    return float(gain.mean() / max(gain.std(), 1e-12) * np.sqrt(gain.size))


def _standard_error(one: Scored, other: Scored) -> float:
    """Return the standard error of a difference in score, paired by row."""
    parts = [one.at_source - other.at_source, one.at_target - other.at_target]
    return float(np.sqrt(sum(part.var() / part.size for part in parts)))
