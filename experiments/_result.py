"""Write a result: JSON with everything, Markdown for readers, pictures."""

import hashlib
import json
from collections import Counter

from experiments._warnings import explanation


def write_result(folder, name, module, scale, done, made):
    """Write NAME.json, NAME.md and the pictures; returns values and unexplained warnings."""
    values = module.values(done)
    warned = sum((Counter(outcome["warnings"]) for _, outcome in done), Counter())
    content = {
        "experiment": name,
        "title": module.TITLE,
        "scale": scale.name,
        "rows": scale.rows,
        "seed": "toy draws by their number from 0; splits by the CRC-32 of 'set, trial, redraw'; "
        "models, searches and hold-outs by the trial (toy: folds by 0); the forest's folds by 1234",
        "values": values,
        "sha256 of the values": digest(values) if getattr(module, "REPEATABLE", True) else None,
        "warnings": {kind: [n, explanation(kind)] for kind, n in sorted(warned.items())},
        "seconds": sum(outcome["seconds"] for _, outcome in done),
        **made,
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / f"{name}.json", text.encode())
    tables = module.tables(values) if hasattr(module, "tables") else []
    text = "\n".join(table.markdown() for table in tables)
    pictures = module.draw(values, folder) if hasattr(module, "draw") else []
    text += "".join(f"\n![{module.TITLE}]({picture})\n" for picture in pictures)
    write_whole(folder / f"{name}.md", f"# {module.TITLE}\n\n{text}".encode())
    return values, [kind for kind in warned if explanation(kind) is None]


def digest(values):
    """SHA-256 of values: equal for runs that agree to the last bit."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def write_whole(path, content):
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)
