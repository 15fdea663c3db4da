"""Copy a finished run into the documentation: results as JSON, tables, pictures."""

import json
from pathlib import Path

from experiments._result import write_whole

DOCS = Path(__file__).parent.parent / "docs" / "reproducing" / "recorded"


def publish(folder, modules):
    """Write the recorded results of all modules; the documentation includes them."""
    DOCS.mkdir(parents=True, exist_ok=True)
    for name, module in modules.items():
        recorded = (folder / f"{name}.json").read_text(encoding="utf-8")
        write_whole(DOCS / f"{name}.json", recorded.encode())
        if hasattr(module, "tables"):
            tables = module.tables(json.loads(recorded)["values"])
            text = "\n".join(table.rst() for table in tables)
            write_whole(DOCS / f"{name}.inc", text.encode())
        for picture in sorted(folder.glob(f"{name}*.png")):
            write_whole(DOCS / picture.name, picture.read_bytes())
