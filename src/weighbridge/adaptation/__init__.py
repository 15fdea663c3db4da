"""The whole job in one call: two tables in; a verdict, a model, weights and a report out."""

from weighbridge._tables import TableWriter, write_weights
from weighbridge.adaptation._adapt import MOST_DEPLOYMENT_ROWS, Settings, adapt, run
from weighbridge.adaptation._adaptation import Adaptation, save
from weighbridge.adaptation._models import find_ratio
from weighbridge.adaptation._result import (
    actual_errors,
    feature_differences,
    head,
    inputs_dict,
    overlap_dict,
    sample_note,
)
from weighbridge.adaptation._same_rows import check_rows
from weighbridge.adaptation._saved_model import SavedModel, TableModel, load_model

# Public names; the others serve the packages above.
__all__ = ["Adaptation", "SavedModel", "TableModel", "adapt", "load_model"]
