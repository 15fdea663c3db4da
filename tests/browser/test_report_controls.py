"""Every control of the page does what it says: by keyboard, by pointer and by touch."""

import pytest

pytestmark = pytest.mark.browser

# Results that have a map of weightings.
MAPPED = ["helps", "demo", "houses"]


def _keys(browser, selector, *keys):
    from selenium.webdriver.common.by import By

    control = browser.driver.find_element(By.CSS_SELECTOR, selector)
    control.send_keys(*keys)


def _output(browser):
    return browser.run("return document.querySelector('#probe output').textContent")


def _sliders(browser):
    return browser.run("return probes.all('#probe input').map((each) => Number(each.value))")


@pytest.mark.parametrize("name", MAPPED)
def test_the_sliders_start_at_the_chosen_weighting(browser, name):
    browser.open(name)
    chosen = browser.run("""
        const bridge = JSON.parse(document.getElementById("result").textContent).pictures.bridge;
        return [bridge.chosen.lam, bridge.chosen.alpha];
    """)
    lam, alpha = chosen
    assert _output(browser).startswith(f"lam {lam:.2f}, alpha {alpha:.2f}: ")
    if name != "houses":  # made up, with the best one as the choice
        assert _output(browser).endswith(", as good as the best")


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("slider", ["#probe-lam", "#probe-alpha"])
def test_arrow_keys_on_a_slider_change_what_is_read(browser, name, slider):
    from selenium.webdriver import Keys

    browser.open(name)
    _keys(browser, "#probe-lam", Keys.HOME, Keys.ARROW_RIGHT)
    _keys(browser, slider, Keys.HOME)
    texts = [_output(browser)]
    for _ in range(3):
        _keys(browser, slider, Keys.ARROW_RIGHT)
        texts.append(_output(browser))
    assert len(set(texts)) > 1


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("alpha", ["HOME", "END"])
def test_the_ends_of_lam_are_read_and_spoken_whatever_alpha(browser, name, alpha):
    from selenium.webdriver import Keys

    browser.open(name)
    _keys(browser, "#probe-alpha", getattr(Keys, alpha))
    for key, lam in ((Keys.HOME, 0.0), (Keys.END, 1.0)):
        _keys(browser, "#probe-lam", key)
        assert _output(browser).startswith(f"lam {lam:.2f}, ")
        spoken = "return document.getElementById('probe-lam').getAttribute('aria-valuetext')"
        assert float(browser.run(spoken)) == lam


@pytest.mark.parametrize("how", ["mouse", "touch"])
def test_pointing_at_the_map_moves_the_sliders(browser, how):
    browser.open("helps")
    box = browser.run("""
        const svg = document.querySelector("#fig-bridge svg");
        svg.scrollIntoView({block: "center", behavior: "instant"});
        const box = svg.getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    """)
    left, top, width, height = box
    seen = []
    for part in (0.2, 0.8):
        x, y = left + part * width, top + 0.6 * height
        if how == "mouse":
            browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        else:
            browser.cdp(
                "Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}]
            )
            browser.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        seen.append((_sliders(browser), _output(browser)))
    (first, words), (second, other_words) = seen
    assert first[0] < second[0]
    assert words != other_words


# The pictures that depend on the weighting, by figure, as they are drawn now.
_PICKED = """
    return probes.charts().filter((each) => each.closest("figure .variant"))
      .map((each) => [each.closest("figure").id, each.innerHTML]);
"""


def test_a_radio_button_changes_the_pictures_before_and_after(browser):
    from selenium.webdriver import Keys

    browser.open("helps")
    before = browser.run(_PICKED)
    picked = "return document.querySelector('#shift input:checked').value"
    assert browser.run(picked) == "tuned"
    _keys(browser, "#shift input:checked", Keys.ARROW_LEFT)
    after = browser.run(_PICKED)
    assert browser.run(picked) == "relative"
    # the love plot and six features
    assert [figure for figure, _ in before] == [figure for figure, _ in after]
    assert len(before) == 7
    assert all(a != b for (_, a), (_, b) in zip(before, after, strict=True))


def test_radio_buttons_work_without_script(browser):
    browser.open("helps", script=False)
    before = browser.run(_PICKED)
    # a click by the browser itself: a page without script hears no other
    box = browser.run("""
        const input = document.querySelector("#shift input[value=full]");
        input.scrollIntoView({block: "center", behavior: "instant"});
        const box = input.getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    """)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    for kind in ("mousePressed", "mouseReleased"):
        click = {"type": kind, "x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        browser.cdp("Input.dispatchMouseEvent", **click)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    after = browser.run(_PICKED)
    assert len(before) == len(after) == 7
    assert all(a != b for (_, a), (_, b) in zip(before, after, strict=True))


def test_a_copy_button_copies_its_code(browser):
    browser.open("helps")
    browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    for number in range(browser.run("return probes.all('button.copy').length")):
        copied = browser.driver.execute_async_script(
            """
            const [number, done] = arguments, button = probes.all("button.copy")[number];
            button.click();
            const code = document.getElementById(button.dataset.copy).textContent;
            const wait = (left) => navigator.clipboard.readText().then((text) =>
              text === code || left === 0 ? done([text, code, button.textContent])
                : setTimeout(wait, 20, left - 1));
            wait(50);
            """,
            number,
        )
        assert copied[0] == copied[1] != ""
        assert copied[2].startswith("Copied")


def test_copy_buttons_are_hidden_where_there_is_no_clipboard(browser):
    made = browser.cdp(
        "Page.addScriptToEvaluateOnNewDocument",
        source="Object.defineProperty(navigator, 'clipboard', {value: undefined})",
    )
    browser.open("helps")
    browser.cdp("Page.removeScriptToEvaluateOnNewDocument", **made)
    assert browser.run("return probes.all('button').filter(probes.shown)") == []
    assert browser.messages() == []


def test_every_data_table_opens(browser, report):
    browser.show(report)
    browser.run("probes.all('details').forEach((each) => { each.open = false; })")
    assert browser.run("return probes.all('details table').filter(probes.shown)") == []
    browser.run("probes.all('summary').forEach((each) => each.click())")
    tables = browser.run("return probes.all('table').map(probes.shown)")
    assert tables
    assert all(tables)


def test_a_link_to_a_finding_or_figure_shows_it(browser):
    for fragment in ("#WB501", "#fig-bridge", "#overlap", "#fig-worth"):
        browser.open("helps", fragment=fragment)
        top = browser.driver.execute_async_script(
            """
            const [id, done] = arguments;
            const look = (left) => {
              const box = document.getElementById(id).getBoundingClientRect();
              const seen = box.height > 0 && box.top >= -1 && box.top < innerHeight;
              if (seen || left === 0) done(box.top);
              else setTimeout(look, 50, left - 1);
            };
            look(40);
            """,
            fragment[1:],
        )
        assert -1 <= top < 800, fragment
