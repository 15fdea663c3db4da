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
from contextlib import contextmanager
from typing import IO, Any

from weighbridge._findings import Problem, escaped, nearest, shown, shown_file
from weighbridge.exceptions import InputError

BLOCK = 1 << 20
# A line longer than this is no line of a table.
LONGEST_LINE = 16 << 20
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")
TEXTS = (".csv", ".tsv", ".txt")
PARQUET_MARK = b"PAR1"

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


def _file_problem(path: str) -> Problem | None:
    """Return why there is no file to read, if so."""
    name = shown_file(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return _no_file(path)
    except OSError as error:
        return _unreadable(name, error)
    if stat.S_ISDIR(mode):
        inside = _tables_in(path)
        return Problem(
            "WB118",
            f"{name} is a folder; one file is needed.",
            (f"in it: {', '.join(inside)}",) if inside else (),
            f"name a file in it: {os.path.join(path, inside[0])}" if inside else "name a file",
            "usage",
        )
    if stat.S_ISREG(mode):
        return None
    return Problem(
        "WB118",
        f"{name} is a pipe or a device; a file on disk is needed.",
        ("a table is read more than once",),
        "write it to a file first",
        "usage",
    )


def _unreadable(name: str, error: OSError) -> Problem:
    """Return the problem of a file that is there and cannot be read."""
    return Problem(
        "WB118",
        f"{name} cannot be read: {(error.strerror or str(error)).lower()}.",
        (),
        "check who may read it, and whether the disk is there",
        "usage",
    )


def _no_file(path: str) -> Problem:
    folder = os.path.dirname(path) or "."
    names = _tables_in(folder)
    close = nearest(os.path.basename(path), names) or names[:5]
    where = "in this folder" if folder == "." else f"in {shown_file(folder)}"
    return Problem(
        "WB101",
        f"there is no file {shown(path)}.",
        (f"{where}: {', '.join(shown_file(n) for n in close)}",) if close else (),
        "check the name and the folder" if not close else f"is it {shown_file(close[0])}?",
        "usage",
    )


def _tables_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.name.lower().endswith(TABLES))
    except (OSError, ValueError):
        return []


class HashedReader(io.RawIOBase):
    """The bytes of a file, hashed and counted as they pass."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._hash = hashlib.sha256()
        self.position = 0

    def readable(self) -> bool:
        """Return True: this is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes there were."""
        block = self._file.read(len(buffer))
        self._hash.update(block)
        self.position += len(block)
        buffer[: len(block)] = block
        return len(block)

    @property
    def sha256(self) -> str:
        """Of the bytes so far."""
        return self._hash.hexdigest()


class TextBytes(io.RawIOBase):
    """Bytes that can be lines of text: no NUL, and a line end now and then."""

    def __init__(self, file: IO[bytes], name: str):
        self._file = file
        self._name = name
        self._lines = 0
        self._since = 0

    def readable(self) -> bool:
        """Return True: this is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes there were."""
        block = self._file.read(len(buffer))
        if b"\0" in block:
            raise InputError([self._nul(block)])
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._since = self._since + len(block) if end < 0 else len(block) - end
        if self._since > LONGEST_LINE:
            raise InputError([self._long_line()])
        self._lines += block.count(b"\n")
        buffer[: len(block)] = block
        return len(block)

    def _nul(self, block: bytes) -> Problem:
        at = block.index(b"\0")
        line = self._lines + block.count(b"\n", 0, at) + 1
        # text of two bytes a letter has a NUL beside every letter of the header
        wide = block[:200].count(b"\0") > len(block[:200]) // 3
        return Problem(
            "WB125",
            f"{self._name} has a NUL byte (first on line {line:,}), so it is no text in UTF-8.",
            ("it looks like UTF-16",) if wide else (),
            "save it as UTF-8" if wide else "check the export; the file is damaged or no table",
        )

    def _long_line(self) -> Problem:
        return Problem(
            "WB126",
            f"{self._name} has no line end in {self._since >> 20} MB after line {self._lines:,}.",
            (),
            "a table has one line for each row; check the export",
        )


@contextmanager
def open_bytes(path: str) -> Iterator[tuple[io.BufferedReader, HashedReader]]:
    """Open a table: its bytes unpacked and the reader underneath; all that fails is a problem."""
    problem = _file_problem(path)
    if problem is not None:
        raise InputError([problem])
    name = shown_file(path)
    try:
        with open(path, "rb") as file:
            hashed = HashedReader(file)
            packed = io.BufferedReader(hashed, BLOCK)
            start = packed.peek(4)
            plain: Any = packed
            if start[:2] == b"\x1f\x8b":
                plain = io.BufferedReader(gzip.GzipFile(fileobj=packed), BLOCK)
            problem = _content_problem(plain.peek(4096)[:4096], path, packed=plain is not packed)
            if problem is not None:
                raise InputError([problem])
            yield plain, hashed
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        ends = isinstance(error, EOFError)
        message = f"{name} is a damaged gzip file"
        message += ": it ends too early." if ends else " and cannot be unpacked."
        help = "copy or download it again" if ends else "pack it again, or give it unpacked"
        raise InputError([Problem("WB122", message, (), help)]) from None
    except OSError as error:
        raise InputError([_unreadable(name, error)]) from None


@contextmanager
def open_text(path: str) -> Iterator[tuple[io.TextIOWrapper, HashedReader]]:
    """Open a file of text: its lines with their ends, and the reader underneath."""
    with open_bytes(path) as (plain, hashed):
        checked = io.BufferedReader(TextBytes(plain, shown_file(path)), BLOCK)
        with io.TextIOWrapper(checked, encoding="utf-8-sig", newline="") as lines:
            try:
                yield lines, hashed
            except UnicodeDecodeError:
                raise InputError([_not_utf8(path)]) from None


def holds_parquet(path: str) -> bool:
    """True for a Parquet file, False for text; an error where it is neither."""
    with open_bytes(path) as (plain, _):
        return plain.peek(4)[:4] == PARQUET_MARK


def hash_file(path: str) -> str:
    """Return the sha256 of a file as it lies on disk."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_utf8(path: str) -> Problem:
    """Say where a file leaves UTF-8; this reads it a second time."""
    number, line = 0, b""
    with open_bytes(path) as (plain, _):
        for number, line in enumerate(plain, start=1):  # noqa: B007
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                near = line[max(0, error.start - 20) : error.start + 20].decode("cp1252", "replace")
                break
        else:
            near = ""
    name = shown_file(path)
    return Problem(
        "WB125",
        f"{name} is not written in UTF-8 (first at line {number:,}).",
        (f"read as Latin-1 it says {shown(near.strip())}",) if near else (),
        _save_as_utf8(path, "latin1"),
    )


def _content_problem(start: bytes, path: str, packed: bool) -> Problem | None:
    """Return why a file is no table, told from its first bytes and compared with its name."""
    name = shown_file(path)
    if start[:4] == PARQUET_MARK:
        return _hidden_parquet(name, path, packed)
    if path.lower().endswith((".parquet", ".pq")):
        return Problem(
            "WB121",
            f"{name} is not a Parquet file, although its name says so.",
            ("it is empty" if not start else f"it starts with {start[:8]!r}",),
            "write it again as Parquet, or give CSV its own name",
        )
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        return Problem("WB119", f"{name} is empty.", (), "check the export; a header is needed")
    return _other_format(start, name) or _encoding(start, name, path) or _binary(start, name)


def _hidden_parquet(name: str, path: str, packed: bool) -> Problem | None:
    """Return the problem of Parquet in a file of another name, or packed."""
    if not packed and not path.lower().endswith((*TEXTS, *(f"{end}.gz" for end in TEXTS))):
        return None
    return Problem(
        "WB121",
        f"{name} is a Parquet file{' inside gzip' if packed else ''}, not CSV.",
        (),
        "unpack it" if packed else "give it a name that ends with .parquet",
    )


def _other_format(start: bytes, name: str) -> Problem | None:
    for mark, what, remedy in KNOWN:
        if start.startswith(mark):
            if mark.startswith(b"PK") and (b"xl/" in start or b"[Content_Types]" in start):
                what, remedy = "an Excel workbook", "save the sheet as CSV (UTF-8)"
            message = f"{name} is {what}, not a table in CSV or Parquet."
            return Problem("WB121", message, (), remedy)
    return None


def _save_as_utf8(path: str, encoding: str) -> str:
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
                _save_as_utf8(path, encoding.lower()),
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
