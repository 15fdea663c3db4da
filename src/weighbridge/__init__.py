"""Learning under covariate shift: importance weights for any scikit-learn estimator."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weighbridge import (
        adaptation,
        conformal,
        datasets,
        diagnosis,
        engines,
        exceptions,
        geodesic,
        guarantees,
        label_shift,
        manifolds,
        model_selection,
        pictures,
        plotting,
        positive_unlabeled,
        ratios,
        report,
        scoring,
        target_risk,
        verdict,
        weighting,
    )
    from weighbridge._estimators import ImportanceWeighted, ImportanceWeightedCV
    from weighbridge.adaptation import adapt
    from weighbridge.diagnosis import diagnose
    from weighbridge.ratios import KLIEP, KMM, ULSIF, KnownRatio, fit_ratio
    from weighbridge.scoring import for_target, iw_scorer
    from weighbridge.verdict import assess
    from weighbridge.weighting import AIWERM, ERM, IWERM, RIWERM, Geodesic

    __version__: str

__all__ = [
    "AIWERM",
    "ERM",
    "IWERM",
    "KLIEP",
    "KMM",
    "RIWERM",
    "ULSIF",
    "Geodesic",
    "ImportanceWeighted",
    "ImportanceWeightedCV",
    "KnownRatio",
    "adapt",
    "adaptation",
    "assess",
    "conformal",
    "datasets",
    "diagnose",
    "diagnosis",
    "engines",
    "exceptions",
    "fit_ratio",
    "for_target",
    "geodesic",
    "guarantees",
    "iw_scorer",
    "label_shift",
    "manifolds",
    "model_selection",
    "pictures",
    "plotting",
    "positive_unlabeled",
    "ratios",
    "report",
    "scoring",
    "target_risk",
    "verdict",
    "weighting",
]

_HOME = {
    "AIWERM": "weighbridge.weighting",
    "ERM": "weighbridge.weighting",
    "Geodesic": "weighbridge.weighting",
    "IWERM": "weighbridge.weighting",
    "ImportanceWeighted": "weighbridge._estimators",
    "ImportanceWeightedCV": "weighbridge._estimators",
    "KLIEP": "weighbridge.ratios",
    "KMM": "weighbridge.ratios",
    "KnownRatio": "weighbridge.ratios",
    "RIWERM": "weighbridge.weighting",
    "ULSIF": "weighbridge.ratios",
    "adapt": "weighbridge.adaptation",
    "assess": "weighbridge.verdict",
    "diagnose": "weighbridge.diagnosis",
    "fit_ratio": "weighbridge.ratios",
    "for_target": "weighbridge.scoring",
    "iw_scorer": "weighbridge.scoring",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `weighbridge --help` is instant."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"weighbridge.{name}")
    if name == "__version__":  # of the installed package; looking it up costs more than the import
        metadata = import_module("importlib.metadata")
        try:
            return metadata.version("weighbridge")
        except metadata.PackageNotFoundError:
            return "0+not.installed"
    raise AttributeError(f"module 'weighbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
