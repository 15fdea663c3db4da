"""The page of a result, without a browser: its form, its numbers, its words, what it lets in."""

import ast
import base64
import copy
import hashlib
import json
import os
import re
import shlex
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.report import embedded, read_result, render, summary_html, write_report
from weighbridge.report._page import environment

sys.path.append(str(Path(__file__).parent / "browser"))
import results as made_up
from results import HOSTILE, helps

VOID = {"meta", "input", "br", "hr"}
GOLDEN = Path(__file__).parent / "report_golden.txt"


def regression():
    """Return a result whose error is no share, of three features."""
    result = helps(("area", "rooms", "year"))
    result["inputs"].update(task="regression", classes=None)
    expect = result["expect"]
    expect["measure"] = "RMSE"
    expect["training"] *= 16_000
    for candidate in (*expect["candidates"], expect["constant"]):
        for part in ("error", "change"):
            if candidate[part] is not None:
                candidate[part] = {key: 16_000 * each for key, each in candidate[part].items()}
    result["verdict"]["sentence"] = "Weighting helps: expected error (RMSE) 6,416 → 5,648"
    return result


RESULTS = {
    name: getattr(made_up, name)
    for name in (
        "helps",
        "probably",
        "demo",
        "changed",
        "no_gain",
        "no_shift",
        "thin",
        "broken",
        "two_features",
        "five_hundred_features",
        "hostile",
        "further_models",
        "diagnosis",
        "without_pictures",
    )
} | {"regression": regression}


class Page(HTMLParser):
    """Elements in order with their attributes, and the text inside each."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self._open = [], [], []
        self.feed(page)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append((element, []))

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        element, parts = self._open.pop()
        assert element["tag"] == tag
        element["text"] = "".join(parts)

    def handle_data(self, data):
        for _, parts in self._open:
            parts.append(data)
        if not {"script", "style", "svg"} & {element["tag"] for element, _ in self._open}:
            self.text.append(data)

    def all(self, tag, **attributes):
        """Return the elements of a tag that have these attributes."""
        return [
            each
            for each in self.elements
            if each["tag"] == tag and attributes.items() <= each.items()
        ]

    @property
    def words(self):
        """All words outside of drawings, one space apart."""
        return " ".join("".join(self.text).split())


def table_of(page, caption):
    """Return the rows of a table by its caption, as text."""
    html = next(
        each
        for each in re.findall(r"<table>.*?</table>", page, re.DOTALL)
        if Page(each).all("caption")[0]["text"].startswith(caption)
    )
    return [
        [cell["text"] for cell in Page(row).elements if cell["tag"] in ("th", "td")]
        for row in re.findall(r"<tr>.*?</tr>", html, re.DOTALL)
    ]


@pytest.fixture(scope="module")
def pages():
    return {name: render(make()) for name, make in RESULTS.items()}


@pytest.fixture(scope="module", params=list(RESULTS))
def case(request, pages):
    """Every kind of result with its page."""
    return RESULTS[request.param](), pages[request.param], Page(pages[request.param])


# The form of the page.


def test_ids_are_unique_and_every_link_inside_the_page_leads_somewhere(case):
    _, _, page = case
    ids = [each["id"] for each in page.elements if "id" in each]
    assert len(ids) == len(set(ids))
    links = [each["href"] for each in page.all("a")]
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_every_drawing_has_a_title_and_a_description(case):
    _, html, page = case
    ids = {each.get("id"): each["text"] for each in page.elements}
    assert len(page.all("svg")) == html.count("<svg")
    for svg in page.all("svg"):
        assert svg["role"] == "img"
        assert all(ids[each].strip() for each in svg["aria-labelledby"].split())


def test_the_page_refers_to_nothing_outside_itself(case):
    _, _, page = case
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {
        each["tag"] for each in page.elements
    }
    for each in page.elements:
        assert not {"src", "srcset", "data", "action", "poster", "xlink:href"} & each.keys()
    style = "".join(each["text"] for each in page.all("style"))
    assert "@import" not in style
    assert "url(" not in style


def test_only_our_script_may_run_and_it_is_small(case):
    _, _, page = case
    data, ours = page.all("script")
    assert data["type"] == "application/json"
    digest = base64.b64encode(hashlib.sha256(ours["text"].encode()).digest()).decode()
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"].startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy["content"]
    assert len(ours["text"].encode()) < 5000
    assert not [name for each in page.elements for name in each if name.startswith("on")]


def test_tables_have_captions_and_heads_and_scroll_in_their_own_box(case):
    _, html, page = case
    regions = page.all("div", role="region")
    assert len(page.all("table")) == len(page.all("caption")) == len(regions)
    assert all(each["tabindex"] == "0" for each in regions)
    labels = [each["aria-label"] for each in regions]
    assert len(labels) == len(set(labels))
    assert len(page.all("th")) == html.count('scope="col"') + html.count('scope="row"')


def test_sentence_is_heading_and_title(case):
    result, _, page = case
    sentence = result["verdict"]["sentence"]
    assert [each["text"] for each in page.all("h1")] == [sentence]
    assert page.all("title")[0]["text"] == sentence  # those behind it are inside of drawings


def test_same_result_gives_same_bytes_however_long_it_took():
    result = helps()
    slower = {**result, "timing": {"read": 99.0}}
    assert render(result) == render(helps()) == render(slower)


def test_pages_are_small():
    twenty = helps(tuple(f"feature_{k}" for k in range(20)))
    many = helps(tuple(f"a_rather_long_name_of_a_feature_{k:04d}" for k in range(2000)))
    row = {"name": "x" * 30, "feature": "x" * 30, "kind": "number", "before": 1 / 3}
    numbers = ("mean_source", "mean_target", "mean_weighted", "after")
    many["shift"]["balance"] = {"rows": [row | dict.fromkeys(numbers, 1 / 7)] * 2000}
    assert len(render(twenty).encode()) <= 300_000
    assert len(render(many).encode()) <= 1_500_000


# Its numbers.


def test_cards_show_the_answers_as_they_are(case):
    result, _, page = case
    words = [each["text"] for each in page.all("span", **{"class": "wbr-said"})]
    evidence = [each["text"] for each in page.all("dd", **{"class": "wbr-evidence"})]
    answers = result["answers"]
    assert words == [each["word"] for each in answers]
    shown = [re.sub("[\x00-\x08]", "\ufffd", each["evidence"]) for each in answers]
    assert evidence == shown


def percent(value):
    return f"{100 * value:.1f} %"


def change(value):
    text = f"{abs(100 * value):.1f}"
    return text if float(text) == 0 else ("−" if value < 0 else "+") + text


def test_comparison_has_the_numbers_of_the_result_rounded():
    result = RESULTS["demo"]()
    rows = table_of(render(result), "The weightings compared")
    constant = rows.pop()
    assert constant[:4] == ["constant (most frequent class)", "–", "–", "45.3 %"]
    assert constant[8:] == ["–"] * 3
    assert len(rows) == 1 + len(result["expect"]["candidates"])
    for row, candidate in zip(rows[1:], result["expect"]["candidates"], strict=True):
        error, moved = candidate["error"], candidate["change"]
        assert row[0].split(" ")[0].strip(",") == candidate["name"]
        assert row[3] == percent(error["value"])
        assert row[4] == f"{100 * error['low']:.1f} – {100 * error['high']:.1f}"
        assert row[5] == ("–" if moved is None else change(moved["value"]))
        if moved is not None:
            assert row[6] == f"{change(moved['low'])} – {change(moved['high'])}"
        assert row[7] == f"{candidate['worth']:,.0f}"
        truth = result["expect"]["actual"][candidate["name"]]
        assert row[8] == percent(truth["value"])
        assert row[9] == f"{100 * truth['low']:.1f} – {100 * truth['high']:.1f}"
        meet = truth["low"] <= error["high"] and error["low"] <= truth["high"]
        assert row[10] == ("yes" if meet else "no")


def test_change_shown_is_the_difference_of_the_errors_shown():
    # up to one unit of the last digit: three numbers are rounded
    rows = table_of(render(helps()), "The weightings compared")[1:]
    errors = [float(row[3].removesuffix(" %")) for row in rows]
    changes = [float(row[5].replace("−", "-")) for row in rows[1:]]
    for error, moved in zip(errors[1:], changes, strict=True):
        assert abs(error - errors[0] - moved) <= 0.1 + 1e-9


def test_errors_that_are_no_shares_are_shown_as_they_are():
    result = RESULTS["regression"]()
    page = render(result)
    none = result["expect"]["candidates"][0]["error"]["value"]
    assert none > 1000
    assert table_of(page, "The weightings compared")[1][3] == f"{none:,.0f}"
    assert f"Without weights it would be {none:,.0f}" in Page(page).words


def test_differences_of_every_feature_are_in_a_table():
    result = helps()
    rows = table_of(render(result), "Means")
    weightings = [each.removeprefix("after ") for each in rows[0][4:]]
    for row, expected in zip(rows[1:], result["pictures"]["balance"], strict=True):
        numbers = [expected["before"], *(expected["after"][name] for name in weightings)]
        shown = [float(cell.replace("−", "-")) for cell in row[3:]]
        assert row[0] == expected["name"]
        assert shown == [round(each, 2) for each in numbers]


def test_shares_of_a_feature_add_up_to_those_of_its_bins():
    result = helps()
    histogram = next(each for each in result["pictures"]["features"] if each["edges"])
    rows = table_of(render(result), f"{histogram['name']}: share")
    shown = [float(row[1].removesuffix(" %")) for row in rows[1:]]
    edges = histogram["edges"]
    shares = [
        100 * density * (high - low)
        for density, low, high in zip(histogram["training"], edges, edges[1:], strict=False)
    ]
    assert shown == pytest.approx(shares, abs=0.05 + 1e-9)  # one digit after the point


def test_tables_stop_at_400_rows_and_count_the_rest():
    page = render(RESULTS["five_hundred_features"]())
    assert len(table_of(page, "Columns")) == 401
    assert "And 100 more rows" in Page(page).words


def test_every_weighting_can_be_picked_and_the_one_in_use_is():
    page = Page(render(helps()))
    radios = page.all("input", type="radio")
    assert [each["value"] for each in radios] == ["tuned", "full", "power", "relative"]
    assert [each["value"] for each in radios if "checked" in each] == ["tuned"]
    drawn = len(page.all("figure", **{"class": "small"})) + 2  # and the love plot, and the key
    for k in range(1, 5):
        assert len(page.all("div", **{"class": f"variant variant-{k}"})) == drawn


# Its words.

WORDS = {
    "helps": ["With the tuned weighting the expected error in deployment is 35.3 %"],
    "probably": ["a gain that is likely, not certain", "and 3 more"],
    "demo": ["Deployment labels are known here", "each agrees with the expected one"],
    "changed": ["far from the expected one: full, power, relative, tuned; the others agree"],
    "no_gain": [
        "Without weights the expected error in deployment is 12.1 %",
        "Weighting, on the same rows: no gain, ",
        "the unweighted model is expected to do as well",
    ],
    "no_shift": ["the error in training is the best forecast", "no weighting was searched for"],
    "thin": ["These are rough figures", "The overlap is thin: the full ratio is worth 38"],
    "broken": [
        "No error can be forecast for deployment",
        "weights mean nothing",
        "no weighting can be judged",
    ],
    "regression": ["the expected error (RMSE) in deployment is 5,648"],
    "further_models": ["Further models", "boosting"],
    "diagnosis": ["No label was given", "No model was fitted"],
    "without_pictures": ["stored without the numbers", "With the tuned weighting"],
}


@pytest.mark.parametrize("name", list(WORDS))
def test_each_verdict_is_said_in_words(name, pages):
    words = Page(pages[name]).words
    for each in WORDS[name]:
        assert each in words


SIGNS = {
    "helps": "i!✓✓i",
    "probably": "i!✓ii",
    "changed": "i!✓✓✕",
    "no_gain": "i✓✓!i",
    "no_shift": "i✓✓ii",
    "thin": "i!!✓!",
    "broken": "ii✕ii",
    "diagnosis": "i✓",
}


@pytest.mark.parametrize("name", list(SIGNS))
def test_signs_of_the_cards_follow_the_words(name, pages):
    signs = Page(pages[name]).all("span", **{"class": "wbr-sign"})
    assert "".join(each["text"] for each in signs) == SIGNS[name]
    assert all(each["aria-label"] for each in signs)


def test_a_diagnosis_without_answers_gets_them_from_its_numbers():
    result = {**RESULTS["diagnosis"](), "answers": []}
    words = Page(render(result)).words
    auc = result["shift"]["auc"]
    assert f"AUC {auc['value']:.2f} [{auc['low']:.2f}, {auc['high']:.2f}]; most in age" in words
    assert "full ratio: 712 effective rows of 4,000" in words


def test_a_search_that_chose_no_weights_is_said_to_have_done_so():
    result = RESULTS["no_gain"]()
    tuned = result["expect"]["candidates"][-1]
    tuned.update(lam=0.0, alpha=None)
    result["pictures"]["bridge"]["chosen"]["lam"] = 0.0
    words = Page(render(result)).words
    assert "no weighting (lam 0) was chosen" in words
    assert "After the full weighting" in words  # weights that can be looked at


def test_a_given_weighting_is_shown_before_the_full_one():
    result = RESULTS["no_gain"]()
    result["expect"]["candidates"][-1]["name"] = "given"
    result["pictures"]["bridge"] = None
    result["pictures"] = json.loads(json.dumps(result["pictures"]).replace('"tuned"', '"given"'))
    page = Page(render(result))
    picked = [each["value"] for each in page.all("input", type="radio") if "checked" in each]
    assert picked == ["given"]
    assert "The weighting was given and not searched for" in page.words


def test_findings_have_their_own_places_the_gravest_first():
    result = helps()
    result["findings"].append(dict(result["findings"][1], message="Another one."))
    page = Page(render(result))
    ids = [each["id"] for each in page.all("li") if each.get("id")]
    assert ids == ["WB304", "WB304-2", "WB501"]
    assert "Trust (3)" in page.words


def test_columns_left_out_are_named_at_the_top():
    result = RESULTS["probably"]()
    top = render(result).partition("<nav")[0]
    named = [each["name"] for each in result["inputs"]["dropped"][:6]]
    assert all(f"<bdi>{name}</bdi>" in top for name in named)
    assert "column_6" not in top


def test_the_commands_to_copy_can_be_typed():
    result = RESULTS["hostile"]()
    result["settings"].update(seed=7, lam=0.5, models=["linear", "boosting"])
    page = Page(render(result))
    code = {each["id"]: each["text"] for each in page.all("pre")}
    train, deploy, label = (
        result["inputs"]["train"]["file"],
        result["inputs"]["deploy"]["file"],
        result["inputs"]["label"],
    )
    typed = shlex.split(code["use-repeat"])
    assert typed[:6] == ["weighbridge", "adapt", train, deploy, "--label", label]
    assert typed[typed.index("--seed") + 1] == "7"
    models = [typed[k + 1] for k, each in enumerate(typed) if each == "--model"]
    assert models == ["linear", "boosting"]
    assert shlex.split(code["use-predict"])[2] == result["files"]["model"]
    call = ast.parse(code["use-adapt"]).body[1].value
    assert [each.value for each in call.args] == [train, deploy]
    given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    assert given["label"] == label
    assert given["lam"] == 0.5
    assert given["model"] == models
    ast.parse(code["use-python"])


def test_data_frames_have_no_command_to_type():
    result = helps()
    result["inputs"]["train"]["file"], result["inputs"]["deploy"]["file"] = "train", "deploy"
    result["files"] = {}
    code = {each["id"]: each["text"] for each in Page(render(result)).all("pre")}
    assert list(code) == ["use-adapt"]
    call = ast.parse(code["use-adapt"]).body[1].value
    assert [each.id for each in call.args] == ["train", "deploy"]


# What it lets in, and what comes back out.


def test_names_that_mean_harm_are_only_text(pages):
    page = Page(pages["hostile"])
    assert len(page.all("script")) == 2
    assert not page.all("img")
    for name in HOSTILE[:6]:
        assert name in "".join(page.text)
    assert "\x00" not in pages["hostile"]


def test_half_a_surrogate_pair_does_not_stop_the_page(tmp_path):
    result = helps(("age", "half \ud83d of a pair"))
    write_report(result, tmp_path / "report.html")
    assert read_result(tmp_path / "report.html")["inputs"] == result["inputs"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_any_json_comes_back_from_a_page_and_holds_no_markup(content):
    content.pop("timing", None)
    content.pop("shift", None)
    text = embedded(content)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == content


def test_a_page_gives_its_result_back_and_is_drawn_from_it_again(tmp_path, case):
    result, html, _ = case
    write_report(result, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html
    again = read_result(tmp_path / "report.html")
    assert again["inputs"] == result["inputs"]
    assert again["expect"] == result["expect"]
    assert again.get("pictures") == result.get("pictures")
    if len(result["inputs"]["features"]) <= 400:
        assert again == {**result, "timing": {}}
        assert render(again) == html


def test_a_result_is_read_from_json(tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(helps()), encoding="utf-8")
    assert read_result(tmp_path / "result.json") == helps()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html></html>", "neither a result.json nor a report"),
        (b'{"schema": ', "breaks off or is damaged at line 1"),
        (b'{"schema": "weighbridge/9"}', "its schema is 'weighbridge/9'"),
        (b'{"a": 1}', "its schema is None"),
        (b"\xff\xfe{", "not UTF-8 text"),
    ],
)
def test_files_that_hold_no_result_are_refused(tmp_path, content, words):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_result(tmp_path / "file")


def test_results_without_a_page_are_refused():
    with pytest.raises(ValueError, match="command='predict', but only adapt, demo, diagnose"):
        render({**helps(), "command": "predict"})
    with pytest.raises(ValueError, match="without a verdict"):
        render({**helps(), "verdict": None})


def test_a_page_that_cannot_be_drawn_leaves_the_old_one(tmp_path):
    (tmp_path / "report.html").write_text("old")
    with pytest.raises(ValueError, match="without a verdict"):
        write_report({**helps(), "verdict": None}, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "old"


def test_without_jinja2_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "weighbridge\[cli\]"'):
        render(small_result())


# The piece for notebooks.


def test_the_summary_is_small_and_has_no_script(case):
    result, _, _ = case
    piece = summary_html(result)
    page = Page(piece)
    assert len(piece.encode()) < 20_000
    assert not page.all("script")
    assert not page.all("a")
    assert result["verdict"]["sentence"] in page.words
    for answer in result["answers"]:
        assert answer["word"] in page.words


def test_rules_of_the_summary_touch_nothing_else():
    (style,) = Page(summary_html(helps())).all("style")
    rules = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}", r"\1", style["text"])
    for selectors in re.findall(r"([^{}]+)\{", rules):
        for each in selectors.split(","):
            assert ".wb" in each.split()[0], each


# The golden page: a fixed result, word by word.


def small_result():
    """Return a result of few numbers that no other test changes."""
    estimate = {"value": 0.401, "low": 0.369, "high": 0.433}
    tuned = {"value": 0.353, "low": 0.314, "high": 0.391}
    moved = {"value": -0.048, "low": -0.091, "high": -0.005}
    return {
        "schema": "weighbridge/1",
        "version": "0.1.0",
        "command": "adapt",
        "date": "2026-01-01",
        "versions": {"python": "3.11.0"},
        "inputs": {
            "train": {"file": "train.csv", "rows": 4000, "sampled": 4000, "sha256": "1" * 64},
            "deploy": {"file": "deploy.csv", "rows": 2000, "sampled": 2000, "sha256": "2" * 64},
            "label": "readmitted",
            "task": "classification",
            "classes": ["0", "1"],
            "features": [{"name": "age", "kind": "numeric", "missing": [0.0, 0.02]}],
            "dropped": [{"name": "visit_id", "code": "WB137", "reason": "nearly all differ"}],
        },
        "settings": {"seed": 0, "model": "linear", "models": ["linear"], "confidence": 0.95},
        "verdict": {
            "sentence": "Weighting helps: expected error 40.1 % → 35.3 %",
            "use": "tuned",
            "shift": "strong",
            "matters": "yes",
            "overlap": "enough",
            "weighting": "helps",
        },
        "answers": [
            {"question": "shift", "word": "strong", "evidence": "AUC 0.79", "advice": "Look."},
            {"question": "expect", "word": "35.3 %", "evidence": "[31.4 %]", "advice": "Plan."},
        ],
        "shift": {"word": "strong", "auc": {"value": 0.79, "low": 0.78, "high": 0.81}},
        "overlap": {
            "word": "enough",
            "reason": "",
            "n_source": 4000,
            "n_target": 2000,
            "worth_full": 712.0,
            "worth_used": 1557.0,
            "outside": 0.02,
            "largest_share": 0.0025,
        },
        "expect": {
            "measure": "error",
            "confidence": 0.95,
            "training": 0.351,
            "candidates": [
                {"name": "none", "literature": "ERM", "lam": 0.0, "alpha": None, "error": estimate}
                | {"change": None, "worth": 4000.0, "state": "good"},
                {"name": "tuned", "literature": "", "lam": 0.95, "alpha": 3.75, "error": tuned}
                | {"change": moved, "worth": 1557.0, "state": "good"},
            ],
            "actual": None,
            "withheld": None,
            "models": [],
        },
        "findings": [{"code": "WB603", "level": "note", "message": "Not seen.", "help": "Label."}],
        "files": {"model": "out/model.skops", "weights": "out/weights.csv"},
        "timing": {},
        "failure": None,
    }


def test_words_of_a_fixed_result_are_as_they_were():
    # after a change that is meant: WEIGHBRIDGE_RENEW=1 pytest tests/test_report.py -k fixed_result
    words = re.sub(r"\s*\n\s*", "\n", "".join(Page(render(small_result())).text)).strip() + "\n"
    if os.environ.get("WEIGHBRIDGE_RENEW") == "1":
        GOLDEN.write_text(words, encoding="utf-8")
    assert words == GOLDEN.read_text(encoding="utf-8")


def test_drawing_changes_nothing_in_the_result():
    result = small_result()
    before = copy.deepcopy(result)
    render(result)
    summary_html(result)
    assert result == before


def test_the_sentence_on_the_choice_counts_as_the_title_and_the_table_of_the_map_do():
    def rendered(result):
        page = re.sub("</?span[^>]*>", "", render(result))
        return page, re.search(r"Of \d+ weightings tried.*?</p>", page).group()

    page, words = rendered(RESULTS["demo"]())
    good, tried = re.search(r"<h3>(\d+) of (\d+) weightings do as well", page).groups()
    assert words.startswith(f"Of {tried} weightings tried, lam 0.70 with alpha 3.00 was chosen")
    assert f"{good} of them (33 %) are within two standard errors of the best" in words
    table = re.search(r'id="fig-bridge".*?</table>', page, re.S).group()
    assert int(good) == table.count("<td>yes</td>")
    assert int(tried) == int(good) + table.count("<td>no</td>")
    # one that stands alone, and all of them
    for rest, end in ((9.0, "No other comes within two"), (0.0, "(100 %) are within two")):
        result = helps()
        result["pictures"]["bridge"]["apart"] = [0.0, rest, rest, rest]
        assert f"{end} standard errors of the best" in rendered(result)[1]
