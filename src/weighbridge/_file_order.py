"""The order of files in a folder."""

from __future__ import annotations

import re


def by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names with the numbers in them by value: part.2 before part.10."""
    return [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", name)]
