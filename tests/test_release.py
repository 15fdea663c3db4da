"""What a release says of itself: its version, its addresses, its sets of dependencies."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import weighbridge

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = "https://host.example/weighbridge"


def released(text):
    """Return the release that a version is, or comes before: 0.2 of 0.2.0.dev7 and of 0.2.0rc1."""
    parts = [int(part) for part in re.match(r"\d+(\.\d+)*", text)[0].split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def _hook():
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_that_of_the_installed_package():
    assert weighbridge.__version__ == version("weighbridge")


def test_the_citation_names_the_release_on_top_of_the_changelog():
    citation = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)[1]
    latest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    assert citation == latest
    # an environment may be older than the checkout, but never newer
    assert released(weighbridge.__version__) <= released(latest)


def test_a_checkout_that_is_not_installed_says_so(tmp_path):
    # -S: no site-packages, so that nothing is installed, and no dependency is imported either
    code = "import weighbridge, sys; print(weighbridge.__version__, 'numpy' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["0+not.installed", "False"], done.stderr


def test_importing_looks_no_version_up():
    code = "import sys, weighbridge; assert 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip


def test_without_a_home_nothing_is_claimed():
    hook = _hook()
    assert hook.urls("") == {}
    assert hook.absolute("[a](b.md)", "") == "[a](b.md)"


def test_a_home_gives_five_links():
    links = _hook().urls(HOME)
    assert set(links) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(link.startswith(HOME) for link in links.values())
    assert _hook().urls(HOME, "https://docs.example")["Documentation"] == "https://docs.example"


@pytest.mark.parametrize("text", ["weighbridge.example", "http://host.example/x", "https://"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match=r"WEIGHBRIDGE_HOME=.*expected an address such as https"):
        _hook().address(text, "WEIGHBRIDGE_HOME")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![A picture.](docs/a.png)", f"![A picture.]({HOME}/raw/v1/docs/a.png)"),
        ("see [b](docs/b.rst).", f"see [b]({HOME}/blob/v1/docs/b.rst)."),
        ('[b](b.md "title")', f'[b]({HOME}/blob/v1/b.md "title")'),
        ("[c](https://c.example/d)", "[c](https://c.example/d)"),
        ("[d](#a-heading)", "[d](#a-heading)"),
        ("```\n[e](f)\n```", "```\n[e](f)\n```"),
    ],
)
def test_relative_links_become_absolute(text, expected):
    assert _hook().absolute(text, HOME, "v1") == expected


def test_every_relative_link_of_the_readme_is_a_file():
    hook = _hook()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"\]\({re.escape(HOME)}/\w+/HEAD/([^)\s#]+)", hook.absolute(text, HOME))
    assert found
    assert [path for path in found if not (ROOT / path).exists()] == []


def test_the_hook_fills_what_is_dynamic(monkeypatch):
    hook = _hook()
    assert set(PYPROJECT["project"]["dynamic"]) == {"version", "readme", "urls"}
    for name in ("WEIGHBRIDGE_HOME", "WEIGHBRIDGE_DOCS", "WEIGHBRIDGE_REF"):
        monkeypatch.delenv(name, raising=False)
    metadata = {}
    hook.CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert set(metadata) == {"readme"}
    monkeypatch.setenv("WEIGHBRIDGE_HOME", f"{HOME}/")
    hook.CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert metadata["urls"]["Source"] == HOME
    title, _, badge, *rest = metadata["readme"]["text"].splitlines()
    workflow = re.fullmatch(rf"\[!\[Tests\].*\]\({HOME}/actions/(workflows/.*yml)\)", badge)[1]
    assert (title, (ROOT / ".github" / workflow).exists()) == ("# weighbridge", True)
    assert f"]({HOME}/" in "".join(rest)


def test_extras_are_for_users_and_groups_for_developers():
    extras, groups = PYPROJECT["project"]["optional-dependencies"], PYPROJECT["dependency-groups"]
    assert {"test", "lint", "docs", "browser", "engines", "recipes", "dev"} <= set(groups)
    assert not set(extras) & set(groups)


def test_make_and_nox_run_the_same_tests():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    apart = re.search(r"^APART := (.*)$", makefile, re.M)[1]
    tests = re.search(r"^TESTS := (.*)$", makefile, re.M)[1].replace("$(APART)", apart)
    assert f'TESTS = "{tests}"' in (ROOT / "noxfile.py").read_text(encoding="utf-8")


def test_the_recipe_of_conda_needs_what_the_package_needs():
    project = PYPROJECT["project"]
    needs = {*project["dependencies"], *project["optional-dependencies"]["cli"]}
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    listed = {line[6:].replace(" ", "") for line in run.splitlines() if line.startswith("    - ")}
    assert {need for need in listed if not need.startswith("python")} == needs
