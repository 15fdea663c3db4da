"""How source and target differ as domains: a classifier of them, and rows outside the support."""

from weighbridge.domain._classifier import (
    CrossFittedDomain,
    DomainRows,
    binned,
    fold_auc,
    standard_error,
)
from weighbridge.domain._support import (
    MIN_NAMED_ROWS,
    Support,
    covered_rows,
    outside_support,
    share_outside,
)

# These names serve the packages above; users call `weighbridge.diagnose`.
__all__: list[str] = []
