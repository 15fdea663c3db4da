"""Text from the data, made safe for a page."""

from __future__ import annotations

import re
from html import escape as _escape

# Characters that XML forbids, and signs that turn the direction of all text behind them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(words: object) -> str:
    """Return a name from the data on one line, without signs that a page cannot hold."""
    text = _TURNING.sub("", " ".join(str(words).split()))
    return _FORBIDDEN.sub("\ufffd", text)


def escape(words: object) -> str:
    """Return text that is safe in an element and in an attribute."""
    return _escape(_FORBIDDEN.sub("\ufffd", str(words)))
