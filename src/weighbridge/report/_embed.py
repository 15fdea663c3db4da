"""A result inside a page: JSON that no browser takes for markup, and back again."""

from __future__ import annotations

import json
import re
from typing import Any

# Features of a list; the rest are counted where they are shown.
MOST_ROWS = 400

_OPENING = '<script type="application/json" id="result">'
_BLOCK = re.compile(re.escape(_OPENING) + r"(.*?)</script>", re.DOTALL)
# "<" could end the script or start a comment, the two separators end a line for old scripts, and
# half a surrogate pair cannot be written as UTF-8.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def embedded(result: dict[str, Any]) -> str:
    """Return a result as JSON that may stand inside a script element.

    How long the run took is left out, so that the same inputs give the same bytes; of more than 400
    features those are kept that differ most, so that pages stay small.
    """
    kept = dict(result)
    if "timing" in kept:
        kept["timing"] = {}
    if kept.get("shift"):
        kept["shift"] = _shortened(kept["shift"])
    text = json.dumps(kept, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _shortened(shift: dict[str, Any]) -> dict[str, Any]:
    found = dict(shift)
    for name in ("attribution", "features"):  # sorted already
        if found.get(name):
            found[name] = found[name][:MOST_ROWS]
    rows = (found.get("balance") or {}).get("rows") or []
    if len(rows) > MOST_ROWS:
        largest = sorted(rows, key=lambda row: -abs(row["before"] or 0.0))
        found["balance"] = {**found["balance"], "rows": largest[:MOST_ROWS]}
    return found


def extracted(page: str) -> str | None:
    """Return the JSON inside a page; None where it has none."""
    found = _BLOCK.search(page)
    return None if found is None else found[1]
