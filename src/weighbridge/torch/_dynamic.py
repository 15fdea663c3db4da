"""Weights that follow a network while it learns: one for each row, and what is known of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from weighbridge._findings import Finding, listed, nearest, percent
from weighbridge.ratios import outside_support
from weighbridge.torch._batch import (
    check_batches,
    check_options,
    lines,
    replayed,
    weigh,
    widened,
)
from weighbridge.weighting import Geodesic

# A mean training loss below this share of the first epoch's is as good as zero: Byrd & Lipton.
NO_LOSS = 0.01
# Target rows outside the features from which on it is worth a word, as elsewhere in the library.
SOME_OUTSIDE = 0.05
# Batches kept for that look.
KEPT = 8


class Beyond(Geodesic):
    """The weight ``w^(lam, alpha)`` with `lam` beyond 1, for networks that let weights fade.

    A network that separates its training rows soon has no loss left to weight. Weights that
    overstate the ratio, ``r ** 1.5`` say, act longer (Wang et al. 2022), best with a
    `PolynomialLoss`. Inside [0, 1] it is the same as `Geodesic`.

    Parameters
    ----------
    lam : float, default=1.5
        0 or more.
    alpha : float, default=1.0
        1 or less beyond lam = 1, since the curves with a larger alpha end there. With alpha < 1
        a weight that the formula would make negative is 0.

    Examples
    --------
    >>> import torch
    >>> from weighbridge.torch import Beyond
    >>> torch.exp(Beyond(1.5)(torch.log(torch.tensor([1.0, 4.0, 9.0]))))
    tensor([ 1.0000,  8.0000, 27.0000])
    """

    def __init__(self, lam: float = 1.5, alpha: float = 1.0) -> None:
        super().__init__(lam, alpha)

    def __call__(self, log_ratio: Any) -> Any:
        """Return the log weights at `log_ratio`, a tensor."""
        check_weighting(self)
        return plain_log_weight(torch.as_tensor(log_ratio), float(self.lam), float(self.alpha))


def plain_log_weight(log_ratio: Tensor, lam: float, alpha: float) -> Tensor:
    """Return log w^(lam, alpha) in three operations, which never wait for the device.

    It has the digits that a batch needs; `weighbridge.geodesic.log_weight` has all of them.
    """
    k = (1 - alpha) / 2
    if k == 0 or lam in (0.0, 1.0):
        return lam * log_ratio if lam else torch.zeros_like(log_ratio)
    return torch.log1p((lam * torch.expm1(k * log_ratio)).clamp(min=-1)) / k


def check_weighting(weighting: Any) -> None:
    """Refuse what is no weighting, and a lam or alpha that has no weights."""
    if not callable(weighting):
        raise TypeError(
            f"Got weighting={weighting!r}, but expected a Geodesic, or a function of log ratios."
        )
    if not isinstance(weighting, Geodesic):
        return
    lam, alpha = float(weighting.lam), float(weighting.alpha)
    beyond = isinstance(weighting, Beyond)
    if not (0 <= lam <= (math.inf if beyond else 1)) or not math.isfinite(lam + alpha):
        more = "0 or more" if beyond else "between 0 and 1 (weighbridge.torch.Beyond goes further)"
        raise ValueError(f"Got {weighting!r}, but lam must be {more}, and alpha a finite number.")
    if lam > 1 and alpha > 1:
        raise ValueError(
            f"Got {weighting!r}, but with alpha > 1 the curve ends at lam = 1; use alpha <= 1."
        )


class DynamicWeights(nn.Module):
    """Importance weights that are estimated anew in every batch while a network learns.

    The ratio of target to source is taken in what the network makes of a row: the features of a
    layer, which need no labels of the target, or the losses, which need a few (Fang et al. 2020).
    It is kept for each row, and starts the few steps of its next batch. The weights are
    ``w^(lam, alpha)`` of that ratio, of mean 1 in each batch.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    weighting : Geodesic, Beyond or callable, optional
        From log ratios to log weights; default `Geodesic()`, the full ratio.
    on : {"features", "losses"} or callable, default="features"
        What is compared. A callable gets the output of the network, and returns one entry a row.
    layer : str, optional
        Name of the layer whose output is compared, as in ``net.named_modules()``. Default: what
        goes into the last linear layer.
    warmup : int, default=1
        Epochs without weights: features of a network that has learnt nothing mean nothing.
    memory : float, default=0.5
        Share of the old ratio that a row keeps when its new one is found; in [0, 1).
    divergence, steps, bound
        As in `batch_weights`.

    Attributes
    ----------
    ratio : Tensor of shape (n_rows,)
        Running ratio of each row.
    weight : Tensor of shape (n_rows,)
        The last weight of each row.
    history : list of dict
        For each epoch its number, the effective sample size of the weights, the largest of them,
        and the mean loss if losses were passed on.

    Notes
    -----
    It is a ``torch.nn.Module``: ``.to(device)`` moves it, and ``state_dict`` holds all it knows.
    With the same seed it gives the same bits on a CPU.

    Examples
    --------
    A plain loop needs three lines more:

    >>> import torch
    >>> from weighbridge.torch import DynamicWeights
    >>> _ = torch.manual_seed(0)
    >>> X, X_target = torch.randn(600, 2), torch.randn(600, 2) + 0.7
    >>> y = (X[:, 0] * X[:, 1] > 0).long()
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    >>> optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    >>> dynamic = DynamicWeights(len(X))
    >>> for epoch in range(5):
    ...     for rows, some in zip(torch.randperm(600).split(200), torch.randperm(600).split(200)):
    ...         output, z = dynamic.look(net, X[rows])
    ...         with torch.no_grad():
    ...             _, z_target = dynamic.look(net, X_target[some])
    ...         losses = torch.nn.functional.cross_entropy(output, y[rows], reduction="none")
    ...         optimizer.zero_grad()
    ...         (dynamic(rows, z, z_target, losses=losses) * losses).mean().backward()
    ...         optimizer.step()
    ...     record = dynamic.end_epoch()
    >>> record["ess"] < 500, dynamic.findings()
    (True, [])
    """

    known: Tensor

    def __init__(
        self,
        n_rows: int,
        weighting: Any = None,
        *,
        on: str | Callable[..., Tensor] = "features",
        layer: str | None = None,
        warmup: int = 1,
        memory: float = 0.5,
        divergence: str | None = None,
        steps: int = 5,
        bound: float = math.inf,
    ):
        super().__init__()
        if divergence is None:
            divergence = "kmm" if on == "losses" else "gaussian"
        _check_numbers(n_rows, warmup, memory)
        check_options(divergence, steps, bound)
        if not callable(on) and on not in ("features", "losses"):
            raise ValueError(f"Got on={on!r}, but expected 'features', 'losses' or a function.")
        if weighting is not None:
            check_weighting(weighting)
        self.weighting = weighting
        self.n_rows, self.on, self.layer = n_rows, on, layer
        self.warmup, self.memory = warmup, float(memory)
        self.divergence, self.steps, self.bound = divergence, steps, float(bound)
        # ratio, weight and loss of each row, as they were when it was last seen
        known = torch.ones(3, n_rows)
        known[2] = math.nan
        self.register_buffer("known", known)
        self.history: list[dict[str, float]] = []
        self._kept: deque[tuple[Tensor, Tensor]] = deque(maxlen=KEPT)

    def look(self, net: nn.Module, x: Tensor, row_losses: Any = None) -> tuple[Any, Tensor]:
        """Return the output of a network and what is compared.

        Parameters
        ----------
        net : Module
            The network.
        x : Tensor
            A batch, as the network takes it.
        row_losses : callable, optional
            From the output to one loss for each row; needed by ``on="losses"``.

        Returns
        -------
        output
            What the network returns.
        z : Tensor
            Features, losses, or what the callable `on` makes of the output.
        """
        if self.on == "losses":
            if row_losses is None:
                raise ValueError(
                    "Got on='losses' and no row_losses; pass a function from the output to one "
                    "loss for each row, such as lambda output: cross_entropy(output, y, "
                    "reduction='none')."
                )
            output = net(x)
            return output, row_losses(output)
        if callable(self.on):
            output = net(x)
            return output, self.on(output)
        with watched(net, self.layer) as seen:
            output = net(x)
        if not seen:
            raise ValueError(f"Got layer={self.layer!r}, which the network has but does not run.")
        return output, seen[-1]

    def forward(
        self, rows: Tensor, z_source: Tensor, z_target: Tensor, losses: Tensor | None = None
    ) -> Tensor:
        """Return the weights of a batch, of mean 1, and remember them.

        Parameters
        ----------
        rows : Tensor of shape (n,)
            Numbers of the rows of this batch, in 0 to ``n_rows - 1``.
        z_source, z_target : Tensor
            What is compared: one entry for each of `rows`, and for each row of a target batch.
        losses : Tensor of shape (n,), optional
            Losses of the rows, before weighting; tell whether weights can still have an effect.
            With ``on="losses"`` they are `z_source`.

        Returns
        -------
        Tensor of shape (n,)
            The weights; no gradient flows through them. All 1 during warm-up.
        """
        check_batches(z_source, z_target, None)
        if len(rows) != len(z_source):
            raise ValueError(f"Got {len(rows)} rows and z_source of {len(z_source)}.")
        source, target = lines(z_source), lines(z_target)
        self._kept.append((source, target))
        losses = z_source if losses is None and self.on == "losses" else losses
        if len(self.history) < self.warmup:
            if losses is not None:
                self.known[2].index_copy_(0, rows, losses.detach().to(self.known.dtype))
            return torch.ones_like(source[:, 0])
        inputs = (rows, source, target)
        if losses is not None and self.on != "losses":
            inputs = (*inputs, losses)
        weighting = self.weighting or Geodesic()
        if not isinstance(weighting, Geodesic):  # nobody knows whether it can be recorded
            return self._weigh(*map(widened, inputs))[0].clone()
        key = (self.divergence, self.steps, self.bound, self.memory, self.on)
        point = (float(weighting.lam), float(weighting.alpha))
        # the graph writes where the state of the rows is now
        return replayed((*key, *point, self.known.data_ptr()), self._weigh, inputs)[0].clone()

    @torch.no_grad()
    def _weigh(
        self, rows: Tensor, source: Tensor, target: Tensor, *losses: Tensor
    ) -> tuple[Tensor]:
        """Update what is known of the rows of a batch, and return their weights."""
        old = self.known[0].index_select(0, rows).to(source.dtype)
        found = self._solve(source, target, old)
        ratio = self.memory * old + (1 - self.memory) * found
        ratio = ratio / ratio.mean()
        weighting = self.weighting or Geodesic()
        if isinstance(weighting, Geodesic):
            lam, alpha = float(weighting.lam), float(weighting.alpha)
            log_weight = plain_log_weight(torch.log(ratio), lam, alpha)
        else:
            log_weight = weighting(torch.log(ratio))
        weight = torch.exp(log_weight - log_weight.max())
        losses = (source[:, 0],) if self.on == "losses" else losses
        new = torch.stack([ratio, weight / weight.mean(), *losses]).to(self.known.dtype)
        self.known[: len(new)].index_copy_(1, rows, new)
        return (new[1],)

    def _solve(self, source: Tensor, target: Tensor, old: Tensor) -> Tensor:
        return weigh(self.divergence, source, target, old, self.steps, self.bound)

    @property
    def ratio(self) -> Tensor:
        """Running ratio of each row."""
        return self.known[0]

    @property
    def weight(self) -> Tensor:
        """The last weight of each row."""
        return self.known[1]

    def end_epoch(self) -> dict[str, float]:
        """Close an epoch, and return its record, the last of `history`."""
        weight, losses = self.weight.double(), self.known[2].double()
        record = {
            "epoch": len(self.history) + 1,
            "ess": float(weight.sum() ** 2 / (weight**2).sum()),
            "largest": float(weight.max()),
        }
        loss = float(losses.nanmean())
        if math.isfinite(loss):
            record["loss"] = loss
        self.history.append(record)
        return record

    def findings(self) -> list[Finding]:
        """Return what is wrong, if anything: no effect of the weights, rows without a match."""
        return [each for each in (self._no_effect(), self._outside()) if each is not None]

    def _no_effect(self) -> Finding | None:
        losses = [record["loss"] for record in self.history if "loss" in record]
        if len(losses) < 2 or losses[-1] > NO_LOSS * losses[0]:
            return None
        return Finding(
            "WB308",
            "warning",
            "weights have no effect: the training loss is zero "
            f"({losses[-1]:.2g} in epoch {self.history[-1]['epoch']}, {losses[0]:.2g} in the "
            "first).",
            "Stop earlier, add weight decay, or use PolynomialLoss with Beyond.",
        )

    def _outside(self) -> Finding | None:
        if not self._kept:
            return None
        source, target = (torch.cat(part).cpu().numpy() for part in zip(*self._kept, strict=True))
        share = outside_support(source, target).share
        if share <= SOME_OUTSIDE:
            return None
        what = self.on if isinstance(self.on, str) else "outputs"
        return Finding(
            "WB304",
            "warning",
            f"{percent(share)} of the target is outside the {what} of training.",
            "No weights can represent these rows: collect or label rows like them.",
        )

    def get_extra_state(self) -> dict[str, Any]:
        """Return the history, for ``state_dict``."""
        return {"history": self.history}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take the history out of a ``state_dict``."""
        self.history = [dict(record) for record in state["history"]]


def _check_numbers(n_rows: Any, warmup: Any, memory: Any) -> None:
    for name, value, least in (("n_rows", n_rows, 1), ("warmup", warmup, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"Got {name}={value!r}, but expected a whole number, {least} or more.")
    if not 0 <= memory < 1:
        raise ValueError(f"Got memory={memory!r}, but expected a number in [0, 1).")


@contextmanager
def watched(net: nn.Module, layer: str | None) -> Any:
    """Give a list that receives the features of every call of `net`, one line for each row."""
    seen: list[Tensor] = []
    if layer is None:
        handle = find_layer(net, None).register_forward_pre_hook(
            lambda module, inputs: seen.append(inputs[0])
        )
    else:
        handle = find_layer(net, layer).register_forward_hook(
            lambda module, inputs, output: seen.append(output)
        )
    try:
        yield seen
    finally:
        handle.remove()


def find_layer(net: nn.Module, layer: str | None) -> nn.Module:
    """Return the layer of that name, or the last linear one."""
    modules = dict(net.named_modules())
    if layer is None:
        linear = [module for module in modules.values() if isinstance(module, nn.Linear)]
        if not linear:
            raise ValueError(
                f"Got a network ({type(net).__name__}) without a linear layer; name the layer "
                "whose output is compared: layer=..."
            )
        return linear[-1]
    if layer not in modules:
        names = [name for name in modules if name]
        near = nearest(layer, names) or names
        raise ValueError(
            f"Got layer={layer!r}, which {type(net).__name__} does not have; there is "
            f"{listed(near)}."
        )
    return modules[layer]
