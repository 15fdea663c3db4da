"""The doubly robust mean of losses on the target."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import IsotonicRegression

from weighbridge.criteria import RowLoss
from weighbridge.target_risk._held_out import HeldOut
from weighbridge.target_risk._influence import Influence, Losses, RatioInfluence
from weighbridge.target_risk._labels import FloatArray, loss_by_chances


def doubly_robust(
    parts: list[Losses], shares: FloatArray, ratio: RatioInfluence | None
) -> list[Influence]:
    """Estimate mean losses on the target: modelled ones, corrected by weighted residuals."""
    residuals = np.column_stack([part.held_out - part.expected for part in parts])
    expected = np.column_stack([part.expected_target for part in parts])
    correction = shares @ residuals
    off = residuals - correction
    source = shares[:, None] * off
    centre = expected.mean(axis=0)
    target = (expected - centre) / len(expected)
    if ratio is not None:
        moved_source, moved_target = ratio.of(source)
        source, target = source + moved_source, target + moved_target
    return [
        Influence(
            float(centre[j] + correction[j] + part.of_final - part.of_folds.mean()),
            source[:, j],
            target[:, j],
            off[:, j],
            shares,
            part.of_folds,
        )
        for j, part in enumerate(parts)
    ]


def weighted_mean(parts: list[Losses], shares: FloatArray) -> list[Influence]:
    """Estimate mean losses on the target by self-normalised importance weighting alone."""
    estimates = []
    for part in parts:
        value = float(shares @ part.held_out)
        off = part.held_out - value
        estimates.append(
            Influence(
                value,
                shares * off,
                np.zeros(1),
                np.zeros_like(off),
                shares,
                np.zeros(1),
                plain=True,
            )
        )
    return estimates


def calibrated_confidence(
    loss: RowLoss,
    part: Losses,
    responses: HeldOut,
    chances: HeldOut,
    shares: FloatArray,
    ratio: RatioInfluence | None,
) -> Influence:
    """Estimate the mean loss on the target from the probabilities that a classifier gives there."""
    own = loss_by_chances(loss, chances.at_source, responses.at_source)
    line = IsotonicRegression(out_of_bounds="clip")
    line.fit(own, part.held_out, sample_weight=shares * shares.size)
    residuals = part.held_out - line.predict(own)
    at_target = np.mean(
        [
            line.predict(loss_by_chances(loss, chance, response))
            for chance, response in zip(chances.at_target, responses.at_target, strict=True)
        ],
        axis=0,
    )
    value = float(at_target.mean())
    source, target = shares * residuals, (at_target - value) / at_target.size
    if ratio is not None:
        moved_source, moved_target = ratio.of(source[:, None])
        source, target = source + moved_source[:, 0], target + moved_target[:, 0]
    return Influence(
        value,
        source,
        target,
        residuals,
        shares,
        part.of_folds,
    )
