"""The density ratio that needs no tuning: a few candidates, one held-out score, one choice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from weighbridge._data import RowScores, check_count, shuffled, take_rows
from weighbridge.blocks import one_thread
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._candidates import Candidate, Scored, choose, scored
from weighbridge.ratios._classifier import family_and_view, whole_table
from weighbridge.ratios._cross_fit import (
    FoldModel,
    Single,
    cross_fit,
    deal,
    log_prior_odds,
    refuse_class_weight,
)
from weighbridge.ratios._encoder import TableEncoder
from weighbridge.ratios._logistic import LogisticPath, QuadraticFeatures, can_be_squared
from weighbridge.ratios._ulsif import ULSIF

# Trees look at every column at every split.
MAX_TREE_COLUMNS = 1000
# With fewer rows of a sample trees have nothing to split, and kernels no rows to hold out.
MIN_TREE_ROWS = 50
MIN_KERNEL_ROWS = 10
# A linear model of so few coefficients cannot know its own rows, and is fitted to all of them.
ROWS_PER_COEFFICIENT = 20
# Larger samples are represented by this many rows while the candidates are compared.
CHOICE_ROWS = 20_000

# By name, from the smoothest to the most flexible.
Makers = dict[str, Callable[[], Candidate]]


class AutoRatio(EstimatedRatio):
    """Density ratio by the best of a few candidates, or none where no shift is found.

    Logistic regression, linear and with squares and products; least squares importance fitting
    (`ULSIF`); histogram gradient boosting, tempered. Each is cross-fitted, and the held-out log
    ratios of all are compared by one score: the squared error of the relative ratio
    ``r / (0.05 r + 0.95)``, which counts what a weight does and lets no single row decide. Among
    the candidates within one standard error of the best the smoothest is chosen; the quadratic one
    counts only if its log loss is smaller than that of the linear one, which it contains. If none
    of them tells the samples apart, by a log loss that beats the constant ratio's by two standard
    errors, no shift is found, and the ratio is 1.

    Parameters
    ----------
    candidates : list of (str, ratio or classifier) pairs, optional
        From the smoothest to the most flexible, in place of the default candidates. The constant
        ratio is always among them.
    cv : int, default=5
        Number of folds, stratified by sample.
    max_rows : int, default=100_000
        A sample with more rows is represented by that many of them, drawn at random; the others are
        scored as new rows. None: all rows.
    n_jobs : int, optional
        Folds fitted in parallel, by joblib.
    random_state : int, RandomState instance or None, default=0
        Deals the folds, draws centres, splits for early stopping.

    Attributes
    ----------
    chosen_ : str
        Name of the chosen candidate, "constant" where no shift was found.
    shift_found_ : bool
        Whether any candidate beats the constant ratio.
    table_ : CandidateTable
        Scores of all candidates; print it.
    n_rows_ : ndarray of shape (2,)
        Numbers of source and target rows that the ratio was fitted to.

    Notes
    -----
    The sharpest candidate is often not the best to weight by. On nearly separable samples boosting
    has the best log loss of all, and weights that rest on a handful of rows; where the ratio jumps
    only boosting sees it. The score and the rule above were chosen because they serve both: see
    ``benchmarks/ratios.py``.

    Rows seen in ``fit`` are scored by models that did not see them, and new rows by the mean of the
    fold models. Two candidates are fitted to all rows once they are chosen: `ULSIF`, which cannot
    know that there is a source row without it, and the linear one, where both samples have at least
    20 rows for each coefficient.

    Samples with more than 20,000 rows are compared by that many of them, and the chosen candidate
    is then fitted to all.

    Missing values and categories are taken as described in the guide. Products are left out beyond
    40 columns or half of scikit-learn's working memory, squares and boosting beyond 1,000 columns,
    boosting with fewer than 50 rows of a sample, `ULSIF` with fewer than 10; sparse tables have the
    linear and the `ULSIF` candidate.

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
        max_rows: int | None = 100_000,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.candidates = candidates
        self.cv = cv
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _estimate(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=True)
        classes, codes = self._coded(y)
        self._keep_domains(classes, np.bincount(codes))
        rng = check_random_state(self.random_state)
        X, codes = self._some_rows(X, codes, rng)
        self.n_rows_ = np.bincount(codes)
        seed = int(rng.randint(2**31 - 1))
        kept, rows = self._choice(X, codes, seed)
        self._keep(kept, X, codes, rows)
        refitted = kept.candidate.refit
        log_ratio = self._in_blocks(X, self._score_block) if refitted else kept.log_ratio
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _choice(self, X: Any, codes: np.ndarray, seed: int) -> tuple[Scored, RowScores]:
        """Compare the candidates; return the chosen one, cross-fitted to all rows."""
        few = _first_rows(codes, CHOICE_ROWS)
        some = few.size < codes.size
        X_few, codes_few = (take_rows(X, few), codes[few]) if some else (X, codes)
        rows = RowScores(X_few)
        folds = deal(rows.group, codes_few, int(self.cv))
        with one_thread():
            results = [
                self._cross_fitted(candidate, X_few, codes_few, folds)
                for candidate in self._candidates(X_few, codes_few, seed)
            ]
        self.table_ = choose(results, codes_few)
        self.chosen_, self.shift_found_ = self.table_.chosen, self.table_.shift_found
        place = self.table_.names.index(self.chosen_)
        if not some:
            return results[place], rows
        (candidate,) = self._candidates(X, codes, seed, only=self.chosen_)
        if candidate.refit:  # fitted to all rows next; folds of all would only be thrown away
            return replace(results[place], candidate=candidate), rows
        rows = RowScores(X)
        folds = deal(rows.group, codes, int(self.cv))
        return self._cross_fitted(candidate, X, codes, folds), rows

    def _some_rows(self, X: Any, codes: np.ndarray, rng: Any) -> tuple[Any, np.ndarray]:
        """Bring the rows into a random order that does not depend on theirs; cut large samples."""
        order = np.concatenate([rows[: self.max_rows] for rows in shuffled(X, codes, rng)])
        return take_rows(X, order), codes[order]

    def _candidates(
        self, X: Any, codes: np.ndarray, seed: int, only: str | None = None
    ) -> list[Candidate]:
        """Return the candidates, smoothest first, or a single one without the work of others."""
        makers: Makers = {"constant": lambda: Candidate("constant", None, whole_table)}
        if self.candidates is None:
            makers |= _default_makers(X, codes, seed)
        else:
            makers |= _own_makers(self.candidates, X, codes)
        return [make() for name, make in makers.items() if only in (None, name)]

    def _cross_fitted(self, candidate: Candidate, X: Any, codes: np.ndarray, folds: Any) -> Scored:
        started = time.perf_counter()
        if candidate.family is None:
            models: list[FoldModel] = []
            log_odds, member = np.full(codes.size, log_prior_odds(codes)), 0
        else:
            seen = candidate.view(X)
            models, log_odds, member = cross_fit(candidate.family, seen, codes, folds, self.n_jobs)
        line = _tempering(log_odds, codes) if candidate.temper else (1.0, 0.0)
        log_ratio = line[0] * log_odds + line[1] - log_prior_odds(codes)
        seconds = time.perf_counter() - started
        return scored(candidate, models, member, line, log_ratio, codes, seconds)

    def _keep(self, result: Scored, X: Any, codes: np.ndarray, rows: RowScores) -> None:
        """Keep what scores rows from now on."""
        candidate = result.candidate
        self.view_, self.line_, self.fold_models_ = candidate.view, result.line, result.models
        self.held_out_ = None
        self.fitted_log_prior_odds_ = log_prior_odds(codes)
        if candidate.family is None:
            return
        if candidate.refit:
            fitted = candidate.family.fit_all(candidate.view(X), codes)[result.member]
            self.fold_models_ = [FoldModel(fitted, codes, codes)]
            return
        rows.remember(result.log_ratio)
        self.held_out_ = rows

    def _score_block(self, X: Any) -> np.ndarray:
        if not self.fold_models_:  # the constant
            return np.zeros(X.shape[0])
        if self.held_out_ is None:
            log_ratio, new = np.empty(X.shape[0]), np.arange(X.shape[0])
        else:
            log_ratio, new = self.held_out_.find(X)
        if new.size:
            seen = self.view_(take_rows(X, new))
            log_odds = np.mean([model.log_odds(seen) for model in self.fold_models_], axis=0)
            log_odds = self.line_[0] * log_odds + self.line_[1]
            log_ratio[new] = log_odds - self.fitted_log_prior_odds_
        return log_ratio

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "chosen_")

    def _check_parameters(self) -> None:
        check_count("cv", self.cv, 2)
        if self.max_rows is not None:
            check_count("max_rows", self.max_rows, 10)
        if self.candidates is None:
            return
        pairs = isinstance(self.candidates, list | tuple) and all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in self.candidates
        )
        names = [pair[0] for pair in self.candidates] if pairs else []
        if not pairs or not names or "constant" in names or len(set(names)) < len(names):
            raise ValueError(
                f"Got candidates={self.candidates!r}, but expected a list of (name, model) pairs "
                "with different names, none of them 'constant', which is always there."
            )
        for name, model in self.candidates:
            if isinstance(model, type):
                raise TypeError(
                    f"Got the class {model.__name__} for candidate {name!r}, but expected an "
                    f"object: write {model.__name__}()."
                )
            if not (hasattr(model, "score_samples") or hasattr(model, "predict_proba")):
                raise TypeError(
                    f"Got candidate {name!r} of type {type(model).__name__}, but expected a "
                    "density ratio or a classifier with predict_proba."
                )
            if getattr(model, "relative", 0):
                raise ValueError(
                    f"Got candidate {name!r} with relative={model.relative!r}, which estimates "
                    "another function than the others; candidates are plain ratios (relative=0)."
                )
            refuse_class_weight(model)
            if isinstance(model, EstimatedRatio):
                model._check_parameters()

    @property
    def _finite(self) -> Any:
        return "allow-nan" if self.candidates is None else False


def _first_rows(codes: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the first n rows of each sample; their order is random."""
    return np.concatenate([np.flatnonzero(codes == code)[:n] for code in (0, 1)])


def _tempering(log_odds: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept that calibrate held-out log odds, where these are too sharp."""
    line = LogisticRegression(C=1e6).fit(log_odds[:, None], codes)
    slope = float(line.coef_[0, 0])
    if slope >= 1:
        return 1.0, 0.0
    return max(slope, 0.0), float(line.intercept_[0])


def _own_makers(candidates: Any, X: Any, codes: np.ndarray) -> Makers:
    """Return what makes each of the user's candidates."""
    return {name: partial(_own, name, model, X, codes) for name, model in candidates}


def _own(name: str, model: Any, X: Any, codes: np.ndarray) -> Candidate:
    """Return one of the user's candidates."""
    family, view = family_and_view(model, X, codes)
    return Candidate(name, family, view, refit=hasattr(model, "score_samples"))


def _default_makers(X: Any, codes: np.ndarray, seed: int) -> Makers:
    """Return what makes each of the default candidates that suit the table."""
    encoder = TableEncoder().fit(X, codes)
    first = encoder.numbers(take_rows(X, slice(0, 1)))
    fewest, dense = int(np.bincount(codes).min()), not sp.issparse(X)
    plain = fewest >= ROWS_PER_COEFFICIENT * (first.shape[1] + 1)

    def quadratic() -> Candidate:
        view = QuadraticFeatures(encoder, factored=True).fit(X)
        return Candidate("quadratic", LogisticPath(), view, extends="linear")

    def boosting() -> Candidate:
        trees = Single(_boosting(encoder.categorical, seed))
        return Candidate("boosting", trees, encoder.for_trees, temper=True)

    makers: Makers = {
        "linear": lambda: Candidate("linear", LogisticPath(), encoder.numbers, refit=plain)
    }
    if dense and can_be_squared(first):
        makers["quadratic"] = quadratic
    if fewest >= MIN_KERNEL_ROWS:
        kernels = Single(ULSIF(random_state=seed))
        makers["ulsif"] = lambda: Candidate("ulsif", kernels, whole_table, refit=True)
    if dense and X.shape[1] <= MAX_TREE_COLUMNS and fewest >= MIN_TREE_ROWS:
        makers["boosting"] = boosting
    return makers


def _boosting(categorical: np.ndarray, seed: int) -> HistGradientBoostingClassifier:
    """Return small trees that stop early: a ratio is smoother than most things trees learn."""
    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=500,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        early_stopping=True,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )
