"""What a curve costs beyond the shortest one, and what is left of it after stopping at lam."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, device_of, to_numpy
from weighbridge.geodesic._elementwise import as_float64, check_alpha, check_lam
from weighbridge.geodesic._paths import path_length


def excess_length(log_ratio: Any, alpha: Any, sample_weight: Any = None) -> Any:
    """Length of a curve of constant alpha beyond that of the shortest one.

    ``path_length(log_ratio, alpha)`` less ``2 arccos BC``, the great circle between the sample as
    it is and the sample weighted by the full ratio (BC is their Bhattacharyya coefficient).

    Parameters
    ----------
    log_ratio : array of shape (n_samples,)
        Log density ratios at a sample of the source.
    alpha : float or array
        Which curve or curves.
    sample_weight : array of shape (n_samples,), optional
        Weights of the source sample itself.

    Returns
    -------
    float or ndarray
        The excess, of the shape of `alpha`; 0 where rounding would leave less. It is the difference
        of two lengths, each good to about ten digits.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import excess_length
    >>> s = np.log([0.2, 0.8, 1.0, 2.0])
    >>> excess_length(s, alpha=np.array([-1.0, 0.0, 1.0, 3.0])).round(4)
    array([0.0042, 0.    , 0.0049, 0.039 ])
    """
    length = path_length(log_ratio, alpha, sample_weight=sample_weight)
    excess = np.maximum(length - _great_circle(log_ratio, sample_weight), 0.0)
    return excess if np.ndim(excess) else float(excess)


def remaining_length(log_ratio: Any, lam: Any, alpha: Any, sample_weight: Any = None) -> Any:
    """Length of what is left of a curve of constant alpha after stopping at lam.

    The Fisher-Rao length from the sample weighted by ``w^(lam, alpha)`` to the sample weighted by
    the full ratio: the whole curve at ``lam = 0``, nothing at ``lam = 1``.

    Parameters
    ----------
    log_ratio : array of shape (n_samples,)
        Log density ratios at a sample of the source.
    lam, alpha : float or array
        Where on which curve; they broadcast against each other.
    sample_weight : array of shape (n_samples,), optional
        Weights of the source sample itself.

    Returns
    -------
    float or ndarray
        The length, of the broadcast shape of `lam` and `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import remaining_length
    >>> s = np.log([0.2, 0.8, 1.0, 2.0])
    >>> remaining_length(s, lam=[0.0, 0.5, 1.0], alpha=1.0).round(4)
    array([0.7073, 0.3198, 0.    ])
    """
    lam, alpha = (np.asarray(to_numpy(value), dtype=float) for value in (lam, alpha))
    check_lam(np, lam)
    check_alpha(np, alpha)
    shape = np.broadcast_shapes(lam.shape, alpha.shape)
    if 0 in shape:
        raise ValueError("Got an empty lam or alpha; lengths need one of each at least.")
    starts, row = np.unique(lam, return_inverse=True)
    curves, column = np.unique(alpha, return_inverse=True)
    # pieces between neighbouring stops, summed from the far end: no part is integrated twice
    stops = np.append(starts[1:], 1.0)
    pieces = [
        path_length(log_ratio, curves, start, stop, sample_weight)
        for start, stop in zip(starts, stops, strict=True)
    ]
    left = np.cumsum(np.asarray(pieces)[::-1], axis=0)[::-1]
    length = left[row.reshape(lam.shape), column.reshape(alpha.shape)]
    return length if length.ndim else float(length)


def _great_circle(log_ratio: Any, sample_weight: Any) -> float:
    """Return ``2 arccos BC``, by the chord: the arc cosine loses half the digits of a short arc."""
    xp = array_namespace(log_ratio)
    device = device_of(xp, log_ratio)
    s = as_float64(xp, log_ratio, device, "log_ratio")
    weight = 1.0 if sample_weight is None else as_float64(xp, sample_weight, device, "weight")
    source = weight * xp.ones_like(s)
    # a row of weight 0 counts for nothing, however large its ratio
    top = xp.max(xp.where(source > 0, s, -xp.inf))
    target = source * xp.exp(xp.where(source > 0, s - top, -xp.inf))
    source, target = source / xp.sum(source), target / xp.sum(target)
    chord = xp.sqrt(xp.sum((xp.sqrt(source) - xp.sqrt(target)) ** 2))
    return 4 * float(np.arcsin(float(chord) / 2))
