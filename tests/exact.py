"""The weight and its derivatives in arithmetic of many bits, straight from their definitions."""

import functools

import mpmath
import numpy as np


def _bits(s, lam, alpha):
    """Bits that resolve lam (1 - lam) t^2 beside 1 and 1 beside t, with 150 to spare."""
    t = abs((1 - mpmath.mpf(alpha)) / 2 * mpmath.mpf(s))
    return 150 + sum(abs(mpmath.mag(x)) for x in (lam, 1 - lam, t, t) if x)


def _bits_without_cancellation(s, lam, alpha):
    """Bits that resolve lam t beside 1; a large t costs none."""
    t = abs((1 - mpmath.mpf(alpha)) / 2 * mpmath.mpf(s))
    return 150 + sum(max(0, -mpmath.mag(x)) for x in (lam, 1 - lam, t) if x)


def exactly(bits):
    """Evaluate a definition with as many bits as `bits` says; the result keeps them."""

    def decorate(definition):
        @functools.cache
        def on_keys(s, lam, alpha):
            with mpmath.workprec(bits(s, lam, alpha)):
                s, lam, alpha = mpmath.mpf(s), mpmath.mpf(lam), mpmath.mpf(alpha)
                return definition(s, lam, (1 - alpha) / 2)

        @functools.wraps(definition)
        def on_floats(s, lam, alpha):
            s = s if isinstance(s, mpmath.mpf) else float(s)
            return on_keys(s, float(lam), float(alpha))

        return on_floats

    return decorate


@exactly(_bits_without_cancellation)
def log_weight(s, lam, k):
    return lam * s if k == 0 else mpmath.log(1 - lam + lam * mpmath.exp(k * s)) / k


@exactly(_bits_without_cancellation)
def d_log_ratio(s, lam, k):
    growth = lam * mpmath.exp(k * s)
    return growth / (1 - lam + growth)


@exactly(_bits_without_cancellation)
def d_lam(s, lam, k):
    growth = mpmath.exp(k * s)
    return s if k == 0 else (growth - 1) / (k * (1 - lam + lam * growth))


@exactly(_bits)
def d_alpha(s, lam, k):
    if k == 0:
        return -lam * (1 - lam) * s**2 / 4
    if lam == 0 or lam == 1:  # the whole edge is one weighting
        return mpmath.mpf(0)
    growth = lam * mpmath.exp(k * s)
    total = 1 - lam + growth
    return -(growth / total * k * s - mpmath.log(total)) / (2 * k**2)


HARD_LAM = [0.0, 5e-324, 1e-300, 1e-16, 1e-3, 0.2, 0.5, 0.75, 1 - 2.0**-20, 1 - 2.0**-53, 1.0]
HARD_ALPHA = [
    1.0, 1 - 1e-15, 1 + 1e-15, 1 - 1e-8, 1 + 1e-8, -1.0, 0.0, 3.0, 0.9, 2.3, -7.7,
    50.0, -50.0, 1e6, -1e6, 1e300, -1e300,
]  # fmt: skip
HARD_SIZE = [5e-324, 1e-300, 1e-17, 1e-9, 1e-3, 0.3, 1.0, 2.5, 17.0, 40.0, 699.9, 710.0, 1e3, 1e4]
HARD_SIZE += [1e8, 3.7e15, 1e30, 1e150, 1e300]
HARD_LOG_RATIO = [0.0] + [sign * size for size in HARD_SIZE for sign in (1, -1)]


def hard_grid():
    """7,293 points (log_ratio, lam, alpha), all corners of the three lists above."""
    grid = np.meshgrid(HARD_LOG_RATIO, HARD_LAM, HARD_ALPHA, indexing="ij")
    return [axis.ravel() for axis in grid]
