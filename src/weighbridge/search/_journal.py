"""Evaluations on disk, so that a search that was killed goes on where it stopped."""

from __future__ import annotations

import base64
import json
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._findings import users_line
from weighbridge.exceptions import SearchWarning
from weighbridge.search._point import Evaluation, FloatArray, Point

FORMAT = "weighbridge search journal"
VERSION = 1
_DAMAGE = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, zlib.error)


class JournalError(ValueError):
    """A file that is not the journal of this search."""


class Journal:
    """A file that holds every finished evaluation of a search, one line of JSON each.

    A line is on disk before the next evaluation starts. A search that is given the journal of an
    earlier one, with the same data, estimator and criterion, repeats none of its evaluations, not
    even those that failed: delete the file to try these again.

    Parameters
    ----------
    path : str or path
        The file; it is made if it does not exist. One search at a time may write to it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, Journal, Point
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "search.jsonl")
    ...     found = journal.open("these data, this estimator")
    ...     journal.append(Evaluation(Point(0.0, 1.0), np.array([1.0, 2.0])))
    ...     again = Journal(journal.path).open("these data, this estimator")
    >>> found, again[Point(0.0, 1.0)].losses
    ({}, array([1., 2.]))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._end = 0  # where the last whole line ends
        self._size: int | None = None  # size of the file as this journal left it

    def open(self, fingerprint: str) -> dict[Point, Evaluation]:
        """Return the evaluations in the file, and start the file if there is none.

        Parameters
        ----------
        fingerprint : str
            Identifies data, estimator and criterion.

        Returns
        -------
        dict
            From point to evaluation. ValueError if the file belongs to other data, or is damaged
            anywhere but in an unfinished last line; it is then left as it is.
        """
        content = self.path.read_bytes() if self.path.exists() else b""
        header = _line({"format": FORMAT, "version": VERSION, "fingerprint": fingerprint})
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and not header.startswith(content):
            raise _not_a_journal(self.path)
        lines = whole.splitlines()
        if lines:
            _check_header(self.path, lines[0], fingerprint)
        evaluations = [
            _decode(self.path, number, line) for number, line in enumerate(lines[1:], start=2)
        ]
        self._end, self._size = len(whole), len(content)
        if len(content) > len(whole):
            warnings.warn(
                f"The last line of the journal {self.path} is unfinished: the search that wrote it "
                "was stopped in the middle. The line is dropped and its candidate evaluated again.",
                SearchWarning,
                stacklevel=users_line(),
            )
        if not lines:
            self._write(header)
        return {evaluation.point: evaluation for evaluation in evaluations}

    def append(self, evaluation: Evaluation) -> None:
        """Add one evaluation; it is on disk when this returns.

        Parameters
        ----------
        evaluation : Evaluation
            A finished one, failed or not.
        """
        self._write(_line(_encode(evaluation)))

    def _write(self, line: bytes) -> None:
        if self._size is None:
            raise ValueError(
                f"Got an evaluation for the journal {self.path} before it was opened; call "
                "open(fingerprint) first."
            )
        with self.path.open("r+b" if self.path.exists() else "x+b") as file:
            if os.fstat(file.fileno()).st_size != self._size:
                raise RuntimeError(
                    f"The journal {self.path} was changed by someone else during the search. Give "
                    "every search its own file."
                )
            file.seek(self._end)
            file.truncate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._end = self._size = self._end + len(line)


def encode_array(values: FloatArray | None) -> dict[str, Any] | None:
    """Float64 numbers as text, exact to the last bit."""
    if values is None:
        return None
    values = np.asarray(values, dtype="<f8")
    packed = base64.b64encode(zlib.compress(values.tobytes())).decode("ascii")
    return {"shape": list(values.shape), "float64": packed}


def decode_array(content: dict[str, Any] | None) -> FloatArray | None:
    """The inverse of `encode_array`."""
    if content is None:
        return None
    raw = zlib.decompress(base64.b64decode(content["float64"], validate=True))
    return np.frombuffer(raw, dtype="<f8").reshape(content["shape"]).astype(np.float64)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode("ascii") + b"\n"


def _encode(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "lam": evaluation.point.lam,
        "alpha": evaluation.point.alpha,
        "losses": encode_array(evaluation.losses),
        "predictions": encode_array(evaluation.predictions),
        "error": evaluation.error,
        "seconds": evaluation.seconds,
    }


def _decode(path: Path, number: int, line: bytes) -> Evaluation:
    try:
        content = json.loads(line)
        return Evaluation(
            Point(float(content["lam"]), float(content["alpha"])),
            decode_array(content["losses"]),
            decode_array(content["predictions"]),
            content["error"],
            float(content["seconds"]),
        )
    except _DAMAGE as error:
        raise JournalError(
            f"Got a journal, {path}, whose line {number} cannot be read ({error!r}). Only an "
            "unfinished last line is expected damage: restore the file, or give another path to "
            "start afresh. It was left as it is."
        ) from error


def _check_header(path: Path, line: bytes, fingerprint: str) -> None:
    try:
        header = json.loads(line)
        written, version, found = (header[key] for key in ("format", "version", "fingerprint"))
    except _DAMAGE:
        raise _not_a_journal(path) from None
    if written != FORMAT:
        raise _not_a_journal(path)
    if version != VERSION:
        raise JournalError(
            f"Got a journal, {path}, of format version {version}, but this version of weighbridge "
            f"reads {VERSION}; give another path. The file was left as it is."
        )
    if found != fingerprint:
        raise JournalError(
            f"Got a journal, {path}, of other data, another estimator, criterion or seed "
            f"(fingerprint {found!r}, but this search has {fingerprint!r}). Give another path, or "
            "delete the file if it is no longer needed. It was left as it is."
        )


def _not_a_journal(path: Path) -> JournalError:
    return JournalError(
        f"Got {path}, which is not the journal of a search; give a path that does not exist yet, "
        "or that of a journal. The file was left as it is."
    )
