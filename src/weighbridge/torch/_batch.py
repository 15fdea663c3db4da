"""Importance weights of one batch, computed where the batch is."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Ridge on the weights, or on the coefficients of the kernels, which are of the order of 1.
RIDGE = 0.01
# Captured CUDA graphs that are kept, one for each shape of a batch.
MOST_GRAPHS = 8

DIVERGENCES = ("kmm", "kl", "least_squares")

Work = Callable[..., tuple[Tensor, ...]]


def batch_weights(
    z_source: Tensor,
    z_target: Tensor,
    *,
    divergence: str = "kmm",
    start: Tensor | None = None,
    steps: int = 5,
    bound: float = math.inf,
) -> Tensor:
    """Weights of mean 1 that make a batch of source rows look like a batch of target rows.

    The rows are compared by a Gaussian kernel whose width is their typical distance, so they may be
    features of any layer, losses, or anything else that a network makes of a row. A few steps are
    enough where `start` holds the weights that these rows had before: networks change slowly.

    Parameters
    ----------
    z_source, z_target : Tensor of shape (n_source, ...) and (n_target, ...)
        What is compared, one entry for each row; further axes are flattened. No gradient flows
        through the weights.
    divergence : {"kmm", "kl", "least_squares"}, default="kmm"
        Kernel mean matching finds the weights themselves, by accelerated projected gradients.
        "kl" (as KLIEP) and "least_squares" (as uLSIF) find a function with kernels at the target
        rows, which gives equal rows equal weights.
    start : Tensor of shape (n_source,), optional
        Weights to start from; default all 1.
    steps : int, default=5
        Number of steps; without a `start` some 20 more are worth while.
    bound : float, default=inf
        Largest weight; at least 1.

    Returns
    -------
    Tensor of shape (n_source,)
        Weights between 0 and `bound` whose mean is 1, in the type and on the device of `z_source`.

    Notes
    -----
    Nothing waits for the device: on CUDA the steps are captured once for each shape as a graph and
    replayed. Kernel mean matching minimises ``w'(K + n ridge I)w / (2 n^2) - k'w / n``, ``K`` being
    the kernel among the source rows, ``k`` its mean over the target rows, and ridge 0.01.

    Examples
    --------
    >>> import torch
    >>> from weighbridge.torch import batch_weights
    >>> z = torch.linspace(-2, 2, 101)[:, None]
    >>> weights = batch_weights(z, z[60:])
    >>> bool(abs(weights.mean() - 1) < 1e-6), bool(abs((weights @ z) / 101 - z[60:].mean()) < 0.1)
    (True, True)
    """
    check_options(divergence, steps, bound)
    check_batches(z_source, z_target, start)
    first = z_source.new_ones(len(z_source)) if start is None else start
    (found,) = replayed(
        (divergence, steps, float(bound)),
        lambda *rows: (weigh(divergence, *rows, steps, float(bound)),),
        (lines(z_source), lines(z_target), first),
    )
    return found.to(z_source.dtype, copy=True)


def check_options(divergence: str, steps: int, bound: float) -> None:
    if divergence not in DIVERGENCES:
        raise ValueError(
            f"Got divergence={divergence!r}, but expected 'kmm', 'kl' or 'least_squares'."
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"Got steps={steps!r}, but expected a whole number, 1 or more.")
    if not bound >= 1:
        raise ValueError(
            f"Got bound={bound!r}, but expected a number of at least 1: weights have mean 1."
        )


def check_batches(source: Any, target: Any, start: Any) -> None:
    """Refuse batches that cannot be compared; only shapes, types and devices are looked at."""
    for name, batch in (("z_source", source), ("z_target", target)):
        if not isinstance(batch, Tensor):
            raise TypeError(
                f"Got {name} of type {type(batch).__name__}, but expected a tensor: "
                f"torch.as_tensor({name})."
            )
        if not batch.is_floating_point():
            raise TypeError(
                f"Got {name} of type {batch.dtype}, but expected floating-point numbers: "
                f"{name}.float()."
            )
        if batch.ndim == 0 or len(batch) == 0:
            raise ValueError(
                f"Got {name} of shape {tuple(batch.shape)}; pass one or more rows of each sample."
            )
    if source.device != target.device:
        raise ValueError(
            f"Got z_source on {source.device} and z_target on {target.device}; move both to one "
            "device: z_target.to(z_source.device)."
        )
    if source.shape[1:].numel() != target.shape[1:].numel():
        raise ValueError(
            f"Got z_source with {source.shape[1:].numel()} numbers a row and z_target with "
            f"{target.shape[1:].numel()}; both must come from the same layer."
        )
    if start is not None and (start.shape != source.shape[:1] or start.device != source.device):
        raise ValueError(
            f"Got start of shape {tuple(start.shape)} on {start.device}, but expected one weight "
            f"for each of the {len(source)} rows of z_source, on {source.device}."
        )


def lines(batch: Tensor) -> Tensor:
    """Return one line of numbers for each row, without its gradient."""
    return batch.detach().reshape(len(batch), -1)


def weigh(
    divergence: str, source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float
) -> Tensor:
    """Return the weights of rows that have been checked, each a line of numbers."""
    return _WORK[divergence](source, target, start, steps, bound)


class _Graph:
    """Work that CUDA has recorded once, and repeats with new numbers at the cost of one launch."""

    def __init__(self, work: Work, inputs: list[Tensor]):
        self.inputs = inputs
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries allocate in their first call
            work(*inputs)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        # threads of a data loader may use CUDA meanwhile
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.outputs = work(*inputs)

    def __call__(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        for own, new in zip(self.inputs, tensors, strict=True):
            own.copy_(new)
        self.graph.replay()
        return self.outputs


_GRAPHS: OrderedDict[Any, _Graph] = OrderedDict()


def widened(tensor: Tensor) -> Tensor:
    """Return numbers in float64, where the device has it, and whole numbers as they are."""
    narrow = tensor.device.type == "mps" or not tensor.is_floating_point()
    return tensor.detach() if narrow else tensor.detach().double()


@torch.no_grad()
def replayed(key: tuple[Any, ...], work: Work, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return ``work(*tensors)``, in float64; on CUDA by a graph kept for `key` and the shapes.

    What comes back is overwritten by the next call with the same key.
    """
    device = tensors[0].device
    if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
        return work(*map(widened, tensors))
    key = (*key, device, *(each.shape for each in tensors))
    if key not in _GRAPHS:
        with torch.cuda.device(device):
            _GRAPHS[key] = _Graph(work, [widened(each).clone() for each in tensors])
        while len(_GRAPHS) > MOST_GRAPHS:
            _GRAPHS.popitem(last=False)
    _GRAPHS.move_to_end(key)
    return _GRAPHS[key](tensors)


def kernels(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return Gaussian kernels among the source rows, and of source with target rows."""
    both = torch.cat([source, target])
    centred = both - both.mean(0)
    squares = (centred * centred).sum(1)
    # the mean squared distance of two rows is twice the mean of these; none where all are equal
    scale = -0.5 / squares.mean().clamp(min=torch.finfo(both.dtype).tiny)
    rows, n = centred[: len(source)], len(source)
    exponent = squares[:n, None] + squares[None, :] - 2 * rows @ centred.T
    values = torch.exp(scale * exponent.clamp(min=0))
    return values[:, :n], values[:, n:]


def project(values: Tensor, bound: float) -> Tensor:
    """Return the nearest weights in [0, bound] whose mean is 1."""
    n = len(values)
    if bound >= n:  # n weights of mean 1 keep this bound anyway, and the work is half
        falling, _ = torch.sort(values, descending=True)
        total = torch.cumsum(falling, 0)
        count = torch.arange(1, n + 1, dtype=values.dtype, device=values.device)
        place = (falling * count > total - n).sum(0, keepdim=True) - 1
        return (values + (n - total.gather(0, place)) / (place + 1)).clamp(min=0)
    # the mean of clip(values + shift) is piecewise linear in the shift, with these corners
    corners, order = torch.sort(torch.cat([-values, bound - values]))
    slope = torch.cumsum(torch.where(order < n, 1.0, -1.0).to(values.dtype), 0)[:-1]
    total = torch.cumsum(slope * torch.diff(corners), 0)
    place = (total < n).sum(0, keepdim=True).clamp(max=2 * n - 2)
    over = total.gather(0, place) - n
    shift = corners.gather(0, place + 1) - over / slope.gather(0, place).clamp(min=1)
    return (values + shift).clamp(0, bound)


def _by_matching(source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float) -> Tensor:
    among, across = kernels(source, target)
    quadratic = among / len(among)
    quadratic.diagonal().add_(RIDGE)
    # the largest row sum is no smaller than the largest eigenvalue
    length = 1 / quadratic.sum(1).max()
    # a step is one product: w - length (Q w - k) = (1 - length Q) w + length k
    ahead = length * across.mean(1)
    quadratic.mul_(-length).diagonal().add_(1)
    weights = momentum = project(start, bound)
    for inertia in _inertias(steps):
        new = project(torch.addmv(ahead, quadratic, momentum), bound)
        momentum = torch.lerp(weights, new, 1 + inertia)
        weights = new
    return weights


def _inertias(steps: int) -> list[float]:
    """Return the share of the last move that each accelerated step adds."""
    found, t = [], 1.0
    for _ in range(steps):
        faster = (1 + math.sqrt(1 + 4 * t * t)) / 2
        found.append((t - 1) / faster)
        t = faster
    return found


def _first_coefficients(across: Tensor, start: Tensor) -> Tensor:
    """Return coefficients of the kernels that come near to `start`, with mean 1 on the source."""
    smooth = (start @ across) / across.sum(0).clamp(min=torch.finfo(across.dtype).tiny)
    return smooth / (across @ smooth).mean().clamp(min=torch.finfo(across.dtype).tiny)


def _by_likelihood(
    source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float
) -> Tensor:
    across = kernels(source, target)[1]
    among_target = kernels(target, source)[0]
    mass = across.mean(0)
    coefficients = _first_coefficients(across, start)
    for _ in range(steps):
        # the step of expectation and maximisation: it keeps the sign, the mean and the ascent
        share = among_target / (among_target @ coefficients)[:, None]
        coefficients = coefficients * share.mean(0) / mass
    return project(across @ coefficients, bound)


def _by_least_squares(
    source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float
) -> Tensor:
    across = kernels(source, target)[1]
    wanted = kernels(target, source)[0].mean(0)
    second = across.T @ across / len(across)
    step = 1 / (second.sum(1).max() + RIDGE)
    coefficients = momentum = _first_coefficients(across, start)
    for inertia in _inertias(steps):
        slope = second @ momentum + RIDGE * momentum - wanted
        new = (momentum - step * slope).clamp(min=0)
        momentum = new + inertia * (new - coefficients)
        coefficients = new
    return project(across @ coefficients, bound)


_WORK: dict[str, Callable[[Tensor, Tensor, Tensor, int, float], Tensor]] = {
    "kmm": _by_matching,
    "kl": _by_likelihood,
    "least_squares": _by_least_squares,
}
