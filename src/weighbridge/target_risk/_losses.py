"""Losses of one procedure on both samples: found, and expected."""

from __future__ import annotations

from typing import NamedTuple

from weighbridge.target_risk._features import FloatArray


class Losses(NamedTuple):
    """Losses of one procedure: held out, expected there, and expected at the target.

    `of_folds` are the mean expected losses on the target of the model of each fold, `of_final` that
    of the model fitted to all rows.
    """

    held_out: FloatArray
    expected: FloatArray
    expected_target: FloatArray
    of_folds: FloatArray
    of_final: float
