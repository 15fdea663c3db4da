"""The libraries underneath: their warnings are counted; the user's own modules are found."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from weighbridge.cli._session import Session


@contextmanager
def library_warnings(session: Session) -> Iterator[None]:
    """Collect warnings, and say in one line how many there were; ``--debug`` lists them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    # ours are among the findings already
    foreign = [each for each in caught if not each.category.__module__.startswith("weighbridge")]
    if not foreign:
        return
    kinds = sorted({each.category.__name__ for each in foreign})
    count = f"{len(foreign)} warning{'s' if len(foreign) > 1 else ''}"
    session.narration.say(f"  {count} of the libraries underneath ({', '.join(kinds)})")
    if session.debug:
        for text in dict.fromkeys(str(each.message) for each in foreign):
            session.err.write(text)


@contextmanager
def modules_here(*, wanted: bool) -> Iterator[None]:
    """Let Python, also in parallel jobs, find modules of the present folder where that is wanted.

    They come last, lest a file of that folder takes the place of a library.
    """
    here = os.getcwd()
    if wanted:
        sys.path.append(here)
    try:
        yield
    finally:
        if wanted:
            sys.path.remove(here)
