"""Intervals: Student's for means, a bootstrap for scores of samples, and when to trust either."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit
from sklearn.isotonic import IsotonicRegression

from weighbridge._estimators import share_beyond
from weighbridge._findings import Estimate, Finding, Record, percent
from weighbridge.ratios import (
    SOME_OUTSIDE,
    OverlapJudgement,
    effective_sample_size,
    judge_weights,
    pareto_k,
    pareto_threshold,
)
from weighbridge.target_risk._forecast import Influence
from weighbridge.target_risk._procedures import HeldOut, Predictions, replay, take_predictions

if TYPE_CHECKING:
    from weighbridge.target_risk._problem import Measure, RiskProblem

GOOD, FLAGGED, WITHHELD = "good", "flagged", "withheld"
# An interval on the log scale reaches at most this many powers of e.
_MAX_LOG_HALF_WIDTH = 10.0
# With fewer rows in a sample, or fewer effective rows, an interval is unreliable.
_MIN_ROWS, _MIN_EFFECTIVE_ROWS = 50, 30
# The tail index matters if more than this share of the variance comes from weighted rows.
_SOURCE_SHARE = 0.5
# If the effective sample size is a smaller share of the rows, labels are modelled with squares.
_SLIGHT_SHIFT = 0.7
# Draws of the bootstrap, and how many of them are made together.
_N_DRAWS, _DRAWS_AT_ONCE = 200, 20
# The share of the distance between the two estimates of a score that counts as a standard
# deviation. Chosen for coverage on the development tasks of benchmarks/expected_error.
_SCORES_APART = 0.75


@dataclass(frozen=True, repr=False)
class RiskEstimate(Record):
    """Expected loss of a model on the target, estimated without target labels.

    Parameters
    ----------
    measure : str
        Name of the loss or score, e.g. "error" or "RMSE".
    state : {"good", "flagged", "withheld"}
        Flagged: the interval is unreliable. Withheld: there is no estimate, because the samples
        hardly overlap.
    estimate : Estimate or None
        The value with its interval; None if it is withheld.
    training : Estimate
        The same measure on held-out source rows, unweighted.
    confidence : float
        Confidence level of the intervals.
    worth, n_rows : float, int
        Effective sample size and number of the source rows.
    findings : tuple of Finding
        Why the estimate is flagged or withheld.
    covered, covered_share : RiskEstimate or None, float or None
        If it is withheld: the same for the target rows inside the support of the source, and their
        share. `covered` is None if they are fewer than 50 or less than a tenth, or if the overlap
        is too small there, too.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.target_risk import estimate_risk
    >>> data = make_gaussian_shift(2000, 1000, random_state=0)
    >>> risk = estimate_risk(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> risk.state, risk.value > risk.training.value  # worse on the target
    ('good', True)
    """

    measure: str
    state: str
    estimate: Estimate | None
    training: Estimate
    confidence: float
    worth: float
    n_rows: int
    findings: tuple[Finding, ...]
    covered: RiskEstimate | None = None
    covered_share: float | None = None

    @property
    def value(self) -> float:
        """The expected loss; NaN if it is withheld."""
        return float("nan") if self.estimate is None else self.estimate.value

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval; NaN if it is withheld."""
        nan = float("nan")
        return (nan, nan) if self.estimate is None else (self.estimate.low, self.estimate.high)

    def __str__(self) -> str:
        head = f"expected {self.measure} on the target"
        if self.estimate is None:
            lines = [f"{head}: withheld"]
            if self.covered is not None and self.covered.estimate is not None:
                share = percent(self.covered_share)
                lines.append(f"  on the {share} that the source covers: {self.covered.estimate}")
        else:
            mark = "" if self.state == GOOD else f"  ({self.state})"
            lines = [f"{head}: {self.estimate}{mark}"]
        lines.append(f"  on training rows, held out: {self.training}")
        return "\n".join([*lines, *(f"  {finding}" for finding in self.findings)])


def degrees_of_freedom(influence: Influence) -> float:
    """Return Satterthwaite's degrees of freedom of the variance.

    A sum of squares that rests on n effective rows has a variance of 1 / n of its square.
    """
    squares = float(np.sum(influence.source**4) + np.sum(influence.target**4))
    between_folds = influence.variances[3]
    if between_folds > 0:
        squares += between_folds**2 / (influence.folds.size - 1)
    return influence.variance**2 / squares if squares > 0 else np.inf


def mean_interval(
    influence: Influence, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Estimate:
    """Return the estimate with Student's interval, on the log scale for amounts."""
    value, error = influence.value, float(np.sqrt(influence.variance))
    freedom = min(degrees_of_freedom(influence), 1e6)
    half = error * float(stdtrit(freedom, (1 + confidence) / 2)) if error else 0.0
    ends = np.array([value - half, value + half])
    if bounds == (0.0, np.inf) and value > 0:
        reach = np.clip((ends - value) / value, -_MAX_LOG_HALF_WIDTH, _MAX_LOG_HALF_WIDTH)
        ends = value * np.exp(reach)
    low, clipped, high = np.clip([ends[0], value, ends[1]], *bounds)
    return Estimate(float(clipped), error, float(low), float(high))


def judge_overlap(problem: RiskProblem) -> OverlapJudgement:
    """Return the judgement of the overlap for a model with one parameter."""
    beyond = share_beyond(problem.ratio)
    return judge_weights(problem.shares, problem.outside_share, beyond=beyond)


def judge_interval(
    problem: RiskProblem, overlap: OverlapJudgement, reason: str
) -> tuple[str, tuple[Finding, ...]]:
    """Return the state of an estimate, and its finding; `reason` is why its rows carry it badly."""
    if overlap.word == "broken":
        message = f"No estimate for deployment: {overlap.reason}."
        help = (
            "Look for a feature that tells the samples apart and does not describe the cases, "
            "and leave it out; or label some deployment rows."
        )
        return WITHHELD, (Finding("WB601", "warning", message, help),)
    reason = _why_few_rows(problem, overlap) or reason
    if not reason:
        return GOOD, ()
    message = f"The interval is a rough figure: {reason}."
    help = "Collect training rows like those in deployment, or label some deployment rows."
    return FLAGGED, (Finding("WB602", "warning", message, help),)


def _why_few_rows(problem: RiskProblem, overlap: OverlapJudgement) -> str:
    """Return why there are too few rows for a reliable interval, or an empty text."""
    if overlap.word != "enough":
        return overlap.reason
    fewest = min(problem.rows.y.size, problem.n_target)
    if fewest < _MIN_ROWS:
        return f"one of the samples has only {fewest} rows"
    n_effective = effective_sample_size(problem.shares)
    if n_effective < _MIN_EFFECTIVE_ROWS:
        return f"the full ratio has only {n_effective:.0f} effective rows"
    if overlap.goes_beyond:
        return f"more than {percent(SOME_OUTSIDE)} of the deployment rows lie outside training"
    return ""


def why_unreliable(influence: Influence, problem: RiskProblem, lowest: float) -> str:
    """Return why the interval of a mean is unreliable, or an empty text."""
    n_rows, n_effective = problem.rows.y.size, effective_sample_size(problem.shares)
    if n_effective < _SLIGHT_SHIFT * n_rows and problem.ridge.quadratic is None:
        return "there are too few rows for a curved model of the labels"
    if influence.value <= lowest:
        return "the estimate cannot be told apart from the smallest possible value"
    if influence.variances[0] < _SOURCE_SHARE * influence.variance or influence.variance == 0:
        return ""
    # Above 1/2, the contributions of the rows have no variance.
    tail_index = pareto_k(np.abs(influence.source))
    if math.isnan(tail_index) or tail_index <= pareto_threshold(n_rows):
        return ""
    effective = f"{n_effective:.0f} effective rows of {n_rows:,}"
    return f"a few rows decide it (tail index {tail_index:.2f}, {effective})"


# A score as a function of the weights of the rows.
Score = Callable[[np.ndarray], float]


class Draw(NamedTuple):
    """Bootstrap weights: of source rows, of these under the ratio, and of target rows."""

    number: int
    source: np.ndarray
    weighted: np.ndarray
    target: np.ndarray | None = None


def score_intervals(
    measure: Measure, held_out: HeldOut, problem: RiskProblem
) -> tuple[Estimate, Estimate, str]:
    """Return a score on the target and on the source, and why the first is unreliable, if it is.

    The calibrated score is that of the target rows, each of which has every class with its
    calibrated probability. Without probabilities it is that of the weighted source rows.
    """
    rows, confidence = problem.rows, problem.question.confidence
    score = score_of(measure, held_out.source, rows.codes, rows.classes)
    has_probabilities = "predict_proba" in held_out.source
    calibrated = [CalibratedScore(measure, held_out, problem)] if has_probabilities else []

    def scores(draw: Draw) -> list[float]:
        return [score(draw.source), score(draw.weighted), *(of(draw) for of in calibrated)]

    drawn, n = np.array([scores(draw) for draw in bootstrap(problem)]), rows.y.size
    errors = drawn.std(axis=0, ddof=1)
    plain = [Draw(k, np.ones(n), n * problem.shares) for k in range(problem.n_folds)]
    values = [float(np.mean(column)) for column in zip(*map(scores, plain), strict=True)]
    training = Estimate.normal(values[0], errors[0], confidence, measure.bounds)
    if not has_probabilities:
        # The labels of the target are as noisy as those of the source.
        noise = np.sqrt(1 + effective_sample_size(problem.shares) / problem.n_target)
        expected = Estimate.normal(values[1], errors[1] * noise, confidence, measure.bounds)
        is_heavy = pareto_k(problem.shares) > pareto_threshold(n)
        return expected, training, "the weights have a heavy tail" if is_heavy else ""
    # A calibration curve follows noise and looks sharp. That of a draw does so twice.
    value = float(np.clip(2 * values[2] - drawn[:, 2].mean(), *measure.bounds))
    error = np.hypot(errors[2], _SCORES_APART * (value - values[1]))
    return Estimate.normal(value, error, confidence, measure.bounds), training, ""


def bootstrap(problem: RiskProblem) -> Iterator[Draw]:
    """Draw exponential weights for the rows of both samples; the ratio follows to first order."""
    of_both, of_source, of_target = (np.random.default_rng(seed) for seed in (0, 0, 1))
    n, ratio = problem.rows.y.size, problem.ratio_influence
    for start in range(0, _N_DRAWS, _DRAWS_AT_ONCE):
        plain, source = (rng.exponential(size=(n, _DRAWS_AT_ONCE)) for rng in (of_source, of_both))
        rng = of_target if ratio is None else of_both
        target = rng.exponential(size=(problem.n_target, _DRAWS_AT_ONCE))
        weights = problem.shares[:, None] * source
        if ratio is not None:
            change = ratio.log_ratio_change(source - 1, target - 1)
            weights *= np.exp(change - change.max(axis=0))
        plain, weights = plain / plain.mean(axis=0), weights / weights.mean(axis=0)
        for k, columns in enumerate(zip(plain.T, weights.T, target.T, strict=True)):
            yield Draw(start + k, *columns)


class CalibratedScore:
    """Score of the target rows, where each row has every class with its probability."""

    def __init__(self, measure: Measure, held_out: HeldOut, problem: RiskProblem):
        rows = problem.rows
        assert rows.classes is not None
        self.n_classes, self.codes = rows.classes.size, rows.codes
        self.source, self.target = held_out.source, held_out.target
        self.rng = np.random.default_rng(2)
        self.bridge = rows.validation / np.maximum(problem.shares, np.finfo(float).tiny)
        codes = np.repeat(np.arange(self.n_classes), problem.n_target)
        every_class = np.tile(np.arange(problem.n_target), self.n_classes)
        self.scores = [
            score_of(measure, take_predictions(predictions, every_class), codes, rows.classes)
            for predictions in self.target
        ]

    def __call__(self, draw: Draw) -> float:
        """Return the score. The models of the folds take turns, which includes their spread."""
        fold = draw.number % len(self.scores)
        weights = self.calibrate(fold, self.bridge * draw.weighted)
        if draw.target is not None:
            # A Dirichlet draw of the labels of each row, times the weight of the row.
            weights = self.rng.standard_gamma(weights)
            weights *= draw.target / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        return self.scores[fold](weights.ravel())

    def calibrate(self, fold: int, weights: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities at the target rows, a row for each class."""
        at_source, at_target = (p["predict_proba"] for p in (self.source, self.target[fold]))
        calibrated = np.empty(at_target.T.shape)
        for code in range(self.n_classes == 2, self.n_classes):  # One of two classes is enough.
            curve = IsotonicRegression(out_of_bounds="clip")
            curve.fit(at_source[:, code], self.codes == code, sample_weight=weights)
            calibrated[code] = np.maximum(curve.predict(at_target[:, code]), np.finfo(float).tiny)
        if self.n_classes == 2:
            calibrated[0] = 1 - calibrated[1]
        return np.asarray(calibrated / calibrated.sum(axis=0))


def score_of(
    measure: Measure, predictions: Predictions, codes: np.ndarray, classes: np.ndarray | None
) -> Score:
    """Return a score as a function of the weights. The most frequent ones are fast."""
    name, probabilities = measure.name, predictions.get("predict_proba")
    margins = predictions.get("decision_function")
    if classes is not None:
        if name == "roc_auc" and classes.size == 2:
            ranking = predictions["predict_proba"][:, 1] if margins is None else margins
            return _auc(ranking, codes == 1)
        if name == "roc_auc_ovr" and probabilities is not None:
            aucs = [_auc(column, codes == code) for code, column in enumerate(probabilities.T)]
            return lambda weights: float(np.mean([auc(weights) for auc in aucs]))
        is_count = name in ("balanced_accuracy", "f1_macro") or (name == "f1" and classes.size == 2)
        if is_count and np.isin(predictions["predict"], classes).all():
            predicted = np.searchsorted(classes, predictions["predict"])
            return _score_of_counts(name, codes, predicted, classes.tolist())
    model = replay(predictions, classes)
    y, rows = codes if classes is None else classes[codes], np.arange(codes.size)

    def score(weights: np.ndarray) -> float:
        try:
            return float(measure.scorer(model, rows, y, sample_weight=weights))
        except TypeError as error:
            raise TypeError(
                f"Got a scoring whose metric takes no sample_weight ({error}); choose one that "
                "does (roc_auc, f1, r2, ...), or a loss=... of rows."
            ) from error

    return score


def _auc(ranking: np.ndarray, is_class: np.ndarray) -> Score:
    """Return the probability that a row of the class ranks higher; ties count half."""
    _, rank = np.unique(ranking, return_inverse=True)

    @np.errstate(invalid="ignore")
    def score(weights: np.ndarray) -> float:
        inside, outside = (np.bincount(rank, weights * rows) for rows in (is_class, ~is_class))
        below = np.cumsum(outside) - outside / 2
        return float(inside @ below / (inside.sum() * outside.sum()))

    return score


def _score_of_counts(
    name: str, codes: np.ndarray, predicted: np.ndarray, classes: list[Any]
) -> Score:
    """Return a score of the confusion matrix. F1 is of class 1, else of the last class."""
    n, cell = len(classes), len(classes) * codes + predicted
    positive = classes.index(1) if 1 in classes else n - 1

    @np.errstate(invalid="ignore")
    def score(weights: np.ndarray) -> float:
        table = np.bincount(cell, weights, minlength=n * n).reshape(n, n)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        sizes = rows if name == "balanced_accuracy" else (rows + columns) / 2
        shares = np.diag(table) / sizes  # NaN for a class without rows, which is left out
        return float(shares[positive] if name == "f1" else np.nanmean(shares))

    return score
