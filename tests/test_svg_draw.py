"""Primitives of drawings: scales, ticks, numbers, widths of text and markup."""

import itertools
import math
import os
from xml.etree import ElementTree

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from weighbridge._findings import (
    number,
    percent,
    percent_labels,
    signed,
    tick_labels,
)
from weighbridge._svg._axes import bottom_axis, left_axis, octaves, scale, ticks
from weighbridge._svg._draw import (
    WIDTH,
    Svg,
    circle,
    clean,
    coord,
    element,
    escape,
    group,
    hatch,
    line,
    name_column,
    path,
    rect,
    shorten,
    shorten_apart,
    simplify,
    square,
    squares,
    steps,
    text,
    text_width,
    trace,
    wrap,
)

FINITE = st.floats(-1e300, 1e300, allow_nan=False, allow_subnormal=False)
SMALL = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)


# --- scales and ticks -----------------------------------------------------------------------------


@given(SMALL, SMALL, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_scale_is_affine(low, high, a, b, share):
    """The image of a mean is the mean of the images; the ends go to the ends."""
    assume(high - low > 1e-3)
    x = scale((low, high), (10, 350))
    one, two = low + a * (high - low), low + b * (high - low)
    mean = share * one + (1 - share) * two
    # rounding of numbers up to 1e6 over a range of at least 1e-3, in units of the drawing
    assert x(mean) == pytest.approx(share * x(one) + (1 - share) * x(two), abs=1e-4)
    assert x(low) == 10
    assert x(high) == 350


def test_a_scale_by_logarithms_has_equal_steps_for_equal_ratios():
    x = scale((0.25, 16), (0, 60), log=True)
    assert [x(value) for value in (0.25, 0.5, 1, 2, 16)] == pytest.approx([0, 10, 20, 30, 60])


def test_a_domain_of_one_point_is_drawn_in_the_middle():
    assert scale((3, 3), (0, 100))(3) == 50


def test_huge_domains_do_not_overflow():
    assert scale((-1.7e308, 1.7e308), (0, 100))(0) == pytest.approx(50)


def test_clamp_keeps_numbers_on_the_axis():
    x = scale((0, 1), (10, 20))
    assert [x.clamp(value) for value in (-3, 0.5, 7, math.inf)] == [10, 15, 20, 20]


@pytest.mark.parametrize("domain", [(1, 0), (0, math.inf), (math.nan, 1)])
def test_a_domain_that_is_none_is_refused(domain):
    with pytest.raises(ValueError, match="expected two finite numbers, smaller first"):
        scale(domain, (0, 1))


def test_logarithms_of_zero_are_refused():
    with pytest.raises(ValueError, match="logarithms need numbers above 0"):
        scale((0, 1), (0, 1), log=True)


@given(FINITE, FINITE, st.integers(1, 12))
@example(0.1, 0.3, 3)
@example(1e15, 1e15 + 4, 5)
@example(-1e300, 1e300, 5)
def test_ticks_lie_inside_increase_and_are_at_most_n(low, high, n):
    low, high = min(low, high), max(low, high)
    values = ticks(low, high, n)
    assert len(values) <= n
    assert all(low <= value <= high for value in values)
    assert all(a < b for a, b in itertools.pairwise(values))


@given(SMALL, st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_are_multiples_of_1_2_or_5_times_a_power_of_ten(low, span, n):
    assume(span > 1e-9 * abs(low))
    values = ticks(low, low + span, n)
    if len(values) < 2:
        return
    step = min(b - a for a, b in itertools.pairwise(values))
    digit = float(f"{step:.0e}".split("e")[0])
    assert digit in (1, 2, 5)
    step = float(f"{step:.0e}")
    # a multiple up to the rounding of the number itself
    for value in values:
        assert value / step == pytest.approx(round(value / step), rel=1e-9, abs=1e-6)


@given(SMALL, st.floats(1e-3, 1e6))
def test_there_are_ticks_enough_to_read_an_axis(low, span):
    """With room for five there are at least two: steps of 1, 2 and 5 are never 2.5 apart."""
    assert len(ticks(low, low + span, 5)) >= 2


def test_ticks_are_the_nearest_floats_of_their_decimals():
    assert ticks(0, 0.7, 8) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_one_number_is_its_own_tick():
    assert ticks(3.3, 3.3) == [3.3]


def test_ticks_of_no_range_are_refused():
    with pytest.raises(ValueError, match="expected finite numbers, low <= high"):
        ticks(1, math.inf)


@given(st.floats(-30, 30), st.floats(0, 40), st.integers(1, 9))
def test_octaves_are_powers_of_two_inside(low, span, n):
    values = octaves(2.0**low, 2.0 ** (low + span), n)
    assert len(values) <= n
    logs = [math.log2(value) for value in values]
    assert logs == [round(each) for each in logs]
    # the ends may be missed by rounding
    assert all(low - 1e-6 <= each <= low + span + 1e-6 for each in logs)


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.6524, "0.652"),
        (-0.6524, "−0.652"),
        (12345.6, "12,346"),
        (2.0, "2"),
        (100, "100"),
        (0, "0"),
        (-0.0, "0"),
        (1.5e7, "1.5e7"),
        (3.21e-9, "3.21e−9"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers(value, shown):
    assert number(value) == shown


@given(FINITE)
def test_numbers_keep_three_digits_and_stay_short(value):
    shown = number(value)
    assert len(shown) <= 11
    back = float(shown.replace("−", "-").replace(",", ""))
    # three digits: half a unit of the third
    assert back == pytest.approx(value, rel=5.1e-3, abs=1e-307)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.353, "35 %"),
        (0, "0 %"),
        (1, "100 %"),
        (0.004, "0.4 %"),
        (0.995, "99.5 %"),
        (1e-5, "< 0.1 %"),
        (0.99999, "> 99.9 %"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_shares(share, shown):
    assert percent(share) == shown


def test_shares_with_digits():
    assert percent(0.3533, 1) == "35.3 %"
    assert percent(-0.01, 0) == "−1 %"


def test_changes_have_signs_unless_they_round_to_nothing():
    assert [signed(value, 1) for value in (-4.83, 0.51, 0.04, -0.04, None)] == [
        "−4.8",
        "+0.5",
        "0.0",
        "0.0",
        "–",
    ]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 0.25, 0.5], ["0", "0.25", "0.50"]),
        ([-2.0, 0.0, 2.0], ["−2", "0", "2"]),
        ([5000.0, 7500.0], ["5,000", "7,500"]),
        ([0.0, 20000.0, 40000.0], ["0", "20k", "40k"]),
        ([0.0, 1.5e6, 3e6], ["0", "1.5M", "3.0M"]),
        ([1e-7, 2e-7], ["1e−7", "2e−7"]),
        ([0.0, 1e20], ["0", "1e20"]),
        ([], []),
    ],
)
def test_ticks_are_written_alike(values, labels):
    assert tick_labels(values) == labels


@given(SMALL, st.floats(1e-5, 1e6), st.integers(2, 9))
def test_labels_of_ticks_tell_them_apart(low, span, n):
    assume(span > 1e-6 * abs(low))
    values = ticks(low, low + span, n)
    assert len(set(tick_labels(values))) == len(values)


def test_shares_and_changes_of_an_axis():
    assert percent_labels([0.3, 0.35]) == ["30 %", "35 %"]


# --- widths of text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "bold"), [("DejaVuSans.ttf", False), ("DejaVuSans-Bold.ttf", True)]
)
def test_the_width_of_text_is_a_bound_for_a_wide_font(file, bold):
    """Each letter is at least as wide as in DejaVu Sans, the widest of common system fonts."""
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.ft2font import FT2Font

    font = FT2Font(os.path.join(matplotlib.get_data_path(), "fonts", "ttf", file))
    font.set_size(1000, 72)
    latin = [*map(chr, range(32, 127)), *map(chr, range(0xA1, 0x180)), *"–−×→←…∞≤≥"]
    greek_and_cyrillic = [*map(chr, range(0x3B1, 0x3CA)), *map(chr, range(0x410, 0x450))]
    for letter in (*latin, *greek_and_cyrillic):
        real = font.load_char(ord(letter)).linearHoriAdvance / 65536 / 1000
        assert text_width(letter, 1, bold=bold) >= real - 0.005, letter


def test_wide_letters_count_double():
    assert text_width("日") == text_width("🙂") == 2 * text_width("0")


def test_accents_and_invisible_signs_take_no_room():
    assert text_width("e\u0301\u200d") == text_width("e")


@given(st.text(min_size=1, max_size=60), st.floats(16, 300), st.booleans())
def test_shortened_text_fits(words, room, bold):
    cut = shorten(words, room, bold=bold)
    assert text_width(cut, bold=bold) <= room
    if text_width(words, bold=bold) <= room:
        assert cut == words


def test_both_ends_of_a_long_name_stay():
    cut = shorten("income_before_tax_2024", 90)
    assert cut.startswith("inco")
    assert cut.endswith("2024")


def test_an_accent_is_not_left_without_its_letter():
    assert "…\u0301" not in shorten("aaaaaaaaaaaa" + "e\u0301" * 9, 80)


def test_names_are_cut_so_that_they_can_be_told_apart():
    names = [f"measurement {k} of the first visit" for k in range(5)]
    cut = shorten_apart(names, 100)
    assert len(set(cut)) == 5
    assert all(text_width(name) <= 100 for name in cut)


def test_equal_names_stay_equal():
    assert shorten_apart(["a" * 40, "a" * 40], 60)[0] == shorten("a" * 40, 60)


@given(st.lists(st.text("abc d", min_size=1, max_size=12), max_size=20), st.floats(60, 200))
def test_wrapped_lines_fit_and_keep_their_words(words, room):
    sentence = " ".join(words)
    lines = wrap(sentence, room)
    assert all(text_width(each) <= room for each in lines)
    if not any("…" in each for each in lines):
        assert " ".join(lines).split() == sentence.split()


# --- markup ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (1.25, "1.2"), (-0.01, "0"), (12.06, "12.1"), (7, "7")]
)
def test_coordinates_are_short(value, shown):
    assert coord(value) == shown


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_place_is_refused(value):
    with pytest.raises(ValueError, match="numbers must be finite to be drawn"):
        coord(value)


def test_shapes():
    assert line(0, 1, 5, 1, "a") == '<path d="M0 1H5" class="a"/>'
    assert rect(1, 2, 3.04, 4, "a") == '<rect x="1" y="2" width="3" height="4" class="a"/>'
    assert circle(1, 2, 3, "a") == '<circle cx="1" cy="2" r="3" class="a"/>'
    assert square(5, 5, 2, "a") == '<rect x="3" y="3" width="4" height="4" class="a"/>'
    assert squares([(5, 5), (9, 5)], 2, "a") == ('<path d="M3 3h4v4h-4zM7 3h4v4h-4z" class="a"/>')
    assert squares([], 2, "a") == ""
    assert path([(0, 0), (1, 1)], "a", closed=True) == '<path d="M0 0L1 1Z" class="a"/>'


def test_paths_use_the_shortest_letters():
    assert trace([(0, 0), (5, 0), (5, 0), (5, 3), (6, 4)]) == "M0 0H5V3L6 4"


def test_groups_share_attributes_and_vanish_when_empty():
    assert group("<a/>", class_="b", text_anchor="end") == '<g class="b" text-anchor="end"><a/></g>'
    assert group(class_="b") == ""


def test_steps_are_the_outline_of_a_histogram():
    assert steps([0, 1, 3], [5, 2]) == [(0, 5), (1, 5), (1, 2), (3, 2)]


def test_simplified_lines_stay_near_all_points():
    points = [(float(k), 10 * math.sin(k / 10)) for k in range(100)]
    kept = simplify(points, 0.2)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert len(kept) < 40
    for x, y in points:
        left, right = max(p for p in kept if p[0] <= x), min(p for p in kept if p[0] >= x)
        share = 0 if left == right else (x - left[0]) / (right[0] - left[0])
        # the slope is at most 1, so that a vertical distance is at most twice the distance
        assert abs(left[1] + share * (right[1] - left[1]) - y) <= 0.4


def test_a_closed_line_is_simplified_too():
    assert simplify([(0, 0), (1, 0), (1, 1), (0, 0)], 0.1) == [(0, 0), (1, 0), (1, 1), (0, 0)]


def test_hatching_stays_in_its_rectangle():
    numbers = hatch(10, 20, 30, 8, 5).split('"')[1].replace("M", " ").replace("L", " ").split()
    xs, ys = [float(n) for n in numbers[::2]], [float(n) for n in numbers[1::2]]
    assert min(xs) >= 10
    assert max(xs) <= 40
    assert min(ys) >= 20
    assert max(ys) <= 28


def test_nothing_is_hatched_by_nothing():
    assert hatch(0, 0, 0, 0) == ""


def test_words_are_escaped_and_cut_with_a_tip():
    assert text(1, 2, "a<b", "c") == '<text x="1" y="2" class="c">a&lt;b</text>'
    cut = ElementTree.fromstring(text(0, 0, "a" * 50, room=60, anchor="end", size=13))
    assert cut.text.count("…") == 1
    assert cut.find("title").text == "a" * 50
    assert cut.attrib["text-anchor"] == "end"
    assert cut.attrib["font-size"] == "13"


def test_attributes_are_escaped_and_empty_ones_left_out():
    assert element("g", a='"<', b=None, c="") == '<g a="&quot;&lt;"/>'


@given(st.text(max_size=30))
@example("\x00\x0b\ud800\ufffe")
@example("</text><script>alert(1)</script>")
@example("\u202eabc")
def test_any_text_gives_xml_with_that_text(words):
    """Whatever a column is called, the drawing parses, and holds no element but ours."""
    drawn = ElementTree.fromstring(f"<svg>{text(0, 0, words)}{element('a', b=words)}</svg>")
    assert [child.tag for child in drawn] == ["text", "a"]
    assert not set(drawn[0].text or "") & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


def test_names_are_on_one_line_without_signs_that_turn_it():
    assert clean(" a\n b\u202e\tc ") == "a b c"
    assert clean("a\x00b") == "a\ufffdb"
    assert escape("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"


def test_a_column_of_names_has_tips_where_they_are_cut():
    drawn = ElementTree.fromstring(name_column(["age", "x" * 60], [10, 30], 2, 80))
    assert drawn[0].text == "age"
    assert drawn[0].find("title") is None
    assert drawn[1].find("title").text == "x" * 60


# --- axes and the whole drawing -------------------------------------------------------------------


@given(SMALL, st.floats(1e-3, 1e6), st.integers(1, 9), st.floats(40, 300))
def test_numbers_of_an_axis_do_not_touch_and_stay_inside(low, span, n, start):
    x = scale((low, low + span), (start, WIDTH - 4))
    drawn = ElementTree.fromstring(f"<svg>{bottom_axis(x, 50, n=n, name='name')}</svg>")
    places = []
    for each in drawn.iterfind("g/text"):
        half = text_width(each.text) / 2
        places.append((float(each.attrib["x"]) - half, float(each.attrib["x"]) + half))
    # coordinates are rounded to a tenth
    assert all(left >= -0.1 and right <= WIDTH + 0.1 for left, right in places)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(places))


def test_an_axis_by_logarithms_writes_each_number_as_short_as_it_is():
    drawn = bottom_axis(scale((0.2, 20), (20, 340), log=True), 50, n=9)
    words = [each.text for each in ElementTree.fromstring(f"<svg>{drawn}</svg>").iter("text")]
    assert words == ["0.25", "0.5", "1", "2", "4", "8", "16"]


def test_an_axis_can_have_lines_across_the_picture():
    x = scale((0, 1), (0, 100))
    assert 'class="wb-grid"' in bottom_axis(x, 50, grid=0)
    assert 'class="wb-grid"' not in bottom_axis(x, 50)
    y = scale((0, 10), (100, 0))
    assert left_axis(y, 40, grid=90, n=3) == (
        '<path d="M40 100H90M40 50H90M40 0H90" class="wb-grid"/>'
        '<g class="wb-muted" text-anchor="end"><text x="35" y="104">0</text>'
        '<text x="35" y="54">5</text><text x="35" y="4">10</text></g>'
    )


def test_a_drawing_has_a_title_a_description_and_a_role():
    svg = Svg("a", "what <it> is", "what it shows", 100, data={"x0": 1.5})
    svg.add("<g/>")
    assert svg.render() == (
        '<svg xmlns="http://www.w3.org/2000/svg" class="wb-chart" viewBox="0 0 360 100" role="img" '
        'aria-labelledby="a-title a-desc" font-size="12" data-x0="1.5">'
        '<title id="a-title">what &lt;it&gt; is</title><desc id="a-desc">what it shows</desc>'
        "<g/></svg>"
    )


@pytest.mark.parametrize("id", ["", "1a", "a b", 'a"b', "å"])
def test_an_id_that_could_break_a_page_is_refused(id):
    with pytest.raises(ValueError, match="expected a letter, then letters, digits"):
        Svg(id, "title", "desc", 10)
