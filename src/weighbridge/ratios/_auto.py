"""The default ratio: the best of a few candidates, or none if no shift is found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from weighbridge._folds import assign_folds, one_thread
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._candidates import dense_if_narrow, ratio_candidates
from weighbridge.ratios._cross_fit import Candidate, CrossFitted, log_prior_odds, row_log_losses
from weighbridge.ratios._overlap import effective_sample_size
from weighbridge.tables import RowScores, check_count, shuffled, take_rows

# The score is that of the ratio r / (a r + 1 - a), which no row can take beyond 1 / a.
RELATIVE = 0.05
# Held-out AUC of a linear model from which on nothing more flexible has anything to add.
SEPARABLE_AUC = 0.999
# Standard errors within which a simpler candidate is preferred (one-standard-error rule).
TOWARD_SIMPLER = 1.0
# Standard errors of a gain in log loss over the constant ratio, below which there is no shift.
TOWARD_CONSTANT = 2.0
# Larger samples are represented by this many rows while the candidates are compared.
CHOICE_ROWS = 20_000
# Folds of the comparison. On simulated problems five took 30 % longer, gave weights as good, and
# found a small shift less often (in 4 instead of 14 of 40 draws).
CHOICE_FOLDS = 3


class AutoRatio(EstimatedRatio):
    """Density ratio by the best of a few candidates, or 1 if no shift is found.

    Logistic regression, linear and with squares and products; least squares importance fitting
    (`ULSIF`); histogram gradient boosting, calibrated. Each is cross-fitted on three folds, and the
    held-out log ratios of all are compared by one score: the squared error of the relative ratio
    ``r / (0.05 r + 0.95)``, which measures what a weight does and lets no single row decide. Among
    the candidates within one standard error of the best, the simplest is chosen; the quadratic one
    and boosting count only if their log loss is smaller than that of the linear one. If no
    candidate has a log loss that is two standard errors below that of the constant ratio, no shift
    is found, and the ratio is 1.

    Parameters
    ----------
    cv : int, default=5
        Number of folds of the chosen candidate, stratified by sample.
    n_jobs : int, optional
        Folds fitted in parallel, by joblib.
    random_state : int, RandomState instance or None, default=0
        Assigns the folds, draws centres and splits for early stopping.

    Attributes
    ----------
    chosen_ : str
        Name of the chosen candidate; "constant" if no shift was found.
    shift_found_ : bool
        Whether any candidate beats the constant ratio.
    table_ : list of dict
        For each candidate its name, its held-out score (smaller is better), the difference from
        the best score and its standard error, log loss, AUC, effective sample size and seconds;
        ``pandas.DataFrame(ratio.table_)`` shows it.

    Notes
    -----
    Samples with more than 20,000 rows are compared on that many, and the chosen candidate is then
    fitted to all. Rows seen in ``fit`` are scored by models that did not see them, except by
    `ULSIF`, and by the linear model if both samples have 20 rows for each coefficient.

    Squares and boosting need at most 1,000 columns, products at most 40 (see `ClassifierRatio`).
    Boosting needs 50 rows of each sample, `ULSIF` 10. Sparse tables of more than 40 columns have
    the linear and the `ULSIF` candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 3)), rng.normal(0.5, 1, (800, 3))
    >>> ratio = fit_ratio(X, X_target)  # AutoRatio is the default
    >>> ratio.chosen_
    'linear'
    >>> fit_ratio(X, rng.normal(0, 1, (800, 3))).shift_found_
    False
    """

    def __init__(self, *, cv: int = 5, n_jobs: int | None = None, random_state: Any = 0):
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _estimate(self, X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, rng = dense_if_narrow(X), check_random_state(self.random_state)
        # A random order that does not depend on that of the rows.
        order = np.concatenate(shuffled(X, codes, rng))
        X, codes = take_rows(X, order), codes[order]
        seed = int(rng.randint(2**31 - 1))
        few = np.concatenate([np.flatnonzero(codes == code)[:CHOICE_ROWS] for code in (0, 1)])
        is_large = few.size < codes.size
        X_few, codes_few = (take_rows(X, few), codes[few]) if is_large else (X, codes)
        rows = RowScores(X_few)
        candidate, fitted = self._compare(X_few, codes_few, rows, seed)
        if is_large:
            candidates = ratio_candidates(X, codes, seed)  # All rows may have too many levels.
            candidate = candidates.get(self.chosen_, candidates["linear"])()
        if not candidate.refit:
            rows = RowScores(X)
            folds = assign_folds(rows.group, codes, int(self.cv))
            fitted = CrossFitted(candidate, X, codes, folds, self.n_jobs)
        log_ratio = fitted.held_out
        fitted.remember(rows)
        self.cross_fitted_ = fitted
        if candidate.refit:
            fitted.refit(candidate, X, codes)
            log_ratio = self._in_blocks(X, self._score)
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _compare(
        self, X: Any, codes: np.ndarray, rows: RowScores, seed: int
    ) -> tuple[Candidate, CrossFitted]:
        """Cross-fit each candidate once, and choose one."""
        folds = assign_folds(rows.group, codes, min(CHOICE_FOLDS, int(self.cv)))
        results: list[_Result] = []
        with one_thread():
            for make in ratio_candidates(X, codes, seed).values():
                started, candidate = time.perf_counter(), make()
                fitted = CrossFitted(candidate, X, codes, folds, self.n_jobs)
                seconds = time.perf_counter() - started
                results.append(_Result(candidate, fitted, codes, seconds))
                if results[-1].auc >= SEPARABLE_AUC:
                    break  # No ratio is of use if hardly any rows overlap.
        chosen, best = _choose(results)
        self.table_ = [result.row(best) for result in results]
        self.chosen_ = chosen.candidate.name
        self.shift_found_ = chosen is not results[0]
        return chosen.candidate, chosen.fitted

    def held_out_scores(self, X: Any) -> np.ndarray:
        """Return the log ratio at rows of the fit, by models that have not seen them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows seen in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The held-out log ratio.
        """
        check_is_fitted(self)
        rows = self._checked_rows(X, reset=False)
        return self._in_blocks(rows, self.cross_fitted_.held_out_score)

    def _score(self, X: Any) -> np.ndarray:
        return self.cross_fitted_.score(X)

    def _check_parameters(self) -> None:
        check_count("cv", self.cv, 2)


@dataclass(frozen=True)
class _Result:
    """A cross-fitted candidate, with its held-out figures."""

    candidate: Candidate
    fitted: CrossFitted
    codes: np.ndarray
    seconds: float = 0.0

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Summands of the score at source and target rows.

        The squared error of the relative ratio q = r / (a r + 1 - a) is, up to a constant,
        ``(1 - a) / 2 E_source[q^2] + a / 2 E_target[q^2] - E_target[q]`` (Yamada et al., 2013).
        """
        source, target = (self.fitted.held_out[self.codes == code] for code in (0, 1))
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
        return row_log_losses(self.fitted.held_out + log_prior_odds(self.codes), self.codes)

    @cached_property
    def auc(self) -> float:
        """The probability that a target row has a larger ratio than a source row."""
        m, ranks = int(self.codes.sum()), rankdata(self.fitted.held_out)
        return float((ranks[self.codes == 1].mean() - (m + 1) / 2) / (self.codes.size - m))

    def standard_error(self, other: _Result) -> float:
        """Return the standard error of the difference in score, paired by row."""
        pairs = zip(self.terms, other.terms, strict=True)
        return float(np.sqrt(sum((terms - others).var() / terms.size for terms, others in pairs)))

    def gain(self, other: _Result) -> float:
        """Return how much smaller its log loss is than the other's, in standard errors."""
        gains = other.log_losses - self.log_losses
        return float(gains.mean() / max(gains.std(), 1e-12) * np.sqrt(gains.size))

    def row(self, best: _Result) -> dict[str, Any]:
        """Return the figures of the candidate for a table."""
        source = self.fitted.held_out[self.codes == 0]
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


def _choose(results: list[_Result]) -> tuple[_Result, _Result]:
    """Return the simplest candidate that is as good as the best, and the best one."""
    constant, others = results[0], results[1:]
    losses = {result.candidate.name: result.log_losses.mean() for result in others}
    counting = [
        result
        for result in others
        if (simpler := result.candidate.extends) is None
        or losses[result.candidate.name] < losses[simpler]
    ]
    best = min(counting, key=lambda result: result.score)
    if not any(result.gain(constant) > TOWARD_CONSTANT for result in others):
        return constant, best
    chosen = next(
        result
        for result in counting
        if result.score - best.score <= TOWARD_SIMPLER * result.standard_error(best)
    )
    return chosen, best
