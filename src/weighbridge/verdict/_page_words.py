"""A stored result by name, and what its page says: cards, and the sentences of each section."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from weighbridge._findings import (
    NAMED,
    QUESTIONS,
    UNKNOWN,
    Card,
    Estimate,
    Numbers,
    overlap_evidence,
    percent,
    shift_evidence,
    signed,
)
from weighbridge.verdict._words import (
    PROBABLY,
    are_apart,
    assumption,
    otherwise_words,
    split_text,
)

# Differences below this are of no concern.
_BALANCED = 0.1
# AUC of a feature that tells the files apart by itself.
_TELLING = 0.52


class StoredResult:
    """A result, with names for what is asked of it more than once; what is not there is empty."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result
        self.verdict: dict[str, Any] = result["verdict"]
        self.use: str | None = self.verdict.get("use")
        self.answers = {each["question"]: each for each in result.get("answers") or []}
        self.findings: list[dict[str, Any]] = result.get("findings") or []
        self.inputs: dict[str, Any] = result.get("inputs") or {}
        self.settings: dict[str, Any] = result.get("settings") or {}
        self.shift: dict[str, Any] = result.get("shift") or {}
        self.overlap: dict[str, Any] = result.get("overlap") or {}
        self.expect: dict[str, Any] = result.get("expect") or {}
        self.candidates: list[dict[str, Any]] = self.expect.get("candidates") or []
        constant = self.expect.get("constant")
        # the comparison: what was tried, and a guess that looks at no feature
        self.rows = [*self.candidates, *([constant] if constant else [])]
        # the candidate of the model that was kept
        self.used = self.candidate(self.use)
        # no figure is given where the files hardly overlap
        self.is_withheld = bool(self.expect.get("withheld"))
        confidence = self.expect.get("confidence", self.settings.get("confidence", 0.95))
        self.confidence = f"{100 * confidence:g} %"
        # the actual errors, where labels of the deployment are known
        actual = self.expect.get("actual") or {}
        self.actual = {name: stored_estimate(each) for name, each in actual.items()}

    def is_none(self, name: str) -> bool:
        """Whether a weighting turned out to be none at all."""
        return (self.candidate(name) or {}).get("lam") == 0

    @cached_property
    def numbers(self) -> Numbers:
        """How errors and changes are written; only where something was expected."""
        return numbers_of(self.expect)

    def candidate(self, name: str | None) -> dict[str, Any] | None:
        """Return a candidate by name."""
        return next((each for each in self.rows if each["name"] == name), None)

    def finding(self, code: str) -> dict[str, Any] | None:
        """Return the first finding of a code."""
        return next((each for each in self.findings if each["code"] == code), None)

    def agrees(self, name: str) -> bool | None:
        """Whether an actual error agrees with the expected one; None where there is none."""
        error, actual = (self.candidate(name) or {}).get("error"), self.actual.get(name)
        if error is None or actual is None:
            return None
        if name == self.use and self.shift.get("word") == "none":  # expected as in training
            return self.finding("WB604") is None
        stored = self.expect["actual"][name]
        return not are_apart(stored_estimate(stored.get("alone") or stored), stored_estimate(error))


def stored_estimate(numbers: dict[str, float]) -> Estimate:
    """Return a number with its interval as it was before it became JSON."""
    return Estimate(numbers["value"], math.nan, numbers["low"], numbers["high"])


def numbers_of(expect: dict[str, Any]) -> Numbers:
    """Return how errors and changes of a comparison are written."""
    losses, changes = (
        [each[part] and stored_estimate(each[part]) for each in expect["candidates"]]
        for part in ("error", "change")
    )
    typical = expect["training"] if losses[0] is None else losses[0].value
    return Numbers(expect["measure"], typical or 0.0, losses, changes)


def candidate_cells(candidate: dict[str, Any], numbers: Numbers) -> list[str]:
    """Return a row of the comparison behind its name: weighting, loss, change, effective rows."""
    lam, alpha = candidate["lam"], candidate["alpha"]
    own = UNKNOWN if candidate["name"] == "constant" else candidate["literature"].partition("(")[0]
    error, change = (
        candidate[part] and stored_estimate(candidate[part]) for part in ("error", "change")
    )
    return [
        own if lam is None else f"{lam:.2f}",
        UNKNOWN if alpha is None else f"{alpha:.2f}",
        "withheld" if error is None else numbers.value(error.value),
        UNKNOWN if error is None else numbers.span(error),
        UNKNOWN if change is None else numbers.change(change.value),
        UNKNOWN if change is None else numbers.change_span(change),
        UNKNOWN if candidate["worth"] is None else f"{candidate['worth']:,.0f}",
    ]


def cards(facts: StoredResult) -> list[Card]:
    """Return the cards of the questions that were answered, in their order."""
    answers = facts.answers or _without_label(facts)
    parts = ("word", "evidence", "advice", "role")
    return [
        Card(question, **{part: answers[question].get(part) or "" for part in parts})
        for question in QUESTIONS
        if question in answers
    ]


def _without_label(facts: StoredResult) -> dict[str, dict[str, str]]:
    """Return the two answers of a diagnosis, which stores words and numbers only."""
    found, auc, overlap = {}, facts.shift.get("auc"), facts.overlap
    if auc is not None:
        word, features = facts.shift["word"], facts.shift.get("attribution") or []
        moved = [each for each in features if each["alone"] > _TELLING and word != "none"]
        names = [each["name"] for each in sorted(moved, key=lambda each: -each["alone"])]
        evidence = shift_evidence(stored_estimate(auc), names[:NAMED])
        found["shift"] = {"word": word, "evidence": evidence, "advice": ""}
    if overlap:
        worth, n_rows = overlap["worth_full"], overlap["n_source"]
        evidence = overlap_evidence(overlap.get("reason"), worth, n_rows)
        found["overlap"] = {"word": overlap["word"], "evidence": evidence, "advice": ""}
    return found


def page_words(
    facts: StoredResult, rows: Sequence[Any], shown: str | None, surface: Any
) -> dict[str, list[str]]:
    """Return what each section says first, by its id: from differences, weighting drawn and map."""
    words = {"shift": _shift_words(facts, rows, shown), "overlap": _overlap_words(facts)}
    if facts.expect:
        words |= {"expect": expect_words(facts), "choice": _choice_words(facts, surface)}
    return words


def expect_words(facts: StoredResult) -> list[str]:
    """Return what error to expect, and what weighting changes."""
    used, numbers = facts.used, facts.numbers
    training = f"an {numbers.loss} of {numbers.value(facts.expect['training'])}"
    if facts.is_withheld or used is None or used["error"] is None:
        return [
            "No error can be forecast for deployment: too few training rows are like its rows "
            f"({facts.expect.get('withheld') or 'WB302'}). In training the unweighted model has "
            f"{training}; do not expect the same in deployment.",
            *label_words(facts),
        ]
    if facts.shift.get("word") == "none":
        return [
            "No shift was found, so the error in training is the best forecast: "
            f"{training} with the unweighted model. Nothing needs to be weighted.",
            *_said(facts, "WB505"),
        ]
    found = stored_estimate(used["error"])
    start = "Without weights" if facts.use == "none" else f"With the {facts.use} weighting"
    expected = (
        f"{start} the {numbers.noun} in deployment is {numbers.value(found.value)}; the "
        f"{facts.confidence} interval runs from {numbers.value(found.low)} to "
        f"{numbers.value(found.high)}. {_changed(facts)}"
    )
    rough = ["These are rough figures."] if used.get("state") == "flagged" else []
    said = _said(facts, "WB505") + _said(facts, "WB501")
    other = facts.expect.get("otherwise")
    otherwise = [otherwise_words(other, numbers)] if other else []
    return [expected, *rough, *otherwise, *said, *label_words(facts)]


def label_words(facts: StoredResult) -> list[str]:
    """Return what is known of the part that training covers, and which rows to label."""
    covered, plan = facts.expect.get("covered"), facts.expect.get("to_label")
    words = [] if covered is None else _covered(facts, covered)
    if plan is None:
        return words
    unit = "%" if plan["relative"] else "points"
    near, far = (f"to within {100 * each:g} {unit}" for each in plan["within"])
    path = (facts.result.get("files") or {}).get("labels")
    again = "pass it as labels=" if path is None else f"run again with --labels {path}"
    return [
        *words,
        f"To measure the error, label deployment rows: {plan['rows'][0]:,} give it {near}, "
        f"{plan['rows'][1]:,} {far} (at {facts.confidence}). {path or 'result.label_these'} lists "
        f"{plan['chosen']:,} rows, drawn at random; stands_for says how many rows each stands for. "
        f"Fill in the column {facts.inputs.get('label')} and {again}.",
    ]


def _covered(facts: StoredResult, covered: dict[str, Any]) -> list[str]:
    which = f"the {percent(covered['share'])} of the deployment rows that training covers"
    if covered["error"] is None:
        few = "they are too few, or too few training rows are like them"
        silent = facts.actual or not covered["share"]
        return [] if silent else [f"No error can be forecast for {which} either: {few}."]
    numbers, found = facts.numbers, stored_estimate(covered["error"])
    rough = ", a rough figure" * (covered["state"] == "flagged")
    others = "" if facts.actual else " Nothing is known about the rest."
    error = f"{numbers.noun} {numbers.value(found.value)} {numbers.interval(found)}"
    return [f"For {which}: {error}{rough}, without weights.{others}"]


def _changed(facts: StoredResult) -> str:
    """Return what weighting changes, as its answer says."""
    none, answer = facts.candidate("none"), facts.answers.get("weighting")
    if answer is None or none is None or len(facts.candidates) == 1:
        return ""
    if facts.use == "none":
        return f"Weighting, on the same rows: {answer['word']}, {answer['evidence']}."
    against = facts.actual and facts.actual[facts.use].value >= facts.actual["none"].value
    likely = "which the labels do not confirm" if against else "a gain that is likely, not certain"
    likely = f", {likely}" if answer["word"] == PROBABLY else ""
    return (
        f"Without weights it would be {facts.numbers.value(none['error']['value'])}; the change on "
        f"the same rows is {answer['evidence']}{likely}."
    )


def _said(facts: StoredResult, code: str) -> list[str]:
    finding = facts.finding(code)
    if finding is None:
        return []
    return [f"{finding['message'][:1].upper()}{finding['message'][1:]} {finding['help']}"]


def agreement(facts: StoredResult) -> str:
    """Say whether actual errors agree with the expected ones, where there are both."""
    agree = {name: facts.agrees(name) for name in facts.actual}
    known = [each for each in agree.values() if each is not None]
    if not known:
        return "there was no forecast to compare it with"
    if all(known):
        return f"{'each' if len(known) > 1 else 'it'} agrees with the expected one"
    missed = ", ".join(name for name, each in agree.items() if each is False)
    return f"far from the expected one: {missed}{'; the others agree' * any(known)}"


def actual_words(facts: StoredResult) -> str:
    """Return whether the actual errors are as expected, where deployment labels are known."""
    is_pooled = bool((facts.expect.get("pooled") or {}).get("counts"))
    used = "only the last fit" if is_pooled else "no fit and no choice"
    return (
        f"Deployment labels are known here; {used} has used them. "
        f"Actual errors against expected ones: {agreement(facts)}. {labels_tell(facts)}"
    ).rstrip()


def labels_tell(facts: StoredResult) -> str:
    """Return what labels say of the unweighted model, and what was done with them."""
    split, numbers, words = facts.expect.get("relation"), facts.numbers, []
    if split is not None:
        found = facts.actual["none"]
        parts = split_text(split, numbers)
        words.append(
            f"With {split['labels']:,} labels the error without weights is "
            f"{numbers.value(found.value)} {numbers.interval(found)}; training said "
            f"{numbers.value(facts.expect['training'])}. By labels alone, {parts}."
        )
        if facts.expect["actual"]["none"].get("alone"):
            words.append("Labels and the forecast made without them have been combined.")
    return " ".join([*words, *_pooled(facts)])


def _pooled(facts: StoredResult) -> list[str]:
    """Return whether labelled deployment rows have joined the training rows, if that was asked."""
    pooled, numbers = facts.expect.get("pooled"), facts.numbers
    if pooled is None:
        return []
    by = "they are too few"
    if pooled["change"] is not None:
        change = stored_estimate(pooled["change"])
        loss = "mean squared error" if numbers.measure == "RMSE" else numbers.measure
        by = f"{numbers.change(change.value)}{numbers.unit} {numbers.change_interval(change)}"
        by = f"on held-out labelled rows this changes the {loss} by {by}"
    if not pooled["counts"]:
        return [f"Labelled deployment rows did not join the training rows: {by}."]
    return [
        f"As requested, the {pooled['labels']:,} labelled deployment rows are among the training "
        f"rows of the model that is kept, each counting as {pooled['counts']:g} of them: {by}. All "
        "other figures are without them."
    ]


def assumption_words(facts: StoredResult) -> str:
    """Return what every figure of the page rests on."""
    role = (facts.answers.get("expect") or {}).get("role") or ""
    is_checked = bool(facts.actual) and not facts.is_withheld
    check = "" if facts.actual else " Only deployment labels can check it."
    by_class = bool(facts.verdict.get("by_class"))
    return f"Assumed: {assumption(role, by_class=by_class, is_checked=is_checked)}.{check}"


def _shift_words(facts: StoredResult, rows: Sequence[Any], shown: str | None) -> list[str]:
    """Return the features that moved most, and what is left after weighting."""
    auc = facts.shift.get("auc")
    words = []
    if auc is not None:
        words.append(
            "A classifier tells training rows from deployment rows with an AUC of "
            f"{auc['value']:.2f} ({auc['low']:.2f} to {auc['high']:.2f}); 0.50 is chance, 1.00 is "
            "complete separation."
        )
    words += _kind_words(facts) + _said(facts, "WB204")
    if rows:
        words += [_moved(rows), *_left(facts, rows, shown)]
    return words


def _kind_words(facts: StoredResult) -> list[str]:
    """Return which kind of shift it is, with the evidence."""
    found = facts.shift.get("label_shift") or {}
    if found.get("kind") == "covariate":
        by = f"{found['against']:.1f} standard errors"
        return [f"The mix of classes alone explains it worse, by {by}."]
    if found.get("kind") != "label":
        return []
    mix = found["frequencies"]
    rows = zip(*(mix[each] for each in ("classes", "source", "target", "low", "high")), strict=True)
    told = ", ".join(
        f"{name} {percent(old)} → {percent(new)} [{percent(low)}, {percent(high)}]"
        for name, old, new, low, high in rows
    )
    return [*_said(facts, "WB202"), f"Frequencies of the classes, training → deployment: {told}."]


def _moved(rows: Sequence[Any]) -> str:
    moved = [row for row in rows[:NAMED] if abs(row.before) >= _BALANCED]
    if not moved:
        return "No feature differs by more than a tenth of its standard deviation."
    named = [f"{row.name} ({signed(row.before, 2)})" for row in moved]
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    return f"The largest differences in means, in standard deviations: {listed}."


def _left(facts: StoredResult, rows: Sequence[Any], name: str | None) -> list[str]:
    if facts.overlap.get("word") == "broken":
        return [
            "Where the files hardly overlap, weights mean nothing: look only at the differences "
            "before weighting."
        ]
    if name is None or facts.shift.get("word") == "none":
        return []
    sizes = [(abs(row.after.get(name, math.nan)), row.name) for row in rows]
    left = [each for each in sizes if not math.isnan(each[0])]
    if not left:
        return []
    largest, where = max(left)
    small = sum(size < _BALANCED for size, _ in left)
    return [
        f"After the {name} weighting the largest difference left is {largest:.2f} ({where}); "
        f"{small:,} of {len(left):,} are below {_BALANCED}."
    ]


def _overlap_words(facts: StoredResult) -> list[str]:
    """Return how many effective rows there are, and how many deployment rows lie outside."""
    overlap = facts.overlap
    if not overlap:
        return ["The overlap was not examined."]
    full, n_rows = _rows(overlap, "worth_full"), f"{overlap['n_source']:,}"
    worth = f"Weighted by the full ratio, the {n_rows} training rows have {full} effective rows"
    if facts.use not in (None, "none"):
        worth += f"; by the {facts.use} weighting, {_rows(overlap, 'worth_used')}"
    words = [f"{worth}."]
    if overlap.get("reason"):
        words.append(f"The overlap is {overlap['word']}: {overlap['reason']}.")
    if overlap.get("largest_share") is not None:
        words.append(f"The heaviest row carries {percent(overlap['largest_share'])} of the weight.")
    if overlap.get("outside") is not None and "outside" not in (overlap.get("reason") or ""):
        words.append(
            f"{percent(overlap['outside'])} of the deployment rows lie outside the training data."
        )
    return [" ".join(words)]


def _rows(overlap: dict[str, Any], name: str) -> str:
    value = overlap.get(name)
    return "an unknown number" if value is None else f"{value:,.0f}"


def _choice_words(facts: StoredResult, surface: Any) -> list[str]:
    """Return the chosen weighting, how flat the choice is, or why nothing was chosen."""
    if surface is None:
        return [_nothing_drawn(facts)]
    words = [_chosen(surface) + _flat(surface)]
    if facts.use == "none" and surface.chosen.lam != 0:
        words.append(
            "It is not used: the unweighted model is expected to do as well in deployment."
        )
    return words


def _nothing_drawn(facts: StoredResult) -> str:
    if facts.shift.get("word") == "none":
        return "No shift was found, so no weighting was searched for; the unweighted model is kept."
    if facts.is_withheld:
        return (
            "Where the files hardly overlap, no weighting can be judged, so none was chosen; the "
            "unweighted model is kept."
        )
    if len(facts.candidates) == 1:
        return "Weights would rest on too few rows, so none was searched for; see the overlap."
    if facts.verdict.get("by_class"):
        return "Weights by class are used in full or not at all: there is no map of other choices."
    if not facts.result.get("pictures"):
        return "This result was stored without the numbers of its pictures, so no map is drawn."
    return "The weighting was given and not searched for, so there is no map of other choices."


def _chosen(surface: Any) -> str:
    how = "tried one after another" if surface.searched else "tried"
    return (
        f"Of {surface.lam.size:,} weightings {how}, {_point(surface)} was chosen by its "
        f"{surface.loss_name} on rows left out of the fit. "
    )


def _point(surface: Any) -> str:
    lam, alpha = surface.chosen
    if lam == 0:
        return "no weighting (lam 0)"
    if lam == 1:
        return "the full ratio (lam 1)"
    return f"lam {lam:.2f} with alpha {alpha:.2f}"


def _flat(surface: Any) -> str:
    """Say how many weightings do as well as the best one, as the title of the map does."""
    known = sum(not math.isnan(each) for each in surface.loss + surface.standard_error)
    level = int(surface.as_good.sum())
    if known < 2:
        return ""
    if level == 1:
        return "No other comes within two standard errors of the best."
    among = "" if level == known else "among them "
    return (
        f"{level:,} of them ({percent(level / known)}) are within two standard errors of the "
        f"best: {among}the choice hardly matters."
    )
