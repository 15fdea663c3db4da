"""Draw the picture of *Which kind of shift is it?* anew: ``python docs/draw_kinds.py``.

One drawing, written twice: in the colours of light and of dark pages.
"""

import math
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 860, 558
LIGHT = {
    "page": "#ffffff",
    "ink": "#1a1a1a",
    "soft": "#555555",
    "question": ("#eef3fa", "#4a6fa5"),
    "act": ("#e9f5ec", "#3b7d4f"),
    "rest": ("#f4f4f4", "#888888"),
    "labels": ("#fdf1e4", "#b5651d"),
    "well": "#2f6fb0",
    "ill": "#c2541b",
}
DARK = {
    "page": "#14181e",
    "ink": "#e8ebee",
    "soft": "#a9b1b8",
    "question": ("#1d2a3a", "#7fa3d4"),
    "act": ("#17301f", "#6fbf87"),
    "rest": ("#23282e", "#8a929a"),
    "labels": ("#33261a", "#e0a066"),
    "well": "#7fb4ec",
    "ill": "#f2935c",
}


def text(x, y, words, fill, size=14.5, weight=400, anchor="middle"):
    return (
        f'<text x="{x}" y="{y}" fill="{fill}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


def box(x, y, width, height, title, lines, kind, c):
    """Return a box of one role, with a title and lines below it, in the middle."""
    fill, stroke = c[kind]
    middle, top = x + width / 2, y + height / 2 - 8.5 * len(lines) + 5
    parts = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" '
        f'stroke="{stroke}"/>',
        text(middle, top, title, c["ink"], 16, 600),
    ]
    parts += [text(middle, top + 19 + 17 * k, line, c["ink"]) for k, line in enumerate(lines)]
    return "".join(parts)


def arrow(path, c):
    style = f'stroke="{c["soft"]}" stroke-width="1.5" marker-end="url(#a)"'
    return f'<path d="{path}" fill="none" {style}/>'


def hump(x, y, width, centre, height, spread=0.1):
    """Return the outline of a bell over a line from x to x + width."""
    at = [k / 60 for k in range(61)]
    tall = [height * math.exp(-((each - centre) ** 2) / (2 * spread**2)) for each in at]
    return "M" + "L".join(f"{x + width * a:.1f} {y - t:.1f}" for a, t in zip(at, tall, strict=True))


def chance(x, y, width, height, middle):
    """Return a curve that rises from 0 to the height: a chance that grows with a feature."""
    at = [k / 60 for k in range(61)]
    tall = [height / (1 + math.exp(-14 * (each - middle))) for each in at]
    return "M" + "L".join(f"{x + width * a:.1f} {y - t:.1f}" for a, t in zip(at, tall, strict=True))


def curve(path, colour, dashed):
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'


def sketch(x, y, kind, c):
    """Return what a kind looks like along one feature: training is dashed."""
    width, base = 180, y + 62
    parts = [f'<path d="M{x} {base}H{x + width}" stroke="{c["soft"]}"/>']
    if kind == "label":
        for name, centre, before, after in (("well", 0.32, 56, 28), ("ill", 0.68, 20, 48)):
            parts += [
                curve(hump(x, base, width, centre, before), c[name], True),
                curve(hump(x, base, width, centre, after), c[name], False),
                text(x + width * (0.1 if name == "well" else 0.88), y + 22, name, c[name], 14),
            ]
    elif kind == "covariate":
        parts += [
            curve(hump(x, base, width, 0.36, 50, 0.12), c["soft"], True),
            curve(hump(x, base, width, 0.62, 50, 0.12), c["ink"], False),
            text(x + width / 2, y + 4, "all rows", c["soft"], 14),
        ]
    else:
        parts += [
            curve(chance(x, base, width, 50, 0.3), c["ill"], True),
            curve(chance(x, base, width, 50, 0.62), c["ill"], False),
            text(x + width * 0.84, y + 4, "chance of ill", c["ill"], 14),
        ]
    return "".join(parts)


def drawing(c):
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" role="img">',
        "<title>Two questions to held-out rows decide between no shift, covariate shift, unclear "
        "and label shift; whether the relation changed, only labels tell</title>",
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{c["soft"]}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{c["page"]}"/>',
        box(
            20,
            20,
            250,
            78,
            "1  Do the tables differ?",
            ["can anything tell held-out rows", "apart better than a coin toss?"],
            "question",
            c,
        ),
        arrow("M145 98V146", c),
        text(155, 126, "no", c["soft"], anchor="start"),
        box(20, 150, 250, 74, "none", ["nothing to do"], "rest", c),
        arrow("M270 59H326", c),
        text(297, 51, "yes", c["soft"]),
        box(
            330,
            20,
            510,
            78,
            "2  Is one number per class the best explanation?",
            [
                "class frequencies against free ratios of the features,",
                "and against a tilt along the scores of the classes",
            ],
            "question",
            c,
        ),
    ]
    ends = (
        (330, "covariate", ["weight by features"], "act", "clearly beaten"),
        (508, "unclear", ["weight by features,", "show both"], "rest", "too close"),
        (686, "label", ["weight by class"], "act", "plain and unbeaten"),
    )
    for x, title, lines, kind, why in ends:
        middle = x + 77
        parts += [
            arrow(f"M{middle} 98V146", c),
            text(middle - 8, 126, why, c["soft"], 14, anchor="end"),
            box(x, 150, 154, 74, title, lines, kind, c),
        ]
    parts += [_kinds(c), "</svg>\n"]
    return "\n".join(parts)


def _kinds(c):
    """Return the row of three kinds, and what they need."""
    parts = [
        f'<path d="M20 252H840" stroke="{c["soft"]}" stroke-dasharray="2 5"/>',
        text(20, 280, "What each kind is, along one feature", c["ink"], 16, 600, "start"),
        curve("M600 275h28", c["soft"], True),
        text(634, 280, "training", c["soft"], 14, anchor="start"),
        curve("M716 275h28", c["ink"], False),
        text(750, 280, "deployment", c["soft"], 14, anchor="start"),
    ]
    kinds = (
        (20, "covariate", "The features changed", "a row means what it meant", "act"),
        (300, "label", "The mix of classes changed", "each class looks as it did", "act"),
        (580, "relation", "The relation changed", "a row means something else", "labels"),
    )
    needs = {
        "covariate": ("features tell", "weight by features"),
        "label": ("features tell", "weight by class"),
        "relation": ("only labels tell", "label some rows"),
    }
    for x, kind, title, lines, role in kinds:
        parts += [
            f'<rect x="{x}" y="300" width="260" height="238" rx="8" fill="none" '
            f'stroke="{c[role][1]}"/>',
            text(x + 130, 328, title, c["ink"], 16, 600),
            sketch(x + 40, 356, kind, c),
            text(x + 130, 446, lines, c["soft"], 14),
            box(x + 12, 464, 236, 60, needs[kind][1], [needs[kind][0]], role, c),
        ]
    return "\n".join(parts)


def main():
    for name, colours in (("kinds.svg", LIGHT), ("kinds_dark.svg", DARK)):
        (IMAGES / name).write_text(drawing(colours), encoding="utf-8")


if __name__ == "__main__":
    main()
