"""Files of a run: where they may go, checked before the work, and written whole or not at all."""

from __future__ import annotations

import csv
import errno
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from weighbridge._findings import Option, Problem, cli_option, shown_file
from weighbridge.exceptions import InputError

# What every result says it follows, and the files of a run.
SCHEMA = "weighbridge/1"
RUN_FILES = {
    "report": "report.html",
    "model": "model.skops",
    "weights": "weights.csv",
    "result": "result.json",
    "labels": "label_these.csv",
}
# How a file of each kind shows, in its first or last bytes, that weighbridge wrote it.
_MARKS = {
    ".html": rb'<meta name="generator" content="weighbridge',
    ".json": rb'"schema":\s*"weighbridge/',
    ".csv": rb"\A((row,)?weight,log_ratio(,weight_\d+)*|"
    rb"row,prediction(,probability[^\r\n]*)?)\r?\n",
    ".parquet": rb"weighbridge",
}
_LOOK = 1 << 16
# What a file that is damaged, or of another kind, raises.
_OF_ARCHIVES = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, RuntimeError)
_UNREADABLE = (OSError, ValueError, csv.Error, *_OF_ARCHIVES)
# Names of temporary files.
_TEMPORARY = re.compile(r"\.weighbridge-[0-9a-f]{16}(\.\w+)?")
# Temporary files of blocks that have not ended; a process that leaves at once removes them first.
_UNFINISHED: set[Path] = set()


def check_outputs(
    paths: Iterable[Path],
    *,
    force: bool,
    inputs: Iterable[Path] = (),
    option: Option = cli_option,
    place: str = "out",
) -> None:
    """Refuse outputs that cannot be written, that the run reads, or (unless `force`) of others."""
    inputs = [path for path in inputs if path.exists()]
    found = [_problem(path, force, inputs, option, place) for path in paths]
    # many files in one folder that cannot be used are one problem
    problems = list(dict.fromkeys(problem for problem in found if problem is not None))
    if problems:
        raise InputError(problems)


def _problem(
    path: Path, force: bool, inputs: list[Path], option: Option, place: str
) -> Problem | None:
    name, other = shown_file(str(path)), option(place, "OTHER")
    there = (each for each in path.absolute().parents if os.path.lexists(each))
    folder = next(there, Path(path.absolute().anchor))  # on Windows, there may be no such drive
    # as the user wrote it, where they did
    written = next((each for each in path.parents if each.absolute() == folder), folder)
    into = shown_file(str(written))
    if not folder.is_dir():
        what = "a file, not" if os.path.lexists(folder) else "not"
        return _usage("WB140", f"{into} is {what} a folder.", other)
    if os.path.isdir(path):
        return _usage("WB140", f"{name} is a folder, but a file is to be written there.", other)
    try:
        _try_to_write(path.absolute(), folder)
    except PermissionError:
        return _usage("WB140", f"{into} cannot be written into.", other)
    except OSError as error:
        what = name if os.path.lexists(path.parent) else shown_file(str(path.parent))
        return _usage("WB140", f"{what} cannot be written: {str(error.strerror).lower()}.", other)
    if path.exists() and not path.is_file():
        return _usage("WB140", f"{name} is not a regular file.", other)
    if any(path.exists() and path.samefile(each) for each in inputs):
        return _usage("WB140", f"{name} is read by this run and would be overwritten.", other)
    if sys.platform == "win32" and _is_held(path):
        help = f"close it there, or {other}"
        return _usage("WB140", f"{name} is read-only, or open in another program.", help)
    if os.path.lexists(path) and not force and not is_ours(path):
        help, how = f"{other}, or {option('force')} to overwrite it", "not written by weighbridge"
        if path.name == RUN_FILES["labels"]:
            help, how = f"{option('labels', str(path))} to use it, {help}", "filled in by hand"
        return _usage("WB120", f"{name} was {how}.", help)
    return None


def _try_to_write(path: Path, folder: Path) -> None:
    """Make a file in the folder, which exists, and look at every name that is to be made there."""
    for each in (path, *(folder / part for part in path.relative_to(folder).parts)):
        with suppress(FileNotFoundError, NotADirectoryError):  # but a name may be too long
            each.lstat()
    beside = folder / _temporary(path).name
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    beside.unlink()


def _is_held(path: Path) -> bool:
    """Return whether Windows would not put another file in the place of this one."""
    try:
        path.open("r+b").close()
    except OSError:
        return path.exists()
    return False


def _usage(code: str, message: str, help: str) -> Problem:
    return Problem(code, message, (), help, "usage")


def is_ours(path: Path) -> bool:
    """Return whether a file shows that weighbridge wrote it."""
    try:
        if path.suffix == ".skops":
            with zipfile.ZipFile(path) as archive, archive.open("schema.json") as file:
                return b'"weighbridge model/' in file.read(_LOOK)
        if path.name == RUN_FILES["labels"]:
            return _is_not_filled(path)
        mark = _MARKS.get(path.suffix)
        return mark is not None and re.search(mark, _ends(path, path.suffix)) is not None
    except _UNREADABLE:  # and so not known to be ours
        return False


def _is_not_filled(path: Path) -> bool:
    """True for rows to label as they were written: somebody's labels are not ours."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        head = next(rows, [])
        return head[:2] == ["row", "stands_for"] and not any(row[-1:] != [""] for row in rows)


def _ends(path: Path, suffix: str) -> bytes:
    """Return the part of a file that holds its mark: a table's header, the foot of Parquet."""
    with path.open("rb") as file:
        if suffix == ".parquet":
            file.seek(max(0, path.stat().st_size - _LOOK))
            return file.read()
        start = file.read(_LOOK)
    # a table is ours by its first line, not by something further down
    return start.partition(b"\n")[0] + b"\n" if suffix == ".csv" else start


def check_suffix(path: Path) -> None:
    """Refuse a table that is neither CSV nor Parquet, or Parquet that nobody can write."""
    other = cli_option("out", str(path.with_suffix(".csv")))
    if path.suffix not in (".csv", ".parquet"):
        message = f"{shown_file(str(path))} ends neither in .csv nor in .parquet."
        raise InputError([_usage("WB145", message, other)])
    # None where it is switched off
    missing = sys.modules.get("pyarrow", find_spec) is None or find_spec("pyarrow") is None
    if path.suffix == ".parquet" and missing:
        message = "Parquet needs pyarrow, which is not installed."
        help = f'pip install "weighbridge[cli]", or {other}'
        raise InputError([_usage("WB145", message, help)])


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path`, which takes its name when the block ends well."""
    # a link is replaced, not followed, so that nothing outside the folder is written
    path = Path(path)
    temporary = _temporary(path)
    try:
        _create(path, temporary)
        yield temporary
        # the bytes are on the disk before the name: a crash must not leave an empty file
        with temporary.open("r+b") as file:
            os.fsync(file)
        os.replace(temporary, path)
    except OSError as error:
        # an error of something else that the block reads or writes keeps its own name
        if error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
        _UNFINISHED.discard(temporary)


def _temporary(path: Path) -> Path:
    return path.with_name(f".weighbridge-{os.urandom(8).hex()}{path.suffix}")


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a folder, made where there is none, and refuse it while another run holds it."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        if _lock(folder, held):
            for each in folder.iterdir():  # what a run that was killed has left
                if _TEMPORARY.fullmatch(each.name):
                    each.unlink(missing_ok=True)
        try:
            yield
        finally:
            for each in made:
                with suppress(OSError):  # those that hold something stay
                    each.rmdir()


def _lock(folder: Path, held: ExitStack) -> bool:
    """Return whether the folder is held."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
        held.callback(os.close, handle)
        # the system lets go of it however the run ends, so that none is ever left behind
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        message = f"another run of weighbridge is writing into {shown_file(str(folder))}."
        help = f"wait until it ends, or {cli_option('out', 'OTHER')}"
        raise InputError([_usage("WB140", message, help)]) from None
    except (ImportError, OSError):  # Windows and some network disks lock no folder
        return False


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
