"""Losses of single rows, and one whose tail is long enough for weights to act on."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class PolynomialLoss(nn.CrossEntropyLoss):
    """Cross-entropy with a polynomial tail, on which weights keep their effect.

    Cross-entropy falls exponentially with the margin of a row, and a network that separates its
    rows forgets their weights. Here the loss of a row that is right by a margin ``u`` falls like
    ``u ** -power`` (Wang et al. 2022). Below 0 it is cross-entropy; at 0 value and slope agree.

    Parameters
    ----------
    power : float, default=1.0
        Power of the tail; smaller is longer.
    reduction : {"mean", "sum", "none"}, default="mean"
        As in torch's own losses.

    Examples
    --------
    >>> import torch
    >>> from weighbridge.torch import PolynomialLoss
    >>> output, y = torch.tensor([[0.0, 0.0], [9.0, 0.0]]), torch.tensor([0, 0])
    >>> PolynomialLoss(reduction="none")(output, y)
    tensor([0.6931, 0.0925])
    """

    def __init__(self, power: float = 1.0, reduction: str = "mean") -> None:
        if not 0 < power < math.inf:
            raise ValueError(f"Got power={power!r}, but expected a positive number.")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"Got reduction={reduction!r}, but expected 'mean', 'sum' or 'none'.")
        super().__init__(reduction=reduction)
        self.power = float(power)

    def forward(self, output: Tensor, y: Tensor) -> Tensor:
        """Return the loss of scores of shape (n, n_classes) at the classes `y`."""
        own = output.gather(1, y[:, None])[:, 0]
        others = output.scatter(1, y[:, None], -math.inf).logsumexp(1)
        margin = own - others
        scale = 2 * self.power * math.log(2)  # the slope of cross-entropy at 0 is -1/2
        tail = math.log(2) * (1 + margin.clamp(min=0) / scale) ** -self.power
        losses = torch.where(margin > 0, tail, nn.functional.softplus(-margin.clamp(max=0)))
        return losses if self.reduction == "none" else getattr(losses, self.reduction)()
