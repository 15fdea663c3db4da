"""One page that answers the five questions: written, read back, and its top for notebooks."""

from weighbridge.report._code import snippets as snippets
from weighbridge.report._read import facts_of as facts_of
from weighbridge.report._read import read_result
from weighbridge.report._render import embedded as embedded
from weighbridge.report._render import render, summary_html, write_report

__all__ = ["read_result", "render", "summary_html", "write_report"]

# for the packages above
