"""Results of every kind that a page is drawn for, most of them made of plain numbers.

These are quick, and show what a run on small tables does not; their shape is that of
``result.json``. Text from data may be anything, so one result has names that would do harm in a
page that trusted them.
"""

from real_results import REAL
from result_parts import (
    answer,
    answers,
    bridge,
    candidates,
    constant,
    finding,
    inputs,
    model,
    overlap,
    pictures,
    settings,
    shift,
)

NAMES = ("age", "income", "visits", "sys_bp", "bmi", "site", "smoker", "insured")
# Each would run, break out of its place, or turn the text behind it, if it were not escaped.
HOSTILE = (
    "<script>window.harmed = 1</script>",
    '"><img src=x onerror="window.harmed = 2">',
    "'); window.harmed = 3; ('",
    "</script><svg onload=window.harmed=4>",
    "<!--<script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eright to left \u05d0\u05d1\u05d2",
    "🌊 waves & “quotes”",
    '=HYPERLINK("http://example.org")',
    "a" * 200,
    "line\nbreak\u2028and \x00 nul",
    "javascript:window.harmed=5",
)


def helps(names=NAMES, classes=("0", "1")):
    """Return a result where weighting helps."""
    return {
        "schema": "weighbridge/1",
        "version": "0.1.0",
        "command": "adapt",
        "date": "2026-01-01",
        "versions": {"python": "3.11.0", "weighbridge": "0.1.0", "numpy": "2.0.0"},
        "inputs": inputs(names, classes),
        "settings": settings(),
        "verdict": {
            "sentence": "Weighting helps: expected error 40.1 % → 35.3 %",
            "use": "tuned",
            "shift": "strong",
            "matters": "yes",
            "overlap": "enough",
            "weighting": "helps",
        },
        "answers": answers(names),
        "shift": shift(names),
        "overlap": overlap("enough", "", 712.0, 1557.0),
        "expect": {
            "measure": "error",
            "confidence": 0.95,
            "training": 0.351,
            "candidates": candidates([0.401, 0.341, 0.366, 0.36, 0.353]),
            "constant": constant(0.453, 0.052),
            "worthwhile": 0.00802,
            "actual": None,
            "withheld": None,
            "models": [],
        },
        "findings": [
            finding("WB501", "note", "tuned cannot be told apart from full on these data."),
            finding("WB304", "warning", "2 % of the deployment rows lie outside."),
        ],
        "files": {"model": "weighbridge-out/model.skops", "report": "weighbridge-out/report.html"},
        "timing": {"read": 0.1, "shift": 0.8, "bridge": 2.0, "verify": 5.1, "write": 0.1},
        "failure": None,
        "pictures": pictures(names),
    }


def probably():
    """Return one where the interval of the change reaches zero, and that names left-out columns."""
    result = helps()
    result["verdict"]["sentence"] = (
        "Weighting probably helps: expected error 40.1 % → 38.9 %, change −1.2 points [−3.5, +1.1]"
    )
    result["expect"]["candidates"] = candidates([0.401, 0.395, 0.393, 0.391, 0.389])
    answer(result, "weighting", "probably helps", "−1.2 points [−3.5, +1.1]")
    result["verdict"]["weighting"] = "probably helps"
    answer(result, "expect", "38.9 %", "[35.1 %, 42.7 %]")
    result["inputs"]["dropped"] = [
        {"name": f"column_{k}", "code": "WB115", "reason": "the same everywhere"} for k in range(9)
    ]
    return result


def demo():
    """Return one whose deployment labels are known, and whose weighting is one of a grid."""
    result = helps()
    result["command"] = "demo"
    result["verdict"]["sentence"] = (
        "Weighting helps: actual error 40.5 % → 36.0 % [34.0 %, 38.0 %], expected 35.3 %"
    )
    _know(result, (0.405, 0.36, 0.365, 0.37, 0.36))
    result["expect"]["metrics"] = metrics({"value": 0.71, "low": 0.66, "high": 0.76}, 0.7)
    result["pictures"]["bridge"] = bridge(grid=True)
    return result


def metrics(expected, actual):
    """Return an AUC of the unweighted model and the tuned one."""
    numbers = {"training": 0.8, "expected": expected, "actual": actual}
    candidates = [{"name": name, "state": "flagged", **numbers} for name in ("none", "tuned")]
    return [{"name": "auc", "measure": "AUC (one vs rest)", "candidates": candidates}]


def changed():
    """Return one where known labels say that the relation has changed."""
    result = helps()
    result["verdict"]["sentence"] = (
        "The relation has changed: actual error 47.0 % [45.0 %, 49.0 %], expected 35.3 %"
    )
    _know(result, (0.41, 0.43, 0.44, 0.45, 0.47), "stop")
    result["findings"].insert(0, finding("WB604", "warning", "The actual error is far off."))
    return result


def _know(result, truths, role="neutral"):
    """Put actual errors in, one for each weighting."""
    ends = [{"value": each, "low": each - 0.02, "high": each + 0.02} for each in truths]
    names = [each["name"] for each in result["expect"]["candidates"]]
    actual = {name: {**each, "rows": 2000} for name, each in zip(names, ends, strict=True)}
    result["expect"]["actual"] = actual
    told = f"[{100 * ends[-1]['low']:.1f} %, {100 * ends[-1]['high']:.1f} %] actual"
    evidence = f"{told}, 2,000 labelled rows; expected 35.3 % [31.5 %, 39.1 %]"
    answer(result, "expect", f"{100 * truths[-1]:.1f} %", evidence, role)


def no_gain():
    """Return one where the unweighted model is as good."""
    result = helps()
    result["verdict"].update(
        sentence="Keep the unweighted model: expected error 12.1 % [11.2 %, 13.0 %]",
        use="none",
        shift="slight",
        matters="no",
        weighting="no gain",
    )
    result["expect"]["candidates"] = candidates([0.121, 0.122, 0.121, 0.12, 0.12], 0.009)
    result["expect"]["training"] = 0.12
    answer(result, "shift", "slight", "AUC 0.57 [0.55, 0.59]; most in age")
    told = "unweighted: 12.0 % in training, 12.1 % in deployment (+0.1 [−0.1, +0.2])"
    answer(result, "matters", "no", told, "good")
    answer(result, "weighting", "no gain", "−0.1 points [−0.6, +0.4]", "caution")
    answer(result, "expect", "12.1 %", "[11.2 %, 13.0 %]")
    result["findings"] = [finding("WB504", "note", "Weighting does not make the model better.")]
    return result


def no_shift():
    """Return one where the files do not differ, so that nothing was searched for."""
    result = no_gain()
    result["verdict"].update(
        sentence="No shift found: expect about the training error, 12.1 %", shift="none"
    )
    result["shift"]["word"] = "none"
    result["shift"]["auc"] = {"value": 0.501, "low": 0.486, "high": 0.516}
    result["shift"]["auc_after"] = None
    result["expect"]["candidates"] = result["expect"]["candidates"][:1]
    answer(result, "shift", "none", "AUC 0.50 [0.49, 0.52]")
    answer(result, "weighting", "no gain", "nothing to weight for")
    pictures = result["pictures"]
    pictures["bridge"] = None
    pictures["weights"] = {"full": pictures["weights"]["full"]}
    for row in pictures["balance"]:
        row.update(before=0.02 * row["before"], after={"full": 0.0})
    for each in pictures["features"]:
        each["weighted"] = {"full": each["weighted"]["full"]}
    result["findings"] = []
    return result


def thin():
    """Return one whose figures are rough."""
    result = helps()
    result["verdict"].update(
        sentence="Label some deployment rows: with thin overlap the expected error of 35.3 % is a "
        "rough figure",
        overlap="thin",
    )
    reason = "the full ratio is worth 38 of 4,000 rows, fewer than 10 for each parameter"
    result["overlap"] = overlap("thin", reason, 38.0, 64.0)
    for each in result["expect"]["candidates"]:
        each["state"] = "flagged"
    answer(result, "overlap", "thin", reason, "caution")
    answer(result, "expect", "35.3 %", "[31.5 %, 39.1 %], rough", "caution")
    result["findings"].insert(0, finding("WB301", "warning", "The overlap is thin."))
    return result


def broken():
    """Return one where nothing can be said about the deployment."""
    result = thin()
    result["verdict"].update(
        sentence="The files hardly overlap: no estimate for deployment",
        use="none",
        shift="almost complete",
        matters="unknown",
        overlap="broken",
        weighting="unknown",
    )
    result["shift"]["word"] = "almost complete"
    reason = "71 % of the deployment rows lie outside the training data"
    result["overlap"] = overlap("broken", reason, 6.0, 6.0) | {"outside": 0.71}
    result["expect"]["withheld"] = "WB302"
    error = {"value": 0.121, "low": 0.093, "high": 0.149}
    result["expect"]["covered"] = {"share": 0.29, "error": error, "state": "good"}
    plan = {"within": [0.05, 0.1], "relative": False, "rows": [338, 85], "chosen": 338}
    result["expect"]["to_label"] = plan
    result["files"]["labels"] = "weighbridge-out/label_these.csv"
    for each in result["expect"]["candidates"]:
        each.update(error=None, change=None, state="withheld")
    answer(result, "shift", "almost complete", "AUC 0.99 [0.98, 0.99]; most in age")
    answer(result, "overlap", "broken", reason, "stop")
    for question in ("matters", "weighting", "expect"):
        answer(result, question, "unknown", "withheld: see the overlap (WB302)")
    result["expect"]["constant"] = None
    pictures = result["pictures"]
    pictures["bridge"] = None
    pictures["overlap"].update(limit=1.0, beyond=0.71, n_beyond=1420)
    result["findings"].insert(0, finding("WB302", "error", reason + "."))
    result["expect"]["metrics"] = metrics(None, None)
    return result


def two_features():
    """Return one with two features."""
    return helps(("x", "y"))


def five_hundred_features():
    """Return one with 500 features."""
    return helps(tuple(f"sensor_{k:03d}" for k in range(500)))


def hostile():
    """Return one whose names, levels, classes and files mean harm."""
    result = helps(HOSTILE, classes=HOSTILE[:2])
    inputs = result["inputs"]
    inputs["label"], inputs["train"]["file"], inputs["deploy"]["file"] = HOSTILE[3:6]
    inputs["dropped"] = [{"name": each, "code": "WB115", "reason": each} for each in HOSTILE[:3]]
    for histogram in result["pictures"]["features"]:
        if histogram["values"] is not None:
            histogram["values"] = list(HOSTILE[: len(histogram["values"])])
    result["findings"].append(finding("WB113", "warning", f"{HOSTILE[0]} was never seen."))
    result["expect"]["models"] = [{**model(result), "name": HOSTILE[1]}]
    result["files"]["model"] = f"{HOSTILE[3]}/model.skops"
    return result


def further_models():
    """Return one with two further models."""
    result = helps()
    names = ("boosting", "my_package.models:a_rather_long_name_of_a_model")
    result["settings"]["models"] = ["linear", *names]
    result["expect"]["models"] = [{**model(result), "name": each} for each in names]
    return result


def diagnosis():
    """Return what a diagnosis without labels gives."""
    result = helps()
    result["command"] = "diagnose"
    result["verdict"].update(
        sentence="Shift strong, overlap enough", use=None, matters=None, weighting=None
    )
    result["answers"] = [
        each for each in result["answers"] if each["question"] in ("shift", "overlap")
    ]
    result["expect"] = None
    result["inputs"].update(label=None, task=None, classes=None)
    result["files"] = {}
    pictures = result["pictures"]
    pictures["bridge"] = None
    pictures["weights"] = {"full": pictures["weights"]["full"]}
    for each in [*pictures["balance"], *pictures["features"]]:
        key = "after" if "after" in each else "weighted"
        each[key] = {"full": each[key]["full"]}
    return result


def without_pictures():
    """Return a short result, as ``--json`` gives it."""
    result = helps()
    del result["pictures"]
    return result


RESULTS = {
    make.__name__: make
    for make in (
        helps,
        probably,
        demo,
        changed,
        no_gain,
        no_shift,
        thin,
        broken,
        two_features,
        five_hundred_features,
        hostile,
        further_models,
        diagnosis,
        without_pictures,
    )
} | REAL
