"""Label shift: the class prevalence changes, and the rows of each class look as before."""

from weighbridge.label_shift._kinds import (
    AUTO,
    COVARIATE,
    LABEL,
    UNCLEAR,
    ByKind,
    ShiftKind,
    check_shift,
    fit_by_kind,
    judge_kind,
    kind_of_shift,
    ratio_by_kind,
)
from weighbridge.label_shift._prevalence import ClassFrequencies
from weighbridge.label_shift._ratio import LabelRatio, coded_classes

# Public names; the others serve the packages above.
__all__ = [
    "LabelRatio",
    "ShiftKind",
    "kind_of_shift",
]
