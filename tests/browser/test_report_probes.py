"""What the other tests look with: each probe finds a fault that was put into the page."""

import pytest

pytestmark = pytest.mark.browser

# What is done to the page, the probe that must see it, and what it must name.
FAULTS = {
    "a word beyond the edge of its picture": (
        "document.querySelector('#fig-worth text').setAttribute('x', 355)",
        "probes.clipped()",
        "Effective rows",
    ),
    "a mark beyond the edge of its picture": (
        "document.querySelector('#fig-worth rect').setAttribute('width', 400)",
        "probes.clipped()",
        "rect",
    ),
    "two words on each other": (
        """
        const text = document.querySelector("#fig-weights text");
        text.after(text.cloneNode(true));
        """,
        "probes.overlapping()",
        " | ",
    ),
    "grey words": (
        "document.querySelector('#fig-worth text').style.fill = '#8a8a8a'",
        "probes.faint()",
        "text",
    ),
    "a grey line": (
        "document.querySelector('#fig-overlap .wb-training').style.stroke = '#aaa'",
        "probes.faint()",
        "wb-training",
    ),
    "dark words on a dark mark": (
        """
        const svg = document.querySelector("#fig-worth svg"), text = svg.querySelector("text");
        const box = text.getBBox(), mark = document.createElementNS(svg.namespaceURI, "rect");
        ["x", "y", "width", "height"].forEach((each) => mark.setAttribute(each, box[each]));
        text.before(mark);
        """,
        "probes.faint()",
        "text",
    ),
    "a low button": (
        "document.querySelector('button.copy').style.cssText = 'height: 20px; min-height: 0'",
        "probes.small(44)",
        "button",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(browser, fault):
    done, probe, named = FAULTS[fault]
    browser.open("helps", 1280, 8000)
    browser.run("probes.open()")
    assert browser.run(f"return {probe}") == []
    browser.run(done)
    assert named in "; ".join(browser.run(f"return {probe}"))


def test_a_wide_table_is_found_on_paper(browser):
    browser.open("helps", 700, 1000, media="print")
    browser.run("probes.open()")
    assert browser.run("return probes.wide()") == []
    browser.run("document.querySelector('#expect td').style.cssText = 'padding-left: 100em'")
    assert any(each.startswith("td") for each in browser.run("return probes.wide()"))


def test_words_are_measured_in_pixels_of_the_screen(browser):
    browser.open("helps", 390, 844)
    size = "document.querySelector('#fig-worth text').style.fontSize = '5px'"
    browser.run(size)
    assert 4 < browser.run("return probes.smallest()") < 6
