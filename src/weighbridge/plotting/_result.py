"""What pictures read out of a result: an object with ``to_dict()``, or the dict itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def result_dict(result: Any) -> Mapping[str, Any]:
    """Return a result as a dict, or refuse what is none."""
    numbers = result.to_dict() if hasattr(result, "to_dict") else result
    if not isinstance(numbers, Mapping) or not str(numbers.get("schema", "")).startswith(
        "weighbridge/"
    ):
        raise TypeError(
            f"Got result of type {type(result).__name__}, but expected what weighbridge.adapt "
            "returns, its to_dict(), or a result.json that was read."
        )
    return numbers


def picture_of(result: Any, name: str) -> Any:
    """Return the numbers of one picture."""
    numbers = result_dict(result)
    pictures = numbers.get("pictures")
    if pictures is None:
        raise ValueError(
            "Got a result without the numbers of its pictures; write it whole, with "
            "to_dict(full=True)."
        )
    if not pictures.get(name):
        raise ValueError(
            f"Got a result without numbers for {name!r}: they were not computed in this run. "
            f"It has {_listed(pictures)}."
        )
    return pictures[name]


def _listed(pictures: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name, numbers in pictures.items() if numbers) or "none"
