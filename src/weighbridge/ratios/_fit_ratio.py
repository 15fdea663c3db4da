"""From two samples to a fitted ratio: the readable door, and the ratio that is its default."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from weighbridge._findings import nearest
from weighbridge._folds import one_thread
from weighbridge.blocks import ArrayRows, as_numbers, as_rows, is_blocks
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._candidates import Candidate, CandidateTable, Scored, ratio_candidates
from weighbridge.ratios._classifier import dense_if_narrow
from weighbridge.ratios._cross_fit import (
    ALL_TOLD,
    Fitted,
    FoldModel,
    Single,
    deal,
    fit_folds,
    held_out,
    log_prior_odds,
    refuse_class_weight,
)
from weighbridge.ratios._overlap import outside_share
from weighbridge.ratios._stack_samples import named_alike, stack_samples
from weighbridge.tables import RowScores, check_count, shuffled, take_rows, to_numpy

# Standard errors: of a difference in score, toward a smoother candidate; and of a gain in log loss,
# below which there is no shift.
TOWARD_SMOOTHER = 1.0
TOWARD_CONSTANT = 2.0
# A candidate is dropped after one or two folds, with so many rows of each sample held out, if its
# chance to be chosen in the end is below a tenth, a quantile of the normal distribution.
RACE_ROWS = 50
SMALL_CHANCE = 1.28
# Larger samples are represented by this many rows while the candidates are compared.
CHOICE_ROWS = 20_000


class AutoRatio(EstimatedRatio):
    """Density ratio by the best of a few candidates, or none where no shift is found.

    Logistic regression, linear and with squares and products; least squares importance fitting
    (`ULSIF`); histogram gradient boosting, tempered. Each is cross-fitted, and the held-out log
    ratios of all are compared by one score: the squared error of the relative ratio
    ``r / (0.05 r + 0.95)``, which counts what a weight does and lets no single row decide. Among
    the candidates within one standard error of the best the smoothest is chosen; the quadratic one
    and boosting count only if their log loss is smaller than that of the linear one. If none of
    them tells the samples apart, by a log loss that beats the constant ratio's by two standard
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
        Deals the folds, draws centres and splits for early stopping.

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
    Rows seen in ``fit`` are scored by models that did not see them, and new rows by the mean of the
    fold models. Two candidates are fitted to all rows once they are chosen: `ULSIF`, which cannot
    know of a source row that it was not given, and the linear one, where both samples have at least
    20 rows for each coefficient.

    The tuning of `ULSIF` and the number of trees are settled in the first fold. A candidate that
    has less than one chance in ten after one or two folds is dropped, the first never. Samples with
    more than 20,000 rows are compared on that many, and the chosen candidate is then fitted to all.

    Missing values and categories are read as described in the guide. Products are left out beyond
    40 columns or half of scikit-learn's working memory, squares and boosting beyond 1,000 columns,
    boosting with fewer than 50 rows in a sample, `ULSIF` with fewer than 10; sparse tables of
    more than 40 columns have the linear and the `ULSIF` candidate, as the others would take many
    times longer. Otherwise sparse and dense tables give the same weights.

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
        if self.candidates is None:
            X = dense_if_narrow(X)
        self._keep_domains(classes, np.bincount(codes))
        rng = check_random_state(self.random_state)
        # in a random order that does not depend on theirs; large samples are cut
        order = np.concatenate([rows[: self.max_rows] for rows in shuffled(X, codes, rng)])
        X, codes = take_rows(X, order), codes[order]
        self.n_rows_ = np.bincount(codes)
        seed = int(rng.randint(2**31 - 1))
        kept, rows = self._choice(X, codes, seed)
        self._keep(kept, X, codes, rows)
        refitted = kept.candidate.refit
        log_ratio = self._in_blocks(X, self._score_block) if refitted else kept.log_ratio
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _choice(self, X: Any, codes: np.ndarray, seed: int) -> tuple[Scored, RowScores]:
        """Compare the candidates; return the chosen one, cross-fitted to all rows."""
        few = np.concatenate([np.flatnonzero(codes == code)[:CHOICE_ROWS] for code in (0, 1)])
        some = few.size < codes.size
        X_few, codes_few = (take_rows(X, few), codes[few]) if some else (X, codes)
        rows = RowScores(X_few)
        folds = deal(rows.group, codes_few, int(self.cv))
        results: list[Scored] = []
        with one_thread():
            for candidate in ratio_candidates(self.candidates, X_few, codes_few, seed):
                results.append(self._raced(candidate, X_few, codes_few, folds, results))
                if self.candidates is None and results[-1].auc >= ALL_TOLD:
                    break  # no ratio is of use where hardly any rows meet
        self.table_ = _choose(results)
        self.chosen_, self.shift_found_ = self.table_.chosen, self.table_.shift_found
        place = self.table_.names.index(self.chosen_)
        if not some:
            return results[place], rows
        (candidate,) = ratio_candidates(self.candidates, X, codes, seed, only=self.chosen_)
        if candidate.refit:  # fitted to all rows next; folds of all would only be thrown away
            return replace(results[place], candidate=candidate), rows
        rows = RowScores(X)
        folds = deal(rows.group, codes, int(self.cv))
        return self._raced(candidate, X, codes, folds, []), rows

    def _raced(
        self, candidate: Candidate, X: Any, codes: np.ndarray, folds: Any, rivals: list[Scored]
    ) -> Scored:
        """Cross-fit a candidate, by a fold or two if these show that it cannot win."""
        started = time.perf_counter()
        if candidate.family is None:
            nothing, rows = np.zeros(codes.size), np.arange(codes.size)
            return Scored(candidate, [], 0, (1.0, 0.0), 0.0, nothing, codes, rows)
        seen, family = candidate.view(X), candidate.family
        fitted: Fitted = []
        for stop in sorted({1, 2, len(folds)}):
            fitted += fit_folds(family, seen, codes, folds[len(fitted) : stop], self.n_jobs)
            result = _held_out(candidate, fitted, codes, folds[:stop], started)
            if len(rivals) > 1 and stop < len(folds) and _cannot_win(result, rivals):
                break
            if candidate.settle is not None:
                family = Single(candidate.settle(copy(result.models[0].estimator)))
        return result

    def _keep(self, result: Scored, X: Any, codes: np.ndarray, rows: RowScores) -> None:
        """Keep what scores rows from now on."""
        candidate = result.candidate
        self.view_, self.line_, self.fold_models_ = candidate.view, result.line, result.models
        self.held_out_ = self._tested = None
        self.fitted_log_prior_odds_ = log_prior_odds(codes)
        if candidate.family is None:
            return
        rows.remember(result.log_ratio)
        self._tested = rows
        if candidate.refit:
            fitted = candidate.family.fit_all(candidate.view(X), codes)[result.member]
            self.fold_models_ = [FoldModel(fitted, codes, codes)]
        else:
            self.held_out_ = rows

    def _held_out_scores(self, X: Any) -> np.ndarray:
        """Return the log ratio at rows of the fit, by models that have not seen them."""
        tested = copy(self)
        tested.held_out_ = self._tested
        return to_numpy(tested.score_samples(X))

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
                    "a different function; candidates are plain ratios (relative=0)."
                )
            refuse_class_weight(model)
            if isinstance(model, EstimatedRatio):
                model._check_parameters()

    @property
    def _finite(self) -> Any:
        return "allow-nan" if self.candidates is None else False


def _held_out(
    candidate: Candidate, fitted: Fitted, codes: np.ndarray, folds: Any, started: float
) -> Scored:
    """Score a candidate at the rows that some folds held out."""
    tests = [test for _, test in folds]
    rows = np.sort(np.concatenate(tests))
    places = [np.searchsorted(rows, test) for test in tests]
    models, log_odds, member = held_out(fitted, codes[rows], places)
    line = _tempering(log_odds, codes[rows]) if candidate.temper else (1.0, 0.0)
    log_ratio = line[0] * log_odds + line[1] - log_prior_odds(codes)
    seconds = time.perf_counter() - started
    return Scored(candidate, models, member, line, seconds, log_ratio, codes[rows], rows)


def _cannot_win(result: Scored, rivals: list[Scored]) -> bool:
    """True for a candidate whose first folds leave little hope beside those with all folds."""
    if np.bincount(result.codes).min() < RACE_ROWS:
        return False
    rivals = [rival for rival in rivals if rival.rows.size == rivals[0].rows.size]
    share = result.rows.size / rivals[0].rows.size
    # how far a mean over all rows may be from the one so far, in standard errors of the latter
    reach, root = SMALL_CHANCE * np.sqrt(1 - share), np.sqrt(share)
    if not _shift_found(rivals):
        if result.candidate.temper and len(result.models) == 1:
            return False  # one fold tempers away what trees alone may see
        # tempered, it gains half the square of a normal variable on the rows of the tempering
        reach /= 2 if result.candidate.temper else 1
        return _gain(rivals[0].at(result.rows), result) < TOWARD_CONSTANT * root - reach
    beaten = [rival for rival in rivals if rival.candidate.name == result.candidate.extends]
    if beaten and _gain(beaten[0].at(result.rows), result) <= -reach:
        return True
    leader = min(rivals, key=_score).at(result.rows)
    hurdle = reach - TOWARD_SMOOTHER * root
    return result.score - leader.score >= hurdle * _standard_error(result, leader)


def _choose(results: list[Scored]) -> CandidateTable:
    """Choose the smoothest candidate that is not worse than the best; the first is the constant."""
    whole = [result for result in results if result.rows.size == results[0].rows.size]
    losses = {result.candidate.name: result.log_losses.mean() for result in whole}
    counting = [
        result
        for result in whole[1:]
        if (smoother := result.candidate.extends) is None
        or losses[result.candidate.name] < losses[smoother]
    ]
    best, found, chosen = min(counting, key=_score), _shift_found(whole), results[0]
    if found:
        chosen = next(
            r
            for r in counting
            if r.score - best.score <= TOWARD_SMOOTHER * _standard_error(r, best)
        )
    beside = [best.at(result.rows) for result in results]
    differences = [one.score - other.score for one, other in zip(results, beside, strict=True)]
    at_source, at_target = (chosen.log_ratio[chosen.codes == code] for code in (0, 1))
    return CandidateTable(
        names=[result.candidate.name for result in results],
        chosen=chosen.candidate.name,
        shift_found=found,
        scores=[best.score + difference for difference in differences],
        differences=differences,
        standard_errors=list(map(_standard_error, results, beside)),
        log_losses=[float(result.log_losses.mean()) for result in results],
        aucs=[result.auc for result in results],
        worth=[result.worth * best.rows.size / result.rows.size for result in results],
        seconds=[result.seconds for result in results],
        folds=[len(result.models) for result in results],
        outside=outside_share(at_source, at_target, np.log(2)),
    )


_score = attrgetter("score")


def _shift_found(results: list[Scored]) -> bool:
    """True if one of the candidates beats the first one, the constant."""
    return any(_gain(results[0], result) > TOWARD_CONSTANT for result in results)


def _gain(constant: Scored, other: Scored) -> float:
    """Return the gain in held-out log loss over the constant ratio, in its standard errors."""
    gain = constant.log_losses - other.log_losses
    return float(gain.mean() / max(gain.std(), 1e-12) * np.sqrt(gain.size))


def _standard_error(one: Scored, other: Scored) -> float:
    """Return the standard error of a difference in score, paired by row."""
    parts = [mine - its for mine, its in zip(one.parts, other.parts, strict=True)]
    return float(np.sqrt(sum(part.var() / part.size for part in parts)))


def _tempering(log_odds: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept that calibrate held-out log odds, where these are too sharp."""
    line = LogisticRegression(C=1e6).fit(log_odds[:, None], codes)
    slope = float(line.coef_[0, 0])
    if slope >= 1:
        return 1.0, 0.0
    return max(slope, 0.0), float(line.intercept_[0])


# Rows by which the columns of samples in blocks are compared.
HEAD = 1000
# Ratios by the names that the command line and ``ratio=`` take, everywhere the same.
RATIOS = {
    "auto": "AutoRatio",
    "classifier": "ClassifierRatio",
    "gaussian": "GaussianRatio",
    "ulsif": "ULSIF",
    "rulsif": "ULSIF",
    "kliep": "KLIEP",
    "kmm": "KMM",
    "nearest": "NearestNeighbourRatio",
}


def fit_ratio(X: Any, X_target: Any, ratio: Any = None, *, y: Any = None) -> Any:
    """Fit a density ratio to a source and a target sample.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Rows or dask collection of shape \
            (n_source, n_features)
        Source rows. Those of `weighbridge.blocks` and of dask need not fit into memory.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name, whatever their order.
    ratio : str, density ratio or pipeline that ends in one, optional
        Not yet fitted; it is cloned. Default: "auto", which is `AutoRatio()`. Other names are
        "classifier", "gaussian", "ulsif", "rulsif", "kliep", "kmm" and "nearest".
    y : array-like of shape (n_source,), optional
        Labels of the source rows, for a ratio in the label (`weighbridge.label_shift.LabelRatio`).

    Returns
    -------
    fitted ratio
        Its ``score_samples(X)`` is ``log p_target(x) - log p_source(x)``.

    Notes
    -----
    With rows in blocks, `ULSIF`, `GaussianRatio` and the default `ClassifierRatio` learn from sums
    over all rows. Any other ratio is fitted to 100,000 rows of each sample
    (`NearestNeighbourRatio`: 20,000), drawn at random by their content. `KLIEP`, `KMM` and
    `NearestNeighbourRatio` do the same with rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (500, 2)), rng.normal(0.5, 1, (300, 2))
    >>> ratio = fit_ratio(X, X_target)
    >>> ratio.score_samples(X).shape
    (500,)
    """
    ratio = AutoRatio() if ratio is None else clone(check_ratio(ratio))
    if is_fitted(ratio):
        raise ValueError(
            f"Got ratio={type(ratio).__name__}, which is fitted already; use its score_samples "
            "directly, or pass a ratio that is not fitted."
        )
    if hasattr(ratio, "score_labels"):
        return _fit_to_labels(X, y, X_target, ratio)
    if is_blocks(X) or is_blocks(X_target):
        return _fit_to_blocks(X, X_target, ratio)
    stacked, domain = stack_samples(X, X_target)
    return ratio.fit(stacked, domain)


def _fit_to_labels(X: Any, y: Any, X_target: Any, ratio: Any) -> Any:
    """Fit a ratio in the label, which needs labels, and rows in memory."""
    if y is None:
        raise ValueError(
            f"Got a {type(ratio).__name__} and no labels; a ratio in the label needs those of the "
            "source rows: y=..."
        )
    if is_blocks(X) or is_blocks(X_target):
        raise TypeError(
            f"Got rows in blocks for a {type(ratio).__name__}, which needs them in memory; fit it "
            "to samples: X.sample(n)."
        )
    return ratio.fit(X, y, X_target)


def _fit_to_blocks(X: Any, X_target: Any, ratio: Any) -> Any:
    """Compare the columns of two samples in blocks, and fit a ratio to them."""
    if not hasattr(ratio, "_fit_blocks"):
        raise TypeError(
            f"Got rows in blocks for a {type(ratio).__name__}, which needs them in memory; pass a "
            "ratio of weighbridge.ratios alone (it standardises columns itself), or fit it to "
            "X.sample(n) and score by blocks: X.vector(ratio.score_samples)."
        )
    source, target = as_rows(X), as_rows(X_target)
    for name, rows in (("X", source), ("X_target", target)):
        if isinstance(rows, ArrayRows) and sp.issparse(rows.table):
            raise TypeError(
                f"Got {name} as a sparse matrix in blocks; pass the matrix itself: it is in "
                "memory, and is scored in blocks anyway."
            )
    if source.names is not None and target.names is not None:
        target = named_alike(source, target)
        if source.numeric != target.numeric:  # a data frame and files of numbers
            source, target = as_numbers(source), as_numbers(target)
    # a few rows tell whether the columns are of the same kinds; all that can be wrong is said here
    stack_samples(*(rows.first(HEAD) for rows in (source, target)))
    return ratio._fit_blocks(source, target)


def check_ratio(ratio: Any) -> Any:
    """Return a density ratio, also by its name; refuse anything else, and say what was meant."""
    if isinstance(ratio, str):
        return _named_ratio(ratio)
    if isinstance(ratio, type):
        raise TypeError(
            f"Got the class {ratio.__name__}, but expected an object: write {ratio.__name__}()."
        )
    if hasattr(ratio, "score_samples") and hasattr(ratio, "get_params"):
        return ratio
    name = type(ratio).__name__
    if hasattr(ratio, "predict_proba"):
        remedy = f"A classifier becomes a ratio with ClassifierRatio({name}())."
    elif isinstance(ratio, np.ndarray | list):
        remedy = "A ratio is a function of x; weights that you already have go into sample_weight."
    elif callable(ratio) and not hasattr(ratio, "get_params"):
        remedy = "A function of X that returns log ratios becomes a ratio in KnownRatio(function)."
    else:
        remedy = "A weighting belongs in weighting=..."
    raise TypeError(
        f"Got ratio of type {name}, but expected a density ratio: an object of weighbridge.ratios, "
        f"or a pipeline that ends in one. {remedy}"
    )


def _named_ratio(name: str) -> Any:
    if name in RATIOS:
        made = getattr(import_module("weighbridge.ratios"), RATIOS[name])
        return made(relative=0.1) if name == "rulsif" else made()
    near = nearest(name, RATIOS)
    raise ValueError(
        f"Got ratio={name!r}, but expected one of {', '.join(RATIOS)}, or an object of "
        f"weighbridge.ratios.{f' Did you mean {near[0]!r}?' * bool(near)}"
    )


def is_default(ratio: Any) -> bool:
    """True where the ratio, and with it the kind of shift, is left to the package."""
    return ratio is None or (isinstance(ratio, str) and ratio == "auto")


def is_fitted(ratio: Any) -> bool:
    """True for a ratio that needs no target sample any more (fitted and frozen, or known)."""
    if ratio is None or isinstance(ratio, str):
        return False
    if isinstance(ratio, Pipeline):  # scikit-learn looks at the last step only
        return all(is_fitted(step) for _, step in ratio.steps if hasattr(step, "fit"))
    try:
        check_is_fitted(ratio)
    except NotFittedError:
        return False
    return True
