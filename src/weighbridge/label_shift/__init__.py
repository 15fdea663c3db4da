"""Label shift: the mix of classes changes, not how the rows of a class look."""

from weighbridge.label_shift._chances import coded_classes
from weighbridge.label_shift._frequencies import ClassFrequencies
from weighbridge.label_shift._kinds import (
    AUTO,
    COVARIATE,
    LABEL,
    UNCLEAR,
    ByKind,
    Seen,
    ShiftKind,
    check_shift,
    fit_by_kind,
    judge_kind,
    kind_of_shift,
    ratio_by_kind,
)
from weighbridge.label_shift._ratio import LabelRatio, PriorCorrected, class_frequencies

# Public names; the others serve the packages above.
__all__ = [
    "ClassFrequencies",
    "LabelRatio",
    "PriorCorrected",
    "ShiftKind",
    "class_frequencies",
    "kind_of_shift",
]
