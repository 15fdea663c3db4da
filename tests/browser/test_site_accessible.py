"""The documentation can be read by everyone: ten pages, light and dark, wide and narrow."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
SITE = Path(os.environ.get("WEIGHBRIDGE_SITE", ROOT / "docs" / "_build" / "html"))
PAGES = [
    "index",
    "installation",
    "ten_minutes",
    "how_to_choose",
    "guide/index",
    "guide/target_risk",
    "gallery/index",
    "gallery/08_weighting_helps",
    "api",
    "glossary",
    "faq",
    "findings",
    "evidence",
    "coming_from/index",
    "guide/limits",
    "recipes/index",
    "gallery/tutorials/01_weighting_helps",
    "reproducing/sets",
]
_AXE = """
    const done = arguments[0];
    axe.run(document, {resultTypes: ["violations"]})
      .then((found) => done(found.violations.map((each) =>
        [each.id, each.impact, each.nodes.slice(0, 5).map((node) => node.target.join(" "))])),
        (error) => done(String(error)));
"""


@pytest.fixture(scope="module")
def site(browser):
    """Return a function that opens a page of the built site at a width, light or dark."""
    if not (SITE / "index.html").exists():
        reason = "the site is not built: run `make docs` first"
        if os.environ.get("WEIGHBRIDGE_REQUIRE_SITE") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    from selenium.webdriver.support.ui import WebDriverWait

    def show(page, width=1280, *, dark=False):
        browser.look(width, 900, dark=dark, prefers_reduced_motion="reduce")
        browser.driver.get((SITE / f"{page}.html").resolve().as_uri())
        # until its script has run, a page shows the scheme of the page before
        wanted = "dark" if dark else "light"
        theme = "return document.documentElement.dataset.theme"
        WebDriverWait(browser.driver, 20).until(lambda _: browser.run(theme) == wanted)
        return browser

    yield show
    browser._open = None  # what is open now is no report


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation(site, axe, page, dark):
    browser = site(page, dark=dark)
    browser.run(axe)
    assert browser.driver.execute_async_script(_AXE) == []


def test_the_top_bar_is_one_line(site):
    rows = """
        const kinds = [".navbar-nav .nav-link", ".site-version", ".search-button__button"];
        const words = [...document.querySelectorAll(kinds.map((each) => `.bd-header ${each}`))]
          .filter((each) => each.offsetParent);
        const middle = (each) => { const box = each.getBoundingClientRect();
          return box.top + box.height / 2; };
        return [words.length, Math.max(...words.map(middle)) - Math.min(...words.map(middle)),
                Math.max(...words.map((each) => each.getBoundingClientRect().height))];
    """
    n_words, spread, height = site("index").run(rows)
    assert n_words >= 8
    assert spread < 8
    assert height < 60


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_name_and_one_logo_are_shown(site, dark):
    shown = """
        const brand = document.querySelector(".bd-header .navbar-brand");
        const seen = (each) => each.getBoundingClientRect().width > 0;
        return [brand.innerText.trim(), [...brand.querySelectorAll("img")].filter(seen).length];
    """
    assert site("index", dark=dark).run(shown) == ["weighbridge", 1]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_a_phone(site, page):
    root = "document.documentElement"
    browser = site(page, 390)
    assert browser.run(f"return {root}.scrollWidth - {root}.clientWidth") <= 0


def test_the_search_answers_without_a_network(site):
    from selenium.webdriver.support.ui import WebDriverWait

    browser = site("search")
    browser.driver.get((SITE / "search.html").resolve().as_uri() + "?q=overlap")
    found = "return document.querySelectorAll('#search-results li a').length"
    # results come one after another
    assert WebDriverWait(browser.driver, 20).until(lambda _: browser.run(found) > 3)
