"""A verdict at the terminal: the sentence, five answers, the comparison, notes, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weighbridge.cli._diagnosis_screen import finding_text
from weighbridge.cli._screen import Screen, within_columns

if TYPE_CHECKING:
    from weighbridge.adaptation import Adaptation
    from weighbridge.verdict import Answer, Candidate, Verdict

# The role of a word as an answer to its question; what is not here is neutral.
_ROLES = {
    ("matters", "no"): "good",
    ("matters", "yes"): "caution",
    ("matters", "unknown"): "stop",
    ("overlap", "enough"): "good",
    ("overlap", "thin"): "caution",
    ("overlap", "broken"): "stop",
    ("weighting", "helps"): "good",
    ("weighting", "no gain"): "caution",
    ("weighting", "unknown"): "stop",
    ("expect", "unknown"): "stop",
}
# What each file is for, in the order shown.
_FILES = {
    "report": "read this",
    "model": "{use} weighting",
    "weights": "one weight per row",
    "result": "all numbers",
}


def verdict_block(adaptation: Adaptation, screen: Screen) -> str:
    """Return the verdict as it is printed, in colour where there is colour."""
    from weighbridge.verdict._text import verdict_text

    # findings of the tables come in as well, and all get a layout of their own
    verdict = replace(adaptation.verdict, findings=())
    sentence, answers, *table = verdict_text(verdict).split("\n\n")
    shown = [screen.styled(within_columns(sentence), bold=True)]
    shown.append(_coloured(answers, verdict, screen))
    shown += [f"{each}\n  * the one in model.skops" for each in table]
    for name, other in adaptation.others.items():
        shown.append(within_columns(f"  model {name}: {other.sentence}"))
    return "\n\n".join([*shown, *(finding_text(each.to_dict()) for each in adaptation.findings)])


def _coloured(answers: str, verdict: Verdict, screen: Screen) -> str:
    by_name = {each.question.capitalize(): each for each in verdict.answers}
    lines = []
    for line in answers.split("\n"):
        answer = by_name.get(line.split()[0]) if line[2:3].strip() else None
        lines.append(line if answer is None else _coloured_line(line, answer, screen))
    return "\n".join(lines)


def _coloured_line(line: str, answer: Answer, screen: Screen) -> str:
    place = line.index(answer.word, 2 + len(answer.question))
    role = _ROLES.get((answer.question, answer.word))
    word = screen.styled(answer.word, role, bold=True)
    return line[:place] + word + line[place + len(answer.word) :]


def files_block(files: Mapping[str, str], used: Candidate) -> str:
    """Return the files, what each is for, and how large it is."""
    said = {kind: what.format(use=used.name) for kind, what in _FILES.items()}
    if used.name == "none":
        said["model"] = "the unweighted model"
    if len(used.mixture) > 1:  # an average of models has no weights of its own
        said["weights"] = "weights of its largest part"
    rows = [
        (
            files[kind],
            said[kind],
            bytes_text(Path(files[kind]).stat().st_size),
        )
        for kind in _FILES
        if kind in files
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"  {path:<{widths[0]}}  {what:<{widths[1]}}  {size:>{widths[2]}}"
        for path, what, size in rows
    )


def actual_block(adaptation: Adaptation) -> str | None:
    """Return the actual errors, where the labels of the deployment are known."""
    verdict, actual = adaptation.verdict, adaptation.actual
    if actual is None:
        return None
    numbers = verdict.numbers
    parts, outside = [], []
    for candidate in verdict.candidates:
        truth, expected = actual[candidate.name], candidate.risk.estimate
        parts.append(f"{candidate.name} {numbers.value(truth)}")
        if expected is not None and not expected.low <= truth <= expected.high:
            outside.append(candidate.name)
    judged = [each for each in verdict.candidates if each.risk.estimate is not None]
    return "\n".join(_actual_lines(parts, outside, len(judged)))


def _actual_lines(parts: list[str], outside: list[str], n_judged: int) -> list[str]:
    """Lay the errors out, and say which intervals held, whatever the answer is."""
    lines, line = [], "    actual error "
    for part in parts:
        if len(line) + 3 + len(part) > 80:
            lines.append(line)
            line = " " * 17
        line += f"  {part}"
    lines.append(line)
    if not n_judged:
        said = "nothing was expected, so that no interval can be checked"
    elif not outside:
        said = "every one is inside its interval" if n_judged > 1 else "it is inside its interval"
    else:
        said = f"outside its interval: {', '.join(outside)}; the others are inside"
        if len(outside) == n_judged:
            said = f"outside its interval: {', '.join(outside)}"
    return [*lines, " " * 19 + said]


def bytes_text(size: int) -> str:
    """Return the size of a file as people read it."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:,.0f} kB" if size < 999_500 else f"{size / 1e6:,.1f} MB"
