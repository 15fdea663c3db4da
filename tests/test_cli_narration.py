"""What a command says while it works, and in which characters."""

import io
import json
import re
import time

import numpy as np
import pandas as pd
import pytest

from cli_runs import run
from weighbridge._findings import Stages, progress, shown_progress, spent
from weighbridge.cli._screen import COLUMNS, Narration, Screen, Session, within_columns

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


# Of C0, DEL, C1, directions and separators of lines: all that a terminal or a pager obeys.
_RANGES = ((0, 10), (11, 32), (127, 160), (0x2028, 0x202F), (0x2066, 0x206A))
OBEYED = [*"\u061c\u200e\u200f", *(chr(sign) for ends in _RANGES for sign in range(*ends))]


def obeyed(text):
    return sorted({sign for sign in text if sign in OBEYED})


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_no_sign_of_a_name_reaches_the_terminal_but_as_text(monkeypatch, terminal, encoding):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Stream(terminal=terminal, encoding=encoding)
    Screen(stream).write("".join(OBEYED) + "\udcff\n[red]")
    assert obeyed(stream.getvalue()) == []
    assert stream.getvalue().startswith("\\u061c\\u200e\\u200f\\x00\\x01")
    assert stream.getvalue().endswith("\\udcff\n[red]\n")


def test_our_own_colours_stay_around_a_name_that_wants_others(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Stream(terminal=True)
    screen = Screen(stream)
    screen.write(screen.styled("\x1b[31mred\x1b]0;title\x07", "good", bold=True))
    assert stream.getvalue() == "\x1b[32m\x1b[1m\\x1b[31mred\\x1b]0;title\\x07\x1b[0m\n"


@pytest.mark.parametrize("word", ["--plain", "NO_COLOR"])
def test_without_colour_too_the_line_of_a_stage_is_erased(monkeypatch, word):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1" if word == "NO_COLOR" else "")
    stream, clock = Stream(terminal=True), Clock()
    narration = Narration(Screen(stream, plain=word == "--plain"), clock=clock)
    narration("shift", 0, 1)
    clock.now = 2
    narration.draw()
    narration.finish()
    assert "\r\x1b[K  shift" in stream.getvalue()


def test_json_has_every_sign_as_an_escape_and_the_same_text():
    for encoding in ("utf-8", "latin-1"):
        stream = Stream(terminal=True, encoding=encoding)
        session = Session(["explain", "--json"])
        session.out = Screen(stream)
        text = "größe 年" + "".join(OBEYED) + "\udcff"
        session.print_json({"name": text})
        assert obeyed(stream.getvalue()) == []
        assert json.loads(stream.getvalue()) == {"name": text}
        assert ("größe" in stream.getvalue()) is (encoding == "utf-8")


def test_a_name_with_a_line_break_stays_on_its_line_of_narration():
    stream, clock = Stream(terminal=False), Clock()
    narration = Narration(Screen(stream), clock=clock)
    narration.say("weighbridge adapt: a\nerror WB901: b.csv")
    narration.detail("read", "a\n\x1b" + 80 * "b")
    narration("read", 0, 1)
    narration.finish()
    first, second = stream.getvalue().splitlines()
    assert first == "weighbridge adapt: a\\nerror WB901: b.csv"
    assert second.startswith("  read     a\\n\\x1bbbb")
    assert len(second) <= COLUMNS


EVIL = "a\x1b]0;title\x07\x9b31m\u202e[red]"


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("weights", f"{EVIL}.csv", "deploy.csv", "--ratio", "gaussian"), 0),
        (("weights", f"{EVIL}.csv", "deploy.csv", "--ratio", "gaussian", "--json"), 0),
        (("weights", f"{EVIL}.csw", "deploy.csv"), 2),
        (("weights", f"{EVIL}.csv", "deploy.csv", "--drop", EVIL + "x"), 2),
        (("weights", f"{EVIL}.csv", "deploy.csv", "--lam", EVIL), 2),
        (("weights", f"{EVIL}.csv", "deploy.csv", f"--{EVIL}"), 2),
        (("adapt", f"{EVIL}.csv", "deploy.csv", "--label", EVIL, "--model", "evil:make"), 3),
        ((EVIL,), 2),
    ],
)
def test_no_command_passes_on_what_a_terminal_would_obey(tmp_path, monkeypatch, words, exit_code):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(60, 2)), rng.normal(1, 1, size=(60, 2))
    for name, table in ((f"{EVIL}.csv", x), ("deploy.csv", z)):
        frame = pd.DataFrame(table, columns=["x", EVIL])
        frame.assign(label=rng.integers(0, 2, 60)).to_csv(tmp_path / name, index=False)
    (tmp_path / "evil.py").write_text(f"def make(): raise ValueError({EVIL!r})")
    monkeypatch.chdir(tmp_path)
    result = run(*words, "--debug")
    assert result.exit_code == exit_code
    said = result.stdout + result.stderr
    assert "a\\x1b]0;title" in said or "a\\u001b]0;title" in said
    assert obeyed(said) == []


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
    screen = Screen(Stream(terminal=True))
    assert screen.text(screen.styled("good", "good")) == "\x1b[32mgood\x1b[0m"
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


@pytest.mark.parametrize(("share", "text"), [(0.2, ""), (0.5, "  outside  50 % of the deployment")])
def test_files_that_hardly_overlap_are_told_at_once(share, text):
    stream = Stream(terminal=False)
    Narration(Screen(stream), quiet=False, clock=Clock()).say_outside(share)
    assert stream.getvalue().startswith(text)
    assert bool(stream.getvalue()) == bool(text)


def test_the_time_left_is_that_of_the_whole_job():
    """Stages to come take their usual share, or what is expected of them."""
    clock = Clock()
    stages = Stages(clock=clock)
    stages.plan = {"shift": 0.6, "bridge": 0.1, "verify": 0.3}
    stages("shift", 0, 10)
    assert stages.left() is None
    clock.now = 1
    stages("shift", 1, 10)
    assert stages.left() is None  # less than a tenth of the job
    clock.now = 6
    stages("shift", 6, 10)
    assert stages.left() == pytest.approx(4 + 10 / 6 * 1 + 10 / 6 * 3)
    stages.expect(bridge=5, verify=20)
    assert stages.left() == pytest.approx(4 + 5 + 20)
    clock.now = 10
    stages("bridge", 0, 4)
    assert stages.left() == pytest.approx(5 + 20)
    clock.now = 11
    assert stages.left() == pytest.approx(5 + 20 - 1)
    clock.now = 12
    stages("bridge", 2, 4)
    assert stages.left() == pytest.approx(2 + 20)


def test_in_python_a_line_is_shown_and_wiped(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
    told = shown_progress(True)
    told("shift", 0, 4)
    told("shift", 2, 4)
    told.close()
    written = capsys.readouterr().err
    assert "  shift    0 of 4 steps" in written
    assert written.endswith("\r")
    assert not written.split("\r")[-2].strip()
    assert shown_progress(False) is None
    assert shown_progress(None) is None  # no terminal
    assert shown_progress(print) is print
