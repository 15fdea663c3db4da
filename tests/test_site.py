"""The documentation: every page has an example that runs, and every link leads somewhere."""

import importlib.util
import json
import os
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = Path(os.environ.get("WEIGHBRIDGE_SITE", DOCS / "_build" / "html"))
# Pages that only lead to others, and the page of findings: each code there has a case that is run.
LISTS = {"start", "more", "api", "changelog", "findings", "guide/index"}


def _module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pages():
    built = {"_build", "gallery", "api", "examples", "tutorials", "_templates"}
    files = [each for each in DOCS.rglob("*.rst") if each.relative_to(DOCS).parts[0] not in built]
    return sorted(each.relative_to(DOCS).with_suffix("").as_posix() for each in files)


def _runs(text):
    """Say whether a page has a doctest, a recorded run, or a link to an example that is run."""
    return bool(
        re.search(r"^ *>>> ", text, re.M)
        or re.search(r"(include|image):: \S*recorded/", text)
        or re.search(r":doc:`[^`]*gallery/\S*\d\d_\w+", text)
    )


@pytest.mark.parametrize("page", [page for page in _pages() if page not in LISTS])
def test_every_page_has_an_example_that_runs(page):
    assert _runs((DOCS / f"{page}.rst").read_text(encoding="utf-8"))


def test_a_page_of_words_alone_is_noticed():
    assert not _runs("Words\n=====\n\n``>>> not an example``, and :doc:`guide/limits`.\n")


def test_the_api_page_has_every_name_once():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    names = Counter(re.findall(r"^   (\w[\w.]*)$", text, re.M))
    assert len(names) > 100
    assert [name for name, times in names.items() if times > 1] == []


def test_versions_are_sorted_and_the_newest_release_is_preferred(tmp_path):
    for name in ("dev", "0.9", "0.10", "1.0rc1", "no_page"):
        (tmp_path / name).mkdir()
        if name != "no_page":
            (tmp_path / name / "index.html").touch()
    found = _module("versions").versions(tmp_path, "/weighbridge/")
    assert [each["version"] for each in found] == ["0.10", "0.9", "1.0rc1", "dev"]
    assert [each["preferred"] for each in found] == [True, False, False, False]
    assert found[0]["url"] == "/weighbridge/0.10/"


# What follows looks at the built site.


class _Page(HTMLParser):
    """Collects what a page points to, and what can be pointed to on it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places, self.without_alt = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.places |= {named[key] for key in ("id", "name") if named.get(key)}
        self.links += [named[key] for key in ("href", "src") if named.get(key)]
        if tag == "img" and "alt" not in named:
            self.without_alt.append(named.get("src"))


@pytest.fixture(scope="session")
def pages():
    """Return the parsed pages of the built site by path."""
    if not (SITE / "index.html").exists():
        reason = "the site is not built: run `make docs` first"
        if os.environ.get("WEIGHBRIDGE_REQUIRE_SITE") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    files = [each for each in SITE.rglob("*.html") if "_static" not in each.parts]
    return {each.resolve(): _Page(each.read_text(encoding="utf-8")) for each in files}


def _is_outside(link):
    return bool(urlsplit(link).scheme) or link.startswith("//")


def _lost(pages):
    """Return the links within a site that lead nowhere, each with the page it is on."""
    lost = []
    for file, page in pages.items():
        for link in {each for each in page.links if not _is_outside(each)}:
            parts = urlsplit(link)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            place = unquote(parts.fragment)
            is_page = target in pages and not place.startswith("search")
            if not target.is_file() or (place and is_page and place not in pages[target].places):
                lost.append(f"{file.name}: {link}")
    return sorted(lost)


def test_no_link_within_the_site_is_dead(pages):
    assert len(pages) > 200
    assert _lost(pages) == []


def test_a_dead_link_is_noticed(tmp_path):
    file = tmp_path / "a.html"
    file.write_text('<p id="here"><a href="#here">1</a><a href="#gone">2</a><a href="b.html">3</a>')
    pages = {file.resolve(): _Page(file.read_text())}
    assert _lost(pages) == ["a.html: #gone", "a.html: b.html"]


def test_links_to_elsewhere_are_well_formed(pages):
    links = {link for page in pages.values() for link in page.links if _is_outside(link)}
    allowed = {"https", "mailto", "data", "javascript"}
    wrong = [
        link
        for link in links
        if urlsplit(link).scheme not in allowed
        or (urlsplit(link).scheme == "https" and "." not in urlsplit(link).netloc)
    ]
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(pages):
    loading = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+stylesheet"
        r"[^>]+href=\"(?:https?:)?//"
    )
    assert [file.name for file in pages if loading.search(file.read_text(encoding="utf-8"))] == []


def test_every_picture_has_words_for_it(pages):
    assert [(file.name, page.without_alt) for file, page in pages.items() if page.without_alt] == []


def test_the_search_index_knows_the_pages(pages):
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    known = json.loads(index[index.index("(") + 1 : index.rindex(")")])["docnames"]
    assert {"index", "ten_minutes", "faq", "glossary", "guide/limits"} <= set(known)
