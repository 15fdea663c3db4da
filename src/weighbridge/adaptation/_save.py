"""Four files in one folder: the report, the model, the weights and the result."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weighbridge import __version__
from weighbridge._files import RUN_FILES, check_outputs, write_whole
from weighbridge._problem import Option, argument
from weighbridge._tables import write_weights
from weighbridge.adaptation._saved_model import SavedModel, model_bytes

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation

TABLES = ("csv", "parquet")


def output_paths(folder: Any, table: str = "csv") -> dict[str, Path]:
    """Return where the files of a run are written."""
    if table not in TABLES:
        raise ValueError(f"Got table={table!r}, but expected one of {', '.join(TABLES)}.")
    names = RUN_FILES | {"weights": f"weights.{table}"}
    return {kind: Path(folder) / name for kind, name in names.items()}


def save(
    result: Adaptation,
    folder: Any,
    *,
    force: bool,
    table: str = "csv",
    option: Option = argument,
) -> dict[str, str]:
    """Write the files of a run; all are made before the first is written."""
    from weighbridge.report import render

    paths = output_paths(folder, table)
    check_outputs(paths.values(), force=force, option=option, place="folder")
    files = {kind: str(path) for kind, path in paths.items()}
    content = {**result.to_dict(), "files": files}
    saved = SavedModel(
        result.verdict.model,
        dict(result.kinds),
        result.settings.label,
        result.task,
        result.verdict.use,
        __version__,
    )
    page, model = render(content), model_bytes(saved)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    # none takes its name before all are on the disk: a folder never holds parts of two runs
    with ExitStack() as stack:
        whole = {kind: stack.enter_context(write_whole(path)) for kind, path in paths.items()}
        write_weights(whole["weights"], result.weights, result.log_ratio)
        whole["model"].write_bytes(model)
        whole["result"].write_text(text + "\n", encoding="utf-8")
        whole["report"].write_text(page, encoding="utf-8")
    return files
