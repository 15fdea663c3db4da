"""Names of tables that a command is to write."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from weighbridge._problem import Problem, cli_option, shown_file
from weighbridge.exceptions import InputError

SUFFIXES = (".csv", ".parquet")


def check_suffix(path: Path) -> None:
    """Refuse a table that is neither CSV nor Parquet, or Parquet that nobody can write."""
    other = cli_option("out", str(path.with_suffix(".csv")))
    if path.suffix not in SUFFIXES:
        message = f"{shown_file(str(path))} ends neither in .csv nor in .parquet."
        raise InputError([Problem("WB145", message, (), other, "usage")])
    if path.suffix == ".parquet" and not _can_write_parquet():
        message = "Parquet needs pyarrow, which is not installed."
        help = f'pip install "weighbridge[parquet]", or {other}'
        raise InputError([Problem("WB145", message, (), help, "usage")])


def _can_write_parquet() -> bool:
    try:
        return find_spec("pyarrow") is not None
    except ValueError:  # switched off in sys.modules
        return False
