"""What every code means: one source for the terminal and for the documentation."""

from weighbridge._codes._documentation import documentation
from weighbridge._codes._entries import GROUPS, Entry, Step, entries
from weighbridge._codes._page import page

__all__ = ["GROUPS", "Entry", "Step", "documentation", "entries", "page"]
