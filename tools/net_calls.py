"""The calls that `net.py` records: twelve small problems, and further runs of every command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

OWN_MODEL = """
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def make():
    return make_pipeline(StandardScaler(), Ridge(3.0))


def broken():
    raise KeyError("a parameter")
"""


def tables(
    seed: int, n: int = 240, m: int = 180, *, shift: float = 0.7, kind: str = "binary"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables of two numbers and a category; only the first has the label y."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["east", "north", "west"], n + m)
    moved = np.where(np.arange(n + m) < n, 0.0, shift)
    age = (45 + 10 * (rng.normal(size=n + m) + moved)).round(2)
    bmi = (25 + 4 * (rng.normal(size=n + m) - moved / 3)).round(3)
    score = ((age - 45) / 10) ** 2 + (bmi - 25) / 4 + (site == "west") + rng.normal(0, 0.5, n + m)
    if kind == "binary":
        y = (score > 1.2).astype(int)
    elif kind == "three":
        y = np.array(["low", "middle", "high"])[np.digitize(score, [0.3, 2])]
    else:
        y = score.round(4)
    both = pd.DataFrame({"age": age, "bmi": bmi, "site": site, "y": y})
    return both[:n], both[n:].reset_index(drop=True)


def with_missing(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the table with a tenth of its features missing."""
    gone = np.random.default_rng(seed).uniform(size=table.shape) < 0.1
    gone[:, list(table.columns).index("y")] = False
    return table.mask(gone)


def categories(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the table with categories alone; some levels are in one of two seeds only."""
    ward = np.random.default_rng(seed).choice(["a", "b", "c", f"only {seed}"], len(table))
    band = pd.cut(table["age"], [0, 35, 45, 55, 200], labels=["<35", "35-45", "45-55", ">55"])
    return table[["site", "y"]].assign(ward=ward, band=band.astype(str))


def known_ratio(table: pd.DataFrame, shift: float = 0.7) -> pd.DataFrame:
    """Return the table with a column that holds the ratio of ages."""
    z = (table["age"] - 45) / 10
    return table.assign(likelier=np.exp(shift * z - shift**2 / 2).round(6))


def problems() -> dict[str, tuple[pd.DataFrame, pd.DataFrame, str]]:
    """Return twelve small problems; labels of the deployment are dropped but for one."""
    rng = np.random.default_rng(0)
    both = {
        name: tables(seed, kind=name) for seed, name in enumerate(("binary", "three", "number"))
    }
    missing, coded, same, far = tables(3), tables(4, 300), tables(5, shift=0), tables(6, shift=6)
    weighted, own, known, parquet = tables(7), tables(8, kind="number"), tables(9), tables(10)
    many = "--model linear --model forest --lam 0.5 --alpha 1 --ratio ulsif --keep age,bmi --seed 3"
    made = {
        "binary": (*both["binary"], ""),
        "three-classes": (*both["three"], "--metric log_loss"),
        "regression": (*both["number"], ""),
        "missing": (with_missing(missing[0], 1), with_missing(missing[1], 2), ""),
        "categories": (categories(coded[0], 1), categories(coded[1], 2), "--ratio classifier"),
        "no-shift": (*same, ""),
        "broken-overlap": (*far, ""),
        "deployment-labels": (*tables(11, 300, 250), "--metric brier"),
        "weights-fixed": (
            weighted[0].assign(w=rng.uniform(0.5, 2, 240).round(3)),
            weighted[1],
            "--weight w --drop bmi --lam 0.5 --alpha 3 --ratio gaussian",
        ),
        "own-model": (*own, "--model own_model:make --metric mae --confidence 0.9 --drop site"),
        "known-ratio": (known_ratio(known[0]), known_ratio(known[1]), "--ratio likelier"),
        "parquet": (*parquet, many),
    }
    labelled = "deployment-labels"
    return {
        name: (here, there if name == labelled else there.drop(columns="y"), words)
        for name, (here, there, words) in made.items()
    }


def write_problems(folder: Path) -> dict[str, list[str]]:
    """Write all tables, each pair into a folder, and return the words of each run of `adapt`."""
    calls = {}
    for name, (here, there, words) in problems().items():
        (folder / name).mkdir()
        ending = "parquet" if name == "parquet" else "csv"
        files = [f"{name}/train.{ending}", f"{name}/deploy.{ending}"]
        for table, file in zip((here, there), files, strict=True):
            if ending == "csv":
                table.to_csv(folder / file, index=False)
            else:
                table.to_parquet(folder / file, index=False)
        calls[name] = ["adapt", *files, "--label", "y", "--out", f"{name}/out", *words.split()]
    (folder / "own_model.py").write_text(OWN_MODEL)
    return calls


# Further runs; each is recorded with what it prints and how it ends.

RUNS = {
    "adapt-quiet": "adapt binary/train.csv binary/deploy.csv --label y --quiet --out quiet",
    "adapt-plain": "adapt binary/train.csv binary/deploy.csv --label y --plain --out plain",
    "adapt-json": "adapt binary/train.csv binary/deploy.csv --label y --json --out json",
    "adapt-fail-if": "adapt broken-overlap/train.csv broken-overlap/deploy.csv --label y --out fail"
    " --fail-if shift --fail-if thin-overlap --fail-if error>0.01 --ratio gaussian",
    "diagnose": "diagnose binary/train.csv binary/deploy.csv",
    "diagnose-all": "diagnose categories/train.csv categories/deploy.csv --label y --all --plain",
    "diagnose-no-shift": "diagnose no-shift/train.csv no-shift/deploy.csv --label y --quiet",
    "diagnose-broken": "diagnose broken-overlap/train.csv broken-overlap/deploy.csv --label y",
    "diagnose-page": "diagnose missing/train.csv missing/deploy.csv --report shift.html",
    "diagnose-json": "diagnose parquet/train.parquet parquet/deploy.parquet --json=full --label y",
    "weights": "weights binary/train.csv binary/deploy.csv --out weights.csv",
    "weights-json": "weights no-shift/train.csv no-shift/deploy.csv --json --out none.csv --lam 1",
    "predict": "predict binary/out/model.skops binary/deploy.csv --out predictions.csv",
    "predict-classes": "predict three-classes/out/model.skops three-classes/deploy.csv"
    " --out three.csv",
    "predict-json": "predict regression/out/model.skops regression/deploy.csv --json --out n.csv",
    "predict-own": "predict own-model/out/model.skops own-model/deploy.csv --out own.csv",
    "report": "report binary/out/result.json --out again.html",
    "report-of-page": "report three-classes/out/report.html --out second.html --plain",
    "explain": "explain WB301",
    "explain-json": "explain WB303 --json",
    "demo": "demo --out demo",
    "fails-command": "adpt binary/train.csv binary/deploy.csv",
    "fails-option": "adapt binary/train.csv binary/deploy.csv --label y --ratios ulsif",
    "fails-no-label": "adapt binary/train.csv binary/deploy.csv",
    "fails-label": "adapt binary/train.csv binary/deploy.csv --label yy",
    "fails-file": "adapt binary/trian.csv binary/deploy.csv --label y --json",
    "fails-columns": "adapt binary/train.csv categories/deploy.csv --label y",
    "adapt-same-rows": "adapt binary/train.csv binary/train.csv --label y --out same",
    "fails-one-class": "adapt bad/one-class.csv binary/deploy.csv --label y",
    "fails-few-rows": "diagnose binary/train.csv bad/few.csv",
    "fails-ragged": "diagnose binary/train.csv bad/ragged.csv",
    "fails-cell": "weights binary/train.csv bad/infinite.csv --label y",
    "fails-model": "adapt binary/train.csv binary/deploy.csv --label y --model liner",
    "fails-own-model": "adapt binary/train.csv binary/deploy.csv --label y"
    " --model own_model:broken",
    "fails-ratio": "adapt binary/train.csv binary/deploy.csv --label y --ratio ulsi --alpha inf",
    "fails-foreign-file": "weights binary/train.csv binary/deploy.csv --out own_model.py",
    "fails-predict": "predict binary/out/model.skops categories/deploy.csv",
    "fails-report": "report binary/train.csv",
    "fails-explain": "explain WB999",
}
PAGES = {"diagnose-page": "shift.html", "report": "again.html", "report-of-page": "second.html"}
PAGES |= {"demo": "demo/report.html"}
TABLES = {"weights": "weights.csv", "predict": "predictions.csv", "predict-classes": "three.csv"}
TABLES |= {"predict-json": "n.csv", "predict-own": "own.csv", "weights-json": "none.csv"}
RESULTS = {"demo": "demo/result.json"}


def write_bad_tables(folder: Path) -> None:
    """Write tables that cannot be used, made from those of the problem `binary`."""
    (folder / "bad").mkdir()
    table = pd.read_csv(folder / "binary/train.csv")
    table.assign(y=1).to_csv(folder / "bad/one-class.csv", index=False)
    table[:5].to_csv(folder / "bad/few.csv", index=False)
    table.assign(age=table["age"].replace(table["age"][3], np.inf)).to_csv(
        folder / "bad/infinite.csv", index=False
    )
    (folder / "bad/ragged.csv").write_text(table.to_csv(index=False) + "1,2\n")
