"""A criterion, ready to score candidates on given rows."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from weighbridge.criteria._candidate_weights import candidate_weights
from weighbridge.criteria._held_out import HeldOutErrors
from weighbridge.criteria._row_loss import RowLoss
from weighbridge.criteria._rows import SourceRows
from weighbridge.search import Evaluation, Point

FloatArray = npt.NDArray[np.float64]

# Weights of as many candidates as fit into so many numbers are formed together.
_NUMBERS = 4_000_000


class Outcome(NamedTuple):
    """Losses and held-out predictions of one candidate, or why there are none."""

    losses: FloatArray | None = None
    predictions: FloatArray | None = None
    error: str | None = None
    seconds: float = 0.0


class CandidateObjective(ABC):
    """Scores weightings of fixed rows; what a search minimises.

    Parameters
    ----------
    rows : SourceRows
        The source rows.
    identity : list
        What else the values depend on: estimator, criterion, folds.
    """

    def __init__(self, rows: SourceRows, identity: list[Any]) -> None:
        self.rows = rows
        self._identity = identity

    @property
    def log_ratio(self) -> FloatArray:
        """Log ratios of the rows, of which every weight is made."""
        return self.rows.log_ratio

    @property
    @abstractmethod
    def unit_weights(self) -> FloatArray:
        """What each loss counts."""

    @cached_property
    def fingerprint(self) -> str:
        """Name of data, estimator and criterion, by content."""
        return self.rows.fingerprint(*self._identity)

    @abstractmethod
    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Score each row of `weights`, lazily and in order; a failure is recorded, not raised."""

    @property
    def held_rows(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that predictions are held out for, in their order."""
        return np.arange(self.log_ratio.size)

    # whether a candidate more costs next to nothing, because all are solved together
    solved_together = False

    @property
    def row_loss(self) -> RowLoss | None:
        """What a held-out prediction of a row costs; None where a value is no mean over rows."""
        return None

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of evaluated candidates, one row each."""
        kept = [evaluation.predictions for evaluation in evaluations]
        if any(each is None for each in kept):
            raise ValueError(
                "Got a candidate without held-out predictions: there are none where the metric is "
                "no mean over rows, for an information criterion, and after a failure."
            )
        return np.stack([np.asarray(each) for each in kept])

    def held_out(self, evaluations: Sequence[Evaluation]) -> HeldOutErrors | None:
        """Held-out errors of evaluated candidates as sums; None where there are `predictions`."""
        del evaluations
        return None

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score candidates in the order given, lazily."""
        size = max(1, _NUMBERS // self.log_ratio.size)
        for start in range(0, len(points), size):
            block = points[start : start + size]
            begun = time.perf_counter()
            weights = candidate_weights(self.log_ratio, block, self.rows.sample_weight)
            share = (time.perf_counter() - begun) / len(block)
            for point, outcome in zip(block, self.outcomes(weights), strict=True):
                seconds = outcome.seconds + share
                yield Evaluation(point, *outcome[:3], seconds)
