"""A classifier's own opinion of its losses, corrected on weighted rows and read off the target."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import IsotonicRegression

from weighbridge.criteria._row_loss import RowLoss
from weighbridge.target_risk._features import FloatArray
from weighbridge.target_risk._held_out import HeldOut
from weighbridge.target_risk._influence import Influence
from weighbridge.target_risk._losses import Losses
from weighbridge.target_risk._plausible_labels import loss_by_chances
from weighbridge.target_risk._ratio_influence import RatioInfluence


def calibrated_confidence(
    loss: RowLoss,
    part: Losses,
    responses: HeldOut,
    chances: HeldOut,
    shares: FloatArray,
    ratio: RatioInfluence | None,
) -> Influence:
    """Estimate the mean loss on the target from the probabilities that a classifier gives there.

    What it expects to lose at a row by its own probabilities is brought in line with held-out
    losses by isotonic regression with importance weights, then averaged over the target rows.

    Parameters
    ----------
    loss : RowLoss
        The loss.
    part : Losses
        Losses of the classifier.
    responses : HeldOut
        Its predictions.
    chances : HeldOut
        Its probabilities.
    shares : ndarray of shape (n_source,)
        Importance weights that add up to 1.
    ratio : RatioInfluence or None
        The ratio's own error; None for a known ratio.

    Returns
    -------
    Influence
        The estimate.
    """
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
