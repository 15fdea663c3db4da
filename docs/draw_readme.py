"""Draw the pictures of the README and the first page: ``python docs/draw_readme.py`` (chromium).

The demo is run in a terminal of 80 columns; what it prints and the page it writes are photographed.
"""

import html
import os
import pty
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
COMMAND = Path(sysconfig.get_path("scripts")) / "weighbridge"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync"
)
# What the command line uses of a terminal's colours.
STYLES = {
    "1": "font-weight: bold",
    "31": "color: #ff8a80",
    "32": "color: #58cfa6",
    "33": "color: #f2a76b",
}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 18px 24px; background: #14181c; color: #e8ebee; width: max-content }}
pre {{ margin: 0; font: 15px/1.35 "DejaVu Sans Mono", monospace }}</style>{code}"""


def typed(words, folder):
    """Run a command as if at a terminal, and return what it shows, colours included."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    process = subprocess.Popen(
        [COMMAND, *words], cwd=folder, env=environment, stdout=follower, stderr=subprocess.DEVNULL
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        shown += part
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def photograph(page, target, width, height, *, dark=False):
    """Write a picture of a page."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                BROWSER,
                *FLAGS.split(),
                f"--user-data-dir={profile}",
                f"--screenshot={target}",
                f"--window-size={width},{height}",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                page.absolute().as_uri(),
            ],
            check=True,
            capture_output=True,
        )


def terminal(text):
    """Return a page that looks like the terminal."""
    first, *rest = re.split(r"\x1b\[([\d;]+)m", text)
    code, styles = html.escape(first), []
    for sign, part in zip(rest[::2], rest[1::2], strict=True):
        styles = [] if sign == "0" else [*styles, *(STYLES[each] for each in sign.split(";"))]
        shown = html.escape(part)
        code += f'<span style="{"; ".join(styles)}">{shown}</span>' if styles else shown
    return PAGE.format(code=f"<pre>{code}</pre>")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        typed(["demo"], folder)
        words = ["adapt", "train.csv", "deploy.csv", "--label", "readmitted"]
        shown = typed(words, folder / "weighbridge-demo")
        page = folder / "terminal.html"
        prompt = f"$ weighbridge {' '.join(words)}\n"
        page.write_text(terminal(prompt + shown), encoding="utf-8")
        rows = len((prompt + shown).splitlines()) + 1
        photograph(page, IMAGES / "terminal.png", 800, 40 + round(20.3 * rows))
        report = folder / "weighbridge-demo" / "weighbridge-out" / "report.html"
        photograph(report, IMAGES / "report.png", 1240, 1010)
        photograph(report, IMAGES / "report_dark.png", 1240, 1010, dark=True)


if __name__ == "__main__":
    main()
