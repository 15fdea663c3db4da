"""Whether weighting is worth it: five questions, answered in words and numbers."""

from weighbridge.verdict._assess import assess
from weighbridge.verdict._verdict import Answer, Candidate, Verdict

__all__ = ["Answer", "Candidate", "Verdict", "assess"]
