"""The candidates for a density ratio, and one held-out criterion for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from weighbridge._folds import Fold
from weighbridge.ratios._classifier import members_and_view, same_table
from weighbridge.ratios._cross_fit import (
    FEW_BINS,
    MAX_TREE_COLUMNS,
    MIN_TREE_ROWS,
    FitMembers,
    FoldModel,
    cross_fit,
    fit_single,
    log_prior_odds,
    row_log_losses,
    small_trees,
)
from weighbridge.ratios._kernel import bandwidth_grid
from weighbridge.ratios._logistic import fit_logistic_path
from weighbridge.ratios._overlap import effective_sample_size
from weighbridge.ratios._ulsif import ULSIF
from weighbridge.tables import QuadraticFeatures, TableEncoder, can_be_squared, take_rows

# The score is that of the ratio r / (a r + 1 - a), which no row can take beyond 1 / a.
RELATIVE = 0.05
# With fewer rows of a sample, kernels have no rows to hold out.
MIN_KERNEL_ROWS = 10
# With so many rows per coefficient, a linear model does not overfit its own rows.
ROWS_PER_COEFFICIENT = 20


@dataclass(frozen=True)
class Candidate:
    """A way to estimate the ratio, and its view of the table; None for the constant ratio 1."""

    name: str
    fit_members: FitMembers | None
    view: Callable[[Any], Any]
    calibrated: bool = False  # By Platt scaling, which may only flatten.
    refit: bool = False  # To all rows, once chosen.
    extends: str | None = None  # The simpler candidate whose log loss it must beat.
    settle: Callable[[Any], FitMembers] | None = None  # Fixes for other folds what the first chose.


# Makes a default candidate from the encoder, the rows, their samples and a seed.
Maker = Callable[[TableEncoder, Any, np.ndarray, int], Candidate | None]


def ratio_candidates(
    given: list[tuple[str, Any]] | None, X: Any, codes: np.ndarray, seed: int, name: str = ""
) -> Iterator[Candidate]:
    """Yield the candidates, from the simplest to the most flexible, or only the one of a name."""
    if name in ("", "constant"):
        yield Candidate("constant", None, same_table)
    if given is None:
        encoder = TableEncoder().fit(X, codes)
        candidates = (
            make(encoder, X, codes, seed) for key, make in DEFAULTS.items() if name in ("", key)
        )
        yield from (candidate for candidate in candidates if candidate is not None)
        return
    for label, model in given:
        if name in ("", label):
            fit_members, view = members_and_view(model, X, codes)
            yield Candidate(label, fit_members, view, refit=hasattr(model, "score_samples"))


def _linear(encoder: TableEncoder, X: Any, codes: np.ndarray, seed: int) -> Candidate:
    del seed
    path = partial(fit_logistic_path, centre=encoder.sparse_centre)
    coefficients = encoder.numbers(take_rows(X, slice(0, 1))).shape[1] + 1
    many_rows = np.bincount(codes).min() >= ROWS_PER_COEFFICIENT * coefficients
    return Candidate("linear", path, encoder.numbers, refit=bool(many_rows))


def _quadratic(encoder: TableEncoder, X: Any, codes: np.ndarray, seed: int) -> Candidate | None:
    del codes, seed
    if not can_be_squared(encoder.numbers(take_rows(X, slice(0, 1)))):
        return None
    view = QuadraticFeatures(encoder, factored=True).fit(X)
    return Candidate("quadratic", fit_logistic_path, view, extends="linear")


def _ulsif(encoder: TableEncoder, X: Any, codes: np.ndarray, seed: int) -> Candidate | None:
    if np.bincount(codes).min() < MIN_KERNEL_ROWS:
        return None
    firsts = (np.flatnonzero(codes == code)[:500] for code in (0, 1))
    source, target = (encoder.numbers(take_rows(X, rows)) for rows in firsts)
    centres = target[:100].toarray() if sp.issparse(target) else target[:100]
    grid = bandwidth_grid(None, source, target, centres)[::2]
    members = partial(fit_single, ULSIF(bandwidths=grid, random_state=seed))
    return Candidate("ulsif", members, same_table, refit=True, settle=_settled_ulsif)


def _settled_ulsif(fitted: ULSIF) -> FitMembers:
    settled = clone(fitted).set_params(bandwidths=[fitted.bandwidth_], ridges=[fitted.ridge_])
    return partial(fit_single, settled)


def _boosting(encoder: TableEncoder, X: Any, codes: np.ndarray, seed: int) -> Candidate | None:
    few = np.bincount(codes).min() < MIN_TREE_ROWS
    if sp.issparse(X) or X.shape[1] > MAX_TREE_COLUMNS or few:
        return None
    trees = small_trees(encoder.categorical, seed, learning_rate=0.2, max_iter=500, patience=5)
    return Candidate(
        "boosting",
        partial(fit_single, trees.set_params(max_bins=FEW_BINS)),
        encoder.for_trees,
        calibrated=True,
        extends="linear",
        settle=_settled_trees,
    )


def _settled_trees(fitted: Any) -> FitMembers:
    settled = clone(fitted).set_params(max_iter=fitted.n_iter_, early_stopping=False)
    return partial(fit_single, settled)


DEFAULTS: dict[str, Maker] = {
    "linear": _linear,
    "quadratic": _quadratic,
    "ulsif": _ulsif,
    "boosting": _boosting,
}


@dataclass(frozen=True)
class CrossFitted:
    """A cross-fitted candidate: its fold models, and the held-out log ratio of all rows."""

    candidate: Candidate
    models: list[FoldModel]
    member: int
    slope: float
    intercept: float
    log_ratio: np.ndarray
    codes: np.ndarray
    seconds: float

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Summands of the score at source and target rows.

        The squared error of the relative ratio q = r / (a r + 1 - a) is, up to a constant,
        ``(1 - a) / 2 E_source[q^2] + a / 2 E_target[q^2] - E_target[q]`` (Yamada et al., 2013).
        """
        source, target = (self.log_ratio[self.codes == code] for code in (0, 1))
        log_mean = logsumexp(source) - np.log(source.size)
        at_source, at_target = _relative(source - log_mean), _relative(target - log_mean)
        return (1 - RELATIVE) / 2 * at_source**2, RELATIVE / 2 * at_target**2 - at_target

    @cached_property
    def score(self) -> float:
        """The held-out score; smaller is better."""
        return float(sum(terms.mean() for terms in self.terms))

    @cached_property
    def log_losses(self) -> np.ndarray:
        """Log loss of each row."""
        return row_log_losses(self.log_ratio + log_prior_odds(self.codes), self.codes)

    @cached_property
    def auc(self) -> float:
        """The probability that a target row has a larger ratio than a source row."""
        m, ranks = int(self.codes.sum()), rankdata(self.log_ratio)
        return float((ranks[self.codes == 1].mean() - (m + 1) / 2) / (self.codes.size - m))

    def standard_error(self, other: CrossFitted) -> float:
        """Return the standard error of the difference in score, paired by row."""
        pairs = zip(self.terms, other.terms, strict=True)
        return float(np.sqrt(sum((mine - its).var() / mine.size for mine, its in pairs)))

    def gain(self, other: CrossFitted) -> float:
        """Return how much smaller its log loss is than the other's, in standard errors."""
        gains = other.log_losses - self.log_losses
        return float(gains.mean() / max(gains.std(), 1e-12) * np.sqrt(gains.size))

    def row(self, best: CrossFitted) -> dict[str, Any]:
        """Return the figures of the candidate for a table."""
        source = self.log_ratio[self.codes == 0]
        return {
            "name": self.candidate.name,
            "score": self.score,
            "difference": self.score - best.score,
            "standard_error": self.standard_error(best),
            "log_loss": float(self.log_losses.mean()),
            "auc": self.auc,
            "effective_sample_size": effective_sample_size(np.exp(source - source.max())),
            "seconds": self.seconds,
        }


def _relative(log_ratio: np.ndarray) -> np.ndarray:
    return 1 / (RELATIVE + (1 - RELATIVE) * np.exp(-np.maximum(log_ratio, -700.0)))


def cross_fit_candidate(
    candidate: Candidate, X: Any, codes: np.ndarray, folds: list[Fold], n_jobs: int | None
) -> CrossFitted:
    """Cross-fit a candidate, and calibrate its log odds if it asks for that."""
    started = time.perf_counter()
    if candidate.fit_members is None:
        return CrossFitted(candidate, [], 0, 1.0, 0.0, np.zeros(codes.size), codes, 0.0)
    models, log_odds, member = cross_fit(
        candidate.fit_members,
        candidate.view(X),
        codes,
        folds,
        settle=candidate.settle,
        n_jobs=n_jobs,
    )
    slope, intercept = _flattening_line(log_odds, codes) if candidate.calibrated else (1.0, 0.0)
    log_ratio = slope * log_odds + intercept - log_prior_odds(codes)
    seconds = time.perf_counter() - started
    return CrossFitted(candidate, models, member, slope, intercept, log_ratio, codes, seconds)


def _flattening_line(log_odds: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept of Platt scaling, or 1 and 0 if the log odds are not too sharp."""
    line = LogisticRegression(C=1e6).fit(log_odds[:, None], codes)
    slope = float(line.coef_[0, 0])
    return (1.0, 0.0) if slope >= 1 else (max(slope, 0.0), float(line.intercept_[0]))
