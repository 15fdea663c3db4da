"""The default ratio: the best of a few candidates, or none if no shift is found."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from weighbridge._folds import assign_folds, one_thread
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._candidates import CrossFitted, cross_fit_candidate, ratio_candidates
from weighbridge.ratios._classifier import dense_if_narrow
from weighbridge.ratios._cross_fit import (
    SEPARABLE_AUC,
    CrossFittedRatio,
    FoldModel,
    refuse_class_weight,
)
from weighbridge.tables import RowScores, check_count, shuffled, take_rows, to_numpy

# Standard errors within which a simpler candidate is preferred (one-standard-error rule).
TOWARD_SIMPLER = 1.0
# Standard errors of a gain in log loss over the constant ratio, below which there is no shift.
TOWARD_CONSTANT = 2.0
# Larger samples are represented by this many rows while the candidates are compared.
CHOICE_ROWS = 20_000
# Folds of the comparison. On simulated problems five took 30 % longer, gave weights as good, and
# found a small shift less often (in 4 instead of 14 of 40 draws).
CHOICE_FOLDS = 3


class AutoRatio(CrossFittedRatio):
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
    candidates : list of (str, ratio or classifier) pairs, optional
        From the simplest to the most flexible, in place of the default candidates. The constant
        ratio is always among them.
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

    def __init__(
        self,
        candidates: Any = None,
        *,
        cv: int = 5,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.candidates = candidates
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _estimate(self, X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.candidates is None:
            X = dense_if_narrow(X)
        rng = check_random_state(self.random_state)
        # A random order that does not depend on that of the rows.
        order = np.concatenate(shuffled(X, codes, rng))
        X, codes = take_rows(X, order), codes[order]
        chosen, rows = self._choice(X, codes, seed=int(rng.randint(2**31 - 1)))
        self._keep(chosen, rows, X, codes)
        refitted = chosen.candidate.refit
        log_ratio = self._in_blocks(X, self._score) if refitted else chosen.log_ratio
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _choice(self, X: Any, codes: np.ndarray, seed: int) -> tuple[CrossFitted, RowScores]:
        """Compare the candidates; return the chosen one, cross-fitted to the rows it will score."""
        few = np.concatenate([np.flatnonzero(codes == code)[:CHOICE_ROWS] for code in (0, 1)])
        is_large = few.size < codes.size
        X_few, codes_few = (take_rows(X, few), codes[few]) if is_large else (X, codes)
        chosen, rows = self._compare(X_few, codes_few, seed)
        candidate = chosen.candidate
        if is_large:
            (candidate,) = ratio_candidates(self.candidates, X, codes, seed, self.chosen_)
        if candidate.refit or candidate.fit_members is None:  # No use for further folds.
            return replace(chosen, candidate=candidate), rows
        rows = RowScores(X)
        folds = assign_folds(rows.group, codes, int(self.cv))
        return cross_fit_candidate(candidate, X, codes, folds, self.n_jobs), rows

    def _compare(self, X: Any, codes: np.ndarray, seed: int) -> tuple[CrossFitted, RowScores]:
        rows = RowScores(X)
        folds = assign_folds(rows.group, codes, min(CHOICE_FOLDS, int(self.cv)))
        results: list[CrossFitted] = []
        with one_thread():
            for candidate in ratio_candidates(self.candidates, X, codes, seed):
                results.append(cross_fit_candidate(candidate, X, codes, folds, self.n_jobs))
                if self.candidates is None and results[-1].auc >= SEPARABLE_AUC:
                    break  # No ratio is of use if hardly any rows overlap.
        chosen, best = _choose(results)
        self.table_ = [result.row(best) for result in results]
        self.chosen_ = chosen.candidate.name
        self.shift_found_ = chosen is not results[0]
        return chosen, rows

    def _keep(self, chosen: CrossFitted, rows: RowScores, X: Any, codes: np.ndarray) -> None:
        """Keep what scores rows from now on."""
        candidate = chosen.candidate
        self.view_, self.fold_models_ = candidate.view, chosen.models
        self.slope_, self.intercept_ = chosen.slope, chosen.intercept
        self.held_out_ = self._compared = None
        if candidate.fit_members is None:
            return
        rows.remember(chosen.log_ratio)
        self._compared = rows
        if candidate.refit:
            model = candidate.fit_members(candidate.view(X), codes)[chosen.member]
            self.fold_models_ = [FoldModel(model, codes, codes)]
        else:
            self.held_out_ = rows

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
        compared = copy(self)
        compared.held_out_ = self._compared
        return to_numpy(compared.score_samples(X))

    def _score(self, X: Any) -> np.ndarray:
        return super()._score(X) if self.fold_models_ else np.zeros(X.shape[0])

    def _to_log_ratio(self, log_odds: np.ndarray) -> np.ndarray:
        return self.slope_ * log_odds + self.intercept_ - self.log_prior_odds_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "chosen_")

    def _check_parameters(self) -> None:
        check_count("cv", self.cv, 2)
        if self.candidates is None:
            return
        given = self.candidates if isinstance(self.candidates, list | tuple) else [None]
        names = [pair[0] for pair in given if isinstance(pair, tuple) and len(pair) == 2]
        are_names = len(names) == len(given) and all(isinstance(name, str) for name in names)
        if not names or not are_names or len({*names, "constant"}) <= len(names):
            raise ValueError(
                f"Got candidates={self.candidates!r}, but expected a list of (name, model) pairs "
                "with different names, none of them 'constant', which is always there."
            )
        for name, model in self.candidates:
            _check_candidate(name, model)

    @property
    def _finite(self) -> bool | str:  # type: ignore[override]
        return "allow-nan" if self.candidates is None else False


def _choose(results: list[CrossFitted]) -> tuple[CrossFitted, CrossFitted]:
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


def _check_candidate(name: str, model: Any) -> None:
    """Raise an error unless a candidate of the user is a plain ratio or a classifier."""
    if isinstance(model, type):
        raise TypeError(
            f"Got the class {model.__name__} for candidate {name!r}, but expected an object: "
            f"write {model.__name__}()."
        )
    if not (hasattr(model, "score_samples") or hasattr(model, "predict_proba")):
        raise TypeError(
            f"Got candidate {name!r} of type {type(model).__name__}, but expected a density ratio "
            "or a classifier with predict_proba."
        )
    if getattr(model, "relative", 0):
        raise ValueError(
            f"Got candidate {name!r} with relative={model.relative!r}, which estimates a different "
            "function; candidates are plain ratios (relative=0)."
        )
    refuse_class_weight(model)
    if isinstance(model, EstimatedRatio):
        model._check_parameters()
