"""Random tables through every command: a valid result or a finding, and never anything else.

python tests/fuzz.py 2000                       # tables of the seeds 0 to 1999
python tests/fuzz.py 1 --seed 17 --keep folder  # one of them again, its files kept
"""

import argparse
import csv
import gzip
import io
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cli_runs import run, valid

RARE = 0.03  # how often each flaw occurs
WORDS = ["a", "b", "red", "Blau", "rot, grün", 'say "no"', "x;y", "日本", "=1+1", "'", "-", "n/a?"]
ODD_WORDS = ["two\nlines", "cr\rhere", "\x1b[31mred", "tab\there", "1e5", "12 %", "$5", "NA", " "]
NAMES = ["age", "bmi", "site", "größe", "a b", "a,b", "=sum(A1)", "<b>x</b>", "x" * 300, "row"]
NAMES += [
    "weight",
    "prediction",
    "probability_a",
    "label",
    "__index_level_0__",
    "日本",
    "a'b",
    "--x",
]
ODD_NAMES = ["", " ", 'say "x"', "two\nlines", "\x1b]0;t\x07", "cr\rhere", "nan", "\ufeffid", "1"]
FILES = {"report.html", "model.skops", "weights.csv", "result.json"}
NUMBERS = {
    "normal": lambda rng, n, shift: rng.normal(shift, 1, n),
    "money": lambda rng, n, shift: np.round(np.exp(rng.normal(shift, 2, n)), 2),
    "count": lambda rng, n, shift: rng.poisson(3 + shift, n),
    "id": lambda rng, n, shift: np.arange(n) + 10**9,
    "constant": lambda rng, n, shift: np.full(n, 7),
    "tails": lambda rng, n, shift: rng.standard_cauchy(n) * 10**6 + shift,
    "large": lambda rng, n, shift: rng.normal(shift, 1, n) * 1e140,
    "small": lambda rng, n, shift: rng.normal(shift, 1, n) * 1e-200,
    "huge": lambda rng, n, shift: rng.normal(shift, 1, n) * 1e300,
    "scales": lambda rng, n, shift: 10.0 ** rng.integers(-12, 12, n) + shift,
    "one outlier": lambda rng, n, shift: np.where(np.arange(n) == 3, 1e12, rng.normal(shift, 1, n)),
}
TEXTS = {
    "flags": lambda rng, k: bool(rng.random() < 0.5),
    "dates": lambda rng, k: f"20{k % 24:02d}-0{1 + k % 9}-1{k % 10}",
    "names": lambda rng, k: f"patient {k} {rng.integers(10**6)}",
    "empty": lambda rng, k: None,
}
LABELS = {
    "text": lambda r, p, s, h: np.where(h, *p.sample(WORDS, 2)),
    "0/1": lambda r, p, s, h: h.astype(int),
    "number": lambda r, p, s, h: s,
    "classes": lambda r, p, s, h: r.choice(p.sample(WORDS, 3), s.size),
    "odd text": lambda r, p, s, h: np.where(h, *p.sample(ODD_WORDS, 2)),
    "flag": lambda r, p, s, h: h,
    "few": lambda r, p, s, h: np.where(np.arange(s.size) < 6, "few", "often"),
    "one class": lambda r, p, s, h: np.full(s.size, "same"),
    "count": lambda r, p, s, h: r.poisson(2, s.size),
    "large": lambda r, p, s, h: s * 10.0 ** p.choice([20, 60, 120, 300]),
    "small": lambda r, p, s, h: s * 10.0 ** p.choice([-20, -150, -300]),
    "tails": lambda r, p, s, h: r.standard_cauchy(s.size),
}


def often_first(pick, kinds):
    """Pick one of the first four in two cases of three, else any."""
    return pick.choice([*kinds][:4] if pick.random() < 0.65 else [*kinds])


def column(kind, levels, rng, n, shift):
    if kind in NUMBERS:
        return NUMBERS[kind](rng, n, shift).tolist()
    if kind in TEXTS:
        return [TEXTS[kind](rng, k) for k in range(n)]
    tilt = np.exp(shift * np.linspace(-1, 1, len(levels)))
    return [levels[k] for k in rng.choice(len(levels), n, p=tilt / tilt.sum())]


def tables(pick, rng):
    """Return a pair of tables as lists of (name, values), and the name of the label."""
    flaw = lambda: pick.random() < RARE  # noqa: E731
    sizes = [pick.choice([0, 1, 2, 19] if flaw() else [20, 25, 40, 60, 100, 200]) for _ in "ab"]
    width = pick.choice([1, 2, 2, 3, 3, 4, 6, 10]) if not flaw() else pick.choice([0, 60, 250])
    names = pick.choices(NAMES + ODD_NAMES * flaw(), k=width + 1)
    if not flaw():
        names = [name if name not in names[:k] else f"{name}{k}" for k, name in enumerate(names)]
    kinds = [often_first(pick, [*NUMBERS, "words", "words", *TEXTS]) for _ in range(width)]
    words = WORDS + ODD_WORDS * (pick.random() < 0.1)
    levels = [pick.sample(words, pick.randint(1, 6)) for _ in range(width)]
    shift, gaps = pick.choice([0, 0.3, 1, 5]), pick.choice([0, 0, 0, 0.1, 0.9 * flaw()])
    parts = [
        [column(*each, rng, n, by) for each in zip(kinds, levels, strict=True)]
        for n, by in zip(sizes, (0, shift), strict=True)
    ]
    first = [v if isinstance(v, float) else len(str(v)) for v in (*parts[0], [0] * sizes[0])[0]]
    score = np.array(first) / (np.abs(first).max(initial=0) or 1) + rng.normal(size=sizes[0])
    high = score > np.median([*score, 0])
    y = LABELS[often_first(pick, LABELS)](rng, pick, score, high).tolist()
    for part in parts:
        for k, values in enumerate(part):
            part[k] = [None if rng.random() < gaps else value for value in values]
            if values and flaw():
                values[0] = part[k][0] = pick.choice(["unknown", float("inf"), 10**400, "1,5"])
    source, target = ([*zip(names, part, strict=False)] for part in parts)
    y = [None if flaw() and flaw() else value for value in y]
    source.insert(pick.randint(0, width), (names[-1], y))
    if target and flaw():
        target.pop(pick.randrange(len(target)))
    if flaw():
        target.append(("new column", list(range(sizes[1]))))
    if pick.random() < 0.1:
        source = [(name, values[: len(values) // 2] * 2) for name, values in source]  # rows twice
    if pick.random() < 0.3:
        pick.shuffle(target)
    return source, target, names[-1]


def write(path, table, pick):
    if path.suffix == ".parquet":
        pure = [len({*map(type, values)} - {type(None)}) < 2 for _, values in table]
        columns = [c if p else [*map(str, c)] for (_, c), p in zip(table, pure, strict=True)]
        return pq.write_table(pa.table(columns, names=[name for name, _ in table]), path)
    out, gap = io.StringIO(newline=""), pick.choice(["", "NA", "nan", "NULL"])
    between = pick.choice(",,,,;" if pick.random() > RARE else "|:")
    between = "\t" if ".tsv" in path.name else between
    how = {"lineterminator": pick.choice(["\n", "\r\n"]), "quoting": pick.choice([0, 0, 1])}
    writer = csv.writer(out, delimiter=between, **how)
    writer.writerow([name for name, _ in table])
    for row in zip(*(values for _, values in table), strict=True):
        writer.writerow([gap if value is None else value for value in row])
    text = out.getvalue()
    text = text[: pick.randint(0, len(text))] if pick.random() < RARE else text  # a file cut short
    encoding = pick.choice(["utf-8", "utf-8-sig", *["latin-1", "utf-16"] * (pick.random() < RARE)])
    content = text.encode(encoding, errors="replace")
    return path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


class WrongError(AssertionError):
    pass


def fill_labels(path, classes, pick):
    """Fill in a class, any of them, for every row."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:-1], pick.choice(classes)] for row in rows)])


def check(ends, command, *words, writes=()):
    """Run a command, and hold it to its promise; return its JSON, or None if it refused."""
    before = set(os.listdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = run(command, *words, "--json", "--quiet", "--debug")
    name = f"{command} {' '.join(map(str, words))}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise WrongError(f"{name}: {done.exception!r}") from done.exception
    if done.exit_code not in (0, 2, 3):
        raise WrongError(f"{name}: exit code {done.exit_code}\n{done.stderr}")
    try:
        result = valid(done.stdout)
    except Exception as error:
        raise WrongError(f"{name}: no valid JSON: {str(error)[:1000]}") from error
    codes = [each["code"] for each in result["failure"]["findings"]] if done.exit_code else ["ok"]
    ends.update((command, code) for code in set(codes))
    new = set(os.listdir()) - before
    assert codes, name
    if not done.exit_code and new != set(writes):
        raise WrongError(f"{name}: wrote {sorted(new)}, not {sorted(writes)}")
    left = [each for folder in new for each in ([*Path(folder).glob("*")] or [Path(folder)])]
    if done.exit_code and not all(each.name.startswith("unfinished-") for each in left):
        raise WrongError(f"{name}: refused, and left {left}")
    return None if done.exit_code else result


def check_table(path, n_rows, columns):
    """Hold a written table to its number of rows; some columns must be finite and not negative."""
    table = pd.read_csv(path, keep_default_na=False)
    if len(table) != n_rows:
        raise WrongError(f"{path} has {len(table)} rows, not {n_rows}")
    for name in (each for each in table.columns if each.startswith(columns)):
        if not table[name].astype(float).between(0, np.finfo(float).max).all():
            raise WrongError(f"{path}: {name} is not finite, or negative")


def one(seed, ends):
    """Send one pair of tables through all commands, in the present folder."""
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    source, target, label = tables(pick, rng)
    kinds = [".csv"] * 5 + [".csv.gz", ".tsv", ".parquet"]
    train, deploy = (Path(f"{name}{pick.choice(kinds)}") for name in ("train", "deploy"))
    with suppress(csv.Error, pa.ArrowException, OverflowError):  # no program can write it
        write(train, source, pick)
        write(deploy, target, pick)
    ratios = ["auto", *["gaussian", "classifier"] * 2, "ulsif", "kliep", "nearest", "kmm"]
    words = (train, deploy, f"--label={label}", "--ratio", pick.choice(ratios))
    how = ("--alpha", "3", *(("--lam", "0.5") if pick.random() < 0.8 else ()))
    how += ("--model", pick.choice(["linear"] * 12 + ["boosting", "forest", "svm"]))
    check(ends, "diagnose", *words, "--report", "page.html", writes=["page.html"])
    if found := check(ends, "weights", *words, "--out", "w.csv", writes=["w.csv"]):
        check_table("w.csv", found["inputs"]["train"]["rows"], "weight")
    if check(ends, "adapt", *words, *how, "--out", "out", writes=["out"]):
        stored = valid(Path("out/result.json").read_text(encoding="utf-8"))
        asked = {"label_these.csv"} if stored["expect"]["to_label"] else set()
        if set(os.listdir("out")) != FILES | asked:
            raise WrongError(f"adapt left {os.listdir('out')}")
        if asked:
            fill_labels(Path("out/label_these.csv"), stored["inputs"]["classes"] or ["1.5"], pick)
            labels = ("--labels", "out/label_these.csv")
            again = check(ends, "adapt", *words, *how, *labels, "--out", "out")
            if again is None or not again["expect"]["actual"]:
                raise WrongError("adapt did not take its own rows back")
        check_table("out/weights.csv", stored["inputs"]["train"]["rows"], "weight")
        check(ends, "report", "out/result.json", "--out", "again.html", writes=["again.html"])
        for table, role in ((train, "train"), (deploy, "deploy")):
            out = f"predicted-{role}.csv"
            if check(ends, "predict", "out/model.skops", table, "--out", out, writes=[out]):
                check_table(out, stored["inputs"][role]["rows"], "probability_")
    for page in (*Path().glob("*.html"), *Path("out").glob("*.html")):
        if not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            raise WrongError(f"{page} is half written")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", type=int, nargs="?", default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first table")
    parser.add_argument("--keep", type=Path, help="folder that keeps the files of failures")
    given, here, begun = parser.parse_args(), Path.cwd(), time.monotonic()
    wrong, ends = [], Counter()
    for seed in range(given.seed, given.seed + given.tables):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                one(seed, ends)
            except WrongError as error:
                wrong.append(seed)
                print(f"seed {seed}: {error}\n  again: make test-fuzz N=1 SEED={seed}", flush=True)
            os.chdir(here)
            if given.keep and (seed in wrong or given.tables == 1):
                shutil.copytree(folder, given.keep / str(seed), dirs_exist_ok=True)
    print(*(f"{' '.join(end)}: {count}" for end, count in sorted(ends.items())), sep=", ")
    took = f"{given.tables} tables from seed {given.seed} in {time.monotonic() - begun:.0f} s"
    print(f"{took}: {len(wrong)} wrong {wrong or ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
