"""Print, as one JSON object of texts, what the library shows: names, numbers, codes, imports."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import io
import json
import pkgutil
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import weighbridge as wb

Entries = dict[str, Callable[[], Any]]


def public_modules() -> list[str]:
    """Return the package and its sub-packages whose names do not begin with an underscore."""
    found = pkgutil.iter_modules(wb.__path__, "weighbridge.")
    return ["weighbridge"] + [each.name for each in found if "._" not in each.name]


def signature(member: Any) -> str:
    """Return the signature of a member, without addresses and private modules."""
    try:
        text = str(inspect.signature(member))
    except (TypeError, ValueError):
        return ""
    return re.sub(r" at 0x[0-9a-f]+|\bweighbridge(\.\w+)*\._\w+\.", "", text)


def members(cls: type) -> Iterator[str]:
    """Yield a line for each public member of a class that weighbridge defines."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("weighbridge")]
    others = [base.__name__ for base in cls.__mro__[:-1] if base not in ours]
    yield f"bases: {', '.join(others)}"
    if dataclasses.is_dataclass(cls):
        yield f"fields: {', '.join(each.name for each in dataclasses.fields(cls))}"
    for name in sorted({name for base in ours for name in vars(base) if not name.startswith("_")}):
        static = inspect.getattr_static(cls, name)
        kind = static if isinstance(static, property | classmethod | staticmethod) else None
        shown = "" if isinstance(static, property) else signature(getattr(cls, name, None))
        yield f".{name}{shown} {type(kind).__name__ if kind else ''}".rstrip()


def signatures() -> str:
    """Return every public name with its signature and members."""
    lines = []
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        for name in sorted(getattr(module, "__all__", ())):
            value = getattr(module, name)
            lines.append(f"{module_name}.{name}{signature(value)}")
            if inspect.isclass(value):
                lines += [f"    {line}" for line in members(value)]
    return "\n".join(lines)


def explanations() -> str:
    """Return what `weighbridge explain` says of every code there is."""
    from weighbridge.cli import main

    texts = []
    for code in range(100, 1000):
        sys.argv = ["weighbridge", "explain", f"WB{code}"]
        said, unsaid = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(unsaid):
            try:
                main()
            except SystemExit as end:
                known = not end.code
            else:
                known = True
        texts += [said.getvalue()] if known else []
    return "\n".join(texts)


def plain(value: Any) -> Any:
    """Return numbers and texts that JSON can hold, without what differs from run to run."""
    if hasattr(value, "to_dict") and not hasattr(value, "columns"):
        value = value.to_dict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if not each.name.startswith("_")]
        value = {name: getattr(value, name) for name in names}
    if isinstance(value, dict):
        return {
            str(k): "TIME" if k in ("seconds", "timing") else plain(v) for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def fitted(model: Any) -> list[str]:
    """Return the names of what a fit leaves behind."""
    return sorted(name for name in vars(model) if name.endswith("_") and name[0] != "_")


def make_problem() -> SimpleNamespace:
    """Return a small problem of regression and classification, with its estimated ratio."""
    rng = np.random.default_rng(16)
    X, X_target = rng.normal(size=(160, 3)), rng.normal([0.7, -0.3, 0], [0.8, 1, 1], (120, 3))
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(0, 0.3, 160)
    ratio = FrozenEstimator(wb.fit_ratio(X, X_target, wb.ratios.GaussianRatio()))
    log_ratio = ratio.score_samples(X)
    return SimpleNamespace(
        X=X, X_target=X_target, y=y, c=(y > 0.8).astype(int), three=np.digitize(y, [0, 1.5]),
        ratio=ratio, log_ratio=log_ratio, log_ratio_target=ratio.score_samples(X_target),
        weights=np.exp(log_ratio - log_ratio.max()), own=rng.uniform(0.5, 2, 160),
    )  # fmt: skip


def ratio_entries(p: SimpleNamespace) -> Entries:
    """Return the log ratios of every way to estimate them."""
    r, blocks = wb.ratios, wb.blocks
    made = [r.AutoRatio(), r.ClassifierRatio(), r.ClassifierRatio(LogisticRegression(C=0.3), cv=3)]
    made += [r.ULSIF(), r.ULSIF(0.5), r.KLIEP(), r.KMM(), r.GaussianRatio(shared=True)]
    made += [r.NearestNeighbourRatio(), r.ClassifierRatio(calibration="isotonic")]

    def scored(ratio: Any) -> Any:
        fit = wb.fit_ratio(p.X, p.X_target, ratio)
        return [fit.score_samples(p.X), fit.score_samples(p.X_target), fitted(fit)]

    def in_blocks(ratio: Any) -> Any:
        here, there = blocks.from_array(p.X, 50), blocks.from_array(p.X_target, 50)
        return wb.fit_ratio(here, there, ratio).score_samples(p.X)

    entries: Entries = {str(each): lambda each=each: scored(each) for each in made}
    entries |= {f"blocks {each}": lambda each=each: in_blocks(each) for each in (made[1], made[7])}
    entries["table"] = lambda: wb.fit_ratio(p.X, p.X_target).table_
    entries["known"] = lambda: r.KnownRatio(lambda X: X[:, 0]).score_samples(p.X)
    entries["proba"] = lambda: [p.ratio.predict_proba(p.X), p.ratio.score(p.X, p.c)]
    return entries


def estimator_entries(p: SimpleNamespace) -> Entries:
    """Return weights and predictions of the estimators."""
    one, geodesic = wb.ImportanceWeighted, wb.Geodesic
    tuned = partial(wb.ImportanceWeightedCV, random_state=0)
    line, logistic = LinearRegression(), LogisticRegression()
    forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    m, known = wb.model_selection, p.ratio
    rules = [m.LeaveOneOut(), m.CrossValidation(3, random_state=0), m.HoldOut(random_state=0)]
    rules += [
        m.InformationCriterion(),
        m.CrossValidation(3, validation=m.Tempered(), random_state=0),
    ]
    searches = [m.GridSearch(5, 2), m.BayesianSearch(8)]

    def fit(model: Any, y: Any, **more: Any) -> Any:
        if model.ratio is not known:
            more = {"X_target": p.X_target} | more
        model.fit(p.X, y, **more)
        shown = [model.predict(p.X_target), model.weights_, model.ess_, fitted(model)]
        return [*shown, getattr(model, "search_result_", None), getattr(model, "overlap_", None)]

    entries: Entries = {
        "weighted line": lambda: fit(one(line, known, weighting=geodesic(0.6, 2)), p.y),
        "weighted classes": lambda: fit(one(logistic, wb.ratios.ULSIF()), p.three),
        "own weights": lambda: fit(one(line, known), p.y, sample_weight=p.own),
        "tuned line": lambda: fit(tuned(line), p.y),
        "tuned ridge, own weights": lambda: fit(tuned(Ridge(2.0)), p.y, sample_weight=p.own),
        "tuned classes": lambda: fit(tuned(logistic, known), p.three),
        "tuned forest": lambda: fit(tuned(forest, known, search=searches[0]), p.y),
        "tuned far away": lambda: fit(tuned(line), p.y, X_target=p.X_target + 2.5),
        "argmin": lambda: fit(tuned(line, known, answer="argmin"), p.y),
        "scorer": lambda: wb.iw_scorer("neg_mean_squared_error", known)(
            line.fit(p.X, p.y), p.X, p.y
        ),
    }
    for model, y in ((line, p.y), (logistic, p.c)):
        for rule in rules:
            entries[f"{model} {rule}"] = lambda model=model, y=y, rule=rule: [
                each(rule.objective(model, p.X, y, p.log_ratio, random_state=0))
                for each in searches[: 1 + (rule is rules[1])]
            ]
    goal = rules[0].objective(line, p.X, p.y, p.log_ratio)
    entries |= {str(each): lambda each=each: each(goal) for each in searches}
    return entries


def diagnostic_entries(p: SimpleNamespace) -> Entries:
    """Return the tables of the diagnosis, the risks, the verdicts and the prediction sets."""
    d, two = wb.diagnosis, (p.X, p.X_target)
    labelled = (p.X, p.y, p.X_target)
    line, more = LinearRegression(), {"ratio": p.ratio, "random_state": 0}
    model = wb.ImportanceWeighted(line, p.ratio, weighting=wb.Geodesic(0.5)).fit(p.X, p.y)
    of_weights = ("effective_sample_size", "pareto_k")
    regressor = wb.conformal.ConformalRegressor(line, p.ratio, random_state=0)
    classifier = wb.conformal.ConformalClassifier(LogisticRegression(), p.ratio, random_state=0)
    judge = {"n_rows": 500, "tail_index": 0.2, "outside": 0.0, "n_parameters": 5}
    entries: Entries = {name: lambda name=name: getattr(d, name)(p.weights) for name in of_weights}
    entries |= {
        "summary": lambda: d.summarize_weights(p.weights),
        "balance": lambda: d.balance_table(*two, p.weights),
        "overlap": lambda: [wb.ratios.judge_overlap(worth=w, **judge) for w in (2, 8, 30, 200)],
        "diagnose ratio": lambda: wb.diagnose(p.ratio, *two),
        "diagnose model": lambda: wb.diagnose(model, *two, y=p.y),
        "diagnose text": lambda: str(wb.diagnose(model, *two)),
        "risk": lambda: wb.target_risk.estimate_risk(line, *labelled, **more),
        "risks": lambda: wb.target_risk.compare_risks(line, model, *labelled, **more),
        "assess": lambda: wb.assess(line, *labelled, **more),
        "assess text": lambda: str(wb.assess(LogisticRegression(), p.X, p.c, p.X_target, **more)),
        "intervals": lambda: regressor.fit(p.X, p.y).predict_interval(p.X_target),
        "interval report": lambda: regressor.fit(p.X, p.y).report(p.X_target),
        "sets": lambda: classifier.fit(p.X, p.three).predict_set(p.X_target),
        "set report": lambda: classifier.fit(p.X, p.three).report(p.X_target),
        "html": lambda: wb.assess(line, *labelled, **more)._repr_html_(),
    }
    return entries


def picture_entries(p: SimpleNamespace) -> Entries:
    """Return the numbers behind the pictures."""
    g, table = wb.plotting, wb.diagnosis.balance_table(p.X, p.X_target, p.weights)
    verdict = wb.assess(LinearRegression(), p.X, p.y, p.X_target, ratio=p.ratio, random_state=0)
    tuned = wb.ImportanceWeightedCV(LinearRegression(), p.ratio, random_state=0).fit(p.X, p.y)
    surface = (tuned.search_result_, tuned.log_ratio_, (0.5, 1.0))
    risk, shift = g.RiskDisplay.from_verdict, g.ShiftDisplay.from_samples
    return {
        "forest": lambda: g.compute_forest(verdict),
        "love": lambda: g.compute_love(table),
        "feature": lambda: g.compute_feature_histogram(p.X[:, 0], p.X_target[:, 0], p.weights),
        "overlap": lambda: g.compute_overlap(p.log_ratio, p.log_ratio_target),
        "weights": lambda: g.compute_weight_histogram(p.weights),
        "lorenz": lambda: g.compute_lorenz(p.weights),
        "surface": lambda: g.compute_surface(*surface),
        "reliability": lambda: g.compute_reliability(np.linspace(0.02, 0.98, 160), p.c),
        "half plane": lambda: g.compute_half_plane((0, 1), (2, 0.5), n_points=7),
        "risk table": lambda: dict(risk(verdict).table()),
        "shift table": lambda: dict(shift(p.X, p.X_target).table()),
        "weight table": lambda: dict(g.WeightDisplay.from_weights(p.weights).table()),
        "overlap table": lambda: dict(
            g.OverlapDisplay.from_ratio(p.ratio, p.X, p.X_target).table()
        ),
    }


def geometry_entries(p: SimpleNamespace) -> Entries:
    """Return the geometry of weights and of exponential families, and the guarantees."""
    m, g, b, family = wb.manifolds, wb.geodesic, wb.guarantees, wb.manifolds.Normal()
    ends = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    gamma = m.Gamma()
    path = gamma.theta(shape=2, rate=1), gamma.theta(shape=3, rate=2.5)
    z = np.linspace(-3, 3, 13)
    of_pairs = ("fisher_rao_distance", "kullback_leibler", "d2", "bhattacharyya")
    derived = ("log_weight", "log_weight_d_log_ratio", "log_weight_d_lam", "log_weight_d_alpha")
    lengths = ("path_length", "excess_length")
    entries: Entries = {
        name: lambda name=name: getattr(m, name)(family, *ends) for name in of_pairs
    }
    entries |= {name: lambda name=name: getattr(g, name)(z, 0.6, 2.2) for name in derived}
    entries |= {name: lambda name=name: getattr(g, name)(p.log_ratio, 2.2) for name in lengths}
    entries |= {
        "speed": lambda: g.fisher_speed(p.log_ratio, 0.4, 2.0),
        "remaining": lambda: g.remaining_length(p.log_ratio, 0.4, 2.0),
        "geodesics": lambda: [m.geodesic(gamma, *path, a, [0.25, 0.5]) for a in (-1, 0, 1, 3)],
        "velocity": lambda: m.geodesic_velocity(gamma, *path, 0.5, [0.0, 1.0]),
        "divergences": lambda: [m.divergence(gamma, *path, a) for a in (-1, 0, 1, 3)],
        "renyi": lambda: m.renyi_divergence(family, *ends, 0.5),
        "curvature": lambda: [gamma.scalar_curvature(path[0], 0), gamma.ricci(path[0], 0.5)],
        "bias": lambda: m.geometric_bias(gamma, *path, 0.5, 2.0),
        "projected": lambda: m.projected_curve(family, *ends, [0.3, 0.7], 2.0),
        "wide": lambda: m.MultivariateNormal(2).metric(np.array([0.1, 0.2, -0.5, 0.1, -0.7])),
        "bound": lambda: b.learning_bound(
            p.log_ratio, wb.weighting.RIWERM(0.5), pseudo_dimension=3
        ),
        "bernstein": lambda: b.bernstein_bound(p.log_ratio, wb.weighting.RIWERM(0.8)),
        "second moment": lambda: b.second_moment_bound(wb.Geodesic(0.5, 3), d2=5.0),
        "d2 of ratios": lambda: b.d2_from_ratios(p.log_ratio),
        "mean one": lambda: wb.Geodesic(0.5, 3).weights(z),
    }
    return entries


def data_entries(p: SimpleNamespace) -> Entries:
    """Return data sets, blocks, and results in Python."""
    d = wb.datasets
    clinic = d.make_clinic(150, 100, random_state=0)
    bunch = {"random_state": 0}
    made = {"line": d.make_quadratic(60, 50, **bunch), "cubic": d.make_cubic(60, 50, **bunch)}
    made |= {"gaussian": d.make_gaussian_shift(60, 50, n_features=2, **bunch)}
    made |= {"split": d.split_by_projection(p.X, p.y, **bunch)}
    train, deploy = clinic.X.assign(readmitted=clinic.y), clinic.X_target
    rows = wb.blocks.from_array(clinic.X, 50)

    def adapted() -> Any:
        result = wb.adapt(train, deploy, label="readmitted", ratio="gaussian")
        numbers = [result.weights, result.log_ratio, result.model.predict_proba(deploy)]
        return [*numbers, str(result), sorted(result.timing), sorted(result.pictures.to_dict())]

    entries: Entries = {
        name: lambda each=each: (
            {k: each[k] for k in ("X", "y", "X_target")} | {"keys": sorted(each)}
        )
        for name, each in made.items()
    }
    entries |= {
        "clinic": lambda: {name: clinic.X[name].tolist() for name in clinic.X},
        "limits": lambda: [made["line"].problem.limit(lam=each) for each in (0, 0.5, 1)],
        "names": d.benchmark_names,
        "rows": lambda: [rows.shape, rows.first(3), rows.select(["age", "bmi"]).first(2)],
        "adapt": adapted,
    }
    return entries


def numbers(part: Callable[[SimpleNamespace], Entries]) -> str:
    """Compute what is listed; what fails is an answer too."""
    found = {}
    for name, compute in part(make_problem()).items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found[name] = plain(compute())
            except Exception as error:  # noqa: BLE001
                found[name] = f"{type(error).__name__}: {error}"
        found[f"{name}, warned"] = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return json.dumps({name: value for name, value in found.items() if value != []}, indent=1)


PARTS = (ratio_entries, estimator_entries, diagnostic_entries)
PARTS += (picture_entries, geometry_entries, data_entries)


def main() -> None:
    """Print everything."""
    found = {"signatures.txt": signatures(), "explain.txt": explanations()}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(Path(folder)):
        for part in PARTS:
            name = part.__name__.removesuffix("_entries")
            found[f"numbers/{name}.json"] = numbers(part)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
