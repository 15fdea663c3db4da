"""The page needs nothing but itself, and nothing in it can do harm."""

import pytest
from results import HOSTILE

pytestmark = pytest.mark.browser

# The words of a page without those of the controls that need its script.
_WORDS = """
    const needy = probes.all("#probe, button.copy");
    needy.forEach((each) => { each.style.display = "none"; });
    probes.open();
    const words = document.body.innerText.split(/\\s+/);
    needy.forEach((each) => { each.style.removeProperty("display"); });
    return words;
"""


def test_a_page_asks_for_nothing_but_itself_and_says_nothing_to_the_console(browser, report):
    browser.open(report)
    assert set(browser.requests()) == {browser.path(report).as_uri()}
    assert browser.messages() == []


def test_a_page_is_ready_within_a_second(browser, report):
    browser.show(report)
    for _ in range(3):  # what a busy computer adds is not the page's
        took = browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        if 0 < took < 1000:
            break
        browser.open(report)
    assert 0 < took < 1000


def test_without_script_the_words_are_the_same_but_for_the_sliders_and_buttons(browser, report):
    browser.show(report)
    words = browser.run(_WORDS)
    browser.open(report, script=False)
    assert browser.run(_WORDS) == words
    assert len(words) > 100


def test_without_script_nothing_is_offered_that_does_not_work(browser):
    browser.open("helps", script=False)
    assert browser.run("return probes.all('input[type=range], button').filter(probes.shown)") == []


def test_the_policy_of_the_page_lets_its_own_script_run_and_no_other(browser):
    browser.open("helps")
    assert browser.run("return probes.shown(document.getElementById('probe'))")
    browser.run("""
        const script = document.createElement("script");
        script.textContent = "window.harmed = 6";
        document.body.append(script);
    """)
    assert browser.run("return window.harmed") is None
    assert "Content Security Policy" in browser.messages()[0]["message"]


def test_names_that_mean_harm_do_none(browser):
    kinds = "return [...new Set(probes.all('*').map((each) => each.localName))].sort()"
    browser.open("demo")
    usual = browser.run(kinds)
    n_scripts = browser.run("return document.scripts.length")
    browser.open("hostile")
    assert browser.run("return window.harmed") is None
    assert set(browser.run(kinds)) <= set(usual)
    assert browser.run("return document.scripts.length") == n_scripts
    assert browser.messages() == []
    handlers = "return probes.all('*').flatMap((each) => each.getAttributeNames())"
    assert not [each for each in browser.run(handlers) if each.startswith("on")]
    links = browser.run(
        "return probes.all('[href], [src]').map((each) => each.getAttribute('href'))"
    )
    assert all(each.startswith("#") for each in links)


def test_names_that_mean_harm_are_shown_as_they_are(browser):
    browser.open("hostile")
    browser.run("probes.open()")
    shown = browser.run("return document.body.textContent")
    # signs that no page can hold are replaced, and spaces may be gathered
    plain = [each for each in HOSTILE if each.isprintable()]
    assert len(plain) > 7
    assert [each for each in plain if each not in shown] == []
