"""Tables from files and data frames, checked and matched before anything is computed."""

from weighbridge._tables._blocks import Blocks, read_blocks
from weighbridge._tables._features_of import features_of
from weighbridge._tables._pair import TASKS, check_pair, read_pair
from weighbridge._tables._read import read_table, table_of
from weighbridge._tables._table import Column, Dropped, Pair, Table
from weighbridge._tables._task import guess_task

__all__ = [
    "TASKS",
    "Blocks",
    "Column",
    "Dropped",
    "Pair",
    "Table",
    "check_pair",
    "features_of",
    "guess_task",
    "read_blocks",
    "read_pair",
    "read_table",
    "table_of",
]
