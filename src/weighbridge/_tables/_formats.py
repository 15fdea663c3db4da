"""What a file holds, told from its first bytes and compared with its name."""

from __future__ import annotations

import os
import shlex

from weighbridge._problem import Problem, escaped, shown_file
from weighbridge.exceptions import InputError

PARQUET = "parquet"
TEXT = "text"

# First bytes of files that are often taken for tables: what they are, and what to do.
KNOWN = (
    (b"PK\x03\x04", "a ZIP archive", "unpack it, and name the table inside"),
    (b"PK\x05\x06", "an empty ZIP archive", "name the table itself"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "save the sheet as CSV (UTF-8)"),
    (b"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "packed with xz", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it, and name the table inside"),
    (b"\x1f\x8b", "packed with gzip twice", "unpack it once"),
    (b"ARROW1", "a Feather file", "save it as CSV or Parquet"),
    (b"ORC", "an ORC file", "save it as CSV or Parquet"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"\x89HDF", "an HDF5 file", "save it as CSV or Parquet"),
    (b"\x80\x04\x95", "a pickle", "save it as CSV or Parquet; a pickle is never opened"),
    (b"\x80\x05\x95", "a pickle", "save it as CSV or Parquet; a pickle is never opened"),
    (b"%PDF", "a PDF document", "name the table itself"),
)
# The longer marks first: the mark of UTF-32 starts with that of UTF-16.
WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
# Bytes below a space that text does have: tab, line ends, and form feed.
CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r"))


def check_format(start: bytes, path: str, packed: bool) -> str:
    """Return what a file holds, from its first bytes; an error where it is no table."""
    name = shown_file(path)
    if start[:4] == b"PAR1":
        return _parquet(name, path, packed)
    if path.lower().endswith((".parquet", ".pq")):
        raise InputError(
            [
                Problem(
                    "WB121",
                    f"{name} is not a Parquet file, although its name says so.",
                    ("it is empty" if not start else f"it starts with {start[:8]!r}",),
                    "write it again as Parquet, or give CSV its own name",
                )
            ]
        )
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(
            [Problem("WB119", f"{name} is empty.", (), "check the export; a header is needed")]
        )
    problem = _other_format(start, name) or _encoding(start, name, path) or _binary(start, name)
    if problem is not None:
        raise InputError([problem])
    return TEXT


def _parquet(name: str, path: str, packed: bool) -> str:
    told = (".csv", ".tsv", ".txt")
    if not packed and not path.lower().endswith((*told, *(f"{end}.gz" for end in told))):
        return PARQUET
    raise InputError(
        [
            Problem(
                "WB121",
                f"{name} is a Parquet file{' inside gzip' if packed else ''}, not CSV.",
                (),
                "unpack it" if packed else "give it a name that ends with .parquet",
            )
        ]
    )


def _other_format(start: bytes, name: str) -> Problem | None:
    for mark, what, remedy in KNOWN:
        if start.startswith(mark):
            if mark.startswith(b"PK") and (b"xl/" in start or b"[Content_Types]" in start):
                what, remedy = "an Excel workbook", "save the sheet as CSV (UTF-8)"
            message = f"{name} is {what}, not a table in CSV or Parquet."
            return Problem("WB121", message, (), remedy)
    return None


def save_as_utf8(path: str, encoding: str) -> str:
    """Return what to do about a file in another encoding."""
    if path.lower().endswith(".gz"):
        return "unpack it and save it as UTF-8"
    name = os.path.basename(path)
    file, other = (escaped(shlex.quote(each)) for each in (name, f"utf8-{name}"))
    return f"save it as UTF-8: iconv -f {encoding} -t utf-8 {file} > {other}"


def _encoding(start: bytes, name: str, path: str) -> Problem | None:
    for mark, encoding in WIDE:
        if start.startswith(mark):
            return Problem(
                "WB125",
                f"{name} is written in {encoding}; UTF-8 is needed.",
                (),
                save_as_utf8(path, encoding.lower()),
            )
    return None


def _binary(start: bytes, name: str) -> Problem | None:
    """A problem where bytes are no text: some cannot be decoded, and controls are among them."""
    few = len(start) - len(start.translate(None, CONTROL)) <= max(4, len(start) // 50)
    # the last letter may be cut
    decodes = "\ufffd" not in start.decode("utf-8", "replace")[:-3]
    if few or (decodes and b"\0" not in start):
        return None
    return Problem(
        "WB121",
        f"{name} is a binary file, not a table in CSV or Parquet.",
        (f"it starts with {start[:8]!r}",),
        "name the table itself, or save it as CSV",
    )
