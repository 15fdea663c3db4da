"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Temporary files of blocks that have not ended; a process that leaves at once removes them first.
_UNFINISHED: set[Path] = set()


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path`, which takes its name when the block ends without error.

    Whoever reads `path` sees the old file or the new one, never a part. Folders that are missing
    are made. A link is replaced, not followed, so that nothing outside the folder is written.

    Parameters
    ----------
    path : path
        Where the file will be.

    Yields
    ------
    Path
        An empty file in the same folder with the same suffix, to write into.

    Raises
    ------
    OSError
        Where the file cannot be written; the error names `path`, and nothing is left behind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from weighbridge._write_whole import write_whole
    >>> with TemporaryDirectory() as folder:
    ...     with write_whole(Path(folder, "result.json")) as temporary:
    ...         _ = temporary.write_text("{}")
    ...     [each.name for each in Path(folder).iterdir()]
    ['result.json']
    """
    path = Path(path)
    temporary = path.with_name(f".weighbridge-{secrets.token_hex(8)}{path.suffix}")
    try:
        _create(path, temporary)
        yield temporary
        _flush(temporary)
        os.replace(temporary, path)
    except OSError as error:
        # an error of something else that the block reads or writes keeps its own name
        if error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
        _UNFINISHED.discard(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files of all blocks that have not ended, before leaving at once."""
    for temporary in tuple(_UNFINISHED):
        temporary.unlink(missing_ok=True)


def _create(path: Path, temporary: Path) -> None:
    if path.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():
        # renaming onto a device would put a plain file in its place
        raise OSError(errno.EINVAL, "not a regular file")
    path.parent.mkdir(parents=True, exist_ok=True)
    _UNFINISHED.add(temporary)
    # created by open itself, so that the umask decides who may read it
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _flush(temporary: Path) -> None:
    """Put the bytes on the disk before the name: a crash must not leave an empty file."""
    handle = os.open(temporary, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
