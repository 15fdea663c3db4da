"""All pictures of a run: aggregates only, as many numbers for any number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from weighbridge._estimators import ImportanceWeightedCV
from weighbridge.diagnosis import BalanceTable, Diagnosis, balance_table
from weighbridge.model_selection import default_scoring
from weighbridge.pictures._bridge import BridgeSurface, compute_surface
from weighbridge.pictures._features import MOST_ROWS, FeatureHistogram, LovePlot, histogram_of
from weighbridge.pictures._picture import Picture
from weighbridge.pictures._weights import (
    LorenzCurve,
    OverlapHistogram,
    ReliabilityCurve,
    WeightHistogram,
    compute_lorenz,
    compute_overlap,
    compute_reliability,
    compute_weight_histogram,
)
from weighbridge.tables import Feature, check_count, read_features
from weighbridge.target_risk import NAMES
from weighbridge.verdict import Candidate, Verdict
from weighbridge.weighting import Geodesic

# Features that are drawn, rows of the balance that are kept, and points of a Lorenz curve.
_DRAWN = 6
_MOST_ROWS = 400
_POINTS = 40


@dataclass(frozen=True)
class FeatureDifference(Picture):
    """The difference of one feature before weighting and after several weightings, by name."""

    name: str
    kind: str
    mean_source: float
    mean_target: float
    before: float
    after: dict[str, float] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """How large it is before weighting; what is not finite in JSON is infinite if means are."""
        if math.isnan(self.before) and not math.isnan(self.mean_source + self.mean_target):
            return math.inf
        return abs(self.before)

    def size_after(self, weighting: str) -> float:
        """How large it is after a weighting, which changes neither of two constants."""
        left = abs(self.after.get(weighting, math.nan))
        return math.inf if math.isnan(left) and math.isinf(self.size) else left


@dataclass(frozen=True)
class MissingShares(Picture):
    """Shares of rows without a value, after several weightings by name."""

    training: float = 0.0
    deployment: float = 0.0
    weighted: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WeightedFeature(Picture):
    """One feature in both samples and after several weightings, by name, on the same bins."""

    name: str
    values: np.ndarray | None
    edges: np.ndarray | None
    training: np.ndarray
    deployment: np.ndarray
    weighted: dict[str, np.ndarray]
    missing: MissingShares = field(default_factory=MissingShares)

    def after(self, weighting: str | None) -> FeatureHistogram:
        """Return the histogram of one weighting; without weights where it is not known."""
        missing = {"training": self.missing.training, "deployment": self.missing.deployment}
        weighted = None if weighting is None else self.weighted.get(weighting)
        if weighted is not None and weighting in self.missing.weighted:
            missing["weighted"] = self.missing.weighted[weighting]
        return FeatureHistogram(**{**vars(self), "weighted": weighted, "missing": missing})


@dataclass(frozen=True)
class WeightCurves(LorenzCurve, WeightHistogram):
    """Histogram and curve of one weighting, its largest weight, its bound, and effective rows."""

    largest: float
    bound: float | None
    worth: float


@dataclass(frozen=True)
class Pictures(Picture):
    """The numbers of all pictures of a run, which ``Adaptation.pictures`` holds.

    Each may be drawn by the ``from_numbers`` of its display in `weighbridge.plotting`.

    Parameters
    ----------
    balance : tuple
        Differences of the features, largest first; `love` draws them after one weighting.
    features : tuple
        The features that moved most; `histograms` draws them after one weighting.
    overlap : OverlapHistogram or None
        The log ratio in both samples; None where it is not known for all rows.
    weights : dict of str to object
        Histogram and Lorenz curve of the weights, by the name of the weighting.
    bridge : BridgeSurface or None
        The map of the weightings that were tried; None where nothing was searched for.
    reliability : ReliabilityCurve or None
        Of the classifier that tells the samples apart.

    Examples
    --------
    >>> from weighbridge.pictures import Pictures
    >>> age = {"name": "age", "kind": "number", "mean_source": 38.0, "mean_target": 49.2}
    >>> age |= {"before": 0.87, "after": {"tuned": 0.13}}
    >>> pictures = Pictures.from_dict({"balance": [age]})
    >>> pictures.love(None).names, pictures.bridge
    (('age',), None)
    """

    balance: tuple[FeatureDifference, ...]
    features: tuple[WeightedFeature, ...]
    overlap: OverlapHistogram | None
    weights: dict[str, WeightCurves]
    bridge: BridgeSurface | None
    reliability: ReliabilityCurve | None

    def love(self, weighting: str | None, *, max_rows: int = MOST_ROWS) -> LovePlot:
        """Return the differences before and after a weighting.

        Parameters
        ----------
        weighting : str or None
            A name among `weights`; None for the differences before weighting only.
        max_rows : int, default=15
            How many rows are kept.

        Returns
        -------
        LovePlot
            For `weighbridge.plotting.BalanceDisplay.from_numbers`.
        """
        check_count("max_rows", max_rows, 1)
        self._check(weighting)
        kept, after = self.balance[:max_rows], None
        if weighting is not None:
            after = np.array([each.size_after(weighting) for each in kept])
        names, sizes = tuple(each.name for each in kept), np.array([each.size for each in kept])
        return LovePlot(names, sizes, after, len(self.balance) - len(kept))

    def histograms(self, weighting: str | None) -> tuple[FeatureHistogram, ...]:
        """Return the features that moved most before and after a weighting.

        Parameters
        ----------
        weighting : str or None
            A name among `weights`; None for the two samples only.

        Returns
        -------
        tuple of FeatureHistogram
            For `weighbridge.plotting.ShiftDisplay.from_numbers`.
        """
        self._check(weighting)
        return tuple(each.after(weighting) for each in self.features)

    def _check(self, weighting: str | None) -> None:
        if weighting is not None and weighting not in self.weights:
            names = ", ".join(map(repr, self.weights)) or "none"
            raise ValueError(
                f"Got weighting={weighting!r}, but the pictures have {names}; choose one of them."
            )


def compute_pictures(verdict: Verdict, diagnosis: Diagnosis) -> Pictures:
    """Return what the report of a verdict draws; the diagnosis is what the verdict rests on."""
    weightings = {each.name: _weighting(each) for each in verdict.candidates if each.name != "none"}
    if not weightings:  # nothing was tuned, and yet the full ratio can be looked at
        weightings = {"full": Geodesic()}
    return compute_shift_pictures(diagnosis, weightings, bridge=_bridge(verdict))


def compute_shift_pictures(
    diagnosis: Diagnosis, weightings: dict[str, Geodesic], bridge: BridgeSurface | None = None
) -> Pictures:
    """Return the pictures that need no labels, for weightings by name."""
    alone = {name: diagnosis.importance_weights(each) for name, each in weightings.items()}
    tables = {
        name: balance_table(diagnosis.X, diagnosis.X_target, each) for name, each in alone.items()
    }
    return Pictures(
        balance=_differences(tables),
        features=_features(diagnosis, alone),
        overlap=_overlap(diagnosis),
        weights={name: _weight_curves(diagnosis, each) for name, each in weightings.items()},
        bridge=bridge,
        reliability=compute_reliability(diagnosis.domain),
    )


def _weighting(candidate: Candidate) -> Geodesic:
    assert candidate.lam is not None  # models that bring a weighting of their own are refused
    return Geodesic(candidate.lam, 1.0 if candidate.alpha is None else candidate.alpha)


def _differences(tables: dict[str, BalanceTable]) -> tuple[FeatureDifference, ...]:
    """Join the balance tables of several weightings, largest differences first."""
    first = next(iter(tables.values()))
    after = {
        name: {row.name: row.after for row in table.rows if row.after is not None}
        for name, table in tables.items()
    }
    return tuple(
        FeatureDifference(
            row.name,
            row.kind,
            row.mean_source,
            row.mean_target,
            row.before,
            {name: found.get(row.name, math.nan) for name, found in after.items()},
        )
        for row in first.largest(_MOST_ROWS)
    )


def _features(diagnosis: Diagnosis, weights: dict[str, np.ndarray]) -> tuple[WeightedFeature, ...]:
    """Return the features that moved most, each weighting on the same bins."""
    telling = sorted(diagnosis.attribution, key=lambda each: -each.alone)
    by_name = {each.name: each for each in read_features(diagnosis.X, diagnosis.X_target)}
    return tuple(_weighted_feature(by_name[each.name], weights) for each in telling[:_DRAWN])


def _weighted_feature(feature: Feature, weights: dict[str, np.ndarray]) -> WeightedFeature:
    """Count a feature once for each weighting."""
    found = {name: histogram_of(feature, each) for name, each in weights.items()}
    first = next(iter(found.values()))
    without_value = {name: each.missing["weighted"] for name, each in found.items()}
    shares = first.missing["training"], first.missing["deployment"]
    weighted = {name: each.weighted for name, each in found.items()}
    missing = MissingShares(*shares, without_value)
    return WeightedFeature(**{**vars(first), "weighted": weighted, "missing": missing})


def _overlap(diagnosis: Diagnosis) -> OverlapHistogram | None:
    source = diagnosis.by_features[~np.isnan(diagnosis.by_features)]
    if not np.isfinite(source.max()) or np.isnan(diagnosis.log_ratio_target).any():
        return None
    return compute_overlap(source, diagnosis.log_ratio_target)


def _weight_curves(diagnosis: Diagnosis, weighting: Geodesic) -> WeightCurves:
    """Count the weights of one weighting."""
    weights = diagnosis.fit_weights(weighting)
    mean_one = weights / weights.mean()
    return WeightCurves(
        **vars(compute_weight_histogram(weights)),
        **vars(compute_lorenz(weights, n_points=_POINTS)),
        largest=float(mean_one.max()),
        bound=_bound(weighting, diagnosis),
        worth=float(mean_one.sum() ** 2 / (mean_one @ mean_one)),
    )


def _bound(weighting: Geodesic, diagnosis: Diagnosis) -> float | None:
    """Return what no weight exceeds, whatever the ratio, on the scale of mean 1."""
    if not weighting.alpha > 1 or weighting.lam in (0, 1) or diagnosis.sample_weight is not None:
        return None
    bound = (1 - weighting.lam) ** (-2 / (weighting.alpha - 1))
    log_weight = weighting(diagnosis.log_ratio)
    return float(bound / np.exp(log_weight).mean())


def _bridge(verdict: Verdict) -> BridgeSurface | None:
    """Return the map of what the tuned candidate chose from; None where nothing was searched."""
    tuned = next((each for each in verdict.candidates if each.name == "tuned"), None)
    model = None if tuned is None else tuned.model
    if not isinstance(model, ImportanceWeightedCV) or model.search_result_ is None:
        return None
    if len(model.search_result_.evaluations) < 3:
        return None
    chosen = model.best_weighting_
    return compute_surface(
        model.search_result_,
        model.log_ratio_[~np.isnan(model.log_ratio_)],
        (chosen.lam, chosen.alpha),
        loss_name=NAMES[default_scoring(model.estimator)],
    )
