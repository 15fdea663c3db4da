"""Errors and warnings of weighbridge; the code at the start of a message names the finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["BlockError", "InputError", "OverlapWarning", "SearchWarning", "WeightWarning"]

# More problems than this are counted, not shown.
MOST_SHOWN = 10
KINDS = ("usage", "data")


@dataclass(frozen=True)
class Problem:
    """One reason why the inputs cannot be used."""

    code: str
    message: str
    evidence: tuple[str, ...] = ()
    help: str = ""
    kind: str = "data"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Got kind={self.kind!r}, but expected one of {', '.join(KINDS)}.")

    def to_dict(self) -> dict[str, str]:
        """Return the problem as a finding of level error, ready for JSON."""
        return {"code": self.code, "level": "error", "message": self.message, "help": self.help}

    def __str__(self) -> str:
        lines = [f"error {self.code}: {self.message}", *(f"  {line}" for line in self.evidence)]
        return "\n".join([*lines, f"  help: {self.help}"] if self.help else lines)


class InputError(ValueError):
    """The tables cannot be used as they are; every problem found is named.

    Parameters
    ----------
    problems : sequence of Problem
        What was found; each has a code, a message, evidence, a help text and a kind.

    Attributes
    ----------
    problems : tuple of Problem
        All of them, including those that the text only counts.
    exit_code : int
        What the command line exits with: 2 where the call is wrong (a file or a column that is
        not there), 3 where the data are at fault.

    Examples
    --------
    >>> from weighbridge.exceptions import InputError, Problem
    >>> error = InputError([Problem("WB102", "deploy.csv has a header and no rows.")])
    >>> print(error)
    error WB102: deploy.csv has a header and no rows.
    >>> error.exit_code
    3
    """

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(problems)
        super().__init__(self.problems)

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return 2 if any(problem.kind == "usage" for problem in self.problems) else 3

    def __str__(self) -> str:
        texts = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            texts.append(f"and {len(self.problems) - MOST_SHOWN} more")
        return "\n\n".join(texts)


class WeightWarning(UserWarning):
    """Something about the weights deserves a look.

    Examples
    --------
    Turn every such warning into an error while testing a pipeline:

    >>> import warnings
    >>> from weighbridge.exceptions import WeightWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", WeightWarning)
    """


class OverlapWarning(WeightWarning):
    """The two samples overlap too little for the weights to be trusted.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from sklearn.linear_model import Ridge
    >>> from weighbridge import ImportanceWeighted
    >>> from weighbridge.exceptions import OverlapWarning
    >>> from weighbridge.ratios import KnownRatio
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> ratio = KnownRatio(lambda X: 20 * X[:, 0])  # a handful of rows carries everything
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = ImportanceWeighted(Ridge(), ratio).fit(X, X[:, 0])
    >>> issubclass(caught[0].category, OverlapWarning)
    True
    """


class SearchWarning(UserWarning):
    """Some candidates of a search for (lam, alpha) failed and were left out.

    Examples
    --------
    >>> import warnings
    >>> from weighbridge.exceptions import SearchWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SearchWarning)
    """


class BlockError(ValueError):
    """Something is wrong in one block of rows; the message says which, and in which file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from weighbridge.engines import with_column
    >>> from weighbridge.exceptions import BlockError
    >>> try:
    ...     with_column(pa.table({"age": [41, 52]}), "one", lambda rows: [1])
    ... except BlockError as error:
    ...     print(error)
    In the batch that starts at row 0 of the table, the function failed: ValueError: Got 1...
    """
