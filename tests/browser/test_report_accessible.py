"""The page can be used by everyone: by eye, by keyboard, by screen reader, in any scheme."""

from itertools import pairwise

import pytest

pytestmark = pytest.mark.browser

# All rules that are on, and the size of targets, which is not.
_AXE = """
    const done = arguments[0];
    axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}})
      .then((found) => done(found.violations.map((each) =>
        [each.id, each.impact, each.nodes.slice(0, 5).map((node) => node.target.join(" "))])),
        (error) => done(String(error)));
"""


def _violations(browser, name, axe, width, *, dark):
    browser.show(name, width, 844, dark=dark)
    browser.run(f"if (!window.axe) {{ {axe} }}")
    return browser.driver.execute_async_script(_AXE)


def test_axe_finds_no_violation(browser, report, axe):
    assert _violations(browser, report, axe, 1280, dark=False) == []


# Other sizes and schemes, on the richest page, on one with every sign, and on the shortest.
@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, True)])
@pytest.mark.parametrize("name", ["demo", "broken", "diagnosis"])
def test_axe_finds_no_violation_on_a_phone_or_in_the_dark(browser, axe, name, width, dark):
    assert _violations(browser, name, axe, width, dark=dark) == []


def _faint(browser, name, **look):
    browser.show(name)
    browser.run("probes.open()")
    # what lies under a word can be asked only within the window
    browser.look(1280, browser.run("return document.documentElement.scrollHeight"), **look)
    return browser.run("return probes.faint()")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_and_lines_of_pictures_stand_out(browser, report, dark):
    assert _faint(browser, report, dark=dark) == []


@pytest.mark.parametrize("name", ["demo", "broken"])
def test_words_and_lines_of_pictures_stand_out_in_colours_of_the_reader(browser, name):
    assert _faint(browser, name, forced_colors="active") == []


def test_every_control_is_as_high_as_a_finger_on_a_phone(browser, report):
    browser.show(report, 390, 844)
    assert browser.run("return probes.small(44)") == []


def test_the_tabulator_key_reaches_every_control_in_reading_order(browser, report):
    from selenium.webdriver import ActionChains, Keys

    # one column, so that reading order is order from top to bottom
    browser.open(report, 390, 844)
    n_controls = browser.run("return probes.record()")
    ActionChains(browser.driver, duration=0).send_keys(Keys.TAB * n_controls).perform()
    reached = browser.run("return window.reached")
    assert [each["index"] for each in reached] == list(range(n_controls)), reached
    assert [each["name"] for each in reached if not each["ringed"]] == []
    places = [each["place"] for each in reached[1:]]
    back = [b for a, b in pairwise(places) if b[1] <= a[0]]
    assert back == []


def test_motion_stops_where_it_is_not_wanted(browser):
    browser.open("helps", prefers_reduced_motion="reduce")
    assert browser.run("return getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_every_link_leads_to_a_place_on_the_page(browser, report):
    browser.show(report)
    lost = """
        return probes.all("a[href]").map((each) => each.getAttribute("href"))
          .filter((each) => !document.getElementById(each.slice(1)));
    """
    assert browser.run(lost) == []
