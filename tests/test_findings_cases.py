"""Every finding has a case on its page that raises it, and prints what the page shows."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn

sys.path.append(str(Path(__file__).parent.parent / "docs"))
from findings_cases import cases, level, run, shown

from weighbridge._findings import entries

CASES = cases()
# Too little memory, a reserved code, a defect, Ctrl-C.
NOT_AT_WILL = {"WB142", "WB502", "WB901", "WB902"}
# The last digits of a figure differ between versions; the page shows those of this one.
RECORDED_WITH = (1, 9)
IS_RECORDED = tuple(map(int, sklearn.__version__.split(".")[:2])) == RECORDED_WITH


def _marked(name):
    case = CASES[name]
    absent = case.needs == "linux" != sys.platform
    absent |= case.needs == "pyarrow" and find_spec("pyarrow") is None
    marks = [pytest.mark.skipif(absent, reason=f"needs {case.needs}")]
    marks += [pytest.mark.more] if case.slow else []
    marks += [pytest.mark.torch] if case.needs == "torch" else []
    return pytest.param(name, marks=marks)


def _words(text):
    """Return a text without its figures, in the words of click since 8.4."""
    text = re.sub(r"No such option: (\S+)\.", r"No such option '\1'.", text)
    return re.sub(r"[\d.,]*\d", "#", " ".join(text.split()))


def test_every_code_has_a_case_or_a_reason_why_not():
    assert {case.code for case in CASES.values()} == set(entries())
    assert {case.code for case in CASES.values() if case.reason} == NOT_AT_WILL
    for name, case in CASES.items():
        assert name[:5] == case.code
        assert bool(case.reason) != bool(case.python or case.shell), name


def test_every_level_of_a_code_has_a_case():
    for code, entry in entries().items():
        told = "\n".join(case.output for case in CASES.values() if case.code == code)
        levels = {level(code, line) for line in told.splitlines()} - {None}
        assert code in NOT_AT_WILL or levels == set(entry.levels), code


@pytest.mark.parametrize("name", [_marked(name) for name, case in CASES.items() if not case.reason])
def test_a_case_raises_its_code_and_prints_what_the_page_shows(name):
    case = CASES[name]
    if case.needs == "torch":
        pytest.importorskip("torch")
    said = run(case)
    assert "Traceback" not in said
    told, page = shown(case, said), case.output.strip("\n")
    assert any(level(case.code, line) for line in told.splitlines()), said
    if IS_RECORDED and case.needs != "torch":
        assert told == page
    else:
        assert _words(told) == _words(page)
