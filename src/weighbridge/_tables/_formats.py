"""Files before they are tables: is there one, what is in it, and can it be read to the end."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shlex
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from weighbridge._findings import Problem, escaped, nearest, shown, shown_file
from weighbridge.exceptions import InputError

BLOCK = 1 << 20
# Beyond so many bytes, a packed file that unpacks to so many times its size holds no table.
MOST_UNPACKED, MOST_TIMES = 100 << 20, 100
# A line longer than this is no line of a table.
LONGEST_LINE = 16 << 20
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")
TEXTS = (".csv", ".tsv", ".txt")
PARQUET_MARK, GZIP_MARK = b"PAR1", b"\x1f\x8b"
EXCEL = "an Excel workbook", "save the sheet as CSV (UTF-8)"

# First bytes of files that are often taken for tables: what they are, and what to do.
KNOWN = (
    (b"PK\x03\x04", "a ZIP archive", "unpack it, and name the table inside"),
    (b"PK\x05\x06", "an empty ZIP archive", "name the table itself"),
    (b"\xd0\xcf\x11\xe0", *EXCEL),
    (b"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "packed with xz", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it, and name the table inside"),
    (GZIP_MARK, "packed with gzip twice", "unpack it once"),
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


def _check_file(path: str) -> None:
    """Refuse what is no file, or cannot be looked at."""
    name = shown_file(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _no_file(path) from None
    except OSError as error:
        raise _unreadable(name, error) from None
    if stat.S_ISDIR(mode):
        inside = _tables_in(path)
        evidence = (f"in it: {', '.join(inside)}",) if inside else ()
        help = f"name a file in it: {os.path.join(path, inside[0])}" if inside else "name a file"
        raise _refused("WB118", f"{name} is a folder; one file is needed.", help, *evidence)
    if not stat.S_ISREG(mode):
        message = f"{name} is a pipe or a device; a file on disk is needed."
        raise _refused(
            "WB118", message, "write it to a file first", "a table is read more than once"
        )


def _refused(code: str, message: str, help: str, *evidence: str) -> InputError:
    """Return the error of a file; two codes say that another one should have been named."""
    kind = "usage" if code in ("WB101", "WB118") else "data"
    return InputError([Problem(code, message, evidence, help, kind)])


def _unreadable(name: str, error: OSError) -> InputError:
    message = f"{name} cannot be read: {(error.strerror or str(error)).lower()}."
    return _refused("WB118", message, "check who may read it, and whether the disk is there")


def _no_file(path: str) -> InputError:
    folder = os.path.dirname(path) or "."
    names = _tables_in(folder)
    close = nearest(os.path.basename(path), names) or names[:5]
    where = "in this folder" if folder == "." else f"in {shown_file(folder)}"
    evidence = (f"{where}: {', '.join(shown_file(n) for n in close)}",) if close else ()
    help = f"is it {shown_file(close[0])}?" if close else "check the name and the folder"
    return _refused("WB101", f"there is no file {shown(path)}.", help, *evidence)


def _tables_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.name.lower().endswith(TABLES))
    except (OSError, ValueError):
        return []


@contextmanager
def open_bytes(path: str) -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
    """Open a table: its bytes unpacked, and the file itself; all that fails is a problem."""
    _check_file(path)
    name = shown_file(path)
    try:
        with open(path, "rb", BLOCK) as file:
            plain: Any = file
            if plain.peek(2)[:2] == GZIP_MARK:
                plain = io.BufferedReader(gzip.GzipFile(fileobj=file), BLOCK)
            _check_content(plain.peek(4096)[:4096], path, packed=plain is not file)
            yield plain, file
    except EOFError:
        message = f"{name} is a damaged gzip file: it ends too early."
        raise _refused("WB122", message, "copy or download it again") from None
    except (zlib.error, gzip.BadGzipFile):
        message = f"{name} is a damaged gzip file and cannot be unpacked."
        raise _refused("WB122", message, "pack it again, or give it unpacked") from None
    except OSError as error:
        raise _unreadable(name, error) from None


def check_packing(path: str) -> None:
    """Refuse a gzip file that unpacks to far more than a table of its size has."""
    most = max(MOST_UNPACKED, MOST_TIMES * os.path.getsize(path))
    # what is damaged, or not packed at all, is for those who read it
    with suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        while file.read(BLOCK):
            if file.tell() > most:
                message = f"{shown_file(path)} unpacks to more than {MOST_TIMES} times its size."
                raise _refused("WB122", message, "unpack it, and see what is in it")


@contextmanager
def open_text(path: str) -> Iterator[tuple[Iterator[str], IO[bytes]]]:
    """Open a file of text: its lines with their ends, and the file itself."""
    with (
        open_bytes(path) as (plain, file),
        io.TextIOWrapper(plain, "utf-8-sig", newline="") as text,
    ):
        try:
            yield _checked_lines(text, path), file
        except UnicodeDecodeError:
            raise _not_text(path) from None


def _checked_lines(text: io.TextIOWrapper, path: str) -> Iterator[str]:
    """Yield lines that can be those of a table."""
    number = 0
    while line := text.readline(LONGEST_LINE):
        if "\0" in line:
            raise _not_text(path)
        if len(line) == LONGEST_LINE:
            message = f"{shown_file(path)} has no line end in {LONGEST_LINE >> 20} MB after line "
            help = "a table has one line for each row; check the export"
            raise _refused("WB126", f"{message}{number:,}.", help)
        number += 1
        yield line


def hash_file(path: str) -> str:
    """Return the sha256 of a file as it lies on disk."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_text(path: str) -> InputError:
    """Say where a file leaves UTF-8; this reads it a second time."""
    name, number, near = shown_file(path), 0, ""
    with open_bytes(path) as (plain, _):
        start = plain.peek(200)[:200]
        for number, line in enumerate(plain, start=1):
            if b"\0" in line:
                return _nul(name, number, start)
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                near = line[max(0, error.start - 20) : error.start + 20].decode("cp1252", "replace")
                break
    message = f"{name} is not written in UTF-8 (first at line {number:,})."
    evidence = f"read as Latin-1 it says {shown(near.strip())}"
    return _refused("WB125", message, _save_as_utf8(path, "latin1"), evidence)


def _nul(name: str, number: int, start: bytes) -> InputError:
    message = f"{name} has a NUL byte (first on line {number:,}), so it is not text in UTF-8."
    # text of two bytes a letter has a NUL next to every letter of the header
    if start.count(b"\0") > len(start) // 3:
        return _refused("WB125", message, "save it as UTF-8", "it looks like UTF-16")
    return _refused("WB125", message, "check the export; the file is damaged, or not a table")


def _check_content(start: bytes, path: str, packed: bool) -> None:
    """Refuse what is no table, told from its first bytes and compared with its name."""
    name, lower = shown_file(path), path.lower()
    if start[:4] == PARQUET_MARK:
        if packed or lower.endswith((*TEXTS, *(f"{end}.gz" for end in TEXTS))):
            message = f"{name} is a Parquet file{' inside gzip' if packed else ''}, not CSV."
            help = "unpack it" if packed else "give it a name that ends with .parquet"
            raise _refused("WB121", message, help)
        return
    if lower.endswith((".parquet", ".pq")):
        message = f"{name} is not a Parquet file, although its name says so."
        evidence = f"it starts with {start[:8]!r}" if start else "it is empty"
        help = "write it again as Parquet, or let the name of a CSV file end with .csv"
        raise _refused("WB121", message, help, evidence)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise _refused("WB119", f"{name} is empty.", "check the export; a header is needed")
    for mark, what, remedy in KNOWN:
        if start.startswith(mark):
            if mark.startswith(b"PK") and (b"xl/" in start or b"[Content_Types]" in start):
                what, remedy = EXCEL
            raise _refused("WB121", f"{name} is {what}, not a table in CSV or Parquet.", remedy)
    if start[8:12] == b"DUCK":
        message = f"{name} is a DuckDB database, which may hold many tables."
        help = "write one of them to a file: COPY name TO 'name.parquet'"
        raise _refused("WB121", message, help)
    _check_encoding(start, name, path)
    if _is_binary(start):
        message = f"{name} is a binary file, not a table in CSV or Parquet."
        help = "name the table itself, or save it as CSV"
        raise _refused("WB121", message, help, f"it starts with {start[:8]!r}")


def _check_encoding(start: bytes, name: str, path: str) -> None:
    for mark, encoding in WIDE:
        if start.startswith(mark):
            message = f"{name} is written in {encoding}; UTF-8 is needed."
            raise _refused("WB125", message, _save_as_utf8(path, encoding.lower()))


def _save_as_utf8(path: str, encoding: str) -> str:
    """Return what to do about a file in another encoding."""
    if path.lower().endswith(".gz"):
        return "unpack it and save it as UTF-8"
    new = f"utf8-{os.path.basename(path)}"
    file, other = (escaped(shlex.quote(each)) for each in (path, new))
    return f"save it as UTF-8: iconv -f {encoding} -t utf-8 {file} > {other}"


def _is_binary(start: bytes) -> bool:
    """True where bytes are no text: some cannot be decoded, and controls are among them."""
    if len(start) - len(start.translate(None, CONTROL)) <= max(4, len(start) // 50):
        return False
    # the last letter may be cut
    return b"\0" in start or "\ufffd" in start.decode("utf-8", "replace")[:-3]
