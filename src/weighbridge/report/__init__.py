"""One page that answers the five questions: written, read back, and its top for notebooks."""

from weighbridge.report._details import snippets
from weighbridge.report._page import embedded, render, summary_html, write_report
from weighbridge.report._read import facts_of, read_result

# Public names; the others serve the packages above.
__all__ = ["read_result", "render", "summary_html", "write_report"]
