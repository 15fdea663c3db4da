"""How many evaluations a search may make."""

from __future__ import annotations

from numbers import Integral


def check_budget(n_evaluations: int) -> int:
    """Return the number of evaluations, at least 2."""
    if not isinstance(n_evaluations, Integral) or isinstance(n_evaluations, bool):
        raise ValueError(f"Got n_evaluations={n_evaluations!r}, but expected a whole number.")
    if n_evaluations < 2:
        raise ValueError(
            f"Got n_evaluations={n_evaluations}, but no weights and one weighting are the least "
            "that a search compares; give 2 or more."
        )
    return int(n_evaluations)
