"""What weights cost beside a training step, and whether CUDA finds what the CPU finds."""

import numpy as np
import torch

from experiments.deep._models import LeNet
from experiments.deep.noise import exact_weights
from weighbridge.torch import DynamicWeights, batch_weights

BATCH, REPEATS, ROUNDS = 256, 200, 9


def costs(device="cuda"):
    """Median milliseconds of a training step of LeNet, with and without weights."""
    torch.manual_seed(0)
    net = LeNet().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    row_losses = torch.nn.CrossEntropyLoss(reduction="none")
    x, x_target = torch.rand(2, BATCH, 1, 28, 28, device=device)
    y, y_target = torch.randint(10, (2, BATCH), device=device)
    rows = torch.randperm(50_000, device=device)[:BATCH]
    on_losses, on_features = (
        DynamicWeights(50_000, on=on, warmup=0).to(device) for on in ("losses", "features")
    )

    def step(weigh=lambda losses: 1.0):
        losses = row_losses(net(x), y)
        optimizer.zero_grad()
        (weigh(losses) * losses).mean().backward()
        optimizer.step()

    with torch.no_grad():
        clean = row_losses(net(x_target), y_target)
        z, z_target = net.body(x), net.body(x_target)

    def and_clean(losses):
        with torch.no_grad():
            return on_losses(rows, losses, row_losses(net(x_target), y_target))

    ways = {
        "step": step,
        "step + batch_weights": lambda: step(lambda losses: batch_weights(losses, clean)),
        "step + weights on losses": lambda: step(lambda losses: on_losses(rows, losses, clean)),
        "step + weights on features": lambda: step(
            lambda losses: on_features(rows, z, z_target, losses=losses)
        ),
        "step + weights + losses of clean rows": lambda: step(and_clean),
        "step + exact programme": lambda: step(lambda losses: exact_weights(losses, clean)),
    }
    times = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):  # in turn, so that clocks and neighbours hit all alike
        for name, way in ways.items():
            taken = _milliseconds(way, REPEATS if "exact" not in name else REPEATS // 10)
            if turn:
                times[name].append(taken)
    return {name: float(np.median(each)) for name, each in times.items()}


def _milliseconds(way, repeats):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    way()
    begin.record()
    for _ in range(repeats):
        way()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def largest_difference(device="cuda"):
    """Largest difference of a weight between CPU and `device`, by divergence and type."""
    found = {}
    for divergence in ("kmm", "kl", "least_squares", "gaussian"):
        for dtype in (torch.float32, torch.float64):
            worst = 0.0
            for seed in range(20):
                torch.manual_seed(seed)
                z, z_target = torch.randn(2, BATCH, 84, dtype=dtype)
                z_target[:, :5] += 1
                here = batch_weights(z, z_target, divergence=divergence)
                there = batch_weights(z.to(device), z_target.to(device), divergence=divergence)
                worst = max(worst, float((here - there.cpu()).abs().max()))
            found[f"{divergence}, {dtype}"] = worst
    return found
