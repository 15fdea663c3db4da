"""What all pictures share: how their numbers are written and read, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import UnionType
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

# Digits that a picture can show.
_DIGITS = 5


@dataclass(frozen=True)
class Picture:
    """The numbers of a picture, a dataclass, to JSON and back."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them, with the digits that a picture can show.

        Returns
        -------
        dict
            By the names of the fields; None stands for what is not finite.
        """
        return {name: rounded(each) for name, each in self._written().items()}

    def _written(self) -> dict[str, Any]:
        """Return what is written down, by its names there."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        content : dict
            The numbers, as JSON holds them.

        Returns
        -------
        object of this class
            With arrays for lists, and NaN for None.
        """
        kind: Any = cls
        hints, content, found = _hints(kind), cls._unfolded(content), {}
        for each in fields(cls):
            has_default = each.default is not MISSING or each.default_factory is not MISSING
            if each.name in content or not has_default:
                found[each.name] = _read(hints[each.name], content.get(each.name))
        return cls(**found)

    @classmethod
    def _unfolded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return what was written down, by the names of the fields."""
        return content


def rounded(content: Any) -> Any:
    """Return plain lists of numbers with the digits that a picture can show; None is no number."""
    if isinstance(content, Picture):
        return content.to_dict()
    if hasattr(content, "_asdict"):
        return rounded(content._asdict())
    if isinstance(content, dict):
        named = ((f"{k:g}" if isinstance(k, float) else k, each) for k, each in content.items())
        return {name: rounded(each) for name, each in named}
    if isinstance(content, np.ndarray):
        return rounded(content.tolist())
    if isinstance(content, list | tuple):
        return [rounded(each) for each in content]
    if isinstance(content, np.generic):
        return rounded(content.item())
    if isinstance(content, float):
        return float(f"{content:.{_DIGITS}g}") if math.isfinite(content) else None
    return content


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(hint: Any, content: Any) -> Any:
    """Return what a field of this type holds for some JSON."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if content is None else _read(parts[0], content)
    if origin is dict:
        return {parts[0](name): _read(parts[1], each) for name, each in (content or {}).items()}
    if origin is tuple:
        return tuple(_read(parts[0], each) for each in content or ())
    if hint is np.ndarray:
        return _array(content)
    if hasattr(hint, "_fields"):
        given = {*hint._fields} - ({*hint._field_defaults} - {*content})
        return hint(**{name: _read(_hints(hint)[name], content[name]) for name in given})
    if issubclass(hint, Picture):
        return hint.from_dict(content)
    return math.nan if hint is float and content is None else content


def _array(content: list[Any]) -> np.ndarray:
    """Return numbers, NaN for None; text and truth values stay what they are."""
    array = np.array(content, dtype=object)
    flat = array.ravel().tolist()
    if any(isinstance(each, str | bool) for each in flat):
        return array
    is_whole = bool(flat) and all(isinstance(each, int) for each in flat)
    return array.astype(int if is_whole else float)


def check_made(value: Any, kind: type, name: str, maker: str) -> Any:
    """Refuse what was not made for a picture, and say what makes it."""
    if not isinstance(value, kind):
        raise TypeError(
            f"Got {name} of type {type(value).__name__}, but expected a {kind.__name__}, which "
            f"comes from {maker}."
        )
    return value


def check_log_ratio(values: Any, name: str) -> np.ndarray:
    """Refuse what is not one number for each row; infinite ones are numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"Got {name} of type {type(values).__name__} that is not numbers, but expected one "
            "log ratio for each row."
        ) from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"Got {name} of shape {array.shape}, but expected one number for each row."
        )
    if np.isnan(array).any():
        raise ValueError(
            f"Got NaN in {name} in {int(np.isnan(array).sum())} of {array.size} rows; every row "
            "needs a log ratio (-inf for a ratio of 0)."
        )
    return array
