"""The note on a file of which a part stands for the whole."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge._findings import Finding
from weighbridge._problem import shown_file
from weighbridge._tables import Table


def sample_note(table: Table) -> Iterator[Finding]:
    """Yield a finding where not all rows of a table were looked at."""
    if table.sampled < table.rows:
        yield Finding(
            "WB139",
            "note",
            f"{table.sampled:,} of the {table.rows:,} rows of {shown_file(table.name)}, drawn at "
            "random, stand for all of them.",
            "More would hardly change what is shown; weights and predictions are for every row.",
        )
