"""Rules of the project that a machine can keep."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import weighbridge

ROOT = Path(__file__).parent.parent
MODULES = ["weighbridge"] + [
    f"weighbridge.{name}"
    for _, name, _ in pkgutil.iter_modules(weighbridge.__path__)
    if not name.startswith("_") and name not in ("cli", "torch")
]
API_PAGE = "docs/api.rst"


def _names(module):
    home = importlib.import_module(module)
    return [(module, name) for name in home.__all__ if not inspect.ismodule(getattr(home, name))]


NAMES = [pair for module in MODULES for pair in _names(module)]


def _modules_after(statement):
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_import_is_light():
    # everything public at once brings numpy, scipy, scikit-learn and what they import, no more
    allowed = _modules_after("import numpy, scipy.integrate, scipy.stats, sklearn.ensemble")
    allowed |= _modules_after("import sklearn.linear_model, sklearn.model_selection, sklearn.svm")
    loaded = _modules_after("import weighbridge; from weighbridge import *")
    assert loaded - allowed - sys.stdlib_module_names == {"weighbridge"}


def test_top_level_names():
    assert set(weighbridge.__all__) == set(dir(weighbridge)) - {"__version__"}
    for name in weighbridge.__all__:
        assert getattr(weighbridge, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        weighbridge.nonsense  # noqa: B018


def _without_example(names):
    return [
        f"{module}.{name}"
        for module, name in names
        if ">>>" not in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
    ]


def _missing_on(page, names):
    words = set(re.findall(r"\w+", (ROOT / page).read_text()))
    return [f"{module}.{name}" for module, name in names if name not in words]


def test_every_public_name_has_a_docstring_with_an_example():
    without = _without_example(NAMES)
    # abstract: its examples are those of its members
    assert without == ["weighbridge.ratios.DensityRatioMixin"]
    assert inspect.getdoc(weighbridge.ratios.DensityRatioMixin)


def test_every_public_name_is_on_the_api_page():
    assert _missing_on(API_PAGE, NAMES) == []


@pytest.mark.torch
def test_public_names_of_networks_follow_the_same_rules():
    pytest.importorskip("torch")
    names = _names("weighbridge.torch")
    assert _without_example(names) == []
    assert _missing_on(API_PAGE, names) == []


def test_nothing_public_brings_torch():
    loaded = _modules_after("import weighbridge; from weighbridge import *")
    assert not {"torch", "skorch"} & loaded
    assert "torch" not in weighbridge.__all__


def test_torch_is_in_no_set_of_extras_but_its_own():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    with_torch = {name for name, needs in extras.items() if "torch" in str(needs)}
    assert with_torch == {"torch"}


def test_no_private_module_of_scikit_learn():
    for file in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"(from|import) sklearn[\w.]*\._\w+", file.read_text()), file
