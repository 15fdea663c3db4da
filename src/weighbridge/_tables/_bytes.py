"""Files as bytes: is there one, what is in it, and can it be read to the end."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from weighbridge._problem import Problem, nearest, shown, shown_file
from weighbridge._tables._formats import PARQUET, check_format, save_as_utf8
from weighbridge.exceptions import InputError

BLOCK = 1 << 20
# A line longer than this is no line of a table.
LONGEST_LINE = 16 << 20
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")


def check_file(path: str) -> None:
    """Raise an error that says why there is no file to read, if so."""
    name = shown_file(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise InputError([_no_file(path)]) from None
    except OSError as error:
        raise InputError([unreadable(name, error)]) from None
    if stat.S_ISDIR(mode):
        inside = _tables_in(path)
        raise InputError(
            [
                Problem(
                    "WB118",
                    f"{name} is a folder; one file is needed.",
                    (f"in it: {', '.join(inside)}",) if inside else (),
                    f"name a file in it: {os.path.join(path, inside[0])}"
                    if inside
                    else "name a file",
                    "usage",
                )
            ]
        )
    if not stat.S_ISREG(mode):
        raise InputError(
            [
                Problem(
                    "WB118",
                    f"{name} is a pipe or a device; a file on disk is needed.",
                    ("a table is read more than once",),
                    "write it to a file first",
                    "usage",
                )
            ]
        )


def unreadable(name: str, error: OSError) -> Problem:
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
def open_bytes(path: str) -> Iterator[tuple[io.BufferedReader, HashedReader, str]]:
    """Open a file: its bytes unpacked, the reader underneath, and what it holds.

    What goes wrong while it is open comes out as a named problem.
    """
    check_file(path)
    name = shown_file(path)
    try:
        with open(path, "rb") as file:
            hashed = HashedReader(file)
            packed = io.BufferedReader(hashed, BLOCK)
            start = packed.peek(4)
            plain: Any = packed
            if start[:2] == b"\x1f\x8b":
                plain = io.BufferedReader(gzip.GzipFile(fileobj=packed), BLOCK)
            yield (
                plain,
                hashed,
                check_format(plain.peek(4096)[:4096], path, packed=plain is not packed),
            )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        ends = isinstance(error, EOFError)
        raise InputError(
            [
                Problem(
                    "WB122",
                    f"{name} is a damaged gzip file"
                    f"{': it ends too early' if ends else ' and cannot be unpacked'}.",
                    (),
                    "copy or download it again" if ends else "pack it again, or give it unpacked",
                )
            ]
        ) from None
    except OSError as error:
        raise InputError([unreadable(name, error)]) from None


@contextmanager
def open_text(path: str) -> Iterator[tuple[io.TextIOWrapper, HashedReader]]:
    """Open a file of text: its lines with their ends, and the reader underneath."""
    with open_bytes(path) as (plain, hashed, _):
        checked = io.BufferedReader(TextBytes(plain, shown_file(path)), BLOCK)
        with io.TextIOWrapper(checked, encoding="utf-8-sig", newline="") as lines:
            try:
                yield lines, hashed
            except UnicodeDecodeError:
                raise InputError([_not_utf8(path)]) from None


def holds_parquet(path: str) -> bool:
    """True for a Parquet file, False for text; an error where it is neither."""
    with open_bytes(path) as (_, _, content):
        return content == PARQUET


def hash_file(path: str) -> str:
    """Return the sha256 of a file as it lies on disk."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_utf8(path: str) -> Problem:
    """Say where a file leaves UTF-8; this reads it a second time."""
    number, line = 0, b""
    with open_bytes(path) as (plain, _, _):
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
        save_as_utf8(path, "latin1"),
    )
