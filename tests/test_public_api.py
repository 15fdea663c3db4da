"""Rules of the project that a machine can keep."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import weighbridge

ROOT = Path(__file__).parent.parent
MODULES = ["weighbridge"] + [
    f"weighbridge.{name}"
    for _, name, _ in pkgutil.iter_modules(weighbridge.__path__)
    if not name.startswith("_") and name != "cli"
]
NAMES = [
    (module, name)
    for module in MODULES
    for name in importlib.import_module(module).__all__
    if not inspect.ismodule(getattr(importlib.import_module(module), name))
]


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


def test_every_public_name_has_a_docstring_with_an_example():
    without = [
        f"{module}.{name}"
        for module, name in NAMES
        if ">>>" not in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
    ]
    # abstract: its examples are those of its members
    assert without == ["weighbridge.ratios.DensityRatioMixin"]
    assert inspect.getdoc(weighbridge.ratios.DensityRatioMixin)


@pytest.mark.parametrize("page", ["docs/api.rst", "CHANGELOG.md"])
def test_every_public_name_is_on_the_api_page_and_in_the_changelog(page):
    words = set(re.findall(r"\w+", (ROOT / page).read_text()))
    assert [f"{module}.{name}" for module, name in NAMES if name not in words] == []


def test_one_version():
    assert version("weighbridge") == weighbridge.__version__
    assert f"version: {weighbridge.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {weighbridge.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_private_module_of_scikit_learn():
    for file in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"(from|import) sklearn[\w.]*\._\w+", file.read_text()), file
