"""Linear models on rows that come in blocks: transformers, fits and predictions by sums."""

from weighbridge._block_models._features import (
    CentredTable,
    Columns,
    Typical,
    column_scale,
    in_memory,
    no_alarms,
    typical,
    used_part,
)
from weighbridge._block_models._fit import BlockModel
from weighbridge._block_models._predict import predict_by_blocks
from weighbridge._block_models._steps import ON_BLOCKS, block_columns, block_steps

__all__ = [
    "ON_BLOCKS",
    "BlockModel",
    "CentredTable",
    "Columns",
    "Typical",
    "block_columns",
    "block_steps",
    "column_scale",
    "in_memory",
    "no_alarms",
    "predict_by_blocks",
    "typical",
    "used_part",
]
