"""Weights that follow a network while it learns: one for each row, and what is known of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from weighbridge._findings import Finding, percent
from weighbridge.torch._batch import (
    SOLVERS,
    check_batches,
    check_one_each,
    check_options,
    check_whole,
    lines,
    replayed,
    watched,
    widened,
)  # fmt: skip
from weighbridge.weighting import Geodesic

# A weighted loss below this share of the first epoch's is as good as zero: there weights move
# predictions by about a tenth of what they did at their best. Nets that learn wrong labels by
# heart move more, by chance too: another order of batches moves them half as much.
NO_LOSS = 0.003
# With more effective rows than this share of them weights are not in use.
ALL_ONE = 0.9999
# A row is outside if it is farther from the training rows than this share of them from each other.
NEAR = 0.99
# The share of such rows that is worth a word; without shift an overfitted net may have 8 %.
SOME_OUTSIDE = 0.1
# Batches of an epoch, and rows of each, that are kept for that look.
KEPT, KEPT_ROWS = 8, 256


class Beyond(Geodesic):
    """The weight ``w^(lam, alpha)`` with `lam` beyond 1, for networks on which weights lose effect.

    Weights that overstate the ratio, say ``r ** 1.5``, act longer (Wang et al. 2022). Inside [0, 1]
    it is the same as `Geodesic`.

    Parameters
    ----------
    lam : float, default=1.5
        0 or more.
    alpha : float, default=1.0
        1 or less if lam is above 1, where other curves end; weights below 0 become 0.

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
        return plain_log_weight(torch.as_tensor(log_ratio), *checked_point(self))


def plain_log_weight(log_ratio: Tensor, lam: float, alpha: float) -> Tensor:
    """Return log w^(lam, alpha) in a few operations, which never wait for the device.

    It has the digits that a batch needs; `weighbridge.geodesic.log_weight` has all of them.
    """
    k = (1 - alpha) / 2
    if k == 0 or lam in (0.0, 1.0):
        return lam * log_ratio if lam else torch.zeros_like(log_ratio)
    t = k * log_ratio
    most = math.log(torch.finfo(t.dtype).max) / 2  # exp(t) is the whole of it from here on
    near = torch.log1p((lam * torch.expm1(t.clamp(max=most))).clamp(min=-1))
    return torch.where(t > most, t + math.log(lam), near) / k


def checked_point(weighting: Any) -> tuple[float, float]:
    """Return lam and alpha of a weighting, or refuse those that have no weights."""
    lam, alpha = float(weighting.lam), float(weighting.alpha)
    beyond = isinstance(weighting, Beyond)
    if not (0 <= lam <= (math.inf if beyond else 1)) or not math.isfinite(lam + alpha):
        more = "0 or more" if beyond else "between 0 and 1 (weighbridge.torch.Beyond goes further)"
        raise ValueError(f"Got {weighting!r}, but lam must be {more}, and alpha a finite number.")
    if lam > 1 and alpha > 1:
        ends = "with alpha > 1 the curve ends at lam = 1; use alpha <= 1"
        raise ValueError(f"Got {weighting!r}, but {ends}.")
    return lam, alpha


class DynamicWeights(nn.Module):
    """Importance weights that are estimated anew in every batch while a network learns.

    The ratio of target to source is taken in what the network makes of a row: the features of a
    layer, which need no target labels, or the losses, which need a few (Fang et al. 2020).
    It is kept for each row, and the few steps of the row's next batch start from it. The weights
    are ``w^(lam, alpha)`` of that ratio, of mean 1 in each batch.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    weighting : Geodesic, Beyond or callable, optional
        From log ratios to log weights; default `Geodesic()`, the full ratio, or
        what `ImportanceWeightedNet` chooses.
    on : {"features", "losses"} or callable, default="features"
        What is compared. A callable gets the output of the network, and returns one entry per row.
    layer : str, optional
        Name of the layer whose output is compared, as in ``net.named_modules()``. Default: what
        goes into the last linear layer.
    warmup : int, default=1
        Epochs without weights: features of a network that has learnt nothing mean nothing.
    memory : float, default=0.5
        Share of the old ratio that a row keeps when its new one is found; in [0, 1).
    divergence, steps, bound
        As in `batch_weights`; default "kmm" on losses, else "gaussian".

    Attributes
    ----------
    ratio : Tensor of shape (n_rows,)
        Running ratio of each row.
    weight : Tensor of shape (n_rows,)
        The last weight of each row.
    history : list of dict
        For each epoch, its number, the effective sample size of the weights, the largest of them,
        and the weighted mean of the losses if they were passed on.

    Notes
    -----
    It is a ``torch.nn.Module``: ``.to(device)`` moves it, and ``state_dict`` holds all it knows
    except the last batches, which `findings` uses. The same seed gives the same bits on a CPU. In a
    batch with NaN or infinite numbers, all rows keep what they had; `end_epoch` then raises.

    Examples
    --------
    In a plain loop:

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
    refused: Tensor

    def __init__(
        self, n_rows: int, weighting: Any = None, *, on: str | Callable[..., Tensor] = "features",
        layer: str | None = None, warmup: int = 1, memory: float = 0.5,
        divergence: str | None = None, steps: int = 5, bound: float = math.inf,
    ):  # fmt: skip
        super().__init__()
        if divergence is None:
            divergence = "kmm" if on == "losses" else "gaussian"
        self.weighting = weighting
        self.n_rows, self.on, self.layer = n_rows, on, layer
        self.warmup, self.memory = warmup, memory
        self.divergence, self.steps, self.bound = divergence, steps, bound
        self._check()
        # ratio, weight and loss of each row, as they were when it was last seen
        known = torch.ones(3, n_rows)
        known[2] = math.nan
        self.register_buffer("known", known)
        self.register_buffer("refused", torch.zeros((), dtype=torch.int64), persistent=False)
        self.history: list[dict[str, float]] = []
        self._kept: deque[tuple[int, Tensor, Tensor]] = deque(maxlen=KEPT)

    def _check(self) -> None:
        check_whole("n_rows", self.n_rows, 1)
        check_whole("warmup", self.warmup, 0)
        check_options(self.divergence, self.steps, self.bound)
        if not 0 <= self.memory < 1:
            raise ValueError(f"Got memory={self.memory!r}, but expected a number in [0, 1).")
        if not callable(self.on) and self.on not in ("features", "losses"):
            wanted = "'features', 'losses' or a function"
            raise ValueError(f"Got on={self.on!r}, but expected {wanted}.")
        given = self.weighting
        if given is not None and (not callable(given) or isinstance(given, type)):
            wanted = "a Geodesic, or a function from log ratios to log weights"
            raise TypeError(f"Got weighting={given!r}, but expected {wanted}.")
        self._point()

    def _point(self) -> tuple[float, float] | None:
        """Return lam and alpha; None for a function of the user's own."""
        weighting = Geodesic() if self.weighting is None else self.weighting
        own = type(weighting) not in (Geodesic, Beyond)
        return None if own else checked_point(weighting)

    def extra_repr(self) -> str:
        """Return what ``repr`` shows."""
        return f"{self.n_rows}, weighting={self.weighting!r}, on={self.on!r}"

    def look(self, net: nn.Module, x: Tensor, row_losses: Any = None) -> tuple[Any, Tensor]:
        """Return the output of a network at the batch `x`, and what is compared.

        ``on="losses"`` needs `row_losses`, from the output to one loss for each row.
        """
        if self.on == "features":
            with watched(net, self.layer) as seen:
                output = net(x)
            return output, seen[-1]
        made = row_losses if self.on == "losses" else self.on
        if made is None:
            example = "lambda output: cross_entropy(output, y, reduction='none')"
            raise ValueError(f"Got on='losses' and no row_losses; pass a function: {example}.")
        output = net(x)
        return output, made(output)  # type: ignore[operator]

    def forward(
        self, rows: Tensor, z_source: Tensor, z_target: Tensor, losses: Tensor | None = None
    ) -> Tensor:
        """Return the weights of a batch, of mean 1, and remember them; all 1 during warm-up.

        `rows` holds the numbers of its rows, 0 to ``n_rows - 1``; for a row that occurs twice, one
        weight is remembered. `z_source` and `z_target` hold what is compared, one entry for each of
        `rows` and each target row. `losses`, of the rows and before weighting, tell whether
        weights can still have an effect; with ``on="losses"`` they are `z_source`. No gradient
        flows through the weights, and their type is that of `weight`.
        """
        check_batches(z_source, z_target)
        losses = z_source if losses is None and self.on == "losses" else losses
        self._check_rows(rows, z_source, losses)
        source, target = lines(z_source), lines(z_target)
        self._kept.append((len(self.history), source[:KEPT_ROWS], target[:KEPT_ROWS]))
        on_losses = losses is z_source and source.shape[1] == 1
        told = () if losses is None or on_losses else (losses,)
        inputs = (rows, source, target, *told)
        if len(self.history) < self.warmup:
            self.refused += ~torch.isfinite(sum(each.detach().sum() for each in inputs))
            if losses is not None:
                self.known[2].index_copy_(0, rows, losses.detach().to(self.known.dtype))
            return self.known.new_ones(len(rows))
        point = self._point()
        if point is None:  # nobody knows whether a function can be recorded
            return self._weigh(*map(widened, inputs))[0]
        key = (type(self), self.on, self.divergence, self.steps, float(self.bound), self.memory)
        state = (self.known, self.refused)
        return replayed((*key, *point), self._weigh, inputs, state)[0].clone()

    def _check_rows(self, rows: Any, source: Tensor, losses: Any) -> None:
        check_one_each("rows", rows, source)
        if rows.dtype != torch.int64:
            raise TypeError(f"Got rows of type {rows.dtype}, but expected indices: rows.long().")
        if source.device != self.known.device:
            raise ValueError(
                f"Got z_source on {source.device}, but these weights are on {self.known.device}; "
                f"move them once, before training: dynamic.to({str(source.device)!r})."
            )
        # on another device a look at the numbers would wait for it
        if rows.device.type == "cpu" and not 0 <= int(rows.min()) <= int(rows.max()) < self.n_rows:
            raise IndexError(
                f"Got rows from {int(rows.min())} to {int(rows.max())}, but these are weights for "
                f"{self.n_rows} rows: 0 to {self.n_rows - 1}."
            )
        if losses is not None:
            check_one_each("losses", losses, source)

    @torch.no_grad()
    def _weigh(self, rows: Tensor, source: Tensor, target: Tensor, *losses: Tensor) -> Any:
        """Update what is known of the rows of a batch, and return their weights."""
        old = self.known.index_select(1, rows).to(source.dtype)
        found = self._solve(source, target, old[0])
        ratio = self.memory * old[0] + (1 - self.memory) * found
        ratio = ratio / ratio.mean()
        point, log_ratio = self._point(), torch.log(ratio)
        log_weight = plain_log_weight(log_ratio, *point) if point else self.weighting(log_ratio)
        weight = torch.exp(log_weight - log_weight.max())
        losses = (source[:, 0],) if self.on == "losses" and not losses else losses
        new = torch.stack([ratio, weight / weight.mean(), *losses])
        bad = ~torch.isfinite(new.sum())
        self.refused += bad
        new = torch.where(bad, old[: len(new)], new).to(self.known.dtype)
        self.known[: len(new)].index_copy_(1, rows, new)
        return (new[1],)

    def _solve(self, source: Tensor, target: Tensor, old: Tensor) -> Tensor:
        return SOLVERS[self.divergence](source, target, old, self.steps, self.bound)

    ratio = property(lambda self: self.known[0], doc="Running ratio of each row.")
    weight = property(lambda self: self.known[1], doc="The last weight of each row.")

    def end_epoch(self) -> dict[str, float]:
        """Close an epoch, and return its record, the last of `history`."""
        refused = int(self.refused)
        self.refused.zero_()
        if refused:
            raise ValueError(
                f"Got NaN or infinite numbers in {refused} batches of this epoch, whose rows kept "
                "their old weights. Look for NaN in the rows of both samples, and for a loss that "
                "diverges: use a smaller learning rate."
            )
        weight, losses = self.known[1:].double()
        ess = float(weight.sum() ** 2 / (weight**2).sum())
        record = {"epoch": len(self.history) + 1, "ess": ess, "largest": float(weight.max())}
        loss = float((weight * losses).nanmean())
        if math.isfinite(loss):
            record["loss"] = loss
        self.history.append(record)
        return record

    def findings(self) -> list[Finding]:
        """Return what is wrong, if anything: no effect of the weights, rows without a match."""
        return [each for each in (self._no_effect(), self._outside()) if each is not None]

    def _no_effect(self) -> Finding | None:
        losses = [record["loss"] for record in self.history if "loss" in record]
        in_use = self.history and self.history[-1]["ess"] < ALL_ONE * self.n_rows
        if not in_use or len(losses) < 2 or losses[-1] > NO_LOSS * losses[0]:
            return None
        fell = (
            f"{losses[-1]:.2g} in epoch {self.history[-1]['epoch']}, {losses[0]:.2g} in the first"
        )
        said = f"weights have no effect: the training loss is zero ({fell})."
        todo = "Stop earlier, or add weight decay; Beyond and PolynomialLoss keep weights acting."
        return Finding("WB308", "warning", said, todo)

    def _outside(self) -> Finding | None:
        # a row of another epoch would lie beside itself
        kept = [part for epoch, *part in self._kept if epoch == self._kept[-1][0]]
        if not kept:
            return None
        source, target = (widened(torch.cat(part)) for part in zip(*kept, strict=True))
        among, across = torch.cdist(source, source), torch.cdist(target, source).amin(1)
        among.fill_diagonal_(math.inf)
        share = float((across > among.amin(1).quantile(NEAR)).double().mean())
        if share <= SOME_OUTSIDE:
            return None
        what = self.on if isinstance(self.on, str) else "outputs"
        said = f"{percent(share)} of the target lies outside the training {what}."
        todo = "No weights can represent these rows: collect or label rows like them."
        return Finding("WB304", "warning", said, todo)

    def get_extra_state(self) -> dict[str, Any]:
        """Return the history, for ``state_dict``."""
        return {"history": self.history}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take the history out of a ``state_dict``."""
        self.history = [dict(record) for record in state["history"]]

    def _load_from_state_dict(self, state: Any, prefix: str, *others: Any) -> None:
        found = state.get(f"{prefix}known", self.known).shape[1]
        if found != self.n_rows:
            raise ValueError(
                f"Got the state of {found} rows for weights of {self.n_rows}; each row has its own "
                f"weight: train on the same table, with DynamicWeights({found}, ...)."
            )
        super()._load_from_state_dict(state, prefix, *others)
