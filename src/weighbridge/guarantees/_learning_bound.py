"""The result: a bound, its parts, and whether it says anything."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class LearningBound:
    """A bound on the gap between the target risk and the weighted empirical risk.

    Made by `learning_bound` and `bernstein_bound`.

    Attributes
    ----------
    bias : float
        ``|E[(r - w) l]|`` under the source, what weights other than the ratio cost; the largest
        one over all losses in [0, 1] where no losses were given.
    second_moment : float
        ``E[w**2 l**2]``, population or sample, whichever is larger ("cortes"); the sample variance
        of ``w l`` or a bound of it ("bernstein").
    complexity : float
        The factor of ``sqrt(second_moment)`` in the deviation.
    remainder : float
        The rest of the deviation, of order 1/n; 0 in the form "cortes".
    delta : float
        The bound may fail with this probability.
    n : int
        Number of source rows.
    form : str
        "cortes" (any weights, all hypotheses of a class) or "bernstein" (bounded weights, one
        hypothesis or finitely many).
    plug_in : tuple of str
        The parts that are estimates from the sample where the theorem has an expectation.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import RIWERM
    >>> from weighbridge.guarantees import learning_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(200) - 0.5
    >>> bound = learning_bound(log_ratio, RIWERM(0.5), pseudo_dimension=10)
    >>> bound.vacuous
    True
    >>> print(bound)
    gap <= 1.5 with probability 0.95 (vacuous: a loss in [0, 1] is never above 1); the bias and
    the second moment are estimates from the sample
    """

    bias: float
    second_moment: float
    complexity: float
    remainder: float
    delta: float
    n: int
    form: str
    plug_in: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The bound: the sum of `bias` and `deviation`."""
        return self.bias + self.deviation

    @property
    def deviation(self) -> float:
        """What the sample adds: ``sqrt(second_moment) * complexity + remainder``."""
        return math.sqrt(self.second_moment) * self.complexity + self.remainder

    @property
    def vacuous(self) -> bool:
        """True where the bound is 1 or more, and says nothing about any risk in [0, 1].

        A smaller one may still say nothing about the risk at hand: with a weighted risk ``R_w`` it
        leaves ``R_w - value`` to ``R_w + value``, which may hold all of [0, 1].
        """
        return not self.value < 1

    def __str__(self) -> str:
        text = f"gap <= {self.value:.3g} with probability {1 - self.delta:g}"
        if self.vacuous:
            text += " (vacuous: a loss in [0, 1] is never above 1)"
        if self.plug_in:
            verb = "is an estimate" if len(self.plug_in) == 1 else "are estimates"
            text += f"; the {' and the '.join(self.plug_in)} {verb} from the sample"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, and whether they are vacuous, as plain Python objects.

        Returns
        -------
        dict
            All attributes, `value`, `deviation` and `vacuous`.
        """
        return asdict(self) | {
            "plug_in": list(self.plug_in),
            "value": self.value,
            "deviation": self.deviation,
            "vacuous": self.vacuous,
        }
