"""One batch: what a network makes of its rows, and their importance weights, on its device."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from weighbridge._findings import listed, nearest

# Ridge on the weights, or on the coefficients of the kernels, which are of the order of 1.
RIDGE = 0.01
# Share of the mean variance that is added to every variance of a covariance.
SHRINK = 0.03
# CUDA graphs that are kept, one for each shape of a batch.
MOST_GRAPHS = 8

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

    Rows are compared in features of a layer, losses, or whatever a network makes of a row, by a
    Gaussian kernel as wide as their typical distance. A few steps are enough where `start` holds
    the weights that these rows had before: networks change slowly.

    Parameters
    ----------
    z_source, z_target : Tensor of shape (n_source, ...) and (n_target, ...)
        What is compared, one entry per row; other axes are flattened. No gradient flows through it.
    divergence : {"kmm", "kl", "least_squares", "gaussian"}, default="kmm"
        "kmm" (kernel mean matching) finds the weights themselves, by accelerated projected
        gradients; "kl" (as KLIEP) and "least_squares" (as uLSIF) find a function with kernels at
        the target rows. "gaussian" is the ratio of two normal distributions with one covariance,
        the best of the four on features in many dimensions; it needs no `start`.
    start : Tensor of shape (n_source,), optional
        Weights to start from; default all 1.
    steps : int, default=5
        Number of steps; without a `start`, 20 more are worthwhile.
    bound : float, default=inf
        Largest weight; at least 1.

    Returns
    -------
    Tensor of shape (n_source,)
        Weights between 0 and `bound` whose mean is 1, in the type and on the device of `z_source`.

    Notes
    -----
    Nothing waits for the device: on CUDA the steps are captured as a graph once per shape and
    replayed. Hence no number is checked, and one NaN in a batch makes all its weights NaN. Kernel
    mean matching minimises ``w'(K + n ridge I)w / (2 n^2) - k'w / n``, ``K`` being the kernel among
    the source rows, ``k`` its mean over the target rows, and ridge 0.01.

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
    check_batches(z_source, z_target)
    start = z_source.new_ones(len(z_source)) if start is None else start
    check_one_each("start", start, z_source)
    start = start.to(torch.promote_types(start.dtype, z_source.dtype))
    key, solve = (divergence, steps, float(bound)), SOLVERS[divergence]
    inputs = (lines(z_source), lines(z_target), start)
    (found,) = replayed(key, lambda *inputs: (solve(*inputs, steps, bound),), inputs)
    return found.to(z_source.dtype, copy=True)


def check_options(divergence: str, steps: int, bound: float) -> None:
    if divergence not in SOLVERS:
        raise ValueError(f"Got divergence={divergence!r}, but expected one of {listed(SOLVERS)}.")
    check_whole("steps", steps, 1)
    if not bound >= 1:
        raise ValueError(f"Got bound={bound!r}, but expected 1 or more: weights have mean 1.")


def check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"Got {name}={value!r:.60}, but expected a whole number, {least} or more.")


def check_batches(source: Any, target: Any) -> None:
    """Refuse batches that cannot be compared; only shapes, types and devices are looked at."""
    for name, batch in (("z_source", source), ("z_target", target)):
        kind = f"{type(batch).__name__}, {getattr(batch, 'dtype', 'no numbers')}"
        if not isinstance(batch, Tensor) or not batch.is_floating_point():
            said = f"type {kind}, but expected a tensor of floats: torch.as_tensor({name}).float()."
            raise TypeError(f"Got {name} of {said}")
        if batch.ndim == 0 or batch.numel() == 0:
            raise ValueError(f"Got {name} of shape {tuple(batch.shape)}, but expected some rows.")
    if (source.device, source.dtype) != (target.device, target.dtype):
        raise TypeError(
            f"Got z_source on {source.device} in {source.dtype} and z_target on {target.device} in "
            f"{target.dtype}; make them alike: z_target.to(z_source)."
        )
    if lines(source).shape[1] != lines(target).shape[1]:
        raise ValueError(
            f"Got z_source of shape {tuple(source.shape)} and z_target of {tuple(target.shape)}; "
            "both need the same number of values per row, from the same layer."
        )


def check_one_each(name: str, values: Any, source: Tensor) -> None:
    """Refuse what is not one number for each row of a batch, on its device."""
    shape, place = getattr(values, "shape", None), getattr(values, "device", None)
    if not isinstance(values, Tensor) or shape != source.shape[:1] or place != source.device:
        what = f"of shape {tuple(shape)} on {place}" if shape else f"= {values!r}"
        raise ValueError(
            f"Got {name} {what}, but expected a tensor with one number for each of the "
            f"{len(source)} rows of z_source, on {source.device}."
        )


def lines(batch: Tensor) -> Tensor:
    """Return one line of numbers for each row, without its gradient."""
    return batch.detach().reshape(len(batch), -1)


# What CUDA recorded once and repeats at the cost of one launch: graph, inputs, outputs.
_GRAPHS: OrderedDict[Any, tuple[Any, list[Tensor], tuple[Tensor, ...]]] = OrderedDict()


def _recorded(work: Work, inputs: list[Tensor], state: tuple[Tensor, ...]) -> tuple[Any, ...]:
    before = [each.clone() for each in state]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries allocate in their first call
        work(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    for each, old in zip(state, before, strict=True):
        each.copy_(old)
    graph = torch.cuda.CUDAGraph()
    # threads of a data loader may use CUDA meanwhile
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        return graph, inputs, work(*inputs)


def widened(tensor: Tensor) -> Tensor:
    """Return numbers in float64, where the device has it, and whole numbers as they are."""
    narrow = tensor.device.type == "mps" or not tensor.is_floating_point()
    return tensor.detach() if narrow else tensor.detach().double()


@torch.no_grad()
def replayed(
    key: tuple[Any, ...], work: Work, tensors: tuple[Tensor, ...], state: tuple[Tensor, ...] = ()
) -> tuple[Tensor, ...]:
    """Return ``work(*tensors)``, in float64; on CUDA by a graph kept for `key` and the shapes.

    `state` is what the work changes. What comes back is overwritten by the next such call.
    """
    device = tensors[0].device
    if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
        return work(*map(widened, tensors))
    places = ((each.data_ptr(), each.shape, each.dtype) for each in state)
    key = (*key, device, *(each.shape for each in tensors), *places)
    if key not in _GRAPHS:
        with torch.cuda.device(device):
            inputs = [widened(each).clone() for each in tensors]
            _GRAPHS[key] = _recorded(work, inputs, state)
        while len(_GRAPHS) > MOST_GRAPHS:
            _GRAPHS.popitem(last=False)
    _GRAPHS.move_to_end(key)
    graph, inputs, outputs = _GRAPHS[key]
    for own, new in zip(inputs, tensors, strict=True):
        own.copy_(new)
    graph.replay()
    return outputs


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
        place = ((falling * count > total - n).sum(0, keepdim=True) - 1).clamp(min=0)  # NaN: -1
        return (values + (n - total.gather(0, place)) / (place + 1)).clamp(min=0)
    # the mean of clip(values + shift) is piecewise linear in the shift, with these corners
    corners, order = torch.sort(torch.cat([-values, bound - values]))
    slope = torch.cumsum(2 * (order < n).to(values.dtype) - 1, 0)[:-1]
    total = torch.cumsum(slope * torch.diff(corners), 0)
    place = (total < n).sum(0, keepdim=True).clamp(max=2 * n - 2)
    over = total.gather(0, place) - n
    shift = corners.gather(0, place + 1) - over / slope.gather(0, place).clamp(min=1)
    return (values + shift).clamp(0, bound)


def _accelerated(start: Tensor, step: Callable[[Tensor], Tensor], steps: int) -> Tensor:
    """Return where Nesterov's accelerated steps lead."""
    here, ahead, t = start, start, 1.0
    for _ in range(steps):
        new, faster = step(ahead), (1 + math.sqrt(1 + 4 * t * t)) / 2
        ahead = torch.lerp(here, new, 1 + (t - 1) / faster)
        here, t = new, faster
    return here


def _by_matching(source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float) -> Tensor:
    among, across = kernels(source, target)
    quadratic = among / len(among)
    quadratic.diagonal().add_(RIDGE)
    # the largest row sum is no smaller than the largest eigenvalue
    length = 1 / quadratic.sum(1).max()
    # a step is one product: w - length (Q w - k) = (1 - length Q) w + length k
    ahead = length * across.mean(1)
    quadratic.mul_(-length).diagonal().add_(1)
    first = project(start, bound)
    return _accelerated(first, lambda w: project(torch.addmv(ahead, quadratic, w), bound), steps)


def _first_coefficients(across: Tensor, start: Tensor) -> Tensor:
    """Return coefficients of the kernels that come near to `start`, with mean 1 on the source."""
    tiny = torch.finfo(across.dtype).tiny
    smooth = (start @ across) / across.sum(0).clamp(min=tiny)
    return smooth / (across @ smooth).mean().clamp(min=tiny)


def _by_likelihood(source: Tensor, target: Tensor, start: Tensor, steps: int, bound: Any) -> Tensor:
    across, among_target = kernels(source, target)[1], kernels(target, source)[0]
    mass, tiny = across.mean(0), torch.finfo(across.dtype).tiny
    coefficients = _first_coefficients(across, start)
    for _ in range(steps):
        # the step of expectation and maximisation: it keeps the sign, the mean and the ascent
        total = (among_target @ coefficients).clamp(min=tiny)
        gain = (among_target / total[:, None]).mean(0) / mass
        # a kernel that no source row feels cannot be scaled to mean 1, and is left out
        coefficients = coefficients * torch.where(mass > tiny**0.5, gain, torch.zeros_like(gain))
    return project(across @ coefficients, bound)


def _by_squares(source: Tensor, target: Tensor, start: Tensor, steps: int, bound: float) -> Tensor:
    across, wanted = kernels(source, target)[1], kernels(target, source)[0].mean(0)
    second = across.T @ across / len(across)
    second.diagonal().add_(RIDGE)
    length, first = 1 / second.sum(1).max(), _first_coefficients(across, start)
    found = _accelerated(first, lambda c: (c - length * (second @ c - wanted)).relu(), steps)
    return project(across @ found, bound)


def _by_gaussians(source: Tensor, target: Tensor, start: Tensor, steps: int, bound: Any) -> Tensor:
    centred, mean = source - source.mean(0), target.mean(0)
    both = torch.cat([centred, target - mean])
    covariance = both.T @ both / len(both)
    covariance.diagonal().add_(SHRINK * covariance.diagonal().mean())
    log_ratio = centred @ _solution(covariance, mean - source.mean(0), 4 * steps)
    return project(torch.softmax(log_ratio, 0) * len(source), bound)


def _solution(matrix: Tensor, wanted: Tensor, steps: int) -> Tensor:
    """Solve a positive definite system by conjugate gradients, which CUDA can record."""
    tiny = torch.finfo(matrix.dtype).tiny
    found, residual, direction = torch.zeros_like(wanted), wanted, wanted
    square = wanted @ wanted
    for _ in range(steps):
        image = matrix @ direction
        length = square / (direction @ image).clamp(min=tiny)
        found, residual = found + length * direction, residual - length * image
        old, square = square, residual @ residual
        direction = residual + square / old.clamp(min=tiny) * direction
    return found


SOLVERS: dict[str, Callable[..., Tensor]] = {
    "kmm": _by_matching, "kl": _by_likelihood, "least_squares": _by_squares,
    "gaussian": _by_gaussians,
}  # fmt: skip


@contextmanager
def watched(net: nn.Module, layer: str | None) -> Iterator[list[Tensor]]:
    """Give a list that receives the features of every call of `net`."""
    seen: list[Tensor] = []
    handle = find_layer(net, layer).register_forward_hook(
        lambda module, inputs, output: seen.append(inputs[0] if layer is None else output)
    )
    try:
        yield seen
    finally:
        handle.remove()
    if not seen:
        name = "the last linear layer" if layer is None else f"layer={layer!r}"
        raise ValueError(f"Got {name}, which {type(net).__name__} has but does not run.")


def find_layer(net: nn.Module, layer: str | None) -> nn.Module:
    """Return the layer of that name, or the last linear one."""
    modules = dict(net.named_modules())
    names = [name for name in modules if name]
    linear = [module for module in modules.values() if isinstance(module, nn.Linear)]
    if layer is None and not linear:
        raise ValueError(
            f"Got a network ({type(net).__name__}) without a linear layer; name the layer whose "
            f"output is compared: layer=..., one of {listed(names)}."
        )
    if layer is not None and layer not in modules:
        raise ValueError(
            f"Got layer={layer!r}, which {type(net).__name__} does not have; it has "
            f"{listed(nearest(layer, names) or names)}."
        )
    return linear[-1] if layer is None else modules[layer]


def without_reduction(criterion: Any) -> Any:
    """Return a criterion that gives one loss for each row, or refuse it."""
    if not hasattr(criterion, "reduction"):
        raise ValueError(
            f"Got the criterion {type(criterion).__name__}, which has no losses of single rows to "
            "weight; it needs a reduction that can be set to 'none', as torch's own losses have."
        )
    criterion = copy(criterion)
    criterion.reduction = "none"
    return criterion


def one_for_each_row(losses: Tensor, n_rows: int, name: str) -> Tensor:
    """Return losses with one number for each row: means over all further axes."""
    if losses.ndim == 0 or len(losses) != n_rows:
        raise ValueError(
            f"Got losses of shape {tuple(losses.shape)} from the criterion {name} for {n_rows} "
            "rows; it must return one loss for each row when its reduction is 'none'."
        )
    return losses.reshape(n_rows, -1).mean(1)
