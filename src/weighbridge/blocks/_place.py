"""Errors that say where they happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weighbridge.blocks._rows import Block
from weighbridge.exceptions import BlockError


def run_in_place(
    function: Callable[[Block], Any],
    number: int,
    block: Block,
    place: Callable[[int, int], str] | None = None,
) -> Any:
    """Apply a function to a block; an error of its says which block it was."""
    try:
        return function(block)
    except BlockError:
        raise
    except (ValueError, TypeError, LookupError) as error:
        stop = block.start + block.n_rows
        where = place(block.start, stop) if place is not None else ""
        raise BlockError(_named(number, block.start, stop, where, error)) from error


def _named(number: int, start: int, stop: int, where: str, error: Exception) -> str:
    of = f" of {where}" if where else ""
    rows = f"rows {start:,} to {stop - 1:,}" if stop > start else "no rows"
    what = f"no column {error}" if isinstance(error, KeyError) else str(error)
    return f"In block {number} ({rows}){of}: {what}"
