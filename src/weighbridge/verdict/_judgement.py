"""The rules: from numbers to words."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge._findings import BROKEN, THIN, Estimate

HELPS, NO_GAIN, UNKNOWN = "helps", "no gain", "unknown"


@dataclass(frozen=True)
class Judgement:
    """The words of a verdict.

    `worse` is the change of the unweighted model's loss from training to deployment, `change` that
    of the loss in deployment from no weights to tuned ones; None where they are withheld.
    `weighted` is what the weighted candidate is called.
    """

    shift: str
    overlap: str
    worse: Estimate | None
    change: Estimate | None
    weighted: str = "tuned"

    @property
    def matters(self) -> str:
        """Yes where the unweighted model will be worse by more than one standard error."""
        if self.worse is None:
            return UNKNOWN
        return "yes" if self.worse.value > self.worse.standard_error else "no"

    @property
    def weighting(self) -> str:
        """Helps where the paired change is better than zero by more than one standard error."""
        if self.overlap == BROKEN:
            return UNKNOWN
        if self.shift == "none" or self.change is None:
            return NO_GAIN
        return HELPS if self.change.value < -self.change.standard_error else NO_GAIN

    @property
    def is_sure(self) -> bool:
        """True where the whole interval of the change is better than zero."""
        return self.change is not None and self.change.high < 0

    @property
    def use(self) -> str:
        """The candidate to use."""
        return self.weighted if self.weighting == HELPS else "none"

    @property
    def is_thin(self) -> bool:
        """True where figures for the deployment are rough."""
        return self.overlap == THIN
