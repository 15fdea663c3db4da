"""How rows are read: arrays of any library, columns, keys of rows; checks of arguments."""

from weighbridge._arrays import array_namespace, device_of, is_foreign, to_numpy, unmasked
from weighbridge.tables._checks import (
    FEWEST_ROWS,
    check_confidence,
    check_count,
    check_positive,
    check_positive_grid,
    check_sample_weight,
    check_weights,
    one_number,
)
from weighbridge.tables._columns import (
    DAY,
    as_labels,
    check_labelled,
    column_labels,
    distinct_values,
    gap_name,
    is_continuous,
    is_frame,
    joined_tables,
    numbers_as_text,
    read_columns,
    refuse_missing,
    take_rows,
)
from weighbridge.tables._draw import MAX_ROWS, draw_rows
from weighbridge.tables._encoder import (
    MAX_LEVELS,
    RARE_ROWS,
    TableEncoder,
    finite_sparse,
    numbers_meant,
)
from weighbridge.tables._features import Feature, read_features, stacked_features
from weighbridge.tables._quadratic import (
    MAX_PRODUCTS,
    Quadratic,
    QuadraticFeatures,
    QuadraticRows,
    can_be_squared,
)
from weighbridge.tables._row_keys import (
    RowScores,
    as_numbers,
    canonical_order,
    exact_keys,
    shuffled,
)
from weighbridge.tables._stack_samples import (
    check_in_memory,
    stack_samples,
    stacked_table,
    target_like_source,
)

# All of these serve the packages above; users pass their tables as they are.
__all__: list[str] = []
