"""The whole job in one call: two tables in; a verdict, a model, weights and a report out."""

from weighbridge.adaptation._adapt import Settings, adapt, run
from weighbridge.adaptation._adaptation import (
    Adaptation,
    feature_differences,
    head,
    inputs_dict,
    overlap_dict,
    save,
)
from weighbridge.adaptation._inputs import Inputs, read_inputs, refusals_told
from weighbridge.adaptation._labels import Labels, draw_rows, knowing_labels
from weighbridge.adaptation._saved_model import SavedModel, TableModel, Unseen, load_model

# Public names; the others serve the packages above.
__all__ = ["Adaptation", "SavedModel", "TableModel", "adapt", "load_model"]
