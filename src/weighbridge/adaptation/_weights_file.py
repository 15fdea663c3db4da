"""Weights of training rows on disk, in the order of the training table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HEAD = "row,weight,log_ratio"
_BLOCK = 50_000


def write_weights(path: Path, weights: np.ndarray, log_ratio: np.ndarray) -> None:
    """Write one line for each training row, counted from 1; Parquet where the name says so.

    Parameters
    ----------
    path : Path
        The file.
    weights, log_ratio : ndarray of shape (n_rows,)
        Numbers of the rows.
    """
    rows = np.arange(1, weights.size + 1)
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"row": rows, "weight": weights, "log_ratio": log_ratio})
        pyarrow.parquet.write_table(table.replace_schema_metadata({"made by": "weighbridge"}), path)
        return
    with path.open("w", encoding="ascii", newline="") as file:
        file.write(f"{HEAD}\n")
        for start in range(0, rows.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            lines = zip(
                rows[part].tolist(), weights[part].tolist(), log_ratio[part].tolist(), strict=True
            )
            file.writelines(f"{row},{weight!r},{log!r}\n" for row, weight, log in lines)
