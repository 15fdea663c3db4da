"""Roles and labels: what all pictures share."""

import subprocess
import sys

import pytest
from matplotlib.colors import to_rgb

from weighbridge.plotting._display import (
    CAUTION,
    DEPLOYMENT,
    GREY,
    TRAINING,
    WEIGHTED,
    shown_name,
    size,
)


def _luminance(colour):
    """Relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    "colour", [TRAINING.color, DEPLOYMENT.color, WEIGHTED.color, GREY, CAUTION]
)
def test_contrast_with_the_page_is_that_of_text(colour):
    assert 1.05 / (_luminance(colour) + 0.05) >= 4.5


def test_no_role_is_told_apart_by_colour_alone():
    looks = {
        (role.linestyle, role.marker, role.hollow, role.fill is not None)
        for role in (TRAINING, DEPLOYMENT, WEIGHTED)
    }
    assert len(looks) == 3


@pytest.mark.more
def test_importing_displays_does_not_import_matplotlib():
    code = "import weighbridge.plotting, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_keep_both_ends():
    assert shown_name("site=north") == "site=north"
    assert shown_name("a" * 30 + "b" * 30, 11) == "aaaaa…bbbbb"
    assert len(shown_name("x" * 200, 24)) == 24
    assert shown_name("two\n lines") == "two lines"
    assert shown_name("$5") == "\\$5"


def test_sizes():
    sizes = [0.123, 12345.0, float("inf"), float("nan")]
    assert [size(each) for each in sizes] == ["0.12", "1e+04", "∞", "–"]
