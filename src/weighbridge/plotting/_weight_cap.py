"""The largest weight that a weighting can give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weighbridge.geodesic import log_weight_bounds
from weighbridge.weighting import Geodesic


def weight_cap(estimator: Any) -> float | None:
    """Return the largest weight that the weighting of a fitted model can give, if there is one."""
    weighting = getattr(estimator, "best_weighting_", None)
    if weighting is None:
        weighting = getattr(estimator, "weighting", None) or Geodesic()
    if not isinstance(weighting, Geodesic) or weighting.lam == 0:
        return None
    log_cap = float(np.max(log_weight_bounds(weighting.lam, weighting.alpha)[1]))
    # by the largest weight, whose scale is the one of all: own weights of the rows move it
    top = int(np.argmax(estimator.weights_))
    below = log_cap - float(weighting(estimator.log_ratio_)[top])
    if not 0 <= below < 700:
        return None
    return float(estimator.weights_[top] * math.exp(below))
