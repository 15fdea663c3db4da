"""One line on the terminal while a long search runs."""

from __future__ import annotations

import sys
import time
from typing import Any

# A shorter search is over before anybody wonders.
_QUIET_SECONDS = 2.0


class ProgressLine:
    """Rewrites one line on standard error: evaluations done, the best value so far.

    Parameters
    ----------
    verbose : int or None
        0 is silent, 1 reports at once. None reports to a terminal only, after two seconds.
    """

    def __init__(self, verbose: int | None) -> None:
        self._wanted = verbose is None and sys.stderr.isatty() if not verbose else True
        self._wait = _QUIET_SECONDS if verbose is None else 0.0
        self._begun = time.perf_counter()
        self._shown = 0

    def __call__(self, evaluation: Any, done: int, planned: int, best: float) -> None:
        """Show how far the search is."""
        if not self._wanted or time.perf_counter() - self._begun < self._wait:
            return
        seconds = time.perf_counter() - self._begun
        text = f"weighting {done} of {planned}, best loss {best:.4g}, {seconds:.0f} s"
        sys.stderr.write("\r" + text.ljust(self._shown))
        self._shown = len(text)
        sys.stderr.flush()

    def close(self) -> None:
        """End the line, if one was begun."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
