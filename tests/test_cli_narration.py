"""What a command says while it works, and in which characters."""

import io
import re
import time

import pytest

from weighbridge.cli._adapt import workload_text
from weighbridge.cli._screen import COLUMNS, Narration, Screen, spent, within_columns
from weighbridge.verdict import Workload

STAGES = ("read", "shift", "bridge", "verify", "write")


class Stream(io.StringIO):
    """A stream that may be a terminal, in any encoding."""

    def __init__(self, *, terminal, encoding="utf-8"):
        super().__init__()
        self.terminal, self._encoding = terminal, encoding

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return self.terminal


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def narrated(*, terminal, quiet=False, n_fits=100, seconds=0.3):
    stream, clock = Stream(terminal=terminal), Clock()
    narration = Narration(Screen(stream), quiet=quiet, clock=clock)
    for stage in STAGES:
        total = n_fits if stage in ("bridge", "verify") else 1
        for done in range(total + 1):
            narration(stage, done, total)
            narration.draw()  # as the ticker does
            clock.now += seconds
    narration.finish()
    return stream.getvalue(), narration


def test_signs_that_turn_a_line_are_shown_as_escapes(tmp_path):
    path = tmp_path / "out.txt"
    with path.open("w", encoding="utf-8") as stream:
        Screen(stream).write("note: \u202eabc\u202c")
    assert path.read_text(encoding="utf-8") == "note: \\u202eabc\\u202c\n"


def test_elsewhere_than_at_a_terminal_a_stage_is_one_line_and_no_carriage_return():
    text, narration = narrated(terminal=False)
    assert "\r" not in text
    assert [line.split()[0] for line in text.splitlines()] == list(STAGES)
    assert all(len(line) <= COLUMNS for line in text.splitlines())
    assert narration.seconds["bridge"] == pytest.approx(101 * 0.3)


def test_at_a_terminal_one_line_is_rewritten_with_fits_time_and_time_left():
    text, _ = narrated(terminal=True)
    shown = re.findall(
        r"  bridge   (\d+) of 100 fits, ([\d.]+) s(?:, about ([\d.]+) s left)?", text
    )
    assert shown
    assert all(float(seconds) >= 1 for _, seconds, _ in shown)  # only after one second
    left = {int(done): float(rest) for done, _, rest in shown if rest}
    assert min(left) == 10  # once a tenth is done
    assert left[50] == pytest.approx(50 * 0.3, rel=0.1)
    # what stays on the screen is one line for each stage
    final = [line.split("\r\x1b[K")[-1] for line in text.rstrip("\n").split("\n")]
    assert [line.split()[0] for line in final] == list(STAGES)


def test_steps_draw_nothing_and_the_line_is_rewritten_at_most_ten_times_a_second():
    stream, clock = Stream(terminal=True), Clock()
    narration = Narration(Screen(stream), clock=clock)
    narration("bridge", 0, 3000)
    clock.now = 5
    begun = time.monotonic()
    for done in range(3000):
        narration("bridge", done, 3000)
    time.sleep(0.35)
    narration.stop()
    most = (time.monotonic() - begun) / 0.1 + 1
    assert 1 <= stream.getvalue().count("of 3,000 fits, 5.0 s") <= most


def test_a_pause_eats_the_time_left_and_a_promise_that_failed_is_dropped():
    stream, clock = Stream(terminal=True), Clock()
    narration = Narration(Screen(stream), clock=clock)
    narration("verify", 0, 4)
    clock.now = 2
    narration("verify", 1, 4)
    texts = []
    for clock.now in (2.2, 5, 9):
        narration.draw()  # as the ticker does
        texts.append(stream.getvalue().rpartition("\x1b[K")[2])
    narration.finish()
    assert "about 5.8 s left" in texts[0]
    assert "about 3.0 s left" in texts[1]
    assert "left" not in texts[2]


@pytest.mark.parametrize(("unit", "text"), [("rows", "50 of 100 rows"), ("%", "50 %, 2.0 s")])
def test_what_is_counted_is_named(unit, text):
    stream, clock = Stream(terminal=True), Clock()
    narration = Narration(Screen(stream), clock=clock)
    narration.count("write", unit)
    narration("write", 0, 100)
    clock.now = 2
    narration("write", 50, 100)
    narration.draw()
    narration.stop()
    assert text in stream.getvalue()


def test_quiet_says_nothing_and_keeps_the_times():
    text, narration = narrated(terminal=True, quiet=True)
    assert text == ""
    assert list(narration.seconds) == list(STAGES)


def test_a_stage_that_comes_again_is_one_line_and_its_times_add_up():
    stream, clock = Stream(terminal=False), Clock()
    narration = Narration(Screen(stream), clock=clock)
    for stage in ("bridge", "verify") * 5:
        narration(stage, 0, 1)
        clock.now += 1
    narration.finish()
    assert len(stream.getvalue().splitlines()) == 2
    assert narration.timing() == {"bridge": 5, "verify": 5}


def test_a_run_that_fails_ends_without_a_line_and_its_stage_stays_known():
    stream = Stream(terminal=False)
    narration = Narration(Screen(stream), clock=Clock())
    narration("shift", 0, 1)
    narration.stop()
    assert stream.getvalue() == ""
    assert narration.stage == "shift"


def test_long_details_are_cut():
    stream = Stream(terminal=False)
    narration = Narration(Screen(stream), clock=Clock())
    narration.detail("write", "x" * 200)
    narration("write", 0, 1)
    narration.finish()
    assert len(stream.getvalue().rstrip("\n")) <= COLUMNS
    assert "…" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (99.9, "99.9 s"), (600, "10 min"), (36000, "10.0 h")]
)
def test_times_as_people_say_them(seconds, text):
    assert spent(seconds) == text


def test_other_encodings_get_characters_that_they_have():
    screen = Screen(Stream(terminal=False, encoding="ascii"))
    assert screen.text("█ ─ – → − × … ∞") == "# - - -> - x ... inf"
    assert screen.text("größe 年齢").isascii()
    assert (
        Screen(Stream(terminal=False, encoding="latin-1")).text("größe – 年") == "größe - \\u5e74"
    )
    assert Screen(Stream(terminal=False)).text("█ – 年齢") == "█ – 年齢"


def test_plain_has_no_colour_and_no_blocks(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen(Stream(terminal=True), plain=True)
    assert screen.text("█─ –") == "#- –"
    assert screen.styled("good", "good", bold=True) == "good"


def test_colour_only_at_a_terminal_and_never_with_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in Screen(Stream(terminal=True)).styled("good", "good")
    assert Screen(Stream(terminal=False)).styled("good", "good") == "good"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Screen(Stream(terminal=True)).styled("good", "good") == "good"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert Screen(Stream(terminal=True)).styled("good", "good") == "good"


def test_lines_are_wrapped_at_80_columns_and_paths_stay_whole():
    path = "/" + "long" * 30
    text = within_columns(f"error: {'word ' * 30}\n  help: {path} and more")
    assert path in text
    assert all(len(line) <= COLUMNS for line in text.splitlines() if path not in line)
    assert within_columns("short\n\n  lines") == "short\n\n  lines"


@pytest.mark.parametrize(
    ("seconds", "jobs", "cores", "text"),
    [
        (9, 1, 8, None),  # over before it is read
        (240, 1, 1, "boosting: about 460 fits, about 4 min"),
        # the search on all rows is a chain; five jobs do the five others beside each other
        (240, 1, 8, "boosting: about 460 fits, about 4 min; --jobs 5 would take about 80 s"),
        (240, 1, 2, "boosting: about 460 fits, about 4 min; --jobs 2 would take about 3 min"),
        (240, 5, 8, "boosting: about 460 fits, about 80 s"),
        (14, 1, 8, "boosting: about 460 fits, about 10 s; --jobs 5 would take a few seconds"),
    ],
)
def test_a_slow_model_says_so_and_whether_more_jobs_would_help(seconds, jobs, cores, text):
    work = Workload(("boosting",), 456, seconds, n_folds=5)
    assert workload_text(work, jobs, cores) == text


def test_several_slow_models_are_one_line():
    work = Workload(("boosting", "forest"), 12345, 7200, n_folds=5)
    assert workload_text(work, 1, 1) == "boosting, forest: about 12,000 fits, about 2.0 h"


@pytest.mark.parametrize(("share", "text"), [(0.2, ""), (0.5, "  outside  50 % of the deployment")])
def test_files_that_hardly_overlap_are_told_at_once(share, text):
    stream = Stream(terminal=False)
    Narration(Screen(stream), quiet=False, clock=Clock()).say_outside(share)
    assert stream.getvalue().startswith(text)
    assert bool(stream.getvalue()) == bool(text)
