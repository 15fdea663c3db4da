"""Pages that name a part of weighbridge for each part of the paper: every name exists."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "reproducing"
PAGES = ["symbols.rst", "audit.rst"]
NAME = re.compile(r"(?<!`)`~?\.?(weighbridge(?:\.\w+)+)`(?!`)")


def _found(name):
    """The object of that name: the longest module, then attributes, fields of dataclasses too."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        break
    for part in parts[cut:]:
        if part in getattr(thing, "__dataclass_fields__", {}):
            return True
        thing = (
            inspect.getattr_static(thing, part, None)
            if inspect.isclass(thing)
            else getattr(thing, part, None)
        )
        if thing is None:
            return False
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_name_on_the_page_exists(page):
    names = set(NAME.findall((FOLDER / page).read_text()))
    assert len(names) > 20
    here = (name for name in names if not name.startswith("weighbridge.torch."))
    assert sorted(name for name in here if not _found(name)) == []


@pytest.mark.torch
def test_every_name_of_networks_exists():
    pytest.importorskip("torch")
    names = {name for page in PAGES for name in NAME.findall((FOLDER / page).read_text())}
    networks = {name for name in names if name.startswith("weighbridge.torch.")}
    assert networks
    assert sorted(name for name in networks if not _found(name)) == []


def test_a_name_that_does_not_exist_is_noticed():
    text = "`weighbridge.geodesic.log_weight`, ``weighbridge.no`` and `weighbridge.Geodesic.gone`"
    assert [(name, _found(name)) for name in NAME.findall(text)] == [
        ("weighbridge.geodesic.log_weight", True),
        ("weighbridge.Geodesic.gone", False),
    ]


def test_every_symbol_has_its_place_and_its_name():
    # rows of three cells; a cell goes on in lines that are indented further
    rows = re.split(r"^   \* - ", (FOLDER / "symbols.rst").read_text(), flags=re.MULTILINE)[1:]
    rows = [re.split(r"^     - ", row, flags=re.MULTILINE) for row in rows]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    symbols = [row[0] for row in rows if row[0].strip() != "symbol"]
    assert len(symbols) == len(set(symbols)) > 55


def test_every_test_that_the_audit_names_exists_and_every_row_has_a_state():
    text = (FOLDER / "audit.rst").read_text()
    named = re.findall(r"``(test_\w+)::(test_\w+)``", text)
    assert len(named) > 45
    files = {path.stem: path for path in Path(__file__).parent.rglob("test_*.py")}
    sources = {file: files[file].read_text() for file, _ in named}
    assert [each for each in named if f"\ndef {each[1]}(" not in sources[each[0]]] == []
    rows = [re.split(r"\n     - ", row) for row in text.split("\n   * - ")[2:]]
    states = {"right", "mended", "compared", "answered"}
    assert {row[3].strip() for row in rows} == states
    assert [row[0] for row in rows if "::" not in row[2]] == []
