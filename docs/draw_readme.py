"""Draw the pictures of the README and the first page: ``python docs/draw_readme.py`` (chromium).

The page that ``weighbridge adapt`` writes for the tables of the demo is photographed.
"""

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


def run(words, folder):
    """Run the command in a folder, without a word."""
    subprocess.run([COMMAND, *words], cwd=folder, check=True, capture_output=True)


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


def main():
    with tempfile.TemporaryDirectory() as name:
        run(["demo"], Path(name))
        folder = Path(name) / "weighbridge-demo"
        run(["adapt", "train.csv", "deploy.csv", "--label", "readmitted"], folder)
        report = folder / "weighbridge-out" / "report.html"
        photograph(report, IMAGES / "report.png", 1240, 1010)
        photograph(report, IMAGES / "report_dark.png", 1240, 1010, dark=True)


if __name__ == "__main__":
    main()
