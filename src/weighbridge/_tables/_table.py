"""What reading gives: tables, their columns, and two tables that fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from weighbridge._findings import Finding
from weighbridge._tables._cells import Tally


@dataclass(frozen=True)
class Column:
    """A column: its name, ``"numeric"`` or ``"category"``, and the share of missing values."""

    name: str
    kind: str
    missing: float


@dataclass(frozen=True)
class Dropped:
    """A column that is not used although nobody asked for that, and why."""

    name: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            ``name``, ``code``, ``reason``.
        """
        return {"name": self.name, "code": self.code, "reason": self.reason}


@dataclass(frozen=True)
class Table:
    """A table that has been read.

    Parameters
    ----------
    name : str
        The file as typed, or what a data frame in memory is called.
    frame : pandas.DataFrame
        Numeric columns as float64 with NaN, all others as text (object) with None.
    rows, sampled : int
        How many rows there are, and how many of them are in `frame`.
    sha256 : str
        Of the file as it lies on disk, or of the content of a data frame.
    columns : tuple of Column
        In the order of the file.
    tallies : dict of Tally
        What the cells of each column look like, over all rows.
    positions : array of shape (sampled,)
        Which row of the table each row of `frame` is, counted from 0.
    place : callable
        From a row, counted from 0, to where a reader finds it: ``"line 214"``.
    typed : bool
        Whether the source says itself what is a number and what is text.
    """

    name: str
    frame: Any
    rows: int
    sampled: int
    sha256: str
    columns: tuple[Column, ...]
    tallies: dict[str, Tally] = field(repr=False)
    positions: np.ndarray = field(repr=False)
    place: Callable[[int], str] = field(repr=False)
    typed: bool = False

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Parameters
        ----------
        name : str
            One of the names in `columns`.

        Returns
        -------
        Column
        """
        return self._by_name[name]

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._by_name)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


@dataclass(frozen=True)
class Pair:
    """Two tables whose columns have been matched.

    Parameters
    ----------
    X, X_target : pandas.DataFrame
        The features in training order, of training and of deployment.
    y, weight, y_target : array or None
        Labels and own row weights of training; labels of deployment where they are all there.
    task : str or None
        ``"classification"`` or ``"regression"``; None without a label.
    features : tuple of (Column, Column)
        Each feature as it is in training and in deployment.
    notes : tuple of Finding
        What was noticed and did not stop the work.
    dropped : tuple of Dropped
        Columns left out, and why.
    """

    X: Any
    X_target: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    y_target: np.ndarray | None
    task: str | None
    features: tuple[tuple[Column, Column], ...]
    notes: tuple[Finding, ...]
    dropped: tuple[Dropped, ...]


def to_frame(columns: dict[str, np.ndarray]) -> Any:
    """Return columns as a pandas frame of float64 and object, whatever the version of pandas."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'Got a table to read, but pandas is not installed; pip install "weighbridge[cli]".'
        ) from None
    # without a dtype pandas 3 turns text into its own type, and None into NaN
    return pd.DataFrame({n: pd.Series(v, dtype=v.dtype) for n, v in columns.items()}, copy=False)
