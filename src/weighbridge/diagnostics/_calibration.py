"""The identities that every density ratio keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from weighbridge._findings import Estimate, Record
from weighbridge.blocks import is_blocks
from weighbridge.diagnostics._samples import sum_of_stretches
from weighbridge.diagnostics._sums import Moments
from weighbridge.ratios import check_confidence

# A mean ratio as near to 1 as this was made so.
_BY_CONSTRUCTION = 1e-9


@dataclass(frozen=True, repr=False)
class Calibration(Record):
    """Four means of a density ratio, as `calibration` finds them.

    Parameters
    ----------
    mean_source : Estimate
        Mean of ``r`` over the source rows; 1 for the true ratio.
    mean_target : Estimate
        Mean of ``1 / r`` over the target rows; 1 for the true ratio, less where the target does
        not reach all of the source.
    d2_source, d2_target : Estimate
        The second moment ``d2`` of the ratio in two ways: mean of ``r**2`` over the source rows,
        and of ``r`` over the target rows. They agree for the true ratio.
    self_normalised : bool
        Whether the ratio was divided by its mean over these source rows. ``mean_source`` is then 1
        however good the ratio is, and ``d2_source`` is ``n / ESS``, too low if few ratios rule.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import calibration
    >>> x = np.random.default_rng(0).normal(size=(2, 100_000)) + [[0], [1]]
    >>> print(calibration(*(x - 0.5)))  # N(0, 1) and N(1, 1)
    mean of r, training rows          1.000 [0.991, 1.008]  1 if calibrated
    mean of 1/r, deployment rows      1.001 [0.993, 1.010]  1 if calibrated
    mean of r**2, training rows       2.77 [2.63, 2.90]     d2, one way
    mean of r, deployment rows        2.725 [2.703, 2.747]  d2, the other way
    """

    mean_source: Estimate
    mean_target: Estimate
    d2_source: Estimate
    d2_target: Estimate
    self_normalised: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON.

        Returns
        -------
        dict
            Each mean with value and interval, None for what is infinite; ``self_normalised``.
        """
        means = {name: getattr(self, name).to_dict() for name in _MEANS}
        finite = {
            name: {key: value if math.isfinite(value) else None for key, value in mean.items()}
            for name, mean in means.items()
        }
        return {**finite, "self_normalised": self.self_normalised}

    def __str__(self) -> str:
        lines = [
            f"{label:<33} {getattr(self, name)!s:<21} {remark}"
            for name, (label, remark) in _MEANS.items()
        ]
        if self.self_normalised:
            lines[0] = f"{lines[0][:55].rstrip():<55} by construction"
            lines.append(
                "The ratio was scaled to mean 1 on the training rows: the first mean says nothing."
            )
        beyond = [getattr(self, name).value == math.inf for name in _MEANS]
        if any(beyond):
            lines.append("inf: beyond the largest double, or a ratio of 0 at a deployment row.")
        return "\n".join(line.rstrip() for line in lines)


_MEANS = {
    "mean_source": ("mean of r, training rows", "1 if calibrated"),
    "mean_target": ("mean of 1/r, deployment rows", "1 if calibrated"),
    "d2_source": ("mean of r**2, training rows", "d2, one way"),
    "d2_target": ("mean of r, deployment rows", "d2, the other way"),
}


def calibration(log_ratio: Any, log_ratio_target: Any, *, confidence: float = 0.95) -> Calibration:
    """Check the identities ``mean_s r = 1``, ``mean_t 1/r = 1`` and ``mean_s r**2 = mean_t r``.

    A ratio that misses them by more than their intervals is not the density ratio of these samples.
    One that keeps them may still be wrong. The intervals are those of a normal mean, and too short
    where a few large ratios rule it.

    Parameters
    ----------
    log_ratio : array-like, dask array or Rows of shape (n_source,)
        Log density ratios at the source rows, with their constant; ``-inf`` stands for 0. In blocks
        they are summed up block by block.
    log_ratio_target : array-like, dask array or Rows of shape (n_target,)
        The same at the target rows.
    confidence : float, default=0.95
        Of the intervals.

    Returns
    -------
    Calibration
        The four means with intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import calibration
    >>> x = np.random.default_rng(0).normal(size=(2, 5000)) + [[0], [1]]
    >>> off = calibration(*(x - 0.5 + np.log(2)))  # twice the true ratio
    >>> round(off.mean_source.value, 1), round(off.mean_target.value, 1)
    (2.0, 0.5)
    """
    quantile = float(ndtri((1 + check_confidence(confidence)) / 2))
    sums = _sums(log_ratio, (1.0, 2.0), "log_ratio", "source")
    target_sums = _sums(log_ratio_target, (-1.0, 1.0), "log_ratio_target", "target")
    mean_source, d2_source = (_mean(each, quantile) for each in sums)
    mean_target, d2_target = (_mean(each, quantile) for each in target_sums)
    self_normalised = abs(mean_source.value - 1) < _BY_CONSTRUCTION
    return Calibration(mean_source, mean_target, d2_source, d2_target, self_normalised)


@dataclass(frozen=True)
class _ExpSums:
    """Moments of ``exp(values - top)``; those of two stretches of values are added."""

    top: float
    moments: Moments

    @classmethod
    def of(cls, values: np.ndarray) -> _ExpSums:
        top = float(values.max(initial=-math.inf))
        if not math.isfinite(top):  # a ratio of 0 everywhere, or somewhere in the target
            return cls(top, Moments.of(np.zeros(values.size)))
        return cls(top, Moments.of(np.exp(values - top)))

    def __add__(self, other: _ExpSums) -> _ExpSums:
        top = max(self.top, other.top)
        # where both are infinite they are the same, and their difference has no value
        first, second = (
            part.moments.scaled(1.0 if part.top == top else math.exp(part.top - top))
            for part in (self, other)
        )
        return _ExpSums(top, first + second)


@dataclass(frozen=True)
class _SumsOfPowers:
    """Sums of some powers of ratios, as a function that can be sent to where a stretch lies."""

    powers: tuple[float, ...]
    name: str

    def __call__(self, values: np.ndarray) -> list[_ExpSums]:
        if values.dtype == object:
            raise TypeError(f"Got {self.name} with text in it, but expected log ratios.")
        bad = int(np.sum(np.isnan(values) | (values == math.inf)))
        if bad:
            raise ValueError(
                f"Got {self.name} with NaN or +inf in {bad} of {values.size} rows; every row needs "
                "a finite ratio (-inf stands for 0)."
            )
        return [_ExpSums.of(power * values) for power in self.powers]


def _sums(values: Any, powers: tuple[float, ...], name: str, sample: str) -> list[_ExpSums]:
    """Sum up powers of the ratios; refuse anything else."""
    of_stretch = _SumsOfPowers(powers, name)
    found: list[_ExpSums]
    if is_blocks(values):
        found = sum_of_stretches(values, of_stretch, name)
        shape: tuple[int, ...] = (int(found[0].moments.total),)
    else:
        array = np.asarray(values, dtype=np.float64)
        shape = array.shape
        found = of_stretch(array) if len(shape) == 1 else []
    if len(shape) != 1 or shape[0] < 2:
        raise ValueError(
            f"Got {name} of shape {shape}, but expected one number for each of two or more "
            f"{sample} rows."
        )
    return found


def _mean(sums: _ExpSums, quantile: float) -> Estimate:
    """Mean of the exponentials with its interval; inf beyond the largest double."""
    top, moments = sums.top, sums.moments
    if not math.isfinite(top):
        mean = 0.0 if top < 0 else math.inf
        return Estimate(mean, 0.0 if top < 0 else math.inf, 0.0, mean)
    relative = math.sqrt(moments.variance / moments.total) / moments.mean
    with np.errstate(over="ignore"):
        mean = float(np.exp(top + math.log(moments.mean)))
    step = quantile * relative
    # 0 * inf has no value
    error, low = (factor * mean if factor > 0 else 0.0 for factor in (relative, 1 - step))
    return Estimate(mean, error, low, (1 + step) * mean)
