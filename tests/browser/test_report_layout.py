"""Everything can be seen: in its picture, in the window, on the first screen, on paper."""

import re

import pytest

from weighbridge.report import read_result

pytestmark = pytest.mark.browser

# As narrow as A4 and as short as Letter, in inches: what fits there fits both.
PAPER = (8.27, 11.0)


def test_no_word_and_no_mark_leaves_its_picture(browser, report):
    browser.show(report)
    browser.run("probes.open()")
    assert browser.run("return probes.clipped()") == []


def test_no_two_words_of_a_picture_overlap(browser, report):
    browser.show(report)
    browser.run("probes.open()")
    assert browser.run("return probes.overlapping()") == []


def test_words_in_pictures_can_be_read_on_a_phone(browser, report):
    browser.show(report, 390, 844)
    size = browser.run("return probes.smallest()")
    assert size is None or size >= 11


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_page_scrolls_sideways(browser, report, width):
    browser.show(report, width, 800)
    browser.run("probes.open()")
    assert _excess(browser) == []


def test_no_page_scrolls_sideways_at_twice_the_size(browser, report):
    # a zoom of 200 % leaves half as many CSS pixels
    browser.show(report, 640, 400, zoom=2)
    browser.run("probes.open()")
    assert _excess(browser) == []


def _excess(browser):
    """Return what reaches beyond the right edge; nothing where the page does not scroll."""
    return browser.run("""
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        return probes.all("body *").filter((each) => !each.closest(".scroll, pre"))
          .filter((each) => each.getBoundingClientRect().right > width + 0.5).map(probes.name)
          .concat("scrolls to " + document.documentElement.scrollWidth + " of " + width);
    """)


def test_a_phone_takes_the_page_at_its_own_width(browser):
    browser.open("helps", 390, 844, mobile=True)
    assert browser.run("return innerWidth") == 390


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_all_answers_are_on_the_first_screen(browser, report, width, height):
    browser.show(report, width, height)
    browser.run("scrollTo(0, 0)")
    parts = "probes.all('h1, .wbr-word, .wbr-evidence, .assumption').filter(probes.shown)"
    ends = browser.run(f"return {parts}.map((each) => each.getBoundingClientRect().bottom)")
    result = read_result(browser.path(report))
    assert len(ends) == 1 + 2 * len(result["answers"]) + bool(result["expect"])
    assert max(ends) <= height


def test_on_paper_every_table_is_open_on_at_most_six_pages(browser, report):
    browser.open(report)
    browser.run("""
        addEventListener("beforeprint", () => {
          window.closed = probes.all("details:not([open])").length;
        });
    """)
    n_pages = len(re.findall(rb"/Type\s*/Page\b", browser.pdf(*PAPER)))
    assert browser.run("return window.closed") == 0
    assert 1 <= n_pages <= 6
    # the screen is as it was before
    assert browser.run("return probes.all('details[open]').length") == 0


def test_on_paper_colours_are_light_and_controls_gone(browser):
    browser.open("helps", media="print", dark=True)
    white = browser.run("return getComputedStyle(document.body).backgroundColor")
    controls = browser.run("return probes.all('nav, input, button, output').filter(probes.shown)")
    assert white in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert controls == []


def test_on_paper_no_table_is_wider_than_its_place(browser, report):
    # CSS inches of 96 pixels, less the margins of the page
    browser.show(report, int(96 * (PAPER[0] - 24 / 25.4)), 1000, media="print")
    browser.run("probes.open()")
    assert browser.run("return probes.wide()") == []


def test_a_page_is_small(browser, report):
    limit = 1_500_000 if report == "five_hundred_features" else 300_000
    assert browser.path(report).stat().st_size <= limit
