"""Four files in one folder: the report, the model, the weights and the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weighbridge import __version__
from weighbridge._outputs import check_outputs
from weighbridge._problem import Option, argument
from weighbridge._write_whole import write_whole
from weighbridge.adaptation._saved_model import SavedModel, model_bytes
from weighbridge.adaptation._weights_file import write_weights

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation

TABLES = ("csv", "parquet")


def output_paths(folder: Any, table: str = "csv") -> dict[str, Path]:
    """Return where the files of a run are written."""
    if table not in TABLES:
        raise ValueError(f"Got table={table!r}, but expected one of {', '.join(TABLES)}.")
    names = {
        "report": "report.html",
        "model": "model.skops",
        "weights": f"weights.{table}",
        "result": "result.json",
    }
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
        result.model,
        dict(result.kinds),
        result.settings.label,
        result.task,
        result.verdict.use,
        __version__,
    )
    page, model = render(content), model_bytes(saved)
    with write_whole(paths["weights"]) as temporary:
        write_weights(temporary, result.weights, result.log_ratio)
    with write_whole(paths["model"]) as temporary:
        temporary.write_bytes(model)
    with write_whole(paths["result"]) as temporary:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
    with write_whole(paths["report"]) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return files
