"""The parts of a made-up result: inputs, answers, candidates, and the numbers behind pictures."""

import copy

import numpy as np
from scipy.stats import norm

from weighbridge.model_selection import Evaluation, Point, SearchResult
from weighbridge.pictures import compute_surface

WEIGHTINGS = {
    "full": (1.0, None),
    "power": (0.85, 1.0),
    "relative": (0.9, 3.0),
    "tuned": (0.95, 2.5),
}
LITERATURE = ("ERM", "IWERM", "AIWERM", "RIWERM", "IGIWERM")


def inputs(names, classes):
    def file(name, rows):
        return {"file": name, "rows": rows, "sampled": rows, "sha256": "0" * 64}

    return {
        "train": file("train.csv", 4000),
        "deploy": file("deploy.csv", 2000),
        "label": "readmitted",
        "task": "classification",
        "classes": list(classes),
        "features": [
            {"name": each, "kind": "category" if k % 3 == 2 else "numeric", "missing": [0.0, 0.1]}
            for k, each in enumerate(names)
        ],
        "dropped": [],
    }


def settings():
    return {
        "seed": 0,
        "model": "linear",
        "models": ["linear"],
        "metric": "error",
        "criterion": "gain 0.0213 of 0.241, standard error 0.0037: enough",
        "ratio": "auto",
        "confidence": 0.95,
        "jobs": 1,
        "lam": None,
        "alpha": None,
    }


def answers(names):
    most = ", ".join(names[:3])
    asked = {
        "shift": ("strong", f"AUC 0.79 [0.78, 0.81]; most in {most}", f"Look at {names[0]} first."),
        "matters": (
            "yes",
            "unweighted: 35.1 % in training, 40.1 % in deployment (+5.0 [+1.1, +8.9])",
            "Do not trust the training error; plan with the one in deployment.",
        ),
        "overlap": (
            "enough",
            "full ratio: 712 effective rows of 4,000",
            "They represent deployment.",
        ),
        "weighting": ("helps", "−4.8 points [−7.1, −2.5]", "Use the tuned weighting."),
        "expect": ("35.3 %", "[31.5 %, 39.1 %]", "Plan with the interval, not with the number."),
    }
    parts = ("word", "evidence", "advice")
    roles = {"matters": "caution", "overlap": "good", "weighting": "good"}
    return [
        {
            "question": question,
            **dict(zip(parts, given, strict=True)),
            "role": roles.get(question, "neutral"),
        }
        for question, given in asked.items()
    ]


def answer(result, question, word, evidence, role="neutral"):
    found = next(each for each in result["answers"] if each["question"] == question)
    advice = "What to do is said in the section below."
    found.update(word=word, evidence=evidence, advice=advice, role=role)


def finding(code, level, message):
    return {"code": code, "level": level, "message": message, "help": "Look at the section above."}


def model(result):
    parts = ("training", "candidates")
    found = {part: copy.deepcopy(result["expect"][part]) for part in parts}
    return {"sentence": result["verdict"]["sentence"], "use": "tuned", **found}


def candidates(errors, half=0.038):
    found = []
    for k, name in enumerate(["none", *WEIGHTINGS]):
        lam, alpha = WEIGHTINGS.get(name, (0.0, None))
        change = None if k == 0 else estimate(errors[k] - errors[0], 0.6 * half)
        found.append(
            {
                "name": name,
                "literature": LITERATURE[k],
                "lam": lam,
                "alpha": alpha,
                "error": estimate(errors[k], half),
                "change": change,
                "state": "good",
                "worth": 4000.0 if k == 0 else 712.0 + 200 * k,
            }
        )
    return found


def constant(error, change, half=0.038):
    """Return the row of a guess that looks at no feature."""
    return {
        "name": "constant",
        "literature": "most frequent class",
        "lam": None,
        "alpha": None,
        "error": estimate(error, half),
        "change": estimate(change, 0.6 * half),
        "state": "good",
        "worth": 4000.0,
        "same_as": None,
    }


def estimate(value, half):
    return {"value": float(value), "low": float(value - half), "high": float(value + half)}


def differences(names):
    """Return signed differences that fall off from 0.87, so that the first features moved most."""
    sizes = 0.87 * 0.8 ** np.arange(len(names))
    return [float(size * (-1) ** k) for k, size in enumerate(sizes)]


def shift(names):
    before = differences(names)
    return {
        "word": "strong",
        "auc": estimate(0.795, 0.013),
        "auc_after": estimate(0.52, 0.03),
        "attribution": [
            {"name": name, "fall": 0.1 / (k + 1), "standard_error": 0.007, "alone": 0.7}
            for k, name in enumerate(names)
        ],
        "features": [
            {"name": name, "before": each, "after": 0.15 * each}
            for name, each in zip(names, before, strict=True)
        ],
        "balance": {"denominator": "pooled", "rows": []},
    }


def overlap(word, reason, full, used):
    return {
        "word": word,
        "reason": reason,
        "n_source": 4000,
        "n_target": 2000,
        "worth_full": full,
        "worth_used": used,
        "tail_index": 0.41,
        "outside": 0.0225,
        "largest_share": 0.0025,
    }


def pictures(names):
    before = differences(names)
    kept = {"full": 0.05, "power": 0.2, "relative": 0.3, "tuned": 0.15}
    return {
        "balance": [
            {
                "name": name,
                "kind": "level" if k % 3 == 2 else "number",
                "mean_source": 0.4 if k % 3 == 2 else 38.0 * 10 ** (k % 6),
                "mean_target": 0.6 if k % 3 == 2 else 49.2 * 10 ** (k % 6),
                "before": before[k],
                "after": {each: share * before[k] for each, share in kept.items()},
            }
            for k, name in enumerate(names[:400])
        ],
        "features": [histogram(name, k, kept) for k, name in enumerate(names[:6])],
        "overlap": log_ratios(),
        "weights": {name: weights(k) for k, name in enumerate(WEIGHTINGS)},
        "bridge": bridge(),
        "reliability": reliability(),
    }


def histogram(name, k, kept):
    """Return a feature: every third one has values, and every second one lacks some."""
    n_values = 4 + 5 * (k == 5)
    edges = np.linspace(0, 10.0 ** (k + 1), 26)
    middle = np.linspace(-3, 3, n_values if k % 3 == 2 else 25)

    # shares of values, densities of bins
    width = 1.0 if k % 3 == 2 else edges[1] - edges[0]

    def shape(mean):
        found = np.exp(-((middle - mean) ** 2) / 2)
        return found / found.sum() / width

    missing = 0.03 * (k % 2)
    return {
        "name": name,
        "values": [f"level {j}" for j in range(n_values)] if k % 3 == 2 else None,
        "edges": None if k % 3 == 2 else edges.tolist(),
        "training": shape(-0.5).tolist(),
        "deployment": shape(0.5).tolist(),
        "weighted": {each: shape(0.5 - share).tolist() for each, share in kept.items()},
        "missing": {
            "training": missing,
            "deployment": 2 * missing,
            "weighted": dict.fromkeys(kept, 1.5 * missing),
        },
    }


def log_ratios():
    edges = np.linspace(-3, 4, 36)
    middle = (edges[1:] + edges[:-1]) / 2
    training, deployment = np.exp(-((middle + 0.7) ** 2)), np.exp(-((middle - 0.7) ** 2) / 1.5)
    return {
        "edges": edges.tolist(),
        "training": (training / training.sum()).tolist(),
        "deployment": (deployment / deployment.sum()).tolist(),
        "limit": 2.8,
        "beyond": 0.0225,
        "n_beyond": 45,
    }


def weights(k):
    edges = 2.0 ** np.arange(-6, 5 - k)
    counts = np.exp(-((np.log2(edges[1:]) + 0.5) ** 2) / 4)
    rows = np.linspace(0, 1, 40)
    return {
        "edges": edges.tolist(),
        "counts": np.rint(4000 * counts / counts.sum()).astype(int).tolist(),
        "n_below": 7,
        "rows": rows.tolist(),
        "weight": (1 - (1 - rows) ** (4 - 0.5 * k)).tolist(),
        "half": 0.16 + 0.02 * k,
        "largest": float(edges[-1]) * 0.9,
        "bound": float(edges[-1]) if k > 1 else None,
        "worth": 712.0 + 200 * k,
    }


def bridge(*, grid=False):
    """Return the map of the four default weightings or of a grid, for a smooth loss."""
    lam, alpha = np.array([[0.0, 1.0, 0.5, 0.5], [1.0, 1.0, 1.0, 3.0]])
    if grid:
        axes = np.meshgrid(np.linspace(0, 1, 21), np.linspace(1, 3, 5))
        lam, alpha = (axis.ravel() for axis in axes)
    loss = 0.241 - 0.021 * (1 - (1 - lam) ** 2) - 0.01 * lam * (1 - lam) * alpha
    # the nearer two weightings, the more of their noise is shared
    noise = 0.04 * np.sin(np.arange(200.0))
    tried = tuple(
        Evaluation(Point(*each), value + (1 + 5 * each[0]) * (noise - noise.mean()))
        for *each, value in zip(lam.tolist(), alpha.tolist(), loss, strict=True)
    )
    best = tried[int(np.argmin(loss))].point
    log_ratio = norm.ppf((np.arange(400) + 0.5) / 400) - 0.5
    name = "squared error of probabilities"
    found = compute_surface(SearchResult(tried, np.ones(200)), log_ratio, best, loss_name=name)
    return found.to_dict()


def reliability():
    predicted = np.linspace(0.02, 0.98, 12)
    observed = np.clip(predicted + 0.03 * np.sin(6 * predicted), 0, 1)
    return {
        "predicted": predicted.tolist(),
        "observed": observed.tolist(),
        "low": np.clip(observed - 0.06, 0, 1).tolist(),
        "high": np.clip(observed + 0.06, 0, 1).tolist(),
        "largest_gap": 0.03,
    }
