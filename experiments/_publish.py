"""The documentation's recorded results: written from a finished run, and compared with one."""

import json
from pathlib import Path

from experiments._numbers import substitutions
from experiments._result import write_whole

DOCS = Path(__file__).parent.parent / "docs" / "reproducing" / "recorded"


def publish(folder, modules):
    """Write the recorded results of the modules, and the numbers that the pages quote."""
    DOCS.mkdir(parents=True, exist_ok=True)
    for name, module in modules.items():
        text = (folder / f"{name}.json").read_text(encoding="utf-8")
        write_whole(DOCS / f"{name}.json", text.encode())
        if hasattr(module, "tables"):
            write_whole(DOCS / f"{name}.inc", tables_text(module, json.loads(text)).encode())
        for picture in sorted(folder.glob(f"{name}*.png")):
            write_whole(DOCS / picture.name, picture.read_bytes())
    write_whole(DOCS / "numbers.inc", substitutions(recorded()).encode())


def tables_text(module, content):
    """Return what the documentation includes of a result."""
    return "\n".join(table.rst() for table in module.tables(content["values"]))


def recorded():
    """Return the recorded results by name."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(DOCS.glob("*.json"))
    }


def of_other_runs(names, made):
    """Return recorded results that a run publishing `names` would leave beside its own."""
    return [
        name
        for name, content in recorded().items()
        if name not in names
        and content["seconds"]  # made of cells
        and any(content[each] != made[each] for each in ("code", "versions"))
    ]


def contradictions(name, module, values):
    """Return where a run says "differs" and the documentation that it does not, or the reverse.

    "not told apart" contradicts nothing printed: a run of fewer splits tells less apart. A target
    of Table 1 is only met or missed.
    """
    path = DOCS / f"{name}.json"
    if not hasattr(module, "verdicts") or not path.exists():
        return []
    there = module.verdicts(json.loads(path.read_text(encoding="utf-8"))["values"])
    here = module.verdicts(values)
    found = []
    for row in here.keys() & there.keys():
        words = {here[row], there[row]}
        target = row[-1].startswith("target of ")
        if "differs" in words and ("within 10 %" in words or (target and len(words) == 2)):
            found.append(f"{name}, {', '.join(row)}: {here[row]} here, {there[row]} recorded")
    return sorted(found)
