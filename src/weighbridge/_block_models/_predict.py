"""Predictions of a fitted model, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._block_models._features import without_names
from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.blocks import Rows


def predict_by_blocks(model: Any, rows: Rows, method: str = "predict") -> Any:
    """Apply a method of a fitted model to each block.

    Parameters
    ----------
    model : fitted estimator
        Of any kind, also one that was fitted in memory.
    rows : Rows
        Any rows with the columns of the model; named ones in any order.
    method : str
        What to call.

    Returns
    -------
    ndarray or dask array
        One entry for each row; not yet computed for dask rows.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.names is not None:
        rows = _in_order(rows, list(names))
    return rows.vector(_Predict(model, without_names(model), method))


def _in_order(rows: Rows, names: list[str]) -> Rows:
    if rows.names == names:
        return rows
    absent = [name for name in names if name not in (rows.names or [])]
    other = [name for name in rows.names or [] if name not in names]
    if absent or other:
        raise ValueError(
            f"Got rows without columns {absent} and with others {other}; the model was fitted with "
            f"{names}."
        )
    return rows.select(names)


@dataclass(frozen=True)
class _Predict:
    """Predict a table; one without names goes to the model that has forgotten its own."""

    model: Any
    nameless: Any
    method: str

    def __call__(self, table: Any) -> np.ndarray:
        if is_foreign(table):
            table = to_numpy(table)
        model = self.nameless if isinstance(table, np.ndarray) else self.model
        return np.asarray(getattr(model, self.method)(table))
