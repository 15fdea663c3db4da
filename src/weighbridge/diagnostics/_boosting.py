"""Small trees for any table, as several parts of a diagnosis use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier


def small_trees(
    categorical: np.ndarray[Any, Any],
    seed: int,
    *,
    learning_rate: float,
    max_iter: int,
    patience: int,
) -> HistGradientBoostingClassifier:
    """Return boosted trees of 8 leaves that stop early: there is often little to tell."""
    return HistGradientBoostingClassifier(
        learning_rate=learning_rate,
        max_iter=max_iter,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        early_stopping=True,
        n_iter_no_change=patience,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )
