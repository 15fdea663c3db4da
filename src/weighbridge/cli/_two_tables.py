"""The two tables of a command that needs no label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weighbridge._findings import cli_option
from weighbridge.adaptation import Inputs, read_inputs
from weighbridge.ratios import fit_ratio, is_fitted


def settings_dict(two: Inputs, asked: dict[str, Any], *others: str) -> dict[str, Any]:
    """Return what was asked for, ready for JSON."""
    return {
        "seed": asked["seed"],
        "ratio": two.ratio_name,
        **{name: asked[name] for name in others},
        "jobs": asked["jobs"],
        "drop": list(asked["drop"]),
        "keep": list(asked["keep"]) or None,
    }


def fitted_ratio(two: Inputs) -> Any:
    """Return the ratio, fitted unless it is known."""
    return two.ratio if is_fitted(two.ratio) else fit_ratio(two.X, two.X_target, two.ratio)


def read_two(train: Path, deploy: Path, asked: dict[str, Any]) -> Inputs:
    """Read both files, match their columns, and find the ratio."""
    return read_inputs(
        train,
        deploy,
        ratio=asked["ratio"],
        option=cli_option,
        seed=asked["seed"],
        aside=asked["label"],
        drop=asked["drop"],
        keep=asked["keep"] or None,
    )
