"""One page that answers the five questions: written, read back, and its top for notebooks."""

from weighbridge.report._read import read_result
from weighbridge.report._render import render, write_report
from weighbridge.report._summary import summary_html

__all__ = ["read_result", "render", "summary_html", "write_report"]

# for the packages above
from weighbridge.report._facts import facts_of as facts_of
