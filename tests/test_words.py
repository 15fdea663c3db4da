"""The words of a verdict: forty made-up results, and what each must and must not say."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from weighbridge import Geodesic, ImportanceWeighted, adapt
from weighbridge._findings import Estimate, Finding
from weighbridge.cli._adapt import _actual_block
from weighbridge.datasets import make_gaussian_shift, make_quadratic
from weighbridge.report import render, summary_html
from weighbridge.target_risk import RiskEstimate
from weighbridge.verdict import (
    Actual,
    Candidate,
    StoredResult,
    agreement,
    assess,
    assumption_words,
    cards,
    knowing,
    text_table,
)
from weighbridge.verdict._judgement import _told_apart, _worded
from weighbridge.verdict._words import (
    ASSUMED,
    Judgement,
    are_apart,
    difference,
    gain_word,
)

CHANGES = {
    "sure": (-0.05, 0.01),
    "probable": (-0.03, 0.02),
    "nothing": (0.002, 0.01),
    "small": (-0.001, 0.0002),
}
RISES = {"sure": (0.06, 0.01), "wide": (0.021, 0.02), "no": (-0.02, 0.005)}
ROWS = 2000


def risk(value, error=0.012, *, training=0.173, state="good", measure="error"):
    estimate = None if state == "withheld" else Estimate.normal(value, error)
    return RiskEstimate(
        measure, state, estimate, Estimate.normal(training, 0.008), 0.95, 100.0, 1000, ()
    )  # fmt: skip


def row(name, found, change=None, *, lam=0.0):
    return Candidate(name, name, lam, None, found, change, 1000.0, ((lam, 1.0, 1.0),))


@pytest.fixture(scope="module")
def report():
    """Of two samples that differ; what the words do not need of it, they do not look at."""
    data = make_quadratic(200, 200, random_state=0)
    options = {"candidates": ["none", "tuned"], "ratio": data.ratio, "random_state": 0}
    return assess(LinearRegression(), data.X, data.y, data.X_target, **options).report


def made(report, shift, overlap, change, rise, constant="worse", labels=None):
    """Make a verdict up: every number of it is in the tables above."""
    state = {"enough": "good", "thin": "flagged", "broken": "withheld"}[overlap]
    moved = None if overlap == "broken" or shift == "none" else Estimate.normal(*CHANGES[change])
    worse = None if overlap == "broken" else Estimate.normal(*RISES[rise])
    none = 0.173 + RISES[rise][0]
    judgement = Judgement(shift, overlap, worse, moved, worthwhile=0.02 * none)
    used = none if judgement.use == "none" else none + moved.value
    over = Estimate.normal(0.001 if constant == "better" else -0.2, 0.01)
    judgement = replace(judgement, over_constant=over)
    candidates = [row("none", risk(none, state=state))]
    if moved is not None:
        candidates.append(row("tuned", risk(none + moved.value, state=state), moved, lam=1.0))
    verdict = replace(
        assessed(report, candidates, overlap),
        use=judgement.use,
        constant=row("constant", risk(used - over.value, training=0.173 - over.value)),
    )
    verdict = _worded(verdict, judgement)
    if labels is None:
        return verdict
    off = {"agree": 0.004, "disagree": 0.09}[labels]
    expected = 0.173 if shift == "none" else used
    truth = {"none": none if judgement.use == "tuned" else expected, "tuned": expected}
    truth = {each.name: truth[each.name] + off for each in candidates}
    truth["constant"] = truth[judgement.use] - over.value
    known = {
        name: Actual(value, 0.01, value - 0.018, value + 0.018, ROWS)
        for name, value in truth.items()
    }
    return knowing(verdict, known)


def assessed(report, candidates, overlap):
    from weighbridge.verdict import Verdict

    found = () if overlap != "broken" else (Finding("WB302", "warning", "Broken.", "Look."),)
    return Verdict("", "none", (), tuple(candidates), "error", 0.95, report, found, None)


def said(verdict):
    """Return the headline, the cards and the terminal's text of a verdict."""
    facts = StoredResult(verdict.to_dict())
    return (
        verdict.sentence,
        {each.question: each for each in cards(facts)},
        str(verdict),
    )


KEEP = "Keep the unweighted model"
SMALL = "No gain worth having: keep the unweighted model"
GUESS = "No better than a constant guess: "
LABEL = "Label some deployment rows: with thin overlap the expected error of "
CHANGED = "The relation has changed: actual error "
HELPS, LIKELY, NONE = "Weighting helps: ", "Weighting probably helps: ", "No shift found: "
MOVED = "features and label has changed."
# shift, overlap, change, rise, constant, labels: the headline, then words that must be in a card
TABLE = [
    ("strong enough sure sure worse -", f"{HELPS}expected error 23.3 % → 18.3 %", "yes"),
    ("strong enough sure wide worse -", f"{HELPS}expected error", "cannot tell"),
    ("strong enough sure no worse -", f"{HELPS}expected error", "about as well"),
    ("slight enough sure sure worse -", f"{HELPS}expected error", "slight"),
    ("strong enough probable sure worse -", f"{LIKELY}expected", "not certain"),
    ("strong enough probable wide worse -", f"{LIKELY}expected", "cannot tell"),
    ("slight enough probable no worse -", f"{LIKELY}expected", "likely"),
    ("strong enough nothing sure worse -", f"{KEEP}: expected error 23.3 %", "no gain"),
    ("strong enough nothing wide worse -", f"{KEEP}: expected error 19.4 %", "cannot tell"),
    ("slight enough nothing no worse -", f"{KEEP}: expected error 15.3 %", "no gain"),
    ("strong enough small sure worse -", f"{SMALL}", "worth having from 0.47 points"),
    ("strong enough small wide worse -", f"{SMALL}", "no gain"),
    ("slight enough small no worse -", f"{SMALL}", "no gain"),
    ("strong enough sure sure better -", f"{GUESS}expected error 18.3 %, constant 18.2 %", "helps"),
    ("strong enough probable wide better -", f"{GUESS}expected error", "cannot tell"),
    (
        "strong enough nothing sure better -",
        f"{GUESS}expected error 23.3 %, constant 23.2 %",
        "no gain",
    ),
    ("slight enough small no better -", f"{GUESS}expected error", "no gain"),
    (
        "none enough nothing no worse -",
        f"{NONE}expect about the training error, 17.3 %",
        "nothing to weight for",
    ),
    (
        "none enough nothing wide worse -",
        f"{NONE}expect about the training error, 17.3 %",
        "no shift was found",
    ),
    (
        "none enough nothing no better -",
        "No shift found, but no better than a constant guess",
        "nothing to weight for",
    ),
    ("strong thin sure sure worse -", f"{LABEL}18.3 %", "rough"),
    ("strong thin probable wide worse -", f"{LABEL}16.4 %", "cannot tell"),
    ("strong thin nothing sure worse -", f"{KEEP} and label some deployment rows", "rough"),
    ("strong thin small wide worse -", f"{KEEP} and label some deployment rows", "cannot tell"),
    ("slight thin sure no better -", LABEL, "rough"),
    (
        "strong broken nothing no worse -",
        "The files hardly overlap: no estimate for deployment",
        "see the overlap (WB302)",
    ),
    (
        "strong enough sure sure worse agree",
        f"{HELPS}actual error 23.7 % → 18.7 % [16.9 %, 20.5 %], expected 18.3 %",
        "labels do not contradict",
    ),
    ("strong enough sure wide worse agree", f"{HELPS}actual error", "labels do not contradict"),
    (
        "strong enough probable sure worse agree",
        f"{LIKELY}actual error",
        "labels do not contradict",
    ),
    (
        "strong enough nothing sure worse agree",
        f"{KEEP}: actual error 23.7 %",
        "2,000 labelled rows",
    ),
    ("strong enough small no worse agree", f"{SMALL}, actual error", "worth having"),
    (
        "none enough nothing no worse agree",
        f"{NONE}actual error 17.7 % [15.9 %, 19.5 %], expected 17.3 %",
        "labels do not contradict",
    ),
    ("strong thin sure sure worse agree", f"{HELPS}actual error", "labels do not contradict"),
    ("strong broken nothing no worse agree", "The files hardly overlap: actual error", "Measured"),
    (
        "strong enough sure sure better agree",
        f"{GUESS}actual error 18.7 %",
        "labels do not contradict",
    ),
    (
        "strong enough sure sure worse disagree",
        f"{CHANGED}27.3 % [25.5 %, 29.1 %], expected 18.3 %",
        MOVED,
    ),
    ("strong enough nothing wide worse disagree", f"{CHANGED}28.4 %", MOVED),
    ("none enough nothing no worse disagree", f"{CHANGED}26.3 %", MOVED),
    (
        "strong thin sure sure worse disagree",
        "The rough figure was off: actual error",
        "or the rough figure was off",
    ),
    ("strong enough sure sure better disagree", "The relation has changed: actual error", MOVED),
]


@pytest.mark.parametrize(("axes", "headline", "word"), TABLE, ids=[each[0] for each in TABLE])
def test_what_headline_cards_and_terminal_must_and_must_not_say(report, axes, headline, word):
    shift, overlap, change, rise, constant, labels = axes.split()
    labels = None if labels == "-" else labels
    verdict = made(report, shift, overlap, change, rise, constant, labels)
    sentence, shown, text = said(verdict)
    found = {each.question: each for each in shown.values()}
    words = " | ".join(f"{each.word} {each.evidence} {each.advice}" for each in found.values())
    assert sentence.startswith(headline)
    assert word in words
    spread = " ".join(text.split())
    assert spread.startswith(sentence)
    assert "Assumed the relation between features and label is the same in both tables" in spread

    weighting, expect = found["weighting"], found["expect"]
    is_sure = (change, constant, overlap) == ("sure", "worse", overlap) and shift != "none"
    assert (weighting.state == "good") == (is_sure and overlap != "broken")
    if "Weighting helps" in sentence:
        assert is_sure
    if change in ("nothing", "small") or constant == "better":
        assert "elps" not in sentence
    if labels is None and constant == "better":
        assert "WB505" in text

    matters = found["matters"]
    if rise == "wide" and shift != "none" and overlap != "broken" and labels is None:
        assert (matters.word, matters.state) == ("cannot tell", "neutral")
        assert "about as well" not in words
    red = [each.question for each in found.values() if each.state == "stop"]
    if labels == "disagree":
        assert red == ["expect"]
        assert "labels do not bear it out" in spread
        assert "WB604" in text
    else:
        assert red == ["overlap"] * (overlap == "broken")
        assert ("labels do not contradict" in spread.split("Assumed")[1]) == (
            labels == "agree" and overlap != "broken"  # where nothing was expected nothing agrees
        )
        assert "WB604" not in text
    # labels do not contradict with a forecast, so not where there was none
    checked = labels == "agree" and overlap != "broken"
    stored = verdict.to_dict()
    known = verdict._judgement.actual or {}
    stored["expect"]["actual"] = {name: each.to_dict() for name, each in known.items()}
    on_page = assumption_words(StoredResult(stored))
    for each in (spread, on_page):
        assert ("deployment labels do not contradict" in each) == checked
    assert ("WB603" in text) == (labels is None and shift != "none" and overlap != "broken")
    if labels:
        assert "actual" in expect.evidence
        assert "actual error" in sentence
    else:
        assert "actual" not in words


# The rules behind the words.


@pytest.mark.parametrize(
    ("change", "worthwhile", "word"),
    [
        ((-0.021, 0.010), 0.0, "helps"),
        ((-0.011, 0.010), 0.0, "probably helps"),
        ((-0.009, 0.010), 0.0, "no gain"),
        ((0.05, 0.010), 0.0, "no gain"),
        ((0.0, 0.0), 0.0, "no gain"),
        ((-0.021, 0.010), 0.03, "no gain"),
        ((-0.021, 0.001), 0.02, "helps"),
    ],
)
def test_a_gain_is_sure_likely_or_none_by_interval_standard_error_and_worth(
    change, worthwhile, word
):
    assert gain_word(Estimate.normal(*change), worthwhile) == word


def test_intervals_that_meet_are_not_apart():
    low, high = Estimate(2.0, 1.0, 1.0, 3.0), Estimate(4.0, 1.0, 3.0, 5.0)
    assert not are_apart(low, high)
    assert are_apart(low, replace(high, low=3.1))
    assert are_apart(replace(high, low=3.1), low)


def test_the_difference_of_two_independent_shares_has_newcombes_interval():
    """Newcombe (1998), method 10: 56/70 - 48/80 has [0.0524, 0.3339]."""
    wilson = [
        Estimate(p, 0.0, (a - b) / c, (a + b) / c)
        for p, n in ((56 / 70, 70), (48 / 80, 80))
        for z in (1.959964,)
        for a, b, c in [(2 * n * p + z**2, z * np.sqrt(z**2 + 4 * n * p * (1 - p)), 2 * (n + z**2))]
    ]
    found = difference(*wilson)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_how_actual_errors_are_said_to_agree(report):
    verdict = made(report, "strong", "enough", "sure", "sure", labels="agree")
    expect = {**verdict.to_dict()["expect"]}
    near, far = ({"value": each, "low": each, "high": each, "rows": 9} for each in (0.2, 0.9))

    def told(**actual):
        facts = StoredResult({**verdict.to_dict(), "expect": {**expect, "actual": actual}})
        return agreement(facts)

    assert told(none={**near, "high": 0.25}, tuned=near) == "each agrees with the expected one"
    assert told(tuned=near) == "it agrees with the expected one"
    assert told(none=far, tuned=near) == "far from the expected one: none; the others agree"
    assert told(none=far, tuned=far) == "far from the expected one: none, tuned"
    assert told(constant=far).startswith("far from")
    broken = made(report, "strong", "broken", "nothing", "no").to_dict()
    broken["expect"] |= {"actual": {"none": near}, "constant": None}
    assert "no forecast to compare" in agreement(StoredResult(broken))


def test_candidates_with_the_same_weights_are_one_row_but_none_and_the_one_in_use_stay(report):
    lams = {"none": 0.0, "full": 1.0, "power": 1.0, "relative": 0.0, "tuned": 1.0}
    found = {name: row(name, risk(0.2), lam=lam) for name, lam in lams.items()}
    same = {each.name: each.same_as for each in _told_apart(found, "tuned")}
    assert same == {
        "none": None,
        "full": "tuned",
        "power": "tuned",
        "relative": "none",
        "tuned": None,
    }
    same = {each.name: each.same_as for each in _told_apart(found, "none")}
    assert same == {
        "none": None,
        "full": None,
        "power": "full",
        "relative": "none",
        "tuned": "full",
    }


# Seen on real tables: each case once, made up.


@pytest.fixture(scope="module")
def moved():
    """Deployment labels that no covariate shift explains: the relation has changed."""
    rng = np.random.default_rng(0)
    x, x_there = rng.normal(size=600), rng.normal(0.7, 1, size=400)
    train = pd.DataFrame({"x": x, "y": 3 * x + rng.normal(size=600)})
    there = pd.DataFrame({"x": x_there, "y": 3 * x_there + 4 + rng.normal(size=400)})
    return adapt(train, there, label="y", task="regression")


def test_a_changed_relation_is_in_the_headline_and_the_red_card(moved):
    verdict = moved.verdict
    assert verdict.sentence.startswith("The relation has changed: actual error (RMSE) 3.9")
    answer = verdict.answer("expect")
    assert answer.role == "stop"
    truth = moved.actual[verdict.use]
    assert answer.word == verdict.numbers.value(truth.value)
    assert "expected 1.0" in answer.evidence
    assert "WB604" in [each.code for each in moved.findings]
    page = render(moved.to_dict())
    top = page[: page.index("<nav")]
    assert verdict.sentence[:40] in top
    assert "wbr-stop" in top
    assert "deployment labels do not bear it out" in top


@pytest.fixture(scope="module")
def noise():
    """Labels that no feature knows anything of, three in four alike."""
    rng = np.random.default_rng(1)
    X, X_target = rng.normal(size=(500, 2)), rng.normal(0.6, 1, size=(500, 2))
    y = (rng.uniform(size=500) < 0.25).astype(int)
    return assess(
        LogisticRegression(), X, y, X_target, candidates=["none", "tuned"], random_state=0
    )


def test_a_model_that_does_not_beat_a_constant_guess_is_said_not_to(noise):
    assert noise.sentence.startswith("No better than a constant guess: expected error ")
    assert "WB505" in [each.code for each in noise.findings]
    assert noise.answer("weighting").role != "good"
    assert isinstance(noise.constant.model, DummyClassifier)
    assert noise.use in ("none", "tuned")


def test_the_constant_is_a_row_of_its_own_assessed_like_the_others(noise):
    stored = noise.to_dict()["expect"]
    assert [each["name"] for each in stored["candidates"]] == ["none", "tuned"]
    constant = stored["constant"]
    assert (constant["name"], constant["lam"]) == ("constant", None)
    assert constant["error"]["value"] == pytest.approx(0.25, abs=0.06)
    none = noise.candidate("none").risk.value
    assert constant["change"]["value"] == pytest.approx(constant["error"]["value"] - none, abs=1e-9)
    table = str(noise).split("\n\n")[2]
    assert re.search(r"^  constant +– +– +2\d\.\d+ %", table, re.MULTILINE)
    assert "constant: always predicts the most frequent class of training" in table


def test_the_constant_of_a_regression_is_the_mean_and_for_absolute_errors_the_median():
    data = make_quadratic(60, 60, random_state=0)
    options = {"ratio": data.ratio, "candidates": ["none", "tuned"], "random_state": 0}
    for scoring, guess in (
        ("neg_mean_squared_error", "mean"),
        ("neg_mean_absolute_error", "median"),
    ):
        found = assess(
            LinearRegression(), data.X, data.y, data.X_target, scoring=scoring, **options
        )
        assert found.constant.literature == guess
        truth = np.mean if guess == "mean" else np.median
        assert found.constant.model.predict(data.X[:1])[0] == pytest.approx(truth(data.y))


def test_the_constant_of_probabilities_is_the_class_frequencies():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(100, 1)), rng.normal(0.5, 1, size=(100, 1))
    options = {"scoring": "neg_brier_score", "candidates": ["none", "tuned"], "random_state": 0}
    y = X[:, 0] > rng.normal(size=100)
    found = assess(LogisticRegression(), X, y, X_target, **options).constant
    assert found.literature == "class frequencies"
    assert found.model.predict_proba(X[:1])[0, 1] == pytest.approx(y.mean())


def test_what_is_worth_having_is_two_per_cent_of_the_unweighted_loss_or_what_is_asked_for():
    data = make_gaussian_shift(200, 200, random_state=0)
    options = {"ratio": data.ratio, "candidates": ["none", "tuned"], "random_state": 0}
    rows = (LinearRegression(), data.X, data.X[:, 0] ** 2, data.X_target)
    usual = assess(*rows, **options)
    assert usual.worthwhile == pytest.approx(0.02 * usual.candidate("none").risk.value)
    more = assess(*rows, worthwhile=1e6, **options)
    assert (more.worthwhile, more.weighting, more.use) == (1e6, "no gain", "none")
    assert more.sentence.startswith("No gain worth having")
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="0 or more, in units of the loss"):
            assess(*rows, worthwhile=wrong, **options)


def test_the_same_weights_are_one_row_of_every_table(report):
    """Both had lam 1, and different errors."""
    change = Estimate.normal(-0.05, 0.01)
    found = {
        "none": row("none", risk(0.25)),
        "full": row("full", risk(0.21), change, lam=1.0),
        "tuned": row("tuned", risk(0.2), change, lam=1.0),
    }
    verdict = replace(assessed(report, _told_apart(found, "tuned"), "enough"), use="tuned")
    verdict = _worded(verdict, Judgement("strong", "enough", change, change))
    table = str(verdict).split("\n\n")[2]
    assert re.findall(r"^  (\w+)( \*)? +\d\.\d\d", table, re.MULTILINE) == [
        ("none", ""),
        ("tuned", " *"),
    ]
    assert "same weights, one row: tuned = full" in table
    assert "of the whole procedure, choice included" in table


def test_a_model_that_ends_without_weights_is_not_helped_by_weighting():
    """Whatever the folds of its search say: those figures are of another model."""
    data = make_gaussian_shift(100, 100, random_state=0)
    own = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(0.0))
    verdict = assess(own, data.X, data.y, data.X_target, candidates=["none", "given"])
    assert (verdict.weighting, verdict.use) == ("no gain", "none")
    assert verdict.answer("weighting").evidence == "the choice was lam 0, no weights"
    assert verdict.candidate("given").same_as == "none"
    # with thin overlap too: a search that chose no weights did not lack the rows for it
    thin = Judgement("strong", "thin", None, None)
    answers = _worded(verdict, thin).answers
    assert answers[3].evidence == "the choice was lam 0, no weights"


def test_without_a_search_the_reason_is_the_overlap(report):
    verdict = assessed(report, [row("none", risk(0.2))], "thin")
    for weighted, evidence in (
        ("tuned", "the choice was lam 0, no weights"),
        ("none", "too little overlap to weight by"),
    ):
        judgement = Judgement("strong", "thin", Estimate.normal(0.0, 0.1), None, weighted)
        assert _worded(verdict, judgement).answer("weighting").evidence == evidence


def test_the_change_on_the_card_is_in_the_table():
    """Of equal weights the ones in question are shown, whether they are used or not."""
    data = make_gaussian_shift(100, 100, random_state=0)
    own = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(1.0))
    names = ["none", "full", "given"]
    verdict = assess(own, data.X, data.y, data.X_target, candidates=names, worthwhile=9.0)
    assert verdict.use == "none"
    shown = {each.name for each in verdict.candidates if each.same_as is None}
    assert shown == {"none", "given"}


def test_a_gain_that_labels_do_not_show_is_not_advised(report):
    verdict = made(report, "strong", "enough", "sure", "sure")
    truth = {"none": 0.2, "tuned": 0.21, "constant": 0.4}
    known = {name: Actual(each, 0.01, each - 0.03, each + 0.03, 9) for name, each in truth.items()}
    verdict = knowing(verdict, known)
    assert verdict.sentence.startswith("Weighting did not help: ")
    answer = verdict.answer("weighting")
    assert answer.role == "caution"
    assert (
        answer.advice
        == "On the labelled rows the tuned weighting does not help; label more, or fit with lam 0."
    )


def test_without_shift_labels_agree_with_the_training_error_or_do_not(report):
    """The same in the headline and below the table, where another estimate stands."""
    verdict = made(report, "none", "enough", "nothing", "wide", labels="disagree")
    expect = verdict.to_dict()["expect"]
    wide = {**expect["candidates"][0], "error": {"value": 0.2, "low": 0.1, "high": 0.4}}
    actual = {"none": verdict._judgement.actual["none"].to_dict()}
    expect |= {"candidates": [wide], "actual": actual}
    shift = {"word": "none"}
    facts = StoredResult({**verdict.to_dict(), "expect": expect, "shift": shift})
    assert verdict.sentence.startswith(CHANGED)
    assert agreement(facts) == "far from the expected one: none"


def test_a_wide_table_fits_a_terminal_and_a_narrow_one_has_air():
    wide = text_table([["a" * 20, *["b" * 10] * 5]])
    assert wide == ["  " + " ".join(["a" * 20, *["b" * 10] * 5])]
    assert text_table([["a", "b"], ["c", "ddd"]]) == ["  a    b", "  c  ddd"]


def test_many_actual_errors_far_from_expected_fit_a_terminal(report):
    far = {"value": 0.9, "low": 0.9, "high": 0.9, "rows": 9}
    names = ("none", "full", "power", "relative", "tuned", "constant")
    rows = [row(each, risk(0.2), lam=0.1 * k).to_dict() for k, each in enumerate(names)]
    result = made(report, "strong", "enough", "sure", "sure").to_dict()
    result["expect"] |= {"candidates": rows, "actual": dict.fromkeys(names, far)}
    assert max(map(len, _actual_block(StoredResult(result)).splitlines())) <= 80


def test_the_assumption_is_on_the_first_screen_at_the_terminal_and_in_notebooks(moved, noise):
    blind = StoredResult(noise.to_dict())
    assert ASSUMED in " ".join(str(noise).split("\n\n")[1].split())
    assert ASSUMED in noise._repr_html_()
    result = moved.to_dict()
    for html in (render(result), summary_html(result)):
        assert ASSUMED in html
    page = render({**result, "expect": {**result["expect"], "actual": None}})
    top = page[: page.index("<nav")]
    assert f"Assumed: {ASSUMED}. Only deployment labels can check it." in top
    assert blind.actual == {}
