"""The whole job in one call: two tables in; a verdict, a model, weights and a report out."""

from weighbridge.adaptation._adapt import adapt
from weighbridge.adaptation._adaptation import Adaptation
from weighbridge.adaptation._saved_model import SavedModel, load_model
from weighbridge.adaptation._table_model import TableModel

__all__ = ["Adaptation", "SavedModel", "TableModel", "adapt", "load_model"]

# for the packages above
from weighbridge._tables import TableWriter as TableWriter
from weighbridge._tables import write_weights as write_weights
from weighbridge.adaptation._actual import actual_errors as actual_errors
from weighbridge.adaptation._adapt import MOST_DEPLOYMENT_ROWS as MOST_DEPLOYMENT_ROWS
from weighbridge.adaptation._adapt import Settings as Settings
from weighbridge.adaptation._adapt import run as run
from weighbridge.adaptation._choices import find_ratio as find_ratio
from weighbridge.adaptation._result import feature_differences as feature_differences
from weighbridge.adaptation._result import head as head
from weighbridge.adaptation._result import inputs_dict as inputs_dict
from weighbridge.adaptation._result import overlap_dict as overlap_dict
from weighbridge.adaptation._same_rows import check_rows as check_rows
from weighbridge.adaptation._sample_note import sample_note as sample_note
from weighbridge.adaptation._save import save as save
