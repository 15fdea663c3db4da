"""The whole job in one call: two tables in; a verdict, a model, weights and a report out."""

from weighbridge.adaptation._adapt import adapt
from weighbridge.adaptation._adaptation import Adaptation
from weighbridge.adaptation._saved_model import SavedModel, load_model
from weighbridge.adaptation._table_model import TableModel

__all__ = ["Adaptation", "SavedModel", "TableModel", "adapt", "load_model"]
