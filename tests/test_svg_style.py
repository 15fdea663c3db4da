"""The style of drawings: contrast of every colour, and one colour for one role."""

import itertools
import re

import pytest

from weighbridge._svg import style_sheet
from weighbridge.plotting._display import CAUTION, DEPLOYMENT, GREY, TRAINING, WEIGHTED

TEXT = ("text", "muted", "weighted", "caution", "stop")
LINES = ("training", "deployment", "weighted", "caution", "stop", "muted")
STEPS = [f"step-{k}" for k in range(5)]


def palettes():
    """Read the colours of the light and of the dark palette from the style itself."""
    blocks = re.findall(r"\.wb \{(.*?)\}", style_sheet(), re.S)
    light, dark = (dict(re.findall(r"--wb-([\w-]+): (#\w{6})", block)) for block in blocks[:2])
    return {"light": light, "dark": dark}


def luminance(colour):
    """Relative luminance as the guidelines for accessible pages define it."""
    linear = []
    for start in (1, 3, 5):
        value = int(colour[start : start + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_both_palettes_have_the_same_colours():
    light, dark = palettes().values()
    assert light.keys() == dark.keys()
    assert {"page", "panel", "deployment-fill", *TEXT, *LINES, *STEPS} <= light.keys()


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "panel"])
@pytest.mark.parametrize(
    ("name", "least"), [(name, 4.5) for name in TEXT] + [(name, 3.0) for name in LINES]
)
def test_words_and_lines_can_be_seen(mode, ground, name, least):
    colours = palettes()[mode]
    assert contrast(colours[name], colours[ground]) >= least


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["training", "weighted"])
def test_lines_can_be_seen_on_the_filled_area(mode, name):
    colours = palettes()[mode]
    assert contrast(colours[name], colours["deployment-fill"]) >= 3


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_can_be_read_in_a_shaded_band(mode):
    colours = palettes()[mode]
    assert contrast(colours["muted"], colours["band"]) >= 4.5


def test_what_is_as_good_stands_out_without_its_hue():
    """The first colour differs from all others by brightness; the others leave the page slowly."""
    for colours in palettes().values():
        good, *worse = (colours[step] for step in STEPS)
        assert min(contrast(good, each) for each in worse) >= 3
        assert contrast(good, colours["page"]) >= 3
        from_page = [contrast(each, colours["page"]) for each in worse]
        assert from_page == sorted(from_page)
        for one, other in itertools.pairwise(worse):
            assert contrast(one, other) > 1.15


def test_one_role_has_one_colour_in_pages_and_figures():
    light = palettes()["light"]
    assert light["training"] == TRAINING.color
    assert light["deployment"] == DEPLOYMENT.color
    assert light["deployment-fill"] == DEPLOYMENT.fill
    assert light["weighted"] == WEIGHTED.color
    assert light["caution"] == CAUTION
    assert light["muted"] == GREY


def test_the_dark_palette_is_for_screens_only():
    """Printed pages are light, whatever the screen."""
    assert "@media screen and (prefers-color-scheme: dark)" in style_sheet()


def test_the_style_reaches_nothing_outside_and_touches_nothing_else():
    style = style_sheet()
    assert not re.search(r"url\(|@import|http", style)
    assert not set("<&") & set(style)
    rules = re.sub(r"@media[^{]*\{", "", style)
    for selectors in re.findall(r"([^{}]+)\{", rules):
        for selector in selectors.split(","):
            assert re.match(r"\s*(\.wb\b|svg\.wb\b|\.wb-chart\b)", selector), selector


def test_the_style_is_small():
    """It is part of every report and of every drawing of its own."""
    assert len(style_sheet()) < 5000
