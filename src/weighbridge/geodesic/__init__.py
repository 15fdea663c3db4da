"""The weight family w^(lam, alpha) and its geometry: arrays in, arrays out.

Every function takes log ratios, in float64. `lam` and `alpha` broadcast, so that a grid of
candidates is one call. `log_weight` keeps the arrays of any library that follows the array API
standard (torch, cupy, ...), and torch can differentiate it in all three arguments. The other
functions return NumPy arrays.
"""

from weighbridge.geodesic._derivatives import (
    log_weight,
    log_weight_d_alpha,
    log_weight_d_lam,
    log_weight_d_log_ratio,
)
from weighbridge.geodesic._lengths import excess_length, fisher_speed, path_length, remaining_length
from weighbridge.geodesic._log_weight import check_alpha, check_lam, log_weight_bounds
from weighbridge.geodesic._means import (
    alpha_divergence,
    alpha_geodesic,
    alpha_representation,
    from_alpha_representation,
    log_f_mean,
)

# Public names; the others serve the packages above.
__all__ = [
    "alpha_divergence",
    "alpha_geodesic",
    "alpha_representation",
    "excess_length",
    "fisher_speed",
    "from_alpha_representation",
    "log_f_mean",
    "log_weight",
    "log_weight_bounds",
    "log_weight_d_alpha",
    "log_weight_d_lam",
    "log_weight_d_log_ratio",
    "path_length",
    "remaining_length",
]
