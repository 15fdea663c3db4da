"""Everything that a diagnosis computes once, and the report for any weighting."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weighbridge._domain import CrossFittedDomain, DomainRows, check_confidence
from weighbridge._estimators import WeightedEstimator, is_estimated, share_beyond
from weighbridge._findings import Estimate, Finding
from weighbridge._folds import one_thread
from weighbridge._pass_weights import count_parameters
from weighbridge._support import outside_support
from weighbridge.diagnostics._attribution import attributed
from weighbridge.diagnostics._balance import balance_table
from weighbridge.diagnostics._features import refuse_infinite_in, table_columns
from weighbridge.diagnostics._findings import find_all, table_findings
from weighbridge.diagnostics._moments import mean_and_variance
from weighbridge.diagnostics._samples import RARE_CLASS, Samples, listed, read_samples
from weighbridge.diagnostics._shift_report import ShiftReport
from weighbridge.diagnostics._weights import summarize_weights
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import LabelRatio, Seen, ShiftKind, coded_classes, judge_kind
from weighbridge.ratios import (
    OUTSIDE,
    AutoRatio,
    OverlapJudgement,
    check_ratio,
    fit_ratio,
    is_fitted,
    judge_weights,
    source_log_ratio,
)
from weighbridge.tables import MAX_ROWS, column_labels, draw_rows, is_frame, to_numpy
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one,
    mean_one_log_ratio,
    source_log_weight,
)


class Diagnosis:
    """Two samples and a fitted ratio, looked at once."""

    def __init__(
        self,
        ratio: Any,
        samples: Samples,
        *,
        n_parameters: int,
        confidence: float,
        random_state: Any,
        kind: ShiftKind | None = None,
        seen: Seen = Seen(),  # noqa: B008
    ):
        self.confidence = check_confidence(confidence)
        self.X, self.X_target = samples.X, samples.X_target
        self.sample_weight = samples.sample_weight
        self.ratio, self.label_shift = ratio, kind
        self.estimated, self.automatic = is_estimated(ratio), _is_automatic(ratio)
        with one_thread():
            self.domain = seen.domain or CrossFittedDomain(
                DomainRows(self.X, self.X_target, random_state=random_state)
            )
            self.support = seen.support or outside_support(
                self.X, self.X_target, random_state=random_state
            )
            self._look(ratio, samples, random_state)
        self.overlap = self._judged(n_parameters)

    def _look(self, ratio: Any, samples: Samples, random_state: Any) -> None:
        X, X_target, confidence = self.X, self.X_target, self.confidence
        raw = source_log_ratio(ratio, X, self.sample_weight, samples.y)
        raw_target = _checked_log_ratio(ratio, X_target, "target")
        # A ratio of the label is also scored by the features alone.
        by_features = raw
        if hasattr(ratio, "score_labels"):
            by_features = _checked_log_ratio(ratio, X, "source")
        self.by_features = by_features - log_mean(raw, self.sample_weight)
        self.log_ratio = mean_one_log_ratio(raw, self.sample_weight)
        self.log_ratio_target = raw_target - log_mean(raw, self.sample_weight)
        self.mean_ratio = mean_ratio(by_features, confidence)
        notes = self._look_at_labels(samples, random_state)
        self.auc = self.domain.auc(confidence)
        self.attribution = attributed(self.domain)
        self.notes = [*table_findings(samples, self.attribution), *notes]
        self.n_target = raw_target.size
        self.full = summarize_weights(self.weights_of(None))

    def _look_at_labels(self, samples: Samples, random_state: Any) -> list[Finding]:
        """Find the kind of shift, where there are classes; none keeps a diagnosis from the rest."""
        if samples.y is None or samples.has_quantities:
            return []
        try:
            labels, codes = coded_classes(samples.y, self.log_ratio.size)
        except ValueError as error:
            reason = str(error)
            said = f"Label shift was not checked: {reason[0].lower()}{reason[1:]}"
            return [Finding("WB117", "note", said, "Everything else needs no labels.")]
        # another mix of classes puts no row where none was
        if self.label_shift is None and self.support.share <= OUTSIDE:
            by_label = LabelRatio(random_state=random_state).fit(self.X, samples.y, self.X_target)
            self.label_shift = judge_kind(by_label, self.ratio, self.X, self.X_target, self.domain)
        return _of_rare_classes(labels, codes)

    def _judged(self, n_parameters: int) -> OverlapJudgement:
        weights, share, beyond = self.weights_of(None), self.support.share, share_beyond(self.ratio)
        return judge_weights(weights, share, n_parameters, self.sample_weight, beyond)

    def for_parameters(self, n_parameters: int) -> Diagnosis:
        """Return the same diagnosis for a model with that many parameters."""
        other = copy(self)
        other.overlap = self._judged(n_parameters)
        return other

    def weights_of(self, weighting: Any) -> np.ndarray:
        """Return the weights that a fit gets, sample weights included; None is the full ratio."""
        weights = self.alone(weighting)
        return weights if self.sample_weight is None else self.sample_weight * weights

    def alone(self, weighting: Any) -> np.ndarray:
        """Return the importance weights, which alone should make the samples alike."""
        log_weight = self.log_ratio
        if weighting is not None:
            log_weight = source_log_weight(weighting, self.log_ratio, self.sample_weight)
        return mean_one(log_weight, self.sample_weight)

    def report(self, weighting: Any) -> ShiftReport:
        """Return the report, with what this weighting does to the difference."""
        used, alone = self.weights_of(weighting), self.alone(weighting)
        # equal weights change nothing
        after = self.domain if np.ptp(alone) == 0 else CrossFittedDomain(self.domain.rows, alone)
        report = ShiftReport(
            n_source=self.log_ratio.size,
            n_target=self.n_target,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=after.auc(self.confidence),
            attribution=self.attribution,
            balance=balance_table(self.X, self.X_target, alone),
            support=self.support,
            full=self.full,
            weights=summarize_weights(used),
            mean_ratio=self.mean_ratio,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        found = find_all(report, estimated=self.estimated, automatic=self.automatic)
        return replace(report, findings=(*self.notes, *found))


def _checked_log_ratio(ratio: Any, X: Any, sample: str) -> np.ndarray:
    """Return the log ratio at the rows of a sample; raise ValueError if it is NaN or infinite."""
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    if log_ratio.ndim != 1:
        raise ValueError(
            f"Got log ratios of shape {log_ratio.shape} from {type(ratio).__name__}, but expected "
            f"one number for each {sample} row."
        )
    bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if bad:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN or infinite at {bad} of "
            f"{log_ratio.size} {sample} rows; every row needs a finite log ratio, or -inf for a "
            "ratio of 0."
        )
    return log_ratio


def mean_ratio(log_ratio: np.ndarray, confidence: float) -> Estimate:
    """Return the mean of the ratio over source rows, which is 1 for the true ratio.

    The interval is that of a normal mean.
    """
    largest = float(log_ratio.max())
    if largest == -math.inf:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    mean, variance = mean_and_variance(np.exp(log_ratio - largest))
    relative_error = math.sqrt(variance / log_ratio.size) / mean
    with np.errstate(over="ignore"):
        value = float(np.exp(largest + math.log(mean)))
    step = float(ndtri((1 + confidence) / 2)) * relative_error
    # 0 * inf would be NaN.
    error, low = (factor * value if factor > 0 else 0.0 for factor in (relative_error, 1 - step))
    return Estimate(value, error, low, (1 + step) * value)


def weighting_name(weighting: Any) -> str:
    """Return what a weighting is called in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    if not isinstance(weighting, Geodesic):
        parameters = (f"{key}={value!r}" for key, value in weighting.get_params().items())
        return f"{type(weighting).__name__}({', '.join(parameters)})"
    if weighting.lam in (0, 1):
        return "none" if weighting.lam == 0 else "full"
    return f"lam {weighting.lam:.2f}, alpha {weighting.alpha:.2f}"


def _is_automatic(ratio: Any) -> bool:
    """True for a ratio that was chosen among several."""
    while isinstance(ratio, FrozenEstimator | Pipeline):
        ratio = ratio.estimator if isinstance(ratio, FrozenEstimator) else ratio.steps[-1][1]
    return isinstance(ratio, AutoRatio)


def _of_rare_classes(labels: np.ndarray, codes: np.ndarray) -> list[Finding]:
    """Return a finding about classes with few rows, if there are any."""
    counts = np.bincount(codes)
    n_rare = int(np.count_nonzero(counts < RARE_CLASS))
    if not n_rare:
        return []
    rarest = int(np.argmin(counts))
    others = "" if n_rare == 1 else f" (and {n_rare - 1} other class{'es' * (n_rare > 2)})"
    return [
        Finding(
            "WB117",
            "note",
            f"Class {labels.tolist()[rarest]!r} has only {counts[rarest]} rows{others}.",
            "What is said about its frequency is a guess; merge rare classes, or collect more "
            "rows.",
        )
    ]


@np.errstate(under="ignore")  # kernels and weights far away are 0
def diagnose(
    model_or_ratio: Any,
    X: Any,
    X_target: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    max_rows: int | None = MAX_ROWS,
    random_state: Any = 0,
) -> ShiftReport:
    """Say whether two samples differ, where, and whether weights can make up for it.

    Written ``diagnose(model_or_ratio, X, X_target)``, or ``diagnose(X, X_target)``, which estimates
    the ratio itself, and leaves out columns that one of two data frames has alone, such as a label.

    Parameters
    ----------
    model_or_ratio : fitted ImportanceWeighted or ImportanceWeightedCV, or density ratio
        A model is diagnosed with its own weights, a ratio (fitted here if need be) in full.
    X : array-like, sparse matrix, data frame or table of an engine, (n_source, n_features)
        Source rows; each sample needs 20 or more. `weighbridge.engines.sample` says which tables
        of engines are taken.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    y : array-like of shape (n_source,), optional
        Classes of the source rows: then it is also checked whether class frequencies explain the
        shift. Labels that cannot be compared are a finding; missing ones are refused.
    sample_weight : array-like of shape (n_source,), optional
        Your weights of the source rows; they multiply the importance weights. Rows of weight 0
        are left out first; see the notes.
    confidence : float, default=0.95
        Of the intervals; the words always go by 95 %.
    max_rows : int or None, default=100_000
        A sample with more rows is represented by that many of them, drawn at random, which is a
        finding. None takes all rows of tables in memory.
    random_state : int, RandomState instance or None, default=0
        Draws rows of large samples, deals folds, shuffles.

    Returns
    -------
    ShiftReport
        Numbers, findings with remedies; print it.

    Notes
    -----
    Large samples are represented by 20,000 random rows each in the domain classifier and its
    attribution; 10,000 target rows look for the nearest source
    row. Weights and balance take all rows.

    `sample_weight` counts in the effective rows, because a fit gets both weights together.
    Everything else looks at the rows as they are, as the ratio does.

    Examples
    --------
    >>> from weighbridge import diagnose
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(1000, 1000, n_features=2, shift=1.0, random_state=0)
    >>> print(diagnose(data.ratio, data.X, data.X_target).sentence)
    Shift strong, overlap enough
    >>> half, other = data.X[:500], data.X[500:]
    >>> print(diagnose(half, other).sentence)
    No shift found
    """
    check_confidence(confidence)
    notes: list[Finding] = []
    alone = X_target is None
    if alone:
        _refuse_model(model_or_ratio)
        model_or_ratio, X, X_target = None, model_or_ratio, X
    _check_model_or_ratio(model_or_ratio)
    X, (y, sample_weight), n_source = draw_rows(X, max_rows, random_state, "X", y, sample_weight)
    X_target, _, n_target = draw_rows(X_target, max_rows, random_state, "X_target")
    if alone:
        X, X_target, notes = _shared_columns(X, X_target)
    notes += _draw_notes(X=(X, n_source), X_target=(X_target, n_target))
    samples = read_samples(X, X_target, y, sample_weight)
    _refuse_infinite(samples.table, samples.codes)
    ratio, weighting, n_parameters = _parts(model_or_ratio, samples)
    diagnosis = Diagnosis(
        ratio,
        samples,
        n_parameters=n_parameters,
        confidence=confidence,
        random_state=random_state,
    )
    report = diagnosis.report(weighting)
    return replace(report, findings=(*notes, *report.findings))


def _draw_notes(**samples: tuple[Any, int]) -> list[Finding]:
    """Return a note for each sample of which only some rows were drawn."""
    sizes = {
        name: (rows.shape[0] if hasattr(rows, "shape") else len(rows), n_rows)
        for name, (rows, n_rows) in samples.items()
    }
    return [
        Finding(
            "WB139",
            "note",
            f"{n_drawn:,} of the {n_rows:,} rows of {name}, drawn at random, represent all.",
            "More would hardly change what is shown; max_rows=None takes all rows in memory.",
        )
        for name, (n_drawn, n_rows) in sizes.items()
        if n_drawn < n_rows
    ]


def _shared_columns(X: Any, X_target: Any) -> tuple[Any, Any, list[Finding]]:
    """Leave out columns that one table has alone, such as a label; a note names them."""
    if not (is_frame(X) and is_frame(X_target)):
        return X, X_target, []
    import narwhals as nw

    tables = [nw.from_native(each, eager_only=True) for each in (X, X_target)]
    here, there = (list(each.columns) for each in tables)
    alone = {"X": {*here} - {*there}, "X_target": {*there} - {*here}}
    both = [name for name in here if name not in alone["X"]]
    said = [f"only {name} has {listed(sorted(each), 6)}" for name, each in alone.items() if each]
    if not (both and said):  # without a common name, who reads them says so
        return X, X_target, []
    remedy = "Nothing to do for a label; otherwise check the names."
    note = Finding("WB138", "note", f"Left out: {', '.join(said)}.", remedy)
    return (*(each.select(both).to_native() for each in tables), [note])


def _refuse_infinite(table: Any, codes: np.ndarray) -> None:
    """Refuse infinite numbers, by the name of their column and of their sample."""
    n_source = int(np.sum(codes == 0))
    for label, column in zip(column_labels(table), table_columns(table), strict=True):
        if column.dtype != object:
            refuse_infinite_in(column, label, n_source)


def _refuse_model(X: Any) -> None:
    """Refuse a model or ratio that came without a second sample."""
    if hasattr(X, "get_params"):
        raise TypeError(
            f"Got a {type(X).__name__} and one sample only; write diagnose(model_or_ratio, X, "
            "X_target), or diagnose(X, X_target) without a model."
        )


def _check_model_or_ratio(model_or_ratio: Any) -> None:
    """Refuse rows or labels in the wrong place, and models that have no weights."""
    if isinstance(model_or_ratio, list | tuple) or hasattr(model_or_ratio, "shape"):
        raise TypeError(
            f"Got a {type(model_or_ratio).__name__} where a model or ratio is expected. The order "
            "is diagnose(model_or_ratio, X, X_target), or diagnose(X, X_target); labels go in by "
            "name: y=..."
        )
    is_model = hasattr(model_or_ratio, "fit") and hasattr(model_or_ratio, "predict")
    if is_model and not (
        isinstance(model_or_ratio, WeightedEstimator | type)
        or hasattr(model_or_ratio, "score_samples")
    ):
        raise TypeError(
            f"Got a {type(model_or_ratio).__name__}, which has no weights to look at, but expected "
            "a density ratio or a fitted ImportanceWeighted. Wrap it: ImportanceWeighted(model)"
            ".fit(X, y, X_target=X_target), or leave it out: diagnose(X, X_target)."
        )


def _parts(model_or_ratio: Any, samples: Samples) -> tuple[Any, Any, int]:
    """Return a fitted ratio, the weighting to show, and the number of parameters of the model."""
    n_columns = samples.table.shape[1]
    if isinstance(model_or_ratio, WeightedEstimator):
        model = model_or_ratio
        if not hasattr(model, "ratio_"):
            raise ValueError(
                f"Got {type(model).__name__} that is not fitted; fit it first, or diagnose the "
                "samples alone: diagnose(X, X_target)."
            )
        weighting = getattr(model, "best_weighting_", None) or model.weighting or Geodesic()
        return model.ratio_, weighting, count_parameters(model.estimator_, n_columns)
    ratio = None if model_or_ratio is None else check_ratio(model_or_ratio)
    if ratio is None or not is_fitted(ratio):
        with warnings.catch_warnings():
            # what the ratio says about overlap is among the findings
            warnings.simplefilter("ignore", OverlapWarning)
            ratio = fit_ratio(samples.X, samples.X_target, ratio)
    return ratio, Geodesic(), n_columns + 1
