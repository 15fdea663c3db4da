"""The features of a model out of any data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weighbridge._problem import listed, nearest, shown
from weighbridge._tables._cells import as_word
from weighbridge._tables._frames import named_frame, typed_columns
from weighbridge._tables._table import to_frame


def features_of(data: Any, features: Mapping[str, str]) -> Any:
    """Return the columns that a model takes, typed as they were when it was fitted.

    Parameters
    ----------
    data : data frame
        Of any library, with columns in any order; further ones are left out.
    features : mapping of str to {"numeric", "category"}
        The columns, by name.

    Returns
    -------
    pandas.DataFrame
        Numbers as float64 with NaN, all else as text with None.

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbridge._tables import features_of
    >>> rows = pd.DataFrame({"site": [1, 2], "extra": [0, 0], "age": [41, None]})
    >>> features_of(rows, {"age": "numeric", "site": "category"}).to_dict("list")
    {'age': [41.0, nan], 'site': ['1', '2']}
    """
    frame = named_frame(data, "X")
    missing = [name for name in features if name not in frame.columns]
    if missing:
        near = nearest(missing[0], frame.columns)
        hint = f" Is {shown(missing[0])} called {shown(near[0])} there?" if near else ""
        raise ValueError(
            f"Got a table without {listed(missing)}, which the model was fitted with.{hint}"
        )
    columns = typed_columns(frame.select(list(features)), "X")
    pairs = zip(features.items(), columns, strict=True)
    return to_frame({name: _as_kind(name, kind, column) for (name, kind), column in pairs})


def _as_kind(name: str, kind: str, column: np.ndarray) -> np.ndarray:
    if kind == "numeric":
        present = [value for value in column.tolist() if value is not None]
        if column.dtype == object and present:
            raise ValueError(
                f"Got text ({shown(present[0])}) in {shown(name)}, which held numbers when the "
                "model was fitted; convert it."
            )
        return column.astype(np.float64)
    if column.dtype == object:
        return column
    words = np.empty(column.size, dtype=object)
    words[:] = [as_word(value) for value in column.tolist()]
    return words
