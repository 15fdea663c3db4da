"""What every code means: one entry for each code that is said, and pages that fit a terminal."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from weighbridge._findings import GROUPS, entries, page
from weighbridge.ratios import OverlapJudgement

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))
from findings_page import documentation  # noqa: E402

SOURCE = ROOT / "src" / "weighbridge"
CODE = re.compile(r"WB\d{3}")
ENTRIES = entries()
SHELL = {
    *("cat", "df", "file", "gzip", "head", "iconv", "ls", "pip", "pwd", "python", "sed"),
    *("sha256sum", "wc"),
}


@cache
def _trees():
    """Every module but the codes' own."""
    files = [file for file in SOURCE.rglob("*.py") if file.name != "codes.py"]
    return [ast.parse(file.read_text(encoding="utf-8")) for file in files]


def _docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    owners = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.body]
    return {id(owner.body[0].value) for owner in owners if isinstance(owner.body[0], ast.Expr)}


def _said():
    """Codes in the text that the library gives out; a docstring gives nothing out."""
    found = set()
    for tree in _trees():
        left_out = _docstrings(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set() if id(node) in left_out else set(CODE.findall(node.value))
    return found


def _calls():
    """Name, first text and arguments of every call whose first argument starts with a code."""
    for tree in _trees():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            first = node.args[0]
            text = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else first
            value = getattr(text, "value", None)
            if isinstance(value, str) and CODE.match(value):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                yield name, value[:5], node.args


def _prose(entry):
    return [entry.seen, entry.why, *(step.say for step in entry.do)]


def _typed():
    return [(code, line) for code, entry in ENTRIES.items() for s in entry.do for line in s.type]


def test_every_code_that_is_said_has_an_entry():
    assert _said() - set(ENTRIES) == set()


def test_codes_in_pages_templates_and_documentation_have_an_entry():
    files = [*SOURCE.rglob("*.toml"), *SOURCE.rglob("*.j2"), *SOURCE.rglob("*.js")]
    files += [*ROOT.glob("docs/*.rst"), *ROOT.glob("docs/guide/*.rst"), ROOT / "README.md"]
    for file in files:
        assert set(CODE.findall(file.read_text(encoding="utf-8"))) <= set(ENTRIES), file


def test_every_entry_is_said_or_reserved_with_a_reason():
    silent = set(ENTRIES) - _said()
    assert silent == {code for code, entry in ENTRIES.items() if entry.reserved}


def test_levels_are_those_that_the_library_gives():
    for name, code, arguments in _calls():
        if name == "Finding":
            assert getattr(arguments[1], "value", None) in ENTRIES[code].levels, code
        if name == "Problem":
            assert "error" in ENTRIES[code].levels, code


def test_a_warning_of_python_has_a_line_that_silences_it():
    warned = {code for name, code, _ in _calls() if name in ("warn", "_warn")}
    warned |= {OverlapJudgement(word).code for word in ("enough", "thin", "broken")}
    for code in warned:
        assert f'message="{code}"' in ENTRIES[code].silence


def test_every_entry_is_whole():
    for code, entry in ENTRIES.items():
        assert CODE.fullmatch(code)
        assert code[2] in GROUPS
        assert set(entry.levels) <= {"error", "warning", "note"}
        texts = [*_prose(entry), entry.silence]
        assert all(text[0].isupper() and text[-1] in ".:?!" for text in texts), code
        assert any(step.type for step in entry.do), f"{code} gives nothing to type"


def test_a_step_that_is_typed_announces_it():
    for code, entry in ENTRIES.items():
        for step in entry.do:
            assert step.say[-1] in (":?" if step.type else ".!?"), (code, step.say)


def test_no_text_is_written_twice():
    texts = [text for entry in ENTRIES.values() for text in (entry.name, *_prose(entry))]
    assert len(texts) == len(set(texts))


def test_pages_speak_of_training_and_deployment():
    for code, entry in ENTRIES.items():
        prose = re.sub(r"``.*?``", "", " ".join([entry.name, *_prose(entry), entry.silence]))
        assert not re.search(r"\b(source|target)s?\b", prose), code


@pytest.mark.parametrize("code", ENTRIES)
def test_a_page_fits_a_terminal_and_keeps_typed_lines_whole(code):
    lines = page(code).split("\n")
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert "``" not in page(code)
    assert page(code).isascii()  # a terminal that knows nothing else shows it as well
    assert all(line == line.rstrip() for line in lines)
    stripped = {line.strip() for line in lines}
    assert all(line in stripped for step in ENTRIES[code].do for line in step.type)


@pytest.mark.parametrize("code", ENTRIES)
def test_page_and_documentation_say_the_same(code):
    words = " ".join(page(code).replace(" - ", " ").split())
    section = documentation().partition(f".. _{code}:")[2].partition(".. _WB")[0]
    entry = ENTRIES[code]
    for text in [*_prose(entry), entry.silence, entry.raised_by]:
        assert text in section
        assert " ".join(text.replace("``", "").replace(" - ", " ").split()) in words


def test_the_documentation_has_every_code_in_its_group_once():
    text = documentation()
    for code, entry in ENTRIES.items():
        assert text.count(f".. _{code}:") == 1
        assert text.count(f"{code}: {entry.name}\n") == 1
    heads = [f"WB{digit}xx: {title[0].lower()}{title[1:]}\n---" for digit, title in GROUPS.items()]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)


def test_codes_are_read_in_any_spelling():
    assert page("WB301") == page("wb301") == page(" 301 ")


@pytest.mark.parametrize(
    ("code", "nearest"),
    [
        ("WB309", r"'WB309', but there is no such code; nearest: .*WB30\d \("),
        ("overlap", r"nearest: WB301 \(thin overlap\), WB302 \(broken overlap\)\.$"),
        ("XYZ", r"codes are WB1xx inputs and files, WB2xx shift, .*WB9xx the run itself\.$"),
    ],
)
def test_an_unknown_code_names_the_nearest(code, nearest):
    with pytest.raises(ValueError, match=nearest):
        page(code)


def _options(command):
    from weighbridge.cli._app import app

    found = app.commands[command]
    return {"--help", *(name for parameter in found.params for name in parameter.opts)}


@pytest.mark.parametrize(("code", "line"), _typed())
def test_what_is_to_be_typed_exists(code, line):
    """Commands have the options that pages name, and lines of Python can be read."""
    words = line.split()
    if words[0] == "weighbridge" or words[0].startswith("--"):
        command = "adapt" if words[0].startswith("--") or len(words) == 1 else words[1]
        named = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert named <= _options(command)
    elif words[0].rstrip(";") not in SHELL:
        ast.parse(line)
