"""Warnings of a run: counted by kind, and explained."""

import re
from collections import Counter
from pathlib import Path

# Beginning of the kind: why it is expected. Anything else makes a run fail.
EXPLAINED = {
    "WB301": "slope 16 leaves an effective sample of a few rows; that is the paper's own setting",
    "WB302": "slope 16 leaves most target rows outside the source; the default then falls back to "
    "no weights",
    "WB303": "a handful of rows carries the weights at slope 16",
    "WB304": "most target rows are outside, and the default falls back to no weights",
    "SearchWarning": "candidates whose fit was refused; the messages are in the results",
    "WeightWarning: The ratio times the gradients": "the information criterion wants more rows "
    "than the ratio leaves",
    "ConvergenceWarning: lbfgs failed to converge": "LogisticRegression stops after its default "
    "100 iterations; the paper says that all defaults were kept",
    "UserWarning: The least populated class": "a class has fewer source rows than folds",
    "RuntimeWarning in naive_bayes: divide by zero encountered in": "a class whose weights "
    "underflow to 0 has prior 0",
    "RuntimeWarning in naive_bayes: invalid value encountered in": "the mean of a class whose "
    "weights underflow to 0",
}


def count(caught):
    """Return the number of warnings of each kind."""
    return dict(Counter(_kind(each) for each in caught))


def explanation(kind):
    """Return why a kind of warning is expected, or None."""
    return next((why for start, why in EXPLAINED.items() if kind.startswith(start)), None)


def _kind(caught):
    text = str(caught.message)
    code = re.match(r"WB\d{3}", text)
    if code:
        return code.group()
    name = caught.category.__name__
    if name == "RuntimeWarning":
        name += f" in {Path(caught.filename).stem.lstrip('_')}"
    # without numbers: they would make a kind of each warning
    return f"{name}: {re.sub(r'[0-9.]+', '#', ' '.join(text.split()[:5]))}"
