"""Tables from files and data frames, checked and matched before anything is computed."""

from weighbridge._tables._model_columns import features_of, read_blocks
from weighbridge._tables._pair import TASKS, check_pair, guess_task, read_pair
from weighbridge._tables._read import open_source, read_table
from weighbridge._tables._table import Pair, Table, as_word
from weighbridge._tables._write import TableWriter, defused, write_weights
