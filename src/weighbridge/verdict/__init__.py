"""Whether weighting is worth it: five questions, answered in words and numbers."""

from weighbridge.verdict._assess import assess, assess_models
from weighbridge.verdict._candidates import weighting_of
from weighbridge.verdict._judgement import knowing
from weighbridge.verdict._page_words import (
    StoredResult,
    actual_words,
    agreement,
    assumption_words,
    candidate_cells,
    cards,
    expect_words,
    label_words,
    labels_tell,
    page_words,
)
from weighbridge.verdict._verdict import Candidate, Verdict, metric_table, text_table, verdict_parts
from weighbridge.verdict._words import PROCEDURE, Actual, Answer

# Public names; the others serve the packages above.
__all__ = ["Answer", "Candidate", "Verdict", "assess"]
